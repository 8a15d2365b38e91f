"""The report of runs: tables and plots out of their logs, as one HTML file or as Markdown.

Each section is made by a function from logs to plain values (:mod:`localmem.evals.report.parts`), and two
renderers turn these into text. Scores and statistics are those of :mod:`localmem.evals.scores` and
:mod:`localmem.evals.statistics`.
"""

from localmem.evals.report.building import build_report
from localmem.evals.report.html import html
from localmem.evals.report.markdown import markdown

__all__ = ["build_report", "html", "markdown"]
