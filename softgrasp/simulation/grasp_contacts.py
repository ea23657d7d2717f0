"""Contacts of the hand with the object in a posture: points, normals and friction, no forces."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.model import names

HARD, SOFT = 3, 4
"""Dimensions of a contact from which on it resists sliding, and spinning."""


class GraspContacts(NamedTuple):
    """Where the hand presses an object, n contacts; world frame."""

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


_NO_ROWS, _NO_NUMBERS = np.zeros((0, 3)), np.zeros(0)
_NO_INDICES = np.zeros(0, dtype=np.int64)
NOTHING = GraspContacts(_NO_ROWS, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS, _NO_INDICES, _NO_INDICES)
"""No contact."""


class GraspContactReader:
    """Finds the contacts of one model's hand with the object to be grasped, again and again."""

    def __init__(self, model: mujoco.MjModel, bodies: list[str]) -> None:
        """Look up once what does not change.

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
        """Contacts that overlap, in the order in which the engine has them.

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
        """Contacts in a posture.

        Args:
            data: Changed.
            qpos: The posture, (nq,).
        """
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, data)
        mujoco.mj_collision(self._model, data)
        return self.read(data)


def object_reach(model: mujoco.MjModel) -> float:
    """Largest distance of the object's surface from its centre of mass [m].

    By vertices of meshes, and by the bounding spheres of rounded shapes' ends.
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
