"""One grasp of a batch: its controller and its log, but no engine state of its own."""

from __future__ import annotations

from typing import NamedTuple

import mujoco

from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene
from softgrasp.simulation.closure_run import ClosureRun, Plans
from softgrasp.simulation.contacts import ContactPoint
from softgrasp.simulation.own_stepper import STATE, MujocoStepper
from softgrasp.simulation.state import ClosureLayout, ClosureState, Recording
from softgrasp.simulation.stepper import Stepper

LOOK_AHEAD = 256
"""Physics steps whose targets are computed at once."""


class Before(NamedTuple):
    """A grasp right before a control sample is stepped."""

    state: Array
    """Of the engine, (ns,)."""
    ctrl: Array
    """What the step is driven with, (nu,)."""


class Scratch:
    """An engine state in which the last step of one grasp or the other is repeated."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Make room for a state of the batch's models."""
        self._data = mujoco.MjData(model)
        self._holds: object = None

    def repeated(self, model: mujoco.MjModel, before: Before, substeps: int) -> mujoco.MjData:
        """The engine state behind a sample, as the grasp alone had it.

        Args:
            model: Of the grasp.
            before: The grasp before the sample.
            substeps: Physics steps of a sample.
        """
        if self._holds is not before:  # else it was the last one asked for
            self._holds = before
            mujoco.mj_resetData(model, self._data)
            mujoco.mj_setState(model, self._data, before.state, STATE)
            self._data.ctrl[:] = before.ctrl
            mujoco.mj_step(model, self._data, substeps)
        return self._data


class BatchedStepper(Stepper):
    """The controller of a grasp in a batch, which does its stretches."""

    def __init__(self, layout: ClosureLayout, state: ClosureState, recording: Recording) -> None:
        """Take over a state; arguments as for ``Stepper``."""
        super().__init__(layout, state, recording, LOOK_AHEAD)
        self.ctrl = state.targets

    def run_chunk(self, plan: Array) -> int:
        """Nothing: the batch does it."""
        raise NotImplementedError("a lane of a batch is driven by the batch")

    def _command(self, targets: Array) -> None:
        self.ctrl = targets  # the batch has recorded the positions


class BatchedRun(ClosureRun):
    """A grasp that is run by a batch."""

    def __init__(self, built: BuiltScene, scratch: Scratch) -> None:
        """Take a scene.

        Args:
            built: The scene; the hold test changes its model.
            scratch: Shared by all grasps of the batch.
        """
        self._scratch = scratch
        super().__init__(built)
        self.plans: Plans = self.running()
        """Its controller."""
        self.odd = False
        """Whether something happened that only a run alone can tell."""
        self.last: Before | None = None
        """The grasp before the last sample."""

    @property
    def ctrl(self) -> Array:
        """What the controller has told the drives after a change of contact, (nu,)."""
        assert isinstance(self._stepper, BatchedStepper)
        return self._stepper.ctrl

    @property
    def data(self) -> mujoco.MjData:
        """The state of the engine behind the last sample; valid until another grasp's is read."""
        assert self.last is not None
        return self._scratch.repeated(self.model, self.last, self.layout.substeps)

    def record(self, row: int, changes: list[int], before: Before) -> None:
        """Log what changed at a sample.

        Args:
            row: Of the sample.
            changes: Bits of ``laws``, (nb,).
            before: The grasp before it.
        """
        gravity = self.model.opt.gravity.copy()
        bodies = zip(self.built.bodies, changes, strict=True)
        touched = [body for body, change in bodies if change]

        def points() -> list[ContactPoint]:
            later = self.model.opt.gravity.copy()
            self.model.opt.gravity[:] = gravity
            data = self._scratch.repeated(self.model, before, self.layout.substeps)
            self.model.opt.gravity[:] = later
            return self._contacts.read(data, touched)

        self.log.record(row * self.layout.control_period, changes, points)

    @property
    def loads(self) -> Array:
        """Gravity at the samples of the plan, where it grows, (n, 3) [m/s²]."""
        return self._stepper.loads

    def record_in(self, recording: Recording) -> None:
        """Record in memory of the batch; to be called before the run begins."""
        self._stepper.recording = recording

    def _new_stepper(self, _: type[MujocoStepper] | None) -> Stepper:
        none = Recording.empty(self.model, 0, 0, 0)  # the batch gives it its own
        return BatchedStepper(self.layout, self.state, none)

    def _went_wrong(self) -> bool:
        return False  # the batch looks at every sample

    def _record_changes(self) -> None:
        """Nothing: the batch has noted them."""
