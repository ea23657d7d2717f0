"""Bends of the pieces of a finger from directions that are seen in its plane.

A piece of constant curvature that bends by θ leaves its base along the tangent t and ends along
t + θ; its chord, from cut to cut, turns only half the arc: it points along t + θ/2. So with the
reference line along the tangent t₀ at the base, chords α and tangents t at the cuts are linear in
what is looked for::

    αᵢ = t₀ + θ₁ + … + θᵢ₋₁ + θᵢ/2        tᵢ = t₀ + θ₁ + … + θᵢ

Chords alone and the reference line give the angles one after the other, θᵢ = 2 (αᵢ − tᵢ₋₁) with
tᵢ₋₁ from the pieces before. That is exact for pieces of constant curvature and amplifies noise:
with an error σ in every pick of pieces of length l the fourth angle is uncertain by 13.6 σ/l. Two
picks a cut, one at each edge of the finger, show the tangents themselves; then all is weighed by
its covariance (generalised least squares).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


class AngleEstimate(NamedTuple):
    """Bends of the pieces, base first, and how sure they are."""

    angles: Array
    """Positive from the first axis of the plane to the second [rad], (n,)."""
    covariance: Array
    """Of the angles [rad²], (n, n)."""

    @property
    def sigmas(self) -> Array:
        """Standard deviations of the angles [rad], (n,)."""
        return np.sqrt(np.diag(self.covariance))


def angle_between(first: Array, second: Array) -> Array:
    """Angle from one direction of the plane (..., 2) to another, atan2(cross, dot) [rad]."""
    cross = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    return np.asarray(np.arctan2(cross, (first * second).sum(axis=-1)))


def directions(line: Array | None, cuts: Array) -> Array:
    """Angles from the first axis to all directions that are seen, along the finger, (..., m) [rad].

    The order is: the reference line; the tangent at the base; then of each piece its chord and the
    tangent at its end. The line is left out where there is none, tangents where cuts are points.

    Args:
        line: Two points of the reference line, from the base outwards, (..., 2, 2).
        cuts: Points of the cuts between the pieces, base and tip included, (..., n + 1, 1, 2) on
            the middle line or (..., n + 1, 2, 2) at both edges.
    """
    chords = np.diff(cuts.mean(axis=-2), axis=-2)
    chord_directions = chords
    if cuts.shape[-2] == 2:
        across = cuts[..., 1, :] - cuts[..., 0, :]
        tangents = np.stack([across[..., 1], -across[..., 0]], axis=-1)
        near = np.concatenate([chords[..., :1, :], chords], axis=-2)
        # whichever edge comes first, a tangent points along the finger
        along = (tangents * near).sum(axis=-1, keepdims=True)
        tangents = np.where(along < 0.0, -tangents, tangents)
        chord_directions = np.empty((*chords.shape[:-2], 2 * chords.shape[-2] + 1, 2))
        chord_directions[..., ::2, :], chord_directions[..., 1::2, :] = tangents, chords
    if line is not None:
        chord_directions = np.concatenate([np.diff(line, axis=-2), chord_directions], axis=-2)
    before = np.concatenate(
        [np.zeros_like(chord_directions[..., :1, :]), chord_directions[..., :-1, :]], axis=-2
    )
    before[..., 0, 0] = 1.0
    return np.cumsum(angle_between(before, chord_directions), axis=-1)


def direction_rows(pieces: int, *, line: bool, edges: bool) -> Array:
    """How the directions hang on t₀ and the angles of the pieces, (m, 1 + n)."""
    total = np.tril(np.ones((pieces + 1, pieces + 1)))  # of the tangents at the cuts
    chords = 0.5 * (total[:-1] + total[1:])
    rows = list(chords)
    if edges:
        rows = [total[0]]
        for chord, tangent in zip(chords, total[1:], strict=True):
            rows += [chord, tangent]
    if line:
        rows.insert(0, total[0])
    return np.array(rows)


def solve_angles(seen: Array, covariance: Array, rows: Array) -> AngleEstimate:
    """The angles that agree best with the directions, weighed by their covariance.

    Args:
        seen: As ``directions`` gives them [rad], (m,).
        covariance: Of them [rad²], (m, m).
        rows: As ``direction_rows`` gives them, (m, 1 + n).

    Raises:
        DescriptionError: There are fewer directions than angles.
    """
    if len(rows) < rows.shape[1]:
        raise DescriptionError(
            "expected a reference line, or two picks a cut, found one pick a cut and no line: "
            "chords do not tell the tangent at the base"
        )
    if len(rows) == rows.shape[1]:
        inverse = np.linalg.inv(rows)
    else:
        weighed = np.linalg.solve(covariance, rows)
        inverse = np.linalg.solve(rows.T @ weighed, weighed.T)
    whole = inverse @ covariance @ inverse.T
    return AngleEstimate((inverse @ seen)[1:], whole[1:, 1:])
