"""A measure by periods and groups, and which periods are whole."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
import pandas
from sandpiper import refuse, wishes
from sandpiper.speech import Speech

GRAINS = {
    "day": ("day", "days", "день", "дня", "дней"),
    "week": ("week", "weeks", "неделя", "недели", "недель"),
    "month": ("month", "months", "месяц", "месяца", "месяцев"),
    "quarter": ("quarter", "quarters", "квартал", "квартала", "кварталов"),
    "year": ("year", "years", "год", "года", "лет"),
}
MOST_PERIODS = 60
MOST_GROUPS = 12


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
        """The newest complete period that has rows, and the one with rows before it."""
        whole = self.total.index[(self.complete & self.total.notna()).to_numpy()]
        return (whole[-1], whole[-2]) if len(whole) > 1 else None

    def neighbours(self) -> bool:
        """Whether the newest pair are periods that follow each other."""
        pair = self.newest()
        return pair is None or self.total.index.get_loc(pair[0]) - self.total.index.get_loc(pair[1]) == 1


def divide(frame: pandas.DataFrame, wish: wishes.Wish, speech: Speech, notes: list[str]) -> Periods:
    undated = int(frame[wish.date].isna().sum())
    if undated:
        notes.append(speech.pick(f"{speech.count(undated, 'row without a date is', 'rows without a date are')} left out", f"Строк без даты, не вошли: {undated}"))
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
    total = wishes.reduced(measure, start, how).reindex(span)
    grid = wishes.reduced(measure, [start, group], how).unstack().reindex(span) if group is not None else pandas.DataFrame(index=span)
    grid = grid.loc[:, grid.notna().any()]
    empty = [p for p in span if p not in set(start)]
    if wish.aggregate == "count":  # no rows of events is a count of its own: none happened
        total, grid = total.fillna(0.0), grid.fillna(0.0)
    found = Periods(grid, total, _complete(frame[wish.date], start, span, wish.grain), wish.grain, speech)
    if empty:
        notes.append(
            (
                speech.pick("No rows, counted as 0: ", "Нет строк, считается как 0: ")
                if wish.aggregate == "count"
                else speech.pick("No rows on record, left as a gap: ", "Нет строк, оставлен пропуск: ")
            )
            + ", ".join(found.name(p) for p in empty[:6])
            + (speech.pick(f" and {len(empty) - 6} more", f" и ещё {len(empty) - 6}") if len(empty) > 6 else "")
        )
    return found


def _groups(column: pandas.Series, measure: pandas.Series, speech: Speech) -> pandas.Series:
    """Group names; the smaller ones over twelve become "Other"."""
    names = column.astype("object").where(column.notna(), speech.pick("(none)", "(пусто)")).astype(str)
    size = measure.abs().groupby(names).sum(min_count=1).dropna().sort_values(ascending=False)
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
    inner = [p for p in span[1:-1] if p in first.index]  # those that have rows
    usual_last = float(last.reindex(inner).median()) if len(inner) else float(length.iloc[-1])
    usual_first = float(first.reindex(inner).median()) if len(inner) else 0.0
    whole.iloc[-1] = last.get(span[-1], -1) >= min(usual_last, float(length.iloc[-1])) - grace
    if len(span) > 1:
        whole.iloc[0] = first.get(span[0], 99) <= usual_first + grace
    return whole


def digits(p: Periods) -> int:
    """Decimal places that suit the measure's size."""
    values = p.total.dropna().abs()
    if not len(values) or values.median() >= 1000 or (values == values.round()).all():
        return 0
    usual = float(values.median())
    return 2 if usual >= 1 or usual == 0 else min(3 - math.floor(math.log10(usual)) - 1, 6)


def relative(now: float, before: float) -> float:
    """The change as a fraction; a number below or at zero has none that reads right."""
    return now / before - 1 if before > 0 and now >= 0 else float("nan")


def adds_up(p: Periods) -> bool:
    """Whether the groups add up to the total (sums do, averages do not)."""
    return bool(numpy.allclose(p.grid.sum(axis=1, min_count=1).to_numpy(), p.total.to_numpy(), rtol=1e-6, atol=1e-6, equal_nan=True))
