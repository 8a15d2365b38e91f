"""Does a text say only what its notes say, and which of them does it rest on?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localmem.answering.draft import Draft
from localmem.answering.notes import Note
from localmem.answering.question import ASKS
from localmem.index.tokens import terms
from localmem.types import Role

SUPPORTED = 0.6
"""Share of an answer's terms that its notes and question must have."""
CITED = 0.34
"""Terms that answer and note share, as a share of the shorter one's, from which on the note is cited."""

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-z]+\b")

_DAY = r"\d{1,2} [A-Z][a-z]+ \d{4}"
_COPIED = re.compile(rf"\W*(?:- |[^:\n]{{1,60}} \({_DAY}\):|{_DAY}, [^:\n]{{1,60}}:)")
"""The form of a note or of the rule's answer. A model that copies it mixes one's day with another's words."""
_YOU = re.compile(r"\byou(?:rs?|rself)?\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:I|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)


def unsupported(answer: str, notes: Sequence[Note], question: str, draft: Draft) -> str | None:
    """Why ``answer`` may not stand, or None when the notes carry it.

    A number or a name that stands neither in the notes nor in question or draft was invented; so is
    an answer most of whose words come from nowhere, or that adds nothing said to the question (the day
    on which a note was told is nothing said). What code computed must be in it, and where the latest wins,
    the latest. "You" is who asks, or who told it without a name.
    """
    material = "\n".join([*(str(note) for note in notes), question, draft.text])
    numbers = set(_NUMBER.findall(material))
    for found in _NUMBER.findall(answer):
        if found not in numbers:
            return f"it has the number {found}, which memory does not"
    for found in _NAME.findall(answer):
        if not re.search(rf"\b{found}\b", material, re.IGNORECASE):
            return f"it has the name {found}, which memory does not"
    words = set(terms(answer))
    if not words:
        return "it says nothing"
    if any(not re.search(rf"\b{n}\b", answer) for n in _NUMBER.findall(draft.value)):
        return f"it leaves out {draft.value}, which was computed"
    asker = any(not n.sentence.message.speaker and n.sentence.message.role is Role.USER for n in notes)
    if _YOU.search(answer) and not (asker or _SELF.search(question) or _YOU.search(question)):
        return "it tells of you what was asked of somebody else"
    if _outdated(words, draft):
        return "it tells what was so earlier"
    if len(words & set(terms(material))) < SUPPORTED * len(words):
        return "most of its words are not from memory"
    said = " ".join([*(note.sentence.text for note in notes), draft.value])
    if answer.strip().endswith("?") or not (words - set(terms(question))) & set(terms(said)):
        return "it only repeats the question"
    if _COPIED.match(answer):
        return "it copies the notes"
    return None


def _outdated(words: set[str], draft: Draft) -> bool:
    """Whether an answer shares more with what the draft tells of earlier than with the latest."""
    if not draft.earlier:
        return False
    latest = set(terms(draft.sentences[0].text))
    earlier = set().union(*(terms(sentence.text) for sentence in draft.earlier))
    return len(words & (earlier - latest)) > len(words & (latest - earlier))


def cited(answer: str, notes: Sequence[Note]) -> list[int]:
    """Ids of the messages whose notes share most words with ``answer``, best first; never of a question."""
    words = set(terms(answer))
    shares = []
    for note in notes:
        if note.sentence.text.endswith(ASKS):
            continue
        have = set(terms(str(note)))
        shorter = min(len(words), len(have))
        shares.append((len(words & have) / shorter if shorter else 0.0, note.sentence.message.id))
    shares.sort(key=lambda pair: -pair[0])
    return list(dict.fromkeys(message_id for share, message_id in shares if share >= CITED))
