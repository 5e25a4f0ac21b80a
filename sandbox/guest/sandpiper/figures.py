"""A column's figures, out of its distinct texts and how often each occurs."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import numpy

from . import decide, moments, numbers
from .decide import DATE, DATETIME, INTEGER, NUMBER, Decision
from .evidence import Evidence
from .notes import Note

_SENTINELS = frozenset({-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 999.0, 9999.0, 99999.0, 999999.0})
_UNIX = ((1e9, 2e9, "seconds"), (1e12, 2e12, "milliseconds"))
_STRAYS_SHOWN = 4
_SAMPLE = 200_000
_TWINS_AMONG = 2_000  # distinct texts up to which spellings are compared


@dataclass(slots=True)
class Figures:
    """What profile.json says of one column's values."""

    values: int = 0  # cells with a value of the column's type
    sum: float | int = 0
    low: Any = None
    high: Any = None
    strays: Counter[str] = field(default_factory=Counter)
    distinct: int = 0
    parts: list[float] = field(default_factory=list)
    sample: list[numpy.ndarray] = field(default_factory=list)  # distinct values, for quantiles
    weights: list[numpy.ndarray] = field(default_factory=list)  # how often each occurs

    def mean(self) -> float | None:
        return tidy(self.sum / self.values) if self.values else None


def tidy(value: float | int) -> float | int:
    """A sum without the dust of binary fractions: 15 digits are kept."""
    if isinstance(value, int) or not math.isfinite(value):
        return value
    return float(f"{value:.15g}")


def gather(figures: Figures, counts: Mapping[str, int], decision: Decision, facts: set[str]) -> None:
    """Add the figures of these texts. Texts that do not convert are strays."""
    if decision.convert is None:
        return
    if any(text in counts for text in decision.absent):
        counts = {t: n for t, n in counts.items() if t not in decision.absent}
    if not counts:
        return
    if decision.type in (INTEGER, NUMBER):
        _numbers(figures, counts, decision, facts)
    elif decision.type in (DATE, DATETIME):
        _dates(figures, counts, decision)


def _numbers(figures: Figures, counts: Mapping[str, int], decision: Decision, facts: set[str]) -> None:
    if decision.marks == numbers.Marks() and facts <= {numbers.INT, numbers.DOT_DECIMAL} and _plain_numbers(figures, counts, decision):
        return
    try:
        values, times = list(map(decision.convert, counts)), list(counts.values())  # type: ignore[arg-type]
    except ValueError:
        values, times = _sift(figures, counts, decision)
    if not values:
        return
    figures.values += sum(times)
    _sum(figures, decision, values if max(times) == 1 else list(map(operator.mul, values, times)))
    _range(figures, min(values), max(values))
    figures.distinct += len(set(values))
    _keep(figures, numpy.array(values, dtype=float), numpy.array(times))


def _plain_numbers(figures: Figures, counts: Mapping[str, int], decision: Decision) -> bool:
    """Take numbers as programs write them, all at once; False where one is not."""
    whole = decision.type == INTEGER
    times = numpy.fromiter(counts.values(), numpy.int64, len(counts))
    try:
        values = numpy.fromiter(map(int if whole else float, counts), numpy.int64 if whole else numpy.float64, len(counts))
    except (ValueError, OverflowError):
        return False
    low, high, cells = values.min().item(), values.max().item(), int(times.sum())
    if max(-low, high) * cells >= 1 << 63 if whole else not numpy.isfinite(values).all():
        return False
    figures.values += cells
    _sum(figures, decision, [int((values * times).sum())] if whole else (values * times).tolist())
    _range(figures, low, high)
    ordered = numpy.sort(values)
    figures.distinct += 1 + int(numpy.count_nonzero(ordered[1:] != ordered[:-1]))
    _keep(figures, values.astype(float), times)
    return True


def _sum(figures: Figures, decision: Decision, weighted: list[Any]) -> None:
    if decision.type == INTEGER:
        figures.sum += sum(weighted)
    else:
        figures.parts.append(math.fsum(weighted))
        figures.sum = tidy(math.fsum(figures.parts))


def _range(figures: Figures, low: Any, high: Any) -> None:
    figures.low = low if figures.low is None else min(figures.low, low)
    figures.high = high if figures.high is None else max(figures.high, high)


def _keep(figures: Figures, values: numpy.ndarray, times: numpy.ndarray) -> None:
    if sum(map(len, figures.sample)) < _SAMPLE:
        figures.sample.append(values)
        figures.weights.append(times)


def _sift(figures: Figures, counts: Mapping[str, int], decision: Decision) -> tuple[list[Any], list[int]]:
    values, times = [], []
    for text, count in counts.items():
        try:
            values.append(decision.convert(text))  # type: ignore[misc]
            times.append(count)
        except (ValueError, OverflowError):
            figures.strays[text] += count
    return values, times


def _dates(figures: Figures, counts: Mapping[str, int], decision: Decision) -> None:
    values, times = _sift(figures, counts, decision)
    if not values:
        return
    figures.values += sum(times)
    low, high = min(values, key=instant), max(values, key=instant)
    figures.low = low if figures.low is None else min(figures.low, low, key=instant)
    figures.high = high if figures.high is None else max(figures.high, high, key=instant)
    figures.distinct += len(set(values))


def instant(value: datetime) -> datetime:
    """For comparing times with and without zones: zoneless ones count as UTC."""
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def quantiles(values: numpy.ndarray, weights: numpy.ndarray, *shares: float) -> list[float]:
    """Quantiles of weighted values, each a value that occurs."""
    order = numpy.argsort(values)
    passed = numpy.cumsum(weights[order])
    places = numpy.searchsorted(passed, [s * (passed[-1] - 1) for s in shares], side="right")
    return [float(values[order[min(p, len(order) - 1)]]) for p in places]


def remark(column: Evidence, decision: Decision, figures: Figures) -> list[Note]:
    """Notes that only the values allow: outliers, stand-ins, strays."""
    notes: list[Note] = []

    def say(code: str, **args: Any) -> None:
        notes.append(Note(code, column.name, args))

    if figures.strays:
        shown = ", ".join(f"“{t[:30]}”" for t in list(figures.strays)[:_STRAYS_SHOWN])
        kind = "number" if decision.type in (INTEGER, NUMBER) else "date"
        say("strays", count=sum(figures.strays.values()), kind=kind, examples=shown)
    if decision.type in (INTEGER, NUMBER) and figures.values:
        _remark_numbers(column, decision, figures, say)
    if decision.type in (DATE, DATETIME) and figures.low is not None:
        _remark_dates(decision, figures, say)
    if decision.type == decide.TEXT:
        _remark_texts(column, decision, say)
    if figures.values > 3 and figures.distinct == 1 or decision.type == decide.TEXT and len(column.counts) == 1 and column.cells > 3 and not decision.missing:
        say("constant")
    return notes


def _remark_dates(decision: Decision, figures: Figures, say: Any) -> None:
    low, high = figures.low.year, figures.high.year
    if low >= 2440 and high <= 2650:
        say("buddhist_years", last=str(high), western=str(high - 543))
    elif low < 1900 or high > 2100:
        say("future")
    elif "%y" in decision.date_format and high > datetime.now().year + 10:
        say("future_years", last=str(high))


def _remark_texts(column: Evidence, decision: Decision, say: Any) -> None:
    """Spellings of one thing: texts that differ in case or blanks only."""
    if column.wide:
        say("top_estimate")
    if not 2 <= len(column.counts) <= _TWINS_AMONG or decision.identifier:
        return
    forms: dict[str, list[str]] = {}
    for text in column.counts:
        forms.setdefault(" ".join(text.casefold().split()), []).append(text)
    twins = [texts for texts in forms.values() if len(texts) > 1]
    if twins:
        say("case_twins", examples="; ".join(" / ".join(f"“{t[:30]}”" for t in texts[:3]) for texts in twins[:3]))


def _remark_sentinel(figures: Figures, values: numpy.ndarray, weights: numpy.ndarray, say: Any) -> bool:
    """Say of a few cells far beyond all others, such as -999, that they may stand for missing."""
    for value in (figures.low, figures.high):
        others = values[values != value]
        times = int(weights[values == value].sum())
        if float(value) in _SENTINELS and times > 1 and len(others) > 1 and float(numpy.abs(others).max()) < abs(float(value)) / 2:
            say("sentinel", value=value, count=times)
            return True
    return False


def _remark_numbers(column: Evidence, decision: Decision, figures: Figures, say: Any) -> None:
    if decision.type == INTEGER:
        for low, high, unit in _UNIX:
            if low <= figures.low and figures.high <= high and figures.distinct > 2:
                say("unix_time", unit=unit)
                return
    if moments.looks_like_days(column, figures.low, figures.high):
        say("excel_days", example=f"{figures.low:.15g}", reading=moments.of_days(figures.low))
        decision.summable = False
        return
    if decision.identifier or not figures.sample:
        return
    values, weights = numpy.concatenate(figures.sample), numpy.concatenate(figures.weights)
    if _remark_sentinel(figures, values, weights, say) or figures.values < 12 or figures.distinct < 6:
        return
    lower, median, upper = quantiles(values, weights, 0.25, 0.5, 0.75)
    spread = max(upper - lower, abs(median) * 0.05, 1e-12)
    for side, value in (("greatest", figures.high), ("least", figures.low)):
        far = value - upper if side == "greatest" else lower - value
        if far <= 6 * spread:
            continue
        times = int(weights[values == value].sum())
        beyond = int(weights[(values - upper if side == "greatest" else lower - values) > 6 * spread].sum())
        if float(value) in _SENTINELS and times > 1:
            say("sentinel", value=value, count=times)
        elif beyond <= max(1, 0.01 * figures.values):
            say("outlier", side=side, value=value, median=median)
