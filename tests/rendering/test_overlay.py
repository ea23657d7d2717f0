"""Marks are drawn over everything at their projected positions."""

import numpy as np
import pytest

from softgrasp.rendering import Arrow, Ball, Camera
from softgrasp.rendering.overlay import draw_marks

CAMERA = Camera((0.0, 0.0, 0.0), 1.0, 90.0, 0.0)
RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)


def _drawn(*marks, camera=CAMERA):
    image = np.full((120, 160, 3), 200, dtype=np.uint8)
    draw_marks(image, camera, marks)
    return image


def _changed(image):
    return (image != 200).any(axis=-1)


def test_a_ball_is_drawn_around_its_projected_middle():
    point = (0.05, 0.0, 0.03)
    column, row, depth = CAMERA.project([point], 160, 120)[0]
    rows, columns = np.nonzero(_changed(_drawn(Ball(point, 0.02, RED))))
    assert (columns.mean() + 0.5, rows.mean() + 0.5) == pytest.approx((column, row), abs=0.3)
    radius = 0.02 * CAMERA.pixels_per_metre(depth, 120)
    assert np.sqrt(len(rows) / np.pi) == pytest.approx(radius + 1.2, abs=0.5)


def test_the_nearer_mark_covers_the_farther_in_either_order():
    near, far = Ball((0, -0.2, 0), 0.02, RED), Ball((0, 0.2, 0), 0.02, BLUE)
    for image in (_drawn(near, far), _drawn(far, near)):
        assert image[60, 80, 0] > image[60, 80, 2]


def test_an_arrow_runs_from_its_start_to_its_tip():
    start, tip = (-0.1, 0.0, 0.0), (0.1, 0.0, 0.05)
    image = _drawn(Arrow(start, tip, 0.004, RED))
    for part in (0.0, 0.3, 0.7, 0.97):
        point = np.array(start) + part * np.subtract(tip, start)
        column, row, _ = CAMERA.project([point], 160, 120)[0]
        assert _changed(image)[int(row), int(column)]
    columns = np.nonzero(_changed(image))[1]
    ends = CAMERA.project([start, tip], 160, 120)[:, 0]
    assert columns.min() == pytest.approx(ends[0], abs=5)
    assert columns.max() == pytest.approx(ends[1], abs=3)


def test_an_arrow_is_widest_at_its_head():
    image = _changed(_drawn(Arrow((-0.1, 0, 0), (0.1, 0, 0), 0.008, RED)))
    widths = image.sum(axis=0)
    columns = np.flatnonzero(widths)
    assert widths[columns[len(columns) // 2 :]].max() > 1.6 * widths[columns[len(columns) // 4]]


def test_an_arrow_towards_the_camera_is_a_disc():
    image = _changed(_drawn(Arrow((0, 0.1, 0), (0, -0.1, 0), 0.004, RED)))
    rows, columns = np.nonzero(image)
    assert np.ptp(rows) == pytest.approx(np.ptp(columns), abs=2)


@pytest.mark.parametrize(
    "mark",
    [
        Ball((0, -2.0, 0), 0.02, RED),
        Arrow((0, -2.0, 0), (0, 0, 0), 0.01, RED),
        Arrow((0, 0, 0), (0, 0, 0), 0.01, RED),
        Ball((5.0, 0, 0), 0.02, RED),
        Ball((0, 0, 0), 0.02, (1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_what_cannot_be_seen_changes_nothing(mark):
    assert not _changed(_drawn(mark)).any()


def test_a_tiny_mark_is_still_seen():
    assert _changed(_drawn(Ball((0, 0, 0), 1e-6, RED))).sum() >= 4


def test_a_translucent_mark_lets_the_image_through():
    solid = _drawn(Ball((0, 0, 0), 0.03, BLUE))[60, 80].astype(int)
    half = _drawn(Ball((0, 0, 0), 0.03, (*BLUE[:3], 0.5)))[60, 80].astype(int)
    assert half == pytest.approx((solid + 200) / 2, abs=1)
