"""--sequence, --criterion and --preshape on the command line."""

from __future__ import annotations

import pytest

import softgrasp as sg
from softgrasp.cli.scene_options import SceneOptions, scene_of


def asked(**options: object) -> sg.GraspScene:
    return scene_of("four_finger", "strawberry", SceneOptions(**options))


def test_a_sequence_that_lifts_comes_with_table_gravity_and_criterion() -> None:
    scene = asked(sequence="approach, close,lift,shake")
    assert [phase.type for phase in scene.sequence] == ["approach", "close", "lift", "shake"]
    assert scene.gravity == (0.0, 0.0, -9.81)
    assert scene.table is not None
    assert scene.success == sg.load_criterion("sequence")
    assert scene.lift is None


def test_one_that_does_not_lift_comes_alone() -> None:
    scene = asked(sequence="approach,close")
    assert (scene.table, scene.success) == (None, None)
    assert scene.gravity == (0.0, 0.0, 0.0)
    shaken = asked(sequence="close,shake", gravity=False)
    assert shaken.success == sg.load_criterion("sequence")
    assert asked(sequence="close,shake", hold=False).success is None
    assert asked(sequence="close,lift", gravity=False).table is None


def test_a_criterion_and_a_preshape_by_name() -> None:
    scene = asked(criterion="dexgraspbench", preshape="open")
    assert scene.success == sg.load_criterion("dexgraspbench")
    assert scene.start == scene.hand.preshape("open").positions
    assert scene.table is None
    assert asked(criterion="lift_10cm").table is not None
    assert asked(settings=("success=isaac_shake",)).success == sg.load_criterion("isaac_shake")
    longer = asked(sequence="close,lift", settings=("sequence[1].height=0.2",))
    assert longer.sequence[1] == sg.LiftPhase(height=0.2)


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
    with pytest.raises(sg.DescriptionError) as told:
        asked(**options)
    assert str(told.value) == sentence
