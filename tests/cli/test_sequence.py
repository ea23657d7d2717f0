"""--sequence, --criterion and --preshape on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.cli import main
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.scene_args import scene_of


def requested(**options: object) -> sg.GraspScene:
    return scene_of("four_finger", "strawberry", SceneOptions(**options))


def test_a_sequence_that_lifts_comes_with_table_gravity_and_criterion() -> None:
    scene = requested(sequence="approach, close,lift,shake")
    assert [phase.type for phase in scene.sequence] == ["approach", "close", "lift", "shake"]
    assert scene.gravity == (0.0, 0.0, -9.81)
    assert scene.table is not None
    assert scene.success == sg.io.load_criterion("sequence")
    assert scene.lift is None


def test_one_that_does_not_lift_comes_alone() -> None:
    scene = requested(sequence="approach,close")
    assert (scene.table, scene.success) == (None, None)
    assert scene.gravity == (0.0, 0.0, 0.0)
    shaken = requested(sequence="close,shake", gravity=False)
    assert shaken.success == sg.io.load_criterion("sequence")
    assert requested(sequence="close,shake", hold=False).success is None
    assert requested(sequence="close,lift", gravity=False).table is None


def test_a_criterion_and_a_preshape_by_name() -> None:
    scene = requested(criterion="dexgraspbench", preshape="open")
    assert scene.success == sg.io.load_criterion("dexgraspbench")
    assert scene.start == scene.hand.preshape("open").positions
    assert scene.table is None
    assert requested(criterion="lift_10cm").table is not None
    assert requested(settings=("success=isaac_shake",)).success == sg.io.load_criterion(
        "isaac_shake"
    )
    longer = requested(sequence="close,lift", settings=("sequence[1].height=0.2",))
    assert longer.sequence[1] == sg.description.LiftPhase(height=0.2)


def test_a_criterion_file_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("motion:\n  - {type: lift, height: 0.05}\nmax_drop: 0.002\n")
    assert main(["check", str(path), "--json"]) == 0
    message = json.loads(capsys.readouterr().out)
    assert (message["kind"], message["name"]) == ("criterion", "mine")
    assert message["test"] == "lift 50.0 mm within 1 s"
    assert message["passes"] == "at most 2.0 mm and 5.7°"


def test_criteria_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "criteria", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["dexgraspbench"]["test"] == "6 directions, 10 m/s² for 2 s each"
    assert sorted(rows) == assets.names("criteria")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"sequence": "close", "lift": True},
            "--lift: expected one of --lift, --sequence and --criterion, found more; lift is also "
            "a phase of sequences",
        ),
        (
            {"criterion": "hold", "hold": True},
            "--criterion: expected it or --hold/--no-hold, found both",
        ),
        (
            {"sequence": "approach,squeeze,close"},
            "sequence[1]: expected approach, preshape, close, hold, lift, move or shake, found "
            "'squeeze'",
        ),
        ({"sequence": ""}, "--sequence: expected phases such as approach,close,lift, found none"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as message:
        requested(**options)
    assert str(message.value) == sentence
