#!/usr/bin/env python3
"""ONE SENTENCE: what is read, what comes out.

Input, one record a line, UTF-8, separated by commas, first line is the header:
    date    2026-01-31         required
    region  text               required
    amount  number, dot        empty means unknown and is counted as missing

Output: one JSON object on stdout. Remarks go to stderr.
Exit status: 0 done, 1 some records were bad (they are named), 2 wrong use.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Iterable, Iterator, TextIO


class BadRecord(ValueError):
    """A record that cannot be read; its text says why."""


def parse_record(row: dict[str, str]) -> dict:
    """Turn one raw row into typed values, or raise BadRecord."""
    try:
        when = date.fromisoformat(row["date"])
    except ValueError:
        raise BadRecord(f"date {row['date']!r} is not like 2026-01-31") from None
    amount = None
    if row["amount"].strip():
        try:
            amount = Decimal(row["amount"])
        except InvalidOperation:
            raise BadRecord(f"amount {row['amount']!r} is not a number") from None
    return {"date": when, "region": row["region"], "amount": amount}


def summarize(records: Iterable[dict]) -> dict:
    """Reduce records to the result; holds one total a region, not the records."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    count = missing = 0
    for record in records:
        count += 1
        if record["amount"] is None:
            missing += 1
        else:
            totals[record["region"]] += record["amount"]
    return {
        "records": count,
        "missing_amounts": missing,
        "total_by_region": {name: str(totals[name]) for name in sorted(totals)},
    }


def read(stream: TextIO, problems: list[str]) -> Iterator[dict]:
    """Yield typed records; a bad one goes to problems with its line number."""
    reader = csv.DictReader(stream)
    for row in reader:
        try:
            if None in row or None in row.values():
                raise BadRecord("has another number of fields than the header")
            yield parse_record(row)
        except BadRecord as error:
            problems.append(f"line {reader.line_num}: {error}")
        except KeyError as error:
            raise SystemExit(f"error: column {error} is missing; there are: {', '.join(reader.fieldnames or [])}")


def self_test() -> None:
    """Check the script against a sample small enough to count by hand."""
    sample = ["date,region,amount", "2026-01-01,North,2.50", "2026-01-02,Юг,", "2026-01-03,North,1.25", "bad,North,1"]
    problems: list[str] = []
    result = summarize(read(iter(sample), problems))  # type: ignore[arg-type]
    assert result == {"records": 3, "missing_amounts": 1, "total_by_region": {"North": "3.75"}}, result
    assert problems == ["line 5: date 'bad' is not like 2026-01-31"], problems
    print("self-test passed", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="?", default="-", help="a file, or - for standard input")
    parser.add_argument("--encoding", default="utf-8-sig")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        self_test()
        return 0
    problems: list[str] = []
    try:
        if arguments.input == "-":
            result = summarize(read(sys.stdin, problems))
        else:
            with open(arguments.input, encoding=arguments.encoding, newline="") as stream:
                result = summarize(read(stream, problems))
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: cannot read {arguments.input}: {error}", file=sys.stderr)
        return 2
    json.dump(result, sys.stdout, ensure_ascii=False, indent=2)
    print()
    for problem in problems[:20]:
        print(problem, file=sys.stderr)
    if len(problems) > 20:
        print(f"… and {len(problems) - 20} more", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
