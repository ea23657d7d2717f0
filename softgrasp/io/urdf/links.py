"""Links of a URDF robot as phalanges of a hand: collision shapes, masses and inertias.

Masses are used as stated unless they cannot be true: a hand above 50 kg, a moving link without
inertial, or principal moments that no rigid body has. What is assumed instead is noted.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from softgrasp.description.bendable import Inertial
from softgrasp.description.geometry import Mesh, Part, Shape
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.mesh import stamp
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import in_frame, origin_frame, principal_moments
from softgrasp.mechanics.transforms import Array

ALONG = 1e-12
"""Difference below which directions are equal [–]."""
HEAVIEST_HAND = 50.0
"""Mass of a hand above which its masses are replaced [kg]."""
HULL_DENSITY = 1300.0
"""Density of the convex hulls of links that replaces masses [kg/m³]: the hulls of the Barrett hand
have 0.90 l, and the hand weighs 1.2 kg."""
BALL_DENSITY = 1000.0
"""Density of the ball whose inertia is used for a mass without inertia and shape [kg/m³]."""
EMPTY = Inertial(mass=1e-6, inertia=(1e-10, 1e-10, 1e-10, 0.0, 0.0, 0.0))
"""Inertia of an empty link between two joints: engines need moving bodies to have mass."""
ASSUMED = (
    f"no mass in the file; masses are those of the collision shapes at {HULL_DENSITY:g} kg/m³ (a "
    "YAML file with `model:` can set another density)"
)
"""End of the message about links without a mass."""
RATIO = 1e-6
"""Relative tolerance of the triangle inequality of moments of inertia: rounding in files."""


def frame_along(axis: tuple[float, float, float]) -> Array:
    """Smallest rotation that takes z to a direction, (4, 4); about x for -z."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    frame = np.eye(4)
    if z < -1.0 + ALONG:
        frame[:3, :3] = np.diag([1.0, -1.0, -1.0])
    elif z < 1.0 - ALONG:
        # Rodrigues: 1 + [v] + [v]²/(1 + z) with v = ez × axis = (−y, x, 0)
        skew = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
        frame[:3, :3] += skew + skew @ skew / (1.0 + z)
    return frame


def touching(link: Link) -> tuple[LinkShape, ...]:
    """Return the collision shapes of a link, or its visual shapes if it has none."""
    return link.collisions or link.visuals


def parts_of(link: Link, frame: Array) -> tuple[Part, ...]:
    """Collision shapes of a link in another frame.

    Args:
        link: The link.
        frame: The new frame in the link frame, (4, 4).
    """
    back = np.linalg.inv(frame)
    return tuple(
        Part(shape=link_shape(body), pose=pose_of(back @ origin_frame(body.origin)))
        for body in touching(link)
    )


def total_mass(links: Sequence[Link]) -> float:
    """Total mass of all links with inertial [kg]."""
    return math.fsum(link.inertial.mass for link in links if link.inertial is not None)


def believable_density(robot: Robot, density: float | None) -> float | None:
    """Return a density that replaces implausible masses [kg/m³]; None if masses are plausible.

    Args:
        robot: The hand.
        density: Density of the YAML file, if any.

    Warns:
        SoftgraspWarning: The hand would weigh more than 50 kg.
    """
    total = total_mass(robot.links)
    if density is not None or total <= HEAVIEST_HAND:
        return density
    warnings.warn(
        f"robot '{robot.name}': expected a hand of less than {HEAVIEST_HAND:g} kg, found "
        f"{total:,.6g} kg; its masses are replaced by those of its collision shapes at "
        f"{HULL_DENSITY:g} kg/m³ (a YAML file with `model:` can set another density)",
        SoftgraspWarning,
        stacklevel=2,
    )
    return HULL_DENSITY


def body_fields(
    link: Link, frame: Array, density: float | None, notes: list[str]
) -> dict[str, Any]:
    """Mass fields of a phalanx, with a note where it cannot collide.

    Args:
        link: A moving link.
        frame: Frame of the phalanx in the link frame, (4, 4).
        density: Density that replaces a stated mass [kg/m³].
        notes: Messages about assumptions are appended here.
    """
    if link.inertial is not None and not touching(link):
        notes.append(f"link '{link.name}' has a mass but no shape: it cannot collide")
    return mass_fields(link, frame, density, notes)


def mass_fields(
    link: Link, frame: Array, density: float | None, notes: list[str]
) -> dict[str, Any]:
    """Return ``inertial``, ``mass`` or ``density`` of a moving link; arguments as ``body_fields``.

    The same assumptions hold for the links of a hand, and for a robot that is converted.
    """
    shaped = bool(touching(link))
    if density is not None and shaped:
        return {"density": density}
    if link.inertial is None and shaped:
        _note_assumed_density(link, notes)
        return {"density": HULL_DENSITY}
    if link.inertial is None:
        notes.append(f"link '{link.name}' has no body; its mass is set to {1e3 * EMPTY.mass:g} g")
        return {"inertial": EMPTY}
    back = np.asarray(np.linalg.inv(frame), dtype=float)
    if is_possible(link.inertial):
        return {"inertial": in_frame(link.inertial, back)}
    return _without_inertia(link, frame, shaped, notes)


def _note_assumed_density(link: Link, notes: list[str]) -> None:
    """Add a link without a mass to the message about all of them."""
    known = next((index for index, note in enumerate(notes) if note.endswith(ASSUMED)), None)
    if known is None:
        notes.append(f"link '{link.name}': {ASSUMED}")
        return
    names = notes[known].removesuffix(f": {ASSUMED}")
    names = names.replace("link ", "links ", 1) if names.startswith("link ") else names
    notes[known] = f"{names}, '{link.name}': {ASSUMED}"


def is_possible(inertial: Inertial) -> bool:
    """Return whether an inertia is physical: moments positive, none above the sum of the others."""
    if inertial.inertia is None:
        return False
    small, middle, large = principal_moments(inertial).tolist()
    return bool(small > 0.0 and small + middle >= large * (1.0 - RATIO))


def link_shape(part: LinkShape) -> Shape:
    """Return a shape of a link, of which a mesh is stamped and touches by its hull."""
    shape = part.shape
    if isinstance(shape, Mesh):
        return stamp(shape.replace(collision="link"))
    return shape


def _without_inertia(link: Link, frame: Array, shaped: bool, notes: list[str]) -> dict[str, Any]:
    """Mass fields of a link whose inertia is missing or not physical."""
    assert link.inertial is not None
    mass, reason = link.inertial.mass, "states no inertia"
    if link.inertial.inertia is not None:
        moments = ", ".join(f"{moment:.3g}" for moment in principal_moments(link.inertial))
        reason = f"states principal moments of inertia {moments} kg·m², which are not physical"
    if shaped:
        notes.append(f"link '{link.name}' {reason}; its inertia is that of its shape")
        return {"mass": mass}
    radius = (3.0 * mass / (4.0 * math.pi * BALL_DENSITY)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    notes.append(f"link '{link.name}' {reason}; its inertia is that of a ball of water")
    ball = link.inertial.replace(inertia=(moment, moment, moment, 0.0, 0.0, 0.0))
    return {"inertial": in_frame(ball, np.asarray(np.linalg.inv(frame), dtype=float))}
