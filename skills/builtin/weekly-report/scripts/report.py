"""Period over period: totals, change, causes, what stands out, as text, charts and a workbook."""

from __future__ import annotations

import math
import os
import re
import sys

import pandas

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from findings import stand_out  # noqa: E402 - it lies beside this program, as the next does
from periods import GRAINS, Periods, adds_up, digits, divide, relative  # noqa: E402
from sandpiper import answer, charts, excel, refuse, wishes  # noqa: E402
from sandpiper.inputs import Job, Table, concerning, job, merged  # noqa: E402
from sandpiper.markdown import escape, table  # noqa: E402
from sandpiper.speech import Speech  # noqa: E402
from sandpiper.words import clean  # noqa: E402

IN = r"credit|deposit|received|money in|paid in|\bin$|приход|зачислен|поступ|кредит"
OUT = r"debit|withdraw|money out|paid out|\bout$|списан|расход|дебет"


def main() -> None:
    work = job(__doc__ or "", value="measure", by="dimension", date="date column", grain="day, week, month, quarter or year")
    tables = work.tables()
    frame, left = merged(_with_dates(tables, work))
    wish = wishes.understand(work.text, frame)
    read, notes = frame, []
    frame = _derived_net(_derived_revenue(frame, wish, work, notes), wish, work, notes)
    _override(frame, wish, work)
    if not wish.date:
        refuse(
            work.speech.pick(
                "There is no column with dates, so there are no periods to compare: ask for a pivot table or a chart instead.",
                "В таблице нет столбца с датами, поэтому сравнивать периоды нельзя: попросите сводную таблицу или график.",
            )
        )
    used = {str(c) for c in (*wish.measures, *wish.dimensions, wish.date)}
    notes += concerning(read, used)
    frame = wishes.in_order(frame, wish.date)
    periods = divide(frame, wish, work.speech, notes)
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


def _derived_net(frame: pandas.DataFrame, wish: wishes.Wish, work: Job, notes: list[str]) -> pandas.DataFrame:
    """Money in less money out, where a statement keeps them in two columns and neither is asked for."""
    if work.options.value or wish.named & set(wishes.roles(frame).measures) or wish.aggregate != "sum":
        return frame
    pair = [[c for c in wishes.roles(frame).measures if re.search(p, str(c), re.IGNORECASE)] for p in (IN, OUT)]
    if any(len(p) != 1 for p in pair) or (frame[pair[0][0]].notna() & frame[pair[1][0]].notna()).mean() > 0.1:
        return frame
    (credit,), (debit,) = pair
    name = work.speech.pick("net", "сальдо оборотов")
    wish.measures = [name]
    notes.append(f"{name} = {clean(credit)} − {clean(debit)}")
    return frame.assign(**{name: frame[credit].fillna(0).astype("float64") - frame[debit].abs().fillna(0).astype("float64")})


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
    wish.dimensions = [] if wish.aggregate == "last" else wish.dimensions[:1]


def _headline(p: Periods, wish: wishes.Wish, what: str) -> str:
    say, pair, places = p.speech, p.newest(), digits(p)
    what = say.heading(what)
    if pair is None:
        period = p.total.last_valid_index()
        if period is None:
            period = p.total.index[-1]
        return f"**{escape(what)}**, {p.name(period)}: **{say.number(p.total[period], places)}**. " + say.pick(
            "There are not two complete periods to compare.", "Двух полных периодов для сравнения нет."
        )
    now, before = p.total[pair[0]], p.total[pair[1]]
    change = relative(now, before)
    told = say.percent(change, sign=True) if math.isfinite(change) else say.number(now - before, places, sign=True)
    if not p.neighbours():
        gap = say.pick(f"{p.name(pair[1])}, the last one before it with rows", f"{p.name(pair[1])}, последний до него с данными")
        return say.pick(
            f"**{escape(what)}**, {p.name(pair[0])}: **{say.number(now, places)}**, {told} against {say.number(before, places)} in {gap}.",
            f"**{escape(what)}**, {p.name(pair[0])}: **{say.number(now, places)}**, {told} к {say.number(before, places)} ({gap}).",
        )
    return say.pick(
        f"**{escape(what)}**, {p.name(pair[0])}: **{say.number(now, places)}**, {told} against {say.number(before, places)} in the {GRAINS[p.grain][0]} before.",
        f"**{escape(what)}**, {p.name(pair[0])}: **{say.number(now, places)}**, {told} к предыдущему периоду ({say.number(before, places)}).",
    )


def _change_frame(p: Periods) -> pandas.DataFrame | None:
    pair = p.newest()
    if pair is None or not len(p.grid.columns):
        return None
    now, before = p.grid.loc[pair[0]], p.grid.loc[pair[1]]
    frame = pandas.DataFrame({"now": now, "before": before})
    frame["change"] = frame["now"] - frame["before"]
    frame["relative"] = (frame["change"] / frame["before"]).where((frame["before"] > 0) & (frame["now"] >= 0))
    frame = frame.dropna(how="all", subset=["now", "before"])
    return frame.sort_values("now", ascending=False)


def _change_table(p: Periods, frame: pandas.DataFrame, what: str) -> str:
    say, places, pair = p.speech, digits(p), p.newest()
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
    say, places = p.speech, digits(p)
    rows = []
    for at, (period, v) in enumerate(p.total.items()):
        before = p.total.iloc[at - 1] if at else float("nan")
        both = at > 0 and p.complete.iloc[at] and p.complete.iloc[at - 1]
        part = "" if p.complete.iloc[at] else say.pick(" (incomplete)", " (неполный)")
        if pandas.isna(v):
            part = say.pick(" (no rows)", " (нет строк)")
        rows.append([p.name(period) + part, say.number(v, places), say.percent(relative(v, before), sign=True) if both else "–"])
    return table(
        [say.pick(GRAINS[p.grain][0].capitalize(), GRAINS[p.grain][2].capitalize()), what, say.pick("Change", "Изменение")],
        rows,
        numbers=(1, 2),
    )


def _write(p: Periods, wish: wishes.Wish, work: Job, notes: list[str]) -> None:
    say = work.speech
    what = wish.measures[0] if wish.measures and wish.aggregate in ("sum", "last") else wish.heading(say)
    by = wish.dimensions[0] if wish.dimensions else ""
    change = _change_frame(p)
    pictures = _pictures(p, what, by, change)
    _workbook(p, what, by, change, notes, say)

    for period, whole in p.complete.items():
        if not whole:
            notes.append(
                say.pick(f"{p.name(period)} is incomplete and not compared", f"{p.name(period)}: период неполный, не сравнивается")
            )
    findings = stand_out(p, wish)
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
    if change is not None and pair and change["change"].notna().sum() > 1:
        alt = say.pick(
            f"{what}, change: {p.name(pair[0])} against {p.name(pair[1])}", f"{what}, изменение: {p.name(pair[0])} к {p.name(pair[1])}"
        )
        made.append(
            (
                charts.save(
                    charts.bars(change["change"].dropna(), title=alt, value=what, rest="drop", language=say.language),
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
                say.pick("Change", "Изменение"): [relative(v, b) for v, b in zip(p.total, p.total.shift())],
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
                totals=[names[1], names[2], names[3]] if adds_up(p) else False,
                total_label=say.pick("Total", "Итого"),
            )
        if len(p.grid.columns):
            grid = p.grid.copy()
            grid.insert(0, head, grid.index)
            book.table(
                grid,
                sheet=clean(by, 20) or "Groups",
                totals=[str(c) for c in p.grid.columns] if adds_up(p) else False,
                total_label=say.pick("Total", "Итого"),
            )
        if notes:
            book.table(
                pandas.DataFrame({say.pick("Notes on the data", "Замечания о данных"): notes}), sheet=say.pick("Notes", "Замечания")
            )


if __name__ == "__main__":
    main()
