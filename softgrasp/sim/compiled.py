"""The same closed loop compiled by numba, calling MuJoCo's own ``mj_step`` (extra ``fast``).

It costs what the physics costs: no Python between two control samples unless contact changes.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.compiled_loop import agrees, data_map
from softgrasp.sim.stepper import MujocoStepper, Snapshot

WORTHWHILE = 20_000
"""Control samples from which loading the compiled loop costs less than it saves."""

CHECKS = 10
"""Stretches with contacts in which the map of mjData is compared with the engine's own view."""


@cache
def native_available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def native_pays(samples: int) -> bool:
    """Whether to use the compiled loop; the results are the same bit for bit."""
    loaded = "softgrasp.sim.compiled_loop" in sys.modules
    return native_available() and (loaded or samples >= WORTHWHILE)


class NativeStepper(MujocoStepper):
    """The loop in machine code; decisions as in ``PlainStepper``."""

    def _prepare(self) -> None:
        from softgrasp.sim.compiled_loop import run_chunk

        layout, data, bodies = self._layout, self._data, len(self._state.counts)
        self._run_chunk = run_chunk
        slots = layout.force_sum.shape[1] // (3 * bodies)
        self._constants = (
            slots, layout.substeps, layout.first_force, layout.prescribed, layout.samples,
            layout.timestep, layout.threshold, layout.qpos_of_actuator, layout.dof_of_actuator,
        )  # fmt: skip
        self._engine = (data.qpos, data.qvel, data.ctrl, data.sensordata, self._gravity)
        self._previous = self._state.targets.copy()
        self._flags = np.zeros((4, bodies), dtype=np.int64)
        self._map = None if self._friction is None else data_map()
        self._unchecked = CHECKS

    def run_chunk(self, plan: Array) -> int:
        """Run the samples of a plan in machine code."""
        recording, state = self.recording, self._state
        done: int = self._run_chunk(
            (self._model._address, self._data._address),
            plan,
            self._constants,
            self._engine,
            self.loads[: len(plan)],
            (self._previous, self._flags),
            (recording.qpos, recording.force),
            recording.rows,
            self._map,
            self._friction,
        )
        if self._map is not None and self._unchecked > 0 and self._data.ncon:
            self._unchecked -= 1
            if not agrees(self._map, self._data):
                raise SimulationError("the map of mjData does not agree with the engine")
        state.counts[:], state.touched[:], state.in_contact[:], state.changes[:] = (
            self._flags.tolist()
        )
        return done

    def put_back(self, saved: Snapshot) -> None:
        """Go back to a run as it was; its rows stay."""
        super().put_back(saved)
        state = self._state
        self._flags[:] = [state.counts, state.touched, state.in_contact, state.changes]
