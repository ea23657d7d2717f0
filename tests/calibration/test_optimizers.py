"""The swarm of pyswarms: it finds the optimum, and leaves the state of the process alone."""

from __future__ import annotations

import logging
import logging.config
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from softgrasp.calibration.optimizers import Swarm, swarm_search

OPTIMUM = np.array([1.5, -0.5])
SETTINGS = Swarm(particles=12, iterations=60)


def search_of(fitness: Any) -> Any:
    """A search over two parameters in a box."""
    block = SimpleNamespace(
        names=("a", "b"), lower=np.array([-4.0, -4.0]), upper=np.array([4.0, 4.0])
    )
    return SimpleNamespace(stage=SimpleNamespace(block=block), fitness=fitness)


def squares(positions: np.ndarray, fraction: float) -> np.ndarray:
    """Squared distance from the optimum; a quarter of the box cannot be simulated."""
    cost = np.square(positions - OPTIMUM).sum(axis=1)
    return np.where((positions < 0.0).all(axis=1), np.nan, cost)


def process_state() -> tuple[Any, ...]:
    """What pyswarms would change: numpy's global generator, and the configuration of logging."""
    logger = logging.getLogger("pyswarms")
    name, keys, *counters = np.random.get_state()  # noqa: NPY002
    return (
        name, tuple(np.asarray(keys).tolist()), *counters, logging.config.dictConfig,
        logger.level, tuple(logger.handlers), tuple(logging.getLogger().handlers),
    )  # fmt: skip


def test_a_swarm_finds_the_optimum_beside_what_cannot_be_simulated() -> None:
    np.testing.assert_allclose(swarm_search(search_of(squares), SETTINGS, 3), OPTIMUM, atol=1e-3)


def test_a_swarm_is_repeated_bit_for_bit_whatever_was_drawn_before() -> None:
    first = swarm_search(search_of(squares), SETTINGS, 3)
    np.random.random(7)  # noqa: NPY002
    assert (swarm_search(search_of(squares), SETTINGS, 3) == first).all()
    assert (swarm_search(search_of(squares), SETTINGS, 4) != first).any()


@pytest.mark.parametrize("failing", [False, True], ids=["to its end", "with an error"])
def test_a_swarm_leaves_the_process_as_it_was(
    failing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither draws nor log files nor loggers of the caller change, even where it fails."""
    monkeypatch.chdir(tmp_path)
    swarm_search(search_of(squares), Swarm(particles=3, iterations=1), 0)  # imports pyswarms
    before = process_state()

    def fitness(positions: np.ndarray, fraction: float) -> np.ndarray:
        if failing and fraction > 0.5:
            raise KeyError("the objective failed")
        return squares(positions, fraction)

    if failing:
        with pytest.raises(KeyError):
            swarm_search(search_of(fitness), SETTINGS, 5)
    else:
        swarm_search(search_of(fitness), SETTINGS, 5)
    assert process_state() == before
    assert list(tmp_path.iterdir()) == []  # pyswarms writes report.log where it is started
