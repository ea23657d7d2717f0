"""Statics of a hydraulic arm: equilibrium of the lumped model, and its workspace."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root

from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.segment_model import (
    LumpedModel,
    arm_motion,
    checked_pressures,
    checked_states,
    lumped_model,
)
from softgrasp.mechanics.transforms import Array

MAX_POINTS = 20_000
"""Largest number of pressure combinations."""
LOAD_STEPS = 4
"""Steps in which pressures, weight and tip load grow from nothing."""
BALANCED = 1e-9
"""Largest force left over its stiffness that counts as none [rad or m]."""
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
        stable: Whether it comes back when it is moved a little, under loads that keep their
            direction; a load that follows the tip can make it flutter although this reports stable.
    """

    strains: Array
    bends: Array
    lengths: Array
    ends: Array
    stable: bool

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
        start: Strains near the rest, (n, 4); where they are not given, all loads grow from nothing.

    Raises:
        DescriptionError: Not one pressure a chamber, or one beyond its limits; ``start`` does not
            fit.
        SimulationError: No rest was found, or its segments would have no length.
    """
    pressure_array, model = checked_pressures(arm, pressures), lumped_model(arm)
    load_factors = (
        [1.0] if start is not None else np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:].tolist()
    )
    strains = model.straight if start is None else checked_states(model, start, "start")
    for load_factor in load_factors:
        strains = _balanced(model, strains, pressure_array, load_factor)
    return _rest(model, strains, pressure_array)


def _rest(model: LumpedModel, strains: Array, pressures: Array) -> ArmRest:
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
        stable=bool(np.linalg.eigvalsh(tangent_stiffness(model, strains, pressures))[0] > 0.0),
    )


def _balanced(model: LumpedModel, start: Array, pressures: Array, load_factor: float) -> Array:
    """Solve for the strains in equilibrium with a fraction of all loads."""

    def unbalanced(flat: Array) -> Array:
        strains = flat.reshape(start.shape)
        motion = arm_motion(strains, np.zeros_like(strains))
        loads = model.chamber_forces(pressures) + model.outer_forces(motion)
        forces = model.elastic_forces(strains) + load_factor * loads
        return np.asarray((forces / model.stiffness).ravel())

    solution = root(unbalanced, start.ravel(), method="hybr", tol=1e-13)
    worst = float(np.abs(solution.fun).max())
    if not worst <= BALANCED:
        raise SimulationError(
            f"{model.arm.name}: expected a rest at {load_factor:.0%} of its loads, found none; the "
            f"strains are {worst:.2g} rad or m off"
        )
    return np.asarray(solution.x.reshape(start.shape))


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
