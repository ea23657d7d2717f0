"""A hull around zero that grows point by point, in arrays, and knows the inverse of each facet.

Facets are simplices; with their vertices as rows of V, the facet's plane is n·x = 1 with
n = V⁻¹·1. A new point w replaces the facets that it sees (n·w > 1) by simplices over the border of
what it sees; replacing one row of V changes V⁻¹ by one outer product (Sherman and Morrison 1950),
so nothing has to be solved.

That the smallest facet distance is a lower bound of the reach of the hull in any direction needs
no convexity, and so holds whatever rounding does to what is seen: a simplex over a seen facet lies
beyond that facet's plane and does not hold zero, so the surface goes on surrounding zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array

SEEN = 1e-9
"""A point is beyond a facet if n·w is above 1 by more."""
SINGULAR = 1e-6
"""A simplex that is flatter, as seen from zero, ends the growth."""


class GrowingHull:
    """A hull with zero inside; the one thing here that has state.

    Args:
        points: (n, d).
        simplices: Indices of points (f, d), which surround zero.
    """

    vertices: NDArray[np.intp]
    """Indices of each facet's points, (f, d)."""
    planes: Array
    """n of each facet n·x = 1, (f, d)."""
    offsets: Array
    """Distances 1/|n| of the facets from zero, (f,)."""

    def __init__(self, points: Array, simplices: Array) -> None:
        self.points = list(points)
        self.vertices = np.asarray(simplices, dtype=np.intp)
        self.inverses = np.asarray(np.linalg.inv(points[self.vertices]))
        self._random = np.random.default_rng(0)
        # a facet is named by the exclusive or of the names of its vertices: so ridges are found
        self._names = self._random.integers(0, 2**63, len(points), dtype=np.int64)
        self._facets = np.bitwise_xor.reduce(self._names[self.vertices], axis=1)
        self.planes, self.offsets = _measured(self.inverses)

    def add(self, point: Array) -> bool:
        """Take a point in; False where it is not outside, or a new simplex would be flat."""
        seen = self.planes @ point > 1.0 + SEEN
        if not seen.any():
            return False
        dimension = len(point)
        vertices, inverses = self.vertices[seen], self.inverses[seen]
        ridges = (self._facets[seen][:, None] ^ self._names[vertices]).ravel()
        _, first, count = np.unique(ridges, return_index=True, return_counts=True)
        facet, corner = np.divmod(first[count == 1], dimension)
        rows = np.arange(len(facet))
        parts = point @ inverses[facet]
        coordinate = parts[rows, corner]
        if np.abs(coordinate).min() < SINGULAR:
            return False
        parts[rows, corner] -= 1.0
        column = inverses[facet, :, corner] / coordinate[:, None]
        fresh = inverses[facet] - column[:, :, None] * parts[:, None, :]
        replaced = vertices[facet]
        replaced[rows, corner] = len(self.points)
        name = self._random.integers(0, 2**63, dtype=np.int64)
        names = ridges.reshape(len(vertices), dimension)[facet, corner] ^ name
        self.points.append(point)
        self._names = np.append(self._names, name)
        # a step of Newton (Schulz 1933) keeps rounding from adding up
        corners = np.asarray(self.points)[replaced]
        fresh = fresh @ (2.0 * np.eye(dimension) - corners @ fresh)
        self._replace(~seen, replaced, fresh, names)
        return True

    def _replace(
        self,
        kept: NDArray[np.bool_],
        vertices: NDArray[np.intp],
        inverses: Array,
        names: NDArray[np.int64],
    ) -> None:
        planes, offsets = _measured(inverses)
        self.vertices = np.concatenate([self.vertices[kept], vertices])
        self.inverses = np.concatenate([self.inverses[kept], inverses])
        self._facets = np.concatenate([self._facets[kept], names])
        self.planes = np.concatenate([self.planes[kept], planes])
        self.offsets = np.concatenate([self.offsets[kept], offsets])

    def error(self) -> float:
        """How far vertices are from their facets' planes, as a share of 1: what rounding did."""
        corners = np.asarray(self.points)[self.vertices]
        return float(np.abs(np.einsum("fvd,fd->fv", corners, self.planes) - 1.0).max())


def _measured(inverses: Array) -> tuple[Array, Array]:
    planes = inverses.sum(axis=2)
    return planes, 1.0 / np.sqrt((planes**2).sum(axis=1))
