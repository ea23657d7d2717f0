"""Render synthetic photographs of a soft finger whose joint angles are known.

``softgrasp new photos`` writes them as sample data, and tests measure them. The scene is a
finger clamped at the left before white paper, rendered by the ray caster.

Each rigid link has a profile, an upper and a lower line in the x–z plane of the straight finger:
smooth above, bellows below. The valleys end exactly in the joints and stay there however the
links rotate, so measured joint positions can be compared with the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import atan, degrees

import mujoco
import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from softgrasp.description.geometry import Pose
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model.compile import compiled
from softgrasp.model.soft_finger import TIP, add_soft_finger
from softgrasp.model.visual import Rgba, add_plain_background
from softgrasp.rendering import Camera, open_renderer
from softgrasp.vision.image import MIN_WIDTH, Image

Faces = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

DISTANCE = 40.0
"""Distance of the camera from the finger [m]; nearly a parallel projection."""
FINE = 1000
"""Narrower images are rendered at twice the size first, because the ray caster samples edges with
four rays per pixel [pixels]."""
FINGER_RGBA: Rgba = (0.74, 0.30, 0.16, 1.0)
CLAMP_RGBA: Rgba = (0.26, 0.27, 0.29, 1.0)
PAPER_RGB = (0.965, 0.960, 0.950)
HIDDEN_GROUP = 4
LEFT, RIGHT, ABOVE = 0.16, 0.10, 0.10
"""Margins beside and above the straight finger, in its lengths."""
ASPECT = 4.0 / 3.0
"""Width over height of the image."""
DEPTH = 0.4
"""Depth of the valleys over the distance of the joints [–]."""
FAN = np.radians(40.0)
"""Angle by which a link's round shoulder reaches back over its joint; it fills the gap that opens
above a joint that bends downwards by up to this angle [rad]."""
THINNER = 0.97
"""Width of a fan over that of the links [–]."""
STATIONS, FAN_STATIONS = 25, 11


@dataclass(frozen=True, eq=False)
class SyntheticPhoto:
    """A rendered image and its true joint angles."""

    image: Image
    """RGB image, (height, width, 3)."""
    metres_per_px: float
    """Side of a pixel in the plane in which the finger bends, at the middle of the image [m]."""
    joints_px: Array
    """Column and row of the true joints from the base, (n, 2)."""
    tip_px: Array
    """Column and row of the true tip, (2,)."""
    joint_angles: Array
    """True rotations of the hinges [rad], (n,)."""


def synthetic_photo(
    finger: SoftFinger,
    joint_angles: ArrayLike,
    width: int = 1280,
    *,
    light: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
) -> SyntheticPhoto:
    """Render a photograph of a finger with known joint angles.

    The finger has a smooth upper side and bellows below, whose valleys end in the joints; it is
    clamped at the left before white paper. All poses of a finger have one view.

    Args:
        finger: Planar finger.
        joint_angles: Rotations of its hinges, positive downwards [rad], (n,).
        width: Width of the image [pixels]; its height is three quarters of that.
        light: Unevenness of the light, see ``lit_and_noisy``.
        noise: Standard deviation of the noise [fraction of full scale].
        seed: Seed of the noise.

    Raises:
        DescriptionError: Wrong number of angles, a finger that is not planar, an image that is
            too small, or a number out of range.
    """
    angles = _checked(finger, joint_angles, width)
    height = round(width / ASPECT)
    model = photo_model(finger)
    data = mujoco.MjData(model)
    data.qpos[:] = angles
    mujoco.mj_forward(model, data)
    camera = finger_view(finger).camera(DISTANCE)
    finer = 2 if width < FINE else 1
    # the ray caster renders the same image on every host
    with open_renderer(model, finer * width, finer * height, "raycast") as drawing:
        drawn = drawing.draw(data, camera)
    if finer > 1:
        quarters = drawn.reshape(height, finer, width, finer, 3)
        drawn = np.rint(quarters.mean(axis=(1, 3), dtype=np.float32)).astype(np.uint8)
    image = lit_and_noisy(drawn, light, noise, seed)
    pixels = camera.project(posed_points(finger, model, data), width, height)[:, :2]
    metres = 1.0 / camera.pixels_per_metre(DISTANCE, height)
    return SyntheticPhoto(image, metres, pixels[:-1], pixels[-1], angles)


def _checked(finger: SoftFinger, joint_angles: ArrayLike, width: int) -> Array:
    angles = np.array(joint_angles, dtype=float)
    if any(freedom != "y" for _, freedom in finger.freedoms):
        raise DescriptionError(
            f"expected a planar finger, found '{finger.name}', which bends in more than one plane",
            field="finger",
        )
    if angles.shape != (len(finger.joints),) or not np.isfinite(angles).all():
        suffix = "" if np.isfinite(angles).all() else ", not all of them finite"
        raise DescriptionError(
            f"expected {len(finger.joints)} finite angles, found shape {angles.shape}{suffix}",
            field="joint_angles",
        )
    if width < MIN_WIDTH:
        raise DescriptionError(
            f"expected an image of at least {MIN_WIDTH} pixels across, found {width}",
            field="width",
        )
    return angles


def lit_and_noisy(image: Image, light: float = 0.0, noise: float = 0.0, seed: int = 0) -> Image:
    """Light an image unevenly and add noise.

    Args:
        image: RGB image, (height, width, 3).
        light: Change of brightness from the middle to the border: 0.3 is from 70 % at the left to
            130 % at the right; exposed so that the bright border does not change.
        noise: Standard deviation in every channel of every pixel [fraction of full scale].
        seed: Seed of the noise.

    Raises:
        DescriptionError: A number is out of range.
    """
    _check(light=(light, 0.0, 0.95), noise=(noise, 0.0, 1.0))
    seen: Floats = image.astype(np.float32) / 255.0
    across = np.linspace(-1.0, 1.0, image.shape[1], dtype=np.float32)
    seen = seen * ((1.0 + light * across) / (1.0 + light))[:, None].astype(np.float32)
    if noise:
        grain = np.random.default_rng(seed).standard_normal(seen.shape, dtype=np.float32)
        seen = seen + np.float32(noise) * grain
    return np.asarray(np.rint(255.0 * seen.clip(0.0, 1.0)), dtype=np.uint8)


def _check(**numbers: tuple[float, float, float]) -> None:
    for field, (value, low, high) in numbers.items():
        if not low <= value <= high:
            raise DescriptionError(
                f"expected a number from {low:g} to {high:g}, found {value:g}", field=field
            )


# Scene


@dataclass(frozen=True)
class View:
    """The visible part of the finger's plane, in the base frame [m]."""

    left: float
    right: float
    bottom: float
    top: float

    def camera(self, distance: float) -> Camera:
        """Make a camera in front of the middle of the view at a distance [m]."""
        middle = (0.5 * (self.left + self.right), 0.0, 0.5 * (self.bottom + self.top))
        fovy = 2.0 * degrees(atan(0.5 * (self.top - self.bottom) / distance))
        return Camera(middle, distance, 90.0, 0.0, fovy)


def finger_view(finger: SoftFinger) -> View:
    """Return a view with margins for the finger, straight or drooping; the same for every pose."""
    start, end = base_start(finger), finger.tip[0]
    length = end - start
    left, right = start - LEFT * length, end + RIGHT * length
    top = top_level(finger) + ABOVE * length
    return View(left, right, top - (right - left) / ASPECT, top)


def photo_model(finger: SoftFinger) -> mujoco.MjModel:
    """Compile the scene: finger along +x, z up, camera along +y.

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
    add_plain_background(spec, PAPER_RGB)
    return compiled(spec, finger.name)


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
    """Add a grey block around the base, from beyond the left border of the image."""
    start, first = base_start(finger), finger.joints[0].position
    end, view = start + 0.25 * (first[0] - start), finger_view(finger)
    reach = end - view.left + (view.right - view.left)
    low, high = first[2] - 0.8 * (top_level(finger) - first[2]), 1.15 * top_level(finger)
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=(end - 0.5 * reach, 0.0, 0.5 * (low + high)),
        size=(0.5 * reach, 1.2 * half_width, 0.5 * (high - low)),
        rgba=CLAMP_RGBA,
        contype=0,
        conaffinity=0,
    )


def posed_points(finger: SoftFinger, model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Return joints and tip in the world frame, (n + 1, 3) [m]."""
    bodies = [model.body(f"link{index + 1}").id for index in range(len(finger.joints))]
    return np.vstack([data.xpos[bodies], data.site_xpos[model.site(TIP).id]])


# Profiles of the links


@dataclass(frozen=True, eq=False)
class Profile:
    """Upper and lower line of a link in the straight finger, (k, 2) each: x and z [m].

    Points with the same index are above each other, or in the fan around the joint.
    """

    upper: Array
    lower: Array
    fan: int = 0
    """Number of points in the fan, the first ones."""

    def prism(self, half_width: float) -> tuple[Array, Faces]:
        """Extrude the outline of the link along y to both sides.

        Returns:
            Vertices [m], (4k, 3), and triangles, counterclockwise from outside, (m, 3).
        """
        count = len(self.upper)
        flat = np.concatenate([self.upper, self.lower])
        # the fan is inside the previous link: two coplanar faces would flicker
        half = half_width * np.where(np.arange(2 * count) % count < self.fan, THINNER, 1.0)
        vertices = np.concatenate([np.insert(flat, 1, side * half, axis=1) for side in (-1, 1)])
        up, low = np.arange(count), np.arange(count) + count
        front = _strip(low, up)
        back = _strip(up + 2 * count, low + 2 * count)
        rim = np.concatenate([low, up[::-1], low[:1]])
        faces = np.concatenate([front, back, _strip(rim + 2 * count, rim)])
        corners = vertices[faces]
        areas = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        return vertices, faces[areas > 1e-14]


def _strip(first: Faces, second: Faces) -> Faces:
    """Return triangles between two lines of vertices, counterclockwise if the first is below."""
    a, b, c, d = first[:-1], first[1:], second[:-1], second[1:]
    return np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)])


def link_profiles(finger: SoftFinger) -> list[Profile]:
    """Return the profiles of all links from the base outwards, ``len(finger.links)`` of them."""
    joints = np.array([joint.position for joint in finger.joints])[:, [0, 2]]
    tip, end_height = np.array(finger.tip)[[0, 2]], finger.links[-1].size[2]
    pitch = _pitches(joints, tip)
    top = top_level(finger)
    return [
        _base(joints[0], base_start(finger), pitch[0], top),
        *(_bellow(joint, after, top) for joint, after in pairwise(joints)),
        _last(joints[-1], tip, end_height, top),
    ]


def _pitches(joints: Array, tip: Array) -> Array:
    return np.asarray(np.linalg.norm(np.diff(np.vstack([joints, tip]), axis=0), axis=1))


def _base(joint: Array, start: float, pitch: float, top: float) -> Profile:
    x = np.linspace(start, joint[0], STATIONS)
    before = np.minimum((joint[0] - x) / pitch, 0.5)
    low = joint[1] - 4.0 * DEPTH * pitch * before * (1.0 - before)
    return Profile(np.column_stack([x, np.full(STATIONS, top)]), np.column_stack([x, low]))


def _bellow(joint: Array, after: Array, top: float) -> Profile:
    fractions = np.linspace(0.0, 1.0, STATIONS)[:, None]
    chord_vector = after - joint
    chord, down = joint + fractions * chord_vector, np.array([chord_vector[1], -chord_vector[0]])
    low = chord + 4.0 * DEPTH * fractions * (1.0 - fractions) * down
    return _with_fan(joint, np.column_stack([chord[:, 0], np.full(STATIONS, top)]), low)


def _with_fan(joint: Array, upper: Array, lower: Array) -> Profile:
    """Add a shoulder around the joint, which the upper line continues without a corner."""
    radius = upper[0, 1] - joint[1]
    angles = np.linspace(FAN, 0.0, FAN_STATIONS)[:-1]
    fan = joint + radius * np.column_stack([-np.sin(angles), np.cos(angles)])
    center = np.tile(joint, (len(fan), 1))
    return Profile(np.concatenate([fan, upper]), np.concatenate([center, lower]), len(fan))


def _last(joint: Array, tip: Array, height: float, top: float) -> Profile:
    fractions = np.linspace(0.0, 1.0, STATIONS)
    x = joint[0] + fractions * (tip[0] - joint[0])
    # level at the joint and at the tip: no corners but the two of the end
    high = top + (tip[1] + 0.5 * height - top) * fractions**2 * (3.0 - 2.0 * fractions)
    low = joint[1] + (tip[1] - 0.5 * height - joint[1]) * fractions * (2.0 - fractions)
    return _with_fan(joint, np.column_stack([x, high]), np.column_stack([x, low]))


def top_level(finger: SoftFinger) -> float:
    """Return the height of the upper side of the straight finger above the base frame [m]."""
    heights = [link.size[2] for link in finger.links]
    highest = max(joint.position[2] for joint in finger.joints)
    return max(highest + 0.5 * float(np.median(heights)), finger.tip[2] + 0.5 * heights[-1])


def base_start(finger: SoftFinger) -> float:
    """Return the start of the clamped link [m], half a joint distance before a joint or more."""
    first, link = finger.joints[0].position, finger.links[0]
    joints = np.array([joint.position for joint in finger.joints])[:, [0, 2]]
    half = 0.5 * _pitches(joints, np.array(finger.tip)[[0, 2]])[0]
    return float(min(link.center[0] - 0.5 * link.size[0], first[0] - half))
