"""Markdown whose data cannot leave its place: cells, names and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .words import clean

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~])")


def escape(text: object, limit: int = 80) -> str:
    """Text from data as plain Markdown text: one line, nothing in it works."""
    return _SPECIAL.sub(r"\\\1", clean(str(text), limit))


def code(text: object, limit: int = 80) -> str:
    """Text from data as a code span."""
    return "`" + clean(str(text), limit).replace("`", "'") + "`"


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()) -> str:
    """A table; ``numbers`` are the columns to align right. Cells are escaped."""
    lines = [
        "| " + " | ".join(escape(h, 40) for h in head) + " |",
        "|" + "|".join("---:" if n in numbers else "---" for n in range(len(head))) + "|",
    ]
    lines += ["| " + " | ".join(escape(cell, 60) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
