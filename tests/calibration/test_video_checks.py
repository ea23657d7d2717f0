"""Videos of releases that end early, show no release, or have another frame rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softgrasp.calibration.track_checks import check_video, find_copied_frames, swing_frequency
from softgrasp.errors import DescriptionError
from tests.calibration.problems import FINGER

BOUNDS = (0.1, 0.6)
RATE, FREQUENCY = 960.0, 12.0


def release(seconds: float = 1.0, rate: float = RATE, swing: float = 0.02) -> np.ndarray:
    """A decaying oscillation of the tip around a final height [m]."""
    time = np.arange(round(seconds * rate)) / rate
    return 0.03 - (swing * np.exp(-6.0 * time)) * np.cos(2.0 * np.pi * FREQUENCY * time)


def findings(heights: np.ndarray, stated: float = RATE, likeness: float = 0.99) -> list[str]:
    pixels = np.stack([0.0 * heights, heights / 1e-4], axis=1)
    alike = np.linspace(1.0, likeness, len(heights))
    return list(check_video(Path("20g.avi"), stated, heights, pixels, alike, FINGER, BOUNDS))


def test_a_whole_release_causes_no_finding():
    assert findings(release()) == []
    assert swing_frequency(release(), RATE) == pytest.approx(FREQUENCY, rel=0.02)
    noisy = release() + 1e-4 * np.random.default_rng(0).standard_normal(len(release()))
    assert swing_frequency(noisy, RATE) == pytest.approx(FREQUENCY, rel=0.03)


@pytest.mark.parametrize("frames", [10, 30, 60, 120, 200, 350])
def test_a_video_that_ends_early_is_refused(frames: int):
    with pytest.raises(DescriptionError, match=r"expected a video that shows the finger until it"):
        findings(release()[:frames])


def test_a_video_without_a_release_is_refused():
    with pytest.raises(DescriptionError, match=r"expected a release, found a tip that moves by 0"):
        findings(release(swing=1e-4))


def test_the_frame_rate_of_playback_is_refused_and_the_recorded_one_named():
    with pytest.raises(DescriptionError, match=r"expected a finger that oscillates at") as message:
        findings(release(), stated=30.0)
    assert "found 0.38 Hz at 30 frames/s" in str(message.value)
    assert "(--frame-rate; slow-motion videos store the rate of playback)" in str(message.value)
    low, high = (
        float(part) for part in str(message.value).split("rate of ")[1].split(" frames")[0]
        .split(" to ")
    )  # fmt: skip
    assert low < RATE < high
    (doubt,) = findings(release(1.5, 240.0), stated=600.0)
    assert doubt.startswith("20g.avi: expected a finger that oscillates at")


def test_copied_frames_are_counted():
    doubled = np.repeat(release(1.0, 480.0), 2)
    (doubt,) = findings(doubled)
    assert "% of the frames of the motion are copies of the frame before" in doubt
    assert find_copied_frames(np.stack([0.0 * doubled, doubled / 1e-4], axis=1)) > 0.4


def test_an_oblique_view_is_reported():
    (doubt,) = findings(release(), likeness=0.96)
    assert doubt == (
        "20g.avi: the end of the finger looks different as it moves (correlation down to 0.960, "
        "expected at least 0.98): the camera sees it obliquely, which makes motions appear "
        "smaller; direct it at right angles to the plane of bending"
    )
