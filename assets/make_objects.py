"""Makes the meshes in objects/meshes: strawberry, pear, screwdriver and mug.

Run it from anywhere: ``python assets/make_objects.py [FOLDER]``. It needs numpy only and writes
the same bytes on every machine. Each object is two files: NAME.obj, a closed surface that gives
mass, inertia and the picture, and NAME_parts.obj, the convex parts that touch, made from the same
profile, so that nothing has to be decomposed. Metres; z is the object's own axis, upwards.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Surface: TypeAlias = tuple[Array, NDArray[np.int64]]
Controls: TypeAlias = Sequence[tuple[float, float]]

MM = 1e-3
AROUND = 64
"""Points around a surface that is seen."""
AROUND_PART = 24
"""Points around a part that touches: few, as every vertex of a hull costs time in contact."""

PART_TOLERANCE = 0.15 * MM
"""How far the rings of a part that touches may cut a profile short."""


# Curves


def spline(controls: Controls, count: int, *, smooth_end: bool = True) -> Array:
    """Points (count, 2) at even arc lengths of a uniform cubic B-spline with (r, z) controls.

    It begins on the axis at a right angle to it, and ends so too or else at the last control.
    """
    mirrored = (-controls[-2][0], controls[-2][1])
    extrapolated = tuple(2 * np.array(controls[-1]) - np.array(controls[-2]))
    points = np.array(
        [
            (-controls[1][0], controls[1][1]),
            *controls,
            mirrored if smooth_end else extrapolated,
        ]
    )
    t = np.linspace(0.0, 1.0, 64)[:, None]
    basis = ((1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3)
    pieces = [
        sum(weight * points[k + i] for i, weight in enumerate(basis)) / 6
        for k in range(len(points) - 3)
    ]
    return resampled(np.vstack(pieces), count)


def resampled(curve: Array, count: int) -> Array:
    """The polyline with ``count`` points at even arc lengths."""
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    wanted = np.linspace(0.0, length[-1], count)
    return np.column_stack([np.interp(wanted, length, column) for column in curve.T])


def between(profile: Array, low: float, high: float) -> Array:
    """The part of a profile with rising z between two heights."""
    inner = profile[(profile[:, 1] > low) & (profile[:, 1] < high)]
    ends = [(np.interp(z, profile[:, 1], profile[:, 0]), z) for z in (low, high)]
    return np.array([ends[0], *inner, ends[1]])


def thinned(curve: Array, tolerance: float) -> Array:
    """The fewest points of a curve that stay this close to it (Douglas and Peucker 1973)."""
    along = curve[-1] - curve[0]
    offset = curve - curve[0]
    distance = np.abs(offset[:, 0] * along[1] - offset[:, 1] * along[0]) / np.linalg.norm(along)
    far = int(np.argmax(distance))
    if distance[far] <= tolerance:
        return curve[[0, -1]]
    return np.vstack([thinned(curve[: far + 1], tolerance)[:-1], thinned(curve[far:], tolerance)])


def arc(center: tuple[float, float], radius: float, start: float, end: float, count: int) -> Array:
    """Points (count, 2) on an arc from one angle to another [deg]."""
    angle = np.radians(np.linspace(start, end, count))
    return np.array(center) + radius * np.column_stack([np.cos(angle), np.sin(angle)])


# Surfaces


def tube(rings: Sequence[Array], first: Array | None = None, last: Array | None = None) -> Surface:
    """A closed surface through rings (k, 3), with a fan at each end.

    Args:
        rings: In order of the axis, each counter-clockwise about it.
        first: Middle of the first fan; that of the ring where it is not given.
        last: Middle of the last fan.
    """
    count = len(rings[0])
    middles = [
        rings[0].mean(axis=0) if first is None else first,
        rings[-1].mean(axis=0) if last is None else last,
    ]
    vertices = np.vstack([*rings, *middles])
    faces = [face for k in range(len(rings) - 1) for face in band(k, k + 1, count)]
    start, end, top = len(vertices) - 2, len(vertices) - 1, (len(rings) - 1) * count
    for i in range(count):
        j = (i + 1) % count
        faces += [(start, j, i), (end, top + i, top + j)]
    return vertices, np.array(faces)


def band(lower: int, upper: int, count: int) -> list[tuple[int, int, int]]:
    """Triangles between two rings of a stack of rings."""
    return [face for i in range(count) for face in quad(lower, upper, i, count)]


def quad(lower: int, upper: int, i: int, count: int) -> list[tuple[int, int, int]]:
    """The two triangles between points i and i + 1 of two rings of a stack."""
    a, b, j = lower * count, upper * count, (i + 1) % count
    return [(a + i, a + j, b + j), (a + i, b + j, b + i)]


def ring(r: float, z: float, count: int, *, turn: float = 0.5) -> Array:
    """A circle of points (count, 3), turned by half a step: a facet faces +x."""
    angle = (np.arange(count) - turn) * 2 * math.pi / count
    return np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(count, z)])


def revolved(profile: Array, count: int) -> Surface:
    """A surface of revolution about z; ends of the profile (n, 2) off the axis get a lid."""
    bottom, top = (np.array([0.0, 0.0, profile[k, 1]]) for k in (0, -1))
    on_axis = np.isclose(profile[:, 0], 0.0, atol=1e-9)
    return tube([ring(r, z, count) for r, z in profile[~on_axis]], bottom, top)


def convex_slice(profile: Array) -> Surface:
    """A convex part of revolution, as wide as gives it the volume of the round one."""
    rings = thinned(profile, PART_TOLERANCE)
    return revolved(rings * (equal_area(AROUND_PART), 1.0), AROUND_PART)


def equal_area(count: int) -> float:
    """Factor on the corners of a regular polygon that gives it the area of its circle."""
    step = 2 * math.pi / count
    return math.sqrt(step / math.sin(step))


def normals(vertices: Array, faces: NDArray[np.int64]) -> Array:
    """Unit normals (n, 3) of vertices, weighted by the areas of their faces."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    result = np.zeros_like(vertices)
    for corner in faces.T:
        np.add.at(result, corner, np.cross(b - a, c - a))
    return result / np.linalg.norm(result, axis=1, keepdims=True)


def outside(profile: Array) -> Array:
    """The part of a profile from its lowest to its highest point, without hollows at the ends."""
    return profile[np.argmin(profile[:, 1]) : np.argmax(profile[:, 1]) + 1]


# Strawberry: 40 mm wide, 45 mm high, tip down, a dent for every seed

STRAWBERRY: Controls = (
    (0, 0), (5.5, 0), (11.5, 8), (17.2, 19), (20.9, 30), (19.8, 40.5), (13, 46.5), (6, 46), (0, 43),
)  # fmt: skip
SEEDS, SEED_DEPTH, SEED_RADIUS = 64, 0.9 * MM, 1.6 * MM


def strawberry() -> tuple[Surface, list[Surface]]:
    """The berry, and its hull without dents."""
    profile = spline(STRAWBERRY, 44) * MM
    vertices, faces = revolved(profile, AROUND)
    distance = np.linalg.norm(vertices[:, None] - strawberry_seeds(profile), axis=2)
    depth = SEED_DEPTH * np.exp(-((distance / SEED_RADIUS) ** 2)).sum(axis=1)
    dented = vertices - depth[:, None] * normals(vertices, faces)
    return (dented, faces), [convex_slice(outside(profile))]


def strawberry_seeds(profile: Array) -> Array:
    """Points (n, 3) of even density on the flank, turned by golden angles."""
    flank = resampled(between(outside(profile), 4 * MM, 41 * MM), 200)
    area = np.concatenate([[0.0], np.cumsum((flank[1:, 0] + flank[:-1, 0]) / 2)])
    wanted = (np.arange(SEEDS) + 0.5) / SEEDS * area[-1]
    r, z = (np.interp(wanted, area, column) for column in flank.T)
    turn = np.arange(SEEDS) * math.pi * (3 - math.sqrt(5))
    return np.column_stack([r * np.cos(turn), r * np.sin(turn), z])


# Pear: 64 mm wide, 90 mm high, the neck a little hollow

PEAR: Controls = (
    (0, 2.5), (6, 0.5), (16.5, -1), (27.2, 7), (33.4, 22), (30.5, 40), (20.4, 55), (15.3, 68),
    (14.2, 80), (9.8, 89.5), (4, 90.5), (0, 89),
)  # fmt: skip
PEAR_CUTS = (50.0, 58.0, 66.0, 73.5)
"""Heights at which it is cut [mm]: the hollow of the neck becomes three cones."""


def pear() -> tuple[Surface, list[Surface]]:
    """The pear, and five slices that keep its neck."""
    profile = spline(PEAR, 46) * MM
    whole = outside(profile)
    cuts = [whole[0, 1], *(z * MM for z in PEAR_CUTS), whole[-1, 1]]
    return revolved(profile, AROUND), [
        convex_slice(straight(between(whole, low, high))) for low, high in pairwise(cuts)
    ]


def straight(profile: Array) -> Array:
    """The profile, or its two ends where it is hollow between them."""
    middle = profile[len(profile) // 2]
    chord = np.interp(middle[1], profile[[0, -1], 1], profile[[0, -1], 0])
    return profile if middle[0] > chord else profile[[0, -1]]


# Screwdriver: handle of radius 14 mm with six soft edges, shaft of 3 mm, flat blade; 190 mm long

HANDLE: Controls = (
    (0, 0), (7, 0), (13.4, 0.4), (14.2, 7), (13.8, 20), (14.1, 48), (13.9, 64), (12.2, 77),
    (9.0, 85), (9.6, 92), (11.0, 98),
)  # fmt: skip
NECK, HANDLE_END, TAPER, LENGTH = 86 * MM, 98 * MM, 172 * MM, 190 * MM
SHAFT = 3 * MM
BLADE = (3.2 * MM, 0.5 * MM)
EDGES, EDGE_HEIGHT = 6, 0.024


def screwdriver() -> tuple[Surface, list[Surface]]:
    """The screwdriver, and its grip, collar, shaft and blade."""
    profile = spline(HANDLE, 48, smooth_end=False) * MM
    handle = [edged(r, z, AROUND) for r, z in profile[1:]]
    shaft = [ring(SHAFT, z, AROUND) for z in (HANDLE_END, TAPER)]
    blade = [blade_section(part, AROUND) for part in np.linspace(0.0, 1.0, 7)[1:]]
    butt = np.array([0.0, 0.0, profile[0, 1]])
    grip = thinned(between(profile[1:], profile[1, 1], NECK), PART_TOLERANCE)
    collar = between(profile, NECK, HANDLE_END)[[0, -1]]
    parts = [
        [edged(r, z, 36) for r, z in grip],
        [edged(r, z, 36) for r, z in collar],
        [ring(SHAFT, z, 12) for z in (HANDLE_END, TAPER)],
        [blade_section(part, 12) for part in (0.0, 1.0)],
    ]
    return tube([*handle, *shaft, *blade], first=butt), [tube(rings) for rings in parts]


def edged(r: float, z: float, count: int) -> Array:
    """A cross-section of the handle: r at six soft edges, less between; flats face ±x.

    r (1 − h cos 6θ) / (1 + h) is convex for h < 1/35.
    """
    circle = ring(1.0, z, count)
    angle = np.arctan2(circle[:, 1], circle[:, 0])
    height = EDGE_HEIGHT * min(1.0, r / (12 * MM)) ** 2
    radii = r * (1 - height * np.cos(EDGES * angle)) / (1 + height)
    return circle * np.column_stack([radii, radii, np.ones(count)])


def blade_section(part: float, count: int) -> Array:
    """A cross-section of the blade, from the round shaft (0) to the flat end (1)."""
    circle = ring(1.0, TAPER + part * (LENGTH - TAPER), count)
    exponent = 1 / (1 + 3 * part)
    corners = np.sign(circle[:, :2]) * np.abs(circle[:, :2]) ** exponent
    sizes = SHAFT + part * (np.array(BLADE) - SHAFT)
    return np.column_stack([corners * sizes, circle[:, 2]])


# Mug: radius 37 mm, height 82 mm, wall 3.5 mm; a D-shaped handle at +y, its hole 26 x 40 mm

RADIUS, HEIGHT, WALL, BOTTOM, FOOT = 37 * MM, 82 * MM, 3.5 * MM, 5 * MM, 4 * MM
LIP = WALL / 2
MUG_AROUND, WEDGES = 80, 20
HOLE_DEPTH = 26 * MM
HANDLE_HALF_WIDTH, HANDLE_HALF_THICKNESS = 5.6 * MM, 4 * MM
HANDLE_BOTTOM, HANDLE_TOP = 18 * MM, 66 * MM
HANDLE_SECTIONS, HANDLE_PARTS = 30, 12
ROOT_COLUMNS, ROOT_ROWS = 4, 3
"""Quads of the wall that each root of the handle takes, around and upwards."""
RIM = 2 * (ROOT_COLUMNS + ROOT_ROWS)


def mug() -> tuple[Surface, list[Surface]]:
    """The mug; and its bottom, wedges of its wall and pieces of its handle."""
    profile, roots = mug_profile()
    rings = [ring(r, z, MUG_AROUND, turn=0.0) for r, z in profile]
    vertices, _ = tube(rings, np.zeros(3), np.array([0.0, 0.0, BOTTOM]))
    path = handle_path(HANDLE_SECTIONS)[1:-1]
    faces = wall_faces(len(rings), roots) + handle_faces(vertices, roots, path)
    sections = np.vstack([section for section, _ in path])
    parts = [mug_bottom(), *(mug_wedge(k) for k in range(WEDGES)), *handle_parts()]
    return (np.vstack([vertices, sections]), np.array(faces)), parts


def mug_profile() -> tuple[Array, tuple[int, int]]:
    """Rows (r, z), up outside and down inside, and the rows where the handle's roots begin."""
    half = HANDLE_HALF_THICKNESS
    low, high = (
        np.linspace(z - half, z + half, ROOT_ROWS + 1) for z in (HANDLE_BOTTOM, HANDLE_TOP)
    )
    heights = np.concatenate([low, np.linspace(low[-1], high[0], 6)[1:-1], high])
    foot = arc((RADIUS - FOOT, FOOT), FOOT, -90, 0, 6)
    outer = np.column_stack([np.full(len(heights), RADIUS), heights])
    lip = arc((RADIUS - LIP, HEIGHT - LIP), LIP, 0, 180, 9)
    inner = np.array([(RADIUS - WALL, z) for z in (0.5 * HEIGHT, BOTTOM)])
    under, floor = np.array([(RADIUS / 2, 0.0)]), np.array([(RADIUS / 2, BOTTOM)])
    first = len(under) + len(foot)
    rows = (first, first + len(heights) - len(high))
    return np.vstack([under, foot, outer, lip, inner, floor]), rows


def wall_faces(rings: int, roots: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Faces of the mug without its handle, open where the roots stand."""
    column = MUG_AROUND // 4 - ROOT_COLUMNS // 2
    open_rows = {root + k for root in roots for k in range(ROOT_ROWS)}
    open_columns = {column + k for k in range(ROOT_COLUMNS)}
    faces = []
    for row in range(rings - 1):
        for i in range(MUG_AROUND):
            if not (row in open_rows and i in open_columns):
                faces += quad(row, row + 1, i, MUG_AROUND)
    start, end, top = rings * MUG_AROUND, rings * MUG_AROUND + 1, (rings - 1) * MUG_AROUND
    for i in range(MUG_AROUND):
        j = (i + 1) % MUG_AROUND
        faces += [(start, j, i), (end, top + i, top + j)]
    return faces


def handle_path(count: int) -> list[tuple[Array, Array]]:
    """Sections of the handle, from the upper root to the lower one.

    Returns:
        For each section its points (RIM, 3), and its frame: middle and two axes as rows (3, 3).
    """
    u = np.radians(np.linspace(90, -90, 721))
    depth, half = HOLE_DEPTH + HANDLE_HALF_THICKNESS, (HANDLE_TOP - HANDLE_BOTTOM) / 2
    curve = np.column_stack([np.cos(u), np.sin(u)])
    curve = np.sign(curve) * np.abs(curve) ** (2 / 2.6) * (depth, half)
    line = resampled(np.array([RADIUS, (HANDLE_TOP + HANDLE_BOTTOM) / 2]) + curve, count)
    tangents = np.gradient(line, axis=0)
    tangents[[0, -1]] = [(1.0, 0.0), (-1.0, 0.0)]
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    phase = np.sort((np.arange(RIM) * 2 * math.pi / RIM - math.pi / 2 + math.pi) % (2 * math.pi))
    phase -= math.pi
    result = []
    for (y, z), (ty, tz) in zip(line, tangents, strict=True):
        across, up = np.array([-1.0, 0.0, 0.0]), np.array([0.0, -tz, ty])
        middle = np.array([0.0, y, z])
        wide = np.outer(HANDLE_HALF_WIDTH * np.cos(phase), across)
        thick = np.outer(HANDLE_HALF_THICKNESS * np.sin(phase), up)
        result.append((middle + wide + thick, np.array([middle, across, up])))
    return result


def handle_faces(
    vertices: Array, roots: tuple[int, int], path: Sequence[tuple[Array, Array]]
) -> list[tuple[int, int, int]]:
    """Faces of the handle, from the rim of the upper root through the sections to the lower."""
    sections = [
        list(range(start, start + RIM))
        for start in range(len(vertices), len(vertices) + len(path) * RIM, RIM)
    ]
    upper = root_rim(vertices, roots[1], path[0][1])
    lower = root_rim(vertices, roots[0], path[-1][1])
    stack = [upper, *sections, lower]
    faces = []
    for a, b in pairwise(stack):
        for i in range(RIM):
            j = (i + 1) % RIM
            faces += [(a[i], a[j], b[j]), (a[i], b[j], b[i])]
    return faces


def root_rim(vertices: Array, row: int, frame: Array) -> list[int]:
    """Vertices around a root, in the order of the points of a section with that frame."""
    column = MUG_AROUND // 4 - ROOT_COLUMNS // 2
    rim = [
        (row + i) * MUG_AROUND + column + j
        for i in range(ROOT_ROWS + 1)
        for j in range(ROOT_COLUMNS + 1)
        if i in (0, ROOT_ROWS) or j in (0, ROOT_COLUMNS)
    ]
    _, across, up = frame
    points = vertices[rim]
    points = points - points.mean(axis=0)
    return [rim[k] for k in np.argsort(np.arctan2(points @ up, points @ across))]


def mug_bottom() -> Surface:
    """The disc inside the wall."""
    return convex_slice(np.array([(RADIUS - WALL, 0.0), (RADIUS - WALL, BOTTOM)]))


def mug_wedge(number: int) -> Surface:
    """A piece of the wall: flat inside and outside, as thick as the round wall on average."""
    foot = arc((RADIUS - FOOT, FOOT), FOOT, -83, 0, 4)
    lip = arc((RADIUS - LIP, HEIGHT - LIP), LIP, 0, 180, 5)
    profile = np.vstack([(RADIUS - WALL, foot[0, 1]), foot, lip])
    half = math.pi / WEDGES
    outer = np.where(profile[:, 0] > RADIUS - LIP, equal_area(2 * WEDGES), 0.0)
    inner = np.where(profile[:, 0] > RADIUS - LIP, 0.0, equal_area(WEDGES))
    rings = []
    for side in (-1, 0, 1):
        chord = math.cos(half) if side == 0 else 1.0
        r = profile[:, 0] * (outer + inner * chord)
        angle = (2 * number + side) * half
        rings.append(np.column_stack([r * math.cos(angle), r * math.sin(angle), profile[:, 1]]))
    return tube([points[::-1] for points in rings])


def handle_parts() -> list[Surface]:
    """Straight pieces of the handle."""
    sections = [points for points, _ in handle_path(HANDLE_PARTS + 1)]
    return [tube(pair) for pair in pairwise(sections)]


# Files

OBJECTS = {"strawberry": strawberry, "pear": pear, "screwdriver": screwdriver, "mug": mug}


def obj_text(title: str, surfaces: dict[str, Surface]) -> str:
    """An OBJ file with one object a surface, coordinates to 0.1 µm."""
    lines = [f"# {title}; metres; made by assets/make_objects.py"]
    first = 1
    for name, (vertices, faces) in surfaces.items():
        lines.append(f"o {name}")
        # + 0.0 turns -0.0 into 0.0
        lines += ["v {:.7f} {:.7f} {:.7f}".format(*row) for row in np.round(vertices, 7) + 0.0]
        lines += ["f {} {} {}".format(*row) for row in faces + first]
        first += len(vertices)
    return "\n".join(lines) + "\n"


def make(folder: Path) -> list[Path]:
    """Write all meshes into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, shape in OBJECTS.items():
        surface, parts = shape()
        named = {f"{name}_{index}": part for index, part in enumerate(parts)}
        texts = {
            f"{name}.obj": obj_text(name, {name: surface}),
            f"{name}_parts.obj": obj_text(f"convex parts of the {name}", named),
        }
        for file, text in texts.items():
            files.append(folder / file)
            files[-1].write_text(text, encoding="utf-8", newline="\n")
    return files


if __name__ == "__main__":
    shipped = Path(__file__).resolve().parent.parent / "objects" / "meshes"
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else shipped)
