"""Buckling loads of straight robots of bendable segments: weight, and forces on their ends.

In the straight state K = Kₑ − λ G: the stiffness of the springs, and a load λ whose joint forces
have the slopes G. The straight state is lost at the smallest λ > 0 at which K is singular.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import eigh

from softgrasp.description.bendable import Bendable
from softgrasp.description.robot import Robot
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model.robot import robot_model

NUDGE = 1e-6
"""Step of the central differences [rad or m]."""
NEVER = 1e-9
"""Slopes of a load over the stiffness below which it never buckles [–]."""


@dataclass(frozen=True)
class BucklingLoads:
    """Loads at which a straight robot buckles.

    Args:
        weight_factor: Multiple of gravity; ∞ where weight alone never does it.
        tip_forces: Force on the end link of each chain of segments, from its end towards its base,
            besides the weight [N]; 0 where the weight alone is enough.
    """

    weight_factor: float
    tip_forces: dict[str, float]


def buckling_loads(robot: Robot, gravity: Array | None = None) -> BucklingLoads:
    """Compute the buckling loads of a robot with straight segments and locked rigid joints.

    Args:
        robot: The robot; its number of links is that of the discretisation.
        gravity: In the frame of its base, (3,) [m/s²]; by default that of its hydraulics, and
            9.81 m/s² down without.

    Raises:
        DescriptionError: It has no bendable segment.
        BuildError: It makes no model.
    """
    if not robot.bendables:
        raise DescriptionError(
            f"{robot.name}: expected a robot with bendable segments to compute buckling loads, "
            "found none"
        )
    if gravity is None:
        hydraulics = robot.hydraulics
        gravity = np.array(STANDARD_GRAVITY if hydraulics is None else hydraulics.gravity)
    state = _StraightState(robot, gravity)
    stiffness, weight = np.diag(state.stiffness), state.slopes(state.weight)
    factor = _critical(weight, stiffness)
    loaded = stiffness - weight
    forces = {
        part.child: 0.0 if factor <= 1.0 else _critical(state.slopes(state.push(part)), loaded)
        for part in state.last_segments
    }
    return BucklingLoads(factor, forces)


class _StraightState:
    """MuJoCo model of a robot near its straight state."""

    def __init__(self, robot: Robot, gravity: Array) -> None:
        self._model = robot_model(robot)
        self._model.opt.gravity[:] = gravity
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        model = self._model
        self._springs = np.flatnonzero(model.jnt_stiffness > 0.0)
        self._freedoms = model.jnt_dofadr[self._springs]
        self.stiffness: Array = model.jnt_stiffness[self._springs]
        """Of the joints of the cells [N·m/rad or N/m], (n,)."""
        carrying = {
            int(body)
            for part in robot.bendables
            for body in self._ancestors(model.body(f"{part.name}_0").id)
        }
        self.last_segments = [
            part for part in robot.bendables if model.body(part.child).id not in carrying
        ]
        """Segments that carry no others."""

    def _ancestors(self, body: int) -> list[int]:
        bodies = []
        while body:
            body = int(self._model.body_parentid[body])
            bodies.append(body)
        return bodies

    def weight(self) -> Array:
        """Joint forces of the weight in the present state, (nv,)."""
        return np.asarray(-self._data.qfrc_bias)

    def push(self, part: Bendable) -> Callable[[], Array]:
        """Return the joint forces of a unit force on the end of a segment towards its base."""
        body = self._model.body(part.child).id
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_forward(self._model, self._data)
        along = -self._data.xmat[body].reshape(3, 3)[:, 2]

        def forces() -> Array:
            jacobian = np.zeros((3, self._model.nv))
            mujoco.mj_jacBody(self._model, self._data, jacobian, None, body)
            return np.asarray(along @ jacobian)

        return forces

    def slopes(self, forces: Callable[[], Array]) -> Array:
        """Compute the symmetric slopes of joint forces of the cells in the straight state."""
        columns = []
        for joint in self._springs:
            ends = []
            for step in (NUDGE, -NUDGE):
                mujoco.mj_resetData(self._model, self._data)
                self._data.qpos[self._model.jnt_qposadr[joint]] += step
                mujoco.mj_forward(self._model, self._data)
                ends.append(forces()[self._freedoms].copy())
            columns.append((ends[0] - ends[1]) / (2.0 * NUDGE))
        matrix = np.stack(columns, axis=1)
        return np.asarray(0.5 * (matrix + matrix.T))


def _critical(slopes: Array, stiffness: Array) -> float:
    """Return the smallest positive factor on a load at which the stiffness is lost."""
    largest = float(eigh(slopes, stiffness, eigvals_only=True)[-1])
    return 1.0 / largest if largest > NEVER else math.inf
