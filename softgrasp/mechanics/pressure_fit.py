"""Cubic polynomials through measured bending angles, and how good they are.

Pressures are divided by a scale first: powers of scaled pressures differ little, so that the
problem is well conditioned. The polynomials are the same whatever the scale is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from softgrasp.description.pressure_fit import PressureFit
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.piece_bends import (
    KPA,
    Reversal,
    angles_at,
    bend_range,
    curvatures_at,
    pressure_for,
    pressures_for,
    reversals,
)
from softgrasp.mechanics.transforms import Array

__all__ = [
    "FitReport",
    "Reversal",
    "angles_at",
    "bend_range",
    "curvatures_at",
    "curve_errors",
    "fit_pressures",
    "pressure_for",
    "pressures_for",
    "reversal_clause",
    "reversals",
]

TERMS = 4
"""Coefficients of a cubic polynomial."""
SCALE = 1e5
"""[Pa]"""
MAX_CURVE_ERROR = 0.4
"""A fit is accepted where its curves are nearer to the truth than so many σ of a measurement."""
SIGNIFICANCE = 0.01
"""So often a cubic finger would be told to be none."""


@dataclass(frozen=True, eq=False)
class FitReport:
    """A fit, what it leaves of the measured angles, and how near its curves are to the truth.

    m samples, n pieces.
    """

    fit: PressureFit
    pressures: Array
    """[Pa], (m,)."""
    angles: Array
    """That were measured [rad], (m, n)."""
    condition: float
    """Condition number of the problem with scaled pressures."""
    condition_kpa: float
    """The same with pressures in kPa, as they are printed."""
    sigma: float | None
    """Standard deviation of a measured angle, where it is known [rad]."""

    @property
    def residuals(self) -> Array:
        """Measured angles less fitted ones [rad], (m, n)."""
        return np.asarray(self.angles - angles_at(self.fit, self.pressures))

    @property
    def rms(self) -> Array:
        """Root mean square of the residuals of each piece [rad], (n,)."""
        return np.asarray(np.sqrt(np.mean(self.residuals**2, axis=0)))

    @property
    def largest(self) -> Array:
        """Largest residual of each piece [rad], (n,)."""
        return np.asarray(np.abs(self.residuals).max(axis=0))

    @property
    def scatter(self) -> Array:
        """σ of a measured angle as the residuals say it, √(Σ r²/(m − 4)) [rad], (n,)."""
        freedom = len(self.pressures) - TERMS
        return np.asarray(np.sqrt(np.sum(self.residuals**2, axis=0) / freedom))

    @property
    def r_squared(self) -> Array:
        """Part of the variance of each piece's angle that its curve explains, (n,)."""
        spread = np.sum((self.angles - self.angles.mean(axis=0)) ** 2, axis=0)
        flat = spread <= len(self.angles) * (1e-12 * np.abs(self.angles).max(axis=0)) ** 2
        left = np.sum(self.residuals**2, axis=0) / np.where(flat, 1.0, spread)
        return np.where(flat, 1.0, 1.0 - left)

    @property
    def curve_errors(self) -> Array | None:
        """Expected rms distance of each curve from the true one [rad], (n,); None without σ.

        σ·√(4/m) of the noise, and what the residuals have more than σ allows: then the finger is
        not cubic. That is believed only where noise has such residuals in one of a hundred cases.
        """
        if self.sigma is None:
            return None
        samples, freedom = len(self.pressures), len(self.pressures) - TERMS
        left = np.sum(self.residuals**2, axis=0)
        believed = left > self.sigma**2 * chdtri(freedom, SIGNIFICANCE / left.size)
        misfit = np.where(believed, left - freedom * self.sigma**2, 0.0) / samples
        return np.asarray(np.sqrt(self.sigma**2 * TERMS / samples + misfit))

    @property
    def accepted(self) -> bool | None:
        """Whether every curve is nearer to the truth than 0.4 σ; None where σ is not known."""
        errors = self.curve_errors
        if errors is None or self.sigma is None:
            return None
        return bool((errors < MAX_CURVE_ERROR * self.sigma).all())

    @property
    def reversals(self) -> tuple[Reversal, ...]:
        """Where the fitted curves are not monotonic."""
        return reversals(self.fit)


def fit_pressures(
    pressures: ArrayLike,
    angles: ArrayLike,
    lengths: ArrayLike,
    *,
    sigma: float | None = None,
    scale: float = SCALE,
    monotonic: bool = False,
    name: str = "pressure_fit",
    source: str = "",
) -> FitReport:
    """Fit a cubic polynomial of pressure to the bending angles of each piece.

    Args:
        pressures: At which was measured, in any order [Pa], (m,).
        angles: Bends of the pieces from the base outwards [rad], (m, n).
        lengths: Of the pieces [m], (n,).
        sigma: Standard deviation of a measured angle, where it is known [rad].
        scale: Pressure that counts as 1 [Pa]; the curves do not depend on it.
        monotonic: Whether to refuse curves that bend back.
        name: Of the fit.
        source: Where the angles come from.

    Raises:
        DescriptionError: Shapes that do not go together, numbers that are not finite, too few
            samples or different pressures, σ not above 0, or curves that bend back where that is
            refused.
    """
    x, y = np.asarray(pressures, dtype=float), np.asarray(angles, dtype=float)
    arcs = np.asarray(lengths, dtype=float)
    _check(x, y, arcs, sigma, scale)
    powers = np.vander(x / scale, TERMS, increasing=True)
    rows = np.linalg.lstsq(powers, y, rcond=None)[0].T
    fit = PressureFit(
        name=name,
        source=source,
        lengths=tuple(arcs.tolist()),
        coefficients=tuple(cast("tuple[float, float, float, float]", tuple(row)) for row in
                           rows.tolist()),
        scale=scale,
        pressures=(float(x.min()), float(x.max())),
        residuals=tuple(np.sqrt(np.mean((y - powers @ rows.T) ** 2, axis=0)).tolist()),
    )  # fmt: skip
    if monotonic and (back := reversals(fit)):
        text = "; ".join(reversal_clause(fit, one) for one in back)
        raise DescriptionError(f"expected curves that are monotonic, found: {text}")
    in_kpa = np.vander(KPA * x, TERMS, increasing=True)
    scaled, unscaled = (float(np.linalg.cond(matrix)) for matrix in (powers, in_kpa))
    return FitReport(fit, x, y, scaled, unscaled, sigma)


def curve_errors(fit: PressureFit, pressures: ArrayLike, truth: ArrayLike) -> Array:
    """Root mean square distance of the curves from known true angles [rad], (n,).

    Args:
        fit: Of n pieces.
        pressures: [Pa], (m,).
        truth: True angles there [rad], (m, n).

    Raises:
        DescriptionError: A pressure lies outside the range that was measured.
    """
    apart = angles_at(fit, pressures) - np.asarray(truth, dtype=float)
    return np.asarray(np.sqrt(np.mean(apart**2, axis=0)))


def reversal_clause(fit: PressureFit, one: Reversal) -> str:
    """Where a curve bends back, and by how much, in words."""
    is_piece = one.piece < len(fit.lengths)
    whose = f"piece {one.piece + 1} bends" if is_piece else "all together bend"
    return (
        f"{whose} back by {np.degrees(one.amount):.3g}° from {KPA * one.begin:.4g} to "
        f"{KPA * one.end:.4g} kPa"
    )


def _check(x: Array, y: Array, arcs: Array, sigma: float | None, scale: float) -> None:
    if x.ndim != 1 or y.ndim != 2 or arcs.ndim != 1 or y.shape != (len(x), len(arcs)):
        raise DescriptionError(
            f"expected angles of shape (pressures, lengths), found {y.shape} for {x.shape} "
            f"pressures and {arcs.shape} lengths",
            field="angles",
        )
    for field, values in (("pressures", x), ("angles", y), ("lengths", arcs)):
        if not np.isfinite(values).all():
            raise DescriptionError("expected finite numbers, found others", field=field)
    different = len(np.unique(x))
    if len(x) <= TERMS or different < TERMS:
        raise DescriptionError(
            f"expected at least {TERMS + 1} samples at {TERMS} different pressures, found "
            f"{len(x)} at {different}",
            field="pressures",
        )
    for field, value in (("sigma", sigma), ("scale", scale)):
        if value is not None and not 0.0 < value < np.inf:
            raise DescriptionError(f"expected a number above 0, found {value:g}", field=field)
