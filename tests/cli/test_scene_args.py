"""Closures on the command line: by name, with their fields, and listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli import main
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.scene_args import scene_of
from softgrasp.description.closure import CLOSURES
from softgrasp.errors import DescriptionError


def requested(closure: str | None, *settings: str, hand: str = "four_finger") -> sg.GraspScene:
    return scene_of(hand, "sphere", SceneOptions(closure=closure, settings=settings))


@pytest.mark.parametrize("name", [name for name in CLOSURES if name != "pressure"])
def test_a_name_is_enough(name: str) -> None:
    assert requested(name).closure == CLOSURES[name]()


def test_fields_are_set_together_with_the_name() -> None:
    scene = requested("force-limited", "closure.torque=0.3", "closure.samples=5")
    assert scene.closure == sg.description.ForceLimitedClosure(torque=0.3, samples=5)
    scene = requested("underactuated", "closure.control_mode=tension", "closure.differential=true")
    assert scene.closure == sg.description.UnderactuatedClosure(
        control_mode="tension", differential=True
    )


def test_a_scene_keeps_its_own_closure() -> None:
    scene = scene_of("santello_sphere", None, SceneOptions())
    assert scene.closure == sg.description.SynergyIncrementClosure()
    scene = scene_of("santello_sphere", None, SceneOptions(closure="joint-torque"))
    assert scene.closure == sg.description.JointTorqueClosure()


def test_soft_hands_close_by_pressure() -> None:
    assert requested("pressure", hand="soft_gripper").closure == sg.description.PressureClosure()
    with pytest.raises(DescriptionError) as caught:
        requested("pressure")
    assert str(caught.value) == (
        "--closure pressure: expected a hand with soft fingers, found 'four_finger' without"
    )


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(DescriptionError) as caught:
        requested("force-limited", "closure.force=3", "closure.torque=0.3")
    assert str(caught.value) == (
        "--closure force-limited: expected exactly one of force and torque, found both"
    )


def test_the_list_tells_all_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "closures", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(CLOSURES)
    for row in rows:
        kind = CLOSURES[row["name"]]
        assert set(row["parameters"]) == set(kind.model_fields) - {"type"}
        assert row["description"].endswith(".")
    assert rows[3]["parameters"]["pulley_radius"] == 0.01
    assert main(["list", "closures"]) == 0
    assert "contact_rate_fraction=0.05" in capsys.readouterr().out


def test_a_grasp_with_another_closure_is_run_again(tmp_path: Path) -> None:
    words = ["grasp", "four_finger", "sphere", "--closure", "underactuated", "--no-video"]
    assert main([*words, "--no-report", "--duration", "0.2", "--out", str(tmp_path)]) == 0
    assert main(["rerun", str(tmp_path)]) == 0
