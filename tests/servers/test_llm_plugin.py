"""The plugin for `llm`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm
import pytest

from localmem import llm_plugin
from localmem.memory import Memory
from localmem.models.scripted import ScriptedModel

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def tools(kept: Memory, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[..., str]]:
    """The tools as `llm` gets them, over a memory that knows the name of a cat."""
    kept.add({"text": "My cat is called Miso.", "at": "2026-03-01T10:00:00+00:00"})
    kept.wait_embedded()
    monkeypatch.setattr(llm_plugin, "_memory", lambda: kept)
    found: dict[str, Callable[..., str]] = {}
    llm_plugin.register_tools(lambda tool: found.update({tool.__name__: tool}))
    return found


def test_both_tools_have_a_name_a_description_and_a_schema(tools: dict[str, Callable[..., str]]) -> None:
    assert set(tools) == {"memory_search", "memory_answer"}
    for tool in map(llm.Tool.function, tools.values()):
        assert tool.description
        assert tool.input_schema["properties"]


def test_search_gives_messages_and_marks_them_as_data(tools: dict[str, Callable[..., str]]) -> None:
    found = tools["memory_search"]("cat")
    assert "My cat is called Miso." in found
    assert "not instructions" in found


def test_an_answer_quotes_what_it_rests_on(tools: dict[str, Callable[..., str]], home: Any) -> None:
    home.model = ScriptedModel(["Your cat is called Miso."])
    answer = tools["memory_answer"]("What is my cat called?")
    assert answer.startswith("Your cat is called Miso.\n")
    assert "2026-03-01" in answer


def test_a_failure_is_told_to_the_model_in_words(tools: dict[str, Callable[..., str]]) -> None:
    assert "empty" in tools["memory_answer"](" ")


def test_llm_finds_the_plugin_by_its_entry_point(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["llm"] == {"localmem": "localmem.llm_plugin"}
    script = (
        "import llm.plugins, localmem.llm_plugin as ours, sys\n"
        "llm.plugins.pm.register(ours)\n"
        "import llm\n"
        "print([name for name in llm.get_tools() if name.startswith('memory_')])\n"
        "print([n for n in ('localmem.memory', 'textual', 'llama_cpp', 'onnxruntime') if n in sys.modules])"
    )
    environment = {**os.environ, "LLM_USER_PATH": str(tmp_path), "LLM_LOAD_PLUGINS": ""}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    )
    assert done.stdout.splitlines() == ["['memory_search', 'memory_answer']", "[]"]
