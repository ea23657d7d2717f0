"""Workers of a dask cluster: one on this machine, or any that has a scheduler's address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from importlib.util import find_spec

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import BackendUnavailable
from softgrasp.sweeps.kept import Kept
from softgrasp.sweeps.local import Chunk
from softgrasp.sweeps.rows import failed_row
from softgrasp.sweeps.worker import Row, Rows

CONNECT_TIME = 10.0
"""How long a scheduler may take to answer [s]."""
RETRIES = 2
"""How often a chunk that raised is computed again; of those whose worker died dask keeps count."""


def computed_by_dask(
    plan: SweepPlan,
    chunks: Sequence[Chunk],
    kept: Kept | None,
    workers: int,
    scheduler: str | None,
) -> Iterator[list[Row]]:
    """Finished rows in any order; a chunk whose worker died runs again on another one.

    Args:
        plan: The plan.
        chunks: Rows that are computed together.
        kept: What is kept besides rows, in a folder that all workers see; or None.
        workers: Of a cluster on this machine, where no scheduler is given.
        scheduler: Its address.

    Raises:
        BackendUnavailable: distributed is not installed, or no scheduler answers.
    """
    if find_spec("distributed") is None:
        raise BackendUnavailable(
            "the executor dask needs distributed; pip install 'softgrasp[cluster]'"
        )
    from distributed import Client, LocalCluster, as_completed

    with ExitStack() as stack:
        if scheduler is None:
            address = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                )
            )
        else:
            address = scheduler
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT_TIME))
        except (OSError, ValueError) as error:
            raise BackendUnavailable(
                f"no dask scheduler answers at {scheduler} within {CONNECT_TIME:g} s; check that "
                f"it runs, its address and port, and firewalls between ({type(error).__name__})"
            ) from error
        text = plan.model_dump_json()
        futures = {
            client.submit(compute, text, chunk, kept, pure=False, retries=RETRIES): chunk
            for chunk in chunks
        }
        for future in as_completed(futures):
            chunk = futures.pop(future)
            if future.status == "finished":
                yield future.result()
            else:
                message = f"the cluster gave it up: {future.exception()}"
                yield [Rows(plan).inputs(row) | failed_row(message) for row in chunk]


def compute(plan: str, chunk: Chunk, kept: Kept | None) -> list[Row]:
    """Simulate some rows of a plan given as JSON; runs on a worker."""
    return _rows(plan, kept).compute(chunk)


@lru_cache(maxsize=4)
def _rows(plan: str, kept: Kept | None) -> Rows:
    return Rows(SweepPlan.model_validate_json(plan), kept)
