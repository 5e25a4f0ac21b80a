"""CSV and its kin."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy

from . import charsets, dialect, grid, sections
from .flat import Flat
from .notes import Note
from .read_excel import from_sections
from .refusal import Refusal
from .source import Source, from_bytes
from .tables import Table

# The part of a text that is looked at first: some, and more while it has few lines.
_SNIFF, _SNIFF_MOST, _SNIFF_LINES = 1 << 16, 1 << 21, 60
_QUOTES = 1 << 18  # how far quoting is tried before it is believed
# Rows are kept between the passes when the file is no larger than that.
_KEEP_BYTES = 24 << 20


def text_lines(source: Source, charset: charsets.Charset) -> io.TextIOWrapper:
    """The source as text; bytes that do not decode stand as U+FFFD."""
    return io.TextIOWrapper(source.open(), encoding=charset.codec, errors="replace", newline="")


def sniff_text(source: Source, charset: charsets.Charset) -> tuple[str, bool]:
    """The first part of a text, and whether that is all of it."""
    with text_lines(source, charset) as f:
        text = f.read(_SNIFF)
        while text.count("\n") < _SNIFF_LINES and len(text) < _SNIFF_MOST:
            more = f.read(_SNIFF)
            if not more:
                break
            text += more
        return text, not f.read(1)


def read(source: Source, charset: charsets.Charset, form: dialect.Dialect) -> list[Table]:
    """A delimited text as a table, or as several that stand below each other."""
    csv.field_size_limit(dialect.FIELD_LIMIT)
    notes: list[Note] = []
    if not _quotes_close(source, charset, form):
        form = replace(form, quoting=False)
        notes.append(Note("stray_quotes"))
    small = 0 <= source.size <= _KEEP_BYTES
    kind = "tsv" if form.delimiter == "\t" else "csv"
    if small:
        opened = _open_kept(source, charset, form, notes)
        if isinstance(opened, list):
            tables = from_sections(kind, opened)
            for table in tables:
                table.encoding, table.delimiter = charset.name, form.delimiter
                table.header_row += form.skip if table.header_row else 0
            tables[0].notes.extend(notes)
            return tables
        body = opened
    else:
        body = grid.open_grid(lambda: _rows(source, charset, form), form.width)
    table = Table(kind=kind, encoding=charset.name, delimiter=form.several or form.delimiter, body=body)
    if body.layout.header_row:
        table.header_row = body.layout.header_row + form.skip
    if form.skip and form.delimiter:
        table.notes.append(Note("preamble", args={"count": form.skip}))
    if not charset.sure:
        notes.append(Note("encoding_guess", args={"encoding": charset.name}))
    table.notes.extend(notes)
    return [table]


def _open_kept(source: Source, charset: charsets.Charset, form: dialect.Dialect, notes: list[Note]) -> grid.Grid | list[sections.Section]:
    """A small source, read once and kept: one table, or the places of several."""
    text = source.data().decode(charset.codec, errors="replace")
    if "\0" in text:
        notes.append(Note("nul_bytes", args={"count": text.count("\0")}))
        text = text.replace("\0", "")
    if form.several:
        text = text.replace(form.several, form.delimiter)
    if "\ufffd" in text:
        notes.append(Note("bad_bytes", args={"count": text.count("\ufffd"), "encoding": charset.name}))
    flat = _rectangle(text, form)
    if flat is not None:
        body = grid.open_grid(flat.rows, form.width)
        body.flat = flat if body.layout.width == flat.width else None
        return body
    kept = _kept(text, form)
    if not kept:
        raise Refusal("blank")
    several = sections.split(kept) if form.delimiter else []
    if several:
        return several
    return grid.open_grid(lambda: iter(kept), form.width)


def _rectangle(text: str, form: dialect.Dialect) -> Flat | None:
    """The cells of a text without quotes and with as many in each line; else None.

    That is what most programs write, and splitting it whole takes half the time.
    """
    mark = form.delimiter
    if form.skip or form.lead or not mark or form.quote in text or f"{mark} " in text:
        return None
    text = text.replace("\r\n", "\n").removesuffix("\n")
    if "\r" in text or "\n\n" in text:
        return None
    width = _width(text, mark)
    return Flat(text, mark, width) if width > 1 else None


def _width(text: str, mark: str) -> int:
    """How many cells each line of a text has; 0 where they differ."""
    data = numpy.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=numpy.uint8)
    breaks = numpy.append(numpy.flatnonzero((data == ord(mark)) | (data == ord("\n"))), len(data))
    lines = text.count("\n") + 1
    width, rest = divmod(len(breaks), lines)
    ends = breaks[width - 1 : -1 : width]
    return width if not rest and (data[ends] == ord("\n")).all() else 0


def _kept(text: str, form: dialect.Dialect) -> list[list[str]]:
    """All rows of a text, parsed in one go."""
    if form.skip or form.lead or not form.delimiter:
        return list(_rows(from_bytes("", text.encode("utf-8")), charsets.UTF8, form))
    return list(_reader(io.StringIO(text, newline=""), form))


def _reader(lines: Iterable[str], form: dialect.Dialect) -> Iterator[list[str]]:
    quoting = csv.QUOTE_MINIMAL if form.quoting else csv.QUOTE_NONE
    if form.escape:  # \N is no letter that is escaped, but the database's missing value
        null = re.compile(rf"(?<![^{re.escape(form.delimiter)}\n])\\N(?=[{re.escape(form.delimiter)}\r\n]|$)")
        lines = (null.sub("", line) for line in lines)
    return csv.reader(lines, delimiter=form.delimiter, quotechar=form.quote, quoting=quoting, skipinitialspace=form.delimiter in ",;|", escapechar=form.escape or None, doublequote=not form.escape)


def _rows(source: Source, charset: charsets.Charset, form: dialect.Dialect) -> Iterator[list[str]]:
    with text_lines(source, charset) as f:
        for _ in range(form.skip):
            f.readline()
        if form.lead:
            f.read(len(form.lead))
        if not form.delimiter:
            for line in f:
                yield [line.strip()]
            return
        yield from _reader((line.replace(form.several, form.delimiter) for line in f) if form.several else f, form)


def _quotes_close(source: Source, charset: charsets.Charset, form: dialect.Dialect) -> bool:
    """Whether quoting works out: no cell swallows the rest of the file."""
    if not form.delimiter or not form.quoting:
        return True
    with text_lines(source, charset) as f:
        text = f.read(_QUOTES)
    if form.quote not in text:
        return True
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=form.delimiter, quotechar=form.quote, skipinitialspace=True, escapechar=form.escape or None, doublequote=not form.escape)
    try:
        rows = list(reader)
    except csv.Error:
        return False
    return all(cell.count("\n") < 60 for row in rows[:-1] for cell in row if len(cell) > 60) and (
        len(text) == _QUOTES or (text.count(form.quote) - (text.count(form.escape + form.quote) if form.escape else 0)) % 2 == 0
    )
