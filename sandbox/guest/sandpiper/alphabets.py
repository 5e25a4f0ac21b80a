"""The letters that languages write, for telling apart encodings of one byte a letter.

The same bytes are Polish letters in one encoding and Lithuanian ones in
another; but only in the right one do all of them belong to one language.
"""

from __future__ import annotations

import re

COMMON, UNION, UNKNOWN, CONTROL, INSIDE = 30.0, 22.0, -15.0, -40.0, -25.0
_SIGNS = dict.fromkeys("№«»–—€°“”„’‘…•·£§²³µ\u00a0", 22.0) | dict.fromkeys("½¼±®©™ºª", 8.0)

# What each language writes beyond a to z; the number is how readily it is believed.
_WESTERN = {
    "German": ("äöüß", 30), "French": ("éèàçê", 30), "French, rarer": ("éèàçêâîôûëïùœæ", 27), "Spanish": ("ñóíáúéü¿¡", 30), "Portuguese": ("ãçõéáíóúâêôà", 30), "Italian": ("àèéìòù", 30),
    "Swedish": ("åäöé", 30), "Danish": ("æøåé", 30), "Dutch": ("ëéïóè", 29), "Catalan": ("àçèéíòóúï", 29), "Icelandic": ("ðþæöáéíóúý", 24),
}  # fmt: skip
_CENTRAL = {
    "Polish": ("ąćęłńóśźż", 30), "Czech": ("áčďéěíňóřšťúůýž", 30), "Slovak": ("áäčďéíĺľňóôŕšťúýž", 29), "Hungarian": ("áéíóöőúüű", 30), "Romanian": ("ăâîșțşţ", 29),
    "Croatian": ("čćđšž", 29), "German": ("äöüß", 29),
}  # fmt: skip
_BALTIC = {"Lithuanian": ("ąčęėįšųūž", 30), "Latvian": ("āčēģīķļņšūž", 30), "Estonian": ("õäöüšž", 28.5)}
_TURKISH = {"Turkish": ("çğıöşüâîû", 29.5)}
_LATIN = {
    "cp1252": (_WESTERN, 0.0, 22.0), "cp1250": (_CENTRAL, 0.6, 12.0), "iso8859-2": (_CENTRAL, 0.9, 12.0), "cp1257": (_BALTIC, 0.8, 20.0), "cp1254": (_TURKISH, 0.8, 12.0),
    "mac-roman": (_WESTERN, 3.0, 18.0), "cp850": (_WESTERN, 3.0, 18.0), "cp852": (_CENTRAL, 3.4, 12.0), "cp857": (_TURKISH, 3.4, 12.0),
}  # fmt: skip
# By frequency; then what only neighbours of Russian write.
_CYRILLIC = {letter: 33.0 - i for i, letter in enumerate("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё")} | {"і": 22.0, "ї": 12.0, "є": 12.0, "ґ": 4.0, "ў": 6.0, "ј": 4.0}
_GREEK = dict.fromkeys("αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋΐΰ", 25.0)
_HEBREW = {letter: 34.0 - i for i, letter in enumerate("יוהלאתרבשמנעחדקכפגסזצטםןךףץ")}
# Letters that end a word, within one.
_FINAL_INSIDE = re.compile("[םןךףץ](?=[א-ת])")
_ARABIC = dict.fromkeys(map(chr, range(0x621, 0x64B)), 26.0) | dict.fromkeys("پچژگکی،؟", 20.0) | dict.fromkeys(map(chr, range(0x64B, 0x653)), 14.0)
_THAI = dict.fromkeys(map(chr, range(0xE01, 0xE4F)), 26.0)
_SCRIPTS = {
    "cp1251": (_CYRILLIC, 0.0), "koi8-r": (_CYRILLIC, 0.0), "koi8-u": (_CYRILLIC, 0.3), "cp866": (_CYRILLIC, 0.0), "iso8859-5": (_CYRILLIC, 3.0), "mac-cyrillic": (_CYRILLIC, 2.5),
    "cp1253": (_GREEK, 0.0), "cp1255": (_HEBREW, 0.0), "cp1256": (_ARABIC, 0.0), "cp874": (_THAI, 0.0), "cp862": (_HEBREW, 4.0),
}  # fmt: skip
CODECS = (
    ("windows-1251", "cp1251"), ("koi8-r", "koi8-r"), ("koi8-u", "koi8-u"), ("ibm866", "cp866"), ("iso-8859-5", "iso8859-5"), ("x-mac-cyrillic", "mac-cyrillic"),
    ("windows-1252", "cp1252"), ("windows-1250", "cp1250"), ("iso-8859-2", "iso8859-2"), ("windows-1257", "cp1257"), ("windows-1254", "cp1254"), ("windows-1253", "cp1253"),
    ("windows-1255", "cp1255"), ("windows-1256", "cp1256"), ("windows-874", "cp874"), ("macintosh", "mac-roman"), ("ibm850", "cp850"), ("ibm852", "cp852"), ("ibm857", "cp857"),
    ("ibm862", "cp862"),
)  # fmt: skip

_MIXED = re.compile(r"[a-zA-Z][^\W\d_a-zA-Z]|[^\W\d_a-zA-Z][a-zA-Z]")
# A letter alone, or between digits: a sign read as a letter.
_ALONE = re.compile(r"(?<!\w)[^\W\d_a-zа-яёіїєў](?![\w.])|(?<=\d)[^\W\d_a-zA-Z](?=\d)")
# Signs where they belong: a square metre, degrees, an amount of money.
_IN_PLACE = re.compile(r"(?<=m)[²³]|µ(?=[a-zA-Z])|°(?=[CF])|(?<=\d)[\u00a0 ]?€|€(?=[\u00a0 ]?\d)|(?<=\d)\u00a0(?=\d{3})")
_FINAL_SIGMA = re.compile("ς(?=[α-ωά-ώ])")
_WORD = re.compile(r"[^\W\d_]{3,}")
# A sign that no word has inside: between two letters, and above 127.
_SIGN_INSIDE = re.compile(r"(?<=[^\W\d_])[^\w\s'’·.\-/,;\x00-\x7f](?=[^\W\d_])")


def score(sample: bytes, codec: str) -> float:
    """How natural a sample's letters look in an encoding: about 25 for a text, less than 15 for none."""
    text = sample.decode(codec, errors="replace")
    high = [c for c in text if c > "\x7f"]
    if not high:
        return 0.0
    if codec in _LATIN:
        languages, prior, union = _LATIN[codec]
        total = _of_languages(high, languages, union)
        if codec != "cp1252":  # a letter or two prove little against what is usual
            prior += 4 / len(set(high))
        words = _WORD.findall(text)
        # Hardly a word has more letters with marks than without.
        odd = sum(len(w) for w in words if sum(c > "\x7f" for c in w) > 0.6 * len(w)) + 2 * sum(c > "\x7f" for c in _ALONE.findall(text))
        total += 10 * len(_IN_PLACE.findall(text))
    else:
        weights, prior = _SCRIPTS[codec]
        total = sum(weights[low] if (low := c.lower()) in weights else _other(c) for c in high)
        odd = 2 * len(_MIXED.findall(text)) + 2 * sum(c > "\x7f" for c in _ALONE.findall(text))
        prior += 4 / len(set(high))
        if weights is _CYRILLIC or weights is _GREEK:
            odd += sum(len(w) for w in _WORD.findall(text) if len(w) > 4 and not _VOWELS.search(w))
        if weights is _GREEK:
            odd += 2 * len(_FINAL_SIGMA.findall(text))
        if weights is _HEBREW:
            odd += 2 * len(_FINAL_INSIDE.findall(text))
    odd += 2 * _odd_case(text)
    return (total - 20 * odd + INSIDE * len(_SIGN_INSIDE.findall(text))) / len(high) - prior


_VOWELS = re.compile(r"[аеёиоуыэюяіїєўαεηιουωάέήίόύώ]", re.IGNORECASE)


def _of_languages(high: list[str], languages: dict[str, tuple[str, float]], union: float) -> float:
    letters = ["ı" if c == "İ" else c.lower() for c in high]
    # Icelandic's own letters are no sign of any other language beside it.
    known = set().union(*(set(written) for name, (written, _) in languages.items() if name != "Icelandic"))
    best = -1e9
    for written, belief in languages.values():
        best = max(best, sum(belief if c in written else union if c in known else _other(c) for c in letters))
    return best


def _other(c: str) -> float:
    if c == "\ufffd" or "\x80" <= c < "\xa0":
        return CONTROL
    return _SIGNS.get(c, UNKNOWN)


def _odd_case(text: str) -> int:
    """Capitals that follow a small letter within a word, where either is above 127."""
    return sum(1 for a, b in zip(text, text[1:], strict=False) if b.isupper() and a.islower() and (a > "\x7f" or b > "\x7f"))
