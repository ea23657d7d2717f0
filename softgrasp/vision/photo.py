"""From a photograph of a soft finger to its joint angles (paper 000, section III-B).

Take it from far away and straight ahead. The far side of a finger shows beside the near one and
narrows the valleys. Of one that is 73 mm long, 20 mm wide and bent by 47°, the first six angles had
errors (root mean square) of 0.2° from 40 m, 0.5° from 2 m, 1° from 1 m and 1.7° from 0.6 m, and of
3° where the camera was turned by 3° sideways and 2° upwards. A checkerboard does not mend that: it
takes out what happens in its own plane.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.checkerboard import Checkerboard, rectify
from softgrasp.vision.colour import FingerColour
from softgrasp.vision.notches import find_notches
from softgrasp.vision.outline import Outline, find_outline, refuse_cut
from softgrasp.vision.photo_angles import Convention, design_angles, segment_angles
from softgrasp.vision.photo_measurement import PhotoMeasurement
from softgrasp.vision.picture import Image, checked_image, mirrored, read_photo
from softgrasp.vision.scale import KnownLength, scale_of_joints
from softgrasp.vision.segmentation import segment
from softgrasp.vision.tip_point import find_tip

Scale = float | KnownLength | Checkerboard | Literal["joints"]
Side = Literal["bottom", "top"]

BASE_PART = (0.15, 0.85)
"""Part of the base in front of the first joint whose smooth edge gives the tilt [–]."""
MIN_BASE = 12
"""Points of that edge, at least."""


def measure_photo(
    photo: str | Path | npt.NDArray[Any],
    finger: SoftFinger | None = None,
    *,
    joints: int | None = None,
    angles: Convention = "hinges",
    tip: bool = True,
    colour: FingerColour | None = None,
    scale: Scale | None = None,
    tilt: float | Literal["base"] = 0.0,
    notches: Side = "bottom",
    flip: bool = False,
) -> PhotoMeasurement:
    """Read the joint angles of a soft finger from a photograph.

    The finger is seen from the side before a white background, its base clamped at the left. Its
    pixels are those that are not white and have its colour; the valleys of its outline between the
    bellows are its joints.

    Args:
        photo: A file, or a picture of shape (height, width, 3), uint8.
        finger: The finger. It says how many joints there are, what their angles are at rest, and
            how far they are apart.
        joints: How many valleys are joints, from the base; those of the finger where not given.
        angles: ``hinges`` are the rotations of the finger's joints; they need ``finger``.
            ``segments`` are the differences of the directions of segments (paper 000, eq 3), which
            have the slopes of the unloaded finger in them; see ``photo_angles``.
        tip: Whether the end of the finger closes the last segment. Without it the last joint has
            no angle, as in paper 000: n valleys have n − 1 segments between them.
        colour: Colour of the finger; the dominant one of the picture where not given.
        scale: Side of a pixel [m], a known length, or ``joints`` for the distances of the finger's
            joints; or a checkerboard, which also takes the perspective out of the picture first and
            whose rows then are level. Angles need none.
        tilt: Direction of the finger's base in the picture, positive downwards [rad]; ``base``
            takes the smooth edge of the finger in front of the first joint.
        notches: The side with the valleys.
        flip: The finger is clamped at the right: the picture is mirrored first.

    Raises:
        DescriptionError: The picture cannot be used, and why; or the arguments do not fit.
        BackendUnavailable: OpenCV is not installed.
    """
    _refuse_unknown("angles", angles, ("hinges", "segments"))
    _refuse_unknown("notches", notches, ("bottom", "top"))
    count = _joint_count(finger, joints, angles, scale, tip)
    file = Path(photo) if isinstance(photo, str | Path) else None
    try:
        original = checked_image(read_photo(photo) if isinstance(photo, str | Path) else photo)
        image, metres = _prepared(original, scale, flip)
        segmentation = segment(image, colour)
        refuse_cut(segmentation.finger, flipped=flip)
        outline = find_outline(segmentation)
        below = notches == "bottom"
        notched, smooth = (outline.bottom, outline.top)[:: 1 if below else -1]
        joints_px = find_notches(notched, count, below=below)
        tilt_angle = _base_tilt(smooth, joints_px[0]) if tilt == "base" else float(tilt)
        tip_px = _tip(outline, joints_px, tilt_angle) if tip else None
    except DescriptionError as error:
        raise error.located(file=file) from error
    joint_angles = segment_angles(
        joints_px if tip_px is None else np.vstack([joints_px, tip_px]), tilt_angle
    )
    if finger is not None and angles == "hinges":
        joint_angles = joint_angles - design_angles(finger)[: len(joint_angles)]
    if finger is not None and scale == "joints":
        metres = scale_of_joints(joints_px, finger)
    return PhotoMeasurement(
        joint_angles,
        angles,
        joints_px,
        tip_px,
        below,
        tilt_angle,
        metres,
        image,
        segmentation,
        outline,
    )


def _refuse_unknown(field: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise DescriptionError(
            f"expected {' or '.join(known)}, found '{word}'; {did_you_mean(word, known)}",
            field=field,
        )


def _joint_count(
    finger: SoftFinger | None, joints: int | None, angles: str, scale: Scale | None, tip: bool
) -> int:
    """How many valleys to look for; refuses what needs a finger without one."""
    if finger is None:
        for field, value in (("angles", angles), ("scale", scale)):
            if value in ("hinges", "joints"):
                raise DescriptionError(
                    f"expected a finger for {field}='{value}', found none", field="finger"
                )
        if joints is None:
            raise DescriptionError(
                "expected a finger, or how many joints there are, found neither", field="joints"
            )
    max_count = None if finger is None else len(finger.joints)
    count = max_count if joints is None else joints
    if count is None or count < 2 or (max_count is not None and count > max_count):
        bound = "2 joints or more" if max_count is None else f"2 to {max_count} joints"
        raise DescriptionError(f"expected {bound}, found {count}", field="joints")
    if tip and max_count is not None and count < max_count:
        raise DescriptionError(
            f"expected all {max_count} joints of the finger for an angle at its tip, found {count}; "
            "give tip=False",
            field="joints",
        )
    return count


def _prepared(image: Image, scale: Scale | None, flip: bool) -> tuple[Image, float | None]:
    """The picture to measure and the side of a pixel [m], where that is known beforehand."""
    metres: float | None = None
    if isinstance(scale, Checkerboard):
        straight = rectify(image, scale)
        image, metres = straight.image, straight.metres_per_px
    elif isinstance(scale, KnownLength):
        metres = scale.metres_per_px
    elif isinstance(scale, int | float):
        metres = float(scale)
        if not 0.0 < metres < np.inf:
            raise DescriptionError(
                f"expected the side of a pixel in metres, above 0, found {scale}", field="scale"
            )
    return (mirrored(image) if flip else image), metres


def _base_tilt(smooth: Array, first_joint: Array) -> float:
    """Direction of the smooth edge in front of the first joint, positive downwards [rad]."""
    begin = float(smooth[:, 0].min())
    low, high = (begin + part * (first_joint[0] - begin) for part in BASE_PART)
    ahead = smooth[: int(np.argmax(smooth[:, 0] > high))]
    edge = ahead[ahead[:, 0] > low]
    if len(edge) < MIN_BASE:
        raise DescriptionError(
            f"expected {MIN_BASE} pixels of the base's edge or more in front of the first joint "
            f"to take the tilt from, found {len(edge)}; give the tilt",
            field="tilt",
        )
    along = np.linalg.svd(edge - edge.mean(axis=0), full_matrices=False)[2][0]
    return float(np.arctan(along[1] / along[0]))


def _tip(outline: Outline, joints_px: Array, tilt: float) -> Array:
    """The tip (2,) [pixels] of a finger whose last seen joint has the last link behind it."""
    heading = tilt + float(segment_angles(joints_px, tilt).sum())
    return find_tip(outline.points, joints_px[-1], heading)
