"""Fine time steps while contacts begin and end.

An impact of a light object lasts microseconds; with the time step that contact at rest allows, its
force, the bounce after it, and with them the sample at which contact is established and the force
that remains, depend on the step (docs/contact.md). ``StepRefinement`` therefore repeats the control
sample at whose end a body has begun or ceased to press with the shortest time step of the scene
(``model.timestep.fine_timesteps``), and takes longer ones as time goes by without such a change.
Contacts that chatter meanwhile keep the next longer step.

A step computes forces from the state at its begin, so that the state after a sample is evaluated
once more (``ahead``): else a body would be in the object by up to a step when steps become short.
Decisions depend on states at control samples alone, so that runs in blocks and sample by sample are
equal bit for bit. Each time step has its own contact parameters, which it keeps as
``stiffness_feedback`` corrects them, and its own damping of servos.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import FineStep
from softgrasp.sim.control_state import STATE, ClosureLayout
from softgrasp.sim.stiffness_feedback import StiffnessFeedback

IMPACT_SAMPLES, STILL_SAMPLES = 2, 20
"""Control samples without a force that begins or ends after which steps become longer, and after
which they are as long as without contact."""


class _Level(NamedTuple):
    """A time step and the contact parameters that belong to it."""

    timestep: float
    substeps: int
    """Of a control sample."""
    end: int
    """Samples since a force has begun or ended up to which it is used."""
    solref: Array
    """Corrected while it is used, (np, 2)."""
    solreffriction: Array
    actuator_bias: Array

    def parameters(self) -> dict[str, Any]:
        """Return the values to set in a model, by their names in it."""
        return {
            "timestep": self.timestep,
            "pair_solref": self.solref.copy(),
            "pair_solreffriction": self.solreffriction,
            "actuator_biasprm": self.actuator_bias,
        }


class SavedSteps(NamedTuple):
    """State of a refinement that can be restored."""

    level: int
    still: int
    aligned: bool
    flags: Array
    """Bodies that press, and that have pressed, (2, nb)."""
    solref: list[Array]


class StepRefinement:
    """Chooses the time step of a model by the forces at control samples."""

    def __init__(
        self,
        layout: ClosureLayout,
        stiffness: StiffnessFeedback,
        model: mujoco.MjModel,
        fine: Sequence[FineStep] = (),
    ) -> None:
        """Begin with long steps.

        Args:
            layout: Constants of the loop.
            stiffness: Corrects the contacts of the model.
            model: The model; changed.
            fine: Further time steps, the shortest first.
        """
        self._model, self._stiffness, self._layout = model, stiffness, layout
        substeps = layout.substeps
        step, friction = float(model.opt.timestep), model.pair_solreffriction.copy()
        solref = model.pair_solref.copy()
        ends = [IMPACT_SAMPLES, STILL_SAMPLES] if len(fine) > 1 else [STILL_SAMPLES]
        self._levels = [
            _Level(
                item.timestep,
                substeps * round(step / item.timestep),
                end,
                item.pair_solref.copy(),
                item.pair_solreffriction,
                lagging_as_described(model, layout.actuator_bias, item.timestep),
            )
            for item, end in zip(fine, ends, strict=False)
        ]
        bias = lagging_as_described(model, layout.actuator_bias, step)
        self._levels.append(_Level(step, substeps, sys.maxsize, solref, friction, bias))
        self._now = self._coarsest = len(self._levels) - 1
        self._write()
        self._touching = np.zeros(len(layout.bodies), dtype=bool)
        self._met = np.zeros(len(layout.bodies), dtype=bool)
        """Bodies that have pressed on an object so far, (nb,)."""
        self._still, self._aligned = STILL_SAMPLES, True
        self._row = 0
        """Control samples so far."""
        self._next = mujoco.MjData(model) if self.active else None
        end = layout.first_force + layout.force_sum.shape[1]
        self._sensors = slice(layout.first_force, end)
        self._state = np.empty(mujoco.mj_stateSize(model, STATE))

    @property
    def active(self) -> bool:
        """Whether there are several time steps."""
        return self._coarsest > 0

    @property
    def is_finest(self) -> bool:
        """Whether steps are the shortest now."""
        return self._now == 0

    @property
    def substeps(self) -> int:
        """Physics steps of a control sample now."""
        return self._levels[self._now].substeps

    @property
    def samples_left(self) -> int:
        """Largest number of control samples after which the time step may change."""
        return self._levels[self._now].end - self._still if self._aligned else 1

    def ahead(self, data: mujoco.MjData, control: Array) -> Array:
        """Compute the normal forces of the bodies at the state after a sample, (nb,) [N].

        Args:
            data: The state.
            control: Targets that are commanded after the sample, (nd,).
        """
        if self._next is None:
            return np.zeros(len(self._touching))
        mujoco.mj_getState(self._model, data, self._state, STATE)
        mujoco.mj_setState(self._model, self._next, self._state, STATE)
        self._next.ctrl[:] = control
        mujoco.mj_forward(self._model, self._next)
        return self._layout.body_forces(self._next.sensordata[self._sensors])

    def first_onset(self, forces: Array) -> int | None:
        """Return the first sample that has to be repeated with shorter steps; None without one.

        Args:
            forces: Normal forces of the bodies after consecutive samples, (n, nb) [N].
        """
        if self.is_finest:
            return None
        touching = forces > 0.0
        changed = touching != self._touching
        if self._now < self._coarsest:  # of contacts that chatter only the first is an impact
            changed = touching & ~self._met
        if not changed.any():
            return None
        onset = int(changed.any(axis=1).argmax())
        # steps of a state that is not a number take long
        return onset if math.isfinite(float(forces[onset].sum())) else None

    def refine(self) -> None:
        """Take the shortest steps from the next one on."""
        self._enter(0)
        self._still = 0

    def follow(self, forces: Array, data: mujoco.MjData) -> None:
        """Choose the time step after finished samples.

        Args:
            forces: Normal forces of the bodies after these samples, (n, nb) [N].
            data: The engine state after the last one.
        """
        if not self.active or not len(forces):
            return
        if not self._aligned:
            self._stiffness.align(data, self._row + 1)
            self._aligned = True
        self._row += len(forces)
        touching = forces > 0.0
        self._still += len(forces)
        if (touching != self._touching).any():
            begins_or_ends = touching != np.concatenate([self._touching[None], touching[:-1]])
            last = int(np.flatnonzero(begins_or_ends.any(axis=1))[-1])
            self._still = len(forces) - 1 - last
            self._touching = touching[-1]
            self._met |= touching.any(axis=0)
        while self._still >= self._levels[self._now].end:
            self._enter(self._now + 1)

    def saved(self) -> SavedSteps:
        """Return the present state."""
        self._levels[self._now].solref[:] = self._model.pair_solref
        solref = [level.solref.copy() for level in self._levels]
        flags = np.stack([self._touching, self._met])
        return SavedSteps(self._now, self._still, self._aligned, flags, solref)

    def put_back(self, saved: SavedSteps) -> None:
        """Restore an earlier state."""
        for level, solref in zip(self._levels, saved.solref, strict=True):
            level.solref[:] = solref
        self._still, self._aligned = saved.still, saved.aligned
        (self._touching, self._met), self._now = saved.flags.copy(), saved.level
        self._write()

    def _enter(self, level: int) -> None:
        self._levels[self._now].solref[:] = self._model.pair_solref
        self._aligned &= level == self._now
        self._now = level
        self._write()

    def _write(self) -> None:
        model, level = self._model, self._levels[self._now]
        model.opt.timestep = level.timestep
        model.pair_solref[:], model.pair_solreffriction[:] = level.solref, level.solreffriction
        model.actuator_biasprm[:] = level.actuator_bias
        if self._stiffness.history is not None:
            self._stiffness.history.append((self._row, level.parameters()))


def lagging_as_described(model: mujoco.MjModel, described: Array, timestep: float) -> Array:
    """Compute bias parameters of actuators with which position servos lag as described.

    The ``discrete`` integrator takes the force of a servo of stiffness K at the end of the step,
    K·(target − q − h·q̇), so that a moving joint lags as if its damping were kv + h·K/2, and presses
    more where contact stops it. h·K/2 is subtracted as far as there is damping; then a joint at
    constant speed passes every place at the time at which it would without steps.

    Args:
        model: The model.
        described: Its ``actuator_biasprm`` as described, (nu, 10).
        timestep: h [s].
    """
    bias = described.copy()
    if model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE:
        gain = model.actuator_gainprm[:, 0]
        servos = (gain > 0.0) & (bias[:, 1] == -gain)
        bias[servos, 2] = np.minimum(bias[servos, 2] + 0.5 * timestep * gain[servos], 0.0)
    return bias
