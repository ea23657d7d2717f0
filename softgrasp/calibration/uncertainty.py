"""Uncertainty of fitted parameters: standard errors, correlations, determined combinations.

The covariance at the optimum is σ²(JᵀJ)⁻¹, with σ² estimated from the residuals; it assumes
errors that are independent and of equal variance. The singular value decomposition of J
separates combinations of parameters that the measurements determine from those that they do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.transforms import Array

KNOWN = 1.0 / 3.0
"""Largest relative standard error of a determined parameter or combination [–]."""
HUGE = 10.0
"""Relative errors above this are reported as not determined, without a number [–]."""
SMALL = 0.25
"""Weights below this fraction of the largest are omitted in sentences [–]."""
ROUNDING = 1e-9
"""Singular values below this fraction of the largest are taken as zero [–]."""


@dataclass(frozen=True)
class Combination:
    """A direction in which all parameters change together, by relative amounts.

    Args:
        weights: Weight of each parameter; the sum of their squares is one, (p,).
        error: Relative standard error along it; infinite where no measurement changes, NaN where
            the noise cannot be estimated.
        sentence: Description in words.
    """

    weights: tuple[float, ...]
    error: float
    sentence: str


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty of the parameters of a stage.

    Args:
        errors: Standard errors, (p,); infinite where undetermined.
        relative: Errors over the parameters' scales, (p,).
        correlation: Correlation matrix, (p, p); zero with parameters that are not determined at
            all.
        determined: Determined combinations, the best first.
        undetermined: Other combinations.
        noise: Standard deviation of the residuals; NaN without more measurements than
            parameters.
    """

    errors: Array
    relative: Array
    correlation: Array
    determined: tuple[Combination, ...]
    undetermined: tuple[Combination, ...]
    noise: float


def uncertainty(
    slopes: Array, scale: Array, residual: Array, names: tuple[str, ...]
) -> Uncertainty:
    """Estimate the uncertainty from the Jacobian at the optimum.

    Directions without effect have infinite errors, and so have all where the noise cannot be
    estimated.

    Args:
        slopes: Change of measured values over relative changes of parameters, (m, p).
        scale: Scale of each parameter, (p,).
        residual: Residuals, (m,).
        names: Names of the parameters.
    """
    count, parameter_count = slopes.shape
    _, singular, directions = np.linalg.svd(slopes, full_matrices=True)
    singular = np.concatenate([singular, np.zeros(parameter_count - len(singular))])
    rank = int((singular > ROUNDING * max(singular.max(initial=0.0), 1e-300)).sum())
    freedom = count - rank
    noise = float(np.sqrt(np.square(residual).sum() / freedom)) if freedom > 0 else np.nan
    # correlations do not depend on the noise
    inverse_singular = 1.0 / singular[:rank]
    covariance = (directions[:rank].T * np.square(inverse_singular)) @ directions[:rank]
    hidden = np.square(directions[rank:]).sum(axis=0) > 1e-6
    relative = np.where(hidden | np.isnan(noise), np.inf, noise * np.sqrt(np.diag(covariance)))
    spread = np.concatenate([noise * inverse_singular, np.full(parameter_count - rank, np.inf)])
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    combinations = [
        _combination(row, error, names) for row, error in zip(directions, spread, strict=True)
    ]
    return Uncertainty(
        errors=relative * scale,
        relative=relative,
        correlation=covariance / np.outer(deviation, deviation),
        determined=tuple(one for one in combinations if one.error <= KNOWN),
        undetermined=tuple(one for one in combinations if not one.error <= KNOWN),
        noise=noise,
    )


def combinations_of(
    covariance: Array, names: tuple[str, ...]
) -> tuple[tuple[Combination, ...], tuple[Combination, ...]]:
    """Return the determined and the other combinations of a covariance of relative changes.

    Args:
        covariance: Covariance of the parameters' relative changes, (p, p).
        names: Names of the parameters.
    """
    squares, directions = np.linalg.eigh(covariance)
    errors = np.sqrt(np.maximum(squares, 0.0))
    rows = zip(directions.T, errors.tolist(), strict=True)
    combinations = [_combination(row, error, names) for row, error in rows]
    return (
        tuple(one for one in combinations if one.error <= KNOWN),
        tuple(one for one in combinations if not one.error <= KNOWN),
    )


def _combination(weights: Array, error: float, names: tuple[str, ...]) -> Combination:
    # rounded, so that equal weights keep their order
    largest = int(np.abs(weights).round(6).argmax())
    weights = weights * np.sign(weights[largest])
    shown = np.flatnonzero(np.abs(weights) >= SMALL * abs(weights[largest]))
    shown = shown[np.argsort(-np.abs(weights[shown]).round(6), kind="stable")]
    terms = _terms([(float(weights[i]), names[i]) for i in shown])
    if np.isnan(error):
        sentence = f"{terms}: fitted exactly; no measurement is left to estimate its error"
    elif not np.isfinite(error):
        sentence = f"{terms}: not determined at all, no measurement changes with it"
    elif error > HUGE:
        sentence = f"{terms}: not determined, its standard error is more than ten times itself"
    elif error > KNOWN:
        sentence = f"{terms}: not determined, its standard error is {100 * error:.0f} %"
    else:
        sentence = f"{terms}: determined to {100 * error:.2g} %"
    return Combination(tuple(weights.tolist()), float(error), sentence)


def _terms(weighted: list[tuple[float, str]]) -> str:
    """Format ``0.94·dk1/k1 − 0.34·dk2/k2``; a single parameter by its name."""
    if len(weighted) == 1:
        return weighted[0][1]
    text = " ".join(
        f"{'−' if weight < 0.0 else '+'} {abs(weight):.2f}·d{name}/{name}"
        for weight, name in weighted
    )
    return text.removeprefix("+ ")
