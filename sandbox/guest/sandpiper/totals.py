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
from .layout import kind

_HINTS = ("total", "sum", "итог", "всего", "gesamt", "合计", "总计", "合計", "総計", "小计", "小計", "σ", "razem", "suma", "totaal")
_ASCII_HINTS = tuple(hint for hint in _HINTS if hint.isascii())
_LABEL = re.compile(
    r"(?:grand[\s-]+|sub[\s-]*|running )?totals?(?:\s*[:=].{0,40}|\s+(?:for|of|général|general)\b.*|\s+\S.{0,40})?|\S.{0,40}\s(?:sub)?total:?|sum(?:me|ma)?\s*:?"
    r"|(?:под)?итог[оа]?\b.{0,40}|всего\b.{0,40}|gesamt(?:summe)?:?|zwischensumme:?|(?:合计|总计|合計|総計|小计|小計)[::]?|Σ|razem:?|suma:?|totaal:?",
    re.IGNORECASE,
)
# What a statement says above its first movement and below its last one.
_BALANCE = re.compile(
    r"(?:(?:opening|closing|starting|ending|beginning|final|previous|available|current)\s+)?balance(?:\s+(?:b/f|c/f|brought forward|carried forward|forward|.{0,20}\d.{0,20}))?:?"
    r"|(?:letzter\s+)?kontostand.{0,20}|(?:anfangs|end|schluss)saldo.{0,20}|(?:alter|neuer)\s+(?:saldo|kontostand)|saldo(?:\s+\S.{0,30})?|solde(?:\s+\S.{0,30})?"
    r"|(?:входящ|исходящ|конечн|начальн)\S{2,3}\s+(?:остаток|сальдо).{0,20}|(?:остаток|сальдо)(?:\s+на\s.{0,30})?:?|期初余额|期末余额|余额|残高|繰越|bakiye|devir",
    re.IGNORECASE,
)
_BALANCE_HINTS = ("balance", "saldo", "kontostand", "solde", "остаток", "сальдо", "余额", "残高", "繰越", "bakiye", "devir")
_EDGE = 3  # rows at a block's ends that may be balances
_LABEL_COLUMNS = 5
# Scripts that write no blanks between words.
_UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]")
_CLOCK = re.compile(r"\d{1,3}:\d\d(?::\d\d)?")
_TAIL = 200  # rows at the end of a column of numbers in which a label is looked for


def find(columns: Sequence[Sequence[str]], last_block: bool) -> set[int]:
    """Indexes of the rows in a block of columns that are totals."""
    if not columns:
        return set()
    found: set[int] = set()
    for j, column in enumerate(columns[:_LABEL_COLUMNS]):
        looked = list(_looked_at(column))
        found.update(_balances(column, last_block))
        low = "\n".join(looked).lower()
        if not any(hint in low for hint in (_ASCII_HINTS if low.isascii() else _HINTS)):
            continue
        labels = [i for i, cell in enumerate(column) if len(cell) < 60 and _LABEL.fullmatch(cell.strip())]
        if len(labels) > max(1, 0.5 * len(column)):
            continue  # a brand, a product: a value like others
        for i in labels:
            if _confirmed(columns, i, j, found, last_block, labels):
                found.add(i)
    if last_block:
        found.update(_summaries(columns, found))
    if last_block and _bare_total(columns):
        found.add(len(columns[0]) - 1)
    return found


def _balances(column: Sequence[str], last_block: bool) -> list[int]:
    """Rows at the ends of a block that say a balance where all others have a date or a number."""
    rows = len(column)
    ends = dict(enumerate(_first(column, _EDGE)))
    if last_block:
        below = _last(column, min(_EDGE, rows))
        ends.update(zip(range(rows - len(below), rows), below, strict=True))
    named = [i for i, cell in ends.items() if any(hint in cell.lower() for hint in _BALANCE_HINTS) and _BALANCE.fullmatch(cell.strip())]
    if not named:
        return []
    others = [cell for i, cell in enumerate(_first(column, 60)) if i not in named and cell.strip()]
    typed = sum(1 for cell in others if kind(cell) in ("number", "date"))
    return named if len(others) > 1 and typed >= 0.8 * len(others) else []


_SUMMARY = re.compile(r"(?:average|avg\.?|mean|median|min(?:imum)?|max(?:imum)?|средн\S{1,6}|минимум|максимум|медиана|durchschnitt|mittelwert|moyenne|promedio|media|平均|最大|最小):?", re.IGNORECASE)


def _summaries(columns: Sequence[Sequence[str]], found: set[int]) -> set[int]:
    """Rows at the end that say they are a mean, a least or a greatest value, and are."""
    rows = len(columns[0])
    summaries: set[int] = set()
    if not any(_SUMMARY.fullmatch(cell.strip()) for column in columns[:_LABEL_COLUMNS] for cell in _last(column, min(rows, 6))):
        return summaries
    for i in range(rows - 1, max(2, rows - 7), -1):
        if i in found:
            continue
        if rows > 20_000 or not any(_SUMMARY.fullmatch(column[i].strip()) for column in columns[:_LABEL_COLUMNS]):
            break
        summaries.add(i)
    above = [i for i in range(rows) if i not in summaries and i not in found] if summaries else []
    return {i for i in summaries if any(_sums_up(column[i], [column[k] for k in above]) for column in columns)}


def _sums_up(cell: str, above: Sequence[str]) -> bool:
    mine, values = _value(cell), sorted(v for v in map(_value, above) if v is not None)
    if mine is None or len(values) < 2:
        return False
    tells = (math.fsum(values) / len(values), values[0], values[-1], values[len(values) // 2], (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2)
    return any(math.isclose(mine, tell, rel_tol=5e-3) for tell in tells)


def _bare_total(columns: Sequence[Sequence[str]]) -> bool:
    """Whether the last row has no label, only the sums of what stands above it."""
    last = [column.tail(1)[0] if isinstance(column, Counted) else column[-1] for column in columns]
    if last[0] or len(columns[0]) < 4 or columns[0].count("") > 1:
        return False
    filled = [j for j, cell in enumerate(last) if cell.strip()]
    row = len(columns[0]) - 1
    if row > 20_000:
        return False
    sums = [j for j in filled if _is_sum(columns[j][row], columns[j][:row])]
    # Beside the sums there may be means, of a rate or a duration.
    return bool(sums) and all(j in sums or _is_between(columns[j][row], columns[j][:row]) for j in filled)


def _is_between(cell: str, above: Iterable[str]) -> bool:
    """Whether a cell may be the mean of those above it: a rate, a time."""
    mine = _value(cell)
    if mine is None:
        return bool(_CLOCK.fullmatch(cell.strip()))
    values = [v for v in map(_value, above) if v is not None]
    return bool(values) and min(values) < mine < max(values)


def _is_sum(cell: str, above: Iterable[str]) -> bool:
    mine = _value(cell)
    values = [v for v in map(_value, above) if v is not None]
    return mine is not None and len(values) >= 2 and math.isclose(mine, math.fsum(values), rel_tol=5e-4)


def _first(column: Sequence[str], count: int) -> Sequence[str]:
    return column.head(count) if isinstance(column, Counted) else column[:count]


def _last(column: Sequence[str], count: int) -> Sequence[str]:
    return column.tail(count) if isinstance(column, Counted) else column[max(0, len(column) - count) :]


def _looked_at(column: Sequence[str]) -> Iterable[str]:
    """Where a label may be: in a column of numbers only at its end."""
    if isinstance(column, Counted):
        return column.tail(_TAIL) if next(iter(column.counts))[:1].isdigit() else column.counts
    return column[-_TAIL:] if column[0][:1].isdigit() else column


def _confirmed(columns: Sequence[Sequence[str]], row: int, label: int, found: set[int], last_block: bool, labels: Sequence[int]) -> bool:
    rows = len(columns[0])
    for j, column in enumerate(columns):
        if j == label or column[row].strip():
            continue
        if column.count("") < 0.3 * rows or column.count("") <= len(labels) < 0.7 * rows and all(not column[i].strip() for i in labels):
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
    count = passed = 0
    for row in reversed(rows):
        filled = [cell for cell in row if cell.strip()]
        if not filled:
            count += 1
        elif len(filled) <= max(1, usual // 3) and not _LABEL.fullmatch(filled[0].strip()) and _is_remark(filled[0].strip(), usual):
            count += 1
        elif len(filled) <= max(1, usual // 3) and not any(_LABEL.fullmatch(cell.strip()) for cell in filled):
            passed += 1  # a row or a remark: what stands above it says
            count += 1
        else:
            break
    # Below a total there are only remarks; elsewhere what might be a row is one.
    above = rows[len(rows) - count - 1] if count < len(rows) else ()
    if passed and not any(_LABEL.fullmatch(cell.strip()) for cell in above if cell.strip()):
        return _surely_remarks(rows, usual)
    return count if count < len(rows) else 0


def _surely_remarks(rows: Sequence[Sequence[str]], usual: int) -> int:
    count = 0
    for row in reversed(rows):
        filled = [cell for cell in row if cell.strip()]
        if filled and not (len(filled) <= max(1, usual // 3) and not _LABEL.fullmatch(filled[0].strip()) and _is_remark(filled[0].strip(), usual)):
            break
        count += 1
    return count if count < len(rows) else 0


def _is_remark(text: str, usual: int) -> bool:
    """A remark rather than a row whose other cells are missing."""
    if usual >= 4 and len(text) >= 4 and _UNSPACED.search(text):
        return True
    return ":" in text or "：" in text or text.startswith(("*", "(", "—", "-", "_", "©")) or (usual >= 3 and len(text.split()) >= 2)
