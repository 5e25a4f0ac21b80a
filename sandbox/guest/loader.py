# Sandpiper's loader: the whole command line of the container's first process.
# It reads the guest's package from stdin, lays it out, and becomes the
# supervisor. One read-only image serves every version of the host.
import os
import sys


def take(count):
    parts = []
    while count:
        part = os.read(0, min(count, 1 << 20))
        if not part:
            os._exit(0)  # the host went away before it said anything
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def unpack(archive, root):
    # Entries: 2 bytes path length, path, 4 bytes size, content.
    at, made = 0, set()
    while at < len(archive):
        end = at + 2 + int.from_bytes(archive[at:at + 2], "big")
        path = os.path.join(root, archive[at + 2:end].decode())
        at = end + 4 + int.from_bytes(archive[end:end + 4], "big")
        folder = os.path.dirname(path)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(path, "wb") as file:
            file.write(archive[end + 4:at])


lib = "/run/sandpiper/lib"
unpack(take(int.from_bytes(take(4), "big")), lib)
# The supervisor's package is imported on its own: sandpiper/__init__.py is for
# programs, and may import what the first process must not carry.
sys.path[:] = [lib + "/sandpiper"] + [p for p in sys.path if p]
from _guest import supervisor  # noqa: E402

sys.path[0] = lib
# At the start lib did not exist, and Python remembers that (PYTHONPATH names it).
sys.path_importer_cache.clear()
supervisor.main()
