"""A grasp transferred from one hand to another: the same contacts on the object, by other fingers.

The fingertips of the other hand are brought to the contact points of a result by damped least
squares over the pose of the hand and its joints, for the assignments of fingers to contacts that
come nearest as rigid tips. The hand starts with its tips in front of the contacts and closes
through them; the object keeps its pose in the world, so that gravity acts on it as before.
"""

from __future__ import annotations

from functools import partial
from itertools import permutations
from typing import NamedTuple

import numpy as np

from softgrasp.description.actuation import Rates
from softgrasp.description.closure import DefaultClosure
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, DescriptionError
from softgrasp.evaluation.result import GraspResult
from softgrasp.mechanics.hand_kinematics import end_fingers, frames_at, pose_of
from softgrasp.mechanics.inverse_kinematics import gaps_by_differences, minimise_squares
from softgrasp.mechanics.transforms import Array, align, euler_from_quaternions, move_frames
from softgrasp.model.scene import build
from softgrasp.resolution.resolve import resolve

CLEARANCES, DEPTH = (0.012, 0.025, 0.04), 0.006
"""Distances of the fingertips outside the contacts at the start, of which the first one is taken
at which the hand clears the object, and inside it, to which they close [m]."""
STILL = 0.02
"""Motion of an actuator over that of the fastest below which it stays [–]."""
FEWEST = 2
"""Fewest contacts of a grasp that is transferred."""
TRIED = 8
"""Assignments of fingers to contacts from which the exact search starts."""
PROBE = 1e-3
"""Increment by which the actuators of a finger are recognized [rad or m]."""
STEPS = 40
"""Steps of the search."""
CENTER_WEIGHT = 0.03
"""Weight of the distance of the object's centre from that of the hand's grasp [–]."""
REST_WEIGHT = 2e-3
"""Weight of the distance of a joint from the grasp of the hand [m/rad or –]."""
LARGEST_ERROR = 5e-3
"""Largest distance of a fingertip from its contact [m]."""
POSTURES = 9
"""Postures along the closing motion of the hand's grasp from which the search starts."""


class TransferredGrasp(NamedTuple):
    """A grasp for another hand."""

    scene: GraspScene
    """The scene, ready for ``simulate``; it has no hold test but that of the result."""
    fingers: dict[str, str]
    """Finger of the first hand whose contact each finger of the other one takes over."""
    error_mm: dict[str, float]
    """Distance of each fingertip from its contact [mm]."""


def transfer_grasp(result: GraspResult, hand: Hand) -> TransferredGrasp:
    """Transfer the fingertip contacts of a result to another hand with rigid fingers.

    Args:
        result: A result whose hand touches the object at its end.
        hand: The other hand; fingers without a contact stay in its start posture.

    Raises:
        DescriptionError: The result has too few contacts of fingers.
        BuildError: No assignment of fingers brings the fingertips to the contacts.
    """
    touching = {c.finger: c for c in result.contacts if c.in_contact and c.finger and c.point_m}
    if len(touching) < FEWEST or not hand.fingers:
        raise DescriptionError(
            f"expected at least {FEWEST} fingers in contact at the end of the result and a hand "
            f"with rigid fingers, found {len(touching)} and '{hand.name}'",
            field="result",
        )
    points = np.array([contact.point_m for contact in touching.values()])
    outward = -np.array([contact.normal for contact in touching.values()])
    search, names, refusal = _TransferSearch(hand, points, outward, result), [*touching], ""
    for candidate in search.candidates():
        errors = search.errors(candidate)
        worst = max(errors, key=lambda name: errors[name])
        if errors[worst] > 1e3 * LARGEST_ERROR:
            refusal = refusal or (
                f"fingertips within {1e3 * LARGEST_ERROR:g} mm of the contacts, found '{worst}' "
                f"{errors[worst]:.3g} mm away"
            )
            continue
        for clearance in CLEARANCES:
            scene = _scene(result, search, candidate, clearance)
            try:
                build(resolve(scene))
            except BuildError as error:  # the hand is in the way
                refusal = refusal or str(error)
                continue
            chosen = enumerate(candidate.chosen)
            fingers = {search.names[f]: names[i] for i, f in chosen if f >= 0}
            return TransferredGrasp(scene, fingers, errors)
    raise BuildError(
        f"expected a pose of '{hand.name}' that clears the object at the start, with {refusal}; "
        "another hand, or a grasp of another size, may fit"
    )


def _scene(
    result: GraspResult, search: _TransferSearch, candidate: Candidate, clearance: float
) -> GraspScene:
    """Return the scene in which the hand closes from in front of the contacts through them."""
    scene, hand = result.scene, search.hand
    world = search.pose(candidate)
    begin = search.posture_at(candidate, clearance)
    end = search.posture_at(candidate, -DEPTH)
    preset = hand.grasps.precision
    usual = np.abs(preset.rates.for_fingers(hand.actuator_counts)).max()
    moves = end - begin
    moves[np.abs(moves) < STILL * np.abs(moves).max()] = 0.0
    rates = moves * (float(usual) / max(float(np.abs(moves).max()), 1e-9))
    center = world[:3, :3].T @ (result.object_position[-1] - world[:3, 3])
    quaternion = result.object_quat_wxyz[-1]
    made = preset.replace(
        center=tuple(center.tolist()),
        start=tuple(begin.tolist()),
        rates=Rates(rates.tolist()),
        per_object=False,
    )
    return GraspScene(
        hand=hand.replace(grasps=hand.grasps.replace(precision=made)),
        object=scene.object,
        grasp="precision",
        object_position=tuple(result.object_position[-1].tolist()),
        object_euler=tuple(euler_from_quaternions(quaternion).tolist()),
        hand_pose=pose_of(world),
        gravity=scene.gravity,
        contact=scene.contact,
        success=scene.success,
        closure=DefaultClosure(),
    )


class Candidate(NamedTuple):
    """Candidate pose and posture of a hand whose fingertips touch the contacts."""

    cost: float
    """Sum of squares that is left."""
    values: Array
    """Change of the pose (rotation vector, position), then targets, (6 + nd,)."""
    frame: Array
    """Pose of the hand in the world that they change, (4, 4)."""
    chosen: tuple[int, ...]
    """Index of the finger at each contact; −1 for none."""


class _TransferSearch:
    """Pose and posture of a hand whose fingertips touch contacts."""

    def __init__(self, hand: Hand, points: Array, outward: Array, result: GraspResult) -> None:
        self.hand, self._points, self._outward = hand, points, outward
        self._center = result.object_position[-1]
        self._fingers = end_fingers(hand)
        self.names = [finger.name for finger in self._fingers]
        self._radii = np.array([finger.phalanges[-1].radius for finger in self._fingers])
        low, high = np.array([actuator.limits for actuator in hand.actuators]).T
        free = np.full(6, np.inf)
        self._limits = np.concatenate([-free, low]), np.concatenate([free, high])
        preset = hand.grasps.precision
        start = np.array(preset.start or [item.start for item in hand.actuators], dtype=float)
        rates = np.array(preset.rates.for_fingers(hand.actuator_counts))
        self._opened = np.where(rates > 0, low, np.where(rates < 0, high, start))
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(rates > 0, (high - start) / rates, (low - start) / rates)
        longest = float(np.nanmax(np.where(rates != 0.0, times, 0.0)))
        along = np.linspace(0.0, 0.7 * longest, POSTURES)[:, None] * rates
        self._postures = np.clip(start + along, low, high)
        """Along the closing motion of the hand's grasp, (POSTURES, nd)."""

    def candidates(self) -> list[Candidate]:
        """Return postures at the contacts, the nearest one first."""
        count, fingers = len(self._points), len(self._fingers)
        slots = [*range(fingers), *[-1] * max(count - fingers, 0)]
        options = sorted(set(permutations(slots, count)))
        tips = self._tips(self._postures)
        rated = []
        for chosen in options:
            used = [index for index, finger in enumerate(chosen) if finger >= 0]
            for posture in range(POSTURES):
                frame, error = self._aligned(tips[posture], chosen, used)
                rated.append((error, chosen, posture, frame))
        rated.sort(key=lambda item: item[0])
        solved = []
        for _, chosen, posture, frame in rated[:TRIED]:
            start = np.concatenate([np.zeros(6), self._postures[posture]])
            gaps = partial(self._gaps, frame, chosen, self._postures[posture])
            numeric = partial(gaps_by_differences, gaps)
            values, gap = minimise_squares(numeric, start[None], self._limits, STEPS)
            cost = float(np.square(gap).sum())
            solved.append(Candidate(cost, values[0], frame, chosen))
        return sorted(solved, key=lambda item: item.cost)

    def posture_at(self, candidate: Candidate, away: float) -> Array:
        """Return targets with fingertips at a distance outside the contacts, the hand still.

        Fingers without a contact are opened.
        """
        _, values, frame, chosen = candidate
        low, high = (limit.copy() for limit in self._limits)
        low[:6] = high[:6] = values[:6]
        gaps = partial(self._gaps, frame, chosen, values[6:], away=away)
        numeric = partial(gaps_by_differences, gaps)
        moved, _ = minimise_squares(numeric, values[None], (low, high), STEPS)
        probes = np.vstack([values[6:], values[6:] + PROBE * np.eye(len(values) - 6)])
        tips = self._tips(probes)[:, [item for item in chosen if item >= 0]]
        acting = (tips[1:] != tips[0]).any(axis=(1, 2))
        return np.where(acting, moved[0, 6:], self._opened)

    def pose(self, candidate: Candidate) -> Array:
        """Return the pose of the hand in the world, (4, 4)."""
        return np.asarray(move_frames(candidate.frame, candidate.values[None, :6])[0])

    def errors(self, candidate: Candidate) -> dict[str, float]:
        """Return the distance of each fingertip from its contact, by finger [mm]."""
        _, values, frame, chosen = candidate
        away = self._differences(values[None], frame, chosen, 0.0)[0]
        mine = [self.names[finger] for finger in chosen if finger >= 0]
        lengths = 1e3 * np.linalg.norm(away, axis=1)
        return dict(zip(mine, lengths.tolist(), strict=True))

    def _gaps(
        self, frame: Array, chosen: tuple[int, ...], rest: Array, values: Array, away: float = 0.0
    ) -> Array:
        """Return differences of tips, object and joints from their goals, (n, m)."""
        tips = self._differences(values, frame, chosen, away).reshape(len(values), -1)
        poses = move_frames(frame, values[:, :6])
        center = np.einsum("nji,nj->ni", poses[:, :3, :3], self._center - poses[:, :3, 3])
        beside = CENTER_WEIGHT * (center - self.hand.grasps.precision.center)
        return np.concatenate([tips, beside, REST_WEIGHT * (rest - values[:, 6:])], axis=1)

    def _differences(
        self, values: Array, frame: Array, chosen: tuple[int, ...], away: float
    ) -> Array:
        """Return goals less tips of the fingers with contacts, (n, k, 3) [m], world frame."""
        used = [index for index, finger in enumerate(chosen) if finger >= 0]
        mine = [chosen[index] for index in used]
        poses, tips = move_frames(frame, values[:, :6]), self._tips(values[:, 6:])[:, mine]
        placed = tips @ np.swapaxes(poses[:, :3, :3], 1, 2) + poses[:, None, :3, 3]
        goals = self._points[used] + (self._radii[mine] + away)[:, None] * self._outward[used]
        return np.asarray(goals - placed)

    def _aligned(
        self, tips: Array, chosen: tuple[int, ...], used: list[int]
    ) -> tuple[Array, float]:
        """Return the pose in which rigid tips are nearest to the contacts, and the error [m]."""
        mine = [chosen[index] for index in used]
        goals = self._points[used] + self._radii[mine][:, None] * self._outward[used]
        # the object's centre goes to where the grasp of the hand has it
        ours = np.concatenate([tips[mine], [self.hand.grasps.precision.center]])
        theirs = np.concatenate([goals, self._center[None]])
        return align(ours, theirs)

    def _tips(self, targets: Array) -> Array:
        """Return the ends of the last links of all fingers, (n, nf, 3) [m], hand frame."""
        frames = frames_at(self.hand, targets)
        ends = (
            frames[finger.body_of(finger.phalanges[-1])] @ [*finger.link_ends[-1], 1.0]
            for finger in self._fingers
        )
        return np.stack([end[..., :3] for end in ends], axis=1)
