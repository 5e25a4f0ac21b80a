"""Workbooks: xlsx, xlsm and xls."""

from __future__ import annotations

import functools
import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from . import cells, grid, kinds, sections
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

# [$€-407], "kr", or the sign itself.
_CURRENCY = re.compile(r"\[\$([^\]\-]+)[^\]]*\]|\"\s*([$€£¥₽₴₸₹₺₩₪₫]|[A-Z]{3}|kr\.?|zł|Kč|руб\.?|р\.|Fr\.)\s*\"|(?:^|[^\[])([$€£¥₽₴₸₹₺₩₪₫])")


def read_xlsx(source: Source, kind: str) -> Reading:
    """An xlsx or xlsm workbook; formulas give the values that Excel stored."""
    import openpyxl

    data = source.data(_MAX_BYTES)
    check_package(data, kind)
    data = _transitional(data)
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
            tables = typed_tables(kind, rows, budget, name=clean(sheet.title, 120), hidden=sheet.sheet_state != "visible")
            if not tables:
                reading.empty.append(sheet.title)
                continue
            tables[0].notes.extend(_raw_notes(raw))
            reading.tables.extend(tables)
    return _finish(reading, [s.title for s in sheets])


def read_xls(source: Source) -> Reading:
    """An xls workbook of Excel 97 to 2003 (and older)."""
    import xlrd

    data = source.data(_MAX_BYTES)
    try:
        # Formats say which numbers are shown with leading zeros; BIFF before 8 keeps them in another way.
        book = xlrd.open_workbook(file_contents=data, on_demand=True, logfile=io.StringIO(), formatting_info=data.startswith(b"\xd0\xcf"))
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
        tables = typed_tables(kinds.XLS, _xlrd_rows(sheet, book), budget, name=clean(name, 120), hidden=sheet.visibility != 0)
        book.unload_sheet(index)
        if not tables:
            reading.empty.append(name)
        reading.tables.extend(tables)
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


_STRICT = (
    (b"http://purl.oclc.org/ooxml/spreadsheetml/", b"http://schemas.openxmlformats.org/spreadsheetml/2006/"),
    (b"http://purl.oclc.org/ooxml/officeDocument/relationships", b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"http://schemas.openxmlformats.org/drawingml/2006/"),
)


def _transitional(data: bytes) -> bytes:
    """A "Strict Open XML" workbook under the names that the library knows; any other as it is."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if not any(name == "xl/workbook.xml" and b"purl.oclc.org/ooxml" in archive.read(name) for name in archive.namelist()):
            return data
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as renamed:
            for info in archive.infolist():
                content = archive.read(info)
                if info.filename.endswith((".xml", ".rels")):
                    for strict, usual in _STRICT:
                        content = content.replace(strict, usual)
                renamed.writestr(info.filename, content)
        return whole.getvalue()


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
        return _shown(value, cell.number_format or "")
    return value


class _Money(float):
    """A number that its format shows with the sign of a currency."""

    sign = ""


@functools.lru_cache(maxsize=512)
def _currency(form: str) -> str:
    """The currency that a number format shows; "" when it shows none."""
    first = form.split(";")[0]
    match = _CURRENCY.search(first)
    return next((part for part in match.groups() if part), "").strip() if match else ""


def _shown(value: float, form: str) -> Any:
    sign = _currency(form) if form != "General" else ""
    if not sign or abs(value) >= 1e15:
        return _padded(value, form)
    money = _Money(value)
    money.sign = sign
    return money


def _padded(value: float, form: str) -> Any:
    """A number, or the text that a format of zeros shows for it."""
    return cells.text(value, form) if form.startswith("00") and form.strip("0") == "" else value


def _xlrd_rows(sheet: Any, book: Any) -> Rows:
    import xlrd

    errors = xlrd.error_text_from_code
    merged = {(r, c): (top, left) for top, end, left, right in sheet.merged_cells[:10_000] if right == left + 1 for r, c in ((r, left) for r in range(top + 1, end))}
    formatted = book.formatting_info
    for i in range(sheet.nrows):
        row: list[Any] = []
        for j, (kind, value) in enumerate(zip(sheet.row_types(i), sheet.row_values(i), strict=True)):
            if not kind or kind == xlrd.XL_CELL_BLANK:
                row.append(sheet.cell_value(*merged[i, j]) if (i, j) in merged else None)
            elif kind == xlrd.XL_CELL_DATE:
                try:
                    row.append(xlrd.xldate_as_datetime(value, book.datemode))
                except (xlrd.XLDateError, OverflowError, ValueError):
                    row.append(value)
            elif kind == xlrd.XL_CELL_BOOLEAN:
                row.append(bool(value))
            elif kind == xlrd.XL_CELL_ERROR:
                row.append(errors.get(value, "#N/A"))
            elif kind == xlrd.XL_CELL_NUMBER and formatted:
                row.append(_shown(value, _xls_format(book, sheet.cell_xf_index(i, j))))
            else:
                row.append(value)
        yield row


def _xls_format(book: Any, index: int) -> str:
    form = book.format_map.get(book.xf_list[index].format_key) if index < len(book.xf_list) else None
    return form.format_str if form else ""


def typed_tables(kind: str, rows: Rows, budget: list[int], *, name: str = "", hidden: bool = False) -> list[Table]:
    """Rows of typed cells as tables, kept in memory within the budget of cells left; none where no cell is filled."""
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
        return []
    several = sections.split(kept)
    tables = from_sections(kind, several, name) if several else [from_kept(kind, kept, seen, natives)]
    for table in tables:
        table.name, table.hidden = table.name or name, hidden
    if cut:
        tables[-1].notes.append(Note("rows_cut", args={"read": len(kept)}))
    return tables


def from_sections(kind: str, found: list[sections.Section], sheet: str = "") -> list[Table]:
    """The tables of one sheet, each called by its title or its place."""
    tables = []
    for number, section in enumerate(found, start=1):
        table = from_kept(kind, section.rows)
        table.header_row += section.top if table.header_row else 0
        table.shares = sheet
        table.name = " / ".join(part for part in (sheet, section.title or f"table {number}") if part)
        tables.append(table)
    return tables


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


