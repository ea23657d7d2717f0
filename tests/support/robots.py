"""Robots for tests: short files, and random robots."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from softgrasp.description.bendable import (
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    Inertial,
    Origin,
    Tendon,
)
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.description.robot import (
    RIGID_INTERFACES,
    ControlledJoint,
    ControlSystem,
    Interface,
    Link,
    LinkShape,
    Mimic,
    RigidJoint,
    Robot,
    curvature_interfaces,
)
from tests.support.outside import outside_file

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="middle"/>
  <link name="end"/>
  <bendable name="first">
    <parent link="base"/>
    <child link="middle"/>
    <origin xyz="0 0 0.1" rpy="0 0 0"/>
    <curvature>
      <model type="pcc" frame="bishop">
        <limits kappa_max="4"/>
        <backbone length="0.3" radius="0.02" bending_stiffness="0.5" links="8"/>
      </model>
    </curvature>
    <actuation>
      <chamber angle="0" radius="0.01" area="1e-4"/>
      <chamber angle="2" radius="0.01" area="1e-4"/>
      <chamber angle="4" radius="0.01" area="1e-4"/>
    </actuation>
    <inertial><mass value="0.2"/></inertial>
  </bendable>
  <bendable name="second">
    <parent link="middle"/>
    <child link="end"/>
    <curvature>
      <model type="ppc" degree="2">
        <limits theta_max="1.5" phi_min="-1" phi_max="1"/>
        <backbone length="0.2" radius="0.02"/>
      </model>
    </curvature>
  </bendable>
  <ros2_control name="arm" type="system">
    <hardware><plugin>SoftRobotInterface</plugin></hardware>
    <joint name="first">
      <command_interface name="kappa"><param name="max">4</param></command_interface>
      <command_interface name="phi"/>
      <state_interface name="kappa"/>
    </joint>
  </ros2_control>
</robot>
"""
"""A robot of two bendables; its lines are counted by tests."""

HINGE = """<robot name="hinge">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial>
      <mass value="0.5"/>
      <inertia ixx="1e-3" iyy="1e-3" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual>
      <geometry><cylinder radius="0.02" length="0.3"/></geometry>
      <material name="grey"/>
    </visual>
    <collision><geometry><box size="0.04 0.04 0.3"/></geometry></collision>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="2"/>
    <dynamics damping="0.1" friction="0.01"/>
  </joint>
</robot>
"""
"""A plain URDF; its lines are counted by tests."""

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def needs_xacro(name: str) -> None:
    """Skip a test of a xacro file where the extra is not installed."""
    if name.endswith(".xacro"):
        pytest.importorskip("xacro", reason="xacro is an extra")


def outside_robot(name: str) -> Path:
    """A robot's file of the outside data."""
    needs_xacro(name)
    return outside_file("ucrdf") / name


def written(directory: Path, text: str, name: str = "robot.ucrdf") -> Path:
    """A file with a text."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")), min_size=1, max_size=6
).filter(lambda word: word.strip() and word.strip().isprintable())
NUMBERS = st.floats(-1e4, 1e4)
POSITIVE = st.floats(1e-9, 1e4)
NOT_NEGATIVE = st.just(0.0) | POSITIVE
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
ORIGINS = st.builds(Origin, xyz=VECTORS, rpy=VECTORS)
INERTIALS = st.builds(
    Inertial, mass=POSITIVE, origin=ORIGINS, inertia=st.none() | st.tuples(*[POSITIVE] * 6)
)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A value, or None."""
    return st.none() | values


def shapes(mesh: str) -> st.SearchStrategy[LinkShape]:
    """Shapes of links, among them a mesh."""
    shape: st.SearchStrategy[Any] = st.one_of(
        st.builds(Sphere, radius=POSITIVE),
        st.builds(Cylinder, radius=POSITIVE, height=POSITIVE),
        st.builds(Capsule, radius=POSITIVE, length=POSITIVE),
        st.builds(Cuboid, size=st.tuples(*[POSITIVE] * 3)),
        st.builds(Mesh, file=st.just(mesh), scale=POSITIVE | st.tuples(*[POSITIVE] * 3)),
    )
    colors = maybe(st.tuples(*[st.floats(0, 1)] * 4))
    return st.builds(LinkShape, shape=shape, origin=ORIGINS, name=st.just("") | WORDS, rgba=colors)


@st.composite
def ranges(draw: st.DrawFn, low: str, high: str) -> dict[str, float]:
    """Two bounds in order, or none."""
    if draw(st.booleans()):
        return {}
    bounds = sorted(draw(st.tuples(NUMBERS, NUMBERS)))
    return {low: bounds[0], high: bounds[1]}


@st.composite
def bendables(draw: st.DrawFn, name: str, parent: str, child: str) -> Bendable:
    """A bendable between two links."""
    length, model = draw(POSITIVE), draw(st.sampled_from(["pcc", "ppc"]))
    kappa_max = draw(st.floats(1e-3, 1e3))
    both = {"kappa_max": kappa_max, "theta_max": kappa_max * length}
    stiffness = ("bending_stiffness", "axial_stiffness", "torsion_stiffness")
    return Bendable(
        name=name,
        parent=parent,
        child=child,
        origin=draw(ORIGINS),
        model=model,
        degree=draw(st.integers(0, 9)) if model == "ppc" else 0,
        frame=draw(st.sampled_from(["bishop", "webster"])),
        limits=CurvatureLimits(
            **draw(st.sampled_from([both, {"kappa_max": kappa_max}, {"theta_max": kappa_max}])),
            kappa_dot_max=draw(maybe(POSITIVE)),
            phi_dot_max=draw(maybe(POSITIVE)),
            **draw(ranges("phi_min", "phi_max")),
            **draw(ranges("eps_min", "eps_max")),
        ),
        backbone=Backbone(
            length=length,
            radius=length * draw(st.floats(1e-3, 1.0)),
            damping=draw(NOT_NEGATIVE),
            links=draw(st.integers(1, 1000)),
            discs=draw(st.integers(0, 100)),
            **{key: draw(maybe(NOT_NEGATIVE)) for key in stiffness},
        ),
        actuation=draw(actuators()),
        inertial=draw(maybe(INERTIALS)),
    )


@st.composite
def actuators(draw: st.DrawFn) -> tuple[Tendon | Chamber, ...]:
    """Tendons or chambers at different angles."""
    angles = draw(st.lists(st.integers(-30, 30), unique=True, max_size=4))
    if draw(st.booleans()):
        return tuple(Tendon(angle=angle / 10, radius=draw(POSITIVE)) for angle in angles)
    return tuple(
        Chamber(
            angle=angle / 10,
            radius=draw(POSITIVE),
            area=draw(POSITIVE),
            pressure_min=draw(st.floats(-1e5, 0)),
            pressure_max=draw(maybe(st.floats(0, 1e6))),
        )
        for angle in angles
    )


@st.composite
def joints(draw: st.DrawFn, name: str, parent: str, child: str) -> RigidJoint:
    """A rigid joint between two links."""
    kind = draw(st.sampled_from(["fixed", "revolute", "continuous", "prismatic"]))
    bounds = draw(ranges("lower", "upper")) or {"lower": -1.0, "upper": 2.0}
    return RigidJoint(
        name=name,
        type=kind,
        parent=parent,
        child=child,
        origin=draw(ORIGINS),
        axis=draw(VECTORS.filter(any)),
        effort=draw(maybe(NOT_NEGATIVE)),
        velocity=draw(maybe(NOT_NEGATIVE)),
        damping=draw(NOT_NEGATIVE),
        friction=draw(NOT_NEGATIVE),
        **(bounds if kind in ("revolute", "prismatic") else {}),
    )


@st.composite
def controls(draw: st.DrawFn, name: str, known: dict[str, tuple[str, ...]]) -> ControlSystem:
    """A ``ros2_control`` element over some of the joints that can be controlled."""
    chosen = draw(st.lists(st.sampled_from(sorted(known)), unique=True)) if known else []

    def interfaces(names: tuple[str, ...]) -> tuple[Interface, ...]:
        # without the first one, kappa, phi could not stand
        picked = [names[0], *draw(st.lists(st.sampled_from(names[1:]), unique=True))]
        bounds = draw(ranges("min", "max"))
        return tuple(
            Interface(name=part, initial_value=draw(maybe(st.just(bounds.get("min", 1.0)))),
                      **bounds)
            for part in picked
        )  # fmt: skip

    return ControlSystem(
        name=name,
        type=draw(st.sampled_from(["system", "actuator", "sensor"])),
        plugin=draw(WORDS),
        params=tuple(draw(st.lists(st.tuples(WORDS.map(str.strip), WORDS), max_size=3))),
        joints=tuple(
            ControlledJoint(
                name=joint,
                commands=interfaces(known[joint]) if draw(st.booleans()) else (),
                states=interfaces(known[joint]),
            )
            for joint in chosen
        ),
    )


@st.composite
def robots(draw: st.DrawFn, mesh: str) -> Robot:
    """A tree of up to five links with everything that a robot can have."""
    names = draw(st.lists(WORDS.map(str.strip), min_size=1, max_size=5, unique=True))
    edges = draw(
        st.lists(WORDS.map(str.strip), min_size=len(names) - 1, max_size=len(names) - 1,
                 unique=True)
    )  # fmt: skip
    rigid, soft = [], []
    for index, (child, edge) in enumerate(zip(names[1:], edges, strict=True), start=1):
        parent = names[draw(st.integers(0, index - 1))]
        if draw(st.booleans()):
            follows = {}
            if rigid and draw(st.booleans()):
                other = draw(st.sampled_from(rigid)).name
                follows["mimic"] = Mimic(
                    joint=other, multiplier=draw(NUMBERS), offset=draw(NUMBERS)
                )
            rigid.append(draw(joints(edge, parent, child)).replace(**follows))
        else:
            soft.append(draw(bendables(edge, parent, child)))
    known = {joint.name: RIGID_INTERFACES for joint in rigid}
    known |= {part.name: curvature_interfaces(part) for part in soft}
    some_shapes = st.lists(shapes(mesh), max_size=2).map(tuple)
    return Robot(
        name=draw(WORDS),
        links=tuple(
            Link(
                name=name,
                inertial=draw(maybe(INERTIALS)),
                visuals=draw(some_shapes),
                collisions=draw(some_shapes),
            )
            for name in names
        ),
        joints=tuple(rigid),
        bendables=tuple(soft),
        control=tuple(
            draw(controls(str(index), known)) for index in range(draw(st.integers(0, 2)))
        ),
        source=draw(st.just("") | WORDS),
    )
