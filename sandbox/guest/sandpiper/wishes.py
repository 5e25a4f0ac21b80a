"""What a request wants of a table, without a model: which columns, how, by what.

``understand("Revenue by region and week", frame)`` finds the measure, the
dimensions and the grain by the words of the request and the names and values of
the columns, in English and Russian. It guesses as a careful colleague would, and
what it decided is told in the answer (``Wish.told``), so that a wrong guess shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pandas

from . import measures as kinds
from .speech import Speech
from .words import clean

# Words for one idea in both languages; stems, matched at a word's beginning.
_CONCEPTS: tuple[tuple[str, ...], ...] = (
    ("revenue", "sales", "turnover", "proceeds", "выручк", "оборот", "продаж", "доход", "реализац"),
    ("amount", "total", "sum", "сумм", "итог"),
    ("quantity", "qty", "units", "pieces", "volume", "количеств", "кол", "штук", "шт", "единиц", "объем"),
    ("price", "цен", "стоимост"),
    ("cost", "expense", "spend", "затрат", "расход", "себестоимост"),
    ("profit", "margin", "прибыл", "марж"),
    ("region", "area", "territory", "регион", "област", "район"),
    ("city", "town", "город"),
    ("country", "nation", "стран"),
    ("product", "item", "article", "goods", "sku", "товар", "продукт", "издели", "номенклатур"),
    ("category", "group", "type", "категори", "групп", "тип", "вид"),
    ("customer", "client", "buyer", "клиент", "покупател", "заказчик", "контрагент"),
    ("manager", "rep", "seller", "salesperson", "менеджер", "продавец", "продавц", "сотрудник"),
    ("store", "shop", "branch", "outlet", "магазин", "филиал", "точк"),
    ("channel", "source", "канал", "источник"),
    ("department", "team", "отдел", "команд", "подразделени"),
    ("status", "state", "статус", "состояни"),
    ("order", "заказ"),
    ("warehouse", "склад"),
    ("supplier", "vendor", "поставщик"),
)
_GRAINS = (
    ("day", r"\b(?:dail(?:y)?|days?|per day)\b|ежедневн|\bдня[мх]?\b|\bдень\b|\bдни\b|посуточн|\bсуткам\b"),
    ("week", r"\b(?:week\w*|wow)\b|недел"),
    ("month", r"\b(?:month\w*|mom)\b|месяц|помесячн"),
    ("quarter", r"\b(?:quarter\w*)\b|квартал"),
    ("year", r"\b(?:year\w*|annual\w*|yoy)\b|\bгод(?:а|у|ам|овой|овая|овые)?\b|ежегодн"),
)
_AGGREGATES = (
    ("mean", r"\b(?:average|avg|mean)\b|средн"),
    ("median", r"\bmedian\b|медиан"),
    ("max", r"\b(?:maximum|max|highest)\b|максим"),
    ("min", r"\b(?:minimum|min|lowest)\b|миним"),
    ("count", r"\b(?:how many|number of|count)\b|сколько|\bчисло\b"),
)
# Levels whose total somebody may well ask for, when they say so.
_TOTALLED = re.compile(r"salar|wage|duration|time|weight|зарплат|оклад|длительн", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:avg|average|mean|median|max|min)\b|средн|медиан", re.IGNORECASE)
_PAY = re.compile(r"salar|wage|оклад|зарплат", re.IGNORECASE)
_TOTAL = re.compile(r"\b(?:total|sum|altogether)\b|\bсумм|\bитог|\bвсего\b|\bобщ(?:ая|ий|ую|ее|ей)\b", re.IGNORECASE)
# Shares and rates of something: their plain mean gives a small row a large say.
_SHARE = re.compile(r"rate|ratio|percent|pct|%|\bshare\b|дол[яи]|процент", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"(?:^|[\s_-])(?:id|ids|uuid|guid|no|nr|num|number|code|key|zip|postcode|phone|tel|sku|row|index|инн|кпп|номер|№|код|артикул|индекс|телефон)$|^(?:id|№)"
    r"|(?<=[a-z])(?:Id|ID|No|Code)$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"^(?:year|год|jahr)$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-zа-я])(?=[A-ZА-Я])")
_TOP = re.compile(
    r"\b(?:top|топ)[\s-]*(\d{1,3})\b|\b(\d{1,3})\s+(?:largest|biggest|best|greatest|крупнейш|лучш|самых)", re.IGNORECASE
)
# Words of column names that a request leaves out.
_FILLERS = frozenset(("the", "usd", "eur", "rub", "руб", "name", "наименование"))
MOST_GROUPS = 200


@dataclass(slots=True)
class Roles:
    """What the columns of a table can serve as; names in the table's order."""

    dates: list[str] = field(default_factory=list)
    measures: list[str] = field(default_factory=list)
    dimensions: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Wish:
    """What is wanted. ``aggregate`` is a pandas name ("sum"); ``grain`` "" for none."""

    measures: list[str]
    dimensions: list[str]
    date: str
    grain: str
    aggregate: str
    top: int
    named: set[str]  # columns that the request itself named
    unused: list[str] = field(default_factory=list)  # of these, what can serve as nothing

    def heading(self, speech: Speech) -> str:
        """What is shown, as a title's beginning: "Revenue", "Average salary", "Number of rows"."""
        if not self.measures:
            return speech.pick("Number of rows", "Число строк")
        plain = speech.heading(clean(self.measures[0]))
        if _TELLS.search(kinds.plain(self.measures[0])):
            return plain
        words = {"mean": ("Average", "Среднее"), "median": ("Median", "Медиана"), "max": ("Highest", "Наибольшее"), "min": ("Lowest", "Наименьшее")}
        how = words.get(self.aggregate)
        return f"{speech.pick(*how)}{speech.pick(' ', ': ')}{speech.within(plain)}" if how else plain

    def told(self, speech: Speech) -> str:
        """One line that says how the request was understood."""
        how = {
            "sum": ("sum", "сумма"),
            "mean": ("average", "среднее"),
            "median": ("median", "медиана"),
            "max": ("greatest", "наибольшее"),
            "min": ("least", "наименьшее"),
            "count": ("number of rows", "число строк"),
            "last": ("last value", "последнее значение"),
        }[self.aggregate]
        what = speech.listed([f"`{clean(m)}`" for m in self.measures])
        by = speech.listed([f"`{clean(d)}`" for d in self.dimensions])
        text = speech.pick(how[0], how[1]) + (
            f" {speech.pick('of', '—')} {what}" if what and self.aggregate != "count" else ""
        )
        if by:
            text += speech.pick(" by ", " по ") + by
        if self.grain and self.date:
            grain = dict(
                day=("day", "дням"),
                week=("week", "неделям"),
                month=("month", "месяцам"),
                quarter=("quarter", "кварталам"),
                year=("year", "годам"),
            )[self.grain]
            text += (
                speech.pick(
                    f" and {grain[0]}" if by else f" by {grain[0]}", f" и {grain[1]}" if by else f" по {grain[1]}"
                )
                + f" (`{clean(self.date)}`)"
            )
        if self.aggregate == "mean" and any(_SHARE.search(m) for m in self.measures):
            text += speech.pick("; every row counts alike in the average", "; в среднем все строки равноправны")
        if self.unused:
            shown = speech.listed([f"`{clean(n)}`" for n in self.unused])
            text += speech.pick(f"; not used: {shown}", f"; не использовано: {shown}")
        return text


def roles(frame: pandas.DataFrame) -> Roles:
    """Sort a table's columns into dates, measures and dimensions.

    Identifiers (by name, or whole numbers that never repeat) and texts that
    hardly repeat serve as nothing.
    """
    found = Roles()
    rows = max(len(frame), 1)
    for name in frame.columns:
        column = frame[name]
        distinct = column.nunique(dropna=True)
        if pandas.api.types.is_datetime64_any_dtype(column):
            if distinct:
                found.dates.append(name)
        elif pandas.api.types.is_bool_dtype(column):
            found.dimensions.append(name)
        elif pandas.api.types.is_numeric_dtype(column):
            if _YEAR.match(str(name)):
                found.dimensions.append(name)
            elif distinct and not is_identifier(name) and kind(frame, name) != kinds.LABEL:
                found.measures.append(name)
            elif distinct and 1 < distinct <= min(MOST_GROUPS, rows / 2):
                found.dimensions.append(name)
        elif distinct and (distinct <= 12 or distinct <= max(MOST_GROUPS, rows / 5)):
            lengths = column.dropna().astype(str).str.len()
            if lengths.median() <= 60:
                found.dimensions.append(name)
    return found


def understand(request: str, frame: pandas.DataFrame) -> Wish:
    """Read a request against a table. Lists are in the order of the request's words."""
    able = roles(frame)
    words = _words(request)
    mentions = {name: at for name in frame.columns if (at := _mention(words, str(name), frame.columns))}
    # "unit price" names unit_price and not units as well.
    named = [n for n, at in mentions.items() if not any(at < other for other in mentions.values())]
    named.sort(key=lambda n: min(mentions[n]))
    by = _after_by(request)

    measures = [
        n for n in named if n in able.measures and not (n in by and len(named) > 1 and frame[n].nunique() <= 31)
    ]
    dimensions = [n for n in named if n in able.dimensions or (n in able.measures and n not in measures)]
    dates = [n for n in named if n in able.dates]
    aggregate = next((name for name, pattern in _AGGREGATES if re.search(pattern, request, re.IGNORECASE)), "")
    if aggregate == "count":
        measures = []
    elif not measures:
        measures = _unnamed_measure(able.measures, frame, bool(dimensions))
    grain = next((name for name, pattern in _GRAINS if re.search(pattern, request, re.IGNORECASE)), "")
    date = (dates or _usual_dates(able.dates, frame) or [""])[0]
    if not aggregate:
        aggregate = _aggregate(request, frame, measures, over_time=bool(date) and not dimensions)
    top = next((int(a or b) for a, b in _TOP.findall(request)), 0)
    unused = [n for n in named if n not in measures and n not in dimensions and n not in able.dates and aggregate != "count"]
    return Wish(measures, dimensions, date, grain if date else "", aggregate, top, set(named), unused)


def _unnamed_measure(names: list[str], frame: pandas.DataFrame, split: bool) -> list[str]:
    """What a request is about that names no measure: money, then amounts; else how many rows there are.

    Where it says what to split by, only what is surely an amount is summed
    unasked, or the only measure there is.
    """
    ranked = _usual_measures(names)
    amounts = [n for n in ranked if kinds.is_amount(n) and kind(frame, n) == kinds.ADDS]
    if amounts or len(names) == 1:
        return (amounts or ranked)[:1]
    if split:
        return []
    return ([n for n in ranked if kind(frame, n) == kinds.ADDS] or ranked)[:1]


def _aggregate(request: str, frame: pandas.DataFrame, measures: list[str], over_time: bool) -> str:
    """How measures are put together, where the request does not say it."""
    if not measures:
        return "count"
    what = {kind(frame, m) for m in measures}
    if what == {kinds.ADDS}:
        return "sum"
    if _TOTAL.search(request) and all(_TOTALLED.search(m) for m in measures):
        return "sum"
    if what == {kinds.STOCK} and over_time:
        return "last"
    return "mean" if what <= {kinds.LEVEL, kinds.STOCK, kinds.LABEL} else "sum"


def kind(frame: pandas.DataFrame, name: str) -> str:
    """What a measure is: one of the words of ``measures``."""
    column = frame[name]
    if not pandas.api.types.is_numeric_dtype(column) or pandas.api.types.is_bool_dtype(column):
        return kinds.kind(name, None)
    return kinds.kind(name, kinds.facts_of(column), frame.attrs.get("units", {}).get(name, ""))


def reduced(values: pandas.Series, by: object, how: str) -> pandas.Series:
    """Values put together by group. A group without any value has none: it is not zero."""
    grouped = values.groupby(by, observed=True)
    return grouped.sum(min_count=1) if how == "sum" else grouped.agg(how)


def in_order(frame: pandas.DataFrame, date: str) -> pandas.DataFrame:
    """Rows by date, for what the last of a period is; files that begin with the newest are turned round."""
    if not date or frame[date].is_monotonic_increasing:
        return frame
    known = frame[date].dropna()
    turned = frame.iloc[::-1] if len(known) > 1 and known.iloc[0] > known.iloc[-1] else frame
    return turned.sort_values(date, kind="stable")


def is_identifier(name: object) -> bool:
    """Whether a column's name says that its numbers only tell things apart."""
    return bool(_IDENTIFIER.search(str(name)))


def is_rate(frame: pandas.DataFrame, name: str) -> bool:
    """Whether adding a measure up makes no sense (a price, a share, an age)."""
    return kind(frame, name) != kinds.ADDS


def floor_dates(moments: pandas.Series, grain: str) -> pandas.Series:
    """The first day of each moment's day, week (Monday), month, quarter or year."""
    plain = moments.dt.tz_localize(None) if moments.dt.tz is not None else moments
    code = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}[grain]
    return plain.dt.to_period(code).dt.start_time


def natural_grain(moments: pandas.Series) -> str:
    """The grain that gives a readable number of periods (about 4 to 60)."""
    days = (moments.max() - moments.min()).days + 1 if len(moments) else 0
    for grain, length in (("day", 1), ("week", 7), ("month", 30.4), ("quarter", 91.3)):
        if days / length <= 62:
            return grain
    return "year"


def _usual_measures(names: list[str]) -> list[str]:
    """Measures by how likely a report is about them: money, then amounts, then the rest."""

    def rank(name: str) -> int:
        idea = next(
            (n for n, stems in enumerate(_CONCEPTS) if any(w.startswith(s) for w in _words(name) for s in stems)), 99
        )
        return {0: 0, 1: 1, 5: 2, 4: 3, 2: 4}.get(idea, 5 if kinds.is_amount(name) or _PAY.search(name) else 6)

    return sorted(names, key=rank)


def _usual_dates(names: list[str], frame: pandas.DataFrame) -> list[str]:
    def rank(name: str) -> tuple[int, float]:
        plain = re.search(r"date|time|day|дата|день|время", str(name), re.IGNORECASE)
        return (0 if plain else 1, float(frame[name].isna().mean()))

    return sorted(names, key=rank)


def _words(text: str) -> list[str]:
    return [w.lower().replace("ё", "е") for w in _WORD.findall(_CAMEL.sub(" ", text))]


def _mention(words: list[str], name: str, columns: pandas.Index) -> frozenset[int]:
    """Which of the request's words name a column: all words of its name, or its idea.

    A word that is another column's whole name is that column's own.
    """
    every = _words(name)
    parts = [p for p in every if len(p) > 2 and p not in _FILLERS] or every
    whole = {"".join(_words(str(c))) for c in columns}
    places: set[int] = set()
    if len(parts) > 4:  # a question as a header: one telling word of it will do
        return frozenset(i for i, w in enumerate(words) if any(_akin(w, p) for p in parts))
    for part in parts:
        at = {i for i, w in enumerate(words) if _same(w, part)}
        if not at and len(parts) == 1:
            at = {i for i, w in enumerate(words) if _alike(w, part) and w not in whole}
        if not at:
            return frozenset()
        places |= at
    return frozenset(places)


def _same(word: str, part: str) -> bool:
    """Whether two words are forms of one: regions and region, выручки and выручка."""
    if word == part:
        return True
    shorter = min(len(word), len(part))
    if shorter < 3:
        return False
    common = 0
    while common < shorter and word[common] == part[common]:
        common += 1
    cyrillic = "а" <= part[0] <= "я"
    if cyrillic:
        return (
            common >= 4
            and max(len(word), len(part)) - common <= 3
            or (common >= 3 and max(len(word), len(part)) - common <= 2)
        )
    longer, short = (word, part) if len(word) > len(part) else (part, word)
    return longer in (short + "s", short + "es") or (short.endswith("y") and longer == short[:-1] + "ies")


def _akin(word: str, part: str) -> bool:
    """Whether two long words share a stem: satisfaction and satisfied."""
    return min(len(word), len(part)) >= 6 and word[:6] == part[:6] or len(part) > 5 and _same(word, part)


def _alike(word: str, part: str) -> bool:
    """Whether two words stand for one idea."""
    return any(_starts(word, stems) and _starts(part, stems) for stems in _CONCEPTS)


def _starts(word: str, stems: tuple[str, ...]) -> bool:
    # A short stem must be nearly the whole word: "rep" is no "report".
    return any(
        word.startswith(s) and len(word) - len(s) <= (4 if len(s) >= 5 or "а" <= s[0] <= "я" else 1) for s in stems
    )


def _after_by(request: str) -> set[str]:
    """Words that follow "by", "per", "по": what is asked to be split by."""
    found: set[str] = set()
    for tail in re.findall(r"\b(?:by|per|across|по|на|в разрезе)\s+([^.;:?!]{1,60})", request, re.IGNORECASE):
        found.update(_words(tail)[:4])
    return found
