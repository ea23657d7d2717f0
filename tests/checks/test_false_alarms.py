"""Files whose grasps hold have no problems, whatever else is remarkable about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp import assets
from tests.checks.test_repair import hand_text
from tests.checks.test_robot import ABILITY, ROBOTIQ
from tests.conftest import Run
from tests.support.outside import outside_file

CONTROL = """  <ros2_control name="hand" type="system">
    <hardware><plugin>maker/HandHardware</plugin><param name="port">/dev/ttyUSB0</param></hardware>
    <joint name="l1"><command_interface name="position"/><state_interface name="position"/></joint>
  </ros2_control>
  <gazebo reference="palm"><material>Gazebo/Grey</material></gazebo>
"""
FRAME = """  <link name="tool"><inertial><mass value="0.01"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="palm"/><child link="tool"/></joint>
"""


def without_inertials(text: str) -> str:
    """Remove the inertials of all links but the palm."""
    first, *others = text.split("<inertial>")
    palm, *fingers = others
    return f"{first}<inertial>{palm}" + "".join(
        finger.split("</inertial>")[1] for finger in fingers
    )


GOOD = {
    "plain": hand_text(),
    "plugin of a maker": hand_text().replace("</robot>", f"{CONTROL}</robot>"),
    "no inertials": without_inertials(hand_text()),
    "frame without inertia": hand_text().replace("</robot>", f"{FRAME}</robot>"),
    "effort of a placeholder": hand_text().replace('effort="1"', 'effort="100"'),
    "ignored tags": hand_text().replace("<limit", '<safety_controller k_velocity="1"/><limit'),
}
TWICE = hand_text(mesh='<mesh filename="bar.stl" scale="1e-6 1e-6 1e-6"/>')


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_spoils_no_grasp_is_no_problem(name: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "hand.urdf"
    path.write_text(GOOD[name], "utf-8")
    ran = run("check", path, "--json")
    assert ran.json["problems"] == []
    assert ran.code == 0
    if name != "plain":
        assert ran.json["remarks"]


def test_fingers_of_micrometres_are_a_problem(run: Run, tmp_path: Path) -> None:
    """Shapes of 0.04 mm on joints that are 40 mm apart."""
    import trimesh

    trimesh.creation.box((12.0, 20.0, 40.0)).export(tmp_path / "bar.stl")
    path = tmp_path / "hand.urdf"
    path.write_text(TWICE, "utf-8")
    (problem,) = run("check", path, "--json").json["problems"]
    assert "the meshes were converted from millimetres twice" in problem
    assert run("check", path, "--fix", "--out", "fixed.urdf", "--json").json["problems"] == []
    assert 'scale="0.001 0.001 0.001"' in Path("fixed.urdf").read_text("utf-8")


@pytest.mark.slow
def test_one_cause_is_one_problem(run: Run, tmp_path: Path) -> None:
    import trimesh

    trimesh.creation.box((12.0, 20.0, 40.0)).export(tmp_path / "bar.stl")
    path = tmp_path / "hand.urdf"
    path.write_text(hand_text(mesh='<mesh filename="bar.stl"/>'), "utf-8")
    ran = run("check", path, "--json")
    (problem,) = ran.json["problems"]
    assert "--units mm" in problem
    assert "<mesh>" in problem
    assert ran.json["remarks"] == []
    assert run("check", path, "--units", "mm", "--json").code == 0
    refused = run("grasp", path, "sphere", "--no-video", "--no-report")
    assert refused.code == 2
    assert "--units mm" in refused.err


@pytest.mark.slow
def test_no_shipped_or_published_file_has_a_false_problem(run: Run) -> None:
    """Print the rate of false alarms over all files at hand; it is 0."""
    files = [name for kind in ("hands", "robots") for name in assets.names(kind)]
    files += [str(outside_file(name)) for name in (ABILITY, ROBOTIQ)]
    files += [str(file) for file in Path(__file__).parents[1].rglob("*.urdf")]
    alarms = {}
    for file in files:
        ran = run("check", file, "--json")
        if ran.code:
            alarms[file] = ran.json["problems"] if ran.code == 1 else ran.err
    print(f"{len(alarms)} false alarms in {len(files)} files")
    assert alarms == {}
