"""Fingers of a twin in MuJoCo: arcs in the limit, sag of beams, repeatability."""

import numpy as np
import pytest

from softgrasp.errors import DescriptionError
from softgrasp.twin.description import FlangeSample, Twin
from softgrasp.twin.files import load_twin
from softgrasp.twin.model import TwinFingers
from softgrasp.twin.piecewise_bending import twin_shape

TWIN = load_twin()
LEVEL = FlangeSample(time=0.0, position=(0.3, 0.0, 0.5), quaternion=(0.5**0.5, 0.0, 0.5**0.5, 0.0))
"""The axis of the gripper lies along x of the base."""


def with_dynamics(**changes: float) -> Twin:
    return TWIN.replace(dynamics=TWIN.dynamics.replace(**changes))


def settled(twin: Twin, pressure: float, *, weightless: bool) -> tuple[np.ndarray, np.ndarray]:
    """Tips in the engine and on the arcs, (k, 3)."""
    fingers, shape = TwinFingers(twin), twin_shape(twin, pressure, LEVEL)
    if weightless:
        fingers.model.opt.gravity[:] = 0.0
    for _ in range(50):
        tips = fingers.advance(shape, 0.02)
    return tips, shape.tips


@pytest.mark.parametrize("frame", ["bishop", "webster"])
@pytest.mark.parametrize("phis", [(), (0.5, 0.3, -0.2, 0.4)])
def test_without_weight_the_chain_comes_to_the_arcs_with_the_square_of_its_links(frame, phis):
    gaps = []
    for links in (1, 2, 4):
        twin = with_dynamics(links=links).replace(frame=frame, phis=phis)
        tips, arcs = settled(twin, 100e3, weightless=True)
        gaps.append(np.linalg.norm(tips - arcs, axis=1))
    assert gaps[0].max() < 2e-3
    if not phis:
        np.testing.assert_allclose(np.divide(gaps[0], gaps[1]), 4.0, rtol=0.1)
    # turns about two axes do not commute: one link a piece has none to make up for that
    np.testing.assert_allclose(np.divide(gaps[1], gaps[2]), 4.0, rtol=0.1)


def test_a_straight_level_finger_sags_as_a_beam():
    """w L⁴/8EI with w = m g/L; the chain of n links has that to second order."""
    twin = with_dynamics(links=6, bending_stiffness=2e-2)
    fit = twin.finger.replace(coefficients=((0.0,) * 4,) * 4)
    tips, arcs = settled(twin.replace(finger=fit), 0.0, weightless=False)
    length = sum(fit.lengths)
    target = twin.dynamics.mass * 9.81 * length**3 / (8.0 * 2e-2)
    np.testing.assert_allclose((arcs - tips)[:, 2], target, rtol=0.02)


def test_the_same_readings_make_the_same_motion():
    runs = []
    for _ in range(2):
        fingers = TwinFingers(TWIN)
        pressures = [0.0, 40e3, 80e3, -50e3]
        runs.append([fingers.advance(twin_shape(TWIN, p, LEVEL), 0.02) for p in pressures])
    np.testing.assert_array_equal(runs[0], runs[1])


def test_a_diverged_motion_gives_nan():
    fingers = TwinFingers(with_dynamics(bending_stiffness=20.0, timestep=5e-3))
    tips = fingers.advance(twin_shape(TWIN, 100e3, LEVEL), 0.1)
    assert np.isnan(tips).all()


def test_dynamics_are_needed():
    with pytest.raises(DescriptionError, match="expected dynamics of twin 'three_fingers'"):
        TwinFingers(TWIN.replace(dynamics=None))
