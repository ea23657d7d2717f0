"""Where the power of the drives of an arm goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.transforms import Array


@dataclass(frozen=True)
class PowerBalance:
    """Where the power of the drives goes [W], each of shape (channels,).

    Args:
        supplied: By the screws to the pistons.
        stored: Rate of the energy in pistons, chambers and water.
        viscous: Lost to viscous friction of the pistons.
        dry: Lost to dry friction of the pistons.
        tube: Lost in the tubes.
        arm: Of the chambers on the moving arm.
    """

    supplied: Array
    stored: Array
    viscous: Array
    dry: Array
    tube: Array
    arm: Array

    @property
    def lost(self) -> Array:
        """To friction and in the tubes [W], (channels,)."""
        return np.asarray(self.viscous + self.dry + self.tube)

    @property
    def gap(self) -> Array:
        """Supplied less stored, lost and given to the arm [W]; 0 where the equations are right."""
        return np.asarray(self.supplied - self.stored - self.lost - self.arm)
