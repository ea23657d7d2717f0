"""Many grasps of one topology at once, their physics in ``mujoco.batch``.

Every grasp keeps its own controller, the one that a grasp alone has; what they share is the
stepping, the judging of forces and the recording, as arrays over all grasps. Results are those of
grasps run one by one, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from softgrasp.build.scene import BuiltScene
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.closure_run import ClosureRun, Plans
from softgrasp.simulation.engine_warnings import caught_warnings
from softgrasp.simulation.laws import ESTABLISHED, LOST, TOUCHING
from softgrasp.simulation.state import Integers
from softgrasp.simulation.stepper import Stepper

NUMBER = 1
"""Column of a batch's warnings that counts them."""
STATE = mujoco.mjtState.mjSTATE_INTEGRATION
SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "npair", "nsensordata",
         "ntendon", "neq", "nmocap", "nuserdata")  # fmt: skip
"""What has to agree for models to run in one batch."""


class LaneStepper(Stepper):
    """The controller of one grasp in a batch, which does its stretches."""

    def stretch(self, plan: Array) -> int:
        """Nothing: the batch does it."""
        raise NotImplementedError("a lane of a batch is driven by the batch")


def can_be_batched(built: BuiltScene) -> bool:
    """Whether a scene can share a batch: servos, and friction that does not switch."""
    return built.scene.actuation == "servo" and not built.contact.switches_friction


def topology(built: BuiltScene) -> tuple[object, ...]:
    """What two scenes have to have in common to share a batch."""
    model, scene = built.model, built.scene
    sizes = tuple(int(getattr(model, name)) for name in SIZES)
    steps = (float(model.opt.timestep), scene.control_period, scene.closure.threshold)
    return (*sizes, *steps, scene.closure.samples, int(model.opt.integrator), *built.bodies)


def run_batch(builts: Sequence[BuiltScene], threads: int = 1) -> list[ClosureRun]:
    """Run grasps of one ``topology`` from start to end.

    Args:
        builts: Scenes that ``can_be_batched``.
        threads: Of the physics.
    """
    runs = [ClosureRun(built, stepper=LaneStepper) for built in builts]
    with caught_warnings():
        _Lanes(runs, threads).run()
    return runs


@dataclass
class _Lane:
    """One grasp: its run, what it waits for, and where its plan began."""

    run: ClosureRun
    plans: Plans
    size: int = 0
    """Samples of its plan."""


class _Lanes:
    """Grasps side by side; arrays have one row a grasp."""

    def __init__(self, runs: Sequence[ClosureRun], threads: int) -> None:
        first, count = runs[0], len(runs)
        layout = first.layout
        self._threshold, self._needed = layout.threshold, layout.samples
        self._substeps = layout.substeps
        self._batch = Batch(first.model, count, threads)
        self._batch.set_models([run.model for run in runs])
        # as a run alone starts: nothing is computed before the first step
        self._batch.reset(keyframe=0, stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._qpos, self._ctrl = self._batch.bind("qpos"), self._batch.bind("ctrl")
        width = layout.force_sum.shape[1]
        begin = layout.first_force
        self._sensors = self._batch.bind("sensordata")[:, begin : begin + width]
        self._before = self._batch.state.copy()
        self._lanes = [_Lane(run, run.running()) for run in runs]
        bodies, ahead = len(first.built.bodies), first.look_ahead + 1
        self._slots = width // (3 * bodies)
        self._normal = self._sensors.reshape(count, bodies, self._slots, 3)[..., 0]
        self._counts, self._changes = np.zeros((2, count, bodies), dtype=np.int64)
        self._touched, self._held = np.zeros((2, count, bodies), dtype=bool)
        self._pending = self._counting = False
        """Whether any force has been above the threshold, and whether any is being counted."""
        self._over = np.zeros(count, dtype=bool)
        self._plan = np.zeros((count, ahead, first.model.nu))
        self._place = np.zeros(count, dtype=np.int64)
        self._size = np.zeros(count, dtype=np.int64)
        self._positions = np.zeros((count, ahead, first.model.nq))
        self._forces = np.zeros((count, ahead, width))

    def run(self) -> None:
        """Run all of them to their ends."""
        left = np.array([index for index in range(len(self._lanes)) if self._begin(index)])
        self._command(left)
        self._resume_all(left, np.zeros(len(left), dtype=bool))
        left = left[~self._over[left]]
        while left.size:
            np.copyto(self._before, self._batch.state)
            self._batch.step(None if left.size == len(self._lanes) else left, self._substeps)
            changed = self._judge(left)
            self._command(left if changed is None else left[~changed])
            if self._resume_all(left, changed):
                left = left[~self._over[left]]

    def _resume_all(self, lanes: Integers, changed: NDArray[np.bool_] | None) -> bool:
        """Let controllers go on whose plan has ended or whose contact changed; True where any."""
        ended = self._place[lanes] == self._size[lanes]
        due = lanes[ended if changed is None else ended | changed]
        for lane in due.tolist():
            self._over[lane] = not self._resume(lane)
        return bool(due.size)

    def _judge(self, lanes: Integers) -> NDArray[np.bool_] | None:
        """Record and judge the forces of the last step; whose contact has changed, None for none.

        The law is ``laws.debounce``, over all grasps at once.
        """
        normal = self._normal if lanes.size == len(self._lanes) else self._normal[lanes]
        touched_now = normal.any(axis=(1, 2))
        if not touched_now.any() and not self._pending:
            return None
        there = lanes[touched_now]
        self._forces[there, self._place[there]] = self._sensors[there]
        forces = np.zeros(normal.shape[:2])
        for slot in range(self._slots):  # in this order, as the sum of one grasp alone
            forces += normal[..., slot]
        above, touched, held = forces > self._threshold, self._touched[lanes], self._held[lanes]
        touching = (forces > 0.0) & ~touched
        still = not (touching | (above != held)).any() and np.isfinite(forces.sum())
        if still and not self._counting:
            return None  # as before: nothing to count
        return self._debounced(lanes, forces, touching, above)

    def _debounced(
        self,
        lanes: Integers,
        forces: Array,
        touching: NDArray[np.bool_],
        above: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        counts, held = self._counts[lanes], self._held[lanes]
        established = above & (counts == self._needed - 1)
        lost = ~above & held
        self._counts[lanes] = np.where(above, np.minimum(counts + 1, self._needed), 0)
        self._touched[lanes] = (self._touched[lanes] | touching) & ~lost
        self._held[lanes] = (held | established) & ~lost
        self._changes[lanes] = TOUCHING * touching + ESTABLISHED * established + LOST * lost
        self._pending = bool(self._counts.any())
        self._counting = bool(((self._counts > 0) & (self._counts < self._needed)).any())
        changed = touching | established | lost
        return np.asarray(changed.any(axis=1) | ~np.isfinite(forces.sum(axis=1)))

    def _command(self, lanes: Integers) -> None:
        """Give the next targets to grasps whose contact has not changed."""
        place = self._place[lanes]
        self._ctrl[lanes] = self._plan[lanes, place]
        self._positions[lanes, place] = self._qpos[lanes]
        self._place[lanes] = place + 1

    def _begin(self, index: int) -> bool:
        return self._take(index, next(self._lanes[index].plans, None))

    def _resume(self, index: int) -> bool:
        """Let a grasp's controller go on; False where the run is over."""
        lane, done = self._lanes[index], int(self._place[index])
        recording, state = lane.run.recording, lane.run.state
        first = recording.rows
        judged = min(done + 1, lane.size)  # of a change the force of the next row, too
        recording.qpos[first : first + done] = self._positions[index, :done]
        recording.force[first : first + judged] = self._forces[index, :judged]
        self._forces[index, :judged] = 0.0
        for own, all_ in (
            (state.counts, self._counts),
            (state.touched, self._touched),
            (state.in_contact, self._held),
            (state.changes, self._changes),
        ):
            own[:] = all_[index].astype(int).tolist()
        self._repeat(index, stepped=first + done > 0)
        try:
            plan = lane.plans.send(done)
            while not len(plan):  # it only asked for a new one
                plan = lane.plans.send(0)
        except StopIteration:
            return False
        self._ctrl[index] = lane.run.data.ctrl
        return self._take(index, plan)

    def _repeat(self, index: int, *, stepped: bool) -> None:
        """Repeat the last step of a grasp in its own MjData, which then knows its contacts."""
        run = self._lanes[index].run
        if not stepped:
            return
        mujoco.mj_setState(run.model, run.data, self._before[index], STATE)
        mujoco.mj_step(run.model, run.data, self._substeps)
        run.data.ctrl[:] = self._ctrl[index]
        # also those of steps before the last one
        run.data.warning.number[:] = self._batch.warning[index, :, NUMBER]

    def _take(self, index: int, plan: Array | None) -> bool:
        if plan is None:
            return False
        size = len(plan)
        self._lanes[index].size = size
        self._plan[index, :size] = plan
        self._place[index], self._size[index] = 0, size
        return True
