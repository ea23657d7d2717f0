"""Releases in MuJoCo against closed forms; other engines are held to it in tests/crosschecks."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.settling import settling
from softgrasp.sim.soft_dynamics import linear_mode, release_motion, rest_shape, small_motion
from softgrasp.sim.soft_statics import damped_finger, loaded_finger, loaded_shape


@pytest.fixture(scope="module")
def release() -> sg.FingerRelease:
    return sg.load_release("paper000_release")


def test_the_shape_under_the_weight_is_that_of_equilibrium(release: sg.FingerRelease) -> None:
    rest = sg.equilibrium(release.finger, tip_mass=release.tip_mass, error_estimate=False)
    np.testing.assert_allclose(loaded_shape(release), rest.joint_angles, atol=1e-10)


def test_a_weight_in_the_last_link_is_one_at_the_tip(release: sg.FingerRelease) -> None:
    loaded = loaded_finger(release.finger, release.tip_mass)
    rest = sg.equilibrium(loaded, error_estimate=False)
    np.testing.assert_allclose(rest.joint_angles, loaded_shape(release), atol=1e-10)
    extra = loaded.links[-1].mass - release.finger.links[-1].mass
    assert extra == pytest.approx(release.tip_mass)


def test_a_finger_creeps_to_its_shape_of_rest(release: sg.FingerRelease) -> None:
    loaded = loaded_finger(release.finger, release.tip_mass)
    way = rest_shape(loaded, small_motion(loaded).rate, "mujoco", timestep=1e-3)
    np.testing.assert_allclose(way.angles[-1], loaded_shape(release), atol=1e-9)


def test_a_release_starts_at_rest_and_ends_without_the_weight(release: sg.FingerRelease) -> None:
    motion = release_motion(release)
    assert motion.angles.shape == (1001, 7)
    assert motion.tip.shape == (1001, 2)
    assert motion.engine.name == "mujoco"
    np.testing.assert_allclose(motion.angles[0], loaded_shape(release))
    rest = sg.equilibrium(release.finger, error_estimate=False)
    np.testing.assert_allclose(motion.angles[-1], rest.joint_angles, atol=1e-4)


def test_samples_do_not_depend_on_how_often_the_engine_steps(release: sg.FingerRelease) -> None:
    fine = release_motion(release, timestep=2.5e-4)
    finer = release_motion(release, timestep=1.25e-4)
    assert fine.angles.shape == finer.angles.shape
    assert np.degrees(np.abs(fine.angles - finer.angles).max()) < 0.02


def test_all_of_the_damping_is_c_plus_hk(release: sg.FingerRelease) -> None:
    whole, plain = damped_finger(release), release.finger
    for joint, own in zip(whole.joints, plain.joints, strict=True):
        assert joint.damping == pytest.approx(own.damping + 1e-3 * own.stiffness)
    assert damped_finger(release.replace(webots_timestep=None)) == plain
    # without it the finger swings on for longer
    times = [
        settling(motion.time, motion.tip[:, 1], "band-5%").time
        for motion in (
            release_motion(one) for one in (release, release.replace(webots_timestep=None))
        )
    ]
    assert times[1] > 1.2 * times[0]


def test_the_linear_mode_is_that_of_its_formulas(release: sg.FingerRelease) -> None:
    finger = damped_finger(release)
    mode = linear_mode(finger)
    # a damped mode swings a little slower than the one without dampers, and dies away with ζ·ω
    rate = small_motion(finger).rate
    assert mode.frequency < rate / (2 * np.pi) < mode.frequency / np.sqrt(1 - mode.ratio**2) * 1.01
    assert mode.decay == pytest.approx(mode.ratio * rate, rel=0.01)
    steps = [linear_mode(finger, step) for step in (1e-3, 1e-4, 1e-5)]
    errors = [abs(one.frequency - mode.frequency) for one in steps]
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.1)


def test_a_weight_that_cannot_be_carried_is_told(release: sg.FingerRelease) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        loaded_shape(release.replace(tip_mass=1e9))
    assert str(refused.value) == (
        "tip_mass: expected a weight that the finger carries, found 1e+09 kg"
    )


def test_a_time_step_that_diverges_is_told(release: sg.FingerRelease) -> None:
    with pytest.raises(sg.SimulationError, match="diverging"):
        release_motion(release.replace(sample_period=5e-3, duration=1.0), timestep=5e-3)
