"""Contact stiffness kept at its described value while a hand moves.

``model.contact_pairs`` converts K and D with the masses of one posture. These change: a joint moves
on, a servo reaches its force limit and no longer adds to the implicit inertia, a spring does. So
the stiffness of every contact is read from the solver's own quantities and ``solref`` of its pair
is scaled to the described one. The ratio D/K stays, since both are in ``solref`` and in the same
unit of mass.

A correction is due every ``INTERVAL`` control samples. Where the last one found the same pairs in
contact, all within ``TOLERANCE`` of their stiffness, the distance to the next one doubles, up to
``LONGEST_INTERVAL``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.base import Description
from softgrasp.model.scene import CompiledScene
from softgrasp.model.timestep import RESOLVED

INTERVAL, LONGEST_INTERVAL = 32, 128
"""Control samples between two corrections, at first and at most: fewer than the 0.2 s in which a
closed hand settles, so that what touches late is corrected, too. They depend on the contacts alone,
so that runs and environments correct at the same samples and are equal bit for bit."""
TOLERANCE = 1e-3
"""Relative deviation from the described stiffness with which a pair counts as right [–]."""
LARGEST_CHANGE = 1.25
"""Largest factor by which one correction scales the stiffness of a pair."""

SMALLEST_DEPTH = 1e-12
"""Depth that a contact counts with at least [m]."""
FRICTION_DIMENSION = 3
"""Contact dimension from which on contacts have friction."""
REST_SPEED = 1e-3
"""Speed below which a pair in contact is at rest [m/s]."""
AT_LIMIT = 0.99
"""Fraction of the friction limit at which a contact counts as sliding."""


class ActingContact(NamedTuple):
    """A contact as it acted in the last physics step."""

    pair: int
    """Index of its geom pair."""
    stiffness: float
    """K [N/m]."""
    damping: float
    """D [N·s/m]."""
    depth: float
    """Penetration [m]."""
    friction_ratio: float
    """Friction over its limit, |Ft|/(µ·Fn); zero without a force [–]."""

    @property
    def weight(self) -> float:
        """Its weight in the mean of a pair: the depth [m]."""
        return max(self.depth, SMALLEST_DEPTH)


class PairContact(Description):
    """Contact of two geoms during a run: hand and object, hand and hand, or surroundings.

    Read from the solver at the samples at which stiffness is corrected (every 32nd to 128th), and
    at the end.
    """

    first: str
    second: str
    set_stiffness_N_m: float
    """K that was set."""
    stiffness_N_m: float
    """K that acted at its last contact."""
    damping_N_s_m: float
    """D that acted at its last contact."""
    peak_depth_m: float
    """Largest penetration of these samples."""
    sliding: float
    """Fraction of these samples, of those in contact, with friction at its limit [–]."""
    touching: bool
    """Whether they touch at the end."""
    impact_timestep_s: float
    """Time step up to which the depth of a first touch is within 15 % of that of the law."""
    speed_m_s: float
    """Largest speed of its two bodies at a contact at the end; 0 where they do not touch."""

    @property
    def at_rest(self) -> bool:
        """Whether it touches at the end and moves with less than 1 mm/s."""
        return self.touching and self.speed_m_s < REST_SPEED


class StiffnessFeedback:
    """Corrects ``solref`` of the pairs in contact."""

    def __init__(self, built: CompiledScene, model: mujoco.MjModel | None = None) -> None:
        """Look up the pairs with a converted contact, and give them the stiffness as built.

        Args:
            built: The scene.
            model: Model to correct, with the pairs of the scene in their order; that of the scene
                by default.
        """
        model = self._model = built.model if model is None else model
        model.pair_solref[:] = built.start.pair_solref
        self._discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
        self.history: list[tuple[int, dict[str, Any]]] | None = None
        """Control sample after which parameters of the model have changed, and their new values,
        where a list is set: ``pair_solref`` with each correction; with the time step
        (``step_refinement``) also others."""
        self._log: list[list[ActingContact]] = []
        self._described: dict[int, float] = {}
        self._pair_of: dict[tuple[int, int], int] = {}
        geoms = zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True)
        for index, (first, second) in enumerate(geoms):
            stiffness = built.stiffness.get(built.model.pair(index).name)
            if stiffness is not None:
                self._pair_of[first, second] = self._pair_of[second, first] = index
                self._described[index] = stiffness
        self._touching: list[int] = []
        self.restart(0)

    def restart(self, row: int) -> None:
        """Count the samples to the next correction from a control sample on."""
        self._interval = INTERVAL
        self.next_row = row + INTERVAL
        """Control sample at which the stiffness is corrected next."""

    def acting(self, data: mujoco.MjData) -> list[ActingContact]:
        """Read stiffness and damping of the contacts of the last physics step.

        MuJoCo's normal force is (a_ref − a)/R with a_ref = −k·d·δ − b·v. The ``discrete``
        integrator takes a_ref at the end of the step, which divides it by 1 + h·b + h²·k·d and adds
        h·K to the damping.

        Args:
            data: The engine state after a step.
        """
        if not (data.ncon and self._described):
            return []
        contact, friction = data.contact, self._model.pair_friction
        step = float(self._model.opt.timestep) if self._discrete else 0.0
        # lists: of a few contacts they are read several times faster than arrays
        parameters, scales = data.efc_KBIP.tolist(), data.efc_R.tolist()
        forces = data.efc_force.tolist()
        columns = (contact.geom, contact.efc_address, contact.dist, contact.dim)
        contacts = []
        for geoms, row, distance, dimension in zip(*(c.tolist() for c in columns), strict=True):
            pair = self._pair_of.get((geoms[0], geoms[1]))
            if pair is None or row < 0:
                continue
            spring, rate = parameters[row][0] * parameters[row][2], parameters[row][1]
            scale = scales[row] * (1.0 + step * rate + step * step * spring)
            rate += step * spring
            ratio = 0.0
            if dimension >= FRICTION_DIMENSION:
                limit = float(friction[pair, 0]) * forces[row]
                ratio = math.hypot(*forces[row + 1 : row + 3]) / limit if limit > 0.0 else 0.0
            contacts.append(ActingContact(pair, spring / scale, rate / scale, -distance, ratio))
        return contacts

    def correct(self, data: mujoco.MjData, row: int) -> None:
        """Scale ``solref`` of every pair in contact to its described stiffness.

        Args:
            data: The engine state after the last step of a control sample.
            row: Index of the control sample; nothing is done before ``next_row``.
        """
        if row != self.next_row:
            return
        contacts = self.acting(data)
        if contacts:
            self._log.append(contacts)
        ratios = self._scale(contacts)
        if ratios and self.history is not None:
            self.history.append((row, {"pair_solref": self._model.pair_solref.copy()}))
        right = all(abs(ratio - 1.0) <= TOLERANCE for ratio in ratios.values())
        settled = right and self._touching == [*ratios]
        self._interval = min(2 * self._interval, LONGEST_INTERVAL) if settled else INTERVAL
        self._touching, self.next_row = [*ratios], row + self._interval

    def align(self, data: mujoco.MjData, row: int) -> None:
        """Scale ``solref`` of every pair in contact once, after a change of the time step.

        Args:
            data: The engine state after the first control sample with the new step.
            row: Index of that sample.
        """
        if self._scale(self.acting(data)) and self.history is not None:
            self.history.append((row, {"pair_solref": self._model.pair_solref.copy()}))

    def _scale(self, contacts: list[ActingContact]) -> dict[int, float]:
        """Scale ``solref`` of pairs in contact; return the factors of their stiffness."""
        acting = {pair: _mean_stiffness(of_pair) for pair, of_pair in _by_pair(contacts)}
        ratios = {pair: self._described[pair] / stiffness for pair, stiffness in acting.items()}
        for pair, ratio in ratios.items():
            limited = min(max(ratio, 1.0 / LARGEST_CHANGE), LARGEST_CHANGE)
            self._model.pair_solref[pair] *= limited
        return ratios

    def pairs(self, data: mujoco.MjData) -> list[PairContact]:
        """Summarise every geom pair that touched at a corrected sample or at the end.

        Args:
            data: The engine state at the end of the run.
        """
        last = self.acting(data)
        samples: dict[int, list[list[ActingContact]]] = {}
        for contacts in (*self._log, last):
            for pair, of_pair in _by_pair(contacts):
                samples.setdefault(pair, []).append(of_pair)
        touching = {contact.pair for contact in last}
        speeds = self._speeds(data)
        return [
            self._summary(samples[pair], pair in touching, speeds.get(pair, 0.0))
            for pair in sorted(samples)
        ]

    def _speeds(self, data: mujoco.MjData) -> dict[int, float]:
        """Compute the largest speed of the geoms of each pair at its contacts [m/s]."""
        model, jacobian = self._model, np.zeros((3, self._model.nv))
        speeds: dict[int, float] = {}
        for geoms, position in zip(data.contact.geom.tolist(), data.contact.pos, strict=True):
            pair = self._pair_of.get((geoms[0], geoms[1]))
            if pair is None:
                continue
            for body in model.geom_bodyid[geoms].tolist():
                mujoco.mj_jac(model, data, jacobian, None, position, body)
                speed = float(np.linalg.norm(jacobian @ data.qvel))
                speeds[pair] = max(speeds.get(pair, 0.0), speed)
        return speeds

    def _summary(
        self, samples: list[list[ActingContact]], touching: bool, speed: float
    ) -> PairContact:
        """Summarise the contacts of one pair, sample by sample."""
        last = samples[-1]
        pair = last[0].pair
        sliding = [
            any(item.friction_ratio >= AT_LIMIT for item in contacts) for contacts in samples
        ]
        damping = float(np.average([c.damping for c in last], weights=[c.weight for c in last]))
        model = self._model
        inverse_mass = -model.pair_solref[pair, 0] / (1.0 - model.pair_solimp[pair, 0])
        inverse_mass /= self._described[pair]
        first, second = model.pair(pair).name.split("|")
        return PairContact(
            first=first,
            second=second,
            set_stiffness_N_m=self._described[pair],
            stiffness_N_m=_mean_stiffness(last),
            damping_N_s_m=damping,
            peak_depth_m=max(contact.depth for contacts in samples for contact in contacts),
            sliding=sum(sliding) / len(samples),
            touching=touching,
            impact_timestep_s=RESOLVED / (float(inverse_mass) * damping),
            speed_m_s=speed,
        )


def _by_pair(contacts: list[ActingContact]) -> list[tuple[int, list[ActingContact]]]:
    """Group contacts by their pair, in the order of pairs."""
    of_pair: dict[int, list[ActingContact]] = {}
    for contact in contacts:
        of_pair.setdefault(contact.pair, []).append(contact)
    return sorted(of_pair.items())


def _mean_stiffness(contacts: list[ActingContact]) -> float:
    """Return the sum of the forces of contacts over the sum of their depths [N/m]."""
    weights = [contact.weight for contact in contacts]
    forces = [weight * item.stiffness for weight, item in zip(weights, contacts, strict=True)]
    return sum(forces) / sum(weights)
