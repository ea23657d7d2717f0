"""The scene of a synthetic photograph: finger, clamp, white paper and perhaps a checkerboard."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan, degrees

import mujoco
import numpy as np

from softgrasp.build.compiling import compiled
from softgrasp.build.soft_finger import TIP, add_soft_finger
from softgrasp.build.visual import Rgba
from softgrasp.description.pose import Pose
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.render import Camera
from softgrasp.vision.bellows import Faces, base_start, link_profiles, top_level
from softgrasp.vision.checkerboard import Checkerboard

FINGER_RGBA: Rgba = (0.74, 0.30, 0.16, 1.0)
CLAMP_RGBA: Rgba = (0.26, 0.27, 0.29, 1.0)
PAPER_RGB = (0.965, 0.960, 0.950)
CARD_RGBA: Rgba = (0.95, 0.95, 0.95, 1.0)
SKY_PIXELS = 16
INK_RGBA: Rgba = (0.04, 0.04, 0.04, 1.0)
HIDDEN_GROUP = 4

LEFT, RIGHT, ABOVE = 0.16, 0.10, 0.10
"""Room beside and above the straight finger, in its lengths."""
ASPECT = 4.0 / 3.0
"""Width over height of the picture."""
BOARD_ROWS, BOARD_COLUMNS, BOARD_SQUARE = 5, 7, 0.055
"""Inner corners of the checkerboard, and the side of its squares in lengths of the finger."""


@dataclass(frozen=True)
class View:
    """The part of the finger's plane that is in the picture, in the base frame [m]."""

    left: float
    right: float
    bottom: float
    top: float

    def camera(self, distance: float, rotation_deg: tuple[float, float]) -> Camera:
        """A camera at a distance [m] from its middle, turned about it to the side and upwards."""
        middle = (0.5 * (self.left + self.right), 0.0, 0.5 * (self.bottom + self.top))
        fovy = 2.0 * degrees(atan(0.5 * (self.top - self.bottom) / distance))
        return Camera(middle, distance, 90.0 + rotation_deg[0], rotation_deg[1], fovy)


def finger_view(finger: SoftFinger) -> View:
    """A view with room for the finger, straight or drooping; the same for every pose."""
    start, end = base_start(finger), finger.tip[0]
    length = end - start
    left, right = start - LEFT * length, end + RIGHT * length
    top = top_level(finger) + ABOVE * length
    return View(left, right, top - (right - left) / ASPECT, top)


def board_of(finger: SoftFinger) -> Checkerboard:
    """The checkerboard of a synthetic photograph of this finger."""
    length = finger.tip[0] - base_start(finger)
    return Checkerboard(
        rows=BOARD_ROWS, columns=BOARD_COLUMNS, square=round(BOARD_SQUARE * length, 3)
    )


def photo_model(finger: SoftFinger, *, board: bool = False) -> mujoco.MjModel:
    """The scene: the finger along +x and z up, to be seen along +y.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies = [f"link{index}" for index in range(len(finger.links))]
    joints = [f"joint{index}" for index in range(len(finger.freedoms))]
    add_soft_finger(spec.worldbody, finger, Pose(), bodies, joints, TIP)
    origins = [np.zeros(3), *(np.array(joint.position) for joint in finger.joints)]
    half_width = 0.5 * float(np.median([link.size[1] for link in finger.links]))
    for name, origin, profile in zip(bodies, origins, link_profiles(finger), strict=True):
        vertices, faces = profile.prism(half_width)
        _add_mesh(spec, name, vertices - origin, faces)
    _add_clamp(spec, finger, half_width)
    _add_paper(spec)
    if board:
        _add_board(spec, finger)
    return compiled(spec, finger.name)


def posed_points(finger: SoftFinger, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Joints and tip in the world, where MuJoCo has them, (n + 1, 3) [m]."""
    bodies = [model.body(f"link{index + 1}").id for index in range(len(finger.joints))]
    return np.vstack([data.xpos[bodies], data.site_xpos[model.site(TIP).id]])


def _add_mesh(spec: mujoco.MjSpec, name: str, vertices: Array, faces: Faces) -> None:
    """Draw a body as a mesh instead of its box."""
    body = spec.body(name)
    body.geoms[0].group = HIDDEN_GROUP
    spec.add_mesh(name=name, uservert=vertices.ravel(), userface=faces.ravel())
    body.add_geom(
        name=f"{name}_mesh",
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=FINGER_RGBA,
        contype=0,
        conaffinity=0,
        mass=0,
    )


def _add_clamp(spec: mujoco.MjSpec, finger: SoftFinger, half_width: float) -> None:
    """A grey block around the base, from beyond the left border of the picture."""
    start, first = base_start(finger), finger.joints[0].position
    end, view = start + 0.25 * (first[0] - start), finger_view(finger)
    reach = end - view.left + (view.right - view.left)
    low, high = first[2] - 0.8 * (top_level(finger) - first[2]), 1.15 * top_level(finger)
    _add_box(
        spec,
        (end - 0.5 * reach, 0.0, 0.5 * (low + high)),
        (0.5 * reach, 1.2 * half_width, 0.5 * (high - low)),
        CLAMP_RGBA,
    )


def _add_paper(spec: mujoco.MjSpec) -> None:
    """White all around and far away: no shadow falls on it."""
    spec.add_texture(
        name="paper",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=PAPER_RGB,
        rgb2=PAPER_RGB,
        width=SKY_PIXELS,
        height=6 * SKY_PIXELS,
    )


def _add_board(spec: mujoco.MjSpec, finger: SoftFinger) -> None:
    """A card in the finger's middle plane, below its base."""
    board, view = board_of(finger), finger_view(finger)
    side = board.square
    squares = np.array([board.columns + 1, board.rows + 1])
    size = (squares + 1.2) * side
    low = np.array([view.left, view.bottom]) + 0.8 * side
    thin = 0.01 * side
    middle = low + 0.5 * size
    _add_box(spec, (middle[0], thin, middle[1]), (0.5 * size[0], thin, 0.5 * size[1]), CARD_RGBA)
    for column, row in np.ndindex(*squares.tolist()):
        if (column + row) % 2 == 0:
            x, z = low + (np.array([column, row]) + 1.1) * side
            _add_box(spec, (x, 0.0, z), (0.5 * side, thin, 0.5 * side), INK_RGBA)


def _add_box(
    spec: mujoco.MjSpec,
    position: tuple[float, float, float],
    half: tuple[float, float, float],
    rgba: Rgba,
) -> None:
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=position, size=half, rgba=rgba, contype=0, conaffinity=0
    )
