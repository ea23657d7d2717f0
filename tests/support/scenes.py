"""Small scenes that several tests share."""

import math
from typing import Any

import softgrasp as sg


def ball(radius: float = 0.03, density: float = 700.0) -> sg.GraspObject:
    """A sphere that every hand can take."""
    return sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), density=density)


def pinch(**changes: Any) -> sg.GraspScene:
    """The four-fingered hand about a ball: the quickest grasp there is."""
    base: dict[str, Any] = {"hand": sg.load_hand("four_finger"), "object": ball()}
    return sg.GraspScene(**(base | {"grasp": "precision"} | changes))


def plate(obj: sg.GraspObject, height: float, **changes: Any) -> sg.GraspScene:
    """A palm that lies flat as a table with an object on it; its only finger stays away.

    Args:
        obj: The object.
        height: Height of its centre above the table [m].
        changes: Further fields of the scene.
    """
    still = sg.description.GraspPreset(center=(0, 0, height), rates=0.0)
    hand = sg.Hand(
        name="plate",
        palm=sg.description.Palm(
            kind="shape",
            shape=sg.Cuboid(size=(0.6, 0.6, 0.02)),
            pose=sg.Pose(position=(0, 0, -0.01)),
        ),
        fingers=(
            sg.description.Finger(
                name="F1",
                base=sg.Pose(position=(0.5, 0, 0)),
                convention="standard",
                phalanges=(sg.description.Phalanx(a=0.05, density=1000),),
            ),
        ),
        grasps=sg.description.Grasps(power=still, precision=still),
    )
    base: dict[str, Any] = {"hand": hand, "object": obj, "gravity": True}
    return sg.GraspScene(**(base | changes))


def diverging(**changes: object) -> sg.GraspScene:
    """A step that explicit integrators cannot take with this contact (docs/contact.md)."""
    contact = sg.Contact(stiffness=1e6, damping=1000.0)
    solver = sg.description.Solver(integrator="implicitfast", refinement=1)
    position = (0.0, 0.002, -0.085)
    return pinch(contact=contact, solver=solver, object_position=position, **changes)


def press(obj: sg.GraspObject, gap: float, **changes: Any) -> sg.GraspScene:
    """Two flat pads on slides that close along x on an object between them.

    Args:
        obj: The object.
        gap: Distance of each pad's face from the middle at the start [m].
        changes: Further fields of the scene.
    """
    rotation = math.sqrt(0.5)
    pad = sg.Cuboid(size=(0.08, 0.08, 0.01))
    fingers = tuple(
        sg.description.Finger(
            name=name,
            # z of the base looks at the object
            base=sg.Pose(
                position=(-side * gap, 0.0, 0.0), quaternion=(rotation, 0, side * rotation, 0)
            ),
            convention="modified",
            phalanges=(
                sg.description.Phalanx(
                    joint="prismatic",
                    limits=(0.0, gap),
                    shape=pad,
                    shape_pose=sg.Pose(position=(0.0, 0.0, -0.005)),
                    mass=0.1,
                    servo_stiffness=2000.0,
                    force_limit=20.0,
                    damping=5.0,
                    armature=0.1,
                ),
            ),
        )
        for name, side in (("left", 1.0), ("right", -1.0))
    )
    closing = sg.description.GraspPreset(center=(0, 0, 0), rates=0.02)
    hand = sg.Hand(
        name="press",
        palm=sg.description.Palm(kind="none"),
        fingers=fingers,
        grasps=sg.description.Grasps(power=closing, precision=closing),
    )
    return sg.GraspScene(**({"hand": hand, "object": obj} | changes))
