"""The intake profile: what every input is, before anybody works with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import reader
from .notes import render
from .profile_text import text
from .refusal import Refusal
from .source import from_path
from .tables import Table
from .words import clean

__all__ = ["emit", "files", "of_table", "text"]

_INPUTS = "/workspace/in"
_EXCHANGE = "/workspace/.sandpiper"


def files(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
    """The profile of these files, in the shape of profile.json.

    A file that is no table has ``"refusal"``: one sentence for a person.
    """
    return {"files": [profile for path in paths for profile in _file(os.fspath(path))]}


def emit(language: str = "en") -> dict[str, Any]:
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
        found = reader.tables(from_path(path))
        for table in found:
            table.study()
    except Refusal as refusal:
        return [refused(name, refusal)]
    return of_file(name, found)


def refused(name: str, refusal: Refusal) -> dict[str, Any]:
    """The entry of a file that could not be read as a table."""
    return {"name": name, "kind": "", "encoding": "", "rows": 0, "sheets": [], "columns": [], "notes": [str(refusal)], "refusal": str(refusal)}


def of_file(name: str, tables: list[Table], language: str = "en") -> list[dict[str, Any]]:
    """The entries of one file's studied tables."""
    return [of_table(name, table, language) for table in tables]


def of_table(name: str, table: Table, language: str = "en") -> dict[str, Any]:
    """One studied table as an entry of ``files``."""
    marks = [d.marks for d in table.decisions if d.marks is not None]
    groupings = sorted({m.grouping for m in marks if m.grouping})
    notes = [*table.notes, *(note for d in table.decisions for note in d.notes)]
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
        "notes": [render(n, language) for n in notes],
        "columns": [table.column(i) for i in range(len(table.evidence))],
    }
