"""What every command shares: which file, which models, and how to talk while working."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
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
from localmem.errors import BadInput
from localmem.home import Home
from localmem.memory import Memory
from localmem.models.advice import advise, available_ram
from localmem.models.catalog import CatalogEntry, ModelRole, find
from localmem.models.cpus import inference_threads
from localmem.models.library import DEFAULT_CHAT, DEFAULT_EMBEDDER
from localmem.paths import default_database, default_home
from localmem.privacy.secrets import Policy
from localmem.store.connection import first_page, is_encrypted
from localmem.text import printable

_LINE = 20e6  # bits a second of a usual line, for a guess at how long fetching takes


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

    def offer_models(self) -> None:
        """At a terminal, offer the small models that are missing; nothing is fetched without a yes."""
        serving = (self.library.role(ModelRole.ANSWERER), self.library.role(ModelRole.EMBEDDER))
        missing = [
            find(name)
            for name in serving
            if name in (DEFAULT_CHAT, DEFAULT_EMBEDDER) and not self.library.installed(name)
        ]
        if not missing or not at_terminal():
            return
        size = sum(entry.size for entry in missing)
        minutes = max(round(size * 8 / _LINE / 60), 1)
        names = " and ".join(entry.name for entry in missing)
        click.echo(
            f"Not on this machine yet: {names}. {_megabytes(size)} to fetch, about {minutes} min at "
            f"{_LINE / 1e6:.0f} Mbit/s. It is small: enough to try localmem out.\n"
            f"For later: {advise(available_ram(), inference_threads()).reason}",
            err=True,
        )
        if click.confirm("Fetch them now?", default=False, err=True):
            for entry in missing:
                self.pull(entry)

    def run_chat(self, session_id: int | None, last: bool, private: bool = False) -> None:
        """Open the chat. Raises ModelMissing before the screen changes.

        It lies a layer above and is found by its name, so that nothing here imports a terminal library.
        """
        self.offer_models()
        self.library.path(self.library.role("answerer"))
        run: Callable[..., None] = importlib.import_module("localmem.tui").run
        trust = self.team.standing(ModelRole.ANSWERER).trust
        summariser = self.team.if_trusted(ModelRole.SUMMARISER, background=True)
        memory = self.memory()
        run(
            memory,
            self.library,
            trust,
            summariser,
            session_id=session_id,
            last=last,
            private=private,
            home=self.home,
        )
        if memory.empty_bin():
            self.say("Removing what you deleted from the file…")
        memory.purge()

    def serve_chat(self, arguments: Sequence[str]) -> None:
        """Show the chat in a browser until Ctrl+C; each tab runs it in a process of its own.

        Raises :class:`BadInput` without the packages for it, ModelMissing before anything is served.
        """
        self.library.path(self.library.role("answerer"))
        if is_encrypted(self.database) and self.key_file is None:
            raise BadInput("In a browser nobody can type the passphrase. Give the key with --key-file.")
        options = ["--db", str(self.database.absolute()), "--home", str(self.home.absolute())]
        if self.key_file is not None:
            options += ["--key-file", str(self.key_file.absolute())]
        serve: Callable[..., None] = importlib.import_module("localmem.tui.web").serve
        serve([*options, "chat", *arguments], self.say)


def at_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


pass_context = click.make_pass_decorator(Context)


def print_json(value: object) -> None:
    """One JSON value on stdout; ASCII, so that any text survives any terminal."""
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")
