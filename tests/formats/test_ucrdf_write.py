"""Written robots come back equal."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp import assets
from softgrasp.description.bendable import Inertial
from softgrasp.description.geometry import Cuboid, Mesh, Sphere
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.robot import load_robot
from softgrasp.io.urdf import read_robot, robot_xml, write_robot
from tests.robots import ARM, HINGE, TETRAHEDRON, outside_robot, robots, written


@pytest.mark.parametrize("text", [ARM, HINGE], ids=["ucrdf", "urdf"])
def test_a_file_comes_back_equal(text: str, tmp_path: Path) -> None:
    robot = read_robot(written(tmp_path, text))
    again = write_robot(robot, tmp_path / "deep" / "again.ucrdf")
    assert read_robot(again) == robot
    assert robot_xml(read_robot(again)) == again.read_text("utf-8")


@pytest.mark.parametrize("name", assets.names("robots"))
def test_a_shipped_robot_comes_back_equal(name: str, tmp_path: Path) -> None:
    robot = load_robot(name)
    assert read_robot(write_robot(robot, tmp_path / "again.ucrdf")) == robot


@pytest.mark.parametrize("name", ["gripper2.ucrdf", "roberto3.ucrdf.xacro"])
def test_an_outside_robot_comes_back_equal(name: str, tmp_path: Path) -> None:
    robot = read_robot(outside_robot(name))
    assert read_robot(write_robot(robot, tmp_path / "again.ucrdf")) == robot


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_robot_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("robot")
    mesh = written(directory, TETRAHEDRON, "corner.obj")
    robot = data.draw(robots(str(mesh)))
    assert read_robot(write_robot(robot, directory / "robot.ucrdf")) == robot


def test_a_shipped_mesh_keeps_its_name(tmp_path: Path) -> None:
    mesh = LinkShape(shape=Mesh(file="objects/meshes/pear.obj", scale=(1.0, 2.0, 1.0)))
    robot = Robot(name="r", links=(Link(name="a", visuals=(mesh,)),))
    text = robot_xml(robot)
    assert '<mesh filename="objects/meshes/pear.obj" scale="1.0 2.0 1.0"/>' in text
    assert read_robot(written(tmp_path, text)) == robot


def test_a_scale_that_is_the_same_on_all_axes_is_one_number() -> None:
    one, three = (LinkShape(shape=Mesh(file="a.stl", scale=s)) for s in (2.0, (2.0, 2.0, 2.0)))
    assert one == three


def test_colours_are_materials_of_one_name_each() -> None:
    red, blue = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
    ball = LinkShape(shape=Sphere(radius=0.1), rgba=red)
    robot = Robot(name="r", links=(Link(name="a", visuals=(ball, ball, ball.replace(rgba=blue))),))
    text = robot_xml(robot)
    assert text.count('<material name="1.0 0.0 0.0 1.0">') == 2
    assert text.count('<material name="0.0 0.0 1.0 1.0">') == 1


def test_what_stands_at_its_default_is_not_written() -> None:
    box = LinkShape(shape=Cuboid(size=(1.0, 1.0, 1.0)))
    robot = Robot(name="r", links=(Link(name="a", inertial=Inertial(mass=1.0), visuals=(box,)),))
    assert robot_xml(robot) == (
        '<?xml version="1.0"?>\n'
        '<robot name="r">\n'
        '  <link name="a">\n'
        "    <inertial>\n"
        '      <mass value="1.0"/>\n'
        "    </inertial>\n"
        "    <visual>\n"
        "      <geometry>\n"
        '        <box size="1.0 1.0 1.0"/>\n'
        "      </geometry>\n"
        "    </visual>\n"
        "  </link>\n"
        "</robot>\n"
    )


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\ud800"], ids=["NUL", "ESC", "surrogate"])
def test_letters_that_xml_has_not_are_refused(letter: str) -> None:
    robot = Robot.model_construct(name=f"r{letter}", links=(Link(name="a"),), source="")
    with pytest.raises(DescriptionError) as refused:
        robot_xml(robot)
    assert str(refused.value).startswith("expected text that XML can hold, found: ")
