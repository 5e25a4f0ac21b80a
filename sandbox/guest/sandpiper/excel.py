"""Workbooks and CSV files that open well and never run what was in the data.

    with excel.Workbook("out/summary.xlsx") as book:
        book.table(frame, sheet="Summary", totals=True)

A sheet gets a frozen header with filters, widths that fit, number formats that
come from the numbers, real dates, and a page set-up that prints. Text from data
stays text: a cell that starts with = + - @ is written as a string with Excel's
quote prefix, so that editing it does not make a formula of it either.
"""

from __future__ import annotations

import csv
import datetime
import math
import os
import re
import unicodedata
from types import TracebackType
from typing import Any, Self

import numpy
import pandas
import xlsxwriter
from xlsxwriter.utility import xl_col_to_name

from .wishes import is_identifier

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
_MAX_TEXT = 32_767
_WIDEST = 52
_UNSAFE = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_SHEET_UNFIT = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_BOOLEAN = '"TRUE";"TRUE";"FALSE"'  # for LibreOffice, which shows 1 and 0 without it
_LINE, _MOST_LINES = 15, 12  # points of a row's height, and lines a cell may show
_HEADER, _BAND, _RULE = "#1F4E79", "#F3F7FB", "#B8C7D9"


def is_unsafe(text: str) -> bool:
    """Whether a spreadsheet might take this text for a formula or command."""
    return text.lstrip(" \u00a0").startswith(_UNSAFE) or text.startswith(_UNSAFE)


def safe_text(text: str) -> str:
    """Text for a CSV cell: an apostrophe stands before what looks like a formula."""
    return "'" + text if is_unsafe(text) else text


def csv_file(frame: pandas.DataFrame, path: str | os.PathLike[str], *, index: bool = False) -> None:
    """Write a CSV file (UTF-8 with BOM, for Excel) whose text cells run nowhere."""
    if index:
        frame = frame.reset_index()
    with open(path, "w", encoding="utf-8-sig", newline="") as f:
        out = csv.writer(f)
        out.writerow([safe_text(str(name)) for name in frame.columns])
        for row in frame.itertuples(index=False, name=None):
            out.writerow([_csv_cell(value) for value in row])


def _csv_cell(value: Any) -> Any:
    if _is_missing(value):
        return ""
    if isinstance(value, (datetime.datetime, datetime.date)):
        text = value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else value.isoformat()
        return text.removesuffix(" 00:00:00")
    return safe_text(value) if isinstance(value, str) else value


class Workbook:
    """An .xlsx file being written; use it in a ``with`` block."""

    def __init__(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        os.makedirs(os.path.dirname(os.fspath(path)) or ".", exist_ok=True)
        self._book = xlsxwriter.Workbook(
            os.fspath(path),
            {
                "strings_to_formulas": False,
                "strings_to_urls": False,
                "strings_to_numbers": False,
                "nan_inf_to_errors": False,
            },
        )
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        created = (
            datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
            if epoch.isdigit()
            else datetime.datetime.now(datetime.UTC)
        )
        self._book.set_properties({"title": title, "author": "Sandpiper", "created": created.replace(tzinfo=None)})
        self._formats: dict[tuple[Any, ...], Any] = {}
        self._names: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write the file; a workbook without a sheet gets an empty one."""
        self._book.close()

    def table(
        self,
        frame: pandas.DataFrame,
        *,
        sheet: str,
        title: str = "",
        notes: list[str] | None = None,
        formats: dict[str, str] | None = None,
        totals: bool | list[str] | dict[str, float] = False,
        total_label: str = "Total",
        looks: dict[str, list[str]] | None = None,
    ) -> Any:
        """Write a DataFrame (its index is left out) as one sheet; returns the sheet.

        ``formats`` gives columns a number format by name: "integer", "number",
        "money", "percent", "date", "datetime", "text", or Excel's own code;
        others get one that fits their values. ``totals`` adds a row with the
        visible rows' sums of all number columns, or of those listed; a dict gives
        the row's values itself (for averages, which do not add up). ``looks``
        gives single cells of a column their own number formats ("" for none),
        for columns whose cells are of several kinds. Rows over
        Excel's limit are left out, and a note on the sheet says how many.
        """
        page = self._book.add_worksheet(self._sheet_name(sheet))
        notes = list(notes or [])
        top = self._heading(page, title)
        rows = frame.iloc[: MAX_ROWS - top - 3, :MAX_COLUMNS]
        if len(rows) < len(frame):
            notes.append(f"{len(frame) - len(rows):,} more rows do not fit on a sheet")
        for at, line in enumerate(notes):
            page.write_string(top + at, 0, line, self._format(italic=True, font_color="#595959"))
        top += len(notes) + bool(notes)

        last = top + len(rows)
        heights: dict[int, int] = {}  # row to its lines, where there are several
        for column, name in enumerate(rows.columns):
            series = rows.iloc[:, column]
            code = _number_format(series, (formats or {}).get(str(name)))
            self._column(page, (top, column), series, code, heights, (looks or {}).get(str(name)))
            bottom = self._format(bold=True, top=1, num_format=code)
            if isinstance(totals, dict) and str(name) in totals and not _is_missing(totals[str(name)]):
                page.write_number(last + 1, column, totals[str(name)], bottom)
            elif len(rows) and not isinstance(totals, dict) and _wants_total(totals, str(name), series, code):
                letter = xl_col_to_name(column)
                formula = f"=SUBTOTAL(109,{letter}{top + 2}:{letter}{last + 1})"
                page.write_formula(last + 1, column, formula, bottom, _total(series))
            elif totals and len(rows):
                page.write_string(last + 1, column, total_label if column == 0 else "", self._format(bold=True, top=1))
        for row, lines in heights.items():
            page.set_row(row, _LINE * min(lines, _MOST_LINES))
        if len(rows.columns):
            page.autofilter(top, 0, max(last, top + 1), len(rows.columns) - 1)
        page.freeze_panes(top + 1, 1 if len(rows.columns) > 6 else 0)
        page.repeat_rows(top)
        page.set_landscape()
        page.set_paper(9)
        page.fit_to_pages(1, 0)
        page.set_footer("&L&A&RPage &P of &N")
        return page

    def picture(self, path: str | os.PathLike[str], *, sheet: str, title: str = "", alt: str = "") -> None:
        """Put a PNG on a sheet of its own."""
        page = self._book.add_worksheet(self._sheet_name(sheet))
        page.hide_gridlines(2)
        page.insert_image(
            self._heading(page, title), 0, os.fspath(path), {"x_scale": 0.5, "y_scale": 0.5, "description": alt}
        )

    def _heading(self, page: Any, title: str) -> int:
        if not title:
            return 0
        page.write_string(0, 0, title, self._format(bold=True, font_size=14, font_color=_HEADER))
        page.set_row(0, 22)
        return 2

    def _column(
        self,
        page: Any,
        at_cell: tuple[int, int],
        series: pandas.Series,
        code: str,
        heights: dict[int, int],
        looks: list[str] | None,
    ) -> None:
        (top, column), name = at_cell, str(series.name)
        numeric = code != "@" and _is_number(series)
        head = self._format(
            bold=True,
            font_color="#FFFFFF",
            bg_color=_HEADER,
            border=1,
            border_color=_RULE,
            text_wrap=True,
            valign="vcenter",
            align="right" if numeric else "left",
            indent=0 if numeric else 1,
        )
        self._text(page, top, column, name, {"head": head})
        heights[top] = max(heights.get(top, 1), -(-_width(name) // 24))
        width = min(_width(name), 24) + 3
        for at, value in enumerate(series.tolist(), start=top + 1):
            if _is_missing(value):
                continue
            if isinstance(value, numpy.generic):  # cells of mixed columns keep numpy's types
                value = value.item()
            own = looks[at - top - 1] if looks else code
            plain = {"num_format": own} if own else {}
            shade = {"bg_color": _BAND} if (at - top) % 2 == 0 else {}
            if isinstance(value, bool):
                page.write_boolean(at, column, value, self._format(align="left", num_format=_BOOLEAN, **shade))
                shown = "FALSE"
            elif isinstance(value, (int, float)) and _fits(value) and code != "@":
                page.write_number(at, column, value, self._format(**plain, **shade))
                shown = _shown(value, own)
            elif (moment := _as_moment(value)) is not None and code != "@":
                date_code = own if own and own != "@" else "yyyy-mm-dd" if moment.time() == datetime.time() else "yyyy-mm-dd hh:mm:ss"
                page.write_datetime(
                    at, column, moment, self._format(num_format=date_code, align="left", indent=1, **shade)
                )
                shown = date_code
            else:
                shown = str(value)
                self._text(page, at, column, shown, shade)
                lines = sum(-(-max(_width(line), 1) // _WIDEST) for line in shown[:_MAX_TEXT].split("\n"))
                if lines > heights.get(at, 1):
                    heights[at] = lines
            if at - top <= 2000:
                width = max(width, min(_width(shown) + 2, _WIDEST))
        page.set_column(column, column, width)

    def _text(self, page: Any, row: int, column: int, text: str, look: dict[str, Any]) -> None:
        text = text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
        if "head" in look:
            page.write_string(row, column, text, look["head"])
            return
        extra: dict[str, Any] = {"indent": 1}
        if _width(text) > _WIDEST or "\n" in text:
            extra["text_wrap"] = True
        if is_unsafe(text):
            extra["quote_prefix"] = True
        page.write_string(row, column, text, self._format(**extra, **look))

    def _format(self, **properties: Any) -> Any:
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self._book.add_format(
                {"font_name": "Calibri", "font_size": 11, "valign": "top", **properties}
            )
        return self._formats[key]

    def _sheet_name(self, wanted: str) -> str:
        base = _SHEET_UNFIT.sub(" ", wanted).strip().strip("'")[:31].strip() or "Sheet"
        if base.lower() == "history":  # Excel keeps this one for itself
            base = "History 1"
        name, n = base, 2
        while name.lower() in self._names:
            tail = f" ({n})"
            name, n = base[: 31 - len(tail)] + tail, n + 1
        self._names.add(name.lower())
        return name


_CODES = {
    "integer": "#,##0",
    "number": "#,##0.00",
    "money": "#,##0.00",
    "percent": "0.0%",
    "date": "yyyy-mm-dd",
    "datetime": "yyyy-mm-dd hh:mm",
    "text": "@",
}


def _number_format(series: pandas.Series, wanted: str | None) -> str:
    """Excel's number format for a column; "" leaves the cells as they come."""
    if wanted:
        return _CODES.get(wanted, wanted)
    if pandas.api.types.is_datetime64_any_dtype(series):
        present = series.dropna()
        return "yyyy-mm-dd" if (present == present.dt.normalize()).all() else "yyyy-mm-dd hh:mm:ss"
    if not _is_number(series):
        return ""
    numbers = pandas.to_numeric(series, errors="coerce").astype("float64")
    numbers = numbers[numpy.isfinite(numbers)]
    if numbers.empty:
        return ""
    if (numbers == numbers.round()).all():
        plain = numbers.between(1900, 2100).all() and re.search(r"year|jahr|год|年", str(series.name), re.IGNORECASE)
        return "0" if plain or is_identifier(series.name) else "#,##0"
    for digits in (1, 2, 3, 4):
        if numpy.allclose(numbers, numbers.round(digits), rtol=0, atol=1e-9):
            return "#,##0." + "0" * max(digits, 2)
    return "#,##0.00" if numbers.abs().max() >= 1 else "0.0000"


def _is_number(series: pandas.Series) -> bool:
    return pandas.api.types.is_numeric_dtype(series) and not pandas.api.types.is_bool_dtype(series)


def _wants_total(totals: bool | list[str], name: str, series: pandas.Series, code: str) -> bool:
    if isinstance(totals, list):
        return name in totals
    return (
        totals
        and _is_number(series)
        and "%" not in code
        and code not in ("0", "@")
        and not series.abs().between(10**15, math.inf, inclusive="left").any()
    )


def _total(series: pandas.Series) -> float:
    return float(pandas.to_numeric(series, errors="coerce").replace([math.inf, -math.inf], math.nan).sum())


def _fits(value: float) -> bool:
    """Whether Excel's numbers, with 15 digits, can hold the value."""
    return math.isfinite(value) and (isinstance(value, float) or abs(value) < 10**15)


def _is_missing(value: Any) -> bool:
    return (
        value is None or value is pandas.NaT or value is pandas.NA or (isinstance(value, float) and math.isnan(value))
    )


def _as_moment(value: Any) -> datetime.datetime | None:
    """A date that Excel can hold (1900 and later, without a zone), or None."""
    if isinstance(value, pandas.Timestamp):
        value = value.to_pydatetime(warn=False)
    elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime.datetime) or value.year < 1900:
        return None
    return value.replace(tzinfo=None)


def _shown(value: float, code: str) -> str:
    digits = len(code.partition(".")[2].rstrip("%")) if "." in code else 0
    if code.endswith("%"):
        value *= 100
    return f"{value:,.{digits}f}" + "%" * code.endswith("%") if code else f"{value:g}"


def _width(text: str) -> int:
    """Characters across, wide ones (CJK, emoji) counted twice, of the longest line."""
    return max(
        (sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line) for line in text.split("\n")), default=0
    )
