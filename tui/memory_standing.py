"""How memory stands, told above the list of what it holds: its layers, and the work left for idle time."""

from __future__ import annotations

from textual import on, work
from textual.content import Content
from textual.message import Message as Posted
from textual.widgets import Static
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.errors import BadInput
from localmem.layers.idle import Backlog, IdleBuilder
from localmem.memory import Memory
from localmem.tui.failures import failure_text
from localmem.tui.text import coverage_text, left_text

BACKLOG_S = 2.0
"""How often the work of idle time is told."""


class Told(Posted):
    """How complete the layers are, or how far the count of it is; and the work of idle time."""

    def __init__(self, layers: str | None = None, backlog: Backlog | None = None) -> None:
        self.layers = layers
        self.backlog = backlog
        super().__init__()


class Standing(Static):
    """Lines that are kept up to date while they are shown."""

    DEFAULT_CSS = "Standing { color: $text-muted; height: auto; padding: 0 1; }"

    def __init__(self, memory: Memory, idle: IdleBuilder | None) -> None:
        super().__init__("Reading…", markup=False)
        self._memory = memory
        self._idle = idle
        self._listed = "Reading…"
        self._done = ""
        self._layers = ""
        self._backlog = ""

    def on_mount(self) -> None:
        """Begin to count."""
        self._count_layers()
        if self._idle is not None:
            self._read_backlog(self._idle)
            self.set_interval(BACKLOG_S, lambda: self._idle and self._read_backlog(self._idle))

    def tell(self, listed: str) -> None:
        """Say what is listed."""
        self._listed = listed
        self._update()

    def say(self, done: str) -> None:
        """Say what was done last; not in a window of its own, which would lie over the list."""
        self._done = done
        self._update()

    @work(thread=True, exclusive=True, group="layers", exit_on_error=False)
    def _count_layers(self) -> None:
        worker = get_current_worker()

        def progress(done: int, total: int) -> None:
            if worker.is_cancelled:  # the person has left; this is the only way out of a long count
                raise BadInput("No longer wanted.")
            if done % 50 == 0:
                self.post_message(Told(layers=f"Looking at the layers: {done:,} of {total:,} sessions…"))

        stands = self._memory.layer_stats(progress)
        self.post_message(Told(layers=coverage_text(stands)))

    @work(thread=True, exclusive=True, group="backlog", exit_on_error=False)
    def _read_backlog(self, idle: IdleBuilder) -> None:
        self.post_message(Told(backlog=idle.backlog()))

    def on_told(self, message: Told) -> None:
        """Show it."""
        if message.layers is not None:
            self._layers = message.layers
        if message.backlog is not None:
            self._backlog = left_text(message.backlog)
        self._update()

    def _update(self) -> None:
        lines = (self._listed, self._done, self._layers, self._backlog)
        self.update(Content("\n".join(line for line in lines if line)))

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self._layers = failure_text(event.worker.error)
            self._update()
