"""Engines that step the episodes of a learning task: MuJoCo on threads, or one of an extension.

An episode has a model of its own, which its start changes within what ``TaskSimulation`` draws. An
engine steps all episodes for one decision, in which the controls are ramps; everything that is
observed is in the sensors of its last step.
"""

from __future__ import annotations

from copy import copy
from typing import Protocol

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from softgrasp.mechanics.transforms import Array
from softgrasp.sim.engine import caught_warnings

STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS
CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)


class TaskPhysics(Protocol):
    """n episodes in an engine."""

    states: Array
    """Full physics states of MuJoCo after the last step, (n, ns)."""
    sensors: Array
    """Sensors of the last step, (n, nsensordata)."""
    kinds: int | None
    """Number of kinds of shapes among which episode i always has the kind i modulo this; None where
    every episode may have any."""

    def model(self, row: int) -> mujoco.MjModel:
        """Return the model of an episode; to be changed before ``begin`` only."""

    def begin(self, row: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Put an episode into the state of a forward pass of its model."""

    def prepare(self, row: int, before: Array, after: Array, gravity: Array) -> None:
        """Step one episode for a decision before it begins; arguments as of ``step``, one row."""

    def step(self, before: Array, after: Array, gravity: Array) -> None:
        """Step all episodes for one decision.

        Args:
            before: Controls at its start, (n, nu).
            after: Controls at its end, which are reached at constant rates, (n, nu).
            gravity: Gravity during it, (n, 3) [m/s²].
        """


class MujocoPhysics:
    """Episodes in MuJoCo; one call of ``rollout`` simulates a decision of all of them."""

    kinds: int | None = None

    def __init__(self, base: mujoco.MjModel, count: int, substeps: int, threads: int) -> None:
        """Copy the model for each episode.

        Args:
            base: The model.
            count: Number of episodes.
            substeps: Steps of a decision.
            threads: Number of threads that step them.
        """
        self._models = [copy(base) for _ in range(count)]
        self._datas = [mujoco.MjData(base) for _ in range(max(threads, 1))]
        self._rollout = Rollout(nthread=threads if threads > 1 else 0).rollout
        self._ramp = np.arange(1, substeps + 1)[:, None] / substeps
        self.states = np.zeros((count, mujoco.mj_stateSize(base, STATE)))
        self.sensors = np.zeros((count, base.nsensordata))

    def model(self, row: int) -> mujoco.MjModel:
        """Return the model of an episode."""
        return self._models[row]

    def begin(self, row: int, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Put an episode into the state of a forward pass; see ``TaskPhysics``."""
        mujoco.mj_getState(model, data, self.states[row], STATE)
        self.sensors[row] = data.sensordata

    def prepare(self, row: int, before: Array, after: Array, gravity: Array) -> None:
        """Step one episode for a decision; see ``TaskPhysics``."""
        self._models[row].opt.gravity[:] = gravity
        self._step([row], before[None], after[None])

    def step(self, before: Array, after: Array, gravity: Array) -> None:
        """Step all episodes for one decision; see ``TaskPhysics``."""
        for model, load in zip(self._models, gravity, strict=True):
            model.opt.gravity[:] = load
        self._step(list(range(len(self._models))), before, after)

    def _step(self, rows: list[int], before: Array, after: Array) -> None:
        # arrays are made here, as the checks of rollout cost a tenth of the physics
        count, steps = len(rows), len(self._ramp)
        states = np.empty((count, steps, self.states.shape[1]))
        sensors = np.empty((count, steps, self.sensors.shape[1]))
        models = [self._models[row] for row in rows]
        with caught_warnings():
            self._rollout(
                models, self._datas, self.states[rows],
                before[:, None] + self._ramp * (after - before)[:, None],
                control_spec=CONTROL, skip_checks=True, nstep=steps,
                initial_warmstart=np.zeros((count, models[0].nv)),
                state=states, sensordata=sensors,
            )  # fmt: skip
        self.states[rows], self.sensors[rows] = states[:, -1], sensors[:, -1]
