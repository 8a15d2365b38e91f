"""The particulars of a text: its numbers, its dates and its names. What a derived text must not invent."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property

from localmem.dates import DateMention, dates_in
from localmem.dates.units import MONTHS, stretch_text
from localmem.index.tokens import STOP_WORDS
from localmem.layers.numbers import Number, numbers_in
from localmem.layers.sentences import FILLERS

ORDINARY = STOP_WORDS | FILLERS | frozenset(
    "also although another around assistant back besides can conversation could discussed discussion due "
    "earlier either even every everyone everything family first friends getting given going having "
    "hopefully however instead it's last later let let's like lots many members might much my neither "
    "never new next none nothing one overall participants people perhaps plans previously recently "
    "several shared since someone something sometimes soon speaker speakers still summary talked their "
    "there's they today together tomorrow tonight topics topic two unfortunately user users using we'll "
    "what whatever whenever wherever whether yesterday yet".split()
)  # fmt: skip
"""Words that begin a sentence without being anybody's name, in lower case."""

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS) + "|sept"
_WRITTEN = re.compile(
    rf"""\b(?:
      (?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})(?:[-/.](?P<day>\d{{1,2}}))?
    | (?P<first>\d{{1,2}})[/.](?P<second>\d{{1,2}})[/.](?P<year_b>(?:\d\d)?\d\d)
    | (?P<from_a>\d{{1,2}})(?:st|nd|rd|th)?\s?(?:-|–|to|and|&|through)\s?(?P<to_a>\d{{1,2}})(?:st|nd|rd|th)?
      \ (?:of\ )?(?P<month_a>{_MONTH})\b\.?(?:,?\ (?P<year_c>\d{{4}}))?
    | (?P<month_b>{_MONTH})\.?\ (?P<from_b>\d{{1,2}})(?:st|nd|rd|th)?\s?(?:-|–|to|and|&|through)\s?
      (?P<to_b>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\ (?P<year_d>\d{{4}}))?
    | (?P<month_c>{_MONTH})\b\.?,?\ (?:of\ )?(?P<year_e>(?:19|20)\d\d)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_JOINED = re.compile(r",?\s?(?:-|–|to|until|till|through)\s?", re.IGNORECASE)
_KEPT_NUMBER = re.compile(r"\bago$|^in \w+ (?:day|week|month|year)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“'])|\n")
_FAR_APART = (date(1000, 1, 1), date(1600, 6, 15))
_OPENERS = " \t\"“”‘'(*_-–—•"
_SENTENCE_ENDS = ".!?:;…\n。！？؟"


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a text names."""

    first: date
    last: date
    text: str
    """As written."""

    def supports(self, other: Span) -> bool:
        """Whether a source that names these days carries ``other``: the same, or a month or year around."""
        if (self.first, self.last) == (other.first, other.last):
            return True
        named = " to " not in stretch_text(other.first, other.last)
        return named and other.first <= self.first and self.last <= other.last


@dataclass(frozen=True)
class Particulars:
    """What a text, said on day ``said`` (None: not known), names."""

    text: str
    said: date | None

    @cached_property
    def _mentions(self) -> list[tuple[tuple[int, int], tuple[Span, ...]]]:
        """Where each date stands, and what it may mean."""
        found: list[tuple[tuple[int, int], tuple[Span, ...]]]
        found = [(m.span, (_span(m, self.text),)) for m in _resolved(self.text, self.said)]
        left = _blanked(self.text, [span for span, _ in found])
        for match in _WRITTEN.finditer(left):
            found += [(match.span(), readings) for readings in _readings(match, self.said)]
        return sorted(found, key=lambda pair: pair[0])

    @cached_property
    def dates(self) -> list[tuple[Span, ...]]:
        """Each date as what it may mean; "1 May to 7 May" is one."""
        found: list[tuple[Span, ...]] = []
        end = 0
        for place, readings in self._mentions:
            before = found[-1][0] if found else None
            first = readings[0]
            joined = end < place[0] and _JOINED.fullmatch(self.text, end, place[0])
            if joined and before and before.first < first.last:
                found[-1] = (Span(before.first, first.last, f"{before.text}{joined[0]}{first.text}"),)
            else:
                found.append(readings)
            end = place[1]
        return found

    @cached_property
    def days(self) -> list[Span]:
        """All days that the text may mean, bounds and ranges alike."""
        alone = [span for _, readings in self._mentions for span in readings]
        return list(dict.fromkeys([*alone, *(span for readings in self.dates for span in readings)]))

    @cached_property
    def numbers(self) -> list[Number]:
        """The numbers that are no part of a date."""
        dated = [place for place, spans in self._mentions if not _KEPT_NUMBER.search(spans[0].text)]
        return numbers_in(_blanked(self.text, dated))

    @cached_property
    def names(self) -> list[str]:
        """The capitalised words as written, but for the first of a sentence when it is an ordinary one."""
        undated = _blanked(self.text, [span for span, _ in self._mentions])
        return [
            word
            for word, opens in _capitalised(undated)
            if word.lower() not in STOP_WORDS and not (opens and is_ordinary(word))
        ]

    @cached_property
    def words(self) -> set[str]:
        """All words in the form that :func:`plain` gives."""
        return {form for token in _TOKEN.findall(self.text) for form in plain(token)}


def plain(word: str) -> set[str]:
    """A word without case, accents, possessive and plural: the forms it may be matched by."""
    if not word.isascii():
        word = word.encode("utf-8", "replace").decode("utf-8").replace("’", "'")
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word = word.casefold().removesuffix("'s").removesuffix("'")
    forms = {word, word.replace("'", "")}
    for suffix, stem in (("ies", "y"), ("es", ""), ("s", "")):
        if word.endswith(suffix) and len(word) > len(suffix) + 2:
            forms.add(word.removesuffix(suffix) + stem)
    return forms


def is_ordinary(word: str) -> bool:
    """Whether a capitalised first word of a sentence need not be a name."""
    lower = word.lower().replace("’", "'")
    return (
        lower.removesuffix("'s") in ORDINARY
        or lower in ORDINARY
        or (lower.endswith("ing") and len(lower) > 6)
    )


def _resolved(text: str, said: date | None) -> list[DateMention]:
    """The dates of ``text``; when it was said on no known day, those that mean the same on any.

    Read sentence by sentence, as they are written out: whether "on Friday" is past or to come depends on
    the words before it.
    """
    if said is None:
        first, second = (_resolved(text, day) for day in _FAR_APART)
        return [mention for mention in first if mention in second]
    found, start = [], 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        for mention in dates_in(text[start:end], said):
            span = (mention.span[0] + start, mention.span[1] + start)
            found.append(replace(mention, span=span))
        start = end
    return found


def _span(mention: DateMention, text: str) -> Span:
    return Span(mention.first, mention.last, text[slice(*mention.span)])


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """``text`` with what stands at ``spans``, which do not overlap, replaced by spaces."""
    pieces, at = [], 0
    for start, end in sorted(set(spans)):
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])


def _readings(match: re.Match[str], said: date | None) -> list[tuple[Span, ...]]:
    """The dates in a match of :data:`_WRITTEN`, each as what it may mean: ``5/7/2023`` has two readings."""
    part = {name: value for name, value in match.groupdict().items() if value}
    try:
        if "year" in part:
            first = date(int(part["year"]), int(part["month"]), int(part.get("day", 1)))
            found = [[(first, first if "day" in part else _month_end(first))]]
        elif "year_b" in part:
            year = int(part["year_b"]) + (2000 if len(part["year_b"]) == 2 else 0)
            one, two = int(part["first"]), int(part["second"])
            days = [date(year, m, d) for m, d in ((one, two), (two, one)) if m <= 12]
            found = [[(day, day) for day in days]]
        elif "month_c" in part:
            first = date(int(part["year_e"]), _month(part["month_c"]), 1)
            found = [[(first, _month_end(first))]]
        else:
            found = [[pair] for pair in _both_ends(part, match[0], said)]
    except ValueError:  # 31 February
        return []
    return [tuple(Span(*pair, match[0]) for pair in pairs) for pairs in found if pairs]


def _both_ends(part: dict[str, str], text: str, said: date | None) -> list[tuple[date, date]]:
    """``6 and 7 May`` is two days, ``6-9 May`` one range."""
    written = part.get("year_c") or part.get("year_d")
    if not written and not said:
        return []
    year = int(written) if written else said.year if said else 0
    month = _month(part.get("month_a") or part["month_b"])
    first, last = (date(year, month, int(part.get(f"{end}_a") or part[f"{end}_b"])) for end in ("from", "to"))
    if first >= last:
        return []
    return [(first, first), (last, last)] if re.search(r"and|&", text) else [(first, last)]


def _month(name: str) -> int:
    return next(number for number, full in enumerate(MONTHS, 1) if full.startswith(name[:3].lower()))


def _month_end(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _capitalised(text: str) -> Iterator[tuple[str, bool]]:
    """The capitalised words of two letters or more, each with whether it opens a sentence."""
    for match in _TOKEN.finditer(text):
        word = match[0]
        if len(word) < 2 or not word[0].isupper() or word.lower().replace("’", "'").split("'")[0] == "i":
            continue
        before = match.start() - 1
        while before >= 0 and text[before] in _OPENERS:
            before -= 1
        yield word, before < 0 or text[before] in _SENTENCE_ENDS
