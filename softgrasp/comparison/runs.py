"""Run grasps and finger releases in several engines, for a comparison.

A release runs to rest under the weight, then free, with several time steps. A grasp closes, comes
to rest, and is held with other loads. Touch sensors of Webots measure the total contact force only,
so that with Webots √(N² + T²) is compared in all engines.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from softgrasp.comparison.criteria import (
    Convergence,
    Threshold,
    Verdicts,
    Vibration,
    convergence,
    find_threshold,
    halve,
    vibration,
)
from softgrasp.continuum.settling import Settling, settling
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.evaluation.outcome import GraspStatus
from softgrasp.evaluation.result import GraspResult
from softgrasp.mechanics.transforms import Array
from softgrasp.model.object import object_mass
from softgrasp.pipeline import simulate
from softgrasp.resolution.resolve import resolve
from softgrasp.sim.engines import engine_named, engine_names
from softgrasp.sim.soft_dynamics import (
    MUJOCO,
    FreeMotion,
    LinearMode,
    linear_mode,
    release_motion,
    rest_shape,
    small_motion,
)
from softgrasp.sim.soft_statics import damp_finger, loaded_finger, solve_loaded_shape

RELEASE_HALVINGS = 3
"""Number of halvings of the time step of a release."""
TOTAL_FORCE_ENGINE = "webots"
"""Engine that does not separate normal force and friction."""
REST = 1.0
"""Time after the closure at which a hand counts as at rest [s]."""
HALVINGS = 2
"""Number of halvings of the time step of a grasp."""
FACTORS = (0.55, 0.78, 1.0, 1.28, 1.8)
"""Tested loads over the critical one of the first engine [–]."""
SELF_CONTACT_NOTE = (
    "parts of the hand pass through each other in every engine here: worlds of Webots cannot let "
    "them touch"
)
"""Note where the scene has contact between parts of the hand."""
ProgressCallback = Callable[[str, float | None], None]
"""Function of a message and the completed fraction, 0 to 1."""
EMULATES = {"ode": "with the rules of Webots R2025a, not compared with Webots itself"}
"""Notes beside the names of engines."""


# Releases


@dataclass(frozen=True, kw_only=True)
class ReleaseRuns:
    """Results of a release by backend."""

    release: FingerRelease
    rest: Array
    """Joint angles under the weight in closed form, (n,) [rad]."""
    resting: Mapping[str, FreeMotion]
    """Motions to rest under the weight."""
    moving: Mapping[str, Mapping[float, FreeMotion]]
    """Motions after the release, by time step [s]."""
    without_hk: FreeMotion | None
    """MuJoCo with the dampers of Webots only; None where there is no other damping."""
    linear: Mapping[float, LinearMode]
    """First mode in closed form, by time step [s]; 0 for continuous time."""
    notes: tuple[str, ...] = ()

    def motion(self, backend: str) -> FreeMotion:
        """Motion at the time step of the release."""
        return self.moving[backend][self.release.timestep]

    def mode(self, backend: str, timestep: float) -> Vibration:
        """First mode, fitted to the height of the tip."""
        motion = self.moving[backend][timestep]
        return vibration(motion.time, motion.tip[:, 1], self.linear[timestep])

    def settled(self, backend: str) -> Settling:
        """Settling time to 5 %."""
        motion = self.motion(backend)
        return settling(motion.time, motion.tip[:, 1], "band-5%")

    def convergence(self, backend: str) -> Convergence:
        """Convergence of joint angles after the release [deg]."""
        motions = self.moving[backend]
        angles = [np.degrees(motion.angles) for motion in motions.values()]
        return convergence(list(motions), angles)


def run_releases(
    release: FingerRelease, backends: tuple[str, ...], *, quick: bool, update: ProgressCallback
) -> ReleaseRuns:
    """Run a release in several engines; ``quick`` skips other time steps.

    Raises:
        BackendUnavailable: An engine is unknown or not installed.
        BuildError: An engine lacks a feature of the finger.
        SimulationError: A motion diverges.
    """
    finger = damp_finger(release)
    loaded = loaded_finger(release.finger, release.tip_mass)
    rate = small_motion(loaded).rate
    steps = {name: _steps(release, name, quick) for name in backends}
    count, done = sum(map(len, steps.values())) + len(backends), 0
    resting: dict[str, FreeMotion] = {}
    moving: dict[str, dict[float, FreeMotion]] = {name: {} for name in backends}
    for name in backends:
        update(f"{name}: coming to rest under the weight", done / count)
        resting[name] = rest_shape(loaded, rate, name, timestep=release.timestep)
        done += 1
        for step in steps[name]:
            update(f"{name}: release in steps of {1e3 * step:g} ms", done / count)
            moving[name][step] = release_motion(release, name, timestep=step)
            done += 1
    every = {0.0} | {step for each in steps.values() for step in each}
    without_hk = None
    if release.webots_timestep is not None:
        plain, finest = release.replace(webots_timestep=None), 0.5**RELEASE_HALVINGS
        without_hk = release_motion(plain, MUJOCO, timestep=release.timestep * finest)
    return ReleaseRuns(
        release=release,
        rest=solve_loaded_shape(release),
        resting=resting,
        moving=moving,
        without_hk=without_hk,
        linear={step: linear_mode(finger, step) for step in sorted(every)},
        notes=tuple(_left_out(backends, steps, quick)),
    )


def _steps(release: FingerRelease, backend: str, quick: bool) -> list[float]:
    steps = halve(release.timestep, 0 if quick else RELEASE_HALVINGS, shortest_step(backend))
    return steps or [release.timestep]  # the engine reports that it is too short


def _left_out(backends: tuple[str, ...], steps: dict[str, list[float]], quick: bool) -> list[str]:
    """Return notes about skipped comparisons."""
    if quick:
        return ["quick: other time steps than that of the release were skipped"]
    return [
        f"{name}: no time steps below {1e3 * min(steps[name]):g} ms, which is the shortest that it "
        "takes, so its convergence is not known"
        for name in backends
        if len(steps[name]) <= RELEASE_HALVINGS and not math.isclose(shortest_step(name), 0.0)
    ]


# Grasps


def comparable(runs: GraspRuns) -> GraspRuns:
    """Make normal forces comparable across engines; only Webots requires a change."""
    if TOTAL_FORCE_ENGINE not in runs.closing:
        return runs
    return replace(
        runs,
        closing={name: total_force(run) for name, run in runs.closing.items()},
        resting={name: total_force(run) for name, run in runs.resting.items()},
        finer={
            name: {step: total_force(run) for step, run in runs_by_step.items()}
            for name, runs_by_step in runs.finer.items()
        },
    )


def total_force(result: GraspResult) -> GraspResult:
    """Replace the normal force of each body by the magnitude of its total contact force.

    Magnitudes of several contacts of a body are added, so that it is exact for one contact.
    """
    return replace(result, normal_force=np.hypot(result.normal_force, result.friction_force))


def force_name(names: Iterable[str]) -> str:
    """Name of the compared force."""
    return "Total contact force" if TOTAL_FORCE_ENGINE in names else "Normal force"


def total_force_note(names: Iterable[str]) -> list[str]:
    """Note about the compared force; empty without Webots."""
    if TOTAL_FORCE_ENGINE not in names:
        return []
    return [
        f"{TOTAL_FORCE_ENGINE} measures the total contact force only, so √(N² + T²) of the others "
        "is compared with it"
    ]


@dataclass(frozen=True, kw_only=True)
class GraspRuns:
    """Results of a grasp by backend."""

    scene: GraspScene
    closing: Mapping[str, GraspResult]
    """Runs of the scene."""
    resting: Mapping[str, GraspResult]
    """Closed and at rest, without a hold test or a lift."""
    finer: Mapping[str, Mapping[float, GraspResult]]
    """The same at several time steps [s], with that of ``resting``."""
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    """Critical loads over the mass of the object [–]; empty where they were skipped."""
    loads: tuple[float, ...] = ()
    """Tested loads over the mass of the object [–]."""
    held: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """Whether each tested load is held."""
    lost: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Loads whose hold tests diverged; they count as dropped, and their findings do not pass."""
    notes: tuple[str, ...] = ()

    @property
    def diverged(self) -> dict[str, str]:
        """Messages of engines whose runs without other loads diverged."""
        message: dict[str, str] = {}
        for name in self.closing:
            for run in (self.closing[name], self.resting[name], *self.finer[name].values()):
                if run.status is GraspStatus.DIVERGED:
                    message.setdefault(name, run.message)
        return message

    @property
    def mass(self) -> float:
        """Mass of the object [kg]."""
        return object_mass(self.scene.object)


def run_grasps(
    scene: GraspScene, backends: tuple[str, ...], *, quick: bool, update: ProgressCallback
) -> GraspRuns:
    """Run a grasp in several engines, without contact between parts of the hand.

    Raises:
        BackendUnavailable: An engine is unknown or not installed.
        BuildError: An engine lacks a feature of the scene.
        SimulationError: An engine has failed.
    """
    notes = (SELF_CONTACT_NOTE,) if scene.self_contact else ()
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
        message = "quick: other time steps and critical loads were skipped"
        return replace(runs, notes=(message, *notes))
    if runs.diverged:
        return runs
    runs = replace(runs, finer=_finer(resting, update))
    return runs if runs.diverged else _with_loads(runs, update)


def _finer(
    resting: Mapping[str, GraspResult], update: ProgressCallback
) -> dict[str, dict[float, GraspResult]]:
    """Add runs at rest with smaller time steps."""
    runs = {}
    for name, run in resting.items():
        first_step = step_of(run)
        runs[name] = {first_step: run}
        for step in halve(first_step, HALVINGS, shortest_step(name))[1:]:
            update(f"{name}: steps of {1e3 * step:g} ms", None)
            runs[name][step] = simulated(run.scene.replace(timestep=step), name)
    return runs


def _with_loads(runs: GraspRuns, update: ProgressCallback) -> GraspRuns:
    """Add critical loads, and hold tests of loads around that of the first engine."""
    scene = runs.scene
    if scene.object_mount != "free" or scene.lift is not None:
        message = "critical loads are not searched: they need a free object and no lift"
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
        f"{name}: an object is held that is heavier than a dropped one; the lightest dropped one "
        "counts"
        for name, verdict in verdicts.items()
        if not verdict.monotonic
    )
    ordered = {name: tuple(sorted(lost_loads)) for name, lost_loads in lost.items()}
    runs = replace(runs, thresholds=thresholds, loads=loads, held=held, lost=ordered)
    return replace(runs, notes=(*runs.notes, *odd))


def _holds(
    scene: GraspScene, backend: str, update: ProgressCallback, lost: dict[str, list[float]]
) -> Callable[[float], bool]:
    """Return a function that runs an engine's hold test and records diverging loads.

    It returns whether the object stayed within the limits, whatever bore it, as some engines do
    not measure that.
    """

    def holds(load: float) -> bool:
        update(f"{backend}: holding {load:.3g} times the object", None)
        result = simulated(add_load(scene, load), backend)
        if result.status is GraspStatus.DIVERGED:
            lost.setdefault(backend, []).append(load)
            return False
        return bool(result.hold and result.hold.within_limits)

    return holds


def at_rest(scene: GraspScene, closed: GraspResult) -> GraspScene:
    """Return a scene with time to come to rest after it closed, without hold test and lift."""
    took = closed.hold.start_s if closed.hold is not None else closed.simulated_time
    period = scene.control_period
    duration = period * round((took + REST) / period)
    return scene.replace(success=None, lift=None, duration=duration)


def add_load(scene: GraspScene, factor: float) -> GraspScene:
    """Return the scene with the mass of the object times a factor, and a hold test."""
    obj = scene.object.weighing(mass=factor * object_mass(scene.object))
    success = scene.success or SuccessCriterion()
    return scene.replace(object=obj, success=success, lift=None)


def step_of(result: GraspResult) -> float:
    """Return the time step of a run [s]."""
    return result.contact_model.timestep_s


def simulated(scene: GraspScene, backend: str) -> GraspResult:
    """Simulate a scene and keep its warnings in the result only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(scene, backend, quality_rate=None)


# Engines


@dataclass(frozen=True)
class EngineProperties:
    """Version and parameters of an engine."""

    version: str
    parameters: Mapping[str, str]
    """Time step, integrator, contact parameters, … as text with units."""


def check_backends(backends: Iterable[str]) -> tuple[str, ...]:
    """Check the names of backends to compare.

    Raises:
        DescriptionError: A backend is unknown, there are fewer than two, or one is repeated.
    """
    names = tuple(backends)
    for name in names:
        if name not in engine_names():
            hint = did_you_mean(name, engine_names())
            raise DescriptionError(f"no backend '{name}'; {hint}", field="backends")
    if len(names) < 2 or len(set(names)) < len(names):
        raise DescriptionError(
            f"expected two or more different backends, such as mujoco,ode, found "
            f"{','.join(names) or 'none'}",
            field="backends",
        )
    return names


def require_engines(backends: Iterable[str], subject: GraspScene | FingerRelease) -> None:
    """Check that the engines can run a scene or a release, and are installed, in this order.

    Raises:
        BuildError: An engine lacks a feature of the scene; names the feature.
        BackendUnavailable: One is not installed.
    """
    engines = [engine_named(name) for name in backends]
    if isinstance(subject, GraspScene):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # every run gives them
            resolved = resolve(subject)
        for engine in engines:
            engine.require_supported(resolved)
    for engine in engines:
        engine.version()


def shortest_step(backend: str) -> float:
    """Return the shortest time step of an engine [s]."""
    return engine_named(backend).shortest_step


# Forces at rest


def bodies_in_contact(result: GraspResult) -> tuple[str, ...]:
    """Bodies with established contact at the end."""
    return tuple(contact.body for contact in result.contacts if contact.in_contact)


def force_at(result: GraspResult, body: str) -> float:
    """Normal force of a body at the end [N]."""
    names: list[str] = result.contact_bodies.tolist()
    return float(result.normal_force[-1, names.index(body)])


def force_per_sample(result: GraspResult, body: str) -> float:
    """Relative increase of a finger's force with one more control sample of closing [%].

    The moment of a servo is its stiffness times the distance to its target; a sample increases the
    target by rate · period, and the moment by stiffness · rate · period. The largest value over the
    finger's joints counts.
    """
    contact = result.contact_of(body)
    targets, joints = result.actuator_names.tolist(), result.joint_names.tolist()
    largest = 0.0
    for column, name in enumerate(targets):
        if name not in joints or not contact.finger or not name.startswith(f"{contact.finger}_"):
            continue
        target = result.joint_target[:, column]
        sample = float(np.abs(np.diff(target)).max(initial=0.0))
        ahead = abs(float(target[-1] - result.joint_position[-1, joints.index(name)]))
        largest = max(largest, 100.0 * sample / ahead if ahead > 0.0 else 0.0)
    return largest
