"""A compiled model as the grasp finder sees it: surfaces, tips and axes for given targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.hand_model import ModelDrive
from softgrasp.formats.mjcf.loops import closed
from softgrasp.formats.mjcf.tree import Tree, joint_range
from softgrasp.mechanics.transforms import Array

MOVED = 1e-6
"""A body that moves less [m] or turns less [rad] than this is not moved."""
MOST_POINTS = 100
"""On a finger."""
PROBE = 0.3
"""Share of a drive's range in which is looked what it moves."""


class _Skin(NamedTuple):
    """Points that move with bodies."""

    bodies: NDArray[np.int64]
    """Of each point, (n,)."""
    points: Array
    """In the frames of their bodies, (n, 3) [m]."""


class ClosingModel:
    """Postures of a model by the targets of its drives, all in the world of the file."""

    def __init__(
        self,
        tree: Tree,
        drives: Sequence[ModelDrive],
        starts: Mapping[str, float],
        skins: Mapping[int, Array],
    ) -> None:
        """Look once at what each drive moves.

        Args:
            tree: The model.
            drives: Its drives.
            starts: Joint variables at the start, by name [rad or m].
            skins: Points on each body that can touch, in its frame (n, 3) [m], by its number.
        """
        self.model, self.drives, self._tree = tree.model, drives, tree
        self._data = mujoco.MjData(self.model)
        for name, value in starts.items():
            self._data.qpos[self.model.joint(name).qposadr[0]] = value
        self._begin = np.array(self._data.qpos)
        self._held = np.zeros(self.model.nv, dtype=bool)
        self._moves: list[tuple[int, int, float, float, tuple[float, float]]] = []
        for index, drive in enumerate(drives):
            for move in drive.moves:
                joint = self.model.joint(move.joint)
                self._held[joint.dofadr[0]] = True
                limits = joint_range(self.model, joint.id)
                self._moves.append((int(joint.qposadr[0]), index, move.ratio, move.at, limits))
        self.closes = True
        """Whether all postures so far obeyed the model's equalities."""
        self.limits = [drive.limits for drive in drives]
        self.start = [drive.start for drive in drives]
        self.angles = [drive.unit == "rad" for drive in drives]
        self._moved = [self._moved_bodies(index) for index in range(len(drives))]
        branches = [set(tree.below(child)) for child in tree.children[tree.palm]]
        found = [(self._skin({*groups}, skins), self._drives_of(groups)) for groups in branches]
        found = [(skin, moving) for skin, moving in found if len(skin.bodies) and moving]
        self.fingers = [moving for _, moving in found]
        self._skins = [self._skin({tree.palm}, skins), *(skin for skin, _ in found)]
        self._tips = self._farthest()

    def _skin(self, groups: set[int], skins: Mapping[int, Array]) -> _Skin:
        """Points on some groups, as many as are needed."""
        own = [body for body in sorted(skins) if int(self.model.body_weldid[body]) in groups]
        points = np.vstack([np.zeros((0, 3)), *(skins[body] for body in own)])
        bodies = np.repeat(np.array(own, dtype=int), [len(skins[body]) for body in own])
        step = max(1, -(-len(points) // MOST_POINTS))
        return _Skin(bodies[::step], points[::step])

    def posture(self, targets: Sequence[float]) -> None:
        """Put the model where the drives rest, its equalities obeyed."""
        data = self._data
        data.qpos[:] = self._begin
        for place, drive, ratio, at, (low, high) in self._moves:
            data.qpos[place] = min(max(ratio * targets[drive] + at, low), high)
        self.closes &= closed(self.model, data, self._held)

    def surfaces(self, targets: Sequence[float]) -> list[Array]:
        """Points on the palm, then on each finger, (n, 3) each [m]."""
        self.posture(targets)
        return [self._placed(skin) for skin in self._skins]

    def tips(self, targets: Sequence[float]) -> Array:
        """The farthest point of each finger at the start, (nf, 3) [m]."""
        self.posture(targets)
        return np.array([
            self._placed(skin)[point]
            for skin, point in zip(self._skins[1:], self._tips, strict=True)
        ])  # fmt: skip

    def axes(self, targets: Sequence[float]) -> Array:
        """Axis of the first joint that each drive turns, (nd, 3)."""
        self.posture(targets)
        return np.array([self._axis(drive) for drive in self.drives]).reshape(-1, 3)

    def _axis(self, drive: ModelDrive) -> Array:
        for move in drive.moves:
            joint = self.model.joint(move.joint).id
            if int(self.model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_HINGE:
                return np.array(self._data.xaxis[joint])
        return np.zeros(3)

    def _placed(self, skin: _Skin) -> Array:
        turned = self._data.xmat[skin.bodies].reshape(-1, 3, 3)
        return np.asarray(
            np.einsum("nij,nj->ni", turned, skin.points) + self._data.xpos[skin.bodies]
        )

    def _moved_bodies(self, drive: int) -> set[int]:
        """Bodies that a drive moves, those of linkages and followers too."""
        low, high = self.limits[drive]
        if not self.drives[drive].moves or high <= low:
            return set()
        found = []
        targets = list(self.start)
        way = PROBE * (high - low)
        begin = targets[drive] if targets[drive] + way <= high else targets[drive] - way
        for value in (begin, begin + way):
            targets[drive] = min(max(value, low), high)
            self.posture(targets)
            found.append((self._data.xpos.copy(), self._data.xmat.copy()))
        (place, turned), (other, other_turned) = found
        away = np.abs(place - other).max(axis=1) + np.abs(turned - other_turned).max(axis=1)
        return set(np.flatnonzero(away > MOVED).tolist())

    def stops(self, drive: int, touching: Sequence[str]) -> tuple[str, ...]:
        """Those of some bodies that a drive moves."""
        moved = {self.model.body(body).name for body in self._moved[drive]}
        return tuple(body for body in touching if body in moved)

    def _drives_of(self, groups: set[int]) -> list[int]:
        """Drives that move a finger and not the palm, from the palm outwards."""
        palm = set(self._tree.members[self._tree.palm])
        own = {b for group in groups for b in self._tree.members[group]}
        found = [
            index
            for index, moved in enumerate(self._moved)
            if moved & own and not (moved & palm and self._tree.palm)
        ]
        return sorted(found, key=lambda index: -len(self._moved[index] & own))

    def _farthest(self) -> list[int]:
        """The point of each finger that is farthest from its base at the start."""
        self.posture(self.start)
        return [
            int(
                np.linalg.norm(
                    self._placed(skin) - self._data.xpos[int(skin.bodies.min())], axis=1
                ).argmax()
            )
            for skin in self._skins[1:]
        ]
