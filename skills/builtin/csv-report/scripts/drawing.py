"""The report's charts and its workbook."""

from __future__ import annotations

import os

import pandas
from analysis import short_when
from page import Section, capital, measure_name
from sandpiper import charts, excel
from sandpiper.speech import Speech
from sandpiper.words import clean

_MAX_LINES = 6


def draw(section: Section, folder: str, prefix: str, speech: Speech) -> None:
    """Draw what the analysis has; file names and captions go to the section."""
    analysis = section.analysis
    name = measure_name(section, speech)
    title = capital(name)
    unit = analysis.measure.unit if analysis.measure else ""
    additive = analysis.measure is None or analysis.measure.additive
    for at, (group, table) in enumerate(list(analysis.groups.items())[:2]):
        caption = speech.pick(f"{title} by {clean(group, 50)}", f"{title}: {clean(group, 50)}")
        figure = charts.bars(table["value"], title=caption, unit=unit, value=title, rest="sum" if additive else "drop", language=speech.language)
        _save(section, figure, folder, f"{prefix}by-{_slug(group, at)}.png", caption)
    if analysis.periods is not None and len(analysis.periods) > 1:
        _draw_trend(section, folder, prefix, title, unit, speech)
    if not section.charts and analysis.measure is not None and section.table.rows > 4:
        values = section.table.frame({analysis.measure.name})[analysis.measure.name]
        caption = speech.pick(f"How {clean(analysis.measure.name, 50)} is spread", f"Распределение: {clean(analysis.measure.name, 50)}")
        figure = charts.histogram(values, title=caption, unit=unit, value=clean(analysis.measure.name, 50), language=speech.language)
        _save(section, figure, folder, f"{prefix}spread.png", caption)


def _draw_trend(section: Section, folder: str, prefix: str, title: str, unit: str, speech: Speech) -> None:
    analysis, period = section.analysis, section.plan.period
    period_name = {"hour": "часам", "day": "дням", "week": "неделям", "month": "месяцам", "quarter": "кварталам", "year": "годам"}[period]
    frame = analysis.periods[["value"]].copy()
    caption = speech.pick(f"{title} by {period}", f"{title} по {period_name}")
    crossing = analysis.crossing
    if crossing is not None and 2 <= len(crossing.columns) <= _MAX_LINES:
        frame = crossing.copy()
        caption += speech.pick(f" and {clean(analysis.cross_group, 40)}", f" и {clean(analysis.cross_group, 40)}")
    frame.index = frame.index.to_timestamp()
    frame = frame.dropna(how="all")
    figure = charts.lines(frame if len(frame.columns) > 1 else frame.iloc[:, 0], title=caption, unit=unit, value=title, language=speech.language)
    _save(section, figure, folder, f"{prefix}by-{period}.png", caption)


def _save(section: Section, figure: object, folder: str, name: str, caption: str) -> None:
    charts.save(figure, os.path.join(folder, name))
    section.charts.append((name, caption))


def _slug(name: str, position: int) -> str:
    """A file name out of a column's name; by position where little is left of it."""
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower())
    kept = "-".join(part for part in kept.split("-") if part)[:40]
    return kept or f"group-{position + 1}"


def workbook(sections: list[Section], path: str, speech: Speech) -> None:
    """The report's tables as sheets."""
    with excel.Workbook(path, title=speech.pick("Summary", "Сводка")) as book:
        for at, section in enumerate(sections[:12]):
            mark = "" if len(sections) == 1 else f"{at + 1} "
            analysis = section.analysis
            name = measure_name(section, speech)
            column = capital(name)
            total = speech.pick("Total", "Всего")
            for group, table in analysis.groups.items():
                shown = table.reset_index(names=clean(group, 60)).rename(columns={"value": column, "share": speech.pick("Share", "Доля"), "rows": speech.pick("Rows", "Строк")})
                sums = [column, speech.pick("Rows", "Строк")] if analysis.measure is None or analysis.measure.additive else [speech.pick("Rows", "Строк")]
                shown = shown.loc[:, ~shown.columns.duplicated()]
                book.table(shown, sheet=f"{mark}{speech.pick('By', 'По')} {clean(group, 20)}", title=f"{column}: {clean(group, 60)}", formats={speech.pick("Share", "Доля"): "percent"}, totals=sums, total_label=total)
            if analysis.periods is not None:
                _period_sheet(book, section, mark, column, speech)
            book.table(_column_sheet(section, speech), sheet=f"{mark}{speech.pick('Columns', 'Столбцы')}", title=clean(section.title, 100))


def _period_sheet(book: excel.Workbook, section: Section, mark: str, column: str, speech: Speech) -> None:
    analysis = section.analysis
    head = speech.pick("From", "Начало")
    shown = pandas.DataFrame({head: analysis.periods.index.to_timestamp(), speech.pick("Period", "Период"): [short_when(p, speech) for p in analysis.periods.index]})
    if analysis.crossing is not None and len(analysis.crossing.columns) <= 40:
        for group in analysis.crossing.columns:
            shown[clean(str(group), 60)] = analysis.crossing[group].to_numpy()
    shown[speech.pick("All", "Всего")] = analysis.periods["value"].to_numpy()
    shown[speech.pick("Change", "Изменение")] = analysis.periods["change"].to_numpy()
    shown[speech.pick("Rows", "Строк")] = analysis.periods["rows"].to_numpy()
    additive = analysis.measure is None or analysis.measure.additive
    numeric = [c for c in shown.columns[2:] if c != speech.pick("Change", "Изменение")] if additive else []
    book.table(shown, sheet=f"{mark}{speech.pick('By period', 'По периодам')}", title=column, formats={speech.pick("Change", "Изменение"): "percent"}, totals=numeric or False, total_label=speech.pick("Total", "Всего"))


def _column_sheet(section: Section, speech: Speech) -> pandas.DataFrame:
    rows = []
    for i in range(min(len(section.table.decisions), 5_000)):
        column = section.table.column(i)
        counted = not column.get("identifier")
        top = ", ".join(f"{t['value'][:40]} ({t['count']})" for t in column.get("top", [])[:5])
        rows.append({
            speech.pick("Column", "Столбец"): column["name"], speech.pick("Type", "Тип"): column["type"],
            speech.pick("Missing", "Пропуски"): column["missing"], speech.pick("Distinct", "Различных"): column["distinct"],
            speech.pick("Sum", "Сумма"): column.get("sum") if counted else None, speech.pick("Mean", "Среднее"): column.get("mean") if counted else None,
            speech.pick("Least", "Наименьшее"): column.get("min"), speech.pick("Greatest", "Наибольшее"): column.get("max"),
            speech.pick("First", "Первая дата"): column.get("first"), speech.pick("Last", "Последняя дата"): column.get("last"),
            speech.pick("Most frequent", "Самые частые"): top or None,
        })  # fmt: skip
    return pandas.DataFrame(rows)
