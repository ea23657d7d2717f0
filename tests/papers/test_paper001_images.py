"""Synthetic RGB-D images: marks, depths, and accuracy of the picked angles."""

from __future__ import annotations

import numpy as np
import pytest

from examples.paper001.accuracy import STATIONS, ReferenceShape, reference_finger, shape_at
from examples.paper001.images import RgbdImage, RgbdTestRig, detected_marks, in_order, rgbd_camera
from examples.paper001.pieces import LENGTHS
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.camera import deproject
from softgrasp.vision.point_picking import Picks, measure_picks, pick_angles
from tests.conftest import Golden

pytest.importorskip("cv2", reason="OpenCV is an extra")


REFERENCE = reference_finger()


@pytest.fixture(scope="module")
def rig() -> RgbdTestRig:
    return RgbdTestRig(REFERENCE, STATIONS)


@pytest.fixture(scope="module")
def shape() -> ReferenceShape:
    return shape_at(REFERENCE, 120e3)


@pytest.fixture(scope="module")
def small(shape: ReferenceShape) -> tuple[RgbdTestRig, RgbdImage]:
    """An image of a quarter of the pixels, which is drawn quickly."""
    rig = RgbdTestRig(REFERENCE, STATIONS, rgbd_camera(640))
    return rig, rig.image(shape.joint_angles, depth_noise=2e-3, seed=1)


def edges(pixels: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack([pixels["upper"], pixels["lower"]], axis=1)


def test_marks_lie_where_the_chain_is(rig: RgbdTestRig) -> None:
    straight = rig.marks(np.zeros(40))
    seen = deproject(rig.camera, straight.pixels["middle"], straight.depths["middle"])
    np.testing.assert_allclose(np.diff(seen[:, 0]), LENGTHS, atol=1e-12)
    np.testing.assert_allclose(straight.depths["middle"], 0.35, atol=1e-12)


def test_without_noise_angles_are_those_of_the_chain_within_a_third_of_a_degree(
    rig: RgbdTestRig,
) -> None:
    for pressure in (-90e3, 50e3, 120e3):
        shape = shape_at(REFERENCE, pressure)
        marks = rig.marks(shape.joint_angles)
        result = pick_angles(rig.camera, Picks(edges(marks.pixels), marks.pixels["line"]))
        # what is left is that the chain's pieces are not of constant curvature
        assert np.degrees(np.abs(result.angles - shape.piece_angles)).max() < 0.33


def test_angles_within_a_degree_at_1280_pixels(rig: RgbdTestRig) -> None:
    """1 px in every pick, 2 mm in every depth; 60 images of three poses."""
    shapes = [shape_at(REFERENCE, pressure) for pressure in (-90e3, 50e3, 120e3)]
    all_marks = [rig.marks(shape.joint_angles) for shape in shapes]
    off = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        for shape, marks in zip(shapes, all_marks, strict=True):
            cuts, line = edges(marks.pixels), marks.pixels["line"]
            depths = np.stack([marks.depths["upper"], marks.depths["lower"]], axis=1)
            picks = Picks(
                cuts + rng.normal(0.0, 1.0, cuts.shape),
                line + rng.normal(0.0, 1.0, line.shape),
                depths + rng.normal(0.0, 2e-3, depths.shape),
            )
            off.append(pick_angles(rig.camera, picks).angles - shape.piece_angles)
    degrees = np.degrees(off)
    assert np.sqrt((degrees**2).mean(axis=0)).max() < 0.6
    assert (np.abs(degrees) < 1.0).mean() > 0.97
    # the mean of four images of a pose is within a degree without exception
    assert np.abs(degrees.reshape(5, 4, 3, 4).mean(axis=1)).max() < 1.0


@pytest.mark.slow
def test_marks_are_detected_within_a_fraction_of_a_pixel(
    small: tuple[RgbdTestRig, RgbdImage], shape: ReferenceShape
) -> None:
    rig, seen = small
    truth = rig.marks(shape.joint_angles)
    for row, pixels in detected_marks(seen.image, 5).items():
        atol = 0.25 if row == "line" else 0.35
        np.testing.assert_allclose(pixels, truth.pixels[row], atol=atol)


def test_depths_are_those_of_the_marks(
    small: tuple[RgbdTestRig, RgbdImage], shape: ReferenceShape
) -> None:
    rig, seen = small
    columns, rows = rig.marks(shape.joint_angles).pixels["middle"][1:4].astype(int).T
    assert np.abs(seen.depth[rows, columns] - 0.35).max() < 4 * 2e-3
    assert seen.depth[0, -1] == 0.0  # the wall is far away
    assert np.abs(seen.depth[seen.depth > 0.0] - 0.35).min() < 1e-4
    again = rig.image(shape.joint_angles, depth_noise=2e-3, seed=1)
    np.testing.assert_array_equal(again.depth, seen.depth)
    np.testing.assert_array_equal(again.image, seen.image)


def test_picking_the_image_gives_the_angles(
    small: tuple[RgbdTestRig, RgbdImage], shape: ReferenceShape
) -> None:
    rig, seen = small
    spots = detected_marks(seen.image, 5)
    picks = Picks(edges(spots), spots["line"])
    result = measure_picks(seen.image, rig.camera, picks, seen.depth, pick_noise=0.2)
    assert np.degrees(np.abs(result.angles - shape.piece_angles)).max() < 0.5
    other = measure_picks(seen.image, rig.camera, picks, seen.depth, anticlockwise=True)
    np.testing.assert_allclose(other.angles, -result.angles, atol=np.radians(0.05))


@pytest.mark.slow
def test_a_large_image_is_picked_within_a_degree(rig: RgbdTestRig, shape: ReferenceShape) -> None:
    seen = rig.image(shape.joint_angles, depth_noise=2e-3, seed=2)
    assert seen.image.shape == (960, 1280, 3)
    spots = detected_marks(seen.image, 5)
    noise = np.random.default_rng(0)
    cuts, line = edges(spots), spots["line"]
    picks = Picks(cuts + noise.normal(0, 1, cuts.shape), line + noise.normal(0, 1, (2, 2)))
    result = measure_picks(seen.image, rig.camera, picks, seen.depth)
    assert np.degrees(np.abs(result.angles - shape.piece_angles)).max() < 1.0


def test_refusals(rig: RgbdTestRig, small: tuple[RgbdTestRig, RgbdImage], golden: Golden) -> None:
    golden.refused(lambda: rig.marks(np.zeros(3)), "expected 40 angles, found shape")
    with pytest.raises(DescriptionError, match="expected 5 marks of one colour, found 2"):
        in_order(np.zeros((2, 2)), 5, np.zeros(2))
    picks = Picks(np.arange(8.0).reshape(4, 2), np.eye(2))
    _, seen = small
    with pytest.raises(DescriptionError, match="expected an image of 1280 × 960 pixels"):
        measure_picks(seen.image, rig.camera, picks)
