"""The drives of an arm step by step: exact for a torque that stands still during a step."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.drive_model import DriveModel
from softgrasp.mechanics.hydraulic.dry_friction import Channel, slide_and_stick
from softgrasp.mechanics.hydraulic.exponential import affine_moves
from softgrasp.mechanics.hydraulic.flow_watch import FlowWatch
from softgrasp.mechanics.hydraulic.tube import poiseuille_resistance
from softgrasp.mechanics.transforms import Array

FLOW_FRACTION = 4.0 / 7.0
"""Of a change of the flow that is taken: Blasius's resistance grows with Q^¾, and all of it would
overshoot."""
CORRECTIONS, SETTLED = 30, 1e-10
"""Times that a step is done again with the resistance of its mean flow, at most, and the relative
change of the flow at which that ends."""
UNIT_PUSH = np.array([[1.0], [0.0], [0.0]])
"""A unit acceleration of the piston, as the input of a channel."""


class DriveStepper:
    """States of the channels of an arm in time, by the matrix exponential.

    With laminar flow a step of any length is exact; with turbulent flow the resistance is that of
    the step's mean flow. Dry friction stops and starts the pistons at the instant where it does.

    Args:
        model: The equations.
        timestep: Of one step [s].

    Raises:
        DescriptionError: The step is not positive.

    Warns:
        SoftgraspWarning: Once, where the law of the tube does not hold at the flow through it.
    """

    def __init__(self, model: DriveModel, timestep: float) -> None:
        if not 0.0 < timestep < np.inf:
            raise DescriptionError(
                f"expected a step above 0 s, found {timestep:g} s", field="timestep"
            )
        self.model, self.timestep = model, timestep
        self.states = np.zeros((model.channels, 3))
        """Speeds of the pistons [m/s], pressures of chambers and of cylinders [Pa]."""
        self.time = 0.0
        tube, fluid = model.drive.tube, model.drive.fluid
        self._laminar = np.full(model.channels, poiseuille_resistance(tube, fluid))
        self._moves = self._exponentials(self._laminar)
        self._flow = np.zeros(model.channels)
        self._law = FlowWatch(tube, fluid)

    @property
    def largest_reynolds(self) -> float:
        """Largest Reynolds number of the mean flow of a step so far."""
        return self._law.largest

    @property
    def pressures(self) -> Array:
        """Of the chambers [Pa], (channels,)."""
        return self.states[:, 1].copy()

    def step(self, torques: ArrayLike) -> Array:
        """Go on by one step with torques that stand still [N·m], (channels,) or one for all.

        Returns:
            Pressures of the chambers after it [Pa], (channels,).

        Raises:
            DescriptionError: A torque is more than the motor has, or not one a channel.
        """
        after = self._after(self.model.screw_forces(torques))
        self._law.watch(self._flow, self.time)
        self.states, self.time = after, self.time + self.timestep
        return self.pressures

    def _after(self, forces: Array) -> Array:
        """The states after a step; the resistance is found along with the mean flow."""
        after = self._moved(forces, self.model.resistance(self._flow))
        for _ in range(CORRECTIONS):
            change = FLOW_FRACTION * (self._mean_flow(after) - self._flow)
            self._flow = self._flow + change
            resistances = self.model.resistance(self._flow)
            if (np.abs(change) <= SETTLED * np.abs(self._flow)).all():
                break
            if (resistances == self._laminar).all() and self._was_laminar(after):
                break
            after = self._moved(forces, resistances)
        self._flow = self._mean_flow(after)
        return after

    def _was_laminar(self, after: Array) -> bool:
        mean = self.model.resistance(self._mean_flow(after))
        return bool((mean == self._laminar).all())

    def _moved(self, forces: Array, resistances: Array) -> Array:
        """The states after a step with given resistances of the tubes."""
        piston = self.model.drive.piston
        if piston.friction:
            matrices = self.model.matrices(resistances)
            channels = zip(matrices, self.model.inertias, forces, strict=True)
            parts = [
                slide_and_stick(Channel(piston, *one), state, self.timestep)
                for one, state in zip(channels, self.states, strict=True)
            ]
            return np.stack(parts)
        laminar = (resistances == self._laminar).all()
        moves = self._moves if laminar else self._exponentials(resistances)
        pushed = moves[:, :3, 3] * (forces / piston.mass)[:, None]
        return np.asarray(np.einsum("cij,cj->ci", moves[:, :3, :3], self.states) + pushed)

    def _exponentials(self, resistances: Array) -> Array:
        """From a state and a unit acceleration to the state after a step, (channels, 4, 4)."""
        matrices = self.model.matrices(resistances)
        return affine_moves(matrices, self.model.inertias, UNIT_PUSH, self.timestep)

    def _mean_flow(self, after: Array) -> Array:
        """Through the tubes during the step [m³/s]: what the chambers have taken in."""
        taken = self.model.compliances * (after[:, 1] - self.states[:, 1])
        return np.asarray(taken / self.timestep)


def check_explicit_step(model: DriveModel, timestep: float) -> None:
    """Refuse a step with which an explicit method would not be stable.

    Args:
        model: The equations.
        timestep: Of the explicit (Euler) method [s].

    Raises:
        DescriptionError: It is longer than 2/|λ| of the fastest pole.
    """
    fastest = float(np.abs(model.poles()).max())
    if timestep > 2.0 / fastest:
        raise DescriptionError(
            f"expected an explicit step of at most {2.0 / fastest:.3g} s (fastest pole "
            f"{fastest:.3g} 1/s), found {timestep:g} s; DriveStepper is stable at any step",
            field="timestep",
        )
