"""What every program in a sandbox session can import.

``from sandpiper import read`` gives DataFrames of any table or log, read the way
the intake profile says it was read. ``request``, ``answer`` and ``refuse`` are a
runnable skill's side of the agreement with the host.

Importing this package is cheap on purpose: pandas and the readers are only
imported when they are first used.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import pandas

__all__ = ["answer", "read", "refuse", "request"]

WORKSPACE = "/workspace"
_EXCHANGE = os.path.join(WORKSPACE, ".sandpiper")


def read(
    path: str | os.PathLike[str], *, sheet: str | None = None, day_first: bool | None = None
) -> pandas.DataFrame | dict[str, pandas.DataFrame]:
    """Read a table or log of any kind.

    Returns one DataFrame, or, where the file holds several tables (sheets,
    archive members), a dict from the table's name to its DataFrame; ``sheet``
    picks one of them. A DataFrame's ``attrs["notes"]`` are what the reader
    noticed. ``day_first`` decides dates that the file leaves open. A file that
    is no table raises ``ValueError`` with one sentence that says what it is.
    """
    from .reader import read as read_file

    return read_file(path, sheet=sheet, day_first=day_first)


def request() -> dict[str, Any]:
    """What was asked: request, inputs, language, skill, now, and maybe schedule,
    previous (the last answer of the conversation or schedule) and earlier (the
    last ones, oldest first, each with its answer and the profile of its inputs).

    An absent file (a program that is run by hand) gives the same keys, empty.
    """
    try:
        with open(os.path.join(_EXCHANGE, "request.json"), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:
        folder = os.path.join(WORKSPACE, "in")
        inputs = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        return {"request": "", "inputs": inputs, "language": "en", "skill": "", "now": ""}


def answer(markdown: str, *, compared: bool = False) -> None:
    """Make ``markdown`` the answer's message, instead of what was printed.

    What a schedule runs is opened by what changed since its last runs, unless
    the answer is ``compared`` already.
    """
    today = request()
    if today.get("schedule") and today.get("earlier") and not compared:
        from .compared import opening

        markdown = "\n\n".join(part for part in (opening(today), markdown) if part)
    _write("answer.md", markdown)


def refuse(sentence: str) -> NoReturn:
    """End the task as refused, with one sentence for the person who asked."""
    _write("refusal.json", json.dumps({"message": sentence}, ensure_ascii=False))
    print(sentence, file=sys.stderr)
    raise SystemExit(1)


def _write(name: str, text: str) -> None:
    os.makedirs(_EXCHANGE, exist_ok=True)
    path = os.path.join(_EXCHANGE, name)
    with open(path + ".tmp", "w", encoding="utf-8", errors="replace") as f:
        f.write(text)
    os.replace(path + ".tmp", path)
