"""Compare runs: paired by question where they ran once, as groups where they ran several times."""

from localmem.evals.comparing.pairs import (
    LESS_IS_BETTER,
    QUALITY,
    SIGNIFICANT,
    Comparison,
    Difference,
    compare,
    compare_with,
)
from localmem.evals.comparing.repeats import DETERMINISTIC, Contrast, Group, MultiRun, Spread, multi_run
from localmem.evals.comparing.words import comparison_lines, multi_run_lines, to_json

__all__ = [
    "DETERMINISTIC",
    "LESS_IS_BETTER",
    "QUALITY",
    "SIGNIFICANT",
    "Comparison",
    "Contrast",
    "Difference",
    "Group",
    "MultiRun",
    "Spread",
    "compare",
    "compare_with",
    "comparison_lines",
    "multi_run",
    "multi_run_lines",
    "to_json",
]
