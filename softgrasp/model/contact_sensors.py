"""Contact sensors between hand and objects, and force and torque sensors.

A contact sensor reports the forces between one body of the hand and one object in a fixed number of
slots, (normal, friction, friction) [N] each, largest forces first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import mujoco
import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.description.sensor import ForceTorqueSensor
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.names import contact_sensor, object_body

FORCE = int(mujoco.mjtConDataField.mjCONDATA_FORCE)
BY_LARGEST_FORCE = 2
"""MuJoCo's ``reduce="maxforce"``: keep the contacts with the largest forces."""
COMPONENTS = 3
"""Normal force and the two friction components of a contact [N]."""
POINTS_OF_A_PAIR = 8
"""Largest number of contact points of two convex geoms: two boxes, face on face."""
MAX_SLOTS = 64
"""Largest number of slots of one sensor."""
PARTS = (("force", mujoco.mjtSensor.mjSENS_FORCE), ("torque", mujoco.mjtSensor.mjSENS_TORQUE))

# Contact forces


def contact_slots(spec: mujoco.MjSpec, bodies: list[str], geoms: list[str]) -> int:
    """Compute the number of contact slots of a sensor for one object.

    Args:
        spec: The scene.
        bodies: Bodies of the hand that can touch.
        geoms: Geoms of the object; empty for a deformable one.
    """
    if not geoms:
        return MAX_SLOTS  # a phalanx touches a deformable object in many points
    if all(spec.geom(geom).type == mujoco.mjtGeom.mjGEOM_SPHERE for geom in geoms):
        # a ball touches a convex geom in one point
        return min(len(geoms) * max(len(spec.body(body).geoms) for body in bodies), MAX_SLOTS)
    return min(POINTS_OF_A_PAIR * len(geoms), MAX_SLOTS)


def add_contact_sensors(spec: mujoco.MjSpec, bodies: list[str], slots: Sequence[int]) -> None:
    """Add a sensor for each body and object; empty slots are zero.

    Args:
        spec: The scene.
        bodies: Bodies of the hand that can touch.
        slots: Number of slots for each object.
    """
    rigid, tree = mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_XBODY
    for body in bodies:
        for index, count in enumerate(slots):
            # the nodes of a deformable object, which is the first one, are children of its body
            deformable = index == 0 and bool(spec.flexes)
            sensor = spec.add_sensor(
                name=contact_sensor(body, index),
                type=mujoco.mjtSensor.mjSENS_CONTACT,
                objtype=rigid,
                objname=body,
                reftype=tree if deformable else rigid,
                refname=object_body(index),
            )
            sensor.intprm[:3] = [1 << FORCE, BY_LARGEST_FORCE, count]


def contact_layout(
    model: mujoco.MjModel, bodies: list[str], objects: int
) -> tuple[int, tuple[int, ...], Array]:
    """Return the indices of the contact forces in ``sensordata``.

    Args:
        model: The compiled scene.
        bodies: Bodies of the hand that can touch.
        objects: Number of objects.

    Returns:
        First index, number of slots for each object, and the matrix (nb, nb·slots·3) that sums the
        normal forces of each body.
    """
    first = int(model.sensor(contact_sensor(bodies[0])).adr[0])
    names = [contact_sensor(bodies[0], index) for index in range(objects)]
    slots = tuple(int(model.sensor(name).dim[0]) // COMPONENTS for name in names)
    return first, slots, _normal_sums(len(bodies), sum(slots))


@lru_cache(maxsize=16)
def _normal_sums(bodies: int, slots: int) -> Array:
    """Compute the matrix that sums the normal forces of each body."""
    sums = np.kron(np.eye(bodies), np.tile([1.0, 0.0, 0.0], slots))
    sums.flags.writeable = False
    return sums


# Force and torque sensors


def add_force_sensors(spec: mujoco.MjSpec, scene: GraspScene) -> None:
    """Add the force and torque sensors of a scene, which do not affect its motion."""
    for sensor in scene.sensors:
        if isinstance(sensor, ForceTorqueSensor):
            site = spec.body(sensor.body).add_site(
                name=names.sensor_site(sensor.name),
                pos=list(sensor.pose.position),
                quat=list(sensor.pose.quaternion),
                size=[0.001] * 3,
                group=4,
            )
            for part, kind in PARTS:
                spec.add_sensor(
                    name=names.sensor_part(sensor.name, part),
                    type=kind,
                    objtype=mujoco.mjtObj.mjOBJ_SITE,
                    objname=site.name,
                )
