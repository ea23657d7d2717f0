"""Goal of a scene as an environment: close the hand, then hold or lift the object.

``GraspTask`` has the constants of a scene, ``Episode`` the state of one episode whichever engine
runs it: ``plan`` turns an action into targets and loads of control samples, ``update`` evaluates
what the engine did. Contacts are detected, and outcomes decided, by the laws of single runs.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from softgrasp.description.base import Description, NonNegative, Positive
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import PoseNoise
from softgrasp.description.task import SuccessCriterion
from softgrasp.envs.core import ObjectPose, finger_members, finger_of_body
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.evaluation.hold_result import CREEP_FRACTION, is_within
from softgrasp.evaluation.outcome import EJECTION_DISTANCE, RESTING_SPEED, Outcome
from softgrasp.io.scene import load_scene
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import CompiledScene, start_targets
from softgrasp.sim.hold_test import gravity_steps
from softgrasp.sim.laws import DebouncedFlags, debounce
from softgrasp.sim.load_balance import EARTH, NO_LOAD
from softgrasp.sim.motion_plan import lift_path
from softgrasp.sim.stepper import plan_targets

WHOLE = 1e-6
"""Tolerance for a decision period to be a multiple of the control period [–]."""


class EnvSettings(Description):
    """Actions, times, noise and reward of an environment."""

    action: Literal["increments", "targets"] = "increments"
    """``increments``: change of the targets, 1 is an actuator's closing rate, −1 its reverse.
    ``targets``: goals of the targets, from −1 for the lower limit to 1 for the upper one, at the
    closing rate at most."""
    speed: Positive = 1.0
    """Largest speed of a target over the closing rate of its actuator [–]."""
    decision_period: Positive = 0.02
    """Time between two actions [s]; a multiple of the scene's control period."""
    closing_time: Positive | None = None
    """Start of the hold test, or the lift [s]; by default the scene's ``duration``, or else when
    the fastest actuator has crossed its range and has settled."""
    time_limit: Positive | None = None
    """Time at which an episode is truncated [s]; by default it runs until success or failure."""
    noise: PoseNoise = PoseNoise()
    """Random offset of the object's start, drawn for each episode."""
    shaping: NonNegative = 0.0
    """Weight of the reward shaping by the fraction of fingers in contact."""
    discount: Annotated[float, Field(strict=True, ge=0, le=1)] = 1.0
    """Discount of the learner per step, which the shaping needs [–]."""


def with_goal(scene: GraspScene | str | Path) -> GraspScene:
    """Return a scene with the default hold test if it has neither that nor a lift.

    Args:
        scene: The scene, its library name or its file.

    Raises:
        DescriptionError: The object is fixed or deformable, or the closure uses tactile sensors.

    Warns:
        SoftgraspWarning: Sensors are left out.
    """
    if not isinstance(scene, GraspScene):
        scene = load_scene(scene)
    if scene.sensors:
        message = f"sensors: {len(scene.sensors)} of the scene are left out of the environment"
        warnings.warn(f"{message}, which has observations of its own", SoftgraspWarning, 3)
    if scene.object.elasticity is not None:
        expected = "a rigid object for an environment"
        raise _refusal("object.elasticity", expected, "a deformable one")
    if scene.closure.sense == "sensor":
        expected = "'force' for an environment, whose contacts are detected by true forces"
        raise _refusal("closure.sense", expected, "'sensor'")
    if scene.success is not None or scene.lift is not None:
        return scene
    return scene.replace(success=SuccessCriterion())


def _refuse_what_is_left_out(scene: GraspScene) -> None:
    """Refuse tests that would hold everything, further objects, and phases and pushes."""
    gravity = (0.0, 0.0, -EARTH) if scene.success is None else scene.success.gravity
    if gravity is not None and math.hypot(*gravity) < NO_LOAD:
        expected = f"a gravity of at least {NO_LOAD:.3g} m/s² in an environment"
        raise _refusal("success.gravity", expected, gravity)
    if scene.objects:
        raise _refusal("objects", "none in an environment", len(scene.objects))
    if not scene.is_plain:
        expected = "a closure with a ramp of gravity or a lift behind it in an environment"
        if scene.sequence:
            raise _refusal("sequence", expected, "a sequence")
        raise _refusal("success", expected, "a criterion with more than that")


def _refusal(field: str, expected: str, value: object) -> DescriptionError:
    return DescriptionError(f"expected {expected}, found {value}", field=field)


class GraspTask:
    """Constants of all episodes of a scene; nd actuators of the hand, nu in all, nb bodies."""

    def __init__(self, built: CompiledScene, settings: EnvSettings) -> None:
        """Collect the constants of a built scene that has a goal.

        Raises:
            DescriptionError: The decision period is not a multiple of the control period, no
                actuator has a closing rate, or the scene has more than a closure and its test.
            BuildError: An arm does not reach.
        """
        scene, model, period = built.scene, built.model, built.scene.control_period
        _refuse_what_is_left_out(scene)
        self.scene, self.settings = scene, settings
        criterion = scene.success or scene.lift
        assert criterion is not None  # see with_goal
        self.criterion = criterion
        self.bodies = tuple(built.bodies)
        """Bodies of the hand that can touch, (nb,)."""
        self.fingers = finger_members(built.bodies, finger_of_body(built))
        """Which bodies belong to which finger, (nb, nf) of 0 and 1."""
        self.actuators = tuple(actuator.name for actuator in scene.actuators)
        """Actuators of the hand, (nd,)."""
        self.active = np.flatnonzero(scene.rates)
        """Actuators that an agent moves: those with a closing rate."""
        self.start = np.array(start_targets(scene))
        """Targets of all actuators at the start, (nu,)."""
        self.increments = np.array(scene.rates) * period * settings.speed
        """Increments of the targets per control period at action 1, (nd,)."""
        limits: Array = np.array(scene.limits)
        self.lower, self.upper = limits.T
        """Limits of the targets, (nd,)."""
        self.samples_per_action = round(settings.decision_period / period)
        self.closing_samples = max(round(self._closing_time() / period), 1)
        self.loads = self.path = np.zeros((0, 0))
        """Gravity at the samples of a hold test, (n, 3) [m/s²], or targets of the wrist or arm at
        those of a lift, (n, nu − nd)."""
        if scene.lift is not None:
            self.path = lift_path(scene, scene.lift, max(round(scene.lift.time / period), 1))
            self.test_samples = len(self.path) + round(scene.lift.hold_time / period)
        elif scene.success is not None:
            steps = gravity_steps(scene.success, model.opt.gravity.copy(), period)
            samples, loads = zip(*steps, strict=True)
            self.loads, self.test_samples = np.repeat(loads, samples, axis=0), sum(samples)
        late = max(round(CREEP_FRACTION * criterion.hold_time / period), 1)
        self.creep_samples = min(late, self.test_samples) or 1
        """Last samples of the test over which the speed of the object in the palm is the mean."""
        is_object = model.geom_bodyid == model.body(names.OBJECT).id
        self.object_radius = float(model.geom_rbound[is_object].max())
        """Radius of a sphere around the object [m]."""
        self._refuse_what_does_not_fit()

    def _refuse_what_does_not_fit(self) -> None:
        if not self.active.size:
            expected = "an actuator with a closing rate, which an agent could move"
            raise _refusal("closure.rates", expected, "none")
        period, decision = self.scene.control_period, self.settings.decision_period
        if self.samples_per_action < 1 or abs(decision / period - self.samples_per_action) > WHOLE:
            expected = f"a whole number of control periods of {period:g} s"
            raise _refusal("decision_period", expected, f"{decision:g} s")

    def _closing_time(self) -> float:
        scene, settings = self.scene, self.settings
        duration = settings.closing_time or scene.duration
        if duration is not None:
            return duration
        ranges = zip(scene.limits, scene.start, scene.rates, strict=True)
        travel = [((up if rate > 0 else low) - at) / rate for (low, up), at, rate in ranges if rate]
        return min(travel, default=0.0) / settings.speed + scene.closure.settle_time


class Plan(NamedTuple):
    """Targets and loads at the n control samples of one action."""

    targets: Array
    """Targets of all actuators, (n, nu)."""
    loads: Array
    """Gravity in the last samples, one per row, (≤ n, 3) [m/s²]; before, it is constant."""
    samples: int
    """Number of last samples at which the pose of the object is needed; at least 1."""


class Episode:
    """State of an episode for any engine: ``plan`` an action, then ``update`` by its outcome."""

    def __init__(self, task: GraspTask, pose: ObjectPose) -> None:
        """Start an episode of a task.

        Args:
            task: The task.
            pose: The object at the start, one row.
        """
        self.task = task
        self.targets = task.start.copy()
        """Targets of all actuators, (nu,)."""
        self.forces = np.zeros(len(task.bodies))
        """Normal forces at the last sample [N], (nb,)."""
        self._contact = DebouncedFlags.initial(len(task.bodies))
        self.samples = 0
        """Control samples so far."""
        self.decided: Outcome | None = None
        """Outcome of success or failure; None until that is decided."""
        self.diverged = False
        self.drop = self.rotation = 0.0
        """Largest displacement and rotation of the object during the test, palm frame [m, rad]."""
        self.pose = self._pose_at_start = pose
        """Last known pose of the object."""
        self.creep = 0.0
        """Mean speed of the object in the palm at the end of the test [m/s]."""
        self._pose_at_test: ObjectPose | None = None
        self._test_path: list[Array] = []
        self._was_touched = False
        self._potential = self._support = 0.0

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.samples * self.task.scene.control_period

    @property
    def in_contact(self) -> NDArray[np.bool_]:
        """Whether contact of each body is established, (nb,)."""
        return np.array(self._contact.active, dtype=bool)

    @property
    def tested(self) -> int:
        """Number of control samples of the hold test so far; negative while the hand closes."""
        return self.samples - self.task.closing_samples

    @property
    def held(self) -> bool | None:
        """Whether the object was held; None until that is decided."""
        return None if self.decided is None else self.decided is Outcome.HELD

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the episode, as of a single run; None while it lasts."""
        if self.diverged:
            return Outcome.UNSTABLE
        return Outcome.TIMED_OUT if self.truncated else self.decided

    @property
    def terminated(self) -> bool:
        """Return whether success or failure is decided."""
        return self.decided is not None

    @property
    def truncated(self) -> bool:
        """Return whether the episode ended undecided: time limit reached, or motion diverged."""
        limit = self.task.settings.time_limit
        late = limit is not None and self.time >= limit - 0.5 * self.task.scene.control_period
        return not self.terminated and (late or self.diverged)

    @property
    def progress(self) -> tuple[float, float]:
        """Elapsed fractions of the closing time and of the test, 0 to 1."""
        closing = min(self.samples / self.task.closing_samples, 1.0)
        return closing, min(max(self.tested, 0) / max(self.task.test_samples, 1), 1.0)

    def plan(self, action: Array) -> Plan:
        """Plan the control samples of an action: a decision period, or the rest of the test.

        Args:
            action: One number per active actuator, (na,), clipped to −1…1.
        """
        task, tested = self.task, self.tested
        count = min(task.samples_per_action, task.test_samples - tested)
        targets = np.empty((count, len(self.targets)))
        hand = slice(0, len(task.actuators))
        targets[:, hand] = self._paths(action, count)
        targets[:, hand.stop :] = self.targets[hand.stop :]
        if len(task.path) and tested + count > 1:
            # as in a single run the wrist starts to move one sample after the test has begun
            rows = np.arange(tested, tested + count)
            led = rows > 0
            targets[led, hand.stop :] = task.path[np.minimum(rows[led], len(task.path)) - 1]
        loads = task.loads[max(tested, 0) : max(tested + count, 0)]
        return Plan(targets, loads, min(max(tested + count + 1, 1), count))

    def _paths(self, action: Array, count: int) -> Array:
        """Compute targets of the hand's actuators at the coming samples, (n, nd)."""
        task, whole = self.task, np.zeros(len(self.task.actuators))
        whole[task.active] = np.minimum(np.maximum(action, -1.0), 1.0)
        now, steps = self.targets[: len(whole)], whole * task.increments
        low, high = task.lower, task.upper
        if task.settings.action == "targets":
            targets = task.lower + 0.5 * (whole + 1.0) * (task.upper - task.lower)
            steps = np.copysign(task.increments, targets - now)
            low, high = np.minimum(targets, now), np.maximum(targets, now)
        return plan_targets(now, steps, [True] * len(now), (low, high), count)[1:]

    def update(self, plan: Plan, forces: Array, pose: ObjectPose, support: float = 0.0) -> None:
        """Update state and outcome by the simulated samples of a plan.

        Args:
            plan: The plan.
            forces: Normal force of each body after each of its samples [N], (n, nb).
            pose: The object after the last ``plan.samples`` samples.
            support: Fraction of the load that something else than the hand bears at the end [–].
        """
        self._support = support
        self.targets = plan.targets[-1].copy()
        self.samples += len(plan.targets)
        touched = any(self._contact.active)
        self._detect_contacts(forces)
        self.pose = pose
        if self.tested < 0:
            self._was_touched |= touched or any(self._contact.active)
            if self._is_away(pose) and not any(self._contact.active):
                self.decided = Outcome.EJECTED if self._was_touched else Outcome.MISSED
            return
        if self._pose_at_test is None:
            first = len(pose.position) - 1 - self.tested
            self._pose_at_test = ObjectPose(pose.position[first], pose.rotation[first])
            self._was_touched = touched or any(self._contact.active)
        self._evaluate(pose)

    def _detect_contacts(self, forces: Array) -> None:
        """Update contacts by the normal forces of consecutive samples, (n, nb) [N]."""
        closure = self.task.scene.closure
        self.forces = forces[-1].copy()
        if forces.any() or any(self._contact.counts):
            for row in forces.tolist():
                self._contact = debounce(row, closure.threshold, closure.samples, self._contact)

    def _is_away(self, pose: ObjectPose) -> bool:
        away = math.dist(pose.position[-1], self._pose_at_start.position[0])
        return away > EJECTION_DISTANCE * self.task.object_radius

    def _evaluate(self, pose: ObjectPose) -> None:
        assert self._pose_at_test is not None
        since = slice(-min(self.tested + 1, len(pose.position)), None)
        self._test_path.append(pose.position[since].copy())
        moved = pose.position[since] - self._pose_at_test.position
        rotation_change = pose.rotation[since] - self._pose_at_test.rotation
        self.drop = max(self.drop, math.sqrt((moved * moved).sum(axis=1).max()))
        # rotation matrices that differ by the angle a are 2·√2·sin(a/2) apart (Frobenius)
        squares = (rotation_change * rotation_change).sum(axis=(1, 2))
        apart = math.sqrt(squares.max()) / math.sqrt(8.0)
        self.rotation = max(self.rotation, 2.0 * math.asin(min(apart, 1.0)))
        criterion = self.task.criterion
        if self.drop > criterion.max_drop or self.rotation > criterion.max_rotation:
            self.decided = self._lost(pose)
        elif self.tested >= self.task.test_samples:
            supported = self._support > criterion.max_support
            within = Outcome.SUPPORTED if supported else Outcome.HELD
            self.decided = within if self._is_borne() else self._lost(pose)

    def _is_borne(self) -> bool:
        """Whether enough bodies touch the object at the end, and it rests in the palm."""
        path = np.concatenate(self._test_path)
        samples = min(self.task.creep_samples, len(path) - 1)
        if samples:
            moved = float(np.linalg.norm(path[-1] - path[-1 - samples]))
            self.creep = moved / (samples * self.task.scene.control_period)
        return is_within(
            self.task.criterion, drop=self.drop, rotation=self.rotation, creep=self.creep,
            lifted=math.inf, contacts=sum(self._contact.active),
        )  # fmt: skip

    def _lost(self, pose: ObjectPose) -> Outcome:
        """Return the outcome of a test that was not passed."""
        if any(self._contact.active):
            rests = self.tested >= self.task.test_samples and self.creep <= RESTING_SPEED
            return Outcome.SHIFTED if rests else Outcome.SLIPPING
        if self._was_touched:
            return Outcome.DROPPED
        return Outcome.EJECTED if self._is_away(pose) else Outcome.MISSED

    def diverge(self) -> None:
        """End the episode undecided because the motion has diverged."""
        self.diverged, self.decided = True, None

    def reward(self) -> float:
        """Return the reward of the last action; call this once per action.

        It is 1 where the object was held, else 0, plus ``shaping`` · (discount · Φ − Φ before): Φ
        is the fraction of fingers in contact, and 0 after the end. A shaping of this form does not
        change the optimal policy (Ng, Harada & Russell, ICML 1999).
        """
        before, self._potential = self._potential, self._fraction_in_contact()
        settings = self.task.settings
        shaped = settings.discount * self._potential - before
        return float(self.held is True) + settings.shaping * shaped

    def _fraction_in_contact(self) -> float:
        if self.terminated or not self.task.settings.shaping:
            return 0.0
        return float((self.in_contact @ self.task.fingers > 0.0).mean())
