"""One running program: its pipes, clocks, counters and end."""

import os
import signal
import time

from _guest import facts, frames, process

COMMANDS = {"bash": ("bash",), "javascript": ("node",)}
ENDINGS = {"python": "py", "sql": "sql", "javascript": "js", "bash": "sh"}
FULL = (b"No space left on device", b"ENOSPC", b"disk is full")
PLACES = ("/workspace", "/tmp", "/dev/shm", "/skills")
CROWD = 8  # processes from which on it counts as a fork bomb that the limit stopped one


class Output:
    """One stream: the head is sent on at once, the tail kept, the middle counted."""

    def __init__(self, name, head, tail):
        self.name, self.left, self.room = name, head, tail
        self.total, self.tail, self.recent = 0, bytearray(), b""

    def take(self, nonce, data):
        self.total += len(data)
        self.recent = (self.recent + data)[-4096:]
        if self.left:
            frames.send(1, frames.OUTPUT, {"nonce": nonce, "stream": self.name}, data[:self.left])
        self.tail += data[self.left:]
        self.left = max(0, self.left - len(data))
        if len(self.tail) > 2 * self.room:
            del self.tail[:-self.room]

    def end(self):
        return bytes(self.tail[-self.room:]) if self.room else b""


class Running:
    """A program from its frame to its end."""

    def __init__(self, head, number, code):
        self.nonce, self.language, self.number = head["nonce"], head["language"], number
        self.wall, self.cpu, self.stop = head["wall"], head["cpu"], head["stop"]
        self.pids = head["pids"]
        self.token = os.urandom(16).hex()
        self.pid, self.began, self.exit_seen = 0, None, False
        self.asked = time.monotonic()
        self.path = f"/run/sandpiper/programs/{number}.{ENDINGS[self.language]}"
        with open(self.path, "wb") as file:
            file.write(code)
        self.files = {}  # folder to the most files that it may hold, where its file system sets no limit
        self.streams, self.ends = {}, []
        for name in ("stdout", "stderr"):
            ours, theirs = os.pipe()
            os.set_blocking(ours, False)
            self.streams[ours] = Output(name, head["head"], head["tail"])
            self.ends.append(theirs)
        self.counters = self._counters()

    @property
    def uses_memory(self):
        """Whether the program runs in Python's memory."""
        return self.language in ("python", "sql")

    def spawn(self):
        """Starts a program that is no Python, as a process of its own."""
        command = (*COMMANDS[self.language], self.path)
        pid = os.fork()
        if pid == 0:
            try:
                self._become(command)
            finally:
                os._exit(127)
        self.close_ends()
        self.start(pid)

    def _become(self, command):
        signal.set_wakeup_fd(-1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        out, err = self.ends
        process.detach({out, err})
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 1 + max(out, err))
        process.dumpable(True)
        process.first_to_die(1000)
        os.setsid()
        os.chdir("/workspace")
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}; it is not in this image\n".encode())

    def forget_source(self):
        """Makes room for the next programs; tracebacks have the text by now."""
        try:
            os.unlink(self.path)
        except OSError:
            pass  # the program itself may have removed it

    def close_ends(self):
        for fd in self.ends:
            os.close(fd)
        self.ends = []

    def start(self, pid):
        self.pid, self.began = pid, time.monotonic()

    def read(self, fd):
        """Takes what one pipe holds; False at its end."""
        try:
            data = os.read(fd, 1 << 17)
        except BlockingIOError:
            return True
        if data:
            self.streams[fd].take(self.nonce, data)
        return bool(data)

    def drain(self):
        """Takes what is left in the pipes. The writers are gone."""
        for fd in self.streams:
            for _ in range(64):
                try:
                    if not self.read_some(fd):
                        break
                except BlockingIOError:
                    break

    def read_some(self, fd):
        data = os.read(fd, 1 << 17)
        if data:
            self.streams[fd].take(self.nonce, data)
        return data

    def trace(self, seconds):
        """Takes the traceback that a stopped program writes, without our own part."""
        until = time.monotonic() + seconds
        said = {fd: b"" for fd in self.streams}
        while time.monotonic() < until and sum(map(len, said.values())) < 1 << 20:
            for fd in said:
                try:
                    said[fd] += os.read(fd, 1 << 16)
                except BlockingIOError:
                    pass
            time.sleep(0.005)
        for fd, text in said.items():
            lines = [line for line in text.splitlines(True) if b"/sandpiper/_guest/" not in line and b'File "<string>"' not in line]
            if any(b"File " in line for line in lines):
                self.streams[fd].take(self.nonce, b"".join(lines))

    def _counters(self):
        return {"cpu": facts.cpu_seconds(), "oom": facts.oom_kills(), "pids": facts.pid_refusals()}

    def over_limit(self):
        """The limit that the program has passed, or ""."""
        if sum(stream.total for stream in self.streams.values()) > self.stop:
            return "output"
        if time.monotonic() - self.began > self.wall:
            return "wall"
        if facts.cpu_seconds() - self.counters["cpu"] > self.cpu:
            return "cpu"
        if len(facts.processes()) > self.pids:
            return "pids"
        if any(facts.inodes(path)[1] > most for path, most in self.files.items()):
            return "disk"
        return ""

    def evidence(self, code):
        """What the counters say; taken before anything is killed."""
        now = self._counters()
        grown = {"cpu": round(now["cpu"] - self.counters["cpu"], 4)}
        for name in ("oom", "pids"):
            known = now[name] is not None and self.counters[name] is not None
            grown[name] = now[name] - self.counters[name] if known else None
        grown["full"] = facts.full(PLACES) if code else []
        grown["wall"] = round(time.monotonic() - (self.began or self.asked), 4)
        return grown

    def result(self, reason, report, code, evidence, left):
        """The finished frame: what ended the program, and why we think so."""
        silent = report is None and self.uses_memory
        report = report or {"code": 0 if code is None else code}
        status = report["code"]
        if reason:
            status = -int(signal.SIGKILL)
        streams = list(self.streams.values())
        tails = [stream.end() for stream in streams]
        head = {
            "nonce": self.nonce,
            "end": self._end(reason, status, report, evidence, left),
            "code": status if status >= 0 else 128 - status,
            "signal": -status if status < 0 and not reason else 0,
            "error": report.get("error", ""), "module": report.get("module", ""), "line": report.get("line", 0),
            "lingering": report.get("lingering", 0), "left": left, "silent": silent,
            "evidence": evidence,
            "streams": {stream.name: {"total": stream.total, "tail": len(tail)}
                        for stream, tail in zip(streams, tails)},
        }
        return head, b"".join(tails)

    def _end(self, reason, status, report, evidence, left):
        if reason in ("cancelled", "output"):
            return reason
        if not reason and status != 0 and report.get("errno") in (28, 122):
            return "disk"  # the program's own last word: it was not killed, whatever else was
        if evidence["oom"] and (status != 0 or reason):
            return "oom"
        if evidence["pids"] and (status != 0 or reason or left >= CROWD):
            return "pids"
        if reason:
            return reason
        if status == 0:
            return "ok"
        if evidence["full"] or self._says_full():
            return "disk"
        return "exit"

    def _says_full(self):
        recent = [stream.recent for stream in self.streams.values() if stream.name == "stderr"]
        return any(word in text for text in recent for word in FULL)
