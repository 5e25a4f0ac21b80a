"""Times the intake beside pandas, and over two million rows. Prints one JSON object."""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable

import pandas
from sandpiper import profile

_REGIONS = ("North", "South", "East", "West", "Central")
_PRODUCTS = ("Widget", "Gadget", "Doohickey", "Thing")


def small(path: str = "/workspace/small.csv") -> dict[str, float]:
    """Milliseconds for a CSV of 1 MB, warm: medians of 15, taken in turns."""
    chance = random.Random(1)
    lines = ["date,region,product,units,revenue,cost,customer,id\n"]
    size = 0
    while size < 1_000_000:
        lines.append(
            f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02},{chance.choice(_REGIONS)},{chance.choice(_PRODUCTS)},{chance.randint(1, 50)},"
            f"{chance.random() * 1000:.2f},{chance.random() * 100:.2f},C{chance.randint(1000, 9999)},{len(lines)}\n"
        )
        size += len(lines[-1])
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)
    ours, theirs = [], []
    for _ in range(16):
        theirs.append(_timed(lambda: pandas.read_csv(path).describe()))
        ours.append(_timed(lambda: profile.files([path])))
    return {"profile_ms": 1000 * statistics.median(ours[1:]), "pandas_ms": 1000 * statistics.median(theirs[1:])}


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def large(path: str = "/workspace/large.csv", rows: int = 2_000_000) -> dict[str, float | bool | str]:
    """Seconds for a CSV of 100 MB and two million rows, and whether its sums are right."""
    units = 0
    cents = 0
    with open(path, "w", encoding="utf-8") as f:
        f.write("id,when,region,product,units,amount\n")
        for start in range(0, rows, 50_000):
            lines = []
            for i in range(start, start + 50_000):
                amount = i * 7919 % 1_000_003
                units, cents = units + i % 50, cents + amount
                lines.append(f"{i},2024-{1 + i % 12:02}-{1 + i % 28:02}T{i % 24:02}:{i % 60:02}:00,{_REGIONS[i % 5]},{_PRODUCTS[i % 4]},{i % 50},{amount / 100:.2f}\n")
            f.write("".join(lines))
    begun = time.perf_counter()
    entry = profile.files([path])["files"][0]
    seconds = time.perf_counter() - begun
    columns = {c["name"]: c for c in entry["columns"]}
    right = entry["rows"] == rows and columns["units"]["sum"] == units and abs(columns["amount"]["sum"] - cents / 100) < 0.01 and columns["id"]["distinct"] == rows
    return {
        "seconds": seconds,
        "bytes": os.path.getsize(path),
        "right": right,
        "said": "; ".join(entry["notes"]),
        "resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Run the benchmark that the first argument names."""
    print(json.dumps({"small": small, "large": large}[sys.argv[1]]()))


if __name__ == "__main__":
    main()
