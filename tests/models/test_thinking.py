from __future__ import annotations

import pytest

from localmem.models.thinking import TAGS, Reply, spoken_tags


def delivered(text: str, *, size: int = 1, whole: bool = True) -> str:
    """What of ``text`` is delivered when it comes in pieces of ``size`` bytes."""
    reply = Reply(TAGS)
    raw = text.encode()
    pieces = [reply.feed(raw[start : start + size]) for start in range(0, len(raw), size)]
    return "".join(pieces) + reply.end(whole=whole)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_thinking_is_not_delivered_however_it_is_cut_into_tokens(
    size: int, opening: str, closing: str
) -> None:
    text = f"\n{opening}\nThe user wants < 3 </ things.\n{closing}\n\nThree: 🦊.\n"
    assert delivered(text, size=size) == "Three: 🦊.\n"


@pytest.mark.parametrize(
    "text", ["<thin ice", "<", "  <b>bold", "Write <think>so</think>.", "", " ", "[TODO]"]
)
@pytest.mark.parametrize("size", [1, 2, 50])
def test_an_answer_that_is_no_thinking_is_delivered_unchanged(text: str, size: int) -> None:
    assert delivered(text, size=size) == text


def test_an_answer_comes_as_it_is_written() -> None:
    reply = Reply(TAGS)
    assert [reply.feed(piece) for piece in (b"<", b"b", b">", b" ")] == ["", "<b", ">", " "]


def test_thinking_without_an_end_delivers_nothing() -> None:
    assert delivered("<think>on and on", whole=False) == ""


def test_thinking_that_is_stopped_is_followed_by_the_answer() -> None:
    reply = Reply(TAGS)
    assert reply.closing_tag is None
    reply.feed(b"<thi")
    assert reply.closing_tag is None
    reply.feed(b"nk>so many words </thi")
    assert reply.closing_tag == "</think>"
    reply.stop_thinking()
    assert reply.closing_tag is None
    assert reply.feed(b"\nThree.") + reply.end(whole=True) == "Three."


def test_without_tags_everything_is_delivered() -> None:
    reply = Reply([])
    assert reply.feed(b"<think>x</think>") + reply.end(whole=True) == "<think>x</think>"


def test_a_character_that_was_cut_off_is_not_delivered() -> None:
    half = "🦊".encode()[:2]
    reply = Reply([])
    assert reply.feed(b"a" + half) + reply.end(whole=False) == "a"


def test_bytes_that_are_no_character_become_a_replacement_character() -> None:
    half = "🦊".encode()[:2]
    for reply in (Reply([]), Reply(TAGS)):
        assert reply.feed(half) + reply.feed(b"b") == "�b"
        assert reply.feed(half) + reply.end(whole=True) == "�"


def test_a_template_tells_by_which_tags_its_model_thinks() -> None:
    assert spoken_tags("{{ content }}") == [("<think>", "</think>")]
    assert ("[THINK]", "[/THINK]") in spoken_tags("... '[THINK]' + thoughts + '[/THINK]'")
