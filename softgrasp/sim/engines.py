"""Physics engines: the protocol that each satisfies, MuJoCo itself, and their names.

An engine runs a compiled scene and returns its recording; everything before and after that is the
same for all of them (``pipeline.simulate``).
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import mujoco

from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import BackendUnavailable, did_you_mean
from softgrasp.extensions import ENGINES
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import CompiledScene
from softgrasp.sim.control_state import Workspace
from softgrasp.sim.grasp_run import ClosureRun, Progress
from softgrasp.sim.run_record import FinishedRun

MUJOCO = "mujoco"


class Engine(Protocol):
    """A physics engine."""

    @property
    def name(self) -> str:
        """Its name, for ``--backend``."""

    @property
    def shortest_step(self) -> float:
        """Shortest time step that the engine accepts [s]."""

    @property
    def constraint_softness(self) -> float | None:
        """Constraint force mixing (CFM) of its world [m/(N·s)]; None where it has none."""

    def version(self) -> str:
        """Return its version; raises BackendUnavailable if it is not installed."""

    def require_supported(self, resolved: ResolvedScene) -> None:
        """Refuse a scene with a feature that the engine lacks.

        Raises:
            BuildError: There is one; names it.
        """

    def run(self, built: CompiledScene, progress: Progress | None = None) -> FinishedRun:
        """Run a compiled scene; of a run that the user stops, return the finished part.

        Args:
            built: The scene; a run may change its model.
            progress: Called with the simulated time [s] from time to time.

        Raises:
            BackendUnavailable: The engine is not installed.
            BuildError: The scene has a feature that the engine lacks; names it.
            KeyboardInterrupt: The user has stopped it before the first sample.
            SimulationError: The engine has failed.
        """


@runtime_checkable
class ReleaseEngine(Engine, Protocol):
    """An engine that can also simulate the release of a soft finger."""

    def release(
        self, finger: SoftFinger, start: Array, timestep: float, sample_period: float, samples: int
    ) -> Array:
        """Simulate the release of a soft finger, and return its joint angles, (samples, n) [rad].

        Args:
            finger: Finger with its full damping.
            start: Joint angles at rest before the release, (n,) [rad].
            timestep: Time step of the engine [s].
            sample_period: Time between two samples, a whole number of time steps [s].
            samples: Number of samples, the start included.

        Raises:
            BuildError: A joint has less damping than the engine adds at this step.
            DivergedError: The finger has diverged.
            SimulationError: The engine has failed.
        """


class MujocoEngine:
    """MuJoCo, which has all features."""

    name, shortest_step, constraint_softness = MUJOCO, 0.0, None

    def __init__(self, workspace: Workspace | None = None) -> None:
        """Prepare runs.

        Args:
            workspace: Memory that all runs use one after the other; a new one for each by default.
        """
        self._workspace = workspace

    def version(self) -> str:
        """Return the version of MuJoCo."""
        return str(mujoco.__version__)

    def require_supported(self, resolved: ResolvedScene) -> None:
        """Accept every scene."""

    def run(self, built: CompiledScene, progress: Progress | None = None) -> ClosureRun:
        """Run a compiled scene; see ``Engine.run``."""
        run = ClosureRun(built, progress, workspace=self._workspace)
        run.run()
        return run


def engine_named(name: str) -> Engine:
    """Return an engine by its name.

    Raises:
        BackendUnavailable: There is no such engine.
    """
    if name == MUJOCO:
        return MujocoEngine()
    if name not in ENGINES:
        hint = did_you_mean(name, engine_names())
        raise BackendUnavailable(f"no backend '{name}'; {hint}")
    engine: Engine = ENGINES.load(name)()
    return engine


def engine_names() -> tuple[str, ...]:
    """Return the names of all engines, MuJoCo first."""
    return (MUJOCO, *ENGINES)
