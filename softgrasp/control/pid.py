"""PID control with a filtered derivative and without windup."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

FILTER = 8.0
"""The derivative is filtered with its time constant, kd/kp, over this (Åström and Murray 2008,
sec. 10.5, have 2 to 20)."""

Limiter = Callable[[Array], Array]
"""From outputs that are wanted to those that can be had."""


class Pid:
    """u = kp e + ki ∫e dt − kd dy/dt, sample by sample, for any number of channels.

    Where a limit keeps an output from what it should be, the integral is led to what the output
    is: it does not wind up (back-calculation, Åström and Murray 2008, sec. 10.4).

    Args:
        kp: Output over error.
        ki: Output over error and time [1/s].
        kd: Output over rate of what is measured [s].
        period: Time between two samples [s].
        limiter: What outputs there are; all of them where it is not given.

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
        # back to a limit in the time in which the integral doubles what kp gives
        self._back = min(period * ki / kp, 1.0) if kp else 1.0
        self.reset()

    def reset(self) -> None:
        """Forget everything that was."""
        self.integral: Array = np.zeros(())
        """Of the error, times ki."""
        self._rate: Array = np.zeros(())
        self._last: Array | None = None

    def output(self, target: ArrayLike, measured: ArrayLike) -> Array:
        """The output at this sample, within its limits.

        Args:
            target: What to reach, any shape.
            measured: What is there, of the same shape.

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
