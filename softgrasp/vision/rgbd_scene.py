"""The scene of a synthetic RGB-D picture: a finger with coloured marks at its cuts."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build.compiling import compiled
from softgrasp.build.soft_finger import TIP, add_soft_finger
from softgrasp.build.visual import Rgba
from softgrasp.description.pose import Pose
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array

FINGER_RGBA: Rgba = (0.80, 0.80, 0.78, 1.0)
CLAMP_RGBA: Rgba = (0.36, 0.37, 0.39, 1.0)
WALL_RGB = (0.55, 0.56, 0.58)
MARKS: dict[str, Rgba] = {
    "upper": (0.85, 0.10, 0.55, 1.0),
    "middle": (0.10, 0.60, 0.20, 1.0),
    "lower": (0.90, 0.50, 0.05, 1.0),
    "line": (0.10, 0.30, 0.85, 1.0),
}
"""Rows of marks: at the cuts along both edges and the middle, and on the clamp for the line."""
MARK_RADIUS, MARK_DEPTH = 0.9e-3, 0.05e-3
"""Of the round marks, and how far they stand out [m]."""
EDGE = 1.5e-3
"""From an edge of the finger to the middle of its marks [m]."""
LINE = (-0.019, -0.002)
"""Where the marks of the reference line are, along the finger from its base [m]."""
SKY_PIXELS = 16
CLAMP_LENGTH = 0.05


def rgbd_model(finger: SoftFinger, stations: Array) -> mujoco.MjModel:
    """The finger along +x and z up, to be seen along +y; marks are on the side towards the camera.

    Args:
        finger: A planar finger whose links have one width and height.
        stations: Places of the cuts along the straight finger, base and tip included [m], (n + 1,).

    Raises:
        BuildError: MuJoCo refuses it.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies = [f"link{index}" for index in range(len(finger.links))]
    joints = [f"joint{index}" for index in range(len(finger.freedoms))]
    add_soft_finger(spec.worldbody, finger, Pose(), bodies, joints, TIP, FINGER_RGBA)
    _, width, height = finger.links[0].size
    origins = np.array([0.0, *(joint.position[0] for joint in finger.joints)])
    levels = dict(zip(("upper", "middle", "lower"), mark_levels(finger), strict=True))
    for cut, station in enumerate(stations.tolist()):
        # a link begins at its joint
        owner = int(np.searchsorted(origins[1:], station, side="right"))
        body = spec.body(bodies[owner])
        for row, level in levels.items():
            _add_mark(body, f"{row}{cut}", row, station - origins[owner], level, width)
    for end, station in enumerate(LINE):
        _add_mark(spec.worldbody, f"line{end}", "line", station, 0.0, width)
    _add_box(spec, (-0.5 * CLAMP_LENGTH, width, 1.5 * height), CLAMP_RGBA)
    _add_wall(spec)
    return compiled(spec, finger.name)


def mark_levels(finger: SoftFinger) -> tuple[float, float, float]:
    """Heights of the upper, middle and lower marks over the finger's axis [m]."""
    edge = 0.5 * finger.links[0].size[2] - EDGE
    return edge, 0.0, -edge


def mark_positions(model: mujoco.MjModel, data: mujoco.MjData, row: str, count: int) -> Array:
    """Where the marks of a row are in the world, (count, 3) [m]."""
    ids = [model.geom(f"{row}{index}").id for index in range(count)]
    return np.array(data.geom_xpos[ids])


def _add_mark(
    body: mujoco.MjsBody, name: str, row: str, along: float, level: float, width: float
) -> None:
    position = np.array([along, -0.5 * width, level])
    reach = [0.0, MARK_DEPTH, 0.0]
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        fromto=[*(position - reach), *(position + reach)],
        size=[MARK_RADIUS, 0.0, 0.0],
        rgba=MARKS[row],
        contype=0,
        conaffinity=0,
        mass=0,
    )


def _add_box(spec: mujoco.MjSpec, size: tuple[float, float, float], rgba: Rgba) -> None:
    """The clamp: it ends at the base, flush with the finger's side."""
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(size[0], 0.0, 0.0),
        size=(abs(size[0]), 0.5 * size[1], 0.5 * size[2]),
        rgba=rgba,
        contype=0,
        conaffinity=0,
    )


def _add_wall(spec: mujoco.MjSpec) -> None:
    """Grey all around and far away: no shadow falls on it, and it has no depth."""
    spec.add_texture(
        name="wall",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=WALL_RGB,
        rgb2=WALL_RGB,
        width=SKY_PIXELS,
        height=6 * SKY_PIXELS,
    )
