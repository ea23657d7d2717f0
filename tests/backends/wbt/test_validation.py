"""What Webots asks of a world beyond its format: each rule, by a good world with one mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp.backends.wbt import Node, World, check_world, parse_world, problems
from softgrasp.backends.wbt.validation import RULES
from tests.backends.wbt.pinch import FILE, changed

ASLEEP = "Webots puts slow springs to sleep before they have settled"
INERTIA = "[ 1.1e-06 1.1e-06 1.3e-07, 0 0 1e-08 ]"
MESH = 'url [ "meshes/wedge.stl" ]'
TOUCH_BOX = "boundingObject Box { size 0.004 0.01 0.02 }"
ONE_OF_BOTH = (
    "Physics: expected a density above 0 or a mass above 0, and -1 for the other one, found density"
)


def result(world: World) -> list[str]:
    """Kinds and sentences."""
    return [f"{problem.kind}: {problem}" for problem in problems(world)]


def test_a_good_world_has_no_problem():
    assert check_world(FILE) == []


@pytest.mark.parametrize(
    ("old", "new", "kind", "sentence"),
    [
        (
            "Viewpoint {",
            "Viewpoint { } Viewpoint {",
            "head",
            "13: expected one Viewpoint, found another",
        ),
        (
            "Viewpoint { orientation 0 1 0 0.25 position -0.5 0 0.2 }",
            "",
            "head",
            "14: expected a Viewpoint as the second node, found a Background",
        ),
        (
            "Background { ",
            "Background { } Background { ",
            "head",
            "14: expected one Background, found another",
        ),
        (
            "gravity 9.81",
            "gravity -9.81",
            "gravity",
            "3: WorldInfo.gravity: expected at least 0, found -9.81",
        ),
        (
            "basicTimeStep 1",
            "basicTimeStep 0.5",
            "timestep",
            "3: WorldInfo.basicTimeStep: expected at least 1 (ms), found 0.5",
        ),
        (
            "basicTimeStep 1",
            "basicTimeStep 1.5",
            "timestep",
            "3: WorldInfo.basicTimeStep: expected whole milliseconds, in which controllers step, "
            "found 1.5",
        ),
        (
            "physicsDisableLinearThreshold 0",
            "physicsDisableLinearThreshold 0.02",
            "sleep",
            "3: WorldInfo.physicsDisableLinearThreshold: expected 0 in a world with springs, found "
            f"0.02; {ASLEEP}",
        ),
        (
            "physicsDisableAngularThreshold 0",
            "",
            "sleep",
            "3: WorldInfo.physicsDisableAngularThreshold: expected 0 in a world with springs, "
            f"found 0.01; {ASLEEP}",
        ),
        (
            '{ material2 "ball"',
            '{ material1 "ball" material2 "skin"',
            "contact",
            "10: expected one ContactProperties of 'ball' and 'skin', found another (the first is "
            "in line 9)",
        ),
        (
            'material1 "skin"',
            'material1 "skim"',
            "material",
            "9: ContactProperties.material1: no solid has material 'skim'; did you mean 'skin'? "
            "known: ball, default, skin",
        ),
        (
            " bounce 0 ",
            " ",
            "contact",
            "9: ContactProperties.bounce: expected a number, found none: Webots takes 0.5",
        ),
        (
            "bounce 0",
            "bounce 1.5",
            "contact",
            "9: ContactProperties.bounce: expected 0 to 1, found 1.5",
        ),
        (
            "softCFM 0.002",
            "softERP -0.3",
            "contact",
            "10: ContactProperties.softERP: expected 0 to 1, found -0.3",
        ),
        (
            "softCFM 0.002",
            "softCFM 0",
            "contact",
            "10: ContactProperties.softCFM: expected a number above 0, found 0",
        ),
        (
            "bounce 0",
            "bounceVelocity -0.1",
            "contact",
            "9: ContactProperties.bounceVelocity: expected at least 0, found -0.1",
        ),
        (
            "[ 0.7 ]",
            "[ ]",
            "contact",
            "9: ContactProperties.coulombFriction: expected 1 to 4 numbers, found 0",
        ),
        (
            "[ 0.7 ]",
            "-0.7",
            "contact",
            "9: ContactProperties.coulombFriction: expected at least 0, or -1 (infinite), found "
            "-0.7",
        ),
        (
            'controller "<none>"',
            'controller ""',
            "controller",
            '16: Robot.controller: expected a controller, "<none>" or "<extern>", found ""',
        ),
        (
            'name "right"\n',
            'name "left"\n',
            "name",
            "104: expected another name than 'left', which a solid of 'palm' has already (the "
            "first is in line 44)",
        ),
        (
            'name "wedge"',
            'name "ball"',
            "name",
            "134: expected another name than 'ball', which a solid of the world has already (the "
            "first is in line 118)",
        ),
        (
            'name "right motor"',
            'name "left touch"',
            "name",
            "102: expected another name than 'left touch', which a device of robot 'hand' has "
            "already (the first is in line 63)",
        ),
        (
            "DirectionalLight {",
            "Solid { children TouchSensor { boundingObject Box { } } } DirectionalLight {",
            "place",
            "15: expected a Robot around the TouchSensor 'touch sensor', found none",
        ),
        (
            "DirectionalLight {",
            "Group { children SliderJoint { jointParameters JointParameters { } endPoint Solid { "
            'name "loose" } } } DirectionalLight {',
            "place",
            "15: expected a solid around the SliderJoint, found none",
        ),
        (
            "scale 0.001 0.001 0.001\n      children [",
            'children [ Solid { name "hidden" }',
            "place",
            "138: expected only looks below a Transform, found a Solid",
        ),
        (
            "Capsule { height 0.03 radius 0.007 }",
            "Pose { children Sphere { radius 0.01 } }",
            "place",
            "75: expected no Pose inside a Pose of a boundingObject, found one",
        ),
        (
            "physics USE TIP_MASS",
            "",
            "physics",
            "44: expected physics of 'left', which a motor drives, found none",
        ),
        (
            "physics Physics { density 1100 }",
            "",
            "physics",
            "104: expected physics of 'right', which a motor drives, found none",
        ),
        (
            "jointParameters JointParameters { minStop -0.01 maxStop 0.1 }",
            "",
            "joint",
            "22: SliderJoint.jointParameters: expected a node, found none",
        ),
        (
            "TouchSensor {",
            "HingeJoint { jointParameters HingeJointParameters { } } TouchSensor {",
            "joint",
            "63: HingeJoint.endPoint: expected a node, found none",
        ),
        (
            'PositionSensor { name "left angle" }',
            'RotationalMotor { name "left second" }',
            "joint",
            "30: HingeJoint.device: expected one motor, found 2",
        ),
        (
            "axis 0 -1 0",
            "axis 0 0 0",
            "joint",
            "96: HingeJointParameters.axis: expected a direction, found 0 0 0",
        ),
        (
            "springConstant 0.04",
            "springConstant -0.04",
            "joint",
            "51: HingeJointParameters.springConstant: expected at least 0, found -0.04",
        ),
        (
            "maxTorque 0.8 sound",
            "maxTorque -0.8 sound",
            "joint",
            "102: RotationalMotor.maxTorque: expected at least 0, found -0.8",
        ),
        (
            "position 0.5\n                  j",
            "position 0.25\n                  j",
            "position",
            "49: HingeJoint.position: expected jointParameters.position (0.5), found 0.25",
        ),
        (
            "rotation 0 1 0 0.5",
            "rotation 0 1 0 0",
            "position",
            "51: HingeJointParameters.position: expected an endPoint that is turned by it (0.5 "
            "rad), found one that is not turned",
        ),
        (
            "minStop -0.4",
            "minStop -3.2",
            "stop",
            "31: HingeJointParameters.minStop: expected -pi to 0, found -3.2",
        ),
        (
            "maxStop 1.6",
            "maxStop 4",
            "stop",
            "31: HingeJointParameters.maxStop: expected 0 to pi, found 4",
        ),
        (
            "minStop -0.01 maxStop 0.1",
            "minStop 0.2 maxStop 0",
            "stop",
            "23: JointParameters.minStop: expected at most maxStop (0), found 0.2",
        ),
        (
            "minPosition -0.2",
            "minPosition -0.5",
            "stop",
            "40: RotationalMotor.minPosition: expected at least minStop (-0.4), found -0.5",
        ),
        (
            "maxPosition 1.5",
            "maxPosition 1.7",
            "stop",
            "40: RotationalMotor.maxPosition: expected at most maxStop (1.6), found 1.7",
        ),
        (
            "minPosition -0.2",
            "minPosition 1.8",
            "stop",
            "40: RotationalMotor.minPosition: expected at most maxPosition (1.5), found 1.8",
        ),
        ("density 1100", "density 1100 mass 0.1", "mass", f"109: {ONE_OF_BOTH} 1100 and mass 0.1"),
        ("density 1100", "density -1", "mass", f"109: {ONE_OF_BOTH} -1 and mass -1"),
        (
            "centerOfMass [ 0 0 -0.015 ]",
            "",
            "mass",
            "78: Physics.centerOfMass: expected 1 vector beside an inertiaMatrix, found 0",
        ),
        (
            "centerOfMass [ 0 0 0.01 ]",
            "centerOfMass [ 0 0 0.01, 0 0 0 ]",
            "mass",
            "113: Physics.centerOfMass: expected 1 vector or none, found 2",
        ),
        (
            INERTIA,
            "[ 1.1e-06 1.1e-06 1.3e-07 ]",
            "mass",
            "78: Physics.inertiaMatrix: expected 2 vectors or none, found 1",
        ),
        (
            INERTIA,
            "[ 1.1e-06 1.1e-06 1.3e-07, 2e-06 0 0 ]",
            "mass",
            "78: Physics.inertiaMatrix: expected principal moments above 0, found -9e-07, 1.3e-07 "
            "and 3.1e-06",
        ),
        (
            INERTIA,
            "[ 1.1e-06 1.1e-06 2.3e-06, 0 0 0 ]",
            "mass",
            "78: Physics.inertiaMatrix: expected no principal moment above the sum of the others, "
            "found 1.1e-06, 1.1e-06 and 2.3e-06",
        ),
        (
            "density -1\n                      mass 0.0055",
            "",
            "mass",
            "78: Physics.mass: expected it beside an inertiaMatrix, found -1",
        ),
        (
            "angular 0.1",
            "angular 1.1",
            "mass",
            "131: Damping.angular: expected 0 to 1, found 1.1",
        ),
        (
            "size 0.004 0.01 0.02",
            "size 0.004 0 0.02",
            "size",
            "66: Box.size: expected numbers above 0, found 0.004 0 0.02",
        ),
        (
            "radius 0.025",
            "radius -0.025",
            "size",
            "125: Sphere.radius: expected a number above 0, found -0.025",
        ),
        (
            MESH,
            'url [ "/home/me/wedge.stl" ]',
            "mesh",
            "141: Mesh.url: expected a path relative to the world, found '/home/me/wedge.stl'",
        ),
        (
            MESH,
            'url [ "C:/me/wedge.stl" ]',
            "mesh",
            "141: Mesh.url: expected a path relative to the world, found 'C:/me/wedge.stl'",
        ),
        (
            MESH,
            'url [ "meshes/wedge.ply" ]',
            "mesh",
            "141: Mesh.url: expected a .dae, .obj or .stl file, found 'meshes/wedge.ply'",
        ),
        (MESH, "", "mesh", "141: Mesh.url: expected one file, found 0"),
        (
            "2 0 3 -1 ]",
            "2 0 3 ]",
            "mesh",
            "146: IndexedFaceSet.coordIndex: expected -1 at the end of the last face, found 3",
        ),
        (
            "2 0 3 -1 ]",
            "2 0 4 -1 ]",
            "mesh",
            "146: IndexedFaceSet.coordIndex: expected 0 to 3 or -1, found 4",
        ),
        (
            "2 0 3 -1 ]",
            "2 0 -1 ]",
            "mesh",
            "146: IndexedFaceSet.coordIndex: expected faces of at least 3 points, found one of 2",
        ),
        (
            "coordIndex [ 0 2 1 -1 0 1 3 -1 1 2 3 -1 2 0 3 -1 ]",
            "",
            "mesh",
            "146: IndexedFaceSet.coordIndex: expected faces, found none",
        ),
        (
            "coord Coordinate { point [ 0 0 0, 0.1 0 0, 0 0.1 0, 0 0 0.05 ] }",
            "",
            "mesh",
            "146: IndexedFaceSet.coord: expected a Coordinate, found none",
        ),
        (
            TOUCH_BOX,
            "",
            "touch",
            "63: TouchSensor.boundingObject: expected one of force-3d sensor 'left touch', found "
            "none",
        ),
        (
            "physics Physics { density -1 mass 0.001 }",
            "",
            "touch",
            "63: TouchSensor.physics: expected one of force-3d sensor 'left touch', found none",
        ),
        (
            "lookupTable [ ]",
            "",
            "touch",
            "63: TouchSensor.lookupTable: expected [] (newtons), found the default, which scales "
            "and clips forces",
        ),
        (
            "lookupTable [ ]",
            "lookupTable [ 0 0 0, 10 10 0 ]",
            "touch",
            "63: TouchSensor.lookupTable: expected [] (newtons), found 2 rows, which scales and "
            "clips forces",
        ),
        (
            "endPoint Solid {\n              translation -0.03 0 0",
            'endPoint TouchSensor { type "force" lookupTable [ ]',
            "touch",
            "104: expected a solid that has force sensor 'right' among its children, found an "
            "endPoint; it would read 0",
        ),
    ],
)
def test_mistakes_are_found(old: str, new: str, kind: str, sentence: str):
    assert f"{kind}: pinch.wbt:{sentence}" in result(parse_world(changed(old, new), "pinch.wbt"))


def test_problems_come_by_line():
    text = changed('controller "<none>"', 'controller ""').replace("gravity 9.81", "gravity -1")
    lines = [problem.line for problem in problems(parse_world(text))]
    assert lines == [3, 16]


def test_a_gap_between_solids_with_physics_is_found():
    text = (
        "#VRML_SIM R2025a utf8\nWorldInfo { }\nViewpoint { }\n"
        'Solid { name "a" physics Physics { } children\n'
        'Solid { name "b" children Pose { children\n'
        'Solid { name "c" children\n'
        'Solid { name "d" physics Physics { } } } } } }'
    )
    assert result(parse_world(text, "gap.wbt")) == [
        "physics: gap.wbt:5: expected physics of 'b', which is between solids with it, found none",
        "physics: gap.wbt:6: expected physics of 'c', which is between solids with it, found none",
    ]


def test_an_empty_world_lacks_its_head():
    assert result(World("R2025a")) == [
        "head: world.wbt: expected a Viewpoint as the second node, found none",
        "head: world.wbt: expected a WorldInfo as the first node, found none",
    ]


def made(*nodes: Node, version: str = "R2025a") -> World:
    """A world that was made in code."""
    return World(version, [Node("WorldInfo"), Node("Viewpoint"), *nodes], Path("made.wbt"))


def test_places_are_checked_in_worlds_made_in_code_too():
    cone = Node("Shape", {"geometry": Node("Cone")})
    solid = Node("Solid", {"children": [cone, Node("Coordinate")], "boundingObject": cone})
    world = made(solid, Node("HingeJoint"))
    assert result(world) == [
        "joint: made.wbt: HingeJoint.endPoint: expected a node, found none",
        "joint: made.wbt: HingeJoint.jointParameters: expected a node, found none",
        "place: made.wbt: Shape.geometry: expected Box, Sphere, Cylinder, Capsule, Plane, Mesh or "
        "IndexedFaceSet of a boundingObject, found Cone",
        "place: made.wbt: Solid.children: expected Solid, Robot, TouchSensor, HingeJoint, "
        "SliderJoint, PointLight, SpotLight, Group, Pose, Transform, Shape or CadShape, found "
        "Coordinate",
        "place: made.wbt: expected WorldInfo, Viewpoint, Background, DirectionalLight, PointLight, "
        "SpotLight, Solid, Robot, Group, Pose, Transform, Shape or CadShape, found HingeJoint",
        "place: made.wbt: expected a solid around the HingeJoint, found none",
    ]


def test_old_versions_know_no_contact_joints():
    info = Node("WorldInfo", {"contactProperties": [Node("ContactProperties", {"bounce": 0})]})
    info.nodes("contactProperties")[0].fields["maxContactJoints"] = 20
    assert result(World("R2025a", [info, Node("Viewpoint")])) == []
    assert result(World("R2023a", [info, Node("Viewpoint")])) == [
        "version: world.wbt: ContactProperties.maxContactJoints: expected Webots R2023b or newer, "
        "found R2023a"
    ]


def test_a_spring_that_is_nowhere_keeps_nothing_awake():
    assert result(made(Node("Solid"))) == []


def test_large_meshes_are_found():
    points = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), *([(0.0, 1.0, 0.0)] * 99_999)]
    coordinate = Node("Coordinate", {"point": list(points)})
    faces = Node("IndexedFaceSet", {"coord": coordinate, "coordIndex": [0, 1, 2, -1]})
    assert result(made(Node("Shape", {"geometry": faces}))) == [
        "mesh: made.wbt: Coordinate.point: expected at most 100000 points, found 100001"
    ]


def test_rounded_inertias_of_plates_are_taken():
    physics = Node(
        "Physics",
        {
            "density": -1.0,
            "mass": 1.0,
            "centerOfMass": [(0.0, 0.0, 0.0)],
            "inertiaMatrix": [(1.111111e-3, 2.222222e-3, 3.333334e-3), (0.0, 0.0, 0.0)],
        },
    )
    assert result(made(Node("Solid", {"physics": physics}))) == []


def test_rules_have_a_sentence_each():
    assert all(rule.__doc__ for _, rule in RULES)
    assert len({rule for _, rule in RULES}) == len(RULES)
