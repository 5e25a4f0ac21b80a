"""From a file to its tables, by what it holds and not by what it is called."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING

from . import charsets, dialect, kinds, read_archive, read_delimited, read_framed, read_json
from .notes import Note
from .refusal import Refusal
from .source import Source, from_path, ungzip, unpack
from .tables import Reading, Table, without_collector

if TYPE_CHECKING:
    import pandas

_EXTENSIONS = {
    "csv": "csv tsv fixed-width", "tsv": "tsv csv", "tab": "tsv csv", "psv": "csv", "xlsx": "xlsx xlsm", "xlsm": "xlsm", "xls": "xls", "ods": "ods",
    "json": "json jsonl", "jsonl": "jsonl", "ndjson": "jsonl", "html": "html", "htm": "html", "pdf": "pdf", "docx": "docx", "xml": "xml", "parquet": "parquet",
}  # fmt: skip
_NAMES = {"csv": "delimited text", "tsv": "tab-separated text", "xlsx": "an Excel workbook", "xls": "an old Excel workbook", "html": "an HTML page", "jsonl": "JSON Lines", "xml": "XML"}


def examine(source: Source, *, now: datetime.datetime | None = None, depth: int = 0) -> Reading:
    """What a source holds. ``Refusal`` says in one sentence why it is no table."""
    kind = kinds.sniff(source)
    if kind in (kinds.GZIP, kinds.BZIP2, kinds.XZ):
        return _packed(source, kind, now, depth)
    if kind == kinds.ZIP:
        return _archive(source, now, depth)
    reading = _single(source, kind, now or datetime.datetime.now())
    _check_extension(source.name, reading)
    return reading


def _single(source: Source, kind: str, now: datetime.datetime) -> Reading:
    """A file that is no archive. Readers are imported when a file needs them."""
    if kind in (kinds.XLSX, kinds.XLSM):
        from . import read_excel

        return read_excel.read_xlsx(source, kind)
    if kind == kinds.XLS:
        from . import read_excel

        return read_excel.read_xls(source)
    if kind == kinds.ODS:
        from . import read_ods

        return read_ods.read(source)
    if kind in (kinds.PDF, kinds.DOCX, kinds.PARQUET):
        from . import read_documents

        return {kinds.PDF: read_documents.read_pdf, kinds.DOCX: read_documents.read_docx, kinds.PARQUET: read_documents.read_parquet}[kind](source)
    return _text(source, now)


def _text(source: Source, now: datetime.datetime) -> Reading:
    charset = charsets.decide(source)
    text, complete = read_delimited.sniff_text(source, charset)
    if not text.strip("\ufeff\x00 \t\r\n\v\f"):
        raise Refusal("blank")
    charsets.check(text)
    kinds.refuse_text(text)
    looks = read_json.looks_like(text, complete)
    if looks:
        return read_json.read(source, charset) if looks == "json" else read_json.read_lines(source, charset)
    from . import read_documents, read_html, read_logs, read_sql, read_xml

    if read_html.looks_like(text):
        return read_html.read(source, charset)
    if read_xml.looks_like(text):
        return read_xml.read(source, charset)
    if read_sql.looks_like(text):
        return read_sql.read(source, charset)
    lines = text.splitlines()
    if read_logs.is_extended(lines):
        return read_logs.read_extended(source, charset)
    form = read_logs.detect(lines if complete else lines[:-1])
    if form is not None:
        return read_logs.read(source, charset, form, now)
    if read_framed.is_framed(lines):
        return read_framed.read(source, charset)
    if read_framed.is_expanded(lines):
        return read_framed.read_expanded(source, charset)
    if read_framed.is_pairs(lines):
        return read_framed.read_pairs(source, charset)
    written = dialect.decide(text, complete)
    if written is None or written.delimiter in ("", " "):
        aligned = read_documents.fixed_width(text, complete)
        if aligned is not None:
            return read_documents.read_fixed_width(source, charset)
    if written is None:
        return read_documents.read_text(source, charset)
    return Reading(tables=read_delimited.read(source, charset, written))


def _packed(source: Source, kind: str, now: datetime.datetime | None, depth: int) -> Reading:
    if depth >= 2:
        raise Refusal("archive_nested")
    inner = ungzip(source) if kind == kinds.GZIP else unpack(source, kind)
    reading = examine(inner, now=now, depth=depth + 1)
    reading.notes.append(Note("unpacked", args={"kind": kind}))
    return reading


def _archive(source: Source, now: datetime.datetime | None, depth: int) -> Reading:
    if depth >= 1:
        raise Refusal("archive_nested")
    found, total, unsafe = read_archive.members(source)
    reading = Reading()
    for name, member in found:
        try:
            inner = examine(member, now=now, depth=depth + 1)
        except Refusal as refusal:
            reading.refused.append((name, refusal))
            continue
        for table in inner.tables:
            table.member = name
            table.notes = [*inner.notes, *table.notes]
            reading.tables.append(table)
    if not reading.tables:
        raise reading.refused[0][1] if len(reading.refused) == 1 else Refusal("archive_empty")
    if total > len(found):
        reading.notes.append(Note("members_cut", args={"total": total, "read": len(found)}))
    if unsafe:
        reading.notes.append(Note("unsafe_names", args={"count": unsafe}))
    return reading


def _check_extension(name: str, reading: Reading) -> None:
    extension = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    kind = reading.tables[0].kind
    if extension in _EXTENSIONS and kind not in _EXTENSIONS[extension].split():
        reading.notes.append(Note("extension", args={"kind": _NAMES.get(kind, kind)}))


def study(source: Source, *, day_first: bool | None = None, now: datetime.datetime | None = None) -> Reading:
    """Examine a source and study its tables; a table without a row is no answer.

    A fault of a reader on a file that nobody foresaw is a refusal too: a person
    who sent a file gets a sentence, and the fault is its cause.
    """
    try:
        with without_collector():
            reading = examine(source, now=now)
            for table in reading.tables:
                table.study(day_first)
    except Refusal:
        raise
    except Exception as error:
        raise Refusal("failed", kind=(source.name.rsplit(".", 1)[-1][:8] if "." in source.name else "table").upper()) from error
    if not any(table.rows for table in reading.tables):
        raise Refusal("header_only", columns=max(len(table.evidence) for table in reading.tables))
    return reading


def read(
    path: str | os.PathLike[str], *, sheet: str | None = None, day_first: bool | None = None
) -> pandas.DataFrame | dict[str, pandas.DataFrame]:
    """See ``sandpiper.read``."""
    reading = study(from_path(path), day_first=day_first)
    named = _named(reading.tables)
    if sheet is not None:
        if sheet not in named:
            raise Refusal("no_such", names=", ".join(repr(name) for name in list(named)[:20]))
        return named[sheet].frame()
    frames = {name: table.frame() for name, table in named.items()}
    return next(iter(frames.values())) if len(frames) == 1 else frames


def spelt(path: str | os.PathLike[str]) -> dict[str, tuple[pandas.DataFrame, pandas.DataFrame]]:
    """A file's tables by name, each typed and as it is written, row by row the same."""
    from . import frames

    named = _named(study(from_path(path)).tables)
    return {name: (table.frame(), frames.texts(table)) for name, table in named.items()}


def _named(tables: list[Table]) -> dict[str, Table]:
    named: dict[str, Table] = {}
    for table in tables:
        base = name = "/".join(part for part in (table.member, table.name) if part)
        number = 2
        while name in named:
            name, number = f"{base} ({number})", number + 1
        named[name] = table
    return named
