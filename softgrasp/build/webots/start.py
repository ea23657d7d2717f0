"""Where things stand at the start of a model, and from where they are seen."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.build.webots.world import viewpoint
from softgrasp.formats.wbt.node import Node


def start_state(model: mujoco.MjModel) -> mujoco.MjData:
    """The state of keyframe 0, poses computed."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return data


def view_of(model: mujoco.MjModel, start: mujoco.MjData, geoms: Sequence[int]) -> Node:
    """A camera that sees some geoms."""
    chosen = list(geoms)
    positions = start.geom_xpos[chosen]
    center = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    reach = np.linalg.norm(positions - center, axis=1) + model.geom_rbound[chosen]
    return viewpoint(center, float(reach.max()))


def roots(model: mujoco.MjModel) -> list[int]:
    """The bodies that stand in the world."""
    return [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
