"""The type of a column, decided on all its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from . import dates, missing, moments, numbers
from .cells import MONEY
from .evidence import ALONE, TRUE, Evidence
from .notes import Note

INTEGER, NUMBER, TEXT, DATE, DATETIME, BOOLEAN = "integer", "number", "text", "date", "datetime", "boolean"

# A column of numbers (or dates) may hold a few words: at most this share, and
# few different ones. They are said, and left out of its figures.
_STRAY_SHARE = 0.05
_STRAY_DISTINCT = 20
_DIGIT = re.compile(r"\d")
_VERSION = re.compile(r"\b(?:version|ver|release|firmware)\b|верси", re.IGNORECASE)
_DATE_NAME = re.compile(r"date|day|datum|дата|день|日", re.IGNORECASE)
_IDENTIFIER_NAME = re.compile(
    r"(?:^|[\s_\-.(])(?:id|ids|uuid|guid|code|sku|zip|postal|postcode|plz|phone|tel|ean|upc|isbn|iban|account|acct|inn|no|nr|num|number|key|ref|pid|port|status"
    r"|konto|kontonummer|gegenkonto|ид|код|инн|кпп|снилс|индекс|артикул|телефон|тел|счет|счёт|номер|№)(?:$|[\s_\-.)])|(?<=[a-z])I[Dd]$|编号|番号|コード",
    re.IGNORECASE,
)
# As a spreadsheet shows a number of more than eleven digits.
_ROUNDED = re.compile(r"\d(?:[.,]\d{1,5})?E\+1\d")
_BIRTH_NAME = re.compile(r"birth|born|(?:^|[\W_])dob(?:$|[\W_])|geburt|(?:^|[\W_])geb(?:$|[\W_])|naiss|nacim|nascit|nascim|рожд|народж|urodz|naroz|syntym|född|doğum|生年", re.IGNORECASE)
_YEAR_NAME = re.compile(r"^(?:year|yr|jahr|год|年|fy)$", re.IGNORECASE)


@dataclass(slots=True)
class Decision:
    """What a column is, and how its texts become values."""

    name: str
    type: str
    convert: Callable[[str], Any] | None = None  # raises ValueError on a stray
    notes: list[Note] = field(default_factory=list)
    absent: frozenset[str] = frozenset()  # spellings of missing in this column
    missing: int = 0
    date_format: str = ""
    day_first: bool | None = None
    marks: numbers.Marks | None = None
    unit: str = ""
    summable: bool = True
    identifier: bool = False

    def note(self, code: str, **args: Any) -> None:
        self.notes.append(Note(code, self.name, args))


@dataclass(slots=True)
class Context:
    """What the rest of the file proves for a column that says nothing itself."""

    comma_file: bool | None = None
    day_first: bool | None = None


def decide_all(columns: Sequence[Evidence], *, day_first: bool | None = None) -> list[Decision]:
    """Decide every column of a table, each in the light of the others."""
    context = Context(comma_file=_comma_file(columns), day_first=day_first)
    if day_first is None:
        context.day_first = _day_first(columns)
    return [decide(column, context) for column in columns]


def _comma_file(columns: Iterable[Evidence]) -> bool | None:
    dots = commas = 0
    for column in columns:
        facts = column.number_facts
        dot = bool(facts & {numbers.DOT_DECIMAL, numbers.COMMA_GROUP})
        comma = bool(facts & {numbers.COMMA_DECIMAL, numbers.DOT_GROUP})
        if dot != comma and column.number.cells > column.text.cells:
            dots, commas = dots + dot, commas + comma
    if dots and not commas:
        return False
    return True if commas and not dots else None


def _day_first(columns: Iterable[Evidence]) -> bool | None:
    found = set()
    for column in columns:
        if any("%1" in form for form in column.date_facts.forms) and column.date.cells > column.text.cells:
            order = dates.decide_order(column.date_facts, None)
            if order is not None and order.known:
                found.add(order.day_first)
    return found.pop() if len(found) == 1 else None


def decide(column: Evidence, context: Context) -> Decision:
    """Decide one column."""
    decision = Decision(column.name, TEXT, identifier=bool(_IDENTIFIER_NAME.search(column.name)))
    absent = set(column.hard) | (_na_absent(column, decision) if column.soft else set())
    if column.maybe_boolean and column.booleans and column.error.cells == 0:
        _decide_boolean(column, decision, absent)
    elif _mostly(column.number, column.date.cells, column, decision.identifier):
        _decide_number(column, decision, absent, context)
    elif _mostly(column.date, column.number.cells, column, identifier=decision.identifier and column.date_facts.forms <= {"%b-%y"}) and not (decision.identifier and column.date_facts.forms <= {"%b-%y"}):
        _decide_date(column, decision, absent, context)
    elif _has_attached(column, decision):
        pass
    elif column.number.cells and column.number.cells >= 0.5 * (column.number.cells + column.text.cells):
        decision.note("mixed", some=column.number.cells, total=column.number.cells + column.text.cells + column.date.cells)
    _finish(column, decision, absent)
    return decision


# A number with a unit, a limit or a mark: "10 m", "<0.5", "12*".
_ATTACHED = re.compile(
    r"[<>≤≥~≈±]=?\s*-?\d[\d.,\u00a0 ]*\S{0,6}|-?\d[\d.,\u00a0 ]*(?:[*†‡§]{1,3}|\s?\([a-z]\)|\s[a-z])"
    r"|-?\d[\d.,\u00a0 ]*\s?(?:k|m|g|t|l|h|s|w|v|a|b|bn|mln|mio|mrd|days?|hours?|hr|mins?|minutes?|secs?|years?|yrs?|in|ft|г|м|л|ч|с|т|тыс|млн|млрд|дн|дней|лет|[kmgt]i?b|kg|mg|lbs?|oz|km|cm|mm|ml|°[cf]|кг|км|см|мм|мл|шт)(?:/\w{1,3})?\.?",
    re.IGNORECASE,
)


def _has_attached(column: Evidence, decision: Decision) -> bool:
    """Whether most of a text column's cells are numbers with something attached; said, for no sum can be given."""
    if decision.identifier or not column.text.examples or not all(map(_ATTACHED.fullmatch, column.text.examples)):
        return False
    attached = sum(n for text, n in column.counts.items() if _ATTACHED.fullmatch(text))
    whole = column.number.cells + column.text.cells + column.date.cells
    numeric = {t for t in column.counts if numbers.describe(t) is not None}
    extra = sum(n for t, n in column.counts.items() if t not in numeric and _ATTACHED.fullmatch(t))
    if column.wide or attached < 2 and extra < 2 or extra + column.number.cells < 0.9 * whole:
        return False
    decision.note("attached", some=extra, total=whole, examples=", ".join(f"“{t[:20]}”" for t in column.text.examples[:3]))
    return True


def _na_absent(column: Evidence, decision: Decision) -> set[str]:
    if "NA" in column.soft and missing.na_is_a_code(column.counts):
        decision.note("na_code")
        return set()
    return {t for t in column.soft if missing.is_na(t)}


def _mostly(kind: Any, others: int, column: Evidence, identifier: bool) -> bool:
    """Whether the column is of this kind but for a few stray words."""
    strays = column.text.cells + others
    if kind.cells == 0 or others > 0.02 * kind.cells:
        return False
    if strays == 0:
        return True
    total = kind.cells + strays
    few = strays <= max(1, _STRAY_SHARE * total) and kind.cells >= 3 and column.text.distinct <= _STRAY_DISTINCT
    wordy = not any(_DIGIT.search(t) for t in column.text.examples)
    return few and wordy and not identifier


def _decide_boolean(column: Evidence, decision: Decision, absent: set[str]) -> None:
    pair = column.booleans or frozenset()
    if len(column.said) < 2 and not column.said <= ALONE:
        return
    decision.type = BOOLEAN
    decision.convert = lambda text: text.casefold() in TRUE
    absent.update(t for t in column.soft if t.casefold() not in pair)


def _decide_number(column: Evidence, decision: Decision, absent: set[str], context: Context) -> None:
    facts = column.number_facts
    if _is_time(column, decision, absent) or _is_identifier(column, decision):
        return
    if column.compact_dates and _compact_dates(column, decision, absent):
        return
    marks = numbers.decide_marks(facts, context.comma_file)
    if marks is None:
        decision.note("mixed_marks")
        return
    absent.update(column.soft)
    whole = facts <= {numbers.INT, numbers.ACCOUNTING, numbers.TRAILING_MINUS, numbers.PLUS} | _whole_facts(marks)
    decision.type = INTEGER if whole else NUMBER
    decision.marks = marks
    decision.convert = numbers.converter(marks)
    if not marks.sure:
        reading = numbers.converter(marks)(column.open_example) if column.open_example else ""
        decision.note("open_marks", example=column.open_example, reading=reading)
    _note_units(column, decision)
    if numbers.ACCOUNTING in facts:
        decision.note("accounting")


def _is_time(column: Evidence, decision: Decision, absent: set[str]) -> bool:
    found = None if decision.identifier else moments.meaning(column)
    if found is None:
        return False
    column.soft.update({zero: column.counts[zero] for zero in found.never})
    absent.update(column.soft)
    decision.type, decision.date_format, decision.convert = DATETIME if found.timed else DATE, found.form, found.convert
    if found.unit:
        decision.note("unix_read", unit=found.unit)
    return True


def _whole_facts(marks: numbers.Marks) -> set[str]:
    """Facts that leave a number whole under these marks."""
    groups = {numbers.SPACE_GROUP, numbers.QUOTE_GROUP}
    if marks.grouping == ",":
        groups |= {numbers.COMMA_GROUP, numbers.COMMA_OPEN}
    if marks.grouping == ".":
        groups |= {numbers.DOT_GROUP, numbers.DOT_OPEN}
    return groups


def _is_identifier(column: Evidence, decision: Decision) -> bool:
    facts = column.number_facts
    code = ""
    if numbers.LEADING_ZERO in facts:
        code = "leading_zeros"
    elif numbers.LONG_DIGITS in facts and not facts & {numbers.DOT_DECIMAL, numbers.COMMA_DECIMAL}:
        code = "long_digits"
    elif numbers.EXPONENT_ID in facts and not facts & {numbers.SCIENTIFIC, numbers.DOT_DECIMAL, numbers.COMMA_DECIMAL}:
        code = "exponent_ids"
    elif numbers.PLUS in facts and all(len(t) >= 11 and t[0] == "+" for t in column.number.examples):
        code = "phone"
    elif numbers.DOT_DECIMAL in facts and _VERSION.search(column.name):
        code = "version"
    elif numbers.SCIENTIFIC in facts and all(map(_ROUNDED.fullmatch, column.number.examples)):
        if not decision.identifier:
            decision.note("rounded", example=column.number.examples[0])
            return False
        code = "rounded_ids"
    if code:
        decision.note(code)
        decision.identifier = True
    return bool(code)


def _compact_dates(column: Evidence, decision: Decision, absent: set[str]) -> bool:
    if not (_DATE_NAME.search(column.name) or column.number.distinct >= 10) or decision.identifier:
        return False
    absent.update(column.soft)
    decision.type, decision.date_format = DATE, "%Y%m%d"
    decision.convert = lambda text: datetime(int(text[:4]), int(text[4:6]), int(text[6:]))
    return True


def _note_units(column: Evidence, decision: Decision) -> None:
    units: Counter[str] = Counter()
    formatted = {kind.removeprefix(MONEY): count for kind, count in column.native.items() if kind.startswith(MONEY)}
    if len({numbers.same_unit(sign) for sign in formatted}) > 1:
        decision.summable = False
        decision.note("mixed_units", units=", ".join(f"{sign}: {count}" for sign, count in formatted.items()))
        return
    for spelling, count in column.units.items():
        if spelling:
            units[numbers.same_unit(spelling)] += count
    plain = column.units.get("", 0)
    if not units:
        return
    if len(units) > 1 or ("%" in units and plain > 0.5 * units["%"]):
        decision.summable = False
        shown = ", ".join(f"{u or 'none'}: {n}" for u, n in column.units.most_common(5))
        decision.note("mixed_units", units=shown)
        return
    decision.unit = next(spelling for spelling, _ in column.units.most_common() if spelling)
    decision.note("percent") if decision.unit == "%" else decision.note("unit", unit=decision.unit)


def _decide_date(column: Evidence, decision: Decision, absent: set[str], context: Context) -> None:
    facts = column.date_facts
    order = dates.decide_order(facts, context.day_first)
    if order is None:
        decision.note("mixed_days")
        return
    absent.update(column.soft)
    decision.date_format = dates.format_of(facts, order)
    decision.type = DATETIME if facts.timed else DATE
    if len(facts.forms) > 1:
        decision.note("formats", count=len(facts.forms), formats=decision.date_format)
    if not order.known:
        decision.note("open_dates")
        return
    decision.day_first = order.day_first
    if _BIRTH_NAME.search(column.name):
        order = replace(order, pivot=datetime.now().year % 100 + 1)
    decision.convert = _iso_first(order)
    if facts.two_digit_order_open():
        decision.note("short_years", example=column.date.examples[0], reading=decision.convert(column.date.examples[0]).date().isoformat())
    if order.why and context.day_first is not None and not order.why.startswith(("a ", "dots")):
        decision.note("order_from", order=dates.DAY_FIRST if order.day_first else dates.MONTH_FIRST, why=order.why)
    if len(facts.zones) > 1:
        decision.note("zones", zones=", ".join(sorted(facts.zones)[:6]))
    if facts.zones and facts.zoneless:
        decision.note("zone_mixed")


def _iso_first(order: dates.Order) -> Callable[[str], datetime]:
    iso = datetime.fromisoformat

    def convert(text: str) -> datetime:
        if text[4:5] == "-" and text[:4].isdecimal() and "W" not in text:
            try:
                return iso(text)
            except ValueError:
                pass
        match = dates.describe(text)
        if match is None:
            raise ValueError("not a date")
        return dates.convert(match, order)

    return convert


def _finish(column: Evidence, decision: Decision, absent: set[str]) -> None:
    """Count what is missing and note what holds for any type."""
    absent |= set(column.error.examples)
    decision.absent = frozenset(absent)
    spelt = {t: n for t, n in (column.hard + column.soft).items() if t in absent}
    decision.missing = sum(spelt.values()) + column.error.cells
    if decision.missing == column.cells and column.cells:
        decision.note("empty")
        return
    odd = [t for t in spelt if t]
    if odd:
        decision.note("missing_spelt", spellings=", ".join(f"“{t}” ({spelt[t]})" for t in sorted(odd, key=lambda t: -spelt[t])[:4]))
    if column.error.cells:
        decision.note("errors", count=column.error.cells, errors=", ".join(column.error.examples))
    if column.padded:
        decision.note("spaces", count=column.padded)
    if decision.type in (INTEGER, NUMBER) and column.native.get("text"):
        texts = column.native["text"] - column.text.cells - sum(column.soft.values())
        if texts > 0:
            decision.note("text_numbers", count=texts)
    if _YEAR_NAME.match(column.name):
        decision.identifier = True
