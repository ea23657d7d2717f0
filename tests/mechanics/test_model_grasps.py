"""The grasp finder on a hand that is known: two jaws that slide, and what it must find there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from softgrasp.mechanics.model_grasps import _closure, found_grasps
from softgrasp.mechanics.transforms import Array


class Jaws:
    """Two flat jaws, 60 mm high, that stand apart by twice their targets, on a flat palm."""

    def __init__(self, limits: tuple[float, float], start: float, away: float = 1.0) -> None:
        self.limits, self.start = [limits, limits], [start, start]
        self.angles, self.fingers = [False, False], [[0], [1]]
        self._away = away
        self.turn = np.eye(3)

    def axes(self, targets: Sequence[float]) -> Array:
        return np.zeros((len(targets), 3))

    def surfaces(self, targets: Sequence[float]) -> list[Array]:
        y, z = np.meshgrid(np.linspace(-0.01, 0.01, 7), np.linspace(0.0, 0.06, 13))
        flat = np.column_stack([np.zeros(y.size), y.ravel(), z.ravel()])
        x, y = np.meshgrid(np.linspace(-0.05, 0.05, 11), np.linspace(-0.02, 0.02, 5))
        palm = np.column_stack([x.ravel(), y.ravel(), np.full(x.size, -0.01)])
        jaws = [flat + np.array([side * v, 0, 0]) for side, v in zip((1, -1), targets, strict=True)]
        return [part @ self.turn.T for part in (palm, *jaws)]

    def tips(self, targets: Sequence[float]) -> Array:
        ends = [[side * v, 0, 0.06] for side, v in zip((1, -1), targets, strict=True)]
        return np.array(ends) @ self.turn.T


def test_jaws_close_from_both_sides_at_one_rate() -> None:
    found = found_grasps(Jaws((0.0, 0.05), 0.05))
    assert found is not None
    assert found.power.fingers == 2
    assert found.power.start == (0.05, 0.05)
    assert found.power.rates[0] == pytest.approx(found.power.rates[1], rel=0.1)
    assert found.power.rates[0] < 0.0
    x, y, z = found.power.center
    assert abs(x) < 2e-3
    assert abs(y) < 8e-3
    assert 0.01 < z < 0.06
    # what is long lies across the way of the jaws and the way out of the palm
    np.testing.assert_allclose(np.abs(found.axis), (0.0, 1.0, 0.0), atol=0.2)


def test_a_file_that_shows_closed_jaws_opens_them_first() -> None:
    """Parallel grippers often have zero where they are closed."""
    found = found_grasps(Jaws((0.0, 0.05), 0.0))
    assert found is not None
    assert found.power.start == (0.05, 0.05)
    assert max(found.power.rates) < 0.0


def test_the_place_turns_with_the_hand() -> None:
    plain, turned = Jaws((0.0, 0.05), 0.05), Jaws((0.0, 0.05), 0.05)
    turned.turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    one, other = found_grasps(plain), found_grasps(turned)
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(turned.turn @ one.power.center, other.power.center, atol=8e-3)


def test_jaws_that_cannot_reach_any_ball_find_nothing() -> None:
    assert found_grasps(Jaws((0.2, 0.25), 0.25)) is None


def test_closure_is_positive_for_opposite_touches_and_negative_for_one_sided_ones() -> None:
    opposite = np.array([[1.0, 0, 0], [-1.0, 0, 0]])[:, None]
    beside = np.array([[1.0, 0, 0], [0.8, 0.6, 0]])[:, None]
    every = np.ones((2, 1), dtype=bool)
    # two cones of atan 0.4 leave a direction across at 90° − 21.8°, whose cosine is 0.371
    assert _closure(opposite, every)[0] == pytest.approx(0.371, abs=0.03)
    assert _closure(beside, every)[0] < 0.0
    assert _closure(opposite, np.array([[True], [False]]))[0] < 0.0
