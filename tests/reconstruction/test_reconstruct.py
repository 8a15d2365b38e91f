from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from localmem.answering.draft import draft
from localmem.answering.question import read_question
from localmem.memory import Memory
from localmem.reconstruction.completion import Budget
from localmem.reconstruction.evidence import found
from localmem.reconstruction.notes import Note
from localmem.reconstruction.reconstruct import LEAST, Policy, Reconstruction, reconstruct
from localmem.reconstruction.records import Records
from localmem.reconstruction.requirements import Need, NeedKind
from localmem.reconstruction.residual import train
from localmem.reconstruction.selection import Selection
from localmem.retrieval.search import Filter
from localmem.types import NewSession

Said = Callable[..., NewSession]

QUESTION = "How many days did it take for me to receive the new remote shutter release after I ordered it?"
ORDER, ARRIVAL = "order:0", "drive:0"
COMPLETING = [policy for policy in Policy if policy is not Policy.FCA_MS]


def made(memory: Memory, policy: Policy, budget: Budget | None = None, **more: object) -> Reconstruction:
    return reconstruct(QUESTION, Records(memory.retrieval), policy, budget, **more)  # type: ignore[arg-type]


def ids(reconstruction: Reconstruction) -> list[str]:
    return [message.external_id for message in reconstruction.messages]


def answer(memory: Memory, reconstruction: Reconstruction) -> str:
    question = read_question(QUESTION)
    gathered = [(message, "raw") for message in reconstruction.messages]
    return draft(question, found(question, gathered, Records(memory.retrieval)).parts).text


def test_one_search_and_composition_alone_find_the_order_and_miss_the_arrival(shutter: Memory) -> None:
    one_shot = [hit.message.external_id for hit in shutter.search(QUESTION, 10)]
    composed = made(shutter, Policy.FCA_MS)
    for external_ids in (one_shot, ids(composed)):
        assert ORDER in external_ids
        assert ARRIVAL not in external_ids
    assert not answer(shutter, composed).startswith("5 days")


@pytest.mark.parametrize("policy", COMPLETING)
def test_completion_finds_the_arrival_and_the_answer_is_five_days(shutter: Memory, policy: Policy) -> None:
    completed = made(shutter, policy)
    assert {ORDER, ARRIVAL} <= set(ids(completed))
    assert answer(shutter, completed) == "5 days: from 5 February 2023 to 10 February 2023."


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("budget", [Budget(0, 0, 0), Budget(1, 1, 3), Budget(3, 4, 7), Budget(9, 9, 50)])
def test_a_budget_is_kept_and_nothing_is_taken_twice(shutter: Memory, policy: Policy, budget: Budget) -> None:
    result = made(shutter, policy, budget)
    assert len(result.rows) == len(set(result.rows)) == len(result.messages)
    assert result.calls <= budget.calls
    assert len(result.rounds) <= budget.steps
    assert len(result.rows) - result.composed <= budget.records
    added = [row for step in result.rounds for row in step.added]
    assert list(result.rows[result.composed :]) == added
    assert result.calls == sum(len(step.actions) for step in result.rounds)


@pytest.mark.parametrize("policy", list(Policy))
def test_the_same_question_is_reconstructed_the_same_way(shutter: Memory, policy: Policy) -> None:
    assert made(shutter, policy) == made(shutter, policy)


def test_the_residual_map_is_trained_with_a_seed_and_may_be_given(memory: Memory, said: Said) -> None:
    memory.add(
        said(*(f"{animal} eat {food}" for animal in ("cats", "cows", "hens") for food in ("hay", "corn")))
    )
    memory.wait_embedded()
    records = Records(memory.retrieval)
    weights = train(records, seed=3, examples=2)
    assert (weights == train(records, seed=3, examples=2)).all()
    assert any((weights != train(records, seed=seed, examples=2)).any() for seed in range(4, 9))
    assert made(memory, Policy.RSC, residual=weights).calls == 3


def test_text_completion_keeps_eight_a_round_and_multi_view_uses_three_views(shutter: Memory) -> None:
    text = made(shutter, Policy.BFR_TEXT)
    assert [len(step.added) <= 8 for step in text.rounds] == [True] * 3
    assert {action.view for step in text.rounds for action in step.actions} == {"text"}
    views = [action.view for action in made(shutter, Policy.BFR_MV).rounds[0].actions]
    assert views == ["text", "session"]  # nobody is named in the question
    assert len(made(shutter, Policy.BFR_TEXT, keep=2).rounds[0].added) == 2


def test_each_requirement_names_messages_of_the_evidence_that_met_it_or_none(shutter: Memory) -> None:
    result = made(shutter, Policy.FIXED)
    assert [requirement.text for requirement in result.requirements] == [
        "me to receive the new remote shutter release",
        "I ordered new remote shutter release",
    ]
    evidence = {message.id: message.external_id for message in result.messages}
    assert ORDER in {evidence[message_id] for r in result.requirements for message_id in r.met_by}
    nothing = reconstruct("Who is Zorblax of Quuxville?", Records(shutter.retrieval))
    assert nothing.requirements[0].met_by == ()


def test_requirements_and_selection_may_come_from_a_model(shutter: Memory) -> None:
    offered: list[Sequence[Note]] = []

    def select(question: str, notes: Sequence[Note], needs: Sequence[Need]) -> Selection:
        offered.append(notes)
        assert [need.text for need in needs] == ["the drive is full"]
        return Selection([2, 2, 99])

    result = made(
        shutter,
        Policy.FCA_MS,
        decompose=lambda question: [Need(NeedKind.FACT, "the drive is full")],
        select=select,
    )
    assert len(offered[0]) <= 20
    assert set(offered[0][2].rows) & set(result.rows)


def test_fixed_takes_its_evidence_by_exact_links_and_the_paper_s_arms_by_overlap(shutter: Memory) -> None:
    def pick(question: str, notes: Sequence[Note], needs: Sequence[Need]) -> Selection:
        chosen.append(notes[0])
        return Selection([0])

    chosen: list[Note] = []
    exact = made(shutter, Policy.FIXED, select=pick)
    assert set(exact.rows[:1]) <= set(chosen[0].rows)
    assert exact.composed == LEAST
    assert made(shutter, Policy.FCA_MS, select=pick).composed == 10


def test_what_a_filter_keeps_out_is_never_evidence(memory: Memory, said: Said) -> None:
    may, june = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
    for number in range(8):
        memory.add(said(f"tea number {number}", "with milk?", session=f"m{number}", at=may))
        memory.add(said(f"tea number {number}", "with milk?", session=f"j{number}", at=june))
    memory.wait_embedded()
    only = Filter(before=datetime(2026, 5, 15, tzinfo=UTC))
    for policy in Policy:
        result = reconstruct("What tea?", Records(memory.retrieval, only), policy)
        assert result.messages
        assert all(message.sent_at == may for message in result.messages), policy


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("question", ["", "the and of", "\x00\ud800", "What? " * 300])
def test_an_empty_memory_and_an_odd_question_give_no_error(
    memory: Memory, said: Said, policy: Policy, question: str
) -> None:
    assert reconstruct(question, Records(memory.retrieval), policy).messages == ()
    memory.add(said("a single message"))
    memory.wait_embedded()
    reconstruct(question, Records(memory.retrieval), policy)
