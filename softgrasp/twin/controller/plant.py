"""A pneumatic controller as mathematics: triggers choose a target, a first-order valve goes there.

p(t + Δt) = p* + (p(t) − p*)·exp(−Δt/τ), which is exact while the target p* stays as it is, so that
the pressure does not depend on how often it is asked for. Time is passed in.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from pydantic import model_validator

from softgrasp.description.base import Description, NonNegative, Number, Positive
from softgrasp.description.problems import FieldError
from softgrasp.errors import SimulationError

ATMOSPHERE = 0.0
"""All pressures are over that of the air around [Pa]."""


class Valve(Description):
    """How the simulated controller reaches a pressure, and how well it measures it."""

    time_constant: Positive = 0.15
    """τ, in which 63 % of the way is gone [s]; ours, for the paper has none."""
    lowest: Number = -90e3
    """Targets below are cut off here [Pa]."""
    highest: Number = 120e3
    """Targets above are cut off here [Pa]."""
    noise: NonNegative = 0.0
    """Standard deviation of the sensor's error [Pa]."""
    sample_period: Positive = 1e-3
    """The sensor has a new error every so often [s]."""
    seed: int = 0
    """Of the sensor's errors: one seed and one time make one error."""

    @model_validator(mode="after")
    def _around_atmosphere(self) -> Self:
        if not self.lowest <= ATMOSPHERE <= self.highest:
            raise FieldError(
                f"expected lowest <= 0 <= highest, found {self.lowest:g} and {self.highest:g} Pa",
                "lowest",
            )
        return self


class ControllerState(NamedTuple):
    """The controller at one instant."""

    time: float = 0.0
    """[s]"""
    pressure: float = ATMOSPHERE
    """In the fingers, without the sensor's error [Pa]."""
    positive_on: bool = False
    negative_on: bool = False
    positive_target: float = 0.0
    """[Pa]"""
    negative_target: float = 0.0
    """[Pa]"""


def target_of(state: ControllerState, valve: Valve) -> float:
    """The pressure that the valve goes to [Pa].

    With neither trigger on it is that of the air around; with both on, too: two opposite commands
    are no command, and an open valve is the state in which nothing can burst. Clamped to the
    valve's range.
    """
    target = ATMOSPHERE
    if state.positive_on and not state.negative_on:
        target = state.positive_target
    elif state.negative_on and not state.positive_on:
        target = state.negative_target
    return min(max(target, valve.lowest), valve.highest)


def advanced(state: ControllerState, time: float, valve: Valve) -> ControllerState:
    """The controller at a later time, with commands as they are.

    Args:
        state: The controller before.
        time: Not before ``state.time`` [s].
        valve: The valve.

    Raises:
        SimulationError: Time runs backwards.
    """
    if not time >= state.time:
        raise SimulationError(
            f"expected a time from {state.time:g} s on, found {time:g} s: the plant does not run "
            "backwards"
        )
    target = target_of(state, valve)
    decay = math.exp(-(time - state.time) / valve.time_constant)
    return state._replace(time=time, pressure=target + (state.pressure - target) * decay)


def sample_number(state: ControllerState, valve: Valve) -> int:
    """How many samples the sensor has taken since time 0."""
    return math.floor(state.time / valve.sample_period)


def measured(state: ControllerState, valve: Valve) -> float:
    """What the sensor tells [Pa]: the pressure, and an error that is new in every sample."""
    if valve.noise == 0:
        return state.pressure
    # a generator a sample: the error then depends on the time and not on who asked before
    generator = np.random.default_rng((valve.seed, abs(sample_number(state, valve))))
    return state.pressure + valve.noise * float(generator.standard_normal())
