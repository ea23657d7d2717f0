"""Conversion of rigid fingers between the standard and the modified Denavit–Hartenberg convention.

``standard`` translates along the joint axis first and then along the link, ``modified`` in the
other order. With the rows split between the two steps, a and alpha move one row outwards while d
and theta stay; the remainder goes into the tip (modified) or into the base (standard):

    base · [Rz(θ₁) Tz(d₁) Tx(a₁) Rx(α₁)] · … = base · [Rz(θ₁) Tz(d₁)] · [Tx(a₁) Rx(α₁) …] · …
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.finger import ZERO_LENGTH, Convention, Finger, Phalanx
from softgrasp.description.geometry import Capsule, Pose, Sphere
from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError, SoftgraspWarning, either
from softgrasp.mechanics import hand_kinematics
from softgrasp.mechanics.robot_kinematics import origin_frame, origin_of
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotate_about,
    transform,
    translate,
)
from softgrasp.model.hand import link_capsule, palm_points

CONVENTIONS: tuple[Convention, ...] = ("standard", "modified")
"""Conventions that can be converted into each other."""
SAME = 1e-12
"""Distance below which points are equal [m]."""


def with_convention(hand: Hand, convention: Convention) -> Hand:
    """Convert the phalanges of all rigid fingers of a hand to one convention.

    Bodies, joint axes and fingertips are the same for all joint variables. The frame of a link with
    an offset d along its joint axis moves by d along that axis, and its body becomes a capsule with
    a pose. The twist alpha of the last standard row, which only rotates the frame behind the
    fingertip, is lost.

    Args:
        hand: The hand; fingers in the convention, and soft fingers, are unchanged.
        convention: ``standard`` or ``modified``.

    Raises:
        DescriptionError: Unknown convention, a finger in another one, or a row without a body
            that would need one.

    Warns:
        SoftgraspWarning: An automatic palm changes, as the frames that it encloses move.
    """
    if convention not in CONVENTIONS:
        raise DescriptionError(
            f"expected {either(CONVENTIONS)}, found '{convention}'", field="convention"
        )
    fingers = tuple(_convert(finger, convention) for finger in hand.fingers)
    if fingers == hand.fingers:
        return hand
    converted = hand.replace(fingers=fingers)
    if hand.palm.kind == "auto" and _palm_moved(hand, converted):
        warnings.warn(
            f"hand '{hand.name}': its automatic palm encloses the frames of the first links, which "
            f"move in convention '{convention}'; describe its shape to keep it",
            SoftgraspWarning,
            stacklevel=2,
        )
    return converted


def _convert(finger: Finger, convention: Convention) -> Finger:
    """Convert one finger."""
    if finger.convention == convention:
        return finger
    if finger.convention not in CONVENTIONS:
        raise DescriptionError(
            f"finger '{finger.name}': expected Denavit-Hartenberg rows, {either(CONVENTIONS)}, "
            f"found '{finger.convention}'"
        )
    return _modified(finger) if convention == "modified" else _standard(finger)


def _modified(finger: Finger) -> Finger:
    """Convert a standard finger to the modified convention."""
    rows = finger.phalanges
    before = [(0.0, 0.0), *((row.a, row.alpha) for row in rows[:-1])]
    moved = [row.replace(a=a, alpha=alpha) for row, (a, alpha) in zip(rows, before, strict=True)]
    skeleton = finger.replace(
        convention="modified",
        phalanges=tuple(_bare(row) for row in moved),
        tip=(rows[-1].a, 0.0, 0.0),
    )
    return _with_bodies(skeleton, finger, [translate(z=-row.d) for row in rows])


def _standard(finger: Finger) -> Finger:
    """Convert a modified finger to the standard convention."""
    rows, (x, y, z) = finger.phalanges, finger.tip
    along, angle = (x, 0.0) if y == 0.0 else (math.hypot(x, y), math.atan2(y, x))
    behind = [*((row.a, row.alpha) for row in rows[1:]), (along, 0.0)]
    moved = [row.replace(a=a, alpha=alpha) for row, (a, alpha) in zip(rows, behind, strict=True)]
    moved[-1] = moved[-1].replace(d=rows[-1].d + z, theta=rows[-1].theta + angle)
    placed = finger.base
    if rows[0].a or rows[0].alpha:
        base = transform(placed.position, placed.quaternion)
        placed = _pose(base @ translate(x=rows[0].a) @ rotate_about("x", rows[0].alpha))
    skeleton = finger.replace(
        base=placed,
        convention="standard",
        phalanges=tuple(_bare(row) for row in moved),
        tip=(0.0, 0.0, 0.0),
    )
    old_in_new = [translate(z=row.d) for row in rows]
    old_in_new[-1] = rotate_about("z", -angle) @ old_in_new[-1]
    return _with_bodies(skeleton, finger, old_in_new)


def _bare(row: Phalanx) -> Phalanx:
    """Return a phalanx with its new lengths and a valid placeholder body."""
    ball = Sphere(radius=row.radius)
    return row.replace(shape=ball, mass=1.0, density=None, inertial=None, parts=())


def _with_bodies(skeleton: Finger, before: Finger, old_in_new: list[Array]) -> Finger:
    """Transfer the bodies of the old phalanges, whose frames in the new ones are given."""
    new = zip(skeleton.phalanges, skeleton.link_ends, old_in_new, strict=True)
    rows = [_with_body(row, end, before, i, frame) for i, (row, end, frame) in enumerate(new)]
    return skeleton.replace(phalanges=tuple(rows))


def _with_body(row: Phalanx, end: Vec3, before: Finger, index: int, frame: Array) -> Phalanx:
    """Transfer the body of one phalanx."""
    old, old_end = before.phalanges[index], before.link_ends[index]
    row = row.replace(
        shape=None,
        shape_pose=Pose(),
        mass=old.mass,
        density=old.density,
        inertial=old.inertial,
        parts=old.parts,
    )
    row = _with_parts(row, old, frame)
    if not before.has_body[index]:
        if math.hypot(*end) > ZERO_LENGTH:
            raise DescriptionError(
                f"finger '{before.name}': row '{row.name}' has no body, and would need one of "
                f"{1e3 * math.hypot(*end):g} mm in the other convention, from the d of a row: "
                "expected d = 0 next to rows without a body; describe a shape of the row"
            )
        return row
    if old.shape is not None and _is_along(old, end, frame):
        return row  # equal to the default capsule of the row
    if old.shape is not None:
        return row.replace(shape=old.shape, shape_pose=_move(old.shape_pose, frame))
    start, tip = frame[:3, 3], (frame @ [*old_end, 1.0])[:3]
    if np.abs(start).max() < SAME and np.abs(tip - end).max() < SAME:
        return row
    if old.inertial is not None or old.parts:
        return row
    shape, pose = link_capsule(old, hand_kinematics.Link(np.eye(4), np.array(old_end)))
    return row.replace(shape=shape, shape_pose=_move(pose, frame))


def _with_parts(row: Phalanx, old: Phalanx, frame: Array) -> Phalanx:
    """Transfer further shapes and a described inertia of one phalanx."""
    if np.array_equal(frame, np.eye(4)):
        return row
    if old.parts:
        row = row.replace(parts=tuple(p.replace(pose=_move(p.pose, frame)) for p in old.parts))
    if old.inertial is not None:
        origin = origin_of(frame @ origin_frame(old.inertial.origin))
        row = row.replace(inertial=old.inertial.replace(origin=origin))
    return row


def _is_along(old: Phalanx, end: Vec3, frame: Array) -> bool:
    """Return whether the described capsule of a phalanx equals its default capsule."""
    if not isinstance(old.shape, Capsule) or old.shape.radius != old.radius:
        return False
    shape_frame = frame @ transform(old.shape_pose.position, old.shape_pose.quaternion)
    half = shape_frame[:3, 2] * old.shape.length / 2.0
    ends = np.array([shape_frame[:3, 3] - half, shape_frame[:3, 3] + half])
    expected_ends = np.array([(0.0, 0.0, 0.0), end])
    return bool(
        min(np.abs(ends - expected_ends).max(), np.abs(ends[::-1] - expected_ends).max()) < SAME
    )


def _move(pose: Pose, frame: Array) -> Pose:
    """Transform a pose by a frame."""
    if np.array_equal(frame, np.eye(4)):
        return pose  # avoids rounding
    return _pose(frame @ transform(pose.position, pose.quaternion))


def _pose(frame: Array) -> Pose:
    """Convert a frame to a pose."""
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))


def _palm_moved(hand: Hand, converted: Hand) -> bool:
    """Whether the automatic palm differs after the conversion."""
    before, now = palm_points(hand), palm_points(converted)
    if before is None or now is None:
        return (before is None) != (now is None)
    reach = np.abs(np.concatenate([before.min(0) - now.min(0), before.max(0) - now.max(0)]))
    return bool(reach.max() > SAME)
