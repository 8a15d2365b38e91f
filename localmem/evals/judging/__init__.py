"""Judging answers: by rule where one is sure, else by a model whose reliability is measured and printed."""

from __future__ import annotations

from localmem.evals.judging.calibration import Calibration, calibrate, combined
from localmem.evals.judging.judge import Judge, Verdict
from localmem.evals.judging.protocol import PROTOCOLS
from localmem.evals.judging.sufficiency import Panel, Seat, Sufficiency

__all__ = [
    "PROTOCOLS",
    "Calibration",
    "Judge",
    "Panel",
    "Seat",
    "Sufficiency",
    "Verdict",
    "calibrate",
    "combined",
]
