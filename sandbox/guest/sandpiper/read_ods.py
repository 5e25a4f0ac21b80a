"""OpenDocument spreadsheets, read as a stream: a sheet may claim a million repeated rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from . import kinds
from .notes import Note
from .read_excel import MAX_CELLS, MAX_SHEETS, check_package, typed_tables
from .refusal import Refusal
from .source import Source
from .tables import Reading

_MAX_BYTES = 128 << 20
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_REPEAT = 2_000  # a filled row or cell is repeated at most that often


def read(source: Source) -> Reading:
    """All sheets of an ods file."""
    data = source.data(_MAX_BYTES)
    check_package(data, kinds.ODS)
    with kinds.open_zip(io.BytesIO(data), kinds.ODS) as archive:
        if "META-INF/manifest.xml" in archive.namelist() and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise Refusal("password", kind="ODS")
        content = archive.read("content.xml")
    reading = Reading()
    budget = [MAX_CELLS]
    count = 0
    for name, hidden, rows in _sheets(content):
        count += 1
        if count > MAX_SHEETS:
            continue
        tables = typed_tables(kinds.ODS, rows, budget, name=name, hidden=hidden)
        if not tables:
            reading.empty.append(name)
        reading.tables.extend(tables)
    if count > MAX_SHEETS:
        reading.notes.append(Note("sheets_cut", args={"total": count, "read": MAX_SHEETS}))
    if not reading.tables:
        raise Refusal("no_sheet")
    return reading


def _sheets(content: bytes) -> Iterator[tuple[str, bool, Iterator[list[Any]]]]:
    from lxml import etree

    options = {"resolve_entities": False, "no_network": True, "huge_tree": False}
    hidden_styles: set[str] = set()
    try:
        for _, element in etree.iterparse(io.BytesIO(content), events=("end",), tag=(_STYLE + "style", _TABLE + "table"), **options):
            if element.tag == _STYLE + "style":
                properties = element.find(_STYLE + "table-properties")
                if properties is not None and properties.get(_TABLE + "display") == "false":
                    hidden_styles.add(element.get(_STYLE + "name", ""))
                continue
            hidden = element.get(_TABLE + "style-name", "") in hidden_styles
            yield element.get(_TABLE + "name", ""), hidden, _rows(element)
            element.clear()
    except etree.XMLSyntaxError as error:
        raise Refusal("broken", kind="ODS") from error


def _rows(table: Any) -> Iterator[list[Any]]:
    for row in table.iter(_TABLE + "table-row"):
        values: list[Any] = []
        for cell in row:
            if cell.tag not in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
                continue
            value = _value(cell)
            times = int(cell.get(_TABLE + "number-columns-repeated", "1"))
            values.extend([value] * min(times, _REPEAT if value not in (None, "") else 16_384 - min(len(values), 16_384)))
        while values and values[-1] in (None, ""):
            values.pop()
        times = int(row.get(_TABLE + "number-rows-repeated", "1"))
        for _ in range(min(times, _REPEAT) if values else min(times, 200)):
            yield list(values)


def _value(cell: Any) -> Any:
    kind = cell.get(_OFFICE + "value-type")
    if kind in ("float", "currency", "percentage"):
        number = float(cell.get(_OFFICE + "value", "nan"))
        return int(number) if number == number and abs(number) < 1e15 and number == int(number) else number
    if kind == "boolean":
        return cell.get(_OFFICE + "boolean-value") == "true"
    if kind == "date":
        try:
            return datetime.fromisoformat(cell.get(_OFFICE + "date-value", ""))
        except ValueError:
            return cell.get(_OFFICE + "date-value")
    text = "\n".join("".join(p.itertext()) for p in cell.iter(_TEXT + "p"))
    return text or None
