"""Synthesis of grasp postures: seeds, descent of the energy, and choice of diverse grasps.

All candidates descend together by Adam (Kingma and Ba 2015), with a last part in which penetration
weighs more. What remains is ranked by the wrenches that the contacts resist, and poses that are
close to a better one are left out. The hand starts opened from the posture found, and closes
through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.actuation import Actuator
from softgrasp.grasp_synthesis.grasp_energy import (
    REGULARIZATION,
    Candidates,
    EnergyWeights,
    GraspEnergy,
    balance_forces,
    cone_edges,
    equal_forces,
    support,
)
from softgrasp.grasp_synthesis.grasp_seeds import GraspingHand, seed_candidates
from softgrasp.grasp_synthesis.kinematic_tree import rotation_vectors
from softgrasp.mechanics.transforms import Array

STEPS, LAST_STEPS = 100, 50
"""Steps of the descent, and those with more weight on penetration."""
LAST = EnergyWeights(penetration=60.0, self_penetration=120.0, equilibrium=10.0)
"""Weights of the last steps."""
BATCH = 64
"""Number of candidates that descend together; more need more memory and are not faster."""
SCALES = {"rad": 0.05, "m": 2e-3}
"""First step of a target by its unit; 3 % of the range for others."""
POSITION_STEP, ROTATION_STEP = 3e-3, 0.05
"""First steps of the pose [m, rad]."""
LINK_BONUS, MANY_LINKS = 0.03, 10
"""Value of a link that touches, over that of a support of 1, and number above which more links do
not count. In simulation the number of links predicts being held better than the support does."""
BLOCKED = 0.1
"""Cost of a hand that does not clear the object when it opens or is moved back [–]."""
MAX_SQUEEZE = 0.4
"""Largest change of a target for squeezing [rad or m]."""
RESIDUAL_STEPS = 200
"""Steps of the contact forces of a corrected posture."""
PACE = 0.35
"""Speed of the closing motion over that of the scene's grasp [–]."""
SLOWEST = 300.0
"""Longest time in which a closing actuator crosses its range; one that is slower stays [s]."""
MAX_PENETRATION, MAX_SELF_PENETRATION = 1e-3, 3e-3
"""Largest penetrations of a grasp that is kept [m]."""
SAME_POSITION, SAME_ROTATION = 0.01, 0.3
"""Differences of poses below which two grasps count as equal [m, rad]."""
OPENINGS = np.linspace(0.03, 0.9, 30)
"""Times of the closing motion that the hand is opened by [s]."""
DISTANCES = np.linspace(2e-3, 0.04, 20)
"""Distances that contact points are moved along their normals for opening [m]."""
DAMPING = 0.02
"""Damping of the motion along normals: lever arm below which a target moves little [m]."""
CLEAR = 4e-3
"""Distance of the opened fingers from the object [m]."""
RETREAT = np.linspace(0.0, 0.12, 13)
"""Distances along the approach at which its path is checked [m]."""
ABOVE = 1e-3
"""Height of the hand above the table in grasp, start and approach [m]."""
SUNK = 0.01
"""Largest depth in the table of start poses, which the descent removes [m]."""


class ExactPosture(NamedTuple):
    """A posture that was corrected with the exact shapes of hand and object."""

    pose: Array
    """Of the object in the hand, (4, 4)."""
    targets: Array
    """(nu,)."""
    points: Array
    """Contact points, one for each link that touches, (n, 3) [m], object's frame."""
    normals: Array
    """Normals pointing out of the object there, (n, 3), object's frame."""
    jacobians: Array
    """Derivatives of the contact points with respect to the targets, (n, 3, nu), hand's frame."""
    penetration: float
    """Largest penetration of hand and object [m]."""
    self_penetration: float
    """Largest penetration of links of the hand in each other [m]."""


class SynthesizedPosture(NamedTuple):
    """A grasp posture of a hand with its pose at an object."""

    pose: Array
    """Pose of the object in the hand, ``T_hand_object``, (4, 4)."""
    targets: Array
    """Actuator targets of the grasp, (nu,)."""
    start: Array
    """Actuator targets of the opened hand, (nu,)."""
    rates: Array
    """Closing rates, (nu,) [unit/s]."""
    squeeze: Array
    """Actuator targets that press on the object, (nu,)."""
    score: float
    """Support with values for links that touch and costs; larger is better [–]."""
    support: float
    """Smallest wrench of the contacts over directions, at a sum of normal forces of 1 [–]."""
    residual: float
    """Unbalanced wrench of the best contact forces, over their sum [–]."""
    penetration: float
    """Largest depth of the hand in the object [m]."""
    self_penetration: float
    """Largest penetration of links of the hand in each other [m]."""
    contacts: int
    """Number of links that touch."""


@dataclass(frozen=True, eq=False)
class PostureSearch:
    """Synthesis of postures of one hand at one object."""

    hand: GraspingHand
    energy: GraspEnergy
    """With all surface points."""
    coarse: GraspEnergy
    """With fewer surface points and a filled object, for seeds and the first steps."""
    actuators: Sequence[Actuator]
    fit: Callable[[Array, Array], ExactPosture]
    """Corrects a pose of the object in the hand (4, 4) and targets (nu,) with exact shapes."""
    stiffness: Array
    """Force or torque of each actuator over the change of its target, (nu,)."""
    grip: float
    """Sum of the normal forces of a squeezing hand [N]."""
    cone: tuple[Array, float] | None = None
    """Direction in the object's frame, and largest angle from it of the direction from the object
    to the hand [rad]."""

    def postures(
        self, random: np.random.Generator, count: int, seeds: int, tips_only: float
    ) -> list[SynthesizedPosture]:
        """Synthesize grasp postures that differ in pose, the best first.

        Args:
            random: Source of the seeds.
            count: Largest number of grasps.
            seeds: Number of start poses.
            tips_only: Fraction of grasps with fingertips only [–].
        """
        return diverse(self.rated_postures(random, seeds, tips_only), count)

    def rated_postures(
        self, random: np.random.Generator, seeds: int, tips_only: float
    ) -> list[SynthesizedPosture]:
        """Synthesize all grasp postures of some seeds, the one with the best score first.

        Args:
            random: Source of the seeds.
            seeds: Number of start poses.
            tips_only: Fraction of grasps with fingertips only [–].
        """
        start = seed_candidates(self.hand, self.coarse.surface, random, seeds, tips_only)
        start = self._usable_seeds(start, random, tips_only)
        last, descended = replace(self.energy, weights=LAST), []
        for at in range(0, len(start), BATCH):
            batch = start.of(np.arange(at, min(at + BATCH, len(start))))
            batch = self.descend(self.coarse, batch, STEPS)
            descended.append(self.descend(last, batch, LAST_STEPS, first=0.3))
        fitted = [self.fit(*pose) for batch in descended for pose in _poses(batch)]
        postures = self._graded([item for item in fitted if len(item.points) > 1])
        return sorted(postures, key=lambda element: -element.score)

    def descend(
        self, energy: GraspEnergy, candidates: Candidates, steps: int, first: float = 1.0
    ) -> Candidates:
        """Move candidates downhill, each to the best point on its path.

        Args:
            energy: The energy.
            candidates: Start.
            steps: Number of steps.
            first: Length of the first step over the usual one [–].
        """
        low, high = self.hand.tree.limits.T
        ranges = zip(self.actuators, low, high, strict=True)
        first_steps = [SCALES.get(item.unit, 0.03 * (b - a)) for item, a, b in ranges]
        scale = np.array([*[ROTATION_STEP] * 3, *[POSITION_STEP] * 3, *first_steps])
        mean = np.zeros((len(candidates), len(scale)))
        square = np.zeros_like(mean)
        best, lowest = candidates, np.full(len(candidates), np.inf)
        for step in range(1, steps + 1):
            at = energy.evaluate(candidates)
            candidates = replace(candidates, forces=at.forces)
            best, lowest = _keep(best, lowest, candidates, at.energy)
            slope = scale * np.concatenate(
                [at.rotation_gradient, at.position_gradient, at.target_gradient], axis=1
            )
            mean = 0.8 * mean + 0.2 * slope
            square = 0.95 * square + 0.05 * np.square(slope)
            length = first * 0.5 * (1.0 + np.cos(np.pi * step / steps)) + 0.01
            unbiased = mean / (1.0 - 0.8**step)
            norm = np.sqrt(square / (1.0 - 0.95**step)) + 1e-8
            moved = -length * scale * unbiased / norm
            candidates = replace(
                candidates,
                rotation=rotation_vectors(moved[:, :3]) @ candidates.rotation,
                position=candidates.position + moved[:, 3:6],
                targets=np.clip(candidates.targets + moved[:, 6:], low, high),
            )
        at = energy.evaluate(candidates)
        return _keep(best, lowest, replace(candidates, forces=at.forces), at.energy)[0]

    def _usable_seeds(
        self, candidates: Candidates, random: np.random.Generator, tips_only: float
    ) -> Candidates:
        """Replace candidates outside the cone or below the table, as far as draws yield others."""
        if self.cone is None and self.energy.plane is None:
            return candidates
        for _ in range(8):
            outside = np.flatnonzero(~self._usable(candidates))
            if not len(outside):
                break
            fresh = seed_candidates(
                self.hand, self.coarse.surface, random, 4 * len(outside), tips_only
            )
            usable = np.flatnonzero(self._usable(fresh))[: len(outside)]
            candidates = _exchange(candidates, outside[: len(usable)], fresh.of(usable))
        usable = np.flatnonzero(self._usable(candidates))
        return candidates.of(usable) if len(usable) else candidates

    def _usable(self, candidates: Candidates) -> NDArray[np.bool_]:
        """Return whether hands are in the cone, and near or above the table with their approach."""
        back = -(candidates.rotation @ self.hand.approach)
        usable = np.ones(len(candidates), dtype=bool)
        if self.cone is not None:
            direction, angle = self.cone
            usable &= back @ direction >= np.cos(angle) - 1e-9
        if self.energy.plane is not None:
            usable &= self._height(candidates, candidates.targets) > -SUNK
        return usable

    def _graded(self, exact: Sequence[ExactPosture]) -> list[SynthesizedPosture]:
        """Rate postures by their contacts, without those that penetrate too deep or hit a table."""
        usable = [item for item in exact if item.penetration <= MAX_PENETRATION]
        usable = [item for item in usable if item.self_penetration <= MAX_SELF_PENETRATION]
        if not usable:
            return []
        candidates = _hands(usable, len(self.energy.links))
        along = np.array([self._along_normals(item) for item in usable])
        start, rates, free = self._opened(candidates, along)
        blocked = self._blocked(candidates, start)
        clear = self._clear_of_table(candidates, start)
        graded = []
        for index in np.flatnonzero(clear).tolist():
            element = usable[index]
            resisted, residual, forces = self._resistance(element)
            score = (
                max(resisted, 0.0) - residual + LINK_BONUS * min(len(element.points), MANY_LINKS)
            )
            score -= BLOCKED * (blocked[index] + 1.0 - free[index])
            graded.append(
                SynthesizedPosture(
                    element.pose,
                    element.targets,
                    start[index],
                    rates[index],
                    self._squeezed(element, forces),
                    float(score),
                    resisted,
                    residual,
                    element.penetration,
                    element.self_penetration,
                    len(element.points),
                )
            )
        return graded

    def _resistance(self, exact: ExactPosture) -> tuple[float, float, Array]:
        """Return smallest resisted and unbalanced wrench, balanced forces (n, 3) on the object."""
        surface = self.energy.surface
        edges = cone_edges(exact.normals[None], self.energy.friction)
        arms = (exact.points[None] - surface.center_of_mass) / surface.radius
        wrenches = np.concatenate([edges, np.cross(arms[..., None, :], edges)], axis=-1)
        everyone = np.ones((1, len(exact.points)), dtype=bool)
        start, cost = equal_forces(everyone), np.full((1, len(exact.points)), REGULARIZATION)
        forces = balance_forces(wrenches, cost, everyone, start, RESIDUAL_STEPS)
        residual = np.linalg.norm(np.einsum("ske,skei->si", forces, wrenches))
        applied = np.einsum("ske,skei->ki", forces, edges)
        return float(support(wrenches, everyone, DIRECTIONS)[0]), float(residual), applied

    def _squeezed(self, exact: ExactPosture, forces: Array) -> Array:
        """Return the targets with which the servos press with balanced forces, (nu,).

        At rest the torques of the servos balance the contact forces, k·Δu = Jᵀ·f.
        """
        low, high = self.hand.tree.limits.T
        pressing = self.grip * forces @ exact.pose[:3, :3].T
        torques = np.einsum("ki,kiu->u", pressing, exact.jacobians)
        change = torques / np.maximum(self.stiffness, 1e-9)
        largest = float(np.abs(change).max(initial=0.0))
        change *= min(1.0, MAX_SQUEEZE / max(largest, 1e-9))
        return np.asarray(np.clip(exact.targets + change, low, high))

    def _along_normals(self, exact: ExactPosture) -> Array:
        """Compute the change of targets that moves all contact points out of the object, (nu,).

        Contact points move along their normals by 1 m as far as a damped least-squares solution
        does so. Closing against it, links meet the object without sliding along it.
        """
        normals = exact.normals @ exact.pose[:3, :3].T
        rows = np.einsum("ki,kiu->ku", normals, exact.jacobians)
        square = rows.T @ rows + DAMPING**2 * np.eye(rows.shape[1])
        return np.asarray(np.linalg.solve(square, rows.T @ np.ones(len(rows))))

    def _opened(self, candidates: Candidates, along: Array) -> tuple[Array, Array, Array]:
        """Open the hand until the fingers clear the object.

        Contact points move along their normals, or where that does not clear them, the hand opens
        against its closing motion. Returns start targets (s, nu), closing rates through the grasp
        (s, nu), and whether the opened hand is clear of the object (s,).
        """
        low, high = self.hand.tree.limits.T
        rates = self.hand.rates
        start = np.clip(candidates.targets - OPENINGS[-1] * rates, low, high)
        free = np.zeros(len(candidates), dtype=bool)
        changes = [distance * along for distance in DISTANCES]
        changes += [np.broadcast_to(-opening * rates, along.shape) for opening in OPENINGS]
        for change in changes:
            if free.all():
                break
            tried = np.clip(candidates.targets + change, low, high)
            now = (self._gap(candidates, tried) >= CLEAR) & ~free
            start[now] = tried[now]
            free |= now
        travel = candidates.targets - start
        fastest = np.abs(rates).max()
        # as fast as the closing motion, and together at the grasp
        time = np.abs(travel) / np.maximum(np.abs(rates), 1e-9) * (rates != 0.0)
        longest = np.maximum(time.max(axis=1), 1e-3)[:, None]
        through = travel / longest
        # an actuator at its limit still presses
        through = np.where((np.abs(travel) < 1e-6) & (rates != 0.0), 0.2 * rates, through)
        largest = np.maximum(np.abs(through).max(axis=1), 1e-9)[:, None]
        through *= PACE * np.minimum(1.0, fastest / largest)
        slow = np.abs(through) * SLOWEST < high - low
        return start, np.where(slow, 0.0, through), free

    def _gap(self, candidates: Candidates, targets: Array) -> Array:
        """Compute the smallest distance of moving links and object, (s,) [m]."""
        tree = self.hand.tree
        distance, _ = self.energy.surface.distance(self._placed(candidates, targets))
        closing = np.flatnonzero(np.abs(tree.ratio) @ np.abs(self.hand.rates))
        moving = np.asarray(tree.moved_bodies[closing].any(axis=0))[tree.points.body]
        return np.asarray(distance[:, moving].min(axis=1))

    def _placed(self, candidates: Candidates, targets: Array) -> Array:
        """Place the surface points for other targets in the object's frame, (s, p, 3) [m]."""
        local, _ = self.hand.tree.point_positions(self.hand.tree.postures(targets))
        return candidates.placed(local)

    def _blocked(self, candidates: Candidates, start: Array) -> NDArray[np.bool_]:
        """Return whether the object is in the way of the open hand's approach, (s,)."""
        points = self._placed(candidates, start)
        back = -(candidates.rotation @ self.hand.approach)
        blocked = np.zeros(len(candidates), dtype=bool)
        for distance in RETREAT[1:]:
            moved = points + distance * back[:, None]
            blocked |= self.energy.surface.distance(moved)[0].min(axis=1) < -2e-3
        return np.asarray(blocked)

    def _clear_of_table(self, candidates: Candidates, start: Array) -> NDArray[np.bool_]:
        """Return whether the hand is above the table in grasp, start and approach, (s,)."""
        if self.energy.plane is None:
            return np.ones(len(candidates), dtype=bool)
        grasp = self._height(candidates, candidates.targets, approach=0.0)
        return np.asarray(np.minimum(grasp, self._height(candidates, start)) > ABOVE)

    def _height(
        self, candidates: Candidates, targets: Array, approach: float = RETREAT[-1]
    ) -> Array:
        """Compute the least height above the table at both ends of the approach, (s,) [m]."""
        plane = self.energy.plane
        assert plane is not None
        height = (self._placed(candidates, targets) @ plane[:3] - plane[3]).min(axis=1)
        back = -(candidates.rotation @ self.hand.approach)
        return np.asarray(height + approach * np.minimum(back @ plane[:3], 0.0))


def _directions() -> Array:
    """Return unit wrenches spread over all directions, the axes included, (d, 6)."""
    drawn = np.random.default_rng(0).normal(size=(240, 6))
    drawn /= np.linalg.norm(drawn, axis=1)[:, None]
    return np.concatenate([np.eye(6), -np.eye(6), drawn])


DIRECTIONS = _directions()
"""Wrenches whose support is computed, (d, 6)."""


def _keep(
    best: Candidates, lowest: Array, candidates: Candidates, energy: Array
) -> tuple[Candidates, Array]:
    """Return the candidates with the lowest energies so far, and these energies."""
    lower = np.flatnonzero(energy < lowest)
    return _exchange(best, lower, candidates.of(lower)), np.fmin(energy, lowest)


def _exchange(candidates: Candidates, indices: NDArray[np.int64], others: Candidates) -> Candidates:
    """Return candidates with some of them replaced."""
    fields = {}
    for name in ("rotation", "position", "targets", "contacts", "forces"):
        values = getattr(candidates, name).copy()
        values[indices] = getattr(others, name)
        fields[name] = values
    return Candidates(**fields)


def _poses(candidates: Candidates) -> Iterator[tuple[Array, Array]]:
    """Yield the pose of the object in the hand (4, 4) and the targets (nu,) of candidates."""
    for rotation, position, targets in zip(
        candidates.rotation, candidates.position, candidates.targets, strict=True
    ):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation.T, -rotation.T @ position
        yield pose, targets


def _hands(exact: Sequence[ExactPosture], links: int) -> Candidates:
    """Return postures as candidates without contacts."""
    hands = np.linalg.inv(np.array([item.pose for item in exact]))
    none = np.zeros((len(exact), links), dtype=bool)
    targets = np.array([item.targets for item in exact])
    return Candidates(hands[:, :3, :3], hands[:, :3, 3], targets, none, equal_forces(none))


def diverse(postures: Sequence[SynthesizedPosture], count: int) -> list[SynthesizedPosture]:
    """Choose postures in their order, leaving out those whose pose is close to a chosen one.

    Where too few remain, those left out follow in their order.
    """
    first = distinct([posture.pose for posture in postures])
    similar = sorted(set(range(len(postures))) - set(first))
    return [postures[index] for index in (first + similar)[:count]]


def distinct(poses: Sequence[Array]) -> list[int]:
    """Return the indices of poses that are not close to one of them before.

    Args:
        poses: Poses of the object in the hand, (4, 4) each.
    """
    hands = np.linalg.inv(np.array(poses).reshape(-1, 4, 4))
    chosen: list[int] = []
    for index, hand in enumerate(hands):
        others = hands[chosen]
        near = np.linalg.norm(others[:, :3, 3] - hand[:3, 3], axis=1) <= SAME_POSITION
        cosine = 0.5 * ((others[:, :3, :3] * hand[:3, :3]).sum(axis=(1, 2)) - 1.0)
        if not (near & (cosine > np.cos(SAME_ROTATION))).any():
            chosen.append(index)
    return chosen
