"""What an environment adds to a scene: actions, times, noise of the start, reward."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from softgrasp.description.base import Description, NonNegative, Positive
from softgrasp.description.sweep_plan import PoseNoise


class EnvSettings(Description):
    """What an agent can do in an episode, and what it is rewarded for."""

    action: Literal["increments", "targets"] = "increments"
    """``increments``: how far targets move, 1 is a drive's closing rate, −1 the same backwards.
    ``targets``: where they go, from −1 for a drive's lower limit to 1 for the upper one, at no more
    than its closing rate."""
    speed: Positive = 1.0
    """Largest speed of a target over the closing rate of its drive [–]."""
    decision_period: Positive = 0.02
    """Time between two actions [s]; a whole number of the scene's control periods."""
    closing_time: Positive | None = None
    """When the hold test, or the lift, begins [s]; where it is not given, the scene's ``duration``,
    or else when the quickest drive has crossed its range and has settled."""
    time_limit: Positive | None = None
    """When an episode is truncated [s]; where it is not given, it always comes to its verdict."""
    noise: PoseNoise = PoseNoise()
    """How far the object's start is off at random, for each episode anew."""
    shaping: NonNegative = 0.0
    """Weight of the shaping of the reward: the share of the fingers that are in contact."""
    discount: Annotated[float, Field(strict=True, ge=0, le=1)] = 1.0
    """The learner's own discount a step, which the shaping has to know [–]."""
