"""The digital twin of a pneumatic gripper on a robot: what is read, from where, and what it means.

A controller reports the pressure, a robot the pose of its flange; the shape of the fingers
follows from both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from softgrasp.description.arm import Arm, RobotProgram
from softgrasp.description.base import (
    Count,
    Description,
    FieldError,
    FieldPath,
    NonNegative,
    Number,
    Positive,
    Vec3,
    Vec4,
    is_loopback,
    path_text,
    short,
    unit_quaternion,
)
from softgrasp.description.geometry import Pose
from softgrasp.errors import DescriptionError

# --------------------
# The pose of a robot's flange at an instant, and where a stream of such poses comes from.


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


# --------------------
# Where a gripper stands on a robot's flange, and where its fingers stand in it.


class MountedPose(Pose):
    """A pose whose quaternion has to be of unit length within 1e-3; it is normalised then."""

    @field_validator("quaternion", mode="before")
    @classmethod
    def _near_unit(cls, value: Any) -> Any:
        numbers = isinstance(value, list | tuple) and len(value) == 4
        if not numbers or not all(type(part) in (int, float) for part in value):
            return value  # told by the field's own check
        w, x, y, z = (float(part) for part in value)
        return unit_quaternion((w, x, y, z)) if math.isfinite(w + x + y + z) else value


class GripperMount(Description):
    """Fingers on a base that is screwed to a flange.

    The frame of a finger stands at its root, z along the straight finger, x the way in which it
    bends under pressure.
    """

    name: Annotated[str, Field(min_length=1)] = "gripper"
    mount: MountedPose = MountedPose()
    """Of the gripper's base in the flange; Xiang et al. (2024) (eq 6) needs it and gives none."""
    fingers: Annotated[tuple[MountedPose, ...], Field(min_length=1)]
    """Of the fingers' roots in the gripper's base."""

    @classmethod
    def around_axis(
        cls,
        count: int,
        radius: float,
        *,
        height: float = 0.0,
        tilt: float = 0.0,
        mount: MountedPose | None = None,
        name: str = "gripper",
    ) -> Self:
        """Fingers at even angles around the z axis of the gripper, the first one on +x.

        Without tilt they are parallel to the axis, and bend towards it.

        Args:
            count: Of the fingers.
            radius: Of the circle on which their roots stand [m].
            height: Of the roots along the axis [m].
            tilt: By which a straight finger leans outwards, away from the axis [rad].
            mount: Of the gripper in the flange; both are the same where it is not given.
            name: Of the gripper.

        Raises:
            DescriptionError: There is no finger, or a number is out of range.
        """
        if count < 1:
            raise DescriptionError(f"expected at least 1 finger, found {count}", field="count")
        angles = [math.tau * index / count for index in range(count)]
        fingers = tuple(
            MountedPose(position=_on_circle(angle, radius, height), quaternion=_facing(angle, tilt))
            for angle in angles
        )
        return cls(name=name, mount=mount or MountedPose(), fingers=fingers)


def _on_circle(angle: float, radius: float, height: float) -> Vec3:
    return (radius * math.cos(angle), radius * math.sin(angle), height)


def _facing(angle: float, tilt: float) -> Vec4:
    """Rz(turn + π)·Ry(−tilt): x towards the axis, z leaning away from it."""
    half, lean = 0.5 * (angle + math.pi), -0.5 * tilt
    return (
        math.cos(half) * math.cos(lean),
        -math.sin(half) * math.sin(lean),
        math.cos(half) * math.sin(lean),
        math.sin(half) * math.cos(lean),
    )


# --------------------
# How far the pieces of a pneumatic finger bend at a pressure: a cubic polynomial a piece.


PIECES = Field(min_length=1)


class PressureFit(Description):
    """Bending angles θ = Σ cₖ (p / scale)ᵏ, k = 0 … 3, of the pieces of a finger.

    Each piece is an arc of fixed length that bends by θ [rad]; its curvature is θ over the length
    (Xiang et al. 2024, eq 4, with the angle in radians).
    """

    name: Annotated[str, Field(min_length=1)] = "pressure_fit"
    source: str = ""
    """Where the measured angles come from, in words."""
    lengths: Annotated[tuple[Positive, ...], PIECES]
    """Of the arcs, from the base outwards [m]."""
    coefficients: Annotated[tuple[Vec4, ...], PIECES]
    """One row a piece, from the constant one to the cubic one [rad]."""
    scale: Positive = 1e5
    """The pressure that counts as 1 in the polynomials [Pa]."""
    pressures: tuple[Number, Number]
    """Lowest and highest that were measured [Pa]: the polynomials say nothing outside."""
    residuals: tuple[NonNegative, ...] = ()
    """Root mean square of what each piece's polynomial leaves [rad]; none where not known."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        pieces = len(self.lengths)
        for field in ("coefficients", "residuals"):
            count = len(getattr(self, field))
            if count != pieces and (count or field == "coefficients"):
                raise FieldError(
                    f"expected one for each of the {pieces} lengths, found {count}", field
                )
        low, high = self.pressures
        if low >= high:
            raise FieldError(
                f"expected the lowest before the highest, found {low:g} and {high:g} Pa",
                "pressures",
            )
        return self


# --------------------
# Where a pneumatic controller keeps its values: Modbus registers as data.
#
# The paper (001, §III-B) names five values that are read and four that are written, not their
# places.


Address = Annotated[int, Field(strict=True, ge=0, le=0xFFFF)]
DeviceId = Annotated[int, Field(strict=True, ge=0, le=255)]
Kind = Literal["holding", "input", "coil", "discrete"]
WordType = Literal["bit", "int16", "uint16", "int32", "uint32", "float32"]

BIT_KINDS = ("coil", "discrete")
WRITABLE_KINDS = ("holding", "coil")
WIDTHS = {"bit": 1, "int16": 1, "uint16": 1, "int32": 2, "uint32": 2, "float32": 2}
"""Places that a value takes."""
RANGES: dict[str, tuple[float, float]] = {
    "bit": (0, 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "float32": (-3.4e38, 3.4e38),
}
"""Lowest and highest count that a type holds."""
CHALLENGE_WORDS, ANSWER_WORDS = 8, 16
"""The places of a handshake: what the server asks, and behind it what the client answers."""
SLACK = 1e-9
"""Part of a count by which a limit may miss a whole count through rounding."""


class Register(Description):
    """One place, or two neighbouring ones, that hold a value."""

    kind: Kind = "holding"
    address: Address
    """Counted from 0, as it goes over the wire."""
    type: WordType = "int16"
    word_order: Literal["big", "little"] = "big"
    """Which word of a value of two comes first: the high one (big) or the low one."""

    @model_validator(mode="before")
    @classmethod
    def _bits_are_bits(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("kind") in BIT_KINDS:
            return {"type": "bit"} | data
        return data

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.kind in BIT_KINDS) != (self.type == "bit"):
            expected = "bit" if self.kind in BIT_KINDS else "a type of words, such as int16"
            raise FieldError(
                f"expected {expected} in a register of kind {self.kind}, found '{self.type}'",
                "type",
            )
        if self.address + self.width > 0x10000:
            raise FieldError(
                f"expected both words of a {self.type} below 65536, found the first at "
                f"{self.address}",
                "address",
            )
        return self

    @property
    def width(self) -> int:
        """How many places it takes."""
        return WIDTHS[self.type]

    @property
    def address_text(self) -> str:
        """``holding 2``, as errors tell it."""
        return f"{self.kind} {self.address}"


class PressureRegister(Register):
    """A pressure over that of the air around: counts times a scale."""

    scale: Number
    """Pressure of one count [Pa]; negative where a device counts vacuum upwards."""
    limits: tuple[Number, Number]
    """Lowest and highest pressure that it may hold [Pa]."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind in BIT_KINDS:
            raise FieldError(f"expected a pressure in holding or input, found {self.kind}", "kind")
        if self.scale == 0:
            raise FieldError("expected a pressure that is not zero, found 0", "scale")
        low, high = self.limits
        if low >= high:
            raise FieldError(
                f"expected limits (lowest, highest), found [{low:g}, {high:g}]", "limits"
            )
        lowest, highest = sorted(count * self.scale for count in RANGES[self.type])
        slack = SLACK * abs(self.scale)
        for limit in self.limits:
            if not lowest - slack <= limit <= highest + slack:
                raise FieldError(
                    f"expected limits that fit {self.type} at {self.scale:g} Pa a count "
                    f"({lowest:g} to {highest:g} Pa), found {limit:g} Pa",
                    "limits",
                )
        return self

    @property
    def counts(self) -> tuple[float, float]:
        """Lowest and highest count inside the limits; whole ones where the type is whole."""
        low, high = sorted(limit / self.scale for limit in self.limits)
        if self.type == "float32":
            return low, high
        return math.ceil(low - SLACK), math.floor(high + SLACK)


class Commands(Description):
    """What is written: both triggers and both targets."""

    positive_on: Register
    """Trigger of positive pressure, 0 or 1."""
    negative_on: Register
    """Trigger of negative pressure, 0 or 1."""
    positive_target: PressureRegister
    negative_target: PressureRegister

    @model_validator(mode="after")
    def _writable(self) -> Self:
        for name, register in self:
            if register.kind not in WRITABLE_KINDS:
                raise FieldError(
                    f"expected a kind that can be written, holding or coil, found {register.kind}",
                    *(name, "kind"),
                )
        return self


class Readings(Description):
    """What is read: both triggers, both targets, and the pressure that is there."""

    positive_on: Register
    negative_on: Register
    positive_target: PressureRegister
    negative_target: PressureRegister
    pressure: PressureRegister
    """The pressure that the controller measures."""
    counter: Register | None = None
    """Number that changes while the controller measures, where it has one."""

    @model_validator(mode="after")
    def _counts_whole(self) -> Self:
        if self.counter is not None and self.counter.type in ("bit", "float32"):
            raise FieldError(
                f"expected a whole number of words, found '{self.counter.type}'",
                *("counter", "type"),
            )
        return self


class _Entry(NamedTuple):
    path: FieldPath
    register: Register


class RegisterMap(Description):
    """The registers of one controller, and its number on the wire.

    Raises:
        DescriptionError: Two values take the same place, limits do not fit a type, or a name is
            not known.
    """

    name: str = ""
    source: str = ""
    """Where the map comes from."""
    device_id: DeviceId = 1
    """The unit identifier of its frames."""
    reads: Readings
    writes: Commands
    handshake: Address = 0xF000
    """First of the holding registers in which softgrasp's own server asks for its token; no other
    device has them, and a client without a token never touches them."""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.handshake + CHALLENGE_WORDS + ANSWER_WORDS > 0x10000:
            raise FieldError(
                f"expected {CHALLENGE_WORDS + ANSWER_WORDS} registers below 65536, found the "
                f"first at {self.handshake}",
                "handshake",
            )
        for one, other in combinations(self._entries(), 2):
            if _overlap(one, other) and not _same_value(one, other):
                raise FieldError(
                    f"expected a place of its own, found {other.register.address_text}, where "
                    f"{path_text(one.path)} is",
                    *other.path,
                )
        return self

    def _entries(self) -> Iterator[_Entry]:
        for part in ("reads", "writes"):
            for name, register in getattr(self, part):
                if register is not None:
                    yield _Entry((part, name), register)
        for offset in range(CHALLENGE_WORDS + ANSWER_WORDS):
            yield _Entry(("handshake",), Register(address=self.handshake + offset))


def _overlap(one: _Entry, other: _Entry) -> bool:
    if one.path == other.path or one.register.kind != other.register.kind:
        return False
    first, second = sorted((one.register, other.register), key=lambda entry: entry.address)
    return first.address + first.width > second.address


def _same_value(one: _Entry, other: _Entry) -> bool:
    """Whether both are one value, which is read where it is written, in one form."""
    forms = [entry.register.model_dump(exclude={"limits"}) for entry in (one, other)]
    return one.path[-1] == other.path[-1] and forms[0] == forms[1]


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
    """How the end of a piece is turned about its axis; Xiang et al. (eq 5) has ``webster``."""
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
