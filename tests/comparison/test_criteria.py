"""Orders of convergence recovered from made-up answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from softgrasp.comparison.criteria import (
    CLOSE,
    FARTHEST,
    Finding,
    Threshold,
    Tolerances,
    Verdicts,
    convergence,
    disagreements,
    farthest,
    find_threshold,
    halve,
    percents,
    vibration,
    window,
)
from softgrasp.errors import DescriptionError
from softgrasp.sim.soft_dynamics import LinearMode


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_the_order_is_recovered(order: float) -> None:
    steps = np.array([8.0, 4.0, 2.0, 1.0]) * 1e-3
    result = convergence(steps, np.array([1.0, -2.0]) + np.outer(steps**order, [3.0, -7.0]))
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
    assert halve(1e-3, 3) == [1e-3, 5e-4, 2.5e-4, 1.25e-4]
    assert halve(4e-3, 3, shortest=1e-3) == [4e-3, 2e-3, 1e-3]
    assert halve(5e-4, 3, shortest=1e-3) == []


# --------------------
# Verdicts on made-up numbers.


def finding(**changes: Any) -> Finding:
    base: dict[str, Any] = {
        "name": "normal_force",
        "quantity": "Normal force of F1_P3 at rest",
        "unit": "N",
        "values": {"mujoco": 8.0, "ode": 8.4},
        "difference": 5.0,
        "difference_unit": "%",
        "tolerance": 2.0,
        "worst": "ode",
    }
    return Finding(**(base | changes))


@pytest.mark.parametrize(
    ("changes", "passed", "verdict"),
    [
        ({"note": "2 s after closing"}, False,
         "5 % apart in ode, beyond the tolerance of 2 %; 2 s after closing"),
        ({"difference": 2.0}, True, "2 % apart in ode, within the tolerance of 2 %"),
        ({"difference": 0.0, "tolerance": 0.0}, True, "equal"),
        ({"tolerance": None, "difference": 90.0}, True, "90 % apart in ode"),
        ({"difference": math.nan}, False, "could not be compared in ode"),
    ],
)  # fmt: skip
def test_a_finding_passes_within_its_tolerance_and_has_a_sentence(
    changes: dict[str, Any], passed: bool, verdict: str
) -> None:
    item = finding(**changes)
    assert (item.passed, item.sentence) == (passed, f"Normal force of F1_P3 at rest: {verdict}")


def test_the_farthest_engine_is_named_and_a_number_that_is_none_is_farthest() -> None:
    assert farthest({"ode": 1.0, "webots": 3.0}) == ("webots", 3.0)
    worst, most = farthest({"ode": math.nan, "webots": 3.0})
    assert worst == "ode"
    assert math.isnan(most)


def test_one_is_reported_in_the_singular() -> None:
    from softgrasp.report.comparison import with_unit

    late = finding(difference=2.0, difference_unit="samples", tolerance=1.0)
    assert late.sentence == (
        "Normal force of F1_P3 at rest: 2 samples apart in ode, beyond the tolerance of 1 sample"
    )
    assert with_unit(1.0, late) == "1 sample"
    assert with_unit(1.5, late) == "1.5 samples"
    assert with_unit(1.0, finding()) == "1 %"
    assert with_unit(1.0, finding(difference_unit="")) == "1"


def test_percents_are_of_the_first_backend() -> None:
    assert percents({"mujoco": 8.0, "ode": 8.4, "webots": 7.6}) == pytest.approx(
        {"ode": 5.0, "webots": 5.0}
    )
    assert math.isnan(percents({"mujoco": 0.0, "ode": 1.0})["ode"])


def test_tolerances_are_those_of_the_documentation() -> None:
    from softgrasp import assets as library

    text = (library.root() / "docs" / "crosscheck.md").read_text("utf-8")
    for name in Tolerances.model_fields:
        assert f"`{name}`" in text, name


def test_a_tolerance_below_zero_is_refused() -> None:
    with pytest.raises(DescriptionError) as refused:
        Tolerances(static_deg=-1.0)
    assert str(refused.value) == "static_deg: expected a number at least 0, found -1.0"


# --------------------
# Critical loads found by bisection, and the rule where engines have to agree.


@pytest.mark.parametrize("critical", [0.1, 0.99, 1.01, 5.1, 100.0])
def test_the_critical_load_is_computed(critical: float) -> None:
    requested: list[float] = []

    def holds(load: float) -> bool:
        requested.append(load)
        return load < critical

    assert find_threshold(Verdicts(holds)).middle == pytest.approx(critical, rel=CLOSE - 1.0)
    assert len(requested) == len(set(requested)) < 15


@pytest.mark.parametrize(("held", "result"), [(True, (FARTHEST, None)), (False, (None, 1 / 128))])
def test_a_load_that_is_always_held_or_never_has_no_critical_one(
    held: bool, result: tuple[float | None, float | None]
) -> None:
    threshold = find_threshold(Verdicts(lambda load: held))
    assert threshold == Threshold(*result)
    assert threshold.middle is None


def test_what_is_known_is_not_computed_again() -> None:
    requested: list[float] = []

    def holds(load: float) -> bool:
        requested.append(load)
        return load < 4.9

    verdicts = Verdicts(holds)
    for load in (2.0, 4.0, 6.0):
        verdicts(load)
    find_threshold(verdicts)
    assert all(4.0 < load < 6.0 for load in requested[3:])


def test_loads_that_are_held_again_are_noticed() -> None:
    verdicts = Verdicts(lambda load: load < 2.0 or load == 8.0)
    for load in (1.0, 4.0, 8.0):
        verdicts(load)
    assert not verdicts.monotonic
    assert verdicts.bracket == Threshold(1.0, 4.0)


def test_engines_need_not_agree_near_the_critical_load() -> None:
    loads = (50.0, 80.0, 100.0, 114.0, 130.0)
    held = {"mujoco": (True, True, True, False, False), "ode": (True, True, True, True, False)}
    assert disagreements(loads, held, 100.0, 15.0) == []
    assert disagreements(loads, held, 100.0, 10.0) == [114.0]
    assert disagreements(loads, held, None, 15.0) == [114.0]
    held["ode"] = (False, True, True, False, True)
    assert disagreements(loads, held, 100.0, 15.0) == [50.0, 130.0]


# --------------------
# Frequency and damping recovered from made-up vibrations.


TIME = np.arange(0.0, 2.0, 1e-3)


def swing(frequency: float, ratio: float) -> np.ndarray:
    decay = LinearMode(frequency, ratio).decay
    return np.exp(-decay * TIME) * np.cos(2 * math.pi * frequency * TIME + 0.3)


@pytest.mark.parametrize(("frequency", "ratio"), [(10.4, 0.118), (10.4, 0.02), (3.0, 0.3)])
def test_one_mode_is_computed_to_rounding(frequency: float, ratio: float) -> None:
    expected = LinearMode(0.9 * frequency, 1.1 * ratio)
    result = vibration(TIME, 7.0 + 0.02 * swing(frequency, ratio), expected)
    assert result.frequency == pytest.approx(frequency, rel=1e-6)
    assert result.ratio == pytest.approx(ratio, rel=1e-6)
    assert result.residual < 1e-6


def test_a_faster_mode_that_dies_away_does_not_disturb() -> None:
    signal = swing(10.4, 0.118) + 0.3 * swing(60.0, 0.12)
    result = vibration(TIME, signal, LinearMode(10.4, 0.118))
    assert result.frequency == pytest.approx(10.4, rel=1e-3)
    assert result.ratio == pytest.approx(0.118, rel=1e-2)


def test_what_is_too_short_or_does_not_swing_is_not_a_number() -> None:
    mode = LinearMode(10.4, 0.118)
    start, end = window(mode, 2.0)
    assert 0.0 < start < end < 2.0
    short = start + 0.05 >= TIME
    assert math.isnan(vibration(TIME[short], swing(10.4, 0.118)[short], mode).frequency)
    assert math.isnan(vibration(TIME, np.exp(-TIME), LinearMode(0.0, 1.0)).ratio)
    broken = swing(10.4, 0.118)
    broken[-1] = np.nan
    assert math.isnan(vibration(TIME, broken, mode).frequency)
