"""``localmem doctor``: what works on this machine, and the command that mends what does not."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import apsw
import click

from localmem.cli.context import Context, pass_context, print_json
from localmem.errors import BadInput, StoreError
from localmem.models.network import MOST_BYTES, RECORD, Attempt, read_record
from localmem.models.selfcheck import Check, run_checks
from localmem.store import Database
from localmem.text import printable


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@pass_context
def doctor_command(context: Context, as_json: bool) -> int:
    """Check the machine: database driver, memory file, models, a real answer and a real vector.

    It also tells what tried to use the network, and what you let use it.
    """
    checks = [_driver(), _memory_file(context), *run_checks(context.library)]
    checks.append(_network(context.home / RECORD))  # last: the checks before it may have tried
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            click.echo(printable(f"{'ok    ' if check.ok else 'FAILED'} {check.name}: {check.detail}"))
            if not check.ok:
                click.echo(printable(f"       {check.remedy}"))
    return 0 if all(check.ok for check in checks) else 1


def _driver() -> Check:
    """A new file, written and read through the driver with its extension."""
    name = "database"
    with tempfile.TemporaryDirectory(prefix="localmem-") as folder:
        try:
            database = Database(Path(folder) / "check.db")
            extension = database.connection().execute("SELECT vec_version()").get
            database.close()
        except (StoreError, apsw.Error) as error:
            return Check(name, False, str(error), "pip install --force-reinstall apsw-sqlite3mc sqlite-vec")
    return Check(name, True, f"SQLite {apsw.sqlite_lib_version()}, sqlite-vec {extension}")


def _memory_file(context: Context) -> Check:
    name, path = "memory file", context.database
    if not path.exists():
        return Check(name, True, f"{path} is made at the first use")
    try:
        database = Database(path, context.key())
        result = database.connection().execute("PRAGMA quick_check(1)").get
        database.close()
    except StoreError as error:
        return Check(name, False, str(error), "Choose another file with --db, or restore a backup.")
    ok = result == "ok"
    return Check(name, ok, f"{path}: {result}", "" if ok else "Restore a backup.")


def _network(record: Path) -> Check:
    """Nothing that was refused has left this machine, so there is nothing to mend; one should know of it."""
    name = "network"
    try:
        attempts = read_record(record)
        full = record.exists() and record.stat().st_size >= MOST_BYTES
    except BadInput as error:
        return Check(name, False, str(error))
    refused = [attempt for attempt in attempts if attempt.reason is None]
    told = [_counted("refused", refused, full)]
    for reason in sorted({attempt.reason for attempt in attempts if attempt.reason is not None}):
        told.append(_counted(f"for {reason}", [a for a in attempts if a.reason == reason], full))
    since = f" The record is {record}." if attempts else ""
    return Check(name, True, f"{'; '.join(told)}.{since}")


def _counted(what: str, attempts: Sequence[Attempt], full: bool) -> str:
    """``refused: 3 attempts, the last on 2026-05-02 by fastembed > httpx (connection)``."""
    if not attempts:
        return f"{what}: 0 attempts"
    last = attempts[-1]
    count = f"{'at least ' if full else ''}{len(attempts)} attempt{'s' if len(attempts) > 1 else ''}"
    return f"{what}: {count}, the last on {last.at[:10]} by {last.by} ({last.what})"
