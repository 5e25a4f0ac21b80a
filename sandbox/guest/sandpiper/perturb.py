"""The same files with other figures in them, to find out what a report computes.

A saved report is run once on perturbed inputs before it is trusted: a figure
that does not move then was never computed. Every number of a row is scaled by
the row's own factor and some rows are left out, so that sums, means, counts and
shares all move; names, dates and the shape stay.
"""

from __future__ import annotations

import os
import random
from typing import Any

from . import profile, read

_LEFT_OUT = 0.1


def emit(folder: str = "/workspace/in", out: str = "/workspace/out", *, share: float = 1) -> list[str]:
    """Write a perturbed copy of each table of ``folder``; returns what could not be.

    ``share`` below 1 takes that share of each table's rows, the first ones.
    """
    os.makedirs(out, exist_ok=True)
    kept = []
    for name in sorted(os.listdir(folder)):
        entry = profile.files([os.path.join(folder, name)])["files"][0]
        try:
            table = read(os.path.join(folder, name))
            _write(_first(table, share), entry, os.path.join(out, name))
        except (ValueError, KeyError, OSError, NotImplementedError):
            kept.append(name)
    return kept


def _first(table: Any, share: float) -> Any:
    if isinstance(table, dict):
        return {name: _first(frame, share) for name, frame in table.items()}
    return table if share >= 1 else table.iloc[: max(5, int(len(table) * share))]


def perturbed(table: Any, seed: int = 7) -> Any:
    """A DataFrame like ``table`` with other figures."""
    import pandas

    rng = random.Random(seed)
    rows = [i for i in range(len(table)) if rng.random() >= _LEFT_OUT or len(table) < 5]
    if len(rows) == len(table) and len(table) > 1:
        rows.pop(rng.randrange(len(rows)))
    changed = table.iloc[rows].copy()
    factors = pandas.Series([rng.uniform(1.1, 1.9) for _ in rows], index=changed.index)
    for column in changed.columns:
        values = changed[column]
        kind = str(values.dtype).lower()
        if kind.startswith("int"):
            # Through nullable floats, so that what is missing stays missing.
            changed[column] = (values.astype("Float64") * factors).round().astype("Int64")
        elif kind.startswith("float"):
            changed[column] = values * factors
    return changed


def _write(table: Any, entry: dict[str, Any], path: str) -> None:
    kind = entry["kind"]
    if isinstance(table, dict):
        if kind not in ("xlsx", "xlsm", "xls", "ods"):
            raise NotImplementedError(kind)
        import pandas

        with pandas.ExcelWriter(path, engine="openpyxl") as book:
            for sheet, frame in table.items():
                perturbed(frame).to_excel(book, sheet_name=str(sheet)[:31], index=False)
        return
    changed = perturbed(table)
    if kind in ("xlsx", "xlsm"):
        changed.to_excel(path, index=False, engine="openpyxl")
    elif kind == "json":
        changed.to_json(path, orient="records", date_format="iso")
    elif kind == "jsonl":
        changed.to_json(path, orient="records", lines=True, date_format="iso")
    elif kind in ("csv", "tsv", "delimited", "text"):
        changed.to_csv(path, index=False, sep=entry.get("delimiter") or ",")
    else:
        raise NotImplementedError(kind)
