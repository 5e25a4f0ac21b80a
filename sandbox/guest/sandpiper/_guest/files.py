"""Files in and out of a session.

The supervisor opens what programs left behind, so it never follows a link,
never opens what is no regular file, and never waits for one.
"""

import errno
import os
import stat

from _guest import frames

ROOTS = ("workspace", "skills")
CHUNK = 256 << 10
LISTED = 200    # new or changed files named after a program
WALKED = 50000  # entries looked at, at most


class Refused(Exception):
    """The host asked for what no session has."""


class Store:
    """Receives one file after the other, in chunks."""

    def __init__(self):
        self.fd = None
        self.path = ""
        self.failed = ""

    def chunk(self, head, data):
        """Writes one chunk; returns "" or why it could not be written.

        Of one file only the first trouble is told, so that the host gets one
        answer, however many chunks are still under way.
        """
        if head["id"] == self.failed:
            return ""
        trouble = self._chunk(head, data)
        if trouble:
            self.failed = head["id"]
        return trouble

    def _chunk(self, head, data):
        try:
            if head.get("first"):
                self._open(head["name"])
            if self.fd is None:
                return "not open"
            view = memoryview(data)
            while view:
                view = view[os.write(self.fd, view):]
            if head.get("last"):
                self.close()
        except OSError as error:
            self.close()
            return errno.errorcode.get(error.errno, str(error.errno))
        return ""

    def _open(self, name):
        self.close()
        parts = name.split("/")
        if parts[0] not in ROOTS or len(parts) < 2 or any(part in ("", ".", "..") for part in parts):
            raise Refused(name)
        self.path = "/" + name
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NONBLOCK | os.O_NOFOLLOW
        self.fd = os.open(self.path, flags, 0o644)

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def _folder(parts):
    """Opens a folder below /workspace without following any link."""
    fd = os.open("/workspace", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    for part in parts:
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


def walk(fd, above, depth, budget, refuse=None):
    """Yields (folder's fd, name, path, lstat) for all that is no folder.

    Names are bytes: what programs called them. budget is a list of one number,
    the entries that may still be looked at.
    """
    try:
        names = sorted(os.listdir(fd), key=os.fsencode)
    except OSError:
        return
    for name in names:
        budget[0] -= 1
        if budget[0] < 0:
            return
        path = above + os.fsencode(name)
        try:
            seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError:
            continue
        if not stat.S_ISDIR(seen.st_mode):
            yield fd, name, path, seen
            continue
        if depth <= 0:
            if refuse:
                refuse(path, "nested too deep")
            continue
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        except OSError:
            if refuse:
                refuse(path, "a folder that cannot be opened")
            continue
        try:
            yield from walk(below, path + b"/", depth - 1, budget, refuse)
        finally:
            os.close(below)


def snapshot():
    """Path to (size, time, inode) of the regular files that programs made."""
    found = {}
    try:
        fd = _folder(())
    except OSError:
        return found
    try:
        for _, _, path, seen in walk(fd, b"", 16, [WALKED]):
            top = path.split(b"/", 1)[0]
            if stat.S_ISREG(seen.st_mode) and top != b"in" and not path.startswith(b".") and b"/." not in path:
                found[path] = (seen.st_size, seen.st_mtime_ns, seen.st_ino)
    finally:
        os.close(fd)
    return found


def changed(before, after):
    """New or changed files as [path, size], at most LISTED."""
    paths = sorted(path for path, mark in after.items() if before.get(path) != mark)
    return [[path.decode("utf-8", "replace")[:1024], after[path][0]] for path in paths[:LISTED]]


def collect(fd, order):
    """Sends the files of a folder, in the order of their names.

    order holds dir, files, size (of each), total, depth, and inputs (size to
    list of SHA-256), whose unchanged copies are not sent back. The host counts
    all of it again.
    """
    sent, total, skipped = 0, 0, []

    def skip(path, reason):
        if len(skipped) < 500:
            skipped.append([path.decode("utf-8", "replace")[:1024], reason])

    budget = [WALKED]
    parts = [part for part in order["dir"].split("/") if part not in ("", ".", "..")]
    try:
        root = _folder(parts)
    except FileNotFoundError:
        return frames.send(fd, frames.FILES, {"skipped": []})
    except OSError:
        return frames.send(fd, frames.FILES, {"skipped": [["/".join(parts), "no folder, or a link in place of one"]]})
    try:
        for folder, name, path, seen in walk(root, b"", order["depth"], budget, skip):
            reason = _unfit(seen, order)
            if not reason and sent >= order["files"]:
                reason = f"more than {order['files']} files"
            if not reason and total + seen.st_size > order["total"]:
                reason = "more than may be delivered in all"
            if reason:
                skip(path, reason)
                continue
            reason = _send(fd, folder, name, path, order)
            if reason:
                skip(path, reason)
                continue
            sent += 1
            total += seen.st_size
    finally:
        os.close(root)
    if budget[0] < 0:
        skip(b"", "too many entries to look at them all")
    return frames.send(fd, frames.FILES, {"skipped": skipped})


KINDS = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"),
         (stat.S_ISBLK, "a device"), (stat.S_ISCHR, "a device"))


def _unfit(seen, order):
    for kind, reason in KINDS:
        if kind(seen.st_mode):
            return reason
    if not stat.S_ISREG(seen.st_mode):
        return "no regular file"
    if seen.st_nlink > 1:
        return "a hard link"
    if seen.st_size > order["size"]:
        return "larger than allowed"
    if seen.st_blocks * 512 < seen.st_size:
        return "a sparse file"
    return ""


def _send(out, folder, name, path, order):
    """Sends one file; returns "" or why it was not sent."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        return "cannot be read: " + errno.errorcode.get(error.errno, str(error.errno))
    try:
        seen = os.fstat(fd)
        reason = _unfit(seen, order)
        if reason:
            return reason
        if _is_input(fd, seen.st_size, order.get("inputs", {})):
            return "an unchanged input"
        try:
            path.decode("utf-8")
        except UnicodeDecodeError:
            return "a name that is no UTF-8"
        frames.send(out, frames.FILE, {"path": path.decode(), "size": seen.st_size})
        left = seen.st_size
        while left:
            data = os.read(fd, min(CHUNK, left))
            if not data:
                data = bytes(min(CHUNK, left))  # it shrank: the host's count must still come out
            frames.send(out, frames.DATA, {}, data)
            left -= len(data)
        return ""
    finally:
        os.close(fd)


def _is_input(fd, size, inputs):
    sums = inputs.get(str(size))
    if not sums:
        return False
    import hashlib  # here, for it costs the first process 2 MB

    digest, at = hashlib.sha256(), 0
    while at < size:
        data = os.pread(fd, min(CHUNK, size - at), at)
        if not data:
            return False
        digest.update(data)
        at += len(data)
    return digest.hexdigest() in sums
