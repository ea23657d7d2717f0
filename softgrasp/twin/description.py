"""Description of a digital twin: pneumatic gripper, controller registers and robot flange.

A controller reports the pressure, a robot the pose of its flange; the shape of the fingers
follows from both (Xiang et al. 2024). ``Twin`` combines a ``PressureFit`` of the finger, a
``GripperMount``, a ``ControllerAddress`` with its ``RegisterMap``, and a ``FlangeSource``. The
paper (§II-B) names five values that are read and four that are written, but not their
registers.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from softgrasp.description import Arm, Pose, RobotProgram
from softgrasp.errors import DescriptionError
from softgrasp.plugin_api import (
    Description,
    FieldError,
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

KPA = 1e-3
"""Kilopascals per pascal."""
MAX_FINGERS = 100
"""Largest number of fingers of a gripper."""
RWS_PORT = 8610
"""Default port of the simulated robot."""
RWS_PATH = "/rw/motionsystem/mechunits/{unit}/cartesian"
"""Path of the pose of a mechanical unit in Robot Web Services."""
PIECES = Field(min_length=1)
BIT_KINDS = ("coil", "discrete")
RANGES: dict[str, tuple[float, float]] = {
    "bit": (0, 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "float32": (-3.4e38, 3.4e38),
}
"""Smallest and largest count of a type."""
SLACK = 1e-9
"""Fraction of a count by which a limit may miss an integer count through rounding [–]."""
KeyPath = Annotated[tuple[str | int, ...], Field(strict=False)]
"""Keys and indices that lead through a JSON document."""
Address = Annotated[int, Field(strict=True, ge=0, le=0xFFFF)]
DeviceId = Annotated[int, Field(strict=True, ge=0, le=255)]
Kind = Literal["holding", "input", "coil", "discrete"]
WordType = Literal["bit", "int16", "uint16", "int32", "uint32", "float32"]

# Flange poses


class FlangeSample(Description):
    """Pose of the flange in the robot's base frame at one time.

    Raises:
        DescriptionError: A number is not finite, or the norm of the quaternion differs from 1 by
            more than 1e-3; otherwise it is normalised.
    """

    time: Number
    """Time [s], on the clock of the measuring device."""
    position: Vec3
    """Origin of the flange [m]."""
    quaternion: Vec4
    """Rotation (w, x, y, z)."""
    joints: tuple[Number, ...] = ()
    """Joint variables of the arm [rad or m]; empty where the robot does not report them."""

    @field_validator("quaternion")
    @classmethod
    def _unit(cls, value: Vec4) -> Vec4:
        return unit_quaternion(value)

    @property
    def pose(self) -> Pose:
        """Pose without the time, ``T_base_flange``."""
        return Pose(position=self.position, quaternion=self.quaternion)


class CartesianFields(Description):
    """Keys of a JSON answer; the defaults are those of Robot Web Services 1.0."""

    state: KeyPath = ("_embedded", "_state", 0)
    """Path from the top of the document to the object with the numbers; ``(state, 0)`` in 2.0."""
    position: tuple[str, str, str] = ("x", "y", "z")
    quaternion: tuple[str, str, str, str] = ("q1", "q2", "q3", "q4")
    """Keys in the order w, x, y, z."""
    length: Positive = 1e-3
    """Unit of the position [m]."""
    time: str = ""
    """Key of the time [s]; without it a sample has the time at which its answer arrived."""


class HttpFlange(Description):
    """Poses polled over HTTP on one persistent connection."""

    type: Literal["http"] = "http"
    url: str = f"http://127.0.0.1:{RWS_PORT}{RWS_PATH.format(unit='ROB_1')}?json=1"
    rate: Positive = 50.0
    """Requests per second [Hz]."""
    timeout: Positive = 0.5
    """Longest wait for one answer [s]."""
    stale_after: Positive = 1.0
    """Time without a new pose after which the stream is stale [s]."""
    pause: NonNegative = 0.05
    """Pause before the next attempt after a lost connection [s]."""
    fields: CartesianFields = CartesianFields()
    token_variable: str = ""
    """Environment variable with the token of the server; tokens are not stored in files."""
    joints_url: str = ""
    """Address of the joint angles in degrees, ``rax_1`` … at the ``state`` of the fields, polled
    after each pose; empty: the joints of the drawn arm are computed from the pose."""

    @field_validator("url", "joints_url")
    @classmethod
    def _address(cls, value: str, info: ValidationInfo) -> str:
        if not value and info.field_name == "joints_url":
            return value
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
                "expected an address without user name and password, which would appear in events "
                "and records; store a token in the environment, see token_variable"
            )
        return value


class FileFlange(Description):
    """Recorded poses, in CSV or JSON Lines."""

    type: Literal["file"] = "file"
    path: Annotated[str, Field(min_length=1)]
    pace: Literal["recorded", "fast"] = "recorded"
    """``recorded``: at the recorded times; ``fast``: without waiting."""


class SimulatedFlange(Description):
    """Poses of a robot simulated in the same process."""

    type: Literal["robot"] = "robot"
    program: RobotProgram
    rate: Positive = 50.0
    """Samples per second [Hz]."""


FlangeSource = Annotated[HttpFlange | FileFlange | SimulatedFlange, Field(discriminator="type")]


def require_loopback(host: str, port: int) -> None:
    """Refuse that a simulated device listens where other machines can reach it.

    Args:
        host: Address to listen on.
        port: Usual port of the device, for the message.

    Raises:
        DescriptionError: The host is not a loopback address.
    """
    if not is_loopback(host):
        raise DescriptionError(
            f"expected an address of this machine such as 127.0.0.1, found '{host}': the server "
            f"has no passwords; reach it through a tunnel (ssh -L {port}:127.0.0.1:{port})",
            field="host",
        )


# Gripper


class MountedPose(Pose):
    """A pose whose quaternion has unit norm within 1e-3 and is normalised."""

    @field_validator("quaternion", mode="before")
    @classmethod
    def _near_unit(cls, value: Any) -> Any:
        numbers = isinstance(value, list | tuple) and len(value) == 4
        if not numbers or not all(type(part) in (int, float) for part in value):
            return value  # reported by the check of the field
        w, x, y, z = (float(part) for part in value)
        return unit_quaternion((w, x, y, z)) if math.isfinite(w + x + y + z) else value


class GripperMount(Description):
    """Poses of the finger bases on a gripper that is mounted on a flange.

    The frame of a finger is at its root, z along the straight finger, x in the direction in
    which it bends under pressure.
    """

    name: Annotated[str, Field(min_length=1)] = "gripper"
    mount: MountedPose = MountedPose()
    """Pose of the gripper's base in the flange frame; Xiang et al. (2024, eq 6) need it but do not
    state it."""
    fingers: Annotated[tuple[MountedPose, ...], Field(min_length=1)]
    """Poses of the fingers' roots in the gripper's base frame."""

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
        """Arrange fingers at equal angles around the z axis of the gripper, the first one on +x.

        Without tilt they are parallel to the axis, and bend towards it.

        Args:
            count: Number of fingers.
            radius: Radius of the circle of their roots [m].
            height: Position of the roots along the axis [m].
            tilt: Angle by which a straight finger leans outwards, away from the axis [rad].
            mount: Pose of the gripper in the flange frame; default: identity.
            name: Name of the gripper.

        Raises:
            DescriptionError: There is no finger, or a number is out of range.
        """
        if not 1 <= count <= MAX_FINGERS:
            raise DescriptionError(
                f"expected 1 to {MAX_FINGERS} fingers, found {count}", field="count"
            )
        fingers = tuple(
            MountedPose(
                position=(radius * math.cos(angle), radius * math.sin(angle), height),
                quaternion=_facing(angle, tilt),
            )
            for angle in (math.tau * index / count for index in range(count))
        )
        return cls(name=name, mount=mount or MountedPose(), fingers=fingers)


def _facing(angle: float, tilt: float) -> Vec4:
    """Return Rz(angle + π)·Ry(−tilt): x towards the axis, z tilted away from it."""
    half, lean = 0.5 * (angle + math.pi), -0.5 * tilt
    return (
        math.cos(half) * math.cos(lean),
        -math.sin(half) * math.sin(lean),
        math.cos(half) * math.sin(lean),
        math.sin(half) * math.cos(lean),
    )


# Finger


class PressureFit(Description):
    """Bending angles θ = Σ cₖ (p / scale)ᵏ, k = 0 … 3, of the pieces of a finger.

    Each piece is an arc of fixed length that bends by θ [rad]; its curvature is θ over the
    length (Xiang et al. 2024, eq 4, with the angle in radians).
    """

    name: Annotated[str, Field(min_length=1)] = "pressure_fit"
    source: str = ""
    """Source of the measured angles, in words."""
    lengths: Annotated[tuple[Positive, ...], PIECES]
    """Lengths of the arcs, from the base outwards [m]."""
    coefficients: Annotated[tuple[Vec4, ...], PIECES]
    """One row per piece, from the constant to the cubic coefficient [rad]."""
    scale: Positive = 1e5
    """Pressure that corresponds to 1 in the polynomials [Pa]."""
    pressures: tuple[Number, Number]
    """Lowest and highest measured pressure [Pa]; the polynomials are not valid outside."""
    residuals: tuple[NonNegative, ...] = ()
    """Root mean square of the residuals of each piece [rad]; empty where unknown."""

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


# Controller registers


class Register(Description):
    """One address, or two adjacent ones, that hold a value."""

    kind: Kind = "holding"
    address: Address
    """Counted from 0, as in the protocol."""
    type: WordType = "int16"
    word_order: Literal["big", "little"] = "big"
    """Which word of a two-word value comes first: the high one (big) or the low one."""

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
        """Number of addresses that the register occupies."""
        return 2 if self.type.endswith("32") else 1

    @property
    def address_text(self) -> str:
        """``holding 2``, as in error messages."""
        return f"{self.kind} {self.address}"


class PressureRegister(Register):
    """A gauge pressure: counts times a scale."""

    scale: Number
    """Pressure of one count [Pa]; negative where a device counts vacuum upwards."""
    limits: tuple[Number, Number]
    """Smallest and largest permitted pressure [Pa]."""

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
        """Smallest and largest raw register value (counts) within the pressure limits."""
        low, high = sorted(limit / self.scale for limit in self.limits)
        if self.type == "float32":
            return low, high
        return math.ceil(low - SLACK), math.floor(high + SLACK)


class CountRegister(Register):
    """A whole number of at least 15 bits, such as a counter or a heartbeat."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.type in ("bit", "float32"):
            raise FieldError(f"expected a whole number of words, found '{self.type}'", "type")
        return self


class Commands(Description):
    """Registers that are written: triggers and target pressures, positive and negative."""

    positive_on: Register
    """Trigger of positive pressure, 0 or 1."""
    negative_on: Register
    """Trigger of negative pressure, 0 or 1."""
    positive_target: PressureRegister
    negative_target: PressureRegister
    heartbeat: CountRegister | None = None
    """Number that the client changes several times a second, where the controller has one, so
    that the controller can vent by itself when the client is gone."""

    @model_validator(mode="after")
    def _writable(self) -> Self:
        for name, register in self:
            if register is not None and register.kind not in ("holding", "coil"):
                raise FieldError(
                    f"expected a kind that can be written, holding or coil, found {register.kind}",
                    *(name, "kind"),
                )
        return self


class Readings(Description):
    """Registers that are read: both triggers, both targets, and the measured pressure."""

    positive_on: Register
    negative_on: Register
    positive_target: PressureRegister
    negative_target: PressureRegister
    pressure: PressureRegister
    """Measured pressure."""
    counter: CountRegister | None = None
    """Number that changes while the controller measures, where there is one."""


class RegisterMap(Description):
    """Registers and unit identifier of a controller.

    Raises:
        DescriptionError: Two values overlap, limits do not fit a type, or a name is unknown.
    """

    name: str = ""
    source: str = ""
    """Source of the map."""
    device_id: DeviceId = 1
    """Unit identifier in Modbus frames."""
    reads: Readings
    writes: Commands

    @model_validator(mode="after")
    def _apart(self) -> Self:
        entries: list[tuple[tuple[str, str], Register]] = [
            ((part, name), register)
            for part in ("reads", "writes")
            for name, register in getattr(self, part)
            if register is not None
        ]
        for (holder, item), (path, other) in combinations(entries, 2):
            forms = [register.model_dump(exclude={"limits"}) for register in (item, other)]
            same_value = holder[-1] == path[-1] and forms[0] == forms[1]
            first, second = sorted((item, other), key=lambda register: register.address)
            overlap = item.kind == other.kind and first.address + first.width > second.address
            if overlap and not same_value:
                raise FieldError(
                    f"expected a separate address, found {other.address_text}, which is "
                    f"{path_text(holder)}",
                    *path,
                )
        return self


# Twin


class ControllerAddress(Description):
    """Network address of a controller, and its register map."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 5020
    map: RegisterMap
    timeout: Positive = 0.2
    """Longest wait for an answer [s]."""


class TwinDynamics(Description):
    """Parameters of the fingers as chains of rigid links in MuJoCo, with mass and damping."""

    bending_stiffness: Positive
    """Bending stiffness EI of a finger [N·m²]."""
    mass: Positive
    """Mass of a finger [kg]."""
    links: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 4
    """Links per piece."""
    damping_time: Positive = 0.02
    """Bending damping over bending stiffness [s]."""
    timestep: Positive = 1e-3
    """Time step [s]."""


class Twin(Description):
    """A gripper whose fingers bend equally, on the flange of a robot.

    Everything is computed in the frame of the robot's base.
    """

    name: Annotated[str, Field(min_length=1)]
    source: str = ""
    """Source of the numbers."""
    finger: PressureFit
    """Bending angles of the pieces of a finger by pressure."""
    phis: tuple[Number, ...] = ()
    """Prescribed angles of the bending planes, one per piece [rad]; empty: all 0."""
    frame: Literal["bishop", "webster"] = "webster"
    """Rotation of a piece's end frame about its axis; Xiang et al. (2024, eq 5) use ``webster``."""
    finger_radius: Positive
    """Radius of the fingers [m]."""
    gripper: GripperMount
    arm: Arm | None = None
    """Arm that is drawn below the flange."""
    controller: ControllerAddress
    flange: FlangeSource
    rate: Annotated[float, Field(strict=True, ge=1.0, le=1000.0)] = 50.0
    """Cycles of the loop per second [Hz]."""
    stale_after: Positive = 0.5
    """Time without a reading after which the connection counts as lost [s]."""
    safe_stop: Literal["vent", "hold"] = "vent"
    """Action at the end and when a lost connection returns: ``vent`` switches both triggers off,
    ``hold`` leaves the controller unchanged, for grippers that must not release."""
    stop_within: Positive = 5.0
    """Time within which the pressure of a gripper that is vented has to become ambient [s]."""
    ambient_within: NonNegative = 2e3
    """Largest gauge pressure of a vented gripper, for sensors with an offset [Pa]."""
    confirm_for: Positive = 1.0
    """Time for which it has to stay ambient [s]."""
    agree_within: Positive = 0.5
    """Time after which triggers, targets or a pressure other than commanded are a fault [s]."""
    settle_within: Positive = 5.0
    """Time that the pressure may take from its value at a command to the target [s]."""
    pressure_tolerance: NonNegative = 5e3
    """Largest difference of the pressure from the target after that, and beyond the range from
    its value at the command to the target before [Pa]."""
    dynamics: TwinDynamics | None = None
    """Also simulate the fingers in MuJoCo."""
    margin: NonNegative = 500.0
    """Largest excess of a pressure over the measured range that is clipped to its end [Pa]."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.controller.timeout > self.stale_after:
            raise FieldError(
                f"expected at most stale_after ({self.stale_after:g} s), found "
                f"{self.controller.timeout:g} s",
                *("controller", "timeout"),
            )
        pieces = len(self.finger.lengths)
        if self.phis and len(self.phis) != pieces:
            raise FieldError(
                f"expected one for each of the {pieces} pieces, or none; found {len(self.phis)}",
                "phis",
            )
        return self
