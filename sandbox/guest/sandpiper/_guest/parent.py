"""A parent holds Python's memory and forks one child per program.

The child that succeeded becomes the next parent and the old one is killed;
when it failed, the old parent simply goes on. So a program that fails leaves
the memory as it was before it.

A fork copies the page tables, which takes milliseconds once libraries are
loaded. So an idle parent forks the next program's child ahead of time.

While a child runs user code it holds no descriptor of ours. To report, it
connects anew to the supervisor's socket and shows the run's token.
"""

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import time

from _guest import process, program

REPORTS = "/run/sandpiper/reports"
IDLE = 30  # milliseconds without a message, after which a child is forked ahead


def start(limits):
    """Forks the first parent; returns its pid and the supervisor's end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # see Child.run
        process.detach({theirs.fileno()})
        process.dumpable(True)
        process.first_to_die(500)
        process.name("python3")
        program.prepare(limits)
        while True:
            theirs = serve(theirs)
    finally:
        os._exit(70)


def serve(channel):
    """Answers the supervisor until it closes the channel or kills us. Returns
    only in a child whose program has ended: with the channel on which it is
    the next parent."""
    child = Child()
    idle = select.poll()
    idle.register(channel, select.POLLIN)
    while True:
        if not child.pid and not idle.poll(IDLE) and child.ahead():
            break
        data, fds, _, _ = socket.recv_fds(channel, 1 << 16, 4)
        if not data:
            os._exit(0)
        message = json.loads(data)
        if "warm" in message:
            child.dismiss()
            answer = warm(message["warm"])
            if message["last"] and child.ahead():
                break
            channel.send(json.dumps(answer).encode())
            continue
        while not child.take(data, fds):
            if child.fork():
                for fd in fds:
                    os.close(fd)  # it gets its own
                channel.close()
                return child.run()
        for fd in fds:
            os.close(fd)
        channel.send(json.dumps({"pid": child.pid}).encode())
        channel.send(json.dumps({"exit": child.wait()}).encode())
    channel.close()
    return child.run()


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


class Child:
    """The child of the next program. It waits on a line for what to run."""

    def __init__(self):
        self.pid, self.line = 0, None

    def fork(self):
        """Makes the child; true in the child itself."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        self.line = ours if self.pid else theirs
        (theirs if self.pid else ours).close()
        if self.pid == 0:
            os.setsid()
            process.first_to_die(1000)
            rehearse()
        return self.pid == 0

    def ahead(self):
        """Makes the child before it is needed; that it cannot is no failure yet."""
        try:
            return self.fork()
        except OSError:
            return False

    def take(self, data, fds):
        """Hands a program over; false when there is no child, or it has died."""
        if not self.pid:
            return False
        try:
            socket.send_fds(self.line, [data], fds)
            taken = self.line.recv(1) != b""
        except OSError:
            taken = False
        self.line.close()
        if not taken:
            self.wait()
        return taken

    def dismiss(self):
        """Ends a child that waits."""
        if self.pid:
            self.line.close()
            self.wait()

    def wait(self):
        """Waits for the child's end; returns its exit code."""
        pid, self.pid = self.pid, 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def run(self):
        """In the child: runs one program, and returns the channel to the supervisor."""
        data, fds, _, _ = socket.recv_fds(self.line, 1 << 16, 4)
        if not data:
            os._exit(0)
        self.line.send(b"1")
        self.line.close()
        message = json.loads(data)
        for number, fd in enumerate(fds, 1):
            os.dup2(fd, number)
            os.close(fd)
        # Stopped together with what a program left, a parent may get a hangup
        # from the kernel when that is killed (gVisor's does it). What programs
        # do with one stays theirs.
        signal.signal(signal.SIGHUP, program.hangup)
        report = program.run(message)
        program.hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN) or signal.SIG_DFL
        channel = _socket()
        channel.connect(REPORTS)
        channel.send(json.dumps({"token": message["token"], **report}).encode()[:60000])
        null = os.open("/dev/null", os.O_RDWR)  # not sooner: that the pipes end is news for the supervisor, too
        for number in (0, 1, 2):
            os.dup2(null, number)
        if null > 2:
            os.close(null)
        return channel


def _socket():
    """A socket whose descriptor is none of the three that the program may have closed."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if made.fileno() > 2:
        return made
    with made:
        return socket.socket(fileno=fcntl.fcntl(made.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


def rehearse():
    """In a child that waits for the first program: goes the way of one that does
    nothing. A page of memory that is shared with the parent takes long to write
    to, and nobody waits for it yet."""
    if program.rehearse():
        json.dumps({"token": "", "code": 0, "lingering": 0}).encode()
        _socket().close()
