"""From a file to its tables, by what it holds and not by what it is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import charsets, dialect, read_delimited
from .refusal import Refusal
from .source import Source, from_path
from .tables import Table

if TYPE_CHECKING:
    import pandas


def tables(source: Source) -> list[Table]:
    """The tables of a source. ``Refusal`` says in one sentence why there is none."""
    if source.size == 0:
        raise Refusal("The file is empty (0 bytes): export it again and send it once it has content.")
    charset = charsets.decide(source)
    text, complete = read_delimited.sniff_text(source, charset)
    if not text.strip("\ufeff\x00 \t\r\n"):
        raise Refusal("The file is blank: it has no text in it.")
    form = dialect.decide(text, complete)
    if form is None:
        raise Refusal("The file is text, but not a table.")
    return [read_delimited.read(source, charset, form)]


def read(
    path: str | os.PathLike[str], *, sheet: str | None = None, day_first: bool | None = None
) -> pandas.DataFrame | dict[str, pandas.DataFrame]:
    """See ``sandpiper.read``."""
    found = tables(from_path(path))
    if sheet is not None:
        found = [t for t in found if t.name == sheet] or _no_such(sheet, found)
    frames = {t.name: t.study(day_first).frame() for t in found}
    return next(iter(frames.values())) if len(frames) == 1 else frames


def _no_such(sheet: str, found: list[Table]) -> list[Table]:
    names = ", ".join(repr(t.name) for t in found[:20])
    raise Refusal(f"There is no table named {sheet!r}; there are: {names}.")
