"""Web-server, system and application logs."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from . import charsets, grid
from .notes import Note
from .read_delimited import text_lines
from .source import Source
from .tables import Reading, Table

_KEEP_BYTES = 24 << 20
_ENOUGH = 0.6
_LONGEST = 16_000  # characters of a line that are looked at: patterns may cost more than their length
_MONTHS = {m: i for i, m in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)}
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|ERR|SEVERE|CRIT(?:ICAL)?|ALERT|EMERG|FATAL|PANIC)"
_STAMP = r"(?P<time>\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?\s?(?:Z|UTC|[+-]\d{2}:?\d{2})?)"


@dataclass(frozen=True, slots=True)
class Form:
    """One way of writing log lines; the pattern's groups are the columns."""

    name: str
    pattern: re.Pattern[str]
    continued: bool = False  # lines that do not match belong to the one before

    @property
    def columns(self) -> list[str]:
        return list(self.pattern.groupindex)


_FORMS = (
    Form("web access (combined)", re.compile(
        r'(?:(?P<vhost>[\w.\-]+(?::\d+)?) )?(?P<client>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]{20,32})\] "(?:(?P<method>[A-Z]{3,10}) (?P<path>[^" ]*(?: [^" ]+)*?)(?: (?P<protocol>HTTP/[\d.]+))?|(?P<request>(?:[^"\\]|\\.)*))"'
        r' (?P<status>\d{3}) (?P<bytes>\d+|-) "(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"(?: (?P<seconds>\d+(?:\.\d+)?))?(?: .*)?')),
    Form("web access (combined)", re.compile(
        r'(?P<client>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]{20,32})\] "(?P<request>(?:[^"\\]|\\.)*)"'
        r' (?P<status>\d{3}) (?P<bytes>\d+|-) "(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"(?: .*)?')),
    Form("web access (common)", re.compile(
        r'(?P<client>\S+) (?P<ident>\S+) (?P<user>\S+) \[(?P<time>[^\]]{20,32})\] "(?:(?P<method>[A-Z]{3,10}) (?P<path>[^" ]*)(?: (?P<protocol>HTTP/[\d.]+))?|(?P<request>(?:[^"\\]|\\.)*))" (?P<status>\d{3}) (?P<bytes>\d+|-)(?: (?P<seconds>\d+(?:\.\d+)?))?')),
    Form("syslog (RFC 5424)", re.compile(
        r"<(?P<priority>\d{1,3})>1 (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) (?P<msgid>\S+) (?P<data>-|(?:\[(?:[^\]\\]|\\.)*\])+)(?: (?P<message>.*))?")),
    Form("syslog (BSD)", re.compile(
        r"(?:<(?P<priority>\d{1,3})>)?(?P<time>[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}) (?P<host>[\w.:-]+) (?P<program>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: ?(?P<message>.*)")),
    Form("syslog (ISO time)", re.compile(
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)) (?P<host>[\w.:-]+) (?P<program>[^\s:\[]+)(?:\[(?P<pid>\d+)\])?: (?P<message>.*)")),
    Form("web error", re.compile(
        r"(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[(?P<level>\w+)\] (?P<pid>\d+)#(?P<tid>\d+): (?:\*(?P<connection>\d+) )?(?P<message>.*)")),
    Form("web error", re.compile(
        r"\[(?P<time>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4})\] \[(?:(?P<module>\w+):)?(?P<level>\w+)\](?: \[pid (?P<pid>\d+)(?::tid \d+)?\])?(?: \[client (?P<client>[^\]]+)\])? (?P<message>.*)")),
    Form("application log", re.compile(rf"\[?{_STAMP}\]?\s*[-|:]?\s*\[?{_LEVEL}\]?\s*[-|:]?\s*(?:[\[(](?P<source>[^\])]{{1,80}})[\])]\s*[-|:]?\s*)?(?P<message>.*)"), continued=True),
    Form("application log", re.compile(rf"\[?{_STAMP}\]?\s*[-|:]?\s*[\[(](?P<source>[^\])]{{1,80}})[\])]\s*\[?{_LEVEL}\]?\s*[-|:]?\s*(?P<message>.*)"), continued=True),
    Form("application log", re.compile(rf"\[?{_LEVEL}\]?\s*[-|:]?\s*\[?{_STAMP}\]?\s*[-|:]?\s*(?P<message>.*)"), continued=True),
    Form("application log", re.compile(rf"\[?{_STAMP}\]?\s*[-|:]?\s+(?P<source>[\w.$-]{{2,60}})\s+[-|:]?\s*\[?{_LEVEL}\]?\s*[-|:]?\s*(?P<message>.*)"), continued=True),
)
_FIELD = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
_PAIR = re.compile(r'(?<![\w.\-])([A-Za-z_][\w.\-]*+)=("(?:[^"\\]|\\.)*+"|\S*)')


@dataclass(slots=True)
class _Seen:
    """What a pass over a log has met beside its lines; numbers are of lines."""

    skipped: list[int] = field(default_factory=list)
    continued: list[int] = field(default_factory=list)
    years: set[int] = field(default_factory=set)  # given to times that have none

    def year(self, month: int, day: int, now: datetime.datetime) -> int:
        """The latest year in which a day is not still to come, but for one that zones may make."""
        soon = now + datetime.timedelta(days=1)
        year = soon.year - ((month, day) > (soon.month, soon.day))
        self.years.add(year)
        return year

    def notes(self) -> list[Note]:
        """What is to be told of them."""
        notes = []
        if self.skipped:
            notes.append(Note("log_other", args={"count": len(self.skipped), "row": self.skipped[0]}))
        if self.continued:
            notes.append(Note("log_continued", args={"count": len(self.continued)}))
        if self.years:
            notes.append(Note("log_year", args={"years": ", ".join(map(str, sorted(self.years)))}))
        return notes


def detect(lines: list[str]) -> Form | None:
    """The form that most of the first lines have; None when it is no log."""
    filled = [line[:_LONGEST] for line in lines if line.strip()][:300]
    if not filled:
        return None
    for form in _FORMS:
        if not any(form.pattern.fullmatch(line) for line in filled[:20]):
            continue
        matched = sum(1 for line in filled if form.pattern.fullmatch(line))
        first = form.pattern.fullmatch(filled[0]) is not None
        if matched >= _ENOUGH * len(filled) or (form.continued and first and matched >= 2 and matched >= 0.1 * len(filled)):
            return form
    pairs = sum(1 for line in filled if len(_PAIR.findall(line)) >= 3 and _PAIR.match(line))
    if pairs >= 0.8 * len(filled):
        return Form("logfmt", _PAIR)
    return None


def read(source: Source, charset: charsets.Charset, form: Form, now: datetime.datetime) -> Reading:
    """A log as a table. ``now`` gives the year to times that have none."""
    seen = _Seen()
    if form.name == "logfmt":
        columns = _pair_columns(source, charset)
        make: Callable[[], Iterator[list[str]]] = lambda: _pairs(source, charset, columns)
    else:
        columns = form.columns
        counting = [True]

        def make() -> Iterator[list[str]]:
            first, counting[0] = counting[0], False
            return _matches(source, charset, form, now, seen if first else _Seen())

    kept = list(make()) if 0 <= source.size <= _KEEP_BYTES else None
    body = grid.with_names((lambda: iter(kept)) if kept is not None else make, columns)
    if kept is not None:
        body.keep = [j for j in body.keep if any(row[j] for row in kept)] or body.keep
    table = Table(kind="log", encoding=charset.name, body=body)
    table.notes.append(Note("log_format", args={"format": form.name}))
    table.late = seen.notes
    return Reading(tables=[table])


def _matches(source: Source, charset: charsets.Charset, form: Form, now: datetime.datetime, seen: _Seen) -> Iterator[list[str]]:
    fullmatch = form.pattern.fullmatch
    columns = form.columns
    when = columns.index("time")
    pending: list[str] | None = None
    with text_lines(source, charset) as f:
        for number, line in enumerate(f, start=1):
            line = line.rstrip("\r\n")[:_LONGEST]
            match = fullmatch(line)
            if match is not None:
                if pending is not None:
                    yield pending
                pending = ["" if group in (None, "-") else group for group in match.groups()]
                pending[when] = _time(pending[when], now, seen)
            elif line.strip():
                if form.continued and pending is not None:
                    seen.continued.append(number)
                    if len(pending[-1]) < 4_000:
                        pending[-1] += "\n" + line
                else:
                    seen.skipped.append(number)
    if pending is not None:
        yield pending


def _time(text: str, now: datetime.datetime, seen: _Seen) -> str:
    """The line's time in ISO form; what does not parse stays as it is."""
    if text[:4].isdigit():
        return text.strip().replace("/", "-").replace(",", ".")
    try:
        if text[2] == "/":  # 10/Oct/2000:13:55:36 -0700
            month = _MONTHS[text[3:6]]
            zone = text[21:]
            zone = f"{zone[:3]}:{zone[3:]}" if len(zone) == 5 else zone
            return f"{text[7:11]}-{month:02}-{text[:2]}T{text[12:20]}{zone}"
        if text[3] == " " and text[6] in " 0123456789" and len(text) == 15:  # Oct 11 22:14:15
            month, day = _MONTHS[text[:3]], int(text[4:6])
            return f"{seen.year(month, day, now)}-{month:02}-{day:02}T{text[7:]}"
        day, month_name, rest = text.split(None, 2)  # Wed Oct 11 14:32:52.1 2000
        date, clock, year = rest.split()
        return f"{year}-{_MONTHS[month_name]:02}-{int(date):02}T{clock}"
    except (KeyError, ValueError, IndexError):
        return text


def _pair_columns(source: Source, charset: charsets.Charset) -> list[str]:
    keys: dict[str, None] = {}
    with text_lines(source, charset) as f:
        for number, line in enumerate(f):
            if number >= 20_000 or len(keys) > 500:
                break
            keys.update(dict.fromkeys(key for key, _ in _PAIR.findall(line[:_LONGEST])))
    return list(keys)


def _pairs(source: Source, charset: charsets.Charset, columns: list[str]) -> Iterator[list[str]]:
    with text_lines(source, charset) as f:
        for line in f:
            found = dict(_PAIR.findall(line[:_LONGEST]))
            if found:
                yield [_bare(found.get(key, "")) for key in columns]


def _bare(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
    return value


def is_extended(lines: list[str]) -> bool:
    """Whether a log names its own fields, as IIS and CloudFront do (W3C's extended format)."""
    begin = next((i for i, line in enumerate(lines[:20]) if line.startswith("#Fields:")), None)
    return begin is not None and all(line.startswith("#") for line in lines[:begin]) and any(not line.startswith("#") for line in lines[begin:])


def read_extended(source: Source, charset: charsets.Charset) -> Reading:
    """A log under lines of #Fields, which may come again, and change, within it."""
    names: dict[str, None] = {}
    rows: list[dict[str, str]] = []
    fields: list[str] = []
    bad: list[int] = []
    with text_lines(source, charset) as f:
        for number, line in enumerate(f, start=1):
            line = line.rstrip("\r\n")
            if line.startswith("#"):
                if line.startswith("#Fields:"):
                    fields = line[8:].split()
                    names.update(dict.fromkeys(fields))
                continue
            cells = line.split("\t") if "\t" in line else _FIELD.findall(line)
            if len(cells) == len(fields):
                rows.append(dict(zip(fields, ("" if cell == "-" else _bare(cell) for cell in cells), strict=True)))
            elif line.strip():
                bad.append(number)
    columns = list(names)
    texts = [[row.get(name, "") for name in columns] for row in rows]
    table = Table(kind="log", encoding=charset.name, body=grid.with_names(lambda: iter(texts), columns))
    table.notes.append(Note("log_format", args={"format": "W3C extended"}))
    if bad:
        table.notes.append(Note("log_other", args={"count": len(bad), "row": bad[0]}))
    return Reading(tables=[table])
