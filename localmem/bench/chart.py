"""Charts: query time over messages, for localmem and its peers; speeds of reading and writing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from localmem.errors import BadInput
from localmem.peers import INSTALL

WAYS = {"host": "localmem", "raw": "llama.cpp", "high": "llama-cpp-python"}
"""What speed is measured of, and its name in a chart."""
Line = list[tuple[int, float]]
"""Messages and median milliseconds of a query."""


def check_chart(path: Path) -> None:
    """Raise :class:`BadInput` before the work when the chart could not be written after it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise BadInput(f"The chart needs matplotlib: {INSTALL}")
    if path.suffix != ".svg":
        raise BadInput(f"The chart is an SVG file; {path.name} does not end in .svg.")
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder {path.parent} for the chart.")


def lines(result: dict[str, Any]) -> dict[str, Line]:
    """What is drawn, by name: localmem at every size, a peer where it was measured."""
    drawn: dict[str, Line] = {"localmem": []}
    for row in result["rows"]:
        drawn["localmem"].append((row["messages"], row["query_ms"]["p50"]))
        for peer in row.get("peers", []):
            if peer["installed"] and peer["name"] != "localmem":
                line = drawn.setdefault(peer["name"], [])
                line.append((row["messages"], peer["query_ms"]["p50"]))
    return drawn


def write_chart(result: dict[str, Any], path: Path) -> None:
    """Draw the result of ``bench retrieval`` into an SVG file, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, line in lines(result).items():
        axes.plot(*zip(*line, strict=True), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="messages", ylabel="query, median ms, its vector included")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, format="svg", metadata={"Date": None})


def write_speed_chart(result: dict[str, Any], path: Path) -> None:
    """Draw the result of ``bench generation`` into an SVG file: bars of tokens a second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    sizes = [f"{row['prompt_tokens']:,}" for row in result["rows"]]
    for axes, (work, title) in zip(
        figure.subplots(1, 2), (("read_per_s", "read"), ("write_per_s", "written")), strict=True
    ):
        for place, (way, name) in enumerate(WAYS.items()):
            heights = [row[way][work]["median"] or 0 for row in result["rows"]]
            lefts = [number + 0.27 * (place - 1) for number in range(len(sizes))]
            axes.bar(lefts, heights, 0.25, label=name)
        axes.set_xticks(range(len(sizes)), sizes)
        axes.set(xlabel="prompt, tokens", ylabel=f"tokens {title} a second")
        axes.grid(axis="y", alpha=0.3)
    axes.legend()
    figure.savefig(path, format="svg", metadata={"Date": None})
