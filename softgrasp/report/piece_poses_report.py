"""A finger after the kinematic models of paper 001 as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from softgrasp._version import __version__
from softgrasp.formats.atomic import write_text
from softgrasp.formats.results import RESULT_FILE
from softgrasp.formats.tip_points_file import TipPoints
from softgrasp.mechanics.piece_models import ModelPose, compared_models
from softgrasp.mechanics.tip_error import tip_error
from softgrasp.report.piece_poses_figure import draw_piece_poses

SCHEMA_VERSION = 1
FIGURE = "poses.png"


def write_poses_report(
    thetas: Sequence[float],
    phis: Sequence[float],
    lengths: Sequence[float],
    directory: str | Path,
    measured: TipPoints | None = None,
) -> tuple[dict[str, Any], list[Path]]:
    """Compare the models without φ and with it; write ``result.json`` and the figure.

    Args:
        thetas: Bends of the pieces, base first [rad], (n,).
        phis: Turns about z [rad], (n,).
        lengths: Of the pieces [m], (n,).
        directory: Where to; it is made when it is missing.
        measured: Where the tip with φ was measured, in the frame of the finger's base.

    Returns:
        The content of ``result.json``, and the files.

    Raises:
        DescriptionError: As ``compared_models``.
        ResultError: The folder cannot be written.
    """
    flat = compared_models(thetas, [0.0] * len(thetas), lengths)
    forced = compared_models(thetas, phis, lengths)
    document = {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "piece_poses",
        "lengths_m": list(lengths),
        "thetas_rad": list(thetas),
        "phis_rad": list(phis),
        "flat": [_row(pose) for pose in flat],
        "forced": [_row(pose) | _from_measured(pose, lengths, measured) for pose in forced],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    points = None if measured is None else measured.position
    figure = draw_piece_poses(flat, forced, Path(directory) / FIGURE, points)
    return document, [write_text(Path(directory) / RESULT_FILE, text + "\n"), figure]


def _row(pose: ModelPose) -> dict[str, Any]:
    return {
        "model": pose.name,
        "label": pose.label,
        "tip_m": pose.tip.tolist(),
        "axis": pose.axis.tolist(),
        "from_arcs_m": pose.apart,
        "from_arcs_fraction": pose.fraction,
    }


def _from_measured(
    pose: ModelPose, lengths: Sequence[float], measured: TipPoints | None
) -> dict[str, float]:
    """E of a model against the mean of the measured tips."""
    if measured is None:
        return {}
    mean = measured.position.mean(axis=0)
    return {"from_measured_fraction": float(tip_error(pose.tip, mean, lengths))}
