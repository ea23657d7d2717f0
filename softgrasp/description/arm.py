"""A serial arm that carries a hand."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from softgrasp.description.base import Description
from softgrasp.description.finger import Finger
from softgrasp.description.pose import Pose


class Arm(Description):
    """A chain of Denavit–Hartenberg rows from a base to a flange, and where the hand sits on it.

    It stands so that the hand starts where the scene has it, with the joints at their ``start``.
    Its joints are held and moved by servos; its links are seen but do not touch.
    """

    name: Annotated[str, Field(min_length=1)]
    chain: Finger
    tool: Pose = Pose()
    """Frame of the hand in that of the flange, which is the last one of the chain."""
    source: str = ""
    """Where the numbers come from."""
