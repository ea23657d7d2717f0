"""The steps of a grasp in their order: described, resolved, compiled, run, evaluated.

``resolution.resolve`` makes every value concrete, ``model.scene.build`` compiles the model, an
engine runs it (``sim.engines``; in MuJoCo ``grasp_run.ClosureRun``), and
``evaluation.result_builder`` makes the result of the recording.
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from os import PathLike
from typing import NamedTuple

import mujoco

from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.evaluation.quality_log import RATE
from softgrasp.evaluation.result import GraspResult, Interrupted
from softgrasp.evaluation.result_builder import result_of
from softgrasp.io.scene import as_scene
from softgrasp.model.scene import CompiledScene, build
from softgrasp.resolution.resolve import resolve
from softgrasp.sim.control_state import Workspace
from softgrasp.sim.engines import Engine, MujocoEngine, engine_named
from softgrasp.sim.grasp_run import Progress

AnyScene = GraspScene | ResolvedScene | CompiledScene | str | PathLike[str]
"""A scene, described, resolved or compiled, or its library name or its file."""
logger = logging.getLogger(__name__)


# One scene


def simulate(
    scene: AnyScene,
    backend: str | Engine = "mujoco",
    *,
    progress: Progress | None = None,
    quality_rate: float | None = RATE,
) -> GraspResult:
    """Simulate a grasp.

    Args:
        scene: The scene, described, resolved or compiled, its library name or its file.
        backend: Name of the engine, or an engine.
        progress: Called with the simulated time [s] from time to time.
        quality_rate: Rate at which contacts are sampled for the quality of the grasp [1/s]; 0 for
            the end of the run only, None for no quality.

    Returns:
        The result, also of a grasp that failed.

    Raises:
        BackendUnavailable: There is no such engine, or it is not installed.
        BuildError: The scene makes no model that can be simulated.
        DescriptionError: The rate is negative or not finite.
        Interrupted: The user stopped the run; its result is the finished part.
    """
    _require_rate(quality_rate)
    engine = engine_named(backend) if isinstance(backend, str) else backend
    scene = as_scene(scene)
    named = scene if isinstance(scene, GraspScene) else scene.scene
    what = f"{named.hand.name} on {', '.join(named.object_names)}"
    logger.info("Simulating %s with %s.", what, engine.name)
    begin = time.perf_counter()
    with _collect_warnings() as messages:
        built = compile_scene(scene)
        if built is scene:  # a run changes its model
            built = built._replace(model=copy(built.model))
        build_time = time.perf_counter() - begin
        run = engine.run(built, progress)
    taken = time.perf_counter() - begin
    messages[:0] = built.resolved.warnings
    result = result_of(run, messages, taken, build_time, quality_rate=quality_rate)
    if not (run.finished or run.diverged or run.refusal):
        raise Interrupted(result)
    logger.info(
        "%s: %s after %.3f s of the run, which took %.2f s; time step %g ms, %d contact events.",
        what, result.outcome.name, result.simulated_time, result.wall_time,
        1e3 * result.contact_model.timestep_s, len(result.events),
    )  # fmt: skip
    return result


def _require_rate(quality_rate: float | None) -> None:
    if quality_rate is not None and not 0.0 <= quality_rate < math.inf:
        raise DescriptionError(
            f"expected a rate of at least 0, found {quality_rate:g}", field="quality_rate"
        )


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Collect warnings for the result; those before an error are shown, as there is no result."""
    messages: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield messages
    except SoftgraspError:
        for warning in caught:
            warnings.warn(warning.message, stacklevel=2)
        raise
    messages += [str(warning.message) for warning in caught]


# Many scenes


class SimulatedScene(NamedTuple):
    """Result or error of one of many scenes."""

    result: GraspResult | Exception
    """The result, or the error that prevented it."""
    build_time: float = 0.0
    """Wall time until the model was compiled, reading files and decomposing meshes included [s]."""


class SceneRunner:
    """Simulates scenes in MuJoCo one after the other, in the same memory."""

    def __init__(self, *, quality_rate: float | None = None) -> None:
        """Start without any memory.

        Args:
            quality_rate: As for ``simulate``.
        """
        self._engine, self._quality_rate = MujocoEngine(Workspace()), quality_rate

    def simulate(self, scenes: Iterable[AnyScene | Exception]) -> Iterator[SimulatedScene]:
        """Simulate scenes.

        Args:
            scenes: Scenes; an error in place of a scene is passed on.

        Yields:
            For every scene, in their order, the same result bit for bit as from ``simulate``, or
            the error that prevented it.
        """
        begin = time.perf_counter()
        for scene in scenes:  # which may be compiled only here
            prepared = time.perf_counter() - begin
            try:
                if isinstance(scene, Exception):
                    raise scene
                result = simulate(scene, self._engine, quality_rate=self._quality_rate)
            except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
                yield SimulatedScene(error, time.perf_counter() - begin)
            else:
                yield SimulatedScene(result, prepared + result.build_time)
            begin = time.perf_counter()


# Models without a run


def compile_scene(scene: AnyScene) -> CompiledScene:
    """Resolve and compile a scene, as far as it is not; errors as ``compile_model``."""
    return scene if isinstance(scene, CompiledScene) else build(resolve(scene))


def compile_model(scene: AnyScene) -> mujoco.MjModel:
    """Compile a scene to an ``mjModel`` with converted contacts; keyframe 0 is the start state.

    Raises:
        BuildError: The object starts inside the hand, or the time step is too large for the
            contact.
    """
    return compile_scene(scene).model


def build_spec(scene: AnyScene) -> mujoco.MjSpec:
    """Build the ``MjSpec`` of a scene, to be changed or attached; errors as ``compile_model``."""
    return compile_scene(scene).spec


def to_mjcf(scene: AnyScene) -> str:
    """Return a scene as MJCF text; errors as ``compile_model``."""
    return str(compile_scene(scene).spec.to_xml())
