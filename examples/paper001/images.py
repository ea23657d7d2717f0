"""Render synthetic RGB-D images of a finger with known angles, to test picking with.

``RgbdTestRig`` poses a finger with coloured marks at its cuts in MuJoCo, projects the marks, and
renders colour and depth images with the distortion of the camera. ``find_marks`` and ``in_order``
detect the marks in an image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import atan, degrees
from typing import NamedTuple

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
from softgrasp.vision.segmentation import hsv_of

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
HUE_REACH_DEG = 20.0
"""Largest difference of the hue of a mark [deg]."""
MIN_SATURATION = 0.30
MIN_AREA = 12
"""Smallest area of a mark [pixels]."""
UNSEEN = {"contype": 0, "conaffinity": 0}


class SeenMarks(NamedTuple):
    """True positions of the marks in an image, by row of marks.

    The rows are ``upper``, ``middle`` and ``lower`` with a mark per cut, and ``line`` with two.
    """

    pixels: dict[str, Array]
    """Columns and rows [pixels], (n + 1, 2) and (2, 2)."""
    depths: dict[str, Array]
    """Depths along the camera's axis [m], (n + 1,) and (2,)."""


class RgbdImage(NamedTuple):
    """A colour image with its depths."""

    image: Image
    """RGB image, (height, width, 3)."""
    depth: Array
    """Depth along the camera's axis [m], (height, width); 0 for the background."""


class RgbdTestRig:
    """A simulated RGB-D camera in front of a finger.

    Args:
        finger: Planar finger.
        stations: Positions of the cuts along it, base and tip included [m], (n + 1,).
        camera: Camera; its distortion is applied to the images.
    """

    def __init__(
        self, finger: SoftFinger, stations: ArrayLike, camera: PinholeCamera | None = None
    ) -> None:
        self.camera = camera or rgbd_camera()
        self.stations = np.asarray(stations, dtype=float)
        self._model = rgbd_model(finger, self.stations)
        self._data = mujoco.MjData(self._model)
        fovy = 2.0 * degrees(atan(0.5 * MARGIN * self.camera.height / self.camera.fy))
        target = (CENTER[0], -0.5 * finger.links[0].size[1], CENTER[1])
        self._view = Camera(target, DISTANCE, 90.0, 0.0, fovy)

    def marks(self, joint_angles: ArrayLike) -> SeenMarks:
        """Project the marks of the bent finger, without rendering.

        Args:
            joint_angles: Rotations of the hinges, positive downwards [rad], (m,).

        Raises:
            DescriptionError: Another number of angles.
        """
        self._pose(joint_angles)
        right, up, forward = self._view.axes()
        pixels, depths = {}, {}
        for row in MARKS:
            count = 2 if row == "line" else len(self.stations)
            ids = [self._model.geom(f"{row}{index}").id for index in range(count)]
            away = self._data.geom_xpos[ids] - self._view.position
            points = away @ np.array([right, -up, forward]).T
            pixels[row], depths[row] = project(self.camera, points), points[:, 2]
        return SeenMarks(pixels, depths)

    def image(
        self, joint_angles: ArrayLike, *, depth_noise: float = 0.0, seed: int = 0
    ) -> RgbdImage:
        """Render the bent finger with the ray caster, which gives the same image on every host.

        Args:
            joint_angles: Rotations of the hinges [rad], (m,).
            depth_noise: Standard deviation of the depth of a pixel [m].
            seed: Seed of the noise.

        Raises:
            DescriptionError: Another number of angles.
        """
        self._pose(joint_angles)
        depth = self._depths()
        noise = np.random.default_rng(seed).normal(0.0, depth_noise, depth.shape)
        return RgbdImage(self._drawn(), np.where(depth > 0.0, depth + noise, 0.0))

    def _pose(self, joint_angles: ArrayLike) -> None:
        angles = np.asarray(joint_angles, dtype=float)
        if angles.shape != (self._model.nq,):
            raise DescriptionError(
                f"expected {self._model.nq} angles, found shape {angles.shape}",
                field="joint_angles",
            )
        self._data.qpos[:] = angles
        mujoco.mj_forward(self._model, self._data)

    @cached_property
    def _plane(self) -> Array:
        """Undistorted points at depth 1 of the middles of all pixels, (height, width, 2)."""
        columns, rows = np.meshgrid(
            np.arange(self.camera.width) + 0.5, np.arange(self.camera.height) + 0.5
        )
        return undistort(self.camera, np.stack([columns, rows], axis=-1))

    def _drawn(self) -> Image:
        """Render the image without distortion and resample it with distortion."""
        cv2 = opencv()
        size = round(MARGIN * self.camera.width), round(MARGIN * self.camera.height)
        with open_renderer(self._model, *size, "raycast") as drawing:
            sharp = drawing.draw(self._data, self._view)
        focal = 0.5 * size[1] / np.tan(0.5 * np.radians(self._view.fovy_deg))
        # OpenCV counts from the middle of the first pixel
        maps = [
            (focal * self._plane[..., k] + 0.5 * size[k] - 0.5).astype(np.float32) for k in (0, 1)
        ]
        return np.asarray(
            cv2.remap(sharp, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        )

    def _depths(self) -> Array:
        right, up, forward = self._view.axes()
        caster = Caster(self._model, self._data)
        depth = np.zeros(self._plane.shape[:2])
        for start in range(0, len(depth), ROWS):
            part = self._plane[start : start + ROWS]
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
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies = [f"link{index}" for index in range(len(finger.links))]
    joints = [f"joint{index}" for index in range(len(finger.freedoms))]
    add_soft_finger(spec.worldbody, finger, Pose(), bodies, joints, TIP, FINGER_RGBA)
    _, width, height = finger.links[0].size
    edge = 0.5 * height - EDGE
    origins = np.array([0.0, *(joint.position[0] for joint in finger.joints)])
    for cut, station in enumerate(stations.tolist()):
        # a link begins at its joint
        owner = int(np.searchsorted(origins[1:], station, side="right"))
        for row, level in (("upper", edge), ("middle", 0.0), ("lower", -edge)):
            position = (station - origins[owner], -0.5 * width, level)
            _add_mark(spec.body(bodies[owner]), row, cut, position)
    for end, station in enumerate(LINE):
        _add_mark(spec.worldbody, "line", end, (station, -0.5 * width, 0.0))
    # the clamp ends at the base, flush with the finger's side
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(-0.5 * CLAMP_LENGTH, 0.0, 0.0),
        size=(0.5 * CLAMP_LENGTH, 0.5 * width, 0.75 * height),
        rgba=CLAMP_RGBA,
        **UNSEEN,
    )
    add_plain_background(spec, WALL_RGB)
    return compiled(spec, finger.name)


def _add_mark(
    body: mujoco.MjsBody, row: str, number: int, position: tuple[float, float, float]
) -> None:
    reach = np.array([0.0, MARK_DEPTH, 0.0])
    body.add_geom(
        name=f"{row}{number}",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        fromto=[*(position - reach), *(position + reach)],
        size=[MARK_RADIUS, 0.0, 0.0],
        rgba=MARKS[row],
        mass=0,
        **UNSEEN,
    )


# Detection


def find_marks(image: Image, colours: Mapping[str, Sequence[float]] = MARKS) -> dict[str, Array]:
    """Find the centres of all coloured marks on a finger, by row of marks, (k, 2) [pixels].

    Args:
        image: RGB image, (height, width, 3).
        colours: Name and colour (red, green, blue from 0 to 1) of each row of marks.
    """
    hsv = hsv_of(image.astype(np.float32) / np.float32(255.0))
    sample = np.array([[rgba[:3] for rgba in colours.values()]], dtype=np.float32)
    hues = hsv_of(sample)[0, :, 0].tolist()
    return {name: _spots(hsv, hue) for name, hue in zip(colours, hues, strict=True)}


def _spots(hsv: Array, hue_deg: float) -> Array:
    away = np.abs((hsv[..., 0] - hue_deg + 180.0) % 360.0 - 180.0)
    mask = ((away < HUE_REACH_DEG) & (hsv[..., 1] > MIN_SATURATION)).astype(np.uint8)
    count, labels, statistics, _ = opencv().connectedComponentsWithStats(mask)
    spots = []
    for label in range(1, count):
        left, top, width, height, area = statistics[label].tolist()
        if area < MIN_AREA:
            continue
        part = slice(top, top + height), slice(left, left + width)
        # saturation weights the pixels at the rim by their fraction of the mark
        weight = np.where(labels[part] == label, hsv[part][..., 1], 0.0)
        rows, columns = np.mgrid[part] + 0.5
        spots.append(
            [(columns * weight).sum() / weight.sum(), (rows * weight).sum() / weight.sum()]
        )
    return np.array(spots).reshape(-1, 2)


def in_order(spots: Array, count: int, start: Array) -> Array:
    """Order marks as a chain of nearest neighbours from a start point, (count, 2) [pixels].

    Raises:
        DescriptionError: The number of marks differs.
    """
    if len(spots) != count:
        raise DescriptionError(f"expected {count} marks of one colour, found {len(spots)}")
    left, here, ordered = list(spots), start, []
    while left:
        here = left.pop(int(np.argmin([np.hypot(*(spot - here)) for spot in left])))
        ordered.append(here)
    return np.array(ordered)


def detected_marks(image: Image, cuts: int) -> dict[str, Array]:
    """Detect all marks in an image, in the order from the base, as ``SeenMarks.pixels``.

    Raises:
        DescriptionError: The number of marks of a row differs.
    """
    spots = find_marks(image)
    line = in_order(spots["line"], 2, np.zeros(2))
    rows = ("upper", "middle", "lower")
    return {"line": line} | {row: in_order(spots[row], cuts, line[1]) for row in rows}
