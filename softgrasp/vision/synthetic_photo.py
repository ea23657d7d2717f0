"""Photographs whose joint angles are known, drawn by MuJoCo, to test the measurement with."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.render import open_renderer
from softgrasp.vision.camera_faults import with_faults
from softgrasp.vision.checkerboard import Checkerboard
from softgrasp.vision.photo_scene import (
    ASPECT,
    board_of,
    finger_view,
    photo_model,
    posed_points,
)
from softgrasp.vision.picture import MIN_WIDTH, Image

DISTANCE = 40.0
"""From the camera to the finger, where not given [m]: the picture is nearly a parallel one."""
FINE = 1000
"""Narrower pictures are drawn twice as large first: the ray caster draws edges with four rays a
pixel, which shows in few pixels [pixels]."""


@dataclass(frozen=True, eq=False)
class SyntheticPhoto:
    """A picture and what it shows."""

    image: Image
    """Shape (height, width, 3)."""
    metres_per_px: float
    """Side of a pixel in the plane in which the finger bends, at the middle of the picture [m]."""
    joints_px: Array
    """Column and row of the true joints from the base, (n, 2)."""
    tip_px: Array
    """Of the true tip, (2,)."""
    joint_angles: Array
    """Rotations of the hinges that were put in [rad], (n,)."""
    board: Checkerboard | None
    """The checkerboard in the picture, if there is one."""


def synthetic_photo(
    finger: SoftFinger,
    joint_angles: ArrayLike,
    width: int = 1280,
    *,
    light: float = 0.0,
    light_direction_deg: float = 0.0,
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0),
    hue: float = 0.0,
    blur: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
    checkerboard: bool = False,
    distance: float = DISTANCE,
    camera_angles: tuple[float, float] = (0.0, 0.0),
    renderer: str = "raycast",
) -> SyntheticPhoto:
    """Photograph a finger that is bent as one says.

    The finger has a smooth upper side and bellows below, whose valleys end in the joints; it is
    clamped at the left before white paper. All poses of a finger have one view.

    Args:
        finger: A planar finger.
        joint_angles: Rotations of its hinges, positive downwards [rad], (n,).
        width: Of the picture [pixels]; its height is three quarters of that.
        light: See ``with_faults``, as for the next five; 0.3 is from 70 to 130 % of the brightness.
        light_direction_deg: Towards the brighter side: 0 right, 90 up.
        tint: Colour of the light.
        hue: Turn of the hue [rad].
        blur: Standard deviation [pixels].
        noise: Standard deviation [parts of full scale].
        seed: Of the noise.
        checkerboard: Whether a card with a checkerboard lies in the finger's middle plane.
        distance: From the camera to the finger [m].
        camera_angles: Of the camera about the finger, sideways and upwards [rad].
        renderer: As for ``open_renderer``; the ray caster gives one picture on every host.

    Raises:
        DescriptionError: Another number of angles, a finger that is not planar, a picture that is
            too small, or a number out of range.
    """
    angles = _checked(finger, joint_angles, width)
    height = round(width / ASPECT)
    model = photo_model(finger, board=checkerboard)
    data = mujoco.MjData(model)
    data.qpos[:] = angles
    mujoco.mj_forward(model, data)
    camera = finger_view(finger).camera(
        distance, (degrees(camera_angles[0]), degrees(camera_angles[1]))
    )
    finer = 2 if width < FINE else 1
    with open_renderer(model, finer * width, finer * height, renderer) as drawing:
        drawn = drawing.draw(data, camera)
    if finer > 1:
        quarters = drawn.reshape(height, finer, width, finer, 3)
        drawn = np.rint(quarters.mean(axis=(1, 3), dtype=np.float32)).astype(np.uint8)
    image = with_faults(
        drawn,
        light=light,
        light_direction_deg=light_direction_deg,
        tint=tint,
        hue_deg=degrees(hue),
        blur=blur,
        noise=noise,
        seed=seed,
    )
    pixels = camera.project(posed_points(finger, model, data), width, height)[:, :2]
    metres = 1.0 / camera.pixels_per_metre(distance, height)
    board = board_of(finger) if checkerboard else None
    return SyntheticPhoto(image, metres, pixels[:-1], pixels[-1], angles, board)


def _checked(finger: SoftFinger, joint_angles: ArrayLike, width: int) -> Array:
    angles = np.array(joint_angles, dtype=float)
    if any(freedom != "y" for _, freedom in finger.freedoms):
        raise DescriptionError(
            f"expected a finger that bends in one plane only, found '{finger.name}' that does more",
            field="finger",
        )
    if angles.shape != (len(finger.joints),) or not np.isfinite(angles).all():
        raise DescriptionError(
            f"expected {len(finger.joints)} finite angles, found {_angles_text(angles)}",
            field="joint_angles",
        )
    if width < MIN_WIDTH:
        raise DescriptionError(
            f"expected a picture of at least {MIN_WIDTH} pixels across, found {width}",
            field="width",
        )
    return angles


def _angles_text(angles: Array) -> str:
    shape = f"shape {angles.shape}"
    return shape if np.isfinite(angles).all() else f"{shape} with some that are not"
