"""A plain text's cells, split as late as can be and counted as soon as they are split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

Block = list[Sequence[str]]

# Characters that are split at a time: so many, or more where there are many
# columns, each of which should have some cells in a piece.
_PIECE, _PIECE_COLUMN = 1 << 13, 1 << 10


@dataclass(slots=True)
class Flat:
    """A text without quotes, each line of it ``width`` cells between marks."""

    text: str
    mark: str
    width: int
    kept: list[str] | None = None
    last: list[list[str]] | None = None  # its last row, which every column asks for

    def __len__(self) -> int:
        return self.text.count("\n") + 1

    def rows(self) -> Iterator[list[str]]:
        """Its rows, one by one."""
        start = 0
        while (stop := self.text.find("\n", start)) >= 0:
            yield self.text[start:stop].split(self.mark)
            start = stop + 1
        yield self.text[start:].split(self.mark)

    def tail(self, count: int) -> list[list[str]]:
        """The last rows."""
        if count == 1 and self.last is not None:
            return self.last
        at = self._back(len(self.text), count)
        rows = [line.split(self.mark) for line in self.text[at + 1 :].split("\n")] if count else []
        if count == 1:
            self.last = rows
        return rows

    def blocks(self, first: int, cut: int, size: int) -> Iterator[Flat]:
        """All but the first and the last rows, in parts of ``size`` rows."""
        left = len(self) - first - cut
        if left <= 0:
            return
        at, end = self._skip(0, first), self._back(len(self.text), cut)
        while left > 0:
            after = end + 1 if left <= size else self._skip(at, size)
            yield Flat(self.text[at : after - 1], self.mark, self.width)
            at = after
            left -= size

    def cells(self) -> list[str]:
        """All its cells, row after row."""
        return self.kept or self.text.replace("\n", self.mark).split(self.mark)

    def columns(self) -> Block:
        """All its cells, column by column."""
        cells = self.cells()
        return [cells[j :: self.width] for j in range(self.width)]

    def counted(self) -> Block:
        """Its columns, of which only the counts of cells are made for now.

        A piece at a time, whose cells are gone before the next, so that they stay
        in the processor's cache: columns whose cells lie all about in memory take
        more than twice as long to count.
        """
        text, at, end = self.text, 0, len(self.text)
        rows = len(self)
        columns = [Counted(self, j, rows) for j in range(self.width)]
        piece = max(_PIECE, self.width * _PIECE_COLUMN)
        while at <= end:
            stop = text.find("\n", min(at + piece, end))
            stop = stop if stop >= 0 else end
            cells = Flat(text[at:stop], self.mark, self.width).cells()
            for j, column in enumerate(columns):
                column.counts.update(cells[j :: self.width])
            at = stop + 1
        return list(columns)

    def _skip(self, at: int, lines: int) -> int:
        """Where the text goes on after so many lines."""
        for _ in range(lines):
            at = self.text.index("\n", at) + 1
        return at

    def _back(self, end: int, lines: int) -> int:
        """Where the text ends without so many of its last lines; -1 without any left."""
        for _ in range(lines):
            end = self.text.rfind("\n", 0, end)
            if end < 0:
                break
        return end


class Counted(Sequence[str]):
    """A column whose cells are counted, and only split again where they are asked for."""

    __slots__ = ("_cells", "_flat", "_index", "_rows", "counts")

    def __init__(self, flat: Flat, index: int, rows: int) -> None:
        self.counts: Counter[str] = Counter()
        self._flat, self._index, self._rows = flat, index, rows
        self._cells: list[str] | None = None

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, cell: object) -> bool:
        return cell in self.counts

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._all()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def tail(self, count: int) -> list[str]:
        """The last cells, without splitting the others."""
        return [row[self._index] for row in self._flat.tail(count)]

    def head(self, count: int) -> list[str]:
        """The first cells, without splitting the others."""
        return [row[self._index] for row in islice(self._flat.rows(), count)]

    def _all(self) -> list[str]:
        if self._cells is None:
            self._flat.kept = self._flat.cells()  # its other columns will be wanted too
            self._cells = self._flat.kept[self._index :: self._flat.width]
        return self._cells
