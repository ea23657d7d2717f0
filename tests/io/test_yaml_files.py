"""YAML with lines in its errors, units, and a writer that reads back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

import softgrasp as sg
from softgrasp.io.object import read_object
from softgrasp.io.yaml_files import YamlFile, dump, take_units, to_si


def written(directory: Path, text: str) -> Path:
    path = directory / "thing.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(sg.DescriptionError) as refused:
        read_object(path)
    return str(refused.value).replace(str(path), "thing.yaml")


BALL = "name: ball\nshape: {type: sphere, radius: 30}\nunits: {length: mm}\ndensity: 700\n"


def test_lengths_are_converted(tmp_path):
    ball = read_object(written(tmp_path, BALL))
    assert ball.shape == sg.Sphere(radius=0.03)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (BALL.replace("mm", "mmm"), "thing.yaml:3: units.length"),
        (BALL.replace("radius", "raduis"), "thing.yaml:2: shape.raduis"),
        (BALL.replace("density: 700", "density: -700"), "thing.yaml:4: density"),
        (BALL.replace("700", ".nan"), "thing.yaml:4: density: expected a finite number"),
        (BALL.replace("700", ".inf"), "thing.yaml:4: density: expected a finite number"),
        (BALL + "mass: 1\n", "thing.yaml: expected exactly one of mass and density"),
        (BALL.replace("density: 700", ""), "thing.yaml: expected exactly one of mass and density"),
        (BALL + "density: 800\n", "thing.yaml:5: expected YAML, found: while constructing"),
        ("", "thing.yaml: expected a mapping of fields"),
        ("- 1\n- 2\n", "thing.yaml: expected a mapping of fields"),
    ],
    ids=range(10),
)
def test_mistakes_are_reported_with_file_line_and_field(tmp_path, text, part, golden):
    golden(refusal(written(tmp_path, text)), part)


def test_what_is_no_yaml_has_its_line(tmp_path):
    assert refusal(written(tmp_path, "shape: [1, 2\n")).startswith("thing.yaml:2: expected YAML")


def test_a_missing_file_is_reported(tmp_path, golden):
    golden(refusal(tmp_path / "thing.yaml"), "thing.yaml")


def test_the_line_of_a_missing_field_is_that_of_its_surroundings(tmp_path):
    path = written(tmp_path, "a: 1\nb:\n  - c: 2\n    d: 3\n")
    assert YamlFile(path).line_of(("b", 0, "nothing")) == 3
    assert YamlFile(path).line_of(("nothing",)) is None


TREES = st.recursive(
    st.one_of(st.integers(-5, 5), st.floats(-1e6, 1e6), st.booleans(), st.text("abc", max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("xyz", min_size=1), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text("xyz", min_size=1), TREES, max_size=4))
def test_what_is_dumped_reads_back(tree):
    assert YAML(typ="safe").load(dump(tree)) == tree


@given(st.floats(-10, 10), st.sampled_from(["m", "mm", "cm", "in"]))
def test_every_length_and_angle_of_a_tree_is_converted_once(number, unit):
    data, length, angle = take_units(
        {"units": {"length": unit, "angle": "deg"}, "radius": number, "b": [{"euler": [number]}]}
    )
    converted = to_si(data, length, angle)
    assert converted["radius"] == pytest.approx(number * length)
    assert converted["b"][0]["euler"] == pytest.approx([number * angle])
