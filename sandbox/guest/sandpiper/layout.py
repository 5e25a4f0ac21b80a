"""Where a table begins in a sheet of cells, and what its columns are called.

Exports put titles, dates and blank lines above the header, units below it, and
sometimes leave the header out. All of that is decided on the first rows.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import dates, missing, numbers
from .notes import Note
from .words import clean

Row = Sequence[str]

_PREAMBLE = 40  # rows within which a table must begin
_NAME_LIMIT = 200
_UNIT = re.compile(
    r"[\[(].{1,16}[\])]|%|[€$£¥₽]|°[CF]|EUR|USD|GBP|RUB|руб\.?|тыс\.?\s?руб\.?|шт\.?|[kmcMG]?[gmWVABls]|[kMG]?B|kWh|MWh|кВт·?ч?|кг|г|м|км|с|мин|ч"
    r"|[кМмг]?(?:Па|Вт|Гц|В|А|Ом|л|б|байт)|дБ|мс|сек|мин|час|мм|см|мл|мг|т|мм\s?рт\.?\s?ст\.?|ms|s|sec|min|h|hours|days|pcs|units?|m/s|km/h|kg/m3|m2|m²|m3|m³|hPa|bar|mbar|ppm|mmol/l|mg/l|bpm|count|n/a|text|date(?:time)?|str(?:ing)?|int(?:eger)?|float|double|decimal|numeric|bool(?:ean)?|varchar|-|個|円|元|件"
)
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(slots=True)
class Layout:
    """A table's frame. Rows are counted from 1 in the file; 0 is no header."""

    width: int
    first: int  # index of the first data row
    header_row: int
    names: list[str]
    header: list[str] = field(default_factory=list)  # the raw header, to find repeats
    notes: list[Note] = field(default_factory=list)


def find(head: Sequence[Row], width: int | None = None) -> Layout:
    """Find the table in the first rows of a sheet.

    ``width`` is the number of columns where the caller knows it.
    """
    filled = [sum(1 for cell in row if cell and not cell.isspace()) for row in head]
    width = width or _width(head, filled)
    start = _start(head, filled, width)
    if start is None:
        return Layout(width, len(head), 0, [], notes=[])
    body = [head[i] for i in range(start + 1, len(head)) if filled[i]]
    layout = Layout(width, start, 0, [])
    skipped = sum(1 for i in range(start) if filled[i])
    rows: list[Row] = []
    if _is_settings(head, start, body, width):
        start, skipped, body = start + 1, skipped + 1, body[1:]
        layout.first = start
    named = _with_row_names(head, start, width)
    if named is not None:
        head = [*head[:start], named, *head[start + 1 :]]
    if _is_header(head[start], body, width):
        rows, skipped = _header_rows(head, filled, start, width, skipped)
        layout.first = start + (len(rows) if rows[0] is head[start] else 1)
        layout.header_row = layout.first
    if skipped:
        layout.notes.append(Note("preamble", args={"count": skipped}))
    if rows:
        _take_header(layout, rows)
        _take_units(layout, head, filled)
        _take_labels(layout, head, rows)
    else:
        layout.names = [f"column_{i + 1}" for i in range(width)]
        layout.notes.append(Note("no_header"))
    return layout


def _width(head: Sequence[Row], filled: Sequence[int]) -> int:
    """The usual number of cells up to the last filled one."""
    extents: Counter[int] = Counter()
    for row, count in zip(head, filled, strict=True):
        if count:
            extents[max(i for i, cell in enumerate(row) if cell and not cell.isspace()) + 1] += 1
    if not extents:
        return 0
    most = extents.most_common(1)[0][1]
    return max(w for w, n in extents.items() if n >= max(1, 0.3 * most))


def _start(head: Sequence[Row], filled: Sequence[int], width: int) -> int | None:
    """The first row that is as full as the table's rows are."""
    enough = width if width <= 2 else max(2, round(0.55 * width))
    candidates = [i for i, n in enumerate(filled[:_PREAMBLE]) if n >= enough]
    if candidates:
        start = _past_particulars(filled, candidates[0], width)
        return _past_pairs(head, filled, start, width)
    return next((i for i, n in enumerate(filled) if n), None)


def _past_pairs(head: Sequence[Row], filled: Sequence[int], start: int, width: int) -> int:
    """Past narrower rows at the top, such as "Customer | ACME", to a whole row of names over values."""
    for i in range(start, min(len(head), start + 12)):
        row = head[i]
        if filled[i] < width:
            if any(cell.strip() for cell in row[filled[i] :]):
                return start
            continue
        names = [cell.strip() for cell in row[:width]]
        body = [head[j] for j in range(i + 1, min(len(head), i + 60)) if filled[j]]
        whole = len(body) >= 2 and sum(filled[j] == width for j in range(i, min(len(head), i + 60))) >= 0.6 * (len(body) + 1)
        named = len(set(names)) == width and all(kind(name) == "text" for name in names)
        return i if i > start and width >= 3 and whole and named and _is_header(row, body, width) and _has_values(body, width) else start
    return start


def _has_values(body: Sequence[Row], width: int) -> bool:
    return any(sum(j < len(row) and kind(row[j]) in ("number", "date") for row in body) >= 0.8 * len(body) for j in range(width))


def _past_particulars(filled: Sequence[int], start: int, width: int) -> int:
    """Where whole rows begin, when narrower ones with a blank row below them come first: a report's particulars."""
    blank = next((i for i in range(start, min(len(filled), _PREAMBLE)) if not filled[i]), None)
    if blank is None or max(filled[start:blank]) >= width:
        return start
    below = next((i for i in range(blank, min(len(filled), _PREAMBLE)) if filled[i]), start)
    return below if filled[below] >= width else start


@functools.lru_cache(maxsize=8192)
def kind(cell: str) -> str:
    """What a cell looks like: "", "number", "date" or "text"."""
    cell = cell.strip()
    if not cell:
        return ""
    if len(cell) <= 40:
        if numbers.describe(cell) is not None:
            return "number"
        if dates.describe(cell) is not None:
            return "date"
    return "text"


def _is_header(row: Row, body: Sequence[Row], width: int) -> bool:
    score = 0.0
    kinds = [kind(cell) for cell in row]
    for j, cell in enumerate(row[:width]):
        below = [r[j].strip() for r in body[:60] if j < len(r) and r[j].strip()]
        below_kinds = Counter(map(kind, below))
        usual = below_kinds.most_common(1)[0][0] if below_kinds else ""
        mine = kinds[j]
        if mine == "text" and usual in ("number", "date"):
            score += 1
        elif mine == "text" and below and below.count(cell.strip()) >= max(1, 0.02 * len(below)):
            score -= 1
        elif mine in ("number", "date"):
            label = _YEAR.fullmatch(cell.strip()) or mine == "date"
            alike = usual == mine and not (_YEAR.fullmatch(cell.strip()) and not any(_YEAR.fullmatch(b) for b in below))
            score += 0.2 if label and not alike else -1
    if score:
        return score > 0
    texts = [cell.strip() for cell, k in zip(row, kinds, strict=True) if k == "text"]
    return len(texts) == len(set(texts)) and "number" not in kinds and "date" not in kinds and bool(texts)


def _with_row_names(head: Sequence[Row], start: int, width: int) -> Row | None:
    """The header with a blank in front, where R has written rows' names without a name for them."""
    below = [row for row in head[start + 1 :] if any(row)]
    if len(head[start]) != width - 1 or len(below) < 2 or any(len(row) != width for row in below):
        return None
    first = [row[0].strip() for row in below]
    counted = all(cell.isdecimal() for cell in first) and [int(cell) for cell in first] in (list(range(1, len(first) + 1)), list(range(len(first))))
    worded = len(set(first)) == len(first) and all(kind(cell) == "text" for cell in first) and len(first) >= 3
    return ["", *head[start]] if counted or worded else None


def _take_labels(layout: Layout, head: Sequence[Row], rows: Sequence[Row]) -> None:
    """Skip rows of words under the header where all below are numbers or dates: surveys' questions, a second row of names."""
    first, count = layout.first, 0
    for count in (3, 2, 1, 0):
        below = [row for row in head[first + count : first + 40] if any(cell.strip() for cell in row)]
        if len(below) >= 2 and all(_is_labels(row, below, layout.width) for row in head[first : first + count]):
            break
    if not count:
        return
    names = [cell.strip() for cell in rows[-1] if cell.strip()]
    if count == 1 and len(rows) == 1 and len(set(names)) < len(names):
        layout.notes = [note for note in layout.notes if note.code not in ("duplicate_names", "unnamed")]
        _take_header(layout, [rows[0], head[layout.first]])
        layout.header_row += 1
    else:
        layout.notes.append(Note("label_rows", args={"count": count}))
    layout.first += count


def _is_labels(row: Row, below: Sequence[Row], width: int) -> bool:
    typed = worded = 0
    for j in range(min(width, len(row))):
        values = [kind(r[j]) for r in below if j < len(r) and r[j].strip() and r[j].strip() not in missing.SPECIAL | missing.ALWAYS]
        if len(values) < 2 or sum(v in ("number", "date") for v in values) < 0.9 * len(values):
            continue
        typed += 1
        cell = row[j].strip()
        if not cell:
            continue
        if kind(cell) != "text" or cell in missing.SPECIAL or cell in missing.ALWAYS or (sum(map(str.isalpha, cell)) < 2 and "=" not in cell) or _UNIT.fullmatch(cell):
            return False
        worded += 1
    # Beside columns of words, a row of labels shows as one by blanks, questions, or signs that no value has.
    texts = [row[j].strip() for j in range(min(width, len(row)))]
    telling = "!!" in "".join(texts) or any(t.startswith("{") or len(t.split()) > 2 for t in texts) or texts[0] == ""
    return worded >= max(2, 0.6 * typed) and (typed == width or telling) or (worded == typed == 1 and "!!" in "".join(texts))


def _is_settings(head: Sequence[Row], start: int, body: Sequence[Row], width: int) -> bool:
    """Whether the first full row tells of the export itself and the names stand below it, as DATEV has it."""
    if start + 1 >= len(head) or len(body) < 3 or _is_header(head[start], body, width):
        return False
    names = [cell.strip() for cell in head[start + 1][:width]]
    if len(set(names)) < len(names) or any(kind(name) != "text" for name in names) or len(names) < width:
        return False
    return any(all(j < len(row) and kind(row[j]) in ("number", "date") for row in body[1:20]) for j in range(width))


def _header_rows(
    head: Sequence[Row], filled: Sequence[int], start: int, width: int, skipped: int
) -> tuple[list[Row], int]:
    """The header's rows: a group row above, or the rest of a split one below."""
    row = head[start]
    below = start + 1
    if below < len(head) and _completes(row, head[below], width):
        return [row, head[below]], skipped
    if start and 2 <= filled[start - 1] < width and _is_group_row(head[start - 1]):
        return [head[start - 1], row], skipped - 1
    return [row], skipped


def _completes(upper: Row, lower: Row, width: int) -> bool:
    # A cell merged downwards stands in both rows.
    lower = ["" if j < len(upper) and cell == upper[j] else cell for j, cell in enumerate(lower)]
    blank_above = [j for j in range(width) if j >= len(upper) or not upper[j].strip()]
    if not blank_above or any(kind(c) not in ("", "text") and not _YEAR.fullmatch(c.strip()) for c in lower):
        return False
    blank_below = [j for j in range(width) if j >= len(lower) or not lower[j].strip()]
    return bool(blank_below) and all(j < len(lower) and lower[j].strip() for j in blank_above)


def _is_group_row(row: Row) -> bool:
    places = [j for j, cell in enumerate(row) if cell.strip()]
    years = all(kind(row[j]) == "text" or _YEAR.fullmatch(row[j].strip()) for j in places)
    return years and places != list(range(len(places)))


def _take_header(layout: Layout, rows: Sequence[Row]) -> None:
    width = layout.width
    layout.header = [cell.strip() for cell in rows[-1]]
    names = [""] * width
    for depth, row in enumerate(rows):
        group = ""
        for j in range(width):
            cell = clean(row[j], _NAME_LIMIT) if j < len(row) else ""
            if depth < len(rows) - 1:
                group = cell or group
                cell = group
            if cell and cell != names[j]:
                names[j] = f"{names[j]} {cell}" if names[j] else cell
    if len(rows) > 1:
        layout.notes.append(Note("header_rows", args={"count": len(rows)}))
    if names and names[0].startswith("#") and len(names[0]) > 1:
        names[0] = names[0].lstrip("# ")
    layout.names, notes = distinguish(names)
    layout.notes.extend(notes)


def distinguish(names: Sequence[str]) -> tuple[list[str], list[Note]]:
    """Names made unique: later twins are numbered, blanks named by position."""
    taken: set[str] = set()
    wanted = {n for n in names if n}
    result, twins, blanks = [], [], 0
    counters: Counter[str] = Counter()
    for position, name in enumerate(names, start=1):
        if not name:
            blanks += 1
            base = name = f"column_{position}"
            while name in taken or name in wanted:
                name = base = base + "_"
        elif name in taken:
            twins.append(name)
            base = name
            counters[base] = max(counters[base], 1)
            while name in taken or (name in wanted and name != base):
                counters[base] += 1
                name = f"{base} ({counters[base]})"
        taken.add(name)
        result.append(name)
    notes = []
    if twins:
        shown = ", ".join(f"“{clean(t, 40)}”" for t in list(dict.fromkeys(twins))[:5])
        notes.append(Note("duplicate_names", args={"names": shown}))
    if blanks:
        notes.append(Note("unnamed", args={"count": blanks}))
    return result, notes


def _take_units(layout: Layout, head: Sequence[Row], filled: Sequence[int]) -> None:
    """Skip a row of units below the header, when the columns below hold numbers."""
    i = layout.first
    if i + 1 >= len(head) or not filled[i]:
        return
    cells = [cell.strip() for cell in head[i][: layout.width]]
    units = [(layout.names[j], cell) for j, cell in enumerate(cells) if cell and cell != "-"]
    known = sum(_UNIT.fullmatch(cell) is not None for _, cell in units)
    if not units or known < 0.6 * len(units) or any(len(cell) > 8 or kind(cell) != "text" for _, cell in units if not _UNIT.fullmatch(cell)):
        return
    below = [r for r in head[i + 1 : i + 20] if any(c.strip() for c in r)]
    numeric = 0
    for j, cell in enumerate(cells):
        if cell and cell != "-":
            values = [kind(r[j]) for r in below if j < len(r) and r[j].strip()]
            numeric += bool(values) and values.count("number") >= 0.6 * len(values)
    if numeric >= max(1, 0.5 * len(units)):
        layout.first += 1
        shown = ", ".join(f"{name}: {cell}" for name, cell in units[:6])
        layout.notes.append(Note("units_row", args={"units": shown}))
