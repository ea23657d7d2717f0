"""Exact contact points, normals, forces and slip between the hand and the object.

A closure asks for a handful of contacts a few times: numbers one by one cost less than arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT
from softgrasp.description.base import Vec3

_BODY, _GEOM = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_GEOM


class ContactPoint(NamedTuple):
    """One contact of the engine between a body of the hand and the object, world frame."""

    body: str
    pair: str
    point: Vec3
    """Middle of the overlap [m]."""
    normal: Vec3
    """Unit normal into the object."""
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

    point: Vec3
    normal: Vec3
    separation: float
    normal_force: float
    friction_force: float
    slip_speed: float


def contact_points(model: mujoco.MjModel, data: mujoco.MjData) -> list[ContactPoint]:
    """All contacts with the object in the state of the last physics step."""
    target = mujoco.mj_name2id(model, _BODY, OBJECT)
    contact = data.contact
    columns = (contact.geom, model.geom_bodyid[contact.geom], contact.frame, contact.pos)
    rows = zip(*(column.tolist() for column in (*columns, contact.dist)), strict=True)
    found, force = [], np.zeros(6)
    for index, (geoms, bodies, frame, point, separation) in enumerate(rows):
        if target not in bodies:
            continue
        first = 0 if bodies[1] == target else 1  # the hand comes first, the object second
        hand, thing = geoms[first], geoms[1 - first]
        normal = _scaled(frame[:3], -1.0 if first else 1.0)
        mujoco.mj_contactForce(model, data, index, force)
        pressing, across, along = force[:3].tolist()
        slip = _minus(
            _velocity(model, data, target, point), _velocity(model, data, bodies[first], point)
        )
        found.append(
            ContactPoint(
                body=mujoco.mj_id2name(model, _BODY, bodies[first]),
                pair=f"{mujoco.mj_id2name(model, _GEOM, hand)}|"
                f"{mujoco.mj_id2name(model, _GEOM, thing)}",
                point=tuple(point),
                normal=normal,
                separation=separation,
                normal_force=pressing,
                friction_force=math.hypot(across, along),
                slip_speed=math.hypot(*_minus(slip, _scaled(normal, _dot(slip, normal)))),
            )
        )
    return found


def merged(points: list[ContactPoint]) -> BodyContactState | None:
    """One state for the contacts of one body, weighted by normal force; None without contacts."""
    if not points:
        return None
    total = sum(point.normal_force for point in points)
    weights = [p.normal_force / total if total > 0.0 else 1.0 / len(points) for p in points]
    strongest = max(points, key=lambda point: point.normal_force)
    normal = _weighted(weights, [point.normal for point in points])
    norm = math.hypot(*normal)
    direction = _scaled(normal, 1.0 / norm) if norm > 1e-9 else strongest.normal
    return BodyContactState(
        point=_weighted(weights, [point.point for point in points]),
        normal=direction,
        separation=min(point.separation for point in points),
        normal_force=total,
        friction_force=sum(point.friction_force for point in points),
        slip_speed=strongest.slip_speed,
    )


def _velocity(model: mujoco.MjModel, data: mujoco.MjData, body: int, point: list[float]) -> Vec3:
    """Velocity of a body's material at a world point [m/s]."""
    # cvel is (turning, moving) where the centre of mass of the body's whole tree is
    a, b, c, u, v, w = data.cvel[body].tolist()
    x0, y0, z0 = data.subtree_com[model.body_rootid[body]].tolist()
    x, y, z = point[0] - x0, point[1] - y0, point[2] - z0
    return (u + b * z - c * y, v + c * x - a * z, w + a * y - b * x)


def _weighted(weights: list[float], vectors: list[Vec3]) -> Vec3:
    x = y = z = 0.0
    for weight, vector in zip(weights, vectors, strict=True):
        x, y, z = x + weight * vector[0], y + weight * vector[1], z + weight * vector[2]
    return (x, y, z)


def _scaled(vector: Vec3 | list[float], factor: float) -> Vec3:
    x, y, z = vector
    return (x * factor, y * factor, z * factor)


def _minus(first: Vec3, second: Vec3) -> Vec3:
    return (first[0] - second[0], first[1] - second[1], first[2] - second[2])


def _dot(first: Vec3, second: Vec3) -> float:
    return first[0] * second[0] + first[1] * second[1] + first[2] * second[2]
