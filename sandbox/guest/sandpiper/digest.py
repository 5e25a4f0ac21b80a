"""A table told in a few sentences, pictures and one small table.

What documents and slides are made of when nobody has written their text: the
measure over time, by the dimensions, and its greatest parts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pandas

from . import charts, wishes
from .inputs import Job, concerning, merged
from .markdown import escape
from .speech import Speech
from .words import clean

WORK = "/workspace/work"  # pictures that go into documents, not beside them
MOST_ROWS = 8


@dataclass(slots=True)
class Picture:
    """``path`` is relative to /workspace; ``headline`` says what is seen in it."""

    path: str
    headline: str
    alt: str


@dataclass(slots=True)
class Digest:
    """What there is to tell. Sentences and cells are escaped Markdown."""

    title: str
    period: str
    sentences: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    understood: str = ""
    notes: list[str] = field(default_factory=list)


def make(work: Job) -> Digest:
    """Read the job's tables and tell them. Charts have no titles of their own."""
    frame, left = merged(work.tables())
    say = work.speech
    wish = wishes.understand(work.text, frame)
    if wish.aggregate == "last":  # told by groups too, where the last row is no answer
        wish.aggregate = "mean"
    dimensions = [d for d in wish.dimensions if d != wish.date] or [
        d for d in wishes.roles(frame).dimensions if 2 <= frame[d].nunique() <= 30
    ][:2]
    measure = wish.measures[0] if wish.measures else ""
    values = frame[measure].astype("float64") if measure else pandas.Series(1.0, index=frame.index)
    how = "sum" if wish.aggregate == "count" else wish.aggregate
    what = wish.heading(say)
    if wish.date and not wish.grain:
        wish.grain = wishes.natural_grain(frame[wish.date].dropna())
    wish.dimensions = dimensions[:2]
    made = Digest(
        what
        + (
            say.pick(" by ", ": ") + say.listed([clean(d).replace("_", " ") for d in dimensions[:2]])
            if dimensions
            else ""
        ),
        _period(frame, wish, say),
    )
    made.understood = wish.told(say)
    made.notes = concerning(frame, {*wish.measures, *wish.dimensions, wish.date} - {""})
    made.notes += [
        say.pick("left out, for its columns differ: ", "не вошло, столбцы другие: ") + clean(t.name) for t in left
    ]
    total = float(values.agg(how))
    word = say.pick(
        {"sum": "in all", "mean": "on average"}.get(how, how), {"sum": "всего", "mean": "в среднем"}.get(how, "")
    )
    made.sentences.append(f"**{escape(what)}**: **{say.short(total)}** {word}, " + _rows(len(frame), say) + ".")
    os.makedirs(WORK, exist_ok=True)
    if wish.date:
        _over_time(made, values, frame, wish, what, how, say)
    for n, dimension in enumerate(dimensions[:2]):
        _by(made, values, frame[dimension], n, what, how, say)
    return made


def _rows(n: int, say: Speech) -> str:
    return say.count(n, "row", "rows") if say.language == "en" else say.count(n, "строка", "строки", "строк")


def _period(frame: pandas.DataFrame, wish: wishes.Wish, say: Speech) -> str:
    if not wish.date or frame[wish.date].notna().sum() == 0:
        return ""
    return f"{say.day(frame[wish.date].min())} – {say.day(frame[wish.date].max())}"


def _over_time(
    made: Digest, values: pandas.Series, frame: pandas.DataFrame, wish: wishes.Wish, what: str, how: str, say: Speech
) -> None:
    start = wishes.floor_dates(frame[wish.date], wish.grain)
    line = wishes.reduced(values, start, how).dropna()
    if len(line) < 2:
        return
    draw = charts.columns if len(line) <= 14 else charts.lines
    path = charts.save(draw(line.rename(what), value=what, language=say.language), f"{WORK}/over-time.png")
    high, low = line.idxmax(), line.idxmin()

    def when(m: pandas.Timestamp) -> str:
        if wish.grain == "week":
            return say.pick("the week of ", "неделя с ") + say.day(m)
        return (
            say.month(m) if wish.grain in ("month", "quarter") else str(m.year) if wish.grain == "year" else say.day(m)
        )

    at = "on" if wish.grain == "day" else "in"
    headline = say.pick(f"{what} was highest {at} {when(high)}", f"{what}: наибольшее значение — {when(high)}")
    made.pictures.append(
        Picture(os.path.relpath(path, "/workspace"), headline, say.pick(f"{what} over time", f"{what} во времени"))
    )
    made.sentences.append(
        say.pick("Greatest: ", "Наибольшее: ")
        + f"**{say.short(float(line[high]))}** ({when(high)}); "
        + say.pick("least: ", "наименьшее: ")
        + f"{say.short(float(line[low]))} ({when(low)})."
    )


def _by(made: Digest, values: pandas.Series, column: pandas.Series, n: int, what: str, how: str, say: Speech) -> None:
    names = column.astype("object").where(column.notna(), say.pick("(none)", "(пусто)")).astype(str)
    parts = wishes.reduced(values, names, how).dropna().sort_values(ascending=False)
    if len(parts) < 2:
        return
    label = clean(str(column.name)).replace("_", " ")
    shares = how == "sum" and bool((parts >= 0).all()) and float(parts.sum()) > 0
    path = charts.save(
        charts.bars(parts, value=what, rest="sum" if how == "sum" else "drop", limit=10, language=say.language),
        f"{WORK}/by-{n + 1}.png",
    )
    top = clean(str(parts.index[0]), 60)
    headline = (
        say.pick(
            f"{top} leads with {say.percent(parts.iloc[0] / parts.sum(), 0)} of {say.within(what)}",
            f"{top}: {say.percent(parts.iloc[0] / parts.sum(), 0)} — {what}",
        )
        if shares and parts.iloc[0] > 1.15 * parts.sum() / len(parts)
        else say.pick(f"{top} has the highest {say.within(what)}", f"{top}: наибольшее — {what}")
    )
    made.pictures.append(
        Picture(os.path.relpath(path, "/workspace"), headline, say.pick(f"{what} by {label}", f"{what}: {label}"))
    )
    made.sentences.append(escape(headline, 160) + f" ({say.short(float(parts.iloc[0]))}).")
    if n == 0:
        made.head = [say.heading(label), what] + ([say.pick("Share", "Доля")] if shares else [])
        total = float(parts.sum())
        for name, v in parts.head(MOST_ROWS).items():
            made.rows.append(
                [escape(name, 40), say.number(float(v), 0 if parts.abs().max() >= 1000 else None)]
                + ([say.percent(float(v) / total)] if shares else [])
            )
        if len(parts) > MOST_ROWS and shares:
            rest = float(parts.iloc[MOST_ROWS:].sum())
            made.rows.append(
                [
                    say.pick(f"Other ({len(parts) - MOST_ROWS})", f"Прочие ({len(parts) - MOST_ROWS})"),
                    say.number(rest, 0),
                    say.percent(rest / total),
                ]
            )


def table(made: Digest) -> str:
    """The digest's table as Markdown; its cells are escaped already."""
    if not made.rows:
        return ""
    lines = ["| " + " | ".join(escape(h, 40) for h in made.head) + " |", "|---|" + "---:|" * (len(made.head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in made.rows])
