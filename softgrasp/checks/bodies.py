"""Mass, density and inertia of rigid bodies, compared with their geometry, for hands and robots.

A ``Body`` has the stated mass properties and the geometry. Densities must be those of solid matter,
principal moments must satisfy the triangle inequality and m·R², and a common factor over all links
indicates which unit is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from softgrasp.checks.report import Check, Finding, Severity, finding, format_count, range_text
from softgrasp.description.bendable import Inertial
from softgrasp.description.geometry import Mesh
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.mesh import mesh_solid
from softgrasp.io.urdf.links import touching
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import Array
from softgrasp.model.shapes import extent, inertia_tensor, mass_properties

DENSITIES = (100.0, 20_000.0)
"""Densities from hollow plastic to tungsten [kg/m³]; a link beyond has a wrong mass or geometry."""
UNEQUAL = 1e-3
"""Fraction by which the largest principal moment may exceed the sum of the others [–]; files have
rounded numbers."""
ODD_INERTIA = 3.0
"""Ratio to the inertia of a uniform solid, or its inverse, above which there is a remark [–]."""
MILLIMETRES = 1e3
"""Millimetres in a metre."""
TINY_INERTIA = 50.0
"""Ratio of the inertia of a uniform solid to the stated one above which that is wrong [–]."""
COMMON_DENSITY = 1000.0
"""Density that programs assume without a material, near that of plastics [kg/m³]."""
MASS_UNIT_ERRORS = {
    1e3: "grams written as kilograms",
    1e6: "milligrams written as kilograms, or volumes in cm³ times a density in kg/m³",
    1e9: "micrograms written as kilograms, or volumes in mm³ times a density in kg/m³",
    1e-3: "tonnes written as kilograms, or densities in g/cm³ taken for kg/m³",
    1e-6: "kilotonnes written as kilograms, or densities in kg/cm³ taken for kg/m³",
}
"""Causes of a stated mass that is too large by a factor, by this factor."""
INERTIA_UNIT_ERRORS = {
    1e3: "g·m² written as kg·m²",
    1e4: "kg·cm² written as kg·m²",
    1e6: "kg·mm² written as kg·m²",
    1e7: "g·cm² written as kg·m²",
    1e9: "g·mm² written as kg·m²",
    1e-3: "t·m² written as kg·m²",
}
"""Causes of a stated inertia that is too large by a factor, by this factor."""


# Links of robots
def link_bodies(robot: Robot) -> list[Body]:
    """Return the links that have a mass, in the order of the file, without fixed point masses.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    moved = {joint.child for joint in robot.joints if joint.type != "fixed"}
    return [
        _body(link, link.inertial)
        for link in robot.links
        if link.inertial is not None
        and (link.name in moved or touching(link) or any(link.inertial.inertia or (1.0,)))
    ]


def _body(link: Link, inertial: Inertial) -> Body:
    frame = origin_frame(inertial.origin)
    rotation, stated = frame[:3, :3], None
    if inertial.inertia is not None:
        stated = rotation @ inertia_tensor(inertial.inertia) @ rotation.T
    return Body(
        subject=f"link '{link.name}'",
        name=link.name,
        mass=inertial.mass,
        center=frame[:3, 3],
        inertia=stated,
        geometry=_geometry(link),
    )


def _geometry(link: Link) -> Geometry | None:
    """Return the solid of the visuals, which are finer, or of collision shapes."""
    try:
        return together([_solid(part) for part in link.visuals or link.collisions])
    except DescriptionError:
        if not link.visuals or not link.collisions:
            raise
        return together([_solid(part) for part in link.collisions])


def _solid(part: LinkShape) -> Geometry:
    frame = origin_frame(part.origin)
    if isinstance(part.shape, Mesh):
        solid = mesh_solid(part.shape)
        return arrange(solid.volume, solid.inertia, solid.vertices, frame, solid.center_of_mass)
    volume, inertia = mass_properties(part.shape)
    return arrange(volume, inertia, box_corners(np.array(extent(part.shape)) / 2), frame)


# Checks of density and inertia
def density_check(bodies: Sequence[Body]) -> Check:
    """Check the density of each body, and suggest a wrong unit where it is implausible."""
    known = {body.name: body.density for body in bodies if body.density is not None}
    guess = mass_guess(list(known.values()))
    low, high = DENSITIES
    findings = []
    for body in bodies:
        density = body.density
        if density is None or body.geometry is None or low <= density <= high:
            continue
        numbers = {"mass_kg": body.mass, "volume_m3": body.geometry.volume}
        advice = "check its mass and the size of its geometry"
        if guess is not None:
            numbers["factor"] = guess.factor
            advice = (
                f"divided by {guess.factor:g} it is {body.mass / guess.factor:.4g} kg and "
                f"{density / guess.factor:.4g} kg/m³: {guess.words}"
            )
        elif low <= density * MILLIMETRES**3 <= high:
            numbers["length_factor"] = MILLIMETRES
            advice = (
                f"is its geometry in millimetres? With a scale of 0.001 it has "
                f"{density * MILLIMETRES**3:.4g} kg/m³"
            )
        expected = f"a density of {low:g} … {high:g} kg/m³"
        actual = (
            f"{body.mass:.6g} kg in {body.geometry.volume * 1e6:.4g} cm³ of geometry, "
            f"{density:.4g} kg/m³"
        )
        numbers["density_kg_m3"] = density
        findings.append(finding("problem", body.subject, expected, actual, advice, **numbers))
    densities = range_text(list(known.values()), "kg/m³")
    measured = f"{densities} in {format_count(len(known), 'body', 'bodies')}"
    return Check("density", measured, tuple(findings))


def inertia_check(bodies: Sequence[Body]) -> Check:
    """Check that moments of inertia are stated, physical, and possible for the geometry."""
    findings = [item for body in bodies for item in _inertia_findings(body)]
    ratios = [ratio for body in bodies if (ratio := inertia_ratio(body)) is not None]
    stated = sum(body.inertia is not None for body in bodies)
    measured = f"stated for {stated} of {format_count(len(bodies), 'body', 'bodies')}"
    if ratios:
        measured += f", {range_text(ratios, 'x')} that of a uniform solid of their geometry"
    return Check("inertia", measured, tuple(findings))


def inertia_ratio(body: Body) -> float | None:
    """Ratio of the stated inertia to that of a uniform solid of the same mass, by traces [–]."""
    uniform = body.uniform
    if body.inertia is None or uniform is None:
        return None
    return float(np.trace(body.inertia) / np.trace(uniform))


def is_possible_inertia(moments: Sequence[float]) -> bool:
    """Return whether a mass distribution can have these principal moments, in ascending order."""
    small, middle, large = moments
    return small > 0.0 and small + middle >= large * (1.0 - UNEQUAL)


def _inertia_findings(body: Body) -> Iterator[Finding]:
    moments, problem = body.moments, partial(finding, "problem", body.subject)
    advice = "a simulation uses that of a ball of water"
    if moments is not None and not moments.any() and body.geometry is None:
        yield finding("remark", body.subject, "an inertia", "0", advice)
    elif moments is None:
        yield problem("an inertia beside its mass", "none", advice, mass_kg=body.mass)
    elif not is_possible_inertia(moments.tolist()):
        small, middle, large = moments.tolist()
        yield problem(
            "principal moments of which each is above 0 and at most the sum of the others",
            f"{small:.4g}, {middle:.4g} and {large:.4g} kg·m²",
            "no body has these; are moments and products in the right order?",
            smallest_kg_m2=small,
            middle_kg_m2=middle,
            largest_kg_m2=large,
        )
    else:
        yield from _against_geometry(body)


def _against_geometry(body: Body) -> Iterator[Finding]:
    """Check half the trace of the inertia, ∫r² dm, against m·R² for a mass within radius R."""
    ratio, geometry = inertia_ratio(body), body.geometry
    if ratio is None or geometry is None or body.inertia is None:
        return
    reach = geometry.farthest(body.center)
    max_half_trace = body.mass * reach**2
    half = float(np.trace(body.inertia)) / 2.0
    numbers = {"to_uniform_solid": ratio, "half_trace_kg_m2": half, "max_kg_m2": max_half_trace}
    severity: Severity = "problem"
    guess, actual = inertia_guess(ratio), f"{ratio:.3g} x"
    advice = "its geometry gives a better one"
    if guess is not None:
        advice = f"divided by {guess.factor:g} it fits: {guess.words}"
    uniform = "a uniform solid of its geometry"
    if half > max_half_trace:
        expected = (
            f"at most {max_half_trace:.3g} kg·m² for half the trace, m·R² of its "
            f"{body.mass:.4g} kg within {reach * 1e3:.3g} mm"
        )
        actual = f"{half:.3g} kg·m², {ratio:.3g} x {uniform}"
    elif ratio < 1.0 / TINY_INERTIA:
        expected = f"at least {1.0 / TINY_INERTIA:g} x the inertia of {uniform}"
    elif not 1.0 / ODD_INERTIA <= ratio <= ODD_INERTIA:
        severity, advice = "remark", "possible where the mass is not spread evenly"
        expected = f"the inertia of {uniform} within {ODD_INERTIA:g} x"
    else:
        return
    yield finding(severity, body.subject, expected, actual, advice, **numbers)


@dataclass(frozen=True, eq=False)
class Geometry:
    """Geometry of a body: solids of uniform density, in the body's frame."""

    volume: float
    """Volume [m³]."""
    center: Array
    """(3,) centre of volume [m]."""
    inertia: Array
    """(3, 3) about that centre at 1 kg/m³ [m⁵]."""
    points: Array
    """(n, 3), with all of it in their convex hull [m]."""

    def inertia_about(self, center: Array) -> Array:
        """Return the inertia (3, 3) about a point (3,) at a density of 1 kg/m³ [m⁵]."""
        away = center - self.center  # Steiner's theorem
        offset = float(away @ away) * np.eye(3) - np.outer(away, away)
        return np.asarray(self.inertia + self.volume * offset)

    def farthest(self, center: Array) -> float:
        """Largest distance of the geometry from a point (3,) [m]."""
        return float(np.linalg.norm(self.points - center, axis=1).max())


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body as described, with its geometry where it has any."""

    subject: str
    """Its name in messages: ``link 'base'``."""
    name: str
    mass: float
    """Mass [kg]."""
    center: Array
    """(3,) centre of mass in its frame [m]."""
    inertia: Array | None
    """(3, 3) about the centre of mass in the axes of its frame [kg·m²]; None where not stated."""
    geometry: Geometry | None

    @property
    def density(self) -> float | None:
        """Return mass over volume of the geometry [kg/m³]."""
        return None if self.geometry is None else self.mass / self.geometry.volume

    @property
    def moments(self) -> Array | None:
        """Principal moments of inertia (3,), smallest first [kg·m²]."""
        return None if self.inertia is None else np.asarray(np.linalg.eigvalsh(self.inertia))

    @property
    def uniform(self) -> Array | None:
        """Inertia (3, 3) of the body's mass at uniform density in the geometry [kg·m²]."""
        if self.geometry is None:
            return None
        return self.mass / self.geometry.volume * self.geometry.inertia_about(self.center)


def arrange(
    volume: float, inertia: Array, points: Array, frame: Array, center: Array | None = None
) -> Geometry:
    """Transform a solid to the frame of a body.

    Args:
        volume: [m³]
        inertia: (3, 3) about the centre at unit density [m⁵].
        points: (n, 3) in the frame of the solid.
        frame: Pose (4, 4) of the frame of the solid in that of the body.
        center: Centre of volume (3,) in the frame of the solid; by default its origin.
    """
    rotation, origin = frame[:3, :3], frame[:3, 3]
    centre = origin if center is None else rotation @ center + origin
    return Geometry(volume, centre, rotation @ inertia @ rotation.T, points @ rotation.T + origin)


def together(parts: Sequence[Geometry]) -> Geometry | None:
    """Combine the geometry of several solids; None where there are none.

    Overlaps count twice.
    """
    if not parts:
        return None
    volume = sum(part.volume for part in parts)
    centre = sum(part.volume * part.center for part in parts) / volume
    return Geometry(
        volume,
        np.asarray(centre),
        np.asarray(sum(part.inertia_about(np.asarray(centre)) for part in parts)),
        np.vstack([part.points for part in parts]),
    )


def box_corners(half: Array) -> Array:
    """Corners (8, 3) of a box about the origin with half edges (3,)."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return np.asarray(signs * half)


# Unit errors
class Guess(NamedTuple):
    """Suspected unit error: factor by which numbers are too large, and its cause in words."""

    factor: float
    words: str


def mass_guess(densities: Sequence[float]) -> Guess | None:
    """Suspect the unit error that explains all densities [kg/m³] outside the usual ones, if any.

    Of the factors that make all of them usual, it is the one that brings them nearest to the other
    densities, or to ``COMMON_DENSITY`` without others.
    """
    low, high = DENSITIES
    odd = [density for density in densities if not low <= density <= high]
    good = [density for density in densities if low <= density <= high]
    fitting = [f for f in MASS_UNIT_ERRORS if all(low <= density / f <= high for density in odd)]
    if not odd or not fitting:
        return None
    goal = math.log(median(good) if good else COMMON_DENSITY)
    best = min(fitting, key=lambda f: abs(math.log(median(odd) / f) - goal))
    return Guess(best, MASS_UNIT_ERRORS[best])


def inertia_guess(ratio: float) -> Guess | None:
    """Suspect the unit error behind a ratio to uniform inertia beyond ``ODD_INERTIA``, if any."""
    if ratio <= 0.0 or 1.0 / ODD_INERTIA <= ratio <= ODD_INERTIA:
        return None
    best = min(INERTIA_UNIT_ERRORS, key=lambda f: abs(math.log(ratio / f)))
    fits = 1.0 / ODD_INERTIA <= ratio / best <= ODD_INERTIA
    return Guess(best, INERTIA_UNIT_ERRORS[best]) if fits else None
