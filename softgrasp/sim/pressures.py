"""Pressures of soft fingers between two control samples: their lag, and stiffness by pressure.

A target is constant between two control samples, so the pressure at a sample is exact (first order,
``description.soft_finger.PressureLag``); the physics then takes it as constant until the next one,
and with it the stiffness k·(1 + s·P), which equals a moment −k·s·P·q of the pressure.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import CompiledScene

LEFT = 1e-3
"""Difference from a target over its range from which the pressure is at the target, so that a run
ends [–]."""


@dataclass(frozen=True)
class LaggedPressure:
    """State of lagging pressures at a control sample."""

    values: Array
    """Targets, and pressures behind theirs, (nd,) [rad, m or Pa]."""
    earlier: Array
    """Targets of samples before the last one, one more than dead times last, the latest last,
    (nt, nd)."""

    def after(self, targets: Array, before: Array, sent: Array) -> LaggedPressure:
        """Return the state after further samples.

        Args:
            targets: Their targets, (n, nd).
            before: Targets of the last sample, (nd,).
            sent: What the engine got at them, (n, nd).
        """
        if not len(targets):
            return self
        kept = len(self.earlier)
        commands = np.vstack([self.earlier, before, targets[:-1]])
        return LaggedPressure(sent[-1], commands[len(commands) - kept :])


@dataclass(frozen=True)
class PressureLags:
    """Constants of the lags of nd actuators, of which those without one follow at once."""

    lagging: NDArray[np.int64]
    """Indices of actuators whose pressure lags, (nl,)."""
    fill: Array
    """Part of a difference that is left after a sample while a pressure rises, (nl,) [–]."""
    vent: Array
    """The same while it falls, (nl,) [–]."""
    dead: NDArray[np.int64]
    """Samples of the dead times, (nl,)."""
    left: Array
    """Difference from a target below which a pressure is at it, (nl,) [Pa]."""

    @classmethod
    def of(cls, scene: GraspScene, limits: Array) -> PressureLags | None:
        """Return the lags of a scene; None where no finger has one.

        Args:
            scene: The scene.
            limits: Limits of the targets of all actuators, (nd, 2) [rad, m or Pa].
        """
        digits = scene.hand.soft_fingers
        first = len(scene.hand.actuators) - len(digits)
        known = [(first + i, digit.finger.pressure_lag) for i, digit in enumerate(digits)]
        lags = [(index, lag) for index, lag in known if lag is not None]
        if not lags:
            return None
        lagging, period = np.array([index for index, _ in lags]), scene.control_period
        return cls(
            lagging,
            np.exp([-period / lag.fill_time for _, lag in lags]),
            np.exp([-period / lag.vent for _, lag in lags]),
            np.array([round(lag.dead_time / period) for _, lag in lags]),
            LEFT * np.ptp(limits[lagging], axis=1),
        )

    def at_rest(self, targets: Array) -> LaggedPressure:
        """Return the state in which all pressures are at their targets, (nd,)."""
        return LaggedPressure(targets.copy(), np.tile(targets, (int(self.dead.max()) + 1, 1)))

    def follow(self, plan: Array, before: Array, state: LaggedPressure) -> Array:
        """Compute the pressures at the coming samples.

        Args:
            plan: Targets that are commanded at them, (n, nd).
            before: Targets of the last sample, (nd,).
            state: State at the last sample.

        Returns:
            Targets, and pressures behind theirs, (n, nd).
        """
        sent, row, columns = plan.copy(), state.values[self.lagging], np.arange(len(self.lagging))
        commands = np.vstack([state.earlier, before, plan])[:, self.lagging]
        at = len(state.earlier) - self.dead
        for sample in range(len(plan)):
            target, earlier = commands[at + sample, columns], commands[at + sample - 1, columns]
            row = target + (row - target) * np.where(target > row, self.fill, self.vent)
            settled = (target == earlier) & (np.abs(row - target) < self.left)
            row = np.where(settled, target, row)
            sent[sample, self.lagging] = row
        return sent


@dataclass(frozen=True)
class Stiffening:
    """Bending stiffness of n joints of soft fingers that depends on their pressures."""

    joints: NDArray[np.int64]
    """Joints in the model, (n,)."""
    pressures: NDArray[np.int64]
    """Actuator of the pressure of each joint, (n,)."""
    stiffness: Array
    """Without pressure [N·m/rad], (n,)."""
    increase: Array
    """Of the stiffness over pressure [N·m/(rad·Pa)], (n,)."""

    @classmethod
    def of(cls, built: CompiledScene) -> Stiffening | None:
        """Return the stiffening of a scene; None where no stiffness depends on the pressure."""
        rows = [
            (built.model.joint(name).id, built.model.actuator(digit.as_actuator.name).id,
             digit.finger.joints[index].stiffness, digit.finger.stiffness_pressure)
            for digit in built.scene.hand.soft_fingers
            if digit.finger.stiffness_pressure
            for (index, freedom), name in zip(
                digit.finger.freedoms, names.soft_joint_names(digit), strict=True
            )
            if freedom in ("y", "z")
        ]  # fmt: skip
        if not rows:
            return None
        joints, pressures, stiffness, increase = (
            np.array(part) for part in zip(*rows, strict=True)
        )
        return cls(joints, pressures, stiffness, stiffness * increase)

    def apply(self, model: mujoco.MjModel, controls: Array) -> None:
        """Set the stiffness at the pressures of ``controls``, (nu,) [Pa]."""
        changed = self.stiffness + self.increase * controls[self.pressures]
        model.jnt_stiffness[self.joints] = changed
