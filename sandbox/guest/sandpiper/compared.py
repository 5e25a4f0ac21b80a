"""What changed since a schedule's last runs, by the profiles of their inputs.

The host hands over the profiles of the last runs with request.json; that of
today lies beside it. Tables are matched by their columns, for files are called
otherwise each week.
"""

from __future__ import annotations

import json
import os
import statistics
from typing import Any

from .words import clean

FEW = 4  # runs from which a usual range can be told
STEP = 0.2  # without one, a movement worth telling
_MOST = 12  # rows
_NAMES = 5  # groups named in a row
_PROFILE = "/workspace/.sandpiper/profile.json"

_TEXTS = {
    "en": {
        "head": "**Compared with last time:**",
        "none": "**Compared with last time:** nothing moved beyond the usual.",
        "moved": "{name}: {old} → {new} ({change:+.0%})",
        "usual": ", beyond the usual {low}–{high}",
        "rows": "rows",
        "new": "new in {column}: {names}",
        "gone": "gone from {column}: {names}",
        "more": " and {count} more",
    },
    "ru": {
        "head": "**По сравнению с прошлым разом:**",
        "none": "**По сравнению с прошлым разом:** ничего необычного.",
        "moved": "{name}: {old} → {new} ({change:+.0%})",
        "usual": ", обычно {low}–{high}",
        "rows": "строк",
        "new": "новое в «{column}»: {names}",
        "gone": "пропало из «{column}»: {names}",
        "more": " и ещё {count}",
    },
}


def opening(today: dict[str, Any]) -> str:
    """The opening of a scheduled report; empty where nothing came before it."""
    text = _TEXTS.get(today.get("language", "en"), _TEXTS["en"])
    pairs = _pairs(today)
    if not pairs:
        return ""
    rows = [row for table, past in pairs for row in (*_movements(table, past, text), *_groups(table, past, text))]
    return "\n".join([text["head"], *(f"- {row}" for row in rows[:_MOST])]) if rows else text["none"]


def groups(today: dict[str, Any]) -> list[str]:
    """The groups that are new or gone, as lines."""
    text = _TEXTS.get(today.get("language", "en"), _TEXTS["en"])
    return [row for table, past in _pairs(today) for row in _groups(table, past, text)][:_MOST]


def usual(value: float, past: list[float]) -> tuple[float, float] | None | bool:
    """Whether a movement is worth telling: the usual range that it leaves, True
    where too few runs give none, None where it is as usual."""
    if not past or past[-1] == 0:
        return None
    if len(past) < FEW:
        return True if abs(value / past[-1] - 1) >= STEP else None
    middle, spread = statistics.fmean(past), statistics.stdev(past)
    low, high = min(*past, middle - 2 * spread), max(*past, middle + 2 * spread)
    return None if low <= value <= high else (low, high)


def _pairs(today: dict[str, Any]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Today's tables, each with the same table of the runs before, oldest first."""
    runs = [e["profile"] for e in today.get("earlier") or [] if e.get("profile")]
    if not runs or not os.path.exists(_PROFILE):
        return []
    with open(_PROFILE, encoding="utf-8") as f:
        now = json.load(f)
    out = []
    for table in _tables(now):
        past = [best for run in runs if (best := _like(table, _tables(run)))]
        if past:
            out.append((table, past))
    return out


def _tables(profile: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for entry in profile.get("files") or []:
        found += entry.get("sheets") or [entry]
    return [t for t in found if t.get("columns")]


def _like(table: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The table with most columns in common, if that is the half of them."""
    names = {c["name"] for c in table["columns"]}

    def shared(other: dict[str, Any]) -> float:
        theirs = {c["name"] for c in other["columns"]}
        return len(names & theirs) / len(names | theirs)

    best = max(others, key=shared, default=None)
    return best if best is not None and shared(best) >= 0.5 else None


def _column(table: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((c for c in table["columns"] if c["name"] == name), None)


def _movements(table: dict[str, Any], past: list[dict[str, Any]], text: dict[str, str]) -> list[str]:
    rows = []
    if row := _moved(text["rows"], table.get("rows"), [p.get("rows") for p in past], text):
        rows.append(row)
    for column in table["columns"]:
        if column.get("sum") is None or column.get("identifier"):
            continue
        before = [c.get("sum") for p in past if (c := _column(p, column["name"]))]
        if row := _moved(clean(column["name"], 60), column["sum"], before, text):
            rows.append(row)
    return rows


def _moved(name: str, value: Any, past: list[Any], text: dict[str, str]) -> str:
    values = [float(v) for v in past if isinstance(v, int | float)]
    if not isinstance(value, int | float) or not values:
        return ""
    found = usual(float(value), values)
    if found is None:
        return ""
    row = text["moved"].format(name=name, old=_number(values[-1]), new=_number(value), change=value / values[-1] - 1)
    if isinstance(found, tuple):
        row += text["usual"].format(low=_number(found[0]), high=_number(found[1]))
    return row


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:,.2f}"


def _groups(table: dict[str, Any], past: list[dict[str, Any]], text: dict[str, str]) -> list[str]:
    """Values of text columns that appear or disappear, where all are known."""
    rows = []
    for column in table["columns"]:
        now = _values(column)
        before = [v for p in past if (c := _column(p, column["name"])) and (v := _values(c)) is not None]
        if now is None or not before:
            continue
        name = clean(column["name"], 60)
        known = set().union(*before)
        for key, names in (("new", now - known), ("gone", before[-1] - now)):
            # Columns whose values are all others each time are no groups.
            if names and len(names) * 2 <= len(now | before[-1]):
                listed = sorted(names)
                more = text["more"].format(count=len(listed) - _NAMES) if len(listed) > _NAMES else ""
                rows.append(text[key].format(column=name, names=", ".join(f"**{clean(n, 60)}**" for n in listed[:_NAMES]) + more))
    return rows


def _values(column: dict[str, Any]) -> set[str] | None:
    """A text column's values, where the profile holds them all."""
    top = column.get("top")
    if column.get("type") != "text" or not top or column.get("distinct") != len(top):
        return None
    return {str(t["value"]) for t in top}
