"""Pictures side by side: the instants of one run, or the ends of several."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from softgrasp.render.instants import key_instants
from softgrasp.render.playback import framing, render_instants
from softgrasp.render.poses import Playback
from softgrasp.report import style
from softgrasp.simulation.result import GraspResult

Image = npt.NDArray[np.uint8]

SIZE = (540, 600)
"""Pixels of one picture."""
CAPTION_WIDTH = 26
"""Letters in a line of a caption."""


def draw_strip(result: GraspResult, path: str | Path, *, renderer: str = "auto") -> Path:
    """Draw five named instants side by side, as paper 004's Fig 10A.

    Args:
        result: The run.
        path: The ``.png`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
        ResultError: The place cannot be written.
    """
    instants = key_instants(result)
    images = render_instants(result, [time for time, _ in instants], renderer=renderer, size=SIZE)
    return _row(images, [f"{time:.3f} s" for time, _ in instants], [c for _, c in instants], path)


def final_poses(
    results: Sequence[GraspResult],
    labels: Sequence[str],
    path: str | Path,
    *,
    renderer: str = "auto",
) -> Path:
    """Draw how several runs ended, side by side and from one place (paper 004, Fig 12C).

    Args:
        results: The runs, all of one hand.
        labels: What to call them, one a run.
        path: The ``.png`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
        ResultError: The place cannot be written.
    """
    camera = framing([Playback(result) for result in results], SIZE)
    images = [
        render_instants(
            result, result.time[-1:].tolist(), renderer=renderer, size=SIZE, camera=camera
        )[0]
        for result in results
    ]
    return _row(images, labels, [_moved(result) for result in results], path)


def _row(
    images: Sequence[Image], titles: Sequence[str], captions: Sequence[str], path: str | Path
) -> Path:
    lines = [textwrap.wrap(caption, CAPTION_WIDTH) for caption in captions]
    below = 0.1 + 0.15 * max(map(len, lines))
    across = (style.WIDTH - 0.04 * (len(images) + 1)) / max(len(images), 3)
    height = 0.28 + across * SIZE[1] / SIZE[0] + below
    with style.figure(path, height) as figure:
        grid = style.panels(
            figure, 1, len(images), margins=(0.04, 0.04, below, 0.28), gaps=(0.04, 0.0)
        )
        for column, (image, title) in enumerate(zip(images, titles, strict=True)):
            axes = figure.add_subplot(grid[column])
            axes.imshow(image, interpolation="lanczos")
            axes.set_axis_off()
            axes.set_title(title, loc="center")
            axes.text(
                0.5, -0.02, "\n".join(lines[column]), transform=axes.transAxes, ha="center",
                va="top", fontsize=7.5,
            )  # fmt: skip
    return Path(path)


def _moved(result: GraspResult) -> str:
    x, y, z = (style.signed(1e3 * part, 1) for part in result.object.displacement_m)
    return f"moved ({x}, {y}, {z}) mm"
