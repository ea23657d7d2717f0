"""Errors of worlds beyond the grammar: each check, on a correct world with one mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp.backends.wbt import Node, World, parse_world, problems, read_world
from tests.backends.wbt.pinch import FILE, changed
from tests.conftest import Golden

INERTIA = "[ 1.1e-06 1.1e-06 1.3e-07, 0 0 1e-08 ]"
MESH = 'url [ "meshes/wedge.stl" ]'
TOUCH_BOX = "boundingObject Box { size 0.004 0.01 0.02 }"


def result(world: World) -> list[str]:
    """The problems as text."""
    return [str(problem) for problem in problems(world)]


def test_a_good_world_has_no_problem():
    assert problems(read_world(FILE)) == []


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Viewpoint {", "Viewpoint { } Viewpoint {", "13: expected one Viewpoint, found another"),
        ("Viewpoint { orientation 0 1 0 0.25 position -0.5 0 0.2 }", "", "14: expected a"),
        ("Background { ", "Background { } Background { ", "14: expected one Background, found"),
        ("gravity 9.81", "gravity -9.81", "3: WorldInfo.gravity"),
        ("basicTimeStep 1", "basicTimeStep 0.5", "3: WorldInfo.basicTimeStep"),
        ("basicTimeStep 1", "basicTimeStep 1.5", "3: WorldInfo.basicTimeStep"),
        ("bounce 0", "bounce 1.5", "9: ContactProperties.bounce"),
        ("softCFM 0.002", "softERP -0.3", "10: ContactProperties.softERP"),
        ("softCFM 0.002", "softCFM 0", "10: ContactProperties.softCFM"),
        ("bounce 0", "bounceVelocity -0.1", "9: ContactProperties.bounceVelocity"),
        ("[ 0.7 ]", "[ ]", "9: ContactProperties.coulombFriction"),
        ("[ 0.7 ]", "-0.7", "9: ContactProperties.coulombFriction"),
        (
            "DirectionalLight {",
            "Solid { children TouchSensor { boundingObject Box { } } } DirectionalLight {",
            "15: expected a Robot around the TouchSensor 'touch sensor'",
        ),
        (
            "DirectionalLight {",
            "Group { children SliderJoint { jointParameters JointParameters { } endPoint Solid { "
            'name "loose" } } } DirectionalLight {',
            "15: expected a solid around the SliderJoint",
        ),
        ("physics USE TIP_MASS", "", "30: HingeJoint"),
        (
            "jointParameters JointParameters { minStop -0.01 maxStop 0.1 }",
            "",
            "22: SliderJoint.jointParameters",
        ),
        (
            "TouchSensor {",
            "HingeJoint { jointParameters HingeJointParameters { } } TouchSensor {",
            "63: HingeJoint.endPoint",
        ),
        ("axis 0 -1 0", "axis 0 0 0", "96: HingeJointParameters.axis"),
        ("springConstant 0.04", "springConstant -0.04", "51: HingeJointParameters.springConstant"),
        ("maxTorque 0.8 sound", "maxTorque -0.8 sound", "102: RotationalMotor.maxTorque"),
        ("minStop -0.4", "minStop -3.2", "31: HingeJointParameters.minStop"),
        ("maxStop 1.6", "maxStop 4", "31: HingeJointParameters.maxStop"),
        ("minStop -0.01 maxStop 0.1", "minStop 0.2 maxStop 0", "23: JointParameters.minStop"),
        ("minPosition -0.2", "minPosition 1.8", "40: RotationalMotor.minPosition"),
        ("density 1100", "density 1100 mass 0.1", "109: Physics"),
        ("density 1100", "density -1", "109: Physics"),
        ("centerOfMass [ 0 0 -0.015 ]", "", "78: Physics.centerOfMass"),
        (
            "centerOfMass [ 0 0 0.01 ]",
            "centerOfMass [ 0 0 0.01, 0 0 0 ]",
            "113: Physics.centerOfMass",
        ),
        (INERTIA, "[ 1.1e-06 1.1e-06 1.3e-07 ]", "78: Physics.inertiaMatrix"),
        (INERTIA, "[ 1.1e-06 1.1e-06 1.3e-07, 2e-06 0 0 ]", "78: Physics.inertiaMatrix"),
        (INERTIA, "[ 1.1e-06 1.1e-06 2.3e-06, 0 0 0 ]", "78: Physics.inertiaMatrix"),
        ("density -1\n                      mass 0.0055", "", "78: Physics.mass"),
        ("angular 0.1", "angular 1.1", "131: Damping.angular"),
        ("size 0.004 0.01 0.02", "size 0.004 0 0.02", "66: Box.size"),
        ("radius 0.025", "radius -0.025", "125: Sphere.radius"),
        (MESH, "", "141: Mesh.url"),
        ("2 0 3 -1 ]", "2 -1 0 3 ]", "146: IndexedFaceSet.coordIndex"),
        ("2 0 3 -1 ]", "2 0 4 -1 ]", "146: IndexedFaceSet.coordIndex"),
        ("2 0 3 -1 ]", "2 0 -1 ]", "146: IndexedFaceSet.coordIndex"),
        (
            "coordIndex [ 0 2 1 -1 0 1 3 -1 1 2 3 -1 2 0 3 -1 ]",
            "",
            "146: IndexedFaceSet.coordIndex",
        ),
        (
            "coord Coordinate { point [ 0 0 0, 0.1 0 0, 0 0.1 0, 0 0 0.05 ] }",
            "",
            "146: IndexedFaceSet.coord",
        ),
        (TOUCH_BOX, "", "63: TouchSensor.boundingObject"),
        ("physics Physics { density -1 mass 0.001 }", "", "63: TouchSensor.physics"),
        ("lookupTable [ ]", "", "63: TouchSensor.lookupTable"),
        ("lookupTable [ ]", "lookupTable [ 0 0 0, 10 10 0 ]", "63: TouchSensor.lookupTable"),
        (
            "endPoint Solid {\n              translation -0.03 0 0",
            'endPoint TouchSensor { type "force" lookupTable [ ]',
            "104: expected a solid that has force sensor 'right' among its children",
        ),
    ],
)
def test_mistakes_are_detected(old: str, new: str, sentence: str, golden: Golden):
    golden("\n".join(result(parse_world(changed(old, new), "pinch.wbt"))), sentence)


def test_problems_come_by_line():
    text = changed("maxTorque 0.8 sound", "maxTorque -1 sound").replace(
        "gravity 9.81", "gravity -1"
    )
    assert [problem.line for problem in problems(parse_world(text))] == [3, 102]


def test_a_gap_between_solids_with_physics_is_detected(golden):
    text = (
        "#VRML_SIM R2025a utf8\nWorldInfo { }\nViewpoint { }\n"
        'Solid { name "a" physics Physics { } children\n'
        'Solid { name "b" children Pose { children\n'
        'Solid { name "c" children\n'
        'Solid { name "d" physics Physics { } } } } } }'
    )
    golden("\n".join(result(parse_world(text, "gap.wbt"))), "gap.wbt:7")


def test_an_empty_world_lacks_its_head(golden):
    golden("\n".join(result(World("R2025a"))), "world.wbt")


def made(*nodes: Node, version: str = "R2025a") -> World:
    """A world that was made in code."""
    return World(version, [Node("WorldInfo"), Node("Viewpoint"), *nodes], Path("made.wbt"))


def test_large_meshes_are_detected():
    points = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), *([(0.0, 1.0, 0.0)] * 99_999)]
    coordinate = Node("Coordinate", {"point": list(points)})
    faces = Node("IndexedFaceSet", {"coord": coordinate, "coordIndex": [0, 1, 2, -1]})
    assert result(made(Node("Shape", {"geometry": faces}))) == [
        "made.wbt: Coordinate.point: expected at most 100000 points, found 100001"
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


HIDDEN = """#VRML_SIM R2025a utf8
EXTERNPROTO "https://example.org/protos/Arm.proto"
WorldInfo { }
Viewpoint { }
%s
"""
GRIPPER = """HingeJoint {
  jointParameters HingeJointParameters { axis 0 0 1 }
  device [ RotationalMotor { name "finger" } PositionSensor { name "position" } ]
  endPoint Solid { name "finger" physics Physics { density -1 mass 0.1 } }
}"""


@pytest.mark.parametrize(
    "inner",
    [
        "Arm { tool [ %s ] }",
        "Solid { children [ Arm { tool %s } ] }",
        "Arm { tool [ Group { children [ %s ] } ] }",
    ],
)
def test_children_of_an_opaque_node_are_no_orphans(inner: str):
    """A PROTO whose file is elsewhere may be a robot, a solid or something around either."""
    assert result(parse_world(HIDDEN % (inner % GRIPPER))) == []


def test_children_of_known_nodes_are_still_orphans():
    problems = result(parse_world(HIDDEN % f"Group {{ children [ {GRIPPER} ] }}"))
    assert len(problems) == 3
    assert all("around the" in problem for problem in problems)
