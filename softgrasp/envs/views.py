"""Spaces, observations and images of n episodes, which all Gymnasium environments share.

Images of observations are those of the ray caster, so that equal seeds give equal bits on any host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.envs.core import Appearance, Episodes
from softgrasp.errors import missing_library
from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.overlay import Renderer
from softgrasp.rendering.rays import Caster
from softgrasp.rendering.renderer import open_renderer

try:
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise missing_library(error) from None

CAMERA_SIZE = (64, 64)
"""Width and height of observed images [pixels]."""
FARTHEST = 10.0
"""Largest depth that is observed; larger ones, and pixels without a surface, have it [m]."""
POINTS = 512
"""Number of points of an observed cloud."""
LABELS = ("background", "object", "hand", "other")
"""Meanings of the numbers of a segmentation; tables and walls are background."""
HEIGHT, WIDTH = CAMERA_SIZE[::-1]
IMAGES: dict[str, spaces.Space[Any]] = {
    "rgb": spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8),
    "depth": spaces.Box(0.0, FARTHEST, (HEIGHT, WIDTH), np.float32),
    "segmentation": spaces.Box(0, len(LABELS) - 1, (HEIGHT, WIDTH), np.uint8),
    "points": spaces.Box(-FARTHEST, FARTHEST, (POINTS, 3), np.float32),
}
"""Parts of an observation that a camera makes: depth along its axis [m], and points of object and
hand in the palm frame [m]."""


class Views:
    """Spaces, observations and images of n episodes."""

    def __init__(
        self, episodes: Episodes, parts: Sequence[str], *,
        renderer: str = "auto", camera: Camera | None = None,
    ) -> None:  # fmt: skip
        """Make the spaces.

        Args:
            episodes: The episodes.
            parts: Parts of an observation, which is a Dict; ``state`` alone is a Box.
            renderer: Renderer of ``image``: ``auto``, ``gl`` or ``raycast``.
            camera: Camera of images; None to draw none before it is set.
        """
        self._episodes, self._parts, self._renderer = episodes, tuple(parts), renderer
        self.camera = camera
        self._drawers: dict[tuple[int, int], tuple[Renderer, mujoco.MjData]] = {}
        boxes = IMAGES | {
            name: spaces.Box(bound.low, bound.high, dtype=np.float32)
            for name, bound in episodes.bounds.items()
        }
        self._is_flat = self._parts == ("state",)
        self.space: spaces.Space[Any] = spaces.Dict({name: boxes[name] for name in self._parts})
        if self._is_flat:
            self.space = boxes["state"]
        self.actions = spaces.Box(-1.0, 1.0, (episodes.channels,), np.float32)

    def read(self, rows: list[int]) -> Any:
        """Return the observations of some episodes, stacked."""
        observed: dict[str, NDArray[Any]] = {**self._episodes.observe(rows, self._parts)}
        if self._is_flat:
            return observed["state"]
        if "rgb" in self._parts:
            images = [self.image(row, CAMERA_SIZE, "raycast") for row in rows]
            observed["rgb"] = np.stack(images)
        if {"depth", "segmentation", "points"} & {*self._parts}:
            surfaces = [self._surfaces(row) for row in rows]
            observed |= {
                name: np.stack([surface[name] for surface in surfaces]) for name in surfaces[0]
            }
        return {name: observed[name] for name in self._parts}

    def image(self, row: int, size: tuple[int, int], renderer: str = "") -> NDArray[np.uint8]:
        """Draw the state of an episode, (height, width, 3); it is not changed.

        Args:
            row: Index of the episode.
            size: Width and height [pixels].
            renderer: Another renderer than that of the views.

        Raises:
            BackendUnavailable: The requested renderer is not available.
            DescriptionError: There is no such renderer, or the size is invalid.
        """
        shown = self._episodes.shown(row)
        if size not in self._drawers:
            opened = open_renderer(shown.model, *size, renderer or self._renderer)
            self._drawers[size] = opened, mujoco.MjData(shown.model)
        drawer, data = self._drawers[size]
        drawer.load(shown.model)
        pose(shown.model, data, shown.positions)
        return np.array(drawer.draw(data, self._camera(shown), (), shown.colors))

    def _camera(self, shown: Appearance) -> Camera:
        assert self.camera is not None
        azimuth, elevation, distance = shown.camera
        return replace(
            self.camera,
            azimuth_deg=self.camera.azimuth_deg + azimuth,
            elevation_deg=self.camera.elevation_deg + elevation,
            distance=self.camera.distance * distance,
        )

    def _surfaces(self, row: int) -> dict[str, NDArray[Any]]:
        """Return depth, segmentation and points of an episode, from one ray a pixel."""
        shown = self._episodes.shown(row)
        data, camera = mujoco.MjData(shown.model), self._camera(shown)
        pose(shown.model, data, shown.positions)
        lines, columns = np.indices((HEIGHT, WIDTH)).reshape(2, -1) + 0.5
        rays = camera.rays(columns, lines, WIDTH, HEIGHT)
        hits = Caster(shown.model, data, under_skins=True).hits(camera.position, rays)
        hit = (hits.geom >= 0) & (hits.distance < FARTHEST)
        labels = np.where(hit, shown.labels[hits.geom], 0)
        depth = np.where(hit, hits.distance, FARTHEST)
        seen = np.flatnonzero((labels == 1) | (labels == 2))
        points = camera.position + depth[seen, None] * rays[seen]
        points = (points - data.xpos[shown.palm]) @ data.xmat[shown.palm].reshape(3, 3)
        return {
            "depth": depth.reshape(HEIGHT, WIDTH).astype(np.float32),
            "segmentation": labels.reshape(HEIGHT, WIDTH).astype(np.uint8),
            "points": _sample(points).astype(np.float32),
        }

    def close(self) -> None:
        """Release the renderers."""
        for drawer, _ in self._drawers.values():
            drawer.close()
        self._drawers.clear()


def _sample(points: Array) -> Array:
    """Return ``POINTS`` of the points at equal steps; fewer are repeated, none are zeros."""
    if not len(points):
        return np.zeros((POINTS, 3))
    return points[np.arange(POINTS) * len(points) // POINTS]


def pose(model: mujoco.MjModel, data: mujoco.MjData, positions: Array) -> None:
    """Pose bodies, cameras and lights at positions (nq,)."""
    data.qpos[:] = positions
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)


def row_of(observed: Any, row: int) -> Any:
    """Return the observation of one episode of several."""
    if isinstance(observed, dict):
        return {name: part[row] for name, part in observed.items()}
    return observed[row]
