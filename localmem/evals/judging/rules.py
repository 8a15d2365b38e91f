"""What a rule can say of an answer for certain; None where it cannot.

A rule is precise rather than eager: what it leaves open a model judges, or nobody. Each looks at references
of one shape (yes or no, a number, a date, a short name or phrase), calls an answer right only when it says
that value and no other of its kind, and wrong only when it says exactly one other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date

from localmem.evals.judging.refusal import Stance, is_about_telling, stance
from localmem.evals.judging.values import Quantity, is_counted, quantities, without, written_dates
from localmem.evals.judging.words import alike, items, names, on_topic, tokens
from localmem.index.tokens import terms
from localmem.layers.numbers import LOOSE
from localmem.roles.judge import Criterion
from localmem.text import printable

Ruling = tuple[bool, str]
"""Right or wrong, and why."""

SHORT = 6
"""Most tokens of a name or phrase that an answer may have to repeat."""
LONG = 40
"""Most tokens of an answer that is looked through for a value: a longer one may say anything about it."""

_TURNS = re.compile(
    r"\b(?:no|not|never|nor|neither|cannot|without|except|instead|rather|unlike|but|however|although|though"
    r"|or|maybe|perhaps|probably|possibly|likely|might|unless|if|previously|formerly|originally|initially"
    r"|used to|before that|earlier|no longer|unsure|guess|between|either|wrong|incorrect|correction|actually"
    r"|depends)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:at least|at most|more than|less than|fewer than|over|under|nearly|almost|up to|from|to|through"
    r"|plus|minus|another|extra|additional|each|of)\b|[+~<>/×*=-]",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    rf"\b(?:{'|'.join(LOOSE)}|half|quarter|several|few|many|some|dozens?|hundreds|thousands)\b", re.IGNORECASE
)
_YES_NO = re.compile(r"\W*(yes|no)\b(.*)", re.IGNORECASE | re.DOTALL)
_NEGATED = re.compile(
    r"\b(?:no|not|never|nor|neither|nobody|nothing|none|cannot|without)\b|n['’]t\b", re.IGNORECASE
)
_ASKS_NAME = re.compile(
    r"\b(?:who|whose|whom|(?:is|was|are|were)\s[^?]{0,60}\b(?:named|called)|names?)\b", re.IGNORECASE
)
_ALSO = re.compile(
    r"(.+?)\.\s+(.+?)(?:\s\([^)]*\))?\s(?:is|are) also (?:acceptable|correct|fine)\.?", re.DOTALL
)


def by_rule(question: str, reference: str, abstain: bool, answer: str, criterion: Criterion) -> Ruling | None:
    """What a rule says of ``answer``, with the reason in words; None: a rule cannot tell.

    ``abstain``: the right answer is that memory does not say.
    """
    answer = printable(answer).strip()
    if not re.search(r"\w", answer):
        return False, "the answer is empty"
    taken = stance(answer)
    if abstain:
        if taken is Stance.UNCLEAR:
            return None
        return taken is Stance.REFUSES, "it should not be answered"
    if criterion is not Criterion.PREFERENCE and items(answer) == items(reference):
        return True, "the answer is the reference"
    if taken is Stance.REFUSES:
        return None if is_about_telling(reference) else (False, "it was not answered")
    if criterion is Criterion.PREFERENCE or len(tokens(answer)) > LONG:
        return None
    wanted = _acceptable(reference)
    if len(wanted) > 1 and criterion is Criterion.TEMPORAL:
        criterion = Criterion.COMPLETE  # the reference has its tolerance in it
    return _agreed([_compared(question, one, answer, criterion) for one in wanted])


def _compared(question: str, reference: str, answer: str, criterion: Criterion) -> Ruling | None:
    """The first rule that takes references of this shape decides, or none does."""
    rules: tuple[Callable[[str, str, str, Criterion], Ruling | NotMine | None], ...]
    rules = (_yes_or_no, _dated, _counted, _named)
    for rule in rules:
        ruling = rule(question, reference, answer, criterion)
        if not isinstance(ruling, NotMine):
            return ruling
    return None


class NotMine:
    """The reference has not the shape that a rule looks at."""


def _yes_or_no(question: str, reference: str, answer: str, criterion: Criterion) -> Ruling | NotMine | None:
    """Answers that begin with yes or no. A reference that adds a reason may ask for the reason too."""
    wanted = _YES_NO.fullmatch(reference)
    if wanted is None:
        return NotMine()
    given = _YES_NO.fullmatch(answer)
    if given is None:
        return None
    word, rest = given[1].lower(), given[2]
    doubts = _TURNS.search(rest) if word == "yes" else _TURNS.search(_NEGATED.sub(" ", rest))
    if doubts or re.search(r"\byes\b", rest, re.IGNORECASE):
        return None
    if word != wanted[1].lower():
        return False, f"it says {word}"
    reason = re.search(r"\w", wanted[2]) and criterion is not Criterion.GENEROUS
    return None if reason else (True, f"it says {word}")


def _dated(question: str, reference: str, answer: str, criterion: Criterion) -> Ruling | NotMine | None:
    """A reference that is one written date. Less precise, more precise or without the year: undecided."""
    dates = written_dates(reference)
    if len(dates) != 1 or terms(without(reference, dates)):
        return NotMine()
    (wanted,) = dates
    asked = written_dates(question)
    given = [
        found
        for found in written_dates(answer)
        if found.same(wanted) or not any(found.same(other) for other in asked)
    ]
    rest = without(answer, written_dates(answer))
    if not given or is_counted(rest) or is_counted(reference) or quantities(rest) or _TURNS.search(rest):
        return None
    if all(found.same(wanted) for found in given):
        return (True, "it has the date") if given[0].has_year or not wanted.has_year else None
    if len(given) > 1 or not given[0].apart(wanted):
        return None
    return (False, "it has another date") if on_topic(question, reference, rest, 2) else None


def _counted(question: str, reference: str, answer: str, criterion: Criterion) -> Ruling | NotMine | None:
    """A reference that is one number, with a word or two for what it counts."""
    numbers = quantities(reference)
    if len(numbers) != 1 or len(tokens(reference)) > SHORT or written_dates(reference):
        return NotMine()
    (wanted,) = numbers
    if wanted.unit in ("ordinal", "half time") or (
        re.search(r"\d[:/.-]\d|[A-Za-z]-?\d", reference) and not wanted.unit
    ):
        return NotMine()  # 2nd, 7:30, 5-2 and F-15 are names more than numbers
    given = _numbers_of(answer, question, wanted)
    if len(given) != 1 or _vague(answer) or _vague(reference) or not _undated(answer, wanted):
        return None
    (found,) = given
    if not set(terms(found.noun)) <= {*terms(question), *terms(reference)}:
        return None  # it may count something else
    told = terms(f"{wanted.text} {wanted.named} {answer} {question}")
    missing = set(terms(reference)) - set(told)
    if _same(found, wanted, question):
        clear = not missing and on_topic(question, reference, answer, 4)
        return (True, "it has the number") if clear else None
    if not _comparable(found, wanted, question) or not on_topic(question, reference, answer, 2):
        return None
    if criterion is Criterion.TEMPORAL and _off_by_one(found, wanted, question):
        return True, "it is off by one"
    return False, "it has another number"


def _named(question: str, reference: str, answer: str, criterion: Criterion) -> Ruling | NotMine | None:
    """A reference that is a name or a phrase of a few words, in the answer's own words or not."""
    wanted = tokens(reference)
    asked = set(terms(question))

    def known(words: Iterable[str]) -> bool:
        """Whether all of them are the question's, or common."""
        return set(terms(" ".join(words))) <= asked

    if not wanted or len(wanted) > SHORT or len(items(reference)) > 1 or known(wanted):
        return NotMine()
    given = tokens(answer)
    if _TURNS.search(answer):
        return None
    others = [name for name in names(answer) if not known(set(name) - set(wanted))]
    places = [i for i in range(len(given) - len(wanted) + 1) if given[i : i + len(wanted)] == wanted]
    if places:
        # "tea" in "tea towel" is another thing
        bounded = all(known([*given[max(i - 1, 0) : i], *given[i + len(wanted) :][:1]]) for i in places)
        left = set(terms(answer)) - asked - set(terms(reference))
        return (True, "it has the reference's words") if bounded and not others and len(left) <= 2 else None
    if not _ASKS_NAME.search(question) or len(others) != 1 or names(reference) != [tuple(wanted)]:
        return None
    if not known(set(given) & set(wanted)) or alike(others[0], wanted):
        return None
    left = set(terms(answer)) - asked - set(terms(" ".join(others[0])))
    return (False, "it has another name") if not left else None


def _acceptable(reference: str) -> list[str]:
    """The references in one: "7 days. 8 days (including the last day) is also acceptable." has two."""
    also = _ALSO.fullmatch(reference.strip())
    return [also[1], also[2]] if also else [reference]


def _agreed(rulings: Sequence[Ruling | None]) -> Ruling | None:
    """Right when one reference is met, wrong when each is failed."""
    right = [ruling for ruling in rulings if ruling is not None and ruling[0]]
    wrong = [ruling for ruling in rulings if ruling is not None and not ruling[0]]
    if right:
        return right[0]
    return wrong[0] if len(wrong) == len(rulings) else None


def _undated(answer: str, wanted: Quantity) -> bool:
    """Whether an answer has no number that is part of a date, but a year where a year is wanted."""
    years = not wanted.unit and 1900 <= wanted.value < 2100
    return all(
        years and (found.first, found.last) == (date(found.first.year, 1, 1), date(found.first.year, 12, 31))
        for found in written_dates(answer)
    )


def _vague(text: str) -> bool:
    """Whether its number may be more, less, or one of several that are told without digits."""
    return bool(_TURNS.search(text) or _ABOUT.search(text) or _LOOSE.search(text))


def _numbers_of(answer: str, question: str, wanted: Quantity) -> list[Quantity]:
    """The distinct quantities of an answer, without those that only repeat the question."""
    asked = {(number.value, number.unit) for number in quantities(question)}
    found = {
        (number.value, number.unit): number
        for number in quantities(answer)
        if number.value == wanted.value or (number.value, number.unit) not in asked
    }
    return list(found.values())


def _unit_asked(question: str) -> str:
    """The unit of time that a question asks for: ``week`` in "how many weeks"."""
    asked = re.search(
        r"how many (?:\w+ )?(second|minute|hour|day|night|week|month|year|decade)s?\b",
        question,
        re.IGNORECASE,
    )
    return asked[1].lower() if asked else ""


def _in_time(number: Quantity, question: str) -> Quantity:
    """A bare number with the unit that the question asks for."""
    unit = _unit_asked(question)
    return quantities(f"{number.value:f} {unit}s")[0] if unit and not number.unit else number


def _same(found: Quantity, wanted: Quantity, question: str) -> bool:
    found, wanted = _in_time(found, question), _in_time(wanted, question)
    return (found.value, found.unit) == (wanted.value, wanted.unit)


def _comparable(found: Quantity, wanted: Quantity, question: str) -> bool:
    return _in_time(found, question).unit == _in_time(wanted, question).unit


def _off_by_one(found: Quantity, wanted: Quantity, question: str) -> bool:
    """A number of days, weeks or months that is one too many or too few (LongMemEval's tolerance)."""
    found, wanted = _in_time(found, question), _in_time(wanted, question)
    named = found.named == wanted.named and found.named in ("day", "night", "week", "month", "year")
    return named and abs(found.counted - wanted.counted) <= 1
