"""Worlds as nodes; every mistake of the format is one sentence with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.backends.wbt import parse_world, problems, read_world
from softgrasp.backends.wbt.tokens import Token, tokens
from softgrasp.errors import DescriptionError
from tests.backends.wbt.pinch import FILE, GOOD, changed

HEADER = "#VRML_SIM R2025a utf8\n"
AT_TOP = (
    "Background, CadShape, DirectionalLight, Group, PointLight, Pose, Robot, Shape, Solid, "
    "SpotLight, Transform, Viewpoint, WorldInfo"
)
ROBOT = (
    "angularVelocity, battery, boundingObject, children, contactMaterial, controller, "
    "controllerArgs, cpuConsumption, customData, description, immersionProperties, "
    "linearVelocity, locked, model, name, physics, radarCrossSection, recognitionColors, "
    "remoteControl, rotation, rotationStep, scale, selfCollision, supervisor, synchronization, "
    "translation, translationStep, window"
)
CONTACT = (
    "bounce, bounceVelocity, bumpSound, coulombFriction, forceDependentSlip, frictionRotation, "
    "material1, material2, maxContactJoints, rollSound, rollingFriction, slideSound, softCFM, "
    "softERP"
)
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
    shape = ball.node("children")
    assert shape is not None
    assert ball.node("boundingObject") is shape.node("geometry")


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
    one, two, three, four = parse_world(text).nodes[0].nodes("children")
    assert one is two
    assert three is four
    assert one is not three


def test_hidden_fields_are_read():
    text = HEADER + "Solid { linearVelocity 1 2 3 angularVelocity 0 0 1 }"
    assert parse_world(text).nodes[0].fields["linearVelocity"] == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("version", ["R2021b", "R2023b", "R2025b"])
def test_versions_that_are_read(version: str):
    assert parse_world(f"#VRML_SIM {version} utf8\r\n").version == version


def test_deep_trees_are_read():
    depth = 5000
    text = HEADER + "Group { children [ " * depth + "] }" * depth
    assert len(list(parse_world(text).walk())) == depth


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "#VRML_SIM R2025a utf8",
            "#VRML_SIM R2021a utf8",
            "1: expected a world of Webots R2021b or newer, found one of R2021a",
        ),
        (
            "#VRML_SIM R2025a utf8",
            "#VRML_SIM V8.6 utf8",
            "1: expected a world of Webots R2021b or newer, found one of V8.6",
        ),
        (
            "#VRML_SIM R2025a utf8",
            "#VRML V2.0 utf8",
            "1: expected '#VRML_SIM R2025a utf8' or the like, found '#VRML V2.0 utf8'",
        ),
        (
            "WorldInfo {",
            "EXTERNPROTO Floor\nWorldInfo {",
            "3: EXTERNPROTO: expected a text in quotation marks, found 'Floor'",
        ),
        (
            "Viewpoint {",
            "Veiwpoint {",
            "13: no node 'Veiwpoint' can stand here, and no EXTERNPROTO declares it; did you mean "
            "'Viewpoint'? known: " + AT_TOP,
        ),
        (
            "Viewpoint {",
            "RectangleArena { } Viewpoint {",
            "13: no node 'RectangleArena' can stand here, and no EXTERNPROTO declares it; known: "
            + AT_TOP,
        ),
        (
            "Viewpoint {",
            "HingeJoint { } Viewpoint {",
            "13: expected WorldInfo, Viewpoint, Background, DirectionalLight, PointLight, "
            "SpotLight, Solid, Robot, Group, Pose, Transform, Shape or CadShape, found "
            "'HingeJoint'",
        ),
        ("Viewpoint {", "} Viewpoint {", "13: expected a node, found '}'"),
        (
            "castShadows TRUE",
            "castShadows true",
            "15: DirectionalLight.castShadows: expected TRUE or FALSE, found 'true'; did you mean "
            "'TRUE'?",
        ),
        (
            "castShadows TRUE",
            "castShadows 1",
            "15: DirectionalLight.castShadows: expected TRUE or FALSE, found '1'",
        ),
        (
            "skyColor [ 0.6 0.7 0.8 ]",
            "skyColor [ 0.6 0.7 ]",
            "14: Background.skyColor: expected 3 numbers (SFColor), found 2 before ']'",
        ),
        (
            "skyColor [ 0.6 0.7 0.8 ]",
            "skyColor [ 0.6 0.7 0.8",
            "14: Background.skyColor: expected ']' that closes the list of line 14, found '}'",
        ),
        (
            "translation 0 0 0.25",
            "translation 0 0 0.25 rotation 0 1.1 0 0.25",
            "17: Robot.rotation: expected an axis of length 1, found one of length 1.1",
        ),
        (
            "translation 0 0 0.25",
            "translation 0 0.25",
            "18: Robot.translation: expected 3 numbers (SFVec3f), found 2 before 'name'",
        ),
        (
            "translation 0 0 0.25",
            "translation 0 0 0 0.25",
            "17: expected a field or '}' that closes the Robot of line 16, found '0.25'",
        ),
        (
            "translation 0 0 0.25",
            "translatoin 0 0 0.25",
            "17: Robot.translatoin: no such field; did you mean 'translation'? known: " + ROBOT,
        ),
        (
            "translation 0 0 0.25",
            "translation 0 0 0.25 translation 0 0 0",
            "17: Robot.translation: expected it once, found it again",
        ),
        (
            "translation 0 0 0.25",
            "translation 0 0 1e999",
            "17: Robot.translation: expected a finite number, found '1e999'",
        ),
        (
            "gravity 9.81",
            "gravity 0 0 -9.81",
            "4: expected a field or '}' that closes the WorldInfo of line 3, found '0'",
        ),
        (
            "gravity 9.81",
            "gravity [ 9.81 ]",
            "4: WorldInfo.gravity: expected a number, found '['",
        ),
        (
            "gravity 9.81",
            "randomSeed 1.5",
            "4: WorldInfo.randomSeed: expected a whole number, found '1.5'",
        ),
        (
            "gravity 9.81",
            "randomSeed 3000000000",
            "4: WorldInfo.randomSeed: expected at most 2147483647, found 3000000000",
        ),
        (
            'controller "<none>"',
            "controller none",
            "19: Robot.controller: expected a text in quotation marks, found 'none'",
        ),
        (
            'controller "<none>"',
            'controller "<none>',
            "20: Robot.<none>: no such field; known: " + ROBOT,
        ),
        (
            'type "force-3d"',
            'type "force3d"',
            '68: TouchSensor.type: expected "bumper", "force" or "force-3d", found "force3d"',
        ),
        (
            "physics USE TIP_MASS",
            "physics USE TIP_MAS",
            "92: Solid.physics: no DEF 'TIP_MAS' above; did you mean 'TIP_MASS'? known: TIP, "
            "TIP_MASS",
        ),
        (
            "physics USE TIP_MASS",
            "physics USE TIP",
            "92: Solid.physics: expected Physics, found 'TIP', a Pose",
        ),
        (
            "physics USE TIP_MASS",
            "physics USE 5",
            "92: Solid.physics: expected the name of a node, found '5'",
        ),
        (
            "Viewpoint {",
            "USE EYE Viewpoint {",
            "13: no DEF 'EYE' above; there is none",
        ),
        (
            "DEF SPHERE Sphere",
            "DEF SPHERE Solid",
            "125: Shape.geometry: expected Box, Sphere, Cylinder, Capsule, Cone, Plane, Mesh or "
            "IndexedFaceSet, found 'Solid'",
        ),
        (
            "DEF SPHERE Sphere { radius 0.025 }",
            "DEF SPHERE Cone { }",
            "128: Solid.boundingObject: expected Group, Pose, Shape, Box, Sphere, Cylinder, "
            "Capsule, Plane, Mesh or IndexedFaceSet, found 'SPHERE', a Cone",
        ),
        (
            "DEF SPHERE Sphere",
            "DEF 7 Sphere",
            "125: Shape.geometry: expected a name, found '7'",
        ),
        (
            "DEF SPHERE Sphere {",
            "DEF SPHERE Sphere [",
            "125: Shape.geometry: expected '{' that opens the Sphere, found '['",
        ),
        (
            CYLINDER,
            "boundingObject Transform { }",
            "108: Solid.boundingObject: expected Group, Pose, Shape, Box, Sphere, Cylinder, "
            "Capsule, Plane, Mesh or IndexedFaceSet, found 'Transform'",
        ),
        (
            CYLINDER,
            "boundingObject Shape { geometry Cone { } }",
            "108: Shape.geometry: expected Box, Sphere, Cylinder, Capsule, Plane, Mesh or "
            "IndexedFaceSet, found 'Cone'",
        ),
        (
            CYLINDER,
            "boundingObject Pose { children Shape { geometry Cone { } } }",
            "108: Shape.geometry: expected Box, Sphere, Cylinder, Capsule, Plane, Mesh or "
            "IndexedFaceSet, found 'Cone'",
        ),
        (CYLINDER, "boundingObject [ ]", "108: Solid.boundingObject: expected a node, found '['"),
        (
            "LinearMotor {",
            "RotationalMotor {",
            "25: SliderJoint.device: expected LinearMotor, PositionSensor or Brake, found "
            "'RotationalMotor'",
        ),
        (
            "coordIndex [ 0 2",
            "coordIndex [ 0 [ 2",
            "148: IndexedFaceSet.coordIndex: expected ']' that closes the list of line 148, found "
            "'['",
        ),
        (
            "physics Physics { density 1100 }",
            "physics Physics { density 1100",
            "112: expected a field or '}' that closes the HingeJoint of line 95, found ']'",
        ),
        (
            "softCFM 0.002",
            "maxContactPoints 4",
            "10: ContactProperties.maxContactPoints: no such field; did you mean "
            "'maxContactJoints'? known: " + CONTACT,
        ),
        (
            SENSOR,
            f"{SENSOR} }}",
            "41: HingeJoint.device: expected ']' that closes the list of line 39, found '}'",
        ),
        (
            SENSOR,
            "NULL",
            "41: HingeJoint.device: no node 'NULL' can stand here; known: Brake, PositionSensor, "
            "RotationalMotor",
        ),
    ],
)
def test_mistakes_are_refused(old: str, new: str, sentence: str):
    with pytest.raises(DescriptionError) as caught:
        parse_world(changed(old, new), "pinch.wbt")
    assert str(caught.value) == f"pinch.wbt:{sentence}"


def test_a_text_that_stops_early_is_refused():
    with pytest.raises(DescriptionError) as caught:
        parse_world(HEADER + 'Solid {\n  name "a"\n', "half.wbt")
    assert str(caught.value) == (
        "half.wbt:4: expected a field or '}' that closes the Solid of line 2, found the end of "
        "the file"
    )


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


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path):
    path = tmp_path / "none.wbt"
    with pytest.raises(DescriptionError) as caught:
        read_world(path)
    assert str(caught.value) == (
        f"{path}: expected a readable world, found: No such file or directory"
    )


def test_a_file_that_is_no_text_is_a_sentence(tmp_path: Path):
    path = tmp_path / "binary.wbt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DescriptionError, match="expected a readable world, found: 'utf-8' codec"):
        read_world(path)


# --------------------
# Text of worlds as tokens.


def pairs(text: str) -> list[tuple[str, str]]:
    return [token[:2] for token in tokens(text, "a.wbt")][:-1]


@pytest.mark.parametrize(
    "number", ["0", "-1", "+2", "1.5", ".5", "-.5", "1.", "1e-06", "-2.5E+3", "007"]
)
def test_numbers(number: str):
    assert pairs(number) == [("number", number)]


@pytest.mark.parametrize("word", ["TRUE", "1e", "0x1", "nan", "inf", "--1", "1.2.3", "a-b", "é"])
def test_all_else_that_is_not_bracketed_or_quoted_is_a_word(word: str):
    assert pairs(word) == [("word", word)]


def test_brackets_and_commas_part_what_stands_beside_them():
    assert pairs('a{b[1,2]}"c"d') == [
        ("word", "a"),
        ("bracket", "{"),
        ("word", "b"),
        ("bracket", "["),
        ("number", "1"),
        ("number", "2"),
        ("bracket", "]"),
        ("bracket", "}"),
        ("string", "c"),
        ("word", "d"),
    ]


def test_comments_end_with_their_line_and_are_no_comments_in_strings():
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


def test_a_string_has_an_end():
    with pytest.raises(DescriptionError) as caught:
        pairs('a\n"b" "c')
    assert str(caught.value) == (
        "a.wbt:2: expected a quotation mark that ends this string, found none"
    )


def test_a_message_shows_a_long_string_on_one_line() -> None:
    assert Token("string", "first\n  second", 1).actual == '"first second"'
    assert Token("string", 100 * "a", 1).actual == f'"{60 * "a"}…"'
