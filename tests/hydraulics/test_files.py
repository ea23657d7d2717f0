"""Hydraulic arms in YAML: units, and mistakes with file, line and field."""

from __future__ import annotations

import math
import warnings
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.description.bendable import TipLoad
from softgrasp.errors import DescriptionError
from softgrasp.hydraulics import TorqueTable
from softgrasp.hydraulics.arm import arm_model
from softgrasp.hydraulics.description import HydraulicArm, arm_of_robot, arm_robot
from softgrasp.hydraulics.files import hydraulic_arm_from, load_hydraulic_arm
from softgrasp.io.urdf import read_robot, rigid_urdf, write_robot
from softgrasp.model.robot import robot_model
from tests.conftest import Golden
from tests.hydraulics.arms import two_sections
from tests.hydraulics.hydraulic_arms import hydraulic_arms
from tests.support.robots import ARM, needs_xacro, written

SHIPPED = assets.find("hydraulic_arms", "hydraulic_two_section").read_text(encoding="utf-8")

CHAMBERS = SHIPPED[SHIPPED.index("    chambers:") : SHIPPED.index("  - name: tip")]


def refused(tmp_path: Path, old: str, new: str) -> str:
    """What is said of the shipped file with one thing changed at its first place."""
    assert old in SHIPPED
    path = tmp_path / "arm.yaml"
    path.write_text(SHIPPED.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DescriptionError) as message:
        load_hydraulic_arm(path)
    return str(message.value)


def test_lengths_areas_and_angles_are_in_the_units_of_the_file() -> None:
    arm = load_hydraulic_arm("hydraulic_two_section")
    section = arm.sections[0]
    assert section.length == pytest.approx(0.3965)
    assert section.chambers[1].angle == pytest.approx(2.0 * math.pi / 3.0)
    assert section.chambers[1].radius == pytest.approx(0.022)
    assert section.chambers[1].area == pytest.approx(2.011e-4)
    assert section.bending_stiffness == 0.5829
    assert arm.drive.screw.lead == pytest.approx(0.005)
    assert arm.drive.piston.diameter == pytest.approx(0.06)
    assert len(arm.chambers) == 6


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("bending_stiffness: 0.5829", "bending_stiffness: 0", "sections[0].bending_stiffness"),
        ("lead: 5", "lead: -5", "drive.screw.lead"),
        ("{diameter: 4, length: 2000}", "{diameter: -4, length: 2000}", "drive.tube.diameter"),
        ("diameter: 60", "diametre: 60", "drive.piston.diametre"),
        ("{angle: 120, radius: 22", "{angle: 360, radius: 22", "sections[0].chambers[1].angle"),
        ("{angle: 120, radius: 22", "{angle: 120, radius: 220", "sections[0].chambers[1].radius"),
        ("efficiency: 0.9", "efficiency: 90", "drive.screw.efficiency"),
        ("pressure_max: 1.0e+6", "pressure_max: -1.0", "sections[0].chambers[0].pressure_min"),
        ("name: tip", "name: base", "sections[1].name"),
        ("radius: 34", "radius: 500", "sections[0].radius"),
        ("segments: 1", "segments: 0", "segments"),
        ("piston: {diameter: 60", "piston: {diameter: -60", "drive.piston.diameter"),
        ("drive:\n  screw", "fluids:\n  screw", "fluids"),
        (SHIPPED[SHIPPED.index("drive:") :], "", "drive"),
        (CHAMBERS, "    chambers: []\n", "sections[0].chambers"),
        (CHAMBERS, "", "sections[0].chambers"),
        ("mass: 0.1", "weight: 0.1", "sections[0].weight"),
    ],
)
def test_errors_are_reported_with_their_field(
    tmp_path: Path, old: str, new: str, sentence: str, golden: Golden
) -> None:
    golden(refused(tmp_path, old, new), sentence)


def test_an_unknown_arm_is_reported_with_those_that_exist() -> None:
    with pytest.raises(DescriptionError, match=r"no hydraulic arm 'two'; .*hydraulic_two_section"):
        load_hydraulic_arm("two")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "sections", "drive", "units", "length", "angle", "area", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["name", "sections", "drive", "units", "gravity"]), JSON))
def test_whatever_the_tree_it_is_an_arm_or_a_sentence(tree: dict[str, object]) -> None:
    with pytest.raises(DescriptionError):
        hydraulic_arm_from(tree)


# --------------------
# Hydraulic arms as U(C)RDF: they come back equal, and mistakes are told with line and element.


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
        assert sg.hydraulics.load_hydraulic_arm(sg.hydraulics.save_hydraulic_arm(arm, path)) == arm


@settings(max_examples=10, deadline=None)
@given(arm=hydraulic_arms())
def test_any_arm_is_a_robot_that_comes_back_equal(
    tmp_path_factory: pytest.TempPathFactory, arm: HydraulicArm
) -> None:
    robot = arm_robot(arm, links=3)
    assert read_robot(write_robot(robot, tmp_path_factory.mktemp("arm") / "a.ucrdf")) == robot
    assert arm_of_robot(robot) == arm


def test_the_robot_of_the_file_is_the_arm_but_for_its_gravity(tmp_path: Path) -> None:
    arm = two_sections()
    model = robot_model(read_robot(write_robot(arm_robot(arm, 4), tmp_path / "arm.ucrdf")))
    model.opt.gravity = arm.gravity
    assert_same(model, arm_model(arm, 4))


def assert_same(first: mujoco.MjModel, second: mujoco.MjModel) -> None:
    public = [name for name in dir(first) if not name.startswith("_")]
    names = [name for name in public if isinstance(getattr(first, name), np.ndarray | int)]
    assert {"dof_damping", "jnt_stiffness", "wrap_prm", "body_mass", "nv"} <= set(names)
    for name in names:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert np.array_equal(first.opt.gravity, second.opt.gravity)
    assert first.opt.timestep == second.opt.timestep


def test_a_robot_is_read_without_a_complaint(tmp_path: Path) -> None:
    path = sg.hydraulics.save_hydraulic_arm(two_sections(), tmp_path / "arm.ucrdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = sg.io.load_robot(path)
        rigid = rigid_urdf(robot)
    assert [part.name for part in robot.bendables] == ["base", "tip"]
    assert "hydraulics" not in rigid
    assert mujoco.MjModel.from_xml_string(rigid).nq == 0


def test_what_is_not_specified_is_the_default(tmp_path: Path) -> None:
    arm = sg.hydraulics.load_hydraulic_arm(written(tmp_path, ONE))
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
    first, second = robot_model(sg.io.load_robot(tmp_path / "robot.ucrdf")), arm_model(arm)
    assert np.array_equal(first.dof_damping, second.dof_damping)


def test_the_arm_of_the_page_is_one(tmp_path: Path) -> None:
    page = (assets.directory("hydraulic_arms").parents[1] / "docs/hydraulic_arm.md").read_text(
        "utf-8"
    )
    text = page.split("```xml\n")[1].split("```")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm = sg.hydraulics.load_hydraulic_arm(written(tmp_path, text))
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
    arm = sg.hydraulics.load_hydraulic_arm(written(tmp_path, text))
    assert [section.name for section in arm.sections] == ["arm", "two"]


def test_macros_are_expanded(tmp_path: Path) -> None:
    needs_xacro("arm.xacro")
    macro = 'xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="l" value="0.005"/>'
    text = ONE.replace('"one">', f'"one" {macro}').replace('lead="0.005"', 'lead="${l}"')
    arm = sg.hydraulics.load_hydraulic_arm(written(tmp_path, text, "arm.ucrdf.xacro"))
    assert arm == sg.hydraulics.load_hydraulic_arm(written(tmp_path, ONE))


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    text = ONE.replace('theta_max="6.283185307179586"', 'theta_max="3"')
    text = text.replace('damping="0.03"', 'damping="0.03" links="5" discs="3"')
    shape = '<visual><geometry><sphere radius="0.1"/></geometry></visual>'
    text = text.replace('<link name="base"/>', f'<link name="base">{shape}'
                        '<inertial><mass value="1"/></inertial></link>')  # fmt: skip
    path = written(tmp_path, text)
    with pytest.warns(sg.SoftgraspWarning) as message:
        sg.hydraulics.load_hydraulic_arm(path)
    assert [str(item.message) for item in message] == [
        f"{path}: omitted, as a hydraulic arm has no such parts: limits of bendable 'arm', links "
        "of bendable 'arm', discs of bendable 'arm', shapes of link 'base', mass of the fixed link "
        "'base'"
    ]


def hydraulic_arm_ucrdf_refused(directory: Path, text: str) -> str:
    """The sentence about a file, without the folder."""
    path = written(directory, text)
    with pytest.raises(sg.DescriptionError) as caught:
        sg.hydraulics.load_hydraulic_arm(path)
    assert caught.value.file == path
    return str(caught.value).removeprefix(f"{path}:").strip()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('bending_stiffness="0.6"', 'bending_stiffness="0"', "12: bendable 'arm'"),
        ('torsion_stiffness="0.5" ', "", "12: bendable 'arm': backbone.torsion_stiffness"),
        ('lead="0.005"', 'lead="-0.005"', "23: screw.lead"),
        ('diameter="0.06"', 'diameter="-0.06"', "24: piston.diameter"),
        ('diameter="0.06"', 'diametre="0.06"', "24: piston.diametre"),
        ('lead="0.005"', 'lead="0.005" efficiency="90"', "23: screw.efficiency"),
        ('diameter="0.004" length="2"', 'diameter="4" length="2"', "25: tube.diameter"),
        ('length="2"', 'length="2" flow="laminer"', "25: tube.flow"),
        ('segments="2"', 'segments="0"', "21: hydraulics.segments"),
        ("<drive>", "<gravity xyz='0 9.81'/><drive>", "22: gravity.xyz"),
        ("</hydraulics>", "</hydraulics><hydraulics/>", "27: hydraulics"),
        ('angle="2"', 'angle="6.283185307179586"', "17: bendable 'arm': chamber.angle"),
        ('angle="2" radius="0.02"', 'angle="2" radius="0.2"', "17: bendable 'arm': chamber.radius"),
        ('pressure_max="1e6"', 'pressure_max="-1"', "16: bendable 'arm': chamber.pressure_min"),
        ('<inertial><mass value="0.1"/></inertial>', "", "5: bendable 'arm': inertial"),
        ('<mass value="0.1"/>', '<mass value="0.1"/><origin xyz="0 0 0.1"/>', "19: bendable"),
        ('<model type="pcc">', '<model type="ppc" degree="1">', "9: bendable 'arm': model"),
        ('<model type="pcc">', '<model type="pcc" frame="webster">', "9: bendable 'arm'"),
        (
            '<child link="end"/>',
            '<child link="end"/><origin xyz="0 0 0.1"/>',
            "7: bendable 'arm': origin",
        ),
    ],
)
def test_mistakes(old: str, new: str, sentence: str, tmp_path: Path, golden: Golden) -> None:
    assert old in ONE
    golden(hydraulic_arm_ucrdf_refused(tmp_path, ONE.replace(old, new, 1)), sentence)


def without(begin: str, end: str, instead: str = "") -> str:
    """The short arm without what stands from one text to another."""
    return ONE[: ONE.index(begin)] + instead + ONE[ONE.index(end) + len(end) :]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ARM, "2: robot 'arm': hydraulics"),
        (without("<drive>", "</drive>"), "21: hydraulics"),
        (without("<actuation>", "</actuation>"), "5: bendable 'arm'"),
        (
            without(
                "<actuation>",
                "</actuation>",
                '<actuation><tendon angle="0" radius="0.02"/></actuation>',
            ),
            "15: bendable 'arm': actuation",
        ),
        (without("<bendable", "</bendable>").replace('<link name="end"/>', ""), "2: robot 'one'"),
        (
            ONE.replace("<hydraulics", SECOND.replace('"end"', '"base"') + "<hydraulics"),
            "22: bendable 'two': parent",
        ),
        (
            ONE.replace(
                "<hydraulics",
                '<link name="plate"/><joint name="flange" type="fixed">'
                '<parent link="end"/><child link="plate"/></joint>'
                + SECOND.replace('"end"', '"plate"')
                + "<hydraulics",
            ),
            "21: joint 'flange'",
        ),
        (
            ONE.replace(
                '<link name="end"/>',
                '<link name="end"><inertial><mass value="0.2"/></inertial></link>',
            ),
            "4: link 'end': inertial",
        ),
    ],
)
def test_what_is_no_arm(text: str, sentence: str, tmp_path: Path, golden: Golden) -> None:
    golden(hydraulic_arm_ucrdf_refused(tmp_path, text), sentence)


def test_files_of_other_kinds_are_refused(tmp_path: Path, golden: Golden) -> None:
    golden.refused(lambda: sg.hydraulics.load_hydraulic_arm("arm.json"), "arm.json")
    for name in ("arm.json", "arm", "arm.xacro"):
        save = partial(sg.hydraulics.save_hydraulic_arm, two_sections(), tmp_path / name)
        golden.refused(save, "path")
    assert not list(tmp_path.iterdir())
    with pytest.raises(sg.DescriptionError, match="expected a readable XML file, found: no such"):
        sg.hydraulics.load_hydraulic_arm(tmp_path / "none.ucrdf")


def test_letters_that_xml_has_not_leave_the_old_file(tmp_path: Path) -> None:
    path = sg.hydraulics.save_hydraulic_arm(two_sections(), tmp_path / "arm.ucrdf")
    before = path.read_bytes()
    with pytest.raises(sg.DescriptionError, match="expected text that XML can hold, found: "):
        sg.hydraulics.save_hydraulic_arm(two_sections().replace(source="\x00"), path)
    assert path.read_bytes() == before
    with pytest.raises(sg.ResultError, match="expected a writable path"):
        sg.hydraulics.save_hydraulic_arm(two_sections(), path / "inside.yaml")


# --------------------
# Torques of motors in CSV, and what is said of tables that are wrong.


HEAD = "time_s,torque_1,torque_2"


def test_the_shipped_ramp_is_the_papers() -> None:
    """Sec. 3.2.3: 1.5 (t − 2) on the fifth and sixth motor, 1.5 (t − 6) on the first."""
    table = sg.hydraulics.load_torques("paper003_ramp")
    for time in np.arange(0.0, 9.0, 0.37):
        late, early = 1.5 * np.clip(time - 6.0, 0.0, 1.0), 1.5 * np.clip(time - 2.0, 0.0, 1.0)
        assert table(time) == pytest.approx([late, 0.0, 0.0, 0.0, early, early])
    assert table.changes == [(2.0, 3.0), (6.0, 7.0)]


def test_changes_without_a_pause_are_one() -> None:
    table = TorqueTable(np.arange(4.0), np.array([[0.0], [1.0], [0.5], [0.5]]))
    assert table.changes == [(0.0, 2.0)]
    assert table(-1.0) == pytest.approx([0.0])
    assert table(9.0) == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "t.csv"),
        (HEAD, "t.csv"),
        ("time,torque_1\n0,0", "t.csv:1"),
        ("time_s\n0", "t.csv:1"),
        (f"# remark\n{HEAD}\n0,0,0\n1,,0", "t.csv:4: torque_1"),
        (f"{HEAD}\n0,0,x", "t.csv:2: torque_2"),
        (f"{HEAD}\n0,0,nan", "t.csv:2: torque_2"),
        (f"{HEAD}\n0,0", "t.csv:2"),
        (f"{HEAD}\n0,0,0\n2,0,0\n1,0,0", "t.csv:4: time_s"),
        (f"{HEAD}\n1,0,0\n1,1,1", "t.csv:3: time_s"),
    ],
)
def test_a_wrong_table_is_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    golden.refused(lambda: sg.hydraulics.load_torques("t.csv"), sentence)


def test_torques_that_are_not_there(golden: Golden) -> None:
    golden.refused(lambda: sg.hydraulics.load_torques("paper003_ram"), "no torques 'paper003_ram'")
    with pytest.raises(sg.DescriptionError, match=r"nowhere.csv: expected a table in CSV, found"):
        sg.hydraulics.load_torques("nowhere.csv")


@pytest.mark.parametrize(
    ("times", "torques", "sentence"),
    [
        ([0.0, 0.0], [[0.0], [0.0]], "times"),
        ([0.0, 1.0], [[0.0], [np.nan]], "torques"),
        ([0.0], [0.0], "expected times (t,) and torques (t, chambers)"),
    ],
)
def test_a_table_that_is_none(
    times: list[float], torques: list[object], sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: TorqueTable(np.array(times), np.array(torques)), sentence)
