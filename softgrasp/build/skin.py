"""A smooth skin over the rigid links of a soft finger: what it looks like, with no say in physics.

Rings around the finger follow the boxes of its links. Every point is carried by up to three links
with weights that are quadratic B-splines over the joints: equal bends make the skin an arc.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt
from scipy.interpolate import PchipInterpolator

from softgrasp.build.visual import Rgba
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array

Faces = npt.NDArray[np.int64]

RINGS, SIDES = 8, 24
"""Rings between two joints, and corners of a ring."""
SQUARE, ROUND = 4.0, 2.5
"""Exponents of the sections, which are superellipses, of a planar and of a spatial finger."""
RIPPLE_OF_CELL, RIPPLE_OF_HEIGHT = 0.22, 0.12
"""Greatest depth of the folds over the distance between joints, and over the height."""
BASE_ROUNDING = 0.12
"""Rounding of the base over the least half width; the tip is round altogether."""
CAP_RINGS = 6
MAX_CAP_FRACTION = 0.3
"""Longest cap over the finger's length."""
MIN_CELL_FRACTION = 1e-3
"""A joint at the very end of a finger still bends this part of its length."""


def add_finger_skin(
    spec: mujoco.MjSpec,
    name: str,
    finger: SoftFinger,
    bodies: Sequence[str],
    rgba: Rgba,
    *,
    ripple: bool = True,
) -> None:
    """Cover the links of a finger with one skin.

    Their geoms still touch; in ``SKINNED_GROUP`` renderers do not show them.

    Args:
        spec: The model that has the finger; changed in place.
        name: Name of the skin.
        finger: The finger.
        bodies: The bodies of its links; in the straight finger the frame of the first is the
            finger's base frame, and that of every other stands at its joint, turned alike.
        rgba: Colour.
        ripple: Whether the upper side of a planar finger has the folds of a bellows, one a joint.
    """
    vertices, faces = finger_surface(finger, ripple=ripple)
    weights = link_weights(vertices[:, 0], _cell_ends(finger))
    carried = [np.flatnonzero(column) for column in weights.T]
    origins = [(0.0, 0.0, 0.0), *(joint.position for joint in finger.joints)]
    spec.add_skin(
        name=name,
        rgba=rgba,
        vert=vertices.ravel().tolist(),
        face=faces.ravel().tolist(),
        bodyname=list(bodies),
        bindpos=np.ravel(origins).tolist(),
        bindquat=[1.0, 0.0, 0.0, 0.0] * len(bodies),
        vertid=[influences.tolist() for influences in carried],
        vertweight=[weights[influences, link].tolist() for link, influences in enumerate(carried)],
    )


def finger_surface(finger: SoftFinger, *, ripple: bool = True) -> tuple[Array, Faces]:
    """The closed surface of a straight finger.

    Args:
        finger: The finger.
        ripple: Whether a planar finger has folds on its upper side.

    Returns:
        Vertices in the base frame [m], shape (n, 3), and triangles, counterclockwise from
        outside, shape (m, 3).
    """
    ends = _cell_ends(finger)
    section = _Section(finger, ends)
    positions, scale = _stations(ends, section)
    low, high = section.at(positions)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    unit = _superellipse(SQUARE if finger.planar else ROUND)
    across = middle[:, None] + scale[:, None, None] * half[:, None] * unit
    if ripple and finger.planar:
        depth = scale * section.folds(positions)
        across[..., 1] -= depth[:, None] * unit[:, 1].clip(0.0) ** 2
    rings = np.column_stack([np.repeat(positions, SIDES), across.reshape(-1, 2)])
    poles = np.column_stack([ends[[0, -1]], middle[[0, -1]]])
    return np.concatenate([rings, poles]), _faces(len(positions))


def link_weights(positions: Array, ends: Array) -> Array:
    """How much every link carries of a point of the skin.

    The weight passes from a link to the next with the integral of a hat that reaches from joint to
    joint. To first order the skin then has the curvature of the hats, each as large as its joint
    bends: between equal bends of equal cells it is constant.

    Args:
        positions: Of the points along the straight finger [m], shape (n,).
        ends: Start of the finger, its joints, and its end [m], shape (links + 1,).

    Returns:
        Weights from 0 to 1, each row with the sum 1, shape (n, links).
    """
    before, joint, after = ends[:-2], ends[1:-1], ends[2:]
    at = positions[:, None]
    rising = (at.clip(before, joint) - before) ** 2 / (joint - before)
    falling = (after - at.clip(joint, after)) ** 2 / (after - joint)
    passed = (rising + (after - joint) - falling) / (after - before)
    one = np.ones((len(positions), 1))
    return np.asarray(-np.diff(np.hstack([one, passed, 0.0 * one]), axis=1).clip(max=0.0))


class _Section:
    """The section along a straight finger, between the boxes of its links."""

    def __init__(self, finger: SoftFinger, ends: Array) -> None:
        centers = np.array([link.center[1:] for link in finger.links])
        halves = 0.5 * np.array([link.size[1:] for link in finger.links])
        self._middles = 0.5 * (ends[:-1] + ends[1:])
        self._joints, self._cells = ends[1:-1], np.diff(ends)
        # no overshoot: where neighbouring boxes are level the skin is
        edges = np.hstack([centers - halves, centers + halves])
        self._curve = PchipInterpolator(self._middles, edges)

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Least and greatest (y, z) [m], each of shape (n, 2)."""
        edges = self._curve(positions.clip(self._middles[0], self._middles[-1]))
        return edges[:, :2], edges[:, 2:]

    def folds(self, positions: Array) -> Array:
        """How deep the folds of the bellows are [m], shape (n,): deepest at the joints."""
        low, high = self.at(self._joints)
        cell = np.minimum(self._cells[:-1], self._cells[1:])
        depth = np.minimum(RIPPLE_OF_CELL * cell, RIPPLE_OF_HEIGHT * (high - low)[:, 1])
        middles, joints = self._middles, self._joints
        nodes = np.concatenate([middles[:1], np.ravel([joints, middles[1:]], order="F")])
        phase = np.interp(positions, nodes, np.arange(len(nodes)))
        nearest = (0.5 * phase).astype(int).clip(max=len(joints) - 1)
        return np.asarray(depth[nearest] * np.sin(0.5 * np.pi * phase) ** 2)


def _cell_ends(finger: SoftFinger) -> Array:
    """Start of the finger, its joints, and its end along x [m], shape (links + 1,)."""
    first, last = finger.links[0], finger.links[-1]
    joints = np.array([joint.position[0] for joint in finger.joints])
    start, end = first.center[0] - 0.5 * first.size[0], last.center[0] + 0.5 * last.size[0]
    min_cell = MIN_CELL_FRACTION * (max(end, joints[-1]) - min(start, joints[0]))
    return np.array([min(start, joints[0] - min_cell), *joints, max(end, joints[-1] + min_cell)])


def _stations(ends: Array, section: _Section) -> tuple[Array, Array]:
    """Where the rings are along the finger [m], and their sizes over the section's; (n,) each."""
    start, end = ends[0], ends[-1]
    low, high = section.at(ends[[0, -1]])
    base, tip = np.minimum(0.5 * (high - low).min(axis=1), MAX_CAP_FRACTION * (end - start))
    base *= BASE_ROUNDING
    angle = 0.5 * np.pi * np.arange(1, CAP_RINGS + 1) / CAP_RINGS
    cells = np.arange(0, RINGS * (len(ends) - 1)) / RINGS
    between = np.interp(cells, np.arange(len(ends)), ends)
    between = between[(between > start + base) & (between < end - tip)]
    cap = 1.0 - np.cos(angle)
    positions = np.concatenate([start + base * cap, between, end - (tip * cap)[::-1]])
    scale = np.concatenate([np.sin(angle), np.ones(len(between)), np.sin(angle)[::-1]])
    return positions, scale


def _superellipse(exponent: float) -> Array:
    """Corners (y, z) of a ring in a square from −1 to 1, shape (SIDES, 2)."""
    angle = 2.0 * np.pi * (np.arange(SIDES) + 0.5) / SIDES
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(np.sign(circle) * np.abs(circle) ** (2.0 / exponent))


def _faces(rings: int) -> Faces:
    """Triangles between neighbouring rings, and from the first and last one to their poles."""
    here = np.arange(rings * SIDES).reshape(rings, SIDES)
    beside = np.roll(here, -1, axis=1)
    a, b, c, d = here[:-1], beside[:-1], here[1:], beside[1:]
    sides = np.stack([np.stack([a, b, c], -1), np.stack([b, d, c], -1)], axis=2).reshape(-1, 3)
    base, tip = np.full(SIDES, rings * SIDES), np.full(SIDES, rings * SIDES + 1)
    first = np.column_stack([base, beside[0], here[0]])
    last = np.column_stack([tip, here[-1], beside[-1]])
    return np.concatenate([sides, first, last])
