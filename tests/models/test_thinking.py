from __future__ import annotations

from collections.abc import Sequence

import pytest

from localmem.models.protocols import TextDelta, ThoughtDelta
from localmem.models.thinking import TAGS, Delta, Reply, TagPair, spoken_tags


def text_of(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def thought_of(deltas: Sequence[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, ThoughtDelta))


def deltas_of(text: str, *, size: int = 1, whole: bool = True, begun: TagPair | None = None) -> list[Delta]:
    """What is delivered of ``text`` when it comes in pieces of ``size`` bytes."""
    reply = Reply(TAGS, begun)
    raw = text.encode()
    deltas = [d for start in range(0, len(raw), size) for d in reply.feed(raw[start : start + size])]
    return deltas + reply.end(whole=whole)


def delivered(text: str, *, size: int = 1, whole: bool = True) -> str:
    return text_of(deltas_of(text, size=size, whole=whole))


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_thinking_is_told_apart_however_it_is_cut_into_tokens(size: int, opening: str, closing: str) -> None:
    thought = "\nThe user wants < 3 </ 🦊.\n"
    deltas = deltas_of(f"\n{opening}{thought}{closing}\n\nThree: 🦊.\n", size=size)
    assert text_of(deltas) == "Three: 🦊.\n"
    assert thought_of(deltas) == thought


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_thinking_that_the_prompt_began_needs_no_opening(size: int) -> None:
    deltas = deltas_of("\nSo many.\n</think>\n\nThree.", size=size, begun=TAGS[0])
    assert (thought_of(deltas), text_of(deltas)) == ("\nSo many.\n", "Three.")


def test_thoughts_come_as_they_are_thought() -> None:
    reply = Reply(TAGS)
    assert reply.feed(b"<think>The first of so many words") == [ThoughtDelta("The first of so man")]


@pytest.mark.parametrize(
    "text", ["<thin ice", "<", "  <b>bold", "Write <think>so</think>.", "", " ", "[TODO]"]
)
@pytest.mark.parametrize("size", [1, 2, 50])
def test_an_answer_that_is_no_thinking_is_delivered_unchanged(text: str, size: int) -> None:
    assert delivered(text, size=size) == text


def test_an_answer_comes_as_it_is_written() -> None:
    reply = Reply(TAGS)
    told = [text_of(reply.feed(piece)) for piece in (b"<", b"b", b">", b" ")]
    assert told == ["", "<b", ">", " "]


@pytest.mark.parametrize("whole", [True, False])
def test_thinking_without_an_end_is_told_whole_and_answers_nothing(whole: bool) -> None:
    deltas = deltas_of("<think>on and on </thi", whole=whole)
    assert (thought_of(deltas), text_of(deltas)) == ("on and on </thi", "")


def test_thinking_that_is_stopped_is_followed_by_the_answer() -> None:
    reply = Reply(TAGS)
    assert reply.closing_tag is None
    reply.feed(b"<thi")
    assert reply.closing_tag is None
    deltas = reply.feed(b"nk>so many words </thi")
    assert reply.closing_tag == "</think>"
    assert thought_of(deltas + reply.stop_thinking()) == "so many words </thi"
    assert reply.closing_tag is None
    assert text_of(reply.feed(b"\nThree.") + reply.end(whole=True)) == "Three."


def test_without_tags_everything_is_delivered() -> None:
    reply = Reply([])
    assert text_of(reply.feed(b"<think>x</think>") + reply.end(whole=True)) == "<think>x</think>"


def test_a_character_that_was_cut_off_is_not_delivered() -> None:
    half = "🦊".encode()[:2]
    reply = Reply([])
    assert text_of(reply.feed(b"a" + half) + reply.end(whole=False)) == "a"


def test_bytes_that_are_no_character_become_a_replacement_character() -> None:
    half = "🦊".encode()[:2]
    for reply in (Reply([]), Reply(TAGS)):
        assert text_of(reply.feed(half) + reply.feed(b"b")) == "�b"
        assert text_of(reply.feed(half) + reply.end(whole=True)) == "�"


def test_a_template_tells_by_which_tags_its_model_thinks() -> None:
    assert spoken_tags("{{ content }}") == [("<think>", "</think>")]
    assert ("[THINK]", "[/THINK]") in spoken_tags("... '[THINK]' + thoughts + '[/THINK]'")
