"""Errors, latencies and time lines of web and application logs."""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from datetime import datetime, timezone

import numpy
import pandas

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from events import Group, Totals, gather  # noqa: E402 - it lies beside this program
from sandpiper import answer, charts, excel, refuse  # noqa: E402
from sandpiper.inputs import job  # noqa: E402
from sandpiper.markdown import code, table  # noqa: E402
from sandpiper.speech import Speech  # noqa: E402
from sandpiper.words import clean  # noqa: E402

OUT = "/workspace/out"


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
                    f"{say.count(t.continued, 'line continues', 'lines continue')} the one before", f"строк-продолжений: {say.number(t.continued, 0)}"
                )
            )
        if t.strange:
            notes.append(
                say.pick(
                    f"{say.count(t.strange, 'line of no known form is', 'lines of no known form are')} left out",
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
