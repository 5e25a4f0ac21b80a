"""The one error that a reader raises on purpose."""

from __future__ import annotations


class Refusal(ValueError):
    """A file that cannot be read as a table.

    Its text is one sentence for a person: what the file is and what to do. It
    never quotes the file's content.
    """
