"""Several tables in one sheet, or one text: below each other, or side by side.

A sheet is only cut where both sides are tables of their own, each with a header
over values: blank rows and columns inside one table are common, and a table cut
in two is worse than two read as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .layout import kind
from .words import clean

_MOST = 20  # tables of one sheet
_LOOK = 60  # rows of a part that are looked at
_TITLE_LINES = 3

Rows = Sequence[Sequence[str]]


@dataclass(slots=True)
class Section:
    """One table's place; ``top`` and ``left`` are counted from 0."""

    title: str
    top: int
    left: int
    rows: list[list[str]]


def split(rows: Rows) -> list[Section]:
    """The tables of a sheet; empty where it holds one."""
    blocks = _joined(_blocks(rows), rows)
    found: list[Section] = []
    for top, end in blocks:
        found.extend(_across(top, rows[top:end]))
        if len(found) > _MOST:
            return []
    return found if len(found) > 1 else []


def _blocks(rows: Rows) -> list[tuple[int, int]]:
    """Runs of rows with a cell in them."""
    blocks, start = [], None
    for i, row in enumerate(rows):
        if any(row):
            start = i if start is None else start
        elif start is not None:
            blocks.append((start, i))
            start = None
    if start is not None:
        blocks.append((start, len(rows)))
    return blocks


def _joined(blocks: list[tuple[int, int]], rows: Rows) -> list[tuple[int, int]]:
    """Blocks put together into tables: one begins with each block that has a header of its own."""
    parts: list[tuple[int, int]] = []
    for start, end in blocks:
        if parts and not (_is_table(rows[parts[-1][0] : parts[-1][1]], 2) and _is_table(rows[start:end], 1) and not _same_header(rows, parts[-1][0], start)):
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
    return parts


def _head(block: Rows) -> int:
    """The first row of a block below its titles."""
    return next((i for i, row in enumerate(block[:_TITLE_LINES]) if sum(map(bool, row)) > 1), 0)


def _is_table(block: Rows, least: int) -> bool:
    """Whether a block has a row of names, all of them words, over values of one kind."""
    at = _head(block)
    names = [(j, cell.strip()) for j, cell in enumerate(block[at]) if cell.strip()]
    body = [row for row in block[at + 1 : at + _LOOK] if any(row)]
    if len(names) < 2 or len(body) < least or len({name for _, name in names}) < len(names) or any(kind(name) != "text" for _, name in names):
        return False
    for j, _ in names:
        kinds = Counter(kind(row[j]) for row in body if j < len(row) and row[j].strip())
        usual, count = kinds.most_common(1)[0] if kinds else ("", 0)
        if usual in ("number", "date") and count >= max(least, 0.8 * sum(kinds.values())):
            return True
    return False


def _same_header(rows: Rows, first: int, second: int) -> bool:
    """Whether a block only goes on under a header that is written once more."""
    a, b = rows[first:][:_TITLE_LINES], rows[second:][:_TITLE_LINES]
    return _head(b) == 0 and list(a[_head(a)]) == list(b[0])


def _across(top: int, block: Rows) -> list[Section]:
    """Cut a block at its blank columns, where each side is a table."""
    block = [list(row) for row in block]
    at = _head(block)
    if "" not in block[at]:
        return [Section(_title(block[:at]), top, 0, block)]
    width = max(map(len, block))
    under = block[at:]
    blank = [j for j in range(width) if not any(j < len(row) and row[j].strip() for row in under)]
    edges = [-1, *blank, width]
    spans = [(a + 1, b) for a, b in zip(edges, edges[1:], strict=False) if b > a + 1]
    sides = [[row[a:b] for row in under] for a, b in spans]
    heights = {max(i for i, row in enumerate(side) if any(row)) for side in sides}
    names = [cell.strip() for cell in block[at] if cell.strip()]
    apart = len(heights) > 1 or len(set(names)) < len(names)
    if len(spans) < 2 or not apart or not all(b - a >= 2 and _is_table(side, 2) for side, (a, b) in zip(sides, spans, strict=True)):
        return [Section(_title(block[:at]), top, 0, block)]
    return [Section(_title([row[a:b] for row in block[:at]]), top, a, _trimmed([row[a:b] for row in block])) for a, b in spans]


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    while rows and not any(rows[-1]):
        rows.pop()
    return rows


def _title(lines: Rows) -> str:
    """What stands above a table's header."""
    words = [cell.strip() for row in lines for cell in row if cell.strip()]
    return clean(words[-1], 60) if words else ""
