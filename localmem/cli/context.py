"""What every command shares: which file, which models, and how to talk while working."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from localmem.memory import Memory
from localmem.models.catalog import ModelRole
from localmem.models.library import Library
from localmem.paths import default_database, default_home
from localmem.probing.team import Team
from localmem.text import printable


class _TimeIsUp(Exception):
    """Waiting was limited."""


class Context:
    """Opens the memory file and the models once, when a command first needs them."""

    def __init__(self, db: Path | None, home: Path | None, quiet: bool) -> None:
        self.database = db or default_database()
        self.home = home or default_home()
        self.library = Library(self.home)
        self.team = Team(self.library, self.home)
        self.quiet = quiet
        self._memory: Memory | None = None

    def memory(self) -> Memory:
        """The memory file. Raises ModelMissing without an embedder."""
        if self._memory is None:
            self._memory = Memory(self.database, self.library.embedder())
        return self._memory

    def close(self) -> None:
        """Close what was opened."""
        if self._memory is not None:
            self._memory.close()
        self.library.close()

    def say(self, text: str) -> None:
        """A remark for the person at the terminal."""
        if not self.quiet:
            click.echo(printable(text), err=True)

    def progress(self, *columns: ProgressColumn) -> Progress:
        """A progress bar on stderr (it counts, unless ``columns`` say otherwise), only on a terminal."""
        console = Console(stderr=True)
        counting = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        return Progress(
            *(columns or counting), console=console, disable=self.quiet or not console.is_terminal
        )

    def embed(self, memory: Memory, seconds: float | None = None) -> bool:
        """Wait for the vectors of what was stored, with a progress bar; False when time was up before."""
        total = memory.pending()
        ends = None if seconds is None else time.monotonic() + seconds
        with self.progress() as bar:
            task = bar.add_task("embedding", total=total)

            def show(pending: int) -> None:
                bar.update(task, completed=max(total - pending, 0))
                if pending and ends is not None and time.monotonic() >= ends:
                    raise _TimeIsUp

            try:
                memory.wait_embedded(show)
            except _TimeIsUp:
                return False
        return True

    def run_chat(self, session_id: int | None, last: bool) -> None:
        """Open the chat. Raises ModelMissing before the screen changes.

        It lies a layer above and is found by its name, so that nothing here imports a terminal library.
        """
        self.library.path(self.library.role("answerer"))
        run: Callable[..., None] = importlib.import_module("localmem.tui").run
        trust = self.team.standing(ModelRole.ANSWERER).trust
        summariser = self.team.if_trusted(ModelRole.SUMMARISER, background=True)
        run(self.memory(), self.library, trust, summariser, session_id=session_id, last=last)


pass_context = click.make_pass_decorator(Context)


def print_json(value: object) -> None:
    """One JSON value on stdout; ASCII, so that any text survives any terminal."""
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")
