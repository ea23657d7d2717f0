"""One episode: what the drives are told, what time it is, and what has become of the object."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.environments.task import GraspTask
from softgrasp.environments.touch import Touch
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.outcome import EJECTION_DISTANCE


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
        self.touch = Touch(len(task.bodies), task.scene.closure)
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
