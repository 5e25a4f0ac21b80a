"""A parent holds Python's memory and forks one child per program.

The child that succeeded becomes the next parent and the old one is killed;
when it failed, the old parent simply goes on. So a program that fails leaves
the memory as it was before it.

While a child runs user code it holds no descriptor of ours. To report, it
connects anew to the supervisor's socket and shows the run's token.
"""

import gc
import importlib
import json
import os
import socket
import time

from _guest import process, program

REPORTS = "/run/sandpiper/reports"


def start(limits):
    """Forks the first parent; returns its pid and the supervisor's end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    try:
        import signal
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        process.detach({theirs.fileno()})
        process.dumpable(True)
        process.first_to_die(500)
        process.name("python3")
        program.prepare(limits)
        serve(theirs)
    finally:
        os._exit(70)


def serve(channel):
    """Answers the supervisor until it closes the channel or kills us."""
    while True:
        data, fds, _, _ = socket.recv_fds(channel, 1 << 16, 4)
        if not data:
            os._exit(0)
        message = json.loads(data)
        if "warm" in message:
            channel.send(json.dumps(warm(message["warm"])).encode())
            continue
        pid = os.fork()
        if pid == 0:
            channel.close()
            channel = child(message, fds)
            continue
        for fd in fds:
            os.close(fd)
        channel.send(json.dumps({"pid": pid}).encode())
        _, status = os.waitpid(pid, 0)
        channel.send(json.dumps({"exit": os.waitstatus_to_exitcode(status)}).encode())


def warm(module):
    """Imports one module ahead of need."""
    began = time.monotonic()
    try:
        importlib.import_module(module)
        trouble = ""
    except BaseException as error:  # whatever a broken library raises, the parent stays
        trouble = type(error).__name__
    gc.freeze()
    return {"warmed": module, "trouble": trouble, "seconds": round(time.monotonic() - began, 4)}


def child(message, fds):
    """Runs one program; returns the channel on which we are the next parent."""
    os.setsid()
    process.first_to_die(1000)
    for number, fd in enumerate(fds, 1):
        os.dup2(fd, number)
        os.close(fd)
    report = program.run(message)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(REPORTS)
    channel.send(json.dumps({"token": message["token"], **report}).encode()[:60000])
    return channel
