"""A piston with dry friction: it slides, sticks and starts again within a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from softgrasp.description.hydraulic_drive import Piston
from softgrasp.mechanics.hydraulic.exponential import affine_moves
from softgrasp.mechanics.transforms import Array

MAX_EVENTS = 20
"""Times that a piston may stop or start in one step."""
JUST_MOVED = 1e-6
"""Share of a step after which a piston that starts is looked at again."""


@dataclass(frozen=True)
class Channel:
    """One channel during a step.

    Args:
        piston: Its piston.
        matrix: Of its linear equations, (3, 3).
        inertias: Twice the energy over the square of each state, (3,).
        force: Of the screw on the piston [N].
        swept: Volume that a moving arm opens in the chamber [m³/s].
    """

    piston: Piston
    matrix: Array
    inertias: Array
    force: float
    swept: float = 0.0

    def excess(self, state: Array) -> float:
        """What pushes a piston that stands still [N]."""
        return float(self.force - self.piston.area * state[2])

    def moved(self, state: Array, time: float, direction: float) -> Array:
        """The state (3,) a time later, sliding one way (1 or −1) or sticking (0)."""
        matrix, push = (
            self.matrix,
            (self.force - direction * self.piston.friction) / self.piston.mass,
        )
        if direction == 0.0:
            matrix, push = np.vstack([np.zeros(3), matrix[1:]]), 0.0
        inputs = np.array([[push], [-self.swept / self.inertias[1]], [0.0]])
        move = affine_moves(matrix, self.inertias, inputs, time)
        return np.asarray(move[:3, :3] @ state + move[:3, 3])

    def margin(self, state: Array, time: float, direction: float) -> float:
        """At least 0 as long as the piston goes on sliding that way, or sticking."""
        at = self.moved(state, time, direction)
        return (
            float(direction * at[0]) if direction else self.piston.friction - abs(self.excess(at))
        )


def slide_and_stick(channel: Channel, state: Array, timestep: float) -> Array:
    """The state (3,) of a channel after a step [s].

    A piston that would turn round twice within one step is taken to go on.
    """
    left = timestep
    direction = float(np.sign(state[0])) or _start(channel, state)
    for _ in range(MAX_EVENTS):
        if channel.margin(state, left, direction) >= 0.0:
            break
        first = JUST_MOVED * left if state[0] == 0.0 else 0.0
        event = first
        if channel.margin(state, first, direction) > 0.0:
            event = float(
                brentq(
                    lambda t, s=state, w=direction: channel.margin(s, t, w), first, left, xtol=1e-15
                )
            )
        state, left = channel.moved(state, event, direction), left - event
        state[0] = 0.0
        # at the instant at which it starts, friction and push are equal: the push decides the way
        direction = _start(channel, state) if direction else float(np.sign(channel.excess(state)))
    after = channel.moved(state, left, direction)
    if direction == 0.0:
        after[0] = 0.0
    return after


def _start(channel: Channel, state: Array) -> float:
    """The way that a piston at rest takes; 0 where friction holds it."""
    push = channel.excess(state)
    return float(np.sign(push)) if abs(push) > channel.piston.friction else 0.0
