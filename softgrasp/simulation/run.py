"""Run a scene in a backend."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from softgrasp import extensions
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable, DescriptionError, did_you_mean
from softgrasp.simulation.closure_run import Progress
from softgrasp.simulation.mujoco_backend import run_mujoco
from softgrasp.simulation.quality_sampling import RATE
from softgrasp.simulation.result import GraspResult

logger = logging.getLogger(__name__)
Backend = Callable[[GraspScene, Progress | None, float | None], GraspResult]
BACKENDS: dict[str, Backend | str] = {"mujoco": run_mujoco, **extensions.BACKENDS}
"""Engines by name: functions, or references to them as in ``extensions``. One that is added here
can be requested everywhere."""


def backend_function(name: str) -> Backend:
    """Return the function that simulates a scene in an engine.

    Raises:
        BackendUnavailable: There is no such backend.
    """
    if name not in BACKENDS:
        raise BackendUnavailable(f"no backend '{name}'; {did_you_mean(name, BACKENDS)}")
    backend = BACKENDS[name]
    function: Backend = extensions.load(backend) if isinstance(backend, str) else backend
    return function


def simulate(
    scene: GraspScene,
    backend: str = "mujoco",
    *,
    progress: Progress | None = None,
    quality_rate: float | None = RATE,
) -> GraspResult:
    """Simulate a grasp.

    Args:
        scene: What to simulate.
        backend: Name of the engine.
        progress: Called with the simulated time [s] now and then.
        quality_rate: How often contacts are looked at for the quality of the grasp [1/s]; 0 for
            the end of the run only, None for not at all.

    Returns:
        The result; also a grasp that failed is one.

    Raises:
        BackendUnavailable: There is no such backend, or it is not installed.
        BuildError: The scene makes no model that can be simulated.
        DescriptionError: The rate is negative or not finite.
    """
    if quality_rate is not None and not 0.0 <= quality_rate < math.inf:
        raise DescriptionError(
            f"expected a rate of at least 0, found {quality_rate:g}", field="quality_rate"
        )
    run = backend_function(backend)
    what = f"{scene.hand.name} on {', '.join(scene.object_names)}"
    logger.info("Simulating %s with %s.", what, backend)
    result = run(scene, progress, quality_rate)
    logger.info(
        "%s: %s after %.3f s of the run, which took %.2f s; time step %g ms, %d contact events.",
        what, result.status.name, result.simulated_time, result.wall_time,
        1e3 * result.contact_model.timestep_s, len(result.events),
    )  # fmt: skip
    return result
