"""The five functions of an arc's angle that constant curvature needs, exact at zero."""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array

SMALL = 0.1
"""Below this angle [rad] the power series are used: seven terms are exact to rounding."""
_TERMS = range(7)


class ArcFunctions(NamedTuple):
    """Functions of the angle t of an arc, each of the angle's shape.

    With the power series of sin and cos: ``a`` = sin t / t, ``b`` = (1 − cos t)/t²,
    ``c`` = (t − sin t)/t³, ``d`` = a′/t, ``e`` = b′/t.
    """

    a: Array
    b: Array
    c: Array
    d: Array
    e: Array


def arc_functions(angle: ArrayLike) -> ArcFunctions:
    """The five functions at angles of any shape [rad]."""
    angle = np.asarray(angle, dtype=float)
    near = np.abs(angle) < SMALL
    far = _closed(np.where(near, 1.0, angle))
    close = _series(np.where(near, angle, 0.0) ** 2)
    return ArcFunctions(*(np.where(near, low, high) for low, high in zip(close, far, strict=True)))


def _closed(t: Array) -> tuple[Array, ...]:
    a = np.sin(t) / t
    # twice the square of a sine keeps its digits where 1 − cos t would lose them
    b = 2.0 * (np.sin(0.5 * t) / t) ** 2
    return a, b, (1.0 - a) / t**2, (np.cos(t) - a) / t**2, (a - 2.0 * b) / t**2


def _series(square: Array) -> tuple[Array, ...]:
    a, b, c = (_sum(square, [(-1) ** k / factorial(2 * k + n) for k in _TERMS]) for n in (1, 2, 3))
    d, e = (
        _sum(square, [2 * k * (-1) ** k / factorial(2 * k + n) for k in _TERMS[1:]]) for n in (1, 2)
    )
    return a, b, c, d, e


def _sum(square: Array, coefficients: list[float]) -> Array:
    return np.asarray(np.polynomial.polynomial.polyval(square, coefficients))
