"""Which columns a report is about: decided by the request's words, then by the columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sandpiper.decide import BOOLEAN, DATE, DATETIME, INTEGER, NUMBER, TEXT, Decision
from sandpiper.figures import Figures
from sandpiper.measures import ADDS, LABEL, facts_from, is_amount
from sandpiper.measures import kind as measured
from sandpiper.tables import Table

PERIODS = ("hour", "day", "week", "month", "quarter", "year")
_PERIOD_WORDS = {
    "hour": "hour hourly час часам почасов",
    "day": "day daily days дням день ежедневн подневн",
    "week": "week weekly weeks недел еженедельн понедельн",
    "month": "month monthly months месяц ежемесячн помесячн",
    "quarter": "quarter quarterly quarters квартал поквартальн",
    "year": "year yearly annual years год годам ежегодн",
}
# Words for the same thing; a request may use another one, or another language, than the header.
_SYNONYMS = (
    "revenue sales turnover amount выручк продаж оборот сумм umsatz",
    "region area territory регион област округ",
    "product item goods article товар продукт издели produkt",
    "category group type категор групп тип",
    "customer client buyer клиент покупател заказчик kunde",
    "country страна стран land",
    "city town город stadt",
    "store shop branch магазин филиал точк",
    "rep seller salesperson manager продавец менеджер",
    "quantity units qty pieces количеств штук menge",
    "price цен preis",
    "cost expense costs расход затрат kosten",
    "profit margin прибыл марж gewinn",
    "status state статус состояни",
    "department отдел",
)
_MONEY = re.compile(r"revenue|sales|amount|total|turnover|income|profit|cost|spend|value|salary|wage|debit|выручк|сумм|продаж|доход|прибыл|оборот|расход|зарплат|оклад|umsatz|betrag|金额|売上", re.IGNORECASE)
_MAX_GROUPS = 60


@dataclass(slots=True)
class Measure:
    """A column of quantities; ``additive`` ones are summed, others averaged."""

    name: str
    additive: bool
    unit: str = ""
    asked: bool = False


@dataclass(slots=True)
class Plan:
    """What is reported of one table."""

    measures: list[Measure] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    asked_groups: list[str] = field(default_factory=list)
    date: str = ""
    period: str = ""

    @property
    def grouped(self) -> list[str]:
        """The groups that are shown: those asked for, else the first two."""
        wanted = self.asked_groups + [g for g in self.groups if g not in self.asked_groups]
        return wanted[: max(2, len(self.asked_groups))][:4]

    @property
    def columns(self) -> set[str]:
        """The columns that the analysis reads."""
        return {*(measure.name for measure in self.measures[:1]), *self.grouped, *filter(None, [self.date])}


def make(table: Table, request: str) -> Plan:
    """Plan the report of a table for a request."""
    words = _stems(request)
    plan = Plan()
    measures: list[tuple[int, Measure]] = []
    groups: list[tuple[int, str]] = []
    for position, (decision, figures) in enumerate(zip(table.decisions, table.figures, strict=True)):
        asked = asks_for(words, decision.name)
        if decision.type in (INTEGER, NUMBER):
            kind = kind_of(decision, figures)
            if figures.values and kind != LABEL:
                additive = kind == ADDS and decision.summable
                rank = asked * 100 + bool(_MONEY.search(decision.name)) * 10 + additive * 3 + additive * is_amount(decision.name) * 4
                measures.append((-rank, Measure(decision.name, additive, decision.unit, asked > 0)))
        elif decision.type in (TEXT, BOOLEAN):
            distinct = table.evidence[position].distinct()
            if 2 <= distinct <= max(12, min(_MAX_GROUPS, table.rows // 2)) and distinct < table.rows:
                rank = asked * 100 + (4 if distinct <= 15 else 1) - 2 * decision.identifier
                groups.append((-rank, decision.name))
                if asked:
                    plan.asked_groups.append(decision.name)
        elif decision.type in (DATE, DATETIME) and decision.convert is not None and figures.distinct > 1:
            if not plan.date or asked > 1:
                plan.date = decision.name
                low, high = figures.low, figures.high
                plan.period = asked_period(words) or _natural_period((high.replace(tzinfo=None) - low.replace(tzinfo=None)).total_seconds())
                if decision.type == DATE and plan.period == "hour":  # dates without a time
                    plan.period = "day"
    measures.sort(key=lambda m: m[0])
    groups.sort(key=lambda g: g[0])
    plan.measures = [m for _, m in measures]
    plan.groups = [name for _, name in groups]
    return plan


def kind_of(decision: Decision, figures: Figures) -> str:
    """What a column of numbers measures; identifiers are labels."""
    if decision.identifier:
        return LABEL
    return measured(decision.name, facts_from(figures, decision.type == INTEGER), decision.unit)


def _stems(text: str) -> list[str]:
    return [w for w in re.findall(r"[^\W\d_]+|\d+", text.lower().replace("ё", "е")) if len(w) > 1]


def asks_for(words: list[str], name: str) -> int:
    """How plainly the request names a column: 2 by its own words, 1 by a synonym, 0 not."""
    parts = _stems(re.sub(r"(?<=[a-zа-я])(?=[A-ZА-Я])", " ", name))
    if not parts:
        return 0
    hits = sum(any(_alike(part, word) for word in words) for part in parts)
    if hits == len(parts):
        return 2
    for line in _SYNONYMS:
        kin = line.split()
        if any(_of_kin(parts[-1], k) for k in kin) and any(_of_kin(word, k) for word in words for k in kin):
            return 1
    return 0


def _alike(a: str, b: str) -> bool:
    """The same word but for its ending."""
    if a == b:
        return True
    stem = min(len(a), len(b)) - (1 if a.isascii() else 2)
    return stem >= 3 and a[:stem] == b[:stem] and abs(len(a) - len(b)) <= 3


def _of_kin(word: str, kin: str) -> bool:
    return word.startswith(kin) and len(word) - len(kin) <= 3 if len(kin) >= 4 else word == kin


def asked_period(words: list[str]) -> str:
    """The period that the request names; the finest, where it names several."""
    for period in PERIODS:
        for stem in _PERIOD_WORDS[period].split():
            if any(word == stem or (len(stem) > 4 and word.startswith(stem)) for word in words):
                return period
    return ""


def _natural_period(seconds: float) -> str:
    days = seconds / 86_400
    for limit, period in ((3, "hour"), (45, "day"), (220, "week"), (366 * 4, "month"), (366 * 8, "quarter")):
        if days <= limit:
            return period
    return "year"
