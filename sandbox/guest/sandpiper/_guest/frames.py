"""Frames between host and guest: 4-byte length, 1-byte kind, body.

The body is a JSON object on one line, a newline, and raw bytes. The length
counts the body alone and is at most LIMIT.
"""

import json
import os

LIMIT = 2 << 20
GULP = 128 << 10  # bytes read at a time

# Host to guest.
HELLO, LEASE, PUT, RUN, CANCEL, GET, WARM, STOP = b"HLPRKGWQ"
# Guest to host.
READY, STORED, OUTPUT, FINISHED, FILE, DATA, FILES, WARMED, TROUBLE = b"rpofgdewx"


class Broken(Exception):
    """The host sent what is no frame."""


def send(fd, kind, head, tail=b""):
    """Writes one frame to fd, which blocks."""
    line = json.dumps(head, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
    size = len(line) + len(tail)
    data = memoryview(b"".join((size.to_bytes(4, "big"), bytes((kind,)), line, tail)))
    while data:
        data = data[os.write(fd, data):]


class Reader:
    """Takes bytes from a descriptor and gives back whole frames, without copying
    what they carry."""

    def __init__(self, fd):
        self.fd = fd
        self.buffer = memoryview(bytearray(GULP + LIMIT + 5))
        self.start = self.end = 0

    def fill(self):
        """Reads once; false when the other side has gone."""
        if self.start == self.end:
            self.start = self.end = 0
        elif self.start >= GULP:  # what is read soon after lies in the same, cached memory
            rest = bytes(self.buffer[self.start:self.end])
            self.start, self.end = 0, len(rest)
            self.buffer[:self.end] = rest
        count = os.readv(self.fd, [self.buffer[self.end:self.end + GULP]])
        self.end += count
        return count > 0

    def next(self):
        """One (kind, head, tail), or None until more bytes came. The tail is a
        view that the next call of fill ends."""
        if self.end - self.start < 5:
            return None
        size = int.from_bytes(self.buffer[self.start:self.start + 4], "big")
        if size > LIMIT:
            raise Broken(f"a frame of {size} bytes")
        body = self.start + 5
        if self.end - body < size:
            return None
        kind = self.buffer[self.start + 4]
        self.start = body + size
        newline = self.buffer.obj.find(b"\n", body, self.start)
        if newline < 0:
            raise Broken("a frame without a head")
        try:
            head = json.loads(bytes(self.buffer[body:newline]))
        except ValueError as error:
            raise Broken("a frame whose head is no JSON") from error
        if not isinstance(head, dict):
            raise Broken("a frame whose head is no object")
        return kind, head, self.buffer[newline + 1:self.start]
