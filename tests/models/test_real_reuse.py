"""What the small model reads, and does not read again, in its host."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localmem.models.library import Library
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage, Finished, StopReason, TextDelta

pytestmark = pytest.mark.real_model


def user(text: str) -> ChatMessage:
    return ChatMessage("user", text)


def ask(
    model: HostedModel,
    *messages: ChatMessage,
    fixed: int = 0,
    tokens: int = 12,
    cancel: threading.Event | None = None,
) -> tuple[str, Finished]:
    *pieces, last = model.stream(messages, max_tokens=tokens, fixed=fixed, cancel=cancel)
    assert isinstance(last, Finished)
    return "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)), last


RULES_A = [
    ChatMessage("system", "You answer questions about geography in one short sentence. " + "Be exact. " * 30),
    user("What is the capital of Spain?"),
    ChatMessage("assistant", "The capital of Spain is Madrid."),
]
RULES_B = [ChatMessage("system", "You repeat the last word that the user said, and nothing else. " * 6)]
FRANCE, NORWAY = user("What is the capital of France?"), user("What is the capital of Norway?")
LONG = user("Read this. " + "The river was long and the night was cold. " * 300)


@pytest.fixture
def open_model(models_home: Path, tmp_path: Path) -> Iterator[Callable[[], HostedModel]]:
    """Starts the model in processes of their own that share a folder of states."""
    path = Library(models_home).path("smollm2-135m")
    opened: list[HostedModel] = []

    def open_one() -> HostedModel:
        opened.append(HostedModel(path, name="small", sha256="00", context=4096, states=tmp_path / "states"))
        return opened[-1]

    yield open_one
    for model in opened:
        model.close()


def test_a_role_that_comes_back_reads_only_its_question(open_model: Callable[[], HostedModel]) -> None:
    model = open_model()
    prefix = model.count(RULES_A)
    _, cold = ask(model, *RULES_A, FRANCE, fixed=3)
    ask(model, *RULES_B, user("One two."), fixed=1)
    _, warm = ask(model, *RULES_A, NORWAY, fixed=3)
    assert cold.tokens_reused == 0
    assert cold.tokens_read == model.count([*RULES_A, FRANCE])
    assert warm.tokens_reused > prefix - 10
    assert warm.tokens_read + warm.tokens_reused == model.count([*RULES_A, NORWAY])


def test_text_after_a_restored_prefix_is_the_text_after_a_fresh_one(
    open_model: Callable[[], HostedModel], tmp_path: Path
) -> None:
    model = open_model()
    fresh, read = ask(model, *RULES_A, NORWAY, fixed=3, tokens=30)
    ask(model, *RULES_B, user("One two."), fixed=1)
    ask(model, *RULES_A, FRANCE, fixed=3)
    ask(model, *RULES_B, user("Three four."), fixed=1)
    (tmp_path / "states").rename(tmp_path / "kept")
    anew, read_anew = ask(open_model(), *RULES_A, NORWAY, fixed=3, tokens=30)
    (tmp_path / "states").rename(tmp_path / "other")
    (tmp_path / "kept").rename(tmp_path / "states")
    from_disk, reused = ask(open_model(), *RULES_A, NORWAY, fixed=3, tokens=30)
    assert fresh == anew == from_disk
    assert read.tokens_reused == read_anew.tokens_reused == 0
    assert reused.tokens_reused > 100


def test_a_damaged_file_of_states_is_read_anew(open_model: Callable[[], HostedModel], tmp_path: Path) -> None:
    expected, cold = ask(open_model(), *RULES_A, FRANCE, fixed=3)
    (path,) = (tmp_path / "states").iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:-1000], whole[:5000] + bytes(1000) + whole[6000:]):
        path.write_bytes(damaged)
        text, again = ask(open_model(), *RULES_A, FRANCE, fixed=3)
        assert (text, again.tokens_read) == (expected, cold.tokens_read)
        assert path.read_bytes() == whole


def test_no_state_holds_what_a_user_said(open_model: Callable[[], HostedModel], tmp_path: Path) -> None:
    model = open_model()
    for question in ("What is new?", "Was it new?", "What?"):
        ask(model, *RULES_A, user(question), fixed=3)
    ask(model, user("I was born in Bergen. " * 10))
    # One prefix, whatever the questions have in common; the last call had none.
    assert len(list((tmp_path / "states").iterdir())) == 1


def test_a_ten_turn_chat_that_other_roles_interrupt_reads_each_turn_once(
    open_model: Callable[[], HostedModel],
) -> None:
    model = open_model()
    chat = [RULES_A[0]]
    read = 0
    for place in ("France", "Norway", "Italy", "Peru", "Japan", "Chad", "Cuba", "Laos", "Mali", "Oman"):
        chat.append(user(f"What is the capital of {place}?"))
        answer, last = ask(model, *chat, fixed=1, tokens=24)
        chat.append(ChatMessage("assistant", answer))
        read += last.tokens_read
        ask(model, *RULES_B, user(f"Say {place}."), fixed=1, tokens=4)
    assert read < model.count(chat) * 1.1


def test_a_cancel_while_a_prompt_is_read_leaves_saved_states_as_they_were(
    open_model: Callable[[], HostedModel],
) -> None:
    model = open_model()
    expected, _ = ask(model, *RULES_A, FRANCE, fixed=3)
    ask(model, *RULES_B, user("One two."), fixed=1)
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    text, stopped = ask(model, LONG, cancel=cancel)
    assert (text, stopped.reason) == ("", StopReason.CANCELLED)
    assert stopped.tokens_read < model.count([LONG])
    again, last = ask(model, *RULES_A, FRANCE, fixed=3)
    assert again == expected
    assert last.tokens_reused > 100
