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
ram = 10
"""


def test_every_entry_says_what_a_person_needs_to_choose() -> None:
    for name, entry in catalog().items():
        assert entry.name == name
        assert entry.roles
        assert entry.licence
        assert entry.note
        assert (entry.wheel is None) == (not entry.file)


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
        ENTRY + '[[model.file]]\nname = "../x"\nmember = "x"\nsize = 1\nsha256 = "' + "0" * 64 + '"\n',
        ENTRY + '[[model.file]]\nname = "x"\nmember = "x"\nsize = 1\nsha256 = "00"\n',
    ],
    ids=["twice", "unknown key", "chat with dimension", "kind", "role", "path", "hash"],
)
def test_a_wrong_catalogue_is_refused(text: str) -> None:
    parse(ENTRY)
    with pytest.raises(ValueError, match=r".+"):
        parse(text)
