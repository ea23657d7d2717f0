"""The speed of the closed loop is measured on the same work; its figures are no test."""

from __future__ import annotations

import pytest

import softgrasp as sg
from softgrasp.comparison.closure_speed import closure_speed
from tests.support.scenes import pinch


@pytest.mark.parametrize("timestep", [1e-3, 5e-4, None])
def test_all_modes_end_in_the_same_state_bit_for_bit(timestep: float | None) -> None:
    scene = pinch(timestep=timestep)
    speed = closure_speed(scene, rounds=1)
    closed = sg.simulate(scene)
    assert speed.bit_equal
    if timestep is None:  # some steps are short
        assert speed.steps > 1.2 * closed.simulated_time / 1e-3
    else:
        assert speed.steps == round(closed.simulated_time / timestep)
    assert speed.events == len(closed.events)
    assert speed.contacts_at_end == 4
    assert speed.plain_ratio == pytest.approx(speed.plain_steps_s / speed.raw_steps_s)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"actuation": "prescribed"}, "actuation: expected 'servo', found 'prescribed'"),
        (
            {"contact": sg.Contact(dynamic_friction=0.3)},
            "contact: expected one coefficient of friction, found static 0.5 and dynamic 0.3",
        ),
    ],
)
def test_scenes_that_cannot_be_repeated_from_their_controls_are_refused(
    changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(sg.SimulationError, match=sentence):
        closure_speed(pinch(**changes))
