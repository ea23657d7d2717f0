"""Contacts of a MuJoCo state: points, normals, forces and slip of hand, objects and surroundings.

``ContactReader`` reads contacts with their forces, one by one, which is faster than arrays for the
few contacts of a grasp. ``GraspContactReader`` reads points, normals and friction of the hand's
contacts with the grasped object, without forces, in any posture. ``laws.debounce`` turns forces
into established contact.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.base import Vec3
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.names import OBJECT, is_around, is_object

Vector = Vec3 | list[float]


HARD, SOFT = 3, 4
"""Dimensions (``condim``) from which a contact resists sliding, and spinning."""
_NO_ROWS, _NO_NUMBERS = np.zeros((0, 3)), np.zeros(0)
_NO_INDICES = np.zeros(0, dtype=np.int64)


class ContactPoint(NamedTuple):
    """One contact of the engine with an object, world frame."""

    body: str
    """Body of the hand, of the surroundings, or of an earlier object."""
    pair: str
    point: Vec3
    """Middle of the overlap [m]."""
    normal: Vec3
    """Unit normal into the object."""
    separation: float
    """Negative where the bodies overlap [m]."""
    normal_force: float
    """Normal force [N]."""
    friction_force: float
    """Friction force [N]."""
    slip_speed: float
    """Tangential relative speed of the bodies at the point [m/s]."""
    object_name: str = OBJECT
    """Body of the object."""


class OtherPoint(NamedTuple):
    """One contact of the engine other than the hand on an object, world frame."""

    first: str
    second: str
    """Touched body: of an object, of the surroundings, or a later one of the hand."""
    point: Vec3
    """Position [m]."""
    separation: float
    """Distance of the surfaces, negative in contact [m]."""
    force: Vec3
    """On the second body [N]."""
    normal: Vec3
    """Unit normal into the second body."""
    normal_force: float
    """Normal force [N]."""
    friction_force: float
    """Friction force [N]."""


class BodyContactState(NamedTuple):
    """Contact of one body with the object: centre of pressure and summed forces."""

    point: Vec3
    normal: Vec3
    separation: float
    normal_force: float
    friction_force: float
    slip_speed: float


class _RawContact(NamedTuple):
    """A contact in MuJoCo's data."""

    number: int
    first: int
    """Geom."""
    second: int
    """Geom, of the later one of two bodies: hand, objects, surroundings."""
    swapped: bool
    """Whether the engine stores them in the opposite order."""
    frame: list[float]
    point: Vec3
    separation: float


class ContactReader:
    """Reads the contacts of one model."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Look up constants of the model.

        Args:
            model: The compiled scene.
        """
        self._model = self.model = model
        # MuJoCo counts a deformable object as geom -1, which is the last one of these lists
        self._geoms = [*(model.geom(index).name for index in range(model.ngeom)), OBJECT]
        self._bodies = [model.body(index).name for index in range(model.nbody)]
        self._body_of_geom: list[int] = [*model.geom_bodyid.tolist(), model.body(OBJECT).id]
        self._root_of_body: list[int] = model.body_rootid.tolist()
        # the hand, then the surroundings, then objects in their order
        self._is_object = [is_object(name) for name in self._bodies]
        self._rank = [index if yes else -1 for index, yes in enumerate(self._is_object)]
        self._rank[model.body(OBJECT).id] = 0  # a deformable one is the last body
        self._is_around = [is_around(name) for name in self._bodies]
        fixed = zip(self._bodies, self._is_object, self._is_around, strict=True)
        self._is_carried = [
            name == OBJECT or not (first or second) for name, first, second in fixed
        ]
        self._is_carried[0] = False
        kinds = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_BODY).tolist()
        self._adhering = {
            index: int(model.actuator_trnid[index, 0]) for index, yes in enumerate(kinds) if yes
        }

    def read(self, data: mujoco.MjData, bodies: Container[str] | None = None) -> list[ContactPoint]:
        """Read the contacts with objects in the state of the last physics step.

        Args:
            data: The state.
            bodies: Bodies of the hand to read; all by default.
        """
        twists, centres = data.cvel.tolist(), data.subtree_com.tolist()
        points, force = [], np.zeros(6)
        for contact in self._all(data):
            hand, object_geom = contact.first, contact.second
            body = self._bodies[self._body_of_geom[hand]]
            if not self._is_object[self._body_of_geom[object_geom]]:
                continue
            if bodies is not None and body not in bodies:
                continue
            point, normal = contact.point, self._normal(contact)
            mujoco.mj_contactForce(self._model, data, contact.number, force)
            pressing, across, along, *_ = force.tolist()
            if (
                object_geom < 0
            ):  # no body moves as it does: the rows of the constraint have the speed
                slip = self._row_speed(data, contact)
            else:
                ends = (self._velocity(g, point, twists, centres) for g in (object_geom, hand))
                slip = _minus(*ends)
            points.append(
                ContactPoint(
                    body=body,
                    pair=f"{self._geoms[hand]}|{self._geoms[object_geom]}",
                    point=point,
                    normal=normal,
                    separation=contact.separation,
                    normal_force=pressing,
                    friction_force=math.hypot(across, along),
                    slip_speed=math.hypot(*_minus(slip, _scale(normal, _dot(slip, normal)))),
                    object_name=self._bodies[self._body_of_geom[object_geom]],
                )
            )
        return points

    def _row_speed(self, data: mujoco.MjData, contact_row: _RawContact) -> Vec3:
        """Compute the tangential velocity of a contact from its constraint rows [m/s]."""
        contact, frame = data.contact[contact_row.number], contact_row.frame
        row, rows = contact.efc_address, data.efc_vel.tolist()
        if row < 0 or contact.dim < 3 or not rows:
            return (0.0, 0.0, 0.0)
        if self._model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC:
            across, along = rows[row + 1 : row + 3]
        else:  # each pair of rows has the normal speed with and without µ times the other one
            item, two, three, four = rows[row : row + 4]
            across = 0.5 * (item - two) / contact.friction[0]
            along = 0.5 * (three - four) / contact.friction[1]
        first, second = _scale(frame[3:6], across), _scale(frame[6:9], along)
        return (first[0] + second[0], first[1] + second[1], first[2] + second[2])

    def others(self, data: mujoco.MjData) -> list[OtherPoint]:
        """Read contacts with surroundings, between objects and within the hand, of the last step.

        An object comes before the surroundings, and bodies of the hand are in their order.
        """
        points, force = [], np.zeros(6)
        for contact in self._all(data):
            first, second = (self._body_of_geom[geom] for geom in (contact.first, contact.second))
            if self._is_around[first]:
                contact, first, second = _swap(contact), second, first
            if self._is_object[second] and not self._is_object[first]:
                continue
            if self._rank[first] == self._rank[second] and first > second:
                contact, first, second = _swap(contact), second, first
            mujoco.mj_contactForce(self._model, data, contact.number, force)
            rows = [contact.frame[3 * row : 3 * row + 3] for row in range(3)]
            sign = -1.0 if contact.swapped else 1.0
            x, y, z = (sign * float(part) for part in force[:3] @ np.array(rows))
            points.append(
                OtherPoint(
                    first=self._bodies[first],
                    second=self._bodies[second],
                    point=contact.point,
                    separation=contact.separation,
                    force=(x, y, z),
                    normal=self._normal(contact),
                    normal_force=float(force[0]),
                    friction_force=math.hypot(force[1], force[2]),
                )
            )
        return points

    def outside_force(self, data: mujoco.MjData) -> Array:
        """Sum the contact forces on hand, arm and grasped object, (3,) [N], world frame.

        Those between them cancel. It is what an ideal sensor at the wrist reads less weight and
        inertia, where the hand holds the object.
        """
        total, force = np.zeros(3), np.zeros(6)
        for contact in self._all(data):
            inside = [self._is_carried[self._body_of_geom[item]] for item in contact[1:3]]
            if inside[0] == inside[1]:
                continue
            mujoco.mj_contactForce(self._model, data, contact.number, force)
            sign = 1.0 if contact.swapped != inside[1] else -1.0
            total += sign * force[:3] @ np.reshape(contact.frame, (3, 3))
        return total

    def forces_on(self, data: mujoco.MjData, body: str) -> dict[str, Array]:
        """Sum the forces of contacts and adhesion on a body in the state of the last physics step.

        Returns:
            Force of each body that touches it, (3,) [N], world frame.
        """
        sums: dict[str, Array] = {}
        force = np.zeros(6)
        for contact in self._all(data):
            pair = [self._bodies[self._body_of_geom[item]] for item in contact[1:3]]
            if body not in pair:
                continue
            mujoco.mj_contactForce(self._model, data, contact.number, force)
            sign = (-1.0 if contact.swapped else 1.0) * (1.0 if pair[1] == body else -1.0)
            other = pair[0] if pair[1] == body else pair[1]
            on_body = sign * force[:3] @ np.reshape(contact.frame, (3, 3))
            sums[other] = sums.get(other, 0.0) + on_body + self._adhesion(data, contact, pair, body)
        return sums

    def _adhesion(
        self, data: mujoco.MjData, contact: _RawContact, pair: Sequence[str], body: str
    ) -> Array:
        """Return the adhesion at a contact of a pair of bodies on one of them, (3,) [N], world."""
        total = np.zeros(3)
        for actuator, adhering in self._adhering.items():
            if self._bodies[adhering] in pair:
                touching = np.array(self._body_of_geom)[data.contact.geom] == adhering
                part = float(data.actuator_force[actuator]) / touching.any(axis=1).sum()
                towards_first = -1.0 if pair[1] == body else 1.0
                total += towards_first * part * np.array(self._normal(contact))
        return total

    def _all(self, data: mujoco.MjData) -> Iterator[_RawContact]:
        """Yield all contacts, with the higher-indexed one of two bodies as the second one."""
        contact = data.contact
        columns = (contact.geom, contact.frame, contact.pos, contact.dist)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for index, ((first, second), frame, point, separation) in enumerate(rows):
            ranks = [self._rank[self._body_of_geom[geom]] for geom in (first, second)]
            swapped = ranks[0] > ranks[1]
            pair = (second, first) if swapped else (first, second)
            yield _RawContact(index, *pair, swapped, frame, tuple(point), separation)

    def _normal(self, contact: _RawContact) -> Vec3:
        return _scale(contact.frame[:3], -1.0 if contact.swapped else 1.0)

    def _velocity(
        self, geom: int, point: Vec3, twists: list[list[float]], centres: list[list[float]]
    ) -> Vec3:
        """Compute the velocity of a geom at a world point [m/s]."""
        body = self._body_of_geom[geom]
        # MuJoCo's cvel is (angular, linear) velocity at the centre of mass of the body's tree
        a, b, c, u, v, w = twists[body]
        x, y, z = _minus(point, centres[self._root_of_body[body]])
        return (u + b * z - c * y, v + c * x - a * z, w + a * y - b * x)


def contact_points(model: mujoco.MjModel, data: mujoco.MjData) -> list[ContactPoint]:
    """Read all contacts with objects in the state of the last physics step."""
    return ContactReader(model).read(data)


def on_hardest(points: list[ContactPoint]) -> list[ContactPoint]:
    """Select a body's contacts with the object that it presses with the largest force."""
    object_names = dict.fromkeys(point.object_name for point in points)
    if len(object_names) < 2:
        return points
    force = {t: sum(p.normal_force for p in points if p.object_name == t) for t in object_names}
    hardest = max(object_names, key=lambda object_name: force[object_name])
    return [point for point in points if point.object_name == hardest]


def merge(points: list[ContactPoint]) -> BodyContactState | None:
    """Combine the contacts of one body, weighted by normal force; None without contacts.

    Args:
        points: With one object; see ``on_hardest``.
    """
    if not points:
        return None
    total = sum(point.normal_force for point in points)
    weights = [p.normal_force / total if total > 0.0 else 1.0 / len(points) for p in points]
    strongest = max(points, key=lambda point: point.normal_force)
    normal = _weight(weights, [point.normal for point in points])
    norm = math.hypot(*normal)
    direction = _scale(normal, 1.0 / norm) if norm > 1e-9 else strongest.normal
    return BodyContactState(
        point=_weight(weights, [point.point for point in points]),
        normal=direction,
        separation=min(point.separation for point in points),
        normal_force=total,
        friction_force=sum(point.friction_force for point in points),
        slip_speed=strongest.slip_speed,
    )


def _swap(contact: _RawContact) -> _RawContact:
    """Return a contact with its two bodies exchanged."""
    return contact._replace(first=contact.second, second=contact.first, swapped=not contact.swapped)


def _weight(weights: list[float], vectors: list[Vec3]) -> Vec3:
    x = y = z = 0.0
    for weight, vector in zip(weights, vectors, strict=True):
        x, y, z = x + weight * vector[0], y + weight * vector[1], z + weight * vector[2]
    return (x, y, z)


def _scale(vector: Vector, factor: float) -> Vec3:
    return (vector[0] * factor, vector[1] * factor, vector[2] * factor)


def _minus(first: Vector, second: Vector) -> Vec3:
    return (first[0] - second[0], first[1] - second[1], first[2] - second[2])


def _dot(first: Vec3, second: Vec3) -> float:
    return first[0] * second[0] + first[1] * second[1] + first[2] * second[2]


class GraspContacts(NamedTuple):
    """Contacts of the hand with the grasped object, n of them; world frame."""

    points: Array
    """Middles of the overlaps, (n, 3) [m]."""
    normals: Array
    """Unit normals into the object, (n, 3)."""
    friction: Array
    """Coefficients of friction µ, (n,) [–]; 0 of a frictionless contact."""
    torsion: Array
    """Largest spinning moment over normal force, (n,) [m]; 0 of a hard finger."""
    body: NDArray[np.int64]
    """Number of the hand's body among those that can touch, (n,)."""
    numbers: NDArray[np.int64]
    """Numbers of the engine's contacts, (n,)."""

    def of_bodies(self, pressing: NDArray[np.bool_]) -> GraspContacts:
        """Select the contacts of bodies that press on the object.

        Args:
            pressing: Whether each body of the hand that can touch has a normal force, (nb,).
        """
        kept = pressing[self.body]
        return GraspContacts._make(column[kept] for column in self)


NOTHING = GraspContacts(_NO_ROWS, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS, _NO_INDICES, _NO_INDICES)
"""No contact."""


class GraspContactReader:
    """Reads the contacts of one model's hand with the object to be grasped."""

    def __init__(self, model: mujoco.MjModel, bodies: list[str]) -> None:
        """Look up constants of the model.

        Args:
            model: The compiled scene.
            bodies: Bodies of the hand that can touch.
        """
        self._model = model
        of_body = {model.body(name).id: index for index, name in enumerate(bodies)}
        indices = [of_body.get(int(body), -1) for body in model.geom_bodyid]
        self._hand = np.array(indices, dtype=np.int64)
        self.object_body = int(model.body(names.OBJECT).id)
        """Number of the object's body."""
        self._of_object = np.asarray(model.geom_bodyid == self.object_body)

    def read(self, data: mujoco.MjData) -> GraspContacts:
        """Read the contacts that overlap, in the order of the engine.

        Args:
            data: The posture, with collisions.
        """
        if data.ncon == 0:
            return NOTHING
        contact = data.contact
        first, second = np.asarray(contact.geom).reshape(-1, 2).T
        onto = (self._hand[first] >= 0) & self._of_object[second]
        back = self._of_object[first] & (self._hand[second] >= 0)
        kept = np.flatnonzero((onto | back) & (np.asarray(contact.dist) < 0.0))
        sign = np.where(onto[kept], 1.0, -1.0)[:, None]
        dim = np.asarray(contact.dim)[kept]
        friction = np.asarray(contact.friction).reshape(-1, 5)[kept]
        hand = np.where(onto[kept], first[kept], second[kept])
        return GraspContacts(
            points=np.array(contact.pos).reshape(-1, 3)[kept],
            normals=sign * np.array(contact.frame).reshape(-1, 9)[kept, :3],
            friction=np.where(dim >= HARD, friction[:, 0], 0.0),
            torsion=np.where(dim >= SOFT, friction[:, 2], 0.0),
            body=self._hand[hand],
            numbers=kept,
        )

    def posed(self, data: mujoco.MjData, qpos: Array) -> GraspContacts:
        """Read the contacts of the model in a given posture.

        Args:
            data: State to use; overwritten.
            qpos: The posture, (nq,).
        """
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_collision(self._model, data)
        return self.read(data)


def object_reach(model: mujoco.MjModel) -> float:
    """Compute the largest distance of the object's surface from its centre of mass [m].

    Meshes count by their vertices, rounded shapes by the bounding spheres of their ends.
    """
    body = model.body(names.OBJECT).id
    centre = model.body_ipos[body]
    geoms = np.flatnonzero(model.geom_bodyid == body)
    return max(_reach(model, int(geom), centre) for geom in geoms)


def _reach(model: mujoco.MjModel, geom: int, centre: Array) -> float:
    rotation_matrix = np.zeros(9)
    mujoco.mju_quat2Mat(rotation_matrix, model.geom_quat[geom])
    off = model.geom_pos[geom] - centre
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        begin = int(model.mesh_vertadr[mesh])
        points = model.mesh_vert[begin : begin + int(model.mesh_vertnum[mesh])]
        return _farthest(points @ rotation_matrix.reshape(3, 3).T + off)
    axis = rotation_matrix.reshape(3, 3)[:, 2]
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return float(np.linalg.norm(off) + size[0])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return _farthest(off + size[1] * np.array([axis, -axis])) + float(size[0])
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        signs = np.stack(np.meshgrid(*([-1.0, 1.0],) * 3, indexing="ij"), -1).reshape(-1, 3)
        return _farthest(signs * size @ rotation_matrix.reshape(3, 3).T + off)
    return float(np.linalg.norm(off) + model.geom_rbound[geom])


def _farthest(points: Array) -> float:
    return float(np.linalg.norm(points, axis=1).max())
