from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localmem.models.protocols import ChatMessage
from localmem.models.scripted import ScriptedModel
from localmem.roles.window import pieces_that_fit


@given(sizes=st.lists(st.integers(0, 30), max_size=120), window=st.integers(1, 600))
def test_as_many_pieces_are_kept_as_fit(sizes, window):
    def build(count: int) -> list[ChatMessage]:
        return [ChatMessage("user", "w " * sum(sizes[:count]))]

    model = ScriptedModel(context=window)
    fitting = [n for n in range(len(sizes) + 1) if model.count(build(n)) + 5 <= window]
    kept = pieces_that_fit(model, build, len(sizes), 5)
    assert kept is None if not fitting else kept == fitting[-1]


def test_a_long_history_is_not_counted_whole():
    longest = 0

    def build(count: int) -> list[ChatMessage]:
        nonlocal longest
        longest = max(longest, count)
        return [ChatMessage("user", "w " * count)]

    assert pieces_that_fit(ScriptedModel(context=100), build, 1_000_000, 5) == 94
    assert longest < 200
