"""Robots read from U(C)RDF, URDF and xacro files."""

import math
from pathlib import Path

import pytest

from softgrasp.description.bendable import Chamber, Origin
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh
from softgrasp.description.robot import Mimic, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.urdf import read_robot
from tests.support.robots import ARM, HINGE, TETRAHEDRON, needs_xacro, outside_robot, written


def read(directory: Path, text: str, name: str = "robot.urdf") -> Robot:
    needs_xacro(name)
    return read_robot(written(directory, text, name))


def test_bendables(tmp_path):
    robot = read(tmp_path, ARM)
    assert (robot.name, robot.root) == ("arm", "base")
    first, second = robot.bendables
    assert (first.parent, first.child) == ("base", "middle")
    assert first.origin == Origin(xyz=(0.0, 0.0, 0.1))
    assert (first.model, first.degree, first.frame) == ("pcc", 0, "bishop")
    assert (first.kappa_max, first.theta_max) == (4.0, pytest.approx(1.2))
    assert (first.backbone.length, first.backbone.radius) == (0.3, 0.02)
    assert (first.backbone.bending_stiffness, first.backbone.links) == (0.5, 8)
    assert first.actuation[1] == Chamber(angle=2.0, radius=0.01, area=1e-4)
    assert (first.inertial.mass, first.inertial.inertia) == (0.2, None)
    assert (second.model, second.degree) == ("ppc", 2)
    assert second.kappa_max == pytest.approx(7.5)
    assert (second.limits.phi_min, second.limits.phi_max) == (-1.0, 1.0)
    assert second.inertial is None
    assert second.actuation == ()


def test_control(tmp_path):
    (system,) = read(tmp_path, ARM).control
    assert (system.name, system.type, system.plugin) == ("arm", "system", "SoftRobotInterface")
    (joint,) = system.joints
    assert [part.name for part in joint.commands] == ["kappa", "phi"]
    assert [part.name for part in joint.states] == ["kappa"]
    assert (joint.commands[0].min, joint.commands[0].max) == (None, 4.0)


def test_a_plain_urdf(tmp_path):
    robot = read(tmp_path, HINGE)
    assert robot.bendables == ()
    arm, elbow = robot.link("arm"), robot.joints[0]
    assert arm.inertial.inertia == (1e-3, 1e-3, 1e-4, 0.0, 0.0, 0.0)
    assert arm.visuals[0].shape == Cylinder(radius=0.02, height=0.3)
    assert arm.visuals[0].rgba == (0.5, 0.5, 0.5, 1.0)
    assert arm.collisions[0].shape == Cuboid(size=(0.04, 0.04, 0.3))
    assert arm.collisions[0].rgba is None
    assert (elbow.type, elbow.parent, elbow.child, elbow.axis) == (
        "revolute", "base", "arm", (0.0, 1.0, 0.0),
    )  # fmt: skip
    assert (elbow.lower, elbow.upper, elbow.effort, elbow.velocity) == (-1.0, 1.0, 5.0, 2.0)
    assert (elbow.damping, elbow.friction) == (0.1, 0.01)


def test_what_urdf_leaves_to_its_defaults(tmp_path):
    second = '<joint name="m" type="fixed"><parent link="arm"/><child link="tip"/>'
    text = (
        HINGE.replace('lower="-1" ', "")
        .replace('<axis xyz="0 1 0"/>', "")
        .replace(' ixy="0" ixz="0" iyz="0"', "")
        .replace("</robot>", f'<link name="tip"/>{second}<mimic joint="elbow"/></joint></robot>')
    )
    elbow, other = read(tmp_path, text).joints
    assert (elbow.lower, elbow.upper) == (0.0, 1.0)
    assert elbow.axis == (1.0, 0.0, 0.0)
    assert other.mimic == Mimic(joint="elbow", multiplier=1.0, offset=0.0)


def test_a_capsule_and_a_separate_colour(tmp_path):
    text = HINGE.replace('<cylinder radius="0.02"', '<capsule radius="0.02"').replace(
        '<material name="grey"/>', '<material name=""><color rgba="1 0 0 1"/></material>'
    )
    seen = read(tmp_path, text).link("arm").visuals[0]
    assert seen.shape == Capsule(radius=0.02, length=0.3)
    assert seen.rgba == (1.0, 0.0, 0.0, 1.0)


def test_a_colour_that_another_link_has_defined(tmp_path):
    text = HINGE.replace('  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>\n', "")
    text = text.replace(
        '<link name="base"/>',
        '<link name="base"><visual><geometry><sphere radius="1"/></geometry>'
        '<material name="grey"><color rgba="0 1 0 1"/></material></visual></link>',
    )
    assert read(tmp_path, text).link("arm").visuals[0].rgba == (0.0, 1.0, 0.0, 1.0)


BOX = '<box size="0.04 0.04 0.3"/>'


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ("corner.obj", "robots/corner.obj"),
        ("../meshes/corner.obj", "meshes/corner.obj"),
        ("package://pack/meshes/corner.obj", "pack/meshes/corner.obj"),
        ("package://pack/meshes/corner.obj", "meshes/corner.obj"),
        ("package://robots/corner.obj", "robots/corner.obj"),
        ("model://pack/corner.obj", "robots/pack/corner.obj"),
        ("file://FOLDER/my%20meshes/corner.obj", "my meshes/corner.obj"),
        ("FOLDER/corner.obj", "corner.obj"),
        ("my%20meshes/corner.obj", "robots/my meshes/corner.obj"),
        (r"..\Meshes\corner.obj", "meshes/corner.obj"),
        ("Meshes/Visual/CORNER.OBJ", "robots/meshes/visual/corner.obj"),
        ("package://Pack/corner.OBJ", "robots/pack/corner.obj"),
        ("file://corner.obj", "robots/corner.obj"),
    ],
)
def test_meshes_are_located(given, position, tmp_path):
    mesh = written(tmp_path, TETRAHEDRON, position)
    name = given.replace("FOLDER", str(tmp_path))
    text = HINGE.replace(BOX, f'<mesh filename="{name}" scale="1 2 3"/>')
    shape = read(tmp_path, text, "robots/robot.urdf").link("arm").collisions[0].shape
    assert shape == Mesh(file=str(mesh.resolve()), scale=(1.0, 2.0, 3.0))


def test_a_package_is_the_directory_with_its_manifest(tmp_path):
    """By the name in package.xml, by the folder's name, or where ROS looks for packages."""
    text = HINGE.replace(BOX, '<mesh filename="package://pack/corner.obj"/>')
    named = written(tmp_path, TETRAHEDRON, "clone/corner.obj")
    written(tmp_path, "<package><name>pack</name></package>", "clone/package.xml")
    result = read(tmp_path, text, "clone/robots/r.urdf").link("arm").collisions[0].shape
    assert result == Mesh(file=str(named.resolve()))
    by_folder = written(tmp_path, TETRAHEDRON, "ws/pack/corner.obj")
    written(tmp_path, "<package/>", "ws/pack/manifest.xml")
    result = read(tmp_path, text, "ws/pack/urdf/r.urdf").link("arm").collisions[0].shape
    assert result == Mesh(file=str(by_folder.resolve()))


def test_packages_on_the_path_of_ros(tmp_path, monkeypatch):
    text = HINGE.replace(BOX, '<mesh filename="package://pack/corner.obj"/>')
    mesh = written(tmp_path, TETRAHEDRON, "share/pack/corner.obj")
    robot = written(tmp_path, text, "elsewhere/r.urdf")
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "nowhere"))
    with pytest.raises(DescriptionError) as caught:
        read_robot(robot)
    assert str(caught.value).endswith(
        f"found no 'package://pack/corner.obj' in {robot.parent} or above it, nor in "
        f"ROS_PACKAGE_PATH ({tmp_path / 'nowhere'})"
    )
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'nowhere'}:{tmp_path / 'share'}")
    assert read_robot(robot).link("arm").collisions[0].shape == Mesh(file=str(mesh.resolve()))


def test_a_mesh_of_the_library(tmp_path):
    text = HINGE.replace(BOX, '<mesh filename="objects/meshes/pear.obj"/>')
    shape = read(tmp_path, text).link("arm").collisions[0].shape
    assert shape == Mesh(file="objects/meshes/pear.obj")


def test_what_is_not_kept_is_named_once_with_its_lines(tmp_path):
    text = HINGE.replace(
        "  <joint",
        '  <gazebo reference="arm"/>\n  <transmission name="t"><type>x</type></transmission>\n'
        "  <gazebo/>\n  <joint",
    )
    text = text.replace("effort=", 'efort="1" effort=').replace(
        "<dynamics", '<safety_controller k_velocity="10"/>\n    <calibration rising="0"/><dynamics'
    )
    text = text.replace("<collision>", "<collison/><collision>").replace(
        "<visual>", '<visual><geometry><mesh filename="a.fbx"/></geometry></visual><visual>'
    )
    path = written(tmp_path, text, "robot.urdf")
    with pytest.warns(SoftgraspWarning) as message:
        robot = read_robot(path)
    assert [str(warning.message) for warning in message] == [
        f"{path}: left out: <collison>; did you mean collision? (line 13), <gazebo> (lines 15, "
        "17), <transmission> (line 16), attribute efort of <limit>; did you mean effort? (line "
        "22), <safety_controller> (line 23), <calibration> (line 24)",
        f"{path}: left out: <visual> 'a.fbx' (line 9), which softgrasp does not read (.stl, .obj, "
        ".ply, .glb, .off, .dae)",
    ]
    assert robot == read(tmp_path, HINGE, "plain.urdf")


def test_a_texture_is_not_kept(tmp_path):
    text = HINGE.replace('<color rgba="0.5 0.5 0.5 1"/>', '<texture filename="grey.png"/>')
    with pytest.warns(SoftgraspWarning, match=r"left out: <texture> \(line 2\)"):
        robot = read(tmp_path, text)
    assert robot.link("arm").visuals[0].rgba is None


def test_a_mistake_behind_what_is_not_kept_has_its_line(tmp_path, golden):
    text = HINGE.replace(
        "    <visual>",
        '    <visual><geometry><mesh filename="a.dae"/></geometry></visual>\n    <visual>',
    ).replace('radius="0.02"', 'radius="-1"')
    golden.refused(lambda: read(tmp_path, text), "TMP/robot.urdf:11: link 'arm': cylinder.radius")


def test_other_elements_of_ros2_control_are_named(tmp_path):
    text = ARM.replace("</ros2_control>", '<gpio name="g"/></ros2_control>').replace(
        '<command_interface name="phi"/>',
        '<command_interface name="phi"><param name="offset">1</param></command_interface>',
    )
    path = written(tmp_path, text)
    with pytest.warns(SoftgraspWarning) as message:
        read_robot(path)
    assert [str(warning.message) for warning in message] == [
        f"{path}: left out: <param name='offset'> of <command_interface> (line 37), <gpio> (line "
        "40)"
    ]


def test_comments_blanks_and_the_version_mean_nothing(tmp_path):
    text = ARM.replace('<robot name="arm">', '<!-- a --><robot name="arm" version="1.0">')
    text = text.replace("<link", "<!-- b --> <link").replace("<parent", "<?c?><!-- d --><parent")
    text = text.replace('name="first"', 'name=" first\n"').replace(
        "<plugin>SoftRobotInterface</plugin>", "<plugin>\n  SoftRobotInterface\n</plugin>"
    )
    assert read(tmp_path, text) == read(tmp_path, ARM, "plain.ucrdf")


def test_where_a_robot_comes_from(tmp_path):
    text = ARM.replace('<link name="base"/>', '<source> Ours </source><link name="base"/>')
    assert read(tmp_path, text).source == "Ours"


SEGMENTS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">
  <xacro:property name="half_turn" value="${radians(180)}"/>
  <link name="l0"/>
  <xacro:macro name="segment" params="i">
    <link name="l${i}"/>
    <joint name="j${i}" type="continuous">
      <parent link="l${i - 1}"/>
      <child link="l${i}"/>
      <origin rpy="0 0 ${half_turn}"/>
    </joint>
  </xacro:macro>
  <xacro:segment i="1"/>
  <xacro:segment i="2"/>
  <xacro:include filename="more.xacro"/>
</robot>
"""
MORE = '<robot><link name="l3"/><joint name="j3" type="fixed"><parent link="l2"/>%s</joint></robot>'


def test_xacro_macros_properties_and_includes(tmp_path):
    written(tmp_path, MORE % '<child link="l3"/>', "more.xacro")
    robot = read(tmp_path, SEGMENTS, "robot.urdf.xacro")
    assert [link.name for link in robot.links] == ["l0", "l1", "l2", "l3"]
    assert [joint.parent for joint in robot.joints] == ["l0", "l1", "l2"]
    assert robot.joints[1].origin.rpy == (0.0, 0.0, math.pi)


def test_a_mistake_in_an_included_file_has_no_line_of_this_one(tmp_path, golden):
    written(tmp_path, MORE % '<child link="l4"/>', "more.xacro")
    with pytest.raises(DescriptionError) as refused:
        read(tmp_path, SEGMENTS, "robot.urdf.xacro")
    golden(refused.value, "TMP/robot.urdf.xacro: joint 'j3': child")


def test_messages_of_xacro_is_reported(tmp_path):
    written(tmp_path, MORE % '<child link="l3"/>', "more.xacro")
    text = SEGMENTS.replace('name="half_turn"', 'name="half_turn" colour="red"')
    with pytest.warns(
        SoftgraspWarning, match=r"message of xacro: .*unknown attribute\(s\): colour"
    ):
        read(tmp_path, text, "robot.xacro")


def test_the_outside_arm():
    robot = read_robot(outside_robot("roberto3.ucrdf.xacro"))
    assert [part.name for part in robot.bendables] == ["segment1", "segment2", "segment3"]
    assert [part.backbone.length for part in robot.bendables] == [0.316] * 3
    assert robot.bendables[0].theta_max == math.radians(60)
    assert robot.bendables[0].kappa_max == pytest.approx(3.3139, abs=5e-5)
    assert len(robot.control[0].joints) == 3


def test_the_outside_gripper():
    robot = read_robot(outside_robot("gripper2.ucrdf"))
    assert robot.root == "mount"
    assert [joint.name for joint in robot.joints] == ["wrist"]
    assert all(part.planar for part in robot.bendables)
    assert robot.control[0].params == (("model", "pcc"),)
