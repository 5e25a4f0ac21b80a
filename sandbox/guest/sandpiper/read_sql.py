"""Dumps of databases: the rows of INSERT and of PostgreSQL's COPY, a table for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import charsets, grid
from .notes import Note
from .refusal import Refusal
from .source import Source
from .tables import Reading, Table
from .words import clean

_MAX_BYTES = 128 << 20
_MAX_CELLS = 6_000_000
_MAX_TABLES = 40
_NAME = r"(?:[`\"\[]?[\w$ ]+[`\"\]]?\.)*[`\"\[]?(?P<name>[\w$ \-]+?)[`\"\]]?"
_BEGIN = re.compile(r"^[ \t]*(?:INSERT\s+(?:IGNORE\s+)?(?:INTO\s+)?[`\"\[\w]|COPY\s+\S+.*\sFROM\s+stdin;)", re.IGNORECASE | re.MULTILINE)
_FIRST = re.compile(r"\s*(?:--|/\*|#|\\|(?:SET|CREATE|INSERT|COPY|DROP|USE|BEGIN|START|LOCK|ALTER|PRAGMA|SELECT|GO|DELETE|TRUNCATE|REPLACE|PRINT|IF)\b)", re.IGNORECASE)
_STATEMENT = re.compile(
    rf"^[ \t]*(?:(?P<create>CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?)|(?P<copy>COPY\s+)|(?P<insert>INSERT\s+(?:IGNORE\s+)?(?:INTO\s+)?)){_NAME}\s*"
    r"(?P<rest>\(|VALUES\b|FROM\s+stdin;)",
    re.IGNORECASE | re.MULTILINE,
)
_COLUMN = re.compile(r"\s*(?:`([^`]+)`|\"([^\"]+)\"|\[([^\]]+)\]|([\w$]+))")
_NO_COLUMN = re.compile(r"\s*(?:PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FOREIGN|CHECK|FULLTEXT|SPATIAL|EXCLUDE)\b(?!\s*[`\"])", re.IGNORECASE)
# One value, and what stands after it. A quote within a text is doubled or has a backslash before it.
_VALUE = re.compile(
    r"\s*(?:(?:_\w+\s+)?[NEXB]?'((?:[^'\\]|''|\\.)*+)'|(CAST\(\s*N?(?:'(?:[^']|'')*+'|[^\s,()']++)\s+AS\s+[^()']*(?:\([^()]*\))?\s*\)|[^\s,()']++(?:\([^()]*\))?))"
    r"(?:::[\w ]+)?\s*([,)])",
    re.IGNORECASE | re.DOTALL,
)
_CAST = re.compile(r"CAST\(\s*N?('?)(.*?)\1\s+AS\s[^']*", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(r"\s*(,)?\s*(\()?")
_ESCAPE = re.compile(r"\\(.)|''", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "", "Z": ""}
_COPY_ESCAPE = re.compile(r"\\(.)")


@dataclass(slots=True)
class _Rows:
    """The rows of one table, and the names of its columns where the dump has them."""

    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def looks_like(text: str) -> bool:
    """Whether a text is a dump with rows in it."""
    first = next((line for line in text.lstrip("\ufeff").splitlines() if line.strip()), "")
    return _FIRST.match(first) is not None and _BEGIN.search(text) is not None


def read(source: Source, charset: charsets.Charset) -> Reading:
    """The tables of a dump."""
    text = source.data(_MAX_BYTES).decode(charset.codec, errors="replace")
    found: dict[str, _Rows] = {}
    cut = broken = False
    place, cells = 0, 0
    while (match := _STATEMENT.search(text, place)) is not None:
        table = found.setdefault(match["name"].strip(), _Rows())
        place = match.end()
        if match["create"]:
            if match["rest"] == "(":
                table.names = table.names or list(_created(text, place))
            continue
        if match["rest"] == "(":
            end = text.find(")", place)
            names = [next(filter(None, m.groups())) for m in map(_COLUMN.match, text[place:end].split(",")) if m]
            table.names = names or table.names
            place = end + 1
        before = len(table.rows)
        place, whole = _copied(text, place, table.rows) if match["copy"] else _inserted(text, place, table.rows)
        broken |= not whole
        cells += sum(map(len, table.rows[before:]))
        if cells > _MAX_CELLS:
            cut = True
            break
    reading = Reading()
    for name, table in list(found.items())[:_MAX_TABLES]:
        if table.rows:
            reading.tables.append(_table(name, table, charset.name, len(found) > 1))
    if not reading.tables:
        raise Refusal("truncated_sql")
    if cut:
        reading.notes.append(Note("rows_cut", args={"read": sum(len(t.rows) for t in found.values())}))
    if broken:
        reading.notes.append(Note("sql_broken"))
    return reading


def _table(name: str, found: _Rows, encoding: str, named: bool) -> Table:
    width = max(map(len, found.rows))
    names = found.names if len(found.names) == width else [f"column_{i + 1}" for i in range(width)]
    rows = [row if len(row) == width else row + [""] * (width - len(row)) for row in found.rows]
    table = Table(kind="sql", body=grid.with_names(lambda: iter(rows), names), name=clean(name, 120) if named else "")
    table.encoding = encoding
    return table


def _created(text: str, place: int) -> Iterator[str]:
    """The names of a CREATE TABLE's columns, whose parentheses begin at a place."""
    depth, start = 0, place
    for at in range(place, min(len(text), place + 200_000)):
        c = text[at]
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        if depth < 0 or (c == "," and depth == 0):
            part = text[start:at]
            match = _COLUMN.match(part)
            if match and not _NO_COLUMN.match(part):
                yield next(filter(None, match.groups()))
            start = at + 1
        if depth < 0:
            return


def _copied(text: str, place: int, rows: list[list[str]]) -> tuple[int, bool]:
    """Rows of COPY, up to the line that ends them; whether that line was there."""
    place = text.find("\n", place) + 1 or len(text)
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        line = text[place:end].rstrip("\r")
        place = end + 1
        if line == "\\.":
            return place, True
        rows.append([_uncopied(cell) for cell in line.split("\t")])
    return place, False


def _uncopied(cell: str) -> str:
    if "\\" not in cell:
        return cell
    return "" if cell == "\\N" else _COPY_ESCAPE.sub(lambda m: _CONTROL.get(m[1], m[1]), cell)


def _inserted(text: str, place: int, rows: list[list[str]]) -> tuple[int, bool]:
    """Rows of one INSERT, up to its end; whether it was whole."""
    match = re.compile(r"\s*(?:VALUES|VALUE)?\s*\(", re.IGNORECASE).match(text, place)
    if match is None:
        return place, True  # INSERT … SELECT: no rows in the dump
    place = match.end()
    row: list[str] = []
    while (value := _VALUE.match(text, place)) is not None:
        row.append(_unquoted(value[1]) if value[1] is not None else _bare(value[2]))
        place = value.end()
        if value[3] == ")":
            rows.append(row)
            row = []
            following = _BETWEEN.match(text, place)
            if following is None or not (following[1] and following[2]):
                return place, True
            place = following.end()
    return place, False


def _unquoted(text: str) -> str:
    if "'" not in text and "\\" not in text:
        return text
    return _ESCAPE.sub(lambda m: "'" if m[1] is None else _CONTROL.get(m[1], m[1]), text)


def _bare(text: str) -> str:
    cast = _CAST.fullmatch(text)
    if cast:
        text = cast[2].replace("''", "'")
    return "" if text.upper() in ("NULL", "DEFAULT") else text
