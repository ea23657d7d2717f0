"""Measure the joint angles of a soft finger in a photograph (Hadi et al. 2025, section III-B).

``measure_photo`` segments the finger, finds its outline and the valleys between its bellows, and
returns the joint angles in one of two conventions: ``segments`` are the differences of the
directions of the segments between joint points (eq 3), whose values in the straight, unloaded
finger are ``design_angles``; ``hinges`` are the coordinates of ``SoftFinger``, segments −
design_angles. docs/calibration.md has the errors, which depend on the distance of the camera.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict
from scipy.signal import find_peaks

from softgrasp.description.base import Description, Number, Positive
from softgrasp.description.sensor import PinholeCamera
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.checkerboard import Checkerboard, rectify, undistort_image
from softgrasp.vision.contour import (
    Outline,
    chord_depths,
    exposure_fault,
    find_notches,
    find_outline,
    fit_line,
    photo_faults,
    refuse_cut,
)
from softgrasp.vision.image import Image, check_image, read_photo
from softgrasp.vision.segmentation import (
    FingerColour,
    Markers,
    Segmentation,
    find_markers,
    segment,
    segment_difference,
)

END = 0.5
"""Start of the end region along the last link [–]."""
CORNER_REACH, MIN_CORNER = 0.2, 0.4
"""Half length of the chord that measures a corner, over the length of the last link, and smallest
distance of a corner from it over half the chord; a right angle has 0.7 [–]."""
BASE_PART, MIN_BASE = (0.15, 0.85), 12
"""Range of the base before the first joint whose smooth edge defines the tilt [–], and the smallest
number of points of that edge."""
MAX_SPACING = 0.3
"""Largest relative deviation of the distances of the joints from those of the finger [–]."""
Read = tuple[Array, float, float | None, Segmentation, Outline, tuple[str, ...]]
"""Points, tilt, tilt of the base, mask, outline and faults, as in ``PhotoMeasurement``."""
Scale = Positive | Checkerboard | Literal["joints"]


class ReadingOptions(Description):
    """How the joint angles of a finger are read in a photograph."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    joints: int | None = None
    """Number of valleys that are joints, from the base; default: those of the finger."""
    angles: Literal["hinges", "segments"] = "hinges"
    """``hinges`` are the rotations of the finger's joints. ``segments`` are the differences of the
    directions of segments (Hadi et al. 2025, eq 3), which include the slopes of the unloaded
    finger."""
    tip: bool = True
    """Whether the end of the finger closes the last segment. Without it the last joint has no
    angle, as in Hadi et al. (2025): n valleys have n − 1 segments between them."""
    colour: FingerColour | None = None
    """Colour of the finger; default: the dominant one of the image."""
    scale: Scale | None = None
    """Side of a pixel [m], a known length over its pixels; or ``joints`` for the distances of the
    finger's joints; or a checkerboard, which is also used to rectify the image first, with its rows
    level. Angles need no scale."""
    tilt: Number | Literal["base"] = 0.0
    """Direction of the finger's base in the image, positive downwards [rad]; ``base`` measures it
    on the smooth edge of the finger before the first joint."""
    notches: Literal["bottom", "top"] = "bottom"
    """Side with the valleys."""
    flip: bool | None = None
    """Whether the finger is clamped at the right; the image is then mirrored first. Default:
    detected in a series, at the left in a single photograph."""
    empty: str | Path | npt.NDArray[Any] | None = None
    """The same scene without the finger, for a finger of any colour."""
    markers: Markers | None = None
    """Colour of dots on joints and tip, which are measured instead of valleys; ``auto`` where they
    are the only colour. One more dot on the base defines the tilt."""
    lens: PinholeCamera | None = None
    """Camera with intrinsics, whose distortion is removed first."""

    def prepare(self, photo: str | Path | npt.NDArray[Any]) -> tuple[Image, float | None]:
        """Return the image to measure and the side of a pixel [m], where it is known beforehand.

        Raises:
            DescriptionError: It cannot be read, rectified or scaled.
        """
        image = check_image(read_photo(photo) if isinstance(photo, str | Path) else photo)
        if self.lens is not None:
            image = undistort_image(image, self.lens)
        metres = self.scale if isinstance(self.scale, float) else None
        if isinstance(self.scale, Checkerboard):
            image, metres = rectify(image, self.scale)
        return (np.ascontiguousarray(image[:, ::-1]) if self.flip else image), metres

    def joint_count(self, finger: SoftFinger) -> int:
        """Return the number of joints to measure.

        Raises:
            DescriptionError: The finger has fewer, or more although its tip is measured.
        """
        total = len(finger.joints)
        count = total if self.joints is None else self.joints
        if not 2 <= count <= total:
            raise DescriptionError(f"expected 2 to {total} joints, found {count}", field="joints")
        if self.tip and count < total:
            raise DescriptionError(
                f"expected all {total} joints of the finger for an angle at its tip, found {count};"
                " specify tip=False",
                field="joints",
            )
        return count


@dataclass(frozen=True, eq=False)
class PhotoMeasurement:
    """The joint angles of a finger in a photograph, and all intermediate results.

    All pixel coordinates (column, row) refer to ``image``; (0, 0) is the outer corner of its
    upper left pixel.
    """

    image: Image
    """Measured image: the photograph, rectified and mirrored where requested."""
    options: ReadingOptions
    """How it was read."""
    segmentation: Segmentation
    """The steps to the mask of the finger."""
    outline: Outline
    """Outline of the mask, with its top and bottom line."""
    points_px: Array
    """Joints from the base, and the tip where it was measured, (n + 1, 2) or (n, 2)."""
    tilt: float
    """Direction of the base in the image, positive downwards [rad]; the reference of the angles."""
    base_tilt: float | None
    """Measured direction of the base, positive downwards [rad]; None where it is not visible."""
    angles: Array
    """Joint angles, positive for a finger that bends downwards [rad], (n,) with the tip, (n − 1,)
    without."""
    metres_per_px: float | None
    """Side of a pixel [m], where a scale was specified."""
    faults: tuple[str, ...] = ()
    """What is wrong with focus, exposure and size; empty where markers were measured."""

    @property
    def joints_px(self) -> Array:
        """Joints: apexes of the valleys, or centres of dots, from the base, (n, 2)."""
        return self.points_px[:-1] if self.options.tip else self.points_px


def measure_photo(
    photo: str | Path | npt.NDArray[Any], finger: SoftFinger, options: ReadingOptions | None = None
) -> PhotoMeasurement:
    """Measure the joint angles of a soft finger in a photograph.

    The finger is photographed from the side, its base clamped at the left. Its pixels are those
    that are not white and have its colour, or those that differ from an empty image; the valleys
    of its outline between the bellows, or markers, are its joints.

    Args:
        photo: File, or image of shape (height, width, 3), uint8.
        finger: Finger model. It defines the number of joints, their angles at rest and their
            distances.
        options: How it is read; default: a coloured finger with bellows on its lower side.

    Raises:
        DescriptionError: The image cannot be used, or the options are inconsistent.
        BackendUnavailable: OpenCV is not installed.
    """
    options = options or ReadingOptions()
    count = options.joint_count(finger)
    try:
        image, metres = options.prepare(photo)
        read = (_read_valleys if options.markers is None else _read_markers)(image, count, options)
        points, tilt, base, seen, outline, faults = read
        distances, lengths = spacings(points, finger)
        _refuse_other_finger(distances / lengths * (lengths.sum() / distances.sum()), finger)
    except DescriptionError as error:
        raise error.located(file=photo if isinstance(photo, str | Path) else None) from error
    angles = segment_angles(points, tilt)
    if options.angles == "hinges":
        angles = angles - design_angles(finger)[: len(angles)]
    if options.scale == "joints":
        metres = float(lengths[: count - 1].sum() / distances[: count - 1].sum())
    return PhotoMeasurement(
        image, options, seen, outline, points, tilt, base, angles, metres, faults
    )


def spacings(points: Array, finger: SoftFinger) -> tuple[Array, Array]:
    """Return the distances of neighbouring points [pixels] and those of the finger [m], (m − 1,).

    The points (m, 2) [pixels] are joints from the base, and maybe the tip.
    """
    rest = np.array([*(joint.position for joint in finger.joints), finger.tip])[: len(points)]
    seen, lengths = (np.linalg.norm(np.diff(item, axis=0), axis=1) for item in (points, rest))
    return seen, lengths


def _refuse_other_finger(ratios: Array, finger: SoftFinger) -> None:
    """Raise an error where the distances of the points are not in the ratios of the finger's."""
    worst = int(np.argmax(np.abs(ratios - 1.0)))
    if abs(ratios[worst] - 1.0) > MAX_SPACING:
        after = "the tip" if worst + 1 == len(finger.joints) else f"joint {worst + 2}"
        raise DescriptionError(
            f"expected joints at the distances of the finger '{finger.name}', found joint "
            f"{worst + 1} and {after} {ratios[worst]:.2g} times as far apart as the others are; is "
            "it this finger, clamped at the left (flip), with all joints visible?"
        )


def _read_valleys(image: Image, count: int, options: ReadingOptions) -> Read:
    try:
        if options.empty is None:
            seen = segment(image, options.colour)
        else:
            seen = segment_difference(image, options.prepare(options.empty)[0])
    except DescriptionError as error:
        fault = exposure_fault(image)  # may be why there is no finger
        message = "; ".join(filter(None, [error.message, fault]))
        raise DescriptionError(message, field=error.field) from None
    refuse_cut(seen.finger, flipped=bool(options.flip))
    outline, below = find_outline(seen), options.notches == "bottom"
    notched, smooth = (outline.bottom, outline.top)[:: 1 if below else -1]
    joints_px = _valleys(notched, smooth, count, below=below)
    faults = photo_faults(image, seen.finger, outline.points, joints_px)
    base = _base_tilt(smooth, joints_px[0])
    needed = f"{MIN_BASE} pixels of the base's edge or more in front of the first joint"
    tilt, points = _choose_tilt(options, base, needed, "fewer"), joints_px
    if options.tip:
        # from the direction of the last link
        heading = tilt + float(segment_angles(joints_px, tilt).sum())
        try:
            points = np.vstack([joints_px, find_tip(outline.points, joints_px[-1], heading)])
        except DescriptionError as error:
            raise DescriptionError("; ".join([error.message, *faults])) from None
    return points, tilt, base, seen, outline, faults


def _choose_tilt(options: ReadingOptions, base: float | None, needed: str, seen: str) -> float:
    """Return the requested tilt, or the measured one of the base [rad]."""
    if options.tilt != "base":
        return float(options.tilt)
    if base is None:
        raise DescriptionError(
            f"expected {needed} to measure the tilt, found {seen}; specify the tilt", field="tilt"
        )
    return base


def _valleys(notched: Array, smooth: Array, count: int, *, below: bool) -> Array:
    """Find the joints; where there are none, say whether the other side has them."""
    try:
        return find_notches(notched, count, below=below)
    except DescriptionError as error:
        try:
            find_notches(smooth, count, below=not below)
        except DescriptionError:
            raise error from None
        side = "top" if below else "bottom"
        raise DescriptionError(
            f"{error.message}; the {side} line has {count}: use notches: {side}, or rotate an "
            "image that is upside down"
        ) from None


def _read_markers(image: Image, count: int, options: ReadingOptions) -> Read:
    assert options.markers is not None
    points, seen = find_markers(image, options.markers, count + options.tip)
    base: float | None = None
    if len(points) > count + options.tip:
        step = points[1] - points[0]
        base, points = float(np.arctan2(step[1], step[0])), points[1:]
    tilt = _choose_tilt(options, base, "one more marker on the base", "none")
    return points, tilt, base, seen, find_outline(seen), ()


def _base_tilt(smooth: Array, first_joint: Array) -> float | None:
    """Measure the direction of the smooth edge before the first joint, down positive [rad]."""
    begin = float(smooth[:, 0].min())
    low, high = (begin + part * (first_joint[0] - begin) for part in BASE_PART)
    ahead = smooth[: int(np.argmax(smooth[:, 0] > high))]
    edge = ahead[ahead[:, 0] > low]
    if len(edge) < MIN_BASE:
        return None
    _, (x, y) = fit_line(edge)
    return float(np.arctan(y / x))


def segment_angles(points: Array, tilt: float = 0.0) -> Array:
    """Compute the differences of directions of segments (Hadi et al. 2025, eq 3), (m − 1,) [rad].

    Points (m, 2) [pixels] are joints from the base, and the tip where known; ``tilt`` is the
    direction of the base in the image, positive downwards [rad], the reference of the first
    segment. Angles are positive for a finger that bends downwards.
    """
    steps = np.diff(points, axis=0)
    headings = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    return np.diff(headings, prepend=tilt)


def design_angles(finger: SoftFinger) -> Array:
    """Return the angles (Hadi et al. 2025, eq 3) of the straight, unloaded finger, (n,) [rad]."""
    points = np.array([*(joint.position for joint in finger.joints), finger.tip])
    return segment_angles(points[:, [0, 2]] * [1.0, -1.0])


def find_tip(outline: Array, last_joint: Array, heading: float) -> Array:
    """Find the tip: the midpoint of the two corners of the finger's end, (2,) [pixels].

    Hadi et al. (2025) follow one of the corners, the rightmost one. The midpoint rotates with the
    last link whatever the shape of its sides, and is the middle of its end face. The outline (n, 2)
    [pixels] is closed, clockwise in the image, its points about one pixel apart; the last joint is
    a point (2,) [pixels], and the heading the approximate direction of the last link, positive
    downwards [rad].

    Raises:
        DescriptionError: The end does not have two corners.
    """
    along = (outline - last_joint) @ [np.cos(heading), np.sin(heading)]
    reach = max(round(CORNER_REACH * along.max()), 3)
    # start at the base, so that no corner is where the list begins
    start = int(np.argmin(along))
    curve, along = np.roll(outline, -start, axis=0), np.roll(along, -start)
    depths = -chord_depths(curve, reach)
    corners, properties = find_peaks(depths, height=MIN_CORNER * reach, distance=reach)
    at_end = along[corners] > END * along.max()
    corners, heights = corners[at_end], properties["peak_heights"][at_end]
    if len(corners) < 2:
        raise DescriptionError(
            f"expected two corners at the end of the finger, found {len(corners)}; its end is "
            "round or blurred: measure without it, tip=False"
        )
    return np.asarray(curve[corners[np.argsort(heights)[-2:]]].mean(axis=0))
