"""Small acts on processes, shared by the supervisor and its children."""

import ctypes
import fcntl
import os
import struct

PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2

_libc = ctypes.CDLL(None, use_errno=True)


def dumpable(yes):
    """Says whether processes of the same user may look into this one."""
    _libc.prctl(PR_SET_DUMPABLE, 1 if yes else 0, 0, 0, 0)


def confine(program):
    """Adds a filter of system calls to what holds this process and its children."""
    code = ctypes.create_string_buffer(program, len(program))
    whole = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    if _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, whole, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def name(word):
    """Names the process, as ps shows it."""
    _libc.prctl(PR_SET_NAME, word.encode(), 0, 0, 0)


def first_to_die(score):
    """Makes the kernel prefer this process when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(str(score))
    except OSError:
        pass  # gVisor keeps no such file writable; its whole sandbox is one process


def widen(fd):
    """Lets a pipe hold a mebibyte, so that a file takes fewer turns to pass."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    except OSError:
        pass  # no pipe, or no more room for this user's pipes


def detach(keep):
    """Leaves only the descriptors in keep, and /dev/null as 0 to 2."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    low = 3
    for fd in sorted(keep):
        os.closerange(low, fd)
        low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
