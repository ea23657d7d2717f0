"""The same closed loop compiled by numba, calling MuJoCo's own ``mj_step`` (extra ``fast``).

It costs what the physics costs: no Python between two control samples unless contact changes.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec

import mujoco
import numpy as np

from softgrasp.simulation.state import ClosureLayout, ClosureState, Recording


WORTHWHILE = 20_000
"""Control samples from which loading the compiled loop costs less than it saves."""


@cache
def native_available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def native_pays(samples: int) -> bool:
    """Whether to use the compiled loop; the results are the same bit for bit."""
    loaded = "softgrasp.simulation.native_loop" in sys.modules
    return native_available() and (loaded or samples >= WORTHWHILE)


class NativeStepper:
    """Advances a closure sample by sample in machine code; decisions as in ``PlainStepper``."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
    ) -> None:
        """Take over a model and its state; arguments as for ``PlainStepper``."""
        from softgrasp.simulation.native_loop import run_samples

        self._run_samples = run_samples
        self._alive = (model, data)  # the loop knows only their addresses
        self._state, self.recording = state, recording
        bodies = len(state.counts)
        slots = layout.force_sum.shape[1] // (3 * bodies)
        self._layout = (
            slots, layout.substeps, layout.first_force, layout.prescribed, layout.samples
        )  # fmt: skip
        self._constants = (
            layout.timestep, layout.control_period, layout.threshold,
            layout.increments, layout.lower, layout.upper,
            layout.body_of_joint, layout.last_of_finger,
            layout.qpos_of_joint, layout.dof_of_joint,
        )  # fmt: skip
        self._engine = (data.qpos, data.qvel, data.ctrl, data.sensordata)
        self._targets, self._previous = np.array(state.targets), np.array(state.previous)
        self._flags = np.zeros((4, bodies), dtype=np.int64)
        self._progress = np.zeros(3, dtype=np.int64)

    def advance(self, samples: int, idle_limit: int) -> bool:
        """Run up to ``samples`` control samples; as ``PlainStepper.advance``."""
        recording, (model, data) = self.recording, self._alive
        recording.reserve(samples)
        self._progress[0] = recording.rows
        self._run_samples(
            (model._address, data._address),
            (samples, idle_limit),
            self._layout,
            self._constants,
            self._engine,
            (self._targets, self._previous, self._flags, self._progress),
            (
                recording.time, recording.qpos, recording.control,
                recording.force, recording.in_contact,
            ),
        )  # fmt: skip
        recording.rows = int(self._progress[0])
        self._hand_back()
        return bool(self._progress[2])

    def _hand_back(self) -> None:
        state = self._state
        state.targets[:] = self._targets.tolist()
        state.idle = int(self._progress[1])
        state.counts[:], state.touched[:], state.in_contact[:], state.changes[:] = (
            self._flags.tolist()
        )
