"""After the closure the targets of the hand stay, so that a test never adds grip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg

JAW = """<robot name="jaw">
<link name="base"><inertial><mass value="0.5"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0.02"/><geometry><box size="0.14 0.06 0.04"/></geometry></collision>
</link>{jaws}</robot>"""
HALF = """<link name="{name}"><inertial><origin xyz="0 0 -0.04"/><mass value="0.08"/>
<inertia ixx="5e-5" iyy="5e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="{x} 0 -0.04"/><geometry><box size="0.01 0.03 0.08"/></geometry></collision>
</link><joint name="{name}_slide" type="prismatic"><parent link="base"/><child link="{name}"/>
<origin xyz="{at} 0 0"/><axis xyz="{axis} 0 0"/>
<limit lower="0" upper="0.05" effort="60" velocity="0.1"/></joint>"""
"""A parallel gripper of two plates with stiff servos."""


@pytest.fixture(scope="module")
def jaw(tmp_path_factory: pytest.TempPathFactory) -> sg.Hand:
    left = HALF.format(name="left", x=-0.005, at=-0.05, axis=1)
    right = HALF.format(name="right", x=0.005, at=0.05, axis=-1)
    path: Path = tmp_path_factory.mktemp("jaw") / "jaw.urdf"
    path.write_text(JAW.format(jaws=left + right))
    return sg.load_hand(path)


def pinched(jaw: sg.Hand, mass: float, friction: float, **changes: object) -> sg.GraspScene:
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.04, 0.03, 0.06)), mass=mass)
    contact = sg.Contact(static_friction=friction)
    return sg.GraspScene(hand=jaw, object=box, contact=contact, **changes)


@pytest.mark.parametrize("friction", [0.1, 0.5])
@pytest.mark.parametrize("load", [1.1, 1.5, 2.0])
def test_an_overloaded_grasp_drops_and_its_targets_stay(
    jaw: sg.Hand, friction: float, load: float
) -> None:
    grip = sg.simulate(pinched(jaw, 1.0, friction), quality_rate=None).normal_force[-1].sum()
    test = sg.SuccessCriterion(max_drop=0.05, max_rotation=0.26)
    scene = pinched(jaw, load * friction * grip / 9.81, friction, success=test)
    result = sg.simulate(scene, quality_rate=None)
    assert result.outcome.name == "DROPPED"
    begin = int(np.searchsorted(result.time, result.hold.start_s - 1e-9))
    assert (result.joint_target[begin + 1 :] == result.joint_target[begin + 1]).all()


def test_a_controller_that_stays_on_closes_further(jaw: sg.Hand) -> None:
    scene = pinched(jaw, 3.7, 0.5, success=sg.SuccessCriterion(max_drop=0.05, max_rotation=0.26))
    closure = sg.PositionIncrementClosure(rates=0.05)
    moved = []
    for item in (closure, closure.replace(stays_on=True)):
        result = sg.simulate(scene.replace(closure=item), quality_rate=None)
        begin = int(np.searchsorted(result.time, result.hold.start_s - 1e-9))
        moved.append(np.abs(result.joint_target[-1] - result.joint_target[begin + 1]).max())
    assert moved[0] == 0.0
    assert moved[1] > 1e-4
