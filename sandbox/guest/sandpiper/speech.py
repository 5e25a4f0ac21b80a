"""Numbers, dates and words as readers of English or Russian expect them.

A report is written in its request's language: ``of("ru").number(1234.5)`` is
"1 234,5" where ``of("en")`` says "1,234.5". Blanks inside numbers do not break.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal

_MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),
    "ru": "янв фев мар апр мая июн июл авг сен окт ноя дек".split(),
}
_MONTHS_ALONE = {
    "en": _MONTHS["en"],
    "ru": "янв фев мар апр май июн июл авг сен окт ноя дек".split(),
}
# Powers of ten that have a name; the first value that is worth one.
_SCALES = {
    "en": ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")),
    "ru": ((1e12, "трлн"), (1e9, "млрд"), (1e6, "млн")),
}
_CURRENCIES = frozenset("usd eur gbp chf jpy cny rub uah kzt pln czk sek nok dkk inr brl cad aud".split())
_MINUS = "\u2212"
_NBSP = "\u00a0"
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclass(frozen=True, slots=True)
class Speech:
    """One language's way of writing; ``language`` is "en" or "ru"."""

    language: str

    def pick(self, en: str, ru: str) -> str:
        """The text in this language."""
        return ru if self.language == "ru" else en

    def number(self, value: float, digits: int | None = None, sign: bool = False) -> str:
        """A number with thousands marks.

        ``digits`` after the decimal mark; without it as many as the size needs,
        at most four significant ones below 100. ``sign`` writes a plus too.
        """
        if value is None or math.isnan(value):
            return "–"
        if math.isinf(value):
            return ("" if value > 0 else _MINUS) + "∞"
        magnitude = abs(value)
        if magnitude and (magnitude >= 1e15 or magnitude < 1e-4):
            return self._scientific(value)
        if digits is None:
            digits = _digits(magnitude)
            text = f"{rounded(magnitude, digits):,f}"
            if "." in text:
                text = text.rstrip("0").rstrip(".")
        else:
            text = f"{rounded(magnitude, digits):,f}"
        if self.language == "ru":
            text = text.replace(",", _NBSP).replace(".", ",")
        zero = not any(c in "123456789" for c in text)
        mark = _MINUS if value < 0 and not zero else "+" if sign and not zero else ""
        return mark + text

    def _scientific(self, value: float) -> str:
        mantissa, exponent = f"{_plainly(abs(value)):e}".split("e")
        mantissa = str(rounded(float(mantissa), 2))
        if mantissa == "10.00":
            mantissa, exponent = "1.00", str(int(exponent) + 1)
        mantissa = mantissa.rstrip("0").rstrip(".")
        if self.language == "ru":
            mantissa = mantissa.replace(".", ",")
        power = str(int(exponent)).translate(_SUPERSCRIPT)
        return f"{_MINUS if value < 0 else ''}{mantissa}×10{power}"

    def short(self, value: float) -> str:
        """A number for tight places: "1.24 million", "12,400", "0.31"."""
        # 999,999,999 is a billion to a reader, not a thousand millions.
        scale, name = self.scale(float(f"{abs(value):.4g}")) if value is not None and math.isfinite(value) else (1, "")
        if not name:
            return self.number(value)
        short = rounded(value / scale, 2 if abs(value / scale) < 100 else 1)
        return self.number(float(short)) + _NBSP + name

    def scale(self, greatest: float) -> tuple[float, str]:
        """The named power of ten that suits values up to ``greatest``, or (1, "")."""
        if greatest < 1e15:
            for size, name in _SCALES[self.language]:
                if greatest >= size:
                    return size, name
        return 1.0, ""

    def percent(self, fraction: float, digits: int = 1, sign: bool = False) -> str:
        """0.123 as "12.3%" ("12,3 %" in Russian)."""
        if fraction is None or not math.isfinite(fraction):
            return "–"
        return self.number(fraction * 100, digits, sign) + self.pick("%", _NBSP + "%")

    def day(self, when: date | datetime, year: bool = True) -> str:
        """ "5 Jan 2026", "5 янв 2026"."""
        text = f"{when.day}{_NBSP}{_MONTHS[self.language][when.month - 1]}"
        return f"{text}{_NBSP}{when.year}" if year else text

    def month(self, when: date | datetime, year: bool = True) -> str:
        """ "Jan 2026", "янв 2026"."""
        text = _MONTHS_ALONE[self.language][when.month - 1]
        return f"{text}{_NBSP}{when.year}" if year else text

    def moment(self, when: datetime) -> str:
        """ "5 Jan 2026 14:03"."""
        return f"{self.day(when)}{_NBSP}{when:%H:%M}"

    def count(self, n: int, one: str, few: str, many: str = "") -> str:
        """ "1 row", "3 rows"; in Russian "1 строка", "3 строки", "5 строк"."""
        if self.language != "ru" or not many:
            form = one if n == 1 else few
        elif n % 10 == 1 and n % 100 != 11:
            form = one
        elif 2 <= n % 10 <= 4 and not 12 <= n % 100 <= 14:
            form = few
        else:
            form = many
        return self.number(n, 0) + _NBSP + form

    def heading(self, name: object) -> str:
        """A column's name as a heading: "unit_price" as "Unit price"."""
        words = str(name).replace("_", " ").split()
        words[1:] = [w.upper() if w in _CURRENCIES else w for w in words[1:]]
        if words and words[0].islower():  # pH and mRNA are written so
            words[0] = words[0][:1].upper() + words[0][1:]
        return " ".join(words)

    def within(self, heading: str) -> str:
        """A heading inside a sentence: "Unit price" as "unit price", "NPS" and "pH" as they are."""
        first, _, rest = heading.partition(" ")
        return heading if first[1:].lower() != first[1:] or len(first) < 2 else " ".join(filter(None, (first.lower(), rest)))

    def listed(self, items: list[str]) -> str:
        """ "a, b and c"."""
        if len(items) < 2:
            return "".join(items)
        return ", ".join(items[:-1]) + self.pick(" and ", " и ") + items[-1]


def rounded(value: float, digits: int = 0) -> Decimal:
    """A number rounded as people do it: a half goes away from zero.

    It is the number as it is written that counts, not the nearest binary one:
    2.675 becomes 2.68, and 0.285 * 100 (28.499999999999996) becomes 29.
    """
    return _plainly(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _plainly(value: float) -> Decimal:
    """The shortest decimal of at most 15 digits, which holds no binary noise."""
    return Decimal(f"{value:.15g}")


def _digits(magnitude: float) -> int:
    if magnitude >= 1000 or magnitude == 0:
        return 0 if magnitude == int(magnitude) or magnitude >= 100_000 else 2
    if magnitude >= 1:
        return 2
    return min(2 + max(0, -math.floor(math.log10(magnitude))), 6)


def of(language: str | None = None) -> Speech:
    """The speech of a language; without one, of the request at hand."""
    if language is None:
        from . import request

        language = request().get("language") or os.environ.get("SANDPIPER_LANGUAGE", "en")
    return Speech("ru" if language.lower().startswith("ru") else "en")
