"""Grasps side by side in a batch: blocks of steps, judged behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.closure_run import LARGEST_SPEED, most_rows
from softgrasp.simulation.judged import JudgedForces
from softgrasp.simulation.lane import Before, LaneRun
from softgrasp.simulation.own_stepper import STATE
from softgrasp.simulation.state import Integers
from softgrasp.simulation.workspace import Workspace

NUMBER = 1
"""Column of a batch's warnings that counts them."""
LEAST, LONG = 8, 32
"""Samples of a block. Contact that begins in one block is established in the next one at the
earliest where a block has as many samples as debouncing takes, so that few are stepped in vain.
A long one is for grasps whose contacts have been as they are for a block."""


class Lanes:
    """Grasps side by side; arrays have one row a grasp."""

    def __init__(self, runs: Sequence[LaneRun], threads: int, workspace: Workspace) -> None:
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
        self._block = min(max(layout.samples, LEAST), LONG)
        steps = LONG * layout.substeps
        self._batch = Batch(model, count, threads)
        self._batch.set_models([run.model for run in runs])
        # as a run alone starts: nothing is computed before the first step
        self._batch.reset(keyframe=0, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._parts = _parts(model)
        width = layout.force_sum.shape[1]
        self._sensors = slice(layout.first_force, layout.first_force + width)
        self._judged = JudgedForces(count, len(first.built.bodies), layout)
        rows, bodies = max(most_rows(run.scene) for run in runs), len(first.built.bodies)
        self._rows = workspace.side_by_side(model, bodies, width, rows, count)
        for lane, run in enumerate(runs):
            run.record_in(self._rows.one(lane))
        self._plan = np.zeros((count, first.look_ahead + 1, model.nu))
        self._until = np.zeros((count, first.look_ahead + 1), dtype=np.int64)
        """Up to which sample of a plan gravity stays as it is at another one."""
        self._place, self._size, self._first = np.zeros((3, count), dtype=np.int64)
        self._loading = np.zeros(count, dtype=bool)
        self._steps = count * steps
        self._told = {
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
        for lane in left.tolist():
            self._take(lane, next(self.runs[lane].plans, None))
        left = self._command_first(left)
        while left.size:
            odd = []
            for lanes, samples in self._groups(left):
                before = complaints()
                told = self._do_block(lanes, samples)
                odd += lanes.tolist() if complaints() != before else lanes[told].tolist()
            for lane in odd:
                self.runs[lane].odd = True
            left = left[~np.isin(left, odd)] if odd else left
            due = left[self._judged.stopped[left] | (self._place[left] == self._size[left])]
            over = [lane for lane in due.tolist() if not self._resume(lane)]
            if over:
                left = left[~np.isin(left, over)]
        for lane, run in enumerate(self.runs):
            run.last = Before(self._last_state[lane], self._last_ctrl[lane])

    def _command_first(self, lanes: Integers) -> Integers:
        """The first sample is not stepped: there is nothing to judge. Returns who goes on."""
        self._rows.force[:, 0] = 0.0
        self._rows.qpos[:, 0] = self._batch.state[:, self._parts["qpos"]]
        self._ctrl[:] = self._plan[:, 0]
        self._place[:] = 1
        for lane in lanes[self._size == 1].tolist():
            self.runs[lane].odd = not self._resume(lane)  # over before its first step
        return lanes[[not run.odd for run in self.runs]]

    def _groups(self, lanes: Integers) -> Iterator[tuple[Integers, int]]:
        """Grasps that can go on for a long block, for a whole one, or for less."""
        room = self._room(lanes)
        calm = ~self._judged.restless[lanes] & (room >= LONG)
        room = np.minimum(room, self._judged.soonest(lanes))
        short = ~calm & (room < self._block)
        whole = ~(calm | short)
        if calm.any():
            yield lanes[calm], LONG
        if whole.any():
            yield lanes[whole], self._block
        if short.any():
            yield lanes[short], int(room[short].max())

    def _room(self, lanes: Integers) -> Integers:
        """Samples for which targets and gravity of grasps are known."""
        place = self._place[lanes]
        return np.asarray(self._until[lanes, place] - place)

    def _do_block(self, lanes: Integers, samples: int) -> NDArray[np.bool_]:
        """Step grasps by some samples, judge them, and put each to where it really got.

        Returns:
            Which of them only a run alone can tell, (m,).
        """
        whole = lanes.size == len(self.runs)
        begin = self._batch.state.copy() if whole else self._batch.state[lanes]
        controls = self._controls(lanes, samples)
        self._load(lanes[self._loading[lanes]])
        states, sensors = self._stepped(None if whole else lanes, controls)
        place = self._place[lanes]
        room = np.minimum(self._room(lanes), samples)
        qvel = states[:, :, self._parts["qvel"]]
        warned = self._batch.warning[lanes, :, NUMBER].any(axis=1)
        # written so that a speed that is not a number counts as too fast
        slow = (np.square(qvel).sum(axis=2) < LARGEST_SPEED**2).all(axis=1)
        odd = ~slow | warned
        judged = self._judged.judge(lanes, sensors, room)
        for index, sample, changes in judged.changes:
            state = begin[index] if sample == 0 else states[index, sample - 1].copy()
            run, before = self.runs[lanes[index]], Before(state, controls[index, sample])
            run.note(int(self._first[lanes[index]] + place[index]) + sample, changes, before)
        self._record(lanes, states, sensors, judged.begun)
        self._set_back(lanes, begin, states, controls, judged.begun)
        done = judged.begun - self._judged.stopped[lanes]
        self._place[lanes] = place + done
        moved = np.flatnonzero(done)
        self._ctrl[lanes[moved]] = self._plan[lanes[moved], place[moved] + done[moved] - 1]
        return np.asarray(odd)

    def _load(self, lanes: Integers) -> None:
        """Give grasps in a hold test the gravity of their coming samples."""
        for lane, place in zip(lanes.tolist(), self._place[lanes].tolist(), strict=True):
            run = self.runs[lane]
            run.model.opt.gravity[:] = run.loads[place]

    def _controls(self, lanes: Integers, samples: int) -> Array:
        """What drives the steps to each sample of a block, (m, block, nu)."""
        ahead = self._place[lanes, None] + np.arange(samples - 1)
        planned = np.minimum(ahead, self._size[lanes, None] - 1)
        controls = np.empty((lanes.size, samples, self._ctrl.shape[1]))
        controls[:, 0] = self._ctrl[lanes]
        controls[:, 1:] = self._plan[lanes[:, None], planned]
        return controls

    def _stepped(self, lanes: Integers | None, controls: Array) -> tuple[Array, Array]:
        """State and contact sensors behind every sample of a block."""
        substeps = self._layout.substeps
        count, steps = controls.shape[0], controls.shape[1] * substeps
        rooms = {item: (room, room.size // self._steps) for item, room in self._told.items()}
        told = self._batch.rollout(
            steps,
            control=controls if substeps == 1 else np.repeat(controls, substeps, axis=1),
            record=tuple(self._told),
            ids=lanes,
            out={
                item: room[: count * steps * width].reshape(count, steps, width)
                for item, (room, width) in rooms.items()
            },
        )
        samples = slice(substeps - 1, None, substeps)
        return told[int(STATE)][:, samples], told["sensordata"][:, samples, self._sensors]

    def _record(self, lanes: Integers, states: Array, forces: Array, begun: Integers) -> None:
        lane, sample = np.nonzero(np.arange(states.shape[1]) < begun[:, None])
        own = lanes[lane]
        row = self._first[own] + self._place[own] + sample
        self._rows.qpos[own, row] = states[lane, sample, self._parts["qpos"]]
        self._rows.force[own, row] = forces[lane, sample]

    def _set_back(
        self, lanes: Integers, begin: Array, states: Array, controls: Array, begun: Integers
    ) -> None:
        """Put grasps whose contact changed to the sample at which it did."""
        early = np.flatnonzero(begun < states.shape[1])
        self._batch.state[lanes[early]] = states[early, begun[early] - 1]
        rows = np.arange(lanes.size)
        last = begun - 1
        self._last_state[lanes] = np.where((last == 0)[:, None], begin, states[rows, last - 1])
        self._last_ctrl[lanes] = controls[rows, last]

    def _resume(self, lane: int) -> bool:
        """Let a grasp's controller go on; False where the run is over."""
        run, done = self.runs[lane], int(self._place[lane])
        stopped = bool(self._judged.stopped[lane])
        self._judged.tell(lane, run.state)
        try:
            plan = run.plans.send(done)
            while not len(plan):  # it only asked for a new one
                plan = run.plans.send(0)
        except StopIteration:
            return False
        if stopped:
            self._ctrl[lane] = run.ctrl
            self._judged.stopped[lane] = False
        self._take(lane, plan)
        return True

    def _take(self, lane: int, plan: Array | None) -> None:
        assert plan is not None
        self._plan[lane, : len(plan)] = plan
        self._place[lane], self._size[lane] = 0, len(plan)
        self._first[lane] = self.runs[lane].recording.rows
        loads = self.runs[lane].loads[: len(plan)]
        self._loading[lane] = len(loads) > 0
        self._until[lane, : len(plan)] = _ends_of_equal_rows(loads) if len(loads) else len(plan)


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
