"""A grasp that was found as a preset of a hand whose frame is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.actuator import Rates
from softgrasp.description.hand import GraspPreset
from softgrasp.grasp_synthesis import SynthesizedGrasp
from softgrasp.mechanics.transforms import Array

ALONG_Z = 0.5
"""Mean part of the fingers' forces along z above which upright things are laid across [–]."""


def preset_of(grasp: SynthesizedGrasp) -> GraspPreset:
    """A found grasp as a preset; long things are turned into the hand, z of its frame being up.

    Args:
        grasp: In the hand's frame.
    """
    across = _euler(grasp)
    upwards = grasp.normals and float(np.abs(np.array(grasp.normals)[:, 2]).mean()) > ALONG_Z
    return GraspPreset(
        center=grasp.center,
        rates=Rates(grasp.rates),
        object_euler=across,
        upright_euler=across if upwards else None,
        start=grasp.start,
    )


def _euler(grasp: SynthesizedGrasp) -> tuple[float, float, float]:
    """Turns that lay an object's z axis along the axis of long things."""
    rotation, _ = Rotation.align_vectors(np.array([grasp.lying.axis]), np.array([[0.0, 0.0, 1.0]]))
    about_z, about_y, about_x = np.round(rotation.as_euler("ZYX"), 6).tolist()
    return (about_x, about_y, about_z)


def in_frame(grasp: SynthesizedGrasp, frame: Array) -> SynthesizedGrasp:
    """A grasp that was found in another frame, (4, 4) in the hand's; long things lie upwards."""
    x, y, z = (frame @ [*grasp.center, 1.0])[:3].round(6).tolist()
    axis = frame[:3, :3] @ np.array(grasp.lying.axis)
    along = (axis if axis[2] >= 0.0 else -axis).round(9) + 0.0
    normals = (np.array(grasp.normals).reshape(-1, 3) @ frame[:3, :3].T).tolist()
    return replace(
        grasp,
        center=(x, y, z),
        normals=tuple((a, b, c) for a, b, c in normals),
        lying=grasp.lying._replace(axis=tuple(along.tolist())),
    )
