"""Rate and time left of a sweep, by a clock that is set."""

from __future__ import annotations

import pytest

from softgrasp.cli.terminal import Pace, duration


def test_rows_that_were_there_before_do_not_count() -> None:
    times = iter([100.0, 100.0, 110.0, 120.0])
    pace = Pace(lambda: next(times))
    assert pace.text(400, 2000) == "400 of 2000 grasps"
    assert pace.text(400, 2000) == "400 of 2000 grasps"
    assert pace.text(500, 2000) == "500 of 2000 grasps, 10/s, 2 min left"
    assert pace.text(1400, 2000) == "1400 of 2000 grasps, 50/s, 12 s left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (99.4, "99 s"), (150.0, "2 min"), (5900.0, "98 min"), (11100.0, "3 h 5 min")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
