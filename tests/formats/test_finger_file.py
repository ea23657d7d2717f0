"""Soft fingers in YAML files: round trips, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.io.hand import load_finger, save_finger

numbers = st.floats(-1e3, 1e3)
positive = st.floats(1e-6, 1e6)


@st.composite
def fingers(draw: st.DrawFn) -> sg.SoftFinger:
    """Any finger."""
    positions = sorted(draw(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=5, unique=True)))
    joints = [
        sg.SoftJoint(
            position=(x, draw(numbers), draw(numbers)),
            stiffness=draw(positive),
            damping=draw(st.floats(0.0, 1e3)),
            pressure_gain=draw(numbers),
        )
        for x in positions
    ]
    links = [
        sg.SoftLink(
            center=draw(st.tuples(numbers, numbers, numbers)),
            mass=draw(positive),
            size=draw(st.tuples(positive, positive, positive)),
        )
        for _ in range(len(positions) + 1)
    ]
    return sg.SoftFinger(
        name=draw(st.text(min_size=1, max_size=20)),
        joints=tuple(joints),
        links=tuple(links),
        tip=draw(st.tuples(numbers, numbers, numbers)),
        planar=draw(st.booleans()),
        source=draw(st.text(max_size=20)),
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(finger=fingers())
def test_a_finger_comes_back_equal(finger: sg.SoftFinger, tmp_path: Path) -> None:
    assert load_finger(save_finger(finger, tmp_path / "finger.yaml")) == finger


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "a\nb", " ", "#", "'", '"'])
def test_odd_words_come_back_equal(mark: str, tmp_path: Path) -> None:
    finger = load_finger("paper000").replace(source=mark)
    assert load_finger(save_finger(finger, tmp_path / "finger.yaml")) == finger


def test_the_shipped_finger_comes_back_equal(tmp_path: Path) -> None:
    finger = load_finger("paper000")
    assert load_finger(save_finger(finger, tmp_path / "deep" / "finger.yml")) == finger


def test_what_is_usual_is_not_written(tmp_path: Path) -> None:
    finger = sg.rld.discretise(0.1, 2e-3, 0.02, 1)
    text = save_finger(finger, tmp_path / "finger.yaml").read_text("utf-8")
    assert "joints:\n  - position: [0.05, 0.0, 0.0]\n    stiffness: 0.02\n" in text
    for word in ("damping", "pressure_gain", "planar", "source", "name"):
        assert word not in text


def test_only_yaml_is_written(tmp_path: Path) -> None:
    finger = sg.rld.discretise(0.1, 2e-3, 0.02)
    path = tmp_path / "finger.json"
    with pytest.raises(sg.DescriptionError) as refused:
        save_finger(finger, path)
    assert str(refused.value) == f"path: expected a .yaml file, found '{path}'"
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(sg.ResultError, match="expected a place that can be written"):
        save_finger(sg.rld.discretise(0.1, 2e-3, 0.02), tmp_path / "file" / "finger.yaml")
