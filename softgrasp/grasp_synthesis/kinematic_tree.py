"""Batched forward kinematics of a hand in numpy, and gradients of functions of its points.

A ``KinematicTree`` moves bodies by joints whose variables are affine in the actuator targets. It
poses the surface points of many hands at once, and turns the gradient at the points into that of
targets and hand poses by the principle of virtual work. Vectors are in the hand's frame [m].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

Indices = NDArray[np.int64]


class HandPoints(NamedTuple):
    """Points on the surface of a hand, sorted by their bodies."""

    body: Indices
    """Body of each point, (p,)."""
    position: Array
    """(p, 3) [m], body frame."""
    normal: Array
    """Outward unit normals, (p, 3), body frame."""


class Postures(NamedTuple):
    """Frames of bodies and joints for s postures of a hand."""

    rotation: Array
    """Orientations of the bodies, (s, nb, 3, 3)."""
    position: Array
    """Origins of the bodies, (s, nb, 3) [m]."""
    axis: Array
    """Unit vectors along the joints, (s, nj, 3)."""
    anchor: Array
    """Points on the joint axes, (s, nj, 3) [m]."""


@dataclass(frozen=True, eq=False)
class KinematicTree:
    """Bodies of a hand, the joints between them, and the actuators that move the joints."""

    parent: tuple[int, ...]
    """Parent of each body, before it in the order; −1 for the hand's frame, (nb,)."""
    offset: Array
    """Frames of the bodies in their parents at zero joint variables, (nb, 4, 4)."""
    joint_body: tuple[int, ...]
    """Body that each joint moves, in the order in which they act, (nj,)."""
    slides: NDArray[np.bool_]
    """Whether a joint slides; it rotates otherwise, (nj,)."""
    joint_axis: Array
    """Unit vectors, (nj, 3), body frame."""
    joint_anchor: Array
    """Points on the axes, (nj, 3) [m], body frame."""
    ratio: Array
    """Change of the joint variables with the targets, (nj, nu)."""
    bias: Array
    """Joint variables at zero targets, (nj,) [rad or m]."""
    limits: Array
    """Lowest and highest targets, (nu, 2)."""
    points: HandPoints

    @cached_property
    def moved_bodies(self) -> NDArray[np.bool_]:
        """Whether a joint moves a body, (nj, nb)."""
        moved = np.zeros((len(self.joint_body), len(self.parent)), dtype=bool)
        for joint, first in enumerate(self.joint_body):
            moved[joint, first] = True
            for body in range(first + 1, len(self.parent)):
                moved[joint, body] = self.parent[body] >= 0 and moved[joint, self.parent[body]]
        return moved

    def postures(self, targets: Array) -> Postures:
        """Compute the frames of all bodies and joints.

        Args:
            targets: Actuator targets, (s, nu).
        """
        variables = targets @ self.ratio.T + self.bias
        count, bodies, joints = len(targets), len(self.parent), len(self.joint_body)
        rotation, position = np.empty((count, bodies, 3, 3)), np.empty((count, bodies, 3))
        axis, anchor = np.empty((count, joints, 3)), np.empty((count, joints, 3))
        for body, parent in enumerate(self.parent):
            offset_rotation, at = self.offset[body, :3, :3], self.offset[body, :3, 3]
            if parent >= 0:
                rotation[:, body] = rotation[:, parent] @ offset_rotation
                position[:, body] = position[:, parent] + rotation[:, parent] @ at
            else:
                rotation[:, body], position[:, body] = offset_rotation, at
            for joint in (j for j, moved in enumerate(self.joint_body) if moved == body):
                here = rotation[:, body] @ self.joint_anchor[joint] + position[:, body]
                axis[:, joint] = rotation[:, body] @ self.joint_axis[joint]
                anchor[:, joint] = here
                if self.slides[joint]:
                    position[:, body] += axis[:, joint] * variables[:, joint, None]
                    continue
                rotation[:, body] = rotation[:, body] @ rotations(
                    self.joint_axis[joint], variables[:, joint]
                )
                position[:, body] = here - rotation[:, body] @ self.joint_anchor[joint]
        return Postures(rotation, position, axis, anchor)

    def point_positions(self, postures: Postures) -> tuple[Array, Array]:
        """Compute positions [m] and normals of the surface points, (s, p, 3) each."""
        rotation = postures.rotation[:, self.points.body]
        position = (rotation @ self.points.position[:, :, None])[..., 0]
        normals = (rotation @ self.points.normal[:, :, None])[..., 0]
        return position + postures.position[:, self.points.body], normals

    def target_gradient(self, postures: Postures, positions: Array, gradient: Array) -> Array:
        """Compute the derivative of a function of the points with respect to the targets, (s, nu).

        Args:
            postures: The postures.
            positions: Positions of the points, (s, p, 3) [m].
            gradient: Derivatives of the function with respect to them, (s, p, 3).
        """
        on_body = np.zeros((len(self.points.body), len(self.parent)))
        on_body[np.arange(len(on_body)), self.points.body] = 1.0
        moved = (on_body @ self.moved_bodies.T).T  # (nj, p)
        force = moved @ gradient
        moment = moved @ np.cross(positions, gradient)
        moment -= np.cross(postures.anchor, force)
        with_variable = np.where(
            self.slides,
            np.einsum("sji,sji->sj", postures.axis, force),
            np.einsum("sji,sji->sj", postures.axis, moment),
        )
        return np.asarray(with_variable @ self.ratio)

    def point_velocities(self, targets: Array, rates: Array) -> Array:
        """Compute the velocities of the surface points, (s, p, 3) [m/s].

        Args:
            targets: Actuator targets, (s, nu).
            rates: Rates of the targets, (nu,) or (s, nu).
        """
        step = 1e-5
        before, _ = self.point_positions(self.postures(targets - step * rates))
        after, _ = self.point_positions(self.postures(targets + step * rates))
        return (after - before) / (2.0 * step)


def rotations(axis: Array, angles: Array) -> Array:
    """Compute rotations about one unit axis (3,) by angles (s,) [rad], (s, 3, 3)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.asarray(np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross))


def rotation_vectors(vectors: Array) -> Array:
    """Compute rotations by rotation vectors (s, 3) [rad], (s, 3, 3)."""
    angle = np.linalg.norm(vectors, axis=1)
    x, y, z = (vectors / np.maximum(angle, 1e-12)[:, None]).T
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.asarray(np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross))
