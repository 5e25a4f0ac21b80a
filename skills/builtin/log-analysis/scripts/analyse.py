"""Errors, latencies and time lines of web and application logs."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone

import numpy
import pandas

from sandpiper import answer, charts, excel, refuse
from sandpiper.inputs import job
from sandpiper.markdown import code, escape, table
from sandpiper.speech import Speech
from sandpiper.words import clean

OUT = "/workspace/out"
SAMPLE = 20_000
ERROR_LEVELS = {"error", "err", "critical", "crit", "fatal", "panic", "alert", "emerg", "emergency", "severe"}
LEVELS = {"warn": "warning", "err": "error", "crit": "critical", "emergency": "emerg", "inf": "info", "trace": "trace"}

ACCESS = re.compile(
    r"^(?P<client>\S+) \S+ .*?\[(?P<time>\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\] "
    r'"(?:(?P<method>[A-Z]+) (?P<path>\S*)[^"]*|[^"]*)" (?P<status>\d{3}) (?:\d+|-)(?P<rest>.*)$'
)
REQUEST_TIME = re.compile(r"(?:rt|request_time|rt)=(\d+\.\d+)|(?:^|[\s\"])(\d+\.\d+)\s*$")
LEVELED = re.compile(
    r"^\[?(?P<time>\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|\s?[+-]\d\d:?\d\d)?)\]?[\s|:-]*(?P<text>.*)$"
)
LEVEL = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|CRITICAL|CRIT|FATAL|PANIC|ALERT|EMERG|SEVERE)\b|\[(trace|debug|info|notice|warn|warning|error|crit|critical|fatal|alert|emerg)\]"
)
SYSLOG = re.compile(r"^(?:<\d+>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<host>\S+) (?P<text>.*)$")
LOGFMT = re.compile(r'([\w.@-]+)=("(?:[^"\\]|\\.)*"|\S*)')
TOOK = re.compile(
    r"(?:\b(?:in|took|after|elapsed|duration|latency)[ =:]+)(\d+(?:\.\d+)?)\s?(ms|milliseconds|s|sec|seconds|µs|us)\b", re.IGNORECASE
)
BAD_WORDS = re.compile(r"\b(?:error|exception|fatal|panic|traceback|failed|failure|ошибка|исключение)\b", re.IGNORECASE)
VARIABLE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-f]+\b|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b|\d+(?:[.:]\d+)*|'[^']*'|\"[^\"]*\"",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Event:
    """One log line understood; what a format does not have stays empty."""

    time: datetime | None = None
    level: str = ""
    text: str = ""
    status: int = 0
    method: str = ""
    path: str = ""
    client: str = ""
    seconds: float | None = None

    @property
    def is_error(self) -> bool:
        if self.level:
            return self.level in ERROR_LEVELS or self.status >= 500
        return self.status >= 500 or (not self.status and bool(BAD_WORDS.search(self.text)))


@dataclass
class Group:
    """Events that are the same but for numbers and names."""

    count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    example: str = ""

    def add(self, event: Event) -> None:
        self.count += 1
        self.example = self.example or event.text
        if event.time is not None:
            self.first = event.time if self.first is None else min(self.first, event.time)
            self.last = event.time if self.last is None else max(self.last, event.time)


class Sample:
    """A fair sample of at most SAMPLE durations."""

    def __init__(self) -> None:
        self.seen, self.values, self._random = 0, [], random.Random(7)

    def add(self, value: float) -> None:
        self.seen += 1
        if len(self.values) < SAMPLE:
            self.values.append(value)
        elif (at := self._random.randrange(self.seen)) < SAMPLE:
            self.values[at] = value

    def at(self, percent: float) -> float:
        return float(numpy.percentile(self.values, percent))


@dataclass
class Totals:
    """Everything that one pass over the lines gathers."""

    lines: int = 0
    events: int = 0
    continued: int = 0
    strange: int = 0
    errors: int = 0
    zoned: int = 0
    levels: Counter = field(default_factory=Counter)
    statuses: Counter = field(default_factory=Counter)
    clients: Counter = field(default_factory=Counter)
    groups: dict[str, Group] = field(default_factory=lambda: defaultdict(Group))
    paths: dict[str, Sample] = field(default_factory=lambda: defaultdict(Sample))
    path_counts: Counter = field(default_factory=Counter)
    path_errors: Counter = field(default_factory=Counter)
    all_seconds: Sample = field(default_factory=Sample)
    by_minute: Counter = field(default_factory=Counter)
    errors_by_minute: Counter = field(default_factory=Counter)
    slow_by_minute: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, event: Event) -> None:
        self.events += 1
        if event.level:
            self.levels[event.level] += 1
        if event.status:
            self.statuses[event.status] += 1
        if event.client:
            self.clients[event.client] += 1
        path = event.path.partition("?")[0]
        path = re.sub(r"/(?:\d+|[0-9a-f]{8,}(?:-[0-9a-f]+)*)(?=/|$)", "/#", path) if path else ""
        key = f"{event.method} {path}".strip()
        if key:
            self.path_counts[key] += 1
        minute = int(event.time.timestamp() // 60) if event.time else None
        if event.seconds is not None:
            self.all_seconds.add(event.seconds)
            if key and (key in self.paths or len(self.paths) < 2000):
                self.paths[key].add(event.seconds)
            if minute is not None and len(self.slow_by_minute[minute]) < 2000:
                self.slow_by_minute[minute].append(event.seconds)
        if minute is not None:
            self.by_minute[minute] += 1
        if event.is_error:
            self.errors += 1
            self.path_errors[key] += bool(key)
            if minute is not None:
                self.errors_by_minute[minute] += 1
            name = VARIABLE.sub("#", event.text) if event.text else f"{event.status} {key}"
            name = name[:200]
            if name in self.groups or len(self.groups) < 5000:
                if not event.text:
                    event.text = f"{event.status} {event.method} {event.path}"
                self.groups[name].add(event)


def parse(line: str) -> Event | None:
    """Understand one line, or say that it is none of the known forms."""
    if line.startswith("{"):
        try:
            record = json.loads(line)
        except ValueError:
            return None
        return _record(record) if isinstance(record, dict) else None
    if found := ACCESS.match(line):
        when = datetime.strptime(found["time"], "%d/%b/%Y:%H:%M:%S %z")
        took = REQUEST_TIME.search(found["rest"])
        seconds = float(took[1] or took[2]) if took else None
        return Event(when, "", "", int(found["status"]), found["method"] or "", found["path"] or "", found["client"], seconds)
    if found := LEVELED.match(line):
        return _plain(_time(found["time"]), found["text"])
    if found := SYSLOG.match(line):
        year = datetime.now(timezone.utc).year
        return _plain(datetime.strptime(f"{year} {found['time']}", "%Y %b %d %H:%M:%S"), found["text"])
    pairs = dict(LOGFMT.findall(line)) if "=" in line else {}
    if any(k in pairs for k in ("time", "ts", "timestamp")):
        return _record({k: v.strip('"') for k, v in pairs.items()})
    return None


def _plain(when: datetime | None, text: str) -> Event:
    level = ""
    if found := LEVEL.search(text[:80]):
        word = (found[1] or found[2]).lower()
        level = LEVELS.get(word, word)
        text = (text[: found.start()] + text[found.end() :]).replace("[]", "").strip(" :|-")
    seconds = None
    if took := TOOK.search(text):
        seconds = float(took[1]) / {"ms": 1e3, "milliseconds": 1e3, "µs": 1e6, "us": 1e6}.get(took[2].lower(), 1.0)
    return Event(when, level, text, seconds=seconds)


def _record(r: dict) -> Event:
    def first(*names: str):
        return next((r[n] for n in names if r.get(n) not in (None, "")), None)

    level = str(first("level", "severity", "lvl", "levelname") or "").lower()
    milliseconds, seconds = first("duration_ms", "latency_ms", "elapsed_ms", "took_ms", "response_time_ms"), first(
        "duration", "latency", "request_time", "elapsed"
    )
    try:
        took = float(milliseconds) / 1e3 if milliseconds is not None else float(seconds) if seconds is not None else None
    except (TypeError, ValueError):
        took = None
    try:
        status = int(first("status", "status_code", "http_status") or 0)
    except (TypeError, ValueError):
        status = 0
    text = first("msg", "message", "error", "err", "exception") or ""
    return Event(
        _time(first("time", "ts", "timestamp", "@timestamp", "datetime")),
        LEVELS.get(level, level),
        str(text),
        status,
        str(first("method") or ""),
        str(first("path", "url", "uri", "route") or ""),
        str(first("client", "remote_addr", "ip", "client_ip") or ""),
        took,
    )


def _time(value) -> datetime | None:
    if isinstance(value, (int, float)) or (isinstance(value, str) and re.fullmatch(r"\d{10}(\.\d+)?|\d{13}", value)):
        number = float(value)
        return datetime.fromtimestamp(number / 1000 if number > 1e11 else number, timezone.utc)
    try:
        return datetime.fromisoformat(str(value).replace(",", ".").replace("/", "-").strip())
    except ValueError:
        return None


def lines(path: str) -> Iterator[str]:
    """The text lines of a file, unpacked when it is .gz, long ones cut at 64 KiB."""
    with open(path, "rb") as f:
        packed = f.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if packed else open(path, "rb") as f:
        while raw := f.readline(65_536):
            yield raw.decode("utf-8", "replace").rstrip("\r\n")


def gather(paths: list[str]) -> Totals:
    totals = Totals()
    for path in paths:
        for line in lines(path):
            totals.lines += 1
            if not line.strip():
                continue
            event = None if line[0] in " \t" else parse(line)
            if event is None:
                if totals.events and (line[0] in " \t" or LIKE_TRACE.match(line)):
                    totals.continued += 1
                else:
                    totals.strange += 1
                continue
            if event.time is not None and event.time.tzinfo is not None:
                totals.zoned += 1
                event.time = event.time.astimezone(timezone.utc)
            elif event.time is not None:
                event.time = event.time.replace(tzinfo=timezone.utc)
            totals.add(event)
    return totals


LIKE_TRACE = re.compile(r"^(?:Traceback|Caused by|at |\w+(?:\.\w+)*(?:Error|Exception)\b|goroutine|\.\.\. \d+ more)")


def main() -> None:
    work = job(__doc__ or "")
    if not work.paths:
        refuse(work.speech.pick("There is no log file to look at.", "Нет файла журнала."))
    try:
        totals = gather(work.paths)
    except (OSError, EOFError) as error:
        refuse(f"{error}")
    if not totals.events:
        refuse(
            work.speech.pick(
                "No line has a form that is known: access log, JSON lines, key=value, syslog, or time and level first.",
                "Ни одна строка не похожа на журнал: access log, JSON, key=value, syslog или время и уровень в начале.",
            )
        )
    Report(totals, work.speech, [os.path.basename(p) for p in work.paths]).write()


class Report:
    def __init__(self, totals: Totals, speech: Speech, files: list[str]) -> None:
        self.t, self.say, self.files = totals, speech, files
        self.step, self.timeline = self._timeline()

    def _timeline(self) -> tuple[str, pandas.DataFrame]:
        """Events and errors by a step of time that gives at most about 120 places."""
        if not self.t.by_minute:
            return "", pandas.DataFrame()
        minutes = sorted(self.t.by_minute)
        span = minutes[-1] - minutes[0] + 1
        size = next((s for s in (1, 5, 15, 60, 360, 1440, 10080) if span / s <= 120), 43200)
        everything, bad = Counter(), Counter()
        for m, n in self.t.by_minute.items():
            everything[m // size * size] += n
        for m, n in self.t.errors_by_minute.items():
            bad[m // size * size] += n
        places = range(minutes[0] // size * size, minutes[-1] // size * size + 1, size)
        index = pandas.to_datetime([p * 60 for p in places], unit="s")
        step = self.say.pick(
            *{
                1: ("minute", "минуту"),
                5: ("5 minutes", "5 минут"),
                15: ("15 minutes", "15 минут"),
                60: ("hour", "час"),
                360: ("6 hours", "6 часов"),
                1440: ("day", "день"),
                10080: ("week", "неделю"),
            }.get(size, ("30 days", "30 дней"))
        )
        return step, pandas.DataFrame({"events": [everything[p] for p in places], "errors": [bad[p] for p in places]}, index=index)

    def write(self) -> None:
        pictures = self._pictures()
        self._workbook()
        head = self._headline()
        parts = [head, self._levels(), self._errors(), self._latency(), self._findings()]
        notes = self._notes()
        answer("\n\n".join([p for p in parts if p] + ([notes] if notes else [])))
        title = self.say.pick("# Log analysis", "# Разбор журнала")
        body = [title, *(p for p in parts if p), *(f"![{alt}]({name})" for name, alt in pictures), notes]
        with open(f"{OUT}/report.md", "w", encoding="utf-8") as f:
            f.write("\n\n".join(p for p in body if p) + "\n")

    def _headline(self) -> str:
        t, say = self.t, self.say
        rate = say.percent(t.errors / t.events, 2 if t.errors / t.events < 0.01 else 1)
        text = say.pick(
            f"**{say.number(t.events, 0)} events**, **{say.number(t.errors, 0)} errors** ({rate})",
            f"**Событий: {say.number(t.events, 0)}**, **ошибок: {say.number(t.errors, 0)}** ({rate})",
        )
        if t.by_minute:
            first, last = (datetime.fromtimestamp(m * 60, timezone.utc) for m in (min(t.by_minute), max(t.by_minute)))
            text += say.pick(f", from {say.moment(first)} to {say.moment(last)}", f", с {say.moment(first)} по {say.moment(last)}")
            text += " UTC" if t.zoned else ""
        return text + "."

    def _levels(self) -> str:
        t, say = self.t, self.say
        if t.statuses:
            classes = Counter()
            for status, n in t.statuses.items():
                classes[f"{status // 100}xx"] += n
            rows = [[k, say.number(n, 0), say.percent(n / sum(classes.values()))] for k, n in sorted(classes.items())]
            top = ", ".join(
                f"{s}: {say.number(n, 0)}"
                for s, n in sorted((x for x in t.statuses.most_common() if x[0] >= 400), key=lambda x: -x[1])[:6]
            )
            return table([say.pick("Status", "Код"), say.pick("Requests", "Запросы"), "%"], rows, numbers=(1, 2)) + (
                f"\n\n{top}" if top else ""
            )
        if t.levels:
            total = sum(t.levels.values())
            return table(
                [say.pick("Level", "Уровень"), say.pick("Events", "События"), "%"],
                [[k, say.number(n, 0), say.percent(n / total)] for k, n in t.levels.most_common(8)],
                numbers=(1, 2),
            )
        return ""

    def _ranked(self) -> list[tuple[str, Group]]:
        return sorted(self.t.groups.items(), key=lambda pair: (-pair[1].count, pair[0]))

    def _errors(self) -> str:
        say = self.say
        ranked = self._ranked()
        if not ranked:
            return say.pick("No errors.", "Ошибок нет.")
        rows = [
            f"- {say.number(g.count, 0)} × {code(name, 120)}"
            + (
                f", {say.moment(g.first)}"
                + (f" – {g.last:%H:%M}" if g.last and g.first and g.last.date() == g.first.date() else f" – {say.moment(g.last)}")
                if g.first and g.last
                else ""
            )
            for name, g in ranked[:5]
        ]
        more = len(ranked) - 5
        if more > 0:
            rows.append(say.pick(f"- and {more} more groups in `errors.xlsx`", f"- ещё групп: {more}, см. `errors.xlsx`"))
        return f"**{say.pick('Errors', 'Ошибки')}**\n" + "\n".join(rows)

    def _ms(self, seconds: float) -> str:
        return (
            self.say.number(seconds * 1000, 0 if seconds >= 0.01 else 1) + self.say.pick(" ms", " мс")
            if seconds < 10
            else self.say.number(seconds, 1) + self.say.pick(" s", " с")
        )

    def _latency(self) -> str:
        t, say = self.t, self.say
        if not t.all_seconds.seen:
            return ""
        whole = ", ".join(f"p{p} {self._ms(t.all_seconds.at(p))}" for p in (50, 95, 99))
        slow = sorted(((s.at(95), k, s) for k, s in t.paths.items() if s.seen >= 20), key=lambda x: -x[0])[:5]
        text = f"**{say.pick('Latency', 'Задержка')}**: {whole}"
        if slow:
            rows = [[k, say.number(s.seen, 0), self._ms(s.at(50)), self._ms(p95), self._ms(s.at(99))] for p95, k, s in slow]
            text += "\n\n" + table(
                [say.pick("Slowest", "Самые медленные"), say.pick("Requests", "Запросы"), "p50", "p95", "p99"],
                rows,
                numbers=(1, 2, 3, 4),
            )
        return text

    def _findings(self) -> str:
        """The time with most errors, floods from one client, silence."""
        t, say, found = self.t, self.say, []
        if t.errors >= 5 and len(self.timeline) > 3:
            worst = self.timeline["errors"].idxmax()
            n = int(self.timeline["errors"][worst])
            usual = float(self.timeline["errors"].median())
            if n >= 5 and n > 4 * max(usual, 1):
                found.append(
                    say.pick(
                        f"Errors peak at {say.moment(worst)}: {say.number(n, 0)} in {self.step if self.step[0].isdigit() else 'one ' + self.step}, {say.percent(n / t.errors, 0)} of all.",
                        f"Пик ошибок {say.moment(worst)}: {say.number(n, 0)} за {self.step}, {say.percent(n / t.errors, 0)} от всех.",
                    )
                )
        if t.clients and t.clients.most_common(1)[0][1] > 0.3 * sum(t.clients.values()) and len(t.clients) > 3:
            client, n = t.clients.most_common(1)[0]
            found.append(
                say.pick(
                    f"One client, {code(client)}, sent {say.percent(n / sum(t.clients.values()), 0)} of all requests.",
                    f"Один клиент, {code(client)}, прислал {say.percent(n / sum(t.clients.values()), 0)} запросов.",
                )
            )
        quiet = self.timeline["events"] == 0 if len(self.timeline) > 10 else pandas.Series(dtype=bool)
        if 0 < int(quiet.sum()) <= len(quiet) / 4:
            found.append(
                say.pick(f"No events at all at {say.moment(quiet.idxmax())}.", f"Совсем нет событий: {say.moment(quiet.idxmax())}.")
            )
        if t.path_errors:
            key, n = t.path_errors.most_common(1)[0]
            if n >= 5 and n > 0.5 * t.errors:
                found.append(
                    say.pick(
                        f"{code(key)} has {say.number(n, 0)} of the {say.number(t.errors, 0)} errors.",
                        f"{code(key)}: ошибок {say.number(n, 0)} из {say.number(t.errors, 0)}.",
                    )
                )
        return f"**{say.pick('What stands out', 'Что выделяется')}**\n" + "\n".join(f"- {f}" for f in found) if found else ""

    def _notes(self) -> str:
        t, say, notes = self.t, self.say, []
        if t.continued:
            notes.append(
                say.pick(
                    f"{say.number(t.continued, 0)} lines continue the one before", f"строк-продолжений: {say.number(t.continued, 0)}"
                )
            )
        if t.strange:
            notes.append(
                say.pick(
                    f"{say.number(t.strange, 0)} lines of no known form are left out",
                    f"нераспознанных строк: {say.number(t.strange, 0)}",
                )
            )
        if t.by_minute and not t.zoned:
            notes.append(say.pick("times have no zone and are shown as written", "время без часового пояса показано как есть"))
        return (say.pick("Notes: ", "Замечания: ") + "; ".join(notes) + ".") if notes else ""

    def _pictures(self) -> list[tuple[str, str]]:
        say, made = self.say, []
        if len(self.timeline) > 1:
            data = self.timeline.rename(columns={"events": say.pick("Events", "События"), "errors": say.pick("Errors", "Ошибки")})
            alt = say.pick(f"Events and errors by {self.step}", f"События и ошибки за {self.step}")
            charts.save(
                charts.lines(data, title=alt, value=say.pick("Lines", "Строки"), zero=True, language=say.language),
                f"{OUT}/1-timeline.png",
            )
            made.append(("1-timeline.png", alt))
        if self.t.slow_by_minute and len(self.timeline) > 1:
            minutes = pandas.Series(self.timeline.index.astype("datetime64[s]").astype("int64") // 60)
            size = int(minutes.diff().min())
            buckets: dict[int, list[float]] = defaultdict(list)
            for m, values in self.t.slow_by_minute.items():
                buckets[m // size * size].extend(values)
            frame = pandas.DataFrame(
                {
                    f"p{p}": [float(numpy.percentile(buckets[m], p)) * 1000 if buckets.get(m) else numpy.nan for m in minutes]
                    for p in (50, 95)
                },
                index=self.timeline.index,
            )
            alt = say.pick(f"Latency by {self.step}", f"Задержка за {self.step}")
            charts.save(
                charts.lines(
                    frame, title=alt, unit=say.pick("ms", "мс"), value=say.pick("Latency", "Задержка"), zero=True, language=say.language
                ),
                f"{OUT}/2-latency.png",
            )
            made.append(("2-latency.png", alt))
        return made

    def _workbook(self) -> None:
        say = self.say
        names = [
            say.pick(*p)
            for p in (("Message", "Сообщение"), ("Count", "Число"), ("First", "Первое"), ("Last", "Последнее"), ("Example", "Пример"))
        ]
        groups = pandas.DataFrame(
            [[clean(n, 200), g.count, g.first, g.last, clean(g.example, 1000)] for n, g in self._ranked()], columns=names
        )
        with excel.Workbook(f"{OUT}/errors.xlsx", title=say.pick("Errors", "Ошибки")) as book:
            book.table(
                groups, sheet=say.pick("Errors", "Ошибки"), formats={names[2]: "yyyy-mm-dd hh:mm:ss", names[3]: "yyyy-mm-dd hh:mm:ss"}
            )
            if self.t.path_counts:
                rows = []
                for key, n in self.t.path_counts.most_common(1000):
                    s = self.t.paths.get(key)
                    rows.append(
                        [clean(key, 200), n, self.t.path_errors[key], *([s.at(p) * 1000 for p in (50, 95, 99)] if s else [None] * 3)]
                    )
                head = [
                    say.pick("Path", "Путь"),
                    say.pick("Requests", "Запросы"),
                    say.pick("Errors", "Ошибки"),
                    "p50, ms",
                    "p95, ms",
                    "p99, ms",
                ]
                book.table(
                    pandas.DataFrame(rows, columns=head),
                    sheet=say.pick("Paths", "Пути"),
                    totals=head[1:3],
                    total_label=say.pick("Total", "Итого"),
                    formats={h: "#,##0.0" for h in head[3:]},
                )


if __name__ == "__main__":
    main()
