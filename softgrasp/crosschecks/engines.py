"""The engines that are asked: which there are, their versions, and how short their steps can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import ENGINES
from softgrasp.simulation.external_engine import external_engine
from softgrasp.simulation.run import BACKENDS

ProgressCallback = Callable[[str, float | None], None]
"""Called with what is going on and the part of it that is done, 0 to 1."""
EMULATES = {"ode": "with the rules of Webots R2025a, not compared with Webots itself"}
"""What has to be said beside the names of some engines."""


@dataclass(frozen=True)
class EngineProperties:
    """What stands beside an engine's numbers."""

    name: str
    version: str
    parameters: Mapping[str, str]
    """Time step, integrator, contact, … in words, with units."""


def checked(backends: Iterable[str]) -> tuple[str, ...]:
    """Backends that can be compared.

    Raises:
        DescriptionError: There is no such backend, there are fewer than two, or one comes twice.
        BackendUnavailable: One is not installed.
    """
    names = tuple(backends)
    for name in names:
        if name not in BACKENDS:
            hint = did_you_mean(name, BACKENDS)
            raise DescriptionError(f"no backend '{name}'; {hint}", field="backends")
    if len(names) < 2 or len(set(names)) < len(names):
        raise DescriptionError(
            f"expected two or more different backends, such as mujoco,ode, found "
            f"{','.join(names) or 'none'}",
            field="backends",
        )
    for name in names:
        if name in ENGINES:
            external_engine(name).version()
    return names


def shortest_step(backend: str) -> float:
    """The shortest time step that an engine takes [s]."""
    return external_engine(backend).shortest_step if backend in ENGINES else 0.0
