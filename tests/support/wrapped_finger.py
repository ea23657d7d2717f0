"""A soft finger wraps around a cylinder: contact along its whole length, as rod theory predicts.

The flat side of a finger of bending stiffness EI lies on a fixed cylinder without friction, so that
its axis has the radius ρ. Its pressure makes the moment EI/ρ that bends it so far, and m(s) in
addition. Nothing but contact balances m: per length it presses with q = d²m/ds² + m/ρ², where m and
dm/ds are 0 at the tip. Here m = m₀ (1 − s/L)².
"""

import math

import numpy as np

import softgrasp as sg

Array = np.ndarray

JOINTS, LENGTH, WIDTH, HEIGHT = 16, 0.08, 0.02, 0.004
BENDING_STIFFNESS, MASS = 2e-3, 0.016
RADIUS, CLEARANCE = 0.06, 1e-6
RHO = RADIUS + 0.5 * HEIGHT
PRESSURE, MOMENT = 1e5, 0.3


def added_moment(s: Array) -> Array:
    """Return m at a distance s from the base [N·m]."""
    return MOMENT * (1.0 - s / LENGTH) ** 2


def contact_force(s: Array) -> Array:
    """Return the force of the contact per length, q [N/m]."""
    return 2.0 * MOMENT / LENGTH**2 + added_moment(s) / RHO**2


def wrapped_scene() -> sg.GraspScene:
    """Return a hand of one finger on a cylinder."""
    finger = sg.rld.discretise(
        length=LENGTH, bending_stiffness=BENDING_STIFFNESS, mass=MASS, joints=JOINTS,
        section=(WIDTH, HEIGHT), bending_damping=1e-4,
    )  # fmt: skip
    joints = tuple(
        joint.replace(
            pressure_gain=(
                BENDING_STIFFNESS / RHO + float(added_moment(np.array(joint.position[0])))
            )
            / PRESSURE
        )
        for joint in finger.joints
    )
    soft = sg.description.MountedSoftFinger(
        name="F1", finger=finger.replace(joints=joints), limits=(0.0, PRESSURE)
    )
    preset = sg.description.GraspPreset(center=(0.0, 0.0, -RADIUS), rates=2e5, pressure=PRESSURE)
    grasps = sg.description.Grasps(power=preset, precision=preset)
    cylinder = sg.load_object("cylinder")
    return sg.GraspScene(
        hand=sg.Hand(name="finger", soft_fingers=(soft,), grasps=grasps),
        object=cylinder.replace(shape=cylinder.shape.replace(radius=RADIUS, height=0.05)),
        object_mount="fixed",
        object_euler=(0.5 * math.pi, 0.0, 0.0),
        object_position=(0.0, 0.0, -0.5 * HEIGHT - RADIUS - CLEARANCE),
        contact=sg.Contact(stiffness=1e5, damping=200.0, static_friction=0.0),
        closure=sg.description.PositionIncrementClosure(settle_time=1.0),
        timestep=2e-4,
    )


def mean_forces(result: sg.GraspResult) -> Array:
    """Return the normal force of each link, the mean of the last half second [N]."""
    arrays = result.trajectory()
    last = arrays["time"] > arrays["time"][-1] - 0.5
    return np.asarray(arrays["normal_force"][last].mean(axis=0)[-JOINTS:])
