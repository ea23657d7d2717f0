"""Hold test of a closed hand: load of gravity, pushes in several directions, and pull-out tests.

``gravity_steps`` is the ramp of gravity, which ``grasp_run`` applies. A push accelerates the object
in one direction until it is lost, a pull grows until all contacts slip. ``DisturbanceTests`` runs
them, every time from the same closed state; ``hold_result`` evaluates them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import mujoco
import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.description.task import Pull, SuccessCriterion
from softgrasp.mechanics.transforms import Array, rotation_angles
from softgrasp.model import names
from softgrasp.model.deformable import node_bodies, rigid_track
from softgrasp.sim.contacts import ContactPoint, ContactReader, GraspContactReader
from softgrasp.sim.load_balance import EARTH, object_mass
from softgrasp.sim.motion_plan import PhaseRows
from softgrasp.sim.run_record import FinishedRun, PullRecord, PushRecord
from softgrasp.sim.stepper import MujocoStepper, Plans
from softgrasp.sim.stiffness_feedback import StiffnessFeedback

LONGEST = 0.01
"""Longest time of constant gravity in a ramp [s]; a batch steps that long without Python."""
STEPS_PER_DECAY = 2
"""A load step is at most the remaining load divided by this."""
CHECK_PERIOD = 0.05
"""Time between two checks whether a push has moved the object out of the hand [s]."""
SLIP_SPEED = 2e-3
"""Speed above which a contact slips [m/s]; friction below its limit creeps at less than a tenth of
it with the settings of a new scene."""
SLIP_TIME = 0.01
"""Time for which all contacts have to slip [s]."""
MAX_FORCE_TIME = 20.0
"""Longest time of a pull that has to reach a minimum force [s]."""


def gravity_steps(
    criterion: SuccessCriterion, before: Array, period: float
) -> Iterator[tuple[int, Array]]:
    """Yield gravity from its value before the test to the full load.

    It follows a straight ramp in steps that shrink to one sample towards its end. An elastic
    grasp overshoots a step by as much again, and half of the remaining load cannot overshoot the
    full load.

    Args:
        criterion: The hold test.
        before: Gravity before it [m/s²], (3,).
        period: Control period [s].

    Yields:
        Control samples, and gravity during them [m/s²]; the time under full load is the last.
    """
    full = before if criterion.gravity is None else np.array(criterion.gravity)
    rise = full - before
    for samples, fraction in load_fractions(criterion.ramp_time, period):
        yield samples, before + fraction * rise
    yield round(criterion.hold_time / period), full


def load_fractions(ramp_time: float, period: float) -> Iterator[tuple[int, float]]:
    """Yield the steps of a ramp: control samples, and the fraction of the load during them.

    Args:
        ramp_time: Time of the ramp [s].
        period: Control period [s].
    """
    ramp = max(round(ramp_time / period), 1)
    longest = max(round(LONGEST / period), 1)
    done = 0
    while done < ramp:
        samples = min(longest, max((ramp - done) // STEPS_PER_DECAY, 1))
        done += samples
        yield samples, done / ramp


class RunningGrasp(FinishedRun, Protocol):
    """Interface of a simulated grasp that can be continued."""

    @property
    def stiffness(self) -> StiffnessFeedback:
        """Keeps the stiffness of contacts."""

    def weighed(self, samples: int) -> Plans:
        """Simulate the last control samples of a loaded part, and record what bears the object."""

    def advancing(self, samples: int) -> Plans:
        """Simulate some control samples."""


class DisturbanceTest(NamedTuple):
    """A push or pull of the object as part of a hold test."""

    label: str
    plans: Plans
    """Run it."""
    record: Callable[[PhaseRows], None]
    """Records its outcome; called with its rows."""


class DisturbanceTests:
    """All pushes and pulls of a hold test, each from the same closed state."""

    def __init__(
        self,
        run: RunningGrasp,
        stepper: MujocoStepper,
        criterion: SuccessCriterion,
        contacts: ContactReader,
    ) -> None:
        """Save the closed state.

        Args:
            run: The run, with the hand closed; its trials and pulls grow.
            stepper: Its stepper.
            criterion: The hold test.
            contacts: Reads the contacts of the run.
        """
        self._run, self._stepper, self._criterion = run, stepper, criterion
        self._contacts = contacts
        self._closed = stepper.saved()
        palm = palm_body(run.model, run.scene.hand)
        self._is_lost = LossDetector(criterion, run.model, run.data, palm)
        self._friction = friction_limit(run.model, run.data, list(run.built.bodies))
        self._begin = run.recording.rows - 1
        self._bodies = node_bodies(run.model) or [run.model.body(names.OBJECT).id]
        self._masses = np.array(run.model.body_mass[self._bodies])

    def all(self) -> Iterator[DisturbanceTest]:
        """Yield the pushes and pulls in order; simulate each to its end before the next."""
        for force in self._criterion.directions:
            yield DisturbanceTest(
                f"push {direction_label(force)}",
                self._pushing(force),
                partial(self._record_push, force),
            )
        for pull in self._criterion.pulls:
            rate = pull_rate(self._run.model, pull, self._friction)
            slip = SlipDetector(max(round(SLIP_TIME / self._run.scene.control_period), 1))
            yield DisturbanceTest(
                f"pull {direction_label(pull.direction)}",
                self._pulling(pull, rate, slip),
                partial(self._record_pull, pull, rate, slip),
            )

    def put_back(self) -> None:
        """Restore the closed state."""
        self._stepper.put_back(self._closed)
        self._run.stiffness.restart(self._run.recording.rows)

    def _pushing(self, acceleration: Vec3) -> Plans:
        self.put_back()
        steps = [*push_steps(self._criterion, self._run.scene.control_period)]
        left = sum(samples for samples, _ in steps)
        for samples, fraction in steps:
            self._apply(fraction * np.outer(self._masses, acceleration))
            left -= samples
            yield from (self._run.advancing if left else self._run.weighed)(samples)
            if self._run.diverged or self._is_lost(self._run.data):
                return

    def _record_push(self, acceleration: Vec3, phase: PhaseRows) -> None:
        contacts = sum(self._run.state.in_contact)
        self._run.trials.append(
            PushRecord(acceleration, self._begin, phase.begin + 1, phase.end, contacts)
        )

    def _pulling(self, pull: Pull, rate: float, slip: SlipDetector) -> Plans:
        self.put_back()
        run, weights = self._run, self._masses / self._masses.sum()
        for force in pull_forces(pull, rate, run.scene.control_period):
            self._apply(np.outer(weights, force))
            yield from run.advancing(1)
            points = self._contacts.read(run.data, run.built.bodies)
            object_points = [point for point in points if point.object_name == names.OBJECT]
            if run.diverged or slip.update(object_points, run.recording.rows - 1):
                return

    def _record_pull(self, pull: Pull, rate: float, slip: SlipDetector, phase: PhaseRows) -> None:
        first = phase.begin + 1
        self._run.pulls.append(
            PullRecord(pull, self._begin, first, phase.end, self._friction, rate, slip.since)
        )

    def _apply(self, forces: Array) -> None:
        """Apply forces to the bodies of the object, (n, 3) [N], world frame."""
        self._run.data.xfrc_applied[self._bodies, :3] = forces


class LossDetector:
    """Detects that the object has left the limits of a hold test."""

    def __init__(
        self, criterion: SuccessCriterion, model: mujoco.MjModel, data: mujoco.MjData, palm: int
    ) -> None:
        """Record the pose of the object in the palm.

        Args:
            criterion: The hold test with its limits.
            model: The compiled scene.
            data: The closed state.
            palm: Body of the palm, from ``palm_body``.
        """
        self._palm = palm
        self._limits = criterion.max_drop, criterion.max_rotation
        self._model = model
        self._start_position, self._start_rotation = _in_palm(model, data, palm)

    def __call__(self, data: mujoco.MjData) -> bool:
        """Whether the object is beyond a limit."""
        position, rotation = _in_palm(self._model, data, self._palm)
        drop = float(np.linalg.norm(position - self._start_position))
        angle = float(rotation_angles(rotation, self._start_rotation))
        return drop > self._limits[0] or angle > self._limits[1]


def push_steps(criterion: SuccessCriterion, period: float) -> Iterator[tuple[int, float]]:
    """Yield the fractions of a push's load while it grows and stays.

    Args:
        criterion: The hold test.
        period: Control period [s].

    Yields:
        Control samples, and the fraction of the load during them.
    """
    left = max(round(criterion.direction_time / period), 1)
    check_samples = max(round(CHECK_PERIOD / period), 1)
    for samples, fraction in load_fractions(criterion.ramp_time, period):
        if samples >= left:
            break
        left -= samples
        yield samples, fraction
    while left > 0:
        yield min(check_samples, left), 1.0
        left -= check_samples


def direction_label(acceleration: Sequence[float]) -> str:
    """Return the name of a direction: ``+x``, or its unit vector."""
    vector = np.array(acceleration)
    along = vector / max(float(np.linalg.norm(vector)), 1e-300)
    axis = int(np.abs(along).argmax())
    if abs(along[axis]) > 1.0 - 1e-9:
        return ("-" if along[axis] < 0.0 else "+") + "xyz"[axis]
    return f"({', '.join(f'{part:.2g}' for part in along.tolist())})"


class SlipDetector:
    """Detects that all contacts of the hand with the object slip."""

    def __init__(self, samples: int) -> None:
        """Start without slip.

        Args:
            samples: Consecutive samples for which all contacts have to slip.
        """
        self._samples = samples
        self._since: int | None = None
        self._count = 0

    @property
    def since(self) -> int | None:
        """Row in which slip began; None unless it has lasted long enough."""
        return self._since if self._count >= self._samples else None

    def update(self, points: Sequence[ContactPoint], row: int) -> bool:
        """Evaluate one recorded row; True if all contacts have slipped for long enough.

        Args:
            points: Contacts of the hand with the object at a row.
            row: The row.
        """
        pressing = [point for point in points if point.normal_force > 0.0]
        if all(point.slip_speed > SLIP_SPEED for point in pressing):
            self._since = row if self._count == 0 else self._since
            self._count += 1
        else:
            self._count = 0
        return self._count >= self._samples


def friction_limit(model: mujoco.MjModel, data: mujoco.MjData, bodies: list[str]) -> float:
    """Sum µ·N over all contacts of the hand with the object [N].

    Args:
        model: The compiled scene.
        data: The state after a physics step.
        bodies: Names of the bodies of the hand.
    """
    contacts, force, total = GraspContactReader(model, bodies).read(data), np.zeros(6), 0.0
    for number, friction in zip(contacts.numbers, contacts.friction, strict=True):
        mujoco.mj_contactForce(model, data, int(number), force)
        total += float(friction) * max(float(force[0]), 0.0)
    return total


def pull_rate(model: mujoco.MjModel, pull: Pull, friction: float) -> float:
    """Return the rate at which the force of a pull grows [N/s].

    Args:
        model: The compiled scene.
        pull: The pull.
        friction: Largest force that friction holds [N].
    """
    return max(friction, EARTH * object_mass(model)) / pull.time


def pull_forces(pull: Pull, rate: float, period: float) -> Iterator[Array]:
    """Yield the pull force at each control sample, (3,) [N], world frame.

    Args:
        pull: The pull.
        rate: Rate of the force [N/s].
        period: Control period [s].
    """
    direction = np.array(pull.direction) / np.linalg.norm(pull.direction)
    # a minimum force that is required has to be reached
    lasting = max(pull.max_ratio * pull.time, min((pull.min_force or 0.0) / rate, MAX_FORCE_TIME))
    for sample in range(max(math.ceil(lasting / period - 1e-9), 1)):
        yield (sample + 1) * period * rate * direction


def palm_body(model: mujoco.MjModel, hand: Hand, prefix: str = "") -> int:
    """Return the body that carries all fingers: behind the wrist joints where the hand has some.

    It is the last common ancestor of the bodies on which fingers stand; for a hand that consists of
    two, the body with the hand frame. Fingers that only carry other fingers, as a wrist, do not
    count.

    Args:
        model: The compiled scene.
        hand: Its hand.
        prefix: Prefix of the names of the hand's parts in the model.
    """
    carried = {finger.on for finger in hand.fingers if finger.on}
    roots = [
        int(model.joint(prefix + finger.joint_of(finger.phalanges[0])).bodyid[0])
        for finger in hand.fingers
        if not carried & _bodies_of(finger)
    ]
    soft = [prefix + names.soft_link(item.name, 0) for item in hand.soft_fingers]
    roots += [int(model.body(name).id) for name in soft]
    chains = [_ancestors(model, int(model.body_parentid[root])) for root in roots]
    common = set[int]().union(*chains[:1]).intersection(*chains[1:]) - {0}
    base = int(model.body(prefix + names.hand_body(hand)).id)
    inside = [body for body in common if base in _ancestors(model, body)]
    # a child has a larger index than its parents
    return max(inside, default=base)


def _bodies_of(finger: Finger) -> set[str]:
    rows = finger.phalanges
    return {body for row in rows for body in (finger.body_of(row), *row.bodies)}


def _ancestors(model: mujoco.MjModel, body: int) -> set[int]:
    """Return a body and all bodies that carry it."""
    chain = {body}
    while body:
        body = int(model.body_parentid[body])
        chain.add(body)
    return chain


def _in_palm(model: mujoco.MjModel, data: mujoco.MjData, palm_id: int) -> tuple[Array, Array]:
    """Return centre and quaternion of the object in the palm frame after the last step."""
    palm = data.body(palm_id)
    body = data.body(names.OBJECT)
    position, quaternion = body.xpos, body.xquat
    if model.nflex:
        positions, rotations = rigid_track(model, data.xpos[node_bodies(model)][None])
        position, quaternion = positions[0], rotations[0]
    palm_rotation = palm.xmat.reshape(3, 3).T
    inverse, relative = np.zeros(4), np.zeros(4)
    mujoco.mju_negQuat(inverse, palm.xquat)
    mujoco.mju_mulQuat(relative, inverse, quaternion)
    return palm_rotation @ (position - palm.xpos), relative
