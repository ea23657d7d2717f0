"""Soft fingers from meshes: axes, valleys, pieces, joints and links."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.io.soft_finger.axes import HEAVY, find_valleys
from softgrasp.io.soft_finger.finger import SlicedFinger, finger_from_mesh, slice_finger
from softgrasp.mechanics.transforms import Array
from tests.support.bellows_mesh import BellowsMesh, bellows_mesh

LENGTH, WIDTH = 0.0635, 0.02


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> tuple[BellowsMesh, Path]:
    """Seven valleys, tapered, along the axes of the file, in millimetres."""
    made = bellows_mesh(7, taper=0.3, resolution=3e-3)
    path = tmp_path_factory.mktemp("meshes") / "seven.stl"
    made.surface.copy().apply_scale(1e3).export(path)
    return made, path


@pytest.fixture(scope="module")
def finger(seven: tuple[BellowsMesh, Path]) -> sg.SoftFinger:
    return finger_from_mesh(
        seven[1], units="mm", density=1100.0, bending_stiffness=2e-3, damping=3e-4,
        pressure_gain=[1e-7, 2e-7, 3e-7, 4e-7, 5e-7, 6e-7, 7e-7],
    )  # fmt: skip


def test_the_links_are_the_slices(finger, seven):
    made, _ = seven
    surface = made.surface
    masses = np.array([link.mass for link in finger.links])
    centers = np.array([link.center for link in finger.links])
    assert masses.sum() == pytest.approx(1100.0 * surface.volume, rel=1e-6)
    lifted = surface.center_mass - [0.0, 0.0, made.joints[0, 2]]
    # z counts from the section at the first valley that was found
    np.testing.assert_allclose(masses @ centers / masses.sum(), lifted, atol=1.5e-4)
    sizes = np.array([link.size for link in finger.links])
    assert sizes[:, 0].sum() == pytest.approx(LENGTH, rel=1e-6)
    assert sizes[:, 1] == pytest.approx([WIDTH] * 8, rel=1e-6)
    assert (np.diff(sizes[:, 2]) < 0.0).all()
    assert sizes[0, 2] == pytest.approx(0.021, rel=1e-6)


def test_joints_and_tip_are_in_the_frame_of_the_finger(finger, seven):
    made, _ = seven
    joints = np.array([joint.position for joint in finger.joints])
    np.testing.assert_allclose(joints, made.joints - [0, 0, made.joints[0, 2]], atol=5e-4)
    assert finger.joints[0].position[2] == 0.0
    assert finger.tip[0] == pytest.approx(LENGTH, rel=1e-6)
    assert finger.planar
    assert finger.name == "seven"
    assert finger.source == "seven.stl, sliced at 7 valleys"
    assert [joint.damping for joint in finger.joints] == [3e-4] * 7
    assert [joint.pressure_gain for joint in finger.joints] == [n * 1e-7 for n in range(1, 8)]


def test_the_springs_are_those_of_the_beam(finger):
    assert finger.compliance == pytest.approx(LENGTH / 2e-3, rel=1e-6)
    along = np.array([joint.position[0] for joint in finger.joints])
    cells = np.diff(np.concatenate([[0.0], 0.5 * (along[:-1] + along[1:]), [finger.tip[0]]]))
    assert [joint.stiffness for joint in finger.joints] == pytest.approx(2e-3 / cells)


def test_a_mass_is_shared_by_volume(seven):
    light = finger_from_mesh(seven[1], units="mm", mass=0.02, bending_stiffness=1.0, name="f")
    heavy = finger_from_mesh(seven[1], units="mm", density=1e3, bending_stiffness=1.0, name="f")
    masses = np.array([[link.mass for link in each.links] for each in (light, heavy)])
    assert masses[0].sum() == pytest.approx(0.02)
    np.testing.assert_allclose(masses[0] / masses[1], 0.02 / masses[1].sum())


def test_a_stiffness_may_change_along_the_finger(seven):
    numbers = {"units": "mm", "mass": 0.02}
    finger = finger_from_mesh(
        seven[1], **numbers, bending_stiffness=lambda x: 2e-3 * np.exp(-x / 0.03)
    )
    exact = 0.03 * (np.exp(LENGTH / 0.03) - 1.0) / 2e-3
    assert finger.compliance == pytest.approx(exact, rel=1e-4)
    springs = [joint.stiffness for joint in finger.joints]
    assert springs[1:] == sorted(springs[1:], reverse=True)


def test_youngs_modulus_gives_the_stiffness_of_every_section(tmp_path):
    # EI = E b h³/12 with h = h0 (1 − x/(2 L)); valleys are given, so a plain wedge will do
    wedge = trimesh.creation.box((0.1, 0.02, 0.01)).subdivide_to_size(5e-3)
    wedge.apply_translation((0.05, 0.0, 0.005))
    wedge.vertices[:, 2] *= 1.0 - 5.0 * wedge.vertices[:, 0]
    wedge.export(tmp_path / "wedge.ply")
    finger = finger_from_mesh(
        tmp_path / "wedge.ply", youngs_modulus=1e6, density=1e3, up=(0, 0, 1),
        valleys=[0.03, 0.06, 0.08],
    )  # fmt: skip
    bounds = np.array([0.0, 0.045, 0.07, 0.1])
    exact = 0.1 / 1e6 / (0.02 * 0.01**3 / 12.0) * np.diff((1.0 - 5.0 * bounds) ** -2.0)
    # the end piece is as stiff as its thinnest section between the joints
    exact[2] -= (
        np.diff((1.0 - 5.0 * np.array([0.08, 0.1])) ** -2.0)[0]
        * 0.1
        / 1e6
        / (0.02 * 0.01**3 / 12.0)
    )
    exact[2] += 0.02 / 1e6 / (0.02 * 0.006**3 / 12.0)
    result = [1.0 / joint.stiffness for joint in finger.joints]
    assert result == pytest.approx(exact, rel=1e-3)


def test_a_rounded_tip_does_not_make_the_last_joint_soft(tmp_path):
    made = bellows_mesh(5, resolution=2e-3)
    blunt, round_ = made.surface.copy(), made.surface.copy()
    x = made.surface.vertices[:, 0]
    into = np.clip((x - 0.058) / 0.0055, 0.0, 1.0)
    shrink = np.sqrt(np.clip(1.0 - into**2, 1e-4, 1.0))
    round_.vertices[:, 2] = 0.0105 + (round_.vertices[:, 2] - 0.0105) * shrink
    springs = []
    for name, surface in {"blunt": blunt, "round": round_}.items():
        surface.export(tmp_path / f"{name}.ply")
        finger = finger_from_mesh(
            tmp_path / f"{name}.ply", youngs_modulus=1e6, mass=0.02, base=(0, 0, 0), up=(0, 0, 1)
        )
        springs.append([joint.stiffness for joint in finger.joints])
    assert springs[1][:4] == pytest.approx(springs[0][:4], rel=2e-2)
    assert 0.7 * springs[0][4] < springs[1][4] < springs[0][4]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mass": 0.02}, "bending_stiffness"),
        ({"mass": 0.02, "bending_stiffness": 1.0, "youngs_modulus": 1e6}, "bending_stiffness"),
        ({"bending_stiffness": 1.0}, "density"),
        ({"bending_stiffness": 1.0, "mass": 1.0, "density": 1.0}, "density"),
        ({"bending_stiffness": -1.0, "mass": 0.02}, "bending_stiffness"),
        ({"youngs_modulus": float("nan"), "mass": 0.02}, "youngs_modulus"),
        ({"bending_stiffness": 1.0, "mass": 0.0}, "mass"),
        ({"bending_stiffness": 1.0, "mass": 0.02, "damping": [1.0, 2.0]}, "damping"),
        ({"bending_stiffness": 1.0, "mass": 0.02, "damping": -1.0}, "damping"),
        ({"bending_stiffness": lambda x: x[:7], "mass": 0.02}, "bending_stiffness"),
        ({"bending_stiffness": lambda x: x - 0.01, "mass": 0.02}, "bending_stiffness"),
    ],
)
def test_what_has_to_be_specified(given, sentence, seven, golden):
    golden.refused(lambda: finger_from_mesh(seven[1], units="mm", **given), sentence)


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
def test_valleys_are_detected_on_a_noisy_finger(count, tmp_path):
    made = bellows_mesh(count, taper=0.4, resolution=3e-3)
    placed(made, tmp_path / "finger.ply", seed=count, noise=NOISE)
    check_found(slice_finger(tmp_path / "finger.ply"), made, TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 7, 9])
def test_valleys_are_detected_on_many_noisy_fingers(count, tmp_path):
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
def test_a_clean_finger_is_detected_wherever_it_lies(numbers, tmp_path):
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


def test_narrow_gaps_between_boxes_are_valleys(tmp_path):
    gaps = np.array([0.02, 0.03, 0.04, 0.05, 0.06])
    steps = np.array([-1.2e-3, -1e-3, 1e-3, 1.2e-3])
    positions = np.concatenate([[0.0], (gaps[:, None] + steps).ravel(), [0.08]])
    heights = np.concatenate([[0.015], np.tile([0.015, 0.004, 0.004, 0.015], 5), [0.015]])
    # coarse in its vertices, so the gaps are worn, but in their places
    with_profile(heights, positions).export(tmp_path / "gaps.ply")
    result = slice_finger(tmp_path / "gaps.ply", base="start")
    assert result.joints[:, 0] == pytest.approx(gaps, abs=TOLERANCE)


def test_a_hollow_finger_is_sliced_at_the_valleys_of_its_outside(tmp_path):
    made = bellows_mesh(5, taper=0.3, resolution=2e-3)
    # the channel is wide under the valleys and narrow under the crests
    chamber = bellows_mesh(
        (0.004, 0.0148, 0.0254, 0.036, 0.0466), length=0.0525, width=0.014, height=0.006,
        depth=0.003, resolution=2e-3,
    ).surface  # fmt: skip
    chamber.apply_translation((0.005, 0.0, 0.001))
    chamber.invert()
    trimesh.util.concatenate([made.surface, chamber]).export(tmp_path / "hollow.ply")
    with pytest.warns(sg.SoftgraspWarning, match="its chambers lie so low that pressure bends it"):
        assert slice_finger(tmp_path / "hollow.ply").transform[2, 2] < 0.0
    result = slice_finger(tmp_path / "hollow.ply", up=(0, 0, 1))
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


def test_the_heights_along_the_finger_are_those_of_the_outline(tapered):
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
def test_the_base_is_where_it_is_specified(given, tapered):
    made, path = tapered
    result = slice_finger(path, **given)
    assert result.joints[:, 0] == pytest.approx(0.0635 - made.valleys[::-1], abs=TOLERANCE)
    assert result.transform[:3, 0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)
    assert result.transform[:3, 2] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)


def test_of_two_ends_the_flatter_is_the_base(tmp_path):
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


def test_similar_ends_are_reported(tmp_path):
    bellows_mesh(5, resolution=3e-3).surface.export(tmp_path / "even.ply")
    with warned("even.ply: both ends look alike; the base is taken to be the one near (0, -0.01, "):
        result = slice_finger(tmp_path / "even.ply")
    assert result.transform[:3, 0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def test_bellows_on_two_sides_are_reported(tmp_path):
    surface = bellows_mesh(5, taper=0.3, width=0.03, resolution=3e-3).surface
    x, _, z = surface.vertices.T
    rings, number = np.unique(x, return_inverse=True)
    top = np.array([z[number == ring].max() for ring in range(len(rings))])
    surface.vertices[:, 2] -= 0.5 * top[number]  # half of the bellows below
    surface.export(tmp_path / "both.ply")
    with warned(
        "both.ply: no side has the bellows or the chamber alone; the finger is taken to bend away "
        "from (0, 0, 1), give up=(x, y, z), --up X Y Z, for another side"
    ):
        slice_finger(tmp_path / "both.ply")
    with warned():
        result = slice_finger(tmp_path / "both.ply", up=(0.1, 0.0, -1.0))
    assert result.transform[:3, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-6)


def test_valleys_by_hand_and_by_number(tapered):
    _, path = tapered
    assert len(slice_finger(path, valleys=5).joints) == 5
    assert len(slice_finger(path, valleys=np.int64(5)).joints) == 5
    near_the_end = slice_finger(path, valleys=(0.01, 0.0634))
    assert near_the_end.tip == pytest.approx([0.0635, 0.0, near_the_end.joints[1, 2]], abs=1e-4)
    by_hand = slice_finger(path, valleys=(0.01, 0.05))
    assert by_hand.joints[:, 0].tolist() == [0.01, 0.05]
    assert len(by_hand.pieces) == 3


def test_the_unit_of_the_file_counts_and_is_doubted(tapered, tmp_path):
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
    with warned("small.ply: the finger is 6.35e-05 m long; check its units"):
        slice_finger(tmp_path / "small.ply", units="m")


def test_small_holes_are_closed_and_reported(tapered, tmp_path):
    made, _ = tapered
    kept = np.arange(len(made.surface.faces)) % 37 != 0
    torn = trimesh.Trimesh(made.surface.vertices, made.surface.faces[kept], process=False)
    torn.export(tmp_path / "torn.ply")
    with warned("torn.ply: not watertight: "):
        check_found(slice_finger(tmp_path / "torn.ply"), made, TOLERANCE)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"units": "km"}, "units"), ({"base": "ende"}, "base"), ({"base": (0.0, 1.0)}, "base"),
        ({"axis": (0, 0, 0)}, "axis"), ({"up": (1, 0, 0)}, "up"),
        ({"valleys": (0.02, 0.01)}, "valleys"), ({"valleys": 7}, "expected 7 valleys"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(given, field, tapered, golden):
    with pytest.raises(sg.DescriptionError) as caught:
        slice_finger(tapered[1], **given)
    golden(str(caught.value).replace(str(tapered[1]), "FILE"), field)


@pytest.mark.slow
def test_a_bar_is_divided_evenly(tmp_path):
    path = tmp_path / "bar.ply"
    bar = trimesh.creation.box((0.06, 0.02, 0.015)).subdivide_to_size(3e-3)
    bar.vertices += np.random.default_rng(0).normal(scale=NOISE, size=bar.vertices.shape)
    bar.export(path)
    with pytest.warns(sg.SoftgraspWarning, match="no valleys .* divided evenly into 8 cells, give"):
        result = slice_finger(path, up=(0, 0, 1), base="start")
    length = result.tip[0]
    np.testing.assert_allclose(result.joints[:, 0], (np.arange(8) + 0.5) / 8 * length)
    five = finger_from_mesh(
        path, up=(0, 0, 1), base="start", cells=5, youngs_modulus=1e6, density=1e3
    )
    assert five.source == "bar.ply, divided into 5 cells"
    assert five.compliance == pytest.approx(
        length / (1e6 * 0.02 * 0.015**3 / 12.0), rel=0.02
    )  # within the noise
    for options, sentence in (
        ({"cells": 3, "valleys": 3}, "cells: expected cells or valleys, found both"),
        ({"cells": 0}, "cells: expected a whole number from 1 on, found 0"),
    ):
        with pytest.raises(sg.DescriptionError) as refused:
            slice_finger(path, **options)
        assert sentence in str(refused.value)


def test_two_bodies_are_no_finger(tmp_path):
    boxes = [trimesh.creation.box((0.05, 0.02, 0.02)) for _ in range(2)]
    boxes[1].apply_translation((0.07, 0.0, 0.0))
    path = tmp_path / "two.ply"
    trimesh.util.concatenate(boxes).export(path)
    sentence = f"{path}: expected one body from base to tip, found a gap 50 mm from an end"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        slice_finger(path)


def test_half_a_surface_is_refused(tapered, tmp_path):
    made, _ = tapered
    half = trimesh.Trimesh(
        made.surface.vertices, made.surface.faces[: len(made.surface.faces) // 3], process=False
    )
    half.export(tmp_path / "half.ply")
    with pytest.raises(sg.DescriptionError) as refused:
        slice_finger(tmp_path / "half.ply")
    assert re.fullmatch(
        r".*half\.ply: expected a closed surface to slice, found a mesh that cannot be repaired: "
        r"not "
        r"watertight: \d+ edges belong to one face only; 1 hole \(\d+ % of the surface\); holes "
        r"above 20 % of the surface are too large to close: .*",
        str(refused.value),
    )


PLACES = (np.arange(500) + 0.5) / 500 * 0.06


def notched(at: Array, depths: Array, half_width: float = 1e-3) -> Array:
    """A height of 20 mm with triangular notches."""
    reach = 1.0 - np.abs(PLACES[:, None] - at) / half_width
    return 0.02 - (depths * np.clip(reach, 0.0, 1.0)).sum(axis=1)


@settings(max_examples=40)
@given(st.integers(1, 15), st.floats(0.3, 1.0), st.integers(0, 2**32 - 1))
def test_notches_are_detected_between_the_samples(count, least, seed):
    rng = np.random.default_rng(seed)
    pitch = 0.06 / (count + 1)
    at = pitch * (np.arange(1, count + 1) + rng.uniform(-0.2, 0.2, count))
    depths = 0.01 * rng.uniform(least, 1.0, count)
    result = find_valleys(PLACES, notched(at, depths))
    np.testing.assert_allclose(result.positions, at, atol=0.1 * (PLACES[1] - PLACES[0]))
    # smoothing fills a notch of 1 mm a little
    np.testing.assert_allclose(result.depths, depths, rtol=0.25)


@settings(max_examples=25)
@given(st.floats(1e-3, 1e3), st.floats(-10.0, 10.0), st.floats(1e-3, 1e3))
def test_scale_and_origin_make_no_difference(scale, origin, height):
    profile = notched(np.array([0.013, 0.03, 0.05]), np.array([0.004, 0.01, 0.007]))
    first = find_valleys(PLACES, profile)
    second = find_valleys(origin + scale * PLACES, height * profile)
    np.testing.assert_allclose((second.positions - origin) / scale, first.positions, rtol=1e-6)
    np.testing.assert_allclose(second.depths / height, first.depths, rtol=1e-9)


def test_the_position_of_a_flat_valley_is_its_middle():
    profile = np.where(np.abs(PLACES - 0.02) < 2e-3, 0.004, 0.02)
    assert find_valleys(PLACES, profile).positions == pytest.approx([0.02], abs=2e-5)


def test_ripples_are_no_valleys_and_the_ends_are_none():
    ripples = 3e-4 * np.cos(2 * np.pi * PLACES / 2e-3)
    profile = notched(np.array([0.02, 0.04]), np.array([0.01, 0.01])) + ripples
    profile *= np.where((PLACES < 1e-3) | (PLACES > 0.059), 0.5, 1.0)
    assert find_valleys(PLACES, profile).positions == pytest.approx([0.02, 0.04], abs=1e-4)


def test_the_number_that_is_expected_takes_the_deepest():
    at, depths = np.array([0.01, 0.02, 0.03, 0.04]), np.array([0.001, 0.01, 0.0012, 0.009])
    assert len(find_valleys(PLACES, notched(at, depths)).positions) == 2
    # 1 mm is a tenth of the deepest: only who knows of it is given it
    assert find_valleys(PLACES, notched(at, depths), 2).positions == pytest.approx(
        [0.02, 0.04], abs=1e-5
    )
    assert find_valleys(PLACES, notched(at, depths), 4).positions == pytest.approx(at, abs=1e-5)


@pytest.mark.parametrize(
    ("depths", "expected", "sentence"),
    [
        ([0.0001, 0.0001], 2, "expected 2 valleys between bellows"),
        ([0.01, 0.01], 3, "expected 3 valleys between bellows"),
        ([0.01, 0.008], 1, "expected 1 valley deeper than others"),
    ],
)
def test_another_number_is_refused(depths, expected, sentence, golden):
    profile = notched(np.array([0.02, 0.04]), np.array(depths))
    golden.refused(lambda: find_valleys(PLACES, profile, expected), sentence)


def test_two_minima_of_one_flat_bottom_are_one_valley():
    profile = np.where(np.abs(PLACES - 0.03) < 2e-3, 0.004, 0.02)
    profile[[240, 260]] -= 1e-9
    assert find_valleys(PLACES, profile).positions == pytest.approx([0.03], abs=1e-4)
    assert len(find_valleys(PLACES, np.full(500, 0.02)).positions) == 0


def test_no_valleys_cannot_be_expected():
    with pytest.raises(sg.DescriptionError, match=r"^expected at least 1 valley, found 0$"):
        find_valleys(PLACES, notched(np.array([0.02]), np.array([0.01])), 0)
