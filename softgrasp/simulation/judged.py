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


class BatchContactDetector:
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

    def detect(self, slots: Integers, sensors: Array, available: Integers) -> Judgement:
        """Judge a block, each grasp up to its room or to the first change of targets.

        Args:
            slots: The grasps, (m,).
            sensors: Contact sensors, (m, block, nf) [N].
            available: Samples that may be judged, (m,).
        """
        begun, changes = available.copy(), list[tuple[int, int, list[int]]]()
        self.restless[slots] = False
        normal = sensors.reshape(*sensors.shape[:2], self._bodies, self._slots, 3)[..., 0]
        pressed = normal.any(axis=(1, 2, 3))
        if not pressed.any() and not self._counts[slots].any():
            return Judgement(begun, changes)
        forces = np.zeros(normal.shape[:3])
        for slot in range(self._slots):  # in this order, as the sum of one grasp alone
            forces += normal[..., slot]
        live = self._restless(slots, forces)
        self.restless[slots[live]] = True
        for sample in range(normal.shape[1]):
            live = live[(sample < available[live]) & ~self.stopped[slots[live]]]
            if not live.size:
                break
            self._debounce(slots, live, forces[live, sample], sample, begun, changes)
        return Judgement(begun, changes)

    def soonest(self, slots: Integers) -> Integers:
        """Samples after which contact may be established at the earliest, (m,)."""
        counted = np.where(self._held[slots], 0, self._counts[slots])
        return np.asarray(self._needed - counted.max(axis=1, initial=0))

    def _restless(self, slots: Integers, forces: Array) -> Integers:
        """Grasps for which there is anything to count in a block."""
        held = self._held[slots][:, None]
        above, counts = forces > self._threshold, self._counts[slots]
        steady = (above == held) & ((forces <= 0.0) | self._touched[slots][:, None])
        steady &= np.isfinite(forces)
        settled = counts == np.where(self._held[slots], self._needed, 0)
        return np.flatnonzero(~(steady.all(axis=(1, 2)) & settled.all(axis=1)))

    def _debounce(
        self,
        slots: Integers,
        live: Integers,
        forces: Array,
        sample: int,
        begun: Integers,
        changes: list[tuple[int, int, list[int]]],
    ) -> None:
        live_slots = slots[live]
        counts, touched, held = (
            self._counts[live_slots],
            self._touched[live_slots],
            self._held[live_slots],
        )
        above = forces > self._threshold
        touching = (forces > 0.0) & ~touched
        established = above & (counts == self._needed - 1)
        lost = ~above & held
        self._counts[live_slots] = np.where(above, np.minimum(counts + 1, self._needed), 0)
        self._touched[live_slots] = (touched | touching) & ~lost
        self._held[live_slots] = (held | established) & ~lost
        changes_array = TOUCHING * touching + ESTABLISHED * established + LOST * lost
        self._changes[live_slots] = changes_array
        stops = (established | lost).any(axis=1) | ~np.isfinite(forces.sum(axis=1))
        self.stopped[live_slots] = stops
        begun[live[stops]] = sample + 1
        noted = np.flatnonzero(changes_array.any(axis=1)).tolist()
        changes += [(int(live[index]), sample, changes_array[index].tolist()) for index in noted]

    def write_state(self, slot: int, state: ClosureState) -> None:
        """Hand counters and contacts of one grasp to its controller."""
        state.counts[:] = self._counts[slot].tolist()
        state.touched[:] = self._touched[slot].astype(int).tolist()
        state.in_contact[:] = self._held[slot].astype(int).tolist()
        state.changes[:] = self._changes[slot].tolist()
