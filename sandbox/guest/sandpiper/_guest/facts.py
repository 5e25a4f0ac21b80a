"""What the container can see of itself: the guest's half of the proof of
enforcement, and the counters that tell one ending from another."""

import os

CGROUP = "/sys/fs/cgroup"
UNLIMITED = (1 << 63) - 1


def text(path, limit=1 << 16):
    """A small file's text, or "" where it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    parts = []
    try:
        while limit > 0:
            part = os.read(fd, min(limit, 1 << 16))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
    except OSError:
        return ""
    finally:
        os.close(fd)
    return b"".join(parts).decode("utf-8", "replace")


def number(*paths):
    """The first integer found in one of the files, or None; "max" is no limit."""
    for path in paths:
        word = text(path).split("\n", 1)[0].strip()
        if word == "max":
            return UNLIMITED
        if word.isdigit():
            return int(word)
    return None


def field(path, name):
    """The integer beside name in a file of "name value" lines, or None."""
    for line in text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return None


def status(pid="self"):
    """/proc/PID/status as a dict of strings."""
    found = {}
    for line in text(f"/proc/{pid}/status").splitlines():
        key, _, value = line.partition(":")
        found[key] = value.strip()
    return found


def mounts():
    """Every mount: where, type, options, and what of its file system it shows."""
    found = []
    for line in text("/proc/self/mountinfo", 1 << 18).splitlines():
        left, _, right = line.partition(" - ")
        one, two = left.split(" "), right.split(" ")
        if len(one) < 6 or len(two) < 2:
            continue
        extra = two[2] if len(two) > 2 else ""
        found.append({"at": one[4], "root": one[3], "type": two[0], "source": two[1],
                      "options": sorted(set((one[5] + "," + extra).strip(",").split(",")))[:40]})
    return found[:200]


def interfaces():
    """Names of the network interfaces."""
    return [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines() if ":" in line]


def view():
    """The guest's own view of what holds it."""
    seen = status()
    return {
        "capabilities": {name: seen.get(name, "") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
        "no_new_privileges": seen.get("NoNewPrivs", ""),
        "seccomp": seen.get("Seccomp", ""),
        "seccomp_filters": seen.get("Seccomp_filters", ""),
        "uid": list(os.getresuid()),
        "gid": list(os.getresgid()),
        "groups": os.getgroups(),
        "mounts": mounts(),
        "interfaces": interfaces(),
        "memory": number(CGROUP + "/memory/memory.limit_in_bytes", CGROUP + "/memory.max"),
        "pids": number(CGROUP + "/pids/pids.max", CGROUP + "/pids.max"),
        "environment": sorted(os.environ),
    }


def cpu_seconds():
    """CPU time that the whole container has used, in seconds."""
    nanoseconds = number(CGROUP + "/cpuacct/cpuacct.usage")
    if nanoseconds is not None:
        return nanoseconds / 1e9
    microseconds = field(CGROUP + "/cpu.stat", "usage_usec")
    if microseconds is not None:
        return microseconds / 1e6
    ticks = 0
    for pid in processes():
        ticks += sum(int(word) for word in stat(pid)[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def stat(pid):
    """The words of /proc/PID/stat after the command's name: state first."""
    words = text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return words if len(words) > 15 else ["X"] + ["0"] * 20


def oom_kills():
    """How often the kernel killed here for lack of memory, or None."""
    kills = field(CGROUP + "/memory/memory.oom_control", "oom_kill")
    if kills is None:
        kills = field(CGROUP + "/memory.events", "oom_kill")
    return kills


def pid_refusals():
    """How often a fork was refused by the process limit, or None."""
    refusals = field(CGROUP + "/pids/pids.events", "max")
    if refusals is None:
        refusals = field(CGROUP + "/pids.events", "max")
    return refusals


def processes():
    """Ids of all processes but the first one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def inodes(path):
    """How many files the file system of a writable folder may hold, and holds."""
    try:
        room = os.statvfs(path)
    except OSError:
        return 0, 0
    if room.f_flag & os.ST_RDONLY:
        return 0, 0
    return room.f_files, room.f_files - room.f_ffree


def full(paths):
    """Those of the folders whose file system has no room or no inode left."""
    found = []
    for path in paths:
        try:
            room = os.statvfs(path)
        except OSError:
            continue
        if room.f_bavail == 0 or (room.f_files and room.f_favail == 0):
            found.append(path)
    return found
