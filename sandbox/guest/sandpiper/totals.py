"""Rows that sum up other rows, and lines below a table that are no rows.

Such rows are left out and said, because a sum over a column that has its own
total in it is twice too large.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from . import numbers
from .flat import Counted

_HINTS = ("total", "sum", "итог", "всего", "gesamt", "合计", "总计", "合計", "総計", "小计", "小計", "σ", "razem", "suma", "totaal")
_ASCII_HINTS = tuple(hint for hint in _HINTS if hint.isascii())
_LABEL = re.compile(
    r"(?:grand[\s-]+|sub[\s-]*|running )?totals?(?:\s*[:=]|\s+(?:for|of|général|general)\b.*|\s+\S.{0,40})?|\S.{0,40}\s(?:sub)?total:?|sum(?:me|ma)?\s*:?"
    r"|(?:под)?итог[оа]?\b.{0,40}|всего\b.{0,40}|gesamt(?:summe)?:?|zwischensumme:?|(?:合计|总计|合計|総計|小计|小計)[::]?|Σ|razem:?|suma:?|totaal:?",
    re.IGNORECASE,
)
_LABEL_COLUMNS = 5
_TAIL = 200  # rows at the end of a column of numbers in which a label is looked for


def find(columns: Sequence[Sequence[str]], last_block: bool) -> set[int]:
    """Indexes of the rows in a block of columns that are totals."""
    if not columns:
        return set()
    found: set[int] = set()
    for j, column in enumerate(columns[:_LABEL_COLUMNS]):
        low = "\n".join(_looked_at(column)).lower()
        if not any(hint in low for hint in (_ASCII_HINTS if low.isascii() else _HINTS)):
            continue
        labels = [i for i, cell in enumerate(column) if len(cell) < 60 and _LABEL.fullmatch(cell.strip())]
        if len(labels) > max(1, 0.5 * len(column)):
            continue  # a brand, a product: a value like others
        found.update(i for i in labels if _confirmed(columns, i, j, found, last_block))
    if last_block and _bare_total(columns):
        found.add(len(columns[0]) - 1)
    return found


def _bare_total(columns: Sequence[Sequence[str]]) -> bool:
    """Whether the last row has no label, only the sums of what stands above it."""
    last = [column.tail(1)[0] if isinstance(column, Counted) else column[-1] for column in columns]
    if last[0] or len(columns[0]) < 4 or columns[0].count("") > 1:
        return False
    filled = [j for j, cell in enumerate(last) if cell.strip()]
    row = len(columns[0]) - 1
    return bool(filled) and row <= 20_000 and all(_is_sum(columns[j][row], columns[j][:row]) for j in filled)


def _is_sum(cell: str, above: Iterable[str]) -> bool:
    mine = _value(cell)
    values = [v for v in map(_value, above) if v is not None]
    return mine is not None and len(values) >= 2 and math.isclose(mine, math.fsum(values), rel_tol=5e-4)


def _looked_at(column: Sequence[str]) -> Iterable[str]:
    """Where a label may be: in a column of numbers only at its end."""
    if isinstance(column, Counted):
        return column.tail(_TAIL) if next(iter(column.counts))[:1].isdigit() else column.counts
    return column[-_TAIL:] if column[0][:1].isdigit() else column


def _confirmed(columns: Sequence[Sequence[str]], row: int, label: int, found: set[int], last_block: bool) -> bool:
    rows = len(columns[0])
    for j, column in enumerate(columns):
        if j != label and not column[row].strip() and column.count("") < 0.3 * rows:
            return True
    if last_block and row == rows - 1 and rows > 1:
        return _label_alone(columns[label], row)
    return _sums(columns, row, label, found)


def _label_alone(column: Sequence[str], row: int) -> bool:
    return column.count(column[row]) == 1


def _sums(columns: Sequence[Sequence[str]], row: int, label: int, found: set[int]) -> bool:
    """Whether a numeric cell of the row is the sum of what stands above it."""
    if row > 20_000:
        return False
    begin = max((i + 1 for i in found if i < row), default=0)
    for j, column in enumerate(columns):
        if j == label:
            continue
        if _is_sum(column[row], column[begin:row]) and _value(column[row]):
            return True
    return False


def _value(text: str) -> float | None:
    described = numbers.describe(text.strip())
    if described is None:
        return None
    marks = numbers.decide_marks(set(described.facts), None)
    return None if marks is None else float(numbers.converter(marks)(text.strip()))


def footer(rows: Sequence[Sequence[str]], usual: int) -> int:
    """How many of the last rows are no rows of the table (sources, remarks).

    ``usual`` is how many cells the table's rows have filled.
    """
    if usual < 2:
        return 0
    count = 0
    for row in reversed(rows):
        filled = [cell for cell in row if cell.strip()]
        if not filled:
            count += 1
        elif len(filled) == 1 and not _LABEL.fullmatch(filled[0].strip()) and _is_remark(filled[0].strip(), usual):
            count += 1
        else:
            break
    return count if count < len(rows) else 0


def _is_remark(text: str, usual: int) -> bool:
    """A remark rather than a row whose other cells are missing."""
    return ":" in text or text.startswith(("*", "(", "—", "-", "©")) or (usual >= 3 and len(text.split()) >= 2)
