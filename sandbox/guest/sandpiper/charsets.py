"""The encoding of a text, decided on all of its bytes.

UTF-8 is proved or refuted by decoding everything. What is not UTF-8 is decided
on the lines that have bytes above 127, by how natural the letters look in each
candidate (``alphabets``); charset-normalizer is asked where that is close.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from . import alphabets
from .refusal import Refusal
from .source import Source

_BOMS = (
    (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16"),
)
_SAMPLE = 1 << 16


@dataclass(frozen=True, slots=True)
class Charset:
    """An encoding: its IANA name in lower case, and Python's codec for it."""

    name: str
    codec: str
    sure: bool = True


UTF8 = Charset("utf-8", "utf-8-sig")


def decide(source: Source) -> Charset:
    """The encoding of a source of text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    sample = bytearray()
    valid = True
    with source.open() as f:
        first = f.read(1 << 20)
        marked = _marked(first)
        if marked is not None:
            return marked
        chunk = first
        while chunk:
            if valid and not chunk.isascii() or decoder.getstate()[0]:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    valid = False
            if not chunk.isascii() and len(sample) < _SAMPLE:
                sample += _telling(chunk, _SAMPLE - len(sample))
            if not valid and len(sample) >= _SAMPLE:
                break
            chunk = f.read(1 << 20)
        if valid and not decoder.getstate()[0]:
            return _shifted(first)
    return UTF8 if _nearly_utf8(bytes(sample)) else _guess(bytes(sample))


def _shifted(head: bytes) -> Charset:
    """UTF-8, or ISO-2022-JP, which is written in bytes below 128 only."""
    if b"\x1b$" in head and head.isascii():
        try:
            head[: head.rfind(b"\n") + 1 or None].decode("iso2022_jp_ext")
        except UnicodeDecodeError:
            return UTF8
        return Charset("iso-2022-jp", "iso2022_jp_ext")
    return UTF8


def _nearly_utf8(sample: bytes) -> bool:
    """UTF-8 with a few lines of something else in it, as files put together from parts have."""
    whole = len(_UTF8_LETTER.findall(sample))
    rest = sum(1 for byte in _UTF8_LETTER.sub(b"", sample) if byte > 127)
    return whole >= 4 and rest <= 0.2 * whole


def utf16(head: bytes) -> str:
    """The codec of UTF-16 without a mark at its front; "" when it is none.

    Latin text has a zero in every other byte. In other scripts only the line
    ends, blanks and separators have; there, the letters must be of one script.
    """
    if len(head) < 8 or not head.count(0):
        return ""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if even + odd > 0.2 * len(head):
        return "utf-16-le" if odd > 3 * even else "utf-16-be" if even > 3 * odd else ""
    for codec in ("utf-16-le", "utf-16-be"):
        text = head[: len(head) // 2 * 2].decode(codec, errors="replace")
        pages = Counter(ord(c) >> 8 for c in text if c > "\xff" and c.isalpha())
        plain = sum(1 for c in text if c in "\t\r\n;,|" or " " <= c <= "~")
        if "\n" in text and pages and pages.most_common(1)[0][1] + plain > 0.9 * len(text):
            return codec
    return ""


def _marked(head: bytes) -> Charset | None:
    for mark, name, codec in _BOMS:
        if head.startswith(mark):
            return Charset(name, codec)
    codec = utf16(head[:4096])
    return Charset(codec.replace("16-", "16"), codec) if codec else None


def _telling(chunk: bytes, limit: int) -> bytes:
    """The lines of a chunk that have bytes above 127."""
    lines = [line for line in chunk.splitlines(keepends=True) if not line.isascii()]
    return b"".join(lines)[:limit]


# IANA name, codec, and what its letters must be.
_MULTI = (
    ("shift_jis", "cp932", r"[\u3040-\u30ff\uff66-\uff9f]"),
    ("euc-jp", "euc-jp", r"[\u3040-\u30ff]"),
    ("gb18030", "gb18030", r"[\u4e00-\u9fff]"),
    ("big5", "big5", r"[\u4e00-\u9fff]"),
    ("euc-kr", "cp949", r"[\uac00-\ud7a3]"),
)
# A letter of such a script within a word of a to z.
_WITHIN = re.compile(r"(?<=[a-z])[^\x00-\x7f](?=[a-z])")
_CP949_EXTRA = re.compile(rb"[\x81-\xc6][\x41-\x5a\x61-\x7a\x81-\xa0]")
_GB_FIRST = re.compile(rb"[\xb0-\xd7][\xa1-\xfe]")
_BIG5_FIRST = re.compile(rb"[\xa4-\xc6][\x40-\x7e\xa1-\xfe]")


_UTF8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_MANY_BYTES = frozenset(name for name, _, _ in _MULTI)
# Noise: so many bytes must be there to tell, and so rarely may two of them be the same.
_NOISE_FROM, _NOISE = 64, 0.02
_ODD_SHARE = 0.05  # of characters that no text has


def _guess(sample: bytes) -> Charset:
    scores = Counter()
    codecs_of = {}
    for name, codec in alphabets.CODECS:
        scores[name], codecs_of[name] = alphabets.score(sample, codec), codec
    for name, codec, letters in _MULTI:
        scores[name], codecs_of[name] = _multi_score(sample, name, codec, letters), codec
    ranked = scores.most_common(2)
    (best, high), (_, second) = ranked
    if best not in _MANY_BYTES and _is_noise(sample):
        raise Refusal("binary")
    if high - second < 2.0:
        other = _ask_normalizer(sample, codecs_of)
        if other and scores[other] > high - 4 and not _same_text(sample, codecs_of[best], codecs_of[other]):
            best = other
    return Charset(best, codecs_of[best], sure=high >= 12 and high - second >= 1.0)


def _is_noise(sample: bytes) -> bool:
    """Whether the bytes above 127 are as evenly spread as in packed, encrypted or random data.

    Two letters drawn from a text are the same one in 4 to 8 of 100 draws, in
    any script of letters; two of 128 even bytes in less than 1.
    """
    counts = Counter(sample)
    high = [n for byte, n in counts.items() if byte > 127]
    total = sum(high)
    return total >= _NOISE_FROM and sum(n * (n - 1) for n in high) < _NOISE * total * (total - 1)


def check(text: str) -> None:
    """Refuse a text that its encoding gives too few real characters for."""
    odd = total = 0
    for c, n in Counter(text).items():
        total += n
        if c > "~" and (c == "\ufffd" or c < "\xa0" or unicodedata.category(c) in ("Cn", "Co", "Cs")):
            odd += n
    if odd > 4 and odd > _ODD_SHARE * total:
        raise Refusal("binary")


def _multi_score(sample: bytes, name: str, codec: str, letters: str) -> float:
    whole = sample
    for cut in range(4 if len(whole) >= _SAMPLE else 1):  # a sample that was cut may end inside a character
        try:
            text = whole[: len(whole) - cut].decode(codec)
            break
        except UnicodeDecodeError:
            continue
    else:
        return -50.0
    high = [c for c in text if c > "\x7f"]
    if not high or len(_WITHIN.findall(text)) > 0.1 * len(high):
        return -50.0
    share = len(re.findall(letters, text)) / len(high)
    pairs = max(1, len(high))
    if name == "gb18030":
        common = len(_GB_FIRST.findall(sample)) / pairs
        return 26 * min(1.0, common) * (share > 0.5)
    if name == "big5":
        common = len(_BIG5_FIRST.findall(sample)) / pairs
        return 24 * min(1.0, common) * (share > 0.5)
    if name in ("shift_jis", "euc-jp"):
        ideographs = len(re.findall(r"[\u4e00-\u9fff\u3000-\u303f\uff00-\uff60]", text)) / len(high)
        half = len(re.findall(r"[\uff66-\uff9f]", text)) / len(high)
        return (34 if share > 0.1 else 15) * (share + ideographs) - 30 * half
    # Korean is written in EUC-KR; what its extension adds is rare.
    extended = len(_CP949_EXTRA.findall(sample)) / len(high) if name == "euc-kr" else 0.0
    return 32 * share - 40 * extended


def _same_text(sample: bytes, one: str, other: str) -> bool:
    return sample.decode(one, errors="replace") == sample.decode(other, errors="replace")


def _ask_normalizer(sample: bytes, known: dict[str, str]) -> str | None:
    import charset_normalizer

    best = charset_normalizer.from_bytes(sample, cp_isolation=sorted(set(known.values()))).best()
    if best is None:
        return None
    found = codecs.lookup(best.encoding).name
    return next((name for name, codec in known.items() if codecs.lookup(codec).name == found), None)
