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
from softgrasp.vision.image import MIN_WIDTH, Floats, Image

Faces = npt.NDArray[np.int64]

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
            f"expected an image of at least {MIN_WIDTH} pixels across, found {width}", field="width"
        )
    height, finer = round(width / ASPECT), 2 if width < FINE else 1
    model, camera = _scene(finger)
    data = mujoco.MjData(model)
    data.qpos[:] = angles
    mujoco.mj_forward(model, data)
    # the ray caster renders the same image on every host
    with open_renderer(model, finer * width, finer * height, "raycast") as drawing:
        drawn = drawing.draw(data, camera)
    if finer > 1:
        quarters = drawn.reshape(height, finer, width, finer, 3)
        drawn = np.rint(quarters.mean(axis=(1, 3), dtype=np.float32)).astype(np.uint8)
    joints = [data.body(f"link{index + 1}").xpos for index in range(len(angles))]
    points = camera.project(np.array([*joints, data.site(TIP).xpos]), width, height)[:, :2]
    metres = 1.0 / camera.pixels_per_metre(DISTANCE, height)
    image = lit_and_noisy(drawn, light, noise, seed)
    return SyntheticPhoto(image, metres, points[:-1], points[-1])


def lit_and_noisy(image: Image, light: float = 0.0, noise: float = 0.0, seed: int = 0) -> Image:
    """Light an RGB image (height, width, 3) unevenly and add noise.

    ``light`` is the change of brightness from the middle to the border: 0.3 is from 70 % at the
    left to 130 % at the right; exposed so that the bright border does not change. ``noise`` is the
    standard deviation in every channel of every pixel [fraction of full scale].

    Raises:
        DescriptionError: A number is out of range.
    """
    for field, value, high in (("light", light, 0.95), ("noise", noise, 1.0)):
        if not 0.0 <= value <= high:
            raise DescriptionError(
                f"expected a number from 0 to {high:g}, found {value:g}", field=field
            )
    seen: Floats = image.astype(np.float32) / 255.0
    across = np.linspace(-1.0, 1.0, image.shape[1], dtype=np.float32)
    seen = seen * ((1.0 + light * across) / (1.0 + light))[:, None].astype(np.float32)
    if noise:
        grain = np.random.default_rng(seed).standard_normal(seen.shape, dtype=np.float32)
        seen = seen + np.float32(noise) * grain
    return np.asarray(np.rint(255.0 * seen.clip(0.0, 1.0)), dtype=np.uint8)


def _scene(finger: SoftFinger) -> tuple[mujoco.MjModel, Camera]:
    """Compile the finger along +x before paper, z up, and a camera along +y.

    The camera has one view for every pose, with margins for the straight and the drooping finger.
    """
    start, top = _base_start(finger), _top_level(finger)
    length, first = finger.tip[0] - start, finger.joints[0].position
    left, right, upper = start - LEFT * length, finger.tip[0] + RIGHT * length, top + ABOVE * length
    lower = upper - (right - left) / ASPECT
    middle = (0.5 * (left + right), 0.0, 0.5 * (lower + upper))
    fovy = 2.0 * degrees(atan(0.5 * (upper - lower) / DISTANCE))
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    bodies = [f"link{index}" for index in range(len(finger.links))]
    joints = [f"joint{index}" for index in range(len(finger.freedoms))]
    add_soft_finger(spec.worldbody, finger, Pose(), bodies, joints, TIP)
    origins = [np.zeros(3), *(np.array(joint.position) for joint in finger.joints)]
    half_width = 0.5 * float(np.median([link.size[1] for link in finger.links]))
    for name, origin, profile in zip(bodies, origins, _profiles(finger), strict=True):
        vertices, faces = _prism(*profile, half_width)
        body = spec.body(name)
        body.geoms[0].group = HIDDEN_GROUP
        vertices -= origin
        spec.add_mesh(name=name, uservert=vertices.ravel(), userface=faces.ravel())
        body.add_geom(
            name=f"{name}_mesh", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, rgba=FINGER_RGBA,
            contype=0, conaffinity=0, mass=0,
        )  # fmt: skip
    # a grey block around the base, from beyond the left border of the image
    end = start + 0.25 * (first[0] - start)
    reach, below, above = end - left + (right - left), first[2] - 0.8 * (top - first[2]), 1.15 * top
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=(end - 0.5 * reach, 0.0, 0.5 * (below + above)),
        size=(0.5 * reach, 1.2 * half_width, 0.5 * (above - below)), rgba=CLAMP_RGBA,
        contype=0, conaffinity=0,
    )  # fmt: skip
    add_plain_background(spec, PAPER_RGB)
    return compiled(spec, finger.name), Camera(middle, DISTANCE, 90.0, 0.0, fovy)


def _prism(upper: Array, lower: Array, fan: int, half_width: float) -> tuple[Array, Faces]:
    """Extrude the outline of a link along y to both sides.

    Returns:
        Vertices [m], (4k, 3), and triangles, counterclockwise from outside, (m, 3).
    """
    count = len(upper)
    flat = np.concatenate([upper, lower])
    # the fan is inside the previous link: two coplanar faces would flicker
    half = half_width * np.where(np.arange(2 * count) % count < fan, THINNER, 1.0)
    vertices = np.concatenate([np.insert(flat, 1, side * half, axis=1) for side in (-1, 1)])
    up, low = np.arange(count), np.arange(count) + count
    rim = np.concatenate([low, up[::-1], low[:1]])
    faces = np.concatenate([
        _strip(low, up), _strip(up + 2 * count, low + 2 * count), _strip(rim + 2 * count, rim)
    ])  # fmt: skip
    first, second, third = vertices[faces].swapaxes(0, 1)
    areas = np.linalg.norm(np.cross(second - first, third - first), axis=1)
    return vertices, faces[areas > 1e-14]


def _strip(first: Faces, second: Faces) -> Faces:
    """Return triangles between two lines of vertices, counterclockwise if the first is below."""
    a, b, c, d = first[:-1], first[1:], second[:-1], second[1:]
    return np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)])


def _profiles(finger: SoftFinger) -> list[tuple[Array, Array, int]]:
    """Return upper and lower line of each link in the straight finger, and the points of its fan.

    The lines have the columns x and z [m], (k, 2). Points with the same index are above each
    other; the first ones are in the fan around the joint.
    """
    points = np.array([*(joint.position for joint in finger.joints), finger.tip])[:, [0, 2]]
    joints, joint, tip = points[:-1], points[-2], points[-1]
    top, height = np.full(STATIONS, _top_level(finger)), finger.links[-1].size[2]
    part = np.linspace(0.0, 1.0, STATIONS)
    pitch = float(np.linalg.norm(points[1] - points[0]))
    x = np.linspace(_base_start(finger), joints[0, 0], STATIONS)
    before = np.minimum((joints[0, 0] - x) / pitch, 0.5)
    low = joints[0, 1] - 4.0 * DEPTH * pitch * before * (1.0 - before)
    profiles = [(np.column_stack([x, top]), np.column_stack([x, low]), 0)]
    for start, after in pairwise(joints):
        along = after - start
        chord, down = start + part[:, None] * along, np.array([along[1], -along[0]])
        below = chord + (4.0 * DEPTH * part * (1.0 - part))[:, None] * down
        profiles.append(_with_fan(start, np.column_stack([chord[:, 0], top]), below))
    x = joint[0] + part * (tip[0] - joint[0])
    # level at the joint and at the tip: no corners but the two of the end
    high = top + (tip[1] + 0.5 * height - top) * part**2 * (3.0 - 2.0 * part)
    low = joint[1] + (tip[1] - 0.5 * height - joint[1]) * part * (2.0 - part)
    return [*profiles, _with_fan(joint, np.column_stack([x, high]), np.column_stack([x, low]))]


def _with_fan(joint: Array, upper: Array, lower: Array) -> tuple[Array, Array, int]:
    """Add a shoulder around the joint, which the upper line continues without a corner."""
    angles = np.linspace(FAN, 0.0, FAN_STATIONS)[:-1]
    arc = (upper[0, 1] - joint[1]) * np.column_stack([-np.sin(angles), np.cos(angles)])
    center = np.tile(joint, (len(arc), 1))
    return np.concatenate([joint + arc, upper]), np.concatenate([center, lower]), len(arc)


def _top_level(finger: SoftFinger) -> float:
    """Return the height of the upper side of the straight finger above the base frame [m]."""
    heights = [link.size[2] for link in finger.links]
    highest = max(joint.position[2] for joint in finger.joints)
    return max(highest + 0.5 * float(np.median(heights)), finger.tip[2] + 0.5 * heights[-1])


def _base_start(finger: SoftFinger) -> float:
    """Return the start of the clamped link [m], half a joint distance before a joint or more."""
    first, link = np.array(finger.joints[0].position), finger.links[0]
    second = [*(joint.position for joint in finger.joints[1:]), finger.tip][0]
    half = 0.5 * np.hypot(*(second - first)[[0, 2]])
    return float(min(link.center[0] - 0.5 * link.size[0], first[0] - half))
