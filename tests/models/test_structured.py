from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from localmem.bench.structured import Case, bench_structured, cases, run
from localmem.models.catalog import ModelRole
from localmem.models.errors import (
    BadInput,
    Cancelled,
    Fault,
    LocalmemError,
    ModelCrashed,
    ModelError,
    ModelTimeout,
    PromptTooLong,
    ReplyUnusable,
)
from localmem.models.grammar import Line, grammar_of
from localmem.models.library import Library
from localmem.models.protocols import ChatMessage, ChatModel, Finished, StopReason, TextDelta
from localmem.models.scripted import ScriptedModel
from localmem.models.structured import Reply, ask, parse


class Note(BaseModel):
    text: Annotated[str, Line(20)]
    count: Annotated[int, Field(ge=1, le=9)]
    kind: Literal["plan", "fact"]


PROMPT = [ChatMessage("system", "Reply with JSON."), ChatMessage("user", "What was said?")]
GOOD = '{"text": "a cat", "count": 3, "kind": "fact"}'
NOTE = Note(text="a cat", count=3, kind="fact")


# --- Reading a reply ---


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace(" ", "\n  "),
        f"Sure! Here is the JSON:\n```json\n{GOOD}\n```\nAnything else?",
        f"Use {{braces}} as asked: {GOOD} and {{more}}",
        f'{GOOD} {{"text": "another", "count": 1, "kind": "plan"}}',
        f'<think>\nIs it {{"text": "x", "count": 1, "kind": "plan"}}?\n</think>\n\n{GOOD}',
        f'it was {{"text": "x"}} or so</think>{GOOD}',
        f"{GOOD}<think>that was it",
        '{"text": "  a\n cat ", "count": 3, "kind": "fact", "more": []}',
    ],
)
def test_the_first_object_is_found_whatever_stands_around_it(text: str) -> None:
    assert parse(Reply(text), Note) == NOTE


def test_a_tag_inside_a_value_is_text() -> None:
    text = GOOD.replace("a cat", "</think><think>")
    assert parse(Reply(text), Note).text == "</think><think>"


@pytest.mark.parametrize(
    ("text", "fault", "says"),
    [
        ("", "empty", "empty"),
        (" \n" * 500, "empty", "empty"),
        (f"<think>\nI would say {GOOD}", "empty", "empty"),
        ("A cat was said.", "no JSON", "no JSON object"),
        ("{" * 5000, "no JSON", "no JSON object"),
        (GOOD[:20], "broken JSON", "Unterminated string"),
        ('{"text": "a\\_cat", "count": 3, "kind": "fact"}', "broken JSON", "escape"),
        ('{"text": "C:\\cats", "count": 3, "kind": "fact"}', "broken JSON", "escape"),
        ('{"notes": [' + GOOD, "broken JSON", "delimiter"),
        ('{"a":' * 5000, "broken JSON", "nested"),
        ('{"a":[' * 80 + "1" + "]}" * 80, "wrong value", "text: Field required"),
        (GOOD.replace("3", "3" * 5000), "broken JSON", "number"),
        (f"[{GOOD}]", "wrong value", "list"),
        (f"[\n  {GOOD},\n  {GOOD}]", "wrong value", "list"),
        (json.dumps(Note.model_json_schema()), "wrong value", "text: Field required"),
        (GOOD.replace("a cat", "   "), "wrong value", "text: String should have at least 1 character"),
        (GOOD.replace("a cat", "\\ud83d"), "wrong value", "JSON"),
        (GOOD.replace("a cat", "a\\u0000cat"), "wrong value", "control characters"),
        (GOOD.replace("3", "NaN"), "wrong value", "count: Input should be a valid integer"),
        (GOOD.replace("3", '"3"'), "wrong value", "count: Input should be a valid integer"),
        (GOOD.replace("3", "true"), "wrong value", "count: Input should be a valid integer"),
        (GOOD.replace("3", "12"), "wrong value", "less than or equal to 9"),
        (GOOD.replace("fact", "facts"), "wrong value", "'plan' or 'fact'"),
        ('{"text": "a cat", "count": 3}', "wrong value", "kind: Field required"),
        ("{}", "wrong value", "text: Field required"),
    ],
)
def test_nothing_is_guessed(text: str, fault: Fault, says: str) -> None:
    with pytest.raises(ReplyUnusable, match=says) as failure:
        parse(Reply(text), Note)
    assert failure.value.fault == fault
    assert len(str(failure.value)) < 600


def test_a_part_of_a_reply_that_was_cut_off_is_no_value() -> None:
    cut = '{"notes": [' + GOOD + ', {"text": "a d'
    with pytest.raises(ReplyUnusable) as failure:
        parse(Reply(cut, cut=True), Note)
    assert failure.value.fault == "cut off"
    assert parse(Reply(GOOD, cut=True), Note) == NOTE


# --- Asking ---


def test_a_good_reply_costs_one_call_that_is_held_to_the_grammar() -> None:
    model = Unruly([[GOOD]])
    reply = ask(model, PROMPT, Note, max_tokens=50, fixed=1)
    assert (reply.value, reply.repaired, len(reply.cost)) == (NOTE, False, 1)
    assert model.asked == [(grammar_of(Note), 1)]


def test_a_bad_reply_is_shown_to_the_model_with_what_is_wrong_and_asked_for_once_more() -> None:
    model = ScriptedModel([GOOD.replace("fact", "guess"), GOOD])
    reply = ask(model, PROMPT, Note, max_tokens=50)
    assert (reply.value, reply.repaired, len(reply.cost)) == (NOTE, True, 2)
    first, second = model.history
    assert second[: len(first)] == first
    shown, again = second[len(first) :]
    assert shown == ChatMessage("assistant", GOOD.replace("fact", "guess"))
    assert again.role == "user"
    assert "kind: Input should be 'plan' or 'fact'" in again.text


def test_two_bad_replies_are_an_error_that_knows_its_cost() -> None:
    model = ScriptedModel(["no idea", "still no idea"])
    with pytest.raises(ReplyUnusable) as failure:
        ask(model, PROMPT, Note, max_tokens=50)
    assert [finished.tokens_written for finished in failure.value.cost] == [2, 3]


@pytest.mark.parametrize("reply", [" " * 100_000, "words " * 20_000, '{"text": "' + "a" * 100_000])
def test_the_repair_turn_shows_no_more_than_a_glance_of_the_reply(reply: str) -> None:
    model = ScriptedModel([reply, GOOD], context=10**9)
    assert ask(model, PROMPT, Note, max_tokens=10**8).repaired
    assert sum(len(message.text) for message in model.history[1][2:]) < 1000
    assert model.history[1][2].text


def test_a_repair_turn_without_room_is_left_out() -> None:
    model = ScriptedModel(["it said nothing that I know of", GOOD], context=20)
    with pytest.raises(ReplyUnusable) as failure:
        ask(model, PROMPT, Note, max_tokens=12)
    assert failure.value.fault == "no JSON"
    assert len(failure.value.cost) == len(model.history) == 1


def test_a_prompt_without_room_is_refused() -> None:
    with pytest.raises(PromptTooLong):
        ask(ScriptedModel(context=10), PROMPT, Note, max_tokens=12)


def test_a_failure_in_the_repair_turn_keeps_the_cost_of_the_first() -> None:
    for error in (ModelCrashed("killed"), ModelTimeout("too slow")):
        with pytest.raises(type(error)) as failure:
            ask(ScriptedModel(["no idea", error]), PROMPT, Note, max_tokens=50)
        assert len(failure.value.cost) == 1


def test_a_fault_of_the_caller_is_not_a_fault_of_the_reply() -> None:
    with pytest.raises(BadInput):
        ask(ScriptedModel([BadInput("the chat template refuses this")]), PROMPT, Note, max_tokens=50)


def test_a_model_that_talks_on_after_its_object_is_stopped() -> None:
    model = Unruly([[*GOOD, *(" and" for _ in range(100_000))]])
    reply = ask(model, PROMPT, Note, max_tokens=100_000)
    assert (reply.value, len(reply.cost)) == (NOTE, 1)
    assert reply.cost[0].tokens_written <= len(GOOD) + 1


def test_a_model_that_ends_after_its_object_is_not_cancelled() -> None:
    reply = ask(Unruly([GOOD]), PROMPT, Note, max_tokens=100)
    assert reply.cost[0].reason is StopReason.END


@pytest.mark.parametrize("pieces_before", [0, 3])
def test_a_cancel_ends_the_call_and_nothing_stands_in(pieces_before: int) -> None:
    cancel = threading.Event()

    def reply() -> Iterator[str]:
        for place in range(10):
            if place == pieces_before:
                cancel.set()
            yield "word "

    with pytest.raises(Cancelled) as failure:
        ask(Unruly([reply()]), PROMPT, Note, max_tokens=50, cancel=cancel)
    assert [finished.tokens_written for finished in failure.value.cost] == [pieces_before]


def test_a_cancel_between_the_turns_ends_the_call() -> None:
    cancel = threading.Event()

    def reply() -> Iterator[str]:
        yield "no idea"
        cancel.set()

    with pytest.raises(Cancelled) as failure:
        ask(Unruly([reply(), [GOOD]]), PROMPT, Note, max_tokens=50, cancel=cancel)
    assert len(failure.value.cost) == 1 + 1


def test_both_turns_share_one_deadline() -> None:
    slow = Unruly([drip("word", 20), drip("word")])
    started = time.monotonic()
    with pytest.raises(ModelTimeout):
        ask(slow, PROMPT, Note, max_tokens=10**6, deadline=0.2)
    assert 0.2 <= time.monotonic() - started < 1.2
    first, second = slow.deadlines
    assert first is not None
    assert second is not None
    assert second <= first - 20 * DRIP


# --- A thousand calls to a model that does all that models do ---

VALUES: dict[str, dict[str, Any]] = {
    "summarise": {"summaries": ["Nora plans a kitchen.", "The drain stays where it is."]},
    "facts": {"facts": [{"message": 1 + n % 3, "fact": f"Nora has {n} plans."} for n in range(5)]},
    "decompose": {"queries": ["the day of the move", "the day of the party"]},
    "choose": {"tool": "read_facts"},
    "select": {"numbers": ["2", "8"]},
    "reflect": {"sufficient": False, "found": [], "gaps": ["the day"], "queries": ["day of the move"]},
    "judge": {"verdict": "WRONG"},
}
LIMIT = 200
"""Tokens (pieces) of a reply."""
BRIEF = 0.03
"""Seconds for a call that will never end."""
DRIP = 0.003
"""Seconds for a piece of a slow model."""

Pieces = Iterator[str]
Manner = Callable[[Case, Random], Pieces]


def drip(word: str, times: int = 10**9) -> Pieces:
    """A slow model."""
    for _ in range(times):
        threading.Event().wait(DRIP)
        yield word


def endless(piece: str) -> Pieces:
    while True:
        yield piece


def spelled(text: str, random: Random) -> Pieces:
    """``text`` in pieces of a few characters."""
    while text:
        size = random.randint(3, 9)
        yield text[:size]
        text = text[size:]


def value(case: Case) -> dict[str, Any]:
    return json.loads(json.dumps(VALUES[case.task.name]))  # type: ignore[no-any-return]


def with_first_leaf(case: Case, change: Callable[[Any], Any]) -> str:
    """The value with its first leaf changed."""
    whole = value(case)
    holder: Any = whole
    key: Any = next(iter(whole))
    while isinstance(holder[key], dict | list) and holder[key]:
        holder = holder[key]
        key = next(iter(holder)) if isinstance(holder, dict) else 0
    holder[key] = change(holder[key])
    return json.dumps(whole)


def good(case: Case, random: Random) -> Pieces:
    return spelled(json.dumps(value(case)), random)


def fenced(case: Case, random: Random) -> Pieces:
    return spelled(f"Sure!\n```json\n{json.dumps(value(case), indent=2)}\n```", random)


def thought(case: Case, random: Random) -> Pieces:
    return spelled('<think>{"or": "not"}, hm</think>\n' + json.dumps(value(case)), random)


def good_and_spaces(case: Case, random: Random) -> Pieces:
    yield from good(case, random)
    yield from endless(" ")


def prose(case: Case, random: Random) -> Pieces:
    return spelled("I am a helpful assistant. {As} such I cannot say.", random)


def echo(case: Case, random: Random) -> Pieces:
    return iter(["Reply as asked:\n", *case.material.values()])


def echoed_schema(case: Case, random: Random) -> Pieces:
    return iter([json.dumps(case.schema.model_json_schema())])


def half(case: Case, random: Random) -> Pieces:
    text = json.dumps(value(case))
    return spelled(text[: random.randint(2, len(text) - 1)], random)


def cut(case: Case, random: Random) -> Pieces:
    yield '{"first": "'
    yield from endless("word ")


def thinking(case: Case, random: Random) -> Pieces:
    yield f"<think> {json.dumps(value(case))} "
    yield from endless("wait ")


def bad_escape(case: Case, random: Random) -> Pieces:
    return iter([with_first_leaf(case, lambda leaf: f"{leaf}@").replace("@", "\\x20")])


def spaces(case: Case, random: Random) -> Pieces:
    return endless("   ")


def blank(case: Case, random: Random) -> Pieces:
    return iter([with_first_leaf(case, lambda leaf: "  \n ")])


def wrong_type(case: Case, random: Random) -> Pieces:
    return iter([with_first_leaf(case, lambda leaf: random.choice([None, 3.5, {}, [[]]]))])


def too_long(case: Case, random: Random) -> Pieces:
    return iter(
        [json.dumps({key: [*found] * 40 for key, found in value(case).items() if isinstance(found, list)})]
    )


def listed(case: Case, random: Random) -> Pieces:
    return iter([f"[{json.dumps(value(case))}]"])


def empty(case: Case, random: Random) -> Pieces:
    return iter([])


def crash(case: Case, random: Random) -> Pieces:
    yield from list(half(case, random))[:2]
    raise ModelCrashed("killed by SIGSEGV")


def stall(case: Case, random: Random) -> Pieces:
    return drip("  ")


MANNERS: dict[Manner, str] = {
    good: "valid",
    fenced: "valid",
    thought: "valid",
    good_and_spaces: "valid",
    prose: "no JSON",
    echo: "no JSON",
    echoed_schema: "wrong value",
    half: "broken JSON",
    cut: "cut off",
    thinking: "empty",
    bad_escape: "broken JSON",
    spaces: "empty",
    blank: "wrong value",
    wrong_type: "wrong value",
    too_long: "wrong value",
    listed: "wrong value",
    empty: "empty",
    crash: "crash",
    stall: "timeout",
}


class Unruly(ScriptedModel):
    """Writes pieces as they come, also without end; ends when it should."""

    def __init__(self, replies: Sequence[Sequence[str] | Pieces]) -> None:
        super().__init__(context=10**10)
        self._pieces = [iter(reply) for reply in replies]
        self.asked: list[tuple[str | None, int]] = []
        self.deadlines: list[float | None] = []

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        fixed: int = 0,
        grammar: str | None = None,
        think: int = 0,
        cancel: threading.Event | None = None,
        deadline: float | None = None,
    ) -> Iterator[TextDelta | Finished]:
        self.asked.append((grammar, fixed))
        self.deadlines.append(deadline)
        started = time.monotonic()
        reason = StopReason.END
        written = 0
        for piece in self._pieces[len(self.asked) - 1]:
            if deadline is not None and time.monotonic() - started > deadline:
                raise ModelTimeout(f"not within {deadline} seconds")
            if cancel is not None and cancel.is_set():
                reason = StopReason.CANCELLED
                break
            if written == max_tokens:
                reason = StopReason.LENGTH
                break
            written += 1
            yield TextDelta(piece)
        yield Finished(reason, self.count(messages), 0, written, 0.0, time.monotonic() - started)


def expected(first: str, second: str) -> str:
    """How a call ends whose two turns would end like this."""
    if first in ("valid", "crash", "timeout"):
        return first
    return "repaired" if second == "valid" else second


def test_a_thousand_calls_to_an_unruly_model_end_in_a_value_or_an_error_that_a_rule_can_take() -> None:
    random = Random(4)
    ended: Counter[str] = Counter()
    foreseen: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    late = 0.0
    for case in cases(1000):
        manners = random.choices(list(MANNERS), k=2)
        first, second = (MANNERS[manner] for manner in manners)
        wanted = expected(first, second)
        deadline = BRIEF if wanted == "timeout" else 60.0
        model = Unruly([manner(case, random) for manner in manners])
        # A task's own limit is for tokens of a real model.
        outcome = run(case, model, max_tokens=LIMIT, deadline=deadline)
        assert outcome.kind == wanted, (case.task.name, [manner.__name__ for manner in manners])
        assert len(outcome.cost) <= len(model.asked) == (1 if first in ("valid", "crash", "timeout") else 2)
        ended[outcome.kind] += 1
        foreseen[wanted] += 1
        seen[case.task.name] += 1
        late = max(late, outcome.seconds - deadline)
    assert ended == foreseen
    assert ended.total() == seen.total() == 1000
    assert set(ended) == {*MANNERS.values(), "repaired"}
    assert set(seen) == set(VALUES)
    assert late < 1


def test_the_bench_counts_each_call_once_in_its_row() -> None:
    random = Random(5)
    replies = [
        good(case, random) if n % 2 else iter("")
        for n, case in enumerate(cases(14))
        for _ in range(2 - n % 2)
    ]
    heard: list[str] = []
    result = bench_structured(Unruly(replies), 14, heard.append)
    *rows, total = result["rows"]
    assert [row["task"] for row in rows] == list(VALUES)
    assert [(row["calls"], row["valid"], row["unusable"]) for row in rows] == [(2, 1, {"empty": 1})] * 7
    assert (total["calls"], total["valid"], total["repaired"], total["unusable"]) == (14, 7, 0, {"empty": 7})
    assert len(heard) == 14


def test_a_cancel_is_no_failure_of_the_model() -> None:
    assert issubclass(Cancelled, LocalmemError)
    assert not issubclass(Cancelled, ModelError)


# --- The real thing ---


class Chapter(BaseModel):
    lines: Annotated[list[Annotated[str, Line(200)]], Field(min_length=9, max_length=9)]


STORY = [ChatMessage("user", "Write a long story about a cat and a river, as JSON with nine lines.")]


@pytest.fixture(scope="module")
def model(models_home: Path) -> Iterator[ChatModel]:
    library = Library(models_home)
    yield library.chat_model(ModelRole.ANSWERER)
    library.close()


@pytest.mark.real_model
def test_a_small_model_gives_a_value_that_it_was_held_to(model: ChatModel) -> None:
    reply = ask(model, PROMPT, Note, max_tokens=60, fixed=1)
    assert (reply.repaired, reply.cost[0].reason) == (False, StopReason.END)
    assert reply.value.kind in ("plan", "fact")


@pytest.mark.real_model
def test_a_small_model_is_held_to_the_deadline(model: ChatModel) -> None:
    ask(model, PROMPT, Note, max_tokens=60)
    started = time.monotonic()
    with pytest.raises(ModelTimeout):
        ask(model, STORY, Chapter, max_tokens=2000, deadline=0.5)
    assert time.monotonic() - started < 1.5


@pytest.mark.real_model
def test_a_small_model_is_stopped_within_a_second(model: ChatModel) -> None:
    ask(model, PROMPT, Note, max_tokens=60)
    cancel = threading.Event()
    set_at: list[float] = []

    def press() -> None:
        set_at.append(time.monotonic())
        cancel.set()

    threading.Timer(0.5, press).start()
    with pytest.raises(Cancelled):
        ask(model, STORY, Chapter, max_tokens=2000, cancel=cancel)
    assert time.monotonic() - set_at[0] < 1
