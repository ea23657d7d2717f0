"""Postures of a compiled model by actuator targets, for grasp synthesis.

``ClosingModel`` has the links, digits and palm that ``grasp_synthesis`` closes on balls; ``skins``
samples points on the geoms that can touch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from softgrasp.description.geometry import Cuboid
from softgrasp.description.hand import ModelActuator
from softgrasp.errors import DescriptionError
from softgrasp.grasp_synthesis import Digit, DigitJoint
from softgrasp.io.grasp_presets import FAR_END, corners, inside, on_faces
from softgrasp.io.mesh_repair import Hull, hull_of
from softgrasp.io.mjcf.actuators import SPRUNG, at_start, kind_of, spring_of
from softgrasp.io.mjcf.model import is_hinge, mesh_vertices, moments, primitive_of, touching_geoms
from softgrasp.io.mjcf.tree import MjcfTree, closed, joint_range
from softgrasp.mechanics.transforms import Array, triple

MOVED = 1e-6
"""Displacement [m] or rotation [rad] below which a body is not moved."""
PROBE = 0.3
"""Fraction of the range of an actuator by which its moved bodies are detected [–]."""
THINNEST = 1e-3
"""Smallest side of the box that replaces a flat mesh in grasp synthesis [m]."""
GEOM = mujoco.mjtGeom


class ClosingModel:
    """Postures of a model by actuator targets, in the world frame of the file.

    Links are groups of rigidly connected bodies, named by their first bodies.
    """

    def __init__(
        self, tree: MjcfTree, actuators: Sequence[ModelActuator], skins: Mapping[int, Array]
    ) -> None:
        """Detect the bodies that each actuator moves.

        Args:
            tree: The model.
            actuators: Its actuators.
            skins: Points on each body that can collide, in its frame (n, 3) [m], by its index.
        """
        self.model, self._tree = tree.model, tree
        self.actuators = [actuator.as_actuator for actuator in actuators]
        self.rest = [actuator.start for actuator in actuators]
        self._data = at_start(self.model, tree.starts)
        self._begin = np.array(self._data.qpos)
        self._sums = [kind_of(self.model, i) == SPRUNG for i in range(len(actuators))]
        self._held = np.zeros(self.model.nv, dtype=bool)
        self._moves: list[tuple[int, int, float, float, tuple[float, float]]] = []
        self._joints: list[list[int]] = []
        for index, actuator in enumerate(actuators):
            self._joints.append([])
            for move in actuator.moves:
                joint = self.model.joint(move.joint)
                self._held[joint.dofadr[0]] = True
                limits = joint_range(self.model, joint.id)
                self._moves.append((int(joint.qposadr[0]), index, move.ratio, move.at, limits))
                self._joints[-1].append(int(joint.id))
        self._arms = moments(self.model, self._data)
        self._moved = [self._moved_bodies(index) for index in range(len(actuators))]
        groups = self._skins_of_groups(skins)
        self.posture(self.rest)
        self.up = None
        self.digits: list[Digit] = []
        for child in tree.children[tree.palm]:
            self._add_digit(tree.below(child), groups)
        finger_bodies = {body for digit in self.digits for body in digit.bodies}
        named = {self._tree.name(group): points for group, points in groups.items()}
        self.skins = {name: named[name] for name in named if name in finger_bodies}
        self.palm, self.middle = self._palm(groups)

    def posture(self, targets: Sequence[float]) -> None:
        """Set the posture at actuator targets, with equality constraints satisfied."""
        data = self._data
        data.qpos[:] = self._begin
        added: dict[int, float] = {}
        for address, actuator, ratio, at, (low, high) in self._moves:
            value = ratio * targets[actuator] + added.get(address, at)
            if self._sums[actuator]:  # forces on the same spring add up
                added[address] = value
            data.qpos[address] = min(max(value, low), high)
        closed(self.model, data, self._held)

    def frames(self, targets: Array) -> dict[str, Array]:
        """Compute the frames of all links at postures (s, nd), (s, 4, 4) each."""
        frames = np.zeros((len(targets), self.model.nbody, 4, 4))
        frames[..., 3, 3] = 1.0
        for step, row in enumerate(targets.tolist()):
            self.posture(row)
            frames[step, :, :3, :3] = self._data.xmat.reshape(-1, 3, 3)
            frames[step, :, :3, 3] = self._data.xpos
        return {self._tree.name(group): frames[:, group] for group in self._tree.members}

    def stops(self, actuator: int, touching: Sequence[str]) -> tuple[str, ...]:
        """Return the bodies among ``touching`` that an actuator moves."""
        moved = {self.model.body(body).name for body in self._moved[actuator]}
        return tuple(body for body in touching if body in moved)

    def _skins_of_groups(self, skins: Mapping[int, Array]) -> dict[int, Array]:
        """Return points on each link in its frame, (n, 3) [m], by its first body."""
        points = defaultdict(list)
        for body in sorted(skins):
            points[int(self.model.body_weldid[body])].append(self._in_group(body, skins[body]))
        return {group: np.vstack(parts) for group, parts in points.items()}

    def _in_group(self, body: int, points: Array) -> Array:
        """Transform points of a body to the frame of its link."""
        data, group = self._tree.data, int(self.model.body_weldid[body])
        away = self._tree.in_world(body, points) - data.xpos[group]
        return np.asarray(away @ data.xmat[group].reshape(3, 3))

    def _add_digit(self, below: Sequence[int], skins: Mapping[int, Array]) -> None:
        """Add a branch of the palm as a finger if it can collide and an actuator moves it."""
        groups = [group for group in below if group in skins]
        joints = tuple(j for index in self._actuators_of(below) for j in self._hinges(index, below))
        if not groups or not joints:
            return
        tip_group, tip = self._tip(groups, skins)
        bodies = [self._tree.name(group) for group in groups if group != tip_group]
        base, name = self._tree.name(below[0]), self._tree.name(tip_group)
        self.digits.append(Digit(base, joints, (*bodies, name), name, tip))

    def _actuators_of(self, groups: Sequence[int]) -> list[int]:
        """Return actuators that move a finger and not the palm, from the palm outwards."""
        palm = set(self._tree.members[self._tree.palm])
        finger_bodies = {body for group in groups for body in self._tree.members[group]}
        moving = [
            index
            for index, moved in enumerate(self._moved)
            if moved & finger_bodies and not (moved & palm and self._tree.palm)
        ]
        return sorted(moving, key=lambda index: -len(self._moved[index] & finger_bodies))

    def _hinges(self, actuator: int, groups: Sequence[int]) -> list[DigitJoint]:
        """Return joints of a finger that an actuator moves, or else its first coupled joint."""
        model = self.model
        led = [j for j in self._joints[actuator] if int(model.jnt_bodyid[j]) in groups]
        if not led:
            moved = [g for g in groups if g in self._moved[actuator]]
            led = [joint for group in moved for joint in self._tree.joints(group)][:1]
        axes = [model.jnt_axis[j].copy() if is_hinge(model, j) else np.zeros(3) for j in led]
        names = [self._tree.name(int(model.jnt_bodyid[joint])) for joint in led]
        stiffness = self._stiffness(actuator)
        return [DigitJoint(actuator, *item, stiffness) for item in zip(names, axes, strict=True)]

    def _stiffness(self, actuator: int) -> float:
        """Stiffness of the servo or spring at the first joint of an actuator [N·m/rad]."""
        if self._sums[actuator]:
            return spring_of(self.model, self._joints[actuator][0])
        arm = float(self._arms[actuator, self.model.jnt_dofadr[self._joints[actuator][0]]])
        return -float(self.model.actuator_biasprm[actuator, 1]) * arm * arm

    def _tip(self, groups: Sequence[int], skins: Mapping[int, Array]) -> tuple[int, Array]:
        """Middle of the end of a finger, farthest from its base at the start, and its link."""
        base = self._data.xpos[groups[0]]
        tips = []
        for group in groups:
            rotation = self._data.xmat[group].reshape(3, 3)
            points = skins[group] @ rotation.T + self._data.xpos[group]
            distances = np.linalg.norm(points - base, axis=1)
            end = skins[group][distances >= FAR_END * distances.max()]
            tips.append((float(distances.max()), group, end.mean(axis=0)))
        _, group, tip = max(tips, key=lambda item: item[0])
        return group, tip

    def _palm(self, skins: Mapping[int, Array]) -> tuple[Array, Array]:
        """Return points on and in links that no finger moves, and the middle of the palm [m]."""
        finger_bodies = {body for digit in self.digits for body in digit.bodies}
        parts: dict[int, list[Array]] = {}
        for group in skins:
            if self._tree.name(group) in finger_bodies:
                continue
            members = self._tree.members[group]
            inner = (self._in_group(b, inner_points(self.model, b)) for b in members)
            points = [skins[group], *inner]
            rotation = self._data.xmat[group].reshape(3, 3)
            parts[group] = [p @ rotation.T + self._data.xpos[group] for p in points]
        whole = np.vstack([np.zeros((0, 3)), *(p for points in parts.values() for p in points)])
        if self._tree.palm in parts:
            middle = np.vstack(parts[self._tree.palm]).mean(axis=0)
        elif len(whole):
            middle = whole.mean(axis=0)
        else:
            bases = [self._data.body(digit.bodies[0]).xpos for digit in self.digits]
            middle = np.mean(bases or [np.zeros(3)], axis=0)
        return whole, np.asarray(middle)

    def _moved_bodies(self, actuator: int) -> set[int]:
        """Bodies that an actuator moves, including linkages and coupled joints."""
        low, high = self.actuators[actuator].limits
        if not self._joints[actuator] or high <= low:
            return set()
        poses, targets, step = [], list(self.rest), PROBE * (high - low)
        begin = targets[actuator] if targets[actuator] + step <= high else targets[actuator] - step
        for value in (begin, begin + step):
            targets[actuator] = min(max(value, low), high)
            self.posture(targets)
            poses.append((self._data.xpos.copy(), self._data.xmat.copy()))
        pairs = zip(*poses, strict=True)  # positions, then rotations
        away, rotated = (np.abs(first - second).max(axis=1) for first, second in pairs)
        return set(np.flatnonzero(away + rotated > MOVED).tolist())


def skins(model: mujoco.MjModel) -> dict[int, Array]:
    """Sample surface points of bodies that can collide, in their frames (n, 3) [m], by index."""
    points_of_body = defaultdict(list)
    for geom in touching_geoms(model):
        points = _in_body(model, geom, on_faces(geom_hull(model, geom)))
        points_of_body[int(model.geom_bodyid[geom])].append(points)
    return {body: np.vstack(parts) for body, parts in points_of_body.items()}


def inner_points(model: mujoco.MjModel, body: int) -> Array:
    """Sample points inside the colliding geoms of a body, in its frame, (n, 3) [m]."""
    geoms = [geom for geom in touching_geoms(model) if int(model.geom_bodyid[geom]) == body]
    clouds = [_in_body(model, geom, inside(geom_hull(model, geom))) for geom in geoms]
    return np.vstack([np.zeros((0, 3)), *clouds])


def _in_body(model: mujoco.MjModel, geom: int, points: Array) -> Array:
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    return np.asarray(points @ rotation.reshape(3, 3).T + model.geom_pos[geom])


def geom_hull(model: mujoco.MjModel, geom: int) -> Hull:
    """Return the convex hull of a geom in its frame; that of the box around a flat mesh."""
    if int(model.geom_type[geom]) == GEOM.mjGEOM_MESH:
        vertices = mesh_vertices(model, int(model.geom_dataid[geom]))
        try:
            return hull_of(vertices)
        except DescriptionError:
            size = np.maximum(np.ptp(vertices, axis=0), THINNEST)
            middle = (vertices.max(axis=0) + vertices.min(axis=0)) / 2.0
            return hull_of(corners(Cuboid(size=triple(size))) + middle)
    shape = primitive_of(model, geom)
    if shape is not None:
        return hull_of(corners(shape))
    box = model.geom_aabb[geom]
    return hull_of(corners(Cuboid(size=triple(2.0 * box[3:]))) + box[:3])
