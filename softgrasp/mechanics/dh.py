"""Chains of links, after Denavit and Hartenberg or with placed joints: forward kinematics.

A row's joint turns about (or slides along) z of its link frame; links are placed so that
the joint variable is zero where the row's ``theta`` and ``d`` hold alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.finger import Convention, Finger, Phalanx
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array, rotate_about, transform, translate


class Link(NamedTuple):
    """A link of a chain at joint variable zero."""

    origin: Array
    """Link frame in the frame of the link before (the finger's base for the first), (4, 4)."""
    end: Array
    """End of the link in its own frame [m], (3,)."""


def row_transform(a: float, alpha: float, d: float, theta: float, convention: Convention) -> Array:
    """Transform of one Denavit–Hartenberg row, (4, 4).

    ``standard``: Rz(theta)·Tz(d)·Tx(a)·Rx(alpha) (Siciliano et al. 2009, eq 2.52);
    ``modified``: Rx(alpha)·Tx(a)·Rz(theta)·Tz(d) (Craig 2005, eq 3.6). Lengths [m], angles [rad].
    """
    about_z = rotate_about("z", theta) @ translate(z=d)
    along_x = translate(x=a) @ rotate_about("x", alpha)
    if convention == "standard":
        return about_z @ along_x
    return rotate_about("x", alpha) @ translate(x=a) @ about_z


def chain_links(finger: Finger) -> tuple[Link, ...]:
    """The links of a finger at joint variables zero, one a row."""
    links = []
    carry = transform(finger.base.position, finger.base.quaternion)
    for row, end in zip(finger.phalanges, finger.link_ends, strict=True):
        if finger.convention == "placed":
            origin = carry @ transform(row.origin.position, row.origin.quaternion)
            carry = np.eye(4)
        elif finger.convention == "standard":
            origin = carry @ rotate_about("z", row.theta)
            carry = translate(x=row.a, z=row.d) @ rotate_about("x", row.alpha)
        else:
            origin = carry @ row_transform(row.a, row.alpha, row.d, row.theta, "modified")
            carry = np.eye(4)
        links.append(Link(origin, np.array(end)))
    return tuple(links)


def forward_kinematics(finger: Finger, joints: Sequence[float]) -> Array:
    """Frames of a finger in the frame that it stands in: the hand's, or that of a link.

    Args:
        finger: The finger.
        joints: Joint variables, one a row [rad or m].

    Returns:
        Shape (n + 1, 4, 4): the base, then the frame behind each row; ``fingertip`` ends there.

    Raises:
        DescriptionError: There are not as many joint variables as rows.
    """
    if len(joints) != len(finger.phalanges):
        raise DescriptionError(
            f"finger '{finger.name}': expected {len(finger.phalanges)} joint variables, one a row, "
            f"found {len(joints)}"
        )
    frames = [transform(finger.base.position, finger.base.quaternion)]
    for row, value in zip(finger.phalanges, joints, strict=True):
        angle, slide = _motion(row, value)
        frames.append(frames[-1] @ _row_step(row, angle, slide, finger.convention))
    return np.array(frames)


def fingertip(finger: Finger, joints: Sequence[float]) -> Array:
    """Position of the fingertip in the frame that the finger stands in [m], (3,)."""
    last = forward_kinematics(finger, joints)[-1]
    return np.asarray((last @ [*finger.tip, 1.0])[:3])


def _row_step(row: Phalanx, angle: float, slide: float, convention: Convention) -> Array:
    if convention == "placed":
        origin = transform(row.origin.position, row.origin.quaternion)
        return np.asarray(origin @ rotate_about("z", angle) @ translate(z=slide))
    return row_transform(row.a, row.alpha, row.d + slide, row.theta + angle, convention)


def _motion(row: Phalanx, value: float) -> tuple[float, float]:
    return (value, 0.0) if row.joint == "revolute" else (0.0, value)
