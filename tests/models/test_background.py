"""A model for background work beside the one that answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from localmem.models.library import Library
from localmem.models.llama import HostedModel
from localmem.models.protocols import ChatMessage, ChatModel, Finished

pytestmark = pytest.mark.real_model
PROMPT = [ChatMessage("user", "Say yes.")]


def generate(model: ChatModel) -> int:
    *_, last = model.stream(PROMPT, max_tokens=2)
    assert isinstance(last, Finished)
    assert isinstance(model, HostedModel)
    assert model.pid is not None
    return model.pid


def test_background_work_has_a_nicer_process_of_its_own(models_home: Path) -> None:
    library = Library(models_home)
    answerer = library.chat_model("answerer")
    background = library.chat_model("answerer", background=True)
    try:
        assert background is not answerer
        assert background is library.chat_model("summariser", background=True)
        assert background.fingerprint == answerer.fingerprint
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, generate(background)) == max(own, 15)
        assert os.getpriority(os.PRIO_PROCESS, generate(answerer)) == own
    finally:
        library.close()
    assert isinstance(background, HostedModel)
    assert background.pid is None
