"""The frame of a world: what every Webots world of ours begins with, and what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.build.webots.frames import axis_angle, vector
from softgrasp.build.webots.joint_laws import JointLaw
from softgrasp.errors import BuildError
from softgrasp.formats.wbt.node import Node, Value
from softgrasp.mechanics.transforms import Array

WORLD = "WORLD"
"""DEF of the WorldInfo, through which the controller changes gravity."""
CONTROLLER = "softgrasp_job"
SHORTEST_STEP = 1e-3
"""Webots takes time steps from one millisecond on (reference manual, WorldInfo)."""

STIFF = 1e-8
"""CFM of the world. What sticks creeps by this speed a newton in ODE, and with the default of 1e-5
a held object sinks by 10 µm a second and newton; the direct solver needs no more than this."""


class WebotsWorld(NamedTuple):
    """A world, and what its controller has to know of it."""

    nodes: list[Node]
    laws: list[JointLaw]
    timestep: float
    """[s]"""
    compensated: dict[str, float]
    """DEF of each solid whose weight is carried, and its mass [kg]."""
    remarks: tuple[str, ...]
    """What the world says otherwise than the scene."""


def heading(
    title: str, gravity: float, timestep: float, contacts: Sequence[Node], view: Node
) -> list[Node]:
    """The first nodes of a world.

    Args:
        title: What it shows.
        gravity: Downwards [m/s²].
        timestep: [s]
        contacts: Its ContactProperties.
        view: Its Viewpoint.
    """
    info: dict[str, Value] = {
        "title": title,
        "gravity": gravity,
        "basicTimeStep": 1e3 * timestep,
        "CFM": STIFF,
        # Webots puts what is slower than 10 mm/s to sleep by default, as a settling finger is
        "physicsDisableLinearThreshold": 0,
        "physicsDisableAngularThreshold": 0,
        "contactProperties": list(contacts),
    }
    light: dict[str, Value] = {"direction": (0.4, 0.5, -1.0), "intensity": 2.0, "castShadows": True}
    return [
        Node("WorldInfo", info, name=WORLD),
        view,
        Node("Background", {"skyColor": [(0.75, 0.8, 0.85)], "luminosity": 0.8}),
        Node("DirectionalLight", light),
    ]


def viewpoint(center: Array, radius: float) -> Node:
    """A camera that looks at a ball from the front, above and beside.

    Args:
        center: In the world [m], (3,).
        radius: Of the ball [m].
    """
    forward = np.array([-0.8, 0.5, -0.35])
    forward /= np.linalg.norm(forward)
    left = np.cross([0.0, 0.0, 1.0], forward)
    left /= np.linalg.norm(left)
    rotation = np.column_stack([forward, left, np.cross(forward, left)])  # FLU: x ahead, z up
    return Node(
        "Viewpoint",
        {
            "orientation": axis_angle(rotation),
            "position": vector(center - 3.2 * radius * forward),
            "near": 0.01,
        },
    )


def downward(gravity: Sequence[float], where: str) -> float:
    """Gravity as Webots has it: a number, downwards [m/s²].

    Raises:
        BuildError: It points elsewhere.
    """
    x, y, z = gravity
    if x or y or z > 0.0:
        raise BuildError(
            f"{where}: gravity of Webots points down, expected (0, 0, -g), found "
            f"({x:g}, {y:g}, {z:g})"
        )
    return -z + 0.0


def driven_robot(children: Sequence[Node], name: str, arguments: Sequence[str]) -> Node:
    """The robot that carries everything that moves by itself, with its controller.

    Args:
        children: What it consists of.
        name: Its name.
        arguments: Of the controller.
    """
    return Node(
        "Robot",
        {
            "children": list(children),
            "name": name,
            "controller": CONTROLLER,
            "controllerArgs": list(arguments),
            "supervisor": True,
            # it spares solids that a joint connects, but not the touch sensors that lie on them
            "selfCollision": False,
            "window": "<none>",
        },
        name="HAND",
    )
