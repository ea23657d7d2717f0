"""Sensors of a hand: what they measure, where they sit, and how they fall short of the truth."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, FieldError, NonNegative, Number, Positive
from softgrasp.description.geometry import Pose

Taxels = Annotated[int, Field(strict=True, ge=1, le=64)]


class SensorErrors(Description):
    """How a sensor falls short: what it tells is the truth with these, in this order.

    Bias and noise are added, the sum is cut at ``range``, rounded to ``resolution``, and told
    ``delay`` later. All are in the unit of what is measured, N or N·m.
    """

    bias: Number = 0.0
    """Added to every channel."""
    noise: NonNegative = 0.0
    """Standard deviation of white noise on every channel, from the scene's seed; each sensor has a
    stream of its own."""
    range: Positive | None = None
    """Channels are cut at ± this; not at all where it is not given."""
    resolution: NonNegative = 0.0
    """Channels are rounded to whole multiples of it; not at all where it is zero."""
    delay: NonNegative = 0.0
    """Age of what is told [s]: the newest control sample that is at least so old, so that it
    counts in whole samples, rounded up."""


class Sensor(SensorErrors):
    """What all sensors have."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[^\s/.|]+$")]
    """Unique in its scene; without spaces, '/', '.' and '|'."""


class TactileSensor(Sensor):
    """A skin of taxels around one body of the hand.

    Taxels lie in rows along the body's longest axis and in columns around it. The normal force of
    every contact is shared among the four nearest taxels by bilinear weights, whose sum is one: the
    taxels together tell the whole normal force of all that touches the body [N].
    """

    type: Literal["tactile"] = "tactile"
    body: str
    """A body of the hand that can touch, such as ``F1_P3`` or ``palm``."""
    rows: Taxels = 4
    columns: Taxels = 8


class ForceTorqueSensor(Sensor):
    """A six-axis sensor between a body of the hand and what carries it.

    It tells force [N] and torque [N·m] that all beyond it puts on it, in its own frame and about
    its origin: weights and inertia forces of the bodies beyond it, their contacts, and what hangs
    on them. Weights count although the model relieves the servos of them.
    """

    type: Literal["force_torque"] = "force_torque"
    body: str = "palm"
    """The first body beyond the sensor: ``palm`` for one at the wrist, ``F1_P1`` at the base of a
    finger, ``F1_P3`` before its last phalanx."""
    pose: Pose = Pose()
    """Frame of the sensor in the frame of the body."""
    tare: bool = False
    """Whether the reading at the start is taken off, as a real one is zeroed before a grasp."""
    torque_errors: SensorErrors = SensorErrors()
    """Of the torques [N·m]; the sensor's own errors are those of the forces [N]. Its ``delay`` is
    not used."""

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        if self.torque_errors.delay:
            raise FieldError(
                "expected none, as torques are as old as forces (delay), found "
                f"{self.torque_errors.delay:g} s",
                "torque_errors",
                "delay",
            )
        return self


class JointTorqueSensor(Sensor):
    """What the servos of rigid joints put on them: torques [N·m], forces of prismatic ones [N]."""

    type: Literal["joint_torque"] = "joint_torque"
    joints: tuple[str, ...] = ()
    """Such as ``F1_J2``; all joints of the rigid fingers where none is named."""


AnySensor = Annotated[
    TactileSensor | ForceTorqueSensor | JointTorqueSensor, Field(discriminator="type")
]


# --------------------
# A pinhole camera with the lens distortion of Brown: what a calibration of it finds.


Pixels = Annotated[int, Field(strict=True, ge=1, le=100_000)]


class PinholeCamera(Description):
    """Focal lengths, principal point and distortion of a camera, and how large its pictures are.

    The camera's frame has z forward, x to the right and y down in the picture. Pixels are (column,
    row), (0, 0) being the outer corner of the upper left pixel, whose middle is at (0.5, 0.5);
    OpenCV and most makers count from that middle: add 0.5 to their cx and cy.
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
    """Radial distortion, of r⁶ [–]; the fifth number of OpenCV's order k1, k2, p1, p2, k3."""
    width: Pixels
    height: Pixels
    source: str = ""
    """Where the numbers come from."""
