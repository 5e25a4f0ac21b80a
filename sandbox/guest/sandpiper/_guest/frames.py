"""Frames between host and guest: 4-byte length, 1-byte kind, body.

The body is a JSON object on one line, a newline, and raw bytes. The length
counts the body alone and is at most LIMIT.
"""

import json
import os

LIMIT = 2 << 20

# Host to guest.
HELLO, LEASE, PUT, RUN, CANCEL, GET, WARM, STOP = b"HLPRKGWQ"
# Guest to host.
READY, LEASED, STORED, OUTPUT, FINISHED, FILE, DATA, FILES, WARMED, TROUBLE = b"rlpofgdewx"


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
    """Takes bytes as they come and gives back whole frames."""

    def __init__(self):
        self.buffer = bytearray()

    def feed(self, data):
        self.buffer += data

    def next(self):
        """One (kind, head, tail), or None until more bytes came."""
        if len(self.buffer) < 5:
            return None
        size = int.from_bytes(self.buffer[:4], "big")
        if size > LIMIT:
            raise Broken(f"a frame of {size} bytes")
        if len(self.buffer) < 5 + size:
            return None
        kind = self.buffer[4]
        body = bytes(self.buffer[5:5 + size])
        del self.buffer[:5 + size]
        line, newline, tail = body.partition(b"\n")
        if not newline:
            raise Broken("a frame without a head")
        try:
            head = json.loads(line)
        except ValueError as error:
            raise Broken("a frame whose head is no JSON") from error
        if not isinstance(head, dict):
            raise Broken("a frame whose head is no object")
        return kind, head, tail
