"""Where a file's bytes come from: the disk, or an archive, always bounded.

A source can be opened again and again; nothing is unpacked to disk, so an
archive bomb costs reading time up to its cap and no space.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from .refusal import Refusal

# The most that one archive member may grow to, and how much more than its
# packed size a large one may be.
MAX_UNPACKED = 1 << 30
MAX_RATIO = 200
_RATIO_FROM = 16 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes with a name. ``size`` is -1 where only reading would tell."""

    name: str
    size: int
    open: Callable[[], BinaryIO]

    def head(self, count: int = 1 << 16) -> bytes:
        """The first bytes."""
        with self.open() as f:
            return _read_up_to(f, count)

    def data(self, limit: int = 1 << 28) -> bytes:
        """All bytes, for readers that need them at once; refused over limit."""
        with self.open() as f:
            data = _read_up_to(f, limit + 1)
        if len(data) > limit:
            raise Refusal("too_large", size=max(self.size, limit + 1) >> 20, limit=limit >> 20)
        return data


def _read_up_to(f: BinaryIO, count: int) -> bytes:
    parts, left = [], count
    while left > 0:
        part = f.read(min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def from_path(path: str | os.PathLike[str], name: str | None = None) -> Source:
    """A regular file on disk."""
    path = os.path.abspath(os.fspath(path))
    if not os.path.isfile(path):
        raise Refusal("not_regular")
    return Source(name or os.path.basename(path), os.path.getsize(path), lambda: open(path, "rb"))


def from_bytes(name: str, data: bytes) -> Source:
    """Bytes in memory."""
    return Source(name, len(data), lambda: io.BytesIO(data))


def ungzip(packed: Source) -> Source:
    """What a gzip file holds."""

    def reopen() -> BinaryIO:
        return bounded(gzip.GzipFile(fileobj=packed.open()), packed.size)  # type: ignore[arg-type]

    name = packed.name[:-3] if packed.name.lower().endswith(".gz") else packed.name
    return Source(name, -1, reopen)


def unpack(packed: Source, kind: str) -> Source:
    """What a bzip2 or xz file holds."""
    def reopen() -> BinaryIO:
        opened = bz2.BZ2File(packed.open()) if kind == "bzip2" else lzma.LZMAFile(packed.open())
        return bounded(opened, packed.size)  # type: ignore[arg-type]

    return Source(packed.name.rsplit(".", 1)[0], -1, reopen)


def bounded(stream: BinaryIO, packed_size: int) -> BinaryIO:
    """A stream that refuses to unpack to more than its caps."""
    return io.BufferedReader(_Bounded(stream, packed_size), 1 << 16)


class _Bounded(io.RawIOBase):
    def __init__(self, stream: BinaryIO, packed_size: int) -> None:
        self._stream = stream
        self._count = 0
        by_ratio = max(_RATIO_FROM, packed_size * MAX_RATIO) if packed_size >= 0 else MAX_UNPACKED
        self._limit = min(MAX_UNPACKED, by_ratio)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, ValueError) as error:
            raise Refusal("truncated_archive", kind="archive") from error
        self._count += len(data)
        if self._count > self._limit:
            raise Refusal("bomb")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
