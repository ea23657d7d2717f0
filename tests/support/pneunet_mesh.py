"""Random pneumatic fingers as meshes whose joints, base and bending side are known.

A finger is a loft: outlines of equal numbers of points along x, closed by caps. The chamber is a
second loft inside, which may open into the base. ``random_finger`` draws bellows, gaps, fillets,
tapers, sections and chambers.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import trimesh
from scipy.ndimage import minimum_filter1d
from scipy.spatial.transform import Rotation

from softgrasp.mechanics.transforms import Array

Valley = Literal["flat", "fillet", "sharp", "round"]
Section = Literal["square", "round", "arch"]
Chamber = Literal["none", "following", "straight", "separate"]
POINTS = 32
"""Points of an outline; a multiple of 8."""
GRID = 1e-4
"""Distance of the samples of the side view [m]."""
MIN_FLOOR = 3e-3
"""Smallest height under a valley [m]."""


@dataclass(frozen=True, kw_only=True)
class FingerShape:
    """Dimensions of a finger with bellows [m]."""

    bellows: tuple[float, ...]
    """Length of each bellow from the base outwards, base and tip block included."""
    gap: float
    height: float
    floor: float
    """Height under the valleys."""
    width: float
    valley: Valley = "flat"
    section: Section = "square"
    chamber: Chamber = "following"
    chamber_section: Section = "square"
    inlet: bool = False
    """Whether the chamber opens into the base."""
    taper: float = 0.0
    """Fraction of the height that is lost from base to tip [–]."""
    narrows: float = 0.0
    """Fraction of the width that is lost from base to tip [–]."""
    around: bool = False
    """Whether the valleys run all around the finger."""

    @property
    def length(self) -> float:
        """From base to tip [m]."""
        return sum(self.bellows) + self.gap * (len(self.bellows) - 1)

    @property
    def valleys(self) -> Array:
        """Middles of the gaps along x [m], (n,)."""
        ends = np.cumsum(self.bellows)[:-1]
        return np.asarray(ends + self.gap * (np.arange(len(ends)) + 0.5))


def finger_mesh(shape: FingerShape) -> trimesh.Trimesh:
    """Make the surface: base in the plane x = 0, bellows at +z (or all around) [m]."""
    x, top = side_view(shape)
    outer = _outlines(shape, x, np.zeros_like(top), top, np.full_like(x, 0.5), shape.section)
    inner = _chambers(shape, x, top)
    if not inner:
        return _surface(_loft(outer))
    opening = inner[0] if shape.inlet else None
    parts = [_loft(outer, start=opening is None)]
    parts += [_flipped(_loft(item, start=item is not opening)) for item in inner]
    if opening is not None:
        parts.append(_ring(outer[0], opening[0]))
    return _surface(*parts)


def side_view(shape: FingerShape) -> tuple[Array, Array]:
    """Height of the upper side along x [m], both (n,); steps have two samples at one x."""
    x = np.arange(0.0, shape.length + 0.5 * GRID, GRID)
    x[-1] = shape.length
    away = np.abs(x[:, None] - shape.valleys).min(axis=1) / (0.5 * shape.gap)
    depth = shape.height - shape.floor
    inside = np.clip(1.0 - away, 0.0, 1.0)
    match shape.valley:
        case "sharp":
            drop = inside
        case "round":
            drop = np.sqrt(np.clip(1.0 - away**2, 0.0, 1.0))
        case "fillet":
            drop = np.clip(4.0 * inside, 0.0, 1.0)
            drop = drop * drop * (3.0 - 2.0 * drop)
        case "flat":
            drop = (away < 1.0).astype(float)
    return x, (shape.height - depth * drop)


def _chambers(shape: FingerShape, x: Array, top: Array) -> list[Array]:
    """Outlines of the chambers, (n, POINTS, 3) each."""
    if shape.chamber == "none":
        return []
    bottom = 0.45 * shape.floor
    wall = min(1.2e-3, 0.2 * shape.floor)
    end = max(0.4 * shape.bellows[-1], 2.0 * wall)
    first = 0.0 if shape.inlet else max(0.4 * shape.bellows[0], 2.0 * wall)
    if shape.chamber == "straight":
        ranges = [(first, shape.length - end)]
        upper = np.full_like(x, shape.floor - wall)
    else:
        reach = 2 * round(wall / GRID) + 1
        upper = minimum_filter1d(top, reach, mode="nearest") - wall
        ranges = [(first, shape.length - end)]
        if shape.chamber == "separate":
            edges = np.concatenate([[0.0], shape.valleys, [shape.length]])
            aside = 0.5 * shape.gap + wall
            ranges = [(a + aside, b - aside) for a, b in pairwise(edges[1:-1])]
    fraction = 0.5 - 1.5e-3 / shape.width if shape.chamber_section == "square" else 0.32
    loops = []
    for low, high in ranges:
        inside = (x >= low - 1e-9) & (x <= high + 1e-9)
        wide = np.full(inside.sum(), fraction)
        floor = np.full(inside.sum(), bottom)
        outline = _outlines(
            shape, x[inside], floor, upper[inside], wide, shape.chamber_section, chamber=True
        )
        loops.append(outline)
    return loops


def _outlines(
    shape: FingerShape, x: Array, low: Array, high: Array, half_width: Array, section: Section,
    *, chamber: bool = False,
) -> Array:  # fmt: skip
    """Outlines along x without those that a straight line replaces, (n, POINTS, 3)."""
    kept = np.ones(len(x), dtype=bool)
    kept[1:-1] = np.abs(np.diff(np.diff(high) / np.diff(x))) > 1e-9
    x, low, high, half_width = x[kept], low[kept], high[kept], half_width[kept]
    along = x / shape.length
    taper, narrow = 1.0 - shape.taper * along, 1.0 - shape.narrows * along
    width = half_width * shape.width * narrow
    unit = _unit_outline(section)
    y = 2.0 * width[:, None] * unit[:, 0]
    z = low[:, None] + (high - low)[:, None] * (unit[:, 1] + 0.5)
    if shape.around:
        # the same heights above and below the middle, and valleys at the sides as well
        z = z - (0.5 * high[:, None] if not chamber else 0.5 * shape.floor)
        if not chamber:
            y = y * (high / shape.height)[:, None]
    z = z * taper[:, None]
    return np.stack([np.broadcast_to(x[:, None], y.shape), y, z], -1)


def _unit_outline(section: Section) -> Array:
    """Points of a section from −½ to ½, anticlockwise seen from +x, (POINTS, 2)."""
    angle = 2.0 * np.pi * np.arange(POINTS) / POINTS - 0.75 * np.pi
    round_ = 0.5 * np.stack([np.cos(angle), np.sin(angle)], -1)
    square = round_ / np.abs(round_).max(axis=1, keepdims=True) * 0.5
    if section == "square":
        return square
    if section == "round":
        return round_
    # an arch: flat below, half an ellipse above
    arch = np.where(round_[:, 1:] < 0.0, square, np.stack([round_[:, 0], round_[:, 1]], -1))
    return np.asarray(arch)


Part = tuple[Array, Array]


def _loft(rings: Array, *, start: bool = True) -> Part:
    """Faces between neighbouring outlines, and caps; the first cap may be left out."""
    count, points = rings.shape[:2]
    number = np.arange(count * points).reshape(count, points)
    a, b = number[:-1], number[1:]
    c, d = np.roll(b, -1, axis=1), np.roll(a, -1, axis=1)
    faces = [np.stack([a, d, b], -1).reshape(-1, 3), np.stack([d, c, b], -1).reshape(-1, 3)]
    vertices = [rings.reshape(-1, 3)]
    middles = count * points
    for ring, ahead in ((0, False), (-1, True)):
        if ring == 0 and not start:
            continue
        vertices.append(rings[ring].mean(axis=0)[None])
        first, second = number[ring], np.roll(number[ring], -1)
        fan = np.stack([np.full(points, middles), first, second], -1)
        faces.append(fan if ahead else fan[:, ::-1])
        middles += 1
    return np.vstack(vertices), np.vstack(faces)


def _flipped(part: Part) -> Part:
    return part[0], part[1][:, ::-1]


def _ring(outer: Array, inner: Array) -> Part:
    """The base face around an opening."""
    points = len(outer)
    a, b = np.arange(points), np.arange(points) + points
    c, d = np.roll(b, -1), np.roll(a, -1)
    faces = np.vstack([np.stack([a, b, d], -1), np.stack([d, b, c], -1)])
    return np.vstack([outer, inner]), faces


def _surface(*parts: Part) -> trimesh.Trimesh:
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])[:-1]
    mesh = trimesh.Trimesh(
        np.vstack([vertices for vertices, _ in parts]),
        np.vstack([faces + offset for (_, faces), offset in zip(parts, offsets, strict=True)]),
        process=False,
    )
    mesh.merge_vertices()
    return mesh


@dataclass(frozen=True, kw_only=True)
class FingerCase:
    """A finger, how its file shows it, and what has to be stated of it."""

    shape: FingerShape
    pose: Array
    """Frame of the finger in that of the file, (4, 4) [m]."""
    units: Literal["m", "mm"]
    suffix: Literal[".stl", ".ply", ".obj"]
    needs_base: bool
    """Whether both ends look alike."""
    needs_up: bool
    """Whether no side differs from the others."""

    def export(self, directory: Path, name: str) -> Path:
        """Write the mesh."""
        mesh = finger_mesh(self.shape)
        mesh.apply_transform(self.pose)
        mesh.apply_scale(1.0 if self.units == "m" else 1e3)
        path = directory / f"{name}{self.suffix}"
        mesh.export(path)
        return path


def random_pose(rng: np.random.Generator) -> Array:
    """A pose in space within some decimetres."""
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
    pose[:3, 3] = rng.normal(scale=0.1, size=3)
    return pose


def random_finger(seed: int) -> FingerCase:
    """Draw a finger of 3 to 12 bellows with gaps of 0.5 to 5 mm."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 13))
    gap = float(rng.uniform(0.5e-3, 5e-3))
    height = float(rng.uniform(0.010, 0.025))
    floor = max(float(rng.uniform(0.25, 0.6)) * height, MIN_FLOOR)
    lengths = rng.uniform(0.85, 1.15, count) * rng.uniform(4e-3, 10e-3)
    blocks = bool(rng.random() < 0.7)
    if blocks:
        lengths[0] *= rng.uniform(1.5, 3.0)
    else:
        lengths[:] = lengths.mean()
    width = float(rng.uniform(0.012, 0.028))
    around = bool(rng.random() < 0.15)
    section: Section = rng.choice(["square", "round", "arch"], p=[0.6, 0.2, 0.2])
    chamber: Chamber = rng.choice(
        ["none", "following", "straight", "separate"], p=[0.2, 0.4, 0.2, 0.2]
    )
    taper = float(rng.uniform(0.1, 0.5)) if rng.random() < 0.4 else 0.0
    inlet = bool(chamber in ("following", "straight") and rng.random() < 0.4)
    if around and section == "arch":
        section = "round"
    if around:
        chamber = chamber if chamber in ("none", "straight") else "straight"
        inlet = inlet and chamber != "none"
    shape = FingerShape(
        bellows=tuple(lengths.tolist()),
        gap=gap,
        height=height,
        floor=floor,
        width=width,
        valley=rng.choice(["flat", "fillet", "sharp", "round"]),
        section=section,
        chamber=chamber,
        chamber_section="square" if section == "square" and rng.random() < 0.6 else "round",
        inlet=inlet,
        taper=taper,
        narrows=float(rng.uniform(0.0, 0.3)) if rng.random() < 0.3 else 0.0,
        around=around,
    )
    return FingerCase(
        shape=shape,
        pose=random_pose(rng),
        units=rng.choice(["m", "mm"]),
        suffix=rng.choice([".stl", ".ply", ".obj"]),
        needs_base=not (blocks or inlet or taper or shape.narrows),
        needs_up=around and chamber == "none",
    )
