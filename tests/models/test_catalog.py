from __future__ import annotations

import pytest

from localmem.models.catalog import ModelRole, catalog, find, parse
from localmem.models.errors import BadInput

ENTRY = """
[[model]]
name = "m"
kind = "chat"
roles = ["answerer"]
licence = "MIT"
context = 10
parameters = 5
kv = 2
buffers = 7
"""
HUB = ENTRY + '[model.hub]\nrepo = "maker/model"\nrevision = "main"\n'
FILE = '[[model.file]]\nname = "x"\npath = "sub/x"\nsize = 100\n'
WHEEL = ENTRY + f'[model.wheel]\npackage = "p"\nversion = "1"\nsha256 = "{"0" * 64}"\nsize = 9\n'


def test_every_entry_says_what_a_person_needs_to_choose() -> None:
    for name, entry in catalog().items():
        assert entry.name == name
        assert entry.roles
        assert entry.licence
        assert entry.note
        assert bool(entry.wheel or entry.hub) == bool(entry.file)


def test_models_of_the_hub_are_named_by_commit_and_their_weights_by_hash() -> None:
    for entry in catalog().values():
        if entry.hub is not None:
            assert len(entry.hub.revision) == 40
            assert entry.weights.sha256 is not None


def test_the_catalogue_has_real_chat_models_from_half_to_eight_billion_weights() -> None:
    sizes = [entry.parameters for entry in catalog().values() if entry.hub and entry.kind == "chat"]
    billions = [size / 1e9 for size in sizes if size is not None]
    assert min(billions) < 0.6 < 8 < max(billions)


def test_memory_is_weights_and_window_and_buffers() -> None:
    entry = parse(HUB + FILE)["m"]
    assert entry.ram(10) == 100 + 2 * 10 + 7
    assert entry.ram(5) == 100 + 2 * 5 + 7


def test_the_hub_may_know_a_hash_that_the_catalogue_does_not() -> None:
    entry = parse(HUB + FILE + FILE.replace('"x"', '"y"').replace("size = 100\n", ""))["m"]
    assert entry.size == 100
    assert entry.weights.name == "x"
    assert entry.source == "maker/model"


def test_each_kind_of_role_has_a_model_that_needs_no_hub() -> None:
    for role in ModelRole:
        assert any(role in entry.roles and entry.wheel for entry in catalog().values())


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"'gpt'.*smollm2-135m, all-minilm-l6-v2"):
        find("gpt")


@pytest.mark.parametrize(
    "text",
    [
        ENTRY + ENTRY,
        ENTRY + "colour = 'red'\n",
        ENTRY + "dimension = 3\n",
        ENTRY.replace('"chat"', '"poem"'),
        ENTRY.replace('"answerer"', '"singer"'),
        HUB + FILE.replace('"x"', '"../x"'),
        HUB + FILE.replace('"x"', '".x"'),
        HUB + FILE + 'sha256 = "00"\n',
        ENTRY + FILE,
        HUB,
        WHEEL + FILE,
        HUB + FILE.replace("size = 100", ""),
        HUB.replace("maker/model", "maker/../model") + FILE,
        ENTRY.replace("parameters = 5", ""),
    ],
    ids=[
        "twice",
        "unknown key",
        "chat with dimension",
        "kind",
        "role",
        "path",
        "hidden",
        "hash",
        "no source",
        "no file",
        "wheel without hash",
        "no size",
        "repo",
        "no parameters",
    ],
)
def test_a_wrong_catalogue_is_refused(text: str) -> None:
    parse(ENTRY)
    with pytest.raises(ValueError, match=r".+"):
        parse(text)
