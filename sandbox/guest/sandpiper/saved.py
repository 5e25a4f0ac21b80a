"""What a saved report runs on: new data, the old programs, the old words.

A saved report is a skill whose script is the program log of a finished task.
``begin`` finds which of today's files stands for which of the old ones and
checks that its columns are still those the programs were written for;
``program`` starts the next program; ``finish`` takes the figures that the
answer quoted out of today's outputs and puts them into the answer's words.

Nothing is guessed: a file, a column or a figure that is no longer there ends
the run with a sentence that says so, and drift.json for whoever mends it.
"""

from __future__ import annotations

import difflib
import io
import json
import math
import os
import re
import subprocess
import sys
from typing import Any, NoReturn, TextIO

from . import _EXCHANGE, WORKSPACE, answer, profile, refuse, request
from .compared import groups
from .saved_changes import changes

_NUMBER = re.compile(r"[-+\u2212]?\d+(?:[.,\u00a0\u202f' ]\d{3})*(?:[.,]\d+)?(?:[eE][-+]?\d+)?")

_TEXTS = {
    "en": {
        "missing": "The report “{name}” needs a file like {old}, and none was given.",
        "drift": "The data for the report “{name}” has changed its shape: {what}. Nothing was reported, so that no wrong figure is.",
        "gone": "column “{column}” is no longer there",
        "renamed": "column “{column}” is no longer there; “{new}” may be its new name",
        "type": "column “{column}” was {old} and is {new}",
        "figure": "the figure after “{label}” was not printed this time",
        "lines": "program {program} printed {new} lines instead of {old}, so its figures cannot be told apart",
        "word": "the report's words say “{old}” where it is “{new}” now",
        "failed": "The report “{name}” failed in its program {program}: {why}",
    },
    "ru": {
        "missing": "Отчёту «{name}» нужен файл вроде {old}, а его нет.",
        "drift": "Данные для отчёта «{name}» изменили вид: {what}. Отчёт не составлен, чтобы в нём не было неверных чисел.",
        "gone": "столбца «{column}» больше нет",
        "renamed": "столбца «{column}» больше нет; возможно, теперь он называется «{new}»",
        "type": "столбец «{column}» был {old}, а стал {new}",
        "figure": "число после «{label}» в этот раз не напечатано",
        "lines": "программа {program} напечатала строк: {new} вместо {old}, и её числа не различить",
        "word": "в тексте отчёта сказано «{old}», а теперь это «{new}»",
        "failed": "Отчёт «{name}» прервался в программе {program}: {why}",
    },
}


class _Tee(io.TextIOBase):
    """Keeps what a program prints, and passes it on."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return self.out.write(text)

    def flush(self) -> None:
        self.out.flush()


class Report:
    """One run of a saved report."""

    def __init__(self, script: str) -> None:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(script)))
        with open(os.path.join(folder, "assets", "report.json"), encoding="utf-8") as f:
            self.made: dict[str, Any] = json.load(f)
        with open(os.path.join(folder, "assets", "answer.md"), encoding="utf-8") as f:
            self.words = f.read()
        self.today = request()
        self.text = _TEXTS.get(self.today.get("language", "en"), _TEXTS["en"])
        self.outputs: dict[int, str] = {}
        self.current: tuple[int, _Tee] | None = None
        self.stdout = sys.stdout
        self._inputs()

    def drifted(self, what: list[str]) -> NoReturn:
        """Say what changed, for people in words and for the agent as JSON."""
        os.makedirs(_EXCHANGE, exist_ok=True)
        with open(os.path.join(_EXCHANGE, "drift.json"), "w", encoding="utf-8") as f:
            json.dump({"report": self.made["name"], "changes": what}, f, ensure_ascii=False)
        refuse(self.text["drift"].format(name=self.made["name"], what="; ".join(what)))

    def _inputs(self) -> None:
        """Let each old file name lead to today's file that stands for it."""
        folder = os.path.join(WORKSPACE, "in")
        given = {name: profile.files([os.path.join(folder, name)])["files"] for name in self.today["inputs"]}
        what: list[str] = []
        attached = [name for name in self.today.get("attached", []) if name in given]
        taken = assign(self.made["inputs"], {name: given[name] for name in attached})
        rest = [old for old in self.made["inputs"] if old["name"] not in taken]
        taken |= assign(rest, {name: tables for name, tables in given.items() if name not in taken.values()})
        for old in self.made["inputs"]:
            if old["name"] not in taken:
                refuse(self.text["missing"].format(name=self.made["name"], old=old["name"]))
            what += self._compare(old["tables"], given[taken[old["name"]]])
        self.files = list(taken.values())
        _link(folder, taken)
        if what:
            self.drifted(what)

    def _compare(self, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[str]:
        what = []
        for i, table in enumerate(old):
            columns = {c["name"]: c["type"] for c in (new[i]["columns"] if i < len(new) else [])}
            before = {c["name"] for c in table["columns"]}
            for column in table["columns"]:
                name, kind = column["name"], columns.get(column["name"])
                if kind is None:
                    near = difflib.get_close_matches(name, [c for c in columns if c not in before], n=1, cutoff=0.4)
                    what.append(self.text["renamed"].format(column=name, new=near[0]) if near else self.text["gone"].format(column=name))
                elif not _compatible(column["type"], kind):
                    what.append(self.text["type"].format(column=name, old=column["type"], new=kind))
        return what

    def program(self, number: int) -> None:
        """Start program ``number``: what is printed from here on is its output."""
        self._close()
        self.current = (number, _Tee(self.stdout))
        sys.stdout = self.current[1]  # type: ignore[assignment]

    def run(self, language: str, code: str) -> None:
        """Run a program that is no Python, as the agent's tool did."""
        command = {"bash": ["bash"], "javascript": ["node"], "sql": ["sqlite3", ":memory:"]}[language]
        done = subprocess.run(command, input=code, text=True, capture_output=True, cwd=WORKSPACE, errors="replace", check=False)
        print(done.stdout, end="")
        if done.returncode != 0:
            number = self.current[0] if self.current else 0
            refuse(self.text["failed"].format(name=self.made["name"], program=number, why=done.stderr.strip()[-300:]))

    def _close(self) -> None:
        if self.current:
            self.outputs[self.current[0]] = "".join(self.current[1].parts)
        sys.stdout = self.stdout
        self.current = None

    def finish(self) -> None:
        """Write the answer with today's figures, opened by what changed."""
        self._close()
        values: dict[str, str] = {}
        what: list[str] = []
        # Words first: the labels of numbers may name them.
        for figure in sorted(self.made["figures"], key=lambda f: f["kind"] == "number"):
            label = re.sub(r"\{\{(f\d+)\}\}", lambda m: values.get(m[1], m[0]), figure["label"])
            found = self._find({**figure, "label": label}, what)
            if figure["kind"] == "guard":
                if found is not None and found != figure["text"]:
                    what.append(self.text["word"].format(old=figure["text"], new=found))
            elif found is not None:
                values[figure["id"]] = write(found, figure)
        if what:
            self.drifted(list(dict.fromkeys(what)))
        text = re.sub(r"\{\{(f\d+)\}\}", lambda m: values[m[1]], self.words)
        earlier = self.today.get("earlier") or ([self.today["previous"]] if self.today.get("previous") else [])
        opening = changes(
            self.words, self.made["figures"], values, [e.get("answer", "") for e in earlier], self.today.get("language", "en"), groups(self.today)
        )
        answer(f"{opening}\n\n{text}" if opening else text, compared=True)

    def _find(self, figure: dict[str, Any], what: list[str]) -> float | str | None:
        """Today's value of a figure, or None and the reason in ``what``."""
        lines = self.outputs.get(figure["program"], "").split("\n")
        label, nth = figure["label"], figure["nth"]
        if label:
            same = [line for line in lines if label_of(line) == label]
            if len(same) == 1:
                values = tokens(same[0], figure["kind"])
                if nth < len(values):
                    return values[nth]
            what.append(self.text["figure"].format(label=label))
            return None
        if len(lines) != figure["lines"]:
            what.append(self.text["lines"].format(program=figure["program"], new=len(lines), old=figure["lines"]))
            return None
        values = tokens(lines[figure["line"]], figure["kind"])
        if nth < len(values):
            return values[nth]
        what.append(self.text["figure"].format(label=lines[figure["line"]][:40]))
        return None


def begin(script: str) -> Report:
    """Start the report whose script this is."""
    return Report(script)


def again(script: str, program: str) -> None:
    """Run another skill's program on today's files with the request that was saved."""
    import runpy

    report = Report(script)
    asked = {**report.today, "request": report.made["request"], "skill": report.made["name"]}
    if report.files:
        asked["inputs"] = report.files
    with open(os.path.join(_EXCHANGE, "request.json"), "w", encoding="utf-8") as f:
        json.dump(asked, f, ensure_ascii=False)
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(script))), program)
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    runpy.run_path(path, run_name="__main__")


def assign(olds: list[dict[str, Any]], given: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """Which given file stands for which old one: the same name, then the likest columns."""
    pairs = sorted(
        ((name != old["name"], _distance(old["tables"], tables), i, j) for i, old in enumerate(olds) for j, (name, tables) in enumerate(given.items()))
    )
    names = list(given)
    taken: dict[str, str] = {}
    for _, _, i, j in pairs:
        if olds[i]["name"] not in taken and names[j] not in taken.values():
            taken[olds[i]["name"]] = names[j]
    return taken


def _link(folder: str, taken: dict[str, str]) -> None:
    """Let each old name lead to the file that stands for it; another file of that name steps aside."""
    for old in [old for old, new in taken.items() if new != old and os.path.lexists(os.path.join(folder, old))]:
        os.rename(os.path.join(folder, old), os.path.join(folder, f".aside-{old}"))
        taken.update({name: f".aside-{old}" for name, file in taken.items() if file == old})
    for old, new in taken.items():
        if new != old:
            os.symlink(new, os.path.join(folder, old))


def tokens(line: str, kind: str) -> list[Any]:
    """The numbers of a line, or its words."""
    if kind in ("word", "guard"):
        return [w for w in re.split(r"[\s,;:|()\[\]]+", line) if w and not re.fullmatch(r"[-+.\d%$€£]+", w)]
    return [number(m[0]) for m in _NUMBER.finditer(line)]


def label_of(line: str) -> str:
    """What stands before the first number of a line: how it is found again."""
    m = _NUMBER.search(line)
    return re.sub(r"[\s:=|,.]+$", "", line[: m.start()] if m else line).strip()


def number(text: str) -> float:
    """A number as programs print it: a point for decimals, marks for thousands."""
    text = text.replace("\u2212", "-").replace("\u00a0", "").replace("\u202f", "").replace("'", "").replace(" ", "")
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", text):
        text = text.replace(",", "")
    return float(text.replace(",", "."))


def write(value: float | str, figure: dict[str, Any]) -> str:
    """Write a value as the answer wrote the old one: decimals, marks, scale."""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "n/a"
    text = f"{value * figure['factor']:,.{figure['decimals']}f}"
    whole, _, rest = text.partition(".")
    whole = whole.replace(",", figure["thousands"])
    return whole + (figure["decimal"] + rest if rest else "")


def _distance(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> float:
    """How unlike two files' columns are: 0 is the same, 1 has none in common."""
    a = {c["name"] for t in old for c in t["columns"]}
    b = {c["name"] for t in new for c in t["columns"]}
    return 1 - len(a & b) / max(len(a | b), 1)


def _compatible(old: str, new: str) -> bool:
    numbers, times = {"integer", "number"}, {"date", "datetime"}
    return old == new or {old, new} <= numbers or {old, new} <= times or old == "text"
