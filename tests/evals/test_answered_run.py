"""Runs with a model: answers, verdicts, ablations, repetition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localmem.errors import BadInput
from localmem.evals.asking import Resources
from localmem.evals.crew import Crew, Member
from localmem.evals.judging import Panel
from localmem.evals.log import Log
from localmem.evals.run import Run, evaluate
from localmem.evals.summing import summary
from localmem.models.catalog import ModelRole
from localmem.models.hashing import HashEmbedder
from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel
from localmem.roles.trust import Trust


def says(prompt: tuple[ChatMessage, ...]) -> str:
    return "Miso" if "called" in prompt[-1].text else "no information"


def crew(answerer: ScriptedModel, **others: Member) -> Crew:
    return Crew({ModelRole.ANSWERER: Member(answerer), **{ModelRole(k): m for k, m in others.items()}})


def ran(data: Path, model: ScriptedModel | None = None, out: Path | None = None, **changes: Any) -> Log:
    fields: dict[str, Any] = {"arm": "fixed", "k": (1, 3), "answers": True, **changes}
    resources = fields.pop("resources", None) or Resources(HashEmbedder(), crew(model or ScriptedModel(says)))
    return evaluate(Run("locomo", data=data, **fields), resources, out, lambda done, total: None)


def line(log: Log, question: str) -> dict[str, Any]:
    return next(line for line in log.lines.values() if line["question"].startswith(question))


def test_answers_are_worded_marked_and_kept_apart_from_what_is_not_scored(
    locomo: Path, tmp_path: Path
) -> None:
    log = ran(locomo, out=tmp_path)
    right, never = line(log, "What is the cat"), line(log, "Never said")
    assert right["answer"]["text"] == "Miso"
    assert right["verdict"]["verdict"] == "CORRECT"
    assert never["answer"]["abstained"]
    assert never["verdict"]["verdict"] == "CORRECT"
    metrics = summary(log)["metrics"]
    assert metrics["right_refusal"] == 1
    assert metrics["stem_f1"] is not None
    assert log.calibration is not None
    assert log.calibration["answers"] == 5


def test_adversarial_questions_are_in_no_mean_but_their_own(locomo: Path) -> None:
    found = summary(ran(locomo))
    assert found["by_type"]["5 adversarial"]["metrics"]["stem_f1"] == 1
    others = [part for name, part in found["by_type"].items() if name[0] != "5"]
    total = sum(part["metrics"]["stem_f1"] * part["metrics"]["questions"] for part in others)
    assert found["metrics"]["stem_f1"] == pytest.approx(total / 4)


def test_without_a_model_no_answer_is_scored_and_no_unanswerable_question_asked(locomo: Path) -> None:
    log = ran(locomo, answers=False)
    assert all(line["answer"] is None and line["verdict"] is None for line in log.lines.values())
    assert not any(line["abstain"] for line in log.lines.values())
    assert summary(log)["metrics"]["stem_f1"] is None


def test_notes_and_draft_can_be_left_out_of_one_runs_evidence(locomo: Path, tmp_path: Path) -> None:
    path = ran(locomo, out=tmp_path).path
    prompts = {}
    for without in ((), ("notes",), ("draft",), ("draft", "notes")):
        model = ScriptedModel(says)
        log = ran(locomo, model, arm="agent", retrieval_from=path, without=without)
        assert all(line["calls"] == 0 for line in log.lines.values())
        prompts[without] = next(p[-1].text for p in model.history if "called" in p[-1].text)
    assert "(Hint: " in prompts[()]
    assert "(Hint: " in prompts["notes",]
    assert "(Hint: " not in prompts["draft",]
    assert "(Hint: " not in prompts["draft", "notes"]
    assert "My sister lives in Porto" in prompts["notes",]  # records as they are
    assert "My sister lives in Porto" not in prompts[()]  # notes leave out what does not speak of it


def test_evidence_of_a_run_that_lacks_a_question_is_refused(locomo: Path, tmp_path: Path) -> None:
    path = ran(locomo, out=tmp_path, limit=2, answers=False).path
    with pytest.raises(BadInput, match="has no question"):
        ran(locomo, retrieval_from=path)


def test_repeated_runs_draw_with_a_seed_each(locomo: Path) -> None:
    seeds = []

    class Model(ScriptedModel):
        def stream(self, messages: Any, **options: Any) -> Any:
            seeds.append(options.pop("sampling"))
            return super().stream(messages, **options)

    for number in (1, 2):
        log = ran(locomo, Model(says), number=number, temperature=0.7)
        assert log.run["temperature"] == 0.7
        assert log.run["run_number"] == number
    assert {sampling.temperature for sampling in seeds} == {0.7}
    assert len({sampling.seed for sampling in seeds}) == 2


def test_a_judge_that_always_says_correct_is_found_out(locomo: Path) -> None:
    answerer = ScriptedModel(lambda prompt: f"something about {len(prompt[-1].text)}")
    judge = ScriptedModel(lambda prompt: '{"verdict": "CORRECT"}')
    resources = Resources(HashEmbedder(), crew(answerer, judge=Member(judge, Trust(forced=True))))
    log = ran(locomo, resources=resources, arm="full-context")
    assert log.run["models"]["judge"]["forced"]
    assert line(log, "What happened")["verdict"] == {
        "verdict": "CORRECT", "by": "model", "reason": "criterion generous",
    }  # fmt: skip
    assert log.calibration is not None
    assert log.calibration["wrong_accepted"] == log.calibration["compared"] - log.calibration["agreed"] > 0


def test_a_model_that_is_not_trusted_to_judge_judges_nothing(locomo: Path) -> None:
    judge = ScriptedModel()
    resources = Resources(
        HashEmbedder(), crew(ScriptedModel(["something"] * 9), judge=Member(judge, Trust(trusted=False)))
    )
    log = ran(locomo, resources=resources, arm="full-context")
    assert line(log, "What happened")["verdict"]["verdict"] is None
    assert judge.history == []


def test_a_panel_judges_each_evidence_set_once_however_many_arms_find_it(locomo: Path) -> None:
    model = ScriptedModel(lambda prompt: '{"label": "sufficient"}')
    panel = Panel.of(model)
    resources = Resources(HashEmbedder(), crew(ScriptedModel(says)), panel)
    first = ran(locomo, resources=resources, arm="full-context")
    asked = len(model.history)
    assert summary(first)["metrics"]["questions"] == 5
    assert {line["suff"]["verdict"] for line in first.lines.values() if not line["abstain"]} == {"sufficient"}
    ran(locomo, resources=resources, arm="rag-layers", k=(1, 99))
    assert len(model.history) < 2 * asked


@pytest.mark.parametrize("warm", [False, True])
def test_layers_are_made_before_the_first_question_or_when_they_are_read(locomo: Path, warm: bool) -> None:
    log = ran(locomo, arm="agent", warm=warm)
    assert [store["layers"] for store in log.stores] == ["warm" if warm else "cold"]
    assert log.label == ("agent-warm" if warm else "agent")
    told = [line["depth"] for line in log.lines.values()]
    assert any(depth.get("facts") or depth.get("raw") for depth in told)
