"""Accuracy of the reference engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["Radau", "RK23", "RK45", "DOP853"]


@dataclass(frozen=True, kw_only=True)
class ReferenceSettings:
    """Integrator, tolerances and regularisation of friction.

    The stick speed is the one deliberate deviation from Coulomb friction: a contact under the
    fraction f < 1 of its friction limit creeps with about f/1.5 of it, and inner forces of a grasp
    decay with this creep. Explicit methods need steps of about stick_speed·m/(µ·N), so that they
    serve to check the implicit one at larger stick speeds.
    """

    method: Method = "Radau"
    """Integrator of scipy: implicit Radau IIA of order 5, or an explicit Runge–Kutta method."""
    rtol: float = 1e-6
    """Relative tolerance [–]."""
    position_tolerance: float = 1e-9
    """Absolute tolerance of joint positions within a control period [rad or m]."""
    velocity_tolerance: float = 1e-8
    """Absolute tolerance of velocities [rad/s or m/s]; a hundredth of the stick speed."""
    stick_speed: float = 1e-6
    """Slip speed at which friction reaches its static limit [m/s]."""
