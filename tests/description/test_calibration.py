"""The release of a finger as a value: what it refuses, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

import softgrasp as sg
from tests.conftest import Golden


def release(**changes: Any) -> sg.description.FingerRelease:
    base: dict[str, Any] = {"finger": sg.io.load_finger("paper000"), "tip_mass": 0.02}
    return sg.description.FingerRelease(**(base | changes))


def test_samples_include_the_start() -> None:
    assert release(duration=1.0, sample_period=1e-3).samples == 1001
    assert release(duration=0.3, sample_period=2e-3, timestep=5e-4).samples == 151


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"tip_mass": 0.0}, "tip_mass: expected a number above 0, found 0.0"),
        ({"timestep": 3e-4}, "sample_period: expected a whole number of time steps of 0.0003 s, "
                             "found 0.001 s"),
        ({"timestep": 2e-3}, "sample_period: expected a whole number of time steps of 0.002 s, "
                             "found 0.001 s"),
        ({"duration": 0.01}, "duration: expected 50 to 1000000 samples of 0.001 s, found 0.01 s"),
        ({"webots_timestep": -1e-3},
         "webots_timestep: expected a number above 0, found -0.001"),
        ({"weight": 0.1}, "weight: no such field"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        release(**changes)
    assert str(refused.value).startswith(sentence)


def test_fingers_that_bend_out_of_their_plane_are_refused(golden: Golden) -> None:
    spatial = sg.io.load_finger("paper000").replace(planar=False)
    golden.refused(lambda: release(finger=spatial), "finger")
