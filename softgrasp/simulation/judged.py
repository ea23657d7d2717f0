"""The law of debouncing (``laws.debounce``) over the blocks of many grasps at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.laws import ESTABLISHED, LOST, TOUCHING
from softgrasp.simulation.state import ClosureLayout, ClosureState, Integers


class Judgement(NamedTuple):
    """What became of the contacts of some grasps within a block."""

    begun: Integers
    """Samples whose forces were judged, (m,): all that there is room for, or up to the one at
    which contact was established or lost."""
    changes: list[tuple[int, int, list[int]]]
    """Index of a grasp in the block, sample, and bits of ``laws``, a touch included."""


class JudgedForces:
    """Counters and contacts of grasps side by side."""

    def __init__(self, count: int, bodies: int, layout: ClosureLayout) -> None:
        """Nothing is touched.

        Args:
            count: Grasps.
            bodies: Of each of them.
            layout: Constants of the loop.
        """
        self._threshold, self._needed = layout.threshold, layout.samples
        self._bodies, self._slots = bodies, layout.force_sum.shape[1] // (3 * bodies)
        self._counts, self._changes = np.zeros((2, count, bodies), dtype=np.int64)
        self._touched, self._held = np.zeros((2, count, bodies), dtype=bool)
        self.stopped = np.zeros(count, dtype=bool)
        """Whether contact was established or lost at the last judged sample, (n,)."""

        self.restless = np.zeros(count, dtype=bool)
        """Whether anything was counted in the last block, (n,)."""

    def judge(self, lanes: Integers, sensors: Array, room: Integers) -> Judgement:
        """Judge a block, each grasp up to its room or to the first change of targets.

        Args:
            lanes: The grasps, (m,).
            sensors: Contact sensors, (m, block, nf) [N].
            room: Samples that may be judged, (m,).
        """
        begun, changes = room.copy(), list[tuple[int, int, list[int]]]()
        self.restless[lanes] = False
        normal = sensors.reshape(*sensors.shape[:2], self._bodies, self._slots, 3)[..., 0]
        pressed = normal.any(axis=(1, 2, 3))
        if not pressed.any() and not self._counts[lanes].any():
            return Judgement(begun, changes)
        forces = np.zeros(normal.shape[:3])
        for slot in range(self._slots):  # in this order, as the sum of one grasp alone
            forces += normal[..., slot]
        live = self._restless(lanes, forces)
        self.restless[lanes[live]] = True
        for sample in range(normal.shape[1]):
            live = live[(sample < room[live]) & ~self.stopped[lanes[live]]]
            if not live.size:
                break
            self._debounce(lanes, live, forces[live, sample], sample, begun, changes)
        return Judgement(begun, changes)

    def soonest(self, lanes: Integers) -> Integers:
        """Samples after which contact may be established at the earliest, (m,)."""
        counted = np.where(self._held[lanes], 0, self._counts[lanes])
        return np.asarray(self._needed - counted.max(axis=1, initial=0))

    def _restless(self, lanes: Integers, forces: Array) -> Integers:
        """Grasps for which there is anything to count in a block."""
        held = self._held[lanes][:, None]
        above, counts = forces > self._threshold, self._counts[lanes]
        steady = (above == held) & ((forces <= 0.0) | self._touched[lanes][:, None])
        steady &= np.isfinite(forces)
        settled = counts == np.where(self._held[lanes], self._needed, 0)
        return np.flatnonzero(~(steady.all(axis=(1, 2)) & settled.all(axis=1)))

    def _debounce(
        self,
        lanes: Integers,
        live: Integers,
        forces: Array,
        sample: int,
        begun: Integers,
        changes: list[tuple[int, int, list[int]]],
    ) -> None:
        own = lanes[live]
        counts, touched, held = self._counts[own], self._touched[own], self._held[own]
        above = forces > self._threshold
        touching = (forces > 0.0) & ~touched
        established = above & (counts == self._needed - 1)
        lost = ~above & held
        self._counts[own] = np.where(above, np.minimum(counts + 1, self._needed), 0)
        self._touched[own] = (touched | touching) & ~lost
        self._held[own] = (held | established) & ~lost
        told = TOUCHING * touching + ESTABLISHED * established + LOST * lost
        self._changes[own] = told
        stops = (established | lost).any(axis=1) | ~np.isfinite(forces.sum(axis=1))
        self.stopped[own] = stops
        begun[live[stops]] = sample + 1
        noted = np.flatnonzero(told.any(axis=1)).tolist()
        changes += [(int(live[index]), sample, told[index].tolist()) for index in noted]

    def tell(self, lane: int, state: ClosureState) -> None:
        """Hand counters and contacts of one grasp to its controller."""
        state.counts[:] = self._counts[lane].tolist()
        state.touched[:] = self._touched[lane].astype(int).tolist()
        state.in_contact[:] = self._held[lane].astype(int).tolist()
        state.changes[:] = self._changes[lane].tolist()
