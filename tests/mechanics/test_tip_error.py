"""The measure of a tip's error: what it is, what leaves it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softgrasp.errors import DescriptionError
from softgrasp.twin.finger_pieces import tip_error, track_errors

LENGTHS = np.array([14.0, 14.0, 12.32, 15.39]) * 1e-3


def test_it_is_the_distance_over_the_length() -> None:
    assert tip_error((0.03, 0.0, 0.04), (0.0, 0.0, 0.0), LENGTHS) == pytest.approx(0.05 / 0.05571)
    both = tip_error([[0.03, 0, 0.04], [0, 0, 0]], [0, 0, 0], LENGTHS)
    assert both == pytest.approx([0.05 / 0.05571, 0.0])


def test_neither_frame_nor_unit_changes_it() -> None:
    random = np.random.default_rng(0)
    tip, reference = random.normal(size=(2, 20, 3))
    rotation, shift = Rotation.random(rng=1).as_matrix(), random.normal(size=3)
    moved = tip_error(tip @ rotation.T + shift, reference @ rotation.T + shift, LENGTHS)
    assert moved == pytest.approx(tip_error(tip, reference, LENGTHS))
    millimetres = tip_error(1e3 * tip, 1e3 * reference, 1e3 * LENGTHS)
    assert millimetres == pytest.approx(tip_error(tip, reference, LENGTHS))


def test_a_measured_track_is_taken_on_straight_lines() -> None:
    known = np.array([0.0, 1.0, 3.0])
    measured = np.outer(known, (0.01, 0.0, 0.02))
    times = np.array([0.0, 0.5, 2.9, 3.0])
    tips = np.outer(times, (0.01, 0.0, 0.02)) + np.array([0.0, 5.571e-4, 0.0])
    assert track_errors(times, tips, known, measured, LENGTHS) == pytest.approx(np.full(4, 0.01))


def test_beyond_what_was_measured_nothing_is_said() -> None:
    with pytest.raises(DescriptionError) as refused:
        track_errors([1.5], [[0, 0, 0]], [0.0, 1.0], np.zeros((2, 3)), LENGTHS)
    assert str(refused.value) == (
        "times: expected times from 0 to 1 s, which is what was measured, found 1.5 s"
    )


@pytest.mark.parametrize(
    ("tip", "reference", "lengths", "sentence"),
    [
        ((0, 0), (0, 0, 0), LENGTHS, "tip: expected points (..., 3) of finite numbers, found shape "
         "(2,)"),
        ((0, 0, 0), (0, 0, np.nan), LENGTHS, "reference: expected points (..., 3) of finite "
         "numbers, found shape (3,)"),
        ((0, 0, 0), (0, 0, 0), [0.0], "lengths: expected lengths above 0, found [0.]"),
    ],
)  # fmt: skip
def test_what_is_no_point_is_refused(tip: tuple, reference: tuple, lengths: object,
                                     sentence: str) -> None:  # fmt: skip
    with pytest.raises(DescriptionError) as refused:
        tip_error(tip, reference, lengths)
    assert str(refused.value) == sentence
