"""Pads on slides around a ball: grasps whose contacts are known on paper."""

import math
from typing import Any

from scipy.spatial.transform import Rotation

import softgrasp as sg
from tests.support.scenes import ball

RADIUS, AWAY = 0.03, 0.01
"""Of the ball, and the gap before each pad [m]."""


def pads(count: int, sign: int = 1, **changes: Any) -> sg.GraspScene:
    """Flat pads that meet a ball at its equator, evenly around z; the first one comes from +x.

    Args:
        count: How many.
        sign: −1 for joints whose variables fall while they close.
        changes: Further fields of the scene.
    """
    still = sg.description.GraspPreset(center=(0, 0, 0), rates=0.1 * sign)
    hand = sg.Hand(
        name=f"pads_{count}",
        palm=sg.description.Palm(kind="none"),
        fingers=tuple(_pad(index, 2.0 * math.pi * index / count, sign) for index in range(count)),
        grasps=sg.description.Grasps(power=still, precision=still),
    )
    contact = sg.Contact(static_friction=0.5)
    base: dict[str, Any] = {"hand": hand, "object": ball(RADIUS), "contact": contact}
    return sg.GraspScene(**(base | changes))


def on_a_stand(name: str = "stand") -> dict[str, Any]:
    """Fields of a scene whose ball, at the origin, lies on a block under gravity."""
    block = sg.description.Block(position=(0, 0, -RADIUS - 0.01), size=(0.02,) * 3, name=name)
    return {"surroundings": (block,), "gravity": True}


def _pad(index: int, angle: float, sign: int) -> sg.description.Finger:
    start = RADIUS + AWAY + 0.005
    way = Rotation.from_euler("z", angle) * Rotation.from_euler("y", -sign * math.pi / 2)
    return sg.description.Finger(
        name=f"F{index + 1}",
        base=sg.Pose(
            position=(start * math.cos(angle), start * math.sin(angle), 0.0),
            quaternion=tuple(way.as_quat(scalar_first=True).tolist()),
        ),
        convention="placed",
        phalanges=(
            sg.description.Phalanx(
                joint="prismatic",
                limits=(0.0, 0.03) if sign > 0 else (-0.03, 0.0),
                shape=sg.Cuboid(size=(0.04, 0.04, 0.01)),
                density=1000,
                servo_stiffness=2e3,
                force_limit=50.0,
                armature=0.5,
            ),
        ),
    )
