"""Static and dynamic friction: the coefficient of a pair follows its slip speed, step by step.

MuJoCo has one coefficient a pair. A pair that slips faster than the critical velocity gets the
dynamic one for the next step, any other the static one (paper 004, Table 2, "stick-slip").
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene
from softgrasp.simulation.laws import update_slip
from softgrasp.simulation.state import Integers


class SlipFriction(NamedTuple):
    """The law's constants and its memory, for a model whose friction it changes."""

    critical: Array
    """Slip speed above which each pair slides [m/s], (np,)."""
    coefficients: Array
    """Static and dynamic, (np, 2)."""
    pair_of: Integers
    """Index of the pair of two geoms, −1 where its friction does not switch, (ng, ng)."""
    friction: Array
    """``pair_friction`` of the model, (np, 5); changed."""
    slipping: Integers
    """1 for a pair that slides, (np,); changed."""
    seen: Integers
    """Zeros, (np,); scratch."""

    @classmethod
    def of(cls, built: BuiltScene) -> SlipFriction | None:
        """The law of a scene, with every pair sticking; None where its friction does not switch.

        Args:
            built: The scene.
        """
        if not built.switching:
            return None
        model = built.model
        pair_of = np.full((model.ngeom, model.ngeom), -1, dtype=np.int64)
        critical, coefficients = np.zeros(model.npair), np.zeros((model.npair, 2))
        for index in range(model.npair):
            contact = built.switching.get(model.pair(index).name)
            if contact is not None:
                first, second = int(model.pair_geom1[index]), int(model.pair_geom2[index])
                pair_of[first, second] = pair_of[second, first] = index
                critical[index] = contact.critical_velocity
                coefficients[index] = contact.static_friction, contact.kinetic_friction
        slipping, seen = np.zeros((2, model.npair), dtype=np.int64)
        return cls(critical, coefficients, pair_of, model.pair_friction, slipping, seen)

    def update(self, data: mujoco.MjData) -> None:
        """Judge the slip of every contact in the step that has just been computed.

        A pair that has lost contact keeps its coefficient: it may only have hopped.
        """
        if data.ncon == 0:
            return
        contact = data.contact
        geoms: NDArray[np.int32] = contact.geom
        pairs = self.pair_of[geoms[:, 0], geoms[:, 1]].tolist()
        rows, velocities = contact.efc_address.tolist(), data.efc_vel.tolist()
        if update_slip(pairs, rows, velocities, self.critical, self.slipping, self.seen):
            for pair in set(pairs) - {-1}:
                self.friction[pair, :2] = self.coefficients[pair, self.slipping[pair]]
