"""Symmetry of hands: motions detected, invariant grasps, equal rates of symmetric fingers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.description.hand import Hand
from softgrasp.grasp_synthesis import DescribedHand
from softgrasp.grasp_synthesis.closing_motion import closing_of
from softgrasp.grasp_synthesis.hand_model import thin_surfaces
from softgrasp.grasp_synthesis.search import FINE_STEPS
from softgrasp.grasp_synthesis.sweep import SweepCache
from softgrasp.grasp_synthesis.symmetry import Symmetry, symmetry_of
from softgrasp.io.grasp_presets import link_surfaces
from softgrasp.mechanics.transforms import Array
from tests.support.gripper_urdf import gripper_urdf
from tests.support.robots import written


def symmetry(hand: Hand) -> Symmetry:
    """Compute the symmetry of the closing motion of a hand."""
    described = DescribedHand(hand, link_surfaces(hand))
    closing = closing_of(described)
    cache = SweepCache(
        described, thin_surfaces(described).fine, np.ones(len(closing.start)), FINE_STEPS
    )
    return symmetry_of(cache.sweep(closing))


def random_gripper(seed: int, rotation: Array | None = None) -> str:
    """Write a gripper with random finger number and lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.04, 0.07, size=2)
    return gripper_urdf(2 + seed % 4, lengths.tolist(), float(rng.uniform(0.03, 0.05)), rotation)


@pytest.mark.parametrize("fingers", [2, 3, 4])
def test_all_rotations_and_reflections_are_detected(tmp_path: Path, fingers: int) -> None:
    """k fingers in planes through the axis have k rotations and k reflections."""
    result = symmetry(sg.load_hand(written(tmp_path, gripper_urdf(fingers), "hand.urdf")))
    assert len(result.motions) == 2 * fingers
    np.testing.assert_allclose(np.abs(result.free_axes), [[0.0, 0.0, 1.0]], atol=1e-6)
    np.testing.assert_allclose(result.origin[:2], 0.0, atol=1e-6)
    assert result.alike(0) == list(range(fingers))
    position = np.array([[0.01, -0.02, 0.05]])
    np.testing.assert_allclose(result.nearest(position), [[0.0, 0.0, 0.05]], atol=1e-6)
    for motion in result.motions:
        np.testing.assert_allclose(motion @ [0.0, 0.0, 0.05, 1.0], [0, 0, 0.05, 1], atol=1e-6)


@pytest.mark.slow
def test_one_thicker_finger_leaves_one_reflection(tmp_path: Path) -> None:
    """Of three fingers the first is thicker: only the reflection in its plane remains."""
    text = gripper_urdf(3).replace("0.016 0.016 0.05", "0.03 0.03 0.05", 1)
    result = symmetry(sg.load_hand(written(tmp_path, text, "hand.urdf")))
    assert len(result.motions) == 2
    assert result.alike(1) == [1, 2]
    position = result.nearest(np.array([[0.01, 0.02, 0.05]]))
    np.testing.assert_allclose(position, [[0.01, 0.0, 0.05]], atol=1e-4)


def test_different_fingers_have_no_symmetry(tmp_path: Path) -> None:
    text = gripper_urdf(3)
    text = text.replace('lower="-0.6" upper="1.57"', 'lower="-0.6" upper="1.2"', 1)
    text = text.replace("0.016 0.016 0.05", "0.03 0.016 0.05", 1)
    text = text.replace('xyz="0 0 0.06"', 'xyz="0 0.004 0.06"', 1)
    assert symmetry(sg.load_hand(written(tmp_path, text, "hand.urdf"))).trivial


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_gripper_of_equal_fingers_grasps_on_its_axis(tmp_path: Path, seed: int) -> None:
    for _, preset in sg.load_hand(written(tmp_path, random_gripper(seed), "hand.urdf")).grasps:
        assert np.hypot(*preset.center[:2]) < 1e-3
        assert preset.center[2] > 0.02  # in front of the palm
        rates = np.reshape(preset.rates, (2 + seed % 4, -1))
        np.testing.assert_allclose(rates, np.broadcast_to(rates[0], rates.shape), rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_grasp_rotates_with_a_symmetric_hand(tmp_path: Path, seed: int) -> None:
    rotation = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    first = sg.load_hand(written(tmp_path, random_gripper(seed), "one.urdf"))
    second = sg.load_hand(written(tmp_path, random_gripper(seed, rotation), "other.urdf"))
    for (_, plain), (_, rotated) in zip(first.grasps, second.grasps, strict=True):
        np.testing.assert_allclose(rotation @ plain.center, rotated.center, atol=1e-3)
        np.testing.assert_allclose(plain.rates, rotated.rates, rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("grasp", ["power", "precision"])
@pytest.mark.parametrize("name", ["sphere", "strawberry", "cylinder", "mug"])
def test_three_equal_fingers_hold_objects(tmp_path: Path, name: str, grasp: str) -> None:
    hand = sg.load_hand(written(tmp_path, gripper_urdf(3), "hand.urdf"))
    obj, criterion = sg.load_object(name), sg.SuccessCriterion()
    result = sg.simulate(sg.GraspScene(hand=hand, object=obj, grasp=grasp, success=criterion))
    assert result.held, result.message
