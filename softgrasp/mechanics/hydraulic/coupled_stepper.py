"""The drives of a moving arm step by step: exact for chambers that open evenly during a step.

The arm and its drives are advanced one after the other, and each needs the other's answer first:
the water is far stiffer than the arm. So a step of the drives is told as what it is for
the arm, a pressure that falls with the volume that the arm opens,

    mean P_a = P₀ − Z q,

which is exact where q stands still and the tube's resistance is that of the step. An arm that takes
Z as a damper implicitly finds its step, the drives take the q of that step, and both have exchanged
the same work, mean P_a · q · h. Z is positive, so the coupling can make no energy at any step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.drive_model import DriveModel
from softgrasp.mechanics.hydraulic.drive_stepper import FLOW_FRACTION
from softgrasp.mechanics.hydraulic.dry_friction import Channel, slide_and_stick
from softgrasp.mechanics.hydraulic.exponential import affine_moves
from softgrasp.mechanics.hydraulic.flow_watch import FlowWatch
from softgrasp.mechanics.transforms import Array

MEAN = 3
"""Place of the mean pressure of the chamber behind the states of a channel."""


class CoupledStepper:
    """States of the channels of a moving arm in time, by the matrix exponential.

    A step is ``press``, then the step of the arm, then ``advance``. The resistance of a tube is
    that of the flow of the steps before. Where a piston with dry friction stops or starts within a
    step, the arm feels the pressure of a step without that.

    Args:
        model: The equations, with the compliance of the water alone (``coupling="state"``).
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
        self._flow = np.zeros(model.channels)
        self._law = FlowWatch(model.drive.tube, model.drive.fluid)
        self._forces = np.zeros(model.channels)
        self._closed = np.zeros((model.channels, 4))
        self._key = np.empty(0)
        self._moves = np.empty(0)
        self._inputs = np.zeros((model.channels, 4, 2))
        self._inputs[:, 0, 0] = 1.0 / model.drive.piston.mass
        self._inputs[:, 1, 1] = -1.0 / model.compliances
        self._weights = np.concatenate([model.inertias, model.inertias[:, 1:2]], axis=1)

    @property
    def pressures(self) -> Array:
        """Of the chambers [Pa], (channels,)."""
        return self.states[:, 1].copy()

    @property
    def largest_reynolds(self) -> float:
        """Largest Reynolds number of the mean flow of a step so far."""
        return self._law.largest

    def press(self, torques: ArrayLike) -> tuple[Array, Array]:
        """How the chambers press on the arm in the next step.

        Args:
            torques: Of the motors, that stand still [N·m], (channels,) or one for all.

        Returns:
            Mean pressures of the step where the arm stands still [Pa], and their fall over the
            volume rate that the arm opens [Pa·s/m³], both (channels,).

        Raises:
            DescriptionError: A torque is more than the motor has, or not one a channel.
        """
        self._forces = self.model.screw_forces(torques)
        directions, stuck = self._directions()
        moves = self._moves_of(self.model.resistance(self._flow), stuck)
        pushed = np.where(stuck, 0.0, self._forces - directions * self.model.drive.piston.friction)
        start = np.concatenate([self.states, np.zeros((len(stuck), 1))], axis=1)
        self._closed = np.einsum("cij,cj->ci", moves[:, :4, :4], start)
        self._closed += moves[:, :4, 4] * pushed[:, None]
        return self._closed[:, MEAN].copy(), -moves[:, MEAN, 5]

    def advance(self, swept: Array) -> None:
        """End the step that ``press`` has begun.

        Args:
            swept: Volume that the arm has opened in its chambers over the step [m³/s], (channels,).
        """
        before = self.states[:, 1]
        if self.model.drive.piston.friction:
            after = self._slid(swept)
        else:
            after = self._closed[:, :3] + self._moves[:, :3, 5] * swept[:, None]
        mean = swept + self.model.compliances * (after[:, 1] - before) / self.timestep
        self._flow = self._flow + FLOW_FRACTION * (mean - self._flow)
        self._law.watch(self._flow, self.time)
        self.states, self.time = after, self.time + self.timestep

    def _directions(self) -> tuple[Array, Array]:
        """Ways of the pistons (1, −1), and which of them stick."""
        piston, speeds = self.model.drive.piston, self.states[:, 0]
        excess = self._forces - piston.area * self.states[:, 2]
        stuck = (speeds == 0.0) & (np.abs(excess) <= piston.friction) & (piston.friction > 0.0)
        return np.where(speeds == 0.0, np.sign(excess), np.sign(speeds)), stuck

    def _moves_of(self, resistances: Array, stuck: Array) -> Array:
        """From states, force and volume rate to the states after a step, (channels, 6, 6)."""
        key = np.where(stuck, -resistances, resistances)
        if not np.array_equal(key, self._key):
            matrices = np.zeros((self.model.channels, 4, 4))
            matrices[:, :3, :3] = self.model.matrices(resistances)
            matrices[stuck, 0] = 0.0
            matrices[:, MEAN, 1] = 1.0 / self.timestep
            self._key = key
            self._moves = affine_moves(matrices, self._weights, self._inputs, self.timestep)
        return self._moves

    def _slid(self, swept: Array) -> Array:
        """The states after a step with dry friction, which may stop and start pistons."""
        matrices = self.model.matrices(self.model.resistance(self._flow))
        each = zip(matrices, self.model.inertias, self._forces, swept, strict=True)
        return np.stack(
            [
                slide_and_stick(Channel(self.model.drive.piston, *one), state, self.timestep)
                for one, state in zip(each, self.states, strict=True)
            ]
        )
