# Probes 1 to 23: what a program can see and reach without breaking anything.
# Prints one JSON object per probe: id, ok, seen. OWN_KERNEL, WORKSPACE and TMP
# are set by the host in a first line.
import ctypes
import errno
import json
import os
import platform
import re
import shutil
import socket
import stat
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ARM = platform.machine() == "aarch64"


def report(number, ok, seen):
    print(json.dumps({"id": number, "ok": bool(ok), "seen": str(seen)[:300]}))


def read(path, limit=65536):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(limit)


def tried(act, *args):
    """The name of the error that act raised, or "" when it went through."""
    try:
        act(*args)
        return ""
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    except subprocess.SubprocessError as error:
        return type(error).__name__


def syscall(x86, arm, *args):
    """The name of the error of a raw system call, or "" when it went through."""
    number = arm if ARM else x86
    if number is None:
        return "ENOSYS"
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return errno.errorcode.get(ctypes.get_errno(), "?") if result < 0 else ""


def all_refused(results):
    return all(results.values()), " ".join(f"{name}:{error or 'DONE'}" for name, error in results.items())


status = dict(line.split(":\t", 1) for line in read("/proc/self/status").splitlines() if ":\t" in line)
caps = {name: status.get(name, "?") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
report(1, all(set(value) == {"0"} for value in caps.values()), " ".join(f"{k}={v.lstrip('0') or '0'}" for k, v in caps.items()))
report(2, status.get("NoNewPrivs") == "1" and (OWN_KERNEL or status.get("Seccomp") == "2"),
       f"NoNewPrivs {status.get('NoNewPrivs')}, Seccomp {status.get('Seccomp')}")
ids = set(os.getresuid()) | set(os.getresgid())
report(3, 0 not in ids and set(os.getgroups()) <= ids, f"ids {sorted(ids)}, groups {os.getgroups()}")


def setuid_binary():
    for name in ("su", "passwd", "mount", "newgrp", "chsh", "umount"):
        path = shutil.which(name)
        if path and os.stat(path).st_mode & stat.S_ISUID and os.stat(path).st_uid == 0:
            return path
    return None


binary = setuid_binary()
if binary is None:
    report(4, True, "the image has no setuid binary")
else:
    seen = "it ended at once"
    child = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lines = read(f"/proc/{child.pid}/status").splitlines()
        seen = next(line for line in lines if line.startswith("Uid:"))
    except (OSError, StopIteration):
        pass
    child.kill()
    child.wait()
    report(4, "\t0" not in seen, f"{binary}: {seen}".replace("\t", " "))

report(5, *all_refused({path: tried(lambda p: open(p + "/probe", "w"), path) for path in ("/", "/usr", "/etc")}))

sizes = {}
for path, want in (("/workspace", WORKSPACE), ("/tmp", TMP)):
    with open(path + "/probe6", "w") as file:
        file.write("x")
    room = os.statvfs(path)
    sizes[path] = room.f_blocks * room.f_frsize, want
    os.unlink(path + "/probe6")
report(6, all(have == want for have, want in sizes.values()), " ".join(f"{p} {have >> 20} MiB" for p, (have, _) in sizes.items()))


def execute_in(folder):
    path = folder + "/probe7"
    shutil.copy("/usr/bin/true" if os.path.exists("/usr/bin/true") else "/bin/true", path)
    os.chmod(path, 0o755)
    try:
        subprocess.run([path], check=False)
    finally:
        os.unlink(path)


report(7, *all_refused({path: tried(execute_in, path) for path in ("/tmp", "/workspace", "/dev/shm", "/skills")}))

names = [line.split(":")[0].strip() for line in read("/proc/net/dev").splitlines() if ":" in line]
routes = read("/proc/net/route").splitlines()[1:] if os.path.exists("/proc/net/route") else []
report(8, set(names) <= {"lo"} and not routes, f"interfaces {names}, {len(routes)} routes")


def dial(address):
    with socket.create_connection(address, 2):
        pass


targets = {host: tried(dial, (host, port)) for host, port in
           (("1.1.1.1", 53), ("169.254.169.254", 80), ("172.17.0.1", 2375), ("10.0.0.1", 80))}
targets["DNS"] = tried(socket.getaddrinfo, "example.com", 80)
report(9, *all_refused(targets))

sockets = [p for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
                       "/run/crio/crio.sock", "/run/systemd/private", "/run/dbus/system_bus_socket") if os.path.lexists(p)]
report(10, not sockets, sockets or "none")

abstract = [line.split()[-1] for line in read("/proc/net/unix").splitlines() if " @" in line] if os.path.exists("/proc/net/unix") else []
report(11, not abstract, abstract or "none")

ALLOWED = re.compile(r"^(PATH|HOSTNAME|HOME|LANG|LC_ALL|LC_CTYPE|TZ|TERM|PWD|SHLVL|MPL\w+|PYTHON\w+|SOURCE_DATE_EPOCH|NODE_OPTIONS|\w+_NUM_THREADS|NUMEXPR_MAX_THREADS|container)$")  # container names the kind of engine
strange = [name for name in os.environ if not ALLOWED.match(name)]
try:
    first = "readable"
    strange += [item.split("=")[0] for item in read("/proc/1/environ").split("\0") if item and not ALLOWED.match(item.split("=")[0])]
except OSError as error:
    first = errno.errorcode.get(error.errno)
report(12, not strange, f"{len(os.environ)} names, strange {strange}, /proc/1/environ {first}")

PSEUDO = {"proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2", "tmpfs", "dev", "overlay"}
binds = []
for line in read("/proc/self/mountinfo", 1 << 18).splitlines():
    left, _, right = line.partition(" - ")
    at, kind = left.split()[4], right.split()[0]
    if at not in ("/", "/etc/resolv.conf", "/etc/hostname", "/etc/hosts") and kind not in PSEUDO:
        binds.append(at)
report(13, not binds, binds or "only the engine's own three")

mounts = {"tmpfs": 0, "remount": 0}
mounts["tmpfs"] = errno.errorcode.get(ctypes.get_errno(), "?") if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) else ""
mounts["remount"] = errno.errorcode.get(ctypes.get_errno(), "?") if libc.mount(b"none", b"/", None, 32, None) else ""
ok, seen = all_refused(mounts)
report(14, ok or OWN_KERNEL, seen)

CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
child = os.fork()
if child == 0:
    os._exit(0 if syscall(272, 97, CLONE_NEWUSER | CLONE_NEWNS) else 1)
refused = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
report(15, refused or OWN_KERNEL, "refused" if refused else "succeeded inside its own kernel" if OWN_KERNEL else "succeeded")

writes = {}
for folder, _, files in os.walk("/sys/fs/cgroup"):
    for name in files:
        if name in ("release_agent", "memory.limit_in_bytes", "pids.max", "cgroup.procs", "memory.max", "memory.swap.max", "cpu.max",
                    "cgroup.subtree_control", "cgroup.kill", "cpu.cfs_quota_us"):
            path = os.path.join(folder, name)
            writes[path.removeprefix("/sys/fs/cgroup/")] = tried(lambda p: os.close(os.open(p, os.O_WRONLY)), path)
ok, seen = all_refused(writes)
report(16, ok, f"{len(writes)} files, all refused" if ok else seen)

report(17, *all_refused({path: tried(lambda p: os.close(os.open(p, os.O_WRONLY)), path)
                         for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger")}))


def empty(path):
    try:
        with open(path, "rb") as file:
            return not file.read(64)
    except OSError:
        return True


report(18, empty("/proc/kcore") and empty("/proc/keys"), f"kcore empty {empty('/proc/kcore')}, keys empty {empty('/proc/keys')}")

nodes = set(os.listdir("/dev")) - {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "core",
                                   "ptmx", "pts", "shm", "mqueue", "console", "net", "fuse"}
nodes = {name for name in nodes if not os.path.isdir("/dev/" + name)}
made = tried(os.mknod, "/tmp/probe19", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
report(19, made and not nodes, f"mknod {made or 'DONE'}, other nodes {sorted(nodes)}")

buffer = ctypes.create_string_buffer(256)
calls = {
    "bpf": syscall(321, 280, 0, ctypes.byref(buffer), 72),
    "keyctl": syscall(250, 219, 0, -3, 0),
    "userfaultfd": syscall(323, 282, 1),
    "perf_event_open": syscall(298, 241, ctypes.byref(buffer), 0, -1, -1, 0),
    "init_module": syscall(175, 105, ctypes.byref(buffer), 256, ctypes.c_char_p(b"")),
    "io_uring_setup": syscall(425, 425, 4, ctypes.byref(buffer)),
    "vsock": tried(lambda: socket.socket(40, socket.SOCK_STREAM).close()),
    "process_vm_writev": syscall(311, 271, 1, ctypes.byref(buffer), 1, ctypes.byref(buffer), 1, 0),
    "ptrace": syscall(101, 117, 16, 1, 0, 0),
}
ok, seen = all_refused({name: error for name, error in calls.items() if not (OWN_KERNEL and name == "keyctl")})
report(20, ok, seen)
report(21, syscall(304, 265, -100, ctypes.byref(buffer), 0), "open_by_handle_at:" + (syscall(304, 265, -100, ctypes.byref(buffer), 0) or "DONE"))

report(22, *all_refused({path: tried(lambda p, f: os.close(os.open(p, f)), path, flags) for path, flags in
                         (("/proc/1/exe", os.O_WRONLY), ("/proc/1/fd/1", os.O_WRONLY), ("/proc/1/mem", os.O_RDWR))}))

listing = os.open("/proc/self/fd", os.O_RDONLY)
held = sorted(int(name) for name in os.listdir(listing))
os.close(listing)
report(23, set(held) <= {0, 1, 2, listing, listing + 1}, f"{[fd for fd in held if fd not in (listing, listing + 1)]}")
