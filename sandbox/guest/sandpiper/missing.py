"""How people spell "no value"."""

from __future__ import annotations

import re
from collections import Counter

# Never a value, whatever the column holds.
ALWAYS = frozenset(
    {"", "NULL", "null", "Null", "(null)", "\\N", "N/A", "n/a", "#N/A", "#N/A N/A", "<NA>", "NaN", "nan", "-nan", "н/д", "Н/Д"}
)
# No value in a column of numbers or dates; in a column of words they may be words.
AMONG_VALUES = frozenset(
    {"-", "--", "---", "—", "–", "?", ".", "..", "...", "None", "none", "NONE", "nil", "n.a.", "n/d", "missing", "Missing"}
    | {"unknown", "Unknown", "нет", "нет данных", "неизвестно", "k.A.", "k. A.", "keine Angabe", "entfällt", "無", "无", "x", "X", "*"}
    | {"不明", "該当なし", "なし", "未定", "暂无", "不详", "없음", "해당없음", "brak", "yok", "s/d", "sin dato", "sin datos", "s.d.", "n. d.", "N.D.", "nd", "n.c."}
    | {"inconnu", "non disponible", "não disponível", "non rilevato", "ei tietoa", "saknas", "onbekend", "nedostupné", "OVR", "UND", "ERR"}
    # Stata's missing values, and an accounting dash with its currency.
    | {f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"}
    | {form.format(sign) for sign in "$€£¥₽₹₺₩₪" for form in ("{} -", "{}-", "{} –", "- {}", "-{}", "{}\u00a0-", "-\u00a0{}")}
    # What a division by zero leaves: no figure that could be added to others.
    | {"inf", "-inf", "Inf", "-Inf", "+inf", "Infinity", "-Infinity", "+Infinity", "infinity", "∞", "-∞", "+∞"}
)
# A spreadsheet's errors: the figure is lost, the cell is not blank.
ERRORS = frozenset({"#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA"})
_WORDLESS = frozenset({"NA", "na", "Na"})
# All that is looked at before a cell is tried as a value.
SPECIAL = AMONG_VALUES | ERRORS | _WORDLESS

_CODE = re.compile(r"[A-Z]{2,3}")


def na_is_a_code(values: Counter[str]) -> bool:
    """Whether "NA" stands among other short upper-case codes, as Namibia does."""
    codes = sum(1 for v in values if v != "NA" and _CODE.fullmatch(v))
    others = sum(1 for v in values if v not in _WORDLESS and v not in ALWAYS)
    return codes >= 2 and codes >= 0.8 * others


def is_na(text: str) -> bool:
    """Whether the text is the two letters that R and pandas write for no value."""
    return text in _WORDLESS
