"""Tables drawn with bars and rules, as database shells, SAP lists and Markdown have them, and lines of NAME=value."""

from __future__ import annotations

import re

from . import charsets
from .notes import Note
from .read_delimited import text_lines
from .read_excel import from_kept
from .read_json import of_records
from .refusal import Refusal
from .source import Source
from .tables import Reading, Table

_RULE = re.compile(r"\s*+[|+:┌┬┐├┼┤└┴┘│╞╪╡ ]*+[-=─━═]{2,}+[-=─━═|+:┌┬┐├┼┤└┴┘│╞╪╡ ]*+\s*+")
_BAR = re.compile(r"(?<!\\)[|│]")
_PAIR = re.compile(r"([\w.@][\w.@ \-]{0,59}?)\s?=(.*)")
_CLOSING = re.compile(r"\(\d+ rows?\)|\d+ rows? in set.*|(?:Empty set|Time:|Query OK).*", re.IGNORECASE)
_WIKI = re.compile(r"\|\|(?:[^|]+\|\|)+")
_LOOK = 400
_MAX_LINES = 2_000_000
_MAX_COLUMNS = 500


def is_framed(lines: list[str]) -> bool:
    """Whether the first lines of a text draw a table: a rule beside rows with bars."""
    filled = [line for line in lines[:_LOOK] if line.strip()]
    if len(filled) > 1 and _WIKI.fullmatch(filled[0].strip()) and all(line.strip().startswith("|") for line in filled):
        return True
    rules = [i for i, line in enumerate(filled) if _RULE.fullmatch(line)]
    counts = [len(_cells(line)) for line in filled if _BAR.search(line) and not _RULE.fullmatch(line)]
    if not rules or len(counts) < 2 or len(counts) + len(rules) < 0.4 * len(filled):
        return False
    beside = any(_BAR.search(filled[i + 1]) for i in rules if i + 1 < len(filled))
    width = max(set(counts), key=counts.count)
    return beside and width >= 2 and counts.count(width) >= 0.9 * len(counts)


def _cells(line: str) -> list[str]:
    """The cells of a row, without its outer bars."""
    if line.lstrip().startswith("||"):  # a header, as wikis write it
        line = line.replace("||", "|")
    parts = [part.strip().replace("\\|", "|") for part in _BAR.split(line.strip("\r\n"))]
    if line.strip()[:1] in "|│":
        parts = parts[1:]
    return parts[:-1] if line.strip()[-1:] in ("|", "│") and len(parts) > 1 else parts


def read(source: Source, charset: charsets.Charset) -> Reading:
    """A drawn table."""
    rows: list[list[str]] = []
    places: list[int] = []
    above = below = 0
    with text_lines(source, charset) as f:
        for number, line in enumerate(f, start=1):
            if not line.strip() or _RULE.fullmatch(line) or number > _MAX_LINES:
                continue
            if not _BAR.search(line):
                above, below = above + (not rows), below + bool(rows)
                continue
            row = _cells(line)
            if row and re.fullmatch(r"\*{1,4}", row[0]):  # how SAP marks its totals
                row[0] = "Total"
            rows.append(row)
            places.append(number)
    table = from_kept("csv", rows)
    table.encoding, table.delimiter = charset.name, "|"
    table.header_row = places[table.header_row - 1] if table.header_row else 0
    table.notes.extend(Note(code, args={"count": count}) for code, count in (("preamble", above), ("footer", below)) if count)
    return Reading(tables=[table])


def is_pairs(lines: list[str]) -> bool:
    """Whether the first lines are NAME=value, with names that come again: one record after the other."""
    filled = [line for line in lines[:_LOOK] if line.strip()]
    names = [match[1] for match in map(_PAIR.match, filled) if match]
    return len(names) >= 6 and len(names) >= 0.75 * len(filled) and len(set(names)) <= 0.7 * len(names)


def read_pairs(source: Source, charset: charsets.Charset) -> Reading:
    """Records of NAME=value lines; each begins with the first name that comes again."""
    with text_lines(source, charset) as f:
        pairs = [(match[1], match[2].strip()) for number, line in enumerate(f) if number < _MAX_LINES and (match := _PAIR.match(line.strip("\ufeff\r\n")))]
    seen: set[str] = set()
    again = {name for name, _ in pairs if name in seen or seen.add(name)}  # type: ignore[func-returns-value]
    begin = next(name for name, _ in pairs if name in again)
    records: list[dict[str, str]] = []
    above = 0
    for name, value in pairs:
        if name == begin:
            records.append({})
        if not records:
            above += 1
        elif name not in records[-1]:
            records[-1][name] = value
    keys = list(dict.fromkeys(name for record in records for name in record))[:_MAX_COLUMNS]
    table: Table | None = of_records(lambda: iter(records), keys, records)
    assert table is not None
    table.native, table.kind, table.encoding = [], "key-value", charset.name
    if above:
        table.notes.append(Note("preamble", args={"count": above}))
    return Reading(tables=[table])


_RECORD = re.compile(r"-\[ RECORD (\d+) \][-+]*|\*{5,} (\d+)\. row \*{5,}")
_EXPANDED = re.compile(r"\s*([^|:]{1,200}?)\s*(?:\|| ?:) ?(.*)")


def is_expanded(lines: list[str]) -> bool:
    """Whether records stand one below the other under rules that number them: psql's \\x, mysql's \\G."""
    first = next((line for line in lines if line.strip()), "")
    return _RECORD.fullmatch(first.strip()) is not None


def read_expanded(source: Source, charset: charsets.Charset) -> Reading:
    """Records of NAME | value or NAME: value; a line without a name goes on with the value above it."""
    records: list[dict[str, str]] = []
    last = ""
    with text_lines(source, charset) as f:
        for number, line in enumerate(f):
            line = line.rstrip("\r\n")
            if number > _MAX_LINES or _CLOSING.fullmatch(line.strip()):
                continue
            if _RECORD.fullmatch(line.strip()):
                records.append({})
                continue
            match = _EXPANDED.fullmatch(line)
            name = match[1] if match else ""
            if match and name and (len(records) < 2 or name in records[0]):
                records[-1][name] = "" if match[2].strip() == "NULL" else match[2].strip()
                last = name
            elif last and line.strip():
                records[-1][last] += "\n" + (match[2] if match and not name else line).strip()
    keys = list(dict.fromkeys(name for record in records for name in record))[:_MAX_COLUMNS]
    table: Table | None = of_records(lambda: iter(records), keys, records)
    if table is None:
        raise Refusal("blank")
    table.native, table.kind, table.encoding = [], "key-value", charset.name
    return Reading(tables=[table])
