"""Cells that come with a type (workbooks, JSON) as texts, so that one set of rules reads all."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from typing import Any

_PADDED = re.compile(r"0{2,18}")
# A float is a whole number only below that; above, it has lost digits already.
_WHOLE = 1e15


def text(value: Any, number_format: str = "") -> str:
    """A typed value as the text that stands for it exactly.

    A whole number shown with leading zeros ("00042" by its format) is the
    identifier that people see.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value).zfill(len(number_format)) if _PADDED.fullmatch(number_format) else str(value)
    if isinstance(value, float):
        return _float(value, number_format)
    if isinstance(value, datetime.datetime):
        value = value.replace(microsecond=round(value.microsecond, -3) % 1_000_000)
        if value.time() == datetime.time(0) and value.tzinfo is None:
            return value.date().isoformat()
        return value.isoformat(sep=" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def _float(value: float, number_format: str) -> str:
    if value != value:
        return ""
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < _WHOLE:
        return text(int(value), number_format)
    return f"{value:.0f}" if abs(value) >= _WHOLE and value == int(value) else repr(value)


def kind(value: Any) -> str:
    """The class of a typed value, for telling numbers that are stored as text."""
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "date" if isinstance(value, (datetime.datetime, datetime.date)) else "other"


MONEY = "money "  # before a currency, in the counts of kinds


class Kinds:
    """Counts of the kinds of cells, column by column."""

    def __init__(self) -> None:
        self.columns: list[Counter[str]] = []

    def see(self, values: list[Any]) -> None:
        """Count one row."""
        while len(self.columns) < len(values):
            self.columns.append(Counter())
        for counter, value in zip(self.columns, values, strict=False):
            found = kind(value)
            if found:
                counter[found] += 1
                if found == "number" and getattr(value, "sign", ""):
                    counter[MONEY + value.sign] += 1
