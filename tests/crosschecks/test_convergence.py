"""Orders of convergence recovered from made-up answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softgrasp.comparison.criteria import convergence, halved


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_the_order_is_recovered(order: float) -> None:
    steps = np.array([8.0, 4.0, 2.0, 1.0]) * 1e-3
    exact = np.array([1.0, -2.0])
    answers = exact + np.outer(steps**order, [3.0, -7.0])
    result = convergence(steps, answers)
    assert result.order == pytest.approx(order, rel=1e-6)
    assert result.deviation[-1] == 0.0
    assert result.shrinking


def test_an_answer_that_does_not_change_has_no_order() -> None:
    result = convergence([2e-3, 1e-3, 5e-4], [1.0, 1.0, 1.0])
    assert math.isnan(result.order)
    assert not result.shrinking
    assert math.isnan(convergence([2e-3, 1e-3], [1.0, 2.0]).order)


def test_answers_that_wander_do_not_shrink() -> None:
    assert not convergence([4e-3, 2e-3, 1e-3], [1.0, 2.0, 1.1]).shrinking


def test_steps_below_the_shortest_of_an_engine_are_left_out() -> None:
    assert halved(1e-3, 3) == [1e-3, 5e-4, 2.5e-4, 1.25e-4]
    assert halved(4e-3, 3, shortest=1e-3) == [4e-3, 2e-3, 1e-3]
    assert halved(5e-4, 3, shortest=1e-3) == []
