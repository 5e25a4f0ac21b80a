"""How the parts of a chart find room: ticks, labels, and what is wrong with them.

Sizes are pixels of the figure's own resolution. ``faults`` is the judge that
the gallery's tests use: text that overlaps text, or leaves the picture.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.dates as mdates
import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox

from .speech import Speech
from .words import clean

_GREY = "#8C8C8C"  # of lines that only help the eye
_TOUCH = 1.0  # pixels that boxes may share before they count as overlapping


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a picture: ``kind`` is "overlap" or "cut"."""

    kind: str
    text: str
    other: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text!r}" + (f" and {self.other!r}" if self.other else "")


def faults(figure: Figure) -> list[Fault]:
    """What a reader would stumble over in a figure, as it is drawn now."""
    figure.canvas.draw()
    boxes = [(text, box) for text in texts(figure) if (box := _box(text)) is not None]
    frame = figure.bbox
    found = [
        Fault("cut", text.get_text())
        for text, box in boxes
        if box.x0 < frame.x0 - _TOUCH
        or box.y0 < frame.y0 - _TOUCH
        or box.x1 > frame.x1 + _TOUCH
        or box.y1 > frame.y1 + _TOUCH
    ]
    boxes.sort(key=lambda pair: pair[1].x0)
    for at, (text, box) in enumerate(boxes):
        for other, other_box in boxes[at + 1 :]:
            if other_box.x0 > box.x1 - _TOUCH:
                break
            if min(box.y1, other_box.y1) - max(box.y0, other_box.y0) > _TOUCH:
                found.append(Fault("overlap", text.get_text(), other.get_text()))
    return found


def texts(figure: Figure) -> list[Text]:
    """All visible texts once; tick labels that lie outside their axis are not drawn."""
    hidden: set[int] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            drawn = (
                {id(tick) for tick in axis._update_ticks()} if axes.axison else set()
            )  # noqa: SLF001 - the only list of drawn ticks
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if id(tick) not in drawn:
                    hidden |= {id(tick.label1), id(tick.label2)}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and id(t) not in hidden]


def _box(text: Text) -> Bbox | None:
    # Text of its own: an annotation's extent holds its arrow's too.
    box = Text.get_window_extent(text)
    return box if box.width > 0 and box.height > 0 else None


def label(text: Any, width: int, lines: int = 1) -> str:
    """A name fit for a chart: cleaned, at most ``lines`` lines of ``width`` cells."""
    plain = clean(str(text), 400) or "–"
    if lines == 1 or cells(plain) <= width:
        return elide(plain, width)
    wrapped = _wrap(plain, width)
    if len(wrapped) > lines:
        wrapped = [*wrapped[: lines - 1], elide(" ".join(wrapped[lines - 1 :]), width)]
    return "\n".join(elide(line, width) for line in wrapped)


def cells(text: str) -> int:
    """Width in cells: wide characters (CJK, emoji) take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def elide(text: str, width: int) -> str:
    """Text cut to ``width`` cells, with an ellipsis when something is gone."""
    if cells(text) <= width:
        return text
    kept, used = [], 1
    for c in text:
        used += cells(c)
        if used > width:
            break
        kept.append(c)
    return "".join(kept).rstrip() + "…"


def _wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` cells; text without blanks breaks anywhere."""
    lines = []
    for line in textwrap.wrap(text, width, break_long_words=False) or [text]:
        while cells(line) > width:
            head = elide(line, width + 1).rstrip("…")
            lines.append(head)
            line = line[len(head) :].lstrip()
        if line:
            lines.append(line)
    return lines


def title_lines(figure: Figure, text: str, size: float) -> str:
    """A title wrapped to the figure's width, at most three lines."""
    probe = figure.text(0, 0, text, fontsize=size, fontweight="bold")
    try:
        room = figure.bbox.width * 0.96
        wide = max(probe.get_window_extent().width, 1)
        if wide <= room:
            return text
        each = max(int(cells(text) * room / wide) - 2, 8)
        lines = _wrap(text, each)
        if len(lines) > 3:
            lines = [*lines[:2], elide(" ".join(lines[2:]), each)]
        return "\n".join(lines)
    finally:
        probe.remove()


def number_axis(axis: Axis, speech: Speech, values: numpy.ndarray, *, percent: bool = False) -> str:
    """Give an axis ticks with thousands marks; returns the scale's name ("million").

    Huge values are told in millions and so on, the same for all ticks, so that
    the axis' label carries the word once.
    """
    finite = numpy.abs(values[numpy.isfinite(values)])
    greatest = float(finite.max()) if finite.size else 0.0
    scale, name = (1.0, "") if percent else speech.scale(greatest)
    whole = bool(finite.size) and bool(numpy.all(finite == numpy.round(finite))) and not percent
    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10], integer=whole and greatest < 20))

    def shown(value: float, _position: Any = None) -> str:
        if percent:
            return speech.percent(value, 0 if greatest >= 0.1 else 1)
        return speech.number(_rounded(value / scale, greatest / scale))

    axis.set_major_formatter(FuncFormatter(shown))
    return name


def log_axes(axes: Axes, speech: Speech) -> None:
    """Make both axes logarithmic, with plain numbers at the powers of ten."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(base=10, numticks=9))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _position=None: speech.number(value)))


def _rounded(value: float, greatest: float) -> float:
    """The tick's value without the noise of floating point."""
    if not greatest or not math.isfinite(greatest):
        return value
    return round(value, max(0, 4 - math.floor(math.log10(greatest))))


def date_axis(axes: Axes, speech: Speech, moments: numpy.ndarray) -> None:
    """Give the x axis dates that fit: a few points get their own ticks.

    ``moments`` are matplotlib's day numbers. Labels say the year, month or day
    only where it changes.
    """
    distinct = numpy.unique(moments[numpy.isfinite(moments)])
    if not distinct.size:
        return
    if distinct.size <= 8 and not _crowded(distinct):
        ticks = distinct
    else:
        locator = mdates.AutoDateLocator(minticks=4, maxticks=9)
        first, last = mdates.num2date(distinct[0]), mdates.num2date(distinct[-1])
        ticks = numpy.asarray(locator.tick_values(first, last))
        ticks = ticks[(ticks >= distinct[0] - 1e-9) & (ticks <= distinct[-1] + 1e-9)]
        if not ticks.size:
            ticks = distinct[[0, -1]]
    axes.xaxis.set_major_locator(FixedLocator(ticks.tolist()))
    axes.xaxis.set_major_formatter(FuncFormatter(_date_labels(ticks, speech)))


def _crowded(distinct: numpy.ndarray) -> bool:
    if distinct.size < 2:
        return False
    return bool(numpy.diff(distinct).min() < (distinct[-1] - distinct[0]) / 12)


def _date_labels(ticks: numpy.ndarray, speech: Speech) -> Any:
    """A formatter whose labels have a second line only where it tells something new."""
    moments = [mdates.num2date(t).replace(tzinfo=None) for t in ticks]
    step = float(numpy.diff(ticks).min()) if ticks.size > 1 else 1.0
    midnight = all(m.hour == m.minute == m.second == 0 for m in moments)
    first_of_month = all(m.day == 1 for m in moments) and midnight
    texts: dict[float, str] = {}
    before = None
    for tick, m in zip(ticks, moments, strict=True):
        if first_of_month and step >= 360 and all(x.month == 1 for x in moments):
            texts[float(tick)] = str(m.year)
        elif first_of_month and step >= 27:
            texts[float(tick)] = speech.month(m, year=False) + (
                f"\n{m.year}" if before is None or before.year != m.year else ""
            )
        elif midnight or step >= 2:
            texts[float(tick)] = speech.day(m, year=False) + (
                f"\n{m.year}" if before is None or before.year != m.year else ""
            )
        else:
            clock = f"{m:%H:%M:%S}" if step < 1 / 1440 else f"{m:%H:%M}"
            day = speech.day(m, year=before is None)
            texts[float(tick)] = clock + (f"\n{day}" if before is None or before.date() != m.date() else "")
        before = m

    def shown(value: float, _position: Any = None) -> str:
        return texts.get(float(value), "")

    return shown


def thin(axis: Axis) -> None:
    """Take ticks away until no two labels of an axis touch."""
    for _ in range(6):
        axis.figure.canvas.draw()
        ticks = axis._update_ticks()  # noqa: SLF001 - the only list of drawn ticks
        boxes = [b for t in ticks if t.label1.get_text() and (b := _box(t.label1)) is not None]
        vertical = axis.axis_name == "y"
        boxes.sort(key=lambda b: b.y0 if vertical else b.x0)
        gaps = [(b.y0 - a.y1) if vertical else (b.x0 - a.x1) for a, b in zip(boxes, boxes[1:], strict=False)]
        if not gaps or min(gaps) > 4:
            return
        places = axis.get_majorticklocs()
        axis.set_major_locator(FixedLocator(list(places[::2])))


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as possible to the wanted ones, at least ``gap`` apart.

    Returned in the order of ``wanted``; all within low and high when they fit.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[tuple[float, list[int]]] = []  # centre, members

    def place(members: list[int]) -> float:
        centre = sum(wanted[i] for i in members) / len(members)
        half = gap * (len(members) - 1) / 2
        return min(max(centre, low + half), max(high - half, low + half))

    for i in order:
        groups.append((place([i]), [i]))
        while len(groups) > 1:
            (a, left), (b, right) = groups[-2], groups[-1]
            if b - a >= gap * (len(left) + len(right)) / 2 - 1e-9:
                break
            groups[-2:] = [(place(left + right), left + right)]
    result = [0.0] * len(wanted)
    for centre, members in groups:
        for n, i in enumerate(members):
            result[i] = centre + gap * (n - (len(members) - 1) / 2)
    return result


def value_labels(axes: Axes, places: numpy.ndarray, values: numpy.ndarray, speech: Speech, percent: bool) -> None:
    """Write each bar's value at its end, and make room for it."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    room = (high - low or 1.0) * 0.16
    axes.set_xlim(low - (room if low < 0 else 0), high + (room if high > 0 or low == 0 else 0))
    greatest = float(numpy.abs(values).max())
    digits = 0 if greatest >= 1000 or numpy.all(values == numpy.round(values)) else 1 if greatest >= 100 else 2
    for place, v in zip(places, values, strict=True):
        plain = abs(v) < 1e6 and (abs(v) >= 1 or v == 0 or greatest < 100)
        text = (
            speech.percent(v) if percent else speech.number(v, digits) if plain and greatest >= 0.1 else speech.short(v)
        )
        axes.annotate(
            text,
            (v, place),
            xytext=(4 if v >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if v >= 0 else "right",
            va="center",
            fontsize=9.5,
        )


def along(index: pandas.Index) -> tuple[bool, numpy.ndarray]:
    """Whether the index is dates, and its places as numbers."""
    if isinstance(index, pandas.PeriodIndex):
        index = index.to_timestamp()
    if isinstance(index, pandas.DatetimeIndex):
        return True, mdates.date2num(index.tz_localize(None).to_pydatetime())
    if pandas.api.types.is_numeric_dtype(index):
        return False, index.to_numpy(dtype=float)
    return False, numpy.arange(len(index), dtype=float)


def time_margins(axes: Axes, x: numpy.ndarray, dates: bool) -> None:
    """A little room before the first place and after the last; one place stands in the middle."""
    low, high = float(numpy.nanmin(x)), float(numpy.nanmax(x))
    pad = (high - low) * 0.03 or (1.0 if dates else 0.5)
    axes.set_xlim(low - pad, high + pad)


def value_limits(axes: Axes, values: numpy.ndarray, zero: bool | None) -> None:
    """Limits of the value axis: from zero where that does not flatten the lines, else around them."""
    finite = values[numpy.isfinite(values)]
    low, high = float(finite.min()), float(finite.max())
    if zero is None:
        zero = low >= 0 and (high - low) > 0.25 * high
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    span = (high - low) or abs(high) or 1.0
    axes.set_ylim(low if zero and low == 0 else low - 0.06 * span, high if zero and high == 0 else high + 0.08 * span)
    if low < 0 < high:
        axes.axhline(0, color=_GREY, linewidth=0.8)


def running_ticks(axes: Axes, index: pandas.Index, speech: Speech) -> None:
    """Ticks of an x axis that is no dates: numbers, or names in their order."""
    if pandas.api.types.is_numeric_dtype(index):
        number_axis(axes.xaxis, speech, index.to_numpy(dtype=float))
    else:
        category_ticks(axes, index, speech)


def category_ticks(axes: Axes, index: pandas.Index, speech: Speech) -> None:
    """One tick a place: dates as days or months, names side by side, or upright when they do not fit."""
    room = max(int(92 / max(len(index), 1)), 4)
    if isinstance(index, (pandas.DatetimeIndex, pandas.PeriodIndex)):
        moments = index.to_timestamp() if isinstance(index, pandas.PeriodIndex) else index
        monthly = all(m.day == 1 for m in moments)
        names = [speech.month(m, year=False) if monthly else speech.day(m, year=False) for m in moments]
        names = [
            n + (f"\n{m.year}" if at == 0 or moments[at - 1].year != m.year else "")
            for at, (n, m) in enumerate(zip(names, moments, strict=True))
        ]
    else:
        names = [label(name, room, lines=2) for name in index]
        if any(name.endswith("…") for name in names):  # they do not fit side by side
            axes.set_xticks(range(len(index)), [label(name, 24) for name in index], rotation=90)
            axes.tick_params(axis="x", length=0)
            return
    axes.set_xticks(range(len(index)), names)
    axes.tick_params(axis="x", length=0)


def end_labels(
    axes: Axes, series: list[tuple[numpy.ndarray, numpy.ndarray]], names: list[Any], colours: Sequence[str]
) -> None:
    """Name each line where it ends; names that would touch are moved apart."""
    notes, ends = [], []
    right = axes.get_xlim()[1]
    for order, ((_, y), name) in enumerate(zip(series, names, strict=True)):
        last = numpy.flatnonzero(numpy.isfinite(y))[-1]
        ends.append(float(y[last]))
        notes.append(
            axes.annotate(
                label(name, 22),
                (right, y[last]),
                xytext=(7, 0),
                textcoords="offset points",
                ha="left",
                va="center",
                color=colours[order],
                fontweight="bold",
                annotation_clip=False,
            )
        )
    axes.figure.canvas.draw()
    box = axes.get_window_extent()
    wanted = [float(axes.transData.transform((right, end))[1]) for end in ends]
    gap = max(note.get_window_extent().height for note in notes) * 1.08
    for note, place, want in zip(notes, spread(wanted, gap, box.y0, box.y1), wanted, strict=True):
        note.set_position((7, (place - want) * 72 / axes.figure.dpi))


def fences(values: numpy.ndarray) -> tuple[float, float]:
    """The range worth showing: all, unless a few far values would squeeze the rest flat."""
    low, high = float(values.min()), float(values.max())
    quarter, three = (float(q) for q in numpy.percentile(values, [25, 75]))
    reach = 12 * (three - quarter)
    if reach > 0 and high - low > 3 * reach:
        return max(low, quarter - reach), min(high, three + reach)
    return low, high


def bins(values: numpy.ndarray) -> numpy.ndarray:
    """Edges after Freedman and Diaconis, 5 to 40 of them; whole numbers get whole edges."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        return numpy.asarray([low - 0.5, low + 0.5])
    if numpy.all(values == numpy.round(values)) and high - low <= 30:
        return numpy.arange(low - 0.5, high + 1.5)
    quarter, three = numpy.percentile(values, [25, 75])
    width = 2 * (three - quarter) / len(values) ** (1 / 3)
    count = (high - low) / width if width > 0 else math.sqrt(len(values))
    return numpy.linspace(low, high, round(min(max(count, 5), 40)) + 1)
