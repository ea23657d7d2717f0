"""Flange samples and their sources as values, and programs of robots."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.base import is_loopback
from softgrasp.twin.description import HttpFlange
from softgrasp.twin.files import load_robot_program

PART = st.floats(-1.0, 1.0)


def sample(quaternion: object, time: float = 0.0) -> sg.twin.FlangeSample:
    return sg.twin.FlangeSample(time=time, position=(0.1, 0.2, 0.3), quaternion=quaternion)


@given(st.tuples(PART, PART, PART, PART), st.floats(-0.99e-3, 0.99e-3))
def test_a_nearly_unit_quaternion_is_normalised(parts, off):
    norm = math.hypot(*parts)
    if norm < 0.1:
        return
    given_ = [part / norm * (1.0 + off) for part in parts]
    assert sample(given_).quaternion == pytest.approx([part / norm for part in parts], abs=1e-14)


@pytest.mark.parametrize("norm", [0.0, 0.9, 0.9989, 1.0011, 2.0])
def test_a_quaternion_farther_from_unit_is_refused_with_its_norm(norm):
    with pytest.raises(sg.DescriptionError) as message:
        sample((norm, 0.0, 0.0, 0.0))
    assert str(message.value) == (
        f"quaternion: expected a quaternion (w, x, y, z) of norm 1 within 0.001, "
        f"found ({norm}, 0.0, 0.0, 0.0) of norm {norm:g}"
    )


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 1e300, "0", None, True])
@pytest.mark.parametrize("field", ["time", "position", "quaternion"])
def test_only_finite_numbers(field, wrong):
    fields = {"time": 0.0, "position": [0.0, 0.0, 0.0], "quaternion": [1.0, 0.0, 0.0, 0.0]}
    fields[field] = wrong if field == "time" else [wrong, *fields[field][1:]]
    with pytest.raises(sg.DescriptionError, match=rf"{field}.*expected a .*number"):
        sg.twin.FlangeSample(**fields)


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1", "ftp://a/b", "http://", "http://a:b/", "http://a:0/", "http://a/ü",
            "http://a/b c", "http://a/\r\nX: y", "http://[::1/"],
)  # fmt: skip
def test_invalid_addresses_are_refused(url):
    with pytest.raises(sg.DescriptionError) as message:
        HttpFlange(url=url)
    assert str(message.value).startswith(
        "url: expected an address such as http://127.0.0.1:8610/rw/..., found "
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.2", "example.org", "::", ""])
def test_other_addresses_are_no_loopback(host):
    assert not is_loopback(host)


PROGRAM = """
name: mine
units: {angle: deg}
arm: irb120
postures: [[0, 20, 0, 0, 70, 0], [30, 20, 0, 0, 70, 0]]
"""


def test_a_program_of_a_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(PROGRAM, encoding="utf-8")
    mine = load_robot_program(path)
    assert mine.postures[1][0] == pytest.approx(math.pi / 6)
    assert mine.period == pytest.approx(5.0)


def test_an_arm_beside_its_program(tmp_path):
    own = (sg.assets.directory("arms") / "irb120.yaml").read_text("utf-8")
    (tmp_path / "arm.yaml").write_text(own.replace("name: irb120", "name: own"), encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(PROGRAM.replace("irb120", "arm.yaml"), encoding="utf-8")
    assert load_robot_program(path).arm.name == "own"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("irb120", "irb12", "mine.yaml:4: arm: no arm 'irb12'; did you mean 'irb120'"),
        ("irb120", "[]", "mine.yaml:4: arm: expected a name or a file, found []"),
        ("[0, 20, 0, 0, 70, 0]", "[0]", "mine.yaml:5: postures[0]: expected 6 joint variables, "
         "one per row of the arm 'irb120', found 1"),
        ("[30,", "[200,", "mine.yaml:5: postures[1][0]: expected joint 1 of the arm 'irb120' "
         "within -2.87979 … 2.87979, found 3.49066"),
        ("name: mine", "nam: mine", "mine.yaml:2: nam: no such field; did you mean 'name'"),
        ("postures", "move_time: 0\npostures", "expected a number above 0, found 0"),
    ],
)  # fmt: skip
def test_invalid_programs_are_refused(tmp_path, old, new, sentence, golden):
    path = tmp_path / "mine.yaml"
    path.write_text(PROGRAM.replace(old, new, 1), encoding="utf-8")
    golden.refused(lambda: load_robot_program(path), sentence)
