"""The runs of a grasp that are compared: at rest, and in hold tests with other loads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from softgrasp.build.objects import object_mass
from softgrasp.crosschecks.convergence import halved
from softgrasp.crosschecks.engines import ProgressCallback, shortest_step
from softgrasp.crosschecks.threshold import Threshold, Verdicts, find_threshold
from softgrasp.description.scene import GraspScene
from softgrasp.description.success import SuccessCriterion
from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run import simulate

REST = 1.0
"""How much longer than its closure a hand is watched until it counts as at rest [s]."""
HALVINGS = 2
"""How often the time step is halved."""
FACTORS = (0.55, 0.78, 1.0, 1.28, 1.8)
"""Loads of the agreement matrix, over the critical one of the first engine [–]."""
THROUGH = (
    "parts of the hand pass through each other in every engine here: worlds of Webots cannot let "
    "them touch"
)
"""Said where the scene would let them touch."""


@dataclass(frozen=True, kw_only=True)
class GraspRuns:
    """What every engine says of a grasp; all by backend."""

    scene: GraspScene
    closing: Mapping[str, GraspResult]
    """The scene as it stands."""
    resting: Mapping[str, GraspResult]
    """Closed and left alone for a while, without a hold test or a lift."""
    finer: Mapping[str, Mapping[float, GraspResult]]
    """The same at several time steps [s], its own among them."""
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    """Critical loads as multiples of the object's own mass; empty where they were left out."""
    loads: tuple[float, ...] = ()
    """Of the agreement matrix, as multiples of the object's own mass."""
    held: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """Whether each of them is held."""
    lost: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Loads whose hold tests diverged; they count as dropped, and what needs them does not pass."""
    notes: tuple[str, ...] = ()

    @property
    def diverged(self) -> dict[str, str]:
        """What engines say whose runs without other loads diverged."""
        message: dict[str, str] = {}
        for name in self.closing:
            for run in (self.closing[name], self.resting[name], *self.finer[name].values()):
                if run.status is GraspStatus.DIVERGED:
                    message.setdefault(name, run.message)
        return message

    @property
    def mass(self) -> float:
        """Of the object [kg]."""
        return object_mass(self.scene.object)


def run_grasps(
    scene: GraspScene, backends: tuple[str, ...], *, quick: bool, update: ProgressCallback
) -> GraspRuns:
    """Run a grasp in several engines; without contact between parts of the hand, which some lack.

    Args:
        scene: What to simulate.
        backends: Names of the engines.
        quick: Whether to leave out other time steps and critical loads.
        update: Called with the progress.

    Raises:
        BackendUnavailable: An engine is unknown or not there.
        BuildError: An engine cannot express the scene.
        SimulationError: An engine has failed.
    """
    notes = (THROUGH,) if scene.self_contact else ()
    scene = scene.replace(self_contact=False)
    closing: dict[str, GraspResult] = {}
    resting: dict[str, GraspResult] = {}
    for name in backends:
        update(f"{name}: closing", None)
        closing[name] = simulated(scene, name)
        update(f"{name}: closing and coming to rest", None)
        resting[name] = simulated(at_rest(scene, closing[backends[0]]), name)
    finer = {name: {step_of(run): run} for name, run in resting.items()}
    runs = GraspRuns(scene=scene, closing=closing, resting=resting, finer=finer, notes=notes)
    if quick:
        message = "quick: other time steps and critical loads were left out"
        return replace(runs, notes=(message, *notes))
    if runs.diverged:
        return runs
    runs = replace(runs, finer=_finer(resting, update))
    return runs if runs.diverged else _with_loads(runs, update)


def _finer(
    resting: Mapping[str, GraspResult], update: ProgressCallback
) -> dict[str, dict[float, GraspResult]]:
    """The runs at rest with smaller time steps too."""
    runs = {}
    for name, run in resting.items():
        first_step = step_of(run)
        runs[name] = {first_step: run}
        for step in halved(first_step, HALVINGS, shortest_step(name))[1:]:
            update(f"{name}: steps of {1e3 * step:g} ms", None)
            runs[name][step] = simulated(run.scene.replace(timestep=step), name)
    return runs


def _with_loads(runs: GraspRuns, update: ProgressCallback) -> GraspRuns:
    """With critical loads, and verdicts about loads around that of the first engine."""
    scene = runs.scene
    if scene.object_mount != "free" or scene.lift is not None:
        message = "critical loads are not looked for: they need a free object and no lift"
        return replace(runs, notes=(*runs.notes, message))
    lost: dict[str, list[float]] = {}
    verdicts = {name: Verdicts(_holds(scene, name, update, lost)) for name in runs.closing}
    first, *others = verdicts
    thresholds = {first: find_threshold(verdicts[first])}
    critical = thresholds[first].middle
    loads = tuple(factor * critical for factor in FACTORS) if critical else (1.0,)
    held = {name: tuple(verdict(load) for load in loads) for name, verdict in verdicts.items()}
    thresholds |= {name: find_threshold(verdicts[name]) for name in others}
    odd = tuple(
        f"{name}: an object is held that is heavier than one that falls; the lightest that falls "
        "counts"
        for name, verdict in verdicts.items()
        if not verdict.monotonic
    )
    return replace(
        runs,
        thresholds=thresholds,
        loads=loads,
        held=held,
        lost={name: tuple(sorted(lost_loads)) for name, lost_loads in lost.items()},
        notes=(*runs.notes, *odd),
    )


def _holds(
    scene: GraspScene, backend: str, update: ProgressCallback, lost: dict[str, list[float]]
) -> Callable[[float], bool]:
    """Whether an engine holds a load; those at which it diverges are written down."""

    def holds(load: float) -> bool:
        update(f"{backend}: holding {load:.3g} times the object", None)
        result = simulated(loaded(scene, load), backend)
        if result.status is GraspStatus.DIVERGED:
            lost.setdefault(backend, []).append(load)
            return False
        return bool(result.held)

    return holds


def at_rest(scene: GraspScene, closed: GraspResult) -> GraspScene:
    """The scene with time to come to rest, and without a hold test or a lift.

    Args:
        scene: The scene.
        closed: Its run in the first engine, which tells how long closing takes.
    """
    took = closed.hold.start_s if closed.hold is not None else closed.simulated_time
    period = scene.control_period
    duration = period * round((took + REST) / period)
    return scene.replace(success=None, lift=None, duration=duration)


def loaded(scene: GraspScene, factor: float) -> GraspScene:
    """The scene with an object that is heavier by a factor, and a hold test."""
    obj = scene.object.weighing(mass=factor * object_mass(scene.object))
    success = scene.success or SuccessCriterion()
    return scene.replace(object=obj, success=success, lift=None)


def step_of(result: GraspResult) -> float:
    """The time step of a run [s]."""
    return result.contact_model.timestep_s


def simulated(scene: GraspScene, backend: str) -> GraspResult:
    """Run a scene; its warnings stay in the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(scene, backend, quality_rate=None)
