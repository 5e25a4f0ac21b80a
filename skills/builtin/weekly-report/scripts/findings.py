"""What stands out in the periods: causes, outliers, runs, what came and went."""

from __future__ import annotations

import itertools

import numpy
import pandas
from periods import Periods, digits
from sandpiper import wishes
from sandpiper.markdown import escape

FAR = 3.5  # robust standard deviations


def stand_out(p: Periods, wish: wishes.Wish) -> list[str]:
    """What stands out, most important first, as Markdown lines."""
    say, found = p.speech, []
    pair = p.newest()
    adds = wish.aggregate in ("sum", "count")
    if pair and len(p.grid.columns) > 1 and adds:
        found += _makers(p, pair)
    found += _gaps(p)
    found += _unusual(p)
    found += _runs(p)
    if pair and adds and len(p.grid.columns):
        before, now = p.grid.loc[: pair[1]], p.grid.loc[pair[0]]
        here = before[before.notna().any(axis=1)]  # periods that have rows at all
        gone = [n for n in p.grid.columns if _none(now[n]) and not here[n].map(_none).any()]
        new = [n for n in p.grid.columns if not _none(now[n]) and here[n].map(_none).all()]
        for names, en, ru in (
            (gone, f"has no rows in {p.name(pair[0])}, and some in every period before", f"нет строк за {p.name(pair[0])}, хотя раньше были всегда"),
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


def _gaps(p: Periods) -> list[str]:
    """Groups without rows in a period in which others have some, though they always have."""
    say, found = p.speech, []
    here = p.total[p.complete.to_numpy()].dropna().index
    if len(here) < 5 or len(p.grid.columns) < 2:
        return []
    for name in p.grid.columns:
        absent = [period for period in here if pandas.isna(p.grid.loc[period, name])]
        if 0 < len(absent) <= max(1, len(here) // 10) and here[-1] not in absent:
            listed = say.listed([p.name(period) for period in absent[:3]])
            found.append(
                say.pick(
                    f"**{escape(name)}** has no rows in {listed}, and some in all other periods.",
                    f"**{escape(name)}**: нет строк за {listed}, за остальные периоды есть.",
                )
            )
    return found[:2]


def _none(value: float) -> bool:
    return pandas.isna(value) or value == 0


def _makers(p: Periods, pair: tuple[pandas.Timestamp, pandas.Timestamp]) -> list[str]:
    """Which groups made the change: those that together make more than half of it.

    A group without rows in one of the two has come or gone with all it had.
    """
    say, places = p.speech, digits(p)
    now, before = p.grid.loc[pair[0]], p.grid.loc[pair[1]]
    moved = now.fillna(0.0) - before.fillna(0.0)
    total = p.total[pair[0]] - p.total[pair[1]]
    same_way = moved[(moved * total) > 0].sort_values(key=abs, ascending=False, kind="stable")
    if not total or same_way.empty:
        return []
    last = same_way.iloc[:2].iloc[-1]
    tied = same_way[numpy.isclose(same_way, last, rtol=1e-9)]
    makers = same_way.iloc[: max(2, len(same_way[:2]))] if len(tied) < 2 or len(same_way) <= 2 else same_way[same_way.abs() > abs(last) * (1 + 1e-9)]
    if makers.empty or abs(makers.sum()) < abs(total) / 2:
        return []

    def told(name: object) -> str:
        gap = (
            say.pick(f" (no rows in {p.name(pair[0])})", f" (нет строк за {p.name(pair[0])})")
            if pandas.isna(now[name])
            else say.pick(f" (no rows in {p.name(pair[1])})", f" (нет строк за {p.name(pair[1])})")
            if pandas.isna(before[name])
            else ""
        )
        return f"**{escape(name)}** {say.number(makers[name], places, sign=True)}{gap}"

    return [say.pick("Most of the change comes from ", "Основной вклад в изменение: ") + say.listed([told(n) for n in makers.index]) + "."]


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
                            f"{who} was unusually {'high' if up else 'low'} in {p.name(period)}: {say.number(v, digits(p))}, where {say.number(middle, digits(p))} is usual.",
                            f"{who}: необычно {'высокое' if up else 'низкое'} значение, {p.name(period)}: {say.number(v, digits(p))} при обычном {say.number(middle, digits(p))}.",
                        ),
                    )
                )
    return [text for _, _, text in sorted(found)[:3]]


def _runs(p: Periods) -> list[str]:
    """Groups that went the same way at least four times in a row up to the newest complete period."""
    say, found = p.speech, []
    whole = p.grid[p.complete.to_numpy()]
    for name in whole.columns:
        # A gap ends a run, and so does a tie: neither has risen nor fallen.
        steps = numpy.sign(whole[name].diff().to_numpy()[1:])[::-1]
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
