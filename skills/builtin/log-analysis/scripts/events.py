"""Log lines understood, and what one pass over them gathers."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone

import numpy

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
LIKE_TRACE = re.compile(r"^(?:Traceback|Caused by|at |\w+(?:\.\w+)*(?:Error|Exception)\b|goroutine|\.\.\. \d+ more)")


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
