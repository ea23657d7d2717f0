"""The equations of motion of the drives of an arm (paper 003, eq 32 to 36, corrected).

A channel is a motor with screw, piston, cylinder and tube, and the chamber that it fills. Its state
is the speed of the piston ẋ [m/s] and the pressures P_a in the chamber and P_c in the cylinder
[Pa]; its input is the torque T of the motor [N·m]:

    m ẍ   = 2π η T / s − f sign ẋ − A_c P_c − d ẋ
    C_a Ṗ_a = (P_c − P_a) / R
    C_c Ṗ_c = A_c ẋ − (P_c − P_a) / R

C_a is that of the chamber in its bundle at rest. Where a moving arm is coupled to the drives, it is
that of the water alone, and the second line loses the volume A_d l̇ that the arm opens.

What the paper prints differently is told in docs/hydraulic_arm.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_drive import HydraulicDrive
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.compliances import chamber_compliance, water_compliance
from softgrasp.mechanics.hydraulic.power_balance import PowerBalance
from softgrasp.mechanics.hydraulic.tube import (
    poiseuille_resistance,
    tube_flow,
    tube_resistance,
)
from softgrasp.mechanics.transforms import Array

Coupling = Literal["static", "state"]
"""How an arm answers its drives: with a compliance at rest, or by its own motion."""


@dataclass(frozen=True)
class DriveModel:
    """The equations of all channels; states have the shape (channels, 3).

    Args:
        drive: What all channels have.
        compliances: Volume over pressure C_a of the chambers [m³/Pa], shape (channels,).
    """

    drive: HydraulicDrive
    compliances: Array

    @property
    def channels(self) -> int:
        """How many there are."""
        return len(self.compliances)

    @property
    def cylinder_compliance(self) -> float:
        """Of the water in a cylinder, V₂/K [m³/Pa]."""
        return self.drive.piston.volume / self.drive.fluid.bulk_modulus

    def resistance(self, flow: ArrayLike) -> Array:
        """Of the tubes at a flow [Pa·s/m³]; see ``tube_resistance``."""
        return tube_resistance(self.drive.tube, self.drive.fluid, flow)

    def flow(self, states: Array) -> Array:
        """From the cylinders into the chambers [m³/s], (channels,)."""
        return tube_flow(self.drive.tube, self.drive.fluid, states[..., 2] - states[..., 1])

    def matrices(self, resistance: ArrayLike) -> Array:
        """The linear part of eq 36, (channels, 3, 3).

        Args:
            resistance: Of the tubes [Pa·s/m³], (channels,) or one for all.
        """
        piston = self.drive.piston
        through = 1.0 / np.broadcast_to(np.asarray(resistance, dtype=float), self.channels)
        state_matrices = np.zeros((self.channels, 3, 3))
        state_matrices[:, 0, 0] = -piston.damping / piston.mass
        state_matrices[:, 0, 2] = -piston.area / piston.mass
        state_matrices[:, 1, 1] = -through / self.compliances
        state_matrices[:, 1, 2] = through / self.compliances
        state_matrices[:, 2, 0] = piston.area / self.cylinder_compliance
        state_matrices[:, 2, 1] = through / self.cylinder_compliance
        state_matrices[:, 2, 2] = -through / self.cylinder_compliance
        return state_matrices

    def forces(self, torques: ArrayLike) -> Array:
        """On the pistons, F_b = 2π η T / s [N], (channels,)."""
        return np.asarray(force_of_torque(self.drive) * np.asarray(torques, dtype=float))

    def screw_forces(self, torques: ArrayLike) -> Array:
        """As ``forces``, (channels,), of torques that are looked at first.

        Raises:
            DescriptionError: A torque is more than the motor has, or not one a channel.
        """
        values = checked_torques(self.drive, torques)
        if values.shape not in ((), (self.channels,)):
            raise DescriptionError(
                f"expected one torque a chamber ({self.channels}), found shape {values.shape}",
                field="torques",
            )
        return np.broadcast_to(self.forces(values), self.channels)

    def rates(self, states: Array, torques: ArrayLike, swept: Array | float = 0.0) -> Array:
        """Of the states of moving pistons, (channels, 3).

        Args:
            states: (channels, 3).
            torques: Of the motors [N·m], (channels,) or one for all.
            swept: Volume that a moving arm opens in its chambers [m³/s], (channels,).
        """
        piston = self.drive.piston
        state_rates = np.einsum(
            "cij,cj->ci", self.matrices(self.resistance(self.flow(states))), states
        )
        state_rates[:, 1] -= swept / self.compliances
        pushed = self.forces(torques) - piston.friction * np.sign(states[:, 0])
        state_rates[:, 0] += pushed / piston.mass
        return np.asarray(state_rates)

    @property
    def inertias(self) -> Array:
        """Twice the energy over the square of each state, (channels, 3)."""
        values = np.empty((self.channels, 3))
        values[:, 0], values[:, 1] = self.drive.piston.mass, self.compliances
        values[:, 2] = self.cylinder_compliance
        return values

    def energy(self, states: Array) -> Array:
        """In pistons, chambers and cylinders [J], (channels,)."""
        return np.asarray(0.5 * (self.inertias * states**2).sum(axis=-1))

    def power(self, states: Array, torques: ArrayLike, swept: Array | float = 0.0) -> PowerBalance:
        """Where the power goes at a state; the arguments are those of ``rates``."""
        piston, speed = self.drive.piston, states[:, 0]
        stored = (self.inertias * states * self.rates(states, torques, swept)).sum(axis=1)
        return PowerBalance(
            supplied=self.forces(torques) * speed,
            stored=stored,
            viscous=piston.damping * speed**2,
            dry=piston.friction * np.abs(speed),
            tube=(states[:, 2] - states[:, 1]) * self.flow(states),
            arm=states[:, 1] * swept,
        )

    def poles(self) -> Array:
        """Eigenvalues of the channels at laminar flow [1/s], (channels, 3), fastest first."""
        laminar = poiseuille_resistance(self.drive.tube, self.drive.fluid)
        eigenvalues = np.linalg.eigvals(self.matrices(laminar))
        return np.asarray(
            np.take_along_axis(eigenvalues, np.argsort(eigenvalues.real, axis=1), axis=1)
        )

    def lags(self) -> Array:
        """Times after which the pressures follow a small step of torque by 63 % [s], (channels,).

        Of the slowest motion alone: (R + d/A_c²) C_a at laminar flow.
        """
        piston = self.drive.piston
        laminar = poiseuille_resistance(self.drive.tube, self.drive.fluid)
        return np.asarray((laminar + piston.damping / piston.area**2) * self.compliances)


def drive_model(arm: HydraulicArm, coupling: Coupling = "static") -> DriveModel:
    """The drives of an arm, one a chamber, from the base outwards.

    Args:
        arm: The arm.
        coupling: How the arm answers: ``static``, with the compliance of its chambers at rest, or
            ``state``, by its motion, which leaves the water's own compliance to the chambers.

    Raises:
        DescriptionError: No such coupling.
    """
    compliance = water_compliance if checked_coupling(coupling) == "state" else chamber_compliance
    compliances = [
        compliance(arm, section, index)
        for section in arm.sections
        for index in range(len(section.chambers))
    ]
    return DriveModel(arm.drive, np.array(compliances))


def checked_coupling(coupling: Coupling) -> Coupling:
    """A coupling that there is.

    Raises:
        DescriptionError: There is no such.
    """
    if coupling not in get_args(Coupling):
        raise DescriptionError(f"expected static or state, found {coupling!r}", field="coupling")
    return coupling


def force_of_torque(drive: HydraulicDrive) -> float:
    """Force on the piston over torque of the motor, 2π η / s [1/m] (eq 33, corrected)."""
    return 2.0 * np.pi * drive.screw.efficiency / drive.screw.lead


def pressure_of_torque(drive: HydraulicDrive, torque: ArrayLike) -> Array:
    """Pressure at rest of a torque of the motor [Pa], of the torque's shape, without dry friction.

    Args:
        drive: Motor, screw and piston.
        torque: [N·m]

    Raises:
        DescriptionError: It is more than the motor has, or not finite.
    """
    return force_of_torque(drive) * checked_torques(drive, torque) / drive.piston.area


def checked_torques(drive: HydraulicDrive, torque: ArrayLike) -> Array:
    """Torques as an array [N·m].

    Raises:
        DescriptionError: One is not finite or more than the motor has.
    """
    values = np.asarray(torque, dtype=float)
    limit = np.inf if drive.screw.torque_max is None else drive.screw.torque_max
    worst = float(values.flat[np.argmax(np.abs(values))]) if values.size else 0.0
    if not np.isfinite(values).all() or abs(worst) > limit * (1.0 + 1e-12):
        raise DescriptionError(
            f"expected finite torques of at most {limit:g} N·m, found {worst:g} N·m", field="torque"
        )
    return values
