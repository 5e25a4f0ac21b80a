"""Every other kind of file: workbooks, JSON, HTML, logs, documents, archives."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from typing import Any

from harness import Case

SCRIPTS = {
    "latin": (["region", "day", "units", "amount"], ["Zürich", "Oslo", "Zürich"]),
    "cyrillic": (["регион", "день", "штук", "сумма"], ["Москва", "Тверь", "Москва"]),
    "cjk": (["地域", "日付", "数量", "金額"], ["東京", "大阪", "東京"]),
}
_DAYS = [dt.date(2025, 1, 31), dt.date(2024, 12, 1), dt.date(2025, 2, 14)]
_UNITS = [5, 7, -2]
_AMOUNTS = [10.5, 0.25, 1999.0]


def cases(now: dt.datetime) -> list[Case]:
    return [*_xlsx(), *_xlsx_oddities(), *_xls(), *_ods(), *_json(), *_jsonl(), *_html(), *_logs(now), *_documents(), *_text(), *_archives()]


def table_facts(heads: list[str], places: list[str], **more: Any) -> dict[str, Any]:
    return {
        "rows": 3, "columns": heads, "types": dict(zip(heads, ("text", "date", "integer", "number"), strict=True)),
        "sums": {heads[2]: 10, heads[3]: 2009.75}, "spans": {heads[2]: (-2, 7), heads[3]: (0.25, 1999)}, "dates": {heads[1]: ("2024-12-01", "2025-02-14")},
        "tops": {heads[0]: {p: places.count(p) for p in places}}, **more,
    }  # fmt: skip


def data_rows(places: list[str]) -> list[list[Any]]:
    return [list(row) for row in zip(places, _DAYS, _UNITS, _AMOUNTS, strict=True)]


def _book(fill: Callable[[Any], None]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    fill(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _xlsx() -> list[Case]:
    made = []
    for script, (heads, places) in SCRIPTS.items():

        def fill(book: Any, heads: list[str] = heads, places: list[str] = places) -> None:
            sheet = book.active
            sheet.title = heads[0]
            for row in [heads, *data_rows(places)]:
                sheet.append(row)

        made.append(Case(f"xlsx-{script}", f"{heads[0]}.xlsx", _book(fill), table_facts(heads, places, kind="xlsx", header_row=1)))
    heads, places = SCRIPTS["latin"]
    made.append(Case("xlsx-named-csv", "export.csv", _book(lambda b: [b.active.append(r) for r in [heads, *data_rows(places)]]), table_facts(heads, places, kind="xlsx", notes=["by its content"])))

    def macro() -> bytes:
        plain = io.BytesIO(_book(lambda b: [b.active.append(r) for r in [heads, *data_rows(places)]]))
        with zipfile.ZipFile(plain, "a") as archive:
            archive.writestr("xl/vbaProject.bin", b"macro")
        return plain.getvalue()

    made.append(Case("xlsm", "book.xlsm", macro(), table_facts(heads, places, kind="xlsm")))
    return made


def _xlsx_oddities() -> list[Case]:
    def titled(book: Any) -> None:
        sheet = book.active
        for row in (["Report of the year"], [], [None, "region", "n"], [None, "North", 5], [None, "South", 6], [None, "Total", "=SUM(C4:C5)"], [], [None, "Source: ledger"]):
            sheet.append(row)

    def sheets(book: Any) -> None:
        book.active.title = "Data"
        for row in (["k", "n"], ["a", 1], ["b", 2]):
            book.active.append(row)
        hidden = book.create_sheet("Archive")
        hidden.sheet_state = "hidden"
        for row in (["k", "n"], ["z", 50], ["y", 60], ["x", 70]):
            hidden.append(row)
        book.create_sheet("Blank")

    def merged(book: Any) -> None:
        sheet = book.active
        for row in (["region", "q", "n"], ["North", "q1", 1], [None, "q2", 2], [None, "q3", 3], ["South", "q1", 4], [None, "q2", 5]):
            sheet.append(row)
        sheet.merge_cells("A2:A4")
        sheet.merge_cells("A5:A6")

    def grouped(book: Any) -> None:
        sheet = book.active
        for row in (["region", 2023, None, 2024, None], [None, "plan", "fact", "plan", "fact"], ["North", 1, 2, 3, 4], ["South", 5, 6, 7, 8]):
            sheet.append(row)
        sheet.merge_cells("B1:C1")
        sheet.merge_cells("D1:E1")

    def formulas(book: Any) -> None:
        for row in (["k", "n", "twice"], ["a", 1, "=B2*2"], ["b", 2, "=B3*2"], ["c", 3, "=B4*2"]):
            book.active.append(row)

    def texts(book: Any) -> None:
        for row in (["k", "n"], ["a", 1], ["b", "2"], ["c", "3"], ["d", 4]):
            book.active.append(row)

    def padded(book: Any) -> None:
        sheet = book.active
        sheet.append(["code", "n"])
        for i in range(4):
            sheet.append([i + 7, i])
            sheet.cell(row=sheet.max_row, column=1).number_format = "00000"

    def errors(book: Any) -> None:
        for row in (["k", "n"], ["a", 1], ["b", "#DIV/0!"], ["c", 3]):
            book.active.append(row)

    def hidden_rows(book: Any) -> None:
        for row in (["k", "n"], ["a", 1], ["b", 2], ["c", 3]):
            book.active.append(row)
        book.active.row_dimensions[3].hidden = True

    def times(book: Any) -> None:
        for i in range(3):
            book.active.append(["when", "n"]) if i == 0 else None
            book.active.append([dt.datetime(2024, 5, 1 + i, 13, 30 + i), i])

    return [
        Case("xlsx-preamble-total-footer", "titled.xlsx", _book(titled), {"rows": 2, "columns": ["region", "n"], "sums": {"n": 11}, "header_row": 3, "notes": ["above the header", "total row", "below the data"]}),
        Case("xlsx-hidden-sheet", "sheets.xlsx", _book(sheets), {
            "rows": 2, "sums": {"n": 3}, "notes": ["“Archive” is hidden", "without data: “Blank”"], "sheets": {"Archive": {"hidden": True, "rows": 3}, "Data": {"hidden": False, "rows": 2}, "Blank": {"rows": 0}},
        }),
        Case("xlsx-merged-down", "merged.xlsx", _book(merged), {"rows": 5, "tops": {"region": {"North": 3, "South": 2}}, "missing": {"region": 0}, "sums": {"n": 15}}),
        Case("xlsx-two-headers", "grouped.xlsx", _book(grouped), {"rows": 2, "columns": ["region", "2023 plan", "2023 fact", "2024 plan", "2024 fact"], "sums": {"2023 plan": 6, "2024 fact": 12}}),
        Case("xlsx-formulas-without-values", "formulas.xlsx", _book(formulas), {"rows": 3, "sums": {"n": 6}, "missing": {"twice": 3}, "notes": ["3 formulas have no stored value"]}),
        Case("xlsx-numbers-as-text", "texts.xlsx", _book(texts), {"rows": 4, "types": {"n": "integer"}, "sums": {"n": 10}, "notes": ["2 numbers were stored as text"]}),
        Case("xlsx-zeros-by-format", "padded.xlsx", _book(padded), {"rows": 4, "types": {"code": "text"}, "tops": {"code": {f"0000{i}": 1 for i in range(7, 10)} | {"00010": 1}}, "notes": ["leading zeros"]}),
        Case("xlsx-errors", "errors.xlsx", _book(errors), {"rows": 3, "sums": {"n": 4}, "missing": {"n": 1}, "notes": ["formula errors"]}),
        Case("xlsx-hidden-rows", "filtered.xlsx", _book(hidden_rows), {"rows": 3, "sums": {"n": 6}, "notes": ["1 row is hidden"]}),
        Case("xlsx-times", "times.xlsx", _book(times), {"rows": 3, "types": {"when": "datetime"}, "dates": {"when": ("2024-05-01T13:30:00", "2024-05-03T13:32:00")}}),
    ]  # fmt: skip


def _xls() -> list[Case]:
    """Old workbooks, written by hand as BIFF2: no library writes them any more."""
    made = []
    for script, codec in (("latin", "cp1252"), ("cyrillic", "cp1251")):
        heads, places = SCRIPTS[script]
        made.append(Case(f"xls-{script}", "old.xls", biff2([heads[:1] + heads[2:], *[[p, u, a] for p, u, a in zip(places, _UNITS, _AMOUNTS, strict=True)]], codec), {
            "kind": "xls", "rows": 3, "columns": heads[:1] + heads[2:], "sums": {heads[2]: 10, heads[3]: 2009.75}, "tops": {heads[0]: {p: places.count(p) for p in places}},
        }))  # fmt: skip
    titled = [["Report", None], [None, None], ["k", "n"], ["a", 1], ["b", 2], ["Total", 3]]
    made.append(Case("xls-total", "titled.xls", biff2(titled, "cp1252"), {"kind": "xls", "rows": 2, "sums": {"n": 3}, "header_row": 3, "notes": ["total row"]}))
    return made


def biff2(rows: list[list[Any]], codec: str) -> bytes:
    """A sheet in the first of Excel's binary formats."""
    import struct

    def record(kind: int, body: bytes) -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    page = {"cp1251": 1251, "cp1252": 1252}[codec]
    out = record(0x0009, struct.pack("<HH", 2, 0x0010)) + record(0x0042, struct.pack("<H", page))
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            where = struct.pack("<HH", r, c) + b"\x00\x00\x00"
            if isinstance(value, (int, float)):
                out += record(0x0003, where + struct.pack("<d", value))
            elif value is not None:
                text = value.encode(codec)
                out += record(0x0004, where + bytes([len(text)]) + text)
    return out + record(0x000A, b"")


def ods(sheets: list[tuple[str, bool, list[list[Any]]]]) -> bytes:
    """An OpenDocument spreadsheet."""
    from xml.sax.saxutils import escape, quoteattr

    def cell(value: Any) -> str:
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, dt.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value.isoformat()}"><text:p>{value:%d.%m.%y}</text:p></table:table-cell>'
        if isinstance(value, (int, float)):
            return f'<table:table-cell office:value-type="float" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'

    names = {"office": "office", "table": "table", "text": "text", "style": "style"}
    space = " ".join(f'xmlns:{k}="urn:oasis:names:tc:opendocument:xmlns:{v}:1.0"' for k, v in names.items())
    styles = '<office:automatic-styles><style:style style:name="hid" style:family="table"><style:table-properties table:display="false"/></style:style></office:automatic-styles>'
    body = ""
    for name, hidden, rows in sheets:
        lines = "".join("<table:table-row>" + "".join(map(cell, row)) + '<table:table-cell table:number-columns-repeated="1000"/></table:table-row>' for row in rows)
        tail = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="1024"/></table:table-row>'
        body += f"<table:table table:name={quoteattr(name)}{' table:style-name=' + quoteattr('hid') if hidden else ''}>{lines}{tail}</table:table>"
    content = f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {space}>{styles}<office:body><office:spreadsheet>{body}</office:spreadsheet></office:body></office:document-content>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    return out.getvalue()


def _ods() -> list[Case]:
    made = []
    for script, (heads, places) in SCRIPTS.items():
        made.append(Case(f"ods-{script}", "table.ods", ods([(heads[0], False, [heads, *data_rows(places)])]), table_facts(heads, places, kind="ods", header_row=1)))
    two = ods([("Main", False, [["k", "n"], ["a", 4], ["b", 5]]), ("Old", True, [["k", "n"], ["z", 9]])])
    made.append(Case("ods-hidden-sheet", "two.ods", two, {"rows": 2, "sums": {"n": 9}, "notes": ["“Old” is hidden"], "sheets": {"Old": {"hidden": True, "rows": 1}}}))
    return made


def _json() -> list[Case]:
    made = []
    for script, (heads, places) in SCRIPTS.items():
        records = [dict(zip(heads, [p, d.isoformat(), u, a], strict=True)) for p, d, u, a in data_rows(places)]
        made.append(Case(f"json-list-{script}", "a.json", json.dumps(records, ensure_ascii=script == "cjk", indent=1 if script == "latin" else None).encode(), table_facts(heads, places, kind="json")))
    nested = {"ok": True, "result": {"items": [{"id": 1, "who": {"name": "Ann", "city": "Oslo"}, "tags": ["x", "y"]}, {"id": 2, "who": {"name": "Bob", "city": None}, "tags": []}]}}
    made.append(Case("json-nested", "n.json", json.dumps(nested).encode(), {
        "rows": 2, "columns": ["id", "who.name", "who.city", "tags"], "missing": {"who.city": 1}, "sums": {"id": 3}, "notes": ["result.items", "JSON text"],
    }))  # fmt: skip
    made.append(Case("json-columns", "c.json", json.dumps({"k": ["a", "b", "c"], "n": [1, 2, 3.5]}).encode(), {"rows": 3, "columns": ["k", "n"], "sums": {"n": 6.5}}))
    made.append(Case("json-by-key", "k.json", json.dumps({"Oslo": {"n": 1, "m": 2}, "Rome": {"n": 3, "m": 4}}).encode(), {"rows": 2, "columns": ["key", "n", "m"], "sums": {"n": 4, "m": 6}}))
    made.append(Case("json-split", "s.json", json.dumps({"columns": ["k", "n"], "data": [["a", 1], ["b", 2]]}).encode(), {"rows": 2, "columns": ["k", "n"], "sums": {"n": 3}}))
    made.append(Case("json-rows", "r.json", json.dumps([["k", "n"], ["a", 1], ["b", 2], ["c", 3]]).encode(), {"rows": 3, "columns": ["k", "n"], "sums": {"n": 6}}))
    ids = '[{"id": 9007199254740993, "v": 1.10}, {"id": 9007199254740992, "v": 2.20}]'
    made.append(Case("json-64-bit", "big.json", ids.encode(), {"rows": 2, "types": {"id": "text"}, "distinct": {"id": 2}, "sums": {"v": 3.3}, "notes": ["15 digits"]}))
    made.append(Case("json-text-numbers", "t.json", b'[{"n": "1,200"}, {"n": "3,400.5"}, {"n": null}]', {"rows": 3, "missing": {"n": 1}, "sums": {"n": 4600.5}, "notes": ["stored as text"]}))
    return made


def _jsonl() -> list[Case]:
    made = []
    for script, (heads, places) in SCRIPTS.items():
        lines = "\n".join(json.dumps(dict(zip(heads, [p, d.isoformat(), u, a], strict=True)), ensure_ascii=False) for p, d, u, a in data_rows(places))
        made.append(Case(f"jsonl-{script}", "a.jsonl", lines.encode(), table_facts(heads, places, kind="jsonl")))
    broken = "\n".join(json.dumps({"i": i, "ok": i % 2 == 0}) for i in range(10)) + '\n{"i": 10, "o'
    made.append(Case("jsonl-cut", "cut.jsonl", broken.encode(), {"rows": 10, "sums": {"i": 45}, "types": {"ok": "boolean"}, "notes": ["1 line is not valid JSON .*line 11"]}))
    late = '{"a": 1}\n{"a": 2, "b": 5}\n{"b": 6}\n'
    made.append(Case("jsonl-late-keys", "late.ndjson", late.encode(), {"rows": 3, "columns": ["a", "b"], "missing": {"a": 1, "b": 1}, "sums": {"a": 3, "b": 11}}))
    return made


def _html() -> list[Case]:
    made = []
    for script, (heads, places) in SCRIPTS.items():
        rows = "".join("<tr>" + "".join(f"<td> {v}</td>" for v in (p, d.isoformat(), u, a)) + "</tr>" for p, d, u, a in data_rows(places))
        page = f"<!DOCTYPE html><html><head><meta charset=utf-8><title>x</title></head><body><p>Hi</p><table><tr>{''.join(f'<th>{h}</th>' for h in heads)}</tr>{rows}</table></body></html>"
        made.append(Case(f"html-{script}", "page.html" if script != "latin" else "export.xls", page.encode(), table_facts(heads, places, kind="html")))
    spans = "<table><tr><th rowspan=2>k</th><th colspan=2>2024</th></tr><tr><th>plan</th><th>fact</th></tr><tr><td>a</td><td>1</td><td>2</td></tr><tr><td>b</td><td>3</td><td>4</td></tr></table>"
    made.append(Case("html-spans", "spans.html", spans.encode(), {"rows": 2, "columns": ["k", "2024 plan", "2024 fact"], "sums": {"2024 plan": 4, "2024 fact": 6}}))
    two = "<html><body><table><tr><td>menu</td></tr></table><table><caption>First</caption><tr><th>k</th><th>n</th></tr><tr><td>a</td><td>1 200</td></tr><tr><td>b</td><td>3</td></tr></table><table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"
    made.append(Case("html-two-tables", "two.html", two.encode(), {"rows": 2, "sums": {"n": 1203}, "thousands": " ", "notes": ["2 tables"], "sheets": {"First": {"rows": 2}, "table 2": {"rows": 1}}}))
    cp = "<html><head><meta charset='windows-1251'></head><body><table><tr><th>город</th><th>n</th></tr><tr><td>Омск</td><td>1</td></tr><tr><td>Томск</td><td>2</td></tr></table></body></html>"
    made.append(Case("html-cp1251", "cp.html", cp.encode("cp1251"), {"rows": 2, "columns": ["город", "n"], "encoding": "windows-1251", "sums": {"n": 3}}))
    return made


def _logs(now: dt.datetime) -> list[Case]:
    combined = [f'192.0.2.{i % 3} - {"bob" if i == 4 else "-"} [1{i % 10}/Oct/2024:13:55:{i:02} +0200] "GET /страница?i={i} HTTP/1.1" {500 if i % 4 == 0 else 200} {i * 100} "-" "curl/8.5 (x; y)"' for i in range(20)]
    made = [Case("log-combined", "access.log", "\n".join(combined).encode(), {
        "kind": "log", "rows": 20, "types": {"time": "datetime", "status": "integer", "bytes": "integer"}, "sums": {"bytes": 19000}, "distinct": {"client": 3},
        "dates": {"time": ("2024-10-10T13:55:00+02:00", "2024-10-19T13:55:19+02:00")}, "missing": {"user": 19}, "notes": ["web access"],
    })]  # fmt: skip
    common = [f'host{i} - - [01/Jan/2025:00:00:{i:02} +0000] "POST /api HTTP/1.0" 404 -' for i in range(12)] + ["not a log line"]
    made.append(Case("log-common", "access.log.1", "\n".join(common).encode(), {"kind": "log", "rows": 12, "sums": {"status": 404 * 12}, "notes": ["1 line does not have that form .*line 13"]}))
    bsd = [f"<34>Oct {i:2d} 22:14:15 web01 su[{i}]: 'su root' failed for user{i % 2}" for i in range(1, 12)]
    year = now.year - (now < dt.datetime(now.year, 10, 12))
    made.append(Case("log-syslog", "messages", "\n".join(bsd).encode(), {
        "kind": "log", "rows": 11, "dates": {"time": (f"{year}-10-01T22:14:15", f"{year}-10-11T22:14:15")}, "sums": {"pid": 66}, "notes": [f"no year; {year} is taken"],
    }))  # fmt: skip
    first = now.replace(day=1, hour=8, minute=0, second=0, microsecond=0)  # the same for maker and judge
    turn = [first - dt.timedelta(days=300), first - dt.timedelta(days=100), first - dt.timedelta(days=1)]
    lines = [f"{d:%b} {d.day:2d} {d:%H:%M:%S} host cron[1]: задача {i}" for i, d in enumerate(turn)]
    span = (turn[0].isoformat(timespec="seconds"), turn[2].isoformat(timespec="seconds"))
    made.append(Case("log-syslog-over-new-year", "cron", "\n".join(lines).encode(), {"kind": "log", "rows": 3, "dates": {"time": span}, "notes": ["no year"]}))
    rfc = [f'<165>1 2024-05-0{i}T22:14:15.003Z mymachine evntslog - ID47 [x@1 iut="3"] событие {i}' for i in range(1, 6)]
    made.append(Case("log-rfc5424", "syslog.log", "\n".join(rfc).encode(), {"kind": "log", "rows": 5, "dates": {"time": ("2024-05-01T22:14:15.003000+00:00", "2024-05-05T22:14:15.003000+00:00")}, "distinct": {"message": 5}}))
    app = "\n".join(f"2024-02-0{i} 08:00:00,5{i} {'ERROR' if i == 3 else 'INFO'} [main] started {i}" + ("\nTraceback (most recent call last):\n  boom" if i == 3 else "") for i in range(1, 6))
    made.append(Case("log-application", "app.log", app.encode(), {"kind": "log", "rows": 5, "tops": {"level": {"INFO": 4, "ERROR": 1}}, "notes": ["2 continuation lines"]}))
    nginx = "\n".join(f"2024/02/0{i} 08:00:00 [error] 31#31: *{i} open() failed, client: 192.0.2.1" for i in range(1, 5))
    made.append(Case("log-web-error", "error.log", nginx.encode(), {"kind": "log", "rows": 4, "dates": {"time": ("2024-02-01T08:00:00", "2024-02-04T08:00:00")}, "tops": {"level": {"error": 4}}}))
    fmt = "\n".join(f'ts=2024-02-0{i}T08:00:00Z level=info msg="запрос {i}" dur={i}.5' for i in range(1, 5))
    made.append(Case("log-logfmt", "svc.log", fmt.encode(), {"kind": "log", "rows": 4, "columns": ["ts", "level", "msg", "dur"], "sums": {"dur": 12}}))
    bracketed = "\n".join(f"[2024-02-0{i} 08:00:00] WARNING: диск {i}" for i in range(1, 5))
    made.append(Case("log-bracketed", "cron.log", bracketed.encode(), {"kind": "log", "rows": 4, "tops": {"level": {"WARNING": 4}}}))
    return made


def _documents() -> list[Case]:
    import docx
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen import canvas

    made = []
    for script, (heads, places) in SCRIPTS.items():
        document = docx.Document()
        document.add_paragraph("Some words before the table.")
        table = document.add_table(rows=0, cols=4)
        for row in [heads, *[[p, d.isoformat(), str(u), str(a)] for p, d, u, a in data_rows(places)]]:
            cells = table.add_row().cells
            for cell, value in zip(cells, row, strict=True):
                cell.text = value
        out = io.BytesIO()
        document.save(out)
        made.append(Case(f"docx-{script}", "doc.docx", out.getvalue(), table_facts(heads, places, kind="docx", notes=["5 words of text, 1 table"])))

    def pdf(lines: list[list[str]], title: str) -> bytes:
        out = io.BytesIO()
        page = canvas.Canvas(out, pagesize=A4)
        page.drawString(72, 780, title)
        for i, line in enumerate(lines):
            for j, text in enumerate(line):
                page.drawString(72 + j * 130, 740 - i * 20, text)
        page.save()
        return out.getvalue()

    table = [["Month", "Units", "Revenue"], *[[f"2024-0{i}", str(i * 10), f"{i * 1000}.50"] for i in range(1, 7)]]
    made.append(Case("pdf-table", "figures.pdf", pdf(table, "Monthly figures"), {"kind": "pdf", "rows": 6, "columns": ["Month", "Units", "Revenue"], "sums": {"Units": 210, "Revenue": 21003}, "notes": ["1 page"]}))
    german = [["Artikel", "Menge", "Preis"], *[[f"Nr{i}", str(i), f"{i}.234,50"] for i in range(1, 5)]]
    made.append(Case("pdf-decimal-comma", "preise.pdf", pdf(german, "Preisliste"), {"kind": "pdf", "rows": 4, "sums": {"Menge": 10, "Preis": 10 * 1000 + 4 * 234.5}}))
    made.append(Case("pdf-prose", "letter.pdf", pdf([["Dear reader, this letter has no table in it."], ["It goes on for one more line, and ends."]], "A letter"), {"kind": "pdf", "rows": 3, "columns": ["text"], "notes": ["0 tables"]}))
    return made


def _text() -> list[Case]:
    letter = "Dear all,\n\nplease find the report below, as you asked for it. It is not long.\n\nKind regards,\nthe team\n"
    russian = "Уважаемые коллеги!\n\nНиже отчёт, который вы просили. Он короткий, но важный.\n\nС уважением,\nкоманда\n"
    chinese = "各位同事:\n\n请查看下面的报告,内容不长。\n\n谢谢\n团队\n"
    made = [Case(f"prose-{n}", "letter.txt", t.encode(), {"kind": "text", "rows": 4, "columns": ["text"], "notes": ["plain text"]}) for n, t in (("latin", letter), ("cyrillic", russian), ("cjk", chinese))]
    aligned = "Name        Qty   Price\nApple        10    1.50\nPear pie      7   12.25\nFig         100    0.10\n"
    made.append(Case("fixed-width", "list.txt", aligned.encode(), {"kind": "fixed-width", "rows": 3, "columns": ["Name", "Qty", "Price"], "sums": {"Qty": 117, "Price": 13.85}}))
    return made


def _archives() -> list[Case]:
    made = []
    heads, places = SCRIPTS["cyrillic"]
    text = "\n".join([";".join(heads), *[f"{p};{d:%d.%m.%Y};{u};{str(a).replace('.', ',')}" for p, d, u, a in data_rows(places)]])
    facts = table_facts(heads, places, delimiter=";", decimal=",")
    for name, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        made.append(Case(f"packed-{name}", f"table.csv.{name}", pack(text.encode("cp1251")), {**facts, "encoding": "windows-1251", "notes": ["unpacked"]}))
    made.append(Case("packed-gz-json", "a.json.gz", gzip.compress(b'[{"n": 1}, {"n": 2}]'), {"kind": "json", "rows": 2, "sums": {"n": 3}}))
    made.append(Case("packed-gz-log", "access.log.gz", gzip.compress("\n".join(f'h - - [01/Jan/2025:00:00:0{i} +0000] "GET / HTTP/1.0" 200 {i}' for i in range(9)).encode()), {"kind": "log", "rows": 9, "sums": {"bytes": 36}}))

    def zipped(files: dict[str, bytes]) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return out.getvalue()

    made.append(Case("zip-one", "one.zip", zipped({"данные/таблица.csv": text.encode()}), {**facts, "name": "one.zip/данные/таблица.csv"}))
    two = zipped({"a.csv": b"k,n\na,1\nb,2\n", "__MACOSX/._a.csv": b"junk", "b.jsonl": b'{"n": 5}\n{"n": 6}\n', "pic.png": b"\x89PNG\r\n\x1a\n0000"})
    made.append(Case("zip-several", "two.zip", two, {"entries": [{"name": "two.zip/a.csv", "sums": {"n": 3}}, {"name": "two.zip/b.jsonl", "sums": {"n": 11}}, {"refusal": "picture"}]}))
    inner = zipped({"deep.csv.gz": gzip.compress(b"k,n\na,7\nb,8\n")})
    made.append(Case("zip-gz", "deep.zip", inner, {"rows": 2, "sums": {"n": 15}}))
    return made
