"""Render synthetic RGB-D images of a finger with known angles, to test picking with.

``RgbdTestRig`` poses a finger with coloured marks at its cuts in MuJoCo, projects the marks, and
renders colour and depth images with the distortion of the camera. ``softgrasp twin accuracy``
uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import atan, degrees

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.geometry import Pose
from softgrasp.description.sensor import PinholeCamera
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.camera import project, undistort
from softgrasp.mechanics.transforms import Array
from softgrasp.model.compile import compiled
from softgrasp.model.soft_finger import TIP, add_soft_finger
from softgrasp.model.visual import Rgba, add_plain_background
from softgrasp.rendering import Camera, open_renderer
from softgrasp.rendering.rays import Caster
from softgrasp.vision.image import Image, opencv

DISTANCE = 0.35
"""Distance of the camera from the visible side of the finger [m]."""
CENTER = (0.019, -0.004)
"""Point at the middle of the image, along the finger and up [m]."""
MARGIN = 1.08
"""Size of the rendered image over that of the distorted one [–]."""
ROWS = 128
"""Rows of pixels whose depths are cast at once."""
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
"""Radius of the marks, and half of their height [m]."""
EDGE = 1.5e-3
"""Distance of marks from the edge of the finger [m]."""
LINE = (-0.019, -0.002)
"""Positions of the marks of the reference line, along the finger from its base [m]."""
CLAMP_LENGTH = 0.05


@dataclass(frozen=True, eq=False)
class SeenMarks:
    """True positions of the marks in a rendered image of a finger."""

    pixels: dict[str, Array]
    """Pixels by row of marks: ``upper``, ``middle`` and ``lower`` at the cuts, (n + 1, 2), and
    ``line``, (2, 2) [pixels]."""
    depths: dict[str, Array]
    """Depths along the camera's axis [m], (n + 1,) and (2,)."""


@dataclass(frozen=True, eq=False)
class RgbdImage:
    """A colour image with its depths and true marks."""

    image: Image
    """RGB image, (height, width, 3)."""
    depth: Array
    """Depth along the camera's axis [m], (height, width); 0 for the background."""
    marks: SeenMarks


class RgbdTestRig:
    """A simulated RGB-D camera in front of a finger.

    Args:
        finger: Planar finger.
        stations: Positions of the cuts along it, base and tip included [m], (n + 1,).
        camera: Camera; its distortion is applied to the images.
        camera_angles: Rotation of the camera about the finger, sideways and upwards [rad].
        distance: Distance of the camera from the finger's side [m].
    """

    def __init__(
        self,
        finger: SoftFinger,
        stations: ArrayLike,
        camera: PinholeCamera | None = None,
        *,
        camera_angles: tuple[float, float] = (0.0, 0.0),
        distance: float = DISTANCE,
    ) -> None:
        self.camera = camera or rgbd_camera()
        self.stations = np.asarray(stations, dtype=float)
        self._model = rgbd_model(finger, self.stations)
        self._data = mujoco.MjData(self._model)
        lens = self.camera
        fovy = 2.0 * degrees(atan(0.5 * MARGIN * lens.height / lens.fy))
        target = (CENTER[0], -0.5 * finger.links[0].size[1], CENTER[1])
        self._view = Camera(
            target, distance, 90.0 + degrees(camera_angles[0]), degrees(camera_angles[1]), fovy
        )

    def marks(self, joint_angles: ArrayLike) -> SeenMarks:
        """Project the marks of the bent finger, without rendering.

        Args:
            joint_angles: Rotations of the hinges, positive downwards [rad], (m,).
        """
        self._pose(joint_angles)
        counts = dict.fromkeys(MARKS, len(self.stations)) | {"line": 2}
        points_of_row = {
            row: self._in_camera(mark_positions(self._model, self._data, row, count))
            for row, count in counts.items()
        }
        return SeenMarks(
            {row: project(self.camera, points) for row, points in points_of_row.items()},
            {row: points[:, 2] for row, points in points_of_row.items()},
        )

    def image(
        self,
        joint_angles: ArrayLike,
        *,
        depth_noise: float = 0.0,
        seed: int = 0,
        renderer: str = "raycast",
    ) -> RgbdImage:
        """Render the bent finger.

        Args:
            joint_angles: Rotations of the hinges [rad], (m,).
            depth_noise: Standard deviation of the depth of a pixel [m].
            seed: Seed of the noise.
            renderer: As for ``open_renderer``; the ray caster renders the same image on every
                host.
        """
        marks = self.marks(joint_angles)
        plane = self._pixel_plane
        depth = self._depths(plane)
        noise = np.random.default_rng(seed).normal(0.0, depth_noise, depth.shape)
        drawn = self._drawn(plane, renderer)
        return RgbdImage(drawn, np.where(depth > 0.0, depth + noise, 0.0), marks)

    def _pose(self, joint_angles: ArrayLike) -> None:
        angles = np.asarray(joint_angles, dtype=float)
        if angles.shape != (self._model.nq,) or not np.isfinite(angles).all():
            raise DescriptionError(
                f"expected {self._model.nq} finite angles, found shape {angles.shape}",
                field="joint_angles",
            )
        self._data.qpos[:] = angles
        mujoco.mj_forward(self._model, self._data)

    def _in_camera(self, points: Array) -> Array:
        right, up, forward = self._view.axes()
        return np.asarray((points - self._view.position) @ np.array([right, -up, forward]).T)

    @cached_property
    def _pixel_plane(self) -> Array:
        """Undistorted points at depth 1 of the middles of all pixels, (height, width, 2)."""
        columns, rows = np.meshgrid(
            np.arange(self.camera.width) + 0.5, np.arange(self.camera.height) + 0.5
        )
        return undistort(self.camera, np.stack([columns, rows], axis=-1))

    def _drawn(self, plane: Array, renderer: str) -> Image:
        """Render the image without distortion and resample it with distortion."""
        cv2 = opencv()
        lens, scale = self.camera, MARGIN
        size = round(scale * lens.width), round(scale * lens.height)
        with open_renderer(self._model, *size, renderer) as drawing:
            sharp = drawing.draw(self._data, self._view)
        focal = 0.5 * size[1] / np.tan(0.5 * np.radians(self._view.fovy_deg))
        # OpenCV counts from the middle of the first pixel
        columns = focal * plane[..., 0] + 0.5 * size[0] - 0.5
        rows = focal * plane[..., 1] + 0.5 * size[1] - 0.5
        maps = columns.astype(np.float32), rows.astype(np.float32)
        return np.asarray(
            cv2.remap(sharp, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        )

    def _depths(self, plane: Array) -> Array:
        right, up, forward = self._view.axes()
        caster = Caster(self._model, self._data)
        depth = np.zeros(plane.shape[:2])
        for start in range(0, len(plane), ROWS):
            part = plane[start : start + ROWS]
            vectors = part[..., :1] * right - part[..., 1:] * up + forward
            hits = caster.hits(self._view.position, vectors.reshape(-1, 3))
            depths = np.where(hits.geom >= 0, hits.distance, 0.0)
            depth[start : start + ROWS] = depths.reshape(part.shape[:2])
        return depth


def rgbd_camera(width: int = 1280) -> PinholeCamera:
    """Return the camera of the rig: 82 mm across at 0.35 m, with lens distortion.

    Args:
        width: Width of the image [pixels]; its height is three quarters of that.
    """
    focal = 5450.0 * width / 1280.0
    return PinholeCamera(
        name="test_rig",
        fx=focal,
        fy=focal,
        cx=0.5 * width + 6.5,
        cy=0.375 * width - 4.25,
        k1=-0.35,
        k2=0.8,
        p1=6e-4,
        p2=-4e-4,
        width=width,
        height=round(0.75 * width),
        source="softgrasp: chosen numbers, no real camera",
    )


# Scene


def rgbd_model(finger: SoftFinger, stations: Array) -> mujoco.MjModel:
    """Compile the finger along +x, z up, seen along +y, with marks on the camera's side.

    Args:
        finger: Planar finger whose links have one width and height.
        stations: Positions of the cuts along the straight finger, base and tip included [m], (n
            + 1,).

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
    add_plain_background(spec, WALL_RGB)
    return compiled(spec, finger.name)


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
    """Add the clamp, which ends at the base, flush with the finger's side."""
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(size[0], 0.0, 0.0),
        size=(abs(size[0]), 0.5 * size[1], 0.5 * size[2]),
        rgba=rgba,
        contype=0,
        conaffinity=0,
    )


def mark_levels(finger: SoftFinger) -> tuple[float, float, float]:
    """Return the heights of the upper, middle and lower marks above the finger's axis [m]."""
    edge = 0.5 * finger.links[0].size[2] - EDGE
    return edge, 0.0, -edge


def mark_positions(model: mujoco.MjModel, data: mujoco.MjData, row: str, count: int) -> Array:
    """Return the positions of a row of marks in the world frame, (count, 3) [m]."""
    ids = [model.geom(f"{row}{index}").id for index in range(count)]
    return np.array(data.geom_xpos[ids])
