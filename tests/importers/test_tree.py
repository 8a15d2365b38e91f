"""Trees of messages, whole and damaged: every node comes out once, a parent before what follows it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from localmem.importers.tree import lay

NODES = "abcdefgh"
trees = st.dictionaries(st.sampled_from(NODES), st.none() | st.sampled_from([*NODES, "gone"]), min_size=1)


@given(trees, st.none() | st.sampled_from([*NODES, "gone"]))
def test_any_links_give_every_node_once_and_parents_first(parents, leaf):
    laid = lay(parents, leaf)
    assert sorted(laid.order) == sorted(parents)
    for place, node in enumerate(laid.order):
        assert laid.parents[node] is None or laid.parents[node] in laid.order[:place]
    changed = [node for node in parents if laid.parents[node] != parents[node]]
    assert len(changed) == laid.broken
    assert laid.order[: len(laid.path)] == laid.path
    if leaf in parents:
        assert laid.path[-1] == leaf


def test_the_path_is_first_and_each_other_branch_stays_together():
    parents = {"a": None, "b": "a", "x": "a", "c": "b", "y": "x", "z": "b"}
    assert lay(parents, "c").order == ("a", "b", "c", "x", "y", "z")
    assert lay(parents, "y").path == ("a", "x", "y")


def test_a_tree_of_a_hundred_thousand_in_a_row_is_laid_at_once():
    parents = {str(number): str(number - 1) if number else None for number in range(100_000)}
    assert lay(dict(reversed(parents.items())), "99999").order[-1] == "99999"
