from __future__ import annotations

import random
import re
import string
from typing import Any

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from localmem.evals.normal import normalised, partial_f1, stem_f1, token_f1
from localmem.evals.scores import ANSWER_SCORES, AT_K, SCORES, by_category, iterations, summed


def line(**changes: Any) -> dict[str, Any]:
    """A question of category 4 whose evidence was half found and whose answer is right."""
    return {
        "id": "q1",
        "source": "conv-x",
        "question": "What is the cat called?",
        "category": "4 single-hop",
        "reference": "Miso",
        "abstain": False,
        "gold": ["D1:1", "D2:3"],
        "gold_sessions": ["session_1", "session_2"],
        "kept": ["D1:2", "D1:1", "D3:1"],
        "opened": ["session_1", "session_3"],
        "calls": 4,
        "completion_calls": 3,
        "messages": 60,
        "sessions": 8,
        "depth": {"summary": 0, "facts": 1, "notes": 0, "raw": 1},
        "steps": 5,
        "online": {"tokens_read": 90, "tokens_reused": 7, "tokens_written": 3, "calls": 2, "seconds": 1.5},
        "answer": {"text": "The cat is called Miso.", "abstained": False},
        "verdict": {"verdict": "CORRECT", "by": "rule", "reason": ""},
        **changes,
    }


def answered(text: str | None, *, abstained: bool = False, **changes: Any) -> dict[str, Any]:
    return line(answer={"text": text, "abstained": abstained}, **changes)


def judged(verdict: str | None, **changes: Any) -> dict[str, Any]:
    return line(verdict={"verdict": verdict, "by": "model", "reason": ""}, **changes)


UNANSWERABLE = {"category": "5 adversarial", "abstain": True}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("gold_hit", line(), 1),
        ("gold_hit", line(kept=[]), 0),
        ("gold_hit", line(gold=[]), None),
        ("evidence_recall", line(), 1 / 2),
        ("complete_evidence_recall", line(), 0),
        ("complete_evidence_recall", line(kept=["D1:1", "D2:3"]), 1),
        ("evidence_recall", line(abstain=True), None),
        ("turn_hit", line(gold=[]), 0),
        ("turn_hit", line(category="multi-session", abstain=True), 1),
        ("turn_hit", line(**UNANSWERABLE), None),
        ("turn_hit_annotated", line(gold=[]), None),
        ("turn_hit_annotated", line(), 1),
        ("stem_f1", line(), 2 * (1 / 4) * 1 / (1 / 4 + 1)),  # cat, is, called, miso
        ("stem_f1", line(answer=None), None),
        ("stem_f1", answered(None), None),
        ("stem_f1", answered(""), 0),
        ("stem_f1", answered("no information", **UNANSWERABLE), 1),
        ("stem_f1", answered("Miso", **UNANSWERABLE), 0),
        ("stem_f1", answered("3", reference=3), 1),
        ("accuracy", line(), 1),
        ("accuracy", judged("WRONG"), 0),
        ("accuracy", judged(None), None),
        ("accuracy", line(verdict=None), None),
        ("right_refusal", line(), None),
        ("right_refusal", answered("I do not know.", **UNANSWERABLE), 1),
        ("right_refusal", answered("Miso", **UNANSWERABLE), 0),
        ("right_refusal", line(answer=None, **UNANSWERABLE), None),
        ("false_refusal", line(), 0),
        ("false_refusal", answered("nothing of the kind", abstained=True), 1),
        ("false_refusal", answered("no information", **UNANSWERABLE), None),
        ("sessions_drilled", line(), 2 / 8),
        ("sessions_drilled", line(sessions=0), None),
        ("depth", line(), (1 + 3) / 2),
        ("depth", line(depth={"facts": 3, "raw": 1}), (3 * 1 + 3) / 4),
        ("depth", line(depth={}), None),
        ("retrieval_error", line(), 0),
        ("retrieval_error", judged("WRONG"), 0),
        ("retrieval_error", judged("WRONG", opened=["session_3"]), 1),
        ("retrieval_error", judged(None, opened=[]), None),
        ("retrieval_error", judged("WRONG", gold_sessions=[]), None),
        ("generation_error", judged("WRONG"), 1),
        ("generation_error", judged("WRONG", opened=["session_3"]), 0),
        ("generation_error", judged("CORRECT"), 0),
        ("suff_at_set", line(), None),
        ("suff_at_set", line(suff={"verdict": "sufficient", "by": []}), 1),
        ("suff_at_set", line(suff={"verdict": "insufficient", "by": []}), 0),
        ("suff_at_set", line(suff={"verdict": "uncertain", "by": []}), None),
        ("suff_at_set", line(suff={"verdict": None, "by": []}), None),
        ("steps", line(), 5),
        ("steps", line(steps=None), None),
        ("records", line(), 3),
        ("calls", line(), 4),
        ("completion_calls", line(), 3),
        ("model_calls", line(), 2),
        ("tokens_read", line(), 90),
        ("tokens_reused", line(), 7),
        ("tokens_written", line(), 3),
        ("seconds", line(), 1.5),
    ],
)
def test_scores_agree_with_fractions_worked_by_hand(
    name: str, given: dict[str, Any], expected: float | None
) -> None:
    assert SCORES[name](given) == pytest.approx(expected)


def test_every_score_is_worked_by_hand_here() -> None:
    (mark,) = test_scores_agree_with_fractions_worked_by_hand.pytestmark
    assert {name for name, *_ in mark.args[1]} == set(SCORES)
    assert set(ANSWER_SCORES) | set(AT_K) <= set(SCORES)


def test_evidence_is_scored_over_the_first_records_kept() -> None:
    kept = line(kept=["D9:9", "D1:1", "D2:3"])
    assert [AT_K["evidence_recall"](kept, k) for k in (1, 2, 3, None)] == [0, 1 / 2, 1, 1]
    assert AT_K["turn_hit"](kept, 1) == 0


@pytest.mark.parametrize("opened", [[], ["session_1"]])
@pytest.mark.parametrize("verdict", ["CORRECT", "WRONG"])
def test_accuracy_and_both_errors_add_up_to_one(verdict: str, opened: list[str]) -> None:
    given = judged(verdict, opened=opened)
    assert sum(SCORES[n](given) or 0 for n in ("accuracy", "retrieval_error", "generation_error")) == 1


def test_a_mean_leaves_out_what_was_not_scored_and_counts_it() -> None:
    found = summed([judged("CORRECT"), judged("WRONG"), judged(None), line(verdict=None)], SCORES["accuracy"])
    assert (found.mean, found.n, found.unscored) == (1 / 2, 2, 2)
    nothing = summed([judged(None)], SCORES["accuracy"])
    assert (nothing.mean, nothing.n, nothing.unscored) == (None, 0, 1)


def test_categories_come_by_number_then_by_name_with_their_count() -> None:
    given = ["multi-session", "4 single-hop", "1 multi-hop", "4 single-hop", "knowledge-update"]
    found = by_category(line(category=name) for name in given)
    assert [(one.number, one.name, len(one.lines)) for one in found] == [
        (1, "multi-hop", 1), (4, "single-hop", 2), (None, "knowledge-update", 1), (None, "multi-session", 1),
    ]  # fmt: skip


def test_iterations_are_told_by_nearest_rank() -> None:
    found = iterations([line(steps=n) for n in range(1, 101)] + [line(steps=None)])
    assert found is not None
    assert (found.median, found.p95, found.p99, found.max, found.n) == (50, 95, 99, 100, 100)
    one = iterations([line(steps=7)])
    assert one is not None
    assert (one.median, one.p95, one.p99, one.max) == (7, 7, 7, 7)
    assert iterations([line(steps=None)]) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat, and a dog!", "cat dog"),
        ("1,300 apples", "1300 apples"),
        ("don't", "dont"),
        ("An Ant", "ant"),
        (" \n", ""),
    ],
)
def test_normalisation_is_locomos(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("category", "answer", "reference", "expected"),
    [
        ("4 single-hop", "She walks dogs", "walking the dog", 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        ("2 temporal", "7 May 2023", "May 2023", 2 * (2 / 3) * 1 / (2 / 3 + 1)),
        ("2 temporal", "cat", "dog", 0),
        ("4 single-hop", "cat cat", "cat", 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ("1 multi-hop", "parrot, cat", "cat, dog", (1 + 0) / 2),
        ("1 multi-hop", "red cat, dog", "cat, dog", (2 / 3 + 1) / 2),
        ("1 multi-hop", "cat", "cat,", (1 + 0) / 2),
        ("3 open-domain", "national park", "National park; she likes the outdoors", 1),
        ("4 single-hop", "national park", "National park; outdoors", 2 * 1 * (2 / 3) / (1 + 2 / 3)),
        ("multi-session", "cat, dog", "dog, cat", 1),
    ],
)
def test_f1_follows_the_rule_of_the_category(
    category: str, answer: str, reference: str, expected: float
) -> None:
    assert stem_f1(category, answer, reference) == pytest.approx(expected)


def naive_f1(answer: str, reference: str) -> float:
    """Word by word, each stem of the reference crossed out once it is used."""

    def words(text: str) -> list[str]:
        kept = "".join(c for c in text.lower() if c not in string.punctuation)
        small = re.split(r"\s+", re.sub(r"\b(a|an|the|and)\b", " ", kept))
        return [Stemmer.Stemmer("porter").stemWord(word) for word in small if word]

    given, wanted = words(answer), words(reference)
    left, shared = list(wanted), 0
    for word in given:
        if word in left:
            left.remove(word)
            shared += 1
    return 2 * shared / (len(given) + len(wanted)) if shared else 0.0


def test_f1_agrees_with_a_naive_version_on_random_cases() -> None:
    draw = random.Random(11)
    words = (
        "the a and cat cats Dog, walking walked 1,300 (red) it's — naïve café 7 generally happiness".split()
    )
    for _ in range(400):
        answer, reference = (" ".join(draw.choices(words, k=draw.randrange(7))) for _ in range(2))
        assert token_f1(answer, reference) == pytest.approx(naive_f1(answer, reference)), (answer, reference)
        pieces = [max(naive_f1(a, r) for a in answer.split(",")) for r in reference.split(",")]
        assert partial_f1(answer, reference) == pytest.approx(sum(pieces) / len(pieces)), (answer, reference)


TEXT = st.text(st.sampled_from("ab cat dogs, the é.7;"), max_size=30)


@given(TEXT, TEXT)
def test_f1_is_symmetric_and_a_share(answer: str, reference: str) -> None:
    score = token_f1(answer, reference)
    assert 0 <= score <= 1
    assert score == pytest.approx(token_f1(reference, answer))
    assert (score == pytest.approx(1)) == (
        bool(normalised(answer)) and score > 0 and _same(answer, reference)
    )


def _same(answer: str, reference: str) -> bool:
    stem = Stemmer.Stemmer("porter").stemWords
    return sorted(stem(normalised(answer).split())) == sorted(stem(normalised(reference).split()))


@given(TEXT)
def test_an_answer_that_is_the_reference_has_an_f1_of_one_unless_it_is_empty(text: str) -> None:
    assert token_f1(text, text) == pytest.approx(float(bool(normalised(text))))
