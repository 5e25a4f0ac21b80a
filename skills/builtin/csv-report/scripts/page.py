"""The report's text: the answer in the conversation, and report.md."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pandas
from analysis import Analysis, code, short_when
from plan import Plan, kind_of
from sandpiper.decide import DATE, DATETIME, INTEGER, NUMBER
from sandpiper.measures import ADDS
from sandpiper.notes import render
from sandpiper.speech import Speech
from sandpiper.tables import Table
from sandpiper.words import clean

_ANSWER_PERIODS = 27
_ANSWER_GROUPS = 12
_ANSWER_COLUMNS = 20
_ANSWER_NOTES = 8
_PERIOD_NAMES = {
    "hour": ("hour", "часам"),
    "day": ("day", "дням"),
    "week": ("week", "неделям"),
    "month": ("month", "месяцам"),
    "quarter": ("quarter", "кварталам"),
    "year": ("year", "годам"),
}


@dataclass(slots=True)
class Section:
    """What is told of one table."""

    title: str
    table: Table
    plan: Plan
    analysis: Analysis
    charts: list[tuple[str, str]] = field(default_factory=list)  # file name, caption


def answer(sections: list[Section], refused: list[tuple[str, str]], speech: Speech) -> str:
    """The message: the figures that a person would check first."""
    parts = [_section(section, speech, brief=True) for section in sections[:3]]
    if len(sections) > 3:
        rest = ", ".join(f"{code(s.title)} ({speech.number(s.table.rows, 0)})" for s in sections[3:15])
        parts.append(speech.pick(f"Also read (rows): {rest}.", f"Также прочитано (строк): {rest}."))
    parts.extend(_refusals(refused, speech))
    files = speech.pick(
        "The tables are in summary.xlsx, the details in report.md.",
        "Таблицы — в summary.xlsx, подробности — в report.md.",
    )
    return "\n\n".join([*parts, files])


def report(sections: list[Section], refused: list[tuple[str, str]], speech: Speech, request: str) -> str:
    """The whole report as Markdown."""
    parts = ["# " + speech.pick("Report", "Отчёт")]
    if request:
        parts.append("> " + code(request[:300]))
    parts.extend(_section(section, speech, brief=False) for section in sections)
    parts.extend(_refusals(refused, speech))
    return "\n\n".join(parts) + "\n"


def _refusals(refused: list[tuple[str, str]], speech: Speech) -> list[str]:
    return [speech.pick(f"**{code(name)} was not read.** {why}", f"**{code(name)} не прочитан.** {why}") for name, why in refused]


def _section(section: Section, speech: Speech, *, brief: bool) -> str:
    table, analysis, plan = section.table, section.analysis, section.plan
    parts = [f"{'**' if brief else '## '}{code(section.title)}{'**' if brief else ''}" + (": " if brief else "\n\n") + _shape(table, speech)]
    if analysis.measure and section.table.rows:
        parts.append(_headline(section, speech))
    if analysis.findings:
        lines = "\n".join("- " + text for text in analysis.findings[: 6 if brief else None])
        parts.append(_heading(speech.pick("What stands out", "Что выделяется"), brief) + "\n" + lines)
    for name, frame in _shown_groups(section, brief):
        parts.append(_heading(_by(section, name, speech), brief) + "\n" + _group_table(section, name, frame, speech, brief))
    if analysis.periods is not None:
        parts.append(_period_block(section, speech, brief))
    asked = bool(plan.asked_groups or (plan.measures and plan.measures[0].asked))
    if not brief or not asked:
        parts.append(_heading(speech.pick("Columns", "Столбцы"), brief) + "\n" + _columns(table, speech, brief))
    notes = _notes(table, speech)
    if notes:
        shown = notes[: _ANSWER_NOTES if brief else None]
        more = len(notes) - len(shown)
        lines = "\n".join("- " + text for text in shown)
        if more:
            lines += "\n- " + speech.pick(f"… and {more} more in report.md", f"… и ещё {more} в report.md")
        parts.append(_heading(speech.pick("Notes on the file", "Замечания к файлу"), brief) + "\n" + lines)
    if not brief:
        parts.extend(f"![{clean(caption, 120).replace(']', ')').replace('[', '(')}]({name})" for name, caption in section.charts)
    return "\n\n".join(parts)


def _shown_groups(section: Section, brief: bool) -> list[tuple[str, pandas.DataFrame]]:
    """In the answer only what was asked for, or the first two groupings."""
    groups = list(section.analysis.groups.items())
    if not brief:
        return groups
    return [g for g in groups if g[0] in section.plan.asked_groups] or groups[:2]


def _heading(text: str, brief: bool) -> str:
    return f"**{text}**\n" if brief else f"### {text}\n"


def _shape(table: Table, speech: Speech) -> str:
    rows = speech.count(table.rows, "row", "rows", "") if speech.language == "en" else speech.count(table.rows, "строка", "строки", "строк")
    columns = speech.count(len(table.decisions), "column", "columns") if speech.language == "en" else speech.count(len(table.decisions), "столбец", "столбца", "столбцов")
    how = [table.kind]
    if table.encoding:
        how.append(table.encoding)
    if table.delimiter:
        shown = {"\t": speech.pick("tab", "табуляция"), " ": speech.pick("space", "пробел")}.get(table.delimiter, f"`{table.delimiter}`")
        how.append(speech.pick("delimiter ", "разделитель ") + shown)
    if table.header_row != 1:
        how.append(speech.pick(f"header in row {table.header_row}", f"заголовок в строке {table.header_row}") if table.header_row else speech.pick("no header", "без заголовка"))
    if table.hidden:
        how.append(speech.pick("hidden sheet", "скрытый лист"))
    return f"{rows}, {columns} ({', '.join(how)})."


def _headline(section: Section, speech: Speech) -> str:
    parts = []
    for measure in section.plan.measures[:4]:
        i = section.table.evidence_index(measure.name)
        found = section.table.figures[i]
        unit = f" {measure.unit}" if measure.unit else ""
        mean = found.mean()
        if measure.additive:
            parts.append(speech.pick(f"total {code(measure.name)} **{full(found.sum, speech)}{unit}**", f"{code(measure.name)}, всего **{full(found.sum, speech)}{unit}**"))
        elif mean is not None:
            parts.append(speech.pick(f"mean {code(measure.name)} **{speech.number(mean)}{unit}**", f"{code(measure.name)}, в среднем **{speech.number(mean)}{unit}**"))
    text = "; ".join(parts)
    if section.plan.date:
        found = section.table.figures[section.table.evidence_index(section.plan.date)]
        text += speech.pick(f"; {code(section.plan.date)} from {speech.day(found.low)} to {speech.day(found.high)}", f"; {code(section.plan.date)} с {speech.day(found.low)} по {speech.day(found.high)}")
    return text[:1].upper() + text[1:] + "."


def full(value: float | int, speech: Speech) -> str:
    """A figure to the last digit that counts: sums are for checking."""
    if isinstance(value, int):
        return speech.number(value, 0)
    if value == int(value) and abs(value) < 1e15:
        return speech.number(value, 0)
    return speech.number(value, 2) if abs(value) >= 1 else speech.number(value)


def measure_name(section: Section, speech: Speech) -> str:
    measure = section.analysis.measure
    if measure is None:
        return speech.pick("rows", "строк")
    name = clean(measure.name.replace("_", " "), 50)
    return name if measure.additive else speech.pick(f"mean {name}", f"среднее {name}")


def _by(section: Section, group: str, speech: Speech) -> str:
    return speech.pick(f"{capital(measure_name(section, speech))} by {clean(group, 50)}", f"{capital(measure_name(section, speech))}: {clean(group, 50)}").replace("*", "∗")


def capital(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.islower() else text


def _group_table(section: Section, name: str, frame: pandas.DataFrame, speech: Speech, brief: bool) -> str:
    shown = frame.iloc[: _ANSWER_GROUPS if brief else 60]
    head = [clean(name, 40), capital(measure_name(section, speech))]
    head += [speech.pick("Share", "Доля")] if "share" in frame else []
    head += [speech.pick("Rows", "Строк")] if section.analysis.measure else []
    digits = _digits(frame["value"])
    rows = []
    for label, row in shown.iterrows():
        cells = [str(label), speech.number(row["value"], digits)]
        cells += [speech.percent(row["share"])] if "share" in frame else []
        cells += [speech.number(row["rows"], 0)] if section.analysis.measure else []
        rows.append(cells)
    if len(shown) == len(frame) and (section.analysis.measure is None or section.analysis.measure.additive) and len(frame) > 1:
        total = [speech.pick("**Total**", "**Всего**"), speech.number(frame["value"].sum(), digits)]
        total += [""] if "share" in frame else []
        total += [speech.number(frame["rows"].sum(), 0)] if section.analysis.measure else []
        rows.append(total)
    text = markdown_table(head, rows)
    if len(frame) > len(shown):
        more = len(frame) - len(shown)
        text += "\n\n" + speech.pick(f"… and {more} more.", f"… и ещё {more}.")
    return text


def _digits(values: pandas.Series) -> int | None:
    finite = values.dropna().abs()
    if finite.empty:
        return None
    if (finite == finite.round()).all() or finite.max() >= 10_000:
        return 0
    return 2 if finite.max() >= 1 else None


def _period_block(section: Section, speech: Speech, brief: bool) -> str:
    analysis = section.analysis
    periods = analysis.periods
    names = _PERIOD_NAMES[section.plan.period]
    title = speech.pick(f"{capital(measure_name(section, speech))} by {names[0]}", f"{capital(measure_name(section, speech))} по {names[1]}")
    crossing = analysis.crossing
    cross = crossing is not None and 2 <= len(crossing.columns) <= (7 if brief else 14)
    if cross:
        title += speech.pick(f" and {clean(analysis.cross_group, 40)}", f" и {clean(analysis.cross_group, 40)}")
    shown = periods.iloc[-(_ANSWER_PERIODS if brief else 120) :]
    head = [speech.pick(f"{capital(names[0])}" + (" of" if section.plan.period == "week" else ""), "Период")]
    head += [str(c) for c in crossing.columns] if cross else []
    head.append(speech.pick("All", "Всего") if cross else capital(measure_name(section, speech)))
    head += [] if cross else [speech.pick("Change", "Изменение"), speech.pick("Rows", "Строк")]
    digits = _digits(periods["value"])
    rows = []
    for period, row in shown.iterrows():
        cells = [short_when(period, speech)]
        if cross:
            cells += [_or_dash(v, speech, digits) for v in crossing.loc[period]]
        cells.append(_or_dash(row["value"], speech, digits))
        if not cross:
            cells += [speech.percent(row["change"], 0, sign=True), speech.number(row["rows"], 0)]
        rows.append(cells)
    text = _heading(title.replace("*", "∗"), brief) + "\n" + markdown_table(head, rows)
    if len(shown) < len(periods):
        text += "\n\n" + speech.pick(f"The last {len(shown)} of {len(periods)}.", f"Последние {len(shown)} из {len(periods)}.")
    return text


def _or_dash(value: float, speech: Speech, digits: int | None) -> str:
    return "–" if value is None or math.isnan(value) else speech.number(value, digits)


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A pipe table: first column left, the others right."""
    lines = ["| " + " | ".join(_cell(h) for h in head) + " |", "|:---" + "|---:" * (len(head) - 1) + "|"]
    lines.extend("| " + " | ".join(_cell(c) for c in row) + " |" for row in rows)
    return "\n".join(lines)


def _cell(text: str) -> str:
    if text.startswith("**") and text.endswith("**"):
        return _piped(text)
    return _piped(code(text)) if text else ""


def _piped(text: str) -> str:
    """A cell whose pipes end no cell: a table is cut at them even inside code spans."""
    return text.replace("|", "\\|")


def _columns(table: Table, speech: Speech, brief: bool) -> str:
    head = speech.pick("Column|Type|Missing|Distinct|What it holds", "Столбец|Тип|Пропуски|Различных|Содержание").split("|")
    limit = _ANSWER_COLUMNS if brief else 300
    rows = []
    for i in range(min(limit, len(table.decisions))):
        profile = table.column(i)
        rows.append([
            clean(profile["name"], 40), _type_name(profile["type"], speech),
            speech.number(profile["missing"], 0), speech.number(profile["distinct"], 0), _holds(profile, table, i, speech),
        ])  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|:---|:---|---:|---:|:---|"]
    lines += ["| " + " | ".join([_cell(r[0]), *map(_piped, r[1:])]) + " |" for r in rows]
    text = "\n".join(lines)
    if len(table.decisions) > limit:
        more = len(table.decisions) - limit
        text += "\n\n" + speech.pick(f"… and {more:,} more columns; profile.json has all of them.", f"… и ещё столбцов: {more}; все — в profile.json.")
    return text


def _type_name(kind: str, speech: Speech) -> str:
    names = {"integer": "целое", "number": "число", "text": "текст", "date": "дата", "datetime": "дата и время", "boolean": "да/нет"}
    return speech.pick(kind, names[kind])


def _holds(profile: dict[str, Any], table: Table, i: int, speech: Speech) -> str:
    kind = profile["type"]
    if kind in (INTEGER, NUMBER) and "min" in profile:
        span = speech.pick(f"{full(profile['min'], speech)} to {full(profile['max'], speech)}", f"от {full(profile['min'], speech)} до {full(profile['max'], speech)}")
        if "sum" not in profile:
            return span
        if profile.get("identifier"):
            return span
        mean, total = speech.number(profile["mean"]), full(profile["sum"], speech)
        if kind_of(table.decisions[i], table.figures[i]) == ADDS:
            return speech.pick(f"sum {total}, mean {mean}, {span}", f"сумма {total}, среднее {mean}, {span}")
        # A sum of prices or years is no result, but by it a reader checks that no value was lost or misread.
        return speech.pick(f"mean {mean}, {span}, sum {total}", f"среднее {mean}, {span}, сумма {total}")
    if kind in (DATE, DATETIME):
        if "first" not in profile:
            return speech.pick("day and month undecided", "порядок дня и месяца неясен")
        low, high = table.figures[i].low, table.figures[i].high
        show = speech.day if kind == DATE else speech.moment
        return speech.pick(f"{show(low)} to {show(high)}", f"с {show(low)} по {show(high)}")
    top = profile.get("top", [])
    if not top:
        return ""
    if top[0]["count"] == 1 and len(top) > 1:
        return speech.pick("such as ", "например, ") + ", ".join(code(clean(t["value"], 30)) for t in top[:3])
    return ", ".join(f"{code(clean(t['value'], 30))} ({speech.number(t['count'], 0)})" for t in top[:4])


def _notes(table: Table, speech: Speech) -> list[str]:
    return [_inert(render(n, speech.language)) for n in table.all_notes()]


def _inert(text: str) -> str:
    """A note holds quoted cells; nothing in it may act as Markdown."""
    for c in "\\`*_[]<>|~#@":
        text = text.replace(c, "\\" + c if c in "\\`*_[]<>|~#" else "@\u2060")
    return text
