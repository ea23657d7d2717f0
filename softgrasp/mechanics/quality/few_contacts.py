"""Fewer contacts that span nearly the same wrenches, where a hull of all of them takes too long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.farthest import farthest_first
from softgrasp.mechanics.transforms import Array

MAX_CONTACTS = 16
"""Contacts of which wrench spaces are made without thinning: with 8 edges some 50 ms, which grows
with the third power."""


def few_contacts(
    points: Array,
    normals: Array,
    center: Array,
    torque_scale: float,
    max_contacts: int = MAX_CONTACTS,
) -> NDArray[np.int64]:
    """Contacts whose unit normal wrenches (n, (p − c) × n/ρ) are farthest apart, in their order.

    What they span lies within what all of them span, so that ε and volume of the few are lower
    bounds. A part or a rim that lies on a palm has dozens of contacts that add next to nothing.

    Args:
        points: (n, 3) [m].
        normals: Unit normals into the object, (n, 3).
        center: What moments are about, (3,) [m].
        torque_scale: ρ, what moments are divided by [m].
        max_contacts: How many are kept; all where there are no more.
    """
    if len(points) <= max_contacts:
        return np.arange(len(points), dtype=np.int64)
    moments = np.cross(points - center, normals) / torque_scale
    return np.sort(farthest_first(np.hstack([normals, moments]), max_contacts))
