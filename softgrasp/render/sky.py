"""The background: a colour for every direction, the model's own skybox or a pale gradient."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

Colors = npt.NDArray[np.float32]

_DEFAULT_ELEVATION = (-0.5 * np.pi, 0.0, 0.5 * np.pi)
_DEFAULT_COLOR = ((1.00, 1.00, 1.00), (0.90, 0.93, 0.96), (0.74, 0.82, 0.90))
_UP, _DOWN, _FRONT = 2, 3, 4  # faces of a skybox texture, in MuJoCo's order from top to bottom


@dataclass(frozen=True)
class Sky:
    """Colours over elevation, the same all around.

    Args:
        elevation: Increasing elevations [rad], shape (n,).
        color: Colours from 0 to 1, shape (n, 3).
    """

    elevation: npt.NDArray[np.float64]
    color: Colors

    @property
    def horizon(self) -> Colors:
        """Colour at elevation 0, shape (3,)."""
        return np.asarray(self.at(np.zeros(1))[0])

    def along(self, rays: npt.NDArray[np.floating]) -> Colors:
        """Colours in the directions of world vectors of shape (..., 3)."""
        return self.at(np.arctan2(rays[..., 2], np.hypot(rays[..., 0], rays[..., 1])))

    def at(self, elevation: npt.NDArray[np.floating]) -> Colors:
        """Colours at elevations [rad] of shape (...), shape (..., 3)."""
        channels = [np.interp(elevation, self.elevation, self.color[:, k]) for k in range(3)]
        return np.stack(channels, axis=-1).astype(np.float32)


def has_skybox(model: mujoco.MjModel) -> bool:
    """Whether the model brings its own sky."""
    return bool((model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)).any())


def sky_of(model: mujoco.MjModel) -> Sky:
    """The model's sky, read along one meridian of its skybox texture, or a pale default."""
    if not has_skybox(model):
        return Sky(np.array(_DEFAULT_ELEVATION), np.array(_DEFAULT_COLOR, dtype=np.float32))
    texture = int(np.argmax(model.tex_type == int(mujoco.mjtTexture.mjTEXTURE_SKYBOX)))
    width, depth = int(model.tex_width[texture]), int(model.tex_nchannel[texture])
    first = int(model.tex_adr[texture])
    faces = model.tex_data[first : first + 6 * width * width * depth]
    column = faces.reshape(6, width, width, depth)[:, :, width // 2, :3].astype(np.float32) / 255
    half = width // 2
    across = 2.0 * (np.arange(width) + 0.5) / width - 1.0
    rise = np.arctan(across)
    # Down face from its middle outwards, front face upwards, up face inwards to its middle.
    elevation = [rise[half:] - 0.5 * np.pi - rise[half], rise, 0.5 * np.pi + rise[:half]]
    color = [column[_DOWN, half:], column[_FRONT, ::-1], column[_UP, :half]]
    return Sky(np.concatenate(elevation), np.concatenate(color))
