"""Contact stiffness kept at its described value while a hand moves.

``model.contact_pairs`` converts K and D with the masses of one posture. These change: a joint moves
on, a servo reaches its force limit and no longer adds to the implicit inertia, a spring does. So
the stiffness of every contact is read from the solver's own quantities and ``solref`` of its pair
is scaled to the described one. The ratio D/K stays, since both are in ``solref`` and in the same
unit of mass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene

INTERVAL = 32
"""Control samples between two corrections: single runs, batches and environments correct at the
same samples, so that their results are equal bit for bit."""
LARGEST_CHANGE = 1.25
"""Largest factor by which one correction scales the stiffness of a pair."""

SMALLEST_DEPTH = 1e-12
"""Depth that a contact counts with at least [m]."""
FRICTION_DIMENSION = 3
"""Contact dimension from which on contacts have friction."""
RESOLVED = 0.15
"""Time step over 1/(A·D), with A the inverse mass of a pair, up to which the depth of an impact is
within 15 % of that at a fine step (measured, decision 0004) [–]."""
AT_LIMIT = 0.99
"""Fraction of the friction limit at which a contact counts as sliding."""


class ActingContacts(NamedTuple):
    """Contacts as they acted in the last physics step, n of them."""

    pair: NDArray[np.int64]
    """Index of the geom pair of each contact, (n,)."""
    stiffness: Array
    """K [N/m], (n,)."""
    damping: Array
    """D [N·s/m], (n,)."""
    depth: Array
    """Penetration [m], (n,)."""
    friction_ratio: Array
    """Friction over its limit, |Ft|/(µ·Fn); zero without a force, (n,) [–]."""


class ActingPair(NamedTuple):
    """What acted between two geoms during a run."""

    pair: int
    """Index of the geom pair."""
    stiffness: float
    """K of its last contact, weighted by depth [N/m]."""
    damping: float
    """D of its last contact [N·s/m]."""
    depth: float
    """Largest penetration of a sample [m]."""
    sliding: float
    """Fraction of its samples in contact in which friction was at its limit [–]."""
    touching: bool
    """Whether it touches at the end."""
    impact_step: float
    """Time step with which its first touch is resolved: the depth within 15 % [s]."""


class StiffnessFeedback:
    """Corrects ``solref`` of the pairs in contact."""

    def __init__(self, built: BuiltScene, model: mujoco.MjModel | None = None) -> None:
        """Look up the pairs with a converted contact, and give them the stiffness as built.

        Args:
            built: The scene.
            model: Model to correct, with the pairs of the scene in their order; that of the scene
                by default.
        """
        model = self._model = built.model if model is None else model
        model.pair_solref[:] = built.pair_solref
        self.first_row = 0
        """Control sample from which ``INTERVAL`` is counted."""
        self.history: list[Array] | None = None
        """``pair_solref`` after each correction, where a list is set."""
        self._log: list[ActingContacts] = []
        self._described = np.zeros(model.npair)
        self._pair_of = np.full((model.ngeom, model.ngeom), -1)
        for index in range(model.npair):
            stiffness = built.stiffness.get(built.model.pair(index).name)
            if stiffness is not None:
                first, second = int(model.pair_geom1[index]), int(model.pair_geom2[index])
                self._pair_of[first, second] = self._pair_of[second, first] = index
                self._described[index] = stiffness
        self._active = bool(self._described.any())

    def next_row(self, row: int) -> int:
        """Return the first control sample from ``row`` on at which the stiffness is corrected."""
        ahead = max(row - self.first_row, 1)
        return self.first_row + math.ceil(ahead / INTERVAL) * INTERVAL

    def acting(self, data: mujoco.MjData) -> ActingContacts:
        """Read stiffness and damping of the contacts of the last physics step.

        MuJoCo's normal force is (a_ref − a)/R with a_ref = −k·d·δ − b·v. The ``discrete``
        integrator takes a_ref at the end of the step, which divides it by 1 + h·b + h²·k·d and adds
        h·K to the damping.

        Args:
            data: The engine state after a step.
        """
        contact = data.contact
        pair = self._pair_of[contact.geom[:, 0], contact.geom[:, 1]]
        rows = contact.efc_address
        known = (pair >= 0) & (rows >= 0)
        rows = rows[known]
        parameters = data.efc_KBIP[rows]
        spring, rate = parameters[:, 0] * parameters[:, 2], parameters[:, 1]
        scale = data.efc_R[rows]
        if self._model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE:
            step = self._model.opt.timestep
            scale = scale * (1.0 + step * rate + step * step * spring)
            rate = rate + step * spring
        pair = pair[known]
        normal = data.efc_force[rows]
        if self._model.npair and contact.dim[known].min(initial=3) >= FRICTION_DIMENSION:
            tangential = np.hypot(data.efc_force[rows + 1], data.efc_force[rows + 2])
        else:
            tangential = np.zeros(len(rows))
        limit = self._model.pair_friction[pair, 0] * normal
        ratio = np.divide(tangential, limit, out=np.zeros(len(rows)), where=limit > 0.0)
        return ActingContacts(pair, spring / scale, rate / scale, -contact.dist[known], ratio)

    def correct(self, data: mujoco.MjData, row: int) -> None:
        """Scale ``solref`` of every pair in contact to its described stiffness.

        Contacts of one pair are weighted by their depth, so that the sum of their forces over the
        sum of their depths is K.

        Args:
            data: The engine state after the last step of a control sample.
            row: Index of the control sample; nothing is done before ``next_row``.
        """
        if row == self.first_row or (row - self.first_row) % INTERVAL:
            return
        if self._active and data.ncon:
            contacts = self.acting(data)
            self._log.append(contacts)
            pairs, index = np.unique(contacts.pair, return_inverse=True)
            weights = np.maximum(contacts.depth, SMALLEST_DEPTH)
            acting = np.bincount(index, weights * contacts.stiffness) / np.bincount(index, weights)
            ratio = self._described[pairs] / acting
            ratio = np.clip(ratio, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE)
            self._model.pair_solref[pairs] *= ratio[:, None]
        if self.history is not None:
            self.history.append(self._model.pair_solref.copy())

    def pairs(self, data: mujoco.MjData) -> list[ActingPair]:
        """Summarise what acted in every pair that touched at a corrected sample or at the end.

        Args:
            data: The engine state at the end of the run.
        """
        log = [*self._log, self.acting(data)] if data.ncon else self._log
        if not (self._active and log):
            return []
        columns = [np.concatenate(column) for column in zip(*log, strict=True)]
        sample = np.repeat(np.arange(len(log)), [len(contacts.pair) for contacts in log])
        return [
            self._summary(
                ActingContacts(*(column[mask] for column in columns)),
                sample[mask],
                bool(data.ncon) and int(sample[mask][-1]) == len(log) - 1,
            )
            for mask in (columns[0] == pair for pair in np.unique(columns[0]).tolist())
        ]

    def _summary(
        self, contacts: ActingContacts, sample: NDArray[np.int64], touching: bool
    ) -> ActingPair:
        """Summarise the contacts of one pair, each with the index of its sample."""
        pair = int(contacts.pair[0])
        last = sample == sample[-1]
        weights = np.maximum(contacts.depth[last], SMALLEST_DEPTH)
        sliding = np.unique(sample[contacts.friction_ratio >= AT_LIMIT])
        damping = float(np.average(contacts.damping[last], weights=weights))
        model = self._model
        inverse_mass = -model.pair_solref[pair, 0] / (1.0 - model.pair_solimp[pair, 0])
        inverse_mass /= self._described[pair]
        return ActingPair(
            pair=pair,
            stiffness=float(np.average(contacts.stiffness[last], weights=weights)),
            damping=damping,
            depth=float(contacts.depth.max()),
            sliding=len(sliding) / len(np.unique(sample)),
            touching=touching,
            impact_step=RESOLVED / (float(inverse_mass) * damping),
        )
