"""Object → a body at its centre of mass, free, planar or fixed."""

from __future__ import annotations

import mujoco

from softgrasp.description.geometry import Pose
from softgrasp.description.object import GraspObject, Mount
from softgrasp.model.names import OBJECT, object_joints
from softgrasp.model.shapes import add_shape, mass_properties, set_inertia

# --------------------
# Densities that no material has, and which slip of a unit would make them usual ones.


USUAL_DENSITY = (20.0, 22_600.0)
"""From foam to osmium [kg/m³]."""
OF_MASS = {
    1e9: "is its size in millimetres? Read so, it has {:.4g} kg/m³ (units: mm)",
    1e-3: "is its mass in grams? Read so, it has {:.4g} kg/m³",
    1e-9: "is its size in metres, but read as millimetres? Then it has {:.4g} kg/m³",
}
"""Slips where a mass was given, by what they change the density."""
OF_DENSITY = {1e3: "is its density in g/cm³? Read so, it has {:.4g} kg/m³"}


def mean_density(described: GraspObject) -> float:
    """Mass of an object over its volume [kg/m³]."""
    return object_mass(described) / mass_properties(described.shape).volume


def is_usual(density: float) -> bool:
    """Whether some material has it [kg/m³]."""
    low, high = USUAL_DENSITY
    return low <= density <= high


def density_guess(described: GraspObject) -> str:
    """Which slip would make the density of an object a usual one."""
    density = mean_density(described)
    for factor, words in (OF_MASS if described.mass is not None else OF_DENSITY).items():
        if is_usual(density * factor):
            return words.format(density * factor)
    return "mass is in kg, density in kg/m³"


PLANAR_JOINTS = object_joints(OBJECT)
"""Joints of the one to be grasped where it is planar."""


def object_mass(described: GraspObject) -> float:
    """Mass of an object, given or from its density [kg]."""
    if described.mass is not None:
        return described.mass
    return mass_properties(described.shape).volume * (described.density or 0.0)


def add_object(
    spec: mujoco.MjSpec, described: GraspObject, pose: Pose, mount: Mount, name: str = OBJECT
) -> list[str]:
    """Add an object and return the names of its geoms that can touch.

    Args:
        spec: The model to extend.
        described: The object.
        pose: Pose of its centre of mass frame in the world.
        mount: ``free``, ``fixed``, or ``planar`` (x–z plane of the world, turning about y).
        name: Of its body.
    """
    mover = spec.worldbody
    if mount == "planar":
        mover = _planar_carriage(spec, pose, name)
        pose = Pose(quaternion=pose.quaternion)
    body = mover.add_body(name=name, pos=list(pose.position), quat=list(pose.quaternion))
    if mount == "free":
        body.add_freejoint(name=name)
    geoms = add_shape(spec, body, name, described.shape, Pose(), rgba=described.rgba)
    volume, inertia = mass_properties(described.shape)
    mass = object_mass(described)
    set_inertia(body, mass, inertia * (mass / volume))
    return geoms


def _planar_carriage(spec: mujoco.MjSpec, pose: Pose, body_name: str) -> mujoco.MjsBody:
    """A massless frame with the world's axes that carries the object in the x–z plane."""
    carriage = spec.worldbody.add_body(name=f"{body_name}_carriage", pos=list(pose.position))
    kinds = (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)
    axes = ([1, 0, 0], [0, 0, 1], [0, 1, 0])
    for name, kind, axis in zip(object_joints(body_name), kinds, axes, strict=True):
        carriage.add_joint(name=name, type=kind, axis=axis)
    return carriage
