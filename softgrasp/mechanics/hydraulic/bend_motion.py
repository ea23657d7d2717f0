"""How the end of a bent segment moves: velocity and acceleration over (u, v, l, τ).

A segment bends by (u, v), as ``pcc.bend_transform`` has it, has the length l, and its end is
twisted by τ about its own z axis afterwards (paper 003, eq 3). With e = (u, v, 0), z = (0, 0, 1)
and the functions A, B, C of θ = |e| (``pcc/series.py``):

    p = l (B e + A z),   ω = ρ̇ + B w z + C w e + τ̇ n

where ρ = (−v, u, 0) is the rotation vector, w = u v̇ − v u̇ and n = A e + cos θ z the end's z axis.
Plain numbers: an arm has few segments, and arrays of so few cost ten times as much.
"""

from __future__ import annotations

from math import cos, factorial, hypot, sin
from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import Array

SMALL, TERMS = 1.0, 11
"""Below this angle [rad] the power series are used; the closed forms lose too many digits there."""


class ArcNumbers(NamedTuple):
    """A, B, C of an arc's angle t and D = A′/t, E = B′/t, C′/t, D′/t, E′/t."""

    a: float
    b: float
    c: float
    d: float
    e: float
    c1: float
    d1: float
    e1: float


class BendMotion(NamedTuple):
    """End frame of a segment in its base frame and how it moves.

    Args:
        frame: (4, 4).
        jacobian: Of velocity and angular velocity of the end over the rates of (u, v, l, τ),
            (6, 4).
        convective: Acceleration and angular acceleration of the end at constant rates, (6,).
    """

    frame: Array
    jacobian: Array
    convective: Array


def bend_motion(strain: Array, rate: Array) -> BendMotion:
    """Frame and motion of one segment.

    Args:
        strain: (u, v, l, τ) [rad, rad, m, rad], (4,).
        rate: Of the strain [1/s], (4,).
    """
    u, v, length, twist = strain.tolist()
    theta = hypot(u, v)
    f = arc_numbers(theta)
    direction = u, v, cos(theta)
    return BendMotion(
        _frame(direction, length, twist, f),
        _jacobian(direction, length, f),
        np.array(_convective(direction, length, rate.tolist(), f)),
    )


def _frame(
    direction: tuple[float, float, float], length: float, twist: float, f: ArcNumbers
) -> Array:
    u, v, along = direction
    x, y = (1.0 - f.b * u * u, -f.b * u * v, -f.a * u), (-f.b * u * v, 1.0 - f.b * v * v, -f.a * v)
    cosine, aside = cos(twist), sin(twist)
    first = [cosine * p + aside * q for p, q in zip(x, y, strict=True)]
    second = [cosine * q - aside * p for p, q in zip(x, y, strict=True)]
    normal = f.a * u, f.a * v, along
    position = length * f.b * u, length * f.b * v, length * f.a
    return np.array([*zip(first, second, normal, position, strict=True), (0.0, 0.0, 0.0, 1.0)])


def _jacobian(direction: tuple[float, float, float], length: float, f: ArcNumbers) -> Array:
    u, v, along = direction
    mixed = length * u * v * f.e
    return np.array(
        [
            [length * (f.b + u * u * f.e), mixed, u * f.b, 0.0],
            [mixed, length * (f.b + v * v * f.e), v * f.b, 0.0],
            [length * u * f.d, length * v * f.d, f.a, 0.0],
            [-f.c * u * v, f.c * u * u - 1.0, 0.0, f.a * u],
            [1.0 - f.c * v * v, f.c * u * v, 0.0, f.a * v],
            [-f.b * v, f.b * u, 0.0, along],
        ]
    )


def _convective(
    direction: tuple[float, float, float], length: float, rate: list[float], f: ArcNumbers
) -> list[float]:
    """Second derivatives of p and first of ω where u, v, l and τ change at constant rates."""
    u, v, along = direction
    du, dv, dl, dt = rate
    bend_rate, faster = u * du + v * dv, du * du + dv * dv  # θ θ̇ and its rate
    da, db, dc = f.d * bend_rate, f.e * bend_rate, f.c1 * bend_rate
    dda, ddb = f.d1 * bend_rate**2 + f.d * faster, f.e1 * bend_rate**2 + f.e * faster
    on_direction, on_rate = 2.0 * dl * db + length * ddb, 2.0 * (dl * f.b + length * db)
    w = u * dv - v * du
    spin = -dv + f.c * w * u, du + f.c * w * v, f.b * w
    normal = f.a * u, f.a * v, along
    return [
        on_direction * u + on_rate * du,
        on_direction * v + on_rate * dv,
        2.0 * dl * da + length * dda,
        w * (dc * u + f.c * du) + dt * (spin[1] * normal[2] - spin[2] * normal[1]),
        w * (dc * v + f.c * dv) + dt * (spin[2] * normal[0] - spin[0] * normal[2]),
        w * db + dt * (spin[0] * normal[1] - spin[1] * normal[0]),
    ]


def arc_numbers(angle: float) -> ArcNumbers:
    """The functions of one angle [rad], by their power series where it is small."""
    square = angle * angle
    if angle < SMALL:
        return ArcNumbers(*(square ** np.arange(TERMS) @ _SERIES).tolist())
    a, b = sin(angle) / angle, 2.0 * (sin(0.5 * angle) / angle) ** 2
    c, d, e = (1.0 - a) / square, (cos(angle) - a) / square, (a - 2.0 * b) / square
    return ArcNumbers(
        *(a, b, c, d, e),
        *((b - 3.0 * c) / square, (-a - 3.0 * d) / square, (d - 4.0 * e) / square),
    )


def _coefficients(order: int, times: int) -> list[float]:
    """Of Σ (−1)ᵏ t²ᵏ/(2k + order)!, differentiated and divided by t so many times."""
    coefficients = [(-1) ** k / factorial(2 * k + order) for k in range(TERMS + times)]
    for _ in range(times):
        coefficients = [2 * k * part for k, part in enumerate(coefficients)][1:]
    return coefficients


_SERIES = np.array(
    [
        _coefficients(order, times)
        for order, times in ((1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (3, 1), (1, 2), (2, 2))
    ]
).T
