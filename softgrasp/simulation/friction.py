"""Static and dynamic friction: the coefficient of a pair follows its slip speed, step by step.

MuJoCo has one coefficient a pair. A pair that slips faster than the critical velocity gets the
dynamic one for the next step, any other the static one (paper 004, Table 2, "stick-slip").
"""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build.pairs import Pair
from softgrasp.description.contact import Contact


class SlipFriction:
    """Sets ``pair_friction`` of a model from the slip of its contacts; call it after each step."""

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, pairs: list[Pair], contact: Contact
    ) -> None:
        """Start with every pair sticking.

        Args:
            model: The model whose friction is changed from now on.
            data: Its state.
            pairs: The pairs of the object with the hand.
            contact: Coefficients and critical velocity.
        """
        self._model, self._data = model, data
        self._critical = contact.critical_velocity
        self._static, self._kinetic = contact.static_friction, contact.kinetic_friction
        geoms = [tuple(sorted(model.geom(name).id for name in pair)) for pair in pairs]
        self._pair_of = dict(zip(geoms, (model.pair(p.name).id for p in pairs), strict=True))
        self._slipping: set[int] = set()

    def __call__(self) -> None:
        """Judge the slip of every contact in the step that has just been computed."""
        data = self._data
        if data.ncon == 0:
            return
        contact = data.contact
        rows = contact.efc_address
        speeds = np.hypot(data.efc_vel[rows + 1], data.efc_vel[rows + 2])
        fast = (speeds > self._critical) & (rows >= 0)
        slips: dict[int, bool] = {}
        for geoms, slipping in zip(contact.geom.tolist(), fast.tolist(), strict=True):
            pair = self._pair_of.get((min(geoms), max(geoms)))
            if pair is not None:
                slips[pair] = slips.get(pair, False) or slipping
        self._set(slips)

    def _set(self, slips: dict[int, bool]) -> None:
        """A pair that has lost contact keeps its coefficient: it may only have hopped."""
        for pair, slipping in slips.items():
            if slipping != (pair in self._slipping):
                coefficient = self._kinetic if slipping else self._static
                self._model.pair_friction[pair, :2] = coefficient
                self._slipping ^= {pair}
