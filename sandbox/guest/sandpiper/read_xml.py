"""XML: elements that repeat are the rows of a table.

Nothing outside of the file is loaded and no entity is expanded. The file is
read as a stream, so that a large export needs no tree in memory.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from . import charsets
from .read_excel import from_kept
from .read_json import of_records
from .refusal import Refusal
from .source import Source
from .tables import Reading
from .words import clean

_MAX_BYTES = 256 << 20
_MAX_CELLS = 3_000_000
_MAX_TABLES = 12
_MAX_PATHS = 2_000
_DEPTH = 12

# What a store of objects, or a service, answers in place of a file.
_ERROR = re.compile(r"^\s*(?:<\?xml[^>]*>\s*)?<(?:Error|ErrorResponse|Fault|(?:\w+:)?Envelope[^>]*>\s*<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?Fault)\b")
_ROOT = re.compile(r"<[A-Za-z_][\w.:-]*(?:\s[^<>]*)?>")
_MIDNIGHT = re.compile(r"(?<=^\d{4}-\d\d-\d\d)T00:00:00(?:\.0+)?$")
_SHEETS = b"urn:schemas-microsoft-com:office:spreadsheet"

Path = tuple[str, ...]


def looks_like(text: str) -> bool:
    """Whether the first part of a text is XML."""
    start = text.lstrip("\ufeff \t\r\n")
    return start.startswith("<?xml") or (_ROOT.match(start) is not None and ("</" in start or "/>" in start))


def read(source: Source, charset: charsets.Charset) -> Reading:
    """A table for each kind of element that repeats; the one with most rows is the file's."""
    if _SHEETS in source.head(4096):
        return _read_sheets(source, charset)
    counts, fields = _survey(source)
    reading = Reading()
    budget = [_MAX_CELLS]
    for path in _chosen(counts, fields):
        records = _records(source, path, budget)
        table = of_records(lambda records=records: iter(records), list(dict.fromkeys(key for record in records for key in record)), records)
        if table is None:
            continue
        table.native = []  # all of XML is text: that a number is one says nothing
        table.kind, table.encoding, table.name = "xml", charset.name, clean("/".join(path[1:]) or path[0], 80)
        reading.tables.append(table)
    if not reading.tables:
        raise Refusal("error_reply" if _ERROR.search(source.head(2048).decode("latin-1")) else "xml_no_table")
    return reading


def _events(source: Source) -> Any:
    """Starts and ends of elements; the refusal that a broken or hostile file deserves."""
    from lxml import etree

    if b"<!ENTITY" in source.head(1 << 16).replace(b"\0", b""):  # in UTF-16 too
        raise Refusal("entities")
    with source.open() as f:
        steps = etree.iterparse(f, events=("start", "end"), resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, remove_comments=True, remove_pis=True)
        try:
            yield from steps
        except etree.XMLSyntaxError as error:
            raise Refusal("truncated_xml", line=error.lineno or 0) from error


def _name(element: Any) -> str:
    tag = element.tag
    return tag.rsplit("}", 1)[-1] if isinstance(tag, str) else "?"


def _survey(source: Source) -> tuple[Counter[Path], dict[Path, set[str]]]:
    """How often each path of elements occurs, and which single values its elements have."""
    counts: Counter[Path] = Counter()
    fields: dict[Path, set[str]] = {}
    stack: list[str] = []
    for event, element in _events(source):
        if event == "start":
            stack.append(_name(element))
            if len(stack) > 200:
                raise Refusal("json_deep")
            continue
        path = tuple(stack[:_DEPTH])
        stack.pop()
        if path in counts or len(counts) < _MAX_PATHS:
            counts[path] += 1
            known = fields.setdefault(path, set())
            if len(known) < 500:
                known.update("@" + str(key) for key in element.attrib)
            if len(path) > 1 and not len(element) and ((element.text or "").strip() or element.attrib):
                fields.setdefault(path[:-1], set()).add(path[-1])
        _drop(element, stack)
    return counts, fields


def _drop(element: Any, stack: list[str]) -> None:
    """Free an element that has been seen; its parent still knows that it was there."""
    if stack:
        element.clear(keep_tail=False)
        while element.getprevious() is not None:
            del element.getparent()[0]


def _chosen(counts: Counter[Path], fields: dict[Path, set[str]]) -> list[Path]:
    """Paths whose elements are rows: repeated, with values of their own, not parts of a chosen one of as many."""
    repeated = [p for p, n in counts.items() if n > 1 and len(fields.get(p, ())) >= 2]
    if not repeated:
        repeated = [p for p, n in counts.items() if n > 1 and (fields.get(p) or n > 2)][:1]
    chosen: list[Path] = []
    for path in sorted(repeated, key=lambda p: (len(p), -counts[p])):
        above = [p for p in chosen if p == path[: len(p)]]
        if not any(counts[path] <= counts[p] for p in above):
            chosen.append(path)
    return chosen[:_MAX_TABLES]


def _records(source: Source, wanted: Path, budget: list[int]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    stack: list[str] = []
    inside = False
    for event, element in _events(source):
        if event == "start":
            stack.append(_name(element))
            inside = inside or tuple(stack) == wanted
            continue
        here = tuple(stack) == wanted
        stack.pop()
        if here:
            record: dict[str, Any] = {}
            _flatten(element, "", record, 0)
            budget[0] -= len(record) + 1
            if budget[0] < 0:
                raise Refusal("too_large", size=_MAX_BYTES >> 20, limit=_MAX_BYTES >> 20)
            records.append(record)
            inside = False
        if not inside:
            _drop(element, stack)
    return records


def _flatten(element: Any, prefix: str, record: dict[str, Any], depth: int) -> None:
    """Attributes and children as columns; a child that repeats is kept as JSON text."""
    for key, value in element.attrib.items():
        record[prefix + str(key).rsplit("}", 1)[-1]] = value
    children = [child for child in element if isinstance(child.tag, str)]
    text = (element.text or "").strip()
    if text and not children:
        record[prefix[:-1] or "value"] = text
    names = Counter(map(_name, children))
    for child in children:
        name = prefix + _name(child)
        if names[_name(child)] > 1:
            shown = (child.text or "").strip() if not len(child) else {_name(c): (c.text or "").strip() for c in child}
            record.setdefault(name, []).append(shown)
        elif depth < 4:
            _flatten(child, name + ".", record, depth + 1)



def _read_sheets(source: Source, charset: charsets.Charset) -> Reading:
    """Excel's workbook as one XML file, which many programs call .xls."""
    reading = Reading()
    budget = _MAX_CELLS
    rows: list[list[str]] = []
    row: list[str] = []
    for event, element in _events(source):
        name = _name(element)
        if event == "start":
            if name == "Row":
                row = []
                rows.extend([] for _ in range(min(_place(element) - 1, 100_000) - len(rows)))
            continue
        if name == "Cell":
            row.extend([""] * (min(_place(element) - 1, 16_384) - len(row)))
            text = "".join("".join(part.itertext()) for part in element if _name(part) == "Data").strip()
            row.append(_MIDNIGHT.sub("", text))
            row.extend([""] * min(_number(element, "MergeAcross"), 100))
        elif name == "Row":
            budget -= len(row) + 1
            if budget < 0:
                raise Refusal("too_large", size=_MAX_BYTES >> 20, limit=_MAX_BYTES >> 20)
            rows.append(row)
            element.clear()
        elif name == "Worksheet":
            title = clean(next((str(v) for k, v in element.attrib.items() if str(k).endswith("}Name")), ""), 120)
            if any(any(r) for r in rows):
                table = from_kept("xml", rows)
                table.name, table.encoding = title, charset.name
                reading.tables.append(table)
            else:
                reading.empty.append(title)
            rows = []
    if not reading.tables:
        raise Refusal("no_sheet")
    return reading


def _place(element: Any) -> int:
    return _number(element, "Index")


def _number(element: Any, name: str) -> int:
    value = next((str(v) for k, v in element.attrib.items() if str(k).endswith("}" + name)), "")
    return int(value) if value.isdecimal() and len(value) < 8 else 0
