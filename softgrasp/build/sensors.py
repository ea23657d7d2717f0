"""Contact sensors: the forces between each body of the hand and the object."""

from __future__ import annotations

from functools import lru_cache

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT, contact_sensor
from softgrasp.mechanics.transforms import Array

FORCE = int(mujoco.mjtConDataField.mjCONDATA_FORCE)
BY_LARGEST_FORCE = 2
"""MuJoCo's ``reduce="maxforce"``: keep the contacts with the largest forces."""
COMPONENTS = 3
"""Normal force and the two friction components of a contact [N]."""


POINTS_OF_A_PAIR = 8
"""Most contact points of two convex geoms: two boxes, face on face."""
MOST_SLOTS = 64


def contact_slots(spec: mujoco.MjSpec, bodies: list[str], geoms: list[str]) -> int:
    """Contacts that one body of the hand can report; a run warns where they were all taken.

    Args:
        spec: The scene.
        bodies: Bodies of the hand that can touch.
        geoms: Of the object; none of a deformable one.
    """
    if not geoms:
        return MOST_SLOTS  # a deformable object, which a phalanx touches in many points
    if all(spec.geom(geom).type == mujoco.mjtGeom.mjGEOM_SPHERE for geom in geoms):
        # a ball touches a convex geom in one point
        return min(len(geoms) * max(len(spec.body(body).geoms) for body in bodies), MOST_SLOTS)
    return min(POINTS_OF_A_PAIR * len(geoms), MOST_SLOTS)


def add_contact_sensors(spec: mujoco.MjSpec, bodies: list[str], slots: int) -> None:
    """One sensor a body, ``slots`` × (normal, friction, friction) [N]; empty slots are zero."""
    deformable = bool(spec.flexes)
    # the nodes of a flex are found below the object's body
    thing = mujoco.mjtObj.mjOBJ_XBODY if deformable else mujoco.mjtObj.mjOBJ_BODY
    for body in bodies:
        sensor = spec.add_sensor(
            name=contact_sensor(body),
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=body,
            reftype=thing,
            refname=OBJECT,
        )
        sensor.intprm[:3] = [1 << FORCE, BY_LARGEST_FORCE, slots]


def contact_layout(model: mujoco.MjModel, bodies: list[str]) -> tuple[int, int, Array]:
    """Where the contact forces stand in ``sensordata``.

    Returns:
        First index, number of slots a body, and the matrix (nb, nb·slots·3) that sums the
        normal forces of each body.
    """
    first = int(model.sensor(contact_sensor(bodies[0])).adr[0])
    width = int(model.sensor(contact_sensor(bodies[0])).dim[0])
    slots = width // COMPONENTS
    return first, slots, _normal_sums(len(bodies), slots)


@lru_cache(maxsize=16)
def _normal_sums(bodies: int, slots: int) -> Array:
    sums = np.kron(np.eye(bodies), np.tile([1.0, 0.0, 0.0], slots))
    sums.flags.writeable = False
    return sums
