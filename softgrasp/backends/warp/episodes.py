"""Episodes of learning tasks in MuJoCo Warp: thousands of worlds that step one decision together.

The kinds of shapes of a model are the same in all worlds of MuJoCo Warp, so that there is a batch
for each kind, and episode i has the kind i modulo their number. Everything else that a start
changes is an array of all worlds. A decision is one graph of its steps; states and sensors are
copied to the host once a decision. Starts, and decisions that prepare them, are those of MuJoCo.

A step whose solver fails, which happens in single precision, is taken back and made with softer
friction; the decision of this world is then shorter by a step.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import warp
from numpy.typing import NDArray

from softgrasp.backends.warp import kernels
from softgrasp.backends.warp.worlds import (
    Graph,
    assign,
    capacity,
    default_device,
    overflow_sentence,
    overflow_words,
    put_on_device,
    quiet,
    report_compilation,
)
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics import Array
from softgrasp.sim import caught_warnings

DRAWN = (
    "body_pos", "body_ipos", "body_iquat", "body_mass", "body_inertia", "body_subtreemass",
    "body_invweight0", "dof_invweight0", "geom_size", "geom_aabb", "geom_rbound", "geom_pos",
    "tendon_invweight0", "actuator_acc0", "pair_solref", "pair_friction",
)  # fmt: skip
"""Arrays of a model in which episodes differ, one value a world."""
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS


class WarpPhysics:
    """Episodes in MuJoCo Warp; see ``envs.task_simulation.TaskPhysics``."""

    def __init__(self, models: Sequence[mujoco.MjModel], count: int, substeps: int) -> None:
        """Put the worlds on the device.

        Raises:
            BackendUnavailable: There is no such device.
            BuildError: MuJoCo Warp cannot simulate the model; says why.
        """
        base = models[0]
        if mujoco.mj_stateSize(base, STATE) != 1 + base.nq + base.nv + base.na:
            raise BuildError("task: the backend warp has neither delays nor plugins")
        self.kinds: int | None = len(models)
        self.states = np.zeros((count, mujoco.mj_stateSize(base, STATE)))
        self.sensors = np.zeros((count, base.nsensordata))
        self._batches = [
            _Batch(model, len(range(kind, count, len(models))), substeps)
            for kind, model in enumerate(models[:count])
        ]
        self._scratch = [(copy(model), mujoco.MjData(model)) for model in models]
        self._substeps = substeps

    def model(self, row: int) -> mujoco.MjModel:
        """Return the model of an episode, valid until the next call."""
        model = self._scratch[row % len(self._scratch)][0]
        batch, world = self._world(row)
        for name, values in batch.arrays.items():
            getattr(model, name)[:] = values[world]
        return model

    def begin(self, row: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Put an episode into the state of a forward pass; see ``TaskPhysics``."""
        batch, world = self._world(row)
        for name, values in batch.arrays.items():
            values[world] = getattr(model, name)
        batch.geom_positions[world], batch.is_changed = data.geom_xpos, True
        self._take(row, model, data)

    def prepare(self, row: int, before: Array, after: Array, gravity: Array) -> None:
        """Step one episode for a decision, in MuJoCo; see ``TaskPhysics``."""
        model, data = self.model(row), self._scratch[row % len(self._scratch)][1]
        model.opt.gravity[:] = gravity
        mujoco.mj_setState(model, data, self.states[row], STATE)
        data.qacc_warmstart[:] = 0.0
        with caught_warnings():
            for part in np.arange(1, self._substeps + 1) / self._substeps:
                data.ctrl[:] = before + part * (after - before)
                mujoco.mj_step(model, data)
        self._take(row, model, data)

    def step(self, before: Array, after: Array, gravity: Array) -> None:
        """Step all episodes for one decision; see ``TaskPhysics``."""
        kinds = len(self._scratch)
        parts = [slice(kind, None, kinds) for kind in range(len(self._batches))]
        for batch, rows in zip(self._batches, parts, strict=True):
            batch.launch(self.states[rows], before[rows], after[rows], gravity[rows])
        for batch, rows in zip(self._batches, parts, strict=True):  # the device works meanwhile
            self.states[rows], self.sensors[rows] = batch.read(self.sensors[rows])

    def _world(self, row: int) -> tuple[_Batch, int]:
        return self._batches[row % len(self._scratch)], row // len(self._scratch)

    def _take(self, row: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        mujoco.mj_getState(model, data, self.states[row], STATE)
        self.sensors[row] = data.sensordata


class _Batch:
    """Worlds with one kind of shape."""

    def __init__(self, model: mujoco.MjModel, size: int, substeps: int) -> None:
        self.arrays: dict[str, NDArray[Any]] = {
            name: np.repeat(getattr(model, name)[None], size, axis=0) for name in DRAWN
        }
        """Arrays of the models of all worlds, (n, …)."""
        self.geom_positions = np.zeros((size, model.ngeom, 3))
        """Positions of the geoms at the start, (n, ng, 3) [m]; those that stand still are not
        computed in steps."""
        self.is_changed = True
        self._size, self._substeps = size, substeps
        self._model, self._device = model, default_device()
        self._impratio = float(model.opt.impratio) ** -0.5
        self._graph = Graph(self._device, self._steps)
        self._is_ready = False
        with quiet(), warp.ScopedDevice(self._device):
            self._on_device, self._data = put_on_device(model, size, DRAWN, capacity())
            self._before = warp.zeros((size, model.nu), dtype=float)
            self._after = warp.zeros_like(self._before)
            self._positions = warp.zeros((size, model.nq), dtype=float)
            self._speeds = warp.zeros((size, model.nv), dtype=float)
            self._step, self._failures = (warp.zeros(size, dtype=int) for _ in range(2))

    def launch(self, states: Array, before: Array, after: Array, gravity: Array) -> None:
        """Begin a decision of all worlds; arguments as of ``TaskPhysics.step``."""
        nq, nv, data = self._model.nq, self._model.nv, self._data
        self._time = states[:, :1] + self._substeps * self._model.opt.timestep
        with quiet(), warp.ScopedDevice(self._device):
            if self.is_changed:
                for name, values in self.arrays.items():
                    assign(getattr(self._on_device, name), values)
                assign(self._data.geom_xpos, self.geom_positions)
                self.is_changed = False
            for target, values in (
                (data.qpos, states[:, 1 : 1 + nq]), (data.qvel, states[:, 1 + nq : 1 + nq + nv]),
                (data.act, states[:, 1 + nq + nv :]), (self._before, before),
                (self._after, after), (self._on_device.opt.gravity, gravity),
                (self._positions, states[:, 1 : 1 + nq]),
                (self._speeds, states[:, 1 + nq : 1 + nq + nv]),
            ):  # fmt: skip
                assign(target, values)
            for zeroed in (data.qacc_warmstart, data.overflow, self._step, self._failures):
                zeroed.zero_()
            self._on_device.opt.impratio_invsqrt.fill_(self._impratio)
            if self._is_ready:
                self._graph.launch()
                return
            report_compilation(self._device)
            self._steps()
            self._is_ready = True

    def read(self, sensors: Array) -> tuple[Array, Array]:
        """Wait for the decision, and return states and sensors of all worlds.

        Args:
            sensors: Those before, which stay where they are no numbers now.
        """
        data = self._data
        parts = (self._time, data.qpos.numpy(), data.qvel.numpy(), data.act.numpy())
        if words := overflow_words(int(np.bitwise_or.reduce(data.overflow.numpy()))):
            warnings.warn(overflow_sentence(words), SoftgraspWarning, stacklevel=2)
        states = np.concatenate(parts, axis=1)
        # what is no number is too fast, and ends the episode as a motion that diverged
        states[:, 1 + self._model.nq :][~np.isfinite(states[:, 1 + self._model.nq :])] = np.inf
        states[:, : 1 + self._model.nq] = np.nan_to_num(states[:, : 1 + self._model.nq])
        now = data.sensordata.numpy().astype(float)
        return states, np.where(np.isfinite(now).all(axis=1, keepdims=True), now, sensors)

    def _steps(self) -> None:
        data, size = self._data, self._size
        for _ in range(self._substeps):
            warp.launch(kernels.ramp, (size, self._model.nu), [
                self._before, self._after, self._step, self._substeps, data.ctrl,
            ])  # fmt: skip
            mujoco_warp.step(self._on_device, data)
            warp.launch(kernels.take_back, size, [
                self._step, self._failures, self._impratio, self._on_device.opt.impratio_invsqrt,
                self._positions, self._speeds, data.qpos, data.qvel, data.qacc_warmstart,
            ])  # fmt: skip
