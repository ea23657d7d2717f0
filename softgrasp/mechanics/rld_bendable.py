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

from softgrasp.description.bendable import Bendable, Chamber, Tendon
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.mechanics.rld import discretise


def finger_from_bendable(bendable: Bendable, *, driven: Sequence[int] | None = None) -> SoftFinger:
    """A bendable as a uniform beam of rigid links, joints in the middle of its cells.

    The springs are n·EI/length, the dampers n·damping/length (paper 002 has no dynamics; these are
    the midpoint rule of rigid-link discretisation). A chamber at angle α and radius r pushes its
    side out, so that a pressure P bends the segment by the moment −P·area·r·cos(α − φ); a tendon
    there pulls, so that a tension T bends it by T·r·cos(α − φ).

    Args:
        bendable: With a ``bending_stiffness`` and a mass.
        driven: Numbers of the chambers or tendons that act together, from 0; all where not given.
            Only a planar bendable gets their gains.

    Raises:
        DescriptionError: The bending stiffness or the mass is missing, or there is no such drive.

    Warns:
        SoftgraspWarning: The bendable has what a soft finger has not: drives that bend it to all
            sides, or an inertia of its own.
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
    actuators = _driven(bendable, driven)
    lost = _lost(bendable)
    if lost:
        warnings.warn(
            f"bendable '{name}': a soft finger has no {', no '.join(lost)}; left out",
            SoftgraspWarning,
            stacklevel=2,
        )
    phi = bendable.limits.phi_min or 0.0
    gain, area, arm, pull = 0.0, 0.0, 0.0, 0.0
    for actuator in actuators if bendable.planar else ():
        lever = actuator.radius * math.cos(actuator.angle - phi)
        if isinstance(actuator, Chamber):
            gain -= actuator.area * lever
            area += actuator.area
        else:
            arm += lever
            pull += 1.0
    return discretise(
        backbone.length,
        backbone.bending_stiffness,
        bendable.inertial.mass,
        joints=backbone.links,
        planar=bendable.planar,
        bending_damping=backbone.damping,
        section=(2.0 * backbone.radius, 2.0 * backbone.radius),
        pressure_moment=gain,
        pressure_area=area,
        tendon_arm=arm,
        tendon_pull=pull,
        torsion_stiffness=backbone.torsion_stiffness or None,
        axial_stiffness=backbone.axial_stiffness or None,
        name=name,
    )


def _driven(bendable: Bendable, numbers: Sequence[int] | None) -> list[Chamber | Tendon]:
    actuators = list(bendable.actuation)
    if numbers is None:
        return actuators
    for number in numbers:
        if number not in range(len(actuators)):
            raise DescriptionError(
                f"bendable '{bendable.name}': expected numbers of its {len(actuators)} chambers or "
                f"tendons, counted from 0, found {number}",
                field="driven",
            )
    return [actuators[number] for number in dict.fromkeys(numbers)]


def _lost(bendable: Bendable) -> list[str]:
    """What the bendable has and a soft finger has not."""
    inertial = bendable.inertial
    has = {
        "drives that bend it to all sides": bool(bendable.actuation) and not bendable.planar,
        "limits of its elongation (eps_min, eps_max)": bendable.limits.eps_min is not None
        and bool(bendable.backbone.axial_stiffness),
        "inertia of its own": inertial is not None and inertial.inertia is not None,
    }
    return [what for what, there in has.items() if there]
