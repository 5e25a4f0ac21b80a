"""The supervisor: the container's first process, the only one that holds the
stream to the host.

It runs no user code and is not dumpable, so that no program can reach its
descriptors or memory. One loop serves the host's frames, the running
program's output, its report, and its limits. When the host goes away or the
deadline passes, it exits, and the kernel ends everything else with it.
"""

import binascii
import json
import os
import select
import signal
import socket
import sys
import time

from _guest import facts, files, frames, parent, process
from _guest.running import Running

TICK = 0.05            # seconds between looks at a running program's limits
STARTS_WITHIN = 60.0   # seconds a parent may take before a program runs
INVENTORY = "/usr/share/sandpiper/inventory.json"
SHARED = ("/workspace", "/tmp", "/skills", "/dev/shm", "/var/tmp", "/run")
FONTS = "/usr/share/sandpiper/matplotlib"


def main():
    """Serves the host on descriptors 0 and 1 until it goes away."""
    process.dumpable(False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which the first process never gets
    process.widen(0)
    process.widen(1)
    supervisor = Supervisor()
    try:
        supervisor.serve()
    except Exception as error:  # whatever went wrong, the session is over and the host is told
        frames.send(1, frames.TROUBLE, {"reason": f"{type(error).__name__}: {error}"[:500]})
    os._exit(0)


class Supervisor:
    """The state of one session."""

    def __init__(self):
        self.reader = frames.Reader(0)
        self.poll = select.poll()
        self.store = files.Store()
        self.running = None
        self.programs = 0
        self.limits = {}
        self.unfenced = []  # folders without a limit of their own on files
        self.marks = {}
        self.deadline = float("inf")
        self.parent, self.channel = 0, None
        self.lost = False  # the parent has died with the programs' memory
        self.listener = None
        self.reports = {}
        self.wakeup, self.poke = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def serve(self):
        signal.set_wakeup_fd(self.poke, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGALRM, self._alarm)
        self.poll.register(0, select.POLLIN)
        self.poll.register(self.wakeup, select.POLLIN)
        while True:
            events = self.poll.poll(0 if self.marks is None else TICK * 1000 if self.running else None)
            for fd, event in events:
                self._ready(fd, event)
            if self.marks is None and not events:
                self.marks = files.snapshot()  # while nobody waits for it
            if self.running:
                self._check()

    def _alarm(self, *_):
        if time.monotonic() >= self.deadline:  # anyone inside may send the signal; the clock decides
            os._exit(0)

    def _ready(self, fd, event):
        running = self.running
        if fd == 0:
            self._input()
        elif fd == self.wakeup:
            self._reap()
        elif running and fd in running.streams:
            if not running.read(fd):
                self.poll.unregister(fd)
        elif self.listener and fd == self.listener.fileno():
            self._accept()
        elif fd in self.reports:
            self._report(fd)
        elif self.channel and fd == self.channel.fileno():
            self._parent_says(event)

    # The host's frames.

    def _input(self):
        if not self.reader.fill():
            os._exit(0)
        while True:
            frame = self.reader.next()
            if frame is None:
                return
            self._frame(*frame)

    def _frame(self, kind, head, tail):
        if kind == frames.PUT:
            self._put(head, tail)
        elif kind == frames.RUN and self.running is None:
            self._run(head, tail)
        elif kind == frames.CANCEL:
            if self.running and self.running.nonce == head["nonce"]:
                self._finish("cancelled")
        elif kind == frames.GET and self.running is None:
            self._get(head)
        elif kind == frames.WARM:
            self._warm(head)
        elif kind == frames.LEASE:
            self._until(head["deadline"])
        elif kind == frames.HELLO and self.listener is None:
            self._hello(head)
        elif kind == frames.STOP:
            os._exit(0)
        else:
            raise frames.Broken(f"frame {kind} out of turn")

    def _hello(self, head):
        self.limits = head["limits"]
        if head.get("filter"):  # the engine could not be given it
            process.confine(binascii.a2b_base64(head["filter"]))
        self._until(head["deadline"])
        self.unfenced = [path for path in SHARED if facts.inodes(path)[0] > self.limits.get("inodes", float("inf"))]
        for folder in ("/workspace/in", "/workspace/out", "/run/sandpiper/mpl", "/run/sandpiper/programs"):
            os.makedirs(folder, exist_ok=True)
        if os.path.isdir(FONTS):
            for name in os.listdir(FONTS):
                os.symlink(f"{FONTS}/{name}", f"/run/sandpiper/mpl/{name}")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(parent.REPORTS)
        self.listener.listen(16)
        self.listener.setblocking(False)
        self.poll.register(self.listener, select.POLLIN)
        self._new_parent()
        frames.send(1, frames.READY, {"python": sys.version.split()[0], "view": facts.view()},
                    facts.text(INVENTORY, 1 << 19).encode())

    def _until(self, seconds):
        self.deadline = time.monotonic() + seconds
        signal.setitimer(signal.ITIMER_REAL, seconds + 0.01)

    def _put(self, head, data):
        trouble = self.store.chunk(head, data)
        self.marks = None
        if trouble or head.get("last") and head["id"] != self.store.failed:
            frames.send(1, frames.STORED, {"id": head["id"], "trouble": trouble})

    def _warm(self, head):
        if self.running is None and self.channel is not None:
            self.channel.send(json.dumps({"warm": head["module"], "last": head["last"]}).encode())
            if head["last"]:
                self._rehearse()
        else:
            frames.send(1, frames.WARMED, {"module": head["module"], "trouble": "busy"})

    def _rehearse(self):
        """Goes the way of an input and of a program, without either: what is done
        for the first time takes longer, and nobody waits for it yet."""
        name = f"workspace/in/.{os.urandom(16).hex()}"
        trouble = files.Store().chunk({"id": name, "name": name, "first": True, "last": True}, bytes(frames.GULP))
        if not trouble:
            os.unlink("/" + name)
        running = Running({"nonce": "", "language": "python", "wall": 0, "cpu": 0, "head": 0, "tail": 0, "stop": 0,
                           "pids": self.limits["pids"]}, 0, b"")
        running.close_ends()
        running.start(0)
        running.over_limit()
        running.result("", None, 0, running.evidence(0), 0)
        running.drain()
        running.forget_source()
        for fd in running.streams:
            os.close(fd)
        files.changed({}, files.snapshot())

    def _get(self, head):
        self._signal(-1, signal.SIGSTOP)  # memory may hold more than Python's own threads
        try:
            files.collect(1, head)
        finally:
            self._signal(-1, signal.SIGCONT)

    # Programs.

    def _run(self, head, code):
        self.programs += 1
        if self.marks is None:
            self.marks = files.snapshot()
        self.running = running = Running(head, self.programs, code)
        running.files = {path: max(self.limits["inodes"], facts.inodes(path)[1]) for path in self.unfenced}
        for fd in running.streams:
            self.poll.register(fd, select.POLLIN)
        if not running.uses_memory:
            running.spawn()
            return
        message = {"path": running.path, "number": running.number, "language": running.language, "token": running.token}
        for _ in range(2):
            if self.channel is None:
                self._new_parent()
            try:
                socket.send_fds(self.channel, [json.dumps(message).encode()], running.ends)
                break
            except OSError:
                self._lose_parent()  # it died while nothing ran
        running.close_ends()

    def _check(self):
        running = self.running
        if running.began is None:
            if time.monotonic() - running.asked > STARTS_WITHIN:
                self._finish("wall")
            return
        reason = running.over_limit()
        if reason:
            self._finish(reason)

    def _finish(self, reason="", report=None, code=None, heir=None):
        """Ends the running program; heir is the channel to the child that becomes the parent."""
        running, self.running = self.running, None
        if reason in ("wall", "cpu") and running.uses_memory and running.pid:
            self._signal(running.pid, signal.SIGXCPU)  # its traceback says where it was
            running.trace(0.05)
        succeeded = reason == "" and heir is not None and report["code"] == 0 and not report["lingering"]
        evidence = running.evidence(report["code"] if report else code)
        before = self.parent
        keep = {before, running.pid} if succeeded else {before}
        left = self._sweep(keep - {0}, running.pid)
        running.drain()
        for fd in running.streams:
            self._forget(fd)
            os.close(fd)
        if succeeded:
            self._adopt(running.pid, heir)
        else:
            if heir is not None:
                heir.close()
            if before and facts.stat(before)[0] in "ZX":
                self._lose_parent()  # the program killed it; its word comes later
            if running.uses_memory:
                self._rolled_back(running)
        after = files.snapshot()
        head, tail = running.result(reason, report, code, evidence, left)
        head["changed"] = files.changed(self.marks, after)
        head["forgotten"] = running.uses_memory and not succeeded
        head["memory_lost"] = self.lost and not succeeded
        self.lost = False
        self.marks = after
        frames.send(1, frames.FINISHED, head, tail)
        if succeeded and before:
            self._signal(before, signal.SIGKILL)  # not sooner: to give back its memory takes a while
        running.forget_source()

    def _adopt(self, pid, heir):
        self._drop_channel()
        self.parent, self.channel = pid, heir
        self.poll.register(heir, select.POLLIN)

    def _rolled_back(self, running):
        """Waits until the parent knows that its child is gone; else begins anew."""
        if self.channel is not None and running.exit_seen:
            return
        if self.channel is not None and running.began is not None:
            self.channel.settimeout(2)
            try:
                while "exit" not in json.loads(self.channel.recv(1 << 16)):
                    pass
                self.channel.settimeout(None)
                return
            except (OSError, ValueError, TypeError):
                pass
        self._lose_parent()
        self._new_parent()

    # The parent that holds Python's memory.

    def _new_parent(self):
        self.parent, self.channel = parent.start(self.limits)
        self.poll.register(self.channel, select.POLLIN)

    def _lose_parent(self):
        if self.parent:
            self._signal(self.parent, signal.SIGKILL)
        self._drop_channel()
        self.parent, self.lost = 0, True

    def _drop_channel(self):
        if self.channel is not None:
            self._forget(self.channel.fileno())
            self.channel.close()
            self.channel = None

    def _parent_says(self, event):
        data = b""
        if event & select.POLLIN:
            try:
                data = self.channel.recv(1 << 16)
            except OSError:
                data = b""
        try:
            message = json.loads(data)
            running = self.running
            if "warmed" in message:
                frames.send(1, frames.WARMED, {"module": str(message["warmed"])[:100], "trouble": str(message["trouble"])[:100],
                                               "seconds": float(message["seconds"])})
            elif running and "pid" in message and running.began is None:
                running.start(int(message["pid"]))
            elif running and "exit" in message:
                running.exit_seen = True
                self._finish(code=int(message["exit"]))
        except (ValueError, KeyError, TypeError):
            self._lose_parent()  # it died, or user code speaks through it

    def _accept(self):
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        if len(self.reports) >= 64:
            connection.close()
            return
        connection.setblocking(True)
        self.reports[connection.fileno()] = connection
        self.poll.register(connection, select.POLLIN)

    def _report(self, fd):
        """A connection says something: the running program's end, or nonsense."""
        connection = self.reports.pop(fd)
        self._forget(fd)
        running = self.running
        try:
            report = json.loads(connection.recv(1 << 16))
            genuine = running is not None and report["token"] == running.token
            while genuine and running.began is None and self.channel is not None:
                self._parent_says(select.POLLIN)  # the child was quicker than its parent's word
            report = {"code": int(report["code"]) & 0xFF, "lingering": int(report["lingering"]),
                      "error": str(report.get("error", ""))[:100], "module": str(report.get("module", ""))[:100],
                      "errno": int(report.get("errno", 0)), "line": int(report.get("line", 0))}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            genuine = False
        if genuine:
            self._finish(report=report, heir=connection)
        else:
            connection.close()

    # Processes.

    def _reap(self):
        while True:
            try:
                if not os.read(self.wakeup, 4096):
                    break
            except BlockingIOError:
                break
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            running = self.running
            if pid == self.parent:
                self._lose_parent()
            if running and pid == running.pid:
                running.exit_seen = True
                self._finish(code=os.waitstatus_to_exitcode(status))

    def _sweep(self, keep, program):
        """Kills every process but ourselves and those in keep; returns how many were
        left beyond the program itself."""
        others = [pid for pid in facts.processes() if pid not in keep]
        left = [pid for pid in others if pid != program and not self._spent(pid)]
        if not left:
            for pid in others:
                self._signal(pid, signal.SIGKILL)
            for pid in keep:
                self._signal(pid, signal.SIGCONT)  # the program may have stopped it
            return 0
        # Stopped all at once, none of them can fork away from us.
        self._signal(-1, signal.SIGSTOP)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            others = [pid for pid in facts.processes() if pid not in keep and facts.stat(pid)[0] not in "ZX"]
            if not others:
                break
            for pid in others:
                self._signal(pid, signal.SIGKILL)
            time.sleep(0.0005)
        for pid in keep:
            self._signal(pid, signal.SIGCONT)
        return len(left)

    def _spent(self, pid):
        """Whether a process is dead, or the one that the parent forked ahead."""
        stat = facts.stat(pid)
        return stat[0] in "ZX" or int(stat[1]) == self.parent

    @staticmethod
    def _signal(pid, number):
        try:
            os.kill(pid, number)
        except OSError:
            pass  # gone already

    def _forget(self, fd):
        try:
            self.poll.unregister(fd)
        except KeyError:
            pass  # it had reached its end before
