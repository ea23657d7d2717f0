"""Fingers sliced at their valleys: found however they lie, noisy, uneven, tapered, hollow."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.io.soft_finger_mesh import HEAVY, SlicedFinger, slice_finger
from softgrasp.mechanics.transforms import Array
from tests.support.bellows_mesh import BellowsMesh, bellows_mesh

NOISE = 2e-4
"""Standard deviation of the vertices that is tolerated, on a finger of 63.5 mm [m]."""
TOLERANCE = 5e-4
"""How far a joint may be from where it is [m]."""


@contextmanager
def warned(*sentences: str) -> Iterator[None]:
    """The block warns of exactly these sentences, each given by its beginning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    result = [str(warning.message) for warning in caught]
    assert len(result) == len(sentences), result
    for text, begin in zip(result, sentences, strict=True):
        assert text.startswith(begin)


def expected_joints(made: BellowsMesh) -> Array:
    """Joints of a bellows mesh in the frame of the finger."""
    return made.joints - [0.0, 0.0, made.joints[0, 2]]


def placed(made: BellowsMesh, path: Path, seed: int, noise: float = 0.0) -> Array:
    """Write the mesh somewhere, turned and noisy; returns where, (4, 4)."""
    rng = np.random.default_rng(seed)
    pose = np.eye(4)
    pose[:3, :3] = Rotation.random(rng=rng).as_matrix()
    pose[:3, 3] = rng.normal(scale=0.1, size=3)
    surface = made.surface.copy()
    surface.vertices = surface.vertices + rng.normal(scale=noise, size=surface.vertices.shape)
    surface.apply_transform(pose)
    surface.export(path)
    return pose


def check_found(result: SlicedFinger, made: BellowsMesh, tolerance: float) -> None:
    assert len(result.joints) == len(made.valleys)
    assert len(result.pieces) == len(made.valleys) + 1
    distances = np.linalg.norm(result.joints - expected_joints(made), axis=1)
    assert distances.max() < tolerance


@pytest.mark.parametrize("count", [5, 7, 9])
def test_valleys_are_found_on_a_noisy_finger(count: int, tmp_path: Path) -> None:
    made = bellows_mesh(count, taper=0.4, resolution=3e-3)
    placed(made, tmp_path / "finger.ply", seed=count, noise=NOISE)
    check_found(slice_finger(tmp_path / "finger.ply"), made, TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 7, 9])
def test_valleys_are_found_on_many_noisy_fingers(count: int, tmp_path: Path) -> None:
    made = bellows_mesh(count, taper=0.4, resolution=3e-3)
    for seed in range(20):
        placed(made, tmp_path / "finger.ply", seed, NOISE)
        check_found(slice_finger(tmp_path / "finger.ply"), made, TOLERANCE)


CASES = {
    "even": {},
    "many": {"valleys": 12},
    "one": {"valleys": 1},
    "uneven": {"valleys": (0.008, 0.014, 0.025, 0.033, 0.045, 0.051, 0.057)},
    "depths": {"depth": (0.003, 0.008, 0.004, 0.008, 0.006, 0.003, 0.005), "taper": 0.3},
    "tapered": {"taper": 0.6},
    "flat": {"width": 0.05, "height": 0.012, "depth": 0.003},
    "square": {"width": 0.017},
    "large": {"length": 0.6, "width": 0.1, "height": 0.1, "depth": 0.05, "resolution": 0.01},
}


@pytest.mark.parametrize("numbers", CASES.values(), ids=CASES.keys())
def test_a_clean_finger_is_found_wherever_it_lies(
    numbers: dict[str, object], tmp_path: Path
) -> None:
    made = bellows_mesh(**({"resolution": 2e-3} | numbers))
    length = made.surface.extents[0]
    pose = placed(made, tmp_path / "finger.ply", seed=3)
    # a finger that does not taper does not tell which end is clamped
    result = slice_finger(tmp_path / "finger.ply", base=pose[:3, 3])
    check_found(result, made, 4e-3 * length)
    lifted = np.eye(4)
    lifted[2, 3] = result.transform[:3, 2] @ (result.transform[:3, 3] - pose[:3, 3])
    np.testing.assert_allclose(result.transform, pose @ lifted, atol=1e-4)
    volumes = [piece.volume for piece in result.pieces]
    assert sum(volumes) == pytest.approx(made.surface.volume, rel=1e-6)  # PLY: single precision


def with_profile(heights: Array, positions: Array) -> trimesh.Trimesh:
    """A finger of 80 mm with a given height along it."""
    surface = bellows_mesh(1, length=0.08, resolution=1e-3, depth=1e-6).surface
    surface = surface.subdivide_to_size(2e-3)
    x = surface.vertices[:, 0]
    surface.vertices[:, 2] *= np.interp(x, positions, heights) / 0.021
    return surface


def test_narrow_gaps_between_boxes_are_valleys(tmp_path: Path) -> None:
    gaps = np.array([0.02, 0.03, 0.04, 0.05, 0.06])
    steps = np.array([-1.2e-3, -1e-3, 1e-3, 1.2e-3])
    positions = np.concatenate([[0.0], (gaps[:, None] + steps).ravel(), [0.08]])
    heights = np.concatenate([[0.015], np.tile([0.015, 0.004, 0.004, 0.015], 5), [0.015]])
    # coarse in its vertices, so the gaps are worn, but in their places
    with_profile(heights, positions).export(tmp_path / "gaps.ply")
    result = slice_finger(tmp_path / "gaps.ply", base="start")
    assert result.joints[:, 0] == pytest.approx(gaps, abs=TOLERANCE)


def test_a_hollow_finger_is_sliced_at_the_valleys_of_its_outside(tmp_path: Path) -> None:
    made = bellows_mesh(5, taper=0.3, resolution=2e-3)
    # the channel is wide under the valleys and narrow under the crests
    chamber = bellows_mesh(
        (0.004, 0.0148, 0.0254, 0.036, 0.0466), length=0.0525, width=0.014, height=0.006,
        depth=0.003, resolution=2e-3,
    ).surface  # fmt: skip
    chamber.apply_translation((0.005, 0.0, 0.001))
    chamber.invert()
    trimesh.util.concatenate([made.surface, chamber]).export(tmp_path / "hollow.ply")
    result = slice_finger(tmp_path / "hollow.ply")
    assert result.joints[:, 0] == pytest.approx(made.valleys, abs=TOLERANCE)
    volume = sum(piece.volume for piece in result.pieces)
    assert volume == pytest.approx(made.surface.volume - abs(chamber.volume), rel=1e-6)


@pytest.fixture(scope="module")
def tapered(tmp_path_factory: pytest.TempPathFactory) -> tuple[BellowsMesh, Path]:
    """Five valleys along the axes of the file, base in the origin."""
    made = bellows_mesh(5, taper=0.3, resolution=3e-3)
    path = tmp_path_factory.mktemp("meshes") / "finger.ply"
    made.surface.export(path)
    return made, path


def test_the_heights_along_the_finger_are_those_of_the_outline(
    tapered: tuple[BellowsMesh, Path],
) -> None:
    made, path = tapered
    result = slice_finger(path)
    assert result.positions[0] == 0.0
    assert result.positions[-1] == pytest.approx(0.0635)
    at_valleys = np.interp(made.valleys, result.positions, result.heights)
    np.testing.assert_allclose(at_valleys, 2.0 * made.joints[:, 2], atol=3e-4)
    moments = 0.02 * result.heights**3 / 12.0
    np.testing.assert_allclose(result.second_moments, moments, rtol=1e-5)


@pytest.mark.parametrize(
    "given", [{"base": "end"}, {"base": (0.06, 0.0, 0.0)}, {"axis": (-1, 0, 0), "base": "start"}]
)
def test_the_base_is_where_it_is_said_to_be(
    given: dict[str, object], tapered: tuple[BellowsMesh, Path]
) -> None:
    made, path = tapered
    result = slice_finger(path, **given)
    assert result.joints[:, 0] == pytest.approx(0.0635 - made.valleys[::-1], abs=TOLERANCE)
    assert result.transform[:3, 0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)
    assert result.transform[:3, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)


def test_of_two_ends_the_flatter_is_the_base(tmp_path: Path) -> None:
    surface = bellows_mesh(5, resolution=1e-3).surface
    # the tip is a cone, and the finger grows so much wider towards it that it is as thick there
    x, y, z = surface.vertices.T
    tip, wider = np.interp(x, [0.0, 0.0595, 0.0635], [1.0, 1.0, 0.6]), 1.0 + 0.2 * x / 0.0635
    surface.vertices[:, 1:] = np.stack([y * tip * wider, z * tip], -1)
    assert abs(surface.center_mass[0] / 0.0635 - 0.5) < HEAVY
    surface.apply_transform(trimesh.transformations.rotation_matrix(np.pi, (0, 0, 1)))
    surface.export(tmp_path / "blunt.ply")
    with warned():
        result = slice_finger(tmp_path / "blunt.ply")
    assert result.transform[:3, 0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)


def test_ends_that_look_alike_are_told(tmp_path: Path) -> None:
    bellows_mesh(5, resolution=3e-3).surface.export(tmp_path / "even.ply")
    with warned("even.ply: both ends look alike; the base is taken to be the one near (0, -0.01, "):
        result = slice_finger(tmp_path / "even.ply")
    assert result.transform[:3, 0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def test_bellows_on_two_sides_are_told(tmp_path: Path) -> None:
    surface = bellows_mesh(5, taper=0.3, width=0.03, resolution=3e-3).surface
    x, _, z = surface.vertices.T
    rings, number = np.unique(x, return_inverse=True)
    top = np.array([z[number == ring].max() for ring in range(len(rings))])
    surface.vertices[:, 2] -= 0.5 * top[number]  # half of the bellows below
    surface.export(tmp_path / "both.ply")
    with warned(
        "both.ply: no side has the bellows alone; the finger is taken to bend away from (0, 0, 1), "
        "give up=(x, y, z) for another side"
    ):
        slice_finger(tmp_path / "both.ply")
    with warned():
        result = slice_finger(tmp_path / "both.ply", up=(0.1, 0.0, -1.0))
    assert result.transform[:3, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-6)


def test_valleys_by_hand_and_by_number(tapered: tuple[BellowsMesh, Path]) -> None:
    _, path = tapered
    assert len(slice_finger(path, valleys=5).joints) == 5
    assert len(slice_finger(path, valleys=np.int64(5)).joints) == 5
    near_the_end = slice_finger(path, valleys=(0.01, 0.0634))
    assert near_the_end.tip == pytest.approx([0.0635, 0.0, near_the_end.joints[1, 2]], abs=1e-4)
    by_hand = slice_finger(path, valleys=(0.01, 0.05))
    assert by_hand.joints[:, 0].tolist() == [0.01, 0.05]
    assert len(by_hand.pieces) == 3


def test_the_unit_of_the_file_counts_and_is_doubted(
    tapered: tuple[BellowsMesh, Path], tmp_path: Path
) -> None:
    made, _ = tapered
    large = made.surface.copy()
    large.apply_scale(1000.0)
    large.export(tmp_path / "finger.stl")
    with warned():
        result = slice_finger(tmp_path / "finger.stl", units="mm")
    check_found(result, made, TOLERANCE)
    with warned("finger.stl: the finger is 63.5 m long; is the file in mm? Give units='mm'"):
        slice_finger(tmp_path / "finger.stl")
    small = made.surface.copy()
    small.apply_scale(1e-3)
    small.export(tmp_path / "small.ply")
    with warned("small.ply: the finger is 6.35e-05 m long; look at its units"):
        slice_finger(tmp_path / "small.ply", units="m")


def test_small_holes_are_closed_and_told(tapered: tuple[BellowsMesh, Path], tmp_path: Path) -> None:
    made, _ = tapered
    kept = np.arange(len(made.surface.faces)) % 37 != 0
    torn = trimesh.Trimesh(made.surface.vertices, made.surface.faces[kept], process=False)
    torn.export(tmp_path / "torn.ply")
    with warned("torn.ply: not watertight: "):
        check_found(slice_finger(tmp_path / "torn.ply"), made, TOLERANCE)


BY_HAND = (
    "; give their places along the finger by hand, from the base in metres, such as "
    "valleys=(0.008, 0.016)"
)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"units": "km"},
            "units: no unit of length 'km'; did you mean 'm'? known: cm, dm, in, m, mm",
        ),
        (
            {"base": "ende"},
            "base: expected 'auto', 'start', 'end' or a point, found 'ende'; did you mean 'end'? "
            "known: auto, end, start",
        ),
        ({"base": (0.0, 1.0)}, "base: expected a point (x, y, z), found (0.0, 1.0)"),
        (
            {"axis": (0, 0, 0)},
            "axis: expected a direction of three numbers, not all zero, found (0, 0, 0)",
        ),
        ({"up": (1, 0, 0)}, "up: expected a direction across the finger, found (1, 0, 0) along it"),
        (
            {"valleys": (0.02, 0.01)},
            "FILE: valleys: expected ascending places between 0 and 0.0635 m from the base, found "
            "(0.02, 0.01)",
        ),
        (
            {"valleys": 7},
            "FILE: expected 7 valleys between bellows, found 5, at 10.5, 21.2, 31.8, 42.3, 53 mm "
            "and 6.77, 6.3, 5.87, 5.54, 4.81 mm deep" + BY_HAND,
        ),
    ],
)  # fmt: skip
def test_nonsense_is_refused(
    given: dict[str, object], sentence: str, tapered: tuple[BellowsMesh, Path]
) -> None:
    _, path = tapered
    target = re.escape(sentence.replace("FILE", str(path)))
    with pytest.raises(sg.DescriptionError, match=f"^{target}$"):
        slice_finger(path, **given)


def test_a_bar_has_no_valleys(tmp_path: Path) -> None:
    path = tmp_path / "bar.ply"
    bar = trimesh.creation.box((0.06, 0.02, 0.015)).subdivide_to_size(3e-3)
    bar.vertices += np.random.default_rng(0).normal(scale=NOISE, size=bar.vertices.shape)
    bar.export(path)
    sentence = (
        f"{path}: expected valleys between bellows, found none that is 0.44 mm deep" + BY_HAND
    )
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        slice_finger(path)


def test_two_bodies_are_no_finger(tmp_path: Path) -> None:
    boxes = [trimesh.creation.box((0.05, 0.02, 0.02)) for _ in range(2)]
    boxes[1].apply_translation((0.07, 0.0, 0.0))
    path = tmp_path / "two.ply"
    trimesh.util.concatenate(boxes).export(path)
    sentence = f"{path}: expected one body from base to tip, found nothing 50 mm from an end"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        slice_finger(path)


def test_half_a_surface_is_refused(tapered: tuple[BellowsMesh, Path], tmp_path: Path) -> None:
    made, _ = tapered
    half = trimesh.Trimesh(
        made.surface.vertices, made.surface.faces[: len(made.surface.faces) // 3], process=False
    )
    half.export(tmp_path / "half.ply")
    with pytest.raises(sg.DescriptionError) as refused:
        slice_finger(tmp_path / "half.ply")
    assert re.fullmatch(
        r".*half\.ply: expected a closed surface to slice, found a mesh that cannot be mended: not "
        r"watertight: \d+ edges belong to one face only; 1 hole \(\d+ % of the surface\); holes "
        r"above 20 % of the surface are too large to guess: .*",
        str(refused.value),
    )
