"""``localmem doctor``: what works on this machine, and the command that mends what does not."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import apsw
import click

from localmem.cli.context import Context, pass_context, print_json
from localmem.errors import StoreError
from localmem.models.selfcheck import Check, run_checks
from localmem.store import Database
from localmem.text import printable


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@pass_context
def doctor_command(context: Context, as_json: bool) -> int:
    """Check the machine: database driver, memory file, models, a real answer and a real vector."""
    checks = [_driver(), _memory_file(context.database), *run_checks(context.library)]
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


def _memory_file(path: Path) -> Check:
    name = "memory file"
    if not path.exists():
        return Check(name, True, f"{path} is made at the first use")
    try:
        database = Database(path)
        result = database.connection().execute("PRAGMA quick_check(1)").get
        database.close()
    except StoreError as error:
        return Check(name, False, str(error), "Choose another file with --db, or restore a backup.")
    ok = result == "ok"
    return Check(name, ok, f"{path}: {result}", "" if ok else "Restore a backup.")
