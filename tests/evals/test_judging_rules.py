from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localmem.evals.judging.refusal import Stance, stance
from localmem.evals.judging.rules import by_rule
from localmem.models.catalog import ModelRole
from localmem.probing.items import items
from localmem.roles.judge import Criterion

HOW_MANY = "How many tulips did Ana plant?"
WHEN = "When did Nadia quit?"
TEA = "Which tea does Ana like?"
WEEKS = "How many weeks did the repair take?"
SISTER = "What is the name of Lea's sister?"

RIGHT = [
    (HOW_MANY, "40", "40"),
    (HOW_MANY, "40", "Forty tulips were planted."),
    (HOW_MANY, "forty", "She planted 40 tulips"),
    (HOW_MANY, "40 tulips", "40"),
    ("How much was the bag?", "$1,300", "The bag was $1300."),
    (WEEKS, "two weeks", "It took 14 days."),
    (WEEKS, "2", "2 weeks"),
    ("How long was the wait?", "9 months", "The wait was nine months"),
    ("How often does Tom swim?", "Three times a week.", "Tom swims three times per week."),
    ("How many days passed?", "7 days. 8 days (including the last day) is also acceptable.", "8 days"),
    (WHEN, "10 July 2022", "Nadia quit on July 10, 2022."),
    (WHEN, "10 July 2022", "2022-07-10"),
    (WHEN, "June, 2023", "in June 2023"),
    (WHEN, "14 February", "on February 14th, 2021"),
    (WHEN, "2019", "In 2019."),
    (TEA, "jasmine", "She likes jasmine tea."),
    (TEA, "jasmine", "Jasmine."),
    ("Where does Idris live?", "Toronto", "Idris lives in Toronto."),
    ("Who was at the party?", "Max and Zoe", "Zoe, Max"),
    ("Does Lea eat meat?", "No", "No, she does not eat meat."),
    ("Did Max win?", "Yes", "Yes."),
    ("When does she get up?", "7 pm", "at 7:00 pm"),
    ("What did the score end at?", "5-2", "5-2"),
]
WRONG = [
    (HOW_MANY, "40", "They planted 14 tulips."),
    (HOW_MANY, "40", "fourteen"),
    ("How much was the bag?", "$1,300", "$130"),
    (WEEKS, "two weeks", "4 days"),
    (WEEKS, "2", "5"),
    (WHEN, "10 July 2022", "On 10 June 2022."),
    (WHEN, "June 2023", "in May 2023"),
    (WHEN, "2019", "2018"),
    (SISTER, "Miriam", "Lea's sister is Klara."),
    ("Does Lea eat meat?", "No, she is vegetarian", "Yes, Lea eats meat."),
    ("Did Max win?", "Yes", "No, he did not."),
    (TEA, "jasmine", "no information"),
    (TEA, "jasmine", "I found nothing about that in memory."),
    (HOW_MANY, "40", "The conversation does not say."),
    (TEA, "jasmine", ""),
    (TEA, "jasmine", " .\n"),
    ("How many days passed?", "7 days. 8 days (including the last day) is also acceptable.", "30 days"),
]
OPEN = [
    (HOW_MANY, "40", "40 or 50 tulips"),
    (HOW_MANY, "40", "more than 40"),
    (HOW_MANY, "40", "not 40 tulips"),
    (HOW_MANY, "40", "a few dozen"),
    (HOW_MANY, "12", "a dozen"),
    (HOW_MANY, "40", "Ana planted tulips 40 days after her cousin's wedding."),
    (HOW_MANY, "40", "Rosa, Ben and Ana planted some"),
    ("How many days ago did Ana sow?", "12 days", "Ana did sow 12 tomato seeds"),
    (HOW_MANY, "3", "red ones, yellow ones, white ones"),
    (HOW_MANY, "40", "In 2021"),
    ("How many times did Tom meet Ben?", "4", "On 4 May 2023"),
    (WEEKS, "2", "about 2 months"),
    (WEEKS, "8 weeks", "2 months"),
    ("How long was the wait?", "9 months", "9"),
    (WHEN, "10 July 2022", "in July 2022"),
    (WHEN, "July 2022", "on 10 July 2022"),
    (WHEN, "10 July 2022", "10 July"),
    (WHEN, "10 July 2022", "two weeks after 10 July 2022"),
    (WHEN, "the week before 10 July 2022", "10 July 2022"),
    (WHEN, "10 July 2022", "yesterday"),
    (WHEN, "10 July 2022", "on 10 July 2022 or 11 July 2022"),
    (WHEN, "10 July 2022", "Ben was born on 3 May 1980 in a small town far away"),
    (TEA, "jasmine", "She likes tea."),
    (TEA, "jasmine", "not jasmine"),
    (TEA, "jasmine", "Jasmine was too strong; she prefers mint."),
    (TEA, "jasmine", "She likes jasmine, then mint, then sage, then lime."),
    ("What did Ana buy?", "tea", "a tea towel"),
    ("What did Ana buy?", "tea", "green tea"),
    ("Where does Tom live?", "York", "New York"),
    ("Where does Idris live?", "Toronto", "Canada"),
    ("Where does Idris live?", "Toronto", "Idris lives in Montreal."),
    ("Which came first, the red bus or the blue bus?", "the red bus", "The blue bus came after the red bus."),
    (SISTER, "Miriam", "Miri"),
    (SISTER, "Miriam", "Mirjam"),
    (SISTER, "Miriam", "Klara told that Lea has a sister in Bern."),
    ("Who paid?", "United Nations", "UN"),
    ("Who called?", "Lea's mother", "Mum"),
    ("Does Lea eat meat?", "No, she is vegetarian", "No."),
    ("Did Max win?", "Yes", "Yes, but he was disqualified."),
    ("Did Max win?", "Yes", "He came in first."),
    ("Why did Tom move?", "for a new job", "He moved because he had found new work."),
    ("What did you tell me?", "You did not mention a violin.", "I do not know."),
    ("What did the score end at?", "5-2", "2-5"),
    ("Who was at the party?", "Max and Zoe", "Max"),
]


@pytest.mark.parametrize(("question", "reference", "answer"), RIGHT)
def test_a_rule_knows_a_right_answer(question: str, reference: str, answer: str) -> None:
    ruling = by_rule(question, reference, False, answer, Criterion.COMPLETE)
    assert ruling is not None
    assert ruling[0] is True


@pytest.mark.parametrize(("question", "reference", "answer"), WRONG)
def test_a_rule_knows_a_wrong_answer(question: str, reference: str, answer: str) -> None:
    ruling = by_rule(question, reference, False, answer, Criterion.COMPLETE)
    assert ruling is not None
    assert ruling[0] is False


@pytest.mark.parametrize(("question", "reference", "answer"), OPEN)
def test_a_rule_leaves_open_what_it_cannot_be_sure_of(question: str, reference: str, answer: str) -> None:
    assert by_rule(question, reference, False, answer, Criterion.COMPLETE) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("no information", Stance.REFUSES),
        ("I don't have any information about that.", Stance.REFUSES),
        ("Sorry, I do not know.", Stance.REFUSES),
        ("Not mentioned in the conversation", Stance.REFUSES),
        ("The notes do not say who.", Stance.REFUSES),
        ("You only mentioned the guitar. You never told me of a violin.", Stance.REFUSES),
        ("It cannot be determined from the notes.", Stance.REFUSES),
        ("unknown", Stance.REFUSES),
        ("I do not know, but probably Paris.", Stance.UNCLEAR),
        ("I do not know. It was Paris.", Stance.UNCLEAR),
        ("You mentioned the guitar, not the violin.", Stance.UNCLEAR),
        ("I have no siblings", Stance.UNCLEAR),
        ("I don't have a cat.", Stance.UNCLEAR),
        ("She was not mentioned in the will.", Stance.UNCLEAR),
        ("It was not available in blue.", Stance.UNCLEAR),
        ("An unknown poet", Stance.UNCLEAR),
        ("Ana does not know where the cat is.", Stance.UNCLEAR),
        ("", Stance.UNCLEAR),
        ("She knows the poet", Stance.ANSWERS),
        ("14 tulips", Stance.ANSWERS),
    ],
)
def test_a_refusal_is_told_from_an_answer_that_denies_something(answer: str, expected: Stance) -> None:
    assert stance(answer) is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("I do not know.", True),
        ("Klara", False),
        ("You mentioned a brother, not a sister.", None),
        ("", False),
    ],
)
def test_where_memory_does_not_say_a_refusal_is_right(answer: str, expected: bool | None) -> None:
    ruling = by_rule(SISTER, "Miriam", True, answer, Criterion.ABSTENTION)
    assert (ruling and ruling[0]) is expected


@pytest.mark.parametrize(
    ("answer", "complete", "temporal"),
    [("19 days", False, True), ("17", False, True), ("18 days", True, True), ("20 days", False, False)],
)
def test_only_the_temporal_criterion_lets_a_number_of_days_be_off_by_one(
    answer: str, complete: bool, temporal: bool
) -> None:
    posed = ("How many days passed?", "18 days", False, answer)
    rulings = [by_rule(*posed, criterion) for criterion in (Criterion.COMPLETE, Criterion.TEMPORAL)]
    assert [ruling and ruling[0] for ruling in rulings] == [complete, temporal]


def test_a_tolerance_that_a_reference_tells_is_not_widened() -> None:
    reference = "7 days. 8 days (including the last day) is also acceptable."
    ruling = by_rule("How many days passed?", reference, False, "9 days", Criterion.TEMPORAL)
    assert ruling is not None
    assert not ruling[0]


def test_a_reason_beside_yes_is_asked_for_unless_the_judge_is_generous() -> None:
    posed = ("Does Lea eat meat?", "No, she is vegetarian", False, "No.")
    assert by_rule(*posed, Criterion.COMPLETE) is None
    generous = by_rule(*posed, Criterion.GENEROUS)
    assert generous is not None
    assert generous[0]


def test_of_a_rubric_a_rule_knows_only_that_nothing_was_suggested() -> None:
    rubric = "The user would prefer books on gardening."
    assert by_rule("Any books?", rubric, False, rubric, Criterion.PREFERENCE) is None
    ruling = by_rule("Any books?", rubric, False, "I do not know.", Criterion.PREFERENCE)
    assert ruling is not None
    assert not ruling[0]


def test_a_rule_never_contradicts_the_items_of_the_probe() -> None:
    decided = 0
    for item in items(ModelRole.JUDGE):
        posed = (item["question"], item["reference"], False, item["answer"])
        ruling = by_rule(*posed, Criterion.COMPLETE)
        decided += ruling is not None
        assert ruling is None or ruling[0] is item["expect"], item
    assert decided >= 9


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_of_bare_numbers_the_same_is_right_and_any_other_wrong(wanted: int, given: int) -> None:
    ruling = by_rule("How many stamps are there?", str(wanted), False, str(given), Criterion.COMPLETE)
    assert ruling is not None
    assert ruling[0] is (wanted == given)


@given(st.dates(), st.dates())
def test_of_written_days_the_same_is_right_and_any_other_wrong(wanted: date, given: date) -> None:
    texts = f"{wanted.day} {wanted:%B} {wanted.year:04}", f"on {given:%B} {given.day}, {given.year:04}"
    ruling = by_rule(WHEN, texts[0], False, texts[1], Criterion.COMPLETE)
    assert ruling is None or ruling[0] is (wanted == given)


@given(st.text(max_size=60), st.text(max_size=60), st.booleans())
def test_any_text_can_be_looked_at(reference: str, answer: str, abstain: bool) -> None:
    ruling = by_rule("Who was there?", reference, abstain, answer, Criterion.COMPLETE)
    assert ruling is None or isinstance(ruling[0], bool)
