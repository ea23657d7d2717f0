"""Differentiable energy of grasp postures, for many candidates at once.

The energy adds, for hand poses in the object's frame and actuator targets: the distances of chosen
links to the object, the unbalanced wrench of the best contact forces inside the friction cones, the
penetration of hand and object, and that of links among themselves. Its terms follow DexGraspNet
(Wang et al. 2023); the contact forces are solved for as in BODex (Chen et al. 2025). Gradients are
analytic: those of the forces vanish at their optimum (envelope theorem).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.kinematic_tree import KinematicTree, Postures
from softgrasp.grasp_synthesis.object_surface import ObjectSurface
from softgrasp.mechanics.transforms import Array

Indices = NDArray[np.int64]
LENGTH = 0.01
"""Length that makes distances dimensionless [m]."""
FORCE_STEPS = 12
"""Steps of the contact forces for each evaluation; they start at those of the last one."""
REGULARIZATION = 2e-3
"""Cost of unequal contact forces [–]."""
SIDES = np.concatenate([np.eye(3), -np.eye(3), np.zeros((1, 3))])
"""Directions whose tangential parts span the friction cones, and none, (7, 3)."""


@dataclass(frozen=True)
class EnergyWeights:
    """Weights of the terms of the energy [–]."""

    distance: float = 1.0
    penetration: float = 10.0
    equilibrium: float = 20.0
    self_penetration: float = 10.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Poses of a hand in the object's frame with its actuator targets, s of them."""

    rotation: Array
    """(s, 3, 3)."""
    position: Array
    """(s, 3) [m]."""
    targets: Array
    """(s, nu)."""
    contacts: NDArray[np.bool_]
    """Contact links of each candidate, (s, k)."""
    forces: Array
    """Parts of the contact force along the cone edges, (s, k, 7) [–], of sum 1."""

    def of(self, chosen: Indices) -> Candidates:
        """Select some candidates."""
        return Candidates(*(column[chosen] for column in vars(self).values()))

    def placed(self, points: Array) -> Array:
        """Transform points (s, p, 3) [m] from the hand's frame into the object's."""
        return np.asarray(points @ self.rotation.transpose(0, 2, 1) + self.position[:, None])

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.targets)


class Evaluation(NamedTuple):
    """Energy of candidates, its gradient, and what it was computed from."""

    energy: Array
    """(s,) [–]."""
    rotation_gradient: Array
    """Derivatives for rotations about the hand's origin, axes of the object, (s, 3) [1/rad]."""
    position_gradient: Array
    """(s, 3) [1/m]."""
    target_gradient: Array
    """(s, nu) [1/unit of the target]."""
    forces: Array
    """Contact forces, (s, k, 7) [–]."""
    distances: Array
    """Signed distances of the contact links, (s, k) [m]."""
    residual: Array
    """Norm of the unbalanced wrench over the sum of the forces, (s,) [–]."""
    penetration: Array
    """Largest depth of a surface point in the object, (s,) [m]."""
    self_penetration: Array
    """Largest overlap of spheres of different links, (s,) [m]."""


class ContactLink(NamedTuple):
    """A link that can be in contact, and the points of its inner surface."""

    body: int
    points: Indices
    """Indices of the surface points."""
    tip: bool
    """Whether it is the last link of a finger."""


class Spheres(NamedTuple):
    """Spheres inside the links, and pairs of them that must not overlap."""

    body: Indices
    """(n,)"""
    center: Array
    """(n, 3) [m], body frame."""
    radius: Array
    """(n,) [m]."""
    first: Indices
    """(m,)"""
    second: Indices
    """(m,)"""


@dataclass(frozen=True, eq=False)
class GraspEnergy:
    """Energy of grasps of one object by one hand."""

    tree: KinematicTree
    links: tuple[ContactLink, ...]
    spheres: Spheres
    surface: ObjectSurface
    friction: float = 0.4
    """Coefficient of friction of the cones [–]; below the true one, as a margin."""
    plane: Array | None = None
    """Table, in the object's frame: outward unit normal and offset, (4,); the hand has to be where
    normal · x ≥ offset."""
    weights: EnergyWeights = EnergyWeights()

    @cached_property
    def _sphere_tree(self) -> KinematicTree:
        points = (self.spheres.body, self.spheres.center, np.zeros_like(self.spheres.center))
        return replace(self.tree, points=type(self.tree.points)(*points))

    def evaluate(self, candidates: Candidates, force_steps: int = FORCE_STEPS) -> Evaluation:
        """Compute the energy and its gradient.

        Args:
            candidates: The candidates.
            force_steps: Steps of the contact forces; 0 keeps those of the candidates.
        """
        postures = self.tree.postures(candidates.targets)
        local, _ = self.tree.point_positions(postures)
        points = candidates.placed(local)
        distance, slope = self.surface.distance(points)
        gradient = np.zeros_like(points)
        depth = np.maximum(-distance, 0.0) / LENGTH
        energy = self.weights.penetration * np.square(depth).sum(axis=1)
        gradient -= 2.0 * self.weights.penetration / LENGTH * depth[..., None] * slope
        energy += self._below(points, gradient)
        near = self._nearest(distance)
        distances = np.take_along_axis(distance, near, axis=1)
        energy += self._reach(candidates, near, distances, slope, gradient)
        contact, forces, residual = self._equilibrium(
            candidates, points, near, distances, slope, gradient, force_steps
        )
        energy += contact
        self_energy, overlap, on_targets = self._self_penetration(candidates, postures)
        energy += self_energy
        in_hand = gradient @ candidates.rotation
        on_targets += self.tree.target_gradient(postures, local, in_hand)
        relative = points - candidates.position[:, None]
        return Evaluation(
            energy,
            np.cross(relative, gradient).sum(axis=1),
            gradient.sum(axis=1),
            on_targets,
            forces,
            distances,
            residual,
            LENGTH * depth.max(axis=1),
            overlap,
        )

    def _below(self, points: Array, gradient: Array) -> Array:
        """Compute the energy of points below the table, (s,), and add its gradient."""
        if self.plane is None:
            return np.zeros(len(points))
        normal, offset = self.plane[:3], self.plane[3]
        depth = np.maximum(offset - points @ normal, 0.0) / LENGTH
        weight = self.weights.penetration
        gradient -= (2.0 * weight / LENGTH * depth)[..., None] * normal
        return np.asarray(weight * np.square(depth).sum(axis=1))

    def _nearest(self, distance: Array) -> Indices:
        """Return the point of each contact link that is nearest to the object, (s, k)."""
        columns = [link.points[distance[:, link.points].argmin(axis=1)] for link in self.links]
        return np.stack(columns, axis=1)

    def _reach(
        self, candidates: Candidates, near: Indices, distances: Array, slope: Array, gradient: Array
    ) -> Array:
        """Compute the energy of the contact links' distances, and add its gradient."""
        scaled = distances / LENGTH
        root = np.sqrt(1.0 + np.square(scaled))
        active = self.weights.distance * candidates.contacts
        change = active * scaled / root / LENGTH
        self._add(gradient, near, change[..., None] * _take(slope, near))
        return np.asarray((active * (root - 1.0)).sum(axis=1))

    @staticmethod
    def _add(gradient: Array, near: Indices, values: Array) -> None:
        """Add derivatives (s, k, 3) to those of the nearest points, which differ by link."""
        rows = np.arange(len(near))[:, None]
        gradient[rows, near] += values

    def _equilibrium(
        self,
        candidates: Candidates,
        points: Array,
        near: Indices,
        distances: Array,
        slope: Array,
        gradient: Array,
        steps: int,
    ) -> tuple[Array, Array, Array]:
        """Return energies of the unbalanced wrench, forces and residuals; add the gradient."""
        at = _take(points, near)
        outward, bend = self.surface.normals(at)
        arms = (at - self.surface.center_of_mass) / self.surface.radius
        edges = cone_edges(outward, self.friction)
        wrenches = np.concatenate([edges, np.cross(arms[..., None, :], edges)], axis=-1)
        cost = REGULARIZATION * (1.0 + np.square(distances / LENGTH))
        forces = balance_forces(wrenches, cost, candidates.contacts, candidates.forces, steps)
        residual = np.einsum("ske,skei->si", forces, wrenches)
        total = forces.sum(axis=2)
        weight = self.weights.equilibrium
        energy = 0.5 * np.square(residual).sum(axis=1)
        energy += 0.5 * (cost * np.square(forces).sum(axis=2)).sum(axis=1)
        applied = np.einsum("ske,skei->ski", forces, edges)
        linear, angular = residual[:, None, :3], residual[:, None, 3:]
        on_force = linear + np.cross(angular, arms)
        on_point = np.cross(applied, angular) / self.surface.radius
        sideways = np.einsum("ske,ei->ski", forces, SIDES)
        on_normal = _force_slope(outward, total, sideways, self.friction, on_force)
        on_point = on_point + np.einsum("skij,ski->skj", bend, on_normal)
        farther = REGULARIZATION * np.square(forces).sum(axis=2) * distances / LENGTH**2
        on_point += farther[..., None] * _take(slope, near)
        self._add(gradient, near, weight * on_point)
        return weight * energy, forces, np.linalg.norm(residual, axis=1)

    def _self_penetration(
        self, candidates: Candidates, postures: Postures
    ) -> tuple[Array, Array, Array]:
        """Compute energies (s,), largest overlaps (s,) and target gradients (s, nu)."""
        spheres = self.spheres
        count = len(candidates)
        if not len(spheres.first):
            return np.zeros(count), np.zeros(count), np.zeros_like(candidates.targets)
        centers, _ = self._sphere_tree.point_positions(postures)
        apart = centers[:, spheres.first] - centers[:, spheres.second]
        length = np.maximum(np.linalg.norm(apart, axis=2), 1e-9)
        radii = spheres.radius[spheres.first] + spheres.radius[spheres.second]
        overlap = np.maximum(radii - length, 0.0) / LENGTH
        weight = self.weights.self_penetration
        along = (-2.0 * weight / LENGTH * overlap / length)[..., None] * apart
        gradient = np.zeros_like(centers)
        pairs, columns = np.nonzero(overlap)
        np.add.at(gradient, (pairs, spheres.first[columns]), along[pairs, columns])
        np.add.at(gradient, (pairs, spheres.second[columns]), -along[pairs, columns])
        on_targets = self._sphere_tree.target_gradient(postures, centers, gradient)
        deepest = LENGTH * overlap.max(axis=1)
        return weight * np.square(overlap).sum(axis=1), deepest, on_targets


def _take(values: Array, near: Indices) -> Array:
    """Select values (s, p, 3) at points (s, k), (s, k, 3)."""
    return np.take_along_axis(values, near[..., None], axis=1)


# Contact forces


def cone_edges(outward: Array, friction: float) -> Array:
    """Compute contact forces with unit normal component that span the friction cones.

    The tangential parts are projections of the coordinate axes, so they are smooth in the normals.

    Args:
        outward: Normals pointing out of the object, (s, k, 3).
        friction: Coefficient of friction [–].

    Returns:
        Forces, (s, k, 7, 3) [–].
    """
    square = np.maximum(np.square(outward).sum(axis=-1), 1e-6)[..., None, None]
    along = (outward @ SIDES.T)[..., None]
    tangent = SIDES - outward[..., None, :] * along / square
    return np.asarray(-outward[..., None, :] + friction * tangent)


def _force_slope(
    outward: Array, total: Array, sideways: Array, friction: float, on_force: Array
) -> Array:
    """Compute derivatives for the normals from those for contact forces, (s, k, 3) each.

    A force is −n·total + friction·(b − n (n·b) / (n·n)) with b the sum of the sides.
    """
    square = np.maximum(np.square(outward).sum(axis=-1), 1e-6)[..., None]
    along = (outward * sideways).sum(axis=-1)[..., None]
    pushed = (outward * on_force).sum(axis=-1)[..., None]
    slope = (
        -on_force * along / square
        - sideways * pushed / square
        + 2.0 * outward * along * pushed / np.square(square)
    )
    return np.asarray(-total[..., None] * on_force + friction * slope)


def balance_forces(
    wrenches: Array, cost: Array, contacts: NDArray[np.bool_], start: Array, steps: int
) -> Array:
    """Find contact forces of sum 1 with the smallest unbalanced wrench.

    Accelerated projected gradient (Beck and Teboulle 2009) on ½|Σ f w|² + ½ Σ c f².

    Args:
        wrenches: Wrench of each cone edge, (s, k, e, 6) [–].
        cost: Cost c of the forces of each contact, (s, k) [–].
        contacts: Contacts that may have forces, (s, k).
        start: Forces at the start, (s, k, e).
        steps: Number of steps.

    Returns:
        Forces along the edges, (s, k, e) [–].
    """
    count, links, sides = start.shape
    if steps == 0:
        return start
    matrix = wrenches.reshape(count, links * sides, 6)
    square = matrix @ matrix.transpose(0, 2, 1)
    ridge = np.repeat(cost, sides, axis=1)
    largest = np.linalg.eigvalsh(matrix.transpose(0, 2, 1) @ matrix)[:, -1]
    step = 1.0 / (largest + ridge.max(axis=1))
    allowed = np.repeat(contacts, sides, axis=1)
    forces = momentum = start.reshape(count, -1)
    pace = 1.0
    for _ in range(steps):
        change = np.einsum("smn,sn->sm", square, momentum) + ridge * momentum
        moved = np.where(allowed, momentum - step[:, None] * change, -np.inf)
        following = onto_simplex(moved)
        next_pace = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        momentum = following + (pace - 1.0) / next_pace * (following - forces)
        forces, pace = following, next_pace
    return forces.reshape(start.shape)


def onto_simplex(values: Array) -> Array:
    """Project rows (s, m) onto numbers that are not negative and have the sum 1.

    Entries of −∞ become 0.
    """
    ordered = -np.sort(-values, axis=1)
    finite = np.where(np.isfinite(ordered), ordered, 0.0)
    counts = np.arange(1, values.shape[1] + 1)
    level = (np.cumsum(finite, axis=1) - 1.0) / counts
    kept = (np.isfinite(ordered) & (ordered > level)).sum(axis=1)
    chosen = np.maximum(kept, 1) - 1
    return np.asarray(np.maximum(values - level[np.arange(len(values)), chosen][:, None], 0.0))


def equal_forces(contacts: NDArray[np.bool_]) -> Array:
    """Return equal forces along the normals of the chosen contacts, (s, k, 7) [–]."""
    forces = np.zeros((*contacts.shape, len(SIDES)))
    forces[..., -1] = contacts / np.maximum(contacts.sum(axis=1, keepdims=True), 1)
    return forces


def support(wrenches: Array, touching: NDArray[np.bool_], directions: Array) -> Array:
    """Compute the smallest support of the contact wrenches over unit directions, (s,) [–].

    It approaches the radius ε of the largest ball in the wrench space from above as the directions
    become dense (Ferrari and Canny 1992).

    Args:
        wrenches: (s, k, e, 6) [–].
        touching: Contacts that count, (s, k).
        directions: Unit wrenches, (d, 6).
    """
    along = np.einsum("skei,di->skde", wrenches, directions).max(axis=-1)
    along = np.where(touching[..., None], along, 0.0)
    return np.asarray(along.max(axis=1).min(axis=1))
