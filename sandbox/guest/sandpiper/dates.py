"""Dates and times as people and their tools write them.

Like numbers, a date is described first and decided over the whole column:
"03/04/2024" says nothing by itself, "25/04/2024" further down says day first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio янв январь января janv ene gen januari janeiro ocak oca styczeń stycznia sty leden ledna tammikuuta siječnja січень січня ianuarie jaanuar sausio janvāris",
            "feb february februar février fevrier febrero febbraio фев февраль февраля févr fév fevereiro fev februari şubat şub luty lutego únor února helmikuuta лютий лютого februarie veebruar vasario februāris",
            "mar march märz maerz mär mars marzo мар март марта mrt maart março mart marzec marca března březen maaliskuuta березень березня martie märts kovo marts",
            "apr april avril abril aprile апр апрель апреля avr abr nisan nis kwiecień kwietnia kwi duben dubna huhtikuuta квітень квітня aprilie aprill balandžio aprīlis",
            "may mai mayo maggio май мая mag mei maio mayıs maj maja květen května toukokuuta травень травня gegužės maijs",
            "jun june juni juin junio giugno июн июнь июня giu junho haziran haz czerwiec czerwca cze červen června kesäkuuta червень червня iunie juuni birželio jūnijs",
            "jul july juli juillet julio luglio июл июль июля juil lug julho temmuz tem lipiec lipca lip července červenec heinäkuuta липень липня iulie juuli liepos jūlijs",
            "aug august août aout agosto авг август августа ago augustus augusti ağustos ağu sierpień sierpnia sie srpen srpna elokuuta серпень серпня rugpjūčio augusts",
            "sep sept september septembre septiembre settembre сен сент сентябрь сентября set setembro eylül eyl wrzesień września wrz září syyskuuta вересень вересня septembrie rugsėjo septembris",
            "oct okt october oktober octobre octubre ottobre окт октябрь октября ott outubro out ekim eki październik października paź říjen října lokakuuta жовтень жовтня octombrie oktoober spalio oktobris",
            "nov november novembre noviembre novembre ноя нояб ноябрь ноября novembro kasım kas listopad listopada lis listopadu marraskuuta noviembre листопад листопада noiembrie lapkričio novembris",
            "dec dez december dezember décembre decembre diciembre dicembre дек декабрь декабря déc dic dezembro aralık ara grudzień grudnia gru prosinec prosince joulukuuta грудень грудня decembrie detsember gruodžio decembris",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = r"(?P<mon>[^\W\d_]{3,12})\.?"
# Zones whose names mean one offset; CST, IST and BST mean several.
_ZONES = {
    "CET": 1, "CEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "WET": 0, "WEST": 1, "MSK": 3, "JST": 9, "KST": 9, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
_TIME = (
    r"(?:(?:[T ]|,\s|:)\s*(?P<H>\d{1,2})(?P<c>[:.])(?P<M>\d{2})(?:(?P=c)(?P<S>\d{2})(?P<f>[.,]\d{1,9})?)?"
    rf"\s*(?P<ap>[AaPp]\.?[Mm]\.?)?\s*(?P<tz>Z|(?:UTC|GMT)(?:[+-]\d{{1,2}}(?::?\d{{2}})?)?|[+-]\d{{2}}(?::?\d{{2}})?|{'|'.join(_ZONES)})?)?"
)
# Days of the week before dates of digits, where a word like "until" would be something else.
_DAYS = (
    "mon monday tue tues tuesday wed wednesday thu thurs thursday fri friday sat saturday sun sunday mo montag di dienstag mi mittwoch do donnerstag fr freitag sa samstag so sonntag"
    " пн вт ср чт пт сб вс понедельник вторник среда четверг пятница суббота воскресенье lun lundi mar mardi mer mercredi jeu jeudi ven vendredi sam samedi dim dimanche lunes martes"
    " miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì venerdì sabato domenica ma wo za zo pon wt śr czw pt sob nie nd seg ter qua qui sex sáb dom må ti on to lö sö"
)
_DAY_NAME = rf"(?:(?:{'|'.join(sorted(_DAYS.split(), key=len, reverse=True))})\.?,?\s+)?"
# How the names that a date may begin with begin: months, and days of the week.
BEGINNINGS = frozenset(name[:3] for name in (*_MONTHS, *_DAYS.split()))
_WEEKDAY = r"(?:[^\W\d_]{2,11}\.?,?\s+)?"

# Shape name -> (pattern, strftime form of its date part). "%1" and "%2" stand
# for day and month in the order that the column decides.
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern + _TIME if timed else pattern, re.IGNORECASE if pattern.startswith(_DAY_NAME) else 0))
    for form, pattern, timed in (
        ("%Y{s}%m{s}%d", _DAY_NAME + r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})", True),
        ("%1{s}%2{s}%Y", _DAY_NAME + r"(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P=s)(?P<y>\d{4})", True),
        ("%1{s}%2{s}%y", _DAY_NAME + r"(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P=s)(?P<y>\d{2})", True),
        ("%d{s}%b{s}%Y", _WEEKDAY + r"(?P<d>\d{1,2})(?:er|st|nd|rd|th|º|ª)?(?P<s>[-/ ]|\.\s?)" + _MONTH + r"[-/ ,]\s?(?P<y>\d{4})(?:\s?г\.?)?", True),
        ("%d{s}%b{s}%y", r"(?P<d>\d{1,2})(?P<s>[-/ ])" + _MONTH + r"[-/ ](?P<y>\d{2})", True),
        ("%b %d, %Y", _WEEKDAY + _MONTH + r"\s(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<y>\d{4})", True),
        ("%Y年%m月%d日", r"(?P<y>\d{4})年\s?(?P<m>\d{1,2})月\s?(?P<d>\d{1,2})日", True),
        ("%d de %b de %Y", r"(?P<d>\d{1,2})º?\sd[e']\s" + _MONTH + r"\sdel?\s(?P<y>\d{4})", True),
        ("%d%b%Y", r"(?P<d>\d{1,2})" + _MONTH.replace("3,12", "3") + r"(?P<y>\d{4})", True),
        ("%Y. %m. %d.", r"(?P<y>\d{4})\.\s(?P<m>\d{1,2})\.\s(?P<d>\d{1,2})\.?", True),
        ("%Y년 %m월 %d일", r"(?P<y>\d{4})년\s?(?P<m>\d{1,2})월\s?(?P<d>\d{1,2})일", True),
        ("%Y%m%d", r"(?P<y>(?:19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})[T ](?P<H>\d{2}):?(?P<M>\d{2})(?::?(?P<S>\d{2})(?P<f>[.,]\d{1,9})?)?(?P<tz>Z|[+-]\d{2}(?::?\d{2})?)?", False),
        ("%a %b %d %Y", _WEEKDAY + _MONTH + r"\s+(?P<d>\d{1,2})\s(?P<H>\d{2}):(?P<M>\d{2}):(?P<S>\d{2})(?P<f>\.\d{1,9})?\s(?:(?P<tz>[A-Z]{3,4})\s)?(?P<y>\d{4})", False),
        ("%b{s}%Y", _MONTH + r"(?P<s>[-/ ])(?P<y>\d{4})", False),
        ("%b{s}%y", _MONTH + r"(?P<s>[-'’])(?P<y>\d{2})", False),
        ("%Y{s}%m", r"(?P<y>(?:19|20)\d{2})(?P<s>[-/])(?P<m>0[1-9]|1[0-2])", False),
        ("%G-W%V", r"(?P<y>(?:19|20)\d{2})-?W(?P<w>\d{2})", False),
    )
)

PLAIN_ISO = re.compile(r"(?:\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])\n)+", re.ASCII)
PLAIN_ISO_TIME = re.compile(r"(?:\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\n)+", re.ASCII)

DAY_FIRST, MONTH_FIRST = "day", "month"


@dataclass(slots=True)
class Facts:
    """What a column's dates have shown so far. Mergeable chunk by chunk."""

    forms: set[str] = field(default_factory=set)
    greatest: list[int] = field(default_factory=lambda: [0, 0])
    timed: bool = False
    untimed: bool = False
    seconds: bool = False
    fraction: bool = False
    twelve: bool = False
    zones: set[str] = field(default_factory=set)
    zoneless: bool = False
    # Whether the rows so far do not descend under each reading, and the last of each.
    rising: dict[str, bool] = field(default_factory=lambda: {DAY_FIRST: True, MONTH_FIRST: True})
    steps: int = 0
    last: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # Of dates like 24/12/25: the least first field, and the greatest last one.
    least_first: int = 99
    greatest_last: int = 0

    def two_digit_order_open(self) -> bool:
        """Whether each date may as well begin with its year: 24/12/25, never 31.12.99 nor 05/12/25."""
        return self.forms <= {"%1/%2/%y", "%1-%2-%y"} and self.least_first > 12 and self.greatest_last <= 31


def describe(text: str) -> re.Match[str] | None:
    """The match of ``text`` with the shape that it has; None for no date."""
    for form, pattern in _SHAPES:
        match = pattern.fullmatch(text)
        if match is not None and ("%b" not in form or match["mon"].lower() in _MONTHS):
            return match
    return None


def form_of(match: re.Match[str]) -> str:
    """The strftime form of a described date's date part."""
    for form, pattern in _SHAPES:
        if pattern is match.re:
            return form.replace("{s}", (match.groupdict().get("s") or "").rstrip() or " ")
    raise ValueError("not a described date")


def note_facts(facts: Facts, match: re.Match[str]) -> None:
    """Add one described date to the column's facts."""
    form = form_of(match)
    facts.forms.add(form)
    group = match.groupdict()
    if "%1" in form:
        a, b, y = int(group["a"]), int(group["b"]), int(group["y"])
        facts.least_first, facts.greatest_last = min(facts.least_first, a), max(facts.greatest_last, y)
        facts.greatest[0], facts.greatest[1] = max(facts.greatest[0], a), max(facts.greatest[1], b)
        for order, key in ((DAY_FIRST, (y, b, a)), (MONTH_FIRST, (y, a, b))):
            if facts.last.get(order, key) > key:
                facts.rising[order] = False
            facts.last[order] = key
        facts.steps += 1
    if group.get("H"):
        facts.timed = True
        facts.seconds |= bool(group["S"])
        facts.fraction |= bool(group["f"])
        facts.twelve |= bool(group.get("ap"))
        if group["tz"]:
            facts.zones.add(group["tz"])
        else:
            facts.zoneless = True
    else:
        facts.untimed = True


@dataclass(frozen=True, slots=True)
class Order:
    """Whether days come first. ``known`` False: nothing in the column says."""

    day_first: bool = True
    known: bool = True
    why: str = ""
    pivot: int = 70  # years of two digits below it are of this century


def decide_order(facts: Facts, neighbours: bool | None) -> Order | None:
    """Decide day or month first; None when the column has both for certain.

    ``neighbours`` is the order that another column of the file proved.
    """
    if not any("%1" in form for form in facts.forms):
        return Order()
    first, second = facts.greatest
    if first > 12 and second > 12:
        return None
    if first > 12:
        return Order(True, True, "a first field above 12")
    if second > 12:
        return Order(False, True, "a second field above 12")
    if any(".%2" in form for form in facts.forms):
        return Order(True, True, "dots, which only day-first dates have")
    if neighbours is not None:
        return Order(neighbours, True, "the file's other dates")
    if facts.steps >= 6 and facts.rising[DAY_FIRST] != facts.rising[MONTH_FIRST]:
        return Order(facts.rising[DAY_FIRST], True, "the order of the rows")
    return Order(True, False)


def format_of(facts: Facts, order: Order) -> str:
    """The strftime format of the column, several joined with " | "."""
    a, b = ("%d", "%m") if order.day_first else ("%m", "%d")
    parts = []
    for form in sorted(facts.forms):
        text = form.replace("%1", a).replace("%2", b)
        if not order.known and "%1" in form:
            text = f"{text} or {form.replace('%1', b).replace('%2', a)}"
        parts.append(text)
    text = " | ".join(parts)
    if facts.timed:
        clock = "%I:%M" if facts.twelve else "%H:%M"
        clock += ":%S" if facts.seconds else ""
        clock += ".%f" if facts.fraction else ""
        text += " " + clock + (" %p" if facts.twelve else "") + ("%z" if facts.zones else "")
    return text


def convert(match: re.Match[str], order: Order) -> datetime:
    """A described date's value; ValueError when there is no such day."""
    group = match.groupdict()
    year = int(group["y"])
    if len(group["y"]) == 2:
        year += 2000 if year < order.pivot else 1900
    if group.get("w"):
        day = date.fromisocalendar(year, int(group["w"]), 1)
        return datetime(day.year, day.month, day.day)
    if group.get("a"):
        d, m = (group["a"], group["b"]) if order.day_first else (group["b"], group["a"])
        month, day_ = int(m), int(d)
    else:
        month = _MONTHS[group["mon"].lower()] if group.get("mon") else int(group["m"])
        day_ = int(group.get("d") or 1)
    if not group.get("H"):
        return datetime(year, month, day_)
    hour = int(group["H"])
    if group.get("ap"):
        hour = hour % 12 + (12 if group["ap"][0] in "pP" else 0)
    micro = int((group["f"] or ".0")[1:7].ljust(6, "0"))
    return datetime(year, month, day_, hour, int(group["M"]), int(group["S"] or 0), micro, zone(group["tz"]))


def zone(text: str | None) -> timezone | None:
    """The fixed offset that ``text`` names."""
    if not text:
        return None
    if text in ("Z", "UTC", "GMT"):
        return timezone.utc
    if text.isalpha():
        if text not in _ZONES:
            raise ValueError("a zone of several meanings")
        return timezone(timedelta(hours=_ZONES[text]))
    text = text.removeprefix("UTC").removeprefix("GMT")  # GMT+1, as Google's forms have it
    if len(text) == 2:
        text = f"{text[0]}0{text[1]}"
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
