"""The intake profile: what every input is, before anybody works with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import reader
from .notes import Note, render
from .profile_text import text
from .refusal import Refusal
from .source import from_path
from .tables import Reading, Table
from .words import clean

__all__ = ["emit", "files", "of_table", "text"]

_INPUTS = "/workspace/in"
_EXCHANGE = "/workspace/.sandpiper"


def files(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
    """The profile of these files, in the shape of profile.json.

    Beside design's keys an entry has ``"remarks"``, the notes without any cell's
    text or value, and where the file is no table ``"refusal"``, one sentence for
    a person.
    """
    return {"files": [profile for path in paths for profile in _file(os.fspath(path))]}


def emit() -> dict[str, Any]:
    """Profile all inputs of the session and leave the result for the host.

    Writes profile.json and the pages of text profile.txt, profile-masked.txt
    and profile-none.txt into /workspace/.sandpiper.
    """
    names = sorted(os.listdir(_INPUTS)) if os.path.isdir(_INPUTS) else []
    profile = files(os.path.join(_INPUTS, name) for name in names)
    os.makedirs(_EXCHANGE, exist_ok=True)
    with open(os.path.join(_EXCHANGE, "profile.json"), "w", encoding="utf-8", errors="replace") as f:
        json.dump(profile, f, ensure_ascii=False, default=str)
    for values, name in (("full", "profile.txt"), ("masked", "profile-masked.txt"), ("none", "profile-none.txt")):
        with open(os.path.join(_EXCHANGE, name), "w", encoding="utf-8", errors="replace") as f:
            f.write(text(profile, values=values))
    return profile


def _file(path: str) -> list[dict[str, Any]]:
    name = clean(os.path.basename(path), 255)
    try:
        return of_file(name, reader.study(from_path(path, name)))
    except Refusal as refusal:
        return [refused(name, refusal)]


def refused(name: str, refusal: Refusal, language: str = "en") -> dict[str, Any]:
    """The entry of a file that could not be read as a table."""
    why = refusal.text(language)
    return {"name": name, "kind": "", "encoding": "", "header_row": 0, "rows": 0, "sheets": [], "columns": [], "notes": [why], "remarks": [why], "refusal": why}


def of_file(name: str, reading: Reading, language: str = "en") -> list[dict[str, Any]]:
    """The entries of one studied file: one, or one for each member of an archive."""
    members: dict[str, list[Table]] = {}
    for table in reading.tables:
        members.setdefault(table.member, []).append(table)
    entries = []
    for member, tables in members.items():
        shown = f"{name}/{member}" if member else name
        entries.append(_entry(shown, tables, reading, language))
    entries.extend(refused(f"{name}/{member}", refusal, language) for member, refusal in reading.refused)
    return entries


def main_table(tables: list[Table]) -> Table:
    """The table that a file is about: the first visible one with rows, text last; of several on a sheet the longest."""
    with_rows = [t for t in tables if t.rows and not t.hidden]
    data = [t for t in with_rows if t.name != "text"]
    candidates = data or with_rows or [t for t in tables if t.rows] or tables
    first = candidates[0]
    return first if first.shares is None else max((t for t in candidates if t.shares == first.shares), key=lambda t: t.rows)


def _entry(name: str, tables: list[Table], reading: Reading, language: str) -> dict[str, Any]:
    """One file's entry: its main table's figures, and the others under sheets."""
    main = main_table(tables)
    entry = of_table(name, main, language)
    notes = list(reading.notes)
    if len(tables) > 1:
        entry["sheets"] = [_sheet(t, language) for t in tables]
        names = ", ".join(f"“{clean(t.name, 40)}”" for t in tables[:8])
        notes.append(Note("other_sheets" if all(t.shares is None for t in tables) else "shared_sheet", args={"count": len(tables), "sheets": names, "main": f"“{clean(main.name, 40)}”"}))
    elif main.name:
        entry["sheets"] = [_sheet(main, language)]
    notes.extend(Note("hidden_sheet", args={"sheet": f"“{clean(t.name, 40)}”"}) for t in tables if t.hidden)
    if reading.empty:
        entry["sheets"].extend({"name": clean(n, 120), "hidden": False, "rows": 0, "header_row": 0, "columns": [], "notes": []} for n in reading.empty)
        notes.append(Note("empty_sheets", args={"sheets": ", ".join(f"“{clean(n, 40)}”" for n in reading.empty[:8])}))
    entry["notes"] = [render(n, language) for n in notes] + entry["notes"]
    entry["remarks"] = [render(n, language, values=False) for n in notes] + entry["remarks"]
    return entry


def _sheet(table: Table, language: str) -> dict[str, Any]:
    found = of_table(clean(table.name, 120), table, language)
    return {"hidden": table.hidden, **{key: found[key] for key in ("name", "rows", "header_row", "columns", "notes")}}


def of_table(name: str, table: Table, language: str = "en") -> dict[str, Any]:
    """One studied table as an entry of ``files``."""
    marks = [d.marks for d in table.decisions if d.marks is not None]
    groupings = sorted({m.grouping for m in marks if m.grouping})
    return {
        "name": name,
        "kind": table.kind,
        "encoding": table.encoding,
        "delimiter": table.delimiter,
        "decimal": "," if any(m.decimal == "," for m in marks) else ".",
        "thousands": groupings[0] if groupings else "",
        "header_row": table.header_row,
        "rows": table.rows,
        "sheets": [],
        "notes": [render(n, language) for n in table.all_notes()],
        "remarks": [render(n, language, values=False) for n in table.all_notes()],
        "columns": [table.column(i) for i in range(len(table.evidence))],
    }
