"""The pose of a robot's flange at an instant, and where a stream of such poses comes from."""

from __future__ import annotations

import math
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from softgrasp.description.base import Description, NonNegative, Number, Positive, Vec3, Vec4
from softgrasp.description.loopback import is_loopback
from softgrasp.description.pose import Pose
from softgrasp.description.problems import short
from softgrasp.description.robot_program import RobotProgram

NORM_TOLERANCE = 1e-3
"""A quaternion whose norm is farther than this from 1 is a mistake, not rounding [–]."""
RWS_PORT, UDP_PORT = 8610, 8611
"""Ports of the simulated robot where nothing else is said."""
RWS_PATH = "/rw/motionsystem/mechunits/{unit}/cartesian"
"""Where Robot Web Services have the pose of a mechanical unit."""

Port = Annotated[int, Field(strict=True, ge=0, le=65535)]
"""A port; 0 leaves the choice to the operating system."""
KeyPath = Annotated[tuple[str | int, ...], Field(strict=False)]
"""Keys and places that lead through a JSON document."""


class FlangeSample(Description):
    """Where the flange stands in the frame of the robot's base at one instant.

    Raises:
        DescriptionError: A number is not finite, or the quaternion is farther than 1e-3 from a
            unit one; a nearer one is normalised.
    """

    time: Number
    """[s], on the clock of whoever measured it."""
    position: Vec3
    """Origin of the flange [m]."""
    quaternion: Vec4
    """(w, x, y, z)"""

    @field_validator("quaternion")
    @classmethod
    def _unit(cls, value: Vec4) -> Vec4:
        norm = math.hypot(*value)
        if abs(norm - 1.0) > NORM_TOLERANCE:
            raise ValueError(
                f"expected a quaternion (w, x, y, z) of norm 1 within {NORM_TOLERANCE:g}, "
                f"found {value} of norm {norm:.6g}"
            )
        if abs(norm - 1.0) < 1e-14:
            return value
        w, x, y, z = (part / norm for part in value)
        return (w, x, y, z)

    @property
    def pose(self) -> Pose:
        """The same without the time, ``T_base_flange``."""
        return Pose(position=self.position, quaternion=self.quaternion)


class CartesianFields(Description):
    """Which key of a JSON answer holds what; without changes that of Robot Web Services 1.0."""

    state: KeyPath = ("_embedded", "_state", 0)
    """Leads from the top of the document to the object with the numbers; ``(state, 0)`` in 2.0."""
    position: tuple[str, str, str] = ("x", "y", "z")
    quaternion: tuple[str, str, str, str] = ("q1", "q2", "q3", "q4")
    """In the order w, x, y, z."""
    length: Positive = 1e-3
    """Metres in one unit of the position."""
    time: str = ""
    """Key of the time [s]; without it a sample has the time at which its answer came."""


class HttpFlange(Description):
    """Poses asked for over HTTP, again and again over one connection that is kept open."""

    type: Literal["http"] = "http"
    url: str = f"http://127.0.0.1:{RWS_PORT}{RWS_PATH.format(unit='ROB_1')}?json=1"
    rate: Positive = 50.0
    """Questions a second [Hz]."""
    timeout: Positive = 0.5
    """Longest wait for one answer [s]."""
    stale_after: Positive = 1.0
    """Without a new pose for so long the stream is stale [s]."""
    pause: NonNegative = 0.05
    """Before the next try after a lost connection [s]."""
    fields: CartesianFields = CartesianFields()
    token_variable: str = ""
    """Environment variable with the token that the server wants; tokens do not stand in files."""

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            complete = parts.scheme == "http" and parts.hostname and parts.port != 0
        except ValueError:
            complete = False
        if not complete or not value.isascii() or not value.isprintable() or " " in value:
            raise ValueError(
                f"expected an address such as http://127.0.0.1:{RWS_PORT}/rw/..., "
                f"found {short(value)}"
            )
        if parts.username is not None or parts.password is not None:
            raise ValueError(
                "expected an address without a name and a password, which would be told in events "
                "and records; a token goes into the environment, see token_variable"
            )
        return value


class FileFlange(Description):
    """Poses that were recorded, in CSV or in JSON lines."""

    type: Literal["file"] = "file"
    path: Annotated[str, Field(min_length=1)]
    pace: Literal["recorded", "fast"] = "recorded"
    """``recorded``: at the times of the record; ``fast``: one after the other."""


class UdpFlange(Description):
    """Poses that come by UDP from this machine, one JSON object a datagram."""

    type: Literal["udp"] = "udp"
    host: str = "127.0.0.1"
    port: Port = UDP_PORT
    stale_after: Positive = 1.0
    """Without a new pose for so long the stream is stale [s]."""

    @field_validator("host")
    @classmethod
    def _local_address(cls, value: str) -> str:
        if not is_loopback(value):
            raise ValueError(
                f"expected a loopback address such as 127.0.0.1, since a datagram does not prove "
                f"who sent it, found {short(value)}"
            )
        return value


class SimulatedFlange(Description):
    """Poses of a robot that is simulated in the same process."""

    type: Literal["robot"] = "robot"
    program: RobotProgram
    rate: Positive = 50.0
    """Samples a second [Hz]."""


FlangeSource = Annotated[
    HttpFlange | FileFlange | UdpFlange | SimulatedFlange, Field(discriminator="type")
]
