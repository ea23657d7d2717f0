"""A bendable segment → a chain of rigid cells with springs, and the tendons that drive it.

Joints stand in the middle of their cells, so that the end of a chain of n is off by θ²/(12 n²) of
the length under a constant moment; both bending axes go through one point.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from softgrasp.build.shapes import COLLISION_GROUP, VISUAL_GROUP, set_inertia
from softgrasp.build.visual import SILICONE_RGBA, Rgba
from softgrasp.description.bendable import Bendable, Chamber
from softgrasp.errors import BuildError
from softgrasp.mechanics.transforms import Array

CORE_SHARE = 0.35
"""Radius of the drawn backbone over that of the segment."""
DISC_SHARE = 0.12
"""Thickness of a drawn disc over the distance of two."""
LEAST_MASS = 1e-6
"""Mass of a segment that has none of its own [kg]: MuJoCo needs moving bodies to have some."""
DISC_RGBA: Rgba = (0.42, 0.49, 0.58, 1.0)


def add_bendable(
    spec: mujoco.MjSpec, parent: mujoco.MjsBody, part: Bendable, frame: Array
) -> tuple[mujoco.MjsBody, Array]:
    """Add a segment to a body.

    Args:
        spec: The model to extend.
        parent: The body that carries it.
        part: The segment.
        frame: Its base in the parent's frame, (4, 4).

    Returns:
        The body of its last cell, and the segment's end in that body's frame (4, 4).

    Raises:
        BuildError: It does not say how stiff it is.
    """
    backbone = part.backbone
    if not backbone.bending_stiffness:
        raise BuildError(
            f"bendable '{part.name}': expected a bending_stiffness above 0 to simulate it, found "
            f"{backbone.bending_stiffness}"
        )
    cells, cell = backbone.links, backbone.length / backbone.links
    body = parent.add_body(name=f"{part.name}_0")
    _place(body, frame)
    _fill(body, part, 0.0, 0.5 * cell)
    for index in range(1, cells + 1):
        body = body.add_body(
            name=f"{part.name}_{index}", pos=[0.0, 0.0, 0.5 * cell if index == 1 else cell]
        )
        _add_joints(body, part, index)
        _fill(body, part, (index - 0.5) * cell, 0.5 * cell if index == cells else cell)
    _add_drives(spec, part)
    end = np.eye(4)
    end[2, 3] = 0.5 * cell
    return body, end


def bend_joints(part: Bendable) -> list[tuple[str, tuple[float, float]]]:
    """Names of the bending joints, each with the part of its angle towards x and towards y."""
    if part.planar:
        phi = part.limits.phi_min or 0.0
        return [(f"{part.name}_J{k}", (math.cos(phi), math.sin(phi))) for k in _cells(part)]
    towards = (("u", (1.0, 0.0)), ("v", (0.0, 1.0)))
    return [(f"{part.name}_J{k}{name}", way) for k in _cells(part) for name, way in towards]


def slide_joints(part: Bendable) -> list[str]:
    """Names of the joints that lengthen it; none without an axial stiffness."""
    return [f"{part.name}_S{k}" for k in _cells(part)] if part.backbone.axial_stiffness else []


def drive_names(part: Bendable) -> list[str]:
    """Its tendons and actuators: one an actuation element, else the two bending moments."""
    if part.actuation:
        return [f"{part.name}_{drive.type}{k}" for k, drive in enumerate(part.actuation, start=1)]
    return [f"{part.name}_bend"] if part.planar else [f"{part.name}_u", f"{part.name}_v"]


def _cells(part: Bendable) -> range:
    return range(1, part.backbone.links + 1)


def _place(body: mujoco.MjsBody, frame: Array) -> None:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, frame[:3, :3].ravel())
    body.pos, body.quat = frame[:3, 3], quaternion


def _fill(body: mujoco.MjsBody, part: Bendable, begin: float, length: float) -> None:
    """The piece of the segment that lies from a body's origin on along z."""
    backbone, share = part.backbone, length / part.backbone.length
    mass = share * (part.inertial.mass if part.inertial is not None else LEAST_MASS)
    across = mass * (backbone.radius**2 / 4.0 + length**2 / 12.0)
    inertia = np.diag([across, across, mass * backbone.radius**2 / 2.0])
    set_inertia(body, mass, inertia, (0.0, 0.0, 0.5 * length))
    common = {"pos": [0.0, 0.0, 0.5 * length], "mass": 0.0, "contype": 0, "conaffinity": 0}
    body.add_geom(
        name=body.name,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[backbone.radius, 0.5 * length, 0.0],
        group=COLLISION_GROUP,
        **common,
    )
    thin = CORE_SHARE * backbone.radius if backbone.discs else backbone.radius
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        size=[thin, 0.5 * length, 0.0],
        group=VISUAL_GROUP,
        rgba=SILICONE_RGBA,
        **common,
    )
    _add_discs(body, part, begin, length)


def _add_discs(body: mujoco.MjsBody, part: Bendable, begin: float, length: float) -> None:
    discs = part.backbone.discs
    if not discs:
        return
    apart = part.backbone.length / discs
    for place in apart * np.arange(1, discs + 1):
        if begin < place <= begin + length + 1e-12:
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[part.backbone.radius, 0.5 * DISC_SHARE * apart, 0.0],
                pos=[0.0, 0.0, float(place) - begin],
                group=VISUAL_GROUP,
                rgba=DISC_RGBA,
                mass=0.0,
                contype=0,
                conaffinity=0,
            )


def _add_joints(body: mujoco.MjsBody, part: Bendable, index: int) -> None:
    """Slide, twist and bend of one cell, where the segment has them."""
    backbone, per_cell = part.backbone, part.backbone.links / part.backbone.length
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    along = (0.0, 0.0, 1.0)
    found = []
    if backbone.axial_stiffness:
        found.append((f"{part.name}_S{index}", slide, along, backbone.axial_stiffness, 0.0))
    if backbone.torsion_stiffness:
        found.append((f"{part.name}_T{index}", hinge, along, backbone.torsion_stiffness, 0.0))
    count = 1 if part.planar else 2
    for name, (x, y) in bend_joints(part)[(index - 1) * count : index * count]:
        stiffness = backbone.bending_stiffness or 0.0
        found.append((name, hinge, (-y, x, 0.0), stiffness, backbone.damping))
    for name, kind, axis, stiffness, damping in found:
        body.add_joint(
            name=name,
            type=kind,
            axis=axis,
            stiffness=[stiffness * per_cell, 0.0, 0.0],
            damping=[damping * per_cell, 0.0, 0.0],
        )


def _add_drives(spec: mujoco.MjSpec, part: Bendable) -> None:
    """Fixed tendons: l − r (u cos α + v sin α) an element, or the bending angles themselves."""
    ways = [(math.cos(d.angle), math.sin(d.angle)) for d in part.actuation]
    factors = [-drive.radius for drive in part.actuation]
    if not part.actuation:
        phi = part.limits.phi_min or 0.0
        ways = [(math.cos(phi), math.sin(phi))] if part.planar else [(1.0, 0.0), (0.0, 1.0)]
        factors = [1.0] * len(ways)
    names = drive_names(part)
    for index, (name, (x, y), factor) in enumerate(zip(names, ways, factors, strict=True)):
        tendon = spec.add_tendon(name=name)
        for joint, (towards_x, towards_y) in bend_joints(part):
            tendon.wrap_joint(joint, factor * (towards_x * x + towards_y * y))
        for joint in slide_joints(part) if part.actuation else ():
            tendon.wrap_joint(joint, 1.0)
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_TENDON)
        actuator.set_to_motor()
        if part.actuation:
            _set_limits(actuator, part.actuation[index])


def _set_limits(actuator: mujoco.MjsActuator, drive: object) -> None:
    """A chamber pushes with pressure · area; a tendon pulls with its tension."""
    actuator.ctrllimited = True
    if isinstance(drive, Chamber):
        actuator.gainprm[0] = drive.area
        high = 1e9 if drive.pressure_max is None else drive.pressure_max
        actuator.ctrlrange = [drive.pressure_min, max(high, drive.pressure_min + 1.0)]
    else:
        actuator.gainprm[0] = -1.0
        actuator.ctrlrange = [0.0, 1e9]
