"""The input files of a runnable skill, read or refused in one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import Any

import pandas

from . import WORKSPACE, read, refuse, request
from .speech import Speech, of
from .words import clean


@dataclass(slots=True)
class Table:
    """One table of the inputs; ``name`` is the file's, with the sheet's where there are several."""

    name: str
    frame: pandas.DataFrame


@dataclass(slots=True)
class Job:
    """What a skill was asked: the request's text, its files as paths, its language."""

    text: str
    paths: list[str]
    speech: Speech
    options: argparse.Namespace

    def tables(self) -> list[Table]:
        """All tables of all files that have rows. Refuses the task when a file is no table."""
        found: list[Table] = []
        for path in self.paths:
            name = os.path.basename(path)
            try:
                content = read(path)
            except (ValueError, OSError) as error:
                refuse(f"{clean(name)}: {error}")
            parts = content if isinstance(content, dict) else {"": content}
            for sheet, frame in parts.items():
                frame = frame.dropna(how="all").dropna(how="all", axis=1)
                if len(frame) and len(frame.columns):
                    found.append(Table(f"{name}, {sheet}" if sheet and len(parts) > 1 else name, frame))
        if not found:
            refuse(
                self.speech.pick(
                    "There is no table with rows in what was sent.", "В присланном нет таблицы со строками."
                )
            )
        return found


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
    frame.attrs["notes"] = [note for t in same for note in t.frame.attrs.get("notes", [])]
    return frame, left
