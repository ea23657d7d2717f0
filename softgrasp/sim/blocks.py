"""Blocks of control samples stepped in one call of MuJoCo, and their contacts detected afterwards.

As long as contact does not change, targets are known in advance, so a block of samples is stepped
by ``mujoco.rollout`` without Python in between; forces are evaluated after it. Where contact has
changed within the block, the state is set back to its start and the samples up to the change are
stepped again (decision 0011). Results equal those of sample-by-sample steps bit for bit.
"""

from __future__ import annotations

import math
from collections import Counter

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from softgrasp.mechanics.transforms import Array
from softgrasp.sim.control_state import (
    STATE,
    ClosureLayout,
    ClosureState,
    Integers,
    Peaks,
    Recording,
)
from softgrasp.sim.laws import DebouncedFlags, debounce
from softgrasp.sim.step_refinement import StepRefinement

SHORT_BLOCK, FREE_BLOCK, LONG_BLOCK = 8, 32, 64
"""Samples of a block: the fewest while targets move, where debouncing takes fewer; before the first
touch; and while nothing moves or is counted."""
LONGEST_BLOCK = 640
"""Largest number of physics steps of a block of more than one sample."""
MAX_SUBSTEPS = 20
"""Physics steps of a control sample from which on sample-by-sample steps cost as little."""
PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)


class BlockRollout:
    """Steps blocks of samples of one engine state and detects changes of contact in them."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        layout: ClosureLayout,
        refinement: StepRefinement,
        peaks: Peaks,
        warnings: Counter[str] | None = None,
    ) -> None:
        """Allocate the memory of a block.

        Args:
            model: Compiled scene.
            data: Its state; updated.
            layout: Constants of the loop.
            refinement: Chooses the time step.
            peaks: Largest forces so far; updated.
            warnings: MuJoCo's warnings so far, by their texts; those of steps that are set back
                are removed; none are collected by default.
        """
        self._model, self._data, self._layout = model, data, layout
        self._models, self._datas = [model], [data]
        self._refinement, self._peaks = refinement, peaks
        self._warnings: Counter[str] = Counter() if warnings is None else warnings
        self._rollout = Rollout(nthread=0).rollout
        self._begin = np.empty(mujoco.mj_stateSize(model, STATE))
        size = mujoco.mj_stateSize(model, PHYSICS)
        before = mujoco.mj_stateSize(model, int(mujoco.mjtState.mjSTATE_WARMSTART) - 1 & int(STATE))
        self._initial = self._begin[None, :size]
        self._warm_start = self._begin[None, before : before + model.nv]
        steps = max(LONG_BLOCK * layout.substeps, LONGEST_BLOCK)
        self._controls = np.empty((1, steps, model.nu))
        self._states = np.empty((1, steps, size))
        self._sensors = np.empty((1, steps, model.nsensordata))
        first = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_TIME)
        self._qpos = slice(first, first + model.nq)
        width = layout.force_sum.shape[1]
        self._forces = slice(layout.first_force, layout.first_force + width)

    def size(self, contact: DebouncedFlags, moving: bool) -> int:
        """Return the samples of the next block, at whose end contact may have been established.

        Args:
            contact: Debounced contacts.
            moving: Whether targets move.
        """
        fitting = max(LONGEST_BLOCK // self._refinement.substeps, 1)
        return min(self._size(contact, moving), self._refinement.samples_left, fitting)

    def _size(self, contact: DebouncedFlags, moving: bool) -> int:
        samples = self._layout.samples
        if any(contact.counts):
            pairs = zip(contact.counts, contact.active, strict=True)
            if counted := max((count for count, active in pairs if not active), default=0):
                return min(samples - counted, LONG_BLOCK)
        if moving and not any(contact.touched):
            return FREE_BLOCK
        return min(max(samples, SHORT_BLOCK), LONG_BLOCK) if moving else LONG_BLOCK

    def run(
        self, plan: Array, state: ClosureState, recording: Recording, row: int
    ) -> tuple[int, bool] | None:
        """Step samples up to the first change of contact, and record positions and forces.

        Args:
            plan: Targets that are commanded after each sample, (n, nd).
            state: Its contacts are updated.
            recording: Rows from ``row`` on are written.
            row: Row of the first sample.

        Returns:
            Number of finished samples, and whether contact has changed, or a force is not finite,
            in the sample after them, which is stepped then. Without such a change they may be fewer
            than n, and even none, where the time step has changed. None where MuJoCo has warned:
            the state is that before the block.
        """
        count, substeps = len(plan), self._refinement.substeps
        warnings = dict(self._warnings) if self._warnings else {}
        mujoco.mj_getState(self._model, self._data, self._begin, STATE)
        controls = self._controls[0, : count * substeps]
        controls[:substeps] = self._data.ctrl
        controls[substeps:] = np.repeat(plan[:-1], substeps, axis=0) if substeps > 1 else plan[:-1]
        self._step(count * substeps)
        if any(self._data.warning.number.tolist()):
            mujoco.mj_setState(self._model, self._data, self._begin, STATE)
            return None
        sampled = slice(substeps - 1, count * substeps, substeps)
        states, sensors = self._states[0, sampled], self._sensors[0, sampled, self._forces]
        every = self._layout.body_forces(self._sensors[0, : count * substeps, self._forces])
        forces, ahead = every[sampled], self._ahead(every[substeps::substeps], plan[-1])
        onset = self._refinement.first_onset(ahead)
        usable = count if onset is None else onset
        changed = self._first_change(forces[:usable], state)
        finished = usable if changed is None else changed
        stepped = finished if changed is None else finished + 1
        recording.qpos[row : row + finished] = states[:finished, self._qpos]
        recording.force[row : row + stepped] = sensors[:stepped]
        if stepped < count:
            mujoco.mj_setState(self._model, self._data, self._begin, STATE)
            self._warnings.clear()
            self._warnings.update(warnings)
            if stepped:
                self._step(stepped * substeps)
        if changed is None and finished:
            self._data.ctrl[:] = plan[finished - 1]
        steps = every[: stepped * substeps]
        if steps.any():
            self._peaks.update(steps, float(self._model.opt.timestep), row, substeps)
        self._refinement.follow(ahead[:stepped], self._data)
        if onset is not None and changed is None:
            self._refinement.refine()
        return finished, changed is not None

    def _step(self, steps: int) -> None:
        """Step from the state at the start of the block."""
        self._rollout(
            self._models,
            self._datas,
            self._initial,
            self._controls[:, :steps],
            control_spec=CONTROL,
            skip_checks=True,
            nstep=steps,
            initial_warmstart=self._warm_start,
            state=self._states[:, :steps],
            sensordata=self._sensors[:, :steps],
        )

    def _ahead(self, after: Array, control: Array) -> Array:
        """Return the forces after each sample, which the step after it computes, (n, nb) [N]."""
        if not self._refinement.active:
            return after[:0]
        last = self._refinement.ahead(self._data, control)[None]
        return np.concatenate([after, last]) if len(after) else last

    def _first_change(self, forces: Array, state: ClosureState) -> int | None:
        """Debounce the forces (n, nb) [N] of samples up to the first change; None without one."""
        threshold, samples = self._layout.threshold, self._layout.samples
        if not len(forces) or _is_settled(forces, state.contact, threshold, samples):
            return None
        for sample, row in enumerate(forces.tolist()):
            state.contact = debounce(row, threshold, samples, state.contact)
            if any(state.contact.changes) or not math.isfinite(sum(row)):
                return sample
        return None


def _is_settled(forces: Array, contact: DebouncedFlags, threshold: float, samples: int) -> bool:
    """Return whether forces, (n, nb), change no counter of debouncing, and are finite."""
    largest = forces.max(axis=0).tolist()
    if not any(largest) and not any(contact.counts):
        return True
    flags = zip(contact.counts, contact.touched, contact.active, strict=True)
    smallest = forces.min(axis=0).tolist()
    # written so that a force that is not a number is not settled
    return all(
        (count == samples and touched and low > threshold and high < math.inf)
        if active
        else (count == 0 and high <= threshold and (high <= 0.0 or touched) and low > -math.inf)
        for low, high, (count, touched, active) in zip(smallest, largest, flags, strict=True)
    )


def can_step_blocks(model: mujoco.MjModel, layout: ClosureLayout) -> bool:
    """Return whether nothing happens between the physics steps of a block.

    Sample by sample run prescribed joints, actuators that stop at a force or a torque, contact that
    is detected by sensors, stiffness that depends on pressures, and models with mocap bodies or
    stateful plugins.

    Args:
        model: Compiled scene.
        layout: Constants of the loop.
    """
    stops = layout.stop_force is not None or layout.torque_limits is not None
    special = stops or layout.prescribed or layout.feels or not layout.bodies
    special |= layout.stiffening is not None
    plugins = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_PLUGIN)
    return not (special or model.nmocap or plugins) and layout.substeps <= MAX_SUBSTEPS


def ends_of_equal_rows(rows: Array) -> Integers:
    """Return for every row the end of the block of equal consecutive rows, (n,)."""
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    ends = np.append(changes, len(rows))
    return np.repeat(ends, np.diff(ends, prepend=0))
