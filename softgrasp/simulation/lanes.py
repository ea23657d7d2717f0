"""Grasps side by side in a batch: blocks of steps, judged behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.closure_run import LARGEST_SPEED, max_rows
from softgrasp.simulation.judged import BatchContactDetector
from softgrasp.simulation.lane import BatchedRun, Before
from softgrasp.simulation.own_stepper import STATE
from softgrasp.simulation.state import Integers
from softgrasp.simulation.workspace import Workspace

NUMBER = 1
"""Column of a batch's warnings that counts them."""
MIN_BLOCK, LONG = 8, 32
"""Samples of a block. Contact that begins in one block is established in the next one at the
earliest where a block has as many samples as debouncing takes, so that few are stepped in vain.
A long one is for grasps whose contacts have been as they are for a block."""


class BatchSimulator:
    """Grasps side by side; arrays have one row a grasp."""

    def __init__(self, runs: Sequence[BatchedRun], threads: int, workspace: Workspace) -> None:
        """Put all grasps to their starts.

        Args:
            runs: Grasps of one topology that have not begun.
            threads: Of the physics.
            workspace: Where they record.
        """
        self.runs = runs
        first, count = runs[0], len(runs)
        model, layout = first.model, first.layout
        self._layout = layout
        self._block = min(max(layout.samples, MIN_BLOCK), LONG)
        steps = LONG * layout.substeps
        self._batch = Batch(model, count, threads)
        self._batch.set_models([run.model for run in runs])
        # as a run alone starts: nothing is computed before the first step
        self._batch.reset(keyframe=0, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._parts = _parts(model)
        width = layout.force_sum.shape[1]
        self._sensors = slice(layout.first_force, layout.first_force + width)
        self._detector = BatchContactDetector(count, len(first.built.bodies), layout)
        rows, bodies = max(max_rows(run.scene) for run in runs), len(first.built.bodies)
        self._rows = workspace.side_by_side(model, bodies, width, rows, count)
        for slot, run in enumerate(runs):
            run.record_in(self._rows.one(slot))
        self._plan = np.zeros((count, first.look_ahead + 1, model.nu))
        self._until = np.zeros((count, first.look_ahead + 1), dtype=np.int64)
        """Up to which sample of a plan gravity stays as it is at another one."""
        self._position, self._size, self._first = np.zeros((3, count), dtype=np.int64)
        self._loading = np.zeros(count, dtype=bool)
        self._steps = count * steps
        self._outputs = {
            int(STATE): np.empty(count * steps * self._batch.nstate),
            "sensordata": np.empty(count * steps * model.nsensordata),
        }
        self._ctrl = np.zeros((count, model.nu))
        self._last_state = self._batch.state.copy()
        self._last_ctrl = np.zeros((count, model.nu))

    def run(self, complaints: Callable[[], int]) -> None:
        """Run all of them to their ends.

        Args:
            complaints: How often the solver has complained so far; whoever is in work when it
                does is ``odd``.
        """
        left = np.arange(len(self.runs))
        for slot in left.tolist():
            self._take(slot, next(self.runs[slot].plans, None))
        left = self._command_first(left)
        while left.size:
            odd = []
            for slots, samples in self._groups(left):
                before = complaints()
                diverged = self._do_block(slots, samples)
                odd += slots.tolist() if complaints() != before else slots[diverged].tolist()
            for slot in odd:
                self.runs[slot].odd = True
            left = left[~np.isin(left, odd)] if odd else left
            due = left[self._detector.stopped[left] | (self._position[left] == self._size[left])]
            over = [slot for slot in due.tolist() if not self._resume(slot)]
            if over:
                left = left[~np.isin(left, over)]
        for slot, run in enumerate(self.runs):
            run.last = Before(self._last_state[slot], self._last_ctrl[slot])

    def _command_first(self, slots: Integers) -> Integers:
        """The first sample is not stepped: there is nothing to judge. Returns who goes on."""
        self._rows.force[:, 0] = 0.0
        self._rows.qpos[:, 0] = self._batch.state[:, self._parts["qpos"]]
        self._ctrl[:] = self._plan[:, 0]
        self._position[:] = 1
        for slot in slots[self._size == 1].tolist():
            self.runs[slot].odd = not self._resume(slot)  # over before its first step
        return slots[[not run.odd for run in self.runs]]

    def _groups(self, slots: Integers) -> Iterator[tuple[Integers, int]]:
        """Grasps that can go on for a long block, for a whole one, or for less."""
        available = self._available(slots)
        calm = ~self._detector.restless[slots] & (available >= LONG)
        available = np.minimum(available, self._detector.soonest(slots))
        short = ~calm & (available < self._block)
        whole = ~(calm | short)
        if calm.any():
            yield slots[calm], LONG
        if whole.any():
            yield slots[whole], self._block
        if short.any():
            yield slots[short], int(available[short].max())

    def _available(self, slots: Integers) -> Integers:
        """Samples for which targets and gravity of grasps are known."""
        positions = self._position[slots]
        return np.asarray(self._until[slots, positions] - positions)

    def _do_block(self, slots: Integers, samples: int) -> NDArray[np.bool_]:
        """Step grasps by some samples, judge them, and put each to where it really got.

        Returns:
            Which of them only a run alone can tell, (m,).
        """
        whole = slots.size == len(self.runs)
        begin = self._batch.state.copy() if whole else self._batch.state[slots]
        controls = self._controls(slots, samples)
        self._load(slots[self._loading[slots]])
        states, sensors = self._stepped(None if whole else slots, controls)
        positions = self._position[slots]
        available = np.minimum(self._available(slots), samples)
        qvel = states[:, :, self._parts["qvel"]]
        warned = self._batch.warning[slots, :, NUMBER].any(axis=1)
        # written so that a speed that is not a number counts as too fast
        slow = (np.square(qvel).sum(axis=2) < LARGEST_SPEED**2).all(axis=1)
        odd = ~slow | warned
        judgement = self._detector.detect(slots, sensors, available)
        for index, sample, changes in judgement.changes:
            state = begin[index] if sample == 0 else states[index, sample - 1].copy()
            run, before = self.runs[slots[index]], Before(state, controls[index, sample])
            run.record(int(self._first[slots[index]] + positions[index]) + sample, changes, before)
        self._record(slots, states, sensors, judgement.begun)
        self._set_back(slots, begin, states, controls, judgement.begun)
        done = judgement.begun - self._detector.stopped[slots]
        self._position[slots] = positions + done
        moved = np.flatnonzero(done)
        self._ctrl[slots[moved]] = self._plan[slots[moved], positions[moved] + done[moved] - 1]
        return np.asarray(odd)

    def _load(self, slots: Integers) -> None:
        """Give grasps in a hold test the gravity of their coming samples."""
        for slot, position in zip(slots.tolist(), self._position[slots].tolist(), strict=True):
            run = self.runs[slot]
            run.model.opt.gravity[:] = run.loads[position]

    def _controls(self, slots: Integers, samples: int) -> Array:
        """What drives the steps to each sample of a block, (m, block, nu)."""
        ahead = self._position[slots, None] + np.arange(samples - 1)
        planned = np.minimum(ahead, self._size[slots, None] - 1)
        controls = np.empty((slots.size, samples, self._ctrl.shape[1]))
        controls[:, 0] = self._ctrl[slots]
        controls[:, 1:] = self._plan[slots[:, None], planned]
        return controls

    def _stepped(self, slots: Integers | None, controls: Array) -> tuple[Array, Array]:
        """State and contact sensors behind every sample of a block."""
        substeps = self._layout.substeps
        count, steps = controls.shape[0], controls.shape[1] * substeps
        buffers = {
            item: (buffer, buffer.size // self._steps) for item, buffer in self._outputs.items()
        }
        outputs = self._batch.rollout(
            steps,
            control=controls if substeps == 1 else np.repeat(controls, substeps, axis=1),
            record=tuple(self._outputs),
            ids=slots,
            out={
                item: buffer[: count * steps * width].reshape(count, steps, width)
                for item, (buffer, width) in buffers.items()
            },
        )
        samples = slice(substeps - 1, None, substeps)
        return outputs[int(STATE)][:, samples], outputs["sensordata"][:, samples, self._sensors]

    def _record(self, slots: Integers, states: Array, forces: Array, begun: Integers) -> None:
        slot, sample = np.nonzero(np.arange(states.shape[1]) < begun[:, None])
        recorded_slots = slots[slot]
        row = self._first[recorded_slots] + self._position[recorded_slots] + sample
        self._rows.qpos[recorded_slots, row] = states[slot, sample, self._parts["qpos"]]
        self._rows.force[recorded_slots, row] = forces[slot, sample]

    def _set_back(
        self, slots: Integers, begin: Array, states: Array, controls: Array, begun: Integers
    ) -> None:
        """Put grasps whose contact changed to the sample at which it did."""
        early = np.flatnonzero(begun < states.shape[1])
        self._batch.state[slots[early]] = states[early, begun[early] - 1]
        rows = np.arange(slots.size)
        last = begun - 1
        self._last_state[slots] = np.where((last == 0)[:, None], begin, states[rows, last - 1])
        self._last_ctrl[slots] = controls[rows, last]

    def _resume(self, slot: int) -> bool:
        """Let a grasp's controller go on; False where the run is over."""
        run, done = self.runs[slot], int(self._position[slot])
        stopped = bool(self._detector.stopped[slot])
        self._detector.write_state(slot, run.state)
        try:
            plan = run.plans.send(done)
            while not len(plan):  # it only asked for a new one
                plan = run.plans.send(0)
        except StopIteration:
            return False
        if stopped:
            self._ctrl[slot] = run.ctrl
            self._detector.stopped[slot] = False
        self._take(slot, plan)
        return True

    def _take(self, slot: int, plan: Array | None) -> None:
        assert plan is not None
        self._plan[slot, : len(plan)] = plan
        self._position[slot], self._size[slot] = 0, len(plan)
        self._first[slot] = self.runs[slot].recording.rows
        loads = self.runs[slot].loads[: len(plan)]
        self._loading[slot] = len(loads) > 0
        self._until[slot, : len(plan)] = _ends_of_equal_rows(loads) if len(loads) else len(plan)


def _ends_of_equal_rows(rows: Array) -> Integers:
    """For every row, the index behind the last one that is like it and follows it at once."""
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    ends = np.append(changes, len(rows))
    return np.repeat(ends, np.diff(ends, prepend=0))


def _parts(model: mujoco.MjModel) -> dict[str, slice]:
    """Where positions and velocities stand in a state."""
    begin = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_TIME)
    return {
        "qpos": slice(begin, begin + model.nq),
        "qvel": slice(begin + model.nq, begin + model.nq + model.nv),
    }
