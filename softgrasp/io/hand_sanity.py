"""Units of a hand's file that cannot be meant: angles in degrees, lengths in millimetres."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.actuation import Rates
from softgrasp.description.finger import Phalanx
from softgrasp.description.geometry import (
    Capsule,
    Cuboid,
    Cylinder,
    Ellipsoid,
    Mesh,
    Pose,
    Shape,
    Sphere,
    Superellipsoid,
)
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.errors import SoftgraspWarning
from softgrasp.grasp_synthesis import SynthesizedGrasp
from softgrasp.io.mesh import inside, load_mesh, on_faces
from softgrasp.io.mesh_repair import Hull, hull_of
from softgrasp.mechanics import geometry
from softgrasp.mechanics.geometry import ball_points
from softgrasp.mechanics.hand_kinematics import Link, chain_links
from softgrasp.mechanics.transforms import Array, transform

FULL_ROTATION = math.tau + 1e-3
"""Widest range that a joint usually has [rad]."""
TWO_ROTATIONS = 2.0 * math.tau + 1e-3
"""Widest range that a joint of any robot has: a turn each way [rad]."""
LONGEST_FINGER = 2.0
"""[m]"""
MILLIMETRES = 1e3
"""In a metre."""


class Doubt(NamedTuple):
    """Something that a file says and hardly means."""

    severity: Literal["problem", "remark"]
    expected: str
    actual: str
    advice: str

    @property
    def words(self) -> str:
        """Without the part that it is about."""
        message = f"expected {self.expected}, found {self.actual}"
        return f"{message}; {self.advice}" if self.advice else message


def range_doubt(low: float, high: float) -> Doubt | None:
    """A doubt about the range of a joint that turns [rad]; None where there is none."""
    if high - low <= FULL_ROTATION:
        return None
    degrees = high - low > TWO_ROTATIONS
    return Doubt(
        "problem" if degrees else "remark",
        f"at most a turn, {math.tau:.4g} rad",
        f"{low:.4g} … {high:.4g} rad",
        "are the limits in degrees?" if degrees else "",
    )


def millimetres_doubt(what: str, length: float, longest: float) -> Doubt | None:
    """A doubt about a length [m] that should be a number of millimetres; None where there is none.

    Args:
        what: What is so long, such as ``a longest finger``.
        length: What was found [m].
        longest: What is usual at most [m].
    """
    if length <= longest:
        return None
    meant = length / MILLIMETRES
    shown = f"{meant:.3g} m" if meant >= 1.0 else f"{1e3 * meant:.3g} mm"
    return Doubt(
        "problem",
        f"{what} of at most {longest:g} m",
        f"{length:.4g} m",
        f"is the file in mm? In a thousandth of its lengths it is {shown}",
    )


def hand_doubts(hand: Hand) -> list[str]:
    """What a hand's file hardly means, each in one sentence."""
    rows = [row for finger in hand.fingers for row in finger.phalanges]
    turning = [(row, range_doubt(*row.limits)) for row in rows if row.joint == "revolute"]
    odd = [(row, doubt) for row, doubt in turning if doubt and doubt.severity == "problem"]
    messages = []
    if odd:
        row, doubt = odd[0]
        others = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        messages.append(f"joint '{row.joint_name}'{others}: {doubt.words}")
    long = millimetres_doubt("a longest finger", _longest(hand), LONGEST_FINGER)
    if long is not None:
        messages.append(f"the hand: {long.words}")
    return messages


def _longest(hand: Hand) -> float:
    """Length of the longest finger, or of the longest simple shape on one [m]."""
    lengths = [0.0]
    for finger in hand.fingers:
        lengths.append(math.fsum(float(np.linalg.norm(link.end)) for link in chain_links(finger)))
        for row in finger.phalanges:
            shapes = [row.shape, *(part.shape for part in row.parts)]
            lengths += [
                float(np.ptp(corners(shape), axis=0).max())
                for shape in shapes
                if shape is not None and not isinstance(shape, Mesh)
            ]
    return max(lengths)


def warn_about_units(hand: Hand) -> None:
    """Warn of what a hand's file hardly means.

    Warns:
        SoftgraspWarning: Its angles look like degrees, or its lengths like millimetres.
    """
    for sentence in hand_doubts(hand):
        warnings.warn(sentence, SoftgraspWarning, stacklevel=3)


# --------------------
# A grasp that was found as a preset of a hand whose frame is given.


ALONG_Z = 0.5
"""Mean part of the fingers' forces along z above which upright things are laid across [–]."""


def preset_of(grasp: SynthesizedGrasp) -> GraspPreset:
    """A found grasp as a preset; long things are turned into the hand, z of its frame being up.

    Args:
        grasp: In the hand's frame.
    """
    across = _euler(grasp)
    upwards = grasp.normals and float(np.abs(np.array(grasp.normals)[:, 2]).mean()) > ALONG_Z
    return GraspPreset(
        center=grasp.center,
        rates=Rates(grasp.rates),
        object_euler=across,
        upright_euler=across if upwards else None,
        start=grasp.start,
    )


def _euler(grasp: SynthesizedGrasp) -> tuple[float, float, float]:
    """Turns that lay an object's z axis along the axis of long things."""
    rotation, _ = Rotation.align_vectors(
        np.array([grasp.object_axis.axis]), np.array([[0.0, 0.0, 1.0]])
    )
    about_z, about_y, about_x = np.round(rotation.as_euler("ZYX"), 6).tolist()
    return (about_x, about_y, about_z)


def in_frame(grasp: SynthesizedGrasp, frame: Array) -> SynthesizedGrasp:
    """A grasp that was found in another frame, (4, 4) in the hand's; long things lie upwards."""
    x, y, z = (frame @ [*grasp.center, 1.0])[:3].round(6).tolist()
    axis = frame[:3, :3] @ np.array(grasp.object_axis.axis)
    along = (axis if axis[2] >= 0.0 else -axis).round(9) + 0.0
    normals = (np.array(grasp.normals).reshape(-1, 3) @ frame[:3, :3].T).tolist()
    return replace(
        grasp,
        center=(x, y, z),
        normals=tuple((a, b, c) for a, b, c in normals),
        object_axis=grasp.object_axis._replace(axis=tuple(along.tolist())),
    )


# --------------------
# Points on the shapes of a hand's links, and inside its palm: where fingers meet things.


Placed = tuple[Shape, Pose]


def link_surfaces(hand: Hand) -> dict[str, Array]:
    """Points (n, 3) [m] on what touches of a hand's rigid fingers, in the frames of the links.

    ``palm`` holds those of the palm's shape, its inside too, in the hand's frame.
    """
    points = {}
    for finger in hand.fingers:
        links = chain_links(finger)
        for row, link, body in zip(finger.phalanges, links, finger.has_body, strict=True):
            if body:
                points[finger.body_of(row)] = surface_points(row_shapes(row, link))
    if hand.palm.shape is not None:
        first = [(hand.palm.shape, hand.palm.pose)]
        shapes = first + [(part.shape, part.pose) for part in hand.palm.parts]
        points["palm"] = np.vstack([surface_points(shapes), *map(_inner_points, shapes)])
    return points


def row_shapes(row: Phalanx, link: Link) -> list[Placed]:
    """The shapes of a row, or the capsule along it."""
    shapes = [] if row.shape is None else [(row.shape, row.shape_pose)]
    shapes += [(part.shape, part.pose) for part in row.parts]
    if shapes:
        return shapes
    x, y, z = (link.end / 2).tolist()
    length = float(np.linalg.norm(link.end))
    # whichever way the capsule lies, a quaternion from z to the link
    w = np.array([length + link.end[2], -link.end[1], link.end[0], 0.0])
    quaternion = tuple((w if np.linalg.norm(w) > 0.0 else np.array([0.0, 1.0, 0.0, 0.0])).tolist())
    return [
        (Capsule(radius=row.radius, length=length), Pose(position=(x, y, z), quaternion=quaternion))
    ]


def surface_points(shapes: Sequence[Placed]) -> Array:
    """Points on the convex hulls of shapes, (n, 3) [m]; a mesh's pose is that of its file."""
    return np.vstack([_moved(on_faces(hull), pose) for s, pose in shapes for hull in _hulls(s)])


def _inner_points(placed: Placed) -> Array:
    """A grid inside the convex hulls of a shape, (n, 3) [m]."""
    shape, pose = placed
    return np.vstack([np.empty((0, 3)), *(_moved(inside(hull), pose) for hull in _hulls(shape))])


def _moved(points: Array, pose: Pose) -> Array:
    frame = transform(pose.position, pose.quaternion)
    return np.asarray(points @ frame[:3, :3].T + frame[:3, 3])


def _hulls(shape: Shape) -> list[Hull]:
    """The convex parts of a shape in its own frame; of a mesh, in its file's."""
    if isinstance(shape, Mesh):
        body = load_mesh(shape)
        return [Hull(v + body.center_of_mass, f, 0.0) for v, f in body.parts]
    return [hull_of(corners(shape))]


def corners(shape: Shape) -> Array:
    """Points whose convex hull is a shape, round ones in facets, (n, 3) [m]."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    match shape:
        case Cuboid(size=size):
            return np.asarray(signs * np.array(size) / 2.0)
        case Cylinder(radius=radius, height=height):
            ring = np.stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles], -1)
            up = np.array([0.0, 0.0, height / 2])
            return np.vstack([ring + up, ring - up])
        case Capsule(radius=radius, length=length):
            ball = ball_points(radius, 16, 7)
            up = np.array([0.0, 0.0, length / 2])
            return np.vstack([ball + up, ball - up])
        case Sphere(radius=radius):
            return ball_points(radius, 16, 7)
        case Ellipsoid(radii=radii):
            return np.asarray(ball_points(1.0, 16, 7) * np.array(radii))
        case Superellipsoid(radii=radii, exponents=exponents):
            return np.asarray(geometry.triangles(radii, exponents)[0])
    raise AssertionError(shape)
