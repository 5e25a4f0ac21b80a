"""Profiles every case and prints one JSON line for each: {"case", "wrong", "seconds"}."""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
import tempfile
import time
import traceback

import table
from harness import Case, differences
from sandpiper import profile, reader
from sandpiper.refusal import Refusal
from sandpiper.source import from_bytes, from_path

_NOW = datetime.datetime(2025, 6, 1)


def main() -> None:
    """Run all cases, or those whose names hold an argument."""
    for case in table.cases(_NOW):
        if len(sys.argv) < 2 or any(word in case.name for word in sys.argv[1:]):
            report(case)


def report(case: Case) -> None:
    """Profile one case's file and print what is wrong with the profile."""
    begun = time.perf_counter()
    try:
        wrong = differences(profiled(case), case.expect) + in_russian(case)
    except Exception:
        wrong = [traceback.format_exc(limit=-4)]
    print(json.dumps({"case": case.name, "wrong": wrong, "seconds": round(time.perf_counter() - begun, 3)}, ensure_ascii=False))


def in_russian(case: Case) -> list[str]:
    """What is wrong with the notes in Russian, where a case says how they go."""
    if "notes_ru" not in case.expect:
        return []
    source = from_bytes(case.file, case.content)
    notes = "\n".join(profile.of_file(case.file, reader.study(source, now=_NOW), "ru")[0]["notes"])
    return [f"no note says {p!r}; there are {notes!r}" for p in case.expect["notes_ru"] if not re.search(p, notes)]


def profiled(case: Case) -> list[dict]:
    """The entries of the case's file, by way of JSON as the host gets them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, case.file)
        with open(path, "wb") as f:
            f.write(case.content)
        try:
            source = from_path(path)
            entries = profile.of_file(source.name, reader.study(source, now=_NOW))
        except Refusal as refusal:
            entries = [profile.refused(case.file, refusal)]
    page = profile.text({"files": entries})
    if len(page) > 12_000:
        raise AssertionError(f"the page has {len(page)} characters")
    return json.loads(json.dumps(entries))


if __name__ == "__main__":
    main()
