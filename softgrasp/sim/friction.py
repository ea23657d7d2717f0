"""Friction that switches with the slip speed: static and dynamic coefficients.

Friction itself is Coulomb's law of MuJoCo's contacts, whose coefficients ``model.contact_pairs``
sets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import mujoco

from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import CompiledScene


class SlipFriction(NamedTuple):
    """Static and dynamic friction of geom pairs, switched by their slip speed.

    MuJoCo has one coefficient per pair. A pair that slips faster than the critical velocity gets
    the dynamic one for the next physics step, any other the static one (paper 004, Table 2).
    """

    critical: list[float]
    """Slip speed above which each pair slides [m/s], (np,)."""
    coefficients: list[tuple[float, float]]
    """Static and dynamic coefficient of each pair [–], (np,)."""
    pair_of: list[list[int]]
    """Index of the pair of two geoms, −1 where its friction does not switch, (ng, ng)."""
    friction: Array
    """``pair_friction`` of the model, (np, 5); updated."""
    slipping: list[int]
    """1 for a pair that slides, (np,); updated."""

    @classmethod
    def of(cls, built: CompiledScene) -> SlipFriction | None:
        """Make the switching friction of a scene, all pairs sticking; None if it is constant.

        Args:
            built: The scene.
        """
        if not built.switching:
            return None
        model = built.model
        pair_of = [[-1] * model.ngeom for _ in range(model.ngeom)]
        critical, coefficients = [0.0] * model.npair, [(0.0, 0.0)] * model.npair
        for index in range(model.npair):
            contact = built.switching.get(model.pair(index).name)
            if contact is not None:
                first, second = int(model.pair_geom1[index]), int(model.pair_geom2[index])
                pair_of[first][second] = pair_of[second][first] = index
                critical[index] = contact.critical_velocity
                coefficients[index] = contact.static_friction, contact.kinetic_friction
        return cls(critical, coefficients, pair_of, model.pair_friction, [0] * model.npair)

    def update(self, data: mujoco.MjData) -> None:
        """Set the friction coefficients of all pairs in contact by their slip in the last step.

        A pair that has lost contact keeps its coefficient: it may only have bounced.
        """
        contact = data.contact
        pairs = [self.pair_of[first][second] for first, second in contact.geom.tolist()]
        rows, velocities = contact.efc_address.tolist(), data.efc_vel.tolist()
        if update_slip(pairs, rows, velocities, self.critical, self.slipping):
            for pair in set(pairs) - {-1}:
                self.friction[pair, :2] = self.coefficients[pair][self.slipping[pair]]


def update_slip(
    pairs: Sequence[int],
    rows: Sequence[int],
    velocities: Sequence[float],
    critical: Sequence[float],
    slipping: list[int],
) -> bool:
    """Update which geom pairs slide (paper 004, Table 2); True if any started or stopped.

    A pair slides where one of its contacts is faster than the critical velocity. Pairs without a
    contact keep their state.

    Args:
        pairs: Index of the pair of each contact, −1 for a contact without such friction, (nc,).
        rows: First constraint row of each contact, negative where it has none, (nc,).
        velocities: Of the constraint rows: normal, and two tangential ones [m/s], (nr,).
        critical: Slip speed above which a contact of each pair slides [m/s], (np,).
        slipping: 1 for a pair that slides, (np,); updated.
    """
    fast: dict[int, int] = {}
    for pair, row in zip(pairs, rows, strict=True):
        if pair >= 0 and not fast.get(pair):
            fast[pair] = int(
                row >= 0 and math.hypot(velocities[row + 1], velocities[row + 2]) > critical[pair]
            )
    changed = False
    for pair, slides in fast.items():
        if slipping[pair] != slides:
            slipping[pair] = slides
            changed = True
    return changed
