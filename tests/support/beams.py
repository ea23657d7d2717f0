"""Exact large bending and natural frequencies of a clamped beam.

All numbers are dimensionless: lengths over L, forces in EI/L², moments in EI/L. The beam is clamped
at the origin along +x and does not stretch.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

FREQUENCIES = (3.5160152685, 22.0344915647, 61.6972144135)
"""First natural frequencies of a clamped beam [sqrt(EI/(ρA L⁴))]: roots of cos β cosh β = −1."""


class Tip(NamedTuple):
    """End of a bent beam: coordinates over the length, and slope [rad], all positive."""

    x: float
    y: float
    slope: float


def under_tip_force(load: float) -> Tip:
    """A force P across the straight beam that keeps its direction; load = P·L²/EI, above 0.

    Elliptic integrals (Bisshopp and Drucker 1945): with p² = (1 + sin φ)/2 and
    sin ψ = 1/(p√2), where φ is the slope of the tip, √load = K(p) − F(ψ, p).
    """

    def missing(square: float) -> float:
        start = np.arcsin(min(1.0, 1.0 / np.sqrt(2.0 * square)))
        return float(ellipk(square) - ellipkinc(start, square) - np.sqrt(load))

    square = brentq(missing, 0.5, 1.0 - 1e-15, xtol=1e-16)
    start = np.arcsin(min(1.0, 1.0 / np.sqrt(2.0 * square)))
    root = np.sqrt(load)
    rise = 1.0 - 2.0 * float(ellipe(square) - ellipeinc(start, square)) / root
    sine = 2.0 * square - 1.0
    return Tip(float(np.sqrt(2.0 * sine) / root), float(rise), float(np.arcsin(sine)))


def self_weight_deflection(load: float) -> Tip:
    """An even weight w per length across the straight beam; load = w·L³/EI.

    Shooting from the tip: the slope obeys θ″ = −load·(1 − s)·cos θ with θ′ = 0 at the tip.
    """

    def whole(slope: float) -> np.ndarray:
        # from the tip (r = 0) to the clamp (r = 1): slope, curvature, and the way travelled
        def rates(r: float, state: np.ndarray) -> list[float]:
            angle, curvature = state[0], state[1]
            return [-curvature, load * r * np.cos(angle), np.cos(angle), np.sin(angle)]

        run = solve_ivp(
            rates, (0.0, 1.0), [slope, 0.0, 0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14
        )
        return np.asarray(run.y[:, -1])

    slope = brentq(lambda guess: float(whole(guess)[0]), 0.0, 0.5 * np.pi, xtol=1e-15)
    _, _, x, y = whole(slope).tolist()
    return Tip(x, y, float(slope))


def under_tip_moment(load: float) -> Tip:
    """A moment M at the tip bends the beam to an arc of a circle; load = M·L/EI, above 0."""
    return Tip(float(np.sin(load) / load), float((1.0 - np.cos(load)) / load), load)
