"""Exact contact points, normals, forces and slip between the hand and the object."""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT
from softgrasp.mechanics.transforms import Array


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
    target = model.body(OBJECT).id
    bodies = model.geom_bodyid[data.contact.geom[: data.ncon]].reshape(-1, 2)
    return [
        _contact_point(model, data, index, int(second == target))
        for index, (first, second) in enumerate(bodies.tolist())
        if target in (first, second)
    ]


def merged(points: list[ContactPoint]) -> BodyContactState | None:
    """One state for the contacts of one body, weighted by normal force; None without contacts."""
    if not points:
        return None
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


def _contact_point(
    model: mujoco.MjModel, data: mujoco.MjData, index: int, object_is_second: int
) -> ContactPoint:
    contact = data.contact[index]
    hand_geom, object_geom = contact.geom if object_is_second else contact.geom[::-1]
    normal = contact.frame[:3] * (1.0 if object_is_second else -1.0)
    force = np.zeros(6)
    mujoco.mj_contactForce(model, data, index, force)
    bodies = model.geom_bodyid[[hand_geom, object_geom]]
    slip = _velocity(model, data, bodies[1], contact.pos) - _velocity(
        model, data, bodies[0], contact.pos
    )
    slip -= (slip @ normal) * normal
    return ContactPoint(
        body=model.body(bodies[0]).name,
        pair=f"{model.geom(hand_geom).name}|{model.geom(object_geom).name}",
        point=contact.pos.copy(),
        normal=normal.copy(),
        separation=float(contact.dist),
        normal_force=float(force[0]),
        friction_force=float(np.hypot(force[1], force[2])),
        slip_speed=float(np.linalg.norm(slip)),
    )


def _velocity(model: mujoco.MjModel, data: mujoco.MjData, body: int, point: Array) -> Array:
    """Velocity of a body's material at a world point [m/s], (3,)."""
    twist = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, twist, 0)
    return np.asarray(twist[3:] + np.cross(twist[:3], point - data.xpos[body]))


def _vector(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return (x, y, z)
