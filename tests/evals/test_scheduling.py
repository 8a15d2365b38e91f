"""A cluster of two worker processes gives what one process gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from localmem.errors import BadInput
from localmem.evals.asking import Resources
from localmem.evals.log import Log
from localmem.evals.run import Run, evaluate
from localmem.evals.scheduling import Cluster
from localmem.models.hashing import HashEmbedder

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def three(locomo: Path) -> Path:
    (record,) = json.loads(locomo.read_text())
    locomo.write_text(json.dumps([{**record, "sample_id": f"conv-{n}"} for n in range(3)]))
    return locomo


def steady(log: Log) -> dict[str, Any]:
    return {
        identity: {key: value for key, value in line.items() if key not in ("seconds", "online")}
        for identity, line in log.lines.items()
    }


def test_two_workers_find_what_one_process_finds(three: Path, cluster: Any, tmp_path: Path) -> None:
    run, resources = Run("locomo", "fixed", three, k=(1, 3)), Resources(HashEmbedder())
    work = Cluster(cluster.scheduler_address, partial(nullcontext, resources))
    there = evaluate(run, resources, tmp_path, lambda done, total: None, work=work)
    here = evaluate(run, resources, None, lambda done, total: None)
    assert len(there.lines) == 12
    assert steady(there) == steady(here)
    assert {store["source"] for store in there.stores} == {"conv-0", "conv-1", "conv-2"}


def test_a_scheduler_that_does_not_answer_is_named(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localmem.evals.scheduling.TIMEOUT_S", 0.5)
    work = Cluster("tcp://127.0.0.1:9", partial(nullcontext, Resources(HashEmbedder())))
    with pytest.raises(BadInput, match=r"127\.0\.0\.1:9"):
        evaluate(
            Run("locomo", "fixed", three),
            Resources(HashEmbedder()),
            None,
            lambda done, total: None,
            work=work,
        )
