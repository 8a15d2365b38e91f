"""Questions on a Dask cluster: a conversation is a task, and its lines come back when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

from localmem.errors import BadInput
from localmem.evals.asking import Plan, Resources, ask_case
from localmem.evals.datasets import Case, Question
from localmem.evals.log import Line
from localmem.models.network import allowed

Opener = Callable[[], AbstractContextManager[Resources]]
"""Opens models where the questions are asked; it is sent there."""
TIMEOUT_S = 10
"""Longest wait for a scheduler to answer."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Asks questions by the workers of the cluster at ``address``, which have localmem and its models."""

    address: str
    opener: Opener

    def __call__(self, plan: Plan, work: Iterator[tuple[Case, list[Question]]]) -> Iterator[Line]:
        """See :class:`localmem.evals.run.Work`.

        No more conversations are sent than keep every worker busy. Raises :class:`BadInput` when the cluster
        cannot be reached; what a task raised is raised here.
        """
        try:
            from distributed import Client, as_completed
        except ImportError as error:
            raise BadInput("A scheduler needs Dask: pip install 'localmem-assistant[distributed]'") from error
        with allowed("--scheduler", every_thread=True):
            try:
                client = Client(self.address, timeout=TIMEOUT_S)
            except (OSError, ValueError) as error:
                raise BadInput(f"No Dask scheduler answers at {self.address}: {error}") from error
            with client:
                if not client.scheduler_info()["workers"]:
                    raise BadInput(f"The scheduler at {self.address} has no workers.")
                futures = (
                    client.submit(_asked, plan, case, questions, self.opener, pure=False)
                    for case, questions in work
                )
                workers = sum(client.nthreads().values())
                running = as_completed(islice(futures, workers + 1))
                for done in running:
                    lines = done.result()
                    for future in islice(futures, 1):
                        running.add(future)
                    yield from lines


def _asked(plan: Plan, case: Case, questions: list[Question], opener: Opener) -> list[Line]:
    with opener() as resources:
        return list(ask_case(plan, case, questions, resources))
