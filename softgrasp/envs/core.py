"""The task of an environment: close the hand until its time is up, then hold, or lift.

What an episode needs to know of a scene, as constants; nothing here runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from softgrasp.description.base import Description, NonNegative, Positive
from softgrasp.description.closure_base import Closure
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import PoseNoise
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import BuiltScene, start_targets
from softgrasp.sim.controller import DebouncedFlags
from softgrasp.sim.motion_plan import gravity_steps, lift_path
from softgrasp.sim.result import EJECTION_DISTANCE

# --------------------
# One episode: what the drives are told, what time it is, and what has become of the object.


class Plan(NamedTuple):
    """The control samples of one action; n of them."""

    targets: Array
    """Of all actuators, (n, nu)."""
    loads: Array
    """Gravity in the last samples, as many as there are rows [m/s²]; before, it does not change."""
    samples: int
    """After how many of the last samples the object has to be looked at; 1 at least."""


class Sight(NamedTuple):
    """Where the object was in the frame of the palm after some samples; m of them."""

    position: Array
    """[m], (m, 3)."""
    rotation: Array
    """(m, 3, 3)."""


class Episode:
    """The state of an episode, whichever engine runs it.

    For every action, ``plan`` says what the engine has to do, and ``passed`` is told what it did.
    """

    def __init__(self, task: GraspTask, sight: Sight) -> None:
        """Begin at the start of a task.

        Args:
            task: The task.
            sight: The object at the start, one row.
        """
        self.task = task
        self.targets = task.start.copy()
        """Of all actuators, (nu,)."""
        self.touch = ContactSensing(len(task.bodies), task.scene.closure)
        """Forces and established contacts."""
        self.samples = 0
        """Control samples so far."""
        self.held: bool | None = None
        """The verdict; None as long as there is none."""
        self.diverged = False
        self.drop = self.rotation = 0.0
        """How far the object has gone since the test began, in the frame of the palm [m, rad]."""
        self.sight = self._at_start = sight
        """The object at the last look."""
        self._at_test: Sight | None = None
        self._potential = 0.0

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.samples * self.task.scene.control_period

    @property
    def tested(self) -> int:
        """Control samples of the test so far; negative while the hand closes."""
        return self.samples - self.task.closing_samples

    @property
    def terminated(self) -> bool:
        """Whether there is a verdict."""
        return self.held is not None

    @property
    def truncated(self) -> bool:
        """Whether it ended without a verdict: time ran out, or the motion has diverged."""
        limit = self.task.settings.time_limit
        late = limit is not None and self.time >= limit - 0.5 * self.task.scene.control_period
        return not self.terminated and (late or self.diverged)

    @property
    def over(self) -> bool:
        """Whether it has ended either way."""
        return self.terminated or self.truncated

    @property
    def progress(self) -> tuple[float, float]:
        """Shares of the closing time and of the test that are over, 0 to 1."""
        closing = min(self.samples / self.task.closing_samples, 1.0)
        return closing, min(max(self.tested, 0) / max(self.task.test_samples, 1), 1.0)

    def plan(self, action: ArrayLike) -> Plan:
        """What the engine has to do for an action: a decision period, or up to the verdict.

        Args:
            action: One number an active drive; what lies outside −1…1 counts as the nearer end.

        Raises:
            DescriptionError: It has another shape, or holds what is not a number.
        """
        task, tested = self.task, self.tested
        count = min(task.samples_per_action, task.test_samples - tested)
        targets = np.empty((count, len(self.targets)))
        hand = slice(0, len(task.actuators))
        targets[:, hand] = self._paths(self._checked(action), count)
        targets[:, hand.stop :] = self.targets[hand.stop :]
        if len(task.path) and tested + count > 1:
            # a carrier begins to move one sample after the test has begun, as in a run
            rows = np.arange(tested, tested + count)
            led = rows > 0
            targets[led, hand.stop :] = task.path[np.minimum(rows[led], len(task.path)) - 1]
        loads = task.loads[max(tested, 0) : max(tested + count, 0)]
        return Plan(targets, loads, min(max(tested + count + 1, 1), count))

    def _checked(self, action: ArrayLike) -> Array:
        """An action for all drives of the hand, (nd,), zero for those that have no rate."""
        values, active = np.asarray(action, dtype=float), self.task.active
        if values.shape != active.shape or not np.isfinite(values).all():
            received = (
                f"an array of shape {values.shape}" if values.shape != active.shape else "NaN"
            )
            raise DescriptionError(
                f"expected {active.size} numbers, one a drive, found {received}", field="action"
            )
        whole = np.zeros(len(self.task.actuators))
        whole[active] = np.minimum(np.maximum(values, -1.0), 1.0)
        return whole

    def _paths(self, action: Array, count: int) -> Array:
        """Targets of the hand's drives at the coming samples, (n, nd)."""
        task = self.task
        now, steps = self.targets[: len(task.actuators)], action * task.increments
        low, high = task.lower, task.upper
        if task.settings.action == "targets":
            targets = task.lower + 0.5 * (action + 1.0) * (task.upper - task.lower)
            steps = np.copysign(task.increments, targets - now)
            low, high = np.minimum(targets, now), np.maximum(targets, now)
        # sums one after another, as ``planned_targets`` takes them, which can do more and is slower
        path = np.empty((1 + count, len(now)))
        path[0], path[1:] = now, steps
        np.add.accumulate(path, out=path)
        return np.minimum(np.maximum(path[1:], low), high)

    def passed(self, plan: Plan, forces: Array, sight: Sight) -> None:
        """Take note of what the engine did.

        Args:
            plan: The plan.
            forces: Normal force of each body after each of its samples [N], (n, nb).
            sight: The object after the last ``looks`` samples.
        """
        self.targets = plan.targets[-1].copy()
        self.samples += len(plan.targets)
        self.touch.update(forces)
        self.sight = sight
        if self.tested < 0:
            self._see_whether_gone(sight)
            return
        if self._at_test is None:
            first = len(sight.position) - 1 - self.tested
            self._at_test = Sight(sight.position[first], sight.rotation[first])
        self._evaluate(sight)

    def _see_whether_gone(self, sight: Sight) -> None:
        """An object without contact that is far from where it was has left the hand."""
        away = math.dist(sight.position[-1], self._at_start.position[0])
        if away > EJECTION_DISTANCE * self.task.object_radius and not self.touch.in_contact.any():
            self.held = False

    def _evaluate(self, sight: Sight) -> None:
        assert self._at_test is not None
        since = slice(-min(self.tested + 1, len(sight.position)), None)
        moved = sight.position[since] - self._at_test.position
        rotation_change = sight.rotation[since] - self._at_test.rotation
        self.drop = max(self.drop, math.sqrt((moved * moved).sum(axis=1).max()))
        # two turns that differ by the angle a are 2·√2·sin(a/2) apart (Frobenius)
        apart = math.sqrt((rotation_change * rotation_change).sum(axis=(1, 2)).max()) / math.sqrt(
            8.0
        )
        self.rotation = max(self.rotation, 2.0 * math.asin(min(apart, 1.0)))
        criterion = self.task.criterion
        if self.drop > criterion.max_drop or self.rotation > criterion.max_rotation:
            self.held = False
        elif self.tested >= self.task.test_samples:
            self.held = bool(self.touch.in_contact.any())

    def diverge(self) -> None:
        """End without a verdict, as the motion is none."""
        self.diverged, self.held = True, None

    def reward(self) -> float:
        """The reward of the action that has just been done; to be asked for once an action.

        1 where the object was held, else 0, and ``shaping`` · (discount · Φ − Φ before): Φ is the
        share of the fingers that are in contact, and 0 after the end. A shaping of this form leaves
        the best policy what it was (Ng, Harada & Russell, ICML 1999).
        """
        before, self._potential = self._potential, self._fraction_in_contact()
        settings = self.task.settings
        shaped = settings.discount * self._potential - before
        return float(self.held is True) + settings.shaping * shaped

    def _fraction_in_contact(self) -> float:
        fingers = self.task.fingers
        if self.terminated or not self.task.settings.shaping:
            return 0.0
        touching: list[bool] = self.touch.in_contact.tolist()
        return sum(any(touching[body] for body in part) for part in fingers) / len(fingers)


class ContactSensing:
    """Normal forces and established contacts of the hand's bodies, by the law of single runs."""

    def __init__(self, bodies: int, closure: Closure) -> None:
        """Start without contacts.

        Args:
            bodies: Number of bodies.
            closure: Defines when contact is established.
        """
        self._threshold, self._samples = closure.threshold, closure.samples
        self._flags = DebouncedFlags.initial(bodies)
        self.forces = np.zeros(bodies)
        """Normal forces at the last sample [N], (nb,)."""

    @property
    def in_contact(self) -> NDArray[np.bool_]:
        """Whether contact is established, (nb,)."""
        return np.array(self._flags.active, dtype=bool)

    def update(self, forces: Array) -> None:
        """Evaluate consecutive samples.

        Args:
            forces: Normal force of each body at each sample [N], (n, nb).
        """
        self.forces = forces[-1].copy()
        if forces.any() or any(self._flags.counts):
            for row in forces.tolist():
                self._flags.update(row, self._threshold, self._samples)


# --------------------
# What an environment adds to a scene: actions, times, noise of the start, reward.


class EnvSettings(Description):
    """What an agent can do in an episode, and what it is rewarded for."""

    action: Literal["increments", "targets"] = "increments"
    """``increments``: how far targets move, 1 is a drive's closing rate, −1 the same backwards.
    ``targets``: where they go, from −1 for a drive's lower limit to 1 for the upper one, at no more
    than its closing rate."""
    speed: Positive = 1.0
    """Largest speed of a target over the closing rate of its drive [–]."""
    decision_period: Positive = 0.02
    """Time between two actions [s]; a whole number of the scene's control periods."""
    closing_time: Positive | None = None
    """When the hold test, or the lift, begins [s]; where it is not given, the scene's ``duration``,
    or else when the quickest drive has crossed its range and has settled."""
    time_limit: Positive | None = None
    """When an episode is truncated [s]; where it is not given, it always comes to its verdict."""
    noise: PoseNoise = PoseNoise()
    """How far the object's start is off at random, for each episode anew."""
    shaping: NonNegative = 0.0
    """Weight of the shaping of the reward: the share of the fingers that are in contact."""
    discount: Annotated[float, Field(strict=True, ge=0, le=1)] = 1.0
    """The learner's own discount a step, which the shaping has to know [–]."""


WHOLE = 1e-6
"""A decision period is a whole number of control periods to this share of one."""


@dataclass(frozen=True, eq=False)
class GraspTask:
    """Constants of all episodes of one scene; nd drives of the hand, nu actuators, nb bodies."""

    scene: GraspScene
    settings: EnvSettings
    bodies: tuple[str, ...]
    """Bodies of the hand that can touch, (nb,)."""
    actuators: tuple[str, ...]
    """Actuators of the hand, (nd,)."""
    active: NDArray[np.int64]
    """Drives that an agent moves: those with a closing rate."""
    start: Array
    """Targets of all actuators at the start, (nu,)."""
    increments: Array
    """Growth of the targets in a control period at action 1, (nd,)."""
    lower: Array
    upper: Array
    """Ends of the targets, (nd,)."""
    samples_per_action: int
    closing_samples: int
    test_samples: int
    loads: Array
    """Gravity at the samples of a hold test, (n, 3) [m/s²]; empty for a lift."""
    path: Array
    """Targets of what carries the hand at the samples of a lift, (n, nu − nd); may be empty."""
    fingers: tuple[tuple[int, ...], ...]
    """Places in ``bodies`` of each finger's bodies."""
    object_radius: float
    """Of a ball around the object [m]."""

    @property
    def criterion(self) -> SuccessCriterion | Lift:
        """What success means."""
        success = self.scene.success or self.scene.lift
        assert success is not None  # with_goal has seen to it
        return success


def with_goal(scene: GraspScene) -> GraspScene:
    """The scene with a hold test where it asks for neither that nor a lift.

    Raises:
        DescriptionError: Its object is fixed, so that nothing can be held, or deformable; or its
            closure senses by what an agent does not have.
    """
    if scene.object.elasticity is not None:
        raise DescriptionError(
            "expected a rigid object for an environment, found a deformable one",
            field="object.elasticity",
        )
    if scene.closure.sense == "sensor":
        raise DescriptionError(
            "expected 'force' for an environment, whose contacts are judged by true forces, found "
            "'sensor'",
            field="closure.sense",
        )
    if scene.success is not None or scene.lift is not None:
        return scene
    return scene.replace(success=SuccessCriterion())


def grasp_task(built: BuiltScene, settings: EnvSettings) -> GraspTask:
    """The task of a built scene that has a goal.

    Raises:
        DescriptionError: The decision period is not a whole number of control periods, or no drive
            has a closing rate.
        BuildError: An arm does not reach.
    """
    scene = built.scene
    _refuse_what_is_left_out(scene)
    active = np.flatnonzero(scene.rates)
    if not active.size:
        raise DescriptionError(
            "expected a drive with a closing rate, which an agent could move, found none",
            field="closure.rates",
        )
    loads, path, test_samples = _test(scene, built.model)
    limits = np.array(scene.limits)
    return GraspTask(
        scene=scene,
        settings=settings,
        bodies=tuple(built.bodies),
        actuators=tuple(actuator.name for actuator in scene.actuators),
        active=active,
        start=np.array(start_targets(scene)),
        increments=np.array(scene.rates) * scene.control_period * settings.speed,
        lower=limits[:, 0],
        upper=limits[:, 1],
        samples_per_action=_samples_per_action(scene, settings),
        closing_samples=max(round(_closing_time(scene, settings) / scene.control_period), 1),
        test_samples=test_samples,
        loads=loads,
        path=path,
        fingers=_fingers(built),
        object_radius=_object_radius(built.model),
    )


def _refuse_what_is_left_out(scene: GraspScene) -> None:
    if scene.objects:
        raise DescriptionError(
            f"expected none in an environment, found {len(scene.objects)}", field="objects"
        )
    if not scene.is_plain:
        raise DescriptionError(
            "expected a closure with a ramp of gravity or a lift behind it in an environment, "
            "found " + ("a sequence" if scene.sequence else "a criterion with more than that"),
            field="sequence" if scene.sequence else "success",
        )


def _samples_per_action(scene: GraspScene, settings: EnvSettings) -> int:
    ratio = settings.decision_period / scene.control_period
    samples = round(ratio)
    if samples < 1 or abs(ratio - samples) > WHOLE:
        raise DescriptionError(
            f"expected a whole number of control periods of {scene.control_period:g} s, found "
            f"{settings.decision_period:g} s",
            field="decision_period",
        )
    return samples


def _closing_time(scene: GraspScene, settings: EnvSettings) -> float:
    duration = settings.closing_time or scene.duration
    if duration is not None:
        return duration
    ranges = zip(scene.limits, scene.start, scene.rates, strict=True)
    travel = [((high if rate > 0 else low) - at) / rate for (low, high), at, rate in ranges if rate]
    return min(travel) / settings.speed + scene.closure.settle_time


def _test(scene: GraspScene, model: mujoco.MjModel) -> tuple[Array, Array, int]:
    """Loads and path of the hold test, or of the lift, and its samples, as a run has them."""
    period, none = scene.control_period, np.zeros((0, 0))
    if scene.lift is not None:
        samples = max(round(scene.lift.time / period), 1)
        path = lift_path(scene, scene.lift, samples)
        return none, path, samples + round(scene.lift.hold_time / period)
    assert scene.success is not None
    steps = gravity_steps(scene.success, model.opt.gravity.copy(), period)
    samples_of, loads = zip(*steps, strict=True)
    return np.repeat(loads, samples_of, axis=0), none, sum(samples_of)


def _fingers(built: BuiltScene) -> tuple[tuple[int, ...], ...]:
    parts = names.parts(built.scene.hand)
    bodies: dict[str, list[int]] = {}
    for index, body in enumerate(built.bodies):
        if body in parts:
            bodies.setdefault(parts[body][0], []).append(index)
    return tuple(tuple(part) for part in bodies.values())


def _object_radius(model: mujoco.MjModel) -> float:
    is_object = model.geom_bodyid == model.body(names.OBJECT).id
    return float(model.geom_rbound[is_object].max())
