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
from .flat import Block, Flat
from .notes import Note
from .words import clean

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
    flat: Flat | None = None  # the same rows, where they are in memory as a rectangle
    literal: bool = False  # every row is data: nothing is a footer, a total, a blank

    @property
    def names(self) -> list[str]:
        return [self.layout.names[j] for j in self.keep]

    def blocks(self, tally: Tally, *, counted: bool = False) -> Iterator[Block]:
        """Blocks of columns, each column a sequence of cells' texts.

        With ``counted`` a column may be a ``Counted``, for who wants its counts.
        """
        blocks = self._flat_blocks(tally, self.flat, counted=counted) if self.flat is not None else self._row_blocks(tally)
        for block in blocks:
            if block and len(block[0]):
                tally.blocks += 1
                tally.rows += len(block[0])
                yield block if len(self.keep) == self.layout.width else [block[j] for j in self.keep]

    def _row_blocks(self, tally: Tally) -> Iterator[Block]:
        size = self._block_rows()
        rows = islice(self.source(), self.layout.first, None)
        held: list[list[str]] = []
        line = self.layout.first
        while True:
            fresh = list(islice(rows, size))
            last = len(fresh) < size
            chunk, held = (held + fresh, []) if held else (fresh, [])
            if not self.literal:
                if last:
                    chunk = chunk[: len(chunk) - self._footer(chunk[:200], chunk[-_TAIL:], tally)]
                else:
                    chunk, held = chunk[:-_TAIL], chunk[-_TAIL:]
            mended = self._mend(chunk, tally, line) if set(map(len, chunk)) - {self.layout.width} else chunk
            line += len(chunk)
            if mended:
                yield self._clean(list(zip(*mended, strict=True)), tally, last)
            if last:
                return

    def _flat_blocks(self, tally: Tally, flat: Flat, *, counted: bool) -> Iterator[Block]:
        size, first = self._block_rows(), self.layout.first
        below = len(flat) - first
        sample = list(islice(flat.rows(), first, first + 200))
        left = below - self._footer(sample, flat.tail(min(_TAIL, below)), tally)
        for part in flat.blocks(first, below - left, size):
            left -= size
            yield self._clean(part.counted() if counted else part.columns(), tally, last=left <= 0)

    def _block_rows(self) -> int:
        return max(50, BLOCK_CELLS // max(1, self.layout.width))

    def _footer(self, sample: Sequence[Sequence[str]], tail: Sequence[Sequence[str]], tally: Tally) -> int:
        """How many rows of the tail are below the table; counts those that say something."""
        fills = sorted(sum(1 for cell in row if cell) for row in sample)
        cut = totals.footer(tail, fills[len(fills) * 3 // 4]) if fills else 0
        tally.footer += sum(1 for row in tail[len(tail) - cut :] if any(row))
        return cut

    def _clean(self, block: Block, tally: Tally, last: bool) -> Block:
        """Leave out what is no row of the table."""
        if self.literal:
            return block
        drop = self._not_data(block, tally)
        found = totals.find(block, last)
        tally.totals += len(found - drop)
        drop |= found
        if len(self.keep) < self.layout.width <= MAX_COLUMNS:
            kept = set(self.keep)
            tally.unnamed += sum(1 for j, column in enumerate(block) if j not in kept for cell in column if cell)
        if drop:
            block = [[cell for i, cell in enumerate(column) if i not in drop] for column in block]
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

    def _not_data(self, block: Block, tally: Tally) -> set[int]:
        """Blank rows and repeats of the header."""
        drop: set[int] = set()
        if "" in block[0]:
            starts = [i for i, cell in enumerate(block[0]) if not cell]
            blank = {i for i in starts if not any(column[i].strip() for column in block)}
            tally.blank += len(blank)
            drop |= blank
        header = self.layout.header
        if header and header[0] in block[0]:
            starts = [i for i, cell in enumerate(block[0]) if cell == header[0]]
            repeats = {i for i in starts if [column[i].strip() for column in block] == header}
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
        layout.notes.append(Note("blank_columns", args={"count": len(nameless)}))
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
