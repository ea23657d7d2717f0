"""Errors between recordings (paper 003, eq 37), settling, workspace."""

from __future__ import annotations

import numpy as np
import pytest

from examples.paper003.statics import arm_workspace
from softgrasp.errors import DescriptionError
from softgrasp.hydraulics import TipRecording, settling_times, tip_errors
from tests.conftest import Golden
from tests.hydraulics.arms import one_section, two_sections, with_sections

TIMES = np.linspace(0.0, 2.0, 21)


def recording(offsets: tuple[float, float] = (0.0, 0.0)) -> TipRecording:
    """Two sections that move along x, the second twice as fast, off by some way along y."""
    ends = np.zeros((len(TIMES), 2, 3))
    ends[:, 0, 0], ends[:, 1, 0] = TIMES, 2.0 * TIMES
    ends[:, :, 1] = TIMES[:, None] * np.array(offsets)
    return TipRecording(TIMES, ends)


def test_a_recording_has_no_error_against_itself() -> None:
    result = tip_errors(recording(), recording())
    assert result.max_sectional == result.max_cumulative == 0.0


def test_the_two_maxima_are_those_of_the_paper() -> None:
    result = tip_errors(recording(), recording((0.01, -0.03)))
    assert result.errors[-1] == pytest.approx([0.02, 0.06])
    assert result.max_sectional == pytest.approx(0.06)
    assert result.max_cumulative == pytest.approx(0.08)


def test_the_largest_sum_is_not_the_sum_of_the_largest() -> None:
    ends = np.zeros((3, 2, 3))
    ends[1, 0, 0], ends[2, 1, 0] = 0.03, 0.04
    result = tip_errors(TipRecording(TIMES[:3], ends), TipRecording(TIMES[:3], np.zeros((3, 2, 3))))
    assert (result.max_sectional, result.max_cumulative) == pytest.approx((0.04, 0.04))


def test_other_times_are_met_on_straight_lines() -> None:
    other = recording()
    shifted = TipRecording(TIMES[3:9] + 0.037, other.at(TIMES[3:9] + 0.037))
    assert tip_errors(shifted, other).max_cumulative == pytest.approx(0.0, abs=1e-14)
    assert len(tip_errors(other, shifted).times) == 5


def test_recordings_that_do_not_fit_are_reported(golden: Golden) -> None:
    single = TipRecording(TIMES, np.zeros((21, 1, 3)))
    golden.refused(lambda: tip_errors(recording(), single), "equally many sections, found 2 and 1")
    later = TipRecording(TIMES + 5.0, recording().ends)
    with pytest.raises(DescriptionError, match="times in common, found 0 to 2 s and 5 to 7 s"):
        tip_errors(recording(), later)
    with pytest.raises(DescriptionError, match=r"found shapes \(21,\) and \(20, 2, 3\)"):
        TipRecording(TIMES, np.zeros((20, 2, 3)))
    with pytest.raises(DescriptionError, match="times: expected at least two increasing times"):
        TipRecording(TIMES[::-1], recording().ends)
    with pytest.raises(DescriptionError, match="ends: expected finite numbers"):
        TipRecording(TIMES, np.full((21, 2, 3), np.nan))


def test_settling_counts_from_the_last_time_outside_the_band() -> None:
    ends = np.zeros((21, 2, 3))
    ends[:, 0, 0] = 1.0 - np.exp(-TIMES / 0.2)
    ends[1:, 1, 0] = 1.0
    slow, fast = settling_times(TipRecording(TIMES, ends))
    assert slow == pytest.approx(0.8)
    assert fast == pytest.approx(0.1)


def test_a_workspace_rotates_with_its_chambers() -> None:
    result = arm_workspace(one_section(), levels=2)
    assert result.ends.shape == result.pressures.shape == (8, 3)
    radii = np.hypot(result.ends[:, 0], result.ends[:, 1])
    single = result.pressures.sum(axis=1) == 1e6
    assert radii[single] == pytest.approx(radii[single][0], abs=1e-9)


def test_a_workspace_that_asks_too_much_is_reported() -> None:
    with pytest.raises(DescriptionError, match=r"levels: .* found 9 levels of 6 chambers"):
        arm_workspace(two_sections(), levels=9)
    chambers = tuple(part.replace(pressure_max=None) for part in one_section().sections[0].chambers)
    with pytest.raises(DescriptionError, match=r"chambers\[0\].pressure_max: expected a largest"):
        arm_workspace(with_sections(one_section(), chambers=chambers))
