"""A bendable segment → a chain of rigid cells with springs, and the tendons that drive it.

Joints stand in the middle of their cells, so that the end of a chain of n is off by θ²/(12 n²) of
the length under a constant moment; both bending axes go through one point. Turns about different
axes do not commute: every other cell takes its joints in the opposite order, and what a pair of
cells turns too far about the backbone, or shifts aside, cancels to second order as well.
"""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from softgrasp.build.bendable_drives import add_segment_actuators
from softgrasp.build.bendable_inertia import cell_inertias
from softgrasp.build.bendable_names import bend_joints
from softgrasp.build.shapes import COLLISION_GROUP, VISUAL_GROUP, set_inertia
from softgrasp.build.visual import SILICONE_RGBA, Rgba
from softgrasp.description.bendable import Bendable
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics.transforms import Array

CORE_FRACTION = 0.35
"""Radius of the drawn backbone over that of the segment."""
DISC_FRACTION = 0.12
"""Thickness of a drawn disc over the distance of two."""
MIN_MASS = 1e-6
"""Mass of a segment that has none of its own [kg]: MuJoCo needs moving bodies to have some."""
LOCKED = 1e-9
"""Width of the range of a slide whose limits coincide [m]: MuJoCo refuses an empty one."""
DISC_RGBA: Rgba = (0.42, 0.49, 0.58, 1.0)


def add_bendable(
    spec: mujoco.MjSpec,
    parent: mujoco.MjsBody,
    part: Bendable,
    frame: Array,
    *,
    driven: bool = True,
) -> tuple[mujoco.MjsBody, Array]:
    """Add a segment to a body.

    Args:
        spec: The model to extend.
        parent: The body that carries it.
        part: The segment.
        frame: Its base in the parent's frame, (4, 4).
        driven: Whether to add its drives, too; their order is that of the actuators.

    Returns:
        The body of its last cell, and the segment's end in that body's frame (4, 4).

    Raises:
        BuildError: It does not say how stiff it is, or no body has the inertia that it asks for.

    Warns:
        SoftgraspWarning: It has no mass.
    """
    _refuse_limp(part)
    backbone = part.backbone
    cells, cell = backbone.links, backbone.length / backbone.links
    lengths = [0.5 * cell, *[cell] * (cells - 1), 0.5 * cell]
    inertias = cell_inertias(part, _mass(part), lengths)
    body = parent.add_body(name=f"{part.name}_0")
    _set_pose(body, frame)
    _fill(body, part, 0.0, lengths[0], inertias[0])
    for index in range(1, cells + 1):
        body = body.add_body(name=f"{part.name}_{index}", pos=[0.0, 0.0, lengths[index - 1]])
        _add_joints(body, part, index)
        _fill(body, part, (index - 0.5) * cell, lengths[index], inertias[index])
    if driven:
        add_segment_actuators(spec, part)
    end = np.eye(4)
    end[2, 3] = lengths[-1]
    return body, end


def _refuse_limp(part: Bendable) -> None:
    """Refuse a segment that nothing straightens, lengthens back or turns back."""
    backbone = part.backbone
    if not backbone.bending_stiffness:
        raise BuildError(
            f"bendable '{part.name}': expected a bending_stiffness above 0 to simulate it, found "
            f"{backbone.bending_stiffness}"
        )
    for name in ("axial_stiffness", "torsion_stiffness"):
        if getattr(backbone, name) == 0.0:
            raise BuildError(
                f"bendable '{part.name}': expected {name} above 0, or none for a segment that does "
                "not give way, found 0"
            )


def _mass(part: Bendable) -> float:
    if part.inertial is not None:
        return part.inertial.mass
    warnings.warn(
        f"bendable '{part.name}': expected a mass, found none; it gets {MIN_MASS:g} kg",
        SoftgraspWarning,
        stacklevel=2,
    )
    return MIN_MASS


def _set_pose(body: mujoco.MjsBody, frame: Array) -> None:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, frame[:3, :3].ravel())
    body.pos, body.quat = frame[:3, 3], quaternion


def _fill(
    body: mujoco.MjsBody, part: Bendable, begin: float, length: float, inertia: tuple[float, Array]
) -> None:
    """The piece of the segment that lies from a body's origin on along z."""
    backbone = part.backbone
    set_inertia(body, *inertia, (0.0, 0.0, 0.5 * length))
    common = {"pos": [0.0, 0.0, 0.5 * length], "mass": 0.0, "contype": 0, "conaffinity": 0}
    body.add_geom(
        name=body.name,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[backbone.radius, 0.5 * length, 0.0],
        group=COLLISION_GROUP,
        **common,
    )
    thin = CORE_FRACTION * backbone.radius if backbone.discs else backbone.radius
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
    for position in apart * np.arange(1, discs + 1):
        if begin < position <= begin + length + 1e-12:
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[part.backbone.radius, 0.5 * DISC_FRACTION * apart, 0.0],
                pos=[0.0, 0.0, float(position) - begin],
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
    joints = []
    for letter, kind, stiffness, damping in (
        ("S", slide, backbone.axial_stiffness, backbone.axial_damping),
        ("T", hinge, backbone.torsion_stiffness, backbone.torsion_damping),
    ):
        if stiffness:
            damping_value = backbone.damping_of(stiffness) if damping is None else damping
            joints.append((f"{part.name}_{letter}{index}", kind, along, stiffness, damping_value))
    count, bending = 1 if part.planar else 2, backbone.bending_stiffness or 0.0
    for name, (x, y) in bend_joints(part)[(index - 1) * count : index * count]:
        joints.append((name, hinge, (-y, x, 0.0), bending, backbone.damping_of(bending)))
    for name, kind, axis, stiffness, damping in joints[:: 1 if index % 2 else -1]:
        joint = body.add_joint(
            name=name,
            type=kind,
            axis=axis,
            stiffness=[stiffness * per_cell, 0.0, 0.0],
            damping=[damping * per_cell, 0.0, 0.0],
        )
        if kind == slide and part.limits.eps_min is not None and part.limits.eps_max is not None:
            low, high = part.limits.eps_min / per_cell, part.limits.eps_max / per_cell
            joint.limited, joint.range = True, [low, max(high, low + LOCKED)]
