"""Test rigs of a soft finger as MuJoCo scenes: dead weight and tip force.

The finger is horizontal, clamped at the origin, along +x. Calibration solves the same statics in
closed form.
"""

import mujoco
import numpy as np

from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.model import names
from softgrasp.model.shapes import set_inertia
from softgrasp.model.soft_finger import TIP, finger_spec

WEIGHT, PLATE, PLATE_FORCE, TIP_BALL = "weight", "plate", "plate_force", "tip_ball"

BALL = 1e-3
"""Radius of the ball at the tip that touches the plate [m]."""

STEP = 1e-4
"""Time step on the plate [s]."""

STICKING = 1e3
"""``impratio``, impedance of friction over that of the normal force; see docs/decisions/0006."""

SMALL = 1e-6
"""Moment of inertia of a weight over its mass [m²]."""


def dead_weight_rig(finger: SoftFinger, mass: float) -> mujoco.MjSpec:
    """Build a finger with a weight at its tip, or without (0 kg), as after its release."""
    spec = finger_spec(finger)
    spec.option.gravity = list(STANDARD_GRAVITY)
    spec.add_sensor(
        name="tip_position",
        type=mujoco.mjtSensor.mjSENS_FRAMEPOS,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=TIP,
    )
    if mass > 0.0:
        last = spec.body(f"link{len(finger.joints)}")
        weight = last.add_body(name=WEIGHT, pos=spec.site(TIP).pos)
        set_inertia(weight, mass, np.eye(3) * mass * SMALL, (0.0, 0.0, 0.0))
    return spec


def tip_force_rig(
    finger: SoftFinger,
    plate_height: float,
    *,
    friction: float = 0.0,
    stiffness: float = 1e4,
    damping: float = 20.0,
) -> mujoco.MjSpec:
    """Build a finger with a motor in every joint above a plate with a force sensor."""
    spec = dead_weight_rig(finger, 0.0)
    last = spec.body(f"link{len(finger.joints)}")
    last.add_geom(
        name=TIP_BALL,
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        pos=spec.site(TIP).pos,
        size=[BALL, 0.0, 0.0],
        mass=0.0,
        contype=0,
        conaffinity=0,
    )
    plate = spec.worldbody.add_body(name=PLATE, pos=[finger.tip[0], 0.0, plate_height - BALL])
    thick = 2.0 * BALL
    plate.add_geom(
        name=PLATE,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=[0.0, 0.0, -thick],
        size=[0.5 * finger.tip[0], finger.links[-1].size[1], thick],
        mass=0.0,  # the sensor measures no weight
        contype=0,
        conaffinity=0,
    )
    plate.add_site(name=PLATE)
    spec.add_sensor(
        name=PLATE_FORCE,
        type=mujoco.mjtSensor.mjSENS_FORCE,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=PLATE,
    )
    scale = finger.links[-1].mass
    spec.add_pair(
        geomname1=TIP_BALL,
        geomname2=PLATE,
        condim=3 if friction > 0.0 else 1,
        friction=[friction, friction, 0.0, 0.0, 0.0],
        solref=[-stiffness / scale, -damping / scale],
        # maximum stiffness of friction, as the tip creeps otherwise
        solreffriction=[0.0, -0.1 * damping / scale],
        solimp=[0.9, 0.9, 1e-3, 0.5, 2.0],
    )
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = STICKING if friction > 0.0 else 1.0
    spec.option.timestep = STEP
    for name in names.finger_joint_names(finger):
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    return spec
