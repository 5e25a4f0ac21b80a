"""The mark that separates a text's cells, decided by trying each in earnest."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice

from .layout import kind

CANDIDATES = "\t;|,^~\x01\x1f\x1e¦§!:#*/ "
STAND_IN = "\x1f"
_COMMON = "\t;|,"
_LINES = 120
# Characters of one cell; the csv module's own limit is far below.
FIELD_LIMIT = 1 << 24
_REMARKS = 12  # lines below a table
_TYPED = 40  # rows whose cells are looked at


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are told apart. ``delimiter`` "" is a single column."""

    delimiter: str
    quote: str = '"'
    width: int = 1
    skip: int = 0  # lines before the first that belong to no table
    quoting: bool = True
    escape: str = ""
    several: str = ""  # a mark of several characters, for which the delimiter stands
    lead: str = ""  # what stands before the first line's cells: a sign of comment


def decide(text: str, complete: bool) -> Dialect | None:
    """The dialect of a text's first part; None when it is no table.

    ``complete`` says that ``text`` is the whole file, so its last line is whole.
    """
    csv.field_size_limit(FIELD_LIMIT)
    lines = text.splitlines()
    if not complete and len(lines) > 1:
        lines = lines[:-1]
    told = re.fullmatch(r"\ufeff?\"?sep=(.)\"?\s*", lines[0]) if lines else None
    if told:
        width = max((len(row) for row in _rows(lines[1:], told[1], '"')), default=1)
        return Dialect(told[1], width=width, skip=1)
    head = max((i for i, line in enumerate(lines[:400]) if line.startswith("***End_of_Header***")), default=-1) + 1
    if head:  # LabVIEW's measurements
        found = _best(lines[head : head + _LINES])
        return None if found is None else replace(found, skip=head)
    several = _several(lines[:_LINES])
    if several:
        found = _best([line.replace(several, STAND_IN) for line in lines[:_LINES]])
        if found is not None and found.delimiter == STAND_IN:
            return replace(found, several=several)
    if _one_column(lines[:_LINES]):
        return Dialect("", width=1)
    comments = 0
    while comments < len(lines) and lines[comments].startswith(("#", "%%", "//")) and comments < 200:
        comments += 1
    if comments and comments < len(lines):
        with_header = _best(lines[comments - 1 : comments + _LINES])
        found = _best(lines[comments : comments + _LINES])
        if found and with_header and found.delimiter == with_header.delimiter and _same_width(lines[comments - 1], found):
            comments -= 1
        elif found and found.delimiter and (lead := _lead(lines[comments - 1], found)):
            return replace(found, skip=comments - 1, lead=lead)
        lines = lines[comments:]
    else:
        comments = 0
    best = _best(lines[: _LINES * 2])
    return None if best is None else Dialect(best.delimiter, best.quote, best.width, comments, best.quoting, best.escape)


# A number of telephone, blanks and all.
_PHONE = re.compile(r"\+?\(?\d[\d ()/\-]{5,}\d")


def _one_column(lines: list[str]) -> bool:
    """Whether a name stands over lines that are each one number or date: 1,5 under Betrag is no two cells."""
    filled = [line.strip() for line in lines if line.strip()]
    if len(filled) < 3 or kind(filled[0]) != "text" or any(mark in filled[0] for mark in _COMMON):
        return False
    body = filled[1:]
    if not any(mark in line for line in body for mark in (*_COMMON, " ")):
        return False
    if all(kind(line) in ("number", "date") for line in body):
        # Whole numbers apart by commas, 1,200 and 2,300, may be two columns; under a single name they are not.
        return True
    return all(_PHONE.fullmatch(line) for line in body) and any("+" in line or "(" in line for line in body)


def _several(lines: list[str]) -> str:
    """A mark of two to four signs that stands as often in each line, such as :: or |~|; "" when there is none."""
    filled = [line for line in lines if line.strip()]
    if len(filled) < 3:
        return ""
    for mark in sorted(set(re.findall(r"[^\w\s\"'.\-+()\[\]{}<>]{2,4}", filled[0])), key=len, reverse=True):
        count = filled[0].count(mark)
        if set(mark) <= set(_COMMON) and len(set(mark)) == 1:
            continue  # empty cells
        if all(line.count(mark) == count for line in filled):
            return mark
    return ""


def _same_width(line: str, dialect: Dialect) -> bool:
    return len(next(iter(_rows([line], dialect.delimiter, dialect.quote)), [])) == dialect.width


def _lead(line: str, dialect: Dialect) -> str:
    """The sign of comment before a row of names, as numpy writes it; "" where the line has none."""
    match = re.match(r"(?:#|%%|//)+[ \t]*", line)
    if match is None or not _same_width(line[match.end() :], dialect):
        return ""
    cells = next(iter(_rows([line[match.end() :]], dialect.delimiter, dialect.quote)))
    return match[0] if all(kind(cell) == "text" for cell in cells) and dialect.width > 1 else ""


def _rows(lines: list[str], delimiter: str, quote: str, escape: str = "") -> list[list[str]]:
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, quotechar=quote, skipinitialspace=delimiter != "\t", escapechar=escape or None, doublequote=not escape)
    try:
        return [row for row in islice(reader, _LINES) if row and any(cell.strip() for cell in row)]
    except csv.Error:
        return []


def _best(lines: list[str]) -> Dialect | None:
    ranked: list[tuple[float, int, Dialect]] = []
    sample = "\n".join(lines)
    certain = _between_quotes(lines)
    for order, delimiter in enumerate(certain or CANDIDATES):
        if delimiter not in sample:
            continue
        single = f"'{delimiter}" in sample and (f"{delimiter}'" in sample or "\n'" in sample)
        for quote in ('"', "'") if single else ('"',):
            rows = _rows(lines, delimiter, quote)
            scored = _score(rows, delimiter, quote, certain=bool(certain)) or _score(_first_block(lines, delimiter, quote, rows), delimiter, quote)
            if scored is not None:
                ranked.append((scored[0], -order, scored[1]))
    if ranked:
        return _with_escapes(max(ranked, key=lambda r: r[:2])[2], lines)
    return _ragged(lines) or _single(lines)


def _with_escapes(found: Dialect, lines: list[str]) -> Dialect:
    """The dialect, with a backslash before quotes within cells where that makes the rows whole."""
    if not any(f"\\{found.quote}" in line for line in lines):
        return found
    plain, escaped = (_rows(lines, found.delimiter, found.quote, mark) for mark in ("", "\\"))
    whole = [sum(len(row) == found.width for row in rows) / max(1, len(rows)) for rows in (plain, escaped)]
    odd = sum(cell.endswith(found.quote) for row in plain for cell in row)
    return replace(found, escape="\\") if whole[1] > whole[0] or whole[1] == whole[0] and odd else found


def _between_quotes(lines: list[str]) -> str:
    """The mark that stands between quoted cells in almost all lines; "" when none does."""
    filled = [line for line in lines[:_LINES] if line.strip()]
    for delimiter in _COMMON:
        if len(filled) >= 2 and sum(f'"{delimiter}"' in line for line in filled) >= 0.9 * len(filled):
            return delimiter
    return ""


def _first_block(lines: list[str], delimiter: str, quote: str, rows: list[list[str]]) -> list[list[str]]:
    """The rows above the second blank line or the last one, where another table stands below; else none."""
    blank = [i for i, line in enumerate(lines) if not line.strip(" \t\r" + delimiter) and 3 < i < len(lines) - 3]
    if not blank or len(rows) < 6:
        return []
    for place in blank:
        above, below = _rows(lines[:place], delimiter, quote), _rows(lines[place:], delimiter, quote)
        widths = {len(row) for row in below if len(row) > 1}
        if len(above) >= 3 and len(below) >= 3 and len(widths) == 1 and all(len(row) > 1 for row in below[1:]):
            return above
    return []


def _ragged(lines: list[str]) -> Dialect | None:
    """A few rows of very different lengths under a header of short names."""
    filled = [line for line in lines if line.strip()]
    for delimiter in _COMMON:
        rows = _rows(filled, delimiter, '"')
        if len(rows) < 3 or len(rows[0]) < 3 or any(len(row) < 2 or abs(len(row) - len(rows[0])) > 1 for row in rows) or _prose(rows):
            continue
        if all(kind(cell) == "text" and len(cell) <= 30 for cell in rows[0]) and any(kind(cell) == "number" for row in rows[1:] for cell in row):
            return Dialect(delimiter, width=len(rows[0]))
    return None


def _score(rows: list[list[str]], delimiter: str, quote: str, *, certain: bool = False) -> tuple[float, Dialect] | None:
    if not rows:
        return None
    widths = Counter(len(row) for row in rows)
    width, count = max(widths.items(), key=lambda item: (item[1] * min(item[0], 4), item[0]))
    if width < 2:
        return None
    begin = next(i for i, row in enumerate(rows) if len(row) == width)
    body = _without_remarks(rows[begin:], width)
    steady = sum(1 for row in body if len(row) == width) / len(body)
    if begin > 30 or steady < 0.6 or (count < 2 and len(rows) > 1):
        return None
    cells = [cell.strip() for row in body[:_TYPED] if len(row) == width for cell in row][:_TYPED * 40]
    typed = sum(1 for cell in cells if kind(cell) in ("number", "date")) / len(cells)
    # The comma in 1000,50 is that number's own, and no sign of another delimiter.
    rivals = sum(1 for cell in cells if any(d in cell for d in _COMMON if d != delimiter) and kind(cell) != "number") / len(cells)
    if delimiter not in _COMMON:
        if steady < 0.95 or width < 2 or len(body) < 3 or (delimiter in ":/ !#*" and not _plausible(body, typed, delimiter)):
            return None
    long = sum(1 for cell in cells if len(cell) > 120) / len(cells)
    score = steady * steady * (1.0 + typed) - 0.8 * rivals - long + min(width, 10) * 0.01
    score -= 0.6 if delimiter not in _COMMON else 0.0
    if not certain and delimiter in ",:!" and typed < 0.1 and (steady < 0.9 or _prose(body)):
        return None
    return score, Dialect(delimiter, quote, width)


def _without_remarks(body: list[list[str]], width: int) -> list[list[str]]:
    """Without the lines of few cells below the last whole row, which are no rows."""
    end = len(body)
    while end > 0 and len(body[end - 1]) <= max(1, width // 3) < width and len(body) - end < _REMARKS:
        end -= 1
    return body[:end] if end > 1 and len(body[end - 1]) == width else body


def _plausible(body: list[list[str]], typed: float, delimiter: str) -> bool:
    if delimiter == "/" or (delimiter == ":" and typed > 0.9 and len(body[0]) <= 3):
        return False
    return typed > 0.25 and all(len(row) == len(body[0]) for row in body)


def _prose(body: list[list[str]]) -> bool:
    """Sentences with commas: many cells of many words."""
    wordy = sum(1 for row in body for cell in row if len(cell.split()) > 4)
    return wordy > 0.25 * sum(len(row) for row in body)


def _single(lines: list[str]) -> Dialect | None:
    """One column of short values, or no table at all."""
    filled = [line.strip() for line in lines if line.strip()]
    if len(filled) < 2:
        return None
    short = sum(1 for line in filled if len(line) <= 40 and len(line.split()) <= 4)
    sentences = sum(1 for line in filled if line.endswith((".", ":", "!", "?", ",")))
    if short < 0.95 * len(filled) or sentences > 0.1 * len(filled):
        return None
    return Dialect("", width=1)
