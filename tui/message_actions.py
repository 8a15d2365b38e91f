"""What the commands about messages do. Each acts on the selected message, else on the last that fits."""

from __future__ import annotations

from localmem.text import printable
from localmem.tui.attachments import read_attachment
from localmem.tui.chat_actions import ChatActions
from localmem.tui.composer import Composer
from localmem.tui.dialogs import AskLine
from localmem.tui.text import PINNED, UNPINNED, code_blocks, label_of
from localmem.types import Message, Role


class MessageActions(ChatActions):
    """One method for each command."""

    def action_again(self) -> None:
        """Answer again."""
        target = self.target(Role.ASSISTANT) or self.target(None)
        if target is None:
            self.say("Nothing was answered yet.")
            return
        if self.refuse() or self.read_only():
            return
        model = self.model_or_refusal()
        if model is not None:
            self.talk.answer_again(target.id, model)
            self.refresh_bindings()

    def action_edit(self) -> None:
        """Put what was said into the input, to be said anew."""
        target = self.target(Role.USER)
        if target is None:
            self.say("You said nothing yet.")
        elif not self.refuse() and not self.read_only():
            composer = self.query_one(Composer)
            self.editing(target.id)
            composer.write(printable(target.text))
            self.set_focus(composer)

    def action_fork(self) -> None:
        """Go on from the selected message."""
        selected = self.selected()
        if selected is None or selected.message is None:
            self.say("Select a message first: Ctrl+Up goes to them.")
        elif not self.refuse() and not self.read_only():
            message_id = selected.message.id
            if self.attempt(lambda: self.talk.dialogue.go_on_from(message_id)):
                self.talk.reopen()
                self.query_one(Composer).focus()
                self.say(
                    "The chat goes on from here. What came later stays: ‹ › turns to it once you went on."
                )

    def action_version(self, by: int) -> None:
        """Turn to another version of the selected message."""
        selected = self.selected()
        if selected is None or selected.message is None or self.refuse():
            return
        versions = self.talk.dialogue.versions().get(selected.message.id, [])
        if len(versions) < 2:
            self.say("This message has no other version.")
            return
        other = versions[(versions.index(selected.message.id) + by) % len(versions)]
        if self.attempt(lambda: self.talk.dialogue.show(other)):
            self.talk.reopen(other)

    def action_delete(self) -> None:
        """Delete the selected message, or the last one."""
        target = self.target(None)
        if target is None:
            self.say("There is no message to delete.")
        elif not self.refuse():
            self.apart(lambda: self.talk.dialogue.delete(target.id), lambda _: self._deleted(target.id))

    def _deleted(self, message_id: int) -> None:
        private = self.talk.dialogue.private
        self.say("Deleted." if private else "Deleted. /undo brings it back until you quit.")
        place = self.talk.way.place(message_id)
        self.read_history()
        self.talk.reopen(self.talk.way.messages[place - 1].id if place and self.selected() else None)

    def action_pin(self) -> None:
        """Pin the selected message, or what was said last; or take its pin away."""
        target = self.target(None) if self.selected() else self.target(Role.USER)
        if target is None:
            self.say("There is no message to pin.")
        elif self.talk.dialogue.private:
            self.say("A private chat keeps nothing, so nothing of it can be pinned.")
        else:
            self.attempt(lambda: self.say(PINNED if self._toggle_pin(target) else UNPINNED))

    def _toggle_pin(self, message: Message) -> bool:
        return self.memory.pins.toggle(message.text or message.attachments, (message.id,))

    # Copying and attaching

    def action_copy(self, what: str = "") -> None:
        """Copy the selected message, or the last answer; ``all``: the whole chat."""
        if what:
            self._copy_all(what)
            return
        target = self.target(None) if self.selected() else self.target(Role.ASSISTANT)
        if target is None:
            self.say("There is no answer to copy.")
        else:
            self._copy(target.text, "The message")

    def action_code(self, number: str = "") -> None:
        """Copy a code block of the selected message, or of the last answer."""
        target = self.target(None) if self.selected() else self.target(Role.ASSISTANT)
        blocks = code_blocks(target.text) if target else []
        if not blocks:
            self.say("There is no code block in it.")
        elif number and not (number.isdecimal() and 1 <= int(number) <= len(blocks)):
            self.say(f"Give a number from 1 to {len(blocks)}.")
        else:
            place = int(number) if number else len(blocks)
            self._copy(blocks[place - 1], f"Code block {place} of {len(blocks)}")

    def _copy_all(self, what: str) -> None:
        messages = self.talk.way.messages
        if what != "all":
            self.say("/copy copies a message, /copy all the whole chat.")
        elif not messages:
            self.say("Nothing was said yet.")
        else:
            texts = (f"{label_of(message)}\n{message.text}" for message in messages)
            self._copy("\n\n".join(texts), "The whole chat")

    def _copy(self, text: str, what: str) -> None:
        clean = printable(text)
        self.app.copy_to_clipboard(clean)
        self.say(
            f"{what} ({len(clean):,} characters) was handed to the terminal's clipboard. "
            "If it is not there, the terminal does not allow it (OSC 52)."
        )

    def action_attach(self, path: str = "") -> None:
        """Attach a text file."""

        def attach(given: str | None) -> None:
            if given and given.strip():
                self.attempt(lambda: self.query_one(Composer).attach(read_attachment(given)))

        if path:
            attach(path)
        else:
            self.app.push_screen(AskLine("The path of a text file"), attach)

    def action_detach(self) -> None:
        """Take the last attachment away."""
        self.query_one(Composer).detach()
