"""Critical loads found by bisection, and the rule where engines have to agree."""

from __future__ import annotations

import pytest

from softgrasp.comparison.criteria import (
    CLOSE,
    FARTHEST,
    Threshold,
    Verdicts,
    disagreements,
    find_threshold,
)


@pytest.mark.parametrize("critical", [0.1, 0.99, 1.01, 5.1, 100.0])
def test_the_critical_load_is_found(critical: float) -> None:
    requested: list[float] = []

    def holds(load: float) -> bool:
        requested.append(load)
        return load < critical

    result = find_threshold(Verdicts(holds))
    assert result.middle == pytest.approx(critical, rel=CLOSE - 1.0)
    assert len(requested) == len(set(requested)) < 15


@pytest.mark.parametrize(("held", "result"), [(True, (FARTHEST, None)), (False, (None, 1 / 128))])
def test_a_load_that_is_always_held_or_never_has_no_critical_one(
    held: bool, result: tuple[float | None, float | None]
) -> None:
    threshold = find_threshold(Verdicts(lambda load: held))
    assert threshold == Threshold(*result)
    assert threshold.middle is None


def test_what_is_known_is_not_asked_again() -> None:
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
    held = {
        "mujoco": (True, True, True, False, False),
        "ode": (True, True, True, True, False),
    }
    assert disagreements(loads, held, 100.0, 15.0) == []
    assert disagreements(loads, held, 100.0, 10.0) == [114.0]
    assert disagreements(loads, held, None, 15.0) == [114.0]
    held["ode"] = (False, True, True, False, True)
    assert disagreements(loads, held, 100.0, 15.0) == [50.0, 130.0]
