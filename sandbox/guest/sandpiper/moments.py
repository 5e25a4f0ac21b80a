"""Numbers that stand for times: Unix times, 20251129143000, 202511.

Whether a number is a time is told by its column's name and by all its values
together; a column whose name says nothing stays a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from . import numbers
from .evidence import Evidence

_TIME_NAME = re.compile(
    r"time|(?:^|[\W_])ts(?:$|[\W_])|stamp|date|(?:^|[\W_])dt(?:$|[\W_])|epoch|unix|created|updated|modified|expires?|last_?seen|logged|(?:[\W_]|(?<=[a-z]))at$"
    r"|(?:^|[\W_])(?:start|end|begin|since|until|when|zeit|datum|fecha)(?:$|[\W_])|^data$|время|дата|момент|日時|时间|時間",
    re.IGNORECASE,
)
_MONTH_NAME = re.compile(r"month|period|yyyymm|(?:^|[\W_])ym(?:$|[\W_])|monat|buchungsmonat|mois|(?:^|[\W_])m[eê]s(?:$|[\W_])|periodo|месяц|период|年月|月份", re.IGNORECASE)
_DAY_NAME = re.compile(r"date|datum|fecha|^data$|дата|день|日付|日期", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FROM, _TO = 946_684_800, 4_102_444_800  # 2000 and 2100, in seconds
_UNITS = (("seconds", 1), ("milliseconds", 1_000), ("microseconds", 1_000_000), ("nanoseconds", 1_000_000_000))
_NEVER = frozenset({"0", "-1", "0.0"})
_WHOLE = re.compile(r"\d{1,19}")
_PARTED = re.compile(r"\d{9,10}\.\d{1,9}")
_SECONDS = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d")
_MINUTES = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d")
_MONTHS = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a column's numbers stand for."""

    form: str  # as strftime has it, or the unit of Unix time
    timed: bool
    convert: Callable[[str], datetime]
    unit: str = ""  # of Unix time
    never: frozenset[str] = frozenset()  # zeros, which are no time


def meaning(column: Evidence) -> Meaning | None:
    """The times that a column of numbers holds; None when it holds numbers."""
    facts = column.number_facts
    timed = _TIME_NAME.search(column.name) is not None
    if not (timed or _MONTH_NAME.search(column.name)) or facts - {numbers.INT, numbers.LONG_DIGITS, numbers.DOT_DECIMAL, numbers.DOT_OPEN}:
        return None
    texts = [t for t in column.counts if t[:1].isdigit() and t not in _NEVER]
    if not texts:
        return None
    if timed:
        return _compact(texts, _SECONDS, "%Y%m%d%H%M%S") or _compact(texts, _MINUTES, "%Y%m%d%H%M") or _unix(texts, column.counts)
    return _compact(texts, _MONTHS, "%Y%m") if len(texts) > 1 else None


def _compact(texts: list[str], shape: re.Pattern[str], form: str) -> Meaning | None:
    if not all(map(shape.fullmatch, texts)):
        return None

    def convert(text: str) -> datetime:
        parts = [int(text[i : i + 2]) for i in range(4, len(text), 2)]
        return datetime(int(text[:4]), *parts) if len(parts) > 1 else datetime(int(text[:4]), parts[0], 1)

    return Meaning(form, form != "%Y%m", convert)


def _unix(texts: list[str], counts: Counter[str]) -> Meaning | None:
    never = frozenset(_NEVER & counts.keys())
    if all(map(_PARTED.fullmatch, texts)) and all(_FROM <= float(t) < _TO for t in texts):
        return Meaning("Unix time in seconds", True, _of_seconds, "seconds", never)
    if not all(map(_WHOLE.fullmatch, texts)):
        return None
    values = [int(t) for t in texts]
    low, high = min(values), max(values)
    for unit, factor in _UNITS:
        if _FROM * factor <= low and high < _TO * factor:
            return Meaning(f"Unix time in {unit}", True, _of_unit(factor), unit, never)
    return None


def _of_seconds(text: str) -> datetime:
    whole, _, part = text.partition(".")
    return _EPOCH + timedelta(seconds=int(whole), microseconds=int(part[:6].ljust(6, "0")))


def _of_unit(factor: int) -> Callable[[str], datetime]:
    def convert(text: str) -> datetime:
        return _EPOCH + timedelta(microseconds=int(text) * 1_000_000 // factor)

    return convert


def looks_like_days(column: Evidence, low: float, high: float) -> bool:
    """Whether numbers under a date's name are a spreadsheet's days since 1900 (1990 to 2080)."""
    return 32_874 <= low and high < 66_000 and _DAY_NAME.search(column.name) is not None


def of_days(value: float) -> str:
    """The day that a spreadsheet shows for its number."""
    return (datetime(1899, 12, 30) + timedelta(days=int(value))).date().isoformat()
