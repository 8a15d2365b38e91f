"""The models of this machine: who serves each role, how well, and in how much memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Posted
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from localmem.errors import Cancelled, LocalmemError
from localmem.models.advice import advise, available_ram
from localmem.models.catalog import ModelRole
from localmem.models.cpus import inference_threads
from localmem.models.library import Library, ModelStatus
from localmem.models.protocols import ChatMessage
from localmem.probing.team import CHAT_ROLES, Team
from localmem.roles.trust import Trust
from localmem.tui.choice import Choice
from localmem.tui.commands import Place, bindings
from localmem.tui.dialogs import AskLine
from localmem.tui.failures import failure_text
from localmem.tui.text import MUTED, one_line

ROLES = (*CHAT_ROLES, ModelRole.EMBEDDER)
_OTHER = "other"
"""In place of a model's name: a file that is no model's of the catalogue."""
_EMBEDDER = "Another embedder is chosen outside of the chat: localmem models use embedder NAME"


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a home."""

    library: Library
    team: Team


@dataclass(frozen=True, slots=True)
class Served:
    """A role and who serves it, as a person reads it."""

    role: ModelRole
    name: str
    how: str
    """``model (its probe's 0.95 reaches 0.60)``"""
    memory: str
    """``0.5 GB, loaded``"""


class ServedRead(Posted):
    """Who serves which role now, and the chat models that could."""

    def __init__(
        self, served: Sequence[Served], installed: Mapping[str, str], advice: str, told: str
    ) -> None:
        self.served = served
        self.installed = installed
        self.advice = advice
        self.told = told
        super().__init__()


class GotOn(Posted):
    """What goes on has got so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__()


class Changed(Posted):
    """Something was done, and what it means."""

    def __init__(self, text: str, trust: Trust | None = None) -> None:
        self.text = text
        self.trust = trust
        super().__init__()


class ModelsPicker(ModalScreen[Trust | None]):
    """The roles. It returns the trust in the answerer when another one was chosen, else None."""

    AUTO_FOCUS = "OptionList"
    DEFAULT_CSS = """
    ModelsPicker { align: center middle; }
    ModelsPicker OptionList, ModelsPicker OptionList:focus {
        height: 1fr; border: none; padding: 0; background: $surface; background-tint: $foreground 0%;
        scrollbar-size-vertical: 1; }
    ModelsPicker #advice { height: auto; max-height: 25%; color: $text-muted; }
    ModelsPicker #told { height: auto; max-height: 6; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop"),
        Binding("escape", "leave", "Back"),
        *bindings(Place.MODELS),
    ]

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models
        self._served: dict[str, Served] = {}
        self._installed: Mapping[str, str] = {}
        self._trust: Trust | None = None
        self._changing = False
        self._at_work = ""
        """The model that is being loaded or probed; empty: none is."""
        self._stop = threading.Event()

    def compose(self) -> ComposeResult:
        """What is said, the roles, what would suit the machine."""
        with Vertical(classes="dialog -tall"):
            yield Static("Reading the models…", id="told", markup=False)
            yield OptionList(markup=False)
            yield Static("", id="advice", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read who serves."""
        self._read("Enter gives a role to another model.")

    def action_leave(self) -> None:
        """Back to the chat, which has to hear of another answerer."""
        if not self._changing:
            self.dismiss(self._trust)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is something to stop only while something goes on; until then nothing else can be done."""
        if action in ("stop", "leave", "load", "unload", "probe"):
            return bool(self._at_work) == (action == "stop")
        return True

    def action_stop(self) -> None:
        """Stop loading or probing, in the middle of a reply too: the model is taken out of memory."""
        self._stop.set()
        self._tell("Stopping…")
        self._abort(self._at_work)

    def action_probe(self) -> None:
        """Test the highlighted model."""
        served = self._highlighted()
        if served is not None:
            self._begin(served.name, f"Probing {one_line(served.name)}… Esc stops.")
            self._probe(served.name)

    def action_load(self) -> None:
        """Load the highlighted model."""
        served = self._highlighted()
        if served is not None:
            self._begin(served.name, f"Loading {one_line(served.name)}… Esc stops.")
            self._load(served.name)

    def action_unload(self) -> None:
        """Free the memory of the highlighted model."""
        served = self._highlighted()
        if served is not None:
            self._unload(served.name)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if self._at_work or self._changing:
            self._tell("Something else has to end first.")
            return
        role = ROLES[event.option_index]
        if role is ModelRole.EMBEDDER:
            self._tell(_EMBEDDER)
            return

        def use(name: str | None) -> None:
            if name:
                self._tell(f"{role}: looking at {one_line(name)}…")
                self._changing = True
                self._use(role, name)

        def chosen(name: str | None) -> None:
            if name == _OTHER:
                self.app.push_screen(AskLine("The path of a .gguf file:"), use)
            else:
                use(name)

        ways = {**self._installed, _OTHER: "A .gguf file of yours…"}
        self.app.push_screen(Choice(f"Which model is to be the {role}?", ways), chosen)

    def _begin(self, name: str, text: str) -> None:
        self._at_work = name
        self._stop = threading.Event()
        self._tell(text)
        self.refresh_bindings()

    def _end(self) -> None:
        self._at_work = ""
        self._changing = False
        self.refresh_bindings()

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _read(self, told: str) -> None:
        library = self._models.library
        status = {model.name: model for model in library.status()}
        chat = [model for model in status.values() if model.kind == "chat" and model.installed]
        installed = {model.name: f"{one_line(model.name)}  {_memory(model)}" for model in chat}
        served = [self._look(role, status[library.role(role)]) for role in ROLES]
        self.post_message(ServedRead(served, installed, _advice(), told))

    def _look(self, role: ModelRole, model: ModelStatus) -> Served:
        memory = _memory(model)
        if not model.installed:
            gone = "the file is gone: Enter chooses another model"
            get = (
                gone if model.name.endswith(".gguf") else f"not installed: localmem models pull {model.name}"
            )
            return Served(role, model.name, get, memory)
        if role is ModelRole.EMBEDDER:
            return Served(role, model.name, "finds messages by meaning", memory)
        try:
            name, _, how = self._models.team.serving(role).partition(", ")
        except LocalmemError as error:  # a damaged file
            return Served(role, model.name, failure_text(error), memory)
        loaded = "loaded" if self._models.library.loaded(model.name) else "not loaded"
        return Served(role, name, how, f"{memory}, {loaded}")

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _use(self, role: ModelRole, name: str) -> None:
        told = self._models.team.use(role, name)
        trust = self._models.team.standing(role).trust if role is ModelRole.ANSWERER else None
        self.post_message(Changed(told, trust))

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _load(self, name: str) -> None:
        model = self._models.library.open_chat(name)
        model.count([ChatMessage("user", "")])  # a model is loaded when it is first asked for something
        self.post_message(Changed(f"{one_line(name)} is loaded."))

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _probe(self, name: str) -> None:
        stop = self._stop

        def show(role: ModelRole, done: int, total: int) -> None:
            if stop.is_set():
                raise Cancelled("Stopped.")
            self.post_message(GotOn(f"Probing {one_line(name)}: {role}, {done} of {total}. Esc stops."))

        standings = self._models.team.probe(name, show)
        scores = ", ".join(f"{role} {standing.reason}" for role, standing in standings.items())
        serves = self._models.library.role(ModelRole.ANSWERER) == name
        trust = self._models.team.standing(ModelRole.ANSWERER).trust if serves else None
        self.post_message(Changed(f"{one_line(name)}: {scores}.", trust))

    @work(thread=True, group="abort", exit_on_error=False)
    def _abort(self, name: str) -> None:
        self._models.library.unload(name)

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _unload(self, name: str) -> None:
        self._models.library.unload(name)
        told = f"{one_line(name)} is not loaded any more; it is loaded again when it is needed."
        self.post_message(Changed(told))

    def on_served_read(self, message: ServedRead) -> None:
        """Show the roles; the highlighted one stays."""
        self._served = {served.role.value: served for served in message.served}
        self._installed = message.installed
        options = self.query_one(OptionList)
        place = options.highlighted or 0
        options.clear_options()
        options.add_options([Option(_line(served), id=served.role.value) for served in message.served])
        options.highlighted = place
        self.query_one("#advice", Static).update(Content(message.advice))
        self._tell(message.told)

    def on_got_on(self, message: GotOn) -> None:
        """Show how far it is."""
        if not self._stop.is_set():
            self._tell(message.text)

    def on_changed(self, message: Changed) -> None:
        """Show what it changed."""
        self._end()
        self._trust = message.trust or self._trust
        self._read(message.text)

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR and event.worker.name == "_read":
            self._tell(failure_text(event.worker.error))
        elif event.state is WorkerState.ERROR:
            stopped = bool(self._at_work) and self._stop.is_set()
            self._end()
            self._read("Stopped." if stopped else failure_text(event.worker.error))

    def _highlighted(self) -> Served | None:
        """The highlighted role, if a chat model serves it."""
        options = self.query_one(OptionList)
        if options.highlighted is None:
            return None
        role = options.get_option_at_index(options.highlighted).id or ""
        if role == ModelRole.EMBEDDER:
            self._tell("The embedder is loaded as long as the chat runs.")
            return None
        return self._served[role]

    def _tell(self, text: str) -> None:
        self.query_one("#told", Static).update(Content(text))


def _memory(model: ModelStatus) -> str:
    if model.ram:
        return f"{model.ram / 1e9:.1f} GB"
    return "damaged" if model.installed else ""


def _line(served: Served) -> Content:
    head = Content.assemble(
        (f"{served.role:11}", "bold"), f" {one_line(served.name)}  ", (served.memory, MUTED)
    )
    return Content("\n").join([head, Content.styled(f"{'':11} {one_line(served.how)}", MUTED)])


def _advice(available: Callable[[], int] = available_ram) -> str:
    """Which chat model would suit the machine. It only says so: nothing is fetched from the chat."""
    advice = advise(available(), inference_threads())
    best = next((fit for fit in advice.fits if fit.entry.name == advice.advised), None)
    if best is None:
        return advice.reason
    return (
        f"{advice.available / 1e9:.1f} GB of memory are free. Here would suit {best.entry.name} "
        f"({best.ram / 1e9:.1f} GB, about {best.seconds:.0f} s to read 2,000 tokens): "
        f"localmem models pull {best.entry.name}"
    )
