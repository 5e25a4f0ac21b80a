"""What a column's cells have shown, gathered chunk by chunk over all rows.

Nothing is decided here. Cells are counted once per distinct text, so a million
equal cells cost as much as one; whole chunks of plain numbers or ISO dates are
recognised by one regular expression.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from . import dates, missing, numbers
from .flat import Counted

# Distinct texts that are kept per column, with their counts, before the column
# is said to be "wide" and only the frequent ones are kept.
KEEP_DISTINCT = 50_000
_KEEP_WIDE = 10_000
# After that many distinct texts that are neither number nor date, the rest of
# the column is not looked at: nothing could make it one.
_ENOUGH_TEXTS = 200

# Yes and no as people and their programs write them; the truth first.
_YES_NO = (
    ("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("да", "нет"), ("ja", "nein"), ("oui", "non"), ("是", "否"), ("はい", "いいえ"),
    ("wahr", "falsch"), ("vrai", "faux"), ("истина", "ложь"), ("verdadero", "falso"), ("verdadeiro", "falso"), ("vero", "falso"), ("waar", "onwaar"), ("prawda", "fałsz"),
    ("pravda", "nepravda"), ("doğru", "yanlış"), ("sí", "no"), ("si", "no"), ("sì", "no"), ("sim", "não"), ("sim", "nao"), ("ja", "nee"), ("ja", "nej"), ("ja", "nei"), ("kyllä", "ei"),
    ("jah", "ei"), ("jā", "nē"), ("taip", "ne"), ("tak", "nie"), ("ano", "ne"), ("áno", "nie"), ("igen", "nem"), ("da", "nu"), ("da", "ne"), ("так", "ні"), ("иә", "жоқ"), ("evet", "hayır"),
    ("ναι", "όχι"), ("نعم", "لا"), ("بله", "خیر"), ("כן", "לא"), ("예", "아니오"), ("예", "아니요"), ("真", "假"), ("có", "không"), ("ya", "tidak"), ("ใช่", "ไม่ใช่"), ("✓", "✗"), ("✔", "✘"), ("☑", "☐"),
)  # fmt: skip
_BOOLEANS = tuple(map(frozenset, _YES_NO))
# These say yes or no even where the other never occurs.
ALONE = frozenset(word for pair in _YES_NO[:9] for word in pair) - {"y", "n", "t", "f", "нет"}
TRUE = frozenset(truth for truth, _ in _YES_NO)
_PADDED = re.compile(r"^[^\S\n]|[^\S\n]$", re.MULTILINE)
_BLANK = re.compile(r"[^\S\n]")
_COMPACT = re.compile(r"(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\n)+", re.ASCII)
# What a number or a date can begin with, one character or two; the rest is not tried.
_FIRST = frozenset("0123456789-+\u2212\u2013.,(\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u061c٫٬，．＄￥－＋（") | frozenset(s for s in numbers.SPELLINGS if len(s) == 1)
_FIRST_TWO = frozenset(name[:2].casefold() for name in (*numbers.SPELLINGS, *dates.BEGINNINGS) if len(name) > 1)


def _may_be_value(text: str) -> bool:
    first = text[:1]
    return first in _FIRST or text[:2].casefold() in _FIRST_TWO or (not first.isascii() and first.isdecimal())


@dataclass(slots=True)
class Class:
    """The cells of one column that are of one class."""

    cells: int = 0
    distinct: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, text: str, count: int) -> None:
        self.cells += count
        self.distinct += 1
        if len(self.examples) < 5:
            self.examples.append(text)


@dataclass(slots=True)
class Evidence:
    """All that is known of a column before its type is decided."""

    name: str
    cells: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wide: bool = False
    hashes: list[object] = field(default_factory=list)  # numpy arrays, once wide
    padded: int = 0
    number: Class = field(default_factory=Class)
    date: Class = field(default_factory=Class)
    text: Class = field(default_factory=Class)
    error: Class = field(default_factory=Class)
    soft: Counter[str] = field(default_factory=Counter)  # maybe missing
    hard: Counter[str] = field(default_factory=Counter)  # missing for certain
    number_facts: set[str] = field(default_factory=set)
    open_example: str = ""
    units: Counter[str] = field(default_factory=Counter)
    decimals: int = 0
    date_facts: dates.Facts = field(default_factory=dates.Facts)
    booleans: frozenset[str] | None = None
    maybe_boolean: bool = True
    said: set[str] = field(default_factory=set)  # the words of a column that may be yes and no
    compact_dates: bool | None = None
    native: Counter[str] = field(default_factory=Counter)  # cell kinds, where the file has them

    def add(self, cells: Sequence[str]) -> None:
        """Take one chunk of the column's cells, in the order of rows."""
        self.cells += len(cells)
        fresh = cells.counts if isinstance(cells, Counted) else Counter(cells)
        self._take_missing(fresh)
        if not fresh:
            return
        joined = "\n".join(fresh) + "\n"
        if not self._take_plain(fresh, joined):
            if _BLANK.search(joined) and _PADDED.search(joined):
                fresh = self._strip(fresh)
            self._classify(fresh)
        self._count(fresh)

    def _take_missing(self, fresh: Counter[str]) -> None:
        for token in missing.ALWAYS & fresh.keys():
            self.hard[token] += fresh.pop(token)

    def _strip(self, fresh: Counter[str]) -> Counter[str]:
        stripped: Counter[str] = Counter()
        for text, count in fresh.items():
            clean = text.strip()
            if clean != text:
                self.padded += count
            if clean in missing.ALWAYS:
                self.hard[clean] += count
            else:
                stripped[clean] += count
        return stripped

    def _take_plain(self, fresh: Counter[str], joined: str) -> bool:
        """Recognise a chunk that is all plain numbers or ISO dates."""
        if joined.count("\n") != len(fresh):
            return False
        first = joined[0]
        if not (first.isdigit() or first == "-"):
            return False
        kept = self.counts if not self.wide else ()
        new = len(fresh) if not kept else sum(1 for t in fresh if t not in kept)
        cells = fresh.total()
        if numbers.all_plain_integers(fresh, joined):
            compact = _COMPACT.fullmatch(joined) is not None
            self.compact_dates = compact if self.compact_dates is None else self.compact_dates and compact
            self._plain_numbers(fresh, cells, new, {numbers.INT})
        elif numbers.PLAIN_DECIMALS.fullmatch(joined):
            self.compact_dates = False
            self._plain_numbers(fresh, cells, new, self._plain_facts(joined))
        elif dates.PLAIN_ISO.fullmatch(joined):
            self._plain_dates(fresh, cells, new, "%Y-%m-%d", timed=False)
        elif dates.PLAIN_ISO_TIME.fullmatch(joined):
            self._plain_dates(fresh, cells, new, "%Y-%m-%d", timed=True)
        else:
            return False
        self.maybe_boolean = False
        return True

    def _plain_numbers(self, fresh: Counter[str], cells: int, new: int, facts: set[str]) -> None:
        self.number.cells += cells
        self.number.distinct += new
        self.number_facts |= facts
        self.units[""] += cells
        if not self.number.examples:
            self.number.examples.append(next(iter(fresh)))

    def _plain_facts(self, joined: str) -> set[str]:
        facts = {numbers.DOT_DECIMAL} if numbers.SURE_DECIMAL.search(joined) else set()
        still_open = None if facts else numbers.OPEN_DECIMAL.search(joined)
        if still_open is not None:
            self.open_example = self.open_example or still_open[0]
            facts.add(numbers.DOT_OPEN)
        return facts

    def _plain_dates(self, fresh: Counter[str], cells: int, new: int, form: str, *, timed: bool) -> None:
        self.date.cells += cells
        self.date.distinct += new
        facts = self.date_facts
        facts.forms.add(form)
        facts.timed |= timed
        facts.seconds |= timed
        facts.zoneless |= timed
        facts.untimed |= not timed
        if not self.date.examples:
            self.date.examples.append(next(iter(fresh)))

    def _classify(self, fresh: Counter[str]) -> None:
        special = missing.SPECIAL & fresh.keys()
        for text in special:
            if text in missing.ERRORS:
                self.error.add(text, fresh[text])
            else:
                self.soft[text] += fresh[text]
        rest = iter(fresh.items())
        for text, count in rest:
            if text in special:
                continue
            if text in self.counts:
                self._again(text, count)
            else:
                self._classify_one(text, count)
            if self.text.distinct >= _ENOUGH_TEXTS:
                left = [n for t, n in rest if t not in special]
                self.text.cells += sum(left)
                self.text.distinct += len(left)
        if self.maybe_boolean:
            self._see_booleans(fresh)

    def _again(self, text: str, count: int) -> None:
        """Count a text that an earlier chunk had."""
        if len(text) <= numbers.LONGEST and _may_be_value(text):
            if (described := numbers.describe(text)) is not None:
                self.number.cells += count
                self.units[described.unit] += count
            elif dates.describe(text) is not None:
                self.date.cells += count
            else:
                self.text.cells += count
        else:
            self.text.cells += count

    def _classify_one(self, text: str, count: int) -> None:
        if len(text) <= numbers.LONGEST and _may_be_value(text):
            described = numbers.describe(text)
            if described is not None:
                self._number(text, count, described)
                return
            match = dates.describe(text)
            if match is not None:
                self.date.add(text, count)
                dates.note_facts(self.date_facts, match)
                return
        self.text.add(text, count)

    def _number(self, text: str, count: int, described: numbers.Described) -> None:
        self.number.add(text, count)
        self.number_facts.update(described.facts)
        self.units[described.unit] += count
        if numbers.DOT_OPEN in described.facts or numbers.COMMA_OPEN in described.facts:
            self.open_example = self.open_example or text
        if len(text) != 8 or not text.isdecimal():
            self.compact_dates = False

    def _see_booleans(self, fresh: Counter[str]) -> None:
        for text in fresh:
            low = text.casefold()
            if low in missing.ALWAYS or (missing.is_na(text) or text in missing.AMONG_VALUES) and low != "нет":
                continue
            self.said.add(low)
            self.booleans = next((pair for pair in _BOOLEANS if self.said <= pair), None) if len(self.said) <= 2 else None
            if self.booleans is None:
                self.maybe_boolean = False
                return

    def _count(self, fresh: Counter[str]) -> None:
        if not self.wide:
            if self.counts:
                self.counts.update(fresh)
            else:
                self.counts = fresh
            if len(self.counts) <= KEEP_DISTINCT:
                return
            self.widen()
            return
        self._hash(fresh)
        for text, count in fresh.items():
            if count > 1 or text in self.counts:
                self.counts[text] += count
        if len(self.counts) > KEEP_DISTINCT:
            self.counts = Counter(dict(self.counts.most_common(_KEEP_WIDE)))

    def widen(self) -> None:
        """Give up counting every distinct text exactly; keep hashes of all."""
        self.wide = True
        self._hash(self.counts)
        self.counts = Counter(dict(self.counts.most_common(_KEEP_WIDE)))

    def _hash(self, texts: Counter[str]) -> None:
        import numpy

        self.hashes.append(numpy.fromiter(map(hash, texts), dtype=numpy.int64, count=len(texts)))
        if sum(len(h) for h in self.hashes[1:]) > 500_000:  # type: ignore[arg-type]
            self.hashes = [numpy.unique(numpy.concatenate(self.hashes))]

    def distinct(self) -> int:
        """Distinct texts that are no missing value. Exact but for hash collisions."""
        if not self.wide:
            return len(self.counts)
        import numpy

        return int(numpy.unique(numpy.concatenate(self.hashes)).size)
