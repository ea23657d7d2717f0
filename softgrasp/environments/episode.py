"""One episode: what the drives are told, what time it is, and what has become of the object."""

from __future__ import annotations

import math

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.environments.task import GraspTask
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.outcome import EJECTION_DISTANCE
from softgrasp.simulation.state import ClosureState


class Episode:
    """The state of an episode, whichever engine runs it.

    A control sample is: ``move`` gives the targets, the engine steps under ``load``, contacts are
    debounced into ``contacts``, and ``passed`` counts it.
    """

    def __init__(self, task: GraspTask) -> None:
        """Begin at the start of a task."""
        self.task = task
        self.targets = task.start.copy()
        """Of all actuators, (nu,)."""
        self.contacts = ClosureState.at_start(task.start.tolist(), len(task.bodies))
        """Counters of the debouncing, and established contacts."""
        self.samples = 0
        """Control samples so far."""
        self.held: bool | None = None
        """The verdict; None as long as there is none."""
        self.diverged = False
        self.drop = self.rotation = 0.0
        """How far the object has gone since the test began, in the frame of the palm [m, rad]."""
        self._at_start: tuple[Array, Array] | None = None
        self._at_test: tuple[Array, Array] | None = None
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
    def load(self) -> Array | None:
        """Gravity in the coming sample [m/s²], (3,); None where it does not change."""
        loads, index = self.task.loads, self.tested
        return loads[index] if 0 <= index < len(loads) else None

    @property
    def progress(self) -> tuple[float, float]:
        """Shares of the closing time and of the test that are over, 0 to 1."""
        closing = min(self.samples / self.task.closing_samples, 1.0)
        return closing, min(max(self.tested, 0) / max(self.task.test_samples, 1), 1.0)

    def checked(self, action: ArrayLike) -> Array:
        """An action for all drives of the hand, (nd,), zero for those that have no rate.

        Args:
            action: One number an active drive; what lies outside −1…1 counts as the nearer end.

        Raises:
            DescriptionError: It has another shape, or holds what is not a number.
        """
        given, active = np.asarray(action, dtype=float), self.task.active
        if given.shape != active.shape or not np.isfinite(given).all():
            found = f"an array of shape {given.shape}" if given.shape != active.shape else "NaN"
            raise DescriptionError(
                f"expected {active.size} numbers, one a drive, found {found}", field="action"
            )
        whole = np.zeros(len(self.task.drives))
        whole[active] = np.clip(given, -1.0, 1.0)
        return whole

    def move(self, action: Array) -> Array:
        """Move the targets by one control sample and return all of them, (nu,).

        Args:
            action: As ``checked`` returns it.
        """
        task, hand = self.task, slice(0, len(self.task.drives))
        now, step = self.targets[hand], task.increments
        if task.settings.action == "increments":
            way = action * step
        else:
            wanted = task.lower + 0.5 * (action + 1.0) * (task.upper - task.lower)
            way = np.clip(wanted - now, -np.abs(step), np.abs(step))
        self.targets[hand] = np.minimum(np.maximum(now + way, task.lower), task.upper)
        if len(task.path) and self.tested > 0:
            self.targets[hand.stop :] = task.path[min(self.tested, len(task.path)) - 1]
        return self.targets

    def passed(self) -> bool:
        """Count a control sample; True where the object has to be looked at."""
        self.samples += 1
        return self.tested >= 0

    def look(self, position: Array, quaternion: Array) -> None:
        """See where the object is in the frame of the palm, and judge.

        The first look of an episode is at its start.

        Args:
            position: Its centre [m], (3,).
            quaternion: Its orientation, (4,).
        """
        if self._at_start is None:
            self._at_start = position.copy(), quaternion.copy()
        if self.tested < 0:
            away = math.dist(position, self._at_start[0])
            gone = away > EJECTION_DISTANCE * self.task.object_radius
            if gone and not any(self.contacts.in_contact):
                self.held = False
            return
        if self._at_test is None:
            self._at_test = position.copy(), quaternion.copy()
        self.drop = max(self.drop, math.dist(position, self._at_test[0]))
        self.rotation = max(self.rotation, _angle(quaternion, self._at_test[1]))
        criterion = self.task.criterion
        if self.drop > criterion.max_drop or self.rotation > criterion.max_rotation:
            self.held = False
        elif self.tested >= self.task.test_samples:
            self.held = any(self.contacts.in_contact)

    def diverge(self) -> None:
        """End without a verdict, as the motion is none."""
        self.diverged, self.held = True, None

    def reward(self) -> float:
        """The reward of the action that has just been done; to be asked for once an action.

        1 where the object was held, else 0, and ``shaping`` · (discount · Φ − Φ before): Φ is the
        share of the fingers that are in contact, and 0 after the end. A shaping of this form leaves
        the best policy what it was (Ng, Harada & Russell, ICML 1999).
        """
        before, self._potential = self._potential, self._share_in_contact()
        settings = self.task.settings
        shaped = settings.discount * self._potential - before
        return float(self.held is True) + settings.shaping * shaped

    def _share_in_contact(self) -> float:
        fingers, touching = self.task.fingers, self.contacts.in_contact
        if self.terminated or not fingers:
            return 0.0
        return sum(any(touching[body] for body in part) for part in fingers) / len(fingers)


def object_in_palm(data: mujoco.MjData, thing: int, palm: int) -> tuple[Array, Array]:
    """Position [m] and unit quaternion (w not negative) of one body in the frame of another.

    Args:
        data: A state with its kinematics done.
        thing: Id of the body.
        palm: Id of the other.
    """
    inverse, quaternion = np.zeros(4), np.zeros(4)
    mujoco.mju_negQuat(inverse, data.xquat[palm])
    mujoco.mju_mulQuat(quaternion, inverse, data.xquat[thing])
    position = np.zeros(3)
    mujoco.mju_rotVecQuat(position, data.xpos[thing] - data.xpos[palm], inverse)
    return position, -quaternion if quaternion[0] < 0.0 else quaternion


def _angle(first: Array, second: Array) -> float:
    """Angle between two orientations [rad]; exact for small ones, too (``rotation_angles``)."""
    apart, along = math.dist(first, second), math.dist(first, -second)
    return 4.0 * math.atan2(min(apart, along), max(apart, along))
