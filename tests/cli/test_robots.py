"""Robots on the command line: check, convert, list."""

import json
import math
from pathlib import Path

import mujoco
import pytest

from softgrasp import assets
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.load import load_robot
from softgrasp.io.urdf import read_robot, rigid_urdf
from tests.cli.test_bad_input import refused
from tests.support.robots import ARM, HINGE, outside_robot, written

NAMES = assets.names("robots")
CHAMBERS = """      <chamber angle="0" radius="0.01" area="1e-4"/>
      <chamber angle="2" radius="0.01" area="1e-4"/>
      <chamber angle="4" radius="0.01" area="1e-4"/>
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}", "{}.ucrdf"])
def test_a_shipped_robot_is_clean(name, form, run):
    ran = run("check", form.format(name))
    assert ran.code == 0
    assert ran.out.startswith(f"kind: robot\nname: {name}\n")
    assert ran.out.endswith("no problems found\n")
    assert ran.err == ""


def test_check_reports_lengths_angles_masses_limits_actuators_and_interfaces(run):
    result = run("check", "three_segment_arm.ucrdf", "--json", "--out", "o").json
    assert json.loads(Path("o", "check.json").read_text("utf-8")) == result
    assert (result["kind"], result["root"], result["problems"]) == ("robot", "base", [])
    assert result["mass_kg"] == pytest.approx(1.9)
    first = result["bendables"][0]
    assert (first["name"], first["parent"], first["child"]) == ("segment1", "base", "tip1")
    assert (first["length_m"], first["radius_m"], first["mass_kg"]) == (0.316, 0.077, 0.3)
    assert first["theta_max_rad"] == math.radians(60)
    assert first["kappa_max_per_m"] == pytest.approx(3.3139, abs=5e-5)
    assert (first["actuation"], len(first["actuator_angles_rad"])) == ("tendon", 3)
    assert result["control"][0]["commands"][:2] == ["segment1/kappa", "segment1/phi"]
    line = "  name segment1, parent base, child tip1, model pcc, degree 0, frame bishop, length_m"
    assert line in run("check", "three_segment_arm").out


def test_check_reports_rigid_joints(run):
    text = run("check", "soft_gripper_two").out
    assert "rigid joints:\n  name wrist, type prismatic, parent mount, child palm, limits" in text
    joints = run("check", "rigid_soft_finger", "--json").json["rigid_joints"]
    assert [joint["limits"] for joint in joints] == [[-0.3, 1.4], [0.0, 1.6]]


SECOND_IS_BARE = [
    "bendable 'second': expected a bending_stiffness, found none",
    "bendable 'second': expected a mass, found none",
    "bendable 'second': expected a ros2_control joint of its name, found none",
]
ALIKE = "bendable 'first': expected chambers that bend nothing where all act alike, found "
BALANCED = CHAMBERS.replace('"2"', '"2.0943951023931953"').replace('"4"', '"-2.0943951023931953"')


@pytest.mark.parametrize(
    ("chambers", "limits", "problems"),
    [
        (BALANCED, "", []),
        (CHAMBERS, "", [f"{ALIKE}5.59 % of their lever arms unbalanced"]),
        (BALANCED.replace('angle="0"', 'angle="2.5"'), "",
         ["bendable 'first': expected chambers that bend it in every plane, found none over "
         "240° around the backbone", f"{ALIKE}63.3 % of their lever arms unbalanced"]),
        (BALANCED.replace('angle="0"', 'angle="2.5"').replace("/>", ' pressure_min="-1"/>'), "",
         [f"{ALIKE}63.3 % of their lever arms unbalanced"]),
        ('<chamber angle="3" radius="0.01" area="1e-4"/>', 'phi_min="0" phi_max="0"', []),
        ('<chamber angle="1" radius="0.01" area="1e-4"/>', 'phi_min="0" phi_max="0"',
         ["bendable 'first': expected chambers that bend it in its plane, found none"]),
        ('<tendon angle="3" radius="0.01"/>', 'phi_min="0" phi_max="0"',
         ["bendable 'first': expected tendons that bend it in its plane, found none"]),
        ('<tendon angle="1" radius="0.01"/>', 'phi_min="0" phi_max="0"', []),
    ],
)  # fmt: skip
def test_check_examines_actuators(chambers, limits, problems, run, tmp_path):
    text = ARM.replace(CHAMBERS, chambers).replace('kappa_max="4"', f'kappa_max="4" {limits}')
    written(tmp_path, text, "arm.ucrdf")
    ran = run("check", "arm.ucrdf", "--json")
    assert ran.code == 1
    assert sorted(ran.json["problems"]) == sorted(problems + SECOND_IS_BARE)


@pytest.mark.slow
def test_check_examines_control_and_masses(run, tmp_path):
    text = ARM.replace(CHAMBERS, BALANCED).replace(
        '<param name="max">4</param>', '<param name="max">5</param>'
    )
    written(tmp_path, text, "arm.ucrdf")
    assert sorted(run("check", "arm.ucrdf", "--json").json["problems"]) == [
        "bendable 'first': expected commands of kappa up to its limit 4 1/m, found 5 1/m",
        *sorted(SECOND_IS_BARE),
    ]
    inertia = '<inertia ixx="1e-3" iyy="1e-3" izz="1e-4" ixy="0" ixz="0" iyz="0"/>'
    written(tmp_path, HINGE.replace(inertia, ""), "hinge.urdf")
    ran = run("check", "hinge.urdf")
    assert ran.code == 1
    assert ran.out.endswith(
        "problem: link 'arm': expected an inertia beside its mass, found none; a simulation uses "
        "that of a ball of water\n5 checks: 1 problem found\n"
    )
    start, end = HINGE.index("    <inertial>"), HINGE.index("    <visual>")
    written(tmp_path, HINGE[:start] + HINGE[end:], "hinge.urdf")
    message = "remark: joint 'elbow': expected a mass in what it moves, found none; a simulation"
    assert message in run("check", "hinge.urdf").out


@pytest.mark.parametrize("name", NAMES)
def test_convert_to_plain_urdf_that_mujoco_reads(name, run, golden):
    ran = run("convert", name, "arm.urdf", "--out", "o")
    assert (ran.code, ran.out) == (0, "wrote o/arm.urdf\n")
    golden(ran.err, "softgrasp: warning")
    mujoco.MjModel.from_xml_path("o/arm.urdf")


def test_convert_at_a_state(run):
    words = ("--at", "kappa=2,phi=0.5", "--at", "segment2:kappa=1", "--at", "segment3:l=0.3")
    assert run("convert", "three_segment_arm", "arm.urdf", *words).code == 0
    states = {"segment1": (2.0, 0.5), "segment2": (1.0, 0.5), "segment3": (2.0, 0.5, 0.3)}
    with pytest.warns(SoftgraspWarning):
        target = rigid_urdf(load_robot("three_segment_arm"), states)
    assert Path("arm.urdf").read_text("utf-8") == target


def test_convert_at_a_state_of_polynomial_curvature(run, tmp_path, golden):
    robot = read_robot(written(tmp_path, ARM, "arm.ucrdf"))
    assert run("convert", "arm.ucrdf", "arm.urdf", "--at", "second:kappa/1=2,phi=1").code == 0
    with pytest.warns(SoftgraspWarning):
        target = rigid_urdf(robot, {"second": (0.0, 2.0, 0.0, 1.0)})
    assert Path("arm.urdf").read_text("utf-8") == target
    golden(
        refused(run, tmp_path, "convert", "arm.ucrdf", "a.urdf", "--at", "second:kappa=1"),
        "--at: 'second' has no 'kappa'",
    )


def test_convert_with_floating_discs(run):
    run("convert", "three_segment_arm", "arm.urdf", "--discs", "floating")
    assert Path("arm.urdf").read_text("utf-8").count('type="floating"') == 18
    checked = run("check", "arm.urdf", "--json").json
    assert checked["problems"] == []
    assert checked["remarks"] == [
        "arm.urdf: floating joints are taken as fixed at their origins: 'segment1_disc1_joint', "
        "'segment1_disc2_joint', 'segment1_disc3_joint' and 15 more"
    ]
    run("convert", "three_segment_arm", "arm.urdf", "--discs", "fixed")
    assert 'type="floating"' not in Path("arm.urdf").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_converted_robots_pass_the_checks(name, run):
    run("convert", name, "robot.xml")
    run("convert", name, "robot.urdf")
    for file in ("robot.xml", "robot.urdf"):
        checked = run("check", file, "--json")
        assert (checked.code, checked.json["problems"]) == (0, []), file


def test_convert_xacro_to_ucrdf(run):
    source = outside_robot("roberto3.ucrdf.xacro")
    ran = run("convert", source, "arm.ucrdf", "--json")
    assert (ran.code, ran.json) == (0, {"file": "arm.ucrdf", "kind": "robot"})
    assert read_robot("arm.ucrdf") == read_robot(source)


@pytest.mark.parametrize("name", NAMES)
def test_convert_to_a_model_that_loads(name, run):
    assert run("convert", name, "arm.xml").code == 0
    assert mujoco.MjModel.from_xml_path("arm.xml").nv > 0


def test_a_robot_without_bendables_has_no_state(run, tmp_path, golden):
    written(tmp_path, HINGE, "hinge.urdf")
    golden(refused(run, tmp_path, "convert", "hinge.urdf", "arm.urdf", "--at", "kappa=1"), "--at")


def test_arguments_and_trust_of_xacro_are_options(run, tmp_path):
    pytest.importorskip("xacro")
    text = HINGE.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ', 1)
    text = text.replace("<link", '<xacro:arg name="size" default="1"/><link', 1)
    written(tmp_path, text.replace("</robot>", "<!-- ${ 1 } --></robot>"), "hinge.urdf.xacro")
    assert run("convert", "hinge.urdf.xacro", "one.urdf", "--arg", "size=2").code == 0
    refusal = refused(run, tmp_path, "convert", "hinge.urdf.xacro", "two.urdf", "--arg", "size")
    assert refusal == "--arg: expected NAME=VALUE, found 'size'"
    assert run("convert", "hinge.urdf.xacro", "three.urdf", "--trust-xacro").code == 0


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("SoftRobotInterface", "SoftRobot", "no hardware plugin 'SoftRobot'; did you mean"),
        ('name="model"', 'name="stiffness"', "param 'stiffness': no such parameter"),
    ],
)
def test_hardware_that_no_controller_can_command_is_a_problem(
    before, after, sentence, run, tmp_path
):
    text = assets.find("robots", "three_segment_arm").read_text("utf-8")
    (tmp_path / "arm.ucrdf").write_text(text.replace(before, after), encoding="utf-8")
    ran = run("check", tmp_path / "arm.ucrdf")
    assert ran.code == 1
    assert "expected hardware that softgrasp can control, found ros2_control" in ran.out + ran.err
    assert sentence in ran.out + ran.err
