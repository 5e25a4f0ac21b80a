"""The text and tables of PDF and DOCX, and plain text."""

from __future__ import annotations

import io
import re
import subprocess
from typing import Any

from . import charsets, grid, kinds
from .layout import kind as cell_kind
from .notes import Note
from .read_delimited import text_lines
from .read_excel import check_package, from_kept
from .refusal import Refusal
from .source import Source
from .tables import Reading, Table

_MAX_BYTES = 96 << 20
_MAX_TABLES = 30
_PDF_SECONDS = 40
_GAP = re.compile(r"\S+(?: \S+)*")


def read_text(source: Source, charset: charsets.Charset) -> Reading:
    """Plain text as one column, a line a row."""
    with text_lines(source, charset) as f:
        lines = [line.strip("\r\n") for _, line in zip(range(500_000), f, strict=False)]
    table = _lines_table(kinds.TEXT, [line for line in lines if line.strip()])
    table.encoding = charset.name
    table.notes.append(Note("prose", args={"words": sum(len(line.split()) for line in lines), "count": table_rows(table)}))
    return Reading(tables=[table])


def table_rows(table: Table) -> int:
    """Rows of a table whose source is in memory."""
    return sum(1 for _ in table.body.source())


def _lines_table(kind: str, lines: list[str]) -> Table:
    rows = [[line.strip()] for line in lines]
    return Table(kind=kind, name="text", body=grid.with_names(lambda: iter(rows), ["text"]))


def read_pdf(source: Source) -> Reading:
    """The text of a PDF with its layout, and the tables that columns of it make."""
    data = source.data(_MAX_BYTES)
    try:
        done = subprocess.run(["pdftotext", "-layout", "-enc", "UTF-8", "-", "-"], input=data, capture_output=True, timeout=_PDF_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Refusal("failed", kind="PDF") from error
    except FileNotFoundError as error:
        raise Refusal("unreadable", kind="PDF", instead="CSV, Excel or plain text") from error
    complaint = done.stderr.decode("utf-8", "replace").lower()
    if "incorrect password" in complaint or "encrypted" in complaint and not done.stdout.strip():
        raise Refusal("password", kind="PDF")
    text = done.stdout.decode("utf-8", "replace")
    pages = text.split("\f")
    pages = pages[:-1] if pages and not pages[-1].strip() else pages
    if not text.strip():
        raise Refusal("broken" if done.returncode else "scanned", kind="PDF")
    blocks = [block for page in pages for block in _blocks(page.splitlines())]
    tables = _join_pages([rows for rows in map(_columns, blocks) if rows])
    lines = [line for page in pages for line in page.splitlines() if line.strip()]
    return _document(kinds.PDF, tables, lines, len(pages))


def _document(kind: str, tables: list[list[list[str]]], lines: list[str], pages: int) -> Reading:
    reading = Reading()
    for number, rows in enumerate(tables[:_MAX_TABLES], start=1):
        table = from_kept(kind, rows)
        table.name = f"table {number}"
        reading.tables.append(table)
    if lines:
        reading.tables.append(_lines_table(kind, lines))
    if not reading.tables:
        raise Refusal("blank")
    words = sum(len(line.split()) for line in lines)
    reading.notes.append(Note("document", args={"pages": pages, "words": words, "count": len(tables)}))
    return reading


def _blocks(lines: list[str]) -> list[list[str]]:
    """Runs of lines that have at least two columns each, blank lines allowed between."""
    blocks: list[list[str]] = []
    block: list[str] = []
    blanks = 0
    for line in lines:
        cells = len(_split(line))
        if cells >= 2:
            block.append(line)
            blanks = 0
        elif not line.strip() and block and blanks < 1:
            blanks += 1
        else:
            if len(block) >= 3:
                blocks.append(block)
            block, blanks = [], 0
    if len(block) >= 3:
        blocks.append(block)
    return blocks


def _split(line: str) -> list[tuple[int, int, str]]:
    """The cells of a line, which two blanks or more divide: start, end, text."""
    return [(m.start(), m.end(), m[0]) for m in _GAP.finditer(line)]


def _columns(lines: list[str]) -> list[list[str]]:
    """A block of aligned lines as rows; empty when it is no table."""
    spans = [_split(line) for line in lines]
    counts = sorted(len(s) for s in spans)
    usual = counts[len(counts) // 2]
    if usual < 2 or sum(1 for s in spans if len(s) == usual) < 0.6 * len(spans):
        return []
    edges = _edges([s for s in spans if len(s) == usual], usual)
    rows = []
    for row in spans:
        cells = [""] * usual
        for start, end, text in row:
            at = max(range(usual), key=lambda j: min(end, edges[j][1]) - max(start, edges[j][0]))
            cells[at] = f"{cells[at]} {text}".strip()
        rows.append(cells)
    return rows if _tabular(rows) else []


def _edges(spans: list[list[tuple[int, int, str]]], usual: int) -> list[tuple[int, int]]:
    return [(min(s[j][0] for s in spans), max(s[j][1] for s in spans)) for j in range(usual)]


def _tabular(rows: list[list[str]]) -> bool:
    """Numbers or short words, not prose that happens to stand in two columns."""
    cells = [cell for row in rows for cell in row if cell]
    typed = sum(1 for cell in cells if cell_kind(cell) in ("number", "date"))
    long = sum(1 for cell in cells if len(cell.split()) > 7)
    return typed >= 0.15 * len(cells) and long <= 0.1 * len(cells) or len(rows[0]) >= 3 and long <= 0.02 * len(cells)


def _join_pages(tables: list[list[list[str]]]) -> list[list[list[str]]]:
    """Tables that go on over pages: the same header, or the same width of numbers."""
    joined: list[list[list[str]]] = []
    for rows in tables:
        if joined and len(joined[-1][0]) == len(rows[0]) and joined[-1][0] == rows[0]:
            joined[-1].extend(rows[1:])
        else:
            joined.append(rows)
    return joined


def read_docx(source: Source) -> Reading:
    """The tables and paragraphs of a DOCX document."""
    import docx

    data = source.data(_MAX_BYTES)
    check_package(data, kinds.DOCX)
    try:
        document = docx.Document(io.BytesIO(data))
        lines = [p.text for p in document.paragraphs if p.text.strip()]
        tables = [rows for rows in (_docx_rows(t) for t in document.tables[: _MAX_TABLES * 2]) if len(rows) >= 2 and len(rows[0]) >= 2]
    except Refusal:
        raise
    except Exception as error:
        raise Refusal("broken", kind="DOCX") from error
    return _document(kinds.DOCX, tables, lines, 1)


def _docx_rows(table: Any) -> list[list[str]]:
    """Cells merged across are blank but in the first; merged down they repeat."""
    rows = []
    for row in table.rows:
        texts: list[str] = []
        before = None
        for cell in row.cells:
            texts.append("" if cell._tc is before else " ".join(cell.text.split()))
            before = cell._tc
        if any(texts):
            rows.append(texts)
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def fixed_width(text: str, complete: bool) -> list[str] | None:
    """The lines of a text whose columns are aligned with blanks; None when it is none."""
    if _ruled(text.splitlines()[:_RULED_LOOK]):
        return text.splitlines()
    lines = [line.expandtabs() for line in text.splitlines() if line.strip() and not re.fullmatch(r"[\s\-=+|_]+", line)]
    if not complete:
        lines = lines[:-1]
    if len(lines) < 2:
        return None
    return lines if len(_aligned(lines[:200])) == min(len(lines), 200) else None


_RULED_LOOK = 400
_RULE_LINE = re.compile(r"\s*[-=]{2,}(?:\s+[-=]+)+\s*")
_ROWS_LINE = re.compile(r"\(?\d+ rows?\b.*", re.IGNORECASE)


def _ruled(lines: list[str]) -> list[list[str]]:
    """Rows under a header that is underlined column by column, as database shells print; else none."""
    at = next((i for i, line in enumerate(lines[:12]) if _RULE_LINE.fullmatch(line)), 0)
    names = next((i for i in range(at - 1, -1, -1) if lines[i].strip()), None)
    if names is None or at == 0:
        return []
    edges = [match.start() for match in re.finditer(r"[-=]+", lines[at])]
    spans = list(zip(edges, [*edges[1:], None], strict=True))
    header = [lines[names][a:b].strip() for a, b in spans]
    rows = [
        [line[a:b].strip() for a, b in spans]
        for line in lines[at + 1 :]
        if line.strip() and not _RULE_LINE.fullmatch(line) and not _ROWS_LINE.fullmatch(line.strip()) and line.strip() != lines[names].strip()
    ]
    blank_between = all(line[a - 1 : a] in ("", " ") for line in lines[at + 1 : at + 40] if line.strip() and not _ROWS_LINE.fullmatch(line.strip()) for a in edges[1:])
    return [header, *rows] if len(edges) >= 2 and all(header) and rows and blank_between else []


def _aligned(lines: list[str]) -> list[list[str]]:
    """Aligned lines as rows; empty when they are no table."""
    matrix = [line.split() for line in lines]
    if len(matrix[0]) > 1 and all(len(row) == len(matrix[0]) and all(cell_kind(cell) == "number" for cell in row) for row in matrix):
        return matrix  # a matrix, as Matlab saves it
    if len(lines) < 3:
        return []
    gaps, stripes = _columns(lines), _striped(lines)
    return stripes if stripes and (not gaps or len(stripes[0]) > len(gaps[0])) else gaps


def _striped(lines: list[str]) -> list[list[str]]:
    """Rows cut where every line is blank and the header begins a new name; empty when that is no table."""
    sample = lines[:200]
    width = max(map(len, sample))
    taken = [False] * (width + 1)
    for line in sample:
        for at, c in enumerate(line):
            taken[at] = taken[at] or c != " "
    starts = [at for at in range(width) if taken[at] and (at == 0 or not taken[at - 1])]
    header = sample[0].ljust(width)
    edges: list[int] = []
    for at, end in zip(starts, [*starts[1:], width], strict=True):
        if not edges or header[at:end].strip():
            edges.append(at)
    if len(edges) < 3:
        return []
    rows = [[line[a:b].strip() for a, b in zip(edges, [*edges[1:], None], strict=True)] for line in lines]
    body = rows[1:]
    typed = [j for j in range(len(edges)) if sum(cell_kind(row[j]) in ("number", "date") for row in body) >= 0.6 * len(body)]
    named = all(cell and cell_kind(cell) == "text" for cell in rows[0])
    full = sum(1 for row in body for cell in row if cell)
    return rows if named and typed and full >= 0.7 * len(body) * len(edges) else []


def read_fixed_width(source: Source, charset: charsets.Charset) -> Reading:
    """A text in aligned columns."""
    with text_lines(source, charset) as f:
        lines = [line.rstrip("\r\n").expandtabs() for line in f]
    rows = _ruled(lines) or _aligned([line for line in lines if line.strip() and not re.fullmatch(r"[\s\-=+|_]+", line)])
    if not rows:
        return read_text(source, charset)
    table = from_kept(kinds.TEXT, rows)
    table.kind, table.encoding = "fixed-width", charset.name
    table.notes.append(Note("fixed_width"))
    return Reading(tables=[table])


def read_parquet(source: Source) -> Reading:
    """Parquet, where the image has pyarrow."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise Refusal("unreadable", kind="Parquet", instead="CSV") from error
    from . import cells

    try:
        file = parquet.ParquetFile(io.BytesIO(source.data(_MAX_BYTES)))
        names = file.schema_arrow.names

        def rows() -> Any:
            for batch in file.iter_batches(batch_size=20_000):
                columns = [[cells.text(v) if not isinstance(v, (list, dict, bytes)) else str(v)[:2_000] for v in c.to_pylist()] for c in batch.columns]
                yield from (list(row) for row in zip(*columns, strict=True))

        table = Table(kind=kinds.PARQUET, body=grid.with_names(rows, names))
    except Exception as error:
        raise Refusal("broken", kind="Parquet") from error
    return Reading(tables=[table])
