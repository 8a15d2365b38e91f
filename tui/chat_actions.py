"""What the commands about the chat as a whole do: go through it, find in it, write it out, use an editor."""

from __future__ import annotations

import re
from pathlib import Path

from textual.app import SuspendNotSupported

from localmem.errors import BadInput
from localmem.export import export_jsonl, folder_name
from localmem.layers import markdown
from localmem.text import printable
from localmem.tui.acting import Acting
from localmem.tui.attachments import path_meant
from localmem.tui.composer import Composer
from localmem.tui.dialogs import AskLine
from localmem.tui.editor import edited
from localmem.tui.messages import StatusChanged
from localmem.tui.text import one_line
from localmem.types import Message


class ChatActions(Acting):
    """One method for each command."""

    _sought = ""

    # Going through it

    def action_messages(self) -> None:
        """Go to the messages, the last one first."""
        views = self.talk.transcript.views
        if views:
            self.set_focus(views[-1])

    def action_step(self, by: int) -> None:
        """Go to the message above or below; below the last one is the input."""
        views = self.talk.transcript.views
        selected = self.selected()
        if selected not in views:
            return
        place = views.index(selected) + by
        if place >= len(views):
            self.set_focus(self.query_one(Composer))
        elif place >= 0:
            self.set_focus(views[place])

    def action_first(self) -> None:
        """Go to the first message."""
        if self.talk.way.messages:
            self.go_to(self.talk.way.messages[0].id)

    def action_last(self) -> None:
        """Go to the last message; from the input only its end is shown."""
        transcript, way = self.talk.transcript, self.talk.way
        if transcript.end < len(way.messages):
            if not self.refuse():
                self.talk.reopen(way.messages[-1].id if self.selected() else None)
            return
        if self.selected() is not None:
            self.action_messages()
        transcript.scroll_end(animate=False)

    # Finding

    def action_find(self, words: str = "") -> None:
        """Go to the last message that has these words."""

        def find(answer: str | None) -> None:
            if answer and answer.strip():
                self._sought = answer.strip()
                self.action_match(-1)

        if words:
            find(words)
        else:
            self.app.push_screen(AskLine("Find in this chat", self._sought), find)

    def action_match(self, by: int) -> None:
        """Go to the message above or below the selected one that has what was looked for."""
        if not self._sought:
            self.say("Use /find first.")
            return
        messages = self.talk.way.messages
        places = [place for place, message in enumerate(messages) if _has(message, self._sought)]
        if not places:
            self.say(f"Not in this chat: {one_line(self._sought, 60)}")
            return
        selected = self.selected()
        message = selected.message if selected is not None else None
        here = self.talk.way.place(message.id) if message is not None else None
        if here is None:
            here = len(messages)
        beyond = [place for place in places if (place < here if by < 0 else place > here)]
        place = (beyond or places)[-1 if by < 0 else 0]  # past the end it begins anew
        if self.go_to(messages[place].id):
            count = f"{places.index(place) + 1} of {len(places)} messages"
            self.post_message(
                StatusChanged(f"{count} with “{one_line(self._sought, 30)}”: n the one above, N below.")
            )

    # Writing it out

    def action_export(self, path: str = "") -> None:
        """Write the chat to a file."""
        if not self.talk.way.messages:
            self.say("Nothing was said yet.")
            return

        def write(answer: str | None) -> None:
            if answer and answer.strip():
                self.attempt(lambda: self._export(path_meant(answer)))

        if path:
            write(path)
        else:
            question = (
                "Write this chat to a file: Markdown, or if its name ends in .jsonl to be imported again"
            )
            self.app.push_screen(AskLine(question, self._usual_name()), write)

    def _export(self, path: Path) -> None:
        if path.is_dir():
            path /= self._usual_name()
        if path.exists():
            raise BadInput(f"{one_line(str(path))} is there already. Give another name.")
        session_id = self.talk.dialogue.session_id
        if path.suffix != ".jsonl":
            self._write(path)
        elif session_id is None:
            raise BadInput("A private chat can be written as Markdown only: give a name that ends in .md.")
        else:
            export_jsonl(self.memory, path.parent, [self.memory.session(session_id)], path.name)
        if session_id is not None:
            self.memory.note_export(path)
        self.say(f"Written to {one_line(str(path))}.")

    def _write(self, path: Path) -> None:
        session_id = self.talk.dialogue.session_id
        title = "A private chat" if session_id is None else self.title_of(session_id)
        text = printable(f"# {title}\n\n{markdown.raw(self.talk.way.messages)}")
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise BadInput(f"Cannot write to {one_line(str(path))}: {reason}.") from error

    def _usual_name(self) -> str:
        session_id = self.talk.dialogue.session_id
        return "chat.md" if session_id is None else f"{folder_name(self.memory.session(session_id))}.md"

    # Writing

    def action_editor(self) -> None:
        """Edit what is being written in the person's own editor."""
        composer = self.query_one(Composer)
        if self.talk.dialogue.private:
            self.say("An editor works on a file, and of a private chat nothing is written to one.")
        elif not self.read_only():
            self.attempt(lambda: self._edit(composer))

    def _edit(self, composer: Composer) -> None:
        try:
            with self.app.suspend():
                text = edited(composer.text)
        except SuspendNotSupported as error:
            raise BadInput("An editor needs a terminal; here there is none.") from error
        composer.write(text)
        self.set_focus(composer)


def _has(message: Message, sought: str) -> bool:
    return re.search(re.escape(sought), f"{message.text}\n{message.attachments}", re.IGNORECASE) is not None
