"""Every mistake in a robot's file is one sentence with file, line and element."""

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
        ('<child link="middle"/>', '<child link="middle">',
         "22: expected </child>, opened in line 8"),
        ('type="pcc"', 'type="arc"', "11: bendable 'first': model"),
        ('length="0.3"', 'length="-0.3"', "13: bendable 'first': backbone.length"),
        ('length="0.3"', 'lenght="0.3"', "13: bendable 'first': backbone.lenght"),
        ('kappa_max="4"', 'kappa_max="4" theta_max="1"', "12: bendable 'first': limits.theta_max"),
        ("<actuation>", "<actuators/><actuation>", "16: bendable 'first': actuators"),
        ('<joint name="first">', '<joint name="fist">',
         "35: ros2_control 'arm': joint 'fist': name"),
        ('<parent link="base"/>', '<parent link="end"/>', "24: bendable 'second': parent"),
        ('<link name="end"/>', '<link name="end"/><link name="stray"/>', "5: link 'stray': name"),
        ('<child link="end"/>', '<child link="middle"/>', "25: bendable 'second': child"),
        ('<parent link="base"/>', '<parent link="bass"/>', "7: bendable 'first': parent"),
        ('links="8"', 'links="8.5"', "13: bendable 'first': backbone.links"),
        ('radius="0.02"', 'radius="0.4"', "13: bendable 'first': backbone.radius"),
        ('angle="4"', 'angle="2"', "19: bendable 'first': chamber.angle"),
        ('<command_interface name="kappa"><param name="max">4</param></command_interface>', "",
         "35: ros2_control 'arm': joint 'first'"),
        ('<command_interface name="phi"/>', '<command_interface name="tau"/>',
         "37: ros2_control 'arm': joint 'first': command_interface 'tau': name"),
        ('<param name="max">4</param>', '<param name="max">four</param>',
         "36: ros2_control 'arm': joint 'first':"),
        ('<param name="max">4</param>', '<param name="max">4</param><param name="max">5</param>',
         "36: ros2_control 'arm': joint 'first':"),
        ('<param name="max">4</param>',
         '<param name="max">4</param><param name="initial_value">5</param>',
         "36: ros2_control 'arm': joint 'first':"),
        ("<plugin>SoftRobotInterface</plugin>", "", "33: ros2_control 'arm': plugin"),
        (' length="0.3"', "", "13: bendable 'first': backbone.length"),
        ('length="0.3"', 'length="long"', "13: bendable 'first': backbone.length"),
        ('length="0.3"', 'length="1e999"', "13: bendable 'first': backbone.length"),
        ('phi_min="-1"', 'phi_min="2"', "28: bendable 'second': limits.phi_min"),
        (' phi_min="-1"', "", "28: bendable 'second': limits.phi_min"),
        ('kappa_max="4"', "", "12: bendable 'first': limits.kappa_max"),
        ('frame="bishop"', 'frame="webstr"', "11: bendable 'first': model.frame"),
        ('frame="bishop"', 'degree="1"', "11: bendable 'first': model.degree"),
        ('degree="2"', 'degree="10"', "27: bendable 'second': model.degree"),
        ('<mass value="0.2"/>', "", "21: bendable 'first': inertial"),
        ('<chamber angle="0" radius="0.01" area="1e-4"/>', '<tendon angle="0" radius="0.01"/>',
         "16: bendable 'first': actuation"),
        ('<chamber angle="0" radius="0.01" area="1e-4"/>',
         '<chamber angle="0" radius="0.01" area="1e-4" pressure_min="5" pressure_max="1"/>',
         "17: bendable 'first': chamber.pressure_min"),
        ("<backbone length", "<o:part xmlns:o='other'/><backbone length",
         "13: bendable 'first': {other}part"),
        ("</bendable>", "<actuation/></bendable>", "22: bendable 'first': actuation"),
        ("<backbone length", "<limits kappa_max='1'/><backbone length",
         "13: bendable 'first': limits"),
        ('<parent link="base"/>', '<parent link="base"><child/></parent>',
         "7: bendable 'first': child"),
        ('<origin xyz="0 0 0.1" rpy="0 0 0"/>', '<origin xyz="0 0.1"/>',
         "9: bendable 'first': origin.xyz"),
        ('<bendable name="second">', '<bendable name="first">', "23: bendable 'first': name"),
        ('<bendable name="second">', "<bendable>", "23: bendable.name"),
        ('<robot name="arm">', "<robot>", "2: robot.name"),
    ],
)  # fmt: skip
def test_ucrdf(old, new, sentence, tmp_path, golden):
    golden(refused(tmp_path, changed(ARM, old, new)), sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('type="revolute"', 'type="planar"', "15: joint 'elbow': type"),
        ('lower="-1" upper="1" ', "", "19: joint 'elbow': limit.lower"),
        ('lower="-1"', 'lower="2"', "19: joint 'elbow': limit.lower"),
        ('damping="0.1"', 'damping="-1"', "20: joint 'elbow': dynamics.damping"),
        ('xyz="0 1 0"', 'xyz="0 0 0"', "18: joint 'elbow': axis"),
        ('<parent link="base"/>', "", "15: joint 'elbow'"),
        ('<parent link="base"/>', "<parent/>", "16: joint 'elbow': parent.link"),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><axis xyz="0 0 1"/>',
         "18: joint 'elbow': axis"),
        ('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbow"/>',
         "18: joint 'elbow': mimic.joint"),
        ('<mass value="0.5"/>', '<mass value="-1"/>', "6: link 'arm': mass"),
        ('<mass value="0.5"/>', '<mass value="1_000"/>', "6: link 'arm': mass.value"),
        ('ixx="1e-3" ', "", "7: link 'arm': inertia.ixx"),
        ('<box size="0.04 0.04 0.3"/>', '<box size="0.04 0.04 -0.3"/>', "13: link 'arm': box.size"),
        ('<box size="0.04 0.04 0.3"/>', "<box/>", "13: link 'arm': box.size"),
        ('<cylinder radius="0.02" length="0.3"/>', '<cylinder radius="0.02"/>',
         "10: link 'arm': cylinder.height"),
        ('<cylinder radius="0.02" length="0.3"/>', "<heightmap/>", "10: link 'arm': geometry"),
        ('<geometry><cylinder radius="0.02" length="0.3"/></geometry>', "",
         "9: link 'arm': visual"),
        ('<color rgba="0.5 0.5 0.5 1"/>', "", "11: link 'arm': material 'grey'"),
        ('rgba="0.5 0.5 0.5 1"', 'rgba="0.5 0.5 0.5"', "2: material 'grey': color.rgba"),
        ('<box size="0.04 0.04 0.3"/>', '<mesh filename="no.stl"/>',
         "13: link 'arm': mesh.filename"),
        ('<box size="0.04 0.04 0.3"/>', '<mesh filename="package://a/no.stl"/>',
         "13: link 'arm': mesh.filename"),
        ('<box size="0.04 0.04 0.3"/>', '<mesh filename="arm.fbx"/>',
         "13: link 'arm': mesh.filename"),
        ('<link name="base"/>', '<xacro:link xmlns:xacro="http://www.ros.org/wiki/xacro"/>',
         "3: expected plain XML, found <xacro:link>"),
    ],
)  # fmt: skip
def test_urdf(old, new, sentence, tmp_path, golden):
    result = refused(tmp_path, changed(HINGE, old, new), "robot.urdf")
    golden(result, sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<model/>", "1: expected a <robot>, found a <model>"),
        ('<robot name="r"/>', "1: robot 'r': expected <link> inside, found none"),
        ("", "1: expected XML, found: Document is empty"),
        ("words", "1: expected XML, found: Start tag expected, '<' not found"),
    ],
)
def test_other_files(text, sentence, tmp_path):
    assert refused(tmp_path, text) == sentence


@pytest.mark.parametrize("name", ["gone.ucrdf", "gone.urdf", "gone.xacro"])
def test_no_file(name, tmp_path, golden):
    needs_xacro(name)
    golden.refused(lambda: read_robot(tmp_path / name), "expected a readable XML file, found")


def test_a_file_of_another_kind(tmp_path):
    result = refused(tmp_path, ARM, "robot.sdf")
    assert result == f"expected a robot as {', '.join(ROBOT_SUFFIXES)}, found '.sdf'"


WORDS = st.sampled_from(
    ["", "<", ">", '"', "/", "x", " ", "-", "1e999", "nan", "<link/>", "</robot>", "<!--", "&lt;",
     "name", "limits", "\n", "é", "\x00", "<a:b/>", "xmlns:a='b' "]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.sampled_from([ARM, HINGE]), st.data())
def test_any_damage_is_a_sentence_with_a_file(tmp_path_factory, text, data):
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
def test_a_document_that_would_grow_without_bound_is_refused(position, suffix, tmp_path):
    name, text = {"name": ("&e11;", ""), "text": ("r", "&e11;"), "unused": ("r", "")}[position]
    bomb = (
        f'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY e0 "ha">{BOMB}]>\n'
        f'<robot name="{name}"><link name="a"/>{text}</robot>'
    )
    assert refused(tmp_path, bomb, f"bomb{suffix}") == DOCTYPE


@pytest.mark.parametrize(
    "declared", ['r SYSTEM "other.dtd"', 'r [<!ENTITY e SYSTEM "other.txt">]', "r"]
)
def test_no_other_file_is_fetched(declared, tmp_path):
    written(tmp_path, "secret", "other.txt")
    text = f'<!-- <!DOCTYPE> -->\n<!DOCTYPE {declared}>\n<robot name="&e;"><link name="a"/></robot>'
    assert refused(tmp_path, text) == DOCTYPE


def test_a_document_type_in_another_encoding_is_refused_too(tmp_path):
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
        ('<parent link="base"/>', '<parent link="bas"/>', "6: joint 'tip_joint': parent"),
        ('<parent link="base"/>', '<parent link="${basis}"/>',
         "6: macro 'segment': expression 'basis'"),
        ("<xacro:segment ", "<xacro:segmnt ", "expected macros that expand"),
        ("</joint>", "", "9: expected </joint>, opened in line 5"),
    ],
)  # fmt: skip
def test_xacro(old, new, sentence, tmp_path, golden):
    golden(refused(tmp_path, changed(MACRO, old, new), "robot.urdf.xacro"), sentence)


def test_macros_without_end_are_refused(tmp_path):
    text = changed(MACRO, "    <link", '<xacro:segment name="${name}a"/>\n    <link')
    result = refused(tmp_path, text, "robot.xacro")
    assert re.match("macro 'segment': expected macros that end, found .*recursion", result)


def test_without_xacro_a_message_states_what_to_install(tmp_path, monkeypatch, golden):
    monkeypatch.setitem(sys.modules, "xacro", None)
    path = written(tmp_path, MACRO, "robot.ucrdf.xacro")
    golden.refused(
        lambda: read_robot(path), "a .xacro file needs the package xacro", BackendUnavailable
    )
