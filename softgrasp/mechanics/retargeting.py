"""Postures of a hand that imitate a human hand, from 21 keypoints of a camera or a motion capture.

As in DexPilot (Handa et al. 2020) and AnyTeleop (Qin et al. 2023) the vectors from the palm to the
fingertips, and between them, are to agree with the human ones, scaled to the hand. Here so are the
lines along the fingers, with a small weight, and the pose of the palm is found at the same time, so
that keypoints may be in any frame. The optimiser is that of the inverse kinematics.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.base import LARGEST
from softgrasp.description.finger import Finger
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.hand_kinematics import end_fingers, frames_at, link_frames, pose_of
from softgrasp.mechanics.inverse_kinematics import gaps_by_differences, minimise_squares
from softgrasp.mechanics.transforms import Array, align, move_frames

DIGITS = {"thumb": 1, "index": 5, "middle": 9, "ring": 13, "little": 17}
"""First of the four keypoints of each finger, from its base to its tip; 0 is the wrist (order of
MediaPipe, and of MANO with its fingertips)."""
SHORT = {
    "thumb": ("th",), "index": ("ff",), "middle": ("mf",), "ring": ("rf",),
    "little": ("lf", "pinky"),
}  # fmt: skip
"""Further names of fingers."""
KEYPOINTS = 21
SHORTEST = 1e-6
"""Smallest length of a finger over the size of the human hand [–]."""
SAMPLES = (0.0, 1.0 / 3.0, 2.0 / 3.0)
"""Lengths along a finger over its length at which lines are compared, besides the tip [–]."""
LINE_WEIGHT, PAIR_WEIGHT = 0.3, 0.5
"""Weights of the points on the lines and of the vectors between fingertips, over those of tips."""
NEAR, NEAR_WEIGHT = 0.3, 3.0
"""Distance of fingertips, over the mean length of the fingers, below which they pinch, and the
weight of the vector between them then (DexPilot)."""
CHANGE_WEIGHT = 1e-3
"""Weight of the change of a joint variable from the previous posture [m/rad or –]."""
SPREADS = (0.15, 0.5, 0.8)
"""Starting values of all actuators over their ranges [–]."""
STEPS = 80
"""Largest number of steps."""


class RetargetedPosture(NamedTuple):
    """Posture of a hand that imitates keypoints."""

    joints: dict[str, float]
    """Joint variables of the rigid fingers by name [rad or m]."""
    targets: tuple[float, ...]
    """Targets of the actuators [rad, m or Pa]."""
    residual_mm: dict[str, float]
    """Distance of each fingertip from its scaled keypoint, by finger [mm]."""
    hand_pose: Pose
    """Pose of the hand in the frame of the keypoints, scaled about its origin."""
    scale: float
    """Size of the hand over that of the human one [–]."""


def retarget(
    hand: Hand,
    keypoints: ArrayLike,
    *,
    fingers: Mapping[str, str] | None = None,
    previous: RetargetedPosture | None = None,
) -> RetargetedPosture:
    """Find the posture of a hand that imitates a human hand of the same side.

    Args:
        hand: A hand with rigid fingers.
        keypoints: Wrist, then four points of thumb, index, middle, ring and little finger each from
            base to tip, (21, 3) [m, or any unit], in any frame.
        fingers: Human finger that each finger of the hand imitates: ``thumb``, ``index``,
            ``middle``, ``ring`` or ``little``; by default by names, else in this order.
        previous: Posture of the previous sample of a motion, from which this one starts.

    Raises:
        DescriptionError: Keypoints of another shape, a finger without length, fingers that do not
            exist, or a previous posture of another hand.
    """
    chosen = imitate_fingers(hand, fingers)
    if previous is not None and len(previous.targets) != len(hand.actuators):
        raise DescriptionError(
            f"expected {len(hand.actuators)} targets, found {len(previous.targets)}",
            field="previous",
        )
    return _Retargeting(hand, _checked_points(keypoints, chosen), chosen).posture(previous)


def _checked_points(keypoints: ArrayLike, fingers: Mapping[str, str]) -> Array:
    """Return finite keypoints, (21, 3), of fingers that have a length."""
    try:
        points = np.asarray(keypoints, dtype=float)
    except (TypeError, ValueError) as error:
        raise DescriptionError(f"expected numbers, found: {error}", field="keypoints") from None
    if points.shape != (KEYPOINTS, 3) or not (np.abs(points) < LARGEST).all():
        raise DescriptionError(
            f"expected finite keypoints of shape ({KEYPOINTS}, 3), found {points.shape}",
            field="keypoints",
        )
    for human in fingers.values():
        parts = _lengths(points[DIGITS[human] : DIGITS[human] + 4])
        if parts.sum() < SHORTEST * max(float(np.ptp(points)), SHORTEST):
            raise DescriptionError(
                f"expected a length of the {human}, found equal keypoints", field="keypoints"
            )
    return points


def imitate_fingers(hand: Hand, fingers: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the human finger that each finger of a hand imitates.

    Args:
        hand: The hand.
        fingers: Some of them; None for a choice by names, else in the order of the hand.

    Raises:
        DescriptionError: A finger does not exist.
    """
    ends = [finger.name for finger in end_fingers(hand)]
    if fingers is not None:
        if not fingers:
            raise DescriptionError("expected at least one finger, found none", field="fingers")
        for name, human in fingers.items():
            for value, known in ((name, ends), (human, [*DIGITS])):
                if value not in known:
                    message = f"expected a finger, found '{value}'; {did_you_mean(value, known)}"
                    raise DescriptionError(message, field="fingers")
        return dict(fingers)
    named: dict[str, str] = {}
    for end, (human, short) in product(ends, SHORT.items()):
        if human not in named.values() and (human in end.lower() or end.lower() in short):
            named[end] = human
    rest = (human for human in DIGITS if human not in named.values())
    others = dict(zip((end for end in ends if end not in named), rest, strict=False))
    return {end: (named | others)[end] for end in ends if end in named | others}


class _Retargeting:
    """Least squares of one set of keypoints."""

    def __init__(self, hand: Hand, points: Array, fingers: Mapping[str, str]) -> None:
        self._hand = hand
        by_name = {finger.name: finger for finger in hand.fingers}
        self._fingers = [by_name[name] for name in fingers]
        limits = [actuator.limits for actuator in hand.actuators]
        self._rest = np.array([actuator.start for actuator in hand.actuators])
        self._moving = [
            n for n, element in enumerate(hand.actuators) if element.unit in ("rad", "m")
        ]
        free = np.full(6, np.inf)
        low, high = np.array(limits)[self._moving].T
        self._limits = np.concatenate([-free, low]), np.concatenate([free, high])
        lines = [points[DIGITS[item] : DIGITS[item] + 4] for item in fingers.values()]
        reached = self._lines(self._rest[None, self._moving])
        robot = [_lengths(line[0]).sum() for line in reached]
        self.scale = float(sum(robot) / sum(_lengths(line).sum() for line in lines))
        self._goal = np.concatenate([_sample(self.scale * line[None])[0] for line in lines])
        self._weights, self._pairs = self._weighted(float(np.mean(robot)))

    def posture(self, previous: RetargetedPosture | None) -> RetargetedPosture:
        """Return the best posture of all starts, or the one that continues a motion."""
        low, high = (limit[6:] for limit in self._limits)
        starts = low + np.array(SPREADS)[:, None] * (high - low)
        if previous is not None:
            starts = np.array(previous.targets)[None, self._moving]
        frames = [align(self._placed(start)[0], self._goal)[0] for start in starts[:, None]]
        best: tuple[float, Array, Array] | None = None
        for frame, start in zip(frames, starts, strict=True):
            begin = np.concatenate([np.zeros(6), start])[None]
            gaps = partial(self._gaps, frame, None if previous is None else start)
            values, gap = minimise_squares(
                partial(gaps_by_differences, gaps), begin, self._limits, STEPS
            )
            cost = float(np.square(gap).sum())
            if best is None or cost < best[0]:
                best = cost, values[0], frame
        assert best is not None
        return self._made(best[1], best[2])

    def _made(self, values: Array, frame: Array) -> RetargetedPosture:
        targets = self._rest.copy()
        targets[self._moving] = values[6:]
        away = self._away(frame, values[None])[0]
        per_finger = len(SAMPLES) + 1
        ends = slice(per_finger - 1, None, per_finger)
        errors = 1e3 * np.linalg.norm(away[ends], axis=1)
        return RetargetedPosture(
            self._hand.posture(targets.tolist()),
            tuple(targets.tolist()),
            {f.name: float(e) for f, e in zip(self._fingers, errors, strict=True)},
            pose_of(move_frames(frame, values[None, :6])[0]),
            self.scale,
        )

    def _weighted(self, size: float) -> tuple[Array, list[tuple[int, int, float]]]:
        """Return the weights of all points, (np,), and pairs of tips with their weights."""
        per_finger = len(SAMPLES) + 1
        weights = np.tile([*[LINE_WEIGHT] * len(SAMPLES), 1.0], len(self._fingers))
        ends = range(per_finger - 1, len(weights), per_finger)
        pairs = []
        for first, second in combinations(ends, 2):
            apart = float(np.linalg.norm(self._goal[first] - self._goal[second])) / (NEAR * size)
            pinch = (NEAR_WEIGHT - PAIR_WEIGHT) * np.exp(-(apart**2))
            pairs.append((first, second, float(PAIR_WEIGHT + pinch)))
        return weights, pairs

    def _gaps(self, frame: Array, previous: Array | None, values: Array) -> Array:
        """Return weighted differences from the goal, (n, m)."""
        away = self._away(frame, values)
        parts = [(self._weights[:, None] * away).reshape(len(values), -1)]
        parts += [
            weight * (away[:, first] - away[:, second]) for first, second, weight in self._pairs
        ]
        if previous is not None:
            parts.append(CHANGE_WEIGHT * (previous - values[:, 6:]))
        return np.concatenate(parts, axis=1)

    def _away(self, frame: Array, values: Array) -> Array:
        """Return the goal less the points of the hand in the frame of keypoints, (n, np, 3) [m]."""
        poses, points = move_frames(frame, values[:, :6]), self._placed(values[:, 6:])
        placed = points @ np.swapaxes(poses[:, :3, :3], 1, 2) + poses[:, None, :3, 3]
        return np.asarray(self._goal - placed)

    def _placed(self, joints: Array) -> Array:
        """Return the points of the hand in its frame, (n, np, 3) [m], for joint targets."""
        return np.concatenate([_sample(line) for line in self._lines(joints)], axis=1)

    def _lines(self, joints: Array) -> list[Array]:
        """Return joints and tip of each finger, (n, points, 3) [m], for joint targets, (n, nj)."""
        targets = np.tile(self._rest, (len(joints), 1))
        targets[:, self._moving] = joints
        frames = frames_at(self._hand, targets)
        return [_line(finger, frames) for finger in self._fingers]


def finger_lines(hand: Hand, joints: Mapping[str, float]) -> dict[str, Array]:
    """Return the line of each finger through its joints to its tip, (n, 3) [m], hand frame.

    Args:
        hand: A hand with rigid fingers.
        joints: Joint variables by name [rad or m].
    """
    frames = link_frames(hand, {name: [value] for name, value in joints.items()})
    return {finger.name: _line(finger, frames)[0] for finger in hand.fingers}


def _line(finger: Finger, frames: Mapping[str, Array]) -> Array:
    bodies = [frames[finger.body_of(row)] for row in finger.phalanges]
    tip = bodies[-1] @ [*finger.link_ends[-1], 1.0]
    return np.stack([*(body[..., :3, 3] for body in bodies), tip[..., :3]], axis=-2)


def _lengths(line: Array) -> Array:
    return np.asarray(np.linalg.norm(np.diff(line, axis=-2), axis=-1))


def _sample(lines: Array) -> Array:
    """Return points at ``SAMPLES`` of lines and their ends, (n, len(SAMPLES) + 1, 3).

    The lengths of the parts of a line do not depend on the posture.
    """
    lengths = _lengths(lines[0])
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    points = []
    for fraction in SAMPLES:
        at = min(int(np.searchsorted(ends, fraction * ends[-1], "right")) - 1, len(lengths) - 1)
        part = (fraction * ends[-1] - ends[at]) / lengths[at]
        points.append((1.0 - part) * lines[:, at] + part * lines[:, at + 1])
    return np.stack([*points, lines[:, -1]], axis=1)
