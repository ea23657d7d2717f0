"""Many releases of one planar finger side by side, each with springs and dampers of its own."""

from __future__ import annotations

import copy
from typing import NamedTuple

import mujoco
import numpy as np
from mujoco.batch import Batch

from softgrasp.continuum.statics import PlanarChain
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.model.soft_finger import finger_model
from softgrasp.simulation.engine_warnings import caught_warnings

NUMBER = 1
"""Column of a batch's warnings that counts them."""
RECORDED = 5e-4
"""Time between two recorded instants, at most [s]."""


class Released(NamedTuple):
    """Motions after the release; B fingers, T instants."""

    time: Array
    """[s], (T,)."""
    height: Array
    """Of the tip over the first joint [m], (B, T); NaN for a finger that has diverged."""


class ReleaseTestRig:
    """Lets copies of a finger go, from shapes of rest under a weight."""

    def __init__(self, finger: SoftFinger, *, timestep: float = 2.5e-4, threads: int = 1) -> None:
        """Compile the finger once.

        Args:
            finger: A planar finger that neither twists nor stretches.
            timestep: Of the physics [s].
            threads: Of the physics; the motions do not depend on it.
        """
        self._chain = PlanarChain.of(finger)
        self._model = finger_model(finger)
        self._model.opt.timestep = timestep
        self._model.opt.gravity[:] = STANDARD_GRAVITY
        self._threads = threads
        self._models: list[mujoco.MjModel] = []
        self._batch: Batch | None = None

    def release(self, stiffness: Array, damping: Array, start: Array, duration: float) -> Released:
        """Motions from rest in some shapes, without the weights.

        Args:
            stiffness: [N·m/rad], (B, n).
            damping: [N·m·s/rad], (B, n).
            start: Joint angles [rad], (B, n); a row that is not finite gives a row of NaN.
            duration: [s]
        """
        step = float(self._model.opt.timestep)
        every = max(int(RECORDED / step), 1)
        steps = max(round(duration / (every * step)), 1) * every
        usable = np.asarray(np.isfinite(start + stiffness).all(axis=1))
        batch = self._prepared(len(start))
        for model, k, c in zip(self._models, stiffness, damping, strict=True):
            model.jnt_stiffness[:], model.dof_damping[:] = k, c
        with caught_warnings():
            batch.set_models(self._models)
            batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
            batch.qpos[:] = np.where(usable[:, None], start, 0.0)
            angles = np.asarray(batch.rollout(steps, record=("qpos",))["qpos"])
            usable = usable & ~np.asarray(batch.warning)[:, :, NUMBER].any(axis=1)
        angles = np.concatenate([start[:, None], angles[:, every - 1 :: every]], axis=1)
        height = self._chain.tip(angles)[..., 1]
        height[~usable] = np.nan
        return Released(np.arange(height.shape[1], dtype=float) * every * step, height)

    def _prepared(self, count: int) -> Batch:
        if self._batch is None or len(self._models) != count:
            self._models = [copy.copy(self._model) for _ in range(count)]
            self._batch = Batch(self._model, count, self._threads)
        return self._batch
