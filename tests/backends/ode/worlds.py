"""Worlds for these tests, from nodes made by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import softgrasp as sg
from softgrasp.backends.ode.bindings import load
from softgrasp.backends.ode.controller_api import OdeWorld
from softgrasp.backends.wbt.parser import World
from softgrasp.backends.wbt.schema import Node


def node(kind: str, name: str = "", /, **fields: object) -> Node:
    return Node(kind, fields, name)


def world(*nodes: Node, step_ms: float = 1.0, **info: object) -> World:
    awake = {"physicsDisableLinearThreshold": 0.0}
    return World("R2025a", [node("WorldInfo", basicTimeStep=step_ms, **(awake | info)), *nodes])


def built(*nodes: Node, step_ms: float = 1.0, **info: object) -> OdeWorld:
    return OdeWorld(world(*nodes, step_ms=step_ms, **info))


def physics(mass: float, center: object = (0.0, 0.0, 0.0), inertia: object = 1e-5) -> Node:
    """Inertia: one number, or a (3, 3) matrix about the centre of mass."""
    full = np.asarray(inertia) * np.eye(3) if np.ndim(inertia) == 0 else np.asarray(inertia)
    rows = [tuple(np.diag(full).tolist()), (full[0, 1], full[0, 2], full[1, 2])]
    return node(
        "Physics", density=-1.0, mass=mass, centerOfMass=[tuple(center)], inertiaMatrix=rows
    )


def solid(name: str, **fields: object) -> Node:
    return node("Solid", name=name, **fields)


def ball(height: float, radius: float = 0.02, **fields: object) -> Node:
    """A ball of density 1000 kg/m³ whose centre is at a height."""
    mass = 4.0 / 3.0 * np.pi * radius**3 * 1000.0
    given = {
        "translation": (0.0, 0.0, height),
        "boundingObject": node("Sphere", radius=radius),
        "physics": physics(mass, inertia=0.4 * mass * radius**2),
    }
    return solid("ball", **(given | fields))


def hinge(end: Node, *devices: Node, **parameters: object) -> Node:
    given = node("HingeJointParameters", **({"axis": (0.0, 1.0, 0.0)} | parameters))
    return node("HingeJoint", jointParameters=given, device=list(devices), endPoint=end)


def slider(end: Node, *devices: Node, **parameters: object) -> Node:
    given = node("JointParameters", **parameters)
    return node("SliderJoint", jointParameters=given, device=list(devices), endPoint=end)


def robot(*children: Node, **fields: object) -> Node:
    return node("Robot", **({"name": "robot", "children": list(children)} | fields))


def finger_nodes(finger: sg.SoftFinger, damping_factor: float = 1.0) -> Node:
    """A planar finger on a standing robot, its links as boxes without collision shapes."""
    positions = [(0.0, 0.0, 0.0), *(joint.position for joint in finger.joints)]
    inner: Node | None = None
    for (before, at), joint, link in reversed(
        list(zip(pairwise(positions), finger.joints, finger.links[1:], strict=True))
    ):
        arm = tuple(np.subtract(at, before).tolist())
        squares = np.square(link.size)
        inertia = np.diag(link.mass / 12.0 * (squares.sum() - squares))
        end = solid(
            "link",
            translation=arm,
            children=[] if inner is None else [inner],
            physics=physics(link.mass, np.subtract(link.balance, at).tolist(), inertia),
        )
        inner = hinge(
            end,
            anchor=arm,
            springConstant=joint.stiffness,
            dampingConstant=damping_factor * joint.damping,
        )
    assert inner is not None
    return robot(inner)


def run(ode: OdeWorld, seconds: float) -> OdeWorld:
    for _ in range(round(seconds / ode.time_step)):
        ode.step()
    return ode


def velocity(ode: OdeWorld, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Velocity of the centre of mass of a body [m/s], and its angular velocity [rad/s]."""
    handle, library = named(ode, name).body.handle, load()
    linear, angular = library.BodyGetLinearVel(handle), library.BodyGetAngularVel(handle)
    return np.array(linear[0:3]), np.array(angular[0:3])


def throw(ode: OdeWorld, name: str, *speed: float) -> None:
    """Set the velocity of a body's centre of mass [m/s]."""
    load().BodySetLinearVel(named(ode, name).body.handle, *speed)


def named(ode: OdeWorld, name: str):
    return next(item for item in ode.solids if item.name == name)
