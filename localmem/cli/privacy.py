"""Commands for the careful: forget, check, backup, encrypt, decrypt, rekey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from localmem.cli.context import Context, pass_context, print_json
from localmem.cli.keys import new_key, present_key
from localmem.errors import BadInput, StoreDamaged
from localmem.privacy import keys
from localmem.privacy.check import CheckReport, check
from localmem.privacy.copies import note_copy
from localmem.privacy.needles import Kind
from localmem.privacy.proof import Proof
from localmem.privacy.receipt import Receipt, carry_out
from localmem.privacy.rewrite import backup, change_key
from localmem.privacy.salvage import Salvaged, salvage
from localmem.privacy.selection import Selection, select
from localmem.store import Database
from localmem.store.connection import is_encrypted
from localmem.text import printable

_NAMES = {
    Kind.TEXT: "text",
    Kind.SENTENCE: "sentences",
    Kind.DERIVED: "sentences made of it",
    Kind.WORD: "words",
    Kind.VECTOR: "vectors",
}

SHOWN = 10
"""Messages that are shown before they are forgotten."""
WIDTH = 90

_KEY_FILE = click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help="The key is in this file; without it, a passphrase is asked.",
)


@click.command("forget")
@click.option("--session", "session_id", type=int, metavar="ID", help="A whole session.")
@click.option("--message", "message_id", type=int, metavar="ID", help="One message.")
@click.option(
    "--matching", metavar="TEXT", help="Every message that holds this text, in upper or lower case."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--prove", is_flag=True, help="Search the files' bytes for it afterwards.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as JSON.")
@pass_context
def forget_command(
    context: Context,
    session_id: int | None,
    message_id: int | None,
    matching: str | None,
    yes: bool,
    prove: bool,
    as_json: bool,
) -> int:
    """Forget messages for ever, and all that was made of them: layers, vectors, index, answers, traces.

    It cannot be undone. What stays is not changed; entries that rest also on other messages are made anew.
    """
    database = _open(context)
    try:
        chosen = select(database, session_id=session_id, message_id=message_id, matching=matching)
        if not yes:
            _preview(chosen)
            if not chosen.empty:
                click.confirm("Forget this for ever?", abort=True, err=True)
        receipt = carry_out(database, chosen, context.home, proving=prove)
    finally:
        database.close()
    if as_json:
        print_json(receipt.as_json())
    else:
        _print_receipt(receipt)
    return 0 if receipt.clean else 1


@click.command("check")
@click.option(
    "--salvage", "target", type=click.Path(path_type=Path), help="Recover all messages into this new file."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def check_command(context: Context, target: Path | None, as_json: bool) -> int:
    """Check the memory file: is it whole, and does it all fit together? Nothing in it is changed."""
    if target is not None:
        found = salvage(context.database, context.key(), target)
        if as_json:
            print_json(_salvaged_json(found, target))
        else:
            _print_salvaged(found, target)
        return 0
    report = check(context.database, context.key())
    if as_json:
        print_json(_report_json(report))
    else:
        _print_report(context.database, report)
    return 0 if report.sound else StoreDamaged.exit_code


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def backup_command(context: Context, file: Path, as_json: bool) -> None:
    """Copy the memory to a new FILE while it is in use, and check the copy. Encrypted stays encrypted."""
    database = _open(context)
    try:
        size = backup(database, file)
        note_copy(database, "backup", file)
    finally:
        database.close()
    if as_json:
        print_json({"file": str(file), "bytes": size, "encrypted": context.key() is not None})
    else:
        context.say(f"{file}: {size} bytes, checked.")


@click.command("encrypt")
@_KEY_FILE
@click.option("--keyring", is_flag=True, help="Have the system's keyring keep the passphrase.")
@pass_context
def encrypt_command(context: Context, key_file: Path | None, keyring: bool) -> None:
    """Encrypt the memory file with a passphrase. Without it nobody reads the file again, you neither."""
    if is_encrypted(context.database):
        raise BadInput(f"{context.database} is encrypted already. Change its key: localmem rekey")
    key = new_key(key_file or context.key_file, keyring, context.database)
    change_key(context.database, None, key)
    context.say(f"{context.database} is encrypted. {_OLD_COPIES}")


@click.command("decrypt")
@_KEY_FILE
@pass_context
def decrypt_command(context: Context, key_file: Path | None) -> None:
    """Take the encryption off the memory file."""
    key = _key_to_change(context, key_file)
    change_key(context.database, key, None)
    keys.drop_from_keyring(context.database)
    context.say(f"{context.database} is not encrypted any more.")


@click.command("rekey")
@_KEY_FILE
@click.option("--new-key-file", type=click.Path(path_type=Path), help="The new key is in this file.")
@click.option("--keyring", is_flag=True, help="Have the system's keyring keep the new passphrase.")
@pass_context
def rekey_command(context: Context, key_file: Path | None, new_key_file: Path | None, keyring: bool) -> None:
    """Encrypt the memory file with another passphrase."""
    old = _key_to_change(context, key_file)
    new = new_key(new_key_file, keyring, context.database)
    change_key(context.database, old, new)
    if not keyring:
        keys.drop_from_keyring(context.database)
    context.say(f"{context.database} has another key. {_OLD_COPIES}")


_OLD_COPIES = "Older backups and exports are as they were."


def _key_to_change(context: Context, key_file: Path | None) -> str:
    if not is_encrypted(context.database):
        raise BadInput(f"{context.database} is not encrypted, or no memory file.")
    return present_key(context.database, key_file or context.key_file, piped=True)


def _open(context: Context) -> Database:
    """The memory, without any model: these commands need none. It must be there."""
    if not context.database.exists():
        raise BadInput(f"There is no memory at {context.database}.")
    return Database(context.database, context.key())


def _preview(chosen: Selection) -> None:
    """What will go, on stderr."""

    def say(text: str) -> None:
        click.echo(printable(text), err=True)

    if chosen.empty:
        say("No message holds it. What was deleted before is cleared out of the files.")
        return
    say(f"{_counted(chosen)} will be forgotten:")
    for message in chosen.every[:SHOWN]:
        day = f"{message.sent_at:%Y-%m-%d}, " if message.sent_at else ""
        line = " ".join(message.text.split())
        say(f"  [{message.id}] {day}{message.speaker or message.role}: {line}"[:WIDTH])
    if len(chosen.every) > SHOWN:
        say(f"  and {len(chosen.every) - SHOWN} more")


def _counted(chosen: Selection) -> str:
    parts = [f"{len(chosen.messages)} messages"]
    if chosen.answers:
        parts.append(f"{len(chosen.answers)} answers that rest on them")
    if chosen.sessions:
        parts.append(f"{len(chosen.sessions)} whole sessions")
    if chosen.titles:
        parts.append(f"{len(chosen.titles)} titles")
    return ", ".join(parts)


def _print_receipt(receipt: Receipt) -> None:
    click.echo(f"Forgotten: {_counted(receipt.selection)}.")
    for place, count in receipt.removed.rows.items():
        click.echo(f"  {count:6} {place}")
    for place, count in receipt.home.items():
        if count:
            click.echo(f"  {count:6} {place} in the home folder")
    for layer, count in receipt.removed.rebuilt.items():
        click.echo(f"Made again from what stays: {count} {layer}")
    if receipt.proof is not None:
        _print_proof(receipt.proof)
    click.echo("Out of reach:")
    for place in receipt.not_reached():
        click.echo(printable(f"  {place}"))


def _print_proof(proof: Proof) -> None:
    sought = ", ".join(f"{count} {_NAMES[kind]}" for kind, count in proof.needles.items() if count)
    click.echo(
        f"Looked for {sought or 'nothing'} in {sum(proof.scanned.values())} bytes: {len(proof.hits)} found."
    )
    for path, size in proof.scanned.items():
        click.echo(printable(f"  {size:10} {path}"))
    for hit in proof.hits:
        click.echo(printable(f"  FOUND: {hit.kind} at byte {hit.offset} of {hit.place}"), err=True)
    if proof.decrypted:
        click.echo("The file is encrypted, so its pages were searched decrypted as well.")
    if proof.own_word:
        click.echo(
            "The text is a word that localmem itself writes into every file: rows were searched for it."
        )


def _print_report(path: Path, report: CheckReport) -> None:
    if report.sound:
        click.echo(printable(f"{path} is sound: {', '.join(report.checked)}."))
        return
    for problem in report.problems:
        click.echo(printable(problem.what))
    for remedy in dict.fromkeys(problem.remedy for problem in report.problems):
        click.echo(remedy, err=True)


def _report_json(report: CheckReport) -> dict[str, Any]:
    problems = [{"what": problem.what, "remedy": problem.remedy} for problem in report.problems]
    return {"sound": report.sound, "checked": list(report.checked), "problems": problems}


def _salvaged_json(found: Salvaged, target: Path) -> dict[str, Any]:
    return {
        "file": str(target),
        "sessions": found.sessions,
        "messages": found.messages,
        "pages": found.pages,
        "unreadable_pages": found.unreadable,
        "sessions_without_name": found.nameless,
    }


def _print_salvaged(found: Salvaged, target: Path) -> None:
    click.echo(f"{found.messages} messages of {found.sessions} sessions are in {printable(str(target))}.")
    click.echo(f"{found.unreadable} of {found.pages} pages could not be read.")
    if found.nameless:
        click.echo(f"{found.nameless} sessions have lost their title and origin; they are called Recovered.")
    click.echo("Vectors and layers are made anew: localmem --db NEW_FILE build", err=True)
