"""The conversation on the screen: the session that is open, and the reply that is running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.answering.dialogue import Dialogue, With
from localmem.answering.prompting import REPLY_TOKENS, THINK_TOKENS
from localmem.events import AnswerDelta, Event, Fallback, Recalled, Replied, SecretsNoticed, Stored
from localmem.memory import Memory
from localmem.models.protocols import ChatModel, StopReason, ThoughtDelta
from localmem.privacy.secrets import Policy
from localmem.roles.trust import TRUSTED, Trust
from localmem.tui import reading
from localmem.tui.basis import Basis
from localmem.tui.failures import failure_text
from localmem.tui.messages import (
    EntriesRead,
    Failed,
    Opened,
    ReplyDone,
    ReplyEnded,
    ReplyEvent,
    ReplyTold,
    SaidStored,
    StatusChanged,
    WayRead,
)
from localmem.tui.reading import Entry, Way
from localmem.tui.text import attached_line, cost_line, end_note, label_of, shown
from localmem.tui.transcript import Transcript
from localmem.tui.views import Reply, Said
from localmem.types import Message

_ENDED = (WorkerState.SUCCESS, WorkerState.ERROR, WorkerState.CANCELLED)


class Talk(Vertical):
    """One session at a time, one reply at a time. ``held`` is entered while a reply runs."""

    def __init__(
        self,
        memory: Memory,
        trust: Trust = TRUSTED,
        held: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        super().__init__()
        self.dialogue: Dialogue = memory.dialogue()
        self.opening = False
        """Whether a session is being read."""
        self.cancel: threading.Event | None = None
        """Set to stop the reply that is running; None: none is."""
        self._memory = memory
        self.trust = trust
        self.held = held
        self.thinks = False
        """Whether the model may think before it replies."""
        self._way = Way(None, [], {})
        self.basis = Basis(over=True)
        """What the reply rests on that is running, or ran last."""
        self.bases: dict[int, Basis] = {}
        """The same of replies of this run, by the id of their message."""
        self._reply: Reply | None = None
        self._replacing = False
        self._saying = self._warned_of = ""

    def compose(self) -> ComposeResult:
        """The messages."""
        yield Transcript()

    @property
    def way(self) -> Way:
        """The session on the screen."""
        return self._way

    @property
    def transcript(self) -> Transcript:
        """The list of messages."""
        return self.query_one(Transcript)

    def on_unmount(self) -> None:
        """However the screen ends, a reply that is running is stopped and then stored by its thread."""
        if self.cancel is not None:
            self.cancel.set()

    # A session

    async def begin(self, *, private: bool = False) -> None:
        """Begin a new chat."""
        self.workers.cancel_group(self, "session")
        self.dialogue = self._memory.private_dialogue() if private else self._memory.dialogue()
        self._way = Way(None, [], {})
        await self.transcript.begin()

    def open(self, session_id: int, message_id: int | None = None) -> None:
        """Open a session, at a message or at its end; :class:`Opened` follows."""
        self.opening = True
        self._read_session(session_id, message_id)

    def reopen(self, message_id: int | None = None) -> None:
        """Read the session again, whose way has changed."""
        self.opening = True
        self._read(self.dialogue, message_id)

    @work(thread=True, exclusive=True, group="session", exit_on_error=False)
    def _read_session(self, session_id: int, message_id: int | None) -> None:
        self._read_way(self._memory.dialogue(session_id), message_id)

    @work(thread=True, exclusive=True, group="session", exit_on_error=False)
    def _read(self, dialogue: Dialogue, message_id: int | None) -> None:
        self._read_way(dialogue, message_id)

    def _read_way(self, dialogue: Dialogue, message_id: int | None) -> None:
        way = reading.read_way(self._memory, dialogue, message_id)
        places = {message.id: place for place, message in enumerate(way.messages)}
        end = len(way.messages)
        if message_id in places:
            end = min(places[message_id] + reading.BATCH_MESSAGES // 2, end)
        entries = reading.entries_before(self._memory, way, end)
        if not get_current_worker().is_cancelled:
            self.dialogue = dialogue
            self.post_message(WayRead(way, entries, end - len(entries)))

    async def on_way_read(self, message: WayRead) -> None:
        """Show the session."""
        way = self._way = message.way
        self.opening = False
        transcript = self.transcript
        await transcript.begin(self._with_thoughts(message.entries), message.first, len(way.messages))
        if way.focus is not None:
            transcript.focus_message(way.focus)
        self.post_message(Opened(way))

    def on_transcript_more_wanted(self, message: Transcript.MoreWanted) -> None:
        """Read more of the session."""
        place = self.transcript.first if message.older else self.transcript.end
        self._read_more(self._way, place, older=message.older)

    # With a description: without one textual writes out all arguments, that is every message.
    @work(thread=True, exclusive=True, group="more", exit_on_error=False, description="more")
    def _read_more(self, way: Way, place: int, *, older: bool) -> None:
        batch = reading.entries_before if older else reading.entries_after
        entries = batch(self._memory, way, place, reading.MORE_MESSAGES)
        self.post_message(EntriesRead(way, entries, place, older=older))

    async def on_entries_read(self, message: EntriesRead) -> None:
        """Show more of the session, if it is still the same."""
        if message.way is self._way:
            entries = self._with_thoughts(message.entries)
            await self.transcript.extend(entries, message.place, older=message.older)

    def _with_thoughts(self, entries: Sequence[Entry]) -> list[Entry]:
        """Entries with what was thought before them in this run: the file keeps none of it."""
        thoughts = {i: basis.thought for i, basis in self.bases.items() if basis.thought}
        return [replace(entry, thought=thoughts.get(entry.message.id, "")) for entry in entries]

    # A reply

    def say(self, text: str, model: ChatModel, attachments: str = "", replaces: int | None = None) -> None:
        """Say something and get the reply; ``replaces``: as another version of that message."""
        self._saying = text

        def events(by: With) -> Iterator[Event]:
            return self.dialogue.say(text, by, attachments=attachments, replaces=replaces)

        self._start(events, model, replaces)

    def answer_again(self, message_id: int, model: ChatModel, without: frozenset[int] = frozenset()) -> None:
        """Get another version of an answer, or the answer that is missing; ``without`` is not recalled."""
        self._start(lambda by: self.dialogue.answer_again(message_id, by), model, message_id, without)

    def stop(self) -> None:
        """Stop the reply that is running; what was written is kept."""
        if self.cancel is not None:
            self.cancel.set()
            self.post_message(StatusChanged("Stopping…"))

    def _start(
        self,
        events: Callable[[With], Iterator[Event]],
        model: ChatModel,
        old: int | None,
        without: frozenset[int] = frozenset(),
    ) -> None:
        self.basis = Basis(without=without)
        self.cancel = threading.Event()
        self._replacing = old is not None
        self.post_message(StatusChanged("Searching memory…"))
        think = THINK_TOKENS if self.thinks else 0
        self._run(events, With(model, self.trust, self.cancel, without, think), old)

    @work(thread=True, exclusive=True, group="reply", exit_on_error=False, description="reply")
    def _run(self, events: Callable[[With], Iterator[Event]], by: With, old: int | None) -> None:
        with self.held():
            basis = self.basis
            for event in events(by):
                if isinstance(event, SecretsNoticed) and not self._may_keep():
                    self.post_message(ReplyEvent(event, old))
                    return  # nothing is stored yet
                basis.take(event)
                if isinstance(event, Replied):
                    self.post_message(ReplyDone(event, self._entry(event)))
                else:
                    self.post_message(ReplyEvent(event, old))

    def _may_keep(self) -> bool:
        """Whether a message with secrets may be stored: it is masked, or was sent again after the warning."""
        if self._memory.secrets is not Policy.WARN or self._saying == self._warned_of:
            return True
        self._warned_of = self._saying
        return False

    def _entry(self, replied: Replied) -> Entry | None:
        """What is shown of a reply that was stored."""
        if replied.message is None:
            return None
        sources = reading.sources_of(self._memory, replied.citations)
        return self._entry_of(replied.message, sources)

    def _entry_of(self, message: Message, sources: tuple[reading.Source, ...] = ()) -> Entry:
        versions = self.dialogue.versions().get(message.id, ())
        text = shown(message.text, message.session_id or None)
        return Entry(
            message=message,
            label=label_of(message),
            text=text,
            blocks=reading.blocks_for(message, text),
            attached=attached_line(message.attachments),
            version=reading.version_mark(versions, message.id),
            cost="",
            sources=sources,
        )

    async def on_reply_event(self, message: ReplyEvent) -> None:
        """Show how the reply goes on."""
        match message.event:
            case SecretsNoticed(kinds):
                self.app.notify(
                    f"Not sent yet: it holds what looks like a {', a '.join(kinds)}. Enter again sends and "
                    "keeps it. To have such things masked: localmem --secrets mask",
                    severity="warning",
                    timeout=20,
                    markup=False,
                )
            case Stored(said):
                await self._goes_on(said, message.replaces)
                await self.transcript.add(Said(self._entry_of(said)))
                await self._begin_reply()
                self.post_message(SaidStored(said))
            case Recalled(evidence):
                recalled = f"Reading {len(evidence)} recalled messages… Esc stops."
                self.post_message(StatusChanged(recalled))
            case Fallback() if self._reply is not None:
                self._reply.withdraw()
            case ThoughtDelta(text):
                self.post_message(StatusChanged("Thinking… Esc stops."))
                await (await self._replying(message.replaces)).think(text)
            case AnswerDelta(text):
                self.post_message(StatusChanged("Writing… Esc stops."))
                (await self._replying(message.replaces)).write(text)

    async def _goes_on(self, message: Message, replaces: int | None) -> None:
        """Bring the end of the session on the screen, and put a new message there."""
        await self._cut(replaces)
        total = len(self._way.messages)
        if self.transcript.end < total:
            entries = reading.entries_before(self._memory, self._way, total)
            await self.transcript.begin(self._with_thoughts(entries), total - len(entries), total)
        self._way.messages.append(message)

    async def _cut(self, message_id: int | None) -> None:
        """Take this message and what follows it off the screen: another version comes in its place."""
        place = self._way.place(message_id) if message_id is not None else None
        if place is None:
            return
        self._way.messages[place:] = []
        transcript = self.transcript
        if transcript.first < place <= transcript.end:
            await transcript.cut(place)
        else:
            entries = reading.entries_before(self._memory, self._way, place)
            await transcript.begin(self._with_thoughts(entries), place - len(entries), place)

    async def _replying(self, replaces: int | None) -> Reply:
        """The reply on the screen; another version of an answer comes there with its first piece."""
        if self._reply is None:
            await self._cut(replaces)
            await self._begin_reply()
        assert self._reply is not None
        return self._reply

    async def _begin_reply(self) -> None:
        self._reply = Reply("Assistant")
        await self.transcript.add(self._reply)

    async def on_reply_done(self, message: ReplyDone) -> None:
        """Show the reply as it was stored, with what it rests on."""
        replied = message.replied
        if self._reply is None:
            return
        note = end_note(replied.stop_reason, REPLY_TOKENS)
        if replied.message is None and replied.stop_reason == StopReason.END:
            note = "the model wrote nothing"
        await self._reply.end(message.entry, cost_line(replied.ledger, note))
        self._reply = None
        if replied.message is not None:
            self.bases[replied.message.id] = self.basis
            self._way.messages.append(replied.message)
        elif self._replacing:  # the version that was there has left the screen
            self.reopen()
        self.post_message(ReplyTold(replied))

    @on(Worker.StateChanged)
    async def _worker_ended(self, event: Worker.StateChanged) -> None:
        if event.state not in _ENDED:
            return
        group, error = event.worker.group, event.worker.error
        if group == "session" and event.state is not WorkerState.CANCELLED:
            self.opening = False
        if group == "reply":
            self.basis.over = True
            await self._reply_ended()
        if event.state is WorkerState.ERROR:
            self.post_message(Failed(failure_text(error)))

    async def _reply_ended(self) -> None:
        if self._reply is not None:
            await self._reply.fail()
            self._reply = None
        self.cancel = None
        self.post_message(ReplyEnded())
