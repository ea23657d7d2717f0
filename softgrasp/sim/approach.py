"""Approach of a force-limited closure: fingers slow down before they touch the object.

A finger that arrives at a speed v presses with (D + √(K·m))·v at once: the damper of the contact,
and a mass m on its spring. The closure lowers the rates of the joints of a finger before it touches
so far that this is the limit of its force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.model.names import is_object
from softgrasp.sim.control_state import ClosureLayout

MARGIN = 1e-3
"""Gap at which a body moves at the speed of its touch [m]."""
BRAKING_TIME = 0.1
"""Time constant with which a body slows down before: servos follow late [s]."""
FARTHEST = 0.05
"""Largest gap that is computed [m]."""
SLOWEST = 0.02
"""Smallest factor on a rate [–]."""


class Approach:
    """Gaps between the hand and the object, and the factors on closing rates that they demand."""

    def __init__(self, model: mujoco.MjModel, layout: ClosureLayout) -> None:
        """Find the pairs of geoms that can touch.

        Args:
            model: Compiled scene.
            layout: Constants of the loop.
        """
        self._model, self._layout = model, layout
        indices = {model.body(name).id: index for index, name in enumerate(layout.bodies)}
        self._pairs = []
        for pair in zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True):
            hand, other = (int(model.geom_bodyid[geom]) for geom in pair)
            if hand in indices and is_object(model.body(other).name):
                self._pairs.append((*pair, indices[hand]))
        self._dofs = [
            -1 if address < 0 else int(model.jnt_dofadr[model.jnt_qposadr == address][0])
            for address in layout.joint_of_actuator.tolist()
        ]

    def factors(self, data: mujoco.MjData, targets: Array) -> Array:
        """Compute the factors on the rates of the actuators in a state, (nd,).

        Args:
            data: The present state.
            targets: Targets of the last sample, (nd,); those at their limits move no more.
        """
        layout, factors = self._layout, np.ones(len(self._layout.stops))
        following = np.clip(targets + layout.increments, layout.lower, layout.upper)
        rates = (following - targets) / layout.control_period
        nearest: dict[int, tuple[float, Array]] = {}
        for first, second, body in self._pairs:
            closest = nearest[body][0] if body in nearest else FARTHEST
            gap, points = self._gap(data, first, second, closest)
            if gap < closest:
                nearest[body] = gap, points
        for body, (gap, points) in nearest.items():
            moving = [d for d, stops in enumerate(layout.stops) if body in stops]
            speed = self._speed(data, body, points, {d: float(rates[d]) for d in moving})
            allowed = float(layout.approach_speed[body]) + max(gap - MARGIN, 0.0) / BRAKING_TIME
            if speed > allowed:
                factors[moving] = np.minimum(factors[moving], max(allowed / speed, SLOWEST))
        return factors

    def _gap(
        self, data: mujoco.MjData, first: int, second: int, farthest: float
    ) -> tuple[float, Array]:
        """Return the gap of two geoms up to a largest one [m], and its ends, (2, 3) [m]."""
        model, ends = self._model, np.zeros(6)
        apart = math.dist(data.geom_xpos[first], data.geom_xpos[second])
        if apart - model.geom_rbound[first] - model.geom_rbound[second] >= farthest:
            return farthest, ends.reshape(2, 3)
        gap = float(mujoco.mj_geomDistance(model, data, first, second, farthest, ends))
        return gap, ends.reshape(2, 3)

    def _speed(
        self, data: mujoco.MjData, body: int, ends: Array, rates: Mapping[int, float]
    ) -> float:
        """Return the speed of a body towards the object at the rates of its actuators [m/s]."""
        normal, layout = ends[1] - ends[0], self._layout
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            return 0.0
        jacobian = np.zeros((3, self._model.nv))
        index = self._model.body(layout.bodies[body]).id
        mujoco.mj_jac(self._model, data, jacobian, None, ends[0], index)
        along = normal / length @ jacobian
        dofs = [(self._dofs[d], rate) for d, rate in rates.items() if self._dofs[d] >= 0]
        return max(sum(rate * float(along[dof]) for dof, rate in dofs), 0.0)
