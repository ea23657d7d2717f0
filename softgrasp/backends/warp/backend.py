"""What the core calls of the backend: one grasp with its result, and episodes of learning tasks.

The run is a batch of one recorded world. Positions, targets, contact forces of bodies, debounced
contacts and the end of the closure come from the device; contact points and normals at changes of
contact and at the end come from one MuJoCo step out of the device's state.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.backends.warp.scenes import (
    NAME,
    engine_version,
    require_supported,
    require_supported_model,
    test_loads,
    world,
)
from softgrasp.description import ClosePhase
from softgrasp.mechanics import Array
from softgrasp.plugin_api import ClosureRun, CompiledScene, Progress, closing_obstacle
from softgrasp.resolution import ResolvedScene
from softgrasp.sim import EngineRecord, PhaseRows, borne_by_hand, caught_warnings

if TYPE_CHECKING:
    from softgrasp.backends.warp.episodes import WarpPhysics

SINGLE_PRECISION = (
    "MuJoCo Warp computes in single precision: positions agree with MuJoCo to about 1e-6 rad for "
    "primitives and are not equal bit for bit"
)
"""Note in every result."""


class WarpRun(ClosureRun):
    """A grasp simulated in MuJoCo Warp."""

    def __init__(
        self, built: CompiledScene, progress: Progress | None = None, device: str | None = None
    ) -> None:
        """Put the scene into its start state.

        Args:
            built: The scene.
            progress: Called with the simulated time [s] from time to time.
            device: Device of Warp; by default that of ``worlds.default_device``.

        Raises:
            BackendUnavailable: MuJoCo Warp is not installed.
            BuildError: The scene has a feature that the backend lacks; names it.
        """
        version = engine_version()
        require_supported(built.scene)
        require_supported_model(built)
        super().__init__(built, progress)
        step = float(built.model.opt.timestep)
        self.engine = EngineRecord(NAME, version, built.scene.integrator, step)
        self._device, self.remarks = device, (SINGLE_PRECISION,)
        self._before, self._loads = built.model.opt.gravity.copy(), test_loads(built)

    @property
    def peaks(self) -> None:
        """None: forces are read at control samples."""
        return None

    def run(self) -> None:
        """Run the closure and the hold test.

        Raises:
            SimulationError: There was not enough memory for contacts.
        """
        from softgrasp.backends.warp.worlds import WorldBatch

        if closing_obstacle(self.built):  # the start is the whole run
            super().run()
            return
        worlds = world(self.built)
        self.model.actuator_biasprm[:] = worlds.numbers["actuator_bias"][0]
        batch = WorldBatch(worlds, device=self._device, recorded=True)
        try:
            batch.run(progress=self._progress)
            self.finished = True
        except KeyboardInterrupt:
            if batch.row == 0:
                raise
        outcome = batch.outcome()
        outcome.require_no_overflow()
        self.diverged = outcome.diverged(0)
        self.finished &= not self.diverged
        self._take(outcome.loop, outcome.log)
        self.model.pair_solref[:] = outcome.pair_solref[0]
        with caught_warnings(self.engine_warnings):
            self._log_events(outcome.log)
            self._pose(self.recording.rows - 1, outcome.log["qvel"][:, 0])

    def _take(self, loop: dict[str, NDArray[Any]], log: dict[str, NDArray[Any]]) -> None:
        """Copy the time series of the device into the recording."""
        ended, recording = int(loop["end_row"][0]), self.recording
        rows = ended + 1 if ended >= 0 else int(loop["row"][0])
        recording.reserve(rows)
        recording.time[:rows] = np.arange(rows) * self.layout.control_period
        for name in ("qpos", "control", "force"):
            getattr(recording, name)[:rows] = log[name][:rows, 0]
        recording.in_contact[:rows] = log["active"][:rows, 0]
        recording.rows = rows
        self.state.targets, self.state.idle = loop["targets"][0], int(loop["idle"][0])
        self.state.contact.active[:] = log["active"][rows - 1, 0].tolist()
        closed = int(loop["closed_row"][0])
        self.phases.append(PhaseRows(ClosePhase().label, 0, rows - 1 if closed < 0 else closed))
        if self.scene.success is not None and closed >= 0:
            self.hold_from = closed
            self.phases.append(PhaseRows("hold test", closed, rows - 1))
            # the backend has neither surroundings nor mounts
            full = self._gravity(rows - 1)
            self.loads.append(borne_by_hand(self.model, self.scene, rows - 1, full))

    def _log_events(self, log: dict[str, NDArray[Any]]) -> None:
        changes, speeds = log["changes"][:, 0], log["qvel"][:, 0]
        for row in np.flatnonzero(changes[: self.recording.rows].any(axis=1)).tolist():
            self._pose(row, speeds)
            touching = zip(self.built.bodies, changes[row], strict=True)
            points = self._contacts.read(self.data, [body for body, on in touching if on])
            time_of_row = float(self.recording.time[row])
            self.log.record(time_of_row, changes[row].tolist(), partial(list, points))

    def _pose(self, row: int, speeds: Array) -> None:
        """Put MuJoCo's state to a sample, with the contacts of the step that led to it."""
        before, data = max(row - 1, 0), self.data
        data.qpos[:], data.qvel[:] = self.recording.qpos[before], speeds[before]
        data.ctrl[:] = self.recording.control[before]
        data.qacc_warmstart[:] = 0.0
        self.model.opt.gravity[:] = self._gravity(row)
        if row:
            mujoco.mj_step(self.model, data, self.layout.substeps)
        data.ctrl[:] = self.recording.control[row]

    def _gravity(self, row: int) -> Array:
        """Return gravity in the step that led to a sample, (3,) [m/s²]."""
        sample = -1 if self.hold_from is None else row - self.hold_from - 1
        loaded: Array = self._loads[sample] if sample >= 0 else self._before
        return loaded


class WarpEngine:
    """The engine, on the first GPU or on the CPU; see ``sim.engines.Engine``."""

    name, shortest_step, constraint_softness = NAME, 0.0, None

    def version(self) -> str:
        """Return the version of MuJoCo Warp."""
        return engine_version()

    def require_supported(self, resolved: ResolvedScene) -> None:
        """Refuse a scene with features that the engine lacks; see ``Engine``."""
        require_supported(resolved.scene)

    def run(self, built: CompiledScene, progress: Progress | None = None) -> WarpRun:
        """Run a compiled scene; see ``Engine``."""
        run = WarpRun(built, progress)
        run.run()
        return run


def warp_episodes(models: Sequence[mujoco.MjModel], count: int, substeps: int) -> WarpPhysics:
    """Return episodes of a learning task on the device; arguments as of ``WarpPhysics``.

    Raises:
        BackendUnavailable: MuJoCo Warp is not installed, or there is no such device.
        BuildError: It cannot simulate the model; says why.
    """
    engine_version()
    from softgrasp.backends.warp.episodes import WarpPhysics

    return WarpPhysics(models, count, substeps)
