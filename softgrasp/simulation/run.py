"""Run a scene in a backend."""

from __future__ import annotations

from collections.abc import Callable

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable, did_you_mean
from softgrasp.simulation.closure_run import Progress
from softgrasp.simulation.mujoco_backend import run_mujoco
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.webots.backend import run_in_ode, run_in_webots

BACKENDS: dict[str, Callable[[GraspScene, Progress | None], GraspResult]] = {
    "mujoco": run_mujoco,
    "ode": run_in_ode,
    "webots": run_in_webots,
}
"""Engines by name; one that is added here can be asked for everywhere."""


def simulate(
    scene: GraspScene, backend: str = "mujoco", *, progress: Progress | None = None
) -> GraspResult:
    """Simulate a grasp.

    Args:
        scene: What to simulate.
        backend: Name of the engine.
        progress: Called with the simulated time [s] now and then.

    Returns:
        The result; also a grasp that failed is one.

    Raises:
        BackendUnavailable: There is no such backend, or it is not installed.
        BuildError: The scene makes no model that can be simulated.
    """
    if backend not in BACKENDS:
        raise BackendUnavailable(f"no backend '{backend}'; {did_you_mean(backend, BACKENDS)}")
    return BACKENDS[backend](scene, progress)
