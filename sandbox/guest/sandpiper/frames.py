"""Tables as pandas DataFrames, typed as the profile decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas

from . import decide, grid, numbers
from .decide import Decision
from .notes import render
from .tables import Table


def build(table: Table, only: Collection[str] | None = None) -> pandas.DataFrame:
    """The table's rows, block by block, so that texts never pile up.

    With ``only`` no other columns are kept: of a large file, what is not asked
    for has no room.
    """
    wanted = [i for i, decision in enumerate(table.decisions) if only is None or decision.name in only]
    parts: dict[int, list[Any]] = {i: [] for i in wanted}
    rows = 0
    for block in table.body.blocks(grid.Tally()):
        rows += len(block[0])
        for i in wanted:
            parts[i].append(_typed(block[i], table.decisions[i]))
    decisions = [table.decisions[i] for i in wanted]
    columns = {}
    for i, decision in zip(wanted, decisions, strict=True):
        pieces = parts.pop(i)
        if pieces:
            columns[decision.name] = pieces[0] if len(pieces) == 1 else pandas.concat(pieces, ignore_index=True)
        else:
            columns[decision.name] = pandas.Series([], dtype=object)
    frame = pandas.DataFrame(columns) if columns else pandas.DataFrame(index=range(rows))
    for decision in decisions:
        if decision.type == decide.INTEGER and not frame[decision.name].isna().any():
            frame[decision.name] = frame[decision.name].astype("int64")
    frame.attrs["units"] = {d.name: d.unit for d in table.decisions if d.unit}
    frame.attrs["notes"] = [render(n) for n in table.all_notes()]
    return frame


def texts(table: Table) -> pandas.DataFrame:
    """The same rows as they are written in the file, every cell a text."""
    parts: list[list[str]] = [[] for _ in table.decisions]
    for block in table.body.blocks(grid.Tally()):
        for i, cells in enumerate(block):
            parts[i].extend(cell.strip() for cell in cells)
    return pandas.DataFrame({d.name: pandas.Series(parts[i], dtype=object) for i, d in enumerate(table.decisions)})


def _typed(cells: Sequence[str], decision: Decision) -> pandas.Series:
    quick = _quick(cells, decision)
    if quick is not None:
        return quick
    values = {text: _value(text, decision) for text in set(cells)}
    column = [values[text] for text in cells]
    if decision.type == decide.INTEGER:
        return pandas.Series(column, dtype="Int64")
    if decision.type == decide.NUMBER:
        return pandas.Series(column, dtype="float64")
    if decision.type == decide.BOOLEAN:
        return pandas.Series(column, dtype="bool" if None not in values.values() else "boolean")
    if decision.type in (decide.DATE, decide.DATETIME) and decision.convert is not None:
        return _times(column)
    return pandas.Series(column, dtype=object)


def _quick(cells: Sequence[str], decision: Decision) -> pandas.Series | None:
    """A block of plainly written numbers, none missing; None where it is not."""
    if decision.marks != numbers.Marks() or decision.type not in (decide.INTEGER, decide.NUMBER) or decision.unit:
        return None
    try:
        if decision.type == decide.INTEGER:
            return pandas.Series(list(map(int, cells)), dtype="Int64")
        return pandas.Series(list(map(float, cells)), dtype="float64")
    except ValueError:
        return None


def _value(text: str, decision: Decision) -> Any:
    text = text.strip()
    if not text or text in decision.absent:
        return None
    if decision.convert is None:
        return text
    try:
        return decision.convert(text)
    except (ValueError, OverflowError):
        return None


def _times(column: list[Any]) -> pandas.Series:
    """One offset is kept as the column's zone; several are kept as UTC instants."""
    offsets = {value.utcoffset() for value in column if value is not None}
    if len(offsets) > 1:
        zoned = [None if v is None else pandas.Timestamp(v) for v in column]
        stamps = [None if v is None else v.tz_localize("UTC") if v.tzinfo is None else v.tz_convert("UTC") for v in zoned]
        return pandas.Series(pandas.DatetimeIndex(stamps))
    try:
        return pandas.Series(pandas.to_datetime(column))
    except (ValueError, OverflowError):
        return pandas.Series(column, dtype=object)
