from __future__ import annotations

import json
from pathlib import Path

import pytest

from localmem.errors import BadInput, ModelTimeout
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel
from localmem.probing import results
from localmem.probing.items import PROBED, items, version
from localmem.probing.results import THRESHOLDS, Result, Results
from localmem.probing.run import probe
from localmem.probing.team import Team

Prompt = tuple[ChatMessage, ...]


def knowing(role: ModelRole) -> ScriptedModel:
    """A model that knows what each item wants."""
    answers = iter([reply(role, item) for item in items(role)])
    return ScriptedModel(lambda prompt: next(answers))


def reply(role: ModelRole, item: dict) -> str:
    first = (
        [ways if isinstance(ways, str) else ways[0] for ways in item.get("expect", []) or []]
        if (isinstance(item.get("expect"), list) and item.get("task") != "select")
        else []
    )
    if role is ModelRole.SUMMARISER:
        # The words of the turn itself say all that is wanted and nothing else.
        return json.dumps({"summaries": [f"{who}: {text}" for _, who, text in item["turn"][:1]]})
    if role is ModelRole.JUDGE:
        return json.dumps({"verdict": "CORRECT" if item["expect"] else "WRONG"})
    if role is ModelRole.ANSWERER:
        return f"It is {' and '.join(first)}."
    if item["task"] == "choose":
        return json.dumps({"tool": item["expect"][0]})
    if item["task"] == "decompose":
        return json.dumps({"queries": first})
    if item["task"] == "select":
        return json.dumps({"numbers": [str(place + 1) for place in item["expect"]]})
    queries = [ways[0] for ways in item["about"]]
    return json.dumps({"sufficient": item["expect"], "found": [], "gaps": [], "queries": queries})


@pytest.mark.parametrize("role", PROBED)
def test_a_model_that_does_all_right_passes(role: ModelRole) -> None:
    result = probe(knowing(role), role)
    assert len(items(role)) == 20
    # Short answers may fall to a check of the answer; the turn itself may need its second speaker.
    assert result.passed >= 16


@pytest.mark.parametrize("role", [ModelRole.CONTROLLER, ModelRole.JUDGE])
def test_every_item_of_a_choice_can_be_passed(role: ModelRole) -> None:
    assert probe(knowing(role), role).passed == 20


def test_a_judge_that_always_agrees_is_found_out() -> None:
    result = probe(ScriptedModel(lambda prompt: '{"verdict": "CORRECT"}'), ModelRole.JUDGE)
    assert result.score == 0.5


@pytest.mark.parametrize("role", PROBED)
def test_a_model_that_says_nothing_of_use_passes_nothing(role: ModelRole) -> None:
    assert probe(ScriptedModel(lambda prompt: "I cannot say."), role).passed == 0


def test_a_summary_with_an_invented_number_fails_its_item() -> None:
    def script(prompt: Prompt) -> str:
        line = prompt[-1].text.split(": ", 1)[1].split(" / ")[0]
        return json.dumps({"summaries": [f"In 1987: {line}"]})

    assert probe(ScriptedModel(script), ModelRole.SUMMARISER).passed == 0


def test_a_reply_that_comes_too_late_fails_its_item() -> None:
    assert probe(ScriptedModel(lambda prompt: ModelTimeout("late")), ModelRole.JUDGE).passed == 0


def test_progress_counts_the_items() -> None:
    seen: list[tuple[int, int]] = []
    probe(ScriptedModel(lambda prompt: "no"), ModelRole.JUDGE, lambda done, total: seen.append((done, total)))
    assert seen == [(done, 20) for done in range(21)]


def test_results_are_kept_by_model_and_role(tmp_path: Path) -> None:
    kept = Results(tmp_path)
    kept.save("sha256:a", ModelRole.JUDGE, Result(19, 20, 1.0))
    again = Results(tmp_path)
    assert again.standing("sha256:a", ModelRole.JUDGE).trusted
    assert not again.standing("sha256:b", ModelRole.JUDGE).trusted
    assert not again.standing("sha256:a", ModelRole.CONTROLLER).trusted


def test_a_result_of_other_items_or_prompts_no_longer_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Results(tmp_path)
    kept.save("sha256:a", ModelRole.JUDGE, Result(20, 20, 1.0))
    monkeypatch.setattr(results, "version", lambda role: version(role) + "x")
    assert kept.standing("sha256:a", ModelRole.JUDGE).result is None


def test_a_role_goes_to_a_model_that_reaches_the_threshold(tmp_path: Path) -> None:
    kept = Results(tmp_path)
    for role in PROBED:
        needed = round(THRESHOLDS[role] * 20)
        for passed in (needed - 1, needed):
            kept.save("sha256:a", role, Result(passed, 20, 1.0))
            assert kept.standing("sha256:a", role).trusted == (passed == needed)


def test_before_its_probe_a_model_may_only_word_answers(tmp_path: Path) -> None:
    roles = [role for role in ModelRole if role is not ModelRole.EMBEDDER]
    trusted = [role for role in roles if Results(tmp_path).standing("sha256:a", role).trusted]
    assert trusted == [ModelRole.ANSWERER]


def test_the_notes_go_by_the_controllers_probe(tmp_path: Path) -> None:
    kept = Results(tmp_path)
    kept.save("sha256:a", ModelRole.CONTROLLER, Result(20, 20, 1.0))
    assert kept.standing("sha256:a", ModelRole.NOTES).trusted


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """One whose chat model is scripted and judges everything right."""
    model = ScriptedModel(lambda prompt: '{"verdict": "CORRECT"}', name="smollm2-135m")
    monkeypatch.setattr(Library, "open_chat", lambda *_, **__: model)
    monkeypatch.setattr(Library, "_require", lambda *_: None)
    return Library(tmp_path)


def test_a_model_that_failed_is_refused_its_role_unless_forced(library: Library, tmp_path: Path) -> None:
    team = Team(library, tmp_path)
    assert team.if_trusted(ModelRole.JUDGE) is None
    standings = team.probe("smollm2-135m", lambda role, done, total: None)
    assert standings[ModelRole.JUDGE].result == Result(10, 20, standings[ModelRole.JUDGE].result.seconds)
    with pytest.raises(BadInput, match="models use judge smollm2-135m --force"):
        team.use(ModelRole.JUDGE, "smollm2-135m")
    assert team.if_trusted(ModelRole.JUDGE) is None
    assert "rules (its probe's 0.50 is below 0.90)" in team.serving(ModelRole.JUDGE)
    team.use(ModelRole.JUDGE, "smollm2-135m", force=True)
    assert team.if_trusted(ModelRole.JUDGE) is not None
    assert team.standing(ModelRole.JUDGE).trust.forced
    assert "forced, its probe's 0.50 is below 0.90" in team.serving(ModelRole.JUDGE)


def test_another_choice_for_the_role_is_no_longer_forced(library: Library, tmp_path: Path) -> None:
    team = Team(library, tmp_path)
    team.use(ModelRole.JUDGE, "smollm2-135m", force=True)
    team.use(ModelRole.CONTROLLER, "smollm2-135m", force=True)
    assert "not probed" in team.use(ModelRole.JUDGE, "smollm2-135m")
    assert not team.standing(ModelRole.JUDGE).forced
    assert team.standing(ModelRole.CONTROLLER).forced
