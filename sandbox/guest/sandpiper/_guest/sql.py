"""SQL over the session's tables and files, in SQLite.

A statement may name any table file in /workspace/in or /workspace (by its name
without the ending, or whole in double quotes) and any DataFrame variable of
the session; what is named is loaded first. Tables that a program creates stay
for the next one. The rows of each query are printed; the last query's are left
in Python as the DataFrame sql_result.
"""

import os
import re
import sqlite3
import sys

DATABASE = "/workspace/.sandpiper/session.db"
FOLDERS = ("/workspace/in", "/workspace")
ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm", ".xls", ".ods", ".parquet",
           ".gz", ".zip", ".html", ".log")
SHOWN = 100     # rows printed of one query
WIDE = 60       # characters of one cell
KEPT = 1000000  # rows left in sql_result


def execute(source, space):
    """Runs the statements of source; space is the session's Python memory."""
    os.makedirs(os.path.dirname(DATABASE), exist_ok=True)
    connection = sqlite3.connect(DATABASE, isolation_level=None)
    try:
        _load(connection, source, space)
        for statement in _statements(source):
            cursor = connection.execute(statement)
            if cursor.description:
                names = [column[0] for column in cursor.description]
                rows = cursor.fetchmany(KEPT)
                _show(names, rows, cursor.fetchone() is not None)
                import pandas
                space["sql_result"] = pandas.DataFrame(rows, columns=names)
            elif cursor.rowcount >= 0:
                print(f"{cursor.rowcount} row{'' if cursor.rowcount == 1 else 's'} changed")
    except sqlite3.Error as error:
        print(f"SQL error: {error}", file=sys.stderr)
        _name_tables(connection, space)
        raise SystemExit(1) from error
    finally:
        connection.close()


def _statements(source):
    """Splits at semicolons that end a statement, as SQLite sees it."""
    text = ""
    for part in re.split(r"(;)", source):
        text += part
        if part == ";" and sqlite3.complete_statement(text):
            if text.strip(" \t\r\n;"):
                yield text
            text = ""
    if text.strip() and not re.fullmatch(r"(\s|--[^\n]*(\n|$))*", text):
        yield text


def _tables(connection):
    return {row[0].lower() for row in connection.execute("select name from sqlite_master where type in ('table', 'view')")}


def _sources(space):
    """Every loadable table: name to a function that gives its DataFrame."""
    found = {}
    for folder in FOLDERS:
        for entry in sorted(os.scandir(folder), key=lambda e: e.name) if os.path.isdir(folder) else []:
            if entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(ENDINGS):
                stem = re.sub(r"\W+", "_", entry.name.split(".")[0]).strip("_")
                for name in (stem, entry.name):
                    if name:
                        found.setdefault(name.lower(), (name, lambda path=entry.path: _read(path)))
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    if frame is not None:
        for name, value in list(space.items()):
            if isinstance(value, frame) and not name.startswith("_"):
                found[name.lower()] = (name, lambda value=value: {"": value})
    return found


def _read(path):
    import sandpiper

    read = sandpiper.read(path)
    return read if isinstance(read, dict) else {"": read}


def _load(connection, source, space):
    """Loads what the source names. A DataFrame variable is copied anew each time."""
    have = _tables(connection)
    words = set(re.findall(r"\w+", source.lower())) | set(re.findall(r"[\"`\[]([^\"`\]\n]+)[\"`\]]", source.lower()))
    made = set(re.findall(r"create\s+(?:temp\w*\s+)?(?:table|view)\s+(?:if\s+not\s+exists\s+)?[\"`\[]?(\w+)", source.lower()))
    for key, (name, give) in _sources(space).items():
        fresh = key in {k.lower() for k in space} and key not in made
        if key not in words or key in made or (key in have and not fresh):
            continue
        for sheet, table in give().items():
            target = name if not sheet else f"{name}_{sheet}"
            table = table.copy(deep=False)
            table.columns = [str(column) for column in table.columns]
            for column in table.columns:
                if table[column].dtype.kind in "mM" or str(table[column].dtype) in ("object", "category", "string"):
                    table[column] = table[column].map(_cell)
            table.to_sql(target, connection, index=False, if_exists="replace", chunksize=5000)


def _cell(value):
    if value is None or value != value:
        return None
    if isinstance(value, (int, float, str, bytes)):
        return value
    return str(value)


def _show(names, rows, more):
    cells = [[_text(value) for value in row] for row in rows[:SHOWN]]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)]
    numeric = [all(isinstance(row[i], (int, float)) or row[i] is None for row in rows[:SHOWN]) for i in range(len(names))]

    def line(values):
        return "  ".join(v.rjust(w) if n else v.ljust(w) for v, w, n in zip(values, widths, numeric)).rstrip()

    print(line(names))
    print("  ".join("-" * width for width in widths))
    for row in cells:
        print(line(row))
    total = f"{len(rows)}{' or more' if more else ''} row{'' if len(rows) == 1 and not more else 's'}"
    print(f"({total}, the first {SHOWN} shown)" if len(rows) > SHOWN else f"({total})")


def _text(value):
    if value is None:
        return "NULL"
    text = repr(value) if isinstance(value, bytes) else str(value)
    text = re.sub(r"\s", " ", text)
    return text if len(text) <= WIDE else text[:WIDE - 1] + "…"


def _name_tables(connection, space):
    names = sorted(_tables(connection) | {name for name, _ in _sources(space).values()})
    print("tables: " + (", ".join(names[:50]) or "none"), file=sys.stderr)
