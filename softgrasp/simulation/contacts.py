"""Exact contact points, normals, forces and slip between the hand and the object."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build.names import OBJECT
from softgrasp.mechanics.transforms import Array

_BODY, _GEOM = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_GEOM

_NEXT, _LAST = [1, 2, 0], [2, 0, 1]

Indices = NDArray[np.int32]


class ContactPoint(NamedTuple):
    """One contact of the engine between a body of the hand and the object, world frame."""

    body: str
    pair: str
    point: Array
    """Middle of the overlap [m], (3,)."""
    normal: Array
    """Unit normal into the object, (3,)."""
    separation: float
    """Negative where the bodies overlap [m]."""
    normal_force: float
    """[N]"""
    friction_force: float
    """[N]"""
    slip_speed: float
    """Speed of the bodies along each other at the point [m/s]."""


class BodyContactState(NamedTuple):
    """The contacts of one body with the object as one: centre of pressure, summed forces."""

    point: tuple[float, float, float]
    normal: tuple[float, float, float]
    separation: float
    normal_force: float
    friction_force: float
    slip_speed: float


def contact_points(model: mujoco.MjModel, data: mujoco.MjData) -> list[ContactPoint]:
    """All contacts with the object in the state of the last physics step."""
    contact, target = data.contact, mujoco.mj_name2id(model, _BODY, OBJECT)
    bodies = model.geom_bodyid[contact.geom].reshape(-1, 2)
    chosen = np.flatnonzero((bodies == target).any(axis=1))
    # the hand first, the object second, the normal from the one to the other
    swapped = bodies[chosen, 0] == target
    geoms = contact.geom[chosen]
    geoms[swapped] = geoms[swapped, ::-1]
    normals = contact.frame[chosen, :3]
    normals[swapped] *= -1.0
    points, separations = contact.pos[chosen], contact.dist[chosen].tolist()
    slips = _slip_speeds(model, data, geoms, points, normals).tolist()
    force = np.zeros(6)
    found = []
    for place, index in enumerate(chosen.tolist()):
        mujoco.mj_contactForce(model, data, index, force)
        hand, thing = geoms[place].tolist()
        found.append(
            ContactPoint(
                body=mujoco.mj_id2name(model, _BODY, model.geom_bodyid[hand]),
                pair=f"{mujoco.mj_id2name(model, _GEOM, hand)}|"
                f"{mujoco.mj_id2name(model, _GEOM, thing)}",
                point=points[place],
                normal=normals[place],
                separation=separations[place],
                normal_force=float(force[0]),
                friction_force=math.hypot(force[1], force[2]),
                slip_speed=slips[place],
            )
        )
    return found


def merged(points: list[ContactPoint]) -> BodyContactState | None:
    """One state for the contacts of one body, weighted by normal force; None without contacts."""
    if not points:
        return None
    if len(points) == 1:
        return _as_state(points[0])
    forces = np.array([point.normal_force for point in points])
    weights = forces / forces.sum() if forces.sum() > 0 else np.full(len(points), 1 / len(points))
    normal = weights @ np.array([point.normal for point in points])
    strongest = points[int(np.argmax(forces))]
    norm = float(np.linalg.norm(normal))
    direction = normal / norm if norm > 1e-9 else strongest.normal
    return BodyContactState(
        point=_vector(weights @ np.array([point.point for point in points])),
        normal=_vector(direction),
        separation=min(point.separation for point in points),
        normal_force=float(forces.sum()),
        friction_force=sum(point.friction_force for point in points),
        slip_speed=strongest.slip_speed,
    )


def _as_state(point: ContactPoint) -> BodyContactState:
    return BodyContactState(_vector(point.point), _vector(point.normal), *point[4:])


def _slip_speeds(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: Indices, points: Array, normals: Array
) -> Array:
    """Speed of the second geom's material along the first one's at each point [m/s], (n,)."""
    bodies = model.geom_bodyid[geoms]
    # MuJoCo's cvel is (turning, moving) at the centre of mass of the body's whole tree
    twists = data.cvel[bodies]
    arms = points[:, None] - data.subtree_com[model.body_rootid[bodies]]
    velocities = twists[..., 3:] + _cross(twists[..., :3], arms)
    slips = velocities[:, 1] - velocities[:, 0]
    slips -= (slips * normals).sum(axis=1, keepdims=True) * normals
    return np.sqrt((slips * slips).sum(axis=1))


def _cross(first: Array, second: Array) -> Array:
    """Cross product along the last axis; ``np.cross`` costs ten times as much on few vectors."""
    return first[..., _NEXT] * second[..., _LAST] - first[..., _LAST] * second[..., _NEXT]


def _vector(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return (x, y, z)
