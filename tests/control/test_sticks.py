"""Recorded sticks: each sample is held until the next, and a file is read with its lines."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum_control.controllers import FeedForwardController
from softgrasp.continuum_control.interfaces import ResourceManager
from softgrasp.continuum_control.manager import ControllerManager
from softgrasp.continuum_control.teleop import RecordedSticks, read_sticks
from tests.control.arms import arm

RIGHT, UP = (1.0, 0.0), (0.0, 1.0)


def test_a_sample_is_held_until_the_next_one() -> None:
    sticks = RecordedSticks([(0.5, {"s1": RIGHT}), (1.0, {"s1": UP}), (1.0, {"s2": UP})])
    result = [sticks(time) for time in (0.0, 0.49, 0.5, 0.99, 1.0, 50.0)]
    assert result == [{}, {}, {"s1": RIGHT}, {"s1": RIGHT}, {"s2": UP}, {"s2": UP}]


@given(st.lists(st.integers(0, 500), max_size=30), st.lists(st.integers(0, 600), max_size=30))
def test_the_last_sample_that_has_begun_counts(begun: list[int], requested: list[int]) -> None:
    samples = [(0.01 * t, {"s1": (0.001 * t, 0.0)}) for t in sorted(begun)]
    sticks = RecordedSticks(samples)
    for t in sorted(requested):
        last = max((b for b in begun if b <= t), default=None)
        assert sticks(0.01 * t) == ({} if last is None else {"s1": (0.001 * last, 0.0)})


def test_endless_samples_are_taken_as_time_goes_on() -> None:
    sticks = RecordedSticks((float(n), {"s1": (n / 100.0, 0.0)}) for n in count())
    assert sticks(42.5) == {"s1": (0.42, 0.0)}


def test_samples_that_go_back_in_time_are_refused() -> None:
    sticks = RecordedSticks([(1.0, {}), (0.5, {})])
    with pytest.raises(sg.DescriptionError) as caught:
        sticks(2.0)
    assert str(caught.value) == (
        "samples: expected samples in the order of time, found 0.5 s after 1 s"
    )


def test_a_file_moves_a_robot(tmp_path: Path) -> None:
    """Half a second to the right, a quarter of rest, then half a second to the left."""
    path = tmp_path / "sticks.csv"
    path.write_text("time, s1_x, s1_y\n0,1,0\n0.5,0,0\n0.75,-1,0\n\n1.25,0,0\n", encoding="utf-8")
    robot = arm()
    resources = ResourceManager(robot)
    manager = ControllerManager(resources)
    manager.load(FeedForwardController(robot, read_sticks(path), name="cffc"))
    manager.switch(start=["cffc"])
    kappas = []
    for tick in range(150):
        manager.update(0.01 * tick, 0.01)
        kappas.append(resources.commanded("s1/kappa"))
    assert kappas[49] == pytest.approx(1.0)
    assert kappas[74] == pytest.approx(1.0)
    assert kappas[99] == pytest.approx(0.5)
    assert kappas[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "{path}: expected a line of column names, found an empty file"),
        ("time,s1_x\n0,1\n", "{path}:1: expected the columns time, NAME_x, NAME_y, … of different "
         "segments, found time, s1_x"),
        ("time,s1_x,s1_y,s1_x,s1_y\n", "{path}:1: expected the columns time, NAME_x, NAME_y, … of "
         "different segments, found time, s1_x, s1_y, s1_x, s1_y"),
        ("time,s1_x,s1_y\n0,1\n", "{path}:2: expected 3 numbers, found 2"),
        ("time,s1_x,s1_y\n0,1,up\n", "{path}:2: expected numbers, found 0, 1, up"),
        ("time,s1_x,s1_y\n0,1,0\n1,nan,0\n", "{path}:3: expected finite numbers, found 1, nan, 0"),
        ("time,s1_x,s1_y\n1,1,0\n\n0.5,1,0\n", "{path}:4: expected at least 1 s, the time before, "
         "found 0.5 s"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "sticks.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sg.DescriptionError) as caught:
        read_sticks(path)
    assert str(caught.value) == sentence.format(path=path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError, match=r"expected a CSV file, found .*No such file"):
        read_sticks(tmp_path / "none.csv")
