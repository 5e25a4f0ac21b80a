"""The figures of a report: by group, by period, and what stands out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy
import pandas
from plan import Measure, Plan
from sandpiper.speech import Speech
from sandpiper.wishes import reduced

_FREQUENCIES = {"hour": "h", "day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
_MAX_FINDINGS = 9


@dataclass(slots=True)
class Analysis:
    """What was computed of one table. Frames are ready to be shown."""

    measure: Measure | None = None
    groups: dict[str, pandas.DataFrame] = field(default_factory=dict)  # index group; columns value, share, rows
    periods: pandas.DataFrame | None = None  # index Period; columns value, change, rows
    crossing: pandas.DataFrame | None = None  # index Period, columns of the first group
    cross_group: str = ""
    undated: int = 0
    findings: list[str] = field(default_factory=list)


def analyse(frame: pandas.DataFrame, plan: Plan, speech: Speech) -> Analysis:
    """Compute what the plan asks for; without a measure, rows are counted."""
    result = Analysis(measure=plan.measures[0] if plan.measures else None)
    values = frame[result.measure.name].astype("float64") if result.measure else pandas.Series(1.0, index=frame.index)
    how = "sum" if result.measure is None or result.measure.additive else "mean"
    for name in plan.grouped:
        result.groups[name] = _by_group(frame[name], values, how, speech)
    if plan.date:
        _by_period(result, frame, values, how, plan)
    result.findings = _Findings(result, frame, values, how, plan, speech).all()[:_MAX_FINDINGS]
    return result


def _by_group(groups: pandas.Series, values: pandas.Series, how: str, speech: Speech) -> pandas.DataFrame:
    labels = groups.astype(object).where(groups.notna(), speech.pick("(missing)", "(пусто)"))
    table = pandas.DataFrame({"value": reduced(values, labels, how), "rows": values.groupby(labels).size()})
    table = table[table["value"].notna()]
    total = table["value"].sum()
    if how == "sum" and total and (table["value"] >= 0).all():
        table.insert(1, "share", table["value"] / total)
    return table.sort_values("value", ascending=False, kind="stable")


def _by_period(result: Analysis, frame: pandas.DataFrame, values: pandas.Series, how: str, plan: Plan) -> None:
    when = pandas.to_datetime(frame[plan.date], errors="coerce")
    if when.dt.tz is not None:
        when = when.dt.tz_localize(None)
    known = when.notna()
    result.undated = int((~known).sum())
    if not known.any():  # years that pandas cannot hold, as of another calendar
        return
    periods = when[known].dt.to_period(_FREQUENCIES[plan.period])
    grouped = values[known].groupby(periods)
    table = pandas.DataFrame({"value": reduced(values[known], periods, how), "rows": grouped.size()})
    full = pandas.period_range(table.index.min(), table.index.max(), freq=_FREQUENCIES[plan.period])
    if len(full) <= 3 * len(table) + 10:
        table = table.reindex(full)
        table["rows"] = table["rows"].fillna(0).astype("int64")  # a period without rows is a gap: its value stays missing
    table.insert(1, "change", table["value"].pct_change(fill_method=None).replace([numpy.inf, -numpy.inf], numpy.nan))
    result.periods = table
    if result.groups:
        name = next(iter(result.groups))
        order = [g for g in result.groups[name].index]
        labels = frame.loc[known, name].astype(object)
        labels = labels.where(labels.notna(), order[-1] if order[-1] not in set(labels.dropna()) else labels)
        crossing = reduced(values[known], [periods, labels], how).unstack()
        crossing = crossing.reindex(index=table.index, columns=[g for g in order if g in crossing.columns])
        result.crossing, result.cross_group = crossing, name


class _Findings:
    """Sentences on what stands out, each with its figures."""

    def __init__(self, result: Analysis, frame: pandas.DataFrame, values: pandas.Series, how: str, plan: Plan, speech: Speech) -> None:
        self.result, self.frame, self.values, self.how, self.plan, self.speech = result, frame, values, how, plan, speech
        self.name = result.measure.name if result.measure else speech.pick("rows", "строки")
        self.unit = f" {result.measure.unit}" if result.measure and result.measure.unit else ""

    def all(self) -> list[str]:
        found: list[str] = []
        for part in (self._cells, self._gaps, self._moves, self._periods, self._shares, self._rows, self._negatives, self._edges):
            found.extend(part())
        return found

    def _n(self, value: float) -> str:
        digits = 0 if abs(value) >= 1000 else None
        return self.speech.number(value, digits) + self.unit

    def _whole(self) -> pandas.DataFrame | None:
        """The periods that are covered from end to end."""
        periods = self.result.periods
        if periods is None or len(periods) < 6:
            return None
        first, last = incomplete(self.result, self.frame, self.plan)
        return periods.iloc[int(first) : len(periods) - int(last)]

    def _cells(self) -> list[str]:
        """Group and period far from what the group usually has."""
        crossing = self.result.crossing
        if crossing is None or len(crossing) < 6 or self.how != "sum":
            return []
        found = []
        for group in crossing.columns[:12]:
            series = crossing[group].dropna()
            if len(series) < 6:
                continue
            usual = series.median()
            spread = (series - usual).abs().median() * 1.4826
            for period, value in series.items():
                if spread > 0 and usual > 0 and value - usual > 5 * spread and value > 1.8 * usual:
                    found.append(((value - usual) / usual, group, period, value, usual))
        found.sort(key=lambda f: -f[0])
        return [self._cell(group, period, value, usual) for _, group, period, value, usual in found[:3]]

    def _cell(self, group: Any, period: Any, value: float, usual: float) -> str:
        s = self.speech
        text = s.pick(
            f"**{code(group)}, {when(period, s)}: {self._n(value)}**, {s.number(value / usual, 1)} times its median of {self._n(usual)}",
            f"**{code(group)}, {when(period, s)}: {self._n(value)}** — в {s.number(value / usual, 1)} раза больше её медианы {self._n(usual)}",
        )
        dates = pandas.to_datetime(self.frame[self.plan.date], errors="coerce")
        dates = dates.dt.tz_localize(None) if dates.dt.tz is not None else dates
        inside = (dates >= period.start_time) & (dates <= period.end_time) & (self.frame[self.result.cross_group] == group)
        largest = self.values[inside].max()
        if largest > 0.3 * value and inside.sum() > 2:
            text += s.pick(f"; one row alone is {self._n(largest)}", f"; одна строка даёт {self._n(largest)}")
        return text + "."

    def _gaps(self) -> list[str]:
        """Periods in which a group that is always there has nothing."""
        crossing, s = self.result.crossing, self.speech
        if crossing is None or len(crossing) < 6:
            return []
        found = []
        for group in crossing.columns[:12]:
            absent = crossing.index[crossing[group].isna() & crossing.notna().any(axis=1)]
            if 0 < len(absent) <= max(1, 0.1 * len(crossing)):
                shown = s.listed([when(p, s) for p in absent[:3]])
                any_there = "" if crossing.notna().any(axis=1).all() else " that has any"
                found.append(s.pick(f"**{code(group)} has no rows** in {shown}, and some in every other {unit_name(self.plan.period, s)}{any_there}.",
                                    f"**{code(group)}: нет строк** за {shown}, хотя за остальные периоды есть."))
        return found[:3]

    def _moves(self) -> list[str]:
        """Groups that rose or fell: the last third of the periods against the first."""
        crossing, whole, s = self.result.crossing, self._whole(), self.speech
        if crossing is None or whole is None or self.how != "sum" or len(whole) < 6:
            return []
        third = max(2, min(len(whole) // 3, 8))
        rows = crossing.reindex(whole.index)
        early, late = rows.iloc[:third].median(), rows.iloc[-third:].median()
        found = []
        for group in rows.columns[:12]:
            if early[group] > 0 and abs(late[group] / early[group] - 1) >= 0.25 and late[group] + early[group] > 0.02 * (early.sum() + late.sum()):
                change = late[group] / early[group] - 1
                verb = s.pick("rose" if change > 0 else "fell", "выросло" if change > 0 else "снизилось")
                found.append((abs(change), s.pick(
                    f"**{code(group)} {verb} {s.percent(abs(change), 0)}**: a median of {self._n(late[group])} a {unit_name(self.plan.period, s)} in the last {third}, {self._n(early[group])} in the first {third}.",
                    f"**{code(group)}: {verb} на {s.percent(abs(change), 0)}** — медиана {self._n(late[group])} за последние {third} периодов против {self._n(early[group])} за первые {third}.",
                )))
        found.sort(key=lambda f: -f[0])
        return [text for _, text in found[:2]]

    def _periods(self) -> list[str]:
        whole, s = self._whole(), self.speech
        if whole is None:
            return []
        values = whole["value"].dropna()
        if values.empty or values.nunique() < 2:
            return []
        high, low, usual = values.idxmax(), values.idxmin(), values.median()
        return [s.pick(
            f"Highest {unit_name(self.plan.period, s)}: {when(high, s)} with {self._n(values[high])}; lowest: {when(low, s)} with {self._n(values[low])}; median {self._n(usual)}.",
            f"Наибольшее значение: {when(high, s)} — {self._n(values[high])}; наименьшее: {when(low, s)} — {self._n(values[low])}; медиана {self._n(usual)}.",
        )]

    def _shares(self) -> list[str]:
        s, found = self.speech, []
        for name, table in list(self.result.groups.items())[:2]:
            if "share" in table and len(table) > 2 and table["share"].iloc[0] > 1.15 / len(table):
                top = table.index[0]
                found.append(s.pick(
                    f"{code(top)} leads {code(name)} with {s.percent(table['share'].iloc[0], 0)} of {code(self.name)}; {code(table.index[-1])} is last with {s.percent(table['share'].iloc[-1], 0)}.",
                    f"{code(name)}: первое место — {code(top)}, {s.percent(table['share'].iloc[0], 0)} от {code(self.name)}; последнее — {code(table.index[-1])}, {s.percent(table['share'].iloc[-1], 0)}.",
                ))
        return found

    def _rows(self) -> list[str]:
        """One row that is a large part of the whole."""
        if self.how != "sum" or self.result.measure is None or len(self.values) < 20 or (self.values < 0).mean() > 0.3:
            return []
        total, largest = self.values.sum(), self.values.max()
        if total <= 0 or largest < 0.02 * total or largest < 12 * self.values.median():
            return []
        s, row = self.speech, self.frame.loc[self.values.idxmax()]
        labels = [row[c] for c in [self.plan.date, *self.result.groups] if c]
        shown = ", ".join(s.day(v) if isinstance(v, pandas.Timestamp) else code(v) for v in labels if not pandas.isna(v))
        return [s.pick(f"The largest single row is {self._n(largest)} ({shown}): {s.percent(largest / total)} of everything, {s.number(largest / self.values.median(), 0)} times the median row.",
                       f"Самая большая строка — {self._n(largest)} ({shown}): {s.percent(largest / total)} от всего, в {s.number(largest / self.values.median(), 0)} раз больше медианной строки.")]

    def _negatives(self) -> list[str]:
        if self.result.measure is None or self.how != "sum":
            return []
        below = self.values[self.values < 0]
        if below.empty or len(below) > 0.2 * len(self.values):
            return []
        s = self.speech
        return [s.pick(f"{s.count(len(below), 'row is', 'rows are')} negative ({self._n(below.sum())} in all; returns or corrections?).",
                       f"Отрицательных строк: {len(below)} (всего {self._n(below.sum())}; возвраты или исправления?).")]

    def _edges(self) -> list[str]:
        if self.result.periods is None:
            return []
        s, found = self.speech, []
        first, last = incomplete(self.result, self.frame, self.plan)
        for cut, at in ((first, 0), (last, -1)):
            if cut and len(self.result.periods) > 2:
                period = when(self.result.periods.index[at], s)
                found.append(s.pick(f"{period[0].upper()}{period[1:]} is not covered from end to end: do not compare it with the others.",
                                    f"Период {period} покрыт данными не полностью: не сравнивайте его с другими."))
        if self.result.undated:
            found.append(s.pick(f"{s.count(self.result.undated, 'row has', 'rows have')} no date and stand in no period.", f"Строк без даты: {self.result.undated}; они не входят ни в один период."))
        return found


def incomplete(result: Analysis, frame: pandas.DataFrame, plan: Plan) -> tuple[bool, bool]:
    """Whether the first and the last period are only partly covered by the dates."""
    if result.periods is None or plan.period in ("hour", "day"):
        return False, False
    dates = pandas.to_datetime(frame[plan.date], errors="coerce").dropna()
    dates = dates.dt.tz_localize(None) if dates.dt.tz is not None else dates
    days = dates.dt.normalize()
    if days.nunique() < 2 * len(result.periods):  # one date a period: its stamp, not its days
        return False, False
    slack = max(pandas.Timedelta(days=1), days.drop_duplicates().sort_values().diff().quantile(0.95))
    first, last = result.periods.index[0], result.periods.index[-1]
    return days.min() - first.start_time > slack, last.end_time.normalize() - days.max() > slack


def when(period: pandas.Period, speech: Speech) -> str:
    """A period as people say it."""
    start = period.start_time
    kind = period.freqstr[0]
    if kind == "W":
        return speech.pick("the week of ", "неделю с ") + speech.day(start, year=False)
    if kind == "M":
        return speech.month(start)
    if kind == "Q":
        return f"{speech.pick('Q', '')}{period.quarter}{speech.pick(' ', ' кв. ')}{period.year}"
    if kind in "YA":
        return str(period.year)
    if kind in "hH":
        return f"{speech.day(start, year=False)} {start:%H}:00"
    return speech.day(start)


def short_when(period: pandas.Period, speech: Speech) -> str:
    """A period as the first cell of a table's row."""
    return speech.day(period.start_time) if period.freqstr[0] == "W" else when(period, speech)


def unit_name(period: str, speech: Speech) -> str:
    """The period's name: "week"."""
    names = {"hour": "час", "day": "день", "week": "неделя", "month": "месяц", "quarter": "квартал", "year": "год"}
    return speech.pick(period, names[period])


def code(value: Any) -> str:
    """A cell's or column's text, inert inside Markdown."""
    from sandpiper.words import clean

    text = clean(str(value), 60).replace("`", "ˋ")
    return f"`{text}`" if any(c in text for c in "*_[]<>|~#@!/\\$&:") else text
