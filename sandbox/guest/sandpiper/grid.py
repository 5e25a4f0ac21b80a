"""A table as a stream of blocks of columns, out of any source of rows.

Everything below the header goes through here, whatever the file was: ragged,
blank and repeated rows are counted and mended, total rows and footers left out,
rows turned into columns. A source can be read again, so that a file larger than
memory is simply read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from . import layout as layouts
from . import totals
from .notes import Note
from .words import clean

Block = list[Sequence[str]]

BLOCK_CELLS = 800_000
MAX_COLUMNS = 16_384  # as many as a spreadsheet has
_TAIL = 40  # rows kept back, to see a footer


@dataclass(slots=True)
class Tally:
    """What one pass over a table has counted."""

    rows: int = 0
    blocks: int = 0
    short: int = 0
    short_row: int = 0
    long: int = 0
    long_row: int = 0
    blank: int = 0
    headers: int = 0
    totals: int = 0
    footer: int = 0
    unnamed: int = 0  # cells in columns that were left out for want of a name


@dataclass(slots=True)
class Grid:
    """A source of rows with its layout found."""

    source: Callable[[], Iterator[list[str]]]
    layout: layouts.Layout
    keep: list[int] = field(default_factory=list)  # columns to keep, by index
    literal: bool = False  # every row is data: nothing is a footer, a total, a blank

    @property
    def names(self) -> list[str]:
        return [self.layout.names[j] for j in self.keep]

    def blocks(self, tally: Tally) -> Iterator[Block]:
        """Blocks of columns, each column a sequence of cells' texts."""
        width = self.layout.width
        size = max(50, BLOCK_CELLS // max(1, width))
        rows = islice(self.source(), self.layout.first, None)
        held: list[list[str]] = []
        line = self.layout.first
        while True:
            fresh = list(islice(rows, size))
            last = len(fresh) < size
            chunk, held = (held + fresh, []) if held else (fresh, [])
            if self.literal:
                chunk = list(chunk)
            elif last:
                cut = self._footer(chunk)
                tally.footer += sum(1 for row in chunk[len(chunk) - cut :] if any(row))
                chunk = chunk[: len(chunk) - cut]
            else:
                chunk, held = chunk[:-_TAIL], chunk[-_TAIL:]
            block = self._columns(chunk, tally, line, last)
            line += len(chunk)
            if block and len(block[0]):
                tally.blocks += 1
                tally.rows += len(block[0])
                yield block if len(self.keep) == width else [block[j] for j in self.keep]
            if last:
                return

    def _footer(self, chunk: list[list[str]]) -> int:
        sample = chunk[:200]
        fills = sorted(sum(1 for cell in row if cell) for row in sample)
        usual = fills[len(fills) * 3 // 4] if fills else 0
        return totals.footer(chunk[-_TAIL:], usual)

    def _columns(self, chunk: list[list[str]], tally: Tally, line: int, last: bool) -> Block:
        width = self.layout.width
        if set(map(len, chunk)) - {width}:
            chunk = self._mend(chunk, tally, line)
        if not chunk:
            return []
        block: Block = list(zip(*chunk, strict=True))
        drop: set[int] = set()
        if not self.literal:
            drop = self._not_data(block, chunk, tally)
            found = totals.find(block, last)
            tally.totals += len(found - drop)
            drop |= found
            for j in range(width) if len(self.keep) < width <= MAX_COLUMNS else ():
                if j not in self.keep:
                    tally.unnamed += sum(1 for cell in block[j] if cell)
        if drop:
            chunk = [row for i, row in enumerate(chunk) if i not in drop]
            block = list(zip(*chunk, strict=True)) if chunk else []
        return block

    def _mend(self, chunk: list[list[str]], tally: Tally, line: int) -> list[list[str]]:
        width = self.layout.width
        result = []
        for offset, row in enumerate(chunk, start=line + 1):
            if len(row) < width:
                if not any(row):
                    tally.blank += bool(row)
                    continue
                tally.short += 1
                tally.short_row = tally.short_row or offset
                row = [*row, *[""] * (width - len(row))]
            elif len(row) > width:
                if any(cell.strip() for cell in row[width:]):
                    tally.long += 1
                    tally.long_row = tally.long_row or offset
                row = row[:width]
            result.append(row)
        return result

    def _not_data(self, block: Block, chunk: list[list[str]], tally: Tally) -> set[int]:
        """Blank rows and repeats of the header."""
        drop: set[int] = set()
        if "" in block[0]:
            blank = {i for i, row in enumerate(chunk) if not row[0] and not any(cell.strip() for cell in row)}
            tally.blank += len(blank)
            drop |= blank
        header = self.layout.header
        if header and header[0] in block[0]:
            repeats = {i for i, row in enumerate(chunk) if row[0] == header[0] and [c.strip() for c in row] == header}
            tally.headers += len(repeats)
            drop |= repeats
        return drop


def open_grid(source: Callable[[], Iterator[list[str]]], width: int | None = None) -> Grid:
    """Find the layout of a source of rows."""
    head = list(islice(source(), 250))
    layout = layouts.find(head, width)
    grid = Grid(source, layout)
    grid.keep = list(range(min(layout.width, MAX_COLUMNS)))
    if layout.width > MAX_COLUMNS:
        layout.notes.append(Note("columns_cut", args={"total": layout.width, "read": MAX_COLUMNS}))
    nameless = _nameless(head, layout)
    if nameless:
        grid.keep = [j for j in grid.keep if j not in nameless]
        layout.notes = [note for note in layout.notes if note.code != "unnamed"]
        named = len(layout.header) - sum(1 for cell in layout.header if not cell)
        if len(grid.keep) > named:
            layout.notes.append(Note("unnamed", args={"count": len(grid.keep) - named}))
    return grid


def with_names(source: Callable[[], Iterator[list[str]]], names: list[str]) -> Grid:
    """A grid over rows whose columns are known from elsewhere: keys, a pattern."""
    unique, notes = layouts.distinguish([clean(name, 200) for name in names[:MAX_COLUMNS]])
    layout = layouts.Layout(len(names), 0, 0, unique + names[MAX_COLUMNS:], notes=notes)
    grid = Grid(source, layout, keep=list(range(len(unique))), literal=True)
    if len(names) > MAX_COLUMNS:
        layout.notes.append(Note("columns_cut", args={"total": len(names), "read": MAX_COLUMNS}))
    return grid


def _nameless(head: list[list[str]], layout: layouts.Layout) -> set[int]:
    """Columns that have neither a name nor, so far, a value."""
    if not layout.header_row:
        return set()
    body = head[layout.first :]
    return {
        j
        for j in range(layout.width)
        if not (j < len(layout.header) and layout.header[j]) and not any(j < len(row) and row[j].strip() for row in body)
    }


def tally_notes(tally: Tally) -> list[Note]:
    """The notes on what one whole pass has counted."""
    notes = []
    for code, count, row in (
        ("ragged_short", tally.short, tally.short_row),
        ("ragged_long", tally.long, tally.long_row),
        ("blank_rows", tally.blank, 0),
        ("repeated_header", tally.headers, 0),
        ("totals", tally.totals, 0),
        ("footer", tally.footer, 0),
        ("unnamed_cells", tally.unnamed, 0),
    ):
        if count:
            notes.append(Note(code, args={"count": count, "row": row}))
    return notes
