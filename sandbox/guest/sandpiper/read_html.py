"""HTML: the tables in a page, and the pages that stand where a file should."""

from __future__ import annotations

import re
from typing import Any

from . import charsets
from .notes import Note
from .read_excel import from_kept
from .refusal import Refusal
from .source import Source
from .tables import Reading
from .words import clean

_MAX_BYTES = 32 << 20
_MAX_TABLES = 30
_MAX_CELLS = 2_000_000
_SPAN = 200
_LOGIN = re.compile(r"<input[^>]+type\s*=\s*[\"']?password|\b(?:log|sign)[ -]?in\b|single sign-on|\bsso\b|войти|авторизац|anmelden|登录|ログイン", re.IGNORECASE)
_ERROR = re.compile(r"<title>[^<]*(?:error|not found|denied|forbidden|unavailable|expired|ошибк|не найден)|\b(?:40[0-9]|50[0-9])\b[^<]{0,40}(?:error|not found|forbidden|unauthorized|gateway)", re.IGNORECASE)
_TAG = re.compile(r"<(?:!doctype\s+html|html|head|body|table|meta|title)\b", re.IGNORECASE)
_ROOT = re.compile(r"<(!doctype|[a-z][\w:.-]*)", re.IGNORECASE)
# What a page, or a part of one, begins with; anything else is XML.
_ROOTS = frozenset(
    "!doctype html head body table thead tbody tr caption meta title base link style script noscript div span p br hr a b i u em strong small font center"
    " h1 h2 h3 h4 h5 h6 ul ol li dl form input section main article header footer nav iframe img pre blockquote".split()
)
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([\w-]{2,20})", re.IGNORECASE)


def looks_like(text: str) -> bool:
    """Whether the first part of a text is HTML."""
    start = text.lstrip("\ufeff \t\r\n")[:4096]
    declared = start.startswith("<?xml")
    while (mark := next((end for begin, end in (("<?", "?>"), ("<!--", "-->")) if start.startswith(begin)), "")) and mark in start:
        start = start[start.find(mark) + len(mark) :].lstrip()
    root = _ROOT.match(start)
    if root is not None and (declared or root[1].lower() not in _ROOTS):
        return root[1].lower() in ("html", "!doctype") and not re.match(r"<!doctype\s+(?!html)", start, re.IGNORECASE)
    return start.startswith("<") and _TAG.search(start[:2048]) is not None


def read(source: Source, charset: charsets.Charset) -> Reading:
    """The tables of a page, the largest first."""
    from lxml import etree, html

    data = source.data(_MAX_BYTES)
    charset = _told(data, charset)
    text = data.decode(charset.codec, errors="replace")
    try:
        page = html.document_fromstring(text.encode("utf-8"), parser=html.HTMLParser(encoding="utf-8", huge_tree=False, no_network=True))
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, RecursionError) as error:
        raise Refusal("html_no_table") from error
    reading = Reading()
    budget = [_MAX_CELLS]
    for element in page.iter("table"):
        if element.find(".//table") is not None:
            continue  # a table that only lays out others
        rows = [row for row in _rows(element, budget) if any(row)]
        if len(rows) < 2 or max(map(len, rows)) < 2 or element.find(".//input") is not None:
            continue
        table = from_kept("html", rows)
        table.encoding = charset.name
        caption = element.find("caption")
        table.name = clean("".join(caption.itertext()), 80) if caption is not None else ""
        reading.tables.append(table)
        if len(reading.tables) >= _MAX_TABLES:
            break
    if not reading.tables:
        raise Refusal("login" if _LOGIN.search(text) else "html_error" if _ERROR.search(text) else "html_no_table")
    if len(reading.tables) > 1:
        for number, table in enumerate(reading.tables, start=1):
            table.name = table.name or f"table {number}"
        reading.notes.append(Note("other_tables", args={"count": len(reading.tables)}))
    return reading


def _told(data: bytes, charset: charsets.Charset) -> charsets.Charset:
    """What the page says of its encoding, where its bytes do not prove another."""
    told = _CHARSET.search(data[:4096])
    if told is None or charset.name.startswith("utf"):
        return charset
    name = told[1].decode("ascii").lower()
    try:
        data.decode(name)
    except (LookupError, UnicodeDecodeError):
        return charset
    return charsets.Charset(name, name)


def _rows(table: Any, budget: list[int]) -> list[list[str]]:
    """The cells' texts; a cell that spans rows or columns stands in each."""
    result: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}  # column -> rows left, text
    for tr in table.iter("tr"):
        row: list[str] = []
        cells = [c for c in tr if c.tag in ("td", "th")]
        place = 0
        while cells or place in hanging:
            if place in hanging:
                left, text = hanging.pop(place)
                if left > 1:
                    hanging[place] = (left - 1, text)
                row.append(text)
                place += 1
                continue
            cell = cells.pop(0)
            text = _text(cell)
            across, down = _span(cell, "colspan"), _span(cell, "rowspan")
            head = cell.tag == "th"
            for step in range(across):
                row.append(text if step == 0 or not head else "")
                if down > 1:
                    hanging[place] = (down - 1, "" if head else text)
                place += 1
        budget[0] -= len(row)
        if budget[0] < 0:
            raise Refusal("bomb")
        result.append(row)
    return result


def _span(cell: Any, name: str) -> int:
    value = cell.get(name, "1").strip()
    return max(1, min(int(value), _SPAN)) if value.isdecimal() and len(value) < 6 else 1


def _text(cell: Any) -> str:
    parts = []
    for part in cell.iter():
        if part.tag == "br":
            parts.append(" ")
        if isinstance(part.tag, str) and part.tag not in ("script", "style") and part.text:
            parts.append(part.text)
        if part is not cell and part.tail:
            parts.append(part.tail)
    return re.sub(r"[ \t\r\n\u00a0]+", " ", "".join(parts)).strip(" ")
