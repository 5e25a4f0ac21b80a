"""Choose and draw charts of a table by what a request says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable

import pandas
from matplotlib.figure import Figure

from sandpiper import answer, charts, refuse, wishes
from sandpiper.inputs import Job, concerning, job, merged
from sandpiper.markdown import escape
from sandpiper.speech import Speech
from sandpiper.words import clean

OUT = "/workspace/out"
KINDS = (
    ("histogram", r"histogram|distribution|spread|гистограм|распределен"),
    ("scatter", r"scatter|correlat|\bversus\b|\bvs\b|against|рассеян|корреляц|зависимост"),
    ("heat", r"heat\s?map|matrix|теплов|матриц"),
    ("stacked", r"stacked|composition|структур|накопл|составе"),
    ("pie", r"\bpie\b|share|доля|доли|кругов"),
    ("line", r"\blines?\b|trend|over time|timeline|динамик|тренд|во времени|линейн"),
    ("column", r"column|столбик|столбчат"),
    ("bar", r"\bbars?\b|rank|top\s?\d|топ|горизонтальн"),
)


@dataclass
class Drawn:
    """One finished chart: what it shows, and the sentence with its main figures."""

    figure: Figure
    title: str
    sentence: str


def main() -> None:
    work = job(
        __doc__ or "",
        kind="line, bar, column, stacked, histogram, scatter or heat",
        value="measure",
        by="dimension",
        date="date column",
        grain="day, week, month, quarter or year",
    )
    frame, left = merged(work.tables())
    wish = wishes.understand(work.text, frame)
    _override(frame, wish, work)
    kinds = _kinds(frame, wish, work)
    if not kinds:
        refuse(
            work.speech.pick(
                "There is no column of numbers or of names that repeat, so there is nothing to draw.",
                "Нет ни чисел, ни повторяющихся названий: рисовать нечего.",
            )
        )
    artist = Artist(frame, wish, work.speech)
    parts, wrong = [], []
    for n, kind in enumerate(kinds, start=1):
        drawn = artist.draw(kind)
        wrong += charts.faults(drawn.figure)
        charts.save(drawn.figure, f"{OUT}/chart-{n}.png")
        parts.append(f"**{escape(drawn.title, 160)}** (`chart-{n}.png`). {drawn.sentence}")
    say = work.speech
    parts.append(say.pick("Understood as: ", "Понято так: ") + wish.told(say) + ".")
    parts += _notes(frame, wish, say)
    if re.search(KINDS[4][1], work.text, re.IGNORECASE) and "bar" in kinds:
        parts.append(
            say.pick(
                "Shares are drawn as bars: they compare better than the slices of a pie.",
                "Доли показаны полосами: их легче сравнить, чем секторы круга.",
            )
        )
    if left:
        parts.append(
            say.pick("Left out, for its columns differ: ", "Не вошло, столбцы другие: ")
            + ", ".join(escape(t.name) for t in left)
            + "."
        )
    if wrong:
        parts.append(say.pick("Some labels did not find room.", "Некоторым подписям не хватило места."))
    answer("\n\n".join(parts))


def _notes(frame: pandas.DataFrame, wish: wishes.Wish, say: Speech) -> list[str]:
    """What the reader noticed about the columns that are drawn."""
    found = concerning(frame, {*wish.measures, *wish.dimensions, wish.date} - {""})
    return [say.pick("Notes: ", "Замечания: ") + "; ".join(escape(n, 160) for n in found) + "."] if found else []


def _override(frame: pandas.DataFrame, wish: wishes.Wish, work: Job) -> None:
    options = work.options
    for name in filter(None, (options.value, options.by, options.date)):
        if name not in frame.columns:
            refuse(f"There is no column {name!r}; there are: {', '.join(map(str, frame.columns))}")
    if options.value:
        wish.measures, wish.aggregate = [options.value], "mean" if wishes.is_rate(frame, options.value) else "sum"
        wish.unused = []
    if options.by:
        wish.dimensions = [options.by]
    wish.date = options.date or wish.date
    wish.grain = options.grain or wish.grain


def _kinds(frame: pandas.DataFrame, wish: wishes.Wish, work: Job) -> list[str]:
    """The charts to draw: the kind that is named, the one that fits, or up to three."""
    roles = wishes.roles(frame)
    named = work.options.kind or next(
        (kind for kind, pattern in KINDS if re.search(pattern, work.text, re.IGNORECASE)), ""
    )
    able = {
        "line": bool(wish.date),
        "histogram": bool(wish.measures),
        "scatter": len(roles.measures) > 1,
        "bar": bool(wish.dimensions or roles.dimensions),
        "heat": len(wish.dimensions or roles.dimensions) > 1
        or bool(wish.date and (wish.dimensions or roles.dimensions)),
    }
    able["column"] = able["line"] or able["bar"]
    able["stacked"] = able["heat"]
    if named == "pie":
        named = "bar"
    if named and not able.get(named, False) and work.options.kind:
        refuse(f"There are no columns for a chart of kind {named}.")
    if named and able.get(named, False):
        return [named]
    if wish.grain:
        return ["line"]
    if len(wish.dimensions) > 1 and able["heat"]:
        return ["heat"]
    if wish.dimensions:
        return ["bar"]
    return [kind for kind in ("line", "bar", "histogram") if able[kind]][:3]


class Artist:
    """Draws one table's charts after one wish."""

    def __init__(self, frame: pandas.DataFrame, wish: wishes.Wish, speech: Speech) -> None:
        self.frame, self.wish, self.say = wishes.in_order(frame, wish.date), wish, speech
        frame = self.frame
        self.roles = wishes.roles(frame)
        measure = wish.measures[0] if wish.measures else ""
        self.what = wish.heading(speech)
        self.plain = speech.heading(clean(measure)) if measure else self.what
        self.values = frame[measure].astype("float64") if measure else pandas.Series(1.0, index=frame.index)
        self.how = "sum" if wish.aggregate == "count" else wish.aggregate
        self.adds = self.how == "sum"

    def draw(self, kind: str) -> Drawn:
        makers: dict[str, Callable[[], Drawn]] = {
            "line": self._line,
            "column": self._column,
            "bar": self._bar,
            "histogram": self._histogram,
            "scatter": self._scatter,
            "heat": self._heat,
            "stacked": self._stacked,
        }
        return makers[kind]()

    def _dimension(self, n: int = 0) -> str:
        """The n-th dimension asked for, or the n-th the table has with 2 to 30 values."""
        if n < len(self.wish.dimensions):
            return self.wish.dimensions[n]
        able = [
            d for d in self.roles.dimensions if d not in self.wish.dimensions and 2 <= self.frame[d].nunique() <= 30
        ] or self.roles.dimensions
        at = n - len(self.wish.dimensions)
        return able[at] if at < len(able) else ""

    def _names(self, dimension: str) -> pandas.Series:
        column = self.frame[dimension]
        return column.astype("object").where(column.notna(), self.say.pick("(none)", "(пусто)")).astype(str)

    def _over_time(self, by: str = "") -> pandas.DataFrame:
        grain = self.wish.grain or wishes.natural_grain(self.frame[self.wish.date].dropna())
        self.wish.grain = grain
        start = wishes.floor_dates(self.frame[self.wish.date], grain)
        span = pandas.period_range(
            start.min(),
            start.max(),
            freq={"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}[grain],
        ).start_time
        if not by:
            made = wishes.reduced(self.values, start, self.how).to_frame(self.what)
        else:
            made = wishes.reduced(self.values, [start, self._names(by)], self.how).unstack()
        return made.reindex(span)  # a period without rows is a gap, not a zero

    def _title(self, *by: str) -> str:
        named = [clean(b).replace("_", " ") for b in by if b]
        return self.what + (self.say.pick(" by ", ": ") + self.say.listed(named) if named else "")

    def _grain_word(self) -> str:
        words = {
            "day": ("day", "дни"),
            "week": ("week", "недели"),
            "month": ("month", "месяцы"),
            "quarter": ("quarter", "кварталы"),
            "year": ("year", "годы"),
        }
        return self.say.pick(*words[self.wish.grain])

    def _line(self) -> Drawn:
        by = self.wish.dimensions[0] if self.wish.dimensions else ""
        data = self._over_time(by)
        title = self._title(by, self._grain_word())
        line = data.stack().dropna()
        high, low = line.idxmax(), line.idxmin()
        sentence = (
            self.say.pick("Greatest: ", "Наибольшее: ")
            + f"{self.say.number(line[high])} ({self._place(high, by)}); "
            + self.say.pick("least: ", "наименьшее: ")
            + f"{self.say.number(line[low])} ({self._place(low, by)})."
        )
        return Drawn(charts.lines(data, title=title, value=self.what, language=self.say.language), title, sentence)

    def _place(self, at: tuple[pandas.Timestamp, str], by: str) -> str:
        """Where a drawn point stands: its period, and its line where there are several."""
        return f"{escape(at[1])}, {self._when(at[0])}" if by else self._when(at[0])

    def _when(self, moment: pandas.Timestamp) -> str:
        return (
            self.say.month(moment)
            if self.wish.grain in ("month", "quarter")
            else str(moment.year)
            if self.wish.grain == "year"
            else self.say.day(moment)
        )

    def _grouped(self, by: str) -> pandas.Series:
        return wishes.reduced(self.values, self._names(by), self._by_name()).dropna()

    def _by_name(self) -> str:
        """How values are put together where not by time: the last row of a name is no answer."""
        return "mean" if self.how == "last" else self.how

    def _bar(self) -> Drawn:
        by = self._dimension()
        data = self._grouped(by)
        title = self._title(by)
        figure = charts.bars(
            data,
            title=title,
            value=self.what,
            rest="sum" if self.adds else "drop",
            limit=self.wish.top or charts.MAX_BARS,
            language=self.say.language,
        )
        return Drawn(figure, title, self._extremes(data))

    def _extremes(self, data: pandas.Series) -> str:
        high, low = data.idxmax(), data.idxmin()
        text = (
            self.say.pick("Greatest: ", "Наибольшее: ")
            + f"{escape(high)}, {self.say.number(data[high])}; "
            + self.say.pick("least: ", "наименьшее: ")
            + f"{escape(low)}, {self.say.number(data[low])}"
        )
        if self.adds and (data >= 0).all() and data.sum():
            text += (
                self.say.pick("; total ", "; всего ")
                + self.say.number(float(data.sum()))
                + self.say.pick(
                    f", of which the greatest is {self.say.percent(data[high] / data.sum())}",
                    f", доля наибольшего {self.say.percent(data[high] / data.sum())}",
                )
            )
        return text + "."

    def _column(self) -> Drawn:
        if self.wish.grain or not (self.wish.dimensions or self.roles.dimensions):
            data = self._over_time(self.wish.dimensions[0] if self.wish.dimensions else "")
            title = self._title(*(self.wish.dimensions[:1]), self._grain_word())
            return Drawn(
                charts.columns(data, title=title, value=self.what, rest="sum" if self.adds else "drop", language=self.say.language),
                title,
                self._extremes(data.sum(axis=1, min_count=1).dropna().rename(index=self._when))
                if self.adds
                else self._cells(data.rename(index=self._when)),
            )
        by = self._dimension()
        data = self._grouped(by)
        title = self._title(by)
        return Drawn(
            charts.columns(data, title=title, value=self.what, rest="sum" if self.adds else "drop", language=self.say.language), title, self._extremes(data)
        )

    def _crossing(self) -> tuple[pandas.DataFrame, str]:
        first = self._dimension()
        if self.wish.date and (self.wish.grain or len(self.wish.dimensions) < 2 and not self._dimension(1)):
            made = self._over_time(first)
            made.index = [self._when(m) for m in made.index]
            return made.T, self._title(first, self._grain_word())
        second = self._dimension(1)
        made = wishes.reduced(self.values, [self._names(first), self._names(second)], self._by_name()).unstack()
        order = (made.sum(axis=1) if self.adds else made.mean(axis=1)).sort_values(ascending=False).index
        return made.loc[order], self._title(first, second)

    def _heat(self) -> Drawn:
        data, title = self._crossing()
        return Drawn(
            charts.heat(data, title=title, language=self.say.language),
            title,
            self._extremes(data.sum(axis=1)) if self.adds else self._cells(data),
        )

    def _stacked(self) -> Drawn:
        data, title = self._crossing()
        flat = data.T
        if self.adds:
            figure = charts.columns(flat, title=title, value=self.what, stacked=True, language=self.say.language)
            return Drawn(figure, title, self._extremes(data.sum(axis=1)))
        figure = charts.columns(flat, title=title, value=self.what, rest="drop", language=self.say.language)
        why = self.say.pick(
            "Averages do not add up, so the columns stand side by side.",
            "Средние не складываются, поэтому столбцы стоят рядом.",
        )
        return Drawn(figure, title, f"{self._cells(data)} {why}")

    def _cells(self, data: pandas.DataFrame) -> str:
        """The extremes of a crossing whose cells do not add up."""
        cells = data.stack().dropna()
        high, low = cells.idxmax(), cells.idxmin()
        place = (lambda at: escape(str(at[0]))) if len(data.columns) == 1 else (lambda at: f"{escape(str(at[0]))}, {escape(str(at[1]))}")
        return (
            self.say.pick("Greatest: ", "Наибольшее: ")
            + f"{self.say.number(cells[high])} ({place(high)}); "
            + self.say.pick("least: ", "наименьшее: ")
            + f"{self.say.number(cells[low])} ({place(low)})."
        )

    def _histogram(self) -> Drawn:
        values = self.values.dropna()
        title = self.say.pick(f"Distribution of {self.plain}", f"Распределение: {self.plain}")
        sentence = (
            self.say.pick("Median ", "Медиана ")
            + self.say.number(float(values.median()))
            + self.say.pick(", mean ", ", среднее ")
            + self.say.number(float(values.mean()))
            + self.say.pick(", from ", ", от ")
            + self.say.number(float(values.min()))
            + self.say.pick(" to ", " до ")
            + self.say.number(float(values.max()))
            + "."
        )
        return Drawn(
            charts.histogram(values, title=title, value=self.plain, language=self.say.language), title, sentence
        )

    def _scatter(self) -> Drawn:
        named = [m for m in self.wish.measures if m in self.roles.measures]
        x, y = (named + [m for m in self.roles.measures if m not in named])[:2]
        title = self.say.pick(
            f"{self.say.heading(clean(y))} against {clean(x)}", f"{self.say.heading(clean(y))} и {clean(x)}"
        )
        pair = self.frame[[x, y]].astype("float64").dropna()
        r = float(pair[x].corr(pair[y])) if len(pair) > 2 else float("nan")
        sentence = (
            self.say.pick("Correlation ", "Корреляция ")
            + self.say.number(r, 2)
            + self.say.pick(
                f" over {self.say.count(len(pair), 'row', 'rows')}.", f", строк: {self.say.number(len(pair), 0)}."
            )
        )
        return Drawn(
            charts.scatter(
                pair[x],
                pair[y],
                title=title,
                x_name=self.say.heading(clean(x)),
                y_name=self.say.heading(clean(y)),
                language=self.say.language,
            ),
            title,
            sentence,
        )


if __name__ == "__main__":
    main()
