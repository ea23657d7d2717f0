"""How far a held ball precision_sink: one lever, one weight, and springs side by side."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.grasp_synthesis import Digit, DigitJoint
from softgrasp.grasp_synthesis.compliance import (
    CONTACT,
    GRAVITY,
    WEIGHT,
    Hinges,
    hinges_of,
    sink_distances,
)

UP = np.array([0.0, 0.0, 1.0])
TIP = np.array([0.1, 0.0, 0.0])
STIFFNESS = 5.0


def finger(axis: tuple[float, float, float], mass: float = 0.0) -> Hinges:
    """Return a finger of 0.1 m along x with a hinge at the origin and its mass in the middle."""
    joint = DigitJoint(0, "link", np.array(axis), STIFFNESS)
    digit = Digit("finger", (joint,), ("link",), "link", TIP, (("link", mass, TIP / 2.0),))
    return hinges_of(digit, {"link": np.eye(4)[None]}, ["link"])


def at_tip(hinges: Hinges) -> tuple[np.ndarray, np.ndarray]:
    """Compute compliance and sag of the fingertip."""
    zero = np.zeros(1, dtype=int)
    compliance, sag = hinges.compliance(TIP[None], zero, zero, UP)
    return compliance[0], sag[0]


def test_compliance_is_lever_squared_over_stiffness() -> None:
    compliance, sag = at_tip(finger((0.0, 1.0, 0.0)))
    assert compliance[2, 2] == pytest.approx(0.1**2 / STIFFNESS + CONTACT)
    assert compliance[0, 0] == pytest.approx(CONTACT)  # rigid along the finger
    assert sag == pytest.approx([0.0, 0.0, 0.0])


def test_hinge_along_gravity_is_rigid() -> None:
    compliance, sag = at_tip(finger((0.0, 0.0, 1.0), mass=0.2))
    assert compliance[2, 2] == pytest.approx(CONTACT)
    assert sag[2] == pytest.approx(0.0)


def test_finger_sags_under_its_weight() -> None:
    """Angle m·g·(l/2)/k of the hinge, with the tip at l."""
    _, sag = at_tip(finger((0.0, 1.0, 0.0), mass=0.2))
    assert sag == pytest.approx([0.0, 0.0, -0.2 * GRAVITY * 0.05 / STIFFNESS * 0.1])


@pytest.mark.parametrize("fingers", [1, 2, 3])
def test_fingers_are_springs_in_parallel(fingers: int) -> None:
    compliance, sag = at_tip(finger((0.0, 1.0, 0.0)))
    result = sink_distances(
        np.tile(compliance, (1, fingers, 1, 1)),
        np.tile(sag, (1, fingers, 1)),
        np.ones((1, fingers), dtype=bool),
        np.zeros(1, dtype=bool),
        UP,
    )
    assert result[0] == pytest.approx(WEIGHT * compliance[2, 2] / fingers, rel=1e-5)


def test_ball_on_the_palm_does_not_sink() -> None:
    compliance, sag = at_tip(finger((0.0, 1.0, 0.0), mass=0.2))
    touched = np.ones((1, 1), dtype=bool)
    supported = np.ones(1, dtype=bool)
    result = sink_distances(compliance[None, None], sag[None, None], touched, supported, UP)
    assert result[0] < 3.0 * WEIGHT * CONTACT
