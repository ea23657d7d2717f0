"""Feedback control of the bending of a hydraulic arm: one PID controller per bending angle.

The chambers are allocated the pressures that make the required bending moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.hydraulics.description import ArmSection, HydraulicArm
from softgrasp.hydraulics.drive import pressure_of_torque
from softgrasp.mechanics import Allocation, Array

KP, KI, KD = 0.5, 6.0, 0.05
"""Gains for the shipped arm: moment [N·m] over error [rad], integral [rad·s] and rate [rad/s]."""
FILTER = 8.0
"""The derivative is filtered with its time constant, kd/kp, over this (Åström and Murray 2008,
sec. 10.5, have 2 to 20)."""
Limiter = Callable[[Array], Array]
"""Function from desired outputs to feasible ones."""


class ArmBendPid:
    """PID controller of the bending angles of all sections; it outputs pressures or motor torques.

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
        """State of the controller."""
        self._pressures = np.zeros(len(arm.chambers))

    def pressures(self, target: ArrayLike, bends: ArrayLike) -> Array:
        """Compute the chamber pressures at this sample [Pa], (k,).

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
        """Compute the motor torques of the pressures of ``pressures`` at rest [N·m], (k,)."""
        max_torque = self.arm.drive.screw.torque_max or 1.0
        per_torque = pressure_of_torque(self.arm.drive, max_torque) / max_torque
        return np.asarray(self.pressures(target, bends) / per_torque)

    def _limited(self, moments: Array) -> Array:
        """Return the moments of limited pressures, (sections, 2); store the pressures."""
        limited = []
        for chambers, moment in zip(self._chambers, moments, strict=True):
            smallest = chambers.smallest(moment)
            limited.append(chambers.nearest(moment) if smallest is None else smallest)
        self._pressures = np.concatenate(limited)
        made = zip(self._chambers, limited, strict=True)
        return np.stack([chambers.matrix @ pressures for chambers, pressures in made])


def _allocation(arm: HydraulicArm, section: ArmSection) -> Allocation:
    """Return bending moments per pressure of each chamber: −A r cos α, −A r sin α."""
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


class Pid:
    """PID controller u = kp e + ki ∫e dt − kd dy/dt in discrete time, for any number of channels.

    Where an output is at a limit, the integral is corrected towards the limited output, which
    prevents integrator windup (back-calculation, Åström and Murray 2008, sec. 10.4).

    Args:
        kp: Output over error.
        ki: Output over error and time [1/s].
        kd: Output over rate of the measured value [s].
        period: Time between two samples [s].
        limiter: Function that limits the outputs; unlimited by default.

    Raises:
        DescriptionError: A gain is negative, or the period is not positive.
    """

    def __init__(
        self, kp: float, ki: float, kd: float, period: float, limiter: Limiter | None = None
    ) -> None:
        for name, gain in (("kp", kp), ("ki", ki), ("kd", kd)):
            if not 0.0 <= gain < math.inf:
                raise DescriptionError(f"expected 0 or more, found {gain:g}", field=name)
        if not 0.0 < period < math.inf:
            raise DescriptionError(f"expected a time above 0 s, found {period:g} s", field="period")
        self.kp, self.ki, self.kd, self.period = kp, ki, kd, period
        self._limiter: Limiter = limiter or (lambda output: output)
        slow = kd / kp / FILTER if kp else 0.0
        self._filter_gain = period / (slow + period)
        # correction time: that in which the integral equals the proportional term
        self._back = min(period * ki / kp, 1.0) if kp else 1.0
        self.reset()

    def reset(self) -> None:
        """Clear the integral and the last measurement."""
        self.integral: Array = np.zeros(())
        """Integral of the error times ki."""
        self._rate: Array = np.zeros(())
        self._last: Array | None = None

    def output(self, target: ArrayLike, measured: ArrayLike) -> Array:
        """Compute the output at this sample, within its limits.

        Args:
            target: Target values, any shape.
            measured: Measured values, of the same shape.

        Raises:
            DescriptionError: A number is not finite: it would stay in the integral for ever.
        """
        now = np.asarray(measured, dtype=float)
        if not (np.isfinite(now).all() and np.isfinite(np.asarray(target, dtype=float)).all()):
            raise DescriptionError(
                f"expected finite numbers, found {now.tolist()} for {target!r}", field="measured"
            )
        error = np.asarray(target, dtype=float) - now
        last = now if self._last is None else self._last
        self._rate = self._rate + self._filter_gain * ((now - last) / self.period - self._rate)
        self._last = now
        free = self.kp * error + self.integral - self.kd * self._rate
        limited = self._limiter(free)
        self.integral = (
            self.integral + self.ki * self.period * error + self._back * (limited - free)
        )
        return limited
