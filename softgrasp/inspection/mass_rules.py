"""What any rigid body obeys: densities of matter, and moments of inertia that mass can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from softgrasp.inspection.bodies import Body
from softgrasp.inspection.finding import Check, Finding, counted, range_text
from softgrasp.inspection.units_guess import inertia_guess, mass_guess

DENSITIES = (100.0, 20_000.0)
"""From hollow plastic to tungsten [kg/m³]; a link beyond them has a wrong mass or geometry."""
UNEQUAL = 1e-3
"""Part of the largest principal moment by which it may exceed the other two together [–]; files
round their numbers."""
ODD_INERTIA = 3.0
"""Ratio to the inertia of a uniform solid, or to its inverse, that is worth a remark [–]."""
MILLIMETRES = 1e3
"""In a metre."""
TINY_INERTIA = 50.0
"""Ratio of the inertia of a uniform solid to the stated one that no link explains [–]."""


def density_check(bodies: Sequence[Body]) -> Check:
    """Mass of each body over the volume of its geometry, with a guess of the wrong unit."""
    known = {body.name: body.density for body in bodies if body.density is not None}
    guess = mass_guess(list(known.values()), DENSITIES)
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
        findings.append(
            Finding(
                subject=body.subject,
                severity="problem",
                check="density",
                expected=f"a density of {low:g} … {high:g} kg/m³",
                actual=(
                    f"{body.mass:.6g} kg in {body.geometry.volume * 1e6:.4g} cm³ of geometry, "
                    f"{density:.4g} kg/m³"
                ),
                numbers={**numbers, "density_kg_m3": density},
                advice=advice,
            )
        )
    measured = (
        f"{range_text(list(known.values()), 'kg/m³')} in {counted(len(known), 'body', 'bodies')}"
    )
    return Check("density", measured, tuple(findings))


def inertia_check(bodies: Sequence[Body]) -> Check:
    """Moments of inertia: there, possible for any mass, and possible inside the geometry."""
    findings = [finding for body in bodies for finding in _of_inertia(body)]
    ratios = [ratio for body in bodies if (ratio := inertia_ratio(body)) is not None]
    stated = sum(body.inertia is not None for body in bodies)
    measured = f"stated for {stated} of {counted(len(bodies), 'body', 'bodies')}"
    if ratios:
        measured += f", {range_text(ratios, 'x')} that of a uniform solid of their geometry"
    return Check("inertia", measured, tuple(findings))


def inertia_ratio(body: Body) -> float | None:
    """Stated inertia over that of a uniform solid of the same mass, by the traces [–]."""
    uniform = body.uniform
    if body.inertia is None or uniform is None:
        return None
    return float(np.trace(body.inertia) / np.trace(uniform))


def possible(moments: Sequence[float]) -> bool:
    """Whether some distribution of mass has these principal moments, smallest first."""
    small, middle, large = moments
    return small > 0.0 and small + middle >= large * (1.0 - UNEQUAL)


def _of_inertia(body: Body) -> Iterator[Finding]:
    moments = body.moments
    if moments is None:
        yield _finding(
            body,
            "an inertia beside its mass",
            "none",
            {"mass_kg": body.mass},
            "a simulation takes that of a ball of water",
        )
        return
    if not possible(moments.tolist()):
        small, middle, large = moments.tolist()
        yield _finding(
            body,
            "principal moments of which each is above 0 and at most the sum of the others",
            f"{small:.4g}, {middle:.4g} and {large:.4g} kg·m²",
            {"smallest_kg_m2": small, "middle_kg_m2": middle, "largest_kg_m2": large},
            "no body has these; are products and moments in their places?",
        )
    else:
        yield from _against_geometry(body)


def _against_geometry(body: Body) -> Iterator[Finding]:
    """∫r² dm is half the trace, and at most m·R² for mass that lies within R of its centre."""
    ratio, geometry = inertia_ratio(body), body.geometry
    if ratio is None or geometry is None or body.inertia is None:
        return
    reach = geometry.farthest(body.center)
    max_half_trace = body.mass * reach**2
    half = float(np.trace(body.inertia)) / 2.0
    numbers = {"to_uniform_solid": ratio, "half_trace_kg_m2": half, "most_kg_m2": max_half_trace}
    guess = inertia_guess(ratio, ODD_INERTIA)
    advice = "" if guess is None else f"divided by {guess.factor:g} it fits: {guess.words}"
    if half > max_half_trace:
        yield _finding(
            body,
            f"at most {max_half_trace:.3g} kg·m² for half the trace, m·R² of its {body.mass:.4g} kg within "
            f"{reach * 1e3:.3g} mm",
            f"{half:.3g} kg·m², {ratio:.3g} x a uniform solid of its geometry",
            numbers,
            advice or "its own geometry gives a better one",
        )
    elif ratio < 1.0 / TINY_INERTIA:
        yield _finding(
            body,
            f"at least {1.0 / TINY_INERTIA:g} x the inertia of a uniform solid of its geometry",
            f"{ratio:.3g} x",
            numbers,
            advice or "its own geometry gives a better one",
        )
    elif not 1.0 / ODD_INERTIA <= ratio <= ODD_INERTIA:
        yield Finding(
            subject=body.subject,
            severity="remark",
            check="inertia",
            expected=f"the inertia of a uniform solid of its geometry within {ODD_INERTIA:g} x",
            actual=f"{ratio:.3g} x",
            numbers=numbers,
            advice="possible where the mass is not spread evenly",
        )


def _finding(
    body: Body, expected: str, actual: str, numbers: dict[str, float], advice: str
) -> Finding:
    return Finding(
        subject=body.subject,
        severity="problem",
        check="inertia",
        expected=expected,
        actual=actual,
        numbers=numbers,
        advice=advice,
    )
