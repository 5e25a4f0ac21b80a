"""A pivot table as a formatted workbook, a picture and a short answer."""

from __future__ import annotations

from dataclasses import dataclass

import pandas

from sandpiper import answer, charts, excel, refuse, wishes
from sandpiper.inputs import Job, concerning, job, merged
from sandpiper.markdown import escape, table
from sandpiper.speech import Speech
from sandpiper.words import clean

AGGREGATES = ("sum", "mean", "median", "count", "min", "max")
MOST_ROWS, MOST_COLUMNS = 200, 30
SHOWN_ROWS, SHOWN_COLUMNS = 15, 8
OUT = "/workspace/out"


@dataclass
class Pivot:
    """The finished crossing; ``grid`` has no totals in it."""

    grid: pandas.DataFrame
    row_totals: pandas.Series
    column_totals: pandas.Series
    total: float
    rows: str
    columns: str
    speech: Speech
    names: tuple[str, str]  # how rows and columns are called in titles

    @property
    def crossed(self) -> bool:
        return bool(self.columns)

    def title(self, what: str) -> str:
        """ "Revenue by region and month"."""
        return what + self.speech.pick(" by ", ": ") + self.speech.listed([n for n in self.names if n])


def main() -> None:
    work = job(
        __doc__ or "",
        rows="column for the rows",
        columns="column for the columns",
        value="measure",
        aggregate=", ".join(AGGREGATES),
        grain="day, week, month, quarter or year",
    )
    frame, left = merged(work.tables())
    wish = wishes.understand(work.text, frame)
    rows, columns = _layout(frame, wish, work)
    pivot = _pivot(frame, wish, rows, columns, work.speech)
    picture = _picture(pivot, wish)
    _workbook(pivot, frame, wish)
    _answer(pivot, wish, work, [t.name for t in left], picture, concerning(frame, {rows, columns, *wish.measures}))


def _layout(frame: pandas.DataFrame, wish: wishes.Wish, work: Job) -> tuple[str, str]:
    """Which columns go down and across; the options win over the request."""
    options, say = work.options, work.speech
    for name in filter(None, (options.rows, options.columns, options.value)):
        if name not in frame.columns:
            refuse(f"There is no column {name!r}; there are: {', '.join(map(str, frame.columns))}")
    if options.aggregate and options.aggregate not in AGGREGATES:
        refuse(f"aggregate is one of {', '.join(AGGREGATES)}")
    wish.aggregate = options.aggregate or ("mean" if wish.aggregate == "last" else wish.aggregate)
    wish.grain = options.grain or wish.grain
    if options.value:
        wish.measures = [options.value]
    if wish.aggregate == "count":
        wish.measures = []
    wish.measures = wish.measures[:1]
    wanted = [d for d in wish.dimensions if d not in wish.measures]
    if not wanted and not wish.grain:
        able = [d for d in wishes.roles(frame).dimensions if 2 <= frame[d].nunique() <= 50]
        wanted = able[:2]
    if wish.grain and wish.date:
        wanted = [d for d in wanted if d != wish.date][:1] + [wish.date]
    rows = options.rows or (wanted[0] if wanted else "")
    rest = [d for d in wanted if d != rows]
    columns = options.columns or (rest[0] if rest else "")
    if not rows:
        refuse(
            say.pick(
                "No column repeats its values, so there is nothing to group by: name the column to group by.",
                "Ни один столбец не повторяет значений, группировать не по чему: назовите столбец.",
            )
        )
    wish.dimensions = [d for d in (rows, columns) if d and d != wish.date]
    if not wish.date or wish.date not in (rows, columns):
        wish.grain = ""
    elif not wish.grain:
        wish.grain = wishes.natural_grain(frame[wish.date].dropna())
    return rows, columns


def _keys(
    frame: pandas.DataFrame, name: str, wish: wishes.Wish, speech: Speech, most: int, size: pandas.Series
) -> pandas.Series:
    """The grouping values of a column, as categories in the order they are shown."""
    column = frame[name]
    if wish.grain and name == wish.date:
        return wishes.floor_dates(column, wish.grain)
    none = speech.pick("(none)", "(пусто)")
    if pandas.api.types.is_datetime64_any_dtype(column):
        texts = column.dt.strftime("%Y-%m-%d").fillna(none)
    else:
        texts = column.map(lambda v: none if pandas.isna(v) else clean(str(v), 100))
    by_size = size.abs().groupby(texts).sum().sort_values(ascending=False, kind="stable")
    order = sorted(by_size.index) if pandas.api.types.is_numeric_dtype(column) else list(by_size.index)
    if len(order) > most:
        kept = set(by_size.index[: most - 1])
        other = speech.pick("Other", "Прочие") + f" ({len(order) - most + 1})"
        texts = texts.where(texts.isin(kept), other)
        order = [o for o in order if o in kept] + [other]
    return pandas.Series(pandas.Categorical(texts, categories=order, ordered=True), index=frame.index)


def _pivot(frame: pandas.DataFrame, wish: wishes.Wish, rows: str, columns: str, speech: Speech) -> Pivot:
    measure = frame[wish.measures[0]].astype("float64") if wish.measures else pandas.Series(1.0, index=frame.index)
    how = "sum" if wish.aggregate == "count" else wish.aggregate
    down = _keys(frame, rows, wish, speech, MOST_ROWS, measure)
    grid_of = [down]
    if columns:
        grid_of.append(_keys(frame, columns, wish, speech, MOST_COLUMNS, measure))

    def reduce(by: list[pandas.Series]) -> pandas.Series:
        return wishes.reduced(measure, by, how)

    row_totals = reduce([down])
    if columns:
        grid = reduce(grid_of).unstack()
        column_totals = reduce([grid_of[1]])
        grid = grid.reindex(
            columns=sorted(grid.columns)
            if columns == wish.date
            else [c for c in grid_of[1].cat.categories if c in grid.columns]
        )
        column_totals = column_totals.reindex(grid.columns)
    else:
        grid, column_totals = pandas.DataFrame(index=row_totals.index), pandas.Series(dtype=float)
    grid = grid.reindex(row_totals.index)
    total = float(measure.sum() if how == "sum" else measure.agg(how))
    name = _period_namer(wish, speech)
    if columns == wish.date and wish.grain:
        grid.columns = column_totals.index = [name(c) for c in grid.columns]
    if rows == wish.date and wish.grain:
        grid.index = row_totals.index = [name(r) for r in row_totals.index]
    grain = {
        "day": ("day", "дни"),
        "week": ("week", "недели"),
        "month": ("month", "месяцы"),
        "quarter": ("quarter", "кварталы"),
        "year": ("year", "годы"),
    }
    called = [
        speech.pick(*grain[wish.grain]) if c == wish.date and wish.grain else clean(c).replace("_", " ")
        for c in (rows, columns)
    ]
    return Pivot(grid, row_totals, column_totals, total, rows, columns, speech, (called[0], called[1]))


def _period_namer(wish: wishes.Wish, speech: Speech):
    def name(when: pandas.Timestamp) -> str:
        if wish.grain == "month":
            return speech.month(when)
        if wish.grain == "year":
            return str(when.year)
        if wish.grain == "quarter":
            return speech.pick(f"Q{when.quarter} {when.year}", f"{when.quarter} кв. {when.year}")
        return speech.day(when)

    return name


def _what(wish: wishes.Wish, speech: Speech) -> str:
    return wish.heading(speech)


def _picture(p: Pivot, wish: wishes.Wish) -> str:
    say, what = p.speech, _what(wish, p.speech)
    title = p.title(what)
    adds = wish.aggregate in ("sum", "count")
    if p.crossed:
        figure = charts.heat(p.grid, title=title, language=say.language)
    elif p.rows == wish.date:
        figure = (charts.columns if len(p.row_totals) <= 26 else charts.lines)(
            p.row_totals, title=title, value=what, language=say.language
        )
    else:
        figure = charts.bars(
            p.row_totals, title=title, value=what, rest="sum" if adds else "drop", language=say.language
        )
    charts.save(figure, f"{OUT}/pivot.png")
    return title


def _workbook(p: Pivot, frame: pandas.DataFrame, wish: wishes.Wish) -> None:
    say, what = p.speech, _what(wish, p.speech)
    total = say.pick("Total", "Итого") if wish.aggregate in ("sum", "count") else say.pick("All", "Все")
    flat = p.grid.copy()
    flat.columns = [str(c).replace("\u00a0", " ") for c in flat.columns]
    flat[total if p.crossed else what] = p.row_totals.to_numpy()
    flat.insert(0, str(p.rows), [str(i).replace("\u00a0", " ") for i in p.grid.index])
    last = flat.columns[-1]
    bottom = {str(k).replace("\u00a0", " "): float(v) for k, v in p.column_totals.items()} | {last: p.total}
    adds = wish.aggregate in ("sum", "count")
    with excel.Workbook(f"{OUT}/pivot.xlsx", title=what) as book:
        page = book.table(
            flat,
            sheet=say.pick("Pivot", "Сводная"),
            title=p.title(what),
            totals=[c for c in flat.columns[1:]] if adds else bottom,
            total_label=total,
        )
        page.conditional_format(
            3,
            len(flat.columns) - 1,
            2 + len(flat),
            len(flat.columns) - 1,
            {"type": "data_bar", "bar_color": "#9DC3E6", "bar_solid": True},
        )
        book.table(frame, sheet=say.pick("Data", "Данные"))


def _answer(p: Pivot, wish: wishes.Wish, work: Job, left: list[str], title: str, notes: list[str]) -> None:
    say, what = p.speech, _what(wish, p.speech)
    values = pandas.concat([p.grid.stack() if p.crossed else p.row_totals, pandas.Series([p.total])]).dropna().abs()
    digits = 0 if (values == values.round()).all() or values.median() >= 1000 else 2
    total = say.pick("Total", "Итого") if wish.aggregate in ("sum", "count") else say.pick("All", "Все")
    shown = list(p.grid.columns[:SHOWN_COLUMNS])
    head = [p.rows, *shown, total if p.crossed else what]
    rows = [
        [name, *(say.number(v, digits) for v in p.grid.loc[name, shown]), say.number(p.row_totals[name], digits)]
        for name in p.grid.index[:SHOWN_ROWS]
    ]
    rows.append([total, *(say.number(p.column_totals[c], digits) for c in shown), say.number(p.total, digits)])
    parts = [f"**{escape(title)}**", table(head, rows, numbers=range(1, len(head)))]
    more = max(len(p.grid) - SHOWN_ROWS, 0), max(len(p.grid.columns) - SHOWN_COLUMNS, 0)
    if any(more):
        parts.append(
            say.pick(
                f"{more[0]} more rows and {more[1]} more columns are in the workbook.",
                f"Ещё строк: {more[0]}, столбцов: {more[1]} — в файле.",
            )
        )
    parts.append(say.pick("Understood as: ", "Понято так: ") + wish.told(say) + ".")
    if notes:
        parts.append(say.pick("Notes: ", "Замечания: ") + "; ".join(escape(n, 160) for n in notes) + ".")
    if left:
        parts.append(
            say.pick("Left out, for its columns differ: ", "Не вошло, столбцы другие: ")
            + ", ".join(escape(n) for n in left)
            + "."
        )
    answer("\n\n".join(parts))


if __name__ == "__main__":
    main()
