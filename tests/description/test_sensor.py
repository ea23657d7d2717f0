"""Sensors that do not fit their hand are refused with the words that help."""

from __future__ import annotations

from typing import Any

import pytest

import softgrasp as sg
from tests.conftest import Golden
from tests.support.scenes import pinch

SKIN = sg.description.TactileSensor(name="skin", body="F1_P3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensors": (SKIN, SKIN)}, "sensors[1].name"),
        (
            {"sensors": (sg.description.TactileSensor(name="skin", body="F1_P4"),)},
            "sensors[0].body",
        ),
        ({"closure": sg.PositionIncrementClosure(sense="sensor")}, "closure.sense"),
        (
            {
                "actuation": "prescribed",
                "sensors": (sg.description.JointTorqueSensor(name="joints"),),
            },
            "actuation",
        ),
        (
            {
                "hand": sg.load_hand("soft_gripper"),
                "sensors": (sg.description.JointTorqueSensor(name="j"),),
            },
            "sensors[0]",
        ),
    ],
)
def test_sensors_that_do_not_fit_are_refused(
    changes: dict[str, Any], message: str, golden: Golden
) -> None:
    golden.refused(lambda: pinch(**changes), message)


def test_torques_have_the_delay_of_the_forces(golden: Golden) -> None:
    golden.refused(
        lambda: sg.description.ForceTorqueSensor(
            name="wrist", torque_errors=sg.description.SensorErrors(delay=0.002)
        ),
        "torque_errors.delay",
    )


def test_scenes_with_sensors_survive_saving(tmp_path) -> None:
    scene = pinch(
        hand=sg.load_hand("four_finger"),
        contact=sg.Contact(model="soft-finger", patch=sg.description.Patch(radius=0.003)),
        object=sg.load_object("sphere").replace(elasticity=sg.description.Elasticity(young=2e4)),
        sensors=(
            SKIN,
            sg.description.ForceTorqueSensor(
                name="wrist", noise=0.1, pose=sg.Pose(position=(0, 0, 0.02))
            ),
            sg.description.JointTorqueSensor(name="joints", joints=("F1_J1", "F2_J1")),
        ),
    )
    assert sg.load_scene(sg.save_scene(scene, tmp_path / "scene.yaml")).replace(name="") == scene


def test_a_file_gives_lengths_in_its_units_and_objects_of_the_library_elasticity(tmp_path) -> None:
    (tmp_path / "scene.yaml").write_text(
        "units: {length: mm, angle: deg}\n"
        "hand: four_finger\n"
        "object: {library: sphere, elasticity: {young: 2.0e4}}\n"
        "contact: {model: soft-finger, patch: {radius: 4}}\n"
        "sensors:\n"
        "  - {type: force_torque, name: wrist, pose: {position: [0, 0, 20], euler: [0, 0, 90]}}\n"
    )
    scene = sg.load_scene(tmp_path / "scene.yaml")
    assert scene.contact.patch.radius == pytest.approx(0.004)
    assert scene.object.elasticity == sg.description.Elasticity(young=2e4)
    (sensor,) = scene.sensors
    assert sensor.pose.position == (0.0, 0.0, 0.02)
    assert sensor.pose.quaternion == pytest.approx((0.5**0.5, 0, 0, 0.5**0.5))
