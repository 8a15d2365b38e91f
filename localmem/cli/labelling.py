"""``localmem eval label``: a person checks the judge, blind."""

from __future__ import annotations

from pathlib import Path

import click

from localmem.cli.context import print_json
from localmem.errors import BadInput
from localmem.evals.labelling import Agreement, Human, Item, Labels, agreements, judged_answers, sample
from localmem.evals.log import read_logs
from localmem.text import printable

_KEYS: dict[str, Human] = {"c": "CORRECT", "w": "WRONG", "s": "SKIPPED"}


@click.command("label")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--per-type", type=click.IntRange(min=1), default=20, show_default=True, help="Answers of each type."
)
@click.option("--seed", type=int, default=0, show_default=True, help="For what is drawn.")
@click.option("--json", "as_json", is_flag=True, help="Only print how far the labels agree with the judge.")
def label_command(folder: Path, per_type: int, seed: int, as_json: bool) -> None:
    """Label answers of the runs in DIR as right or wrong, without seeing the judge's verdicts.

    Labels are kept in DIR/labels.jsonl at once; stop and go on at any time. Wrong and unscored verdicts are
    drawn more often than they come.
    """
    items = judged_answers(read_logs(folder))
    if not items:
        raise BadInput(
            f"No answer in {folder} was judged. Answers are judged by: localmem eval run without --no-llm"
        )
    labels = Labels(folder)
    if not as_json:
        _loop(sample(items, per_type, seed), labels)
    found = agreements(items, labels)
    if as_json:
        print_json({"all": found[0].to_json(), "by_type": {one.name: one.to_json() for one in found[1:]}})
    else:
        _print(found)


def _loop(items: list[Item], labels: Labels) -> None:
    """Show one item after the other until all have a label, or the person stops."""
    done: list[Item] = []
    left = [item for item in items if item.key not in labels.given]
    click.echo(f"{len(left)} of {len(items)} answers to label.", err=True)
    while left:
        item = left[0]
        _show(item, len(items) - len(left) + 1, len(items))
        key = _key(bool(done))
        if key == "q":
            return
        if key == "u":
            left.insert(0, done.pop())
            labels.take_back(left[0])
        else:
            labels.give(item, _KEYS[key])
            done.append(left.pop(0))
    click.echo("All are labelled.", err=True)


def _show(item: Item, number: int, total: int) -> None:
    reference = item.reference or "(none)"
    if item.abstain:
        reference = f"memory does not say; right is to say so. ({reference})"
    click.echo(
        f"\n{number}/{total}  {printable(item.category)}\n"
        f"Question:  {printable(item.question)}\n"
        f"Reference: {printable(reference)}\n"
        f"Answer:    {printable(item.answer)}",
        err=True,
    )


def _key(can_undo: bool) -> str:
    """One of c, w, s, u, q; q when there is no more input."""
    undo = ", u(ndo)" if can_undo else ""
    click.echo(f"c(orrect), w(rong), s(kip){undo}, q(uit)? ", nl=False, err=True)
    while True:
        try:
            key = click.getchar()[:1].lower()  # keys pressed in haste come together: the rest saw no question
        except EOFError:
            key = "q"
        if key in _KEYS or key == "q" or not key or (key == "u" and can_undo):
            click.echo(key, err=True)
            return key or "q"


def _print(found: list[Agreement]) -> None:
    width = max(len(one.name) for one in found)
    click.echo(f"{'':{width}}  {'n':>4}  agreement  kappa  unscored  of them right")
    for one in found:
        share = "-" if one.agreement is None else f"{one.agreement:.3f}"
        beyond = "-" if one.kappa is None else f"{one.kappa:.3f}"
        click.echo(
            f"{one.name:{width}}  {one.n:>4}  {share:>9}  {beyond:>5}  {one.unscored:>8}"
            f"  {one.unscored_right:>13}"
        )
