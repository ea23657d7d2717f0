"""Further objects and surroundings in scene files: names, units, round trips, mistakes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from tests.scenes import ball, pinch

NUMBER = st.floats(-2, 2)
PLACE = st.tuples(NUMBER, NUMBER, NUMBER)
EDGE = st.floats(1e-3, 1.0)
CONTACT = st.sampled_from([None, sg.Contact(static_friction=0.2)])

PARTS = st.one_of(
    st.builds(sg.Table, height=NUMBER, center=st.one_of(st.none(), st.tuples(NUMBER, NUMBER)),
              size=st.tuples(EDGE, EDGE), contact=CONTACT),
    st.builds(sg.Wall, point=PLACE, normal=PLACE.filter(lambda n: max(map(abs, n)) > 1e-3),
              size=st.tuples(EDGE, EDGE), thickness=EDGE, contact=CONTACT),
    st.builds(sg.Block, position=PLACE, euler=PLACE, size=st.tuples(EDGE, EDGE, EDGE),
              contact=CONTACT),
)  # fmt: skip
OBJECTS = st.builds(
    sg.PlacedObject,
    object=st.sampled_from([ball(), sg.load_object("cuboid")]),
    position=PLACE,
    euler=PLACE,
    mount=st.sampled_from(["free", "fixed", "planar"]),
    contact=CONTACT,
)


@settings(max_examples=25)
@given(st.lists(OBJECTS, max_size=3), st.lists(PARTS, max_size=4))
def test_any_objects_and_surroundings_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory, objects: list[Any], parts: list[Any]
) -> None:
    scene = pinch(name="any", objects=tuple(objects), surroundings=tuple(parts))
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    assert sg.load_scene(sg.save_scene(scene, path)) == scene


def test_objects_are_named_or_written_out_and_units_hold_for_them(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\nhand: four_finger\nobject: sphere\n"
        "objects:\n"
        "  - {object: cuboid, position: [50, 0, -85], euler: [0, 0, 90], mount: fixed}\n"
        "  - {object: {library: sphere, density: 123}, position: [0, 100, 0]}\n"
        # an object that is written out has units of its own, as the one to be grasped
        "  - object: {name: bar, shape: {type: capsule, radius: 0.005, length: 0.06}, mass: 0.1}\n"
        "    position: [0, 0, 200]\n"
        "surroundings:\n"
        "  - {height: -120}\n"
        "  - {type: wall, point: [-50, 0, 0], normal: [1, 0, 0], size: [200, 100], thickness: 10}\n"
        "  - {type: block, position: [0, 0, -300], size: [10, 20, 30], euler: [0, 0, 45]}\n",
        encoding="utf-8",
    )
    scene = sg.load_scene(path)
    box, second, bar = scene.objects
    assert box.object == sg.load_object("cuboid")
    assert box.position == (0.05, 0, -0.085)
    assert box.euler == pytest.approx((0, 0, math.pi / 2))
    assert box.mount == "fixed"
    assert second.object == sg.load_object("sphere", density=123)
    assert bar.object.shape == sg.Capsule(radius=0.005, length=0.06)
    assert scene.object_names == ("sphere", "cuboid", "sphere2", "bar")
    table, wall, block = scene.surroundings
    assert table == sg.Table(height=-0.12)
    assert wall == sg.Wall(point=(-0.05, 0, 0), normal=(1, 0, 0), size=(0.2, 0.1), thickness=0.01)
    assert isinstance(block, sg.Block)
    assert block.size == pytest.approx((0.01, 0.02, 0.03))
    assert block.euler == pytest.approx((0, 0, math.pi / 4))


def test_a_shipped_further_object_is_written_by_its_name(tmp_path: Path) -> None:
    other = sg.PlacedObject(object=sg.load_object("cuboid"), position=(1, 0, 0))
    text = sg.save_scene(pinch(name="s", objects=(other,)), tmp_path / "s.yaml").read_text()
    assert "object: cuboid\n" in text
    assert "mount" not in text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "objects: [sphere]\n",
            "{path}:3: objects: expected a list of mappings such as {{object: sphere, position: "
            "[0.05, 0, -0.085]}}, found ['sphere']",
        ),
        (
            "objects:\n  - {object: sphare, position: [1, 0, 0]}\n",
            "{path}:4: objects[0].object: no object 'sphare'; did you mean 'sphere'? known: ",
        ),
        (
            "objects:\n  - {position: [1, 0, 0]}\n",
            "{path}:4: objects[0].object: this field is missing; expected a library name, a file, "
            "or a mapping with its fields",
        ),
        (
            "objects:\n  - {object: sphere}\n",
            "{path}:4: objects[0].position: expected where the middle of this object stands in the "
            "world [m], found nothing",
        ),
        (
            "objects:\n  - object: sphere\n    position: [1, 0]\n",
            "{path}:5: objects[0].position: expected more values, found only 2",
        ),
        (
            "surroundings:\n  - {type: wall, point: [0, 0, 0], normal: [1, 0]}\n",
            "{path}:4: surroundings[0].normal: expected more values, found only 2",
        ),
        (
            "surroundings:\n  - type: block\n    position: [0, 0, 0]\n    size: [1, 2, -3]\n",
            "{path}:6: surroundings[0].size[2]: expected a number above 0, found -3",
        ),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("hand: four_finger\nobject: sphere\n" + text)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_scene(path)
    assert str(refused.value).startswith(sentence.format(path=path))
