"""Graspable objects in a model: mass, body and mount; plausibility of their density."""

from __future__ import annotations

from typing import Literal

import mujoco

from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject, Mount
from softgrasp.description.scene import GraspScene
from softgrasp.model.names import OBJECT, object_joints
from softgrasp.model.shapes import add_shape, mass_properties, set_inertia

USUAL_DENSITY = (20.0, 22_600.0)
"""Densities from foam to osmium [kg/m³]."""
MASS_HINTS = {
    1e9: "is its size in millimetres? Then it has {:.4g} kg/m³ (units: mm)",
    1e-3: "is its mass in grams? Then it has {:.4g} kg/m³",
    1e-9: "is its size in metres, but read as millimetres? Then it has {:.4g} kg/m³",
}
"""Hints for objects with a mass, by the factor that corrects their density."""
DENSITY_HINTS = {1e3: "is its density in g/cm³? Then it has {:.4g} kg/m³"}
"""Hints for objects with a density, by the factor that corrects it."""
PLANAR_JOINTS = object_joints(OBJECT)
"""Joints of the object to be grasped where it is planar."""


def add_object(
    spec: mujoco.MjSpec, described: GraspObject, pose: Pose, mount: Mount, name: str = OBJECT
) -> list[str]:
    """Add an object and return the names of its geoms that can touch.

    Args:
        spec: The model to extend.
        described: The object.
        pose: Pose of its frame at the centre of mass in the world.
        mount: ``free``, ``fixed``, or ``planar`` (x–z plane of the world, rotation about y).
        name: Name of its body.
    """
    mover = spec.worldbody
    if mount == "planar":
        mover = _planar_carriage(spec, pose, name)
        pose = Pose(quaternion=pose.quaternion)
    body = mover.add_body(name=name, pos=list(pose.position), quat=list(pose.quaternion))
    if mount == "free":
        body.add_freejoint(name=name)
    geoms = add_shape(spec, body, name, described.shape, Pose(), rgba=described.rgba)
    _set_mass(body, described)
    return geoms


def add_body(spec: mujoco.MjSpec, described: GraspObject, pose: Pose, name: str = OBJECT) -> None:
    """Add the free body of an object with its mass, without its shape; as ``add_object``."""
    body = spec.worldbody.add_body(name=name, pos=list(pose.position), quat=list(pose.quaternion))
    body.add_freejoint(name=name)
    _set_mass(body, described)


def _set_mass(body: mujoco.MjsBody, described: GraspObject) -> None:
    volume, inertia = mass_properties(described.shape)
    mass = object_mass(described)
    set_inertia(body, mass, inertia * (mass / volume))


def _planar_carriage(spec: mujoco.MjSpec, pose: Pose, body_name: str) -> mujoco.MjsBody:
    """Add a massless body that carries the object in the x–z plane of the world."""
    carriage = spec.worldbody.add_body(name=f"{body_name}_carriage", pos=list(pose.position))
    kinds = (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)
    axes = ([1, 0, 0], [0, 0, 1], [0, 1, 0])
    for name, kind, axis in zip(object_joints(body_name), kinds, axes, strict=True):
        carriage.add_joint(name=name, type=kind, axis=axis)
    return carriage


def object_mass(described: GraspObject) -> float:
    """Return the mass of an object, as described or from its density [kg]."""
    if described.mass is not None:
        return described.mass
    return mass_properties(described.shape).volume * (described.density or 0.0)


def default_grasp(hand: Hand, described: GraspObject) -> Literal["power", "precision"]:
    """Return ``precision`` where the object is within the payload of that grasp, else ``power``."""
    payload = hand.grasps.precision.payload
    return "precision" if payload is not None and object_mass(described) <= payload else "power"


def with_default_grasp(scene: GraspScene) -> GraspScene:
    """Return the scene with the kind of grasp for its object, where nobody states one."""
    if not scene.adapts_grasp or "grasp" in scene.model_fields_set:
        return scene
    kind = default_grasp(scene.hand, scene.object)
    return scene if kind == scene.grasp else scene.choose(grasp=kind)


def mean_density(described: GraspObject) -> float:
    """Compute the mass of an object over its volume [kg/m³]."""
    return object_mass(described) / mass_properties(described.shape).volume


def is_usual(density: float) -> bool:
    """Return whether a density is plausible for some material [kg/m³]."""
    low, high = USUAL_DENSITY
    return low <= density <= high


def density_guess(described: GraspObject) -> str:
    """Suggest the unit error that would make the density of an object plausible."""
    density = mean_density(described)
    for factor, hint in (MASS_HINTS if described.mass is not None else DENSITY_HINTS).items():
        if is_usual(density * factor):
            return hint.format(density * factor)
    return "mass is in kg, density in kg/m³"
