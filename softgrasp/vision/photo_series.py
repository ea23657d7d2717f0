"""Measure a series of photographs of one finger under weights, and check them against each other.

The clamped end is the one that does not move from one photograph to another, and the other end
sinks with the weight: mirrored images, images upside down, exchanged names and a moved camera show
in the data. The photograph without a weight can be the zero of all angles; the shape of the valleys
then cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Bools, Image, opencv
from softgrasp.vision.joint_angles import (
    PhotoMeasurement,
    ReadingOptions,
    Scale,
    measure_photo,
    spacings,
)
from softgrasp.vision.segmentation import find_markers, segment, segment_difference

OVERVIEW = 480
"""Width of the images that are compared with each other [pixels]."""
MIN_MOTION = 0.02
"""Smallest change of the finger between two photographs, over its area [–]."""
END, ONE_SIDED = 0.25, 3.0
"""Part of the finger's length at each end that is compared, and ratio of the changes of both from
which the other end is clamped [–]."""
MIN_SINKING = 0.01
"""Smallest motion of the tip from the lightest to the heaviest weight, in image widths [–]."""
MAX_TILT, FLIPPED = np.radians((2.5, 10.0))
"""Largest difference of the measured direction of the base from the used one, and that from which
the other end may be clamped [rad]."""
MAX_SHIFT = 0.25
"""Largest motion of the first joint between photographs, over the distance of the joints [–]."""
PERSPECTIVE, MIN_SPACINGS = 0.1, 4
"""Change of the distances of joints along the finger from which perspective is reported [–], and
fewest distances."""
MAX_TILT_CHANGE, MAX_GROWTH = 2.0, 0.04
"""Largest differences of the direction of the base [°] and of the scale [–] of photographs."""
MAX_OFFSET = np.radians(2.0)
"""Angle of a joint without a weight, beyond what gravity can explain, that is reported [rad]."""


@dataclass(frozen=True, eq=False)
class PhotoSeries:
    """Measured photographs of one finger, with what the photographs show of the test rig.

    Args:
        photos: Weights [kg] and photographs, the lightest first.
        warnings: What is doubtful about them.
    """

    photos: tuple[tuple[float, PhotoMeasurement], ...]
    warnings: tuple[str, ...]


class PhotoOptions(ReadingOptions):
    """How a series of photographs is read."""

    scale: Scale | None = "joints"
    zero: Literal["design", "unloaded"] = "design"
    """``design``: angles are 0 in the straight finger of the description; ``unloaded``: angles are
    relative to the photograph without a weight."""
    rest: Path | None = None
    """Photograph of the finger in its rest shape, such as lying on a table, whose angles are the
    zero."""


def measure_series(
    files: Sequence[tuple[float, Path]], finger: SoftFinger, options: PhotoOptions | None = None
) -> PhotoSeries:
    """Measure photographs of a finger under weights.

    Args:
        files: Weights [kg] and files, the lightest first.
        finger: Finger model.
        options: How they are read; default: one coloured finger on white, flip detected.

    Raises:
        DescriptionError: A photograph cannot be measured, or they contradict each other; names it.
        BackendUnavailable: OpenCV is not installed.
    """
    options = options or PhotoOptions()
    flip, warnings = _orientation(files, finger, options)
    options = options.replace(flip=flip)
    photos = [measure_photo(file, finger, options) for _, file in files]
    names = [file.name for _, file in files]
    for name, photo in zip(names, photos, strict=True):
        warnings += [f"{name}: {text}" for text in photo.faults]
    warnings += _view_findings(names[0], photos[0], finger)
    warnings += _rig_findings(names, photos)
    measured = [(mass, photo) for (mass, _), photo in zip(files, photos, strict=True)]
    zero: Array | float = 0.0
    if options.rest is not None:
        zero = measure_photo(options.rest, finger, options).angles
    elif options.zero == "unloaded":
        unloaded = [photo.angles for mass, photo in measured if mass == 0.0]
        if not unloaded:
            raise DescriptionError(
                "expected a photograph without a weight, such as 0g.png, as zero of the angles, "
                f"found {measured[0][0] * 1e3:g} g and more",
                field="zero",
            )
        zero = np.mean(unloaded, axis=0)
    else:
        warnings += _offset_findings(measured)
    zeroed = [(mass, replace(photo, angles=photo.angles - zero)) for mass, photo in measured]
    return PhotoSeries(tuple(zeroed), tuple(warnings))


def _orientation(
    files: Sequence[tuple[float, Path]], finger: SoftFinger, options: PhotoOptions
) -> tuple[bool, list[str]]:
    """Return whether to mirror the photographs, with warnings; refuse images upside down."""
    masks = [(mass, file.name, _overview(file, options, finger)) for mass, file in files]
    seen = [(mass, name, mask) for mass, name, mask in masks if mask is not None]
    change = _end_changes(seen)
    clamped, evidence = _find_clamped_end(seen, change)
    chosen = clamped == "right" if options.flip is None else options.flip
    warnings = []
    if options.flip is None and chosen:
        warnings.append(
            f"the photographs show the finger clamped at the right ({evidence}); they "
            "were mirrored (flip: true, --flip; --no-flip reads them as they are)"
        )
    elif clamped is not None and chosen != (clamped == "right"):
        word, other = ("--flip", "--no-flip")[:: 1 if chosen else -1]
        warnings.append(
            f"{word} expects the finger clamped at the {'right' if chosen else 'left'}, but the "
            f"photographs show it clamped at the {clamped} ({evidence}); try {other}"
        )
    if change is None:
        return chosen, warnings
    tips = []  # mean row of the last tenth of the finger, over the width of the image
    for _, _, mask in seen:
        rows, columns = np.nonzero(mask[:, ::-1] if chosen else mask)
        ends = columns > columns.max() - 0.1 * float(np.ptp(columns))
        tips.append(float(rows[ends].mean()) / mask.shape[1])
    if tips[-1] - tips[0] < -MIN_SINKING and clamped is not None:
        raise DescriptionError(
            f"expected a tip that sinks under weights, found it {100 * (tips[0] - tips[-1]):.2g} % "
            f"of the image width higher in {seen[-1][1]} than in {seen[0][1]}; rotate images that "
            "are upside down by 180°, or correct weights in names"
        )
    warnings += [
        f"the tip is higher in {heavier[1]} than in {lighter[1]}, although its weight is larger; "
        "are the names exchanged?"
        for (lighter, high), (heavier, low) in pairwise(zip(seen, tips, strict=True))
        if heavier[0] > lighter[0] and low < high - MIN_SINKING
    ]
    return chosen, warnings


def _end_changes(seen: Sequence[tuple[float, str, Bools]]) -> tuple[float, float] | None:
    """Return the changed areas between weights at the left and the right end, over the finger's.

    None where the images cannot be compared: there is one weight only, or their sizes differ.
    """
    if len({mask.shape for _, _, mask in seen}) != 1 or seen[0][0] == seen[-1][0]:
        return None
    columns = np.concatenate([np.nonzero(mask)[1] for _, _, mask in seen])
    low, high = np.percentile(columns, [0.5, 99.5])
    near, far = (round(low + part * (high - low)) for part in (END, 1.0 - END))
    area = float(np.mean([mask.sum() for _, _, mask in seen]))
    pairs = [a[2] ^ b[2] for a, b in combinations(seen, 2) if a[0] != b[0]]
    changed = np.sum(pairs, axis=0, dtype=float) / len(seen)
    return changed[:, :near].sum() / area, changed[:, far:].sum() / area


def _find_clamped_end(
    seen: Sequence[tuple[float, str, Bools]], change: tuple[float, float] | None
) -> tuple[Literal["left", "right"] | None, str]:
    """Return the end that does not move, or the only one beyond the image, and the evidence."""
    left, right = change or (0.0, 0.0)
    moves = left + right > MIN_MOTION
    if moves and max(left, right) > ONE_SIDED * min(left, right):
        evidence = (
            f"between weights {100 * left:.2g} % of its area change at the left, "
            f"{100 * right:.2g} % at the right"
        )
        return ("left" if left < right else "right"), evidence
    cut = [all(mask[:, side].any() for _, _, mask in seen) for side in (0, -1)]
    if cut[0] == cut[1]:
        return None, ""
    return ("left" if cut[0] else "right"), "it reaches over that border only"


def _overview(file: Path, options: PhotoOptions, finger: SoftFinger) -> Bools | None:
    """Return the mask of the finger in a small copy of a photograph; None where there is none."""
    options = options.replace(flip=False)
    try:
        image = options.prepare(file)[0]
        if options.markers is not None:
            count = options.joint_count(finger) + options.tip
            band = find_markers(image, options.markers, count)[1].finger
            return _small(band.astype(np.uint8)).astype(bool)
        if options.empty is not None:
            ground = _small(options.prepare(options.empty)[0])
            return segment_difference(_small(image), ground).finger
        return segment(_small(image), options.colour).finger
    except DescriptionError:
        return None  # measuring it reports why


def _small(image: Image) -> Image:
    cv2, (height, width) = opencv(), image.shape[:2]
    size = (min(width, OVERVIEW), round(height * min(OVERVIEW / width, 1.0)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))


def _view_findings(name: str, photo: PhotoMeasurement, finger: SoftFinger) -> Iterator[str]:
    """Yield a tilt of the base, and distances of joints that change along the finger."""
    tilt, base = photo.tilt, photo.base_tilt
    if base is not None and abs(base - tilt) >= MAX_TILT:
        also = "; is it clamped at the right (--flip)?" if abs(base - tilt) > FLIPPED else ""
        yield (
            f"{name}: the edge of the base is at {np.degrees(base):.1f}° (positive: it falls "
            f"towards the tip), angles are measured from {np.degrees(tilt):.1f}°; level clamp and "
            f"camera, or read the tilt of the camera with --tilt base{also}"
        )
    seen, lengths = spacings(photo.joints_px, finger)
    if len(seen) < MIN_SPACINGS:
        return
    ratios, along = seen / lengths, np.linspace(-0.5, 0.5, len(seen))
    slope, middle = np.polyfit(along, ratios, 1)
    left = ratios - np.polyval([slope, middle], along)
    if abs(slope) > max(PERSPECTIVE * middle, 3.0 * float(left.std())):
        change = "shrink" if slope < 0.0 else "grow"
        yield (
            f"{name}: the distances of the joints {change} by {100 * abs(slope) / middle:.2g} % "
            "from base to tip, compared with the finger's: the camera sees it obliquely or from "
            "too near (perspective), or it is another finger"
        )


def _rig_findings(names: list[str], photos: list[PhotoMeasurement]) -> Iterator[str]:
    """Yield what shows a camera or clamp that moved between photographs."""
    if len({photo.image.shape for photo in photos}) > 1:
        yield "the photographs differ in size; take all of them with one camera at one place"
        return
    joints = np.array([photo.joints_px for photo in photos])
    links = np.linalg.norm(np.diff(joints, axis=1), axis=2).mean(axis=1)
    away = np.linalg.norm(joints[:, 0] - np.median(joints[:, 0], axis=0), axis=1)
    worst = int(np.argmax(away))
    if len(photos) > 2 and away[worst] > MAX_SHIFT * links[worst]:
        yield (
            f"{names[worst]}: the first joint is {away[worst]:.0f} pixels from where it is in the "
            f"other photographs, {100 * away[worst] / links[worst]:.0f} % of the distance of the "
            "joints; camera or clamp moved, or a joint was missed"
        )
    tilts = np.degrees([np.nan if item.base_tilt is None else item.base_tilt for item in photos])
    changes = np.abs(tilts - np.nanmedian(tilts)) if np.isfinite(tilts).any() else np.zeros(1)
    worst = int(np.argmax(np.nan_to_num(changes)))
    if np.nan_to_num(changes)[worst] > MAX_TILT_CHANGE:
        yield (
            f"{names[worst]}: the edge of the base is at {tilts[worst]:.1f}°, in the other "
            f"photographs at {np.nanmedian(tilts):.1f}°; camera or clamp moved"
        )
    growth = links / np.median(links) - 1.0
    worst = int(np.argmax(np.abs(growth)))
    if abs(growth[worst]) > MAX_GROWTH:
        yield (
            f"{names[worst]}: the joints are {100 * abs(growth[worst]):.2g} % "
            f"{'further apart' if growth[worst] > 0.0 else 'closer together'} than in the other "
            "photographs; the distance of the camera or its zoom changed, or the photograph is "
            "squeezed"
        )


def _offset_findings(measured: list[tuple[float, PhotoMeasurement]]) -> Iterator[str]:
    """Yield the joints whose angles without a weight are not those of gravity."""
    unloaded = [photo.angles for mass, photo in measured if mass == 0.0]
    heaviest = measured[-1][1].angles
    if not unloaded or measured[-1][0] == 0.0:
        return
    angles: Array = np.mean(unloaded, axis=0)
    # gravity bends all joints downwards, and less than the heaviest weight does
    sag = np.clip(angles, 0.0, 0.5 * np.maximum(heaviest - angles, 0.0))
    worst = int(np.argmax(np.abs(angles - sag)))
    if abs(angles[worst] - sag[worst]) > MAX_OFFSET:
        yield (
            f"joint {worst + 1} is at {np.degrees(angles[worst]):.1f}° without a weight, more than "
            "the finger's own weight explains; rounded valleys, a bent finger or perspective: "
            "--zero unloaded reads angles from this photograph on"
        )
