"""What the commands about the chat and its session do."""

from __future__ import annotations

from localmem.errors import BadInput
from localmem.tui.acting import Acting
from localmem.tui.composer import Composer
from localmem.tui.dialogs import AskLine, AskText
from localmem.tui.help import KeyMap
from localmem.tui.messages import StatusChanged
from localmem.tui.palette import Palette
from localmem.tui.sessions import Chosen, SessionList, tags_in
from localmem.tui.text import one_line
from localmem.tui.themes import THEMES


class SessionActions(Acting):
    """One method for each command."""

    # The chat

    def action_stop(self) -> None:
        """Stop the reply that is running; what was written is kept."""
        self.talk.stop()

    def action_back(self) -> None:
        """Leave what is being edited, or the messages."""
        composer = self.query_one(Composer)
        if self.edited is not None:
            composer.write("")
            self.editing(None)
        self.set_focus(composer)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is something to stop only while a reply is running, else perhaps something to leave."""
        running = self.talk.cancel is not None
        if action == "back":
            return not running and (self.edited is not None or self.selected() is not None)
        return action != "stop" or running

    async def action_new(self) -> None:
        """Begin a new chat."""
        if not self.refuse():
            await self.begin()

    async def action_private(self) -> None:
        """Begin a private chat."""
        if not self.refuse():
            await self.begin(private=True)

    def action_quit(self) -> None:
        """Leave."""
        self.leave()

    def action_help(self) -> None:
        """Keys and commands."""
        self.app.push_screen(KeyMap(self.app.keys))  # type: ignore[attr-defined]

    def action_palette(self) -> None:
        """Choose a command."""
        self.app.push_screen(Palette())

    def action_theme(self, name: str = "") -> None:
        """Change the colours: to the theme of this name, else to the next."""
        names = list(THEMES)
        if name and name not in names:
            self.say(f"There is no theme {one_line(name, 40)}. Themes: {', '.join(names)}.")
            return
        following = names[(names.index(self.app.theme) + 1) % len(names)]
        self.app.choose_theme(name or following)  # type: ignore[attr-defined]

    # Sessions

    def action_sessions(self, sought: str = "") -> None:
        """Choose a session to open."""
        if not self.refuse():
            self.app.push_screen(SessionList(self.memory, sought), self._chosen)

    async def _chosen(self, chosen: Chosen | None) -> None:
        session_id = self.talk.dialogue.session_id
        if chosen is None:
            return
        if chosen.changed:
            self.read_history()
        if chosen.session_id is not None:
            self.open_session(chosen.session_id, chosen.message_id)
        elif chosen.changed and session_id is not None:
            await self._show_changes(session_id)

    async def _show_changes(self, session_id: int) -> None:
        """The session on the screen was perhaps renamed, or deleted."""
        try:
            self.memory.session(session_id)
        except BadInput:
            await self.begin()
            self.say("The chat that was open is deleted; this is a new one.")
            return
        self.talk.reopen()

    def action_rename(self, title: str = "") -> None:
        """Give the session another title."""
        session_id = self.kept()
        if session_id is None:
            return

        def rename(answer: str | None) -> None:
            if answer and answer.strip():
                self.attempt(lambda: self.memory.desk.rename(session_id, answer.strip()))
                self.talk.reopen()

        if title:
            rename(title)
        else:
            self.app.push_screen(AskLine("The title of this chat", self.title_of(session_id)), rename)

    def action_tags(self, tags: str = "") -> None:
        """Give the session tags."""
        session_id = self.kept()
        if session_id is None:
            return

        def tag(answer: str | None) -> None:
            if answer is not None:
                self.attempt(lambda: self.memory.desk.tag(session_id, tags_in(answer)))
                self.talk.reopen()

        if tags:
            tag(tags)
        else:
            old = ", ".join(self.memory.session(session_id).tags)
            self.app.push_screen(AskLine("Tags, with commas between them", old), tag)

    def action_archive(self) -> None:
        """Put the session away, or take it out again."""
        session_id = self.kept()
        if session_id is None:
            return
        archived = not self.memory.session(session_id).archived
        self.attempt(lambda: self.memory.desk.archive(session_id, archived=archived))
        self.talk.reopen()
        self.say(
            "Put away: the list shows it with Ctrl+L, and it is still remembered." if archived else "Back."
        )

    def action_system(self, text: str = "") -> None:
        """Give the chat a system prompt."""
        if self.refuse():
            return

        def instruct(answer: str | None) -> None:
            if answer is None:
                return
            self.attempt(lambda: setattr(self.talk.dialogue, "system", answer.strip()))
            self.say(
                "The system prompt counts from the next message on."
                if answer.strip()
                else "No system prompt."
            )
            self.show_title()

        if text:
            instruct(text)
        else:
            question = "The system prompt of this chat. Ctrl+S keeps it; empty means none."
            self.app.push_screen(AskText(question, self.talk.dialogue.system), instruct)

    def action_delete_chat(self) -> None:
        """Delete the session that is open."""
        session_id = self.kept()
        if session_id is not None:
            title = self.title_of(session_id)
            self.apart(lambda: self.memory.delete_session(session_id), lambda _: self._deleted_chat(title))

    def _deleted_chat(self, title: str) -> None:
        self.call_later(self.begin)
        self.say(f"“{title}” is deleted. /undo brings it back until you quit.")

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        if self.refuse():
            return
        if self.talk.dialogue.private:
            self.say("Nothing of a private chat can be brought back. Ctrl+N leaves it.")
            return
        self.post_message(StatusChanged("Bringing it back…"))
        self.apart(self.memory.undo_delete, self._brought_back)

    def _brought_back(self, session_id: int) -> None:
        self.say("It is back.")
        self.read_history()
        self.talk.open(session_id)
