"""How far a held ball sinks: one lever, one weight, and springs side by side."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.grasp_synthesis import Digit, DigitJoint
from softgrasp.grasp_synthesis.hand_model import CONTACT, GRAVITY, WEIGHT, Hinges, hinges_of, sunk

UP = np.array([0.0, 0.0, 1.0])
TIP = np.array([0.1, 0.0, 0.0])
STIFFNESS = 5.0


def finger(axis: tuple[float, float, float], mass: float = 0.0) -> Hinges:
    """A finger of 0.1 m along x with one hinge at the origin, its mass in the middle."""
    joint = DigitJoint(0, "link", np.array(axis), STIFFNESS)
    weights = (("link", mass, TIP / 2.0),)
    digit = Digit("finger", (joint,), ("link",), "link", TIP, weights)
    return hinges_of(digit, {"link": np.eye(4)[None]}, ["link"])


def at_tip(hinges: Hinges) -> tuple[np.ndarray, np.ndarray]:
    zero = np.zeros(1, dtype=int)
    compliance, alone = hinges.gives(TIP[None], zero, zero, UP)
    return compliance[0], alone[0]


def test_a_lever_gives_its_square_over_the_stiffness() -> None:
    compliance, alone = at_tip(finger((0.0, 1.0, 0.0)))
    assert compliance[2, 2] == pytest.approx(0.1**2 / STIFFNESS + CONTACT)
    assert compliance[0, 0] == pytest.approx(CONTACT)  # along the finger it is stiff
    assert alone == pytest.approx([0.0, 0.0, 0.0])


def test_a_hinge_along_gravity_does_not_give() -> None:
    compliance, alone = at_tip(finger((0.0, 0.0, 1.0), mass=0.2))
    assert compliance[2, 2] == pytest.approx(CONTACT)
    assert alone[2] == pytest.approx(0.0)


def test_a_finger_sinks_under_its_own_weight() -> None:
    """m·g·(l/2)/k turns the hinge, and the tip is at l."""
    _, alone = at_tip(finger((0.0, 1.0, 0.0), mass=0.2))
    assert alone == pytest.approx([0.0, 0.0, -0.2 * GRAVITY * 0.05 / STIFFNESS * 0.1])


@pytest.mark.parametrize("fingers", [1, 2, 3])
def test_fingers_hold_as_springs_side_by_side(fingers: int) -> None:
    compliance, alone = at_tip(finger((0.0, 1.0, 0.0)))
    result = sunk(
        np.tile(compliance, (1, fingers, 1, 1)),
        np.tile(alone, (1, fingers, 1)),
        np.ones((1, fingers), dtype=bool),
        np.zeros(1, dtype=bool),
        UP,
    )
    assert result[0] == pytest.approx(WEIGHT * compliance[2, 2] / fingers, rel=1e-5)


def test_what_leans_on_the_palm_does_not_sink() -> None:
    compliance, alone = at_tip(finger((0.0, 1.0, 0.0), mass=0.2))
    touched = np.ones((1, 1), dtype=bool)
    leans = np.ones(1, dtype=bool)
    result = sunk(compliance[None, None], alone[None, None], touched, leans, UP)
    assert result[0] < 3.0 * WEIGHT * CONTACT
