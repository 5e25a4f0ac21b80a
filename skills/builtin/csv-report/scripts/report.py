"""csv-report: what is in the input files, and what stands out in them."""

from __future__ import annotations

import datetime
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import analysis
import drawing
import page
import plan
import sandpiper
from sandpiper import profile, reader, speech
from sandpiper.refusal import Refusal
from sandpiper.source import from_path
from sandpiper.tables import Reading, Table
from sandpiper.words import clean

_IN, _OUT = "/workspace/in", "/workspace/out"
_MAX_SECTIONS = 12


def main() -> None:
    """Read every input, report on its tables, and name what could not be read."""
    asked = sandpiper.request()
    tongue = speech.of(asked.get("language") or "en")
    tables, refused, entries = _read(asked.get("inputs") or [], tongue.language, _moment(asked.get("now") or ""))
    if not tables:
        if not refused:
            sandpiper.refuse(tongue.pick("There is no file to report on: attach one.", "Нет файла для отчёта: приложите его."))
        sandpiper.refuse(" ".join(f"{name}: {why}" if len(refused) > 1 else why for name, why in refused))
    os.makedirs(_OUT, exist_ok=True)
    _write("profile.json", json.dumps({"files": entries}, ensure_ascii=False, indent=1))
    sections = _sections(tables, asked.get("request") or "", tongue)
    drawing.workbook(sections, os.path.join(_OUT, "summary.xlsx"), tongue)
    _write("report.md", page.report(sections, refused, tongue, asked.get("request") or ""))
    sandpiper.answer(page.answer(sections, refused, tongue))


def _read(inputs: list[str], language: str, now: datetime.datetime | None) -> tuple[list[tuple[str, Table]], list[tuple[str, str]], list[dict]]:
    tables: list[tuple[str, Table]] = []
    refused: list[tuple[str, str]] = []
    entries: list[dict] = []
    for name in inputs:
        shown = clean(os.path.basename(name), 120)
        try:
            found = reader.study(from_path(os.path.join(_IN, name), shown), now=now)
        except Refusal as refusal:
            refused.append((shown, refusal.text(language)))
            entries.append(profile.refused(shown, refusal))
            continue
        entries.extend(profile.of_file(shown, found))
        refused.extend((f"{shown}/{member}", why.text(language)) for member, why in found.refused)
        tables.extend(_titled(shown, found))
    return tables, refused, entries


def _titled(name: str, reading: Reading) -> list[tuple[str, Table]]:
    """A file's tables that have rows, each with its title, the main one first."""
    main = profile.main_table(reading.tables)
    ordered = [main] + [t for t in reading.tables if t is not main and t.rows]
    several = len(ordered) > 1
    titled = []
    for table in ordered:
        parts = [name, table.member, table.name if several else ""]
        titled.append((" / ".join(clean(part, 80) for part in parts if part), table))
    main.notes = [*reading.notes, *main.notes]
    return titled


def _sections(tables: list[tuple[str, Table]], request: str, tongue: speech.Speech) -> list[page.Section]:
    sections = []
    for at, (title, table) in enumerate(tables[:_MAX_SECTIONS]):
        what = plan.make(table, request)
        section = page.Section(title, table, what, analysis.Analysis())
        if table.rows and (what.measures or what.groups or what.date):
            section.analysis = analysis.analyse(table.frame(what.columns), what, tongue)
            if at < 4:
                drawing.draw(section, _OUT, "" if len(tables) == 1 else f"{at + 1}-", tongue)
        sections.append(section)
    return sections


def _moment(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


def _write(name: str, text: str) -> None:
    with open(os.path.join(_OUT, name), "w", encoding="utf-8", errors="replace") as f:
        f.write(text)


main()
