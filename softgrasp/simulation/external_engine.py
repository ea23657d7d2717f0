"""Engines besides MuJoCo that satellites add: their versions, time steps and contact numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from softgrasp.extensions import ENGINES, load


class ExternalEngine(Protocol):
    """Properties of an engine besides MuJoCo."""

    @property
    def version(self) -> Callable[[], str]:
        """Function that returns the version; raises BackendUnavailable if it is not installed."""

    @property
    def shortest_step(self) -> float:
        """Shortest time step that it takes [s]."""

    @property
    def constraint_softness(self) -> float:
        """Constraint force mixing (CFM) of its world [m/(N·s)]."""


def external_engine(name: str) -> ExternalEngine:
    """Return an engine by its name, which is one of ``extensions.ENGINES``."""
    engine: ExternalEngine = load(ENGINES[name])()
    return engine
