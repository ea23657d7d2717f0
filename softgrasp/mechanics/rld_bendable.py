"""A bendable segment of a U(C)RDF robot as a soft finger of rigid links.

The frames differ: a bendable's backbone runs along its z axis and bends at φ towards
(cos φ, sin φ, 0); a finger lies along its +x axis and bends towards −z at positive angles. So::

    finger        +x      −z                  +y
    bendable      +z      (cos φ, sin φ, 0)   (−sin φ, cos φ, 0)

where φ is the plane of a planar bendable, and 0 for one that may bend to all sides.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from softgrasp.description.bendable import Bendable, Chamber
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.mechanics.rld import discretise


def finger_from_bendable(bendable: Bendable, *, pressed: Sequence[int] | None = None) -> SoftFinger:
    """A bendable as a uniform beam of rigid links, joints in the middle of its cells.

    The springs are n·EI/length, the dampers n·damping/length (paper 002 has no dynamics; these are
    the midpoint rule of rigid-link discretisation). A chamber at angle α and radius r pushes its
    side out, so that a pressure P bends the segment by the moment −P·area·r·cos(α − φ).

    Args:
        bendable: With a ``bending_stiffness`` and a mass.
        pressed: Numbers of the chambers that are under pressure together, from 0; all where not
            given. Only a planar bendable has a pressure gain.

    Raises:
        DescriptionError: The bending stiffness or the mass is missing, or there is no such chamber.

    Warns:
        SoftgraspWarning: The bendable has what a soft finger has not: it stretches, twists, is
            driven by tendons, bends to all sides under pressure, or has an inertia of its own.
    """
    backbone, name = bendable.backbone, bendable.name
    if not backbone.bending_stiffness:
        raise DescriptionError(
            f"bendable '{name}': expected a number above 0, found {backbone.bending_stiffness}",
            field="backbone.bending_stiffness",
        )
    if bendable.inertial is None:
        raise DescriptionError(
            f"bendable '{name}': expected the mass of the segment, found none",
            field="inertial.mass",
        )
    chambers = _pressed(bendable, pressed)
    lost = _lost(bendable)
    if lost:
        warnings.warn(
            f"bendable '{name}': a soft finger has no {', no '.join(lost)}; left out",
            SoftgraspWarning,
            stacklevel=2,
        )
    phi = bendable.limits.phi_min if bendable.planar else None
    gain = 0.0
    if phi is not None:
        gain = -sum(part.area * part.radius * math.cos(part.angle - phi) for part in chambers)
    return discretise(
        backbone.length,
        backbone.bending_stiffness,
        bendable.inertial.mass,
        joints=backbone.links,
        planar=bendable.planar,
        bending_damping=backbone.damping,
        section=(2.0 * backbone.radius, 2.0 * backbone.radius),
        pressure_moment=gain,
        name=name,
    )


def _pressed(bendable: Bendable, numbers: Sequence[int] | None) -> list[Chamber]:
    chambers = [part for part in bendable.actuation if isinstance(part, Chamber)]
    if numbers is None:
        return chambers
    for number in numbers:
        if number not in range(len(chambers)):
            raise DescriptionError(
                f"bendable '{bendable.name}': expected numbers of its {len(chambers)} chambers, "
                f"counted from 0, found {number}",
                field="pressed",
            )
    return [chambers[number] for number in dict.fromkeys(numbers)]


def _lost(bendable: Bendable) -> list[str]:
    """What the bendable has and a soft finger has not."""
    backbone, kinds = bendable.backbone, {part.type for part in bendable.actuation}
    inertial = bendable.inertial
    has = {
        "elongation (axial_stiffness)": bool(backbone.axial_stiffness),
        "torsion (torsion_stiffness)": bool(backbone.torsion_stiffness),
        "tendons": "tendon" in kinds,
        "pressure that bends it to all sides": "chamber" in kinds and not bendable.planar,
        "inertia of its own": inertial is not None and inertial.inertia is not None,
    }
    return [what for what, there in has.items() if there]
