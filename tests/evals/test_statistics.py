from __future__ import annotations

import random
import subprocess
import sys
from fractions import Fraction
from itertools import product
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests

from localmem.errors import BadInput
from localmem.evals.statistics import (
    agreement,
    bca_difference,
    holm,
    kappa,
    mcnemar,
    mean_interval,
    paired_bootstrap,
    welch,
)
from localmem.evals.statistics.intervals import resampled_means, units

SCORES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
NAMED = st.lists(st.tuples(SCORES, st.sampled_from("abcdef")), min_size=2, max_size=40)


def drawn(seed: int, count: int) -> list[float]:
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0], count).tolist()


def widened_tail(count: int) -> float:
    """Hesterberg (2015), worked out beside the code."""
    return float(stats.norm.cdf(-sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1)))


# --- a mean and its interval


@pytest.mark.parametrize("clusters", [None, ["one"] * 60, [f"c{i}" for i in range(60)]])
def test_an_unclustered_interval_is_bca_of_scipy(clusters: list[str] | None) -> None:
    values = drawn(1, 60)
    mean = mean_interval(values, clusters, seed=7)
    found = stats.bootstrap(
        (np.sort(values),), np.mean, n_resamples=10_000, method="BCa", rng=np.random.default_rng(7)
    ).confidence_interval
    assert mean is not None
    assert mean.method == "BCa"
    assert mean.clusters == 60
    assert mean.error == pytest.approx(np.std(values, ddof=1) / sqrt(60))
    assert (mean.low, mean.high) == (found.low, found.high)


def test_the_error_is_the_cluster_robust_one_of_statsmodels() -> None:
    values, clusters = drawn(2, 50), [str(i % 7) for i in range(50)]
    mean = mean_interval(values, clusters)
    fit = OLS(values, np.ones(50)).fit(cov_type="cluster", cov_kwds={"groups": [int(c) for c in clusters]})
    assert mean is not None
    assert mean.error == pytest.approx(fit.bse[0])


def test_the_cluster_robust_error_agrees_with_one_worked_by_hand() -> None:
    """Conversations (1, 1) and (0, 0): G/(G-1) * (n-1)/(n-1) * sum of squared residual sums / n^2."""
    mean = mean_interval([1, 1, 0, 0], ["a", "a", "b", "b"])
    assert mean is not None
    assert mean.error == pytest.approx(sqrt(2 * (1 + 1) / 16))


def test_resampled_means_have_the_law_that_enumeration_gives() -> None:
    """Three conversations of different size: all 27 samples, against the share of each mean drawn."""
    values, clusters = [1, 0, 1, 1, 0, 0], list("aabccc")
    conversations = {"a": (1, 2), "b": (1, 1), "c": (1, 3)}  # sum and size
    law: dict[Fraction, Fraction] = {}
    for sample in product(conversations.values(), repeat=3):
        mean = Fraction(sum(s for s, _ in sample), sum(n for _, n in sample))
        law[mean] = law.get(mean, Fraction(0)) + Fraction(1, 27)
    means = resampled_means(units(values, clusters), seed=0)
    counts = [np.count_nonzero(np.isclose(means, float(mean))) for mean in law]
    assert sum(counts) == len(means) == 10_000
    assert stats.chisquare(counts, [float(share) * 10_000 for share in law.values()]).pvalue > 0.001


def test_a_clustered_interval_agrees_with_a_plain_bootstrap_of_conversations() -> None:
    rows = [(value, f"c{i % 6}") for i, value in enumerate(drawn(3, 90))]
    groups = {name: [v for v, own in rows if own == name] for _, name in rows}
    rng = random.Random(5)
    means = []
    for _ in range(4000):
        sample = [value for _ in groups for value in groups[rng.choice(list(groups))]]
        means.append(sum(sample) / len(sample))
    low, high = np.quantile(means, [widened_tail(6), 1 - widened_tail(6)])
    mean = mean_interval([value for value, _ in rows], [name for _, name in rows])
    assert mean is not None
    assert mean.method == "clustered"
    assert mean.low == pytest.approx(low, abs=0.01)
    assert mean.high == pytest.approx(high, abs=0.01)


def test_questions_that_repeat_their_conversation_make_the_interval_no_narrower() -> None:
    values = drawn(4, 12)
    clusters = [f"c{i}" for i in range(12)]
    once = mean_interval(values * 2, clusters * 2)
    alone = mean_interval(values * 2)
    assert once is not None
    assert alone is not None
    assert once.high - once.low > 1.3 * (alone.high - alone.low)  # type: ignore[operator]


def test_two_conversations_give_the_whole_way_from_one_mean_to_the_other() -> None:
    mean = mean_interval([1, 1, 0, 0], ["a", "a", "b", "b"])
    assert mean is not None
    assert (mean.low, mean.high) == pytest.approx((0, 1), abs=1e-3)


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([1.0], None), ([0.1] * 9, None), ([0.1] * 9, list("aaabbbccc")), ([0, 1, 0, 1], list("aabb"))],
)
def test_where_nothing_varies_there_is_no_interval(values: list[float], clusters: list[str] | None) -> None:
    mean = mean_interval(values, clusters)
    assert mean is not None
    assert mean.value == pytest.approx(sum(values) / len(values))
    assert (mean.low, mean.high, mean.error) == (None, None, None)


def test_nothing_has_no_mean() -> None:
    assert mean_interval([]) is None
    assert paired_bootstrap([], []) == (None, None)


@settings(max_examples=60, deadline=None)
@given(NAMED, st.randoms(use_true_random=False), st.booleans())
def test_an_interval_holds_its_mean_and_forgets_the_order(
    rows: list[tuple[float, str]], rng: random.Random, clustered: bool
) -> None:
    def interval(rows: list[tuple[float, str]]) -> object:
        values, clusters = [value for value, _ in rows], [name for _, name in rows]
        return mean_interval(values, clusters if clustered else None)

    mean = interval(rows)
    assert mean == interval(rng.sample(rows, len(rows)))
    if mean.low is not None:  # type: ignore[attr-defined]
        assert mean.low - 1e-9 <= mean.value <= mean.high + 1e-9  # type: ignore[attr-defined]


# --- two systems on the same questions


def test_the_same_scores_twice_give_p_1() -> None:
    values = drawn(5, 30)
    mean, p = paired_bootstrap(values, values, [str(i % 4) for i in range(30)])
    assert mean is not None
    assert (mean.value, p) == (0, 1)


def test_the_bootstrap_p_is_the_share_of_all_samples_that_lie_as_far() -> None:
    """Four differences: all 256 samples; then the tail of t with 3 degrees of freedom."""
    first, second = [1.0, 0.5, 1.0, 0.0], [0.0, 0.5, 0.25, 0.25]
    differences = np.subtract(first, second)
    away = [abs(np.mean(sample) - differences.mean()) for sample in product(differences, repeat=4)]
    share = sum(one >= differences.mean() - 1e-12 for one in away) / len(away)
    widened = 2 * stats.t.sf(stats.norm.isf(share / 2) * sqrt(3 / 4), 3)
    _, p = paired_bootstrap(first, second)
    assert p == pytest.approx(widened, abs=0.02)


def test_few_conversations_cannot_make_a_difference_sure() -> None:
    def p(conversations: int) -> float:
        count = 20 * conversations
        first = [1 + i / count for i in range(count)]
        found = paired_bootstrap(first, [0.0] * count, [str(i % conversations) for i in range(count)])[1]
        assert found is not None
        return found

    assert p(2) > 0.2
    assert p(2) > p(5) > p(10) > p(40)
    assert p(5) == pytest.approx(0.025, abs=0.001)
    assert p(40) < 0.001


def test_differences_that_are_all_alike_give_no_p() -> None:
    mean, p = paired_bootstrap([1, 1, 1], [0.5, 0.5, 0.5])
    assert mean is not None
    assert (mean.value, mean.low, p) == (0.5, None, None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SCORES, SCORES, st.sampled_from("abc")), min_size=1, max_size=25), st.randoms())
def test_a_paired_test_forgets_order_and_knows_no_direction(
    rows: list[tuple[float, float, str]], rng: random.Random
) -> None:
    def test(rows: list[tuple[float, float, str]]) -> tuple[object, float | None]:
        first, second, clusters = zip(*rows, strict=True)
        return paired_bootstrap(first, second, clusters)

    mean, p = test(rows)
    assert (mean, p) == test(rng.sample(rows, len(rows)))
    back, same = test([(b, a, name) for a, b, name in rows])
    assert mean.value == pytest.approx(-back.value)  # type: ignore[attr-defined]
    assert (p is None) == (same is None)
    if p is not None:
        assert 0 < p <= 1
        assert p == pytest.approx(same, abs=0.05)


def test_the_bootstrap_tells_a_difference_that_t_tells_too() -> None:
    rng = np.random.default_rng(8)
    first, second = rng.normal(0.6, 0.2, 200), rng.normal(0.57, 0.2, 200)
    _, p = paired_bootstrap(first.tolist(), second.tolist())
    assert p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)


@pytest.mark.parametrize(("win", "loss"), [(0, 0), (3, 12), (5, 5), (13, 0), (7, 0), (40, 22)])
def test_mcnemar_is_the_two_sided_sign_test_of_the_pairs_that_differ(win: int, loss: int) -> None:
    tail = sum(comb(win + loss, k) for k in range(min(win, loss) + 1)) / 2 ** (win + loss)
    assert mcnemar(win, loss) == pytest.approx(min(1, 2 * tail))
    assert mcnemar(win, loss) == mcnemar(loss, win)


def test_mcnemar_gives_what_the_paper_prints() -> None:
    """BFR, Appendix P: 13 to 0 (p = 2.4e-4) and 7 to 0 (p = 0.016)."""
    assert round(mcnemar(13, 0), 5) == 0.00024
    assert round(mcnemar(7, 0), 3) == 0.016


def test_holm_agrees_with_a_family_worked_by_hand() -> None:
    """0.01 * 3; 0.03 * 2 = 0.06; 0.04 * 1 is no less than 0.06."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([]) == ()


@pytest.mark.parametrize("seed", range(3))
def test_holm_agrees_with_statsmodels(seed: int) -> None:
    p = np.random.default_rng(seed).beta(0.2, 1, 20).round(2 + seed).tolist()
    assert holm(p) == pytest.approx(tuple(multipletests(p, method="holm")[1]))


@settings(deadline=None)
@given(st.lists(st.sampled_from([k / 200 for k in range(201)]), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_makes_no_p_smaller(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(one <= after <= 1 for one, after in zip(p, adjusted, strict=True))
    ranked = [after for _, after in sorted(zip(p, adjusted, strict=True))]
    assert ranked == sorted(ranked)


# --- repeated runs


def test_welch_agrees_with_scipy_and_with_its_formula() -> None:
    first, second = [87.1, 88.0, 86.4, 88.9], [84.0, 83.2, 84.9]
    test = welch(first, second)
    assert test is not None
    parts = [np.var(group, ddof=1) / len(group) for group in (first, second)]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2)
    assert test.difference == pytest.approx(np.mean(first) - np.mean(second))
    assert test.t == pytest.approx(test.difference / sqrt(sum(parts)))
    assert test.df == pytest.approx(df)
    assert test.p == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue)
    half = stats.t.ppf(0.975, df) * sqrt(sum(parts))
    assert (test.low, test.high) == pytest.approx((test.difference - half, test.difference + half))


def test_ten_runs_of_each_as_in_the_paper_give_an_interval_like_the_papers() -> None:
    """APDMem, Tables 7 and 8: 87.5 ± 1.0 and 84.1 ± 0.7 over 10 runs; [2.55, 4.25] and BCa [2.70, 4.20]."""

    def runs(mean: float, deviation: float) -> list[float]:
        spread = np.arange(10) - 4.5
        return (mean + deviation * spread / np.std(spread, ddof=1)).tolist()

    first, second = runs(87.5, 1.0), runs(84.1, 0.7)
    test, bca = welch(first, second), bca_difference(first, second)
    assert test is not None
    assert (test.low, test.high) == pytest.approx((2.55, 4.25), abs=0.06)
    assert test.p < 1e-6
    assert bca == pytest.approx((2.70, 4.20), abs=0.1)


def test_bca_of_two_groups_is_scipys() -> None:
    first, second = [0.81, 0.84, 0.79, 0.86], [0.75, 0.78, 0.8]

    def difference(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return a.mean(axis=axis) - b.mean(axis=axis)

    found = stats.bootstrap(
        (np.sort(first), np.sort(second)), difference, n_resamples=10_000, rng=np.random.default_rng(3)
    ).confidence_interval
    assert bca_difference(first, second, seed=3) == (found.low, found.high)
    assert bca_difference(first[::-1], second, seed=3) == (found.low, found.high)


def test_runs_that_do_not_vary_have_no_welch_test() -> None:
    assert welch([0.5, 0.5], [0.7, 0.7]) is None
    assert bca_difference([0.5, 0.5], [0.7, 0.7]) is None


def test_one_group_of_equal_runs_is_tested_by_the_other() -> None:
    test = welch([0.5, 0.5, 0.5], [0.7, 0.6, 0.8])
    assert test is not None
    assert test.t == pytest.approx(-0.2 / sqrt(0.01 / 3))
    assert test.df == pytest.approx(2)


# --- raters


def test_kappa_gives_what_the_paper_prints() -> None:
    """APDMem, Table 9, knowledge-update: 19 of 20 agree; the judge says WRONG once more, 7 times to 6."""
    judge, human = ["WRONG"] * 7 + ["CORRECT"] * 13, ["WRONG"] * 6 + ["CORRECT"] * 14
    assert agreement(judge, human) == 0.95
    assert round(kappa(judge, human) or 0, 3) == 0.886


def test_kappa_is_undefined_where_both_say_the_same_of_everything() -> None:
    assert kappa(["CORRECT"] * 9, ["CORRECT"] * 9) is None
    assert kappa([], []) is None
    assert agreement([], []) is None


def test_a_rater_that_always_says_the_same_agrees_no_better_than_chance() -> None:
    assert kappa(["CORRECT"] * 4, ["CORRECT", "CORRECT", "CORRECT", "WRONG"]) == pytest.approx(0)
    assert kappa(["CORRECT"] * 4, ["WRONG"] * 4) == pytest.approx(0)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=30))
def test_kappa_agrees_with_statsmodels(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    table = [[pairs.count((a, b)) for b in "abc"] for a in "abc"]
    assume(len(set(first)) > 1)  # else statsmodels divides by 0 on the way to its error
    assert kappa(first, second) == pytest.approx(cohens_kappa(table, return_results=False))


# --- the extra


@pytest.mark.parametrize("library", ["scipy", "statsmodels"])
def test_a_missing_library_says_what_to_install(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BadInput, match=r"pip install 'localmem-assistant\[eval\]'"):
        mean_interval([0, 1, 1])
    assert kappa("ab", "ab") == 1


def test_an_arm_runs_without_the_statistics_libraries() -> None:
    script = (
        "import sys\n"
        "sys.modules['scipy'] = sys.modules['statsmodels'] = None\n"
        "import localmem.evals.run, localmem.evals.comparing, localmem.evals.folds, localmem.evals.pareto\n"
    )
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)
