"""What a column of numbers measures: may its values be added up, averaged, or neither?

Adding up prices, ages or coordinates gives a number that nobody can use, and
adding up years or serial numbers gives nonsense. The column's name says most of
it, in English, Russian or German; what the name leaves open, the values decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

    from .figures import Figures

ADDS = "adds"  # amounts and counts: their sum means something
LEVEL = "level"  # prices, rates, scores, temperatures: their mean does
STOCK = "stock"  # balances and stocks: what stands at a time; the last one counts
LABEL = "label"  # years, serial numbers, hours of the day, coordinates: neither does

# Totals of what alone is a level: "total price" is an amount.
_TOTAL = re.compile(
    r"\b(?:total|line|extended|gross|net)\b.{0,12}(?:price|value|salar|wage)|(?:price|salar(?:y|ies)|wages?) (?:total|sum)|общ.{0,8}(?:цен|стоимост)|сумма", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"revenue|sales|turnover|proceeds|amount|\btotal\b|\bsum\b|\bnet\b|\bgross\b|income|profit|\bcosts?\b|expens|spend|payment|paid|payroll|budget|tax|fee|discount|refund"
    r"|debit|credit|withdraw|deposit|quantity|\bqty\b|\bunits?\b|pieces|volume|orders?\b|\bvalue\b|betrag|umsatz|menge|kosten|gewinn"
    r"|sessions|\busers\b|visit|views?\b|clicks|impressions|transactions|conversions\b|sign ?ups|downloads|hours worked|\bcount\b|\bnumber of\b"
    r"|выруч|оборот|продаж|доход|реализац|сумм|итог|прибыл|затрат|расход|себестоимост|приход|списан|зачислен|платеж|оплат|налог|скидк|количеств|\bкол\b|штук|\bшт\b|объем|заказ(?:ов|ы)\b"
    r"|金额|売上|数量",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"price|\brates?\b|ratio|percent|\bpct\b|%|\bshare\b|\bavg\b|average|\bmean\b|median|\bp\d\d\b|score|rating|grade|\bnps\b|satisf|likel|rank\b"
    r"|\bage\b|years? (?:as|of|in|at)\b|tenure|seniority|salary|wage|\btemp\b|temperature|humid|pressure|speed|velocity|voltage|latency|duration|response time|\bph\b"
    r"|concentration|density|absorbance|\bindex\b|\blevel\b|height|\bbmi\b|\w per \w|yield|preis|kurs"
    r"|\(\s*\d+\s*(?:-|–|to|bis|до)\s*\d+\s*\)"
    r"|цен[аыуе]?\b|ставк|курс\b|\bдол[яи]\b|процент|средн|оценк|балл|рейтинг|возраст|стаж|оклад|зарплат|температур|влажност|давлен|скорост|концентрац|плотност|длительност|\bрост\b",
    re.IGNORECASE,
)
_STOCK = re.compile(
    r"balance|\bstock\b|inventory|on hand|headcount|outstanding|backlog|kontostand|saldo|остат|сальдо|баланс|на складе", re.IGNORECASE
)
_YEAR = re.compile(r"\byears?\b|\byr\b|\bjahr\b|\bгод\b|год(?:а)? рожд|vintage|年", re.IGNORECASE)
_PLACE = re.compile(r"^(?:lat|lon|lng|long|latitude|longitude|широта|долгота)\b|\b(?:lat|lon|lng|latitude|longitude|широта|долгота)$", re.IGNORECASE)
_CALENDAR = re.compile(
    r"^(?:month|week|weekday|day|day of (?:week|month|year)|hour|minute|quarter|kw|месяц|неделя|день|день недели|час|квартал)(?: (?:no|number|num|nr))?$", re.IGNORECASE
)
_ORDINAL = re.compile(
    r"(?:^|\b)(?:replicate|repeat|trial|round|lot|batch|seq|sequence|position|pos|rank|line no|page|version|повтор\w*|партия|позиция|место)$", re.IGNORECASE
)
_CAMEL = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])")
_FEW = 12  # values from which their pattern says something


@dataclass(frozen=True, slots=True)
class Facts:
    """What the values of a column show. ``spread`` is the standard deviation over the mean's size."""

    values: int
    distinct: int
    low: float
    high: float
    whole: bool
    spread: float


def facts_of(column: pandas.Series) -> Facts | None:
    """The facts of a column of numbers; None when it has no value."""
    numbers = column.dropna().astype("float64")
    if numbers.empty:
        return None
    mean, spread = float(numbers.mean()), float(numbers.std(ddof=0))
    return Facts(
        len(numbers), int(numbers.nunique()), float(numbers.min()), float(numbers.max()), bool((numbers == numbers.round()).all()), spread / abs(mean) if mean else float("inf")
    )


def facts_from(figures: Figures, whole: bool) -> Facts | None:
    """The same, out of the figures of a profile."""
    import numpy

    if not figures.values or figures.low is None:
        return None
    spread = float("inf")
    if figures.sample:
        sample, weights = numpy.concatenate(figures.sample), numpy.concatenate(figures.weights)
        mean = float(numpy.average(sample, weights=weights))
        if mean:
            spread = float(numpy.sqrt(numpy.average((sample - mean) ** 2, weights=weights))) / abs(mean)
    return Facts(figures.values, figures.distinct, float(figures.low), float(figures.high), whole, spread)


def plain(name: object) -> str:
    """A column's name as words: "unitPrice" and "unit_price" as "unit price"."""
    return " ".join(_CAMEL.sub(" ", str(name)).replace("_", " ").replace(".", " ").replace("ё", "е").split())


def kind(name: object, facts: Facts | None, unit: str = "") -> str:
    """ADDS, LEVEL, STOCK or LABEL."""
    words = plain(name)
    if _PLACE.search(words) or _CALENDAR.match(words):
        return LABEL
    if facts is not None and facts.whole:
        if _YEAR.search(words) and facts.low >= 1800 and facts.high <= 2200:
            return LABEL
        if _ORDINAL.search(words):
            return LABEL
    if unit != "%" and _TOTAL.search(words):
        return ADDS
    if unit == "%" or _LEVEL.search(words):
        return LEVEL
    if _STOCK.search(words):
        return STOCK
    if _AMOUNT.search(words):
        return ADDS
    if facts is None or facts.values < _FEW:
        return ADDS
    if facts.whole and facts.distinct == facts.values and facts.high - facts.low + 1 == facts.values:
        return LABEL  # 1, 2, 3, … in some order: a running number
    if not facts.whole and facts.low > 0 and facts.spread < 0.25:
        return LEVEL  # measured values that hardly differ: a pH, not an amount
    return ADDS


def is_amount(name: object) -> bool:
    """Whether the name itself says that this is an amount or a count."""
    words = plain(name)
    return bool(_TOTAL.search(words)) or bool(_AMOUNT.search(words)) and not _LEVEL.search(words)
