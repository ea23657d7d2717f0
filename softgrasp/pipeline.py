"""Simulate a scene: choose the backend, run the grasp, build the result.

A grasp's path: ``simulate`` → ``model.scene.build`` → ``grasp_run.ClosureRun`` (phases from
``motion_plan``, targets from ``control_state`` and ``debounced_closing``, physics in ``stepper``,
tests from ``hold_test``) → ``result_builder.result_of`` → ``result.GraspResult``. Other engines are
functions of the same signature in ``extensions.BACKENDS``.
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from softgrasp import extensions
from softgrasp.description.scene import GraspScene
from softgrasp.errors import (
    BackendUnavailable,
    BuildError,
    DescriptionError,
    SoftgraspError,
    did_you_mean,
)
from softgrasp.evaluation.outcome import GraspStatus
from softgrasp.evaluation.quality_log import RATE
from softgrasp.evaluation.result import GraspResult, Interrupted
from softgrasp.evaluation.result_builder import result_of
from softgrasp.model.scene import build
from softgrasp.sim.engine import Workspace
from softgrasp.sim.grasp_run import ClosureRun, Progress

ROTATION_ARM = 5e-3
"""Displacement that counts as much as a rotation of the object by 1 rad [m]."""
MIN_CONTACTS = 2
"""Smallest number of bodies of the hand in contact at the end."""
ONE_FINGER = 1e-3
"""Displacement that counts as much as contacts of one finger only [m]."""
LOST = 0.015
"""Displacement in the palm above which an object counts as lost [m]."""
FAILED = (GraspStatus.EJECTED, GraspStatus.NO_CONTACT, GraspStatus.DIVERGED)
logger = logging.getLogger(__name__)
Backend = Callable[[GraspScene, Progress | None, float | None], GraspResult]


def run_mujoco(
    scene: GraspScene, progress: Progress | None = None, quality_rate: float | None = None
) -> GraspResult:
    """Simulate a scene in MuJoCo.

    Args:
        scene: The scene.
        progress: Called with the simulated time [s] from time to time.
        quality_rate: As for ``result_of``.

    Raises:
        BuildError: The scene makes no model that can be simulated.
        Interrupted: The user stopped the run; its result is the finished part.
    """
    begin = time.perf_counter()
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = ClosureRun(build(scene), progress)
            stopped = _is_interrupted(run)
    except SoftgraspError:
        for warning in caught:  # there is no result to keep them, and they may explain the error
            warnings.warn(warning.message, stacklevel=2)
        raise
    messages = [str(warning.message) for warning in caught]
    taken = time.perf_counter() - begin
    if not stopped:
        return result_of(run, messages, taken, quality_rate=quality_rate)
    interrupted = f"interrupted by the user at {run.now:.3f} s"
    raise Interrupted(result_of(run, messages, taken, interrupted, quality_rate))


def _is_interrupted(run: ClosureRun) -> bool:
    """Simulate to the end; True if the user has interrupted the run."""
    try:
        run.run()
    except KeyboardInterrupt:
        if run.recording.rows == 0:
            raise
        return True
    return False


BACKENDS: dict[str, Backend | str] = {"mujoco": run_mujoco, **extensions.BACKENDS}
"""Engines by name: functions, or references to them as in ``extensions``. An entry added here is
available everywhere."""


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
        scene: The scene.
        backend: Name of the engine.
        progress: Called with the simulated time [s] from time to time.
        quality_rate: Rate at which contacts are sampled for the quality of the grasp [1/s]; 0 for
            the end of the run only, None for no quality.

    Returns:
        The result, also of a grasp that failed.

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
        what, result.outcome.name, result.simulated_time, result.wall_time,
        1e3 * result.contact_model.timestep_s, len(result.events),
    )  # fmt: skip
    return result


# Many scenes


class SimulatedScene(NamedTuple):
    """Result or error of one of many scenes."""

    result: GraspResult | Exception
    """The result, or the error that prevented it."""
    build_time: float = 0.0
    """Wall time of building the model, reading files and decomposing meshes included [s]."""


class SceneRunner:
    """Simulates scenes in MuJoCo one after the other, in the same memory."""

    def __init__(self, *, quality_rate: float | None = None) -> None:
        """Start without any memory.

        Args:
            quality_rate: As for ``result_of``.
        """
        self._workspace, self._quality_rate = Workspace(), quality_rate

    def simulate(self, scenes: Iterable[GraspScene | Exception]) -> Iterator[SimulatedScene]:
        """Simulate scenes.

        Args:
            scenes: Scenes; an error in place of a scene is passed on.

        Yields:
            For every scene, in their order, the same result bit for bit as from ``simulate``, or
            the error that prevented it.
        """
        for scene in scenes:
            yield SimulatedScene(scene) if isinstance(scene, Exception) else self._simulated(scene)

    def _simulated(self, scene: GraspScene) -> SimulatedScene:
        begin, build_time = time.perf_counter(), 0.0
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                built = build(scene)
            build_time = time.perf_counter() - begin
            run = ClosureRun(built, workspace=self._workspace)
            run.run()
            messages, taken = [str(one.message) for one in caught], time.perf_counter() - begin
            result = result_of(run, messages, taken, quality_rate=self._quality_rate)
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
            return SimulatedScene(error, build_time)
        return SimulatedScene(result, build_time)


# Trials, to choose among computed grasps


def displacement_in_trial(scene: GraspScene) -> float:
    """Simulate a grasp and its hold test; return how far the object moves in the palm [m].

    A rotation counts as a displacement on ``ROTATION_ARM``, and contacts of one finger of several
    add ``ONE_FINGER``: another grasp is then preferred. Infinite where the object is not in the
    hand at the end, or where the start is not clear.

    Args:
        scene: The scene with a hold test.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = ClosureRun(build(scene))
        except BuildError:
            return math.inf
        run.run()
        result = result_of(run, [], 0.0)
    touching = [contact for contact in result.contacts if contact.in_contact]
    if result.status in FAILED or result.hold is None or len(touching) < MIN_CONTACTS:
        return math.inf
    displacement = max(result.hold.drop_m, ROTATION_ARM * result.hold.rotation_rad)
    if displacement > LOST:
        return math.inf
    known = {finger.name for finger in scene.hand.fingers}
    known |= {finger.name for finger in scene.hand.soft_fingers}
    fingers = known & {contact.finger for contact in touching}
    return displacement + (ONE_FINGER if len(fingers) < min(2, len(known)) else 0.0)
