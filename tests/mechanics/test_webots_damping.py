"""Dampers with and without what an implicit spring adds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum.settling import from_webots, to_webots

FINGER = sg.load_finger("paper000")


@given(timestep=st.floats(0.0, 0.01))
def test_there_and_back_again(timestep: float) -> None:
    again = to_webots(from_webots(FINGER, timestep), timestep)
    for one, other in zip(again.joints, FINGER.joints, strict=True):
        assert one.damping == pytest.approx(other.damping, abs=1e-16, rel=1e-12)


def test_less_damping_than_the_spring_adds_is_refused() -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        to_webots(FINGER, 1e-3 * 3)
    assert str(caught.value) == (
        "damping: expected a damping of joint 6 of at least h·k = 0.00145 N·m·s/rad, which the "
        "time step of 0.003 s adds there, found 0.000248; the time step can be 0.000512 s at most"
    )
    with pytest.raises(sg.DescriptionError) as caught:
        from_webots(FINGER, -1.0)
    assert str(caught.value) == "timestep: expected a time of at least 0, found -1.0"
