"""The input files of a runnable skill, read or refused in one sentence."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from typing import Any

import pandas

from . import WORKSPACE, read, reader, refuse, request
from .speech import Speech, of
from .words import clean


@dataclass(slots=True)
class Table:
    """One table of the inputs; ``name`` is the file's, with the sheet's where there are several."""

    name: str
    frame: pandas.DataFrame
    texts: pandas.DataFrame | None = None  # the same cells as they are written, where that was asked for


@dataclass(slots=True)
class Job:
    """What a skill was asked: the request's text, its files as paths, its language."""

    text: str
    paths: list[str]
    speech: Speech
    options: argparse.Namespace

    def tables(self, *, spelt: bool = False) -> list[Table]:
        """All tables of all files that have rows. Refuses the task when a file is no table.

        With ``spelt`` each has its cells as they are written too, and nothing in them is reread.
        """
        found: list[Table] = []
        for path in self.paths:
            name = os.path.basename(path)
            try:
                parts = reader.spelt(path) if spelt else _read(path)
            except (ValueError, OSError) as error:
                refuse(f"{clean(name)}: {error}")
            for sheet, (frame, texts) in parts.items():
                notes, units = frame.attrs.get("notes", []), frame.attrs.get("units", {})
                frame = frame.dropna(how="all").dropna(how="all", axis=1)
                frame, limited = (frame, []) if spelt else _limits(frame, self.speech)
                frame.attrs |= {"notes": [*notes, *limited], "units": units}
                if len(frame) and len(frame.columns):
                    shown = f"{name}, {sheet}" if sheet and len(parts) > 1 else name
                    found.append(Table(shown, frame, None if texts is None else texts.loc[frame.index, frame.columns]))
        if not found:
            refuse(
                self.speech.pick(
                    "There is no table with rows in what was sent.", "В присланном нет таблицы со строками."
                )
            )
        return found


def _read(path: str) -> dict[str, tuple[pandas.DataFrame, None]]:
    content = read(path)
    return {name: (frame, None) for name, frame in (content if isinstance(content, dict) else {"": content}).items()}


_LIMIT = re.compile(r"[<>≤≥]\s*[\d.,]+")
_MEASURED = re.compile(r"[-+−]?\d+(?:[.,]\d+)?")


def _limits(frame: pandas.DataFrame, speech: Speech) -> tuple[pandas.DataFrame, list[str]]:
    """Columns of measured values in which a few only say "<0.5" as numbers, and a note on each.

    The reader keeps such a column as text, for "<0.5" is no number. What is
    computed of it leaves those cells out, and says so.
    """
    notes = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype != object:
            continue
        texts = column.dropna().map(lambda v: v.strip() if isinstance(v, str) else "")
        limited = texts.map(lambda t: bool(_LIMIT.fullmatch(t)))
        plain = texts.map(lambda t: bool(_MEASURED.fullmatch(t)))
        if not limited.any() or not (limited | plain).all() or plain.mean() < 0.7:
            continue
        if texts.str.contains(",").any() and texts.str.contains(".", regex=False).any():
            continue
        values = pandas.to_numeric(texts[plain].str.replace(",", ".").str.replace("−", "-"))
        frame = frame.assign(**{name: values.reindex(frame.index)})
        shown, cells = clean(texts[limited].iloc[0], 20), int(limited.sum())
        notes.append(
            speech.pick(
                f'column "{clean(str(name))}": {speech.count(cells, "cell", "cells")} such as {shown} only {"gives" if cells == 1 else "give"} a limit, and {"is" if cells == 1 else "are"} left out',
                f"столбец «{clean(str(name))}»: ячейки вида {shown} ({cells}) задают лишь предел и не вошли",
            )
        )
    if notes:
        frame.attrs["notes"] = [n for n in frame.attrs.get("notes", [])]
    return frame, notes


def job(description: str, **arguments: str) -> Job:
    """The work at hand: from the command line when there is one, else from the request.

    ``arguments`` are options of the skill's own: name to help text.
    """
    asked = request()
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("files", nargs="*", help="files; without them the request's inputs")
    parser.add_argument("--request", default=asked.get("request", ""), help="what is wanted, in words")
    parser.add_argument("--language", default=asked.get("language", "en"), choices=("en", "ru"))
    for name, text in arguments.items():
        parser.add_argument("--" + name.replace("_", "-"), dest=name, default="", help=text)
    by_hand = sys.argv[0].endswith(".py") and sys.argv[0].startswith("/skills/")
    options = parser.parse_args(sys.argv[1:] if by_hand else [])
    paths = options.files or [os.path.join(WORKSPACE, "in", name) for name in asked.get("inputs", [])]
    return Job(options.request, paths, of(options.language), options)


def merged(tables: list[Table]) -> tuple[pandas.DataFrame, list[Any]]:
    """Tables with the same columns as one, and those that are left over."""
    first = tables[0].frame
    same = [t for t in tables if list(t.frame.columns) == list(first.columns)]
    left = [t for t in tables if list(t.frame.columns) != list(first.columns)]
    frame = pandas.concat([t.frame for t in same], ignore_index=True) if len(same) > 1 else first
    frame.attrs["units"] = {name: unit for t in same for name, unit in t.frame.attrs.get("units", {}).items()}
    frame.attrs["notes"] = [note for t in same for note in t.frame.attrs.get("notes", [])]
    return frame, left


def concerning(frame: pandas.DataFrame, used: set[str], most: int = 6) -> list[str]:
    """The reader's notes on a file as a whole, and those on columns that are used."""
    found = []
    for note in map(str, frame.attrs.get("notes", [])):
        about = re.match(r'(?:column|столбец) ["«](.+?)["»]:', note)
        if about is None or about[1] in used:
            found.append(note)
    return found[:most]
