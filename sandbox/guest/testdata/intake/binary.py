"""The two ends of a run of the binary on every case: the files, and the judgement.

``make N``   writes every Nth case's file into /workspace/out, and cases.json
``judge N``  reads /workspace/answers.jsonl, one line a case: {"case", "status", "message", "profile"},
             and prints one JSON line for each: {"case", "wrong"}

Names go by cases.json: what a file is called may be no name for this file system.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import traceback
from typing import Any

import table
from harness import Case, differences
from report import unsaid

_OUT = "/workspace/out"


def main() -> None:
    """Do what the first argument says, with every nth case; n is the second."""
    cases = table.cases(datetime.datetime.now())[:: int(sys.argv[2])]
    {"make": make, "judge": judge}[sys.argv[1]](cases)


def make(cases: list[Case]) -> None:
    """Write the files."""
    os.makedirs(_OUT, exist_ok=True)
    listed = []
    for number, case in enumerate(cases):
        with open(os.path.join(_OUT, str(number)), "wb") as f:
            f.write(case.content)
        listed.append({"case": case.name, "file": case.file})
    with open(os.path.join(_OUT, "cases.json"), "w", encoding="utf-8") as f:
        json.dump(listed, f)


def judge(cases: list[Case]) -> None:
    """Hold the answers against the cases."""
    with open("/workspace/answers.jsonl", encoding="utf-8") as f:
        answers = {answer["case"]: answer for answer in map(json.loads, f)}
    for case in cases:
        try:
            found = wrong(case, answers[case.name])
        except Exception:
            found = [traceback.format_exc(limit=-4)]
        print(json.dumps({"case": case.name, "wrong": found}, ensure_ascii=False))


def wrong(case: Case, answer: dict[str, Any]) -> list[str]:
    """What is wrong with the binary's answer on one case's file."""
    status, message, profile = answer["status"], answer["message"], answer["profile"]
    if "refusal" in case.expect:
        if status != 1 or profile:
            return [f"exit status {status} with{'' if profile else 'out'} profile.json, where the file should be refused: {message!r}"]
        return differences([{"refusal": message}], case.expect)
    if status != 0 or not profile:
        return [f"exit status {status} with{'' if profile else 'out'} profile.json: {message!r}"]
    return differences(profile["files"], case.expect) + unsaid(message, profile["files"][0], case.expect)


if __name__ == "__main__":
    main()
