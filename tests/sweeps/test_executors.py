"""Sweeps on a dask cluster: the same table, also where a worker is killed on the way."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.sweeps import executors
from softgrasp.sweeps.run import sweep
from softgrasp.sweeps.storage import JOURNAL
from tests.conftest import Golden
from tests.support.scenes import pinch
from tests.sweeps.plans import plan, without_wall

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
distributed = pytest.importorskip("distributed", reason="distributed is the extra 'dist'")
# its own threads and sockets end a moment after the cluster
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning")  # fmt: skip


@pytest.fixture
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
    ) as result:
        yield result


@pytest.mark.slow
def test_a_killed_worker_costs_no_row(cluster: Any, tmp_path: Path) -> None:
    """Two processes on loopback; one is killed when the first rows are there."""
    long = plan(scene=pinch(duration=0.15), repeats=4)
    journal = tmp_path / JOURNAL
    killed = []

    def kill() -> None:
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
            time.sleep(0.02)
        victim = next(iter(cluster.workers.values())).pid
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    killer = threading.Thread(target=kill)
    killer.start()
    table = sweep(long, tmp_path, executor="dask", scheduler=cluster.scheduler_address, workers=2)
    killer.join()
    assert killed
    assert table["row"].tolist() == list(range(24))
    rows = journal.read_text("utf-8").splitlines()
    assert len(rows) == 24  # every row once
    pd.testing.assert_frame_equal(
        without_wall(table), without_wall(sweep(long, workers=1)), check_exact=True
    )


def test_a_scheduler_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "CONNECT_TIME", 0.5)
    sentence = "no dask scheduler answers at tcp://127.0.0.1:1 within 0.5 s; check that it runs"
    with pytest.raises(sg.BackendUnavailable, match=f"^{re.escape(sentence)}"):
        sweep(plan(), executor="dask", scheduler="tcp://127.0.0.1:1")


def test_dask_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr(executors, "find_spec", lambda name: None)
    golden.refused(
        lambda: sweep(plan(), executor="dask"),
        "the executor dask needs distributed",
        sg.BackendUnavailable,
    )
