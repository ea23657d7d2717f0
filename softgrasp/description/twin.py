"""The digital twin of a pneumatic gripper on a robot: what is read, from where, and what it means.

Paper 001: a controller tells the pressure, a robot the pose of its flange; the shape of the fingers
follows from both.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.arm import Arm
from softgrasp.description.base import Count, Description, NonNegative, Number, Positive
from softgrasp.description.flange import FlangeSource
from softgrasp.description.mounted_gripper import GripperMount
from softgrasp.description.pressure_fit import PressureFit
from softgrasp.description.problems import FieldError
from softgrasp.description.register_map import RegisterMap

SLOWEST, FASTEST = 1.0, 1000.0
"""Turns of the loop a second [Hz]."""


class ControllerAddress(Description):
    """Where the controller listens, and in which registers it has its values."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 5020
    map: RegisterMap
    timeout: Positive = 0.2
    """Longest wait for an answer [s]."""
    token_variable: str = ""
    """Environment variable with the token for writing; tokens do not stand in files."""


class TwinDynamics(Description):
    """The fingers as chains of rigid links in MuJoCo, which have mass and sag."""

    bending_stiffness: Positive
    """EI of a finger [N·m²]."""
    mass: Positive
    """Of a finger [kg]."""
    links: Count = 4
    """A piece."""
    damping_time: Positive = 0.02
    """Bending damping over bending stiffness [s]."""
    timestep: Positive = 1e-3
    """[s]"""


class Twin(Description):
    """A gripper whose fingers bend alike, on a robot's flange.

    Everything is drawn and computed in the frame of the robot's base.
    """

    name: Annotated[str, Field(min_length=1)]
    source: str = ""
    """Where the numbers come from."""
    finger: PressureFit
    """How far the pieces of a finger bend at a pressure."""
    phis: tuple[Number, ...] = ()
    """Forced angles of the bending planes, one a piece [rad]; none: all 0."""
    frame: Literal["bishop", "webster"] = "webster"
    """How the end of a piece is turned about its axis; paper 001 (eq 5) has ``webster``."""
    finger_radius: Positive
    """[m]"""
    gripper: GripperMount
    arm: Arm | None = None
    """Is drawn under the flange."""
    controller: ControllerAddress
    flange: FlangeSource
    rate: Annotated[float, Field(strict=True, ge=SLOWEST, le=FASTEST)] = 50.0
    """Turns of the loop a second [Hz]."""
    stale_after: Positive = 0.5
    """Without a reading for so long the connection is lost [s]."""
    safe_stop: Literal["vent", "hold"] = "vent"
    """When a lost connection comes back, and at the end: ``vent`` switches both triggers off,
    ``hold`` leaves the controller as it is, for grippers that must not let go."""
    dynamics: TwinDynamics | None = None
    """Run the fingers in MuJoCo too."""
    margin: NonNegative = 500.0
    """A pressure that lies outside of what was measured by less is taken for its end [Pa]."""

    @model_validator(mode="after")
    def _answers_before_it_is_lost(self) -> Self:
        if self.controller.timeout > self.stale_after:
            raise FieldError(
                f"expected at most stale_after ({self.stale_after:g} s), found "
                f"{self.controller.timeout:g} s",
                *("controller", "timeout"),
            )
        return self

    @model_validator(mode="after")
    def _one_plane_a_piece(self) -> Self:
        pieces = len(self.finger.lengths)
        if self.phis and len(self.phis) != pieces:
            raise FieldError(
                f"expected one for each of the {pieces} pieces, or none; found {len(self.phis)}",
                "phis",
            )
        return self
