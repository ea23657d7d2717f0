"""Backbones of polynomial curvature: the constant case, closed forms, laws of curves."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from scipy.special import fresnel

from softgrasp import assets
from softgrasp.continuum import pcc
from softgrasp.description.bendable import Backbone, Bendable, CurvatureLimits, Inertial
from softgrasp.description.geometry import Cuboid, Mesh, Sphere
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.load import load_robot
from softgrasp.io.urdf import read_robot, reader, robot_xml, write_robot
from softgrasp.io.urdf.rigid import BentState, frames_along
from tests.support.robots import ARM, HINGE, TETRAHEDRON, outside_robot, robots, written

SHARES = np.array([0.1, 0.25, 0.6, 1.0])


def ppc(frame: pcc.Frame = "bishop", degree: int = 3) -> Bendable:
    return Bendable(
        name="b",
        parent="p",
        child="c",
        model="ppc",
        degree=degree,
        frame=frame,
        limits=CurvatureLimits(kappa_max=100.0),
        backbone=Backbone(length=0.3, radius=0.02),
    )


@given(st.floats(-30, 30), st.floats(-7, 7), st.sampled_from(["bishop", "webster"]))
@settings(max_examples=50, deadline=None)
def test_a_constant_polynomial_is_constant_curvature(kappa, phi, frame):
    state = BentState((kappa, 0.0, 0.0, 0.0), phi, 0.4)
    target = pcc.segment_transform(kappa, phi, 0.4 * SHARES, ppc(frame).end_frame)
    np.testing.assert_allclose(frames_along(ppc(frame), state, SHARES), target, atol=1e-14)


@pytest.mark.parametrize("slope", [1.0, 40.0, -200.0])
def test_a_linear_polynomial_is_a_clothoid(slope):
    """θ = slope·s²/(2ℓ), so the point is a Fresnel integral."""
    length = 0.3
    result = frames_along(ppc(degree=1), BentState((0.0, slope), 0.0, length), SHARES)
    unit = np.sqrt(np.pi * length / abs(slope))
    sines, cosines = fresnel(length * SHARES / unit)
    np.testing.assert_allclose(result[:, 0, 3], np.sign(slope) * unit * sines, atol=1e-14)
    np.testing.assert_allclose(result[:, 2, 3], unit * cosines, atol=1e-14)
    np.testing.assert_array_equal(result[:, 1, 3], 0.0)


@given(st.tuples(*[st.floats(-20, 20)] * 4), st.floats(-7, 7))
@settings(max_examples=50, deadline=None)
def test_the_z_axis_is_the_tangent(kappas, phi):
    step = 1e-4
    state = BentState(kappas, phi, 0.5)
    before, at, after = (
        frames_along(ppc(), state, np.array([0.4 + d])) for d in (-step, 0.0, step)
    )
    tangent = (after - before)[0, :3, 3] / (2 * step * 0.5)
    np.testing.assert_allclose(tangent, at[0, :3, 2], atol=1e-6)
    rotation = at[0, :3, :3]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)


def test_the_plane_rotates_the_curve_about_the_base_axis():
    kappas = (3.0, -20.0, 5.0, 1.0)
    flat, rotated = (frames_along(ppc(), BentState(kappas, phi, 0.3), SHARES) for phi in (0.0, 2.0))
    x, y = np.cos(2.0), np.sin(2.0)
    np.testing.assert_allclose(rotated[:, 0, 3], x * flat[:, 0, 3], atol=1e-15)
    np.testing.assert_allclose(rotated[:, 1, 3], y * flat[:, 0, 3], atol=1e-15)
    np.testing.assert_allclose(rotated[:, 2, 3], flat[:, 2, 3], atol=1e-15)


# Written robots come back equal.


@pytest.mark.parametrize("text", [ARM, HINGE], ids=["ucrdf", "urdf"])
def test_a_file_comes_back_equal(text, tmp_path):
    robot = read_robot(written(tmp_path, text))
    again = write_robot(robot, tmp_path / "deep" / "again.ucrdf")
    assert read_robot(again) == robot
    assert robot_xml(read_robot(again)) == again.read_text("utf-8")


@pytest.mark.parametrize("name", assets.names("robots"))
def test_a_shipped_robot_comes_back_equal(name, tmp_path):
    robot = load_robot(name)
    assert read_robot(write_robot(robot, tmp_path / "again.ucrdf")) == robot


SCHEMA = Path(reader.__file__).with_name("bendable.xsd")


def test_the_schema_and_the_reader_agree_on_all_names():
    """The schema is for other programs; the reader knows the names from the descriptions."""

    def names(grammar):
        for tag, inside in grammar.items():
            if tag != reader.ATTRIBUTES:
                yield tag, *sorted(inside.get(reader.ATTRIBUTES, ()))
                yield from names(inside)

    namespace = {"xs": "http://www.w3.org/2001/XMLSchema"}
    declared = etree.parse(SCHEMA).findall("xs:element", namespace)
    stated = {
        (
            item.get("name"),
            *sorted(a.get("name") for a in item.iterfind(".//xs:attribute", namespace)),
        )
        for item in declared
    }
    grammars = {"bendable": reader._BENDABLE, "hydraulics": reader._HYDRAULICS}
    assert stated == set(names(grammars))


@pytest.mark.parametrize("name", assets.names("robots"))
def test_what_is_written_is_valid_in_the_schema(name):
    schema = etree.XMLSchema(etree.parse(SCHEMA))
    root = etree.fromstring(robot_xml(load_robot(name)).encode())
    for element in (*root.iterfind("bendable"), *root.iterfind("hydraulics")):
        schema.assertValid(element)


@pytest.mark.parametrize("name", ["gripper2.ucrdf", "roberto3.ucrdf.xacro"])
def test_an_outside_robot_comes_back_equal(name, tmp_path):
    robot = read_robot(outside_robot(name))
    assert read_robot(write_robot(robot, tmp_path / "again.ucrdf")) == robot


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_robot_comes_back_equal(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("robot")
    mesh = written(directory, TETRAHEDRON, "corner.obj")
    robot = data.draw(robots(str(mesh)))
    assert read_robot(write_robot(robot, directory / "robot.ucrdf")) == robot


def test_a_shipped_mesh_keeps_its_name(tmp_path):
    mesh = LinkShape(shape=Mesh(file="objects/meshes/pear.obj", scale=(1.0, 2.0, 1.0)))
    robot = Robot(name="r", links=(Link(name="a", visuals=(mesh,)),))
    text = robot_xml(robot)
    assert '<mesh filename="objects/meshes/pear.obj" scale="1.0 2.0 1.0"/>' in text
    assert read_robot(written(tmp_path, text)) == robot


def test_a_scale_that_is_the_same_on_all_axes_is_one_number():
    item, three = (LinkShape(shape=Mesh(file="a.stl", scale=s)) for s in (2.0, (2.0, 2.0, 2.0)))
    assert item == three


def test_colours_are_materials_of_one_name_each():
    red, blue = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
    ball = LinkShape(shape=Sphere(radius=0.1), rgba=red)
    robot = Robot(name="r", links=(Link(name="a", visuals=(ball, ball, ball.replace(rgba=blue))),))
    text = robot_xml(robot)
    assert text.count('<material name="1.0 0.0 0.0 1.0">') == 2
    assert text.count('<material name="0.0 0.0 1.0 1.0">') == 1


def test_what_stands_at_its_default_is_not_written():
    box = LinkShape(shape=Cuboid(size=(1.0, 1.0, 1.0)))
    robot = Robot(name="r", links=(Link(name="a", inertial=Inertial(mass=1.0), visuals=(box,)),))
    assert re.sub(r">\s+<", "><", robot_xml(robot)).strip() == (
        '<?xml version="1.0"?><robot name="r"><link name="a"><inertial><mass value="1.0"/>'
        '</inertial><visual><geometry><box size="1.0 1.0 1.0"/></geometry></visual></link></robot>'
    )


@pytest.mark.parametrize("letter", ["\x00", "\x1b", "\ud800"], ids=["NUL", "ESC", "surrogate"])
def test_letters_that_xml_has_not_are_refused(letter):
    robot = Robot.model_construct(name=f"r{letter}", links=(Link(name="a"),), source="")
    with pytest.raises(DescriptionError) as refused:
        robot_xml(robot)
    assert str(refused.value).startswith("expected text that XML can hold, found: ")
