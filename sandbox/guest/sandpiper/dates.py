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
            "jan january januar janvier enero gennaio янв январь января",
            "feb february februar février fevrier febrero febbraio фев февраль февраля",
            "mar march märz maerz mär mars marzo мар март марта",
            "apr april avril abril aprile апр апрель апреля",
            "may mai mayo maggio май мая",
            "jun june juni juin junio giugno июн июнь июня",
            "jul july juli juillet julio luglio июл июль июля",
            "aug august août aout agosto авг август августа",
            "sep sept september septembre septiembre settembre сен сент сентябрь сентября",
            "oct okt october oktober octobre octubre ottobre окт октябрь октября",
            "nov november novembre noviembre novembre ноя нояб ноябрь ноября",
            "dec dez december dezember décembre decembre diciembre dicembre дек декабрь декабря",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = r"(?P<mon>[^\W\d_]{3,10})\.?"
_TIME = (
    r"(?:(?:[T ]|,\s|:)\s*(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?P<f>[.,]\d{1,9})?)?"
    r"\s*(?P<ap>[AaPp]\.?[Mm]\.?)?\s*(?P<tz>Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?"
)
_WEEKDAY = r"(?:[^\W\d_]{2,11}\.?,?\s+)?"

# Shape name -> (pattern, strftime form of its date part). "%1" and "%2" stand
# for day and month in the order that the column decides.
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern + _TIME if timed else pattern))
    for form, pattern, timed in (
        ("%Y{s}%m{s}%d", r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})", True),
        ("%1{s}%2{s}%Y", r"(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P=s)(?P<y>\d{4})", True),
        ("%1{s}%2{s}%y", r"(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P=s)(?P<y>\d{2})", True),
        ("%d{s}%b{s}%Y", _WEEKDAY + r"(?P<d>\d{1,2})(?P<s>[-/ ]|\.\s?)" + _MONTH + r"[-/ ,]\s?(?P<y>\d{4})(?:\s?г\.?)?", True),
        ("%d{s}%b{s}%y", r"(?P<d>\d{1,2})(?P<s>[-/ ])" + _MONTH + r"[-/ ](?P<y>\d{2})", True),
        ("%b %d, %Y", _WEEKDAY + _MONTH + r"\s(?P<d>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<y>\d{4})", True),
        ("%Y年%m月%d日", r"(?P<y>\d{4})年\s?(?P<m>\d{1,2})月\s?(?P<d>\d{1,2})日", True),
        ("%b{s}%Y", _MONTH + r"(?P<s>[-/ ])(?P<y>\d{4})", False),
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
        facts.twelve |= bool(group["ap"])
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
        year += 2000 if year < 70 else 1900
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
    if group["ap"]:
        hour = hour % 12 + (12 if group["ap"][0] in "pP" else 0)
    micro = int((group["f"] or ".0")[1:7].ljust(6, "0"))
    return datetime(year, month, day_, hour, int(group["M"]), int(group["S"] or 0), micro, zone(group["tz"]))


def zone(text: str | None) -> timezone | None:
    """The fixed offset that ``text`` names."""
    if not text:
        return None
    if text in ("Z", "UTC", "GMT"):
        return timezone.utc
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
