"""What can be done in the chat, in one list: keys, slash commands, palette and the key map are made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from textual.binding import Binding

_SLASH = re.compile(r"/([a-z][a-z-]*)(?:\s+(.*))?\s*", re.DOTALL)


class Place(StrEnum):
    """Where a command's key is listened to."""

    CHAT = "anywhere in the chat"
    MESSAGE = "on a message (Ctrl+Up or Shift+Tab goes there)"
    LIST = "in the list of sessions"
    MODELS = "among the models"
    EVIDENCE = "in the evidence of an answer"
    MEMORY = "among what memory holds"
    LAYERS = "in the layers of a session"


@dataclass(frozen=True, slots=True)
class Command:
    """Something that can be done. Its name is that of the slash command and of the key in the key map."""

    name: str
    about: str
    keys: str = ""
    """Comma-separated, as in the key map's file; empty: none."""
    place: Place = Place.CHAT
    slash: bool = True
    """Whether it is a slash command and in the palette."""
    argument: str = ""
    """What may follow a slash command."""
    label: str = ""
    """In the footer; empty: not there."""

    does: str = ""
    """Textual's name of the action; empty: the command's own."""

    @property
    def action(self) -> str:
        """What Textual calls."""
        return self.does or self.name.replace("-", "_")

    @property
    def binding(self) -> Binding:
        """Its keys; the name is the binding's id, by which a key map's file may change them."""
        return Binding(
            self.keys,
            self.action,
            self.label or self.about,
            show=bool(self.label),
            # The line above the list would take some of them; the application's own Ctrl+Q is not in the
            # footer; what is typed after a key that moves the focus is for what has it then, however fast.
            priority=self.place in (Place.LIST, Place.MEMORY) or self.name in ("quit", "back", "messages"),
            id=self.name,
        )


COMMANDS: Sequence[Command] = (
    Command("stop", "Stop the reply", "escape", slash=False, label="Stop"),
    Command("back", "Leave a message, or what you edit", "escape", slash=False, label="Back"),
    Command("new", "Begin a new chat", "ctrl+n", label="New"),
    Command("private", "Begin a private chat: nothing of it is kept"),
    Command("sessions", "Find, open and tidy up sessions", "ctrl+o", argument="[WORDS]", label="Sessions"),
    Command("again", "Answer again, in another way", "ctrl+r"),
    Command("edit", "Edit what you said and send it again", "f4"),
    Command("fork", "Go on from the selected message; what came later stays"),
    Command("delete", "Delete the selected message, or the last one"),
    Command("undo", "Bring back what was deleted last"),
    Command("copy", "Copy the selected message, the last answer, or all", "f5", argument="[all]"),
    Command("code", "Copy a code block: the last one, or number N", "f9", argument="[N]"),
    Command("find", "Find words in this chat", "ctrl+f", argument="[WORDS]"),
    Command("first", "Go to the first message", "ctrl+home"),
    Command("last", "Go to the last message", "ctrl+end"),
    Command("evidence", "What an answer rests on, and how it was found", "ctrl+t"),
    Command("memory", "Look at what memory holds", "f3", argument="[WORDS]"),
    Command("pin", "Have the model always know the selected message, or what you said last"),
    Command("attach", "Attach a text file", argument="PATH"),
    Command("editor", "Write with your own editor", "f12"),
    Command("detach", "Take the last attachment away"),
    Command("system", "Give this chat a system prompt", argument="[TEXT]"),
    Command("think", "Let the model think before it replies, or not: slower"),
    Command("rename", "Give this chat another title", "f2", argument="[TITLE]"),
    Command("tags", "Give this chat tags", argument="[TAG, TAG]"),
    Command("archive", "Put this chat away, or take it out again"),
    Command("export", "Write this chat to a file", argument="[FILE]"),
    Command("delete-chat", "Delete this chat"),
    Command("models", "Look at the models, and choose who does what", "ctrl+l"),
    Command(
        "theme",
        "Change the colours: dark, light, contrast; plain has no lines and boxes",
        "f8",
        argument="[NAME]",
    ),
    Command("help", "Keys and commands", "f1", label="Help"),
    Command("palette", "Choose a command", "ctrl+p", slash=False, label="Commands"),
    Command("messages", "Go to the messages", "ctrl+up", slash=False),
    Command("suspend", "Go to the shell; fg comes back"),
    Command("quit", "Quit", "ctrl+q", label="Quit"),
    Command("open", "Open or close what is attached or cited", "enter", Place.MESSAGE, slash=False),
    *(
        Command(
            f"message-{name}", about, keys, Place.MESSAGE, slash=False, label=label, does=f"screen.{does}"
        )
        for name, about, keys, label, does in (
            ("again", "Answer again, in another way", "r", "Again", "again"),
            ("edit", "Edit and send again", "e", "Edit", "edit"),
            ("fork", "Go on from here", "f", "", "fork"),
            ("evidence", "What it rests on", "v", "Evidence", "evidence"),
            ("copy", "Copy", "c", "Copy", "copy"),
            ("pin", "Pin it, or take the pin away", "p", "Pin", "pin"),
            ("code", "Copy its last code block", "y", "", "code"),
            ("delete", "Delete", "x,delete", "Delete", "delete"),
            ("undo", "Bring back what was deleted last", "u,ctrl+z", "", "undo"),
            ("older", "The version before", "left", "", "version(-1)"),
            ("newer", "The next version", "right", "", "version(1)"),
            ("up", "The message above", "up,k", "", "step(-1)"),
            ("down", "The message below", "down,j", "", "step(1)"),
            ("first", "The first message", "home,g", "", "first"),
            ("last", "The last message", "end,G", "", "last"),
            ("find", "Find words in this chat", "/", "", "find"),
            ("find-up", "The message above that has them", "n", "", "match(-1)"),
            ("find-down", "The message below that has them", "N", "", "match(1)"),
        )
    ),
    Command(
        "models-probe",
        "Test what the model can be trusted with",
        "p",
        Place.MODELS,
        slash=False,
        label="Probe",
        does="probe",
    ),
    Command("models-load", "Load the model", "l", Place.MODELS, slash=False, label="Load", does="load"),
    Command(
        "models-unload", "Free its memory", "u", Place.MODELS, slash=False, label="Unload", does="unload"
    ),
    *(
        Command(f"memory-{name}", about, keys, Place.MEMORY, slash=False, label=label, does=does)
        for name, about, keys, label, does in (
            ("unpin", "Take a pin away", "ctrl+x", "Unpin", "unpin"),
            ("undo", "Pin again what was taken away last", "ctrl+z", "Pin again", "pin_again"),
        )
    ),
    Command(
        "layers-pin",
        "Pin a line, or take its pin away",
        "p",
        Place.LAYERS,
        slash=False,
        label="Pin",
        does="pin",
    ),
    *(
        Command(f"list-{name}", about, keys, Place.LIST, slash=False, label=label, does=name)
        for name, about, keys, label in (
            ("rename", "Rename", "ctrl+r", "Rename"),
            ("tags", "Tags", "ctrl+t", "Tags"),
            ("archive", "Put away, or take out", "ctrl+s", "Archive"),
            ("archived", "Show what was put away too", "ctrl+l", ""),
            ("delete", "Delete", "ctrl+x", "Delete"),
            ("undo", "Bring back what was deleted last", "ctrl+z", "Undo"),
        )
    ),
    *(
        Command(f"evidence-{name}", about, keys, Place.EVIDENCE, slash=False, label=label, does=name)
        for name, about, keys, label in (
            ("more", "Ask again with more effort", "m", "Spend more"),
            ("wrong", "This is wrong: correct or forget it", "w", "Wrong"),
            ("without", "Answer again without this message, or with it again", "n", "Do not use"),
            ("keep", "Put the deeper answer into the chat", "k", "Keep"),
        )
    ),
)

BY_NAME = {command.name: command for command in COMMANDS}
SLASH = [command for command in COMMANDS if command.slash]


def bindings(place: Place, only: Callable[[Command], bool] = lambda command: True) -> list[Binding]:
    """The keys of a place."""
    return [c.binding for c in COMMANDS if c.place is place and c.keys and only(c)]


def read_slash(text: str) -> tuple[str, str] | None:
    """Name and argument of a slash command; None when ``text`` is a message."""
    match = _SLASH.fullmatch(text)
    return (match[1], (match[2] or "").strip()) if match else None


def matching(text: str) -> list[Command]:
    """The slash commands that what was typed may become; none once an argument follows."""
    if not text.startswith("/") or any(c.isspace() for c in text):
        return []
    return [command for command in SLASH if command.name.startswith(text[1:])]
