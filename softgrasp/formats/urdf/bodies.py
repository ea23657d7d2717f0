"""Masses of the links of a URDF robot: as stated, or from their shapes where they cannot be."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from softgrasp.description.bendable import Inertial
from softgrasp.description.robot import Link, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.formats.urdf.shapes import touching
from softgrasp.mechanics.robot_kinematics import in_frame, principal_moments
from softgrasp.mechanics.transforms import Array

HEAVIEST_HAND = 50.0
"""Mass of a hand above which none of its masses is believed [kg]."""
HULL_DENSITY = 1300.0
"""Density of the convex hulls of links where masses cannot be believed [kg/m³]: those of the
Barrett hand hold 0.90 l, and the hand weighs 1.2 kg."""
BALL_DENSITY = 1000.0
"""Of the ball whose inertia a mass without inertia and shape gets [kg/m³]."""
EMPTY = Inertial(mass=1e-6, inertia=(1e-10, 1e-10, 1e-10, 0.0, 0.0, 0.0))
"""Of a link without body between two joints: engines need moving bodies to have some mass."""
RATIO = 1e-6
"""Part by which moments of inertia may break the triangle inequality: digits of a file."""


def total_mass(links: Sequence[Link]) -> float:
    """Mass of all links that state one [kg]."""
    return math.fsum(link.inertial.mass for link in links if link.inertial is not None)


def believable_density(robot: Robot, density: float | None) -> float | None:
    """The density that holds instead of stated masses [kg/m³], None where these are believed.

    Args:
        robot: The hand.
        density: What a side file says.

    Warns:
        SoftgraspWarning: The hand would weigh more than 50 kg.
    """
    total = total_mass(robot.links)
    if density is not None or total <= HEAVIEST_HAND:
        return density
    warnings.warn(
        f"robot '{robot.name}': expected a hand of less than {HEAVIEST_HAND:g} kg, found "
        f"{total:,.6g} kg; its masses are not believed: its links weigh what their collision "
        f"shapes weigh at {HULL_DENSITY:g} kg/m³ (density in a side file says otherwise)",
        SoftgraspWarning,
        stacklevel=2,
    )
    return HULL_DENSITY


def body_fields(
    link: Link, frame: Array, density: float | None, *, index: int, carries: bool, notes: list[str]
) -> dict[str, Any]:
    """The fields of a row that say its mass.

    Args:
        link: A moving link.
        frame: The row's frame in the link's own one, (4, 4).
        density: Holds instead of a stated mass [kg/m³].
        index: Number of the link in its robot.
        carries: Whether a joint hangs on it.
        notes: Gets a sentence where something is assumed.

    Raises:
        DescriptionError: It has neither inertial nor a density for its shapes.
    """
    shaped = bool(touching(link))
    if density is not None and shaped:
        return {"density": density}
    if link.inertial is None:
        if shaped or not carries:
            raise DescriptionError(
                "expected an <inertial>, as the link moves, found none; a side file can give a "
                "density [kg/m³] for all links",
                field=f"link '{link.name}'",
                location=("links", index),
            )
        notes.append(f"link '{link.name}' has no body; it weighs {1e3 * EMPTY.mass:g} g")
        return {"inertial": EMPTY}
    if not shaped:
        notes.append(f"link '{link.name}' has a mass but no shape: it touches nothing")
    back = np.asarray(np.linalg.inv(frame), dtype=float)
    if is_possible(link.inertial):
        return {"inertial": in_frame(link.inertial, back)}
    return _without_inertia(link, frame, shaped, notes)


def is_possible(inertial: Inertial) -> bool:
    """Whether some body can have this inertia: moments above 0, none above the two others'."""
    if inertial.inertia is None:
        return False
    small, middle, large = principal_moments(inertial).tolist()
    return bool(small > 0.0 and small + middle >= large * (1.0 - RATIO))


def _without_inertia(link: Link, frame: Array, shaped: bool, notes: list[str]) -> dict[str, Any]:
    """A mass whose inertia no body can have."""
    assert link.inertial is not None
    mass, reason = link.inertial.mass, "states no inertia"
    if link.inertial.inertia is not None:
        moments = ", ".join(f"{moment:.3g}" for moment in principal_moments(link.inertial))
        reason = f"states principal moments of inertia {moments} kg·m², which no body has"
    if shaped:
        notes.append(f"link '{link.name}' {reason}; its inertia is that of its shape")
        return {"mass": mass}
    radius = (3.0 * mass / (4.0 * math.pi * BALL_DENSITY)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    notes.append(f"link '{link.name}' {reason}; its inertia is that of a ball of water")
    ball = link.inertial.replace(inertia=(moment, moment, moment, 0.0, 0.0, 0.0))
    return {"inertial": in_frame(ball, np.asarray(np.linalg.inv(frame), dtype=float))}
