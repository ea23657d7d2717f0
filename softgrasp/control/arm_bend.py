"""Bends of a hydraulic arm under feedback: a PID a bend, and the chambers that make its moment."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.control.pid import Pid
from softgrasp.description.hydraulic_arm import ArmSection, HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.allocation import Allocation
from softgrasp.mechanics.hydraulic.drive_model import pressure_of_torque
from softgrasp.mechanics.transforms import Array

KP, KI, KD = 0.5, 6.0, 0.05
"""Of the shipped arm: moment [N·m] over error [rad], its integral [rad·s] and rate [rad/s]."""


class ArmBendPid:
    """PID on the bends of all sections, whose outputs are pressures or torques of motors.

    A PID asks for a bending moment towards x and one towards y of each section. Chambers make them
    with the least pressures within their limits, and the nearest ones where they cannot; the
    integrals know of that.

    Args:
        arm: The arm.
        period: Time between two samples [s].
        kp: Moment over error [N·m].
        ki: Over its integral [N·m/s].
        kd: Over the rate of the bend [N·m·s].

    Raises:
        DescriptionError: A gain is negative, or the period is not positive.
    """

    def __init__(
        self,
        arm: HydraulicArm,
        period: float,
        kp: float = KP,
        ki: float = KI,
        kd: float = KD,
    ) -> None:
        self.arm = arm
        self._chambers = [_allocation(arm, section) for section in arm.sections]
        self.pid = Pid(kp, ki, kd, period, self._limited)
        """What it remembers."""
        self._pressures = np.zeros(len(arm.chambers))

    def pressures(self, target: ArrayLike, bends: ArrayLike) -> Array:
        """Pressures of the chambers at this sample [Pa], (k,).

        Args:
            target: Bends to reach towards x and y [rad], (sections, 2).
            bends: As they are, such as ``ArmChain.bends``, (sections, 2).

        Raises:
            DescriptionError: A shape does not fit.
        """
        shape = (len(self.arm.sections), 2)
        for field, values in (("target", target), ("bends", bends)):
            if np.shape(values) != shape:
                raise DescriptionError(
                    f"expected bends of shape {shape}, found {np.shape(values)}", field=field
                )
        self.pid.output(target, bends)
        return self._pressures.copy()

    def torques(self, target: ArrayLike, bends: ArrayLike) -> Array:
        """Torques of the motors that hold these pressures at rest [N·m], (k,); as ``pressures``."""
        max_torque = self.arm.drive.screw.torque_max or 1.0
        per_torque = pressure_of_torque(self.arm.drive, max_torque) / max_torque
        return np.asarray(self.pressures(target, bends) / per_torque)

    def _limited(self, moments: Array) -> Array:
        """The moments that chambers make, (sections, 2); remembers their pressures."""
        limited = []
        for chambers, moment in zip(self._chambers, moments, strict=True):
            smallest = chambers.smallest(moment)
            limited.append(chambers.nearest(moment) if smallest is None else smallest)
        self._pressures = np.concatenate(limited)
        made = zip(self._chambers, limited, strict=True)
        return np.stack([chambers.matrix @ pressures for chambers, pressures in made])


def _allocation(arm: HydraulicArm, section: ArmSection) -> Allocation:
    """Moments towards x and y of a unit of pressure in each chamber: −A r cos α, −A r sin α."""
    strongest = arm.drive.screw.torque_max
    max_pressure = (
        math.inf if strongest is None else float(pressure_of_torque(arm.drive, strongest))
    )
    rows = [
        (-c.area * c.radius * math.cos(c.angle), -c.area * c.radius * math.sin(c.angle))
        for c in section.chambers
    ]
    lows = [chamber.pressure_min for chamber in section.chambers]
    limits = [chamber.pressure_max for chamber in section.chambers]
    highs = [max_pressure if limit is None else min(limit, max_pressure) for limit in limits]
    return Allocation(np.transpose(rows), lows, highs)
