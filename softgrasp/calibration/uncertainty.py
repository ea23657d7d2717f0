"""How sure parameters are: standard errors, correlations, combinations that the data fix or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.transforms import Array

KNOWN = 1.0 / 3.0
"""A parameter or combination is determined where its standard error is a smaller part of it."""
HUGE = 10.0
"""Larger errors say nothing but that nothing is known."""
SMALL = 0.25
"""Weights below this part of the largest are left out of words."""
ROUNDING = 1e-9
"""Singular values below this part of the largest are none."""


@dataclass(frozen=True)
class Combination:
    """A direction in which all parameters change together, each by a part of itself.

    Args:
        weights: Of each parameter; their squares sum to one, (p,).
        error: Standard error of a step along it, as a part; infinite where no measurement changes,
            NaN where none is left to judge the noise by.
        sentence: The same in words.
    """

    weights: tuple[float, ...]
    error: float
    sentence: str


@dataclass(frozen=True)
class Uncertainty:
    """What the measurements say of the parameters.

    Args:
        errors: Standard errors, (p,); infinite where they say nothing.
        relative: Over the parameters' own sizes, (p,).
        correlation: (p, p); zero with what is not determined at all.
        determined: Combinations, the best known first.
        undetermined: The others.
        noise: Standard deviation of what is measured that the fit leaves; NaN where there are no
            more measurements than the fit needs, and nothing is left to judge by.
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
    """From the Jacobian at the optimum.

    The covariance is σ²(JᵀJ)⁻¹ with σ² from what is left, which supposes errors that are alike and
    independent. Directions that change nothing have infinite errors, and all have where nothing is
    left to judge the noise by.

    Args:
        slopes: Change of what is measured over relative changes, (m, p).
        scale: Of each parameter, (p,).
        residual: What is left, (m,).
        names: Of the parameters.
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


def _terms(weighted: list[tuple[float, str]]) -> str:
    """``0.94·dk1/k1 − 0.34·dk2/k2``; a parameter that stands alone by its name."""
    if len(weighted) == 1:
        return weighted[0][1]
    text = " ".join(
        f"{'−' if weight < 0.0 else '+'} {abs(weight):.2f}·d{name}/{name}"
        for weight, name in weighted
    )
    return text.removeprefix("+ ")


def _combination(weights: Array, error: float, names: tuple[str, ...]) -> Combination:
    # rounded, so that equal weights keep their order
    largest = int(np.abs(weights).round(6).argmax())
    weights = weights * np.sign(weights[largest])
    shown = np.flatnonzero(np.abs(weights) >= SMALL * abs(weights[largest]))
    shown = shown[np.argsort(-np.abs(weights[shown]).round(6), kind="stable")]
    terms = _terms([(float(weights[i]), names[i]) for i in shown])
    if np.isnan(error):
        sentence = f"{terms}: fits, but no measurement is left to judge how well"
    elif not np.isfinite(error):
        sentence = f"{terms}: not determined at all, nothing measured changes with it"
    elif error > HUGE:
        sentence = f"{terms}: not determined, its standard error is more than ten times itself"
    elif error > KNOWN:
        sentence = f"{terms}: not determined, its standard error is {100 * error:.0f} %"
    else:
        sentence = f"{terms}: determined to {100 * error:.2g} %"
    return Combination(tuple(weights.tolist()), float(error), sentence)
