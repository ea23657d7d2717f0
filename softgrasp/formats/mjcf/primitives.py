"""Geoms of MuJoCo as our shapes."""

from __future__ import annotations

import mujoco

from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere

GEOM = mujoco.mjtGeom


def primitive_of(model: mujoco.MjModel, geom: int) -> Shape | None:
    """A geom as one of our shapes; None where it is none, as a mesh.

    Args:
        model: The compiled model.
        geom: Its number.
    """
    radius, half, third = model.geom_size[geom].tolist()
    match int(model.geom_type[geom]):
        case GEOM.mjGEOM_SPHERE:
            return Sphere(radius=radius)
        case GEOM.mjGEOM_CAPSULE:
            return Capsule(radius=radius, length=2 * half)
        case GEOM.mjGEOM_CYLINDER:
            return Cylinder(radius=radius, height=2 * half)
        case GEOM.mjGEOM_BOX:
            return Cuboid(size=(2 * radius, 2 * half, 2 * third))
        case GEOM.mjGEOM_ELLIPSOID:
            return Ellipsoid(radii=(radius, half, third))
    return None
