from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from localmem.evals.arms import ARMS
from localmem.evals.limits import PAPER, POINTS
from localmem.evals.published import Row, Table, papers, published
from localmem.evals.scores import SCORES

PERCENT = {
    "stem_f1", "accuracy", "suff_at_set", "gold_hit", "turn_hit", "evidence_recall",
    "complete_evidence_recall",
}  # fmt: skip
COUNTS = {"calls", "completion_calls", "records"}
COSTS = {"offline_kilotokens", "offline_seconds", "online_kilotokens", "online_seconds"}
STEPS = {"steps_median", "steps_p95", "steps_p99", "steps_max"}
SIZES: dict[str, Mapping[str, int]] = {
    "LoCoMo pilot": {"1 multi-hop": 33, "2 temporal": 50, "3 open-domain": 8, "4 single-hop": 109},
    "LoCoMo conv-30 overlap": {"1 multi-hop": 11, "2 temporal": 26, "4 single-hop": 44},
    "LongMemEval-S": {
        "knowledge-update": 78, "multi-session": 133, "temporal-reasoning": 133, "single-session-user": 70,
        "single-session-assistant": 56, "single-session-preference": 30,
    },
}  # fmt: skip
"""Questions by type of each set: BFR, Appendix G; LongMemEval, Table 1."""


def rows() -> Iterator[tuple[Table, Row]]:
    for table in published():
        for row in table.rows:
            yield table, row


def find(paper: str, number: str, arm: str | None, **fields: str) -> Row:
    return next(
        row
        for table, row in rows()
        if (table.paper, table.table, row.arm) == (paper, number, arm)
        and all(getattr(row, name) == value for name, value in fields.items())
    )


def test_each_row_names_an_arm_and_a_point_that_there_are() -> None:
    for table, row in rows():
        assert row.arm is None or row.arm in ARMS, (table.source, row.system)
        assert row.point is None or row.point in POINTS


def test_each_number_is_in_the_range_of_its_score() -> None:
    for table, row in rows():
        for values in (row.overall, *row.by_type.values()):
            assert values, (table.source, row.system)
            for score, value in values.items():
                assert score in PERCENT | COUNTS | COSTS | STEPS
                assert isinstance(value, float)
                assert 0 <= value <= (100 if score in PERCENT else 6000)
    assert set(SCORES) >= PERCENT | COUNTS


@pytest.mark.parametrize(
    "table", published(), ids=lambda table: f"{table.paper} {table.table} {table.dataset}"
)
def test_types_sum_up_to_what_the_table_has_for_all(table: Table) -> None:
    """By size, or each type counted once, as some rows that APDMem takes from elsewhere are."""
    for row in table.rows:
        for score, whole in row.overall.items():
            parts = {name: values[score] for name, values in row.by_type.items() if score in values}
            if not parts or set(parts) != set(SIZES[table.dataset]):
                continue
            sizes = SIZES[table.dataset]
            weighted = sum(sizes[name] * value for name, value in parts.items()) / table.n
            plain = sum(parts.values()) / len(parts)
            assert min(abs(weighted - whole), abs(plain - whole)) < 0.12, (row.system, score, weighted, plain)


def test_the_sets_have_the_sizes_of_their_types() -> None:
    assert {name: sum(sizes.values()) for name, sizes in SIZES.items()} == {
        table.dataset: table.n for table in published() if table.dataset in SIZES
    }


def test_tables_that_share_a_number_agree() -> None:
    """The same system, model, point and set: one number, wherever it is printed."""
    seen: dict[tuple[object, ...], float] = {}
    for table, row in rows():
        if row.arm is None:
            continue
        for score, value in row.overall.items():
            key = (table.paper, table.dataset, row.arm, row.point, row.model, row.without, score)
            assert seen.setdefault(key, value) == value, key


def test_the_budget_sweep_agrees_with_what_limits_are_checked_against() -> None:
    for (arm, point), (calls, records) in PAPER.items():
        row = find("BFR", "16", arm, point=point)
        assert (row.overall["completion_calls"], row.overall["records"]) == (calls, records)


def test_headline_figures_are_those_of_the_abstracts() -> None:
    """BFR: 72.4 to 82.2 % judged, Turn Hit 91.4 %; APDMem: 87.8 %."""
    bfr = find("BFR", "3", "bfr-mv").overall
    assert (find("BFR", "3", "mem0-flat").overall["accuracy"], bfr["accuracy"], bfr["turn_hit"]) == (
        72.4, 82.2, 91.4,
    )  # fmt: skip
    assert find("APDMem", "1", "agent", model="GPT-4.1").overall["accuracy"] == 87.8


def test_each_suite_has_its_main_tables() -> None:
    def main(suite: str) -> list[tuple[str, str]]:
        return [(table.paper, table.table) for table in published(suite) if table.main]

    assert main("paper-locomo") == [("BFR", "2"), ("BFR", "4")]
    assert main("paper-longmemeval") == [("BFR", "3"), ("BFR", "4"), ("APDMem", "1")]
    assert main("paper-conv30") == [("BFR", "8"), ("BFR", "9")]
    assert published("another") == ()
    assert {table.paper for table in published()} == set(papers())


def test_a_caption_names_paper_table_set_and_size() -> None:
    assert published("paper-conv30")[0].source == "BFR, Table 8 (LoCoMo conv-30 overlap, n = 81)"
