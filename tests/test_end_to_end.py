"""The whole program with the real small models."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from localmem.cli import main
from localmem.errors import ModelCrashed
from localmem.events import AnswerDelta, Replied, Stored
from localmem.importers.run import import_files
from localmem.memory import Memory
from localmem.models.library import Library
from localmem.models.llama import HostedModel

pytestmark = pytest.mark.real_model


@pytest.fixture(scope="module")
def library(models_home: Path) -> Iterator[Library]:
    library = Library(models_home)
    yield library
    library.close()


@pytest.fixture
def remembering(library: Library, tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", library.embedder()) as memory:
        with resources.as_file(resources.files("localmem.demo") / "history.jsonl") as history:
            import_files([history], "auto", memory.add)
        memory.wait_embedded()
        yield memory


@pytest.mark.parametrize("extra", [[], ["--no-llm"]])
def test_ask_cites_the_message_that_answers(
    models_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: list[str]
) -> None:
    start = ["--db", str(tmp_path / "t.db"), "--home", str(models_home)]
    with resources.as_file(resources.files("localmem.demo") / "history.jsonl") as history:
        assert main([*start, "import", str(history)]) == 0
    capsys.readouterr()
    assert main([*start, "ask", "When did I adopt Miso?", "--json", *extra]) == 0
    answer = json.loads(capsys.readouterr().out)
    cited = [item["text"] for item in answer["evidence"] if item["message_id"] in answer["citations"]]
    assert any("I adopted a cat from the shelter yesterday" in text for text in cited)
    assert "7 March 2026" in answer["answer"]
    assert (answer["ledger"]["model_calls"] == 0) == bool(extra)


def test_the_demo_answers_its_questions(models_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(models_home), "demo"]) == 0
    out = capsys.readouterr().out
    asked = json.loads((resources.files("localmem.demo") / "questions.json").read_text(encoding="utf-8"))
    for item, answer in zip(asked, out.split("> ")[1:], strict=True):
        expected = item["expected"] or "I found nothing"
        assert expected in answer.split("\n", 1)[1].split("\n  [1]")[0], item


def test_a_model_killed_in_mid_answer_loses_no_message_and_answers_the_next(
    remembering: Memory, library: Library
) -> None:
    model = library.chat_model("answerer")
    assert isinstance(model, HostedModel)
    before = remembering.counts()[1]
    session_id = None
    written = ""
    events = remembering.chat("Write a long story about the sea.", model=model)
    with pytest.raises(ModelCrashed):
        for event in events:
            if isinstance(event, Stored):
                session_id = event.message.session_id
            if isinstance(event, AnswerDelta):
                written += event.text
                if len(written) > 20:
                    assert model.pid is not None
                    os.kill(model.pid, signal.SIGKILL)
    assert session_id is not None
    told, kept = remembering.messages(session_id)
    assert told.text == "Write a long story about the sea."
    assert kept.text == written.strip()
    assert remembering.counts()[1] == before + 2
    *_, last = remembering.chat("Say hello.", model=model, session_id=session_id)
    assert isinstance(last, Replied)
    assert last.message is not None
