"""Zip archives: every member that is a table, without unpacking to disk."""

from __future__ import annotations

import zipfile
from typing import BinaryIO

from . import kinds
from .refusal import Refusal
from .source import Source, bounded
from .words import clean

MAX_MEMBERS = 40
_MAX_ALL = 2 << 30


def members(packed: Source) -> tuple[list[tuple[str, Source]], int, int]:
    """The members to read with their shown names, how many there are, how many had unsafe paths."""
    with packed.open() as f, kinds.open_zip(f) as archive:
        infos = archive.infolist()
    if len(infos) > 100_000 or sum(info.file_size for info in infos) > _MAX_ALL:
        raise Refusal("bomb")
    wanted = [info for info in infos if not _is_clutter(info)]
    if not wanted:
        raise Refusal("archive_empty")
    unsafe = sum(1 for info in wanted if is_unsafe(info.filename))
    return [(_shown(info), _member(packed, info)) for info in wanted[:MAX_MEMBERS]], len(wanted), unsafe


def _is_clutter(info: zipfile.ZipInfo) -> bool:
    parts = info.filename.replace("\\", "/").split("/")
    return info.is_dir() or "__MACOSX" in parts or (parts[-1].startswith(".") and parts[-1].count(".") == 1 and info.file_size < 50_000) or parts[-1] in ("Thumbs.db", "desktop.ini")


def is_unsafe(name: str) -> bool:
    """Whether unpacking this member would write outside the folder."""
    path = name.replace("\\", "/")
    return path.startswith("/") or ".." in path.split("/") or path[1:2] == ":"


def _shown(info: zipfile.ZipInfo) -> str:
    path = info.filename.replace("\\", "/")
    parts = [p for p in path.split("/") if p not in ("", ".", "..") and not p.endswith(":")]
    return clean("/".join(parts), 200) or "(no name)"


def _member(packed: Source, info: zipfile.ZipInfo) -> Source:
    def reopen() -> BinaryIO:
        if info.flag_bits & 1:
            raise Refusal("password", kind="zip")
        f = packed.open()
        archive = kinds.open_zip(f)
        try:
            return bounded(archive.open(info), info.compress_size)  # type: ignore[arg-type]
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
            raise Refusal("truncated_archive", kind="zip") from error

    return Source(_shown(info).rsplit("/", 1)[-1], info.file_size, reopen)
