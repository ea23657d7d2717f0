"""What all optimisers share: evaluations that are counted, kept and told as progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from softgrasp.calibration.journal import Journal
from softgrasp.calibration.stages import Stage
from softgrasp.mechanics.transforms import Array

Progress = Callable[[str, float], None]
"""Called with what is going on, and which part of it is done."""


@dataclass(frozen=True)
class Step:
    """One step of an optimiser: a swarm, or one point.

    Args:
        positions: Parameter sets, (B, p).
        fitness: Of each; NaN where it failed, (B,).
        best: The best fitness so far.
        evaluations: Parameter sets that were simulated so far.
    """

    positions: Array
    fitness: Array
    best: float
    evaluations: int


@dataclass
class Search:
    """Evaluates parameter sets of a stage, and remembers."""

    stage: Stage
    journal: Journal
    progress: Progress | None = None
    evaluations: int = 0
    best: float = np.inf
    best_position: Array | None = None
    history: list[Step] = field(default_factory=list)

    def values(self, positions: Array) -> Array:
        """What parameter sets (B, p) would measure, (B, m)."""
        values = self.journal.known(positions)
        if values is None:
            values = self.stage.simulate(positions)
            self.journal.record(positions, values)
        self.evaluations += len(positions)
        return values

    def fitness(self, positions: Array, *, fraction: float = 0.0) -> Array:
        """Of parameter sets, kept as a step of the history, (B,).

        Args:
            positions: (B, p).
            fraction: Which part of the search this ends.
        """
        fitness = self.stage.fitness(self.values(positions))
        self.record(positions, fitness, fraction)
        return fitness

    def record(self, positions: Array, fitness: Array, fraction: float = 0.0) -> None:
        """Add a step to the history."""
        if np.isfinite(fitness).any():
            best = int(np.nanargmin(fitness))
            if fitness[best] < self.best:
                self.best, self.best_position = float(fitness[best]), positions[best].copy()
        self.history.append(Step(positions.copy(), fitness.copy(), self.best, self.evaluations))
        if self.progress is not None:
            text = (
                f"{self.stage.name}: best fitness {self.best:.3g}, {self.evaluations} evaluations"
            )
            self.progress(text, fraction)
