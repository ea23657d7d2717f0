"""Grasps of a hand with known result: two sliding jaws."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.description.actuation import Actuator
from softgrasp.grasp_synthesis import Digit, DigitJoint, SynthesizedGrasps, synthesize_grasps
from softgrasp.grasp_synthesis.closing_motion import MAX_OPENING, closing_of
from softgrasp.mechanics.transforms import Array, rotate_about


class Jaws:
    """Two flat jaws, 60 mm high, at ± their targets from the middle of a flat palm."""

    def __init__(self, low: float = 0.0, rest: float = 0.05, rotation: Array | None = None) -> None:
        self.rotation = np.eye(4) if rotation is None else rotation
        self.actuators = [Actuator(n, n, "m", (low, low + 0.05), rest) for n in ("one", "two")]
        self.rest = [rest, rest]
        tip = np.array([0.0, 0.0, 0.06])
        self.digits = [
            Digit(name, (DigitJoint(k, name, np.zeros(3)),), (name,), name, tip)
            for k, name in enumerate(("one", "two"))
        ]
        y, z = np.meshgrid(np.linspace(-0.01, 0.01, 7), np.linspace(0.0, 0.06, 13))
        flat = np.column_stack([np.zeros(y.size), y.ravel(), z.ravel()])
        self.skins = {"one": flat, "two": flat}
        x, y = np.meshgrid(np.linspace(-0.05, 0.05, 11), np.linspace(-0.02, 0.02, 5))
        palm = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, -0.01)])
        self.palm = palm @ self.rotation[:3, :3].T
        self.middle = self.palm.mean(axis=0)
        self.up: Array | None = self.rotation[:3, 1]

    def frames(self, targets: Array) -> dict[str, Array]:
        result = {}
        for column, (name, side) in enumerate((("one", 1.0), ("two", -1.0))):
            frames = np.tile(np.eye(4), (len(targets), 1, 1))
            frames[:, 0, 3] = side * targets[:, column]
            result[name] = self.rotation @ frames
        return result


def grasps_of(hand: Jaws) -> SynthesizedGrasps:
    return synthesize_grasps(hand)


def test_jaws_close_from_both_sides_at_one_rate() -> None:
    power = grasps_of(Jaws()).power
    assert power.enclosed
    assert len(power.normals) == 2
    assert power.start == (0.05, 0.05)
    assert power.rates[0] == pytest.approx(power.rates[1], rel=0.1)
    assert power.rates[0] < 0.0
    x, y, z = power.center
    assert abs(x) < 2e-3
    assert abs(y) < 5e-3
    assert 0.01 < z < 0.06
    # elongated objects are across the travel of the jaws and the palm normal
    np.testing.assert_allclose(np.abs(power.object_axis.axis), (0.0, 1.0, 0.0), atol=1e-6)


def test_jaws_closed_at_rest_are_opened() -> None:
    """Parallel grippers are often closed at zero."""
    power = grasps_of(Jaws(rest=0.0)).power
    assert power.start == (0.05, 0.05)
    assert max(power.rates) < 0.0


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_grasp_rotates_with_the_hand(axis: str) -> None:
    rotation = rotate_about(axis, np.pi / 2.0)
    first, second = grasps_of(Jaws()), grasps_of(Jaws(rotation=rotation))
    for plain, rotated in ((first.power, second.power), (first.precision, second.precision)):
        np.testing.assert_allclose(rotation[:3, :3] @ plain.center, rotated.center, atol=5e-3)
        np.testing.assert_allclose(plain.rates, rotated.rates, rtol=0.1)
        np.testing.assert_allclose(
            np.abs(rotation[:3, :3] @ plain.object_axis.axis),
            np.abs(rotated.object_axis.axis),
            atol=1e-6,
        )


def test_jaws_out_of_reach_do_not_enclose() -> None:
    result = grasps_of(Jaws(low=0.2, rest=0.25))
    assert not result.power.enclosed
    assert not result.precision.enclosed


def test_rates_do_not_exceed_the_maximum() -> None:
    assert abs(synthesize_grasps(Jaws(), {"one": 0.01}).power.rates[0]) <= 0.01 + 1e-6


class Hinged:
    """Two fingers, 100 mm long, on hinges 20 mm from the middle, that lean inwards at rest.

    Args:
        lean: Angle to the palm normal at rest [rad].
        sides: Side of each finger, 1 or −1; fingers of one side lie beside each other.
    """

    def __init__(self, lean: float, sides: tuple[float, float] = (1.0, -1.0)) -> None:
        self.lean, self.sides = lean, sides
        self.actuators = [Actuator(n, n, "rad", (-1.4, 0.8), 0.0) for n in ("one", "two")]
        self.rest = [0.0, 0.0]
        tip = np.array([0.0, 0.0, 0.1])
        axis = np.array([0.0, 1.0, 0.0])
        self.digits = [
            Digit(name, (DigitJoint(k, name, axis),), (name,), name, tip)
            for k, name in enumerate(("one", "two"))
        ]
        self.skins = {name: np.linspace(np.zeros(3), tip, 9) for name in ("one", "two")}
        self.palm = np.zeros((1, 3))
        self.middle = np.zeros(3)
        self.up: Array | None = None

    def frames(self, targets: Array) -> dict[str, Array]:
        result = {}
        for column, (name, side) in enumerate(zip(("one", "two"), self.sides, strict=True)):
            frames = rotate_about("y", -side * (self.lean + targets[:, column]))
            frames[:, :3, 3] = 0.02 * side, 0.03 * column, 0.0
            result[name] = frames
        return result


def test_fingers_whose_tips_meet_at_rest_open_further() -> None:
    """Tips of 0.4 rad of lean are 30 mm apart after one opening, 99 mm after two."""
    assert closing_of(Hinged(0.0)).start.tolist() == pytest.approx([-MAX_OPENING] * 2)
    assert closing_of(Hinged(0.4)).start.tolist() == pytest.approx([-2 * MAX_OPENING] * 2)


def test_fingers_beside_each_other_do_not_open_further() -> None:
    assert closing_of(Hinged(0.4, (1.0, 1.0))).start.tolist() == pytest.approx([-MAX_OPENING] * 2)
