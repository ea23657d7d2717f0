"""Repair a robot: wrong units of mass and inertia, missing inertia, limits of mimic joints.

Each repair is a value with the numbers before and after and the reason. Only numbers with a finding
of the inspection are changed, unless a total mass is requested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from softgrasp.checks.bodies import (
    DENSITIES,
    ODD_INERTIA,
    TINY_INERTIA,
    Body,
    inertia_guess,
    inertia_ratio,
    is_possible_inertia,
    link_bodies,
    mass_guess,
)
from softgrasp.checks.robot import RANGE_TOLERANCE, couplings
from softgrasp.description.bendable import Inertial
from softgrasp.description.robot import Link, RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.robot_kinematics import inertia_moments, origin_frame


@dataclass(frozen=True)
class Repair:
    """One corrected value, or group of values, of a robot."""

    part: str
    """Name of the link or joint."""
    field: Literal["mass", "inertia", "limits"]
    before: tuple[float, ...]
    """[kg], (ixx, iyy, izz, ixy, ixz, iyz) [kg·m²] or (lower, upper) [rad or m]; () for none."""
    after: tuple[float, ...]
    reason: str

    @property
    def sentence(self) -> str:
        """Describe the repair in a sentence."""
        what, unit = {
            "mass": ("link", "kg"),
            "inertia": ("link", "kg·m²"),
            "limits": ("joint", "rad or m"),
        }[self.field]
        before, after = (_format(numbers) for numbers in (self.before, self.after))
        return f"{what} '{self.part}': {self.field} {before} → {after} {unit}: {self.reason}"


def repairs(robot: Robot, *, total_mass: float | None = None) -> tuple[Repair, ...]:
    """List the repairs of a robot.

    Masses of links with unusual density are divided by the one round factor that makes all of them
    usual. Their inertia is divided by the same factor where it then fits the geometry, else by
    another one, or replaced by that of a uniform solid of the geometry. Limits of a mimic joint are
    widened to the range that its leader requires. Links without geometry are not changed.

    Args:
        robot: The robot.
        total_mass: Sum to which all masses are scaled afterwards [kg]; by default that of the file
            with corrected units.

    Raises:
        DescriptionError: A mesh cannot be read, or the total mass is not above 0.
    """
    if total_mass is not None and not (math.isfinite(total_mass) and total_mass > 0.0):
        raise DescriptionError(f"total_mass: expected a number above 0, found {total_mass:g}")
    bodies = link_bodies(robot)
    scaled = _masses(bodies)
    factor, why = _mass_factor(scaled, total_mass)
    repair_list: list[Repair] = []
    for body in bodies:
        inertial = robot.link(body.name).inertial
        assert inertial is not None  # of all that link_bodies lists
        mass, reasons = scaled[body.name]
        repair_list += _link_repairs(body, inertial, mass * factor, [*reasons, *why])
    return (*repair_list, *_limit_repairs(robot))


def repaired(robot: Robot, *, total_mass: float | None = None) -> Robot:
    """Apply the ``repairs`` to a robot, and record them in its ``source``.

    Args:
        robot: The robot.
        total_mass: Sum to which all masses are scaled afterwards [kg]; by default that of the file
            with corrected units.

    Raises:
        DescriptionError: A mesh cannot be read, or the total mass is not above 0.
    """
    changes = repairs(robot, total_mass=total_mass)
    if not changes:
        return robot
    remark = f"repaired by softgrasp ({len(changes)} numbers)"
    return robot.replace(
        links=tuple(_link_with(link, changes) for link in robot.links),
        joints=tuple(_joint_with(joint, changes) for joint in robot.joints),
        source=f"{robot.source}; {remark}" if robot.source else remark,
    )


def _masses(bodies: Sequence[Body]) -> dict[str, tuple[float, list[str]]]:
    """Return the mass of each body in corrected units [kg], and the reasons."""
    densities = [body.density for body in bodies if body.density is not None]
    guess, (low, high) = mass_guess(densities, DENSITIES), DENSITIES
    masses: dict[str, tuple[float, list[str]]] = {}
    for body in bodies:
        odd = body.density is not None and not low <= body.density <= high
        if guess is None or not odd or body.density is None:
            masses[body.name] = (body.mass, [])
            continue
        reason = (
            f"divided by {guess.factor:g} ({guess.words}); {body.density:.4g} kg/m³ becomes "
            f"{body.density / guess.factor:.4g} kg/m³"
        )
        masses[body.name] = (body.mass / guess.factor, [reason])
    return masses


def _mass_factor(
    masses: dict[str, tuple[float, list[str]]], total_mass: float | None
) -> tuple[float, list[str]]:
    """Return the factor that corrects the unit of all masses, and the reason."""
    stated_mass = math.fsum(mass for mass, _ in masses.values())
    if total_mass is None or not stated_mass:
        return 1.0, []
    factor = total_mass / stated_mass
    return factor, [
        f"times {factor:.4g} for {total_mass:g} kg of links in all, {stated_mass:.4g} kg before"
    ]


def _link_repairs(body: Body, inertial: Inertial, mass: float, reasons: list[str]) -> list[Repair]:
    repair_list = []
    if mass != inertial.mass:
        repair_list.append(Repair(body.name, "mass", (inertial.mass,), (mass,), "; ".join(reasons)))
    factor = mass / inertial.mass
    rotation = origin_frame(inertial.origin)[:3, :3]
    uniform = None if body.uniform is None else rotation.T @ (factor * body.uniform) @ rotation
    corrected, why = _inertia(body, inertial, factor, uniform)
    if corrected != inertial.inertia and corrected is not None:
        repair_list.append(Repair(body.name, "inertia", inertial.inertia or (), corrected, why))
    return repair_list


def _inertia(
    body: Body, inertial: Inertial, factor: float, uniform: np.ndarray | None
) -> tuple[tuple[float, ...] | None, str]:
    """Six numbers of inertia of a link whose mass was multiplied by a factor, and the reason."""
    from_geometry = None if uniform is None else inertia_moments(uniform)
    if inertial.inertia is None or body.moments is None:
        return from_geometry, "that of a uniform solid of its geometry; none was stated"
    # where the mass was wrong, the ratio is that at the stated mass
    ratio = inertia_ratio(body)
    if not is_possible_inertia(body.moments.tolist()):
        return from_geometry, "that of a uniform solid of its geometry; no body has the stated one"
    if ratio is None or _fits(body, ratio):
        with_mass = tuple(factor * number for number in inertial.inertia)
        return with_mass, f"times {factor:.4g}, as its mass"
    if _fits(body, ratio / factor):
        return inertial.inertia, ""  # it is the inertia of the corrected mass
    guess = inertia_guess(ratio, ODD_INERTIA)
    if guess is not None:
        down = tuple(factor / guess.factor * number for number in inertial.inertia)
        return down, f"divided by {guess.factor:g} ({guess.words})"
    return from_geometry, (
        f"that of a uniform solid of its geometry; the stated one is {ratio:.3g} x that"
    )


def _fits(body: Body, ratio: float) -> bool:
    """Return whether mass within the geometry can have a given ratio to uniform inertia."""
    if body.geometry is None or body.uniform is None:
        return True
    half = ratio * float(np.trace(body.uniform)) / 2.0
    max_inertia = body.mass * body.geometry.farthest(body.center) ** 2
    return ratio >= 1.0 / TINY_INERTIA and half <= max_inertia


def _limit_repairs(robot: Robot) -> list[Repair]:
    repair_list = []
    for one in couplings(robot):
        low, high = one.follower.lower, one.follower.upper
        if one.fraction >= 1.0 - RANGE_TOLERANCE or low is None or high is None:
            continue
        reason = (
            f"'{one.leader.name}' requires these; only {100 * one.fraction:.3g} % of its range was "
            "possible"
        )
        repair_list.append(Repair(one.follower.name, "limits", (low, high), one.requested, reason))
    return repair_list


def _link_with(link: Link, changes: Sequence[Repair]) -> Link:
    changed = {one.field: one.after for one in changes if one.part == link.name}
    if link.inertial is None or not {"mass", "inertia"} & set(changed):
        return link
    mass = changed.get("mass", (link.inertial.mass,))[0]
    inertia = changed.get("inertia", link.inertial.inertia)
    return link.replace(inertial=link.inertial.replace(mass=mass, inertia=inertia))


def _joint_with(joint: RigidJoint, changes: Sequence[Repair]) -> RigidJoint:
    for one in changes:
        if one.field == "limits" and one.part == joint.name:
            return joint.replace(lower=one.after[0], upper=one.after[1])
    return joint


def _format(numbers: Sequence[float]) -> str:
    if not numbers:
        return "none"
    return (
        f"({', '.join(f'{n:.4g}' for n in numbers)})" if len(numbers) > 1 else f"{numbers[0]:.6g}"
    )
