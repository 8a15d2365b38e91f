"""Which models this machine has the memory and the processors for."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from localmem.models.catalog import CatalogEntry, catalog

LEAST_WINDOW = 2048
"""Tokens; below, there is no room for notes and an answer."""
_STEP = 1024  # tokens by which a window is made smaller until it fits
_SPARE = 0.7  # the share of free memory that an advised model may take: other programs want some too
_PROMPT = 2000  # tokens: the notes of a question
_PATIENCE = 60.0  # seconds for reading such a prompt
_SPEED = 43e9  # operations a second of one processor, measured: SmolLM2-135M reads 320 tokens/s on two
_BATCH = 512  # tokens of a prompt that are read at once; each may have a score for every word


@dataclass(frozen=True, slots=True)
class Fit:
    """How a model and the free memory go together."""

    entry: CatalogEntry
    ram: int
    """Bytes with the whole window."""
    window: int
    """Tokens of the largest window that fits, 0 when not even the smallest useful one does."""
    seconds: float
    """To read a prompt of 2,000 tokens, estimated from the size alone; a calibration measures it."""

    @property
    def fits(self) -> bool:
        """Whether the whole window does."""
        return self.window == self.entry.context


@dataclass(frozen=True, slots=True)
class Advice:
    """What ``localmem models list --advise`` says."""

    available: int
    """Bytes of memory that are free."""
    fits: tuple[Fit, ...]
    """Every chat model of the catalogue."""
    advised: str | None
    """Name of the strongest model that fits with room to spare and is quick enough."""
    reason: str


def available_ram() -> int:
    """Bytes that programs can have without swapping."""
    available: int = psutil.virtual_memory().available
    return available


def chat_buffers(vocabulary: int) -> int:
    """Bytes that llama.cpp takes beside weights and window; the catalogue's figures are made of it."""
    return _BATCH * vocabulary * 4 + 100_000_000


def fit(entry: CatalogEntry, available: int, cores: int) -> Fit:
    """How ``entry`` fits into ``available`` bytes, and how quick it is on so many cores."""
    windows = range(entry.context, min(LEAST_WINDOW, entry.context) - 1, -_STEP)
    window = next((window for window in windows if entry.ram(window) <= available), 0)
    seconds = _PROMPT * 2 * (entry.parameters or 0) / (_SPEED * cores)  # a product and a sum for each
    return Fit(entry, entry.ram(entry.context), window, seconds)


def advise(available: int, cores: int) -> Advice:
    """Advice for a machine with ``available`` bytes free and so many cores."""
    chat = [entry for entry in catalog().values() if entry.kind == "chat"]
    fits = tuple(fit(entry, available, cores) for entry in chat)
    good = [one for one in fits if one.ram <= available * _SPARE and one.seconds <= _PATIENCE]
    machine = (
        f"{available / 1e9:.1f} GB of memory are free, {cores} processor core{'s' if cores > 1 else ''}."
    )
    if not good:
        return Advice(available, fits, None, f"{machine} No model leaves enough memory to other programs.")
    best = good[-1]  # the catalogue goes from the weakest to the strongest
    reason = (
        f"{machine} {best.entry.name} takes {best.ram / 1e9:.1f} GB with its window of "
        f"{best.entry.context:,} tokens. It is the strongest that leaves a third of the memory to other "
        f"programs and reads {_PROMPT:,} tokens within a minute (about {best.seconds:.0f} s, estimated)."
    )
    return Advice(available, fits, best.entry.name, reason)
