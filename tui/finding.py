"""Sessions by title and tag, forgiving about what was typed; and what a message was found for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from textual.fuzzy import FuzzySearch

from localmem.text import printable
from localmem.tui.text import one_line
from localmem.types import Session

RANKED = 500
"""Titles that are compared closely: more that hold the letters in order are told apart by nothing."""

BEFORE = 20
"""Characters of a message that are shown before the first word that was looked for."""


def best_titles(sessions: Iterable[Session], sought: str) -> list[Session]:
    """Sessions whose title or tags hold the letters of ``sought`` in order, best first."""
    letters = [letter for letter in sought.casefold() if not letter.isspace()]
    if not letters:
        return list(sessions)
    pattern = re.compile(".*?".join(map(re.escape, letters)), re.DOTALL)
    found = [(text, s) for s in sessions if pattern.search(text := sought_in(s).casefold())]
    words = sought.casefold().split()
    # Whole words first: the close comparison is only for those that are left.
    found.sort(key=lambda pair: -sum(word in pair[0] for word in words))
    fuzzy = FuzzySearch()
    ranked = [
        (sum(word in text for word in words), fuzzy.match("".join(letters), text)[0], session)
        for text, session in found[:RANKED]
    ]
    ranked.sort(key=lambda item: (-item[0], -item[1]))
    return [session for _, _, session in ranked]


def sought_in(session: Session) -> str:
    """What of a session is looked at."""
    return printable(" ".join((session.title or session.external_id, *session.tags)))[:300]


def words_in(sought: str) -> re.Pattern[str] | None:
    """What finds the words that were looked for in a text; None: there is none."""
    words = sorted(set(sought.split()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE) if words else None


def excerpt(text: str, words: re.Pattern[str] | None) -> str:
    """Part of a text on one line, begun shortly before the first of some words."""
    found = words.search(text) if words else None
    begin = max(found.start() - BEFORE, 0) if found else 0
    if begin:
        begin = max(text.rfind(" ", 0, begin), begin - BEFORE, 0)
    return "…" * (begin > 0) + one_line(text[begin:])


def by_date(sessions: Sequence[Session], today: date) -> list[tuple[str, list[Session]]]:
    """Sessions, newest first, under headings: Today, Yesterday, This week, then months and years."""
    groups: dict[str, list[Session]] = {}
    for session in sessions:
        groups.setdefault(_heading(session, today), []).append(session)
    return list(groups.items())


def _heading(session: Session, today: date) -> str:
    moment = session.ended_at or session.started_at
    if moment is None:
        return "Undated"
    # A time without a zone is shown as it was written; of one with a zone the person's own day counts.
    day = moment.astimezone().date() if moment.tzinfo else moment.date()
    if day >= today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    if day > today - timedelta(days=7):
        return "This week"
    return f"{day:%B %Y}"
