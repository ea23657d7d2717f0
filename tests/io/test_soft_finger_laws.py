"""Laws of reading a finger from its mesh: rigid motion, mirror images, and scale."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from softgrasp.io.soft_finger.finger import SlicedFinger, finger_from_mesh, slice_again
from softgrasp.io.soft_finger.finger import slice_finger as slice_file
from softgrasp.mechanics.transforms import Array
from tests.support.pneunet_mesh import finger_mesh, random_finger, random_pose

pytestmark = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
SEEDS = (1, 2, 4, 9)
"""Fingers with flat, filleted and round valleys; two bend towards their bellows."""
SIZES = {
    "joints": 1, "tip": 1, "positions": 1, "heights": 1, "centers": 1, "chamber_sides": 1,
    "chamber_areas": 2, "chamber_moments": 3, "second_moments": 4,
}  # fmt: skip
"""Arrays of a finger that do not depend on its pose, and the power of the length in each."""


def read(directory: Path, seed: int, transform: Array) -> SlicedFinger:
    """Read a finger whose mesh is transformed by a matrix (4, 4)."""
    surface = finger_mesh(random_finger(seed).shape)
    surface.apply_transform(transform)  # a mirror image keeps its faces outward
    path = directory / "finger.ply"
    surface.export(path)
    return slice_file(path, base=tuple(transform[:3, 3]))


def assert_equal(result: SlicedFinger, expected: SlicedFinger, scale: float = 1.0) -> None:
    assert len(result.pieces) == len(expected.pieces)
    for name, power in SIZES.items():
        first, second = getattr(result, name), scale**power * getattr(expected, name)
        largest = np.abs(second[np.isfinite(second)]).max()
        # PLY has single precision, so a section beside a step may be on either side of it
        different = ~np.isclose(first, second, rtol=2e-3, atol=2e-3 * largest)
        assert different.mean() < 0.02, name


@pytest.fixture(scope="module", params=SEEDS)
def plain(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, SlicedFinger]:
    """A seed, and its finger where it was made."""
    return request.param, read(tmp_path_factory.mktemp("plain"), request.param, np.eye(4))


@pytest.mark.slow
def test_a_rigid_motion_moves_the_frame_only(plain, tmp_path):
    seed, first = plain
    pose = random_pose(np.random.default_rng(seed))
    second = read(tmp_path, seed, pose)
    assert_equal(second, first)
    np.testing.assert_allclose(second.transform, pose @ first.transform, atol=2e-3)


def test_a_mirror_image_has_the_mirrored_frame(plain, tmp_path):
    """Fingers are symmetric to their bending plane, so only the direction across is reversed."""
    (seed, first), mirror = plain, np.eye(4)
    normal = np.random.default_rng(seed).normal(size=3)
    normal /= np.linalg.norm(normal)
    mirror[:3, :3] -= 2.0 * np.outer(normal, normal)
    second = read(tmp_path, seed, mirror)
    assert_equal(second, first)
    image = mirror @ first.transform @ np.diag([1.0, -1.0, 1.0, 1.0])
    np.testing.assert_allclose(second.transform, image, atol=2e-3)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_lengths_scale(scale, plain, tmp_path):
    seed, first = plain
    second = read(tmp_path, seed, np.diag([scale, scale, scale, 1.0]))
    assert_equal(second, first, scale)


def test_a_finger_is_cut_again_while_its_mesh_is_the_same(tmp_path):
    case = random_finger(1)
    path = case.export(tmp_path, "finger")
    finger = finger_from_mesh(
        path, units=case.units, youngs_modulus=1e6, density=1e3, up=tuple(case.pose[:3, 2]),
        valleys=case.shape.valleys, base=case.pose[:3, 3],
    )  # fmt: skip
    assert finger.mesh is not None
    again = slice_again(finger.mesh)
    np.testing.assert_allclose(again.joints, [joint.position for joint in finger.joints])
    trimesh.creation.box().export(path)
    assert slice_again(finger.mesh) is None
    path.unlink()
    assert slice_again(finger.mesh) is None
