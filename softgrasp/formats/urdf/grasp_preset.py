"""A grasp that was found as a preset of a hand whose frame is given."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.hand import GraspPreset
from softgrasp.description.rates import Rates
from softgrasp.mechanics.grasp_finder import FoundGrasp

ALONG_Z = 0.5
"""Mean part of the fingers' forces along z above which upright things are laid across [–]."""


def preset_of(found: FoundGrasp) -> GraspPreset:
    """A found grasp as a preset; long things are turned into the hand."""
    across = _euler(found)
    upwards = found.normals and float(np.abs(np.array(found.normals)[:, 2]).mean()) > ALONG_Z
    return GraspPreset(
        center=found.center,
        rates=Rates(found.rates),
        object_euler=across,
        upright_euler=across if upwards else None,
        start=found.start,
    )


def _euler(found: FoundGrasp) -> tuple[float, float, float]:
    """Turns that lay an object's z axis along the axis of long things."""
    turn, _ = Rotation.align_vectors(np.array([found.lying.axis]), np.array([[0.0, 0.0, 1.0]]))
    about_z, about_y, about_x = np.round(turn.as_euler("ZYX"), 6).tolist()
    return (about_x, about_y, about_z)
