"""The end of a finger from frame to frame."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.vision.opencv import opencv
from softgrasp.vision.picture import Image
from softgrasp.vision.registration import Floats, Patch, Pose
from softgrasp.vision.tip_start import TipStart, signal, tip_start
from softgrasp.vision.video import Video

SOFTENING = 1.0
"""Standard deviation of the blur against noise before a patch is compared [pixels]."""
LIKELY = 0.9
"""A patch correlates with what it is taken for by at least [–]; in all films tried, by 0.98."""
FARTHEST = 1.5
"""Where the end is lost it is looked for again at most so far from where it was, in its sizes."""
CLEARANCE = 12.0
"""Of the patch from where the frame is cut off [pixels]."""


def follow(
    video: Video, start: TipStart, first: Image, frames: Iterable[Image], number: int
) -> tuple[list[Pose], Image]:
    """Find the end of the finger in a film's frames one by one.

    Args:
        video: The film, for the sentence of the error.
        start: What the first frame shows.
        first: The first frame.
        frames: Those after it.
        number: Of the first frame.

    Returns:
        Where the end is in all frames, and the last of them.

    Raises:
        DescriptionError: It is not found in a frame; names it.
    """
    patch = Patch(_soft(signal(first, start.weights)), start.patch, start.tip)
    poses = [patch.locate(_soft(signal(first, start.weights)), Pose(start.tip, 0.0, 1.0))]
    last = first
    for last in frames:
        number += 1
        before = poses[max(len(poses) - 2, 0)]
        # a material point goes on as it went
        guess = Pose(
            2.0 * poses[-1].position - before.position, 2.0 * poses[-1].angle - before.angle, LIKELY
        )
        pose = _located(patch, last, guess, start)
        if pose.likeness < LIKELY:
            pose = _detected_again(patch, last, start, poses[-1], pose)
        if pose.likeness < LIKELY:
            column, row = poses[-1].position
            raise DescriptionError(
                f"frame {number}: expected the end of the finger near column {column:.0f}, row "
                f"{row:.0f}, found nothing like it: a correlation of {pose.likeness:.2f} with the "
                f"first frame, less than {LIKELY:g}",
                file=video.path,
            )
        poses.append(pose)
    return poses, last


def _located(patch: Patch, frame: Image, guess: Pose, start: TipStart) -> Pose:
    """Where the patch is near a guess; only the part of the frame around it is looked at."""
    reach = patch.reach + CLEARANCE
    corner = np.maximum(np.floor(guess.position - reach), 0.0).astype(int)
    right, below = np.ceil(guess.position + reach).astype(int)
    part = frame[corner[1] : max(below, 0), corner[0] : max(right, 0)]
    if min(part.shape[:2]) < 2:
        return guess._replace(likeness=0.0)
    located = patch.locate(
        _soft(signal(part, start.weights)), guess._replace(position=guess.position - corner)
    )
    return located._replace(position=located.position + corner)


def _detected_again(patch: Patch, frame: Image, start: TipStart, before: Pose, lost: Pose) -> Pose:
    """The patch where a finger ends in the whole frame, if that is near, or what was lost."""
    try:
        again = tip_start(frame, start.colour)
    except DescriptionError:
        return lost
    if np.linalg.norm(again.tip - before.position) > FARTHEST * patch.reach:
        return lost
    located = _located(patch, frame, Pose(again.tip, again.heading - start.heading, 0.0), start)
    return located if located.likeness > lost.likeness else lost


def _soft(image: Floats) -> Floats:
    return np.asarray(opencv().GaussianBlur(image, (0, 0), SOFTENING))
