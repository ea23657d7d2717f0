"""Every mistake in a robot's file is one sentence with file, line and element."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.assets import ROBOT_SUFFIXES
from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspWarning
from softgrasp.io.urdf import read_robot
from tests.support.robots import ARM, HINGE, needs_xacro, written

BACKBONE = (
    "axial_damping, axial_stiffness, bending_stiffness, damping, discs, drag, length, links, "
    "radius, rotational_drag, torsion_damping, torsion_stiffness"
)
CONTROL = "ros2_control 'arm': joint 'first'"
FIRST, SECOND = "bendable 'first'", "bendable 'second'"


def refused(directory: Path, text: str | bytes, name: str = "robot.ucrdf") -> str:
    """The sentence about a file, without the folder."""
    needs_xacro(name)
    path = directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DescriptionError) as caught:
        read_robot(path)
    assert caught.value.file == path
    return str(caught.value).removeprefix(f"{directory}/{name}:").strip()


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '<child link="middle"/>',
            '<child link="middle">',
            "22: expected </child>, opened in line 8, found </bendable>",
        ),
        (
            'type="pcc"',
            'type="arc"',
            f"11: {FIRST}: model.type: expected pcc or ppc, found 'arc'",
        ),
        (
            'length="0.3"',
            'length="-0.3"',
            f"13: {FIRST}: backbone.length: expected a number above 0, found '-0.3'",
        ),
        (
            'length="0.3"',
            'lenght="0.3"',
            f"13: {FIRST}: backbone.lenght: no such attribute; did you mean 'length'? known: "
            f"{BACKBONE}",
        ),
        (
            'kappa_max="4"',
            'kappa_max="4" theta_max="1"',
            f"12: {FIRST}: limits.theta_max: expected theta_max = kappa_max · length = 1.2 rad, "
            "found 1 rad",
        ),
        (
            "<actuation>",
            "<actuators/><actuation>",
            f"16: {FIRST}: actuators: no such element; did you mean 'actuation'? known: "
            "actuation, child, curvature, inertial, origin, parent",
        ),
        (
            '<joint name="first">',
            '<joint name="fist">',
            "35: ros2_control 'arm': joint 'fist': name: no bendable or joint 'fist'; did you mean "
            "'first'? known: first, second",
        ),
        (
            '<parent link="base"/>',
            '<parent link="end"/>',
            f"24: {SECOND}: parent: expected no cycle, found middle → end → middle",
        ),
        (
            '<link name="end"/>',
            '<link name="end"/><link name="stray"/>',
            "5: link 'stray': name: expected one root link, found 2: base, stray",
        ),
        (
            '<child link="end"/>',
            '<child link="middle"/>',
            f"25: {SECOND}: child: expected one parent of link 'middle', found 'base' and 'middle'",
        ),
        (
            '<parent link="base"/>',
            '<parent link="bass"/>',
            f"7: {FIRST}: parent: no link 'bass'; did you mean 'base'? known: base, end, middle",
        ),
        (
            'links="8"',
            'links="0"',
            f"13: {FIRST}: backbone.links: expected a whole number from 1 to 1000000, found '0'",
        ),
        (
            'links="8"',
            'links="8.5"',
            f"13: {FIRST}: backbone.links: expected a whole number from 1 to 1000000, found '8.5'",
        ),
        (
            'links="8"',
            'discs="-1"',
            f"13: {FIRST}: backbone.discs: expected a whole number from 0 to 10000, found '-1'",
        ),
        (
            'bending_stiffness="0.5"',
            'bending_stiffness="-0.5"',
            f"13: {FIRST}: backbone.bending_stiffness: expected a number at least 0, found '-0.5'",
        ),
        (
            'radius="0.02"',
            'radius="0.4"',
            f"13: {FIRST}: backbone.radius: expected at most the length (0.3 m), found 0.4 m",
        ),
        (
            'angle="4"',
            'angle="2"',
            f"19: {FIRST}: chamber.angle: expected chambers at different angles, found two at "
            "2 rad",
        ),
        (
            '<command_interface name="kappa"><param name="max">4</param></command_interface>',
            "",
            f"35: {CONTROL}: expected kappa beside phi, found phi alone",
        ),
        (
            '<command_interface name="phi"/>',
            '<command_interface name="tau"/>',
            f"37: {CONTROL}: command_interface 'tau': name: expected kappa, phi or l, found 'tau'",
        ),
        (
            '<param name="max">4</param>',
            '<param name="max">four</param>',
            f"36: {CONTROL}: command_interface 'kappa': param 'max': expected a number, found "
            "'four'",
        ),
        (
            '<param name="max">4</param>',
            '<param name="max">4</param><param name="max">5</param>',
            f"36: {CONTROL}: command_interface 'kappa': param 'max': expected it once, found "
            "another",
        ),
        (
            '<param name="max">4</param>',
            '<param name="max">4</param><param name="initial_value">5</param>',
            f"36: {CONTROL}: command_interface 'kappa': param 'initial_value': expected a value "
            "between min (None) and max (4.0), found 5",
        ),
        (
            "<plugin>SoftRobotInterface</plugin>",
            "",
            "33: ros2_control 'arm': plugin: this field is missing; expected text: Hardware class "
            "that controls it",
        ),
        (
            ' length="0.3"',
            "",
            f"13: {FIRST}: backbone.length: this attribute is missing; expected a number above 0",
        ),
        (
            'length="0.3"',
            'length="long"',
            f"13: {FIRST}: backbone.length: expected a number above 0, found 'long'",
        ),
        (
            'length="0.3"',
            'length="1e999"',
            f"13: {FIRST}: backbone.length: expected a finite number, found inf",
        ),
        (
            'phi_min="-1"',
            'phi_min="2"',
            f"28: {SECOND}: limits.phi_min: expected at most phi_max (1), found 2",
        ),
        (
            ' phi_min="-1"',
            "",
            f"28: {SECOND}: limits.phi_min: expected phi_min and phi_max, found one of them",
        ),
        (
            'kappa_max="4"',
            "",
            f"12: {FIRST}: limits.kappa_max: expected kappa_max or theta_max, found neither",
        ),
        (
            'kappa_max="4"',
            'kappa_max="nan"',
            f"12: {FIRST}: limits.kappa_max: expected a number above 0, found 'nan'",
        ),
        (
            'frame="bishop"',
            'frame="webstr"',
            f"11: {FIRST}: model.frame: expected bishop or webster, found 'webstr'; did you mean "
            "'webster'?",
        ),
        (
            'frame="bishop"',
            'degree="1"',
            f"11: {FIRST}: model.degree: expected 0 for model pcc, found 1",
        ),
        (
            'degree="2"',
            'degree="10"',
            f"27: {SECOND}: model.degree: expected a whole number from 0 to 9, found '10'",
        ),
        (
            '<mass value="0.2"/>',
            "",
            f"21: {FIRST}: inertial: expected <mass> inside, found none",
        ),
        (
            '<chamber angle="0" radius="0.01" area="1e-4"/>',
            '<tendon angle="0" radius="0.01"/>',
            f"16: {FIRST}: actuation: expected tendons or chambers, found both",
        ),
        (
            '<chamber angle="0" radius="0.01" area="1e-4"/>',
            '<chamber angle="0" radius="0.01" area="1e-4" pressure_min="5" pressure_max="1"/>',
            f"17: {FIRST}: chamber.pressure_min: expected at most pressure_max (1 Pa), found 5 Pa",
        ),
        (
            "<backbone length",
            "<o:part xmlns:o='other'/><backbone length",
            f"13: {FIRST}: {{other}}part: no such element; known: backbone, limits",
        ),
        (
            "</bendable>",
            "<actuation/></bendable>",
            f"22: {FIRST}: actuation: expected one <actuation>, found another",
        ),
        (
            "<backbone length",
            "<limits kappa_max='1'/><backbone length",
            f"13: {FIRST}: limits: expected one <limits>, found another",
        ),
        (
            '<inertial><mass value="0.2"/></inertial>',
            "<inertial>0.2 kg</inertial>",
            f"21: {FIRST}: inertial: expected no text, found '0.2 kg'",
        ),
        (
            '<parent link="base"/>',
            '<parent link="base">base</parent>',
            f"7: {FIRST}: parent: expected no text, found 'base'",
        ),
        (
            '<parent link="base"/>',
            '<parent link="base"><child/></parent>',
            f"7: {FIRST}: child: expected nothing inside <parent>, found <child>",
        ),
        (
            '<origin xyz="0 0 0.1" rpy="0 0 0"/>',
            '<origin xyz="0 0.1"/>',
            f"9: {FIRST}: origin.xyz: expected 3 numbers, found '0 0.1'",
        ),
        (
            '<bendable name="second">',
            '<bendable name="first">',
            f"23: {FIRST}: name: expected unique names, found joint or bendable 'first' twice",
        ),
        (
            '<bendable name="second">',
            "<bendable>",
            "23: bendable.name: this attribute is missing; expected a name",
        ),
        ('<robot name="arm">', "<robot>", "2: robot.name: this field is missing; expected text"),
    ],
)
def test_ucrdf(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    assert refused(tmp_path, changed(ARM, old, new)) == sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'type="revolute"',
            'type="planar"',
            "15: joint 'elbow': type: expected fixed, revolute, continuous or prismatic, found "
            "'planar'",
        ),
        (
            'lower="-1" upper="1" ',
            "",
            "19: joint 'elbow': limit.lower: expected limits of a revolute joint, found none",
        ),
        (
            'lower="-1"',
            'lower="2"',
            "19: joint 'elbow': limit.lower: expected at most upper (1), found 2",
        ),
        (
            'damping="0.1"',
            'damping="-1"',
            "20: joint 'elbow': dynamics.damping: expected a number at least 0, found -1.0",
        ),
        (
            'xyz="0 1 0"',
            'xyz="0 0 0"',
            "18: joint 'elbow': axis: expected an axis that is not zero, found (0, 0, 0)",
        ),
        (
            '<parent link="base"/>',
            "",
            "15: joint 'elbow': expected <parent> inside, found none",
        ),
        (
            '<parent link="base"/>',
            "<parent/>",
            "16: joint 'elbow': parent.link: this attribute is missing; expected the name of a "
            "link",
        ),
        (
            '<axis xyz="0 1 0"/>',
            '<axis xyz="0 1 0"/><axis xyz="0 0 1"/>',
            "18: joint 'elbow': axis: expected one <axis>, found another",
        ),
        (
            '<axis xyz="0 1 0"/>',
            '<axis xyz="0 1 0"/><mimic joint="elbow"/>',
            "18: joint 'elbow': mimic.joint: expected another rigid joint, found 'elbow'",
        ),
        (
            '<mass value="0.5"/>',
            '<mass value="-1"/>',
            "6: link 'arm': mass: expected a number above 0, found -1.0",
        ),
        (
            '<mass value="0.5"/>',
            '<mass value="1_000"/>',
            "6: link 'arm': mass.value: expected a number, found '1_000'",
        ),
        (
            'ixx="1e-3" ',
            "",
            "7: link 'arm': inertia.ixx: this attribute is missing; expected a number",
        ),
        (
            '<box size="0.04 0.04 0.3"/>',
            '<box size="0.04 0.04 -0.3"/>',
            "13: link 'arm': box.size: expected a number above 0, found -0.3",
        ),
        (
            '<box size="0.04 0.04 0.3"/>',
            "<box/>",
            "13: link 'arm': box.size: this attribute is missing",
        ),
        (
            '<cylinder radius="0.02" length="0.3"/>',
            '<cylinder radius="0.02"/>',
            "10: link 'arm': cylinder.height: this field is missing; expected a number: Full "
            "height along z [m]",
        ),
        (
            '<cylinder radius="0.02" length="0.3"/>',
            "<heightmap/>",
            "10: link 'arm': geometry: expected one of box, cylinder, sphere, capsule, mesh, found "
            "<heightmap>",
        ),
        (
            '<geometry><cylinder radius="0.02" length="0.3"/></geometry>',
            "",
            "9: link 'arm': visual: expected <geometry> inside, found none",
        ),
        (
            '<color rgba="0.5 0.5 0.5 1"/>',
            "",
            "11: link 'arm': material 'grey': expected a material that has a colour, found 'grey'",
        ),
        (
            'rgba="0.5 0.5 0.5 1"',
            'rgba="0.5 0.5 0.5"',
            "2: material 'grey': color.rgba: expected 4 numbers, found '0.5 0.5 0.5'",
        ),
        (
            '<box size="0.04 0.04 0.3"/>',
            '<mesh filename="no.stl"/>',
            "13: link 'arm': mesh.filename: expected a mesh file, found no 'no.stl' in FOLDER",
        ),
        (
            '<box size="0.04 0.04 0.3"/>',
            '<mesh filename="package://a/no.stl"/>',
            "13: link 'arm': mesh.filename: expected a mesh file, found no 'package://a/no.stl' in "
            "FOLDER or above it",
        ),
        (
            '<box size="0.04 0.04 0.3"/>',
            '<mesh filename="arm.fbx"/>',
            "13: link 'arm': mesh.filename: expected a mesh as .stl, .obj, .ply, .glb, .off, .dae, "
            "found 'arm.fbx'",
        ),
        (
            '<link name="base"/>',
            '<xacro:link xmlns:xacro="http://www.ros.org/wiki/xacro"/>',
            "3: expected plain XML, found <xacro:link>; give the file the suffix .xacro",
        ),
    ],
)
def test_urdf(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    result = refused(tmp_path, changed(HINGE, old, new), "robot.urdf")
    assert result == sentence.replace("FOLDER", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<model/>", "1: expected a <robot>, found a <model>"),
        ('<robot name="r"/>', "1: robot 'r': expected <link> inside, found none"),
        ("", "1: expected XML, found: Document is empty"),
        ("words", "1: expected XML, found: Start tag expected, '<' not found"),
    ],
)
def test_other_files(text: str, sentence: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text) == sentence


@pytest.mark.parametrize("name", ["gone.ucrdf", "gone.urdf", "gone.xacro"])
def test_no_file(name: str, tmp_path: Path) -> None:
    needs_xacro(name)
    with pytest.raises(DescriptionError) as caught:
        read_robot(tmp_path / name)
    assert str(caught.value) == (
        f"{tmp_path / name}: expected a readable XML file, found: no such file"
    )


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    result = refused(tmp_path, ARM, "robot.sdf")
    assert result == f"expected a robot as {', '.join(ROBOT_SUFFIXES)}, found '.sdf'"


WORDS = st.sampled_from(
    ["", "<", ">", '"', "/", "x", " ", "-", "1e999", "nan", "<link/>", "</robot>", "<!--", "&lt;",
     "name", "limits", "\n", "é", "\x00", "<a:b/>", "xmlns:a='b' "]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([ARM, HINGE]), st.data())
def test_any_damage_is_a_sentence_with_a_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    """Or still a robot; never another exception."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    damaged = text[:start] + data.draw(WORDS) + text[end:]
    path = written(tmp_path_factory.getbasetemp(), damaged)
    named = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        try:
            read_robot(path)
        except DescriptionError as error:
            named = error.file
    assert named in (None, path)


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
DOCTYPE = "2: expected no document type, found a <!DOCTYPE>"


@pytest.mark.parametrize("position", ["name", "text", "unused"])
@pytest.mark.parametrize("suffix", ROBOT_SUFFIXES)
def test_a_document_that_would_grow_without_bound_is_refused(
    position: str, suffix: str, tmp_path: Path
) -> None:
    name, text = {"name": ("&e11;", ""), "text": ("r", "&e11;"), "unused": ("r", "")}[position]
    bomb = (
        f'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY e0 "ha">{BOMB}]>\n'
        f'<robot name="{name}"><link name="a"/>{text}</robot>'
    )
    assert refused(tmp_path, bomb, f"bomb{suffix}") == DOCTYPE


@pytest.mark.parametrize(
    "declared", ['r SYSTEM "other.dtd"', 'r [<!ENTITY e SYSTEM "other.txt">]', "r"]
)
def test_no_other_file_is_fetched(declared: str, tmp_path: Path) -> None:
    written(tmp_path, "secret", "other.txt")
    text = f'<!-- <!DOCTYPE> -->\n<!DOCTYPE {declared}>\n<robot name="&e;"><link name="a"/></robot>'
    assert refused(tmp_path, text) == DOCTYPE


def test_a_document_type_in_another_encoding_is_refused_too(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r><robot name="r"><link name="a"/>'
    result = refused(tmp_path, f"{text}</robot>".encode("utf-16"))
    assert result == DOCTYPE.removeprefix("2: ")


MACRO = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">
  <xacro:macro name="segment" params="name">
    <link
      name="${name}"/>
    <joint name="${name}_joint" type="fixed">
      <parent link="base"/>
      <child link="${name}"/>
    </joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:segment name="tip"/>
</robot>
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '<parent link="base"/>',
            '<parent link="bas"/>',
            "6: joint 'tip_joint': parent: no link 'bas'; did you mean 'base'? known: base, tip",
        ),
        (
            '<parent link="base"/>',
            '<parent link="${basis}"/>',
            "6: macro 'segment': expression 'basis': expected the name of a property, parameter or "
            "constant, found 'basis'",
        ),
        (
            "<xacro:segment ",
            "<xacro:segmnt ",
            "expected macros that expand, found: unknown macro name: xacro:segmnt",
        ),
        ("</joint>", "", "9: expected </joint>, opened in line 5, found </xacro:macro>"),
    ],
)
def test_xacro(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    assert refused(tmp_path, changed(MACRO, old, new), "robot.urdf.xacro") == sentence


def test_macros_without_end_are_refused(tmp_path: Path) -> None:
    text = changed(MACRO, "    <link", '<xacro:segment name="${name}a"/>\n    <link')
    result = refused(tmp_path, text, "robot.xacro")
    assert re.match("macro 'segment': expected macros that end, found .*recursion", result)


def test_without_xacro_a_message_states_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    path = written(tmp_path, MACRO, "robot.ucrdf.xacro")
    with pytest.raises(BackendUnavailable) as caught:
        read_robot(path)
    assert str(caught.value) == (
        f"{path}: a .xacro file needs the package xacro; install it: pip install 'softgrasp[xacro]'"
    )
