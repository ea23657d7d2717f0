"""Polynomials of degree five between two states of motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array


class Quintic:
    """From a place, a velocity and an acceleration to rest at another place.

    From rest to rest it is the minimum-jerk motion: its largest speed is 1.875 ways a time.
    """

    def __init__(
        self,
        begin: ArrayLike,
        end: ArrayLike,
        duration: float,
        velocity: ArrayLike = 0.0,
        acceleration: ArrayLike = 0.0,
    ) -> None:
        """Solve for the coefficients.

        Args:
            begin: (n,)
            end: (n,)
            duration: [s]; at 0 it stands at the end.
            velocity: At the begin, (n,) [1/s].
            acceleration: At the begin, (n,) [1/s²].
        """
        start, self.end = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
        self.duration = duration
        one = np.zeros_like(start) + np.asarray(velocity, dtype=float) * duration
        two = np.zeros_like(start) + np.asarray(acceleration, dtype=float) * duration**2
        change = self.end - start
        self._coefficients = np.stack([
            start,
            one,
            0.5 * two,
            10.0 * change - 6.0 * one - 1.5 * two,
            -15.0 * change + 8.0 * one + 1.5 * two,
            6.0 * change - 3.0 * one - 0.5 * two,
        ])  # fmt: skip

    def at(self, time: ArrayLike, derivative: int = 0) -> Array:
        """Place, velocity or acceleration at times since the begin [s], (..., n)."""
        time_array = np.asarray(time, dtype=float)[..., None]
        if self.duration <= 0.0:
            rest = np.broadcast_to(self.end, (*time_array.shape[:-1], len(self.end)))
            return np.array(rest if derivative == 0 else np.zeros_like(rest))
        fraction = np.clip(time_array / self.duration, 0.0, 1.0)
        polynomial = np.polynomial.Polynomial
        columns = [
            polynomial(column).deriv(derivative)(fraction[..., 0])
            if derivative
            else polynomial(column)(fraction[..., 0])
            for column in self._coefficients.T
        ]
        values = np.stack(columns, axis=-1) / self.duration**derivative
        ended = time_array >= self.duration
        return np.where(ended, self.end if derivative == 0 else 0.0, values)
