"""Runs csv-report on cases' files, as a task would, and holds what it hands out against the cases.

Prints one JSON line for each: {"case", "wrong", "seconds"}.
"""

from __future__ import annotations

import datetime
import json
import os
import runpy
import shutil
import sys
import time
import traceback
from typing import Any

import matplotlib.pyplot
import table
from harness import Case, differences

_WORKSPACE = "/workspace"
_NOW = datetime.datetime(2025, 6, 1)
_FILES = ("profile.json", "report.md", "summary.xlsx")


def main() -> None:
    """Run every nth case; n is the first argument."""
    for case in table.cases(_NOW)[:: int(sys.argv[1])]:
        begun = time.perf_counter()
        try:
            wrong = outcome(case)
        except Exception:
            wrong = [traceback.format_exc(limit=-4)]
        matplotlib.pyplot.close("all")
        print(json.dumps({"case": case.name, "wrong": wrong, "seconds": round(time.perf_counter() - begun, 3)}, ensure_ascii=False))


def outcome(case: Case) -> list[str]:
    """What is wrong with the report on one case's file."""
    for folder in ("in", "out", ".sandpiper"):
        shutil.rmtree(os.path.join(_WORKSPACE, folder), ignore_errors=True)
        os.makedirs(os.path.join(_WORKSPACE, folder))
    with open(os.path.join(_WORKSPACE, "in", case.file), "wb") as f:
        f.write(case.content)
    asked = {"request": "profile this", "inputs": [case.file], "language": "en", "skill": "csv-report", "now": _NOW.isoformat() + "Z"}
    with open(os.path.join(_WORKSPACE, ".sandpiper", "request.json"), "w", encoding="utf-8") as f:
        json.dump(asked, f)
    code = 0
    try:
        runpy.run_path("/skills/csv-report/scripts/report.py", run_name="__main__")
    except SystemExit as stop:
        code = int(stop.code or 0)
    if "refusal" in case.expect:
        return refused(case, code)
    absent = [name for name in _FILES if not os.path.exists(os.path.join(_WORKSPACE, "out", name))]
    if code or absent:
        return [f"exit {code}, without {absent}"]
    with open(os.path.join(_WORKSPACE, "out", "profile.json"), encoding="utf-8") as f:
        entries = json.load(f)["files"]
    with open(os.path.join(_WORKSPACE, ".sandpiper", "answer.md"), encoding="utf-8") as f:
        answer = f.read()
    return differences(entries, case.expect) + unsaid(answer, entries[0], case.expect)


def refused(case: Case, code: int) -> list[str]:
    """What is wrong with a refusal."""
    path = os.path.join(_WORKSPACE, ".sandpiper", "refusal.json")
    if code != 1 or not os.path.exists(path):
        return [f"exit {code}, where the file should have been refused"]
    with open(path, encoding="utf-8") as f:
        return differences([{"refusal": json.load(f)["message"]}], case.expect)


def unsaid(answer: str, entry: dict[str, Any], expect: dict[str, Any]) -> list[str]:
    """Figures that the answer should have and has not: rows, and sums of the columns it lists."""
    listed = {column["name"] for column in entry["columns"][:20] if not column.get("identifier")}
    wanted = {f"{name}: {value}": spelt(value) for name, value in expect.get("sums", {}).items() if value is not None and name in listed}
    if "rows" in expect:
        wanted["rows"] = f"{expect['rows']:,}\u00a0row"
    return [f"the answer does not say {what} ({text})" for what, text in wanted.items() if text not in answer]


def spelt(value: float) -> str:
    """A sum as a report spells it."""
    text = f"{abs(value):,.0f}" if value == int(value) else f"{abs(value):,.2f}" if abs(value) >= 1 else f"{abs(value):.6f}".rstrip("0")
    return ("\u2212" if value < 0 else "") + text


if __name__ == "__main__":
    main()
