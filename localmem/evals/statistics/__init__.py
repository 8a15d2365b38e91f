"""Statistics of scores, on plain numbers: intervals, paired tests, repeated runs, agreement.

Everything is seeded and gives the same for the same questions in any order. scipy and statsmodels do the work
(extra ``eval``); they are loaded when a function needs them, so that running an arm does not.
"""

from localmem.evals.statistics.agreement import agreement, kappa
from localmem.evals.statistics.intervals import CONFIDENCE, RESAMPLES, Mean, mean_interval
from localmem.evals.statistics.paired import holm, mcnemar, paired_bootstrap
from localmem.evals.statistics.repeated import Welch, bca_difference, welch

__all__ = [
    "CONFIDENCE",
    "RESAMPLES",
    "Mean",
    "Welch",
    "agreement",
    "bca_difference",
    "holm",
    "kappa",
    "mcnemar",
    "mean_interval",
    "paired_bootstrap",
    "welch",
]
