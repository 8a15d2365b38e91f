"""Commands about models: list, pull, use, probe, verify."""

from __future__ import annotations

import click
from rich.progress import TaskID

from localmem.cli.context import Context, pass_context, print_json
from localmem.models.advice import Advice, advise, available_ram
from localmem.models.calibration import Calibrations
from localmem.models.catalog import ModelRole, find
from localmem.models.cpus import inference_threads
from localmem.models.errors import ModelError
from localmem.models.library import DEFAULT_CHAT, DEFAULT_EMBEDDER, ModelStatus
from localmem.probing.results import Standing
from localmem.probing.team import CHAT_ROLES
from localmem.text import printable


@click.group("models")
def models_group() -> None:
    """List, fetch, choose and check the models that run on this machine."""


@models_group.command("list")
@click.option("--advise", "advising", is_flag=True, help="Say which fit into the memory that is free now.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def list_command(context: Context, advising: bool, as_json: bool) -> None:
    """Show each model: installed or not, size, memory, the roles it serves."""
    available = available_ram()
    if advising:
        _show_advice(advise(available, inference_threads()), as_json)
        return
    status = context.library.status()
    if as_json:
        print_json([_as_json(context, model, available) for model in status])
        return
    for model in status:
        mark = "installed" if model.installed else "-"
        size = f"{model.size / 1e6:,.0f} MB" if model.size else ""
        memory = f"{model.ram / 1e9:.1f} GB" if model.ram else ""
        fits = " " if model.ram <= available else "!"
        roles = ", ".join(model.roles)
        line = f"{model.name:22} {model.kind:10} {mark:10} {size:>8} {memory:>7}{fits} {roles}"
        click.echo(printable(line))
    if any(model.ram > available for model in status):
        click.echo(f"! needs more memory than the {available / 1e9:.1f} GB that are free now")
    click.echo()
    for role in CHAT_ROLES:
        click.echo(printable(f"{role:12} {context.team.serving(role)}"))


def _as_json(context: Context, model: ModelStatus, available: int) -> dict[str, object]:
    serving = [role for role in model.roles if role in CHAT_ROLES] if model.installed else []
    return {
        "name": model.name,
        "kind": model.kind,
        "installed": model.installed,
        "bytes": model.size,
        "roles": model.roles,
        "licence": model.licence,
        "note": model.note,
        "ram": model.ram,
        "fits": model.ram <= available,
        "serving": {role: _standing_json(context.team.standing(role)) for role in serving},
    }


def _standing_json(standing: Standing) -> dict[str, object]:
    return {
        "score": standing.result and standing.result.score,
        "threshold": standing.threshold,
        "forced": standing.forced,
        "used": "model" if standing.trusted else "rules",
    }


def _show_advice(advice: Advice, as_json: bool) -> None:
    if as_json:
        models = [
            {
                "name": one.entry.name,
                "ram": one.ram,
                "fits": one.fits,
                "window": one.window,
                "seconds": round(one.seconds, 1),
            }
            for one in advice.fits
        ]
        print_json(
            {
                "available": advice.available,
                "advised": advice.advised,
                "reason": advice.reason,
                "models": models,
            }
        )
        return
    for one in advice.fits:
        mark = "*" if one.entry.name == advice.advised else " "
        window = f"fits with {one.window:,} tokens" if one.window else "does not fit"
        speed = f"{one.seconds:5.0f} s for 2,000 tokens"
        click.echo(
            f"{mark} {one.entry.name:14} {one.ram / 1e9:4.1f} GB  {window:23} {speed}  {one.entry.note}"
        )
    click.echo(advice.reason)


@models_group.command("pull")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@pass_context
def pull_command(context: Context, names: tuple[str, ...]) -> None:
    """Fetch models. This is the only command that uses the network.

    A model that fails does not keep the others from being fetched.
    """
    entries = [find(name) for name in names]  # a wrong name ends it before the first byte
    failed: list[ModelError] = []
    for entry in entries:
        try:
            context.pull(entry)
        except ModelError as error:
            failed.append(error)
            if len(entries) > 1:
                click.echo(f"localmem: {entry.name}: {printable(str(error))}", err=True)
    if failed and len(entries) > 1:
        raise ModelError(f"{len(failed)} of {len(entries)} models could not be fetched.")
    if failed:
        raise failed[0]


@models_group.command("use")
@click.argument("role", type=click.Choice([role.value for role in ModelRole]))
@click.argument("name")
@click.option("--force", is_flag=True, help="Also if the model failed the role's probe.")
@pass_context
def use_command(context: Context, role: str, name: str, force: bool) -> None:
    """Let a model (a name from the list, or the path of a .gguf file) serve a role."""
    context.say(context.team.use(ModelRole(role), name, force=force))


_SAMPLE = 200
"""Tokens of which the speed is told."""


@models_group.command("probe")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def probe_command(context: Context, name: str | None, as_json: bool) -> None:
    """Test which roles a model can be trusted with, and how fast it is here; by default the answerer's.

    About twenty items for each role, marked by rule. What it fails is done by rules instead.
    """
    name = name or context.library.role(ModelRole.ANSWERER)
    with context.progress() as bar:
        tasks: dict[ModelRole, TaskID] = {}

        def show(role: ModelRole, done: int, total: int) -> None:
            if role not in tasks:
                tasks[role] = bar.add_task(role)
            bar.update(tasks[role], completed=done, total=total)

        standings = context.team.probe(name, show)
        speed = bar.add_task("speed", total=1.0)
        law = Calibrations(context.home).measure(
            context.library.open_chat(name), lambda share: bar.update(speed, completed=share)
        )
    read, written = _SAMPLE / law.predict(_SAMPLE, 0), _SAMPLE / (law.predict(0, _SAMPLE))
    if as_json:
        scores: dict[str, object] = {role: _standing_json(one) for role, one in standings.items()}
        print_json({**scores, "read_per_s": round(read, 1), "written_per_s": round(written, 1)})
        return
    for role, standing in standings.items():
        assert standing.result is not None
        used = "trusted" if standing.trusted else "not trusted, rules stand in"
        click.echo(
            f"{role:12} {standing.result.passed:2} of {standing.result.items}  {standing.result.score:.2f} "
            f"(needs {standing.threshold:.2f})  {standing.result.seconds:4.0f} s  {used}"
        )
    click.echo(f"reads {read:.0f} tokens a second, writes {written:.0f}")


@models_group.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@pass_context
def verify_command(context: Context, names: tuple[str, ...]) -> None:
    """Check the files of installed models against their hashes."""
    installed = [model.name for model in context.library.status() if model.installed]
    for name in names or installed:
        context.library.verify(name)
        click.echo(printable(f"{name}: intact"))
    if not (names or installed):
        small = f"localmem models pull {DEFAULT_CHAT} {DEFAULT_EMBEDDER}"
        context.say(f"No model is installed. Get the small ones: {small}")
