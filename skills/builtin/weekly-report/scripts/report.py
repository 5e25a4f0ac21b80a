"""Period over period: totals, change, causes, what stands out, as text, charts and a workbook."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy
import pandas

from sandpiper import answer, charts, excel, refuse, wishes
from sandpiper.inputs import Job, Table, job, merged
from sandpiper.markdown import code, escape, table
from sandpiper.speech import Speech
from sandpiper.words import clean

GRAINS = {
    "day": ("day", "days", "день", "дня", "дней"),
    "week": ("week", "weeks", "неделя", "недели", "недель"),
    "month": ("month", "months", "месяц", "месяца", "месяцев"),
    "quarter": ("quarter", "quarters", "квартал", "квартала", "кварталов"),
    "year": ("year", "years", "год", "года", "лет"),
}
MOST_PERIODS = 60
MOST_GROUPS = 12
FAR = 3.5  # robust standard deviations


@dataclass
class Periods:
    """The measure by period and group. Rows are periods in order, columns groups."""

    grid: pandas.DataFrame
    total: pandas.Series
    complete: pandas.Series  # of bool, by period
    grain: str
    speech: Speech

    def name(self, period: pandas.Timestamp) -> str:
        if self.grain == "month":
            return self.speech.month(period)
        if self.grain == "year":
            return str(period.year)
        if self.grain == "quarter":
            return self.speech.pick(f"Q{period.quarter} {period.year}", f"{period.quarter} кв. {period.year}")
        if self.grain == "week":
            end = period + pandas.Timedelta(days=6)
            return f"{self.speech.day(period, year=False)} – {self.speech.day(end)}"
        return self.speech.day(period)

    def newest(self) -> tuple[pandas.Timestamp, pandas.Timestamp] | None:
        """The newest complete period and the one before it."""
        whole = self.total.index[self.complete.to_numpy()]
        return (whole[-1], whole[-2]) if len(whole) > 1 else None


def main() -> None:
    work = job(__doc__ or "", value="measure", by="dimension", date="date column", grain="day, week, month, quarter or year")
    tables = work.tables()
    frame, left = merged(_with_dates(tables, work))
    wish = wishes.understand(work.text, frame)
    notes = [str(n) for n in frame.attrs.get("notes", [])][:8]
    frame = _derived_revenue(frame, wish, work, notes)
    _override(frame, wish, work)
    if not wish.date:
        refuse(
            work.speech.pick(
                "There is no column with dates, so there are no periods to compare: ask for a pivot table or a chart instead.",
                "В таблице нет столбца с датами, поэтому сравнивать периоды нельзя: попросите сводную таблицу или график.",
            )
        )
    periods = _periods(frame, wish, work.speech, notes)
    if left:
        notes.append(
            work.speech.pick("Left out, for its columns differ: ", "Не вошло, столбцы другие: ")
            + ", ".join(clean(t.name) for t in left)
        )
    _write(periods, wish, work, notes)


def _with_dates(tables: list[Table], work: Job) -> list[Table]:
    dated = [t for t in tables if wishes.roles(t.frame).dates]
    return dated or tables


def _derived_revenue(frame: pandas.DataFrame, wish: wishes.Wish, work: Job, notes: list[str]) -> pandas.DataFrame:
    """Revenue as quantity times price, where it is wanted and not there."""
    asked = wishes.understand(work.text, pandas.DataFrame({"revenue": [1.0]})).named
    if not asked or work.options.value or wish.named & set(wishes.roles(frame).measures):
        return frame
    parts = [wishes.understand(words, frame).named & set(wishes.roles(frame).measures) for words in ("quantity", "unit price price")]
    if any(len(p) != 1 for p in parts):
        return frame
    quantity, price = (p.pop() for p in parts)
    if quantity == price:
        return frame
    name = work.speech.pick("revenue", "выручка")
    wish.measures, wish.aggregate = [name], "sum"
    notes.append(f"{name} = {clean(quantity)} × {clean(price)}")
    return frame.assign(**{name: frame[quantity] * frame[price]})


def _override(frame: pandas.DataFrame, wish: wishes.Wish, work: Job) -> None:
    options = work.options
    for name in filter(None, (options.value, options.by, options.date)):
        if name not in frame.columns:
            refuse(f"There is no column {name!r}; there are: {', '.join(map(str, frame.columns))}")
    if options.value:
        wish.measures, wish.aggregate = [options.value], "mean" if wishes.is_rate(frame, options.value) else "sum"
    wish.dimensions = [options.by] if options.by else [d for d in wish.dimensions if d != wish.date]
    wish.date = options.date or wish.date
    wish.grain = options.grain or wish.grain or "week"
    if wish.grain not in GRAINS:
        refuse(f"grain is one of {', '.join(GRAINS)}")
    wish.measures = wish.measures[:1]
    if not wish.dimensions:
        able = [d for d in wishes.roles(frame).dimensions if 2 <= frame[d].nunique() <= 30]
        wish.dimensions = able[:1]
    wish.dimensions = wish.dimensions[:1]


def _periods(frame: pandas.DataFrame, wish: wishes.Wish, speech: Speech, notes: list[str]) -> Periods:
    undated = int(frame[wish.date].isna().sum())
    if undated:
        notes.append(speech.pick(f"{undated} rows without a date are left out", f"Строк без даты, не вошли: {undated}"))
    frame = frame[frame[wish.date].notna()]
    if frame.empty:
        refuse(speech.pick("No row has a date.", "Ни в одной строке нет даты."))
    start = wishes.floor_dates(frame[wish.date], wish.grain)
    span = pandas.period_range(
        start.min(), start.max(), freq={"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}[wish.grain]
    ).start_time
    if len(span) > MOST_PERIODS:
        notes.append(
            speech.pick(
                f"Only the last {MOST_PERIODS} of {len(span)} periods are shown",
                f"Показаны последние {MOST_PERIODS} периодов из {len(span)}",
            )
        )
        span = span[-MOST_PERIODS:]
        keep = start.isin(span)
        frame, start = frame[keep], start[keep]
    measure = frame[wish.measures[0]].astype("float64") if wish.measures else pandas.Series(1.0, index=frame.index)
    how = "sum" if wish.aggregate == "count" else wish.aggregate
    group = _groups(frame[wish.dimensions[0]], measure, speech) if wish.dimensions else None
    total = measure.groupby(start).agg(how).reindex(span)
    grid = measure.groupby([start, group]).agg(how).unstack().reindex(span) if group is not None else pandas.DataFrame(index=span)
    empty = [p for p in span if p not in set(start)]
    if how == "sum":
        total, grid = total.fillna(0.0), grid.fillna(0.0)
    found = Periods(grid, total, _complete(frame[wish.date], start, span, wish.grain), wish.grain, speech)
    if empty:
        notes.append(
            speech.pick("Without any row: ", "Без единой строки: ")
            + ", ".join(found.name(p) for p in empty[:6])
            + ("…" if len(empty) > 6 else "")
        )
    return found


def _groups(column: pandas.Series, measure: pandas.Series, speech: Speech) -> pandas.Series:
    """Group names; the smaller ones over twelve become "Other"."""
    names = column.astype("object").where(column.notna(), speech.pick("(none)", "(пусто)")).astype(str)
    size = measure.abs().groupby(names).sum().sort_values(ascending=False)
    if len(size) > MOST_GROUPS:
        names = names.where(names.isin(size.index[: MOST_GROUPS - 1]), speech.pick("Other", "Прочие"))
    return names


def _complete(dates: pandas.Series, start: pandas.Series, span: pandas.DatetimeIndex, grain: str) -> pandas.Series:
    """Which periods are whole: only the first and the last may not be."""
    whole = pandas.Series(True, index=span)
    if grain == "day":
        return whole
    plain = dates.dt.tz_localize(None) if dates.dt.tz is not None else dates
    days = (plain.dt.normalize() - start).dt.days
    first, last = days.groupby(start).min(), days.groupby(start).max()
    grace = 0 if grain == "week" else 2
    length = (
        pandas.Series(
            [p.days_in_month if grain == "month" else {"week": 7, "quarter": 90, "year": 365}[grain] for p in span], index=span
        )
        - 1
    )
    inner = span[1:-1]
    usual_last = float(last.reindex(inner).median()) if len(inner) else float(length.iloc[-1])
    usual_first = float(first.reindex(inner).median()) if len(inner) else 0.0
    whole.iloc[-1] = last.get(span[-1], -1) >= min(usual_last, float(length.iloc[-1])) - grace
    if len(span) > 1:
        whole.iloc[0] = first.get(span[0], 99) <= usual_first + grace
    return whole


def _findings(p: Periods, wish: wishes.Wish) -> list[str]:
    """What stands out, most important first, as Markdown lines."""
    say, found = p.speech, []
    pair = p.newest()
    adds = wish.aggregate in ("sum", "count")
    if pair and len(p.grid.columns) > 1 and adds:
        change = (p.grid.loc[pair[0]] - p.grid.loc[pair[1]]).sort_values(key=abs, ascending=False)
        total = p.total[pair[0]] - p.total[pair[1]]
        makers = change[(change * total) > 0].iloc[:2]
        if total and len(makers):
            parts = [f"**{escape(n)}** {say.number(v, _places(p), sign=True)}" for n, v in makers.items()]
            found.append(say.pick("Most of the change comes from ", "Основной вклад в изменение: ") + say.listed(parts) + ".")
    found += _unusual(p)
    found += _runs(p)
    if pair and adds and len(p.grid.columns):
        before, now = p.grid.loc[: pair[1]], p.grid.loc[pair[0]]
        gone = [n for n in p.grid.columns if now[n] == 0 and (before[n] != 0).all()]
        new = [n for n in p.grid.columns if now[n] != 0 and (before[n] == 0).all()]
        for names, en, ru in (
            (gone, "has nothing in the newest period", "нет данных за последний период"),
            (new, "appears for the first time", "появляется впервые"),
        ):
            found += [f"**{escape(n)}** {say.pick(en, ru)}." for n in names[:2]]
        share = p.grid.sum() / p.grid.sum().sum() if p.grid.sum().sum() else p.grid.sum()
        if len(share) > 2 and (share > 0.5).any() and (p.grid.sum() >= 0).all():
            name = share.idxmax()
            found.append(
                say.pick(
                    f"**{escape(name)}** makes {say.percent(share[name], 0)} of the total.",
                    f"**{escape(name)}** даёт {say.percent(share[name], 0)} итога.",
                )
            )
    return found[:6]


def _unusual(p: Periods) -> list[str]:
    """Complete periods far from the others, of the total and of each group."""
    say, found = p.speech, []
    series = {"": p.total} | ({n: p.grid[n] for n in p.grid.columns} if len(p.grid.columns) > 1 else {})
    for name, values in series.items():
        values = values[p.complete.to_numpy()].dropna()
        if len(values) < 5:
            continue
        middle = float(values.median())
        spread = 1.4826 * float((values - middle).abs().median())
        for period, v in values.items():
            far = abs(v - middle) / spread if spread else 0.0
            if far > FAR and middle and abs(v / middle - 1) >= 0.2:
                who = f"**{escape(name)}**" if name else say.pick("The total", "Итог")
                up = v > middle
                found.append(
                    (
                        bool(name),
                        -far,
                        say.pick(
                            f"{who} was unusually {'high' if up else 'low'} in {p.name(period)}: {say.number(v, _places(p))}, where {say.number(middle, _places(p))} is usual.",
                            f"{who}: необычно {'высокое' if up else 'низкое'} значение, {p.name(period)}: {say.number(v, _places(p))} при обычном {say.number(middle, _places(p))}.",
                        ),
                    )
                )
    return [text for _, _, text in sorted(found)[:3]]


def _runs(p: Periods) -> list[str]:
    """Groups that went the same way at least four times in a row up to the newest complete period."""
    say, found = p.speech, []
    whole = p.grid[p.complete.to_numpy()]
    for name in whole.columns:
        steps = numpy.sign(whole[name].diff().dropna().to_numpy())[::-1]
        n = sum(1 for _ in itertools.takewhile(lambda step: step == steps[0] != 0, steps))
        if n >= 4:
            up, before = steps[0] > 0, whole[name].iloc[-1 - n]
            change = whole[name].iloc[-1] / before - 1 if before else float("nan")
            found.append(
                say.pick(
                    f"**{escape(name)}** has {'risen' if up else 'fallen'} {n} times in a row ({say.percent(change, sign=True)} in all).",
                    f"**{escape(name)}**: {'рост' if up else 'падение'} {say.count(n, 'раз', 'раза', 'раз')} подряд (всего {say.percent(change, sign=True)}).",
                )
            )
    return found[:2]


def _places(p: Periods) -> int:
    """Decimal places that suit the measure's size."""
    values = p.total.dropna().abs()
    if not len(values) or values.median() >= 1000 or (values == values.round()).all():
        return 0
    return 2


def _headline(p: Periods, wish: wishes.Wish, what: str) -> str:
    say, pair, places = p.speech, p.newest(), _places(p)
    what = say.heading(what)
    if pair is None:
        period = p.total.index[-1]
        return f"**{escape(what)}**, {p.name(period)}: **{say.number(p.total[period], places)}**. " + say.pick(
            "There are not two complete periods to compare.", "Двух полных периодов для сравнения нет."
        )
    now, before = p.total[pair[0]], p.total[pair[1]]
    change = now / before - 1 if before else float("nan")
    return say.pick(
        f"**{escape(what)}**, {p.name(pair[0])}: **{say.number(now, places)}**, {say.percent(change, sign=True)} against {say.number(before, places)} in the {GRAINS[p.grain][0]} before.",
        f"**{escape(what)}**, {p.name(pair[0])}: **{say.number(now, places)}**, {say.percent(change, sign=True)} к предыдущему периоду ({say.number(before, places)}).",
    )


def _change_frame(p: Periods) -> pandas.DataFrame | None:
    pair = p.newest()
    if pair is None or not len(p.grid.columns):
        return None
    now, before = p.grid.loc[pair[0]], p.grid.loc[pair[1]]
    frame = pandas.DataFrame({"now": now, "before": before})
    frame["change"] = frame["now"] - frame["before"]
    frame["relative"] = frame["change"] / frame["before"].where(frame["before"] != 0)
    return frame.sort_values("now", ascending=False)


def _change_table(p: Periods, frame: pandas.DataFrame, what: str) -> str:
    say, places, pair = p.speech, _places(p), p.newest()
    assert pair is not None
    rows = [
        [
            n,
            say.number(r.now, places),
            say.number(r.before, places),
            say.number(r.change, places, sign=True),
            say.percent(r.relative, sign=True),
        ]
        for n, r in frame.iterrows()
    ]
    return table([what, p.name(pair[0]), p.name(pair[1]), say.pick("Change", "Изменение"), "%"], rows, numbers=(1, 2, 3, 4))


def _total_table(p: Periods, what: str) -> str:
    say, places = p.speech, _places(p)
    rows = []
    for at, (period, v) in enumerate(p.total.items()):
        before = p.total.iloc[at - 1] if at else float("nan")
        both = at > 0 and p.complete.iloc[at] and p.complete.iloc[at - 1]
        part = "" if p.complete.iloc[at] else say.pick(" (incomplete)", " (неполный)")
        rows.append([p.name(period) + part, say.number(v, places), say.percent(v / before - 1, sign=True) if both and before else "–"])
    return table(
        [say.pick(GRAINS[p.grain][0].capitalize(), GRAINS[p.grain][2].capitalize()), what, say.pick("Change", "Изменение")],
        rows,
        numbers=(1, 2),
    )


def _write(p: Periods, wish: wishes.Wish, work: Job, notes: list[str]) -> None:
    say = work.speech
    what = wish.measures[0] if wish.measures else say.pick("Rows", "Строки")
    by = wish.dimensions[0] if wish.dimensions else ""
    change = _change_frame(p)
    pictures = _pictures(p, what, by, change)
    _workbook(p, what, by, change, notes, say)

    for period, whole in p.complete.items():
        if not whole:
            notes.append(
                say.pick(f"{p.name(period)} is incomplete and not compared", f"{p.name(period)}: период неполный, не сравнивается")
            )
    findings = _findings(p, wish)
    understood = say.pick("Understood as: ", "Понято так: ") + wish.told(say) + "."
    parts = [_headline(p, wish, what)]
    if change is not None:
        parts.append(_change_table(p, change, by))
    if findings:
        parts.append(f"**{say.pick('What stands out', 'Что выделяется')}**\n" + "\n".join(f"- {f}" for f in findings))
    tail = [understood] + ([say.pick("Notes: ", "Замечания: ") + "; ".join(escape(n, 160) for n in notes) + "."] if notes else [])
    answer("\n\n".join(parts + tail))

    title = say.pick(f"# {escape(say.heading(what))} by {GRAINS[p.grain][0]}", f"# {escape(say.heading(what))}: отчёт по периодам")
    report = [title, *parts, f"## {say.pick('All periods', 'Все периоды')}", _total_table(p, what)]
    report += [f"![{alt}]({name})" for name, alt in pictures]
    report += [
        f"## {say.pick('About the data', 'О данных')}",
        "\n".join(f"- {line}" for line in [understood, *(escape(n, 200) for n in notes)]),
    ]
    with open("/workspace/out/report.md", "w", encoding="utf-8") as f:
        f.write("\n\n".join(report) + "\n")


def _pictures(p: Periods, what: str, by: str, change: pandas.DataFrame | None) -> list[tuple[str, str]]:
    say, made = p.speech, []
    what, by = say.heading(clean(what)), clean(by).replace("_", " ")
    grain = say.pick(f"by {GRAINS[p.grain][0]}", "по периодам")
    total = p.total.rename(what)
    draw = charts.columns if len(total) <= 26 else charts.lines
    alt = f"{what} {grain}"
    made.append((charts.save(draw(total, title=alt, value=what, language=say.language), "/workspace/out/1-total.png"), alt))
    if len(p.grid.columns) > 1 and len(p.grid) > 1:
        alt = say.pick(f"{what} by {by} and {GRAINS[p.grain][0]}", f"{clean(what)} по периодам, разрез: {by}")
        made.append(
            (charts.save(charts.lines(p.grid, title=alt, value=what, language=say.language), "/workspace/out/2-groups.png"), alt)
        )
    pair = p.newest()
    if change is not None and pair and len(change) > 1:
        alt = say.pick(
            f"{what}, change: {p.name(pair[0])} against {p.name(pair[1])}", f"{what}, изменение: {p.name(pair[0])} к {p.name(pair[1])}"
        )
        made.append(
            (
                charts.save(
                    charts.bars(change["change"], title=alt, value=what, rest="drop", language=say.language),
                    "/workspace/out/3-change.png",
                ),
                alt,
            )
        )
    return [(path.rsplit("/", 1)[1], alt) for path, alt in made]


def _workbook(p: Periods, what: str, by: str, change: pandas.DataFrame | None, notes: list[str], say: Speech) -> None:
    head = say.pick(GRAINS[p.grain][0].capitalize(), GRAINS[p.grain][2].capitalize())
    with excel.Workbook("/workspace/out/summary.xlsx", title=what) as book:
        total = pandas.DataFrame(
            {
                head: p.total.index,
                what: p.total.to_numpy(),
                say.pick("Change", "Изменение"): p.total.pct_change().replace([numpy.inf, -numpy.inf], numpy.nan).to_numpy(),
                say.pick("Complete", "Полный"): [say.pick("yes", "да") if c else say.pick("no", "нет") for c in p.complete],
            }
        )
        book.table(total, sheet=say.pick("By period", "По периодам"), formats={say.pick("Change", "Изменение"): "percent"})
        if change is not None and by:
            pair = p.newest()
            assert pair is not None
            names = [by, p.name(pair[0]), p.name(pair[1]), say.pick("Change", "Изменение"), say.pick("Change, %", "Изменение, %")]
            flat = change.reset_index()
            flat.columns = names = [n.replace("\u00a0", " ") for n in names]
            book.table(
                flat,
                sheet=say.pick("Change", "Изменение"),
                formats={names[4]: "percent"},
                totals=[names[1], names[2], names[3]] if wish_adds(p) else False,
                total_label=say.pick("Total", "Итого"),
            )
        if len(p.grid.columns):
            grid = p.grid.copy()
            grid.insert(0, head, grid.index)
            book.table(
                grid,
                sheet=clean(by, 20) or "Groups",
                totals=[str(c) for c in p.grid.columns] if wish_adds(p) else False,
                total_label=say.pick("Total", "Итого"),
            )
        if notes:
            book.table(
                pandas.DataFrame({say.pick("Notes on the data", "Замечания о данных"): notes}), sheet=say.pick("Notes", "Замечания")
            )


def wish_adds(p: Periods) -> bool:
    """Whether the groups add up to the total (sums do, averages do not)."""
    return bool(numpy.allclose(p.grid.sum(axis=1).to_numpy(), p.total.to_numpy(), rtol=1e-6, atol=1e-6, equal_nan=True))


if __name__ == "__main__":
    main()
