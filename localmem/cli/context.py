"""What every command shares: which file, which models, and how to talk while working."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from localmem.cli.keys import present_key
from localmem.home import Home
from localmem.memory import Memory
from localmem.models.catalog import CatalogEntry
from localmem.paths import default_database, default_home
from localmem.privacy.secrets import Policy
from localmem.store.connection import first_page, is_encrypted
from localmem.text import printable


class _TimeIsUp(Exception):
    """Waiting was limited."""


class Context:
    """Opens the memory file and the models once, when a command first needs them."""

    def __init__(
        self,
        db: Path | None,
        home: Path | None,
        quiet: bool,
        key_file: Path | None = None,
        secrets: Policy | None = None,
    ) -> None:
        self.database = db or default_database()
        self.home = home or default_home()
        self.models = Home(self.home)
        self.library = self.models.library
        self.team = self.models.team
        self.quiet = quiet
        self.key_file = key_file
        self._secrets = secrets
        self._key: str | None = None
        self._memory: Memory | None = None

    def key(self) -> str | None:
        """The key of the memory file; None: it is not encrypted. A new file is if there is a key file."""
        if self._key is None:
            new = not first_page(self.database)
            if is_encrypted(self.database) or (new and self.key_file is not None):
                self._key = present_key(self.database, self.key_file)
        return self._key

    def memory(self) -> Memory:
        """The memory file. Raises ModelMissing without an embedder."""
        if self._memory is None:
            self._memory = Memory(
                self.database,
                self.library.embedder(),
                key=self.key(),
                home=self.models,
                secrets=self._secrets,
            )
        return self._memory

    def close(self) -> None:
        """Close what was opened."""
        if self._memory is not None:
            self._memory.close()
        self.models.close()

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

    def embed_for_now(self, memory: Memory, seconds: float) -> None:
        """Wait for the vectors, but not for ever: say how many are left to be made after ``seconds``."""
        if not self.embed(memory, seconds):
            self.say(
                f"{memory.pending()} messages have no vector yet and are found by their words only. "
                "Vectors are made whenever localmem is open; `localmem build` makes them all."
            )

    def pull(self, entry: CatalogEntry) -> None:
        """Fetch a model, with a progress bar. Raises ModelError."""
        if entry.file and not self.library.installed(entry.name):
            self.say(f"{entry.name}: {_megabytes(entry.size)} from {entry.source}, licence: {entry.licence}")
        with self.progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn()) as bar:
            task = bar.add_task(f"fetching {entry.name}", total=None)

            def show(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            try:
                fresh = self.library.pull(entry.name, show)
            except KeyboardInterrupt:
                if entry.hub:
                    self.say(f"What has arrived is kept. Go on: localmem models pull {entry.name}")
                raise
        self.say(f"{entry.name}: {'installed' if fresh else 'is already here'}.")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


pass_context = click.make_pass_decorator(Context)


def print_json(value: object) -> None:
    """One JSON value on stdout; ASCII, so that any text survives any terminal."""
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")
