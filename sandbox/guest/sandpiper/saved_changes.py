"""What changed since the last runs of a saved report."""

from __future__ import annotations

import re
from typing import Any

from .compared import usual

_TEXTS = {
    "en": {
        "head": "**Compared with last time:**",
        "none": "**Compared with last time:** nothing moved beyond the usual.",
        "moved": "{name}: {old} → {new} ({change:+.0%})",
        "usual": ", beyond the usual {low}–{high}",
        "word": "{name}: {old} → {new}",
    },
    "ru": {
        "head": "**По сравнению с прошлым разом:**",
        "none": "**По сравнению с прошлым разом:** ничего необычного.",
        "moved": "{name}: {old} → {new} ({change:+.0%})",
        "usual": ", обычно {low}–{high}",
        "word": "{name}: {old} → {new}",
    },
}


def changes(
    words: str, figures: list[dict[str, Any]], today: dict[str, str], earlier: list[str], language: str, more: list[str] | None = None
) -> str:
    """The opening of a report: figures that moved more than they usually do.

    ``earlier`` are the answers of the last runs, newest last; their figures are
    read back through the report's own words. ``more`` are rows found otherwise.
    """
    runs = [past for text in earlier if (past := read_back(words, text))]
    if not runs and not more:
        return ""
    text = _TEXTS.get(language, _TEXTS["en"])
    rows = [row for f in figures if f["id"] in today and (row := _row(f, today, [r[f["id"]] for r in runs if f["id"] in r], text))]
    rows += more or []
    if not rows:
        return text["none"]
    return "\n".join([text["head"], *(f"- {row}" for row in dict.fromkeys(rows))])


def read_back(words: str, answer: str) -> dict[str, str] | None:
    """The figures of an answer that was made from these words."""
    parts = re.split(r"\{\{(f\d+)\}\}", words.strip())
    pattern = "".join(re.escape(p) if i % 2 == 0 else ("(.{1,60}?)") for i, p in enumerate(parts))
    m = re.search(pattern + r"\s*\Z", answer.strip(), re.DOTALL)
    if not m:
        return None
    return dict(zip(parts[1::2], m.groups(), strict=True))


def _value(text: str, figure: dict[str, Any]) -> float | None:
    plain = text.replace(figure["thousands"], "") if figure["thousands"] else text
    if figure["decimal"] != ".":
        plain = plain.replace(figure["decimal"], ".")
    try:
        return float(plain.replace("\u2212", "-"))
    except ValueError:
        return None


def _row(figure: dict[str, Any], today: dict[str, str], past: list[str], text: dict[str, str]) -> str | None:
    new = today[figure["id"]]
    if not past or new == past[-1]:
        return None
    name = _name(figure, today)
    if figure["kind"] == "word":
        return text["word"].format(name=name, old=past[-1], new=new)
    value, values = _value(new, figure), [v for p in past if (v := _value(p, figure)) is not None]
    if value is None or not values or values[-1] == 0:
        return None
    change, found = value / values[-1] - 1, usual(value, values)
    if found is None:
        return None
    row = text["moved"].format(name=name, old=past[-1], new=new, change=change)
    if isinstance(found, tuple):
        row += text["usual"].format(low=f"{found[0]:,.0f}", high=f"{found[1]:,.0f}")
    return row


def _name(figure: dict[str, Any], today: dict[str, str]) -> str:
    """What the printed line calls a figure, with today's words in it."""
    return re.sub(r"\{\{(f\d+)\}\}", lambda m: today.get(m[1], "…"), figure["name"]) or figure["id"]
