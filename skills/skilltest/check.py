# Holds what a skill left in /workspace against /workspace/.sandpiper/expect.json
# and prints {"failures": [text, …]}.
import csv
import datetime
import fnmatch
import json
import math
import os
import re
import struct
import zipfile

OUT, EXCHANGE = "/workspace/out", "/workspace/.sandpiper"
NUMBER = re.compile(r"[-+−–]?\d(?:[\d\u00a0\u202f,]|(?<=\d) (?=\d{3}(?!\d)))*(?:[.,]\d+)?")
failures = []


def fail(text):
    failures.append(text)


def read(name):
    try:
        with open(os.path.join(EXCHANGE, name), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def number(text):
    """A number as reports write it, in English or Russian."""
    text = re.sub(r"[\u00a0\u202f ]", "", text).replace("−", "-").replace("–", "-")
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", text):
        text = text.replace(",", "")
    text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return math.nan


def same(seen, figure):
    wanted, tolerance = figure["equals"], figure.get("tolerance") or 1e-9 * max(1.0, abs(figure["equals"]))
    return seen is not None and math.isfinite(seen) and abs(seen - wanted) <= tolerance


def in_text(text, figure, where):
    after = figure.get("after", "")
    for line in text.splitlines():
        at = plain(line).find(after)
        if at < 0:
            continue
        numbers = [number(m) for m in NUMBER.findall(line[at + len(after) :])]
        nth = figure.get("nth") or 1
        if len(numbers) >= nth and same(numbers[nth - 1], figure):
            return
        if len(numbers) >= nth:
            fail(f"{where}: number {nth} after {after!r} is {numbers[nth - 1]:g}, expected {figure['equals']:g}")
            return
    fail(f"{where}: no number {figure.get('nth') or 1} after {after!r}, expected {figure['equals']:g}")


def plain(text):
    """The same text with ordinary blanks, character by character."""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def hold(text, wanted, where):
    text = plain(text)
    for part in wanted.get("contains") or []:
        if part not in text:
            fail(f"{where} does not contain {part!r}; it begins {text[:300]!r}")
    for part in wanted.get("lacks") or []:
        if part in text:
            fail(f"{where} contains {part!r}")


def tables(path):
    """Sheets of a workbook or one of a CSV file, as lists of rows."""
    if path.endswith((".xlsx", ".xlsm")):
        import openpyxl

        formulas = openpyxl.load_workbook(path)
        for sheet in formulas.worksheets:
            for row in sheet.iter_rows():
                for cell in row:
                    if cell.data_type == "f" and not re.match(r"=(SUBTOTAL|SUM|AVERAGE|COUNT)", str(cell.value)):
                        fail(f"{os.path.basename(path)}: {sheet.title}!{cell.coordinate} is a formula")
        book = openpyxl.load_workbook(path, data_only=True)
        return {s.title: [list(r) for r in s.iter_rows(values_only=True)] for s in book.worksheets}
    with open(path, encoding="utf-8-sig", newline="") as f:
        return {"": [list(r) for r in csv.reader(f)]}


def shown(cell):
    if hasattr(cell, "strftime"):
        return cell.strftime(
            "%Y-%m-%d" if not (getattr(cell, "hour", 0) or getattr(cell, "minute", 0)) else "%Y-%m-%d %H:%M:%S"
        )
    return "" if cell is None else plain(str(cell))


def raw_cell(rows, figure):
    """The value where a row and a column cross, as the file has it; None where they do not."""
    for at, row in enumerate(rows):
        heads = [shown(c).strip() for c in row]
        if figure["column"] in heads:
            column = heads.index(figure["column"])
            for below in rows[at + 1 :]:
                if figure["row"] in [shown(c).strip() for c in below] and column < len(below):
                    return below[column]
    return None


def cell_of(rows, figure, where):
    value = raw_cell(rows, figure)
    if value is not None:
        return number(value) if isinstance(value, str) else value
    fail(f"{where}: there is no row {figure['row']!r} below a column {figure['column']!r}")
    return math.nan


def in_table(sheets, figure, where):
    sheet = figure.get("sheet", "")
    if sheet and sheet not in sheets:
        fail(f"{where}: there is no sheet {sheet!r}; there are {list(sheets)}")
        return
    seen = cell_of(sheets[sheet] if sheet else next(iter(sheets.values())), figure, where)
    if seen is None or math.isfinite(seen) and not same(seen, figure):
        fail(f"{where}: {figure['row']} / {figure['column']} is {seen}, expected {figure['equals']:g}")


def in_json(text, figure, where):
    value = json.loads(text)
    for part in figure["path"].split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            fail(f"{where}: there is nothing at {figure['path']}")
            return
    if not isinstance(value, (int, float)) or not same(float(value), figure):
        fail(f"{where}: {figure['path']} is {value!r}, expected {figure['equals']:g}")


def office_text(path):
    texts = []
    with zipfile.ZipFile(path) as z:
        for name in sorted(z.namelist()):
            if re.fullmatch(r"(word/document|ppt/slides/slide\d+|ppt/notesSlides/.*)\.xml", name) or name.endswith(
                "word/document.xml"
            ):
                xml = z.read(name).decode("utf-8")
                xml = re.sub(r"</(?:w|a):p>|<(?:w|a):tab/>", "\n", xml)
                xml = re.sub(r"<[^>]+>", "", xml)
                texts.append(xml.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&"))
    return "\n".join(texts)


def picture(path, where):
    with open(path, "rb") as f:
        head = f.read(24)
    if head[:8] != b"\x89PNG\r\n\x1a\n":
        fail(f"{where} is not a PNG")
        return
    width, height = struct.unpack(">II", head[16:24])
    if width < 400 or height < 150:
        fail(f"{where} is only {width} by {height}")
        return
    import matplotlib.pyplot as plt

    if float(plt.imread(path).std()) < 0.01:
        fail(f"{where} is empty")


def pdf(path, wanted, where):
    with open(path, "rb") as f:
        data = f.read()
    if not data.startswith(b"%PDF-"):
        fail(f"{where} is not a PDF")
        return
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    if wanted.get("pages") and pages != wanted["pages"]:
        fail(f"{where} has {pages} pages, expected {wanted['pages']}")


def one_file(path, wanted):
    where = os.path.basename(path)
    low = path.lower()
    if low.endswith((".xlsx", ".csv")):
        sheets = tables(path)
        if wanted.get("sheets") and list(sheets) != wanted["sheets"]:
            fail(f"{where} has the sheets {list(sheets)}, expected {wanted['sheets']}")
        if wanted.get("rows"):
            rows = [r for r in next(iter(sheets.values())) if any(shown(c) for c in r)]
            if len(rows) - 1 != wanted["rows"]:
                fail(f"{where} has {len(rows) - 1} rows, expected {wanted['rows']}")
        hold("\n".join("\t".join(shown(c) for c in row) for rows in sheets.values() for row in rows), wanted, where)
        for figure in wanted.get("figures") or []:
            in_table(sheets, figure, where)
        for kind, types in (("numbers", (int, float)), ("texts", str), ("dates", datetime.date)):
            for cell in wanted.get(kind) or []:
                seen = raw_cell(sheets.get(cell.get("sheet", ""), next(iter(sheets.values()))), cell)
                if not isinstance(seen, types):
                    fail(f"{where}: {cell['row']} / {cell['column']} is {seen!r}, which is none of the {kind}")
    elif low.endswith(".png"):
        picture(path, where)
    elif low.endswith(".pdf"):
        pdf(path, wanted, where)
    elif low.endswith((".docx", ".pptx")):
        text = office_text(path)
        hold(text, wanted, where)
        if wanted.get("slides"):
            with zipfile.ZipFile(path) as z:
                slides = sum(bool(re.fullmatch(r"ppt/slides/slide\d+\.xml", n)) for n in z.namelist())
            if slides != wanted["slides"]:
                fail(f"{where} has {slides} slides, expected {wanted['slides']}")
        if wanted.get("fonts"):
            with zipfile.ZipFile(path) as z:
                look = "".join(z.read(n).decode("utf-8") for n in z.namelist() if n.endswith(("styles.xml", "theme1.xml")))
            for font in wanted["fonts"]:
                if f'"{font}"' not in look:
                    fail(f"{where} names no font {font}")
        for figure in wanted.get("figures") or []:
            in_text(text, figure, where)
    else:
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        hold(text, wanted, where)
        for figure in wanted.get("figures") or []:
            (in_json if figure.get("path") else in_text)(text, figure, where)


def main():
    with open(os.path.join(EXCHANGE, "expect.json"), encoding="utf-8") as f:
        expect = json.load(f)
    refusal = read("refusal.json")
    if expect.get("refused"):
        if refusal is None:
            fail("was not refused")
        elif expect["refused"] not in json.loads(refusal)["message"]:
            fail(f"was refused with {json.loads(refusal)['message']!r}, expected {expect['refused']!r}")
        return
    if refusal is not None:
        fail(f"was refused: {refusal}")
        return
    answer = read("answer.md") or read("stdout.txt") or ""
    hold(answer, expect.get("answer") or {}, "the answer")
    for figure in (expect.get("answer") or {}).get("figures") or []:
        in_text(answer, figure, "the answer")
    present = [os.path.relpath(os.path.join(folder, n), OUT) for folder, _, names in os.walk(OUT) for n in names]
    for wanted in expect.get("files") or []:
        found = fnmatch.filter(present, wanted["name"])
        if not found:
            fail(f"there is no file {wanted['name']}; there are {sorted(present)}")
        for name in found:
            one_file(os.path.join(OUT, name), wanted)


main()
print(json.dumps({"failures": failures}, ensure_ascii=False))
