"""One house style for every chart, and the few kinds of charts that reports need.

    figure = charts.bars(frame.groupby("region")["revenue"].sum(), title="Revenue by region", unit="€")
    charts.save(figure, "out/revenue.png")

Data comes as pandas Series or DataFrames whose index is the category, date or
number along the axis. Each function shows at most what fits and says what it
left out; colours are told apart by colour-blind readers too (Okabe and Ito) and
never carry meaning alone. Texts are drawn as they are: no ``$`` is mathematics.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import chart_layout as layout
from .chart_layout import Fault, faults, texts
from .speech import Speech, of

__all__ = ["COLOURS", "Fault", "bars", "columns", "faults", "heat", "histogram", "lines", "save", "scatter", "style", "texts"]

# Okabe and Ito without yellow, which is too faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
GREY, INK, SOFT = "#8C8C8C", "#262626", "#E3E6EA"
MARKS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), "-.", (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (7, 2)), "-")
MAX_BARS = 15
MAX_LINES = len(COLOURS)
_WIDTH, _HEIGHT, _DPI = 9.0, 4.8, 160
_TITLE = 14.0

# The first font that has a character draws it: Latin, Cyrillic and Greek, then
# CJK, then emoji (one colour; matplotlib draws no colour fonts), then the rest.
FONTS = ("Noto Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "Symbola", "DejaVu Sans")


def style() -> dict[str, Any]:
    """The house style as matplotlib settings; charts of your own can use it:
    ``with matplotlib.rc_context(charts.style()): ...``"""
    known = {entry.name for entry in matplotlib.font_manager.fontManager.ttflist}
    return {
        "font.family": [name for name in FONTS if name in known] or ["sans-serif"],
        "font.size": 10.5,
        "text.parse_math": False,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GREY,
        "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": False,
        "grid.color": SOFT,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "figure.facecolor": "white",
        "figure.dpi": _DPI,
        "savefig.dpi": _DPI,
    }


def _house[**P](draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw in the house style: texts take their font and rules when they are made."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **options: P.kwargs) -> Figure:
        with matplotlib.rc_context(style()):
            figure = draw(*args, **options)
            for axes in figure.axes:
                layout.thin(axes.xaxis)
                layout.thin(axes.yaxis)
        return figure

    return drawn


@_house
def bars(
    data: pandas.Series,
    *,
    title: str = "",
    unit: str = "",
    value: str = "",
    limit: int = MAX_BARS,
    rest: str = "sum",
    order: bool = True,
    percent: bool = False,
    language: str | None = None,
) -> Figure:
    """Horizontal bars, one a category, each with its value: for comparing names.

    The greatest ``limit`` are shown (by absolute value); the others become one
    bar that adds them up, or with ``rest="drop"`` (means, rates: what cannot be
    added) are only counted in a note. ``order=False`` keeps the data's order.
    """
    speech = of(language)
    data = _numbers(data)
    if data.empty:
        return _nothing(title, speech)
    if order:
        data = (
            data.reindex(data.abs().sort_values(ascending=False, kind="stable").index)
            if data.index.is_unique
            else data.iloc[numpy.argsort(-data.abs().to_numpy(), kind="stable")]
        )
    shown, note, other = data.iloc[:limit], "", False
    left = len(data) - len(shown)
    if left == 1:
        shown, left = data.iloc[: limit + 1], 0
    if left and rest == "sum":
        name = speech.pick("Other", "Прочие") + f" ({speech.number(left, 0)})"
        other = True
        shown = pandas.concat([shown, pandas.Series([float(data.iloc[limit:].sum())], index=[name])])
    elif left:
        note = (
            speech.count(left, "more is not shown", "more are not shown")
            if speech.language == "en"
            else f"Не показано ещё: {speech.number(left, 0)}"
        )
    if order:
        shown = pandas.concat(
            [shown.iloc[: len(shown) - other].sort_values(ascending=False, kind="stable"), shown.iloc[len(shown) - other :]]
        )

    names = [layout.label(name, 34, lines=2) for name in shown.index]
    tall = sum(1.45 if "\n" in name else 1.0 for name in names)
    figure, axes = _figure(title, note, height=max(1.9 + 0.36 * tall, 2.6))
    places = numpy.arange(len(shown))[::-1]
    values = shown.to_numpy(dtype=float)
    colours = [GREY if other and at == len(values) - 1 else COLOURS[0] if v >= 0 else COLOURS[1] for at, v in enumerate(values)]
    axes.barh(places, values, color=colours, height=0.68)
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.grid(axis="x")
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.axvline(0, color=GREY, linewidth=0.8)
    scale = layout.number_axis(axes.xaxis, speech, values, percent=percent)
    axes.set_xlabel(_axis_label(value, scale, unit))
    layout.value_labels(axes, places, values, speech, percent)
    return figure


@_house
def columns(
    data: pandas.Series | pandas.DataFrame,
    *,
    title: str = "",
    unit: str = "",
    value: str = "",
    stacked: bool = False,
    rest: str = "sum",
    percent: bool = False,
    language: str | None = None,
) -> Figure:
    """Upright columns along a short ordered axis: periods, steps, age groups.

    A DataFrame gives groups (or stacks) of columns with a legend; those that
    are too many are added up as one, or with ``rest="drop"`` (means, rates) only
    counted in a note. Over 36 places become lines.
    """
    speech = of(language)
    frame = data.to_frame() if isinstance(data, pandas.Series) else data
    frame, note = _few_columns(frame.apply(_numbers_or_nan), speech, add=rest == "sum")
    if frame.notna().sum().sum() == 0:
        return _nothing(title, speech)
    if not isinstance(frame.index, (pandas.DatetimeIndex, pandas.PeriodIndex)):
        frame = frame.dropna(how="all")  # a period without values keeps its place, a name does not
    if len(frame) > 36:
        return lines(frame, title=title, unit=unit, value=value, percent=percent, language=language)
    figure, axes = _figure(title, note)
    places = numpy.arange(len(frame))
    values = frame.to_numpy(dtype=float)
    if stacked:
        up, down = numpy.zeros(len(frame)), numpy.zeros(len(frame))
    width = 0.78 if stacked else 0.8 / len(frame.columns)
    for n, name in enumerate(frame.columns):
        column = numpy.nan_to_num(frame.iloc[:, n].to_numpy(dtype=float))
        if stacked:
            base = numpy.where(column >= 0, up, down)
            axes.bar(places, column, width, bottom=base, color=_colour(n), label=layout.label(name, 30))
            up, down = up + numpy.maximum(column, 0), down + numpy.minimum(column, 0)
        else:
            axes.bar(
                places + (n - (len(frame.columns) - 1) / 2) * width,
                column,
                width * 0.94,
                color=_colour(n),
                label=layout.label(name, 30),
            )
    if stacked:
        values = numpy.concatenate([up, down])
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.grid(axis="y")
    layout.category_ticks(axes, frame.index, speech)
    scale = layout.number_axis(axes.yaxis, speech, values.ravel(), percent=percent)
    axes.set_ylabel(_axis_label(value, scale, unit))
    _legend(axes, len(frame.columns))
    return figure


@_house
def lines(
    data: pandas.Series | pandas.DataFrame,
    *,
    title: str = "",
    unit: str = "",
    value: str = "",
    along: str = "",
    zero: bool | None = None,
    log: bool = False,
    percent: bool = False,
    language: str | None = None,
) -> Figure:
    """Lines over time or another running number, named at their right ends.

    At most seven lines; of more, those that are greatest on average are named
    and the others stand behind them in grey. The value axis starts at zero
    unless that would flatten the lines (``zero`` decides it). ``log`` makes both
    axes logarithmic, for growth over sizes; say so in ``along``.
    """
    speech = of(language)
    frame = (data.to_frame() if isinstance(data, pandas.Series) else data).sort_index()
    frame = frame.apply(_numbers_or_nan)
    frame = frame.loc[:, frame.notna().any()] if len(frame) else frame
    if frame.empty or not len(frame.columns):
        return _nothing(title, speech)
    ranked = frame.abs().mean().to_numpy().argsort(kind="stable")[::-1]
    named = sorted(ranked[:MAX_LINES].tolist())
    behind = [n for n in range(len(frame.columns)) if n not in named][:60]
    note = speech.pick(f"{len(behind)} more in grey", f"Ещё {len(behind)} — серым") if behind else ""
    figure, axes = _figure(title, note)
    dates, x = layout.along(frame.index)
    for n in behind:
        axes.plot(x, frame.iloc[:, n].to_numpy(dtype=float), color="#CFCFCF", linewidth=0.9, zorder=1)
    for order, n in enumerate(named):
        y = frame.iloc[:, n].to_numpy(dtype=float)
        there = numpy.isfinite(y)  # joined over what exists, so that no lone point is lost
        few = there.sum() <= 40
        axes.plot(
            numpy.asarray(x)[there],
            y[there],
            color=_colour(order),
            linestyle=DASHES[order],
            linewidth=2.0 if len(frame) <= 400 else 1.1,
            marker=MARKS[order] if few else "",
            markersize=5,
            zorder=3,
            clip_on=False,
            label=layout.label(frame.columns[n], 30),
        )
    axes.grid(axis="y")
    values = frame.to_numpy(dtype=float).ravel()
    scale = ""
    if log:
        layout.log_axes(axes, speech)
    else:
        layout.value_limits(axes, values, zero)
        if dates:
            layout.date_axis(axes, speech, x)
        else:
            layout.running_ticks(axes, frame.index, speech)
        layout.time_margins(axes, x, dates)
        scale = layout.number_axis(axes.yaxis, speech, values, percent=percent)
    axes.set_ylabel(_axis_label(value, scale, unit))
    axes.set_xlabel(layout.label(along, 60) if along else "")
    if len(named) > 1:
        layout.end_labels(
            axes, [(x, frame.iloc[:, n].to_numpy(dtype=float)) for n in named], [frame.columns[n] for n in named], COLOURS
        )
    return figure


@_house
def histogram(data: pandas.Series, *, title: str = "", unit: str = "", value: str = "", language: str | None = None) -> Figure:
    """How values are spread: columns over ranges, with the median marked."""
    speech = of(language)
    data = _numbers(data)
    if data.empty:
        return _nothing(title, speech)
    values = data.to_numpy(dtype=float)
    median = float(numpy.median(values))
    low, high = layout.fences(values)
    near = values[(values >= low) & (values <= high)]
    far = len(values) - len(near)
    note = ""
    if far:
        between = speech.number(low) + speech.pick(" to ", " до ") + speech.number(high)
        note = speech.pick(
            f"{speech.number(far, 0)} outside {between} not shown", f"Вне пределов от {between} не показано: {speech.number(far, 0)}"
        )
    figure, axes = _figure(title, note)
    values = near
    axes.hist(values, bins=layout.bins(values), color=COLOURS[0], edgecolor="white", linewidth=0.6)
    axes.grid(axis="y")
    axes.axvline(median, color=COLOURS[1], linewidth=1.6, linestyle="--")
    axes.margins(y=0.14)
    words = speech.pick("median", "медиана") + " " + speech.short(median) + (f" {unit}" if unit else "")
    right = median > (axes.get_xlim()[0] + axes.get_xlim()[1]) / 2
    axes.annotate(
        words,
        (median, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if right else 6, -4),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        color=COLOURS[1],
    )
    scale = layout.number_axis(axes.xaxis, speech, values)
    axes.set_xlabel(_axis_label(value or layout.label(data.name or "", 50), scale, unit))
    layout.number_axis(axes.yaxis, speech, numpy.asarray([float(len(values))]))
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel(speech.pick("Number of rows", "Число строк"))
    return figure


@_house
def scatter(
    x: pandas.Series, y: pandas.Series, *, title: str = "", x_name: str = "", y_name: str = "", language: str | None = None
) -> Figure:
    """Two measures against each other, one dot a row."""
    speech = of(language)
    pairs = pandas.DataFrame({"x": _numbers_or_nan(x), "y": _numbers_or_nan(y)}).dropna()
    if pairs.empty:
        return _nothing(title, speech)
    figure, axes = _figure(title, "")
    n = len(pairs)
    axes.scatter(pairs["x"], pairs["y"], s=28 if n <= 500 else 8, alpha=0.75 if n <= 500 else 0.35, color=COLOURS[0], linewidths=0)
    axes.grid()
    across = layout.number_axis(axes.xaxis, speech, pairs["x"].to_numpy())
    up = layout.number_axis(axes.yaxis, speech, pairs["y"].to_numpy())
    axes.set_xlabel(_axis_label(x_name or layout.label(x.name or "", 50), across, ""))
    axes.set_ylabel(_axis_label(y_name or layout.label(y.name or "", 40), up, ""))
    return figure


@_house
def heat(frame: pandas.DataFrame, *, title: str = "", unit: str = "", percent: bool = False, language: str | None = None) -> Figure:
    """A table as shades, for a crossing of two categories; at most 20 by 14."""
    speech = of(language)
    frame = frame.apply(_numbers_or_nan)
    left = max(len(frame) - 20, 0), max(len(frame.columns) - 14, 0)
    frame = frame.iloc[:20, :14]
    if frame.empty or not frame.notna().any().any():
        return _nothing(title, speech)
    note = (
        speech.pick(f"Not shown: {speech.count(left[0], 'row', 'rows')}, {speech.count(left[1], 'column', 'columns')}", f"Не показано: строк {left[0]}, столбцов {left[1]}")
        if any(left)
        else ""
    )
    values = frame.to_numpy(dtype=float)
    figure, axes = _figure(title, note, height=1.9 + 0.36 * len(frame))
    low, high = float(numpy.nanmin(values)), float(numpy.nanmax(values))
    signed = low < 0 < high
    extent = max(-low, high)
    mesh = axes.imshow(
        values,
        aspect="auto",
        cmap="PuOr_r" if signed else "Blues",
        vmin=-extent if signed else low - (high - low) * 0.1,
        vmax=extent if signed else high or 1,
    )
    scale, name = (1.0, "") if percent else speech.scale(max(abs(low), abs(high)))
    for (row, column), v in numpy.ndenumerate(values):
        if numpy.isfinite(v):
            shade = mesh.norm(v)
            dark = abs(shade - 0.5) > 0.3 if signed else shade > 0.6
            axes.text(
                column,
                row,
                speech.percent(v, 0) if percent else _brief(v / scale, speech),
                ha="center",
                va="center",
                fontsize=8.5,
                color="white" if dark else INK,
            )
    axes.set_yticks(range(len(frame)), [layout.label(n, 30) for n in frame.index])
    axes.set_xticks(range(len(frame.columns)), [layout.label(n, 12, lines=2) for n in frame.columns])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(_axis_label("", name, unit))
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> str:
    """Write a PNG (160 dots an inch, about 1440 pixels wide) and close the figure."""
    os.makedirs(os.path.dirname(os.fspath(path)) or ".", exist_ok=True)
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)
    return os.fspath(path)


def _figure(title: str, note: str, height: float = _HEIGHT) -> tuple[Figure, Axes]:
    figure, axes = plt.subplots(figsize=(_WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    if title:
        text = layout.title_lines(figure, layout.clean(title, 240), _TITLE)
        figure.suptitle(text, x=0.012, ha="left", fontsize=_TITLE, fontweight="bold")
    if note:
        figure.supxlabel(note, x=0.012, ha="left", fontsize=9, color="#595959")
    return figure, axes


def _nothing(title: str, speech: Speech) -> Figure:
    figure, axes = _figure(title, "", height=2.6)
    axes.set_axis_off()
    axes.text(0.5, 0.5, speech.pick("No values to show", "Нет значений"), ha="center", va="center", color=GREY, fontsize=13)
    return figure


def _numbers_or_nan(data: pandas.Series) -> pandas.Series:
    return pandas.to_numeric(data, errors="coerce").astype("float64").replace([numpy.inf, -numpy.inf], numpy.nan)


def _numbers(data: pandas.Series) -> pandas.Series:
    return _numbers_or_nan(data).dropna()


def _colour(n: int) -> str:
    return COLOURS[n % len(COLOURS)]


def _few_columns(frame: pandas.DataFrame, speech: Speech, add: bool) -> tuple[pandas.DataFrame, str]:
    """At most as many columns as there are colours; the others in one."""
    if len(frame.columns) <= MAX_LINES:
        return frame, ""
    ranked = frame.abs().sum().to_numpy().argsort(kind="stable")[::-1]
    kept = sorted(ranked[: MAX_LINES - 1].tolist())
    others = [n for n in range(len(frame.columns)) if n not in kept]
    few = frame.iloc[:, kept].copy()
    if add:
        few[speech.pick("Other", "Прочие") + f" ({len(others)})"] = frame.iloc[:, others].sum(axis=1, min_count=1)
        return few, ""
    return few, speech.pick(f"{len(others)} more are not shown", f"Не показано ещё: {len(others)}")


def _axis_label(value: str, scale: str, unit: str) -> str:
    return ", ".join(part for part in (layout.label(value, 60) if value else "", " ".join(p for p in (scale, unit) if p)) if part)


def _brief(value: float, speech: Speech) -> str:
    magnitude = abs(value)
    return speech.number(value, 0 if magnitude >= 100 or value == round(value) else 1 if magnitude >= 1 else 2)


def _legend(axes: Axes, n: int) -> None:
    if n > 1:
        axes.figure.legend(loc="outside lower left", ncols=min(n, 4), handlelength=1.6, columnspacing=1.4)
