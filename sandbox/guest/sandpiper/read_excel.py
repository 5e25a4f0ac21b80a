"""Workbooks: xlsx, xlsm and xls."""

from __future__ import annotations

import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from . import cells, grid, kinds
from .notes import Note
from .refusal import Refusal
from .source import Source
from .tables import Reading, Table
from .words import clean

_MAX_BYTES = 128 << 20
_MAX_UNPACKED = 1 << 30
MAX_SHEETS = 40
# Texts kept of one workbook; what is beyond is cut and said.
MAX_CELLS = 3_000_000
_BLANK_ROWS = 5_000  # so many in a row end a sheet: formatted to its last row

Rows = Iterator[list[Any]]


def read_xlsx(source: Source, kind: str) -> Reading:
    """An xlsx or xlsm workbook; formulas give the values that Excel stored."""
    import openpyxl

    data = source.data(_MAX_BYTES)
    check_package(data, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        except Refusal:
            raise
        except Exception as error:
            raise Refusal("broken", kind="Excel") from error
        reading = Reading()
        budget = [MAX_CELLS]
        sheets = book.worksheets
        for sheet in sheets[:MAX_SHEETS]:
            raw = _raw_sheet(data, sheet)
            rows = _openpyxl_rows(sheet, _merged_down(raw))
            table = _sheet(kind, sheet.title, rows, sheet.sheet_state != "visible", budget)
            if table is None:
                reading.empty.append(sheet.title)
                continue
            table.notes.extend(_raw_notes(raw))
            reading.tables.append(table)
    return _finish(reading, [s.title for s in sheets])


def read_xls(source: Source) -> Reading:
    """An xls workbook of Excel 97 to 2003 (and older)."""
    import xlrd

    data = source.data(_MAX_BYTES)
    try:
        book = xlrd.open_workbook(file_contents=data, on_demand=True, logfile=io.StringIO())
    except xlrd.XLRDError as error:
        if "encrypt" in str(error).lower():
            raise Refusal("password", kind="Excel") from error
        raise Refusal("broken", kind="Excel") from error
    except Exception as error:
        raise Refusal("broken", kind="Excel") from error
    reading = Reading()
    budget = [MAX_CELLS]
    names = book.sheet_names()
    for index, name in enumerate(names[:MAX_SHEETS]):
        sheet = book.sheet_by_index(index)
        table = _sheet(kinds.XLS, name, _xlrd_rows(sheet, book.datemode), sheet.visibility != 0, budget)
        book.unload_sheet(index)
        if table is None:
            reading.empty.append(name)
        else:
            reading.tables.append(table)
    return _finish(reading, names)


def _finish(reading: Reading, names: list[str]) -> Reading:
    if len(names) > MAX_SHEETS:
        reading.notes.append(Note("sheets_cut", args={"total": len(names), "read": MAX_SHEETS}))
    if not reading.tables:
        raise Refusal("no_sheet")
    return reading


def check_package(data: bytes, kind: str) -> None:
    """Refuse archive bombs and entity declarations before a library opens it."""
    with kinds.open_zip(io.BytesIO(data), kind) as archive:
        infos = archive.infolist()
        total = sum(info.file_size for info in infos)
        if total > _MAX_UNPACKED or len(infos) > 20_000 or any(i.file_size > max(64 << 20, 400 * i.compress_size) for i in infos):
            raise Refusal("bomb")
        for info in infos:
            if info.flag_bits & 1:
                raise Refusal("password", kind=kind)
            if info.filename.endswith((".xml", ".rels")):
                with archive.open(info) as member:
                    head = member.read(2048)
                if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"<\x00!\x00D\x00O" in head:
                    raise Refusal("entities")


def _raw_sheet(data: bytes, sheet: Any) -> bytes:
    """The sheet's XML, for what the library leaves out in its streaming mode."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(sheet._worksheet_path.lstrip("/"))
    except (KeyError, AttributeError, zipfile.BadZipFile):
        return b""


def _raw_notes(raw: bytes) -> list[Note]:
    notes = []
    unvalued = sum(1 for cell in raw.split(b"</c>") if _is_unvalued(cell)) if b"<f" in raw else 0
    if unvalued:
        notes.append(Note("formulas_unvalued", args={"count": unvalued}))
    hidden = len(re.findall(rb"<row [^>]*hidden=\"(?:1|true)\"", raw))
    if hidden:
        notes.append(Note("hidden_rows", args={"count": hidden}))
    columns = sum(int(m[2]) - int(m[1]) + 1 for m in re.finditer(rb"<col (?=[^>]*hidden=\"(?:1|true)\")[^>]*?min=\"(\d+)\"[^>]*?max=\"(\d+)\"", raw))
    if 0 < columns < 1000:
        notes.append(Note("hidden_columns", args={"count": columns}))
    return notes


def _is_unvalued(cell: bytes) -> bool:
    """A formula without the value that a spreadsheet program stores beside it."""
    return b"<f" in cell and (b"<v>" not in cell or b"<v></v>" in cell) and b"<is>" not in cell


def _merged_down(raw: bytes) -> dict[int, dict[int, int]]:
    """Merged cells that reach down: first row -> column -> last row, from 0."""
    merged: dict[int, dict[int, int]] = {}
    for match in itertools.islice(re.finditer(rb"<mergeCell ref=\"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})\"", raw), 100_000):
        first, last = int(match[2]) - 1, int(match[4]) - 1
        if last > first and match[1] == match[3]:
            column = 0
            for letter in match[1]:
                column = column * 26 + letter - 64
            merged.setdefault(first, {})[column - 1] = last
    return merged


def _openpyxl_rows(sheet: Any, merged: dict[int, dict[int, int]]) -> Rows:
    """The sheet's rows; a cell merged downwards stands in each of its rows."""
    sheet.reset_dimensions()
    down: dict[int, tuple[int, Any]] = {}
    expected = 0
    for row in sheet.iter_rows():
        place = next((c.row - 1 for c in row if getattr(c, "row", None)), expected)
        values = [_typed(cell) for cell in row]
        for column, last in merged.get(place, {}).items():
            if column < len(values):
                down[column] = (last, values[column])
        for column, (last, value) in list(down.items()):
            if place > last:
                del down[column]
            elif column < len(values) and values[column] in (None, ""):
                values[column] = value
        expected = place + 1
        yield values


def _typed(cell: Any) -> Any:
    value = cell.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        form = cell.number_format or ""
        if form.startswith("00") and form.strip("0") == "":
            return cells.text(value, form)
    return value


def _xlrd_rows(sheet: Any, datemode: int) -> Rows:
    import xlrd

    errors = xlrd.error_text_from_code
    for i in range(sheet.nrows):
        row: list[Any] = []
        for kind, value in zip(sheet.row_types(i), sheet.row_values(i), strict=True):
            if kind == xlrd.XL_CELL_DATE:
                try:
                    row.append(xlrd.xldate_as_datetime(value, datemode))
                except (xlrd.XLDateError, OverflowError, ValueError):
                    row.append(value)
            elif kind == xlrd.XL_CELL_BOOLEAN:
                row.append(bool(value))
            elif kind == xlrd.XL_CELL_ERROR:
                row.append(errors.get(value, "#N/A"))
            else:
                row.append(value if kind else None)
        yield row


def _sheet(kind: str, name: str, rows: Rows, hidden: bool, budget: list[int]) -> Table | None:
    """A sheet as a table; None when it has no cell. ``budget`` are cells left."""
    return typed_table(kind, rows, budget, name=clean(name, 120), hidden=hidden)


def typed_table(kind: str, rows: Rows, budget: list[int], *, name: str = "", hidden: bool = False) -> Table | None:
    """Rows of typed cells as a table, kept in memory within the budget."""
    kept: list[list[str]] = []
    natives: list[list[Any]] = []
    seen = cells.Kinds()
    blank, cut = 0, False
    shared: dict[str, str] = {}
    try:
        for row in rows:
            texts = [shared.setdefault(t, t) if len(t) < 40 else t for t in map(cells.text, row)]
            while texts and not texts[-1]:
                texts.pop()
            if not texts:
                blank += 1
                kept.append([])
                if blank > _BLANK_ROWS:
                    break
                continue
            blank = 0
            if budget[0] < len(texts):
                cut = True
                break
            budget[0] -= len(texts)
            kept.append(texts)
            if len(natives) < 200:
                natives.append(row)
            seen.see(row)
    except Refusal:
        raise
    except Exception as error:
        raise Refusal("broken", kind=kind) from error
    while kept and not kept[-1]:
        kept.pop()
    if not kept:
        return None
    table = from_kept(kind, kept, seen, natives)
    table.name, table.hidden = name, hidden
    if cut:
        table.notes.append(Note("rows_cut", args={"read": len(kept)}))
    return table


def from_kept(kind: str, kept: list[list[str]], seen: cells.Kinds | None = None, natives: list[list[Any]] | None = None) -> Table:
    """A table over rows in memory, which may be of different lengths."""
    width = max(map(len, kept))
    left = _left_margin(kept)
    padded = [row[left:] + [""] * (width - len(row)) if len(row) >= left else [""] * (width - left) for row in kept]
    body = grid.open_grid(lambda: iter(padded))
    table = Table(kind=kind, body=body)
    table.header_row = body.layout.header_row
    if seen is not None:
        columns = seen.columns[left:]
        head = natives[: body.layout.first] if natives else []
        for row in head:
            for counter, value in zip(columns, row[left:], strict=False):
                counter[cells.kind(value)] -= 1
        table.native = [columns[j] for j in body.keep if j < len(columns)]
    return table


def _left_margin(kept: list[list[str]]) -> int:
    """Columns at the left that are blank in every row."""
    margin = min((next((j for j, cell in enumerate(row) if cell), len(row)) for row in kept if row), default=0)
    return margin


