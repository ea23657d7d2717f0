"""Hands of soft fingers from the mesh of one finger: gains of chambers, mounting, refusals."""

from pathlib import Path

import numpy as np
import pytest

from softgrasp.continuum.statics import PlanarChain
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.soft_finger.finger import finger_from_mesh, slice_finger, soft_hand_from_mesh
from softgrasp.mechanics.transforms import transform
from softgrasp.sim.soft_statics import blocked_force
from tests.support.bellows_mesh import bellows_mesh
from tests.support.hollow_finger import FLOOR, hollow_finger

QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
PRESSURE = 60e3


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("finger") / "finger.stl"
    hollow_finger().export(file)
    return file


@QUIET
def test_pressure_bends_as_the_beam_with_its_chambers(path):
    """The whole bending angle is p ∫ A·e/EI ds, whatever the cells."""
    young = 0.7e6
    finger = finger_from_mesh(path, youngs_modulus=young, density=1e3, pressure_gain="chambers")
    sliced = slice_finger(path)
    angle = sum(joint.pressure_gain / joint.stiffness for joint in finger.joints)
    first, last = sliced.joints[[0, -1], 0]
    ends = (sliced.positions < first) | (sliced.positions > last)
    lowest = np.interp(sliced.joints[:, 0], sliced.positions, sliced.second_moments).min()
    moments = np.where(ends, np.maximum(sliced.second_moments, lowest), sliced.second_moments)
    exact = np.trapezoid(sliced.chamber_moments / (young * moments), sliced.positions)
    assert angle == pytest.approx(exact, rel=1e-3)


@QUIET
def test_a_chamber_has_its_area_and_lever(path):
    """At a valley the section is a box with a box in it."""
    sliced = slice_finger(path)
    middle = np.abs(sliced.positions - sliced.joints[3, 0]).argmin()
    inner, height = 0.017 * 0.007, 0.011
    material = 0.02 * height - inner
    center = (0.02 * height * height / 2 - inner * (FLOOR + 0.0035)) / material
    gain = inner * (FLOOR + 0.0035 - center)
    assert sliced.chamber_moments[middle] == pytest.approx(gain, rel=0.1)


@QUIET
@pytest.mark.parametrize("fingers", [2, 5])
def test_fingers_leave_the_opening_and_bend_to_the_middle(fingers, path):
    hand = soft_hand_from_mesh(path, fingers=fingers, opening=0.05, pressure=PRESSURE)
    assert len(hand.soft_fingers) == fingers
    for digit in hand.soft_fingers:
        frame = transform(digit.base.position, digit.base.quaternion)
        along, inwards = frame[:3, 0], -frame[:3, 2]
        np.testing.assert_allclose(along, (0.0, 0.0, -1.0), atol=1e-12)
        low = min(link.center[2] - 0.5 * link.size[2] for link in digit.finger.links)
        flat = frame[:3, 3] - inwards * low
        np.testing.assert_allclose(flat + 0.025 * inwards, 0.0, atol=1e-9)
        assert digit.limits == (0.0, PRESSURE)


@QUIET
def test_without_a_pressure_the_limit_bends_a_free_finger_by_180_degrees(path):
    hand = soft_hand_from_mesh(path, fingers=2, opening=0.05)
    digit = hand.soft_fingers[0]
    limit = digit.limits[1]
    bent = sum(limit * joint.pressure_gain / joint.stiffness for joint in digit.finger.joints)
    assert bent == pytest.approx(np.pi, rel=0.05)  # the limit has two digits
    assert hand.grasps.power.per_object
    assert not soft_hand_from_mesh(
        path, fingers=2, opening=0.05, pressure=1e4
    ).grasps.power.per_object


@QUIET
def test_the_blocked_tip_balances_the_moments(path):
    """Without bending the force is that which holds the tip of the unloaded chain: linear in p."""
    hand = soft_hand_from_mesh(path, fingers=2, opening=0.05, pressure=PRESSURE)
    finger = hand.soft_fingers[0].finger
    low, high = blocked_force(finger, [10.0, 20.0])
    assert high == pytest.approx(2.0 * low, rel=1e-3)
    lever = finger.tip[0] - np.array([joint.position[0] for joint in finger.joints])
    compliance = 1.0 / np.array([joint.stiffness for joint in finger.joints])
    gains = np.array([joint.pressure_gain for joint in finger.joints])
    linear = 10.0 * (lever * compliance * gains).sum() / (lever**2 * compliance).sum()
    assert low == pytest.approx(linear, rel=0.02)
    assert len(PlanarChain.of(finger).masses) == 7


@pytest.mark.slow
@QUIET
def test_what_is_refused(path, tmp_path):
    solid = tmp_path / "solid.stl"
    bellows_mesh(7, taper=0.3).surface.export(solid)
    for file, changes, sentence in (
        (solid, {}, f"{solid}: pressure_gain: expected closed chambers on the side of the bellows, "
         "which bend the finger, found none: model them as inner surfaces of the mesh, give up "
         "(--up) where the bellows are on another side, or pressure_gain in N·m/Pa"),
        (path, {"fingers": 1}, "fingers: expected 2 to 12, found 1"),
        (path, {"opening": 0.0}, "opening: expected a number above 0, found 0"),
        (path, {"pressure": -1.0}, "pressure: expected a number above 0, found -1"),
        (path, {"poisson_ratio": 0.5},
         "poisson_ratio: expected 0 to 0.5, exclusive, found 0.5; rubber has about 0.49"),
    ):  # fmt: skip
        options = {"fingers": 3, "opening": 0.05, "pressure": PRESSURE} | changes
        with pytest.raises(DescriptionError) as refused:
            soft_hand_from_mesh(file, **options)
        assert str(refused.value) == sentence


@pytest.mark.filterwarnings("ignore:.*both ends look alike")
def test_millimetres_are_recognised(tmp_path):
    file = tmp_path / "finger.stl"
    mesh = hollow_finger()
    mesh.apply_scale(1e3)
    mesh.export(file)
    with pytest.warns(SoftgraspWarning, match="the file is taken to be in mm"):
        hand = soft_hand_from_mesh(file, fingers=3, opening=0.05, pressure=PRESSURE)
    assert hand.soft_fingers[0].length == pytest.approx(0.08, rel=1e-3)
