"""From a pressure to the bends of a finger's pieces, and back, with a fit that has been made."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from softgrasp.description.pressure_fit import PressureFit
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

ROUNDING = 1e-9
"""A pressure counts as measured up to so much of the range beyond its ends [–]."""
SAME_BEND = 1e-12
"""Two bends are the same up to so much [rad]."""
MIN_REVERSAL = 1e-9
"""A piece that bends back by less is only rounding [rad]."""
FARTHEST = 1e9
"""Turns beyond so many scales are those of straight lines, and are none."""
KPA = 1e-3
"""Kilopascals in a pascal, for sentences."""


class Reversal(NamedTuple):
    """A stretch of pressures in which a piece bends against its way over the whole range."""

    piece: int
    """From the base, from 0; as many as there are pieces for all of them together."""
    begin: float
    """[Pa]"""
    end: float
    """[Pa]"""
    amount: float
    """By how much it bends back [rad]."""


def angles_at(fit: PressureFit, pressure: ArrayLike) -> Array:
    """Bending angles of the pieces at pressures, (..., n) [rad]; paper 001, eq 4.

    Args:
        fit: Of a finger with n pieces.
        pressure: One, or any shape (...) of them [Pa].

    Raises:
        DescriptionError: A pressure lies outside the range that was measured, or is no number.
    """
    scaled = _measured(fit, pressure) / fit.scale
    powers = scaled[..., None] ** np.arange(4)
    return np.asarray(powers @ np.array(fit.coefficients).T)


def curvatures_at(fit: PressureFit, pressure: ArrayLike) -> Array:
    """Curvatures κ = θ/ℓ of the pieces at pressures, (..., n) [1/m]; as ``angles_at``."""
    return np.asarray(angles_at(fit, pressure) / np.array(fit.lengths))


def pressures_for(fit: PressureFit, bend: float, piece: int | None = None) -> tuple[float, ...]:
    """All pressures of the measured range at which a finger or a piece bends so far [Pa], rising.

    Args:
        fit: Of a finger.
        bend: All pieces together, or the one that is named [rad].
        piece: From the base, from 0; None for all together.

    Raises:
        DescriptionError: There is no such piece.
    """
    curve = _curve(fit, piece)
    curve[0] -= bend
    stations = _monotonic_stations(fit, curve)
    heights = polynomial.polyval(stations, curve)
    roots = [x for x, y in zip(stations, heights, strict=True) if abs(y) <= SAME_BEND]
    for (a, left), (b, right) in pairwise(zip(stations, heights, strict=True)):
        if min(abs(left), abs(right)) > SAME_BEND and left * right < 0.0:
            roots.append(brentq(polynomial.polyval, a, b, args=(curve,), xtol=1e-14))
    return tuple(fit.scale * float(x) for x in sorted(roots))


def pressure_for(
    fit: PressureFit, bend: float, *, piece: int | None = None, near: float | None = None
) -> float:
    """The pressure at which a finger, or one of its pieces, bends as far as is wanted [Pa].

    Args:
        fit: Of a finger.
        bend: All pieces together, or the one that is named [rad].
        piece: From the base, from 0; None for all together.
        near: Where several pressures make this bend, the one nearest to this is taken [Pa].

    Raises:
        DescriptionError: No pressure of the measured range makes this bend, or several do and
            ``near`` does not say which.
    """
    candidates = pressures_for(fit, bend, piece)
    whose = "all pieces together" if piece is None else f"piece {piece + 1}"
    if not candidates:
        low, high = bend_range(fit, piece)
        raise DescriptionError(
            f"expected a bend of {whose} from {np.degrees(low):.4g}° to {np.degrees(high):.4g}°, "
            f"which is what {_range(fit)} make, found {np.degrees(bend):.4g}°",
            field="bend",
        )
    if len(candidates) > 1 and near is None:
        listed = ", ".join(f"{round(KPA * pressure, 6):.4g}" for pressure in candidates)
        raise DescriptionError(
            f"expected a bend of {whose} that one pressure makes, found {np.degrees(bend):.4g}°, "
            f"which {len(candidates)} make: {listed} kPa; near says which",
            field="bend",
        )
    return candidates[0] if near is None else min(candidates, key=lambda one: abs(one - near))


def bend_range(fit: PressureFit, piece: int | None = None) -> tuple[float, float]:
    """Least and largest bend over the measured range, of all pieces together or of one [rad].

    Raises:
        DescriptionError: There is no such piece.
    """
    curve = _curve(fit, piece)
    heights = polynomial.polyval(_monotonic_stations(fit, curve), curve)
    return float(heights.min()), float(heights.max())


def reversals(fit: PressureFit) -> tuple[Reversal, ...]:
    """Where a piece, or all together, bends back while the pressure rises; none where monotonic.

    Forwards is the way from the lowest to the highest pressure of the range.
    """
    reversal_list = []
    pieces = len(fit.lengths)
    for piece in range(pieces + (pieces > 1)):
        curve = _curve(fit, piece if piece < pieces else None)
        stations = _monotonic_stations(fit, curve)
        heights = polynomial.polyval(stations, curve)
        forwards = 1.0 if heights[-1] >= heights[0] else -1.0
        steps = zip(pairwise(fit.scale * stations), -forwards * np.diff(heights), strict=True)
        reversal_list += [
            Reversal(piece, float(begin), float(end), float(back))
            for (begin, end), back in steps
            if back > MIN_REVERSAL
        ]
    return tuple(reversal_list)


def _measured(fit: PressureFit, pressure: ArrayLike) -> Array:
    """The pressures, where all of them lie in the range."""
    pressures = np.asarray(pressure, dtype=float)
    low, high = fit.pressures
    tolerance = ROUNDING * (high - low)
    outside = pressures[~((pressures >= low - tolerance) & (pressures <= high + tolerance))]
    if outside.size:
        raise DescriptionError(
            f"expected {_range(fit)}, which is what was measured, found {KPA * outside[0]:.6g} kPa",
            field="pressure",
        )
    return pressures


def _range(fit: PressureFit) -> str:
    low, high = fit.pressures
    return f"pressures from {KPA * low:g} to {KPA * high:g} kPa"


def _curve(fit: PressureFit, piece: int | None) -> Array:
    """Coefficients of one piece, or of the sum of all."""
    rows = np.array(fit.coefficients)
    if piece is None:
        return np.asarray(rows.sum(axis=0))
    if not 0 <= piece < len(rows):
        raise DescriptionError(
            f"expected a piece from 0 to {len(rows) - 1}, found {piece}", field="piece"
        )
    return np.asarray(rows[piece].copy())


def _monotonic_stations(fit: PressureFit, curve: Array) -> Array:
    """Ends of the stretches of scaled pressure in which a curve only rises or only falls."""
    low, high = (pressure / fit.scale for pressure in fit.pressures)
    inner = {extremum for extremum in _extrema(curve) if low < extremum < high}
    return np.array([low, *sorted(inner), high])


def _extrema(curve: Array) -> list[float]:
    """Where a cubic has no slope.

    The larger root first, the other from their product: a cubic term that is only rounding must
    not spoil the turn of a parabola, as it does in a general solver.
    """
    c, b, a = (float(part) for part in polynomial.polyder(curve))
    root = b * b - 4.0 * a * c
    if root < 0.0:
        return []
    half = -0.5 * (b + math.copysign(math.sqrt(root), b))
    pairs = ((half, a), (c, half))
    return [above / below for above, below in pairs if abs(below) * FARTHEST > abs(above)]
