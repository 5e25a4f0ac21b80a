"""Two versions of a table: rows added, gone and changed, and how sums moved."""

from __future__ import annotations

import itertools
import math
import os
import re
from dataclasses import dataclass

import numpy
import pandas

from sandpiper import answer, excel, refuse, wishes
from sandpiper.inputs import Job, job
from sandpiper.markdown import code, escape, table
from sandpiper.speech import Speech
from sandpiper.words import clean

OUT = "/workspace/out"
OLD = re.compile(r"old|before|prev|orig|base|last|стар|был|до(?![а-я])|прошл|исходн", re.IGNORECASE)
NEW = re.compile(r"new|after|curr|latest|updated|нов|стал|после|текущ", re.IGNORECASE)
SHOWN = 8
CELLS = ["key", "column", "old", "new", "difference", "old text", "new text"]


@dataclass
class Difference:
    """What lies between two tables; frames keep the tables' own columns."""

    key: list[str]
    added: pandas.DataFrame
    gone: pandas.DataFrame
    cells: pandas.DataFrame  # key, column, old, new, difference, and old and new as they are written
    same: int
    changed: int
    doubled: pandas.DataFrame


def main() -> None:
    work = job(__doc__ or "", key="column or columns that tell rows apart, with commas")
    say = work.speech
    if len(work.paths) != 2:
        refuse(
            say.pick(
                f"Two files are needed to compare, and there are {len(work.paths)}.",
                f"Для сравнения нужны два файла, а прислано: {len(work.paths)}.",
            )
        )
    work.paths, why = _ordered(work.paths, say)
    tables = work.tables(spelt=True)
    names = [os.path.basename(p) for p in work.paths]
    first = [next((t for t in tables if t.name.startswith(n)), None) for n in names]
    if None in first:
        refuse(say.pick("One of the files has no rows to compare.", "В одном из файлов нет строк для сравнения."))
    old, new = (t.frame.reset_index(drop=True) for t in first if t is not None)
    old.columns, new.columns = ([str(c).strip() for c in f.columns] for f in (old, new))
    texts = [t.texts.reset_index(drop=True).set_axis(f.columns, axis=1) for t, f in zip(first, (old, new)) if t is not None and t.texts is not None]
    difference = _compare(old, new, _key(old, new, work), texts)
    _write(difference, old, new, names, why, say, texts)


def _ordered(paths: list[str], say: Speech) -> tuple[list[str], str]:
    """Old file first, and a sentence that says how that was decided."""
    a, b = (os.path.basename(p) for p in paths)
    for first, second, pair in ((a, b, paths), (b, a, paths[::-1])):
        if (OLD.search(first) and not OLD.search(second)) or (NEW.search(second) and not NEW.search(first)):
            return pair, say.pick("by their names", "по именам файлов")
    digits = [re.sub(r"\D", "", os.path.splitext(n)[0]) for n in (a, b)]
    if all(digits) and digits[0] != digits[1] and re.sub(r"\d", "", a) == re.sub(r"\d", "", b):
        return (paths if digits[0] < digits[1] else paths[::-1]), say.pick(
            "by the numbers in their names", "по числам в именах"
        )
    return paths, say.pick("by the order they were sent in", "по порядку отправки")


def _plain(column: pandas.Series) -> pandas.Series:
    """Values in one comparable form, as text; missing ones as "" ."""
    if pandas.api.types.is_datetime64_any_dtype(column):
        return column.map(lambda v: "" if pandas.isna(v) else v.isoformat().removesuffix("T00:00:00"))

    def text(v: object) -> str:
        if v is None or v is pandas.NA or (isinstance(v, float) and numpy.isnan(v)):
            return ""
        if isinstance(v, (bool, numpy.bool_)):
            return str(bool(v))
        if isinstance(v, (int, float, numpy.number)):
            return f"{float(v):.12g}" if abs(float(v)) < 1e15 else str(v)
        return " ".join(str(v).split())

    return column.map(text)


def _loose(text: str) -> str:
    """A cell as it is written, a plain number without the noughts at its end."""
    text = " ".join(text.split())
    return f"{float(text):.12g}" if re.fullmatch(r"-?(?:0|[1-9]\d{0,11})(?:\.\d+)?", text) else text


def _key(old: pandas.DataFrame, new: pandas.DataFrame, work: Job) -> list[str]:
    """The columns that tell rows apart in both tables; empty when there are none."""
    common = [c for c in old.columns if c in set(new.columns)]
    if work.options.key:
        key = [k.strip() for k in work.options.key.split(",")]
        if missing := [k for k in key if k not in common]:
            refuse(
                work.speech.pick(
                    f"Not in both files: {', '.join(missing)}", f"Нет в обоих файлах: {', '.join(missing)}"
                )
            )
        return key
    texts = {c: (_plain(old[c]), _plain(new[c])) for c in common}
    named = re.search(r"\b(?:by|key|on|по)\s+(.{3,60})", work.text, re.IGNORECASE)
    asked = wishes.understand(named[1], old).named if named else set()
    ranked = sorted(
        common,
        key=lambda c: (
            c not in asked,
            not wishes.is_identifier(c),
            wishes.is_rate(old, c) or pandas.api.types.is_float_dtype(old[c]),
            common.index(c),
        ),
    )
    for size in (1, 2):
        for key in itertools.combinations(ranked[:20], size):
            sides = [pandas.Series(list(zip(*(texts[c][side] for c in key)))) for side in (0, 1)]
            if any(s.duplicated().any() or any("" in k for k in s) for s in sides):
                continue
            if len(set(sides[0]) & set(sides[1])) * 10 >= min(len(sides[0]), len(sides[1])):
                return list(key)
    identifier = [c for c in ranked if c in asked or wishes.is_identifier(c)]
    for c in identifier:  # a few doubled keys do not spoil a good one
        a, b = texts[c]
        if min(a.nunique() / len(a), b.nunique() / len(b)) > 0.8 and len(set(a) & set(b)) * 10 >= min(len(a), len(b)):
            return [c]
    return []


def _compare(old: pandas.DataFrame, new: pandas.DataFrame, key: list[str], texts: list[pandas.DataFrame]) -> Difference:
    common = [c for c in old.columns if c in set(new.columns)]
    a, b = (pandas.DataFrame({c: _plain(f[c]) for c in common}) for f in (old, new))
    for c in common:  # a word among one side's numbers makes texts of them: 2.00 is still 2
        if pandas.api.types.is_numeric_dtype(old[c]) != pandas.api.types.is_numeric_dtype(new[c]):
            a[c], b[c] = (t[c].map(_loose) for t in texts)
    if not key:
        return _whole_rows(old, new, a, b)
    ids = [pandas.Series([" · ".join(k) for k in zip(*(f[c] for c in key))], index=f.index) for f in (a, b)]
    twice = set(ids[0][ids[0].duplicated()]) | set(ids[1][ids[1].duplicated()])
    doubled = (
        pandas.concat([old[ids[0].isin(twice)], new[ids[1].isin(twice)]], keys=["old", "new"]).reset_index(
            level=0, names="file"
        )
        if twice
        else pandas.DataFrame()
    )
    sides = [ids[0][~ids[0].isin(twice)], ids[1][~ids[1].isin(twice)]]
    where = [pandas.Series(s.index, index=s.to_numpy()) for s in sides]
    both = [k for k in where[0].index if k in set(where[1].index)]
    at_old, at_new = where[0].reindex(both).to_numpy(), where[1].reindex(both).to_numpy()
    found = []
    moved = numpy.zeros(len(both), dtype=bool)
    for column in (c for c in common if c not in key):
        left, right = a[column].to_numpy()[at_old], b[column].to_numpy()[at_new]
        differs = left != right
        moved |= differs
        numeric = all(pandas.api.types.is_numeric_dtype(f[column]) for f in (old, new))
        for n in numpy.flatnonzero(differs):
            before, after = old[column].iloc[at_old[n]], new[column].iloc[at_new[n]]
            change = (
                float(after) - float(before) if numeric and not pandas.isna(before) and not pandas.isna(after) else None
            )
            spelt = texts[0][column].iloc[at_old[n]], texts[1][column].iloc[at_new[n]]
            name = new[key[0]].iloc[at_new[n]] if len(key) == 1 else " · ".join(texts[1][k].iloc[at_new[n]] for k in key)
            found.append((at_new[n], name, column, before, after, change, *spelt))
    found.sort(key=lambda row: row[0])
    cells = pandas.DataFrame([row[1:] for row in found], columns=CELLS, dtype=object)
    added = new.loc[[i for i in sides[1].index if sides[1][i] not in set(where[0].index)]]
    gone = old.loc[[i for i in sides[0].index if sides[0][i] not in set(where[1].index)]]
    return Difference(key, added, gone, cells, int((~moved).sum()), int(moved.sum()), doubled)


def _whole_rows(old: pandas.DataFrame, new: pandas.DataFrame, a: pandas.DataFrame, b: pandas.DataFrame) -> Difference:
    ids = [
        pandas.Series(["\x1f".join(row) for row in f.itertuples(index=False, name=None)], index=f.index) for f in (a, b)
    ]
    numbered = [s + "\x1e" + s.groupby(s).cumcount().astype(str) for s in ids]  # the third of its kind is another row
    gone, added = (~numbered[0].isin(set(numbered[1]))), (~numbered[1].isin(set(numbered[0])))
    empty = pandas.DataFrame(columns=CELLS)
    return Difference([], new[added], old[gone], empty, int((~gone).sum()), 0, pandas.DataFrame())


def _sums(old: pandas.DataFrame, new: pandas.DataFrame) -> pandas.DataFrame:
    """Old and new sums of the measures that add up."""
    able = [
        c for c in wishes.roles(old).measures if c in set(wishes.roles(new).measures) and not wishes.is_rate(old, c)
    ]
    rows = [[c, float(old[c].sum()), float(new[c].sum())] for c in able]
    frame = pandas.DataFrame(rows, columns=["column", "old", "new"])
    frame["difference"] = frame["new"] - frame["old"]
    return frame


def _renamed(old: pandas.DataFrame, new: pandas.DataFrame) -> list[tuple[str, str]]:
    """Columns that only one side has and that hold the same values."""
    left, right = [c for c in old.columns if c not in set(new.columns)], [
        c for c in new.columns if c not in set(old.columns)
    ]
    found = []
    for a in left:
        for b in right:
            x, y = set(_plain(old[a])), set(_plain(new[b]))
            if len(x) > 1 and len(x & y) >= 0.8 * max(len(x), len(y)):
                found.append((a, b))
    return found


def _write(
    d: Difference, old: pandas.DataFrame, new: pandas.DataFrame, names: list[str], why: str, say: Speech, texts: list[pandas.DataFrame]
) -> None:
    sums, renamed = _sums(old, new), _renamed(old, new)
    left, right = [c for c in old.columns if c not in set(new.columns)], [
        c for c in new.columns if c not in set(old.columns)
    ]
    counts = [
        (say.pick("Rows before", "Строк было"), len(old)),
        (say.pick("Rows now", "Строк стало"), len(new)),
        (say.pick("Added", "Добавлено"), len(d.added)),
        (say.pick("Gone", "Удалено"), len(d.gone)),
        (say.pick("Changed", "Изменено"), d.changed),
        (say.pick("Unchanged", "Без изменений"), d.same),
    ]
    if len(d.doubled):
        counts.append(
            (
                say.pick("Rows with a doubled key, not compared", "Строки с повторным ключом, не сравнивались"),
                len(d.doubled),
            )
        )
    parts = [
        say.pick(
            f"{code(names[0])} (old) against {code(names[1])} (new), {why}",
            f"{code(names[0])} (старый) и {code(names[1])} (новый), {why}",
        )
        + (
            say.pick("; rows matched by ", "; ключ: ") + say.listed([code(k) for k in d.key]) + "."
            if d.key
            else say.pick(
                ". **No column tells the rows apart**, so rows are compared as wholes: a changed row counts as one gone and one added.",
                ". **Ключа нет**, строки сравнены целиком: изменённая строка считается удалённой и добавленной.",
            )
        )
    ]
    parts.append(
        table(
            [say.pick("What", "Что"), say.pick("Rows", "Строк")],
            [[n, say.number(v, 0)] for n, v in counts],
            numbers=(1,),
        )
    )
    if len(d.cells):
        shown = d.cells.head(SHOWN)
        rows = [[_key_text(k), c, a or "–", b or "–"] for k, c, a, b in zip(shown["key"], shown["column"], shown["old text"], shown["new text"])]
        parts.append(
            table(
                [say.listed(d.key), say.pick("Column", "Столбец"), say.pick("Old", "Было"), say.pick("New", "Стало")],
                rows,
            )
        )
        if len(d.cells) > SHOWN:
            parts.append(
                say.pick(
                    f"{say.number(len(d.cells) - SHOWN, 0)} more changed cells are in `changes.xlsx`.",
                    f"Ещё изменённых ячеек: {say.number(len(d.cells) - SHOWN, 0)}, см. `changes.xlsx`.",
                )
            )
        most = d.cells["column"].value_counts()
        parts.append(
            say.pick("Changed cells by column: ", "Изменённые ячейки по столбцам: ")
            + ", ".join(f"{code(c)} {say.number(n, 0)}" for c, n in most.head(8).items())
            + "."
        )
    for c in sums.itertuples():
        if abs(c.difference) > 1e-9 * max(abs(c.old), 1):
            parts.append(
                say.pick(
                    f"Sum of {code(c.column)}: {say.number(c.old)} → {say.number(c.new)} ({say.number(c.difference, sign=True)}).",
                    f"Сумма {code(c.column)}: {say.number(c.old)} → {say.number(c.new)} ({say.number(c.difference, sign=True)}).",
                )
            )
    if left or right:
        words = [say.pick("Columns gone: ", "Нет столбцов: ") + ", ".join(map(code, left))] * bool(left) + [
            say.pick("columns new: ", "новые столбцы: ") + ", ".join(map(code, right))
        ] * bool(right)
        words += [
            say.pick("probably renamed: ", "вероятно, переименован: ") + f"{code(a)} → {code(b)}" for a, b in renamed
        ]
        told = "; ".join(words) + "."
        parts.append(told[0].upper() + told[1:])
    answer("\n\n".join(parts))
    _files(d, counts, sums, say, texts)


def _key_text(value: object) -> str:
    """A key as people write it: a date without its midnight, a number without marks."""
    if isinstance(value, pandas.Timestamp):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    return clean(str(_whole(value)), 60)


def _whole(value: object) -> object:
    """A whole float as the integer it was: a column with a gap holds 5 as 5.0."""
    fits = isinstance(value, (float, numpy.floating)) and abs(value) < 1e15
    return int(value) if fits and value == int(value) else value


def _look(value: object, text: str) -> str:
    """The number format that shows a value with as many decimals as it is written with."""
    if isinstance(value, (bool, numpy.bool_)) or not isinstance(value, (int, float, numpy.number)):
        return ""
    decimals = re.search(r"[.,](\d+)\D*$", text)
    percent = "%" in text
    return "0." + "0" * len(decimals[1]) if decimals and not percent and len(decimals[1]) < 7 and math.isclose(round(float(value), len(decimals[1])), float(value)) else "General"


def _files(d: Difference, counts: list[tuple[str, int]], sums: pandas.DataFrame, say: Speech, texts: list[pandas.DataFrame]) -> None:
    looks = {side: [_look(v, t) for v, t in zip(d.cells[side], d.cells[f"{side} text"])] for side in ("old", "new")}
    cells = d.cells[CELLS[:5]].rename(
        columns={
            "key": ", ".join(d.key) or "key",
            "column": say.pick("Column", "Столбец"),
            "old": say.pick("Old", "Было"),
            "new": say.pick("New", "Стало"),
            "difference": say.pick("Difference", "Разница"),
        }
    )
    with excel.Workbook(f"{OUT}/changes.xlsx", title=say.pick("Changes", "Изменения")) as book:
        book.table(
            pandas.DataFrame(counts, columns=[say.pick("What", "Что"), say.pick("Rows", "Строк")]),
            sheet=say.pick("Summary", "Итог"),
        )
        if d.key:
            book.table(
                cells,
                sheet=say.pick("Changed", "Изменено"),
                looks={say.pick("Old", "Было"): looks["old"], say.pick("New", "Стало"): looks["new"]},
            )
        book.table(d.added, sheet=say.pick("Added", "Добавлено"))
        book.table(d.gone, sheet=say.pick("Gone", "Удалено"))
        if len(d.doubled):
            book.table(d.doubled, sheet=say.pick("Doubled keys", "Повторные ключи"))
        if len(sums):
            book.table(
                sums.set_axis(
                    [
                        say.pick(*p)
                        for p in (
                            ("Column", "Столбец"),
                            ("Old sum", "Сумма была"),
                            ("New sum", "Сумма стала"),
                            ("Difference", "Разница"),
                        )
                    ],
                    axis=1,
                ),
                sheet=say.pick("Sums", "Суммы"),
            )
    _csv(d, texts)


def _csv(d: Difference, texts: list[pandas.DataFrame]) -> None:
    """All changes in one list, every value as its file has it: 007 and 1.50 stay so."""
    sides = ((d.added, "added", texts[1]), (d.gone, "gone", texts[0]))
    rows = [text.loc[frame.index].assign(change=how) for frame, how, text in sides if len(frame)]
    if len(d.cells):
        listed = {"change": "changed", "key": d.cells["key"].map(_key_text), "column": d.cells["column"]}
        rows.insert(0, pandas.DataFrame(listed | {"old": d.cells["old text"], "new": d.cells["new text"]}))
    flat = pandas.concat(rows, ignore_index=True) if rows else pandas.DataFrame(columns=["change"])
    excel.csv_file(flat[["change"] + [c for c in flat.columns if c != "change"]], f"{OUT}/changes.csv")


if __name__ == "__main__":
    main()
