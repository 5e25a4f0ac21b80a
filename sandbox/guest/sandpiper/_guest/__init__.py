"""What keeps a session: the supervisor (the container's first process), the
parents that hold Python's memory, and the frames to the host.

Programs do not import this package, and this package imports nothing beyond
the standard library before a program asks for it.
"""
