"""The table of intake cases, and how a profile is held against one.

Each case makes its file and says what is in it from how it was made: the
expectation is computed from the values before they were written, never from
what the reader says.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Value = int | Decimal | str | bool | dt.date | dt.datetime | None


@dataclass
class Case:
    """One file. ``expect`` has the keys that ``differences`` knows."""

    name: str  # of the case
    file: str  # of the file
    content: bytes
    expect: dict[str, Any]


@dataclass
class Column:
    """A column by its values, before anybody has written them down."""

    name: str
    values: Sequence[Value]
    type: str
    write: Callable[[Any], str] | None = None  # how a value is spelt, where the style does not say
    format: str = ""  # of dates, as strftime has it


@dataclass
class Style:
    """How a delimited file is written."""

    sep: str = ","
    encoding: str = "utf-8"
    iana: str = ""
    decimal: str = "."
    group: str = ""
    newline: str = "\n"
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    quote_all: bool = False
    missing: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def spell_number(value: int | Decimal, style: Style) -> str:
    kind = "" if isinstance(value, int) else "f"
    text = f"{abs(value):,{kind}}" if style.group else f"{abs(value):{kind}}"
    text = text.replace(",", "\0").replace(".", style.decimal).replace("\0", style.group)
    return ("-" if value < 0 else "") + text


def spell(value: Value, column: Column, style: Style) -> str:
    if value is None:
        return style.missing
    if column.write is not None:
        return column.write(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return spell_number(value, style)
    if isinstance(value, (dt.date, dt.datetime)):
        return value.strftime(column.format)
    return value


def cell(text: str, style: Style) -> str:
    if style.quote_all or style.sep in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def delimited(columns: Sequence[Column], style: Style) -> bytes:
    """The columns as a delimited file."""
    lines = list(style.before)
    lines.append(style.sep.join(cell(c.name, style) for c in columns))
    for row in zip(*(c.values for c in columns), strict=True):
        lines.append(style.sep.join(cell(spell(v, c, style), style) for v, c in zip(row, columns, strict=True)))
    lines.extend(style.after)
    return (style.newline.join(lines) + style.newline).encode(style.encoding)


def expected(columns: Sequence[Column], style: Style | None = None) -> dict[str, Any]:
    """What a right profile says of these columns."""
    result: dict[str, Any] = {
        "rows": len(columns[0].values),
        "columns": [c.name for c in columns],
        "types": {c.name: c.type for c in columns},
        "missing": {c.name: sum(v is None for v in c.values) for c in columns},
        "distinct": {c.name: len({v for v in c.values if v is not None}) for c in columns},
        "sums": {},
        "means": {},
        "spans": {},
        "dates": {},
        "tops": {},
    }
    for c in columns:
        present = [v for v in c.values if v is not None]
        if c.type in ("integer", "number") and present:
            result["sums"][c.name] = float(sum(present))
            result["means"][c.name] = float(sum(present)) / len(present)
            result["spans"][c.name] = (float(min(present)), float(max(present)))
        if c.type in ("date", "datetime") and present:
            result["dates"][c.name] = (min(present).isoformat(), max(present).isoformat())
        if c.type == "text" and present:
            result["tops"][c.name] = dict(Counter(present))
    if style is not None:
        result["kind"] = "tsv" if style.sep == "\t" else "csv"
        result["delimiter"] = style.sep
        result["encoding"] = style.iana or style.encoding
        result["header_row"] = 1 + len(style.before)
        result.update(style.extra)
    return result


def table_case(name: str, columns: Sequence[Column], style: Style, file: str = "", **more: Any) -> Case:
    """A case of a delimited file."""
    return Case(name, file or f"{name}.csv", delimited(columns, style), {**expected(columns, style), **more})


def differences(entries: list[dict[str, Any]], expect: dict[str, Any]) -> list[str]:
    """In what the profile of one file is not as expected; empty when it is."""
    if "refusal" in expect:
        return _refusal(entries, expect["refusal"])
    wrong: list[str] = []
    wanted = expect.get("entries")
    if wanted is not None:
        if len(entries) != len(wanted):
            return [f"{len(entries)} entries, not {len(wanted)}: {[e['name'] for e in entries]}"]
        for entry, one in zip(entries, wanted, strict=True):
            wrong += [f"{entry['name']}: {d}" for d in differences([entry], one)]
        return wrong
    entry = entries[0]
    if entry.get("refusal"):
        return [f"refused: {entry['refusal']}"]
    for key in ("kind", "delimiter", "encoding", "header_row", "rows", "decimal", "thousands", "name"):
        if key in expect and entry[key] != expect[key]:
            wrong.append(f"{key} {entry[key]!r}, not {expect[key]!r}")
    names = [c["name"] for c in entry["columns"]]
    if "columns" in expect and names != list(expect["columns"]):
        return [*wrong, f"columns {names}, not {list(expect['columns'])}"]
    by_name = {c["name"]: c for c in entry["columns"]}
    for key, check in _CHECKS.items():
        for name, value in expect.get(key, {}).items():
            said = check(by_name[name], value)
            if said:
                wrong.append(f"column {name!r}: {said}")
    wrong += _notes(entry, expect)
    for name, wanted_sheet in expect.get("sheets", {}).items():
        found = [s for s in entry["sheets"] if s["name"] == name]
        if not found:
            wrong.append(f"no sheet {name!r} among {[s['name'] for s in entry['sheets']]}")
        else:
            wrong += [f"sheet {name!r}: {key} {found[0][key]!r}, not {value!r}" for key, value in wanted_sheet.items() if found[0][key] != value]
    return wrong


def _refusal(entries: list[dict[str, Any]], pattern: str) -> list[str]:
    said = entries[0].get("refusal")
    if not said:
        return [f"not refused: {entries[0]['rows']} rows, columns {[c['name'] for c in entries[0]['columns']][:8]}"]
    if not re.search(pattern, said, re.IGNORECASE):
        return [f"refused with {said!r}, which does not say {pattern!r}"]
    if "Traceback" in said or said.count(". ") > 0:
        return [f"no one sentence: {said!r}"]
    return []


def _notes(entry: dict[str, Any], expect: dict[str, Any]) -> list[str]:
    notes = "\n".join(entry["notes"])
    wrong = [f"no note says {p!r}; there are {entry['notes']}" for p in expect.get("notes", []) if not re.search(p, notes, re.IGNORECASE)]
    return wrong + [f"a note says {p!r}: {entry['notes']}" for p in expect.get("no_notes", []) if re.search(p, notes, re.IGNORECASE)]


def _same(found: Any, wanted: float) -> bool:
    return isinstance(found, (int, float)) and math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)


def _check_equal(key: str) -> Callable[[dict[str, Any], Any], str]:
    return lambda column, wanted: "" if column.get(key) == wanted else f"{key} {column.get(key)!r}, not {wanted!r}"


def _check_number(key: str) -> Callable[[dict[str, Any], Any], str]:
    def check(column: dict[str, Any], wanted: Any) -> str:
        if wanted is None:
            return "" if column.get(key) is None else f"{key} {column[key]!r}, where none can be given"
        return "" if _same(column.get(key), wanted) else f"{key} {column.get(key)!r}, not {wanted!r}"

    return check


def _check_span(column: dict[str, Any], wanted: tuple[float, float]) -> str:
    ok = _same(column.get("min"), wanted[0]) and _same(column.get("max"), wanted[1])
    return "" if ok else f"from {column.get('min')!r} to {column.get('max')!r}, not {wanted}"


def _check_dates(column: dict[str, Any], wanted: tuple[str, str] | None) -> str:
    found = (column.get("first"), column.get("last"))
    if wanted is None:
        return "" if found == (None, None) else f"dates {found}, where none can be given"
    return "" if found == tuple(wanted) else f"dates {found}, not {wanted}"


def _check_top(column: dict[str, Any], wanted: dict[str, int]) -> str:
    top = column.get("top", [])
    wrong = [t for t in top if wanted.get(t["value"]) != t["count"]]
    if wrong or len(top) != min(len(wanted), 10):
        return f"top {top}, not of {wanted}"
    return ""


_CHECKS: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "types": _check_equal("type"),
    "missing": _check_equal("missing"),
    "distinct": _check_equal("distinct"),
    "formats": _check_equal("date_format"),
    "units": _check_equal("unit"),
    "sums": _check_number("sum"),
    "means": _check_number("mean"),
    "spans": _check_span,
    "dates": _check_dates,
    "tops": _check_top,
}
