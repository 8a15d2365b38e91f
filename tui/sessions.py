"""The list of sessions: find, open, name, tag, put away, delete."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState, get_current_worker

from localmem.errors import LocalmemError
from localmem.memory import Memory
from localmem.tui.commands import Place, bindings
from localmem.tui.dialogs import AskLine
from localmem.tui.failures import failure_text
from localmem.tui.finding import best_titles, by_date, excerpt, words_in
from localmem.tui.listing import move, page
from localmem.tui.messages import MessagesFound, SessionBack, SessionsRead
from localmem.tui.reading import with_titles
from localmem.tui.text import MUTED, counted, one_line, speaker, title_of
from localmem.types import Message, Session

LISTED = 2000
"""Sessions in the list; each has to be laid out before the first is seen (0.1 s for all)."""
FOUND = 20
"""Messages that are shown for what is looked for."""
PAUSE_S = 0.25
"""Without typing, after which messages are searched: titles follow every key."""
TAG_LENGTH = 30


@dataclass(frozen=True, slots=True)
class Chosen:
    """How the list was left."""

    session_id: int | None = None
    """The session to open; None: none."""
    message_id: int | None = None
    """The message to open it at; None: its end."""
    changed: bool = False
    """Whether a session was named, tagged, put away, deleted or brought back."""


class SessionList(ModalScreen[Chosen]):
    """All sessions, newest first, or those that were looked for."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back"),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        *bindings(Place.LIST),
    ]

    def __init__(self, memory: Memory, sought: str = "") -> None:
        super().__init__()
        self._memory = memory
        self._sought = sought
        self._archived = False
        self._changed = False
        self._sessions: dict[str, Session] = {}
        self._keep: str | None = None  # id of the line to be highlighted when the list is read again
        self._pause: Timer | None = None
        self._heads = self._said = ""

    def compose(self) -> ComposeResult:
        """A line to type in above the list."""
        with Vertical():
            yield Static("Reading the sessions…", id="heading", markup=False)
            yield Input(self._sought, placeholder="Find by title, tag or what was said", compact=True)
            yield OptionList(markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Read the list."""
        self.query_one(OptionList).can_focus = False  # the keys are for the line; it moves the list
        self._look(self._sought)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.value != self._sought:
            self._keep, self._said = None, ""
            self._look(event.value)

    def _look(self, sought: str) -> None:
        self._sought = sought
        self._read(sought, archived=self._archived)
        if self._pause is not None:
            self._pause.stop()
        if sought.strip():
            self._pause = self.set_timer(PAUSE_S, lambda: self._find(sought))

    @work(thread=True, exclusive=True, group="sessions", exit_on_error=False)
    def _read(self, sought: str, *, archived: bool) -> None:
        sessions = [s for s in self._memory.sessions() if archived or not s.archived or sought.strip()]
        found = best_titles(sessions, sought)
        if not get_current_worker().is_cancelled:
            self.post_message(SessionsRead(sought, found))

    @work(thread=True, exclusive=True, group="found", exit_on_error=False)
    def _find(self, sought: str) -> None:
        found = with_titles(self._memory, [hit.message for hit in self._memory.search(sought, FOUND)])
        if not get_current_worker().is_cancelled:
            self.post_message(MessagesFound(sought, found))

    def on_sessions_read(self, message: SessionsRead) -> None:
        """Show the list."""
        if message.sought != self._sought:
            return
        sessions = message.sessions
        self._sessions = {f"s{session.id}": session for session in sessions[:LISTED]}
        self._tell(self._heading(len(sessions)))
        options = self.query_one(OptionList)
        options.clear_options()
        if message.sought.strip():
            options.add_options([session_line(session) for session in sessions[:LISTED]])
        else:
            for heading, group in by_date(sessions[:LISTED], date.today()):
                options.add_option(Option(Content.styled(heading, "bold"), disabled=True))
                options.add_options([session_line(session) for session in group])
        self._highlight()

    def on_messages_found(self, message: MessagesFound) -> None:
        """Show messages below the titles."""
        if message.sought != self._sought or not message.found:
            return
        options = self.query_one(OptionList)
        options.add_option(Option(Content.styled("In what was said", "bold"), disabled=True))
        words = words_in(message.sought)
        options.add_options([found_line(found, title, words) for found, title in message.found])
        if options.highlighted is None:
            options.action_first()

    def _heading(self, count: int) -> str:
        if self._sought.strip():
            return f"{count or 'No'} {'title' if count == 1 else 'titles'} with these letters"
        if not count:
            return "No sessions yet."
        heading = f"{counted(count, 'session')}, newest first"
        return heading + (f" (the first {LISTED:,}; type to find others)" if count > LISTED else "")

    def _highlight(self) -> None:
        options = self.query_one(OptionList)
        if self._keep in self._sessions:
            options.highlighted = options.get_option_index(self._keep)
        else:
            options.action_first()

    # Going through it

    def action_move(self, by: int) -> None:
        """Go one line up or down."""
        move(self.query_one(OptionList), by)

    def action_page(self, by: int) -> None:
        """Go one page up or down."""
        page(self.query_one(OptionList), by)

    def action_leave(self) -> None:
        """Back to the chat; a text that was looked for is taken away first."""
        line = self.query_one(Input)
        if line.value:
            line.value = ""
        else:
            self.dismiss(Chosen(changed=self._changed))

    @on(Input.Submitted)
    def _open(self) -> None:
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if event.option_id is None:
            return
        if event.option_id in self._sessions:
            self.dismiss(Chosen(self._sessions[event.option_id].id, changed=self._changed))
        else:
            session_id, message_id = event.option_id.removeprefix("m").split("-")
            self.dismiss(Chosen(int(session_id), int(message_id), changed=self._changed))

    # Tidying up

    def action_rename(self) -> None:
        """Give the session another title."""
        session = self._selected()
        if session is None:
            return

        def rename(title: str | None) -> None:
            if title and title.strip():
                self._change(f"s{session.id}", lambda: self._memory.desk.rename(session.id, title.strip()))

        self.app.push_screen(AskLine("The title of this session", one_line(session.title)), rename)

    def action_tags(self) -> None:
        """Give the session tags."""
        session = self._selected()
        if session is None:
            return

        def tag(tags: str | None) -> None:
            if tags is not None:
                self._change(f"s{session.id}", lambda: self._memory.desk.tag(session.id, tags_in(tags)))

        old = ", ".join(session.tags)
        self.app.push_screen(AskLine("Tags, with commas between them", old), tag)

    def action_archive(self) -> None:
        """Put the session away, or take it out again."""
        session = self._selected()
        if session is not None:
            archived = not session.archived
            goes = archived and not self._archived and not self._sought.strip()
            keep = self._beside() if goes else f"s{session.id}"
            if self._change(keep, lambda: self._memory.desk.archive(session.id, archived=archived)):
                self._say(f"{'Put away' if archived else 'Taken out'}: {title_of(session)}")

    def action_archived(self) -> None:
        """Show what was put away, or hide it again."""
        self._archived = not self._archived
        self._say("What was put away is shown too." if self._archived else "What was put away is hidden.")
        self._look(self._sought)

    def action_delete(self) -> None:
        """Delete the session."""
        session, beside = self._selected(), self._beside()
        if session is None or not self._change(beside, lambda: self._memory.delete_session(session.id)):
            return
        options = self.query_one(OptionList)
        options.remove_option(f"s{session.id}")  # before the list is read: the key may come again at once
        options.highlighted = options.get_option_index(beside) if beside else None
        self._say(f"Deleted; until you quit, Ctrl+Z brings it back: {title_of(session)}")

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        self._say("Bringing it back…")
        self._bring_back()

    @work(thread=True, group="undo", exit_on_error=False)
    def _bring_back(self) -> None:
        try:
            session_id = self._memory.undo_delete()
        except LocalmemError as error:
            self.post_message(SessionBack(None, failure_text(error)))
        else:
            self.post_message(SessionBack(self._memory.session(session_id)))

    def on_session_back(self, message: SessionBack) -> None:
        """Show it, or tell why it did not come."""
        if message.session is None:
            self._say(message.problem)
        elif self._change(f"s{message.session.id}"):
            self._say(f"Back again: {title_of(message.session)}")

    def _beside(self) -> str | None:
        """Id of the line that follows the highlighted one, or of the one before it."""
        options = self.query_one(OptionList)
        here = options.highlighted
        if here is None:
            return None
        lines = [*options.options[here + 1 :], *reversed(options.options[:here])]
        return next((line.id for line in lines if line.id in self._sessions), None)

    def _selected(self) -> Session | None:
        highlighted = self.query_one(OptionList).highlighted_option
        session = self._sessions.get(highlighted.id or "") if highlighted else None
        if session is None:
            self._say("Select a session first.")
        return session

    def _change(self, keep: str | None, act: Callable[[], object] = lambda: None) -> bool:
        """Change something and read the list again, with line ``keep`` highlighted; whether it was done."""
        try:
            act()
        except LocalmemError as error:
            self._say(failure_text(error))
            return False
        self._changed = True
        self._keep = keep
        self._look(self._sought)
        return True

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        if event.state is WorkerState.ERROR:
            self._tell(failure_text(event.worker.error))

    def _tell(self, heading: str) -> None:
        """Say what is listed, above what was done last."""
        self._heads = heading
        self._say(self._said)

    def _say(self, text: str) -> None:
        """Say what was done; not in a window of its own, which would lie over the list."""
        self._said = text
        lines = filter(None, (self._heads, text))
        self.query_one("#heading", Static).update(Content("\n".join(lines)))


def tags_in(text: str) -> list[str]:
    """Tags as they were typed, with commas between them."""
    tags = (one_line(tag.strip().removeprefix("#"), TAG_LENGTH) for tag in text.split(","))
    return [tag for tag in tags if tag]


def session_line(session: Session) -> Option:
    """A session in a list; its id is ``s`` and the session's."""
    tags = "".join(f" #{one_line(tag)}" for tag in session.tags)
    away = " (put away)" if session.archived else ""
    start = f"{_day(session.ended_at or session.started_at):10}  {session.messages:5,}  "
    source = f"  {one_line(session.source, 12)}" if session.source != "chat" else ""
    content = Content.assemble(
        (start, MUTED), title_of(session), (tags, "$text-accent"), (away + source, MUTED)
    )
    return Option(content, id=f"s{session.id}")


def found_line(message: Message, title: str, words: re.Pattern[str] | None) -> Option:
    """A message in a list; its id is ``m``, the session's, ``-`` and its own."""
    return Option(found_text(message, title, message.text, words), id=f"m{message.session_id}-{message.id}")


def found_text(message: Message, title: str, text: str, words: re.Pattern[str] | None = None) -> Content:
    """What was found on two lines: where it was said, and ``text`` from shortly before the words on."""
    head = f"{_day(message.sent_at):10}  {one_line(title, 60)}, {speaker(message)}"
    said = Content(f"  {excerpt(text, words)}")
    if words is not None:
        said = said.highlight_regex(words, style="bold $text-accent")
    return Content("\n").join([Content.styled(head, MUTED), said])


def _day(moment: datetime | None) -> str:
    if moment is None:
        return "undated"
    return f"{moment.astimezone() if moment.tzinfo else moment:%Y-%m-%d}"
