"""Joints that follow another one in a fixed ratio, as ``mimic`` says in URDF."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from softgrasp.description.base import Description, Number

JointName = Annotated[str, Field(min_length=1)]


class Coupling(Description):
    """A joint that follows another one: own = ``ratio`` · leader + ``offset``."""

    joint: JointName
    """The joint that follows, as the model calls it: ``F1_J3``."""
    leader: JointName
    """The joint that it follows."""
    ratio: Number = 1.0
    """[rad/rad, m/m, rad/m or m/rad]"""
    offset: Number = 0.0
    """[rad or m]"""
