"""Where the end of an arm comes to rest over all pressures that its chambers stand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.rest import arm_rest
from softgrasp.mechanics.transforms import Array

MAX_POINTS = 20_000
"""Pressures that are tried at most."""


@dataclass(frozen=True)
class Workspace:
    """Ends of an arm at rest.

    Args:
        pressures: That were tried [Pa], (m, k).
        ends: Of the last section, in the frame of the base [m], (m, 3).
    """

    pressures: Array
    ends: Array

    @property
    def extent(self) -> Array:
        """Of the box around the ends along x, y and z [m], (3,)."""
        return np.asarray(np.ptp(self.ends, axis=0))


def arm_workspace(arm: HydraulicArm, levels: int = 5) -> Workspace:
    """Where an arm ends at all combinations of evenly spaced pressures.

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
