"""An algorithm tried on given and generated cases, with timing and a plot."""

from __future__ import annotations

import contextlib
import copy
import csv
import doctest
import inspect
import io
import json
import math
import os
import random
import re
import signal
import sys
import time
import types
import typing
from dataclasses import dataclass, field

import pandas

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import growth  # noqa: E402 - it lies beside this program, as the next does
import made_values  # noqa: E402
from sandpiper import answer, charts, refuse
from sandpiper.inputs import Job, job
from sandpiper.markdown import code, escape, table
from sandpiper.speech import Speech
from sandpiper.words import clean

OUT = "/workspace/out"
REFERENCE = ("reference", "brute", "brute_force", "naive", "expected", "slow", "simple")
ROLES = (*REFERENCE, "generate", "valid", "main")
CASE_SECONDS, TIMING_SECONDS = 5, 20
SMALL = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12)


class TooSlow(Exception):
    """One call took longer than it may."""


@dataclass
class Case:
    arguments: tuple
    expected: object
    got: object = None
    wrong: str = ""
    origin: str = ""


@dataclass
class Subject:
    """The functions found in a file."""

    name: str
    check: typing.Callable
    reference: typing.Callable | None
    generate: typing.Callable | None
    valid: typing.Callable | None
    module: types.ModuleType


@dataclass
class Findings:
    cases: list[Case] = field(default_factory=list)
    examples: tuple[int, int] = (0, 0)  # tried, failed
    smallest: Case | None = None
    times: list[growth.Timed] = field(default_factory=list)
    reference_times: list[growth.Timed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Case]:
        return [c for c in self.cases if c.wrong]


def main() -> None:
    work = job(
        __doc__ or "", function="the function to check", count="how many cases to generate (200)", seed="of the random numbers (1)"
    )
    say = work.speech
    sources = [p for p in work.paths if p.endswith(".py")]
    if len(sources) != 1:
        refuse(
            say.pick(
                "Send one Python file (.py) with the function to check.", "Пришлите один файл Python (.py) с проверяемой функцией."
            )
        )
    sys.setrecursionlimit(10_000)
    subject = _load(sources[0], work)
    found = Findings()
    given = _given([p for p in work.paths if p not in sources], say)
    for case in given:
        found.cases.append(_try(subject, case))
    found.examples = _examples(subject)
    dice = random.Random(int(work.options.seed or 1))
    if subject.reference or subject.valid:
        _generated(subject, found, dice, int(work.options.count or 200), say)
    elif not given and not found.examples[0]:
        found.notes.append(
            say.pick(
                "There is no reference, no given case and no example: only the time could be measured.",
                "Нет эталона, примеров и случаев: измерено только время.",
            )
        )
    _timing(subject, found, dice, say)
    if not found.times and not found.cases and not found.examples[0]:
        refuse(
            say.pick(
                "Nothing could be checked: give type hints or generate(n, random) for the timing, and cases (JSON or CSV), docstring examples or a reference function for the results.",
                "Проверить нечего: для времени нужны аннотации типов или generate(n, random), для результатов — случаи (JSON или CSV), примеры в docstring или функция-эталон.",
            )
        )
    _write(subject, found, say)


def _load(path: str, work: Job) -> Subject:
    say, module = work.speech, types.ModuleType("solution")
    module.__dict__["__name__"] = "solution"  # so that a __main__ part does not run
    try:
        with open(path, encoding="utf-8-sig") as f:
            source = f.read()
        with _limit(20), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, os.path.basename(path), "exec"), module.__dict__)  # noqa: S102 - this is the sandbox
    except BaseException as error:  # noqa: BLE001 - whatever the file does is told, not raised
        refuse(
            say.pick(
                f"The file does not load: {type(error).__name__}: {clean(str(error), 200)}",
                f"Файл не загружается: {type(error).__name__}: {clean(str(error), 200)}",
            )
        )
    own = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == "solution" and not n.startswith("_")}
    wanted = work.options.function or next((n for n in own if re.search(rf"\b{re.escape(n)}\b", work.text) and n not in ROLES), "")
    public = [n for n in own if n not in ROLES and not n.endswith(("_reference", "_naive", "_brute"))]
    name = wanted or (public[0] if public else "")
    if name not in own:
        refuse(say.pick("There is no function to check in the file.", "В файле нет функции для проверки."))
    other = next((own[n] for n in (*(f"{name}_{r}" for r in REFERENCE), *REFERENCE) if n in own and n != name), None)
    if other is None and len(public) == 2:
        other = own[next(n for n in public if n != name)]
    return Subject(name, own[name], other, own.get("generate"), own.get("valid"), module)


@contextlib.contextmanager
def _limit(seconds: float):
    """Raise TooSlow in the block when it takes longer."""

    def ring(_signal, _frame):
        raise TooSlow(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _call(function: typing.Callable, arguments: tuple, seconds: float = CASE_SECONDS) -> tuple[object, str]:
    """The result, or why there is none."""
    try:
        with _limit(seconds), contextlib.redirect_stdout(io.StringIO()):
            result = function(*copy.deepcopy(arguments))
            return (list(result) if inspect.isgenerator(result) else result), ""
    except Exception as error:  # noqa: BLE001 - any failure of the code is a finding
        return None, f"{type(error).__name__}: {clean(str(error), 160)}"


def _try(subject: Subject, case: Case) -> Case:
    case.got, case.wrong = _call(subject.check, case.arguments)
    if not case.wrong and subject.valid is not None:
        fine, why = _call(subject.valid, (case.arguments, case.got))
        case.wrong = why or ("" if fine else "not valid")
    elif not case.wrong and not _equal(case.got, case.expected):
        case.wrong = "differs"
    return case


def _equal(a: object, b: object) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and not isinstance(b, bool):
        return (
            a == b
            or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
            or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))
        )
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b))
    return a == b


def _given(paths: list[str], say: Speech) -> list[Case]:
    cases = []
    for path in paths:
        name = clean(os.path.basename(path))
        try:
            with open(path, encoding="utf-8-sig", newline="") as f:
                if path.endswith(".json"):
                    records = json.load(f)
                    cases += [
                        Case(tuple(r["args"]) if isinstance(r.get("args"), list) else (r["args"],), r["expected"], origin=name)
                        for r in records
                    ]
                else:
                    rows = [r for r in csv.reader(f) if r]
                    cases += [Case(tuple(map(_literal, r[:-1])), _literal(r[-1]), origin=name) for r in rows[1:]]
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            refuse(
                say.pick(
                    f'{name} holds no cases: want a JSON list of {{"args": […], "expected": …}} or a CSV whose last column is expected ({clean(str(error), 100)}).',
                    f'{name}: нужны случаи в JSON [{{"args": […], "expected": …}}] или CSV с ожидаемым в последнем столбце ({clean(str(error), 100)}).',
                )
            )
    return cases


def _literal(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _examples(subject: Subject) -> tuple[int, int]:
    """Docstring examples: how many were tried, how many failed."""
    tried = failed = 0
    for test in doctest.DocTestFinder(recurse=False).find(subject.check, subject.name, module=False, globs=dict(vars(subject.module))):
        with contextlib.suppress(TooSlow), _limit(CASE_SECONDS):
            result = doctest.DocTestRunner(verbose=False).run(test, out=lambda _text: None)
            tried, failed = tried + result.attempted, failed + result.failed
    return tried, failed


def _make(subject: Subject, size: int, dice: random.Random) -> tuple | None:
    """The arguments of one case; None when nothing says how to make them."""
    if subject.generate is not None:
        made, why = _call(subject.generate, (size, dice))
        return None if why else made if isinstance(made, tuple) else (made,)
    try:
        hints = typing.get_type_hints(subject.check)
    except (NameError, TypeError):
        hints = subject.check.__annotations__
    names = [
        p.name
        for p in inspect.signature(subject.check).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    made = [made_values.value(hints.get(n), size, dice) for n in names]
    return tuple(made) if made and all(m is not None for m in made) else None


def _generated(subject: Subject, found: Findings, dice: random.Random, count: int, say: Speech) -> None:
    until = time.monotonic() + TIMING_SECONDS
    for n in range(count):
        arguments = _make(subject, SMALL[n % len(SMALL)] if n < 120 else dice.randint(5, 40), dice)
        if arguments is None:
            found.notes.append(
                say.pick(
                    "Cases could not be generated: give type hints or a function generate(n, random).",
                    "Случаи не созданы: нужны аннотации типов или generate(n, random).",
                )
            )
            return
        case = _against(subject, arguments)
        if case is not None:
            found.cases.append(case)
        if time.monotonic() > until or len(found.failed) >= 20:
            break
    generated = [c for c in found.failed if c.origin == "generated"]
    if generated:
        found.smallest = _smaller(subject, min(generated, key=lambda c: len(repr(c.arguments))))


def _against(subject: Subject, arguments: tuple) -> Case | None:
    """One case with the reference's answer; None when the reference itself fails."""
    expected = None
    if subject.reference is not None:
        expected, why = _call(subject.reference, arguments)
        if why:
            return None
    return _try(subject, Case(arguments, expected, origin="generated"))


def _smaller(subject: Subject, case: Case) -> Case:
    """The smallest failing case that cutting finds within a few hundred tries."""
    best, tries = case, 0
    moved = True
    while moved and tries < 400:
        moved = False
        for at, argument in enumerate(best.arguments):
            for cut in made_values.cuts(argument):
                tries += 1
                arguments = (*best.arguments[:at], cut, *best.arguments[at + 1 :])
                again = _against(subject, arguments)
                if again is not None and again.wrong:
                    best, moved = again, True
                    break
            if moved:
                break
    return best


def _timing(subject: Subject, found: Findings, dice: random.Random, say: Speech) -> None:
    """Times at doubling sizes; where that ends early, at sizes between."""
    clock = Clock()
    active = {"check": True, "reference": subject.reference is not None}
    last = 8
    for power in range(4, 21):
        if not active["check"] or clock.over():
            break
        last = 2**power
        _at_size(subject, found, active, last, dice)
    if 0 < len(found.times) < 7 and not clock.over():  # it grows so fast that doubling has skipped over it
        done = {t.size for t in found.times}
        active = {"check": True, "reference": False}
        low = max(done)
        for size in sorted({round(low + (last - low) * part / 8) for part in range(1, 8)} | {max(low - step, 1) for step in (2, 4, 6)}):
            if size not in done and active["check"] and not clock.over():
                _at_size(subject, found, active, size, dice)
        found.times.sort(key=lambda t: t.size)
    if not found.times:
        found.notes.append(
            say.pick(
                "Time was not measured: the arguments of a large case are not known.",
                "Время не измерено: неизвестно, как создать большой случай.",
            )
        )


class Clock:
    """The time that measuring may take, of the processor and by the wall."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time() + growth.CPU_SECONDS, time.monotonic() + growth.WALL_SECONDS

    def over(self) -> bool:
        return time.process_time() > self.cpu or time.monotonic() > self.wall


def _at_size(subject: Subject, found: Findings, active: dict[str, bool], size: int, dice: random.Random) -> None:
    """Time what is still active at one size, and end what takes too long."""
    arguments = _make(subject, size, dice)
    if arguments is None:
        active["check"] = False
        return
    for role, function, into in (("check", subject.check, found.times), ("reference", subject.reference, found.reference_times)):
        if active[role] and function is not None:
            took = growth.measure(function, arguments, _limit, size, 3 * CASE_SECONDS)
            active[role] = took is not None and took.seconds < growth.LONG
            if took is not None:
                into.append(took)


def _seconds(t: float, say: Speech) -> str:
    return (
        f"{say.number(t * 1e6, 0)}\u00a0{say.pick('µs', 'мкс')}"
        if t < 1e-3
        else f"{say.number(t * 1e3, 1)}\u00a0{say.pick('ms', 'мс')}"
        if t < 1
        else f"{say.number(t, 2)}\u00a0{say.pick('s', 'с')}"
    )


def _write(subject: Subject, found: Findings, say: Speech) -> None:
    failed, total = len(found.failed) + found.examples[1], len(found.cases) + found.examples[0]
    verdict = (
        say.pick(f"{total - failed} of {total} cases pass", f"прошло случаев: {total - failed} из {total}")
        if total
        else say.pick("no cases", "случаев нет")
    )
    parts = [
        f"{code(subject.name)}: **{verdict}**"
        + (
            say.pick(f", compared with {code(subject.reference.__name__)}", f", сравнение с {code(subject.reference.__name__)}")
            if subject.reference
            else ""
        )
        + "."
    ]
    worst = found.smallest or next(iter(found.failed), None)
    if worst is not None:
        lines = [
            say.pick("Smallest failing case:", "Наименьший случай с ошибкой:")
            if found.smallest
            else say.pick("First failing case:", "Первый случай с ошибкой:"),
            f"- {say.pick('arguments', 'аргументы')}: {code(repr(worst.arguments), 200)}",
        ]
        if worst.wrong == "differs":
            lines += [
                f"- {say.pick('expected', 'ожидалось')}: {code(repr(worst.expected), 160)}",
                f"- {say.pick('got', 'получено')}: {code(repr(worst.got), 160)}",
            ]
        else:
            lines.append(f"- {escape(worst.wrong, 200)}")
        parts.append("\n".join(lines))
    if found.times:
        last = found.times[-1]
        parts.append(
            say.pick(
                f"Processor time at n = {say.number(last.size, 0)}: **{_seconds(last.seconds, say)}**; growth on generated inputs {growth.told(growth.growth(found.times), say)}.",
                f"Время процессора при n = {say.number(last.size, 0)}: **{_seconds(last.seconds, say)}**; рост на созданных данных {growth.told(growth.growth(found.times), say)}.",
            )
        )
        _plot(subject, found, say)
    parts += [escape(n, 200) for n in found.notes]
    answer("\n\n".join(parts))
    other = {t.size: t for t in found.reference_times}
    rows = [
        [say.number(t.size, 0), _seconds(t.seconds, say), f"±{say.percent(t.spread, 0)}", _seconds(other[t.size].seconds, say) if t.size in other else "–"]
        for t in found.times
    ]
    report = [f"# {say.pick('Check of', 'Проверка')} {code(subject.name)}", *parts]
    if rows:
        report += [
            table(["n", subject.name, say.pick("spread", "разброс"), subject.reference.__name__ if subject.reference else "–"], rows, numbers=(0, 1, 2, 3)),
            f"![{say.pick('Time over input size', 'Время от размера')}](timing.png)",
        ]
    with open(f"{OUT}/report.md", "w", encoding="utf-8") as f:
        f.write("\n\n".join(report) + "\n")
    with open(f"{OUT}/cases.json", "w", encoding="utf-8") as f:
        json.dump(
            [
                {
                    "origin": c.origin,
                    "args": repr(c.arguments)[:500],
                    "expected": repr(c.expected)[:500],
                    "got": repr(c.got)[:500],
                    "passed": not c.wrong,
                    "why": c.wrong,
                }
                for c in found.cases
            ],
            f,
            ensure_ascii=False,
            indent=1,
        )


def _plot(subject: Subject, found: Findings, say: Speech) -> None:
    frame = pandas.DataFrame({subject.name: pandas.Series({t.size: t.seconds for t in found.times})})
    if found.reference_times and subject.reference is not None:
        frame[subject.reference.__name__] = pandas.Series({t.size: t.seconds for t in found.reference_times})
    title = say.pick("Time over input size", "Время от размера входа")
    figure = charts.lines(
        frame * 1e3,
        title=title,
        unit=say.pick("ms", "мс"),
        value=say.pick("Processor time", "Время процессора"),
        along=say.pick("Input size n (both axes logarithmic)", "Размер n (обе оси логарифмические)"),
        log=True,
        language=say.language,
    )
    charts.save(figure, f"{OUT}/timing.png")


if __name__ == "__main__":
    main()
