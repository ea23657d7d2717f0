"""A parallel jaw with stiff servos, whose grip on a box is known on paper."""

import math
from typing import Any

import softgrasp as sg

OPENING = 0.05
"""Distance of each plate from the middle at the start [m]."""


def jaw(stiffness: float = 12e3, force_limit: float = 60.0) -> sg.Hand:
    """Two plates on slides that close along x, without a palm in the way."""
    closing = sg.description.GraspPreset(center=(0.0, 0.0, 0.0), rates=0.05)
    half = math.sqrt(0.5)
    fingers = tuple(
        sg.description.Finger(
            name=name,
            # z of the base looks at the object
            base=sg.Pose(position=(side * OPENING, 0, 0), quaternion=(half, 0, -side * half, 0)),
            convention="placed",
            phalanges=(
                sg.description.Phalanx(
                    joint="prismatic",
                    limits=(0.0, OPENING),
                    shape=sg.Cuboid(size=(0.08, 0.03, 0.01)),
                    shape_pose=sg.Pose(position=(0.0, 0.0, -0.005)),
                    mass=0.08,
                    servo_stiffness=stiffness,
                    force_limit=force_limit,
                    armature=1.2,
                ),
            ),
        )
        for name, side in (("left", -1.0), ("right", 1.0))
    )
    return sg.Hand(
        name="jaw",
        palm=sg.description.Palm(kind="none"),
        fingers=fingers,
        grasps=sg.description.Grasps(power=closing, precision=closing),
    )


def box(mass: float, size: tuple[float, float, float] = (0.04, 0.06, 0.03)) -> sg.GraspObject:
    """A box between the plates; the default is held by faces of 60 mm × 30 mm."""
    return sg.GraspObject(name="box", shape=sg.Cuboid(size=size), mass=mass)


def cube(mass: float) -> sg.GraspObject:
    """A cube of 40 mm."""
    return sg.GraspObject(name="cube", shape=sg.Cuboid(size=(0.04, 0.04, 0.04)), mass=mass)


def in_jaw(described: sg.GraspObject, **changes: Any) -> sg.GraspScene:
    """A box or cube between the plates."""
    base: dict[str, Any] = {"hand": jaw(), "object": described}
    return sg.GraspScene(**(base | changes))
