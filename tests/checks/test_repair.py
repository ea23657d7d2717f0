"""Repairs are laws: one damaged quantity is restored, and nothing else changes by a byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.geometry import Mesh
from softgrasp.description.robot import Link, Robot
from softgrasp.io.urdf import read_robot
from softgrasp.io.urdf.length_unit import UnitScale, in_metres, unit_doubt
from softgrasp.io.urdf.writer import edit_file
from tests.conftest import Run

Damage = Callable[[Robot], Robot]


def hand_text(density: float = 1500.0, mesh: str = "") -> str:
    """A hand of a palm and two fingers of two links, one of which follows, with a comment."""

    def link(name: str, size: tuple[float, float, float], z: float) -> str:
        mass = density * math.prod(size)
        a, b, c = (edge**2 * mass / 12.0 for edge in size)
        shape = f'<box size="{size[0]} {size[1]} {size[2]}"/>'
        shape = mesh if mesh and name != "palm" else shape
        geometry = f"<origin xyz='0 0 {z}'/><geometry>{shape}</geometry>"
        return (
            f'  <link name="{name}">\n    <inertial><origin xyz="0 0 {z}"/>\n'
            f'      <mass value="{mass}" />\n'
            f'      <inertia ixx="{b + c}" iyy="{a + c}" izz="{a + b}" ixy="0" ixz="0" iyz="0"/>\n'
            f"    </inertial>\n    <visual>{geometry}</visual>\n"
            f"    <collision>{geometry}</collision>\n  </link>\n"
        )

    def joint(name: str, parent: str, child: str, at: str, sign: int, rest: str = "") -> str:
        return (
            f'  <joint name="{name}" type="revolute">\n    <parent link="{parent}"/>'
            f'<child link="{child}"/>\n    <origin xyz="{at}"/><axis xyz="0 {sign} 0"/>\n'
            f'    <limit lower="-0.2" upper="1.4" effort="1" velocity="2"/>{rest}\n  </joint>\n'
        )

    parts = ['<?xml version="1.0"?>\n<!-- <mass value="7"/> -->\n<robot name="two">\n']
    parts.append(link("palm", (0.12, 0.05, 0.02), 0.0))
    for side, sign in (("l", 1), ("r", -1)):
        follows = f'<mimic joint="{side}1" multiplier="1" offset="0"/>'
        parts += [
            link(f"{side}_near", (0.012, 0.02, 0.04), 0.02),
            link(f"{side}_far", (0.012, 0.02, 0.04), 0.02),
            joint(f"{side}1", "palm", f"{side}_near", f"{-0.045 * sign} 0 0.01", sign),
            joint(f"{side}2", f"{side}_near", f"{side}_far", "0 0 0.04", sign, follows),
        ]
    return "".join([*parts, "</robot>\n"])


def inertials(factor_of_mass: float, factor_of_inertia: float) -> Damage:
    """Multiply all masses and inertias."""

    def changed(link: Link) -> Link:
        inertia = tuple(factor_of_inertia * item for item in link.inertial.inertia or ())
        return link.replace(
            inertial=link.inertial.replace(
                mass=factor_of_mass * link.inertial.mass, inertia=inertia
            )
        )

    return lambda robot: robot.replace(links=tuple(map(changed, robot.links)))


def in_degrees(robot: Robot) -> Robot:
    """Write all limits in degrees."""
    joints = (
        joint.replace(lower=math.degrees(joint.lower or 0), upper=math.degrees(joint.upper or 0))
        for joint in robot.joints
    )
    return robot.replace(joints=tuple(joints))


DAMAGES: dict[str, Damage] = {
    "g": inertials(1e3, 1.0),
    "g and g·m²": inertials(1e3, 1e3),
    "kg·mm²": inertials(1.0, 1e6),
    "g·mm²": inertials(1.0, 1e9),
    "degrees": in_degrees,
    "mm and kg·mm²": lambda robot: in_metres(robot, UnitScale(1e3, 1e3, 1e6)),
    "mm and kg·m²": lambda robot: in_metres(robot, UnitScale(1e3, 1e3, 1.0)),
}


def numbers_of(robot: Robot) -> np.ndarray:
    """All masses, inertias, positions, sizes and limits of a robot."""
    values: list[float] = []
    for link in robot.links:
        values += [link.inertial.mass, *link.inertial.origin.xyz, *(link.inertial.inertia or ())]
        for part in (*link.visuals, *link.collisions):
            assert not isinstance(part.shape, Mesh)
            values += [*part.origin.xyz, *part.shape.size]  # type: ignore[union-attr]
    for joint in robot.joints:
        values += [*joint.origin.xyz, joint.lower or 0.0, joint.upper or 0.0, joint.effort or 0.0]
    return np.array(values)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    directory = tmp_path_factory.mktemp("robots")

    def write(text: str) -> Path:
        path = directory / "two.urdf"
        path.write_text(text, "utf-8")
        return path

    return write


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(DAMAGES)), st.floats(200.0, 8000.0))
def test_one_damaged_quantity_is_restored(
    written: Callable[[str], Path], name: str, density: float
) -> None:
    good = read_robot(written(hand_text(density)))
    assert sg.checks.repairs(good) == ()
    result = sg.checks.repair_robot(DAMAGES[name](good))
    np.testing.assert_allclose(numbers_of(result), numbers_of(good), rtol=1e-9, atol=1e-15)
    assert sg.checks.repairs(result) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_only_the_lines_of_the_changes_change(name: str, run: Run, tmp_path: Path) -> None:
    good, damaged = tmp_path / "good.urdf", tmp_path / "damaged.urdf"
    good.write_text(hand_text(), "utf-8")
    robot = read_robot(good)
    damaged.write_bytes(edit_file(good, robot, DAMAGES[name](robot), tmp_path)[0])
    ran = run("check", damaged, "--fix", "--out", "fixed.urdf", "--json")
    old, new = (path.read_text("utf-8").splitlines() for path in (damaged, Path("fixed.urdf")))
    lines = {int(change.split(":")[1]) for change in ran.json["changes"]}
    assert lines == {
        number for number, pair in enumerate(zip(old, new, strict=True), 1) if len(set(pair)) > 1
    }
    assert numbers_of(read_robot("fixed.urdf")) == pytest.approx(numbers_of(robot), rel=1e-9)


def test_a_good_file_is_not_written_again(run: Run, tmp_path: Path) -> None:
    good = tmp_path / "good.urdf"
    good.write_text(hand_text(), "utf-8")
    ran = run("check", good, "--fix", "--out", "fixed.urdf", "--json")
    assert ran.code == 0
    assert ran.json["repairs"] == ran.json["changes"] == []
    assert not Path("fixed.urdf").exists()
    assert good.read_text("utf-8") == hand_text()


@pytest.mark.slow
def test_meshes_in_millimetres_are_the_one_cause(run: Run, tmp_path: Path) -> None:
    """Masses and inertias stay as they are: only scales are added."""
    trimesh.creation.box((12.0, 20.0, 40.0)).export(tmp_path / "bar.stl")
    text = hand_text(mesh='<mesh filename="bar.stl"/>')
    damaged = tmp_path / "mm.urdf"
    damaged.write_text(text, "utf-8")
    robot = read_robot(damaged)
    assert unit_doubt(robot).scale == (1e-3, 1.0, 1.0)
    (change,) = sg.checks.repairs(robot)
    assert (change.field, change.before, change.after) == ("lengths", (40.0,), (0.04,))
    ran = run("check", damaged, "--fix", "--out", "elsewhere/fixed.urdf", "--json")
    assert ran.code == 0
    assert all("scale: none → 0.001 0.001 0.001" in change for change in ran.json["changes"])
    fixed = read_robot("elsewhere/fixed.urdf")
    assert [link.inertial for link in fixed.links] == [link.inertial for link in robot.links]
    expected = hand_text(mesh='<mesh filename="../bar.stl" scale="0.001 0.001 0.001"/>')
    assert Path("elsewhere/fixed.urdf").read_text("utf-8") == expected


def test_an_inertia_is_kept_where_the_geometry_is_implausible() -> None:
    """A geometry that fits no mass gives no inertia."""
    from tests.checks.test_robot import VOLUME, bar, robot

    assert sg.checks.repairs(robot(*(bar(name, 25.0 * VOLUME, 30.0) for name in "abc"))) == ()


def test_a_light_link_among_good_ones_keeps_its_mass() -> None:
    from tests.checks.test_robot import VOLUME, bar, robot

    good = 1000.0 * VOLUME
    assert sg.checks.repairs(robot(bar("a", good), bar("b", good), bar("c", 1e-3 * good))) == ()


def test_slides_in_millimetres() -> None:
    from tests.checks.test_robot import robot

    slide = robot(upper=40.0, lower=0.0).joints[1].replace(type="prismatic")
    odd = robot().replace(joints=(robot().joints[0], slide))
    (problem,) = sg.inspect(odd).problems
    assert problem.advice == "are the limits in millimetres? URDF has metres; --fix converts them"
    (change,) = sg.checks.repairs(odd)
    assert change.after == (0.0, 0.04)
