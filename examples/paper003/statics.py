"""Statics of a hydraulic arm: equilibrium of the lumped model, and its workspace."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from examples.paper003.segment_model import LumpedModel, arm_motion, checked_states, lumped_model
from softgrasp.continuum import NEUTRAL, PathPoint, follow, solve_near
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.drive import check_pressures
from softgrasp.mechanics import Array

MAX_POINTS = 20_000
"""Largest number of pressure combinations."""
NUDGE = 1e-6
"""Change of a strain from which the tangent stiffness is taken [rad or m]."""


@dataclass(frozen=True)
class Workspace:
    """Section ends of an arm in equilibrium at many combinations of pressures.

    Args:
        pressures: That were tried [Pa], (m, k).
        ends: Ends of the last section, in the base frame [m], (m, 3).
    """

    pressures: Array
    ends: Array

    @property
    def extent(self) -> Array:
        """Size of the box around the ends along x, y and z [m], (3,)."""
        return np.asarray(np.ptp(self.ends, axis=0))


def arm_workspace(arm: HydraulicArm, levels: int = 5) -> Workspace:
    """Compute the tip positions at all combinations of evenly spaced pressures.

    Args:
        arm: The arm, such as one section of another.
        levels: Pressures of each chamber from its lowest to its largest.

    Raises:
        DescriptionError: Fewer than two levels, too many combinations, or a chamber without limit.
        SimulationError: At some pressures no rest was found.
    """
    count = levels ** len(arm.chambers)
    if levels < 2 or count > MAX_POINTS:
        raise DescriptionError(
            f"expected 2 levels or more and at most {MAX_POINTS} combinations, found {levels} "
            f"levels of {len(arm.chambers)} chambers",
            field="levels",
        )
    ranges = []
    for index, chamber in enumerate(arm.chambers):
        if chamber.pressure_max is None:
            raise DescriptionError(
                "expected a largest pressure, found none", field=f"chambers[{index}].pressure_max"
            )
        ranges.append(np.linspace(chamber.pressure_min, chamber.pressure_max, levels))
    pressures = np.array(list(product(*ranges)))
    ends = np.stack([arm_rest(arm, row).ends[-1] for row in pressures])
    return Workspace(pressures, ends)


@dataclass(frozen=True)
class ArmRest:
    """Equilibrium of a hydraulic arm.

    Args:
        strains: (u, v, l, τ) of the segments [rad, rad, m, rad], (n, 4).
        bends: Bending angles of the sections, those of their segments added [rad], (sections,).
        lengths: Lengths of the section axes [m], (sections,).
        ends: Ends of the sections in the base frame [m], (sections, 3).
        min_eigenvalue: Smallest eigenvalue of ``tangent_stiffness`` [–]: 1 without loads, 0 at a
            critical load.
        buckling_factor: Fraction of the loads at which the straight arm's branch became unstable;
            NaN where it is stable up to the full loads, or the arm was solved from ``start``.
    """

    strains: Array
    bends: Array
    lengths: Array
    ends: Array
    min_eigenvalue: float
    buckling_factor: float

    @property
    def stable(self) -> bool:
        """Whether the arm returns from nearby states, under loads that keep their direction.

        A load that follows the tip can make it flutter although this is true.
        """
        return self.min_eigenvalue > -NEUTRAL

    @property
    def radii(self) -> Array:
        """Radii of curvature, length over bending angle [m], (sections,); infinite if straight."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.lengths / self.bends)


def arm_rest(arm: HydraulicArm, pressures: ArrayLike, *, start: ArrayLike | None = None) -> ArmRest:
    """Compute the equilibrium of an arm at constant pressures.

    Args:
        arm: The arm.
        pressures: Pressures of all chambers, from the base outwards [Pa], (k,).
        start: Strains near the rest, (n, 4); by default the rest is followed while all loads grow
            from nothing, and where the straight arm buckles the stable branch is taken.

    Raises:
        DescriptionError: Not one pressure a chamber, or one beyond its limits; ``start`` does not
            fit.
        SimulationError: No rest was found, or its segments would have no length.
    """
    pressure_array, model = check_pressures(arm, pressures), lumped_model(arm)
    begin = None if start is None else checked_states(model, start, "start") - model.straight
    point = _balanced(model, begin, pressure_array)
    strains = model.straight + point.positions.reshape(model.straight.shape)
    return _rest(model, strains, pressure_array, point.critical_load)


def _rest(model: LumpedModel, strains: Array, pressures: Array, critical: float) -> ArmRest:
    if strains[:, 2].min() <= 0.0:
        raise SimulationError(
            f"{model.arm.name}: expected loads that leave its segments some length, found a rest "
            f"with one of {strains[:, 2].min():.2g} m"
        )
    shape = (-1, model.arm.segments)
    return ArmRest(
        strains=strains,
        bends=np.hypot(strains[:, 0], strains[:, 1]).reshape(shape).sum(axis=1),
        lengths=strains[:, 2].reshape(shape).sum(axis=1),
        ends=model.section_ends(strains),
        min_eigenvalue=float(np.linalg.eigvalsh(tangent_stiffness(model, strains, pressures))[0]),
        buckling_factor=critical,
    )


def _balanced(model: LumpedModel, start: Array | None, pressures: Array) -> PathPoint:
    """Solve for the changes of the strains in equilibrium, near a state or along the load path."""
    chambers = model.chamber_forces(pressures)

    def unbalanced(changes: Array, load_factor: float) -> Array:
        strains = model.straight + changes.reshape(model.straight.shape)
        loads = chambers + model.outer_forces(arm_motion(strains, np.zeros_like(strains)))
        return np.asarray((model.elastic_forces(strains) + load_factor * loads).ravel())

    stiffness = model.stiffness.ravel()
    if start is not None:
        near = solve_near(unbalanced, start.ravel(), stiffness)
        if near is None:
            raise SimulationError(f"{model.arm.name}: expected a rest near the start, found none")
        return near
    point = follow(unbalanced, stiffness)
    if not point.converged:
        raise SimulationError(
            f"{model.arm.name}: expected a rest at all of its loads, found none beyond "
            f"{100 * point.load_factor:.0f} % of them"
        )
    return point


def tangent_stiffness(model: LumpedModel, strains: Array, pressures: ArrayLike) -> Array:
    """Compute the symmetric part of −∂F/∂x, scaled by the roots of the stiffness, (4n, 4n).

    Its eigenvalues are 1 where nothing but the material acts, and above 0 where a rest is stable.
    """
    size, scale = strains.size, np.sqrt(model.stiffness.ravel())
    stiffness = np.empty((size, size))
    for index in range(size):
        change = np.zeros(size)
        change[index] = NUDGE
        low, high = (strains + sign * change.reshape(strains.shape) for sign in (-1.0, 1.0))
        fall = model.static_forces(low, pressures) - model.static_forces(high, pressures)
        stiffness[:, index] = fall.ravel() / (2.0 * NUDGE)
    return np.asarray(0.5 * (stiffness + stiffness.T) / np.outer(scale, scale))
