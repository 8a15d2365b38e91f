"""``python -m tests.faults --rounds N``: kill -9 at random moments; is what was acknowledged still there?

Run it from a checkout. A child process imports, chats, builds layers, forgets, upgrades older files or
changes the key of its memory, and says what the program has acknowledged; it is killed, the file is opened
again and looked at from every side, and what was broken off is done to its end. A file lives for twenty
rounds; every fourth begins encrypted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.rounds import KINDS, Outcome, run

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kinds", default="", help=f"In this order, by comma: {', '.join(KINDS)}. Default: by chance."
    )
    parser.add_argument("--json", action="store_true", dest="as_json")
    arguments = parser.parse_args()
    kinds = tuple(filter(None, arguments.kinds.split(",")))
    started = time.monotonic()
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="localmem-faults-") as folder:
        for outcome in run(Path(folder), len(kinds) or arguments.rounds, arguments.seed, kinds):
            if not arguments.as_json and outcome.rounds % 10 == 0:
                say(f"{outcome.rounds} rounds, {outcome.acknowledged} acknowledged, {len(outcome.lost)} lost")
    report(outcome, time.monotonic() - started, arguments.as_json)
    return 0 if outcome.clean else 1


def report(outcome: Outcome, seconds: float, as_json: bool) -> None:
    numbers = {
        "rounds": outcome.rounds,
        "acknowledged": outcome.acknowledged,
        "lost": len(outcome.lost),
        "forgotten": outcome.forgotten,
        "returned": len(outcome.returned),
        "broken": len(outcome.broken),
        "by_kind": dict(outcome.by_kind),
        "seconds": round(seconds),
    }
    if as_json:
        print(json.dumps(numbers))  # noqa: T201
    else:
        for name, value in numbers.items():
            print(f"{name}: {value}")  # noqa: T201
    for line in (*outcome.lost, *outcome.returned, *outcome.broken)[:SHOWN]:
        say(line)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
