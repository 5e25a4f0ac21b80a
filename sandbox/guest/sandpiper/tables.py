"""One table of a file: its rows as text, what its columns are, their figures."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import decide, figures, grid
from .decide import Decision
from .evidence import KEEP_DISTINCT, Evidence
from .figures import Figures
from .flat import Block
from .notes import Note
from .refusal import Refusal
from .words import clean

if TYPE_CHECKING:
    import pandas

# Distinct texts kept over all columns; the widest columns are given up first.
_KEEP_ALL = 1_500_000
# Rows whose hashes are kept, to find repeated ones.
_HASHED_ROWS = 4_000_000


@dataclass(slots=True)
class Reading:
    """What a file was found to hold."""

    tables: list[Table] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)  # on the file as a whole
    empty: list[str] = field(default_factory=list)  # sheets without a cell
    refused: list[tuple[str, Refusal]] = field(default_factory=list)  # archive members


@dataclass(slots=True)
class Table:
    """A table that was found, and, after ``study``, what is known of it."""

    kind: str
    body: grid.Grid
    name: str = ""
    member: str = ""  # of an archive
    encoding: str = ""
    delimiter: str = ""
    header_row: int = 0
    hidden: bool = False
    shares: str | None = None  # the sheet that it is on together with other tables
    notes: list[Note] = field(default_factory=list)
    native: list[Counter[str]] = field(default_factory=list)
    rows: int = 0
    evidence: list[Evidence] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    figures: list[Figures] = field(default_factory=list)
    late: Callable[[], list[Note]] | None = None  # notes that only a whole pass knows
    studied: bool = False

    def study(self, day_first: bool | None = None) -> Table:
        """Read the whole table and decide its types and figures, once."""
        if self.studied:
            return self
        tally = grid.Tally()
        self.evidence = [Evidence(name) for name in self.body.names]
        for column, native in zip(self.evidence, self.native, strict=False):
            column.native = native
        twins = _Twins()
        for block in self.body.blocks(tally, counted=True):
            twins.add(block)
            for column, cells in zip(self.evidence, block, strict=True):
                column.add(cells)
            self._give_up_widest()
        self.rows = tally.rows
        self.notes = [*self.notes, *(self.late() if self.late else []), *self.body.layout.notes, *grid.tally_notes(tally)]
        duplicates = twins.count(self.evidence)
        if duplicates:
            self.notes.append(Note("duplicate_rows", args={"count": duplicates}))
        self.decisions = decide.decide_all(self.evidence, day_first=day_first)
        self._gather(tally)
        self.studied = True
        return self

    def _give_up_widest(self) -> None:
        total = sum(len(c.counts) for c in self.evidence)
        while total > _KEEP_ALL:
            widest = max((c for c in self.evidence if not c.wide), key=lambda c: len(c.counts), default=None)
            if widest is None or len(widest.counts) < KEEP_DISTINCT // 100:
                return
            total -= len(widest.counts)
            widest.widen()
            total += len(widest.counts)

    def _gather(self, tally: grid.Tally) -> None:
        self.figures = [Figures() for _ in self.evidence]
        again = []
        for i, (column, decision) in enumerate(zip(self.evidence, self.decisions, strict=True)):
            if column.wide and decision.convert is not None and decision.type != decide.BOOLEAN:
                again.append(i)
            else:
                figures.gather(self.figures[i], column.counts, decision, column.number_facts)
        if again:
            self._gather_wide(again)
        if tally.blocks > 1:
            self.notes.append(Note("in_chunks", args={"count": tally.blocks}))
        for i, column in enumerate(self.evidence):
            decision = self.decisions[i]
            remarks = figures.remark(column, decision, self.figures[i])
            decision.notes.extend(n for n in remarks if n.code != "constant" or self.kind != "log")

    def _gather_wide(self, wanted: list[int]) -> None:
        """Read again, for the columns with too many values to have been kept."""
        for block in self.body.blocks(grid.Tally()):
            for i in wanted:
                counts = Counter(cell.strip() for cell in block[i])
                decision = self.decisions[i]
                figures.gather(self.figures[i], counts, decision, self.evidence[i].number_facts)
        for i in wanted:
            self.figures[i].distinct = self.evidence[i].distinct()

    def evidence_index(self, name: str) -> int:
        """The position of a column; ValueError when there is none of that name."""
        return next(i for i, column in enumerate(self.evidence) if column.name == name)

    def column(self, i: int) -> dict[str, Any]:
        """One column in the words of profile.json."""
        return _column_profile(self.evidence[i], self.decisions[i], self.figures[i])

    def all_notes(self) -> list[Note]:
        """The notes on the table, then those on its columns."""
        return [*self.notes, *(note for decision in self.decisions for note in decision.notes)]

    def frame(self, only: Collection[str] | None = None) -> pandas.DataFrame:
        """The table, or those of its columns, as a DataFrame typed as the profile says."""
        from . import frames

        return frames.build(self.study(), only)


class _Twins:
    """Counts rows that repeat an earlier one, by their hashes.

    A single block is only looked at when no column tells its rows apart.
    """

    def __init__(self) -> None:
        self._first: Block | None = None
        self._seen: set[int] = set()
        self._count = 0

    def add(self, block: grid.Block) -> None:
        if self._first is None and not self._seen:
            self._first = block
            return
        if self._first is not None:
            self._hash(self._first)
            self._first = None
        if len(self._seen) < _HASHED_ROWS:
            self._hash(block)

    def _hash(self, block: grid.Block) -> None:
        before = len(self._seen)
        self._seen.update(map(hash, zip(*block, strict=True)))
        self._count += len(block[0]) - (len(self._seen) - before)

    def count(self, columns: list[Evidence]) -> int:
        """Rows that repeat another; 0 for a single column, which repeats by nature."""
        if len(columns) < 2:
            return 0
        if self._first is not None:
            rows = len(self._first[0])
            if any(len(column.counts) + len(column.hard) >= rows for column in columns):
                return 0
            self._hash(self._first)
            self._first = None
        return self._count


@contextmanager
def without_collector() -> Iterator[None]:
    """Cells are millions of small objects in no cycle: the collector only costs."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _column_profile(column: Evidence, decision: Decision, found: Figures) -> dict[str, Any]:
    kind = decision.type
    result: dict[str, Any] = {"name": column.name, "type": kind, "missing": decision.missing}
    absent = sum(1 for t in decision.absent if t in column.counts)
    result["distinct"] = found.distinct if found.distinct else column.distinct() - absent
    if kind in (decide.INTEGER, decide.NUMBER) and found.values:
        if decision.summable:
            result["sum"], result["mean"] = found.sum, found.mean()
        result["min"], result["max"] = found.low, found.high
    if kind in (decide.DATE, decide.DATETIME):
        if found.low is not None:
            shown = [v.date().isoformat() if kind == decide.DATE else v.isoformat() for v in (found.low, found.high)]
            result["first"], result["last"] = shown
        result["date_format"] = decision.date_format
    if kind in (decide.TEXT, decide.BOOLEAN):
        values = Counter({t: n for t, n in column.counts.items() if t not in decision.absent}) if absent else column.counts
        result["top"] = [{"value": clean(t, 200), "count": n} for t, n in values.most_common(10)]
    if decision.unit:
        result["unit"] = decision.unit
    if decision.identifier:
        result["identifier"] = True
    return result
