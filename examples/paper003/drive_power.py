"""Rates, energy and power balance of hydraulic drives (Chen et al. 2022, eq 32 to 36)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.hydraulics.drive import DriveModel
from softgrasp.mechanics import Array


@dataclass(frozen=True)
class PowerBalance:
    """Power balance of the hydraulic drives [W], each of shape (channels,).

    Args:
        supplied: Power of the screws on the pistons.
        stored: Rate of the energy in pistons, chambers and water.
        viscous: Lost to viscous friction of the pistons.
        dry: Lost to dry friction of the pistons.
        tube: Lost in the tubes.
        arm: Power of the chambers on the moving arm.
    """

    supplied: Array
    stored: Array
    viscous: Array
    dry: Array
    tube: Array
    arm: Array

    @property
    def lost(self) -> Array:
        """Power lost to friction and in the tubes [W], (channels,)."""
        return np.asarray(self.viscous + self.dry + self.tube)

    @property
    def gap(self) -> Array:
        """Return supplied minus stored, lost and delivered power [W]; 0 if consistent."""
        return np.asarray(self.supplied - self.stored - self.lost - self.arm)


def drive_rates(
    model: DriveModel, states: Array, torques: ArrayLike, swept: Array | float = 0.0
) -> Array:
    """Compute the time derivatives of the states while the pistons move, (channels, 3).

    Args:
        model: The equations.
        states: (channels, 3).
        torques: Motor torques [N·m], (channels,) or one for all.
        swept: Volume that a moving arm opens in its chambers [m³/s], (channels,).
    """
    piston = model.drive.piston
    state_rates = np.einsum(
        "cij,cj->ci", model.matrices(model.resistance(model.flow(states))), states
    )
    state_rates[:, 1] -= swept / model.compliances
    pushed = model.forces(torques) - piston.friction * np.sign(states[:, 0])
    state_rates[:, 0] += pushed / piston.mass
    return np.asarray(state_rates)


def drive_energy(model: DriveModel, states: Array) -> Array:
    """Compute the energy in pistons, chambers and cylinders [J], (channels,)."""
    return np.asarray(0.5 * (model.inertias * states**2).sum(axis=-1))


def drive_power(
    model: DriveModel, states: Array, torques: ArrayLike, swept: Array | float = 0.0
) -> PowerBalance:
    """Compute the power balance at a state; arguments as for ``drive_rates``."""
    piston, speed = model.drive.piston, states[:, 0]
    stored = (model.inertias * states * drive_rates(model, states, torques, swept)).sum(axis=1)
    return PowerBalance(
        supplied=model.forces(torques) * speed,
        stored=stored,
        viscous=piston.damping * speed**2,
        dry=piston.friction * np.abs(speed),
        tube=(states[:, 2] - states[:, 1]) * model.flow(states),
        arm=states[:, 1] * swept,
    )
