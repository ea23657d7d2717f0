"""The end link of a bendable as a part of the soft finger's last link."""

from __future__ import annotations

import math
import warnings

import numpy as np

from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.description.robot import Link, LinkShape
from softgrasp.description.soft_finger import SoftFinger, SoftLink
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import Array


def with_tip(finger: SoftFinger, link: Link, axis: Array) -> SoftFinger:
    """The finger with its end link's mass, and as long as what touches of it.

    A soft link is a box about its centre of mass: the end link's own centre gives way to that of
    the longer box.

    Args:
        finger: Made from the bendable.
        link: What hangs at its end.
        axis: Direction of the finger in the link's frame, (3,).

    Warns:
        SoftgraspWarning: The link touches by a mesh, which is left out.
    """
    last, end = finger.links[-1], finger.tip[0]
    begin = last.center[0] - 0.5 * last.size[0]
    end += max([0.0, *(_reach(part, axis, link.name) for part in link.collisions)])
    longer = SoftLink(
        center=(0.5 * (begin + end), 0.0, 0.0),
        mass=last.mass + (link.inertial.mass if link.inertial is not None else 0.0),
        size=(end - begin, *last.size[1:]),
    )
    return finger.replace(links=(*finger.links[:-1], longer), tip=(end, 0.0, 0.0))


def _reach(part: LinkShape, axis: Array, name: str) -> float:
    """How far a shape reaches along a direction from the link's frame [m]."""
    frame = origin_frame(part.origin)
    along = frame[:3, :3].T @ axis
    return float(frame[:3, 3] @ axis) + _half(part.shape, along, name)


def _half(shape: object, along: Array, name: str) -> float:
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Cuboid):
        return float(np.abs(along) @ shape.size) / 2.0
    aside = math.hypot(*along[:2])
    if isinstance(shape, Cylinder):
        return float(abs(along[2])) * shape.height / 2.0 + aside * shape.radius
    if isinstance(shape, Capsule):
        return float(abs(along[2])) * shape.length / 2.0 + shape.radius
    assert isinstance(shape, Mesh)
    warnings.warn(
        f"link '{name}': expected a primitive shape at the end of a soft finger, found a mesh; it "
        "is left out",
        SoftgraspWarning,
        stacklevel=2,
    )
    return 0.0
