"""Pictures side by side: the instants of one run, or the ends of several."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from softgrasp.rendering.keyframes import Playback, key_frames
from softgrasp.rendering.video import framing, render_key_frames
from softgrasp.report import style
from softgrasp.report.letting_go import let_go_s, out_of_hand
from softgrasp.simulation.result import GraspResult

Image = npt.NDArray[np.uint8]

SIZE = (584, 600)
"""Pixels of one picture."""
GAP, ABOVE = 12, 84
"""Pixels between pictures, and above them."""
CAPTION_WIDTH = 32
"""Letters in a line of a caption."""
SHORTER = {"first contact": "first", "last established": "last", "contact lost": "lost"}


def strip_images(result: GraspResult, *, renderer: str = "auto") -> list[Image]:
    """The pictures of a run's five key instants, without words.

    Args:
        result: The run.
        renderer: ``auto``, ``gl`` or ``raycast``.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
    """
    times = [time for time, _ in key_frames(result)]
    return render_key_frames(result, times, renderer=renderer, size=SIZE)


def draw_strip(result: GraspResult, path: str | Path, images: Sequence[Image]) -> Path:
    """Draw the five key instants side by side, as paper 004's Fig 10A.

    Args:
        result: The run.
        path: The ``.png`` to write.
        images: Its ``strip_pictures``.

    Raises:
        ResultError: The place cannot be written.
    """
    key_frame_list = key_frames(result)
    titles = [f"{time:.3f} s" for time, _ in key_frame_list]
    return _row(images, titles, [_one_line(caption) for _, caption in key_frame_list], path)


def final_poses(
    results: Sequence[GraspResult],
    labels: Sequence[str],
    path: str | Path,
    *,
    renderer: str = "auto",
    one_viewpoint: bool = True,
    captions: Sequence[str] = (),
) -> Path:
    """Draw how several runs ended, side by side and from one place (paper 004, Fig 12C).

    Args:
        results: The runs, all of one hand.
        labels: What to call them, one a run.
        path: The ``.png`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.
        one_viewpoint: Whether all are seen from one place, or each from its own best side.
        captions: What to say of each run below its picture, besides how far the object moved.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
        ResultError: The place cannot be written.
    """
    playbacks = [Playback(result) for result in results]
    groups = [playbacks] if one_viewpoint else [[playback] for playback in playbacks]
    cameras = [framing(group, SIZE, only_ends=True) for group in groups]
    if one_viewpoint:
        cameras *= len(results)
    images = [
        render_key_frames(
            result, result.time[-1:].tolist(), renderer=renderer, size=SIZE, camera=camera
        )[0]
        for result, camera in zip(results, cameras, strict=True)
    ]
    captions_moved = [_moved(result) for result in results]
    if captions:
        captions_moved = [
            f"{caption_line}\n{moved}"
            for caption_line, moved in zip(captions, captions_moved, strict=True)
        ]
    return _row(images, labels, captions_moved, path)


def _row(
    images: Sequence[Image], titles: Sequence[str], captions: Sequence[str], path: str | Path
) -> Path:
    lines = ["\n".join(_wrapped(caption)) for caption in captions]
    below = 24 + 46 * max(text.count("\n") + 1 for text in lines)
    width, height = len(images) * (SIZE[0] + GAP) + GAP, ABOVE + SIZE[1] + below
    with style.figure(path, height / style.DPI, width / style.DPI) as figure:
        for column, (image, title, text) in enumerate(zip(images, titles, lines, strict=True)):
            left = GAP + column * (SIZE[0] + GAP)
            middle = (left + 0.5 * SIZE[0]) / width
            # pixel for pixel: resampling would cost sharpness and double the file
            figure.figimage(image, left, below)
            top = 1.0 - 0.75 * ABOVE / height
            figure.text(middle, top, title, ha="center", fontsize=9, fontweight="bold")
            figure.text(middle, (below - 12) / height, text, ha="center", va="top", fontsize=7.5)
    return Path(path)


def _one_line(caption: str) -> str:
    """A caption of an instant with fewer words where it would need a second line."""
    words, colon, bodies = caption.partition(": ")
    long = len(caption) > CAPTION_WIDTH
    return f"{SHORTER.get(words, words)}{colon}{bodies}" if long else caption


def _wrapped(caption: str) -> list[str]:
    return [
        line
        for caption_line in caption.split("\n")
        for line in textwrap.wrap(caption_line, CAPTION_WIDTH)
    ]


def _moved(result: GraspResult) -> str:
    if out_of_hand(result):
        return "not in the hand any more" if let_go_s(result) is not None else "never in the hand"
    x, y, z = (style.signed(1e3 * part, 1) for part in result.object.displacement_m)
    return f"moved ({x}, {y}, {z}) mm"
