"""JSON and JSON Lines: records wherever they are, nested keys joined by dots."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from . import charsets, grid
from .notes import Note
from .read_delimited import text_lines
from .read_excel import from_kept
from .refusal import Refusal
from .source import Source
from .tables import Reading, Table
from .words import clean

_MAX_BYTES = 64 << 20
_KEEP_BYTES = 24 << 20
_MAX_TABLES = 20
_DEPTH = 4  # how deep records are looked for, and how deep a record is flattened
_CELL = 2_000  # characters of a nested list that are kept
_KEY_LINES = 50_000


class Number(str):
    """A JSON number by its digits, so that neither 64-bit numbers nor 1.10 change."""

    __slots__ = ()


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number)
_BLANKS = re.compile(r"[\s,;\x1e]*")
# Remarks on lines of their own, and a comma before a closing bracket: JSON with comments.
_REMARK = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_TRAILING = re.compile(r",(\s*[\]}])")
_ERROR_KEYS = {"error", "errors", "error_description", "error_code", "error_uri", "message", "code", "status", "statuscode", "timestamp", "path", "requestid", "request_id", "ok", "success", "detail", "title", "type", "trace_id"}
_COLUMN_KEYS = ("columns", "fields", "header", "headers", "cols", "column_names", "columnNames")
_ROW_KEYS = ("data", "rows", "values", "records")
_NAME_KEYS = ("name", "label", "title", "field", "display_name", "column_name", "key", "id")


def loads(text: str) -> Any:
    """Decode JSON with numbers kept as written; NaN and Infinity, which are none, too."""
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def read(source: Source, charset: charsets.Charset) -> Reading:
    """One JSON value."""
    text = source.data(_MAX_BYTES).decode(charset.codec, errors="replace")
    try:
        value = _value(text.strip().lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise Refusal("truncated_json", line=error.lineno) from error
    except RecursionError as error:
        raise Refusal("json_deep") from error
    found: list[tuple[str, Any]] = []
    try:
        _find(value, "", 0, found)
        if not found and isinstance(value, dict):
            found = _of_object(value)
        made = [(path, _table(records)) for path, records in found]
    except RecursionError as error:
        raise Refusal("json_deep") from error
    reading = Reading(tables=[])
    for path, table in made[:_MAX_TABLES]:
        if table is not None:
            table.kind, table.encoding, table.name = "json", charset.name, path if len(made) > 1 else ""
            if path:
                table.notes.append(Note("json_part", args={"path": f"“{path}”"}))
            reading.tables.append(table)
    if isinstance(value, dict) and _is_error(value):
        raise Refusal("error_reply")
    if not reading.tables:
        raise Refusal("json_no_table")
    return reading


def _value(text: str) -> Any:
    """A JSON text's value; several values one after the other as a list of them."""
    try:
        return loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            bare = _TRAILING.sub(r"\1", _REMARK.sub("", text))
            if bare == text:
                raise
            return loads(bare)
        values, place = [], 0
        while place < len(text):
            value, end = _DECODER.raw_decode(text, place)
            values.append(value)
            place = _BLANKS.match(text, end).end()  # type: ignore[union-attr]
        return values


def _is_error(value: dict[str, Any]) -> bool:
    """What a server answers in place of data: nothing but an error and what belongs to it."""
    keys = {key.lower() for key in value}
    return bool(keys & {"error", "errors", "error_description", "error_code"}) and keys <= _ERROR_KEYS


def _find(value: Any, path: str, depth: int, found: list[tuple[str, Any]]) -> None:
    """Lists of records (or of rows), outermost first."""
    if isinstance(value, list):
        if value and (path == "" or any(isinstance(v, (dict, list)) for v in value[:5])):
            found.append((path, value))
        return
    if isinstance(value, dict) and depth < _DEPTH and len(found) < _MAX_TABLES:
        split = _split(value)
        if split is not None:
            found.append((path, split))
            return
        if isinstance(value.get("schema"), dict) and isinstance(value.get("data"), list):
            value = {"data": value["data"]}  # the columns' types beside the records, as pandas has it
        for key, inner in list(value.items())[:1000]:
            if isinstance(inner, (dict, list)):
                _find(inner, f"{path}.{clean(key, 60)}" if path else clean(key, 60), depth + 1, found)


def _split(value: dict[str, Any]) -> list[list[Any]] | None:
    """Rows under their names, where an object has the two apart; else None."""
    columns = next((value[k] for k in _COLUMN_KEYS if isinstance(value.get(k), list) and value[k]), None)
    rows = next((value[k] for k in _ROW_KEYS if isinstance(value.get(k), list) and value[k]), None)
    if columns is None or rows is None or columns is rows:
        return None
    names = [c if isinstance(c, str) else next((c[k] for k in _NAME_KEYS if isinstance(c.get(k), str)), None) if isinstance(c, dict) else None for c in columns]
    if any(name is None for name in names) or not all(isinstance(row, list) and len(row) == len(names) for row in rows[:50]):
        return None
    return [names, *(row for row in rows if isinstance(row, list))]


def _of_object(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Objects that are tables in another shape: by column, or by key."""
    inner = list(value.values())
    if len(inner) == 1 and isinstance(inner[0], dict) and inner[0]:
        return [(f"{clean(next(iter(value)), 60)}.{path}".rstrip("."), records) for path, records in _of_object(inner[0])]
    if len(inner) >= 2 and all(isinstance(v, dict) for v in inner):
        if len({frozenset(v) for v in inner[:50]}) == 1 and all(not isinstance(x, (dict, list)) for v in inner[:50] for x in v.values()):
            first = list(inner[0])
            if first == [str(i) for i in range(len(first))]:  # pandas' default: column -> row -> value
                return [("", [{k: v[i] for k, v in value.items()} for i in first])]
        return [("", [{"key": key, **v} for key, v in value.items()])]
    if inner and all(isinstance(v, list) and len(v) == len(inner[0]) for v in inner) and inner[0]:
        return [("", [dict(zip(value, row, strict=True)) for row in zip(*inner, strict=True)])]
    scalars = {k: v for k, v in value.items() if not isinstance(v, (dict, list))}
    return [("", [value])] if scalars else []


def _table(records: list[Any]) -> Table | None:
    if not records:
        return None
    objects = sum(isinstance(r, dict) for r in records)
    if objects == 0 and all(isinstance(r, list) for r in records):
        rows = [[_text(v) for v in row] for row in records]
        return from_kept("json", rows) if any(rows) else None
    if objects < len(records):
        records = [r if isinstance(r, dict) else {"value": r} for r in records]
    flat = [_flatten(r) for r in records]
    return of_records(lambda: iter(flat), _keys(flat), flat)


def _keys(records: list[dict[str, Any]]) -> list[str]:
    keys: dict[str, None] = {}
    for record in records:
        keys.update(dict.fromkeys(record))
    return list(keys)


def of_records(source: Callable[[], Iterator[dict[str, Any]]], keys: list[str], sample: list[dict[str, Any]]) -> Table | None:
    """A table over flat records; ``sample`` tells how values were written."""
    if not keys:
        return None

    def rows() -> Iterator[list[str]]:
        for record in source():
            yield [_text(record.get(key)) for key in keys]

    table = Table(kind="jsonl", body=grid.with_names(rows, keys))
    table.native = [_natives(sample, key) for key in keys]
    nested = [key for key in keys if any(isinstance(r.get(key), list) for r in sample[:200])]
    if nested:
        table.notes.append(Note("nested", args={"columns": ", ".join(f"“{clean(k, 40)}”" for k in nested[:6])}))
    return table


def _natives(sample: list[dict[str, Any]], key: str) -> Any:
    from collections import Counter

    kinds: Counter[str] = Counter()
    for record in sample:
        value = record.get(key)
        if isinstance(value, str) and value:
            kinds["number" if isinstance(value, Number) else "text"] += 1
    return kinds


def _flatten(record: dict[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value and depth < _DEPTH:
            result.update(_flatten(value, name + ".", depth + 1))
        else:
            result[name] = value
    return result


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=str)[:_CELL]


def read_lines(source: Source, charset: charsets.Charset) -> Reading:
    """JSON Lines: one object a line, read as a stream."""
    bad: list[int] = []
    head: list[dict[str, Any]] = []
    keys: dict[str, None] = {}
    count = 0
    small = 0 <= source.size <= _KEEP_BYTES
    for record in _records(source, charset, bad):
        count += 1
        if small or count <= _KEY_LINES:
            head.append(record)
            keys.update(dict.fromkeys(record))
        elif count > _KEY_LINES:
            break
    if not head:
        raise Refusal("json_no_table")
    source_of = (lambda: iter(head)) if small else (lambda: _records(source, charset, []))
    table = of_records(source_of, list(keys), head[:20_000] if not small else head)
    if table is None:
        raise Refusal("json_no_table")
    table.encoding = charset.name
    if bad:
        table.notes.append(Note("bad_lines", args={"count": len(bad), "row": bad[0], "kind": "JSON"}))
    if not small and count > _KEY_LINES:
        table.notes.append(Note("late_keys", args={"row": _KEY_LINES}))
    return Reading(tables=[table])


def _records(source: Source, charset: charsets.Charset, bad: list[int]) -> Iterator[dict[str, Any]]:
    with text_lines(source, charset) as f:
        for number, line in enumerate(f, start=1):
            line = line.strip("\ufeff \t\r\n\x1e")
            if not line:
                continue
            try:
                value = loads(line)
            except (json.JSONDecodeError, RecursionError):
                bad.append(number)
                continue
            yield _flatten(value) if isinstance(value, dict) else {"value": value}


def looks_like(text: str, complete: bool) -> str:
    """"json", "jsonl" or "" for what the first part of a text looks like."""
    start = _REMARK.sub("", text[:4096]).lstrip("\ufeff \t\r\n\x1e") if text.lstrip("\ufeff \t\r\n").startswith("//") else text.lstrip("\ufeff \t\r\n\x1e")
    if not start.startswith(("{", "[")):
        lines = [line for line in start.splitlines()[:50] if line.strip()]  # objects between a program's other lines
        objects = sum(_is_object(line) for line in lines)
        return "jsonl" if objects >= 3 and objects >= 0.6 * len(lines) else ""
    lines = [line for line in start.splitlines() if line.strip()]
    if not complete and len(lines) > 1:
        lines = lines[:-1]
    whole = sum(_is_object(line) for line in lines[:50])
    if len(lines) >= 2 and whole >= 0.6 * min(len(lines), 50):
        return "jsonl"
    if start.startswith("["):
        after = start[1:].lstrip()
        # "[2024-01-01 …] message" is a log, "[1, 2" and "[{" are JSON.
        if not after.startswith(("{", "[", '"', "]")) and not _begins_number_list(after):
            return ""
    elif not start[1:].lstrip().startswith(('"', "}")):
        return ""
    return "json"


def _begins_number_list(text: str) -> bool:
    word = text.split(",", 1)[0].split("]", 1)[0].strip()
    try:
        json.loads(word)
    except json.JSONDecodeError:
        return False
    return True


def _is_object(line: str) -> bool:
    if not line.strip(" \x1e").startswith("{"):
        return False
    try:
        return isinstance(json.loads(line.strip(" \x1e")), dict)
    except (json.JSONDecodeError, RecursionError):
        return False
