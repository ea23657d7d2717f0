"""Worlds as nodes; every mistake of the format is one sentence with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.backends.wbt import parse_world, problems, read_world, world_text
from softgrasp.backends.wbt.tokens import Token, tokens
from softgrasp.errors import DescriptionError
from tests.backends.wbt.pinch import FILE, GOOD, changed
from tests.conftest import Golden

HEADER = "#VRML_SIM R2025a utf8\n"
CYLINDER = "boundingObject Cylinder { height 0.07 radius 0.006 }"
SENSOR = 'PositionSensor { name "left angle" }'


def test_a_world_is_read():
    world = read_world(FILE)
    assert world.version == "R2025a"
    assert world.file == FILE
    assert [node.type for node in world.nodes] == [
        *("WorldInfo", "Viewpoint", "Background", "DirectionalLight"),
        *("Robot", "Solid", "Solid"),
    ]
    robot, ball = world.nodes[4:6]
    assert (robot.name, robot.line) == ("HAND", 16)
    assert robot.fields["translation"] == (0.0, 0.0, 0.25)
    assert world.nodes[3].fields == {"direction": (0.2, 0.3, -1.0), "castShadows": True}
    contacts = world.nodes[0].nodes("contactProperties")
    assert [node.fields["coulombFriction"] for node in contacts] == [[0.7], [0.4, 0.5]]
    assert ball.node("boundingObject") is ball.node("children").node("geometry")


def test_values_have_the_type_of_their_field():
    text = HEADER + (
        'WorldInfo { gravity 9 randomSeed 7 info [ ] title "a" defaultDamping NULL }\n'
        'Background { skyColor 1 0 0.5 backUrl "x.png" }\n'
        "Solid { children Shape { } }"
    )
    info, background, solid = parse_world(text).nodes
    assert info.fields == {
        "gravity": 9.0,
        "randomSeed": 7,
        "info": [],
        "title": "a",
        "defaultDamping": None,
    }
    assert type(info.fields["gravity"]) is float
    assert background.fields == {"skyColor": [(1.0, 0.0, 0.5)], "backUrl": ["x.png"]}
    assert [node.type for node in solid.nodes("children")] == ["Shape"]


def test_a_name_that_is_repeated_means_the_later_node():
    text = HEADER + (
        "Group { children [ DEF A Shape { castShadows FALSE } USE A DEF A Shape { } USE A ] }"
    )
    first, second, three, four = parse_world(text).nodes[0].nodes("children")
    assert first is second
    assert three is four
    assert first is not three


def test_hidden_fields_are_read():
    text = HEADER + "Solid { linearVelocity 1 2 3 angularVelocity 0 0 1 }"
    assert parse_world(text).nodes[0].fields["linearVelocity"] == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("version", ["R2023b", "R2025b"])
def test_versions_that_are_read(version: str):
    assert parse_world(f"#VRML_SIM {version} utf8\r\n").version == version


def test_trees_are_read_up_to_200_nodes_within_one_another():
    def nested(depth: int) -> str:
        return HEADER + "Group { children [ " * depth + "] }" * depth

    world = parse_world(nested(200))
    assert len(list(world.walk())) == 200
    assert parse_world(world_text(world.nodes)).version == "R2025a"
    with pytest.raises(DescriptionError, match="at most 200 nodes within one another, found more"):
        parse_world(nested(201))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("#VRML_SIM R2025a utf8", "#VRML_SIM R2023a utf8", "1: expected a world of Webots"),
        ("#VRML_SIM R2025a utf8", "#VRML_SIM V8.6 utf8", "1: expected a world of Webots R2023b"),
        ("#VRML_SIM R2025a utf8", "#VRML V2.0 utf8", "1: expected '#VRML_SIM R2025a utf8' or"),
        ("WorldInfo {", "EXTERNPROTO Floor\nWorldInfo {", "3: EXTERNPROTO"),
        ("Viewpoint {", "Veiwpoint {", "13: no node 'Veiwpoint' can stand here, and no"),
        ("Viewpoint {", "RectangleArena { } Viewpoint {", "13: no node 'RectangleArena' can"),
        ("Viewpoint {", "HingeJoint { } Viewpoint {", "13: expected WorldInfo, Viewpoint"),
        ("Viewpoint {", "} Viewpoint {", "13: expected a node, found '}'"),
        ("castShadows TRUE", "castShadows true", "15: DirectionalLight.castShadows"),
        ("castShadows TRUE", "castShadows 1", "15: DirectionalLight.castShadows"),
        ("skyColor [ 0.6 0.7 0.8 ]", "skyColor [ 0.6 0.7 ]", "14: Background.skyColor"),
        ("skyColor [ 0.6 0.7 0.8 ]", "skyColor [ 0.6 0.7 0.8", "14: Background.skyColor"),
        (
            "translation 0 0 0.25",
            "translation 0 0 0.25 rotation 0 1.1 0 0.25",
            "17: Robot.rotation",
        ),
        ("translation 0 0 0.25", "translation 0 0.25", "18: Robot.translation"),
        ("translation 0 0 0.25", "translation 0 0 0 0.25", "17: expected a field or '}' that"),
        ("translation 0 0 0.25", "translatoin 0 0 0.25", "17: Robot.translatoin"),
        ("translation 0 0 0.25", "translation 0 0 0.25 translation 0 0 0", "17: Robot.translation"),
        ("translation 0 0 0.25", "translation 0 0 1e999", "17: Robot.translation"),
        ("gravity 9.81", "gravity 0 0 -9.81", "4: expected a field or '}' that closes the"),
        ("gravity 9.81", "gravity [ 9.81 ]", "4: WorldInfo.gravity"),
        ("gravity 9.81", "randomSeed 1.5", "4: WorldInfo.randomSeed"),
        ("gravity 9.81", "randomSeed 3000000000", "4: WorldInfo.randomSeed"),
        ('controller "<none>"', "controller none", "19: Robot.controller"),
        ('controller "<none>"', 'controller "<none>', "20: Robot.<none>"),
        ('type "force-3d"', 'type "force3d"', "68: TouchSensor.type"),
        ("physics USE TIP_MASS", "physics USE TIP_MAS", "92: Solid.physics"),
        ("physics USE TIP_MASS", "physics USE TIP", "92: Solid.physics"),
        ("physics USE TIP_MASS", "physics USE 5", "92: Solid.physics"),
        ("Viewpoint {", "USE EYE Viewpoint {", "13: no DEF 'EYE' above"),
        ("DEF SPHERE Sphere", "DEF SPHERE Solid", "125: Shape.geometry"),
        ("DEF SPHERE Sphere { radius 0.025 }", "DEF SPHERE Cone { }", "128: Solid.boundingObject"),
        ("DEF SPHERE Sphere", "DEF 7 Sphere", "125: Shape.geometry"),
        ("DEF SPHERE Sphere {", "DEF SPHERE Sphere [", "125: Shape.geometry"),
        (CYLINDER, "boundingObject Transform { }", "108: Solid.boundingObject"),
        (CYLINDER, "boundingObject Shape { geometry Cone { } }", "108: Shape.geometry"),
        (
            CYLINDER,
            "boundingObject Pose { children Shape { geometry Cone { } } }",
            "108: Shape.geometry",
        ),
        (CYLINDER, "boundingObject [ ]", "108: Solid.boundingObject"),
        ("LinearMotor {", "RotationalMotor {", "25: SliderJoint.device"),
        ("coordIndex [ 0 2", "coordIndex [ 0 [ 2", "148: IndexedFaceSet.coordIndex"),
        ("physics Physics { density 1100 }", "physics Physics { density 1100", "112: expected a"),
        ("softCFM 0.002", "maxContactPoints 4", "10: ContactProperties.maxContactPoints"),
        (SENSOR, f"{SENSOR} }}", "41: HingeJoint.device"),
        (SENSOR, "NULL", "41: HingeJoint.device"),
    ],
)
def test_mistakes_are_refused(old: str, new: str, sentence: str, golden: Golden):
    golden.refused(lambda: parse_world(changed(old, new), "pinch.wbt"), sentence)


def test_a_text_that_stops_early_is_refused(golden):
    golden.refused(lambda: parse_world(HEADER + 'Solid {\n  name "a"\n', "half.wbt"), "half.wbt:4")


@given(st.data())
def test_whatever_is_cut_or_swapped_there_is_a_sentence_or_a_world(data: st.DataObject):
    pieces = GOOD.split(" ")
    first, second = (data.draw(st.integers(0, len(pieces) - 1)) for _ in "ab")
    pieces[first], pieces[second] = pieces[second], pieces[first]
    text = " ".join(pieces[: data.draw(st.integers(1, len(pieces)))])
    line = 1
    try:
        problems(parse_world(text))
    except DescriptionError as error:
        line = error.line or 0
    assert 1 <= line <= text.count("\n") + 1


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "no text"])
def test_a_file_without_a_world_is_a_sentence(
    content: bytes | None, tmp_path: Path, golden: Golden
):
    path = tmp_path / "a.wbt"
    if content is not None:
        path.write_bytes(content)
    golden.refused(lambda: read_world(path), "expected a readable world")


# --------------------
# Text of worlds as tokens.


def pairs(text: str) -> list[tuple[str, str]]:
    return [token[:2] for token in tokens(text, "a.wbt")][:-1]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("number", ["0", "-1", "+2", "1.5", ".5", "-.5", "1.", "1e-06", "-2.5E+3", "007"]),
        ("word", ["TRUE", "1e", "0x1", "nan", "inf", "--1", "1.2.3", "a-b", "é"]),
    ],
)
def test_numbers_and_words(kind: str, texts: list[str]):
    assert [pairs(text) for text in texts] == [[(kind, text)] for text in texts]


def test_brackets_commas_and_comments_part_what_stands_beside_them():
    found = pairs('a{b[1,2]}"c"d')
    assert [text for _, text in found] == ["a", "{", "b", "[", "1", "2", "]", "}", "c", "d"]
    assert "".join(kind[0] for kind, _ in found) == "wbwbnnbbsw"
    assert pairs('a # b "c\n"d # e" # f') == [("word", "a"), ("string", "d # e")]


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (r'"a \"b\" c"', 'a "b" c'),
        (r'"C:\\x"', r"C:\x"),
        (r'"\n"', r"\n"),
        (r'"\\"', "\\"),
        ('""', ""),
        ('"a\nb"', "a\nb"),
    ],
)
def test_strings(written: str, says: str):
    assert pairs(written) == [("string", says)]


def test_tokens_know_where_they_begin():
    result = list(tokens('a\n\n"b\nc" d # e\n', "a.wbt"))
    assert result == [
        Token("word", "a", 1),
        Token("string", "b\nc", 3),
        Token("word", "d", 4),
        Token("end", "", 5),
    ]


def test_a_string_has_an_end(golden):
    golden.refused(lambda: pairs('a\n"b" "c'), "a.wbt:2")


def test_a_message_shows_a_long_string_on_one_line() -> None:
    assert Token("string", "first\n  second", 1).actual == '"first second"'
    assert Token("string", 100 * "a", 1).actual == f'"{60 * "a"}…"'
