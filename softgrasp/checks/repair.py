"""Repair a robot: units of lengths, angles, masses and inertias, missing inertia, mimic limits.

The repairs are made in this order, each on the robot that the ones before result in, and only where
its result is plausible: masses against the volume of the geometry, inertias against uniform solids
and m·R². Everything else is left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from softgrasp.checks.bodies import (
    DENSITIES,
    TINY_INERTIA,
    Body,
    inertia_guess,
    inertia_ratio,
    is_possible_inertia,
    link_bodies,
    mass_guess,
)
from softgrasp.checks.robot import RANGE_TOLERANCE, USUAL_MASS, couplings, odd_limits
from softgrasp.description.bendable import Inertial
from softgrasp.description.robot import Link, RigidJoint, Robot
from softgrasp.io.urdf.length_unit import in_metres, unit_doubt
from softgrasp.mechanics.robot_kinematics import inertia_moments, origin_frame

NEGLIGIBLE = 1e-9
"""Products of inertia over the largest moment below which they are rounding errors [–]."""
FIELDS = {
    "lengths": ("robot", "m"),
    "mass": ("link", "kg"),
    "inertia": ("link", "kg·m²"),
    "limits": ("joint", "rad or m"),
    "offset": ("joint", "rad"),
}
"""Kind of part and unit of each repaired field."""


@dataclass(frozen=True)
class Repair:
    """One corrected value, or group of values, of a robot."""

    part: str
    """Name of the link or joint, or of the robot for its lengths."""
    field: Literal["lengths", "mass", "inertia", "limits", "offset"]
    before: tuple[float, ...]
    """Largest length [m], mass [kg], (ixx, iyy, izz, ixy, ixz, iyz) [kg·m²], (lower, upper) [rad or
    m] or offset of a mimic joint [rad]; () for none."""
    after: tuple[float, ...]
    reason: str

    @property
    def sentence(self) -> str:
        """Describe the repair in a sentence."""
        what, unit = FIELDS[self.field]
        before, after = (_format(numbers) for numbers in (self.before, self.after))
        return f"{what} '{self.part}': {self.field} {before} → {after} {unit}: {self.reason}"


def repairs(robot: Robot) -> tuple[Repair, ...]:
    """List the repairs of a robot, in the order in which they are made.

    Lengths in millimetres are converted, of the whole file or of its meshes; limits in degrees or
    millimetres are converted. Masses of links with unusual density are divided by the one round
    factor that makes all of them usual. Their inertia is divided by the same factor where it then
    fits the geometry better, or by another one, or replaced by that of a uniform solid of the
    geometry. Limits of a mimic joint are widened to the range that its leader requires. Links
    without geometry are changed only where all others have the same wrong unit of mass.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    return _repair(robot)[1]


def repair_robot(robot: Robot) -> Robot:
    """Apply the ``repairs`` to a robot, and record them in its ``source``.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    result, changes = _repair(robot)
    if not changes:
        return robot
    remark = f"repaired by softgrasp ({len(changes)} numbers)"
    return result.replace(source=f"{robot.source}; {remark}" if robot.source else remark)


def _repair(robot: Robot) -> tuple[Robot, tuple[Repair, ...]]:
    """Make the repairs one kind after the other."""
    changes: list[Repair] = []
    if (doubt := unit_doubt(robot)) is not None:
        before, after = doubt.size
        changes.append(Repair(robot.name, "lengths", (before,), (after,), doubt.cause))
        robot = in_metres(robot, doubt.scale)
    for repairs_of in (_unit_repairs, _mass_repairs, _limit_repairs):
        made = repairs_of(robot)
        changes += made
        robot = robot.replace(
            links=tuple(_link_with(link, made) for link in robot.links),
            joints=tuple(_joint_with(joint, made) for joint in robot.joints),
        )
    return robot, tuple(changes)


# Units of limits
def _unit_repairs(robot: Robot) -> list[Repair]:
    """Convert limits in degrees and millimetres, and the offsets of mimic joints beside them."""
    made = []
    for joint, unit in odd_limits(robot).items():
        low, high = joint.lower, joint.upper
        assert low is not None  # of all that odd_limits returns
        assert high is not None
        after = (_round(low / unit.factor), _round(high / unit.factor))
        made.append(Repair(joint.name, "limits", (low, high), after, unit.words))
        mimic = joint.mimic
        if mimic is not None and joint.type == "revolute" and abs(mimic.offset) > math.tau:
            offset = (_round(mimic.offset / unit.factor),)
            made.append(Repair(joint.name, "offset", (mimic.offset,), offset, unit.words))
    return made


# Masses and inertias
def _mass_repairs(robot: Robot) -> list[Repair]:
    bodies, made = link_bodies(robot), list[Repair]()
    scaled = _masses(bodies)
    for body in bodies:
        inertial = robot.link(body.name).inertial
        assert inertial is not None  # of all that link_bodies lists
        made += _link_repairs(body, inertial, *scaled[body.name])
    return made


def _masses(bodies: Sequence[Body]) -> dict[str, tuple[float, str]]:
    """Return the mass of each body in corrected units [kg], and the reason."""
    densities = [body.density for body in bodies if body.density is not None]
    guess, (low, high) = mass_guess(densities), DENSITIES
    odd = [density for density in densities if not low <= density <= high]
    masses: dict[str, tuple[float, str]] = {body.name: (body.mass, "") for body in bodies}
    # a light link alone is rather a placeholder than a wrong unit
    if guess is None or (guess.factor < 1.0 and 2 * len(odd) < len(densities)):
        return masses
    if math.fsum(body.mass for body in bodies) / guess.factor < USUAL_MASS[0]:
        return masses  # the lengths are wrong rather than the masses
    for body in bodies:
        density, why = body.density, ", as all others"
        if density is not None:
            why = f"; {density:.4g} kg/m³ becomes {density / guess.factor:.4g} kg/m³"
        if len(odd) == len(densities) if density is None else not low <= density <= high:
            reason = f"divided by {guess.factor:g} ({guess.words}){why}"
            masses[body.name] = (_round(body.mass / guess.factor), reason)
    return masses


def _link_repairs(body: Body, inertial: Inertial, mass: float, reason: str) -> list[Repair]:
    """Return the repairs of a link with a mass in the right unit [kg]."""
    made = []
    if mass != inertial.mass:
        made.append(Repair(body.name, "mass", (inertial.mass,), (mass,), reason))
    unit, rotation = mass / inertial.mass, origin_frame(inertial.origin)[:3, :3]
    plausible = body.density is not None and (DENSITIES[0] <= body.density * unit <= DENSITIES[1])
    uniform = None
    if body.uniform is not None and plausible:
        moments = inertia_moments(rotation.T @ (unit * body.uniform) @ rotation)
        uniform = tuple(
            0.0 if abs(moment) < NEGLIGIBLE * max(moments) else _round(moment) for moment in moments
        )
    after, why = _inertia(body, inertial, unit, uniform)
    if after is not None and not np.array_equal(after, inertial.inertia or ()):
        made.append(Repair(body.name, "inertia", inertial.inertia or (), after, why))
    return made


def _inertia(
    body: Body, inertial: Inertial, unit: float, uniform: tuple[float, ...] | None
) -> tuple[tuple[float, ...] | None, str]:
    """Return the six numbers of inertia of a link, and the reason.

    ``unit`` is the factor of its mass to the right unit [–], ``uniform`` the inertia of a uniform
    solid of the corrected mass where that is plausible.
    """
    stated, ratio = inertial.inertia, inertia_ratio(body)
    if stated is None or body.moments is None or not is_possible_inertia(body.moments.tolist()):
        what = "none was stated" if stated is None else "no body has the stated one"
        return uniform or stated, f"that of a uniform solid of its geometry; {what}"
    # the stated inertia is that of the stated mass, or already that of the corrected one
    with_mass = unit != 1.0 and (
        ratio is None or abs(math.log(ratio)) <= abs(math.log(ratio / unit))
    )
    if ratio is not None and not with_mass:
        ratio /= unit
    change = unit if with_mass else 1.0
    if ratio is None or uniform is None or _fits(body, ratio):
        return _times(stated, change), f"times {change:.4g}, as its mass"
    guess = inertia_guess(ratio)
    if guess is not None:
        down = _times(stated, change / guess.factor)
        return down, f"divided by {guess.factor:g} ({guess.words})"
    return uniform, f"that of a uniform solid of its geometry; the stated one is {ratio:.3g} x that"


def _times(numbers: tuple[float, ...], factor: float) -> tuple[float, ...]:
    return numbers if factor == 1.0 else tuple(factor * number for number in numbers)


def _round(value: float) -> float:
    """Drop the noise of binary fractions, which a file would show."""
    return float(f"{value:.12g}")


def _fits(body: Body, ratio: float) -> bool:
    """Return whether mass within the geometry can have a given ratio to uniform inertia."""
    if body.geometry is None or body.uniform is None:
        return True
    half = ratio * float(np.trace(body.uniform)) / 2.0
    max_inertia = body.mass * body.geometry.farthest(body.center) ** 2
    return ratio >= 1.0 / TINY_INERTIA and half <= max_inertia


def _limit_repairs(robot: Robot) -> list[Repair]:
    repair_list = []
    for coupling in couplings(robot):
        low, high = coupling.follower.lower, coupling.follower.upper
        if coupling.fraction >= 1.0 - RANGE_TOLERANCE or low is None or high is None:
            continue
        reason = (
            f"'{coupling.leader.name}' requires these; only {100 * coupling.fraction:.3g} % of "
            "its range was possible"
        )
        name, after = coupling.follower.name, coupling.requested
        repair_list.append(Repair(name, "limits", (low, high), after, reason))
    return repair_list


def _link_with(link: Link, changes: Sequence[Repair]) -> Link:
    changed = {change.field: change.after for change in changes if change.part == link.name}
    if link.inertial is None or not {"mass", "inertia"} & set(changed):
        return link
    mass = changed.get("mass", (link.inertial.mass,))[0]
    inertia = changed.get("inertia", link.inertial.inertia)
    return link.replace(inertial=link.inertial.replace(mass=mass, inertia=inertia))


def _joint_with(joint: RigidJoint, changes: Sequence[Repair]) -> RigidJoint:
    for change in changes:
        if change.field == "limits" and change.part == joint.name:
            joint = joint.replace(lower=change.after[0], upper=change.after[1])
        if change.field == "offset" and change.part == joint.name and joint.mimic is not None:
            joint = joint.replace(mimic=joint.mimic.replace(offset=change.after[0]))
    return joint


def _format(numbers: Sequence[float]) -> str:
    if len(numbers) > 1:
        return f"({', '.join(f'{number:.4g}' for number in numbers)})"
    return f"{numbers[0]:.6g}" if numbers else "none"
