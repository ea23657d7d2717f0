"""Sensors of a hand with their measurement errors, and the pinhole camera.

A scene's ``sensors`` are tactile skins, six-axis force–torque sensors and joint torque sensors;
``SensorErrors`` distorts their ideal values. ``PinholeCamera`` holds the intrinsic parameters of a
calibrated camera with the lens distortion of Brown (1971); ``mechanics.camera`` projects with it.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, FieldError, NonNegative, Number, Positive
from softgrasp.description.geometry import Pose

Taxels = Annotated[int, Field(strict=True, ge=1, le=64)]
"""Number of taxels in one direction."""


class SensorErrors(Description):
    """Measurement errors, applied to the ideal values in this order, as an amplifier has them.

    Bias, drift and noise are added, the sum is delayed by ``delay``, clipped at ``range`` and
    rounded to ``resolution``; a tared sensor subtracts its reading at the start last. All are in
    the unit of the measured quantity, N or N·m.
    """

    bias: Number = 0.0
    """Constant offset of every channel."""
    drift: Number = 0.0
    """Change of that offset with time [1/s]."""
    noise: NonNegative = 0.0
    """Standard deviation of white noise on every channel; each sensor has its own random stream,
    derived from the scene's seed."""
    range: Positive | None = None
    """Channels are clipped at ± this value, before taring; no clipping by default."""
    resolution: NonNegative = 0.0
    """Channels are rounded to multiples of it within the range; no rounding at zero."""
    delay: NonNegative = 0.0
    """Age of the readings [s]: they are those of the newest control sample that is at least this
    old, so it is rounded up to whole samples."""


class Sensor(SensorErrors):
    """Base of all sensors."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[^\s/.|]+$")]
    """Unique in its scene; without spaces, '/', '.' and '|'."""


class TactileSensor(Sensor):
    """A skin of taxels around one body of the hand.

    Taxels form rows along the body's longest axis and columns around it. The normal force of every
    contact is distributed to the four nearest taxels by bilinear weights, whose sum is one: the sum
    of the taxels is the total normal force on the body [N].
    """

    type: Literal["tactile"] = "tactile"
    body: str
    """A body of the hand that can touch, such as ``F1_P3`` or ``palm``."""
    rows: Taxels = 4
    """Taxels along the link."""
    columns: Taxels = 8
    """Taxels around the link."""


class ForceTorqueSensor(Sensor):
    """A six-axis force/torque sensor between a body of the hand and its parent.

    It measures the force [N] and torque [N·m] of everything beyond it, in its frame and about its
    origin: weights and inertial forces of the bodies beyond it, their contacts, and attached loads.
    Weights count although the model compensates them in the servos.
    """

    type: Literal["force_torque"] = "force_torque"
    body: str = "palm"
    """The first body beyond the sensor: ``palm`` for one at the wrist, ``F1_P1`` at the base of a
    finger, ``F1_P3`` before its last phalanx."""
    pose: Pose = Pose()
    """Frame of the sensor in the frame of the body."""
    tare: bool = False
    """Whether the reading at the start, without its noise, is subtracted, as a real sensor is
    zeroed with the mean of many readings: the bias is removed, the range stays that of the load
    with the weight."""
    torque_errors: SensorErrors = SensorErrors()
    """Errors of the torques [N·m]; the errors of the sensor itself are those of the forces [N]. Its
    ``delay`` is not used."""

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        if self.torque_errors.delay:
            raise FieldError(
                "expected none, as torques have the delay of the forces (delay), found "
                f"{self.torque_errors.delay:g} s",
                *("torque_errors", "delay"),
            )
        return self


class JointTorqueSensor(Sensor):
    """Torques transmitted to rigid joints [N·m]; forces of prismatic joints [N].

    The torque of a joint is the sum of what its servo, motor or tendons and its springs exert on
    it, whatever the closure: at rest it balances Jᵀf of the contacts and the weight of what the
    joint carries. Weights count although the model compensates them in the servos. Damping of the
    joint and the reaction of its limits are not measured.
    """

    type: Literal["joint_torque"] = "joint_torque"
    joints: tuple[str, ...] = ()
    """Such as ``F1_J2``; all joints of the rigid fingers by default."""


AnySensor = Annotated[
    TactileSensor | ForceTorqueSensor | JointTorqueSensor, Field(discriminator="type")
]
"""Any sensor of a hand, selected by ``type``."""


# Cameras.

Pixels = Annotated[int, Field(strict=True, ge=1, le=100_000)]
"""Number of pixels in one direction."""


class PinholeCamera(Description):
    """Focal lengths, principal point, distortion and image size of a camera.

    The camera's frame has z forward, x to the right and y down in the image. Pixels are (column,
    row), (0, 0) being the outer corner of the upper left pixel, whose centre is at (0.5, 0.5);
    OpenCV and most manufacturers count from that centre: add 0.5 to their cx and cy.
    """

    name: str = ""
    fx: Positive
    """Focal length over the width of a pixel [pixels]."""
    fy: Positive
    """Focal length over the height of a pixel [pixels]."""
    cx: Number
    """Column of the principal point [pixels]."""
    cy: Number
    """Row of the principal point [pixels]."""
    k1: Number = 0.0
    """Radial distortion, of r² [–]."""
    k2: Number = 0.0
    """Radial distortion, of r⁴ [–]."""
    p1: Number = 0.0
    """Tangential distortion [–]."""
    p2: Number = 0.0
    """Tangential distortion [–]."""
    k3: Number = 0.0
    """Radial distortion, of r⁶ [–]; the fifth number in OpenCV's order k1, k2, p1, p2, k3."""
    width: Pixels
    """Columns of the image [pixels]."""
    height: Pixels
    """Rows of the image [pixels]."""
    source: str = ""
    """Source of the numbers."""
