"""The law of debouncing (``laws.debounce``) over the samples of one action at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.closures.base import Closure
from softgrasp.mechanics.transforms import Array


class Touch:
    """Normal forces of the hand's bodies, and which contacts are established."""

    def __init__(self, bodies: int, closure: Closure) -> None:
        """Nothing is touched.

        Args:
            bodies: How many there are.
            closure: Says when contact is established.
        """
        self._threshold, self._needed = closure.threshold, closure.samples
        self._counts = np.zeros(bodies, dtype=np.int64)
        self.forces = np.zeros(bodies)
        """Normal forces at the last sample [N], (nb,)."""

    @property
    def in_contact(self) -> NDArray[np.bool_]:
        """Established contact, (nb,)."""
        return np.asarray(self._counts == self._needed)

    def update(self, forces: Array) -> None:
        """Judge coming samples.

        Contact is established where the last samples, as many as are needed, are all above the
        threshold: it is the length of that run which counts.

        Args:
            forces: Normal force of each body at each sample [N], (n, nb).
        """
        self.forces = forces[-1].copy()
        above = forces > self._threshold
        unbroken = above.all(axis=0)
        run = np.where(unbroken, self._counts + len(above), above[::-1].argmin(axis=0))
        self._counts = np.minimum(run, self._needed)
