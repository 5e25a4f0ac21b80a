"""Untrusted text made fit to be shown: names, cells, headers, file names.

What comes out has no line breaks, no control or direction-changing characters
and a bounded length, and stands in quotes, so that it can neither leave its
place in a page nor look like one of our own lines.
"""

from __future__ import annotations

import json
import re

# C0, C1, soft hyphen, zero-width, direction marks and overrides, line separators,
# byte-order mark, tags, lone surrogates.
_UNFIT = re.compile(
    "[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]+"
)
_BLANKS = re.compile(r"\s+")


def clean(text: str, limit: int = 80) -> str:
    """One line of at most ``limit`` characters."""
    if len(text) > 4 * limit + 64:
        text = text[: 4 * limit + 64]
    text = _BLANKS.sub(" ", _UNFIT.sub(" ", text)).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int = 80) -> str:
    """A cleaned text as a JSON string, for prompts and notes."""
    return json.dumps(clean(text, limit), ensure_ascii=False)
