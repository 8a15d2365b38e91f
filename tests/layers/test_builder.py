from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localmem.entries import Bullet, Grade, Layer, Summary
from localmem.errors import ModelCrashed, ModelTimeout
from localmem.layers.by_model import WINDOW, by_turn, windows
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
from localmem.models.scripted import ScriptedModel
from localmem.types import NewMessage, NewSession, Origin, Role

Said = Callable[..., NewSession]
THINGS = ("apples", "candles", "bricks", "envelopes", "lamps", "violins", "buckets", "ladders", "mirrors")
MAY = datetime(2026, 5, 10, 9, tzinfo=UTC)  # a Sunday

_spec = importlib.util.spec_from_file_location("summarising", Path(__file__).with_name("summarising.py"))
assert _spec is not None
assert _spec.loader is not None
summarising = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(summarising)


def talk(session: str, turns: int) -> NewSession:
    messages = []
    for turn in range(turns):
        text = f"I bought {turn + 3} {THINGS[turn % len(THINGS)]} in {session.title()} today."
        messages += [
            NewMessage(Role.USER, text, "Ana", MAY),
            NewMessage(Role.ASSISTANT, "Well done.", "", MAY),
        ]
    return NewSession("test", session, tuple(messages))


def build(
    memory: Memory, model: ScriptedModel | None, layer: Layer, **limits: object
) -> tuple[int, int, int]:
    steps = list(memory.builder(model).build(layer, **limits))
    return sum(s.made for s in steps), sum(s.rejected for s in steps), sum(s.failed for s in steps)


def contents(memory: Memory, layer: Layer) -> list[tuple[object, object, object]]:
    """What a layer holds, without ids and times of making."""
    return [
        (entry.scope, entry.content, entry.grade)
        for session in sorted(memory.sessions(), key=lambda session: session.id)
        for entry in memory._layers.entries(layer, session.id)
    ]


def test_a_models_summary_takes_the_place_of_the_rules_and_keeps_its_keywords(memory: Memory) -> None:
    memory.add(talk("riga", 6))
    before = memory.layer(1, Layer.SUMMARY)
    assert build(memory, summarising.summariser(), Layer.SUMMARY) == (6, 0, 0)
    for old, new in zip(before, memory.layer(1, Layer.SUMMARY), strict=True):
        assert isinstance(old.content, Summary)
        assert isinstance(new.content, Summary)
        assert new.content.text.startswith("Ana told: I bought")
        assert (old.grade, new.grade) == (Grade.EXTRACTIVE, Grade.MODEL)
        assert new.content.keywords == old.content.keywords
        assert new.content.tags == old.content.tags
        assert new.scope == old.scope


def test_a_second_run_does_nothing(memory: Memory) -> None:
    memory.add(talk("riga", 9))
    model = summarising.summariser()
    for layer in Layer:
        build(memory, model, layer)
    asked = len(model.history)
    for layer in Layer:
        assert build(memory, model, layer) == (0, 0, 0)
    assert len(model.history) == asked


def test_a_window_has_four_turns_and_one_of_them_is_the_overlap(memory: Memory) -> None:
    memory.add(talk("riga", 9))
    turns = by_turn(memory.messages(1))
    found = list(windows(turns, range(9)))
    assert [len(window.turns) + bool(window.before) for window in found] == [WINDOW, WINDOW, 3]
    assert [turn[0].turn for window in found for turn in window.turns] == list(range(9))
    assert list(windows(turns, range(4, 9))) == found[1:]


def test_a_false_number_is_rejected_and_the_rules_summary_stays(memory: Memory) -> None:
    memory.add(talk("riga", 1))
    model = ScriptedModel(['{"summaries": ["Ana bought 17 apples in Riga."]}'])
    assert build(memory, model, Layer.SUMMARY) == (0, 1, 1)
    (entry,) = memory.layer(1, Layer.SUMMARY)
    assert entry.grade is Grade.EXTRACTIVE
    (failure,) = memory.layer_failures(1)
    assert failure.reason == "the number 17 is not in the messages"
    rates = [count.rejection_rate for count in memory._layers.counts() if count.model]
    assert rates == [1.0]


def test_a_date_that_was_worked_out_rightly_is_accepted_and_a_wrong_one_is_not(
    memory: Memory, said: Said
) -> None:
    memory.add(said("I saw the dentist last Friday.", "I see.", session="a", at=MAY))
    right = ScriptedModel(['{"summaries": ["The user saw the dentist on 8 May 2026."]}'])
    assert build(memory, right, Layer.SUMMARY) == (1, 0, 0)
    memory.add(said("I saw the dentist last Friday.", "I see.", session="b", at=MAY))
    wrong = ScriptedModel(['{"summaries": ["The user saw the dentist on 1 May 2026."]}'])
    assert build(memory, wrong, Layer.SUMMARY) == (0, 1, 1)


def test_a_fact_names_the_message_that_says_it(memory: Memory) -> None:
    memory.add(talk("riga", 5))
    (entry,) = memory.layer(1, Layer.FACTS, summariser=summarising.summariser())
    assert entry.grade is Grade.MODEL
    assert not isinstance(entry.content, Summary)
    texts = {message.id: message.text for message in memory.messages(1)}
    for bullet in entry.content:
        (source,) = bullet.messages
        assert bullet.text.split(": ", 1)[1].split(" (")[0] in texts[source]


def test_notes_belong_to_the_turn_whose_message_they_name(memory: Memory) -> None:
    memory.add(talk("riga", 5))
    for entry in memory.layer(1, Layer.NOTES, summariser=summarising.summariser()):
        turn = {m.id for m in memory.messages(1) if m.turn == entry.scope.turn}
        assert not isinstance(entry.content, Summary)
        assert entry.content
        assert all(set(bullet.messages) <= turn for bullet in entry.content)


def test_where_the_model_says_nothing_the_rules_stand_in_and_the_failure_shows(memory: Memory) -> None:
    memory.add(talk("riga", 3))
    mute = ScriptedModel(lambda prompt: "I cannot do that.")
    (entry,) = memory.layer(1, Layer.FACTS, summariser=mute)
    assert entry.grade is Grade.EXTRACTIVE
    assert entry.content
    assert [failure.scope.layer for failure in memory.layer_failures(1)] == [Layer.FACTS]
    asked = len(mute.history)
    memory.layer(1, Layer.FACTS, summariser=mute)
    assert len(mute.history) == asked


def test_a_model_that_repeats_itself_tells_it_once(memory: Memory) -> None:
    memory.add(talk("riga", 8))
    facts = [{"message": 1, "fact": "Ana bought 3 apples in Riga."}] * 20
    model = ScriptedModel([json.dumps({"facts": facts})])
    (entry,) = memory.layer(1, Layer.FACTS, summariser=model)
    assert entry.grade is Grade.EXTRACTIVE  # one statement is less than the rules have
    assert "only 1 of its statements stand" in memory.layer_failures(1)[0].reason


def test_what_was_recalled_is_in_no_prompt_and_no_layer(memory: Memory) -> None:
    memory.add(
        NewSession(
            "test",
            "s",
            (
                NewMessage(Role.USER, "Where do I live?", sent_at=MAY),
                NewMessage(Role.ASSISTANT, "You live in Narva.", sent_at=MAY, origin=Origin.RECALLED),
            ),
        )
    )
    model = summarising.summariser()
    for layer in Layer:
        for entry in memory.layer(1, layer, summariser=model):
            assert "Narva" not in str(entry.content)
    assert not any("Narva" in message.text for prompt in model.history for message in prompt[-1:])


def test_an_empty_session_has_an_empty_layer_and_asks_no_model(memory: Memory, said: Said) -> None:
    memory.add(said(""))
    for layer in Layer:
        (entry,) = memory.layer(1, layer, summariser=ScriptedModel())
        assert entry.content in (Summary(""), ())


@pytest.mark.parametrize(
    "text",
    ["我昨天在上海买了三个苹果。", "اشتريت ثلاث تفاحات أمس.", "```\nx = 1\n```", "word " * 9_000, "hm"],
)
def test_every_kind_of_text_gets_its_layers(memory: Memory, said: Said, text: str) -> None:
    memory.add(said(text, text, at=MAY))
    mute = ScriptedModel(lambda prompt: "{}", context=2048)
    for layer in Layer:
        assert memory.layer(1, layer, summariser=mute)
    for layer in (Layer.SUMMARY, Layer.NOTES, Layer.FACTS):
        build(memory, mute, layer)
    assert {failure.scope.layer for failure in memory.layer_failures(1)} == set(Layer)


def test_a_long_session_goes_in_by_parts(memory: Memory) -> None:
    memory.add(talk("riga", 600))
    model = summarising.summariser()
    (entry,) = memory.layer(1, Layer.FACTS, summariser=model)
    assert len(model.history) > 3
    assert all(len(prompt[-1].text) < 12_500 for prompt in model.history)
    assert not isinstance(entry.content, Summary)
    assert len(entry.content) == 25
    assert len({bullet.messages for bullet in entry.content}) == 25


def test_a_part_that_does_not_fit_the_window_is_halved(memory: Memory) -> None:
    memory.add(talk("riga", 60))
    model = ScriptedModel(summarising.reply, name="summariser", context=1_500)
    (entry,) = memory.layer(1, Layer.FACTS, summariser=model)
    assert entry.grade is Grade.MODEL
    assert all(model.count(prompt) + 900 <= 1_500 for prompt in model.history)


def test_a_crash_is_raised_and_what_was_made_stays(memory: Memory) -> None:
    memory.add(talk("riga", 9))
    first = json.dumps({"summaries": [f"Ana bought {n} things in Riga." for n in (3, 4, 5, 6)]})
    with pytest.raises(ModelCrashed):
        build(memory, ScriptedModel([first, ModelCrashed("it died")]), Layer.SUMMARY)
    assert sum(entry.grade is Grade.MODEL for entry in memory.layer(1, Layer.SUMMARY)) == 4


def test_building_ends_when_its_time_is_up(memory: Memory) -> None:
    memory.add(talk("riga", 9))
    assert build(memory, summarising.summariser(), Layer.SUMMARY, seconds=0.0) == (0, 0, 0)
    slow = ScriptedModel([ModelTimeout("too slow")])
    assert build(memory, slow, Layer.SUMMARY, seconds=1.0) == (0, 0, 0)


def test_a_message_that_comes_while_the_model_writes_is_not_passed_over(memory: Memory) -> None:
    memory.add(talk("riga", 1))

    def script(prompt: object) -> str:
        if len(memory.messages(1)) == 2:
            memory.add(talk("riga", 2))
        return summarising.reply(prompt)

    build(memory, summarising.summariser(script), Layer.FACTS)
    assert memory._layers.entries(Layer.FACTS, 1) == []
    (entry,) = memory.layer(1, Layer.FACTS, summariser=summarising.summariser())
    assert isinstance(entry.content[1], Bullet)


_BUILD = """
import importlib.util, sys, time
from pathlib import Path
from localmem.entries import Layer
from localmem.memory import Memory
from localmem.models.hashing import HashEmbedder
spec = importlib.util.spec_from_file_location("summarising", sys.argv[2])
summarising = importlib.util.module_from_spec(spec); spec.loader.exec_module(summarising)
def slowly(prompt):
    time.sleep(0.01)
    return summarising.reply(prompt)
with Memory(Path(sys.argv[1]), HashEmbedder()) as memory:
    print("ready", flush=True)
    for layer in Layer:
        for step in memory.builder(summarising.summariser(slowly)).build(layer):
            pass
"""


def test_killed_ten_times_it_makes_what_it_makes_undisturbed(tmp_path: Path) -> None:
    killed, calm = tmp_path / "killed.db", tmp_path / "calm.db"
    for path in (killed, calm):
        with Memory(path, HashEmbedder()) as memory:
            for number in range(6):
                memory.add(talk(f"town{number}", 20))
    chance = random.Random(4)
    command = [sys.executable, "-c", _BUILD, str(killed), str(Path(__file__).with_name("summarising.py"))]
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.15))
        process.kill()
        process.communicate()
    subprocess.run(command, check=True, capture_output=True)
    with Memory(killed, HashEmbedder()) as one, Memory(calm, HashEmbedder()) as other:
        model = summarising.summariser()
        for layer in Layer:
            build(other, model, layer)
            assert contents(one, layer) == contents(other, layer)
            assert build(one, ScriptedModel(name="summariser"), layer) == (0, 0, 0)
