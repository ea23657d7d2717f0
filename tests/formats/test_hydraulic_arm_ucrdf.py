"""Hydraulic arms as U(C)RDF: they come back equal, and mistakes are told with line and element."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.description.bendable import TipLoad
from softgrasp.hydraulics.description import HydraulicArm, arm_of_robot, arm_robot
from softgrasp.hydraulics.model import arm_model
from softgrasp.io.urdf import read_robot, rigid_urdf, write_robot
from softgrasp.model.robot import robot_model
from tests.formats.hydraulic_arms import hydraulic_arms
from tests.mechanics.hydraulic.arms import two_sections
from tests.robots import ARM, needs_xacro, written

PAGE = Path(__file__).parents[2] / "docs" / "hydraulic_arm.md"
SUFFIXES = ["yaml", "yml", "ucrdf", "urdf", "UCRDF"]
ONE = """<?xml version="1.0"?>
<robot name="one">
  <link name="base"/>
  <link name="end"/>
  <bendable name="arm">
    <parent link="base"/>
    <child link="end"/>
    <curvature>
      <model type="pcc">
        <limits theta_max="6.283185307179586"/>
        <backbone length="0.4" radius="0.03" bending_stiffness="0.6"
          axial_stiffness="4e4" torsion_stiffness="0.5" damping="0.03"/>
      </model>
    </curvature>
    <actuation>
      <chamber angle="0" radius="0.02" area="2e-4" pressure_max="1e6"/>
      <chamber angle="2" radius="0.02" area="2e-4" pressure_max="1e6"/>
    </actuation>
    <inertial><mass value="0.1"/></inertial>
  </bendable>
  <hydraulics segments="2">
    <drive>
      <screw lead="0.005"/>
      <piston diameter="0.06" mass="5" length="0.1"/>
      <tube diameter="0.004" length="2"/>
    </drive>
  </hydraulics>
</robot>
"""
"""A short arm; its lines are counted by tests."""
SECOND = """<link name="tip"/><bendable name="two">
    <parent link="end"/><child link="tip"/>
    <curvature><model type="pcc"><limits theta_max="6.283185307179586"/>
      <backbone length="0.4" radius="0.03" bending_stiffness="0.6"
          axial_stiffness="4e4" torsion_stiffness="0.5"/></model></curvature>
    <actuation><chamber angle="0" radius="0.02" area="2e-4"/></actuation>
    <inertial><mass value="0.1"/></inertial></bendable>
"""
"""Another section, at the end of that one."""


@settings(max_examples=25, deadline=None)
@given(arm=hydraulic_arms(), suffix=st.sampled_from(SUFFIXES))
def test_any_arm_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, arm: HydraulicArm, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("arm") / f"arm.{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.load_hydraulic_arm(sg.save_hydraulic_arm(arm, path)) == arm


@settings(max_examples=10, deadline=None)
@given(arm=hydraulic_arms())
def test_any_arm_is_a_robot_that_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, arm: HydraulicArm
) -> None:
    robot = arm_robot(arm, links=3)
    assert read_robot(write_robot(robot, tmp_path_factory.mktemp("arm") / "a.ucrdf")) == robot
    assert arm_of_robot(robot) == arm


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", assets.names("hydraulic_arms"))
def test_a_shipped_arm_comes_back_equal(name: str, suffix: str, tmp_path: Path) -> None:
    arm = sg.load_hydraulic_arm(name)
    again = sg.save_hydraulic_arm(arm, tmp_path / "deep" / f"again.{suffix}")
    assert sg.load_hydraulic_arm(again) == arm
    assert [path.name for path in again.parent.iterdir()] == [again.name]


def test_the_models_of_both_files_are_the_same(tmp_path: Path) -> None:
    """Every array of the compiled models, bit for bit."""
    arm = two_sections()
    saved = [sg.save_hydraulic_arm(arm, tmp_path / f"arm.{kind}") for kind in ("yaml", "ucrdf")]
    one, other = (arm_model(sg.load_hydraulic_arm(path), 4) for path in saved)
    assert_same(one, other)


def test_the_robot_of_the_file_is_the_arm_but_for_its_gravity(tmp_path: Path) -> None:
    arm = two_sections()
    robot = read_robot(write_robot(arm_robot(arm, 4), tmp_path / "arm.ucrdf"))
    model = robot_model(robot)
    model.opt.gravity = arm.gravity
    assert_same(model, arm_model(arm, 4))


def assert_same(one: mujoco.MjModel, other: mujoco.MjModel) -> None:
    public = [name for name in dir(one) if not name.startswith("_")]
    names = [name for name in public if isinstance(getattr(one, name), np.ndarray | int)]
    assert {"dof_damping", "jnt_stiffness", "wrap_prm", "body_mass", "nv"} <= set(names)
    for name in names:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.opt.gravity, other.opt.gravity)
    assert one.opt.timestep == other.opt.timestep


def test_a_robot_is_read_without_a_complaint(tmp_path: Path) -> None:
    path = sg.save_hydraulic_arm(two_sections(), tmp_path / "arm.ucrdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = sg.load_robot(path)
        rigid = rigid_urdf(robot)
    assert [part.name for part in robot.bendables] == ["base", "tip"]
    assert "hydraulics" not in rigid
    assert mujoco.MjModel.from_xml_string(rigid).nq == 0


def test_what_is_not_said_is_as_by_default(tmp_path: Path) -> None:
    arm = sg.load_hydraulic_arm(written(tmp_path, ONE))
    assert (arm.name, arm.source, arm.segments) == ("one", "", 2)
    assert arm.gravity == (0.0, 0.0, 9.81)
    assert arm.tip_load == TipLoad()
    assert arm.drive.screw.efficiency == 1.0
    assert arm.drive.fluid.density == 998.0
    # one material damps all strains in proportion to stiffness, as that of the robot
    damping = arm.sections[0].damping
    assert damping.axial == pytest.approx(0.05 * 4e4)
    assert damping.torsion == pytest.approx(0.05 * 0.5)
    assert (damping.drag, damping.rotational_drag) == (0.0, 0.0)
    one, other = robot_model(sg.load_robot(tmp_path / "robot.ucrdf")), arm_model(arm)
    assert np.array_equal(one.dof_damping, other.dof_damping)


def test_the_arm_of_the_page_is_one(tmp_path: Path) -> None:
    page = (assets.directory("hydraulic_arms").parents[1] / "docs/hydraulic_arm.md").read_text(
        "utf-8"
    )
    text = page.split("```xml\n")[1].split("```")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = sg.load_hydraulic_arm(written(tmp_path, text))
    shipped = two_sections()
    first = shipped.sections[0]
    assert arm.drive == shipped.drive
    assert (arm.gravity, arm.tip_load, arm.segments) == (shipped.gravity, shipped.tip_load, 1)
    assert arm.sections[0].damping == first.damping
    assert arm.sections[0].length == pytest.approx(first.length)
    assert [part.angle for part in arm.chambers] == pytest.approx(
        [part.angle for part in first.chambers], abs=1e-4
    )


def test_sections_follow_the_links_and_not_the_file(tmp_path: Path) -> None:
    text = ONE.replace('<bendable name="arm">', SECOND + '<bendable name="arm">')
    arm = sg.load_hydraulic_arm(written(tmp_path, text))
    assert [section.name for section in arm.sections] == ["arm", "two"]


def test_macros_are_expanded(tmp_path: Path) -> None:
    needs_xacro("arm.xacro")
    macro = 'xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="l" value="0.005"/>'
    text = ONE.replace('"one">', f'"one" {macro}').replace('lead="0.005"', 'lead="${l}"')
    arm = sg.load_hydraulic_arm(written(tmp_path, text, "arm.ucrdf.xacro"))
    assert arm == sg.load_hydraulic_arm(written(tmp_path, ONE))


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    text = ONE.replace('theta_max="6.283185307179586"', 'theta_max="3"')
    text = text.replace('damping="0.03"', 'damping="0.03" links="5" discs="3"')
    shape = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
    text = text.replace('<link name="base"/>', f'<link name="base">{shape}'
                        '<inertial><mass value="1"/></inertial></link>')  # fmt: skip
    path = written(tmp_path, text)
    with pytest.warns(sg.SoftgraspWarning) as message:
        sg.load_hydraulic_arm(path)
    assert [str(one.message) for one in message] == [
        f"{path}: left out, as a hydraulic arm has none of it: limits of bendable 'arm', links of "
        "bendable 'arm', discs of bendable 'arm', shapes of link 'base', mass of link 'base', "
        "which stands still"
    ]


def refused(directory: Path, text: str) -> str:
    """The sentence about a file, without the folder."""
    path = written(directory, text)
    with pytest.raises(sg.DescriptionError) as caught:
        sg.load_hydraulic_arm(path)
    assert caught.value.file == path
    return str(caught.value).removeprefix(f"{path}:").strip()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'bending_stiffness="0.6"',
            'bending_stiffness="0"',
            "12: bendable 'arm': backbone.bending_stiffness: expected a number above 0, found 0",
        ),
        (
            'torsion_stiffness="0.5" ',
            "",
            "12: bendable 'arm': backbone.torsion_stiffness: expected a number above 0, found none",
        ),
        (
            'lead="0.005"',
            'lead="-0.005"',
            "23: screw.lead: expected a number above 0, found '-0.005'",
        ),
        (
            'diameter="0.06"',
            'diameter="-0.06"',
            "24: piston.diameter: expected a number above 0, found '-0.06'",
        ),
        (
            'diameter="0.06"',
            'diametre="0.06"',
            "24: piston.diametre: no such attribute; did you mean 'diameter'? known: "
            "damping, diameter, friction, length, mass",
        ),
        (
            'lead="0.005"',
            'lead="0.005" efficiency="90"',
            "23: screw.efficiency: expected a number above 0, at most 1, found '90'",
        ),
        (
            'diameter="0.004" length="2"',
            'diameter="4" length="2"',
            "25: tube.diameter: expected at most the length (2 m), found 4 m",
        ),
        (
            'length="2"',
            'length="2" flow="laminer"',
            "25: tube.flow: expected blasius or laminar, found 'laminer'; did you mean 'laminar'?",
        ),
        (
            'segments="2"',
            'segments="0"',
            "21: hydraulics.segments: expected a whole number from 1 to 1000000, found '0'",
        ),
        (
            "<drive>",
            "<gravity xyz='0 9.81'/><drive>",
            "22: gravity.xyz: expected 3 numbers, found '0 9.81'",
        ),
        (
            "</hydraulics>",
            "</hydraulics><hydraulics/>",
            "27: hydraulics: expected one <hydraulics>, found another",
        ),
        (
            'angle="2"',
            'angle="6.283185307179586"',
            "17: bendable 'arm': chamber.angle: expected chambers at different angles, found two "
            "at 6.28319 rad",
        ),
        (
            'angle="2" radius="0.02"',
            'angle="2" radius="0.2"',
            "17: bendable 'arm': chamber.radius: expected at most the section's radius (0.03 m), "
            "found 0.2 m",
        ),
        (
            'pressure_max="1e6"',
            'pressure_max="-1"',
            "16: bendable 'arm': chamber.pressure_min: expected at most pressure_max (-1 Pa), "
            "found 0 Pa",
        ),
        (
            '<inertial><mass value="0.1"/></inertial>',
            "",
            "5: bendable 'arm': inertial: expected the mass of the section, found none",
        ),
        (
            '<mass value="0.1"/>',
            '<mass value="0.1"/><origin xyz="0 0 0.1"/>',
            "19: bendable 'arm': inertial: expected a mass alone, as a section is a uniform "
            "cylinder, found more",
        ),
        (
            '<model type="pcc">',
            '<model type="ppc" degree="1">',
            "9: bendable 'arm': model: expected pcc, as arms bend in arcs, found ppc",
        ),
        (
            '<model type="pcc">',
            '<model type="pcc" frame="webster">',
            "9: bendable 'arm': model.frame: expected bishop frames, found webster",
        ),
        (
            '<child link="end"/>',
            '<child link="end"/><origin xyz="0 0 0.1"/>',
            "7: bendable 'arm': origin: expected none, as a section begins where the one before "
            "ends, found xyz (0.0, 0.0, 0.1) and rpy (0.0, 0.0, 0.0)",
        ),
    ],
)
def test_mistakes(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    assert old in ONE
    assert refused(tmp_path, ONE.replace(old, new, 1)) == sentence


def without(begin: str, end: str, instead: str = "") -> str:
    """The short arm without what stands from one text to another."""
    return ONE[: ONE.index(begin)] + instead + ONE[ONE.index(end) + len(end) :]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ARM, "2: robot 'arm': hydraulics: expected hydraulics with the drive of the chambers, "
         "found none"),
        (without("<drive>", "</drive>"), "21: hydraulics: expected <drive> inside, found none"),
        (without("<actuation>", "</actuation>"),
         "5: bendable 'arm': expected chambers, found none"),
        (without("<actuation>", "</actuation>",
                 '<actuation><tendon angle="0" radius="0.02"/></actuation>'),
         "15: bendable 'arm': actuation: expected chambers, found tendons"),
        (without("<bendable", "</bendable>").replace('<link name="end"/>', ""),
         "2: robot 'one': expected bendables, the sections of the arm, found none"),
        (ONE.replace("<hydraulics", SECOND.replace('"end"', '"base"') + "<hydraulics"),
         "22: bendable 'two': parent: expected one bendable at the end of another, found 'arm' and "
         "'two' on link 'base'"),
        (ONE.replace("<hydraulics", '<link name="plate"/><joint name="flange" type="fixed">'
                     '<parent link="end"/><child link="plate"/></joint>'
                     + SECOND.replace('"end"', '"plate"') + "<hydraulics"),
         "21: joint 'flange': expected an arm of bendables only, one at the end of another, found "
         "a fixed joint from 'end' to 'plate'"),
        (ONE.replace('<link name="end"/>',
                     '<link name="end"><inertial><mass value="0.2"/></inertial></link>'),
         "4: link 'end': inertial: expected a link without mass, as an arm has all of it in its "
         "bendables, found 0.2 kg"),
    ],
)  # fmt: skip
def test_what_is_no_arm(text: str, sentence: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text) == sentence


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hydraulic_arm("arm.json")
    assert str(refused.value) == (
        "arm.json: expected a hydraulic arm as .yaml, .yml, .ucrdf, .urdf, .xacro or a library "
        "name, found '.json'"
    )
    for name in ("arm.json", "arm", "arm.xacro"):
        with pytest.raises(sg.DescriptionError) as refused:
            sg.save_hydraulic_arm(two_sections(), tmp_path / name)
        assert str(refused.value) == (
            f"path: expected a file as .yaml, .yml, .ucrdf, .urdf, found '{tmp_path / name}'"
        )
    assert not list(tmp_path.iterdir())
    with pytest.raises(sg.DescriptionError, match="expected a readable XML file, found: no such"):
        sg.load_hydraulic_arm(tmp_path / "none.ucrdf")


def test_letters_that_xml_has_not_leave_the_old_file(tmp_path: Path) -> None:
    path = sg.save_hydraulic_arm(two_sections(), tmp_path / "arm.ucrdf")
    before = path.read_bytes()
    with pytest.raises(sg.DescriptionError, match="expected text that XML can hold, found: "):
        sg.save_hydraulic_arm(two_sections().replace(source="\x00"), path)
    assert path.read_bytes() == before
    with pytest.raises(sg.ResultError, match="expected a place that can be written"):
        sg.save_hydraulic_arm(two_sections(), path / "inside.yaml")
