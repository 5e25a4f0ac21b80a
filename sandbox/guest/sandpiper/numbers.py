"""Numbers as people and their tools write them.

A number's text is first *described* (which marks it has, and what they prove),
then the column *decides* what its marks mean from all descriptions together,
and only then is anything converted. So "1.234" is never read alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

# A number's parts, each a fact about one text; a column's facts are their union.
INT = "int"
DOT_DECIMAL, COMMA_DECIMAL = "dot-decimal", "comma-decimal"
DOT_OPEN, COMMA_OPEN = "dot-open", "comma-open"  # 1.234: decimal or thousands
DOT_GROUP, COMMA_GROUP, SPACE_GROUP, QUOTE_GROUP = "dot-group", "comma-group", "space-group", "quote-group"
PERCENT, PLAIN_UNIT = "percent", "no-unit"
ACCOUNTING, TRAILING_MINUS, SCIENTIFIC = "accounting", "trailing-minus", "scientific"
EXPONENT_ID, LEADING_ZERO, LONG_DIGITS, PLUS = "exponent-id", "leading-zero", "long-digits", "plus"

# Digits beyond which a float or a spreadsheet no longer tells neighbours apart.
EXACT_DIGITS = 15

_SPACES = " \u00a0\u2007\u2009\u202f"
# Spellings of one currency stand in one group, so that "€ 5" and "5 EUR" are no mixture.
_SAME_MONEY = (
    ("€", "EUR"), ("£", "GBP"), ("¥", "円", "JPY"), ("元", "CNY", "RMB"), ("₽", "RUB", "руб.", "руб", "р."), ("₴", "UAH", "грн.", "грн"), ("₸", "KZT", "тг.", "тг"),
    ("₹", "INR", "Rs.", "Rs"), ("₺", "TRY", "TL"), ("₩", "KRW", "원"), ("₪", "ILS"), ("zł", "PLN"), ("Kč", "CZK"), ("Ft", "HUF"), ("lei", "RON"), ("лв.", "лв", "BGN"),
    ("R$", "BRL"), ("US$", "USD"), ("฿", "THB"), ("₫", "VND"), ("₱", "PHP"), ("₦", "NGN"), ("Rp.", "Rp", "IDR"), ("RM", "MYR"), ("Fr.", "CHF"),
)  # fmt: skip
_OTHER_MONEY = ("$", "kr.", "kr", "A$", "C$", "NZ$", "HK$", "NT$", "S$", "SEK", "NOK", "DKK", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN", "ZAR", "AED", "SAR", "EGP", "ARS", "CLP", "COP")
_MONEY = {spelling.casefold(): group[0] for group in _SAME_MONEY for spelling in group}
SPELLINGS = sorted([*(s for group in _SAME_MONEY for s in group), *_OTHER_MONEY], key=len, reverse=True)
_CURRENCIES = "|".join(map(re.escape, SPELLINGS))
# Units of measure that are not mistaken for a letter of a code: "12 A" is a flat.
_MEASURES = (
    r"kg|mg|lbs?|oz|km|cm|mm|mi|ml|kWh|MWh|kW|MW|GHz|MHz|kHz|Hz|°C|°F|[KMGT]i?B|min|hrs|sec|ms|pcs|кг|мг|км|см|мм|мл|шт\.?|мин|сек|тыс\.|млн|кВт·ч"
)
_SHAPE = re.compile(
    rf"(?:(?P<cur0>{_CURRENCIES})[{_SPACES}]*(?=\())?(?P<open>\()?\s*(?P<sign>[-+\u2212\u2013])?\s*(?P<cur1>{_CURRENCIES})?[{_SPACES}]*(?P<sign2>[-+\u2212])?"
    rf"(?P<body>\d[\d.,'’_{_SPACES}]*|[.,]\d+)(?P<dash>(?<=[.,])[-–—]{{1,2}})?(?P<exp>[eEdD][-+]?\d{{1,3}})?"
    rf"[{_SPACES}]*(?P<cur2>{_CURRENCIES})?[{_SPACES}]*(?P<percent>%|٪|％)?(?P<measure>{_MEASURES})?(?P<minus>-)?\s*(?P<close>\))?",
    re.IGNORECASE,
)
# Marks of other scripts, and those without width that set the direction of writing.
_NATIVE = str.maketrans("٫٬，．＄￥－＋（）", ".,,.$¥-+()") | dict.fromkeys(map(ord, "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u061c"))
_GREATEST = 1e290  # so that no sum of a file's cells is beyond a float
LONGEST = 64  # characters beyond which nothing is a number
_GROUPS = {
    ",": re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}"),
    ".": re.compile(r"\d{1,3}(?:\.\d{3})+"),
    " ": re.compile(r"\d{1,3}(?: \d{3})+"),
    "'": re.compile(r"\d{1,3}(?:'\d{3})+"),
}
_GROUP_FACT = {",": COMMA_GROUP, ".": DOT_GROUP, " ": SPACE_GROUP, "'": QUOTE_GROUP}
_DECIMAL_FACT = {",": COMMA_DECIMAL, ".": DOT_DECIMAL}
_OPEN_FACT = {",": COMMA_OPEN, ".": DOT_OPEN}
_ALIKE = str.maketrans({c: " " for c in _SPACES} | {"’": "'", "_": "'"})

# Fast paths over many texts at once, joined by newlines. Nothing in them is ever
# tried twice, so they are possessive: without a way back to keep, they are faster.
PLAIN_DECIMALS = re.compile(r"(?:-?(?:0|[1-9]\d{0,14}+)(?:\.\d++)?+\n)++", re.ASCII)
# Among those: what cannot be thousands, and what could be.
SURE_DECIMAL = re.compile(r"^-?(?:0|\d{4,})\.\d|\.(?:\d{1,2}|\d{4,})$", re.ASCII | re.MULTILINE)
OPEN_DECIMAL = re.compile(r"^-?[1-9]\d{0,2}\.\d{3}$", re.ASCII | re.MULTILINE)


_LEADING_ZERO = re.compile(r"^-?0\d", re.MULTILINE)


def all_plain_integers(texts: Collection[str], joined: str) -> bool:
    """Whether all texts are whole numbers as a program writes them.

    ``joined`` is the texts, each followed by a newline; they are not empty.
    """
    if "-" in joined:
        texts = [text.removeprefix("-") for text in texts]
    return joined.isascii() and all(map(str.isdecimal, texts)) and max(map(len, texts)) <= EXACT_DIGITS and not _leading_zero(joined)


def _leading_zero(joined: str) -> bool:
    # Most columns have no text that begins with 0: a plain search says so at once.
    begins = joined.startswith(("0", "-0")) or "\n0" in joined or "\n-0" in joined
    return begins and _LEADING_ZERO.search(joined) is not None


@dataclass(frozen=True, slots=True)
class Described:
    """One text seen as a number: its facts and its unit ("" for none)."""

    facts: tuple[str, ...]
    unit: str = ""


def describe(text: str) -> Described | None:
    """Say what ``text`` would be as a number; None when it is none."""
    match = _match(text)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    body = match["body"].translate(_ALIKE).rstrip(" ")
    if match["dash"]:
        body += "00"  # 99,- is 99,00
    if match["exp"] and match["exp"][0] in "dD" and not ("." in body and match["exp"][1] in "-+"):
        return None  # 1.5D+03 is Fortran's, 12D3 a code
    facts = _body_facts(body, match["exp"])
    if facts is None:
        return None
    signs = [s for s in (match["sign"], match["sign2"], match["minus"]) if s]
    money = [c for c in (match["cur0"], match["cur1"], match["cur2"]) if c]
    if len(signs) > 1 or (signs and match["open"]) or len(money) > 1:
        return None
    unit = money[0] if money else "%" if match["percent"] else match["measure"] or ""
    if match["measure"] and (money or match["percent"] or match["exp"]):
        return None
    if match["open"]:
        facts.append(ACCOUNTING)
    if match["minus"]:
        facts.append(TRAILING_MINUS)
    if match["sign"] == "+":
        facts.append(PLUS)
    return Described(tuple(facts), unit)


def _match(text: str) -> re.Match[str] | None:
    if len(text) > LONGEST:
        return None
    return _SHAPE.fullmatch(text if text.isascii() else text.translate(_NATIVE))


def same_unit(unit: str) -> str:
    """One name for all spellings of a unit."""
    return _MONEY.get(unit.casefold(), unit)


def _body_facts(body: str, exponent: str | None) -> list[str] | None:
    if body.isdecimal():
        return _integer_facts(body, exponent)
    if exponent:
        if re.fullmatch(r"\d+\.\d*", body):
            return [DOT_DECIMAL, SCIENTIFIC]
        return [COMMA_DECIMAL, SCIENTIFIC] if re.fullmatch(r"\d+,\d+", body) else None
    for mark in " '":
        if mark in body:
            return _grouped_facts(body, mark, ".,")
    dots, commas = body.count("."), body.count(",")
    if dots and commas:
        mark = "," if body.rindex(".") > body.rindex(",") else "."
        return _grouped_facts(body, mark, "." if mark == "," else ",")
    return _one_mark_facts(body, "." if dots else ",", dots + commas)


def _integer_facts(body: str, exponent: str | None) -> list[str]:
    if exponent:
        return [EXPONENT_ID if exponent[1].isdigit() else SCIENTIFIC]
    if len(body) > 1 and body[0] == "0":
        return [INT, LEADING_ZERO]
    return [INT, LONG_DIGITS] if len(body) > EXACT_DIGITS else [INT]


def _grouped_facts(body: str, mark: str, decimals: str) -> list[str] | None:
    whole, found = body, []
    for decimal in decimals:
        if decimal in body:
            whole, _, fraction = body.partition(decimal)
            if not fraction.isdecimal():
                return None
            found = [_DECIMAL_FACT[decimal]]
            break
    return [_GROUP_FACT[mark], *found] if _GROUPS[mark].fullmatch(whole) else None


def _one_mark_facts(body: str, mark: str, count: int) -> list[str] | None:
    if count > 1:
        return [_GROUP_FACT[mark]] if _GROUPS[mark].fullmatch(body) else None
    whole, _, fraction = body.partition(mark)
    if len(whole) > 1 and whole[0] == "0":
        return [_DECIMAL_FACT[mark], LEADING_ZERO]
    if len(fraction) == 3 and 1 <= len(whole) <= 3 and whole != "0":
        return [_OPEN_FACT[mark]]
    return [_DECIMAL_FACT[mark]]


@dataclass(frozen=True, slots=True)
class Marks:
    """What a column's marks mean. ``grouping`` is "" where there is none."""

    decimal: str = "."
    grouping: str = ""
    sure: bool = True


def decide_marks(facts: set[str], comma_file: bool | None) -> Marks | None:
    """Decide from a column's facts; None when they contradict each other.

    ``comma_file`` is what the rest of the file does: True for decimal commas,
    False for decimal points, None when it does not say.
    """
    dot, comma = DOT_DECIMAL in facts or COMMA_GROUP in facts, COMMA_DECIMAL in facts or DOT_GROUP in facts
    if DOT_DECIMAL in facts and COMMA_DECIMAL in facts or DOT_GROUP in facts and COMMA_GROUP in facts or dot and comma:
        return None
    grouping = " " if SPACE_GROUP in facts else "'" if QUOTE_GROUP in facts else ""
    if dot:
        return Marks(".", grouping or ("," if facts & {COMMA_GROUP, COMMA_OPEN} else ""))
    if comma:
        return Marks(",", grouping or ("." if facts & {DOT_GROUP, DOT_OPEN} else ""))
    return _decide_open(facts, grouping, comma_file)


def _decide_open(facts: set[str], grouping: str, comma_file: bool | None) -> Marks | None:
    dot_open, comma_open = DOT_OPEN in facts, COMMA_OPEN in facts
    if dot_open and comma_open:
        return None
    if grouping:  # 1 234,567: the other mark can only be the decimal one
        return Marks("," if comma_open else ".", grouping)
    if comma_open:
        if comma_file:
            return Marks(",", "")
        return Marks(".", ",", sure=comma_file is not None)
    if dot_open:
        if comma_file:
            return Marks(",", ".")
        return Marks(".", "", sure=comma_file is not None)
    return Marks("," if comma_file else ".", "")


def converter(marks: Marks) -> Callable[[str], float | int]:
    """A function from a described text to its value; ValueError when it is none."""
    drop = str.maketrans({c: "" for c in "'’_" + _SPACES} | ({marks.grouping: ""} if marks.grouping in (".", ",") else {}))
    comma = marks.decimal == ","

    def convert(text: str) -> float | int:
        match = _match(text)
        if match is None:
            raise ValueError("not a number")
        body = match["body"].translate(drop)
        if comma:
            body = body.replace(",", ".")
        if match["exp"]:
            value: float | int = float(body + match["exp"].lower().replace("d", "e"))
            if abs(value) > _GREATEST:
                raise ValueError("beyond what can be added up")
        else:
            value = float(body) if "." in body else int(body)
        negative = match["open"] or match["minus"] or (match["sign"] or match["sign2"] or "+") != "+"
        return -value if negative else value

    return convert
