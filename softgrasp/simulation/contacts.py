"""Exact contact points, normals, forces and slip between the hand and the object.

A closure asks for a handful of contacts a few times: numbers one by one cost less than arrays.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT
from softgrasp.description.base import Vec3

Vector = Vec3 | list[float]


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


class ContactReader:
    """Reads the contacts between the hand and the object of one model, again and again."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Look up once what does not change.

        Args:
            model: The compiled scene.
        """
        self._model = model
        self._geoms = [model.geom(index).name for index in range(model.ngeom)]
        self._bodies = [model.body(index).name for index in range(model.nbody)]
        self._body_of_geom: list[int] = model.geom_bodyid.tolist()
        self._root_of_body: list[int] = model.body_rootid.tolist()
        self._object = self._bodies.index(OBJECT)

    def read(self, data: mujoco.MjData, bodies: Container[str] | None = None) -> list[ContactPoint]:
        """Contacts with the object in the state of the last physics step.

        Args:
            data: The state.
            bodies: Bodies of the hand that are asked for; all where not given.
        """
        contact = data.contact
        columns = (contact.geom, contact.frame, contact.pos, contact.dist)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        twists, centres = data.cvel.tolist(), data.subtree_com.tolist()
        found, force = [], np.zeros(6)
        for index, ((first, second), frame, point, separation) in enumerate(rows):
            flex = first < 0 or second < 0
            swapped = first < 0 if flex else self._body_of_geom[first] == self._object
            hand, thing = (second, first) if swapped else (first, second)
            if not flex and self._body_of_geom[thing] != self._object:
                continue
            body = self._bodies[self._body_of_geom[hand]]
            if bodies is not None and body not in bodies:
                continue
            normal = _scaled(frame[:3], -1.0 if swapped else 1.0)
            mujoco.mj_contactForce(self._model, data, index, force)
            pressing, across, along, *_ = force.tolist()
            if flex:  # no body of its own: the rows of the constraint have the speed
                slip = self._row_speed(data, index, frame)
            else:
                slip = _minus(
                    self._velocity(thing, point, twists, centres),
                    self._velocity(hand, point, twists, centres),
                )
            found.append(
                ContactPoint(
                    body=body,
                    pair=f"{self._geoms[hand]}|{OBJECT if flex else self._geoms[thing]}",
                    point=tuple(point),
                    normal=normal,
                    separation=separation,
                    normal_force=pressing,
                    friction_force=math.hypot(across, along),
                    slip_speed=math.hypot(*_minus(slip, _scaled(normal, _dot(slip, normal)))),
                )
            )
        return found

    def _row_speed(self, data: mujoco.MjData, index: int, frame: list[float]) -> Vec3:
        """Speed along the surface of a contact, from its constraint rows [m/s]."""
        contact = data.contact[index]
        row, rows = contact.efc_address, data.efc_vel.tolist()
        if row < 0 or contact.dim < 3 or not rows:
            return (0.0, 0.0, 0.0)
        if self._model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC:
            across, along = rows[row + 1 : row + 3]
        else:  # each pair of rows has the normal speed with and without µ times the other one
            one, two, three, four = rows[row : row + 4]
            across = 0.5 * (one - two) / contact.friction[0]
            along = 0.5 * (three - four) / contact.friction[1]
        first, second = _scaled(frame[3:6], across), _scaled(frame[6:9], along)
        return (first[0] + second[0], first[1] + second[1], first[2] + second[2])

    def _velocity(
        self, geom: int, point: list[float], twists: list[list[float]], centres: list[list[float]]
    ) -> Vec3:
        """Velocity of a geom's material at a world point [m/s]."""
        body = self._body_of_geom[geom]
        # MuJoCo's cvel is (turning, moving) where the centre of mass of the body's tree is
        a, b, c, u, v, w = twists[body]
        x, y, z = _minus(point, centres[self._root_of_body[body]])
        return (u + b * z - c * y, v + c * x - a * z, w + a * y - b * x)


def contact_points(model: mujoco.MjModel, data: mujoco.MjData) -> list[ContactPoint]:
    """All contacts with the object in the state of the last physics step."""
    return ContactReader(model).read(data)


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


def _weighted(weights: list[float], vectors: list[Vec3]) -> Vec3:
    x = y = z = 0.0
    for weight, vector in zip(weights, vectors, strict=True):
        x, y, z = x + weight * vector[0], y + weight * vector[1], z + weight * vector[2]
    return (x, y, z)


def _scaled(vector: Vector, factor: float) -> Vec3:
    return (vector[0] * factor, vector[1] * factor, vector[2] * factor)


def _minus(first: Vector, second: Vector) -> Vec3:
    return (first[0] - second[0], first[1] - second[1], first[2] - second[2])


def _dot(first: Vec3, second: Vec3) -> float:
    return first[0] * second[0] + first[1] * second[1] + first[2] * second[2]
