"""Benchmark of hands (benchmarks/hands.py): what is searched, counted, kept and written."""

from __future__ import annotations

import csv
import importlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp import assets
from tests.support.processes import dies_with_cubes

ROOT = Path(__file__).resolve().parents[1]
BALL_FLOOR, PRIMITIVE_FLOOR = 0.95, 0.95
"""Measured: see docs/data/hands.md."""


@pytest.fixture(scope="module")
def hands() -> Iterator[Any]:
    """The script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("hands")


def pair(hands: Any, hand: str = "four_finger", item: str = "ball_60") -> Any:
    (found,) = (source for source in hands.find_objects([]) if source.name == item)
    return hands.HandSource(hand, hand, "0"), found


def test_rates_leave_out_what_does_not_fit_and_what_was_refused(hands: Any) -> None:
    held = {"group": "ball", "outcome": "HELD", "held": True, "fits": True}
    rows = [
        held, held | {"held": False, "outcome": "EJECTED"},
        held | {"fits": False, "held": False, "outcome": "MISSED"},
        held | {"outcome": "REFUSED", "held": False}, held | {"group": "primitive"},
        held | {"group": "object", "held": False},
    ]  # fmt: skip
    assert str(hands.rate_of(rows, "balls")) == "1/2 (+1)"
    assert hands.rate_of(rows, "primitives") == (2, 3, 1)
    assert hands.rate_of(rows) == (2, 4, 1)
    assert str(hands.rate_of([])) == "–"


def test_hands_are_those_of_the_library_and_of_directories(hands: Any, tmp_path: Path) -> None:
    for name in ("shadow_hand/right_hand.xml", "shadow_hand/scene_right.xml", "arms/ur10e.xml",
                 "shadow_hand/meshes/palm.xml", "2f85/2f85.xml", "leap_hand/leap.urdf",
                 "leap_hand/leap_glb.urdf"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<mujoco/>")
    found = hands.find_hands([tmp_path, tmp_path / "arms/ur10e.xml"], shipped=False)
    assert [hand.name.partition("/")[2] for hand in found] == [
        "2f85/2f85", "leap_hand/leap", "shadow_hand/right_hand", "ur10e",
    ]  # fmt: skip  # a file is taken as it is
    library = [hand.name for hand in hands.find_hands([])]
    assert {*library} == {*assets.names("hands")} - {"two_hands"}
    with pytest.raises(SystemExit, match="expected URDF or MJCF files of hands, found none"):
        hands.find_hands([tmp_path / "arms"])
    with pytest.raises(SystemExit, match="expected a directory of objects, found none"):
        hands.find_objects([tmp_path / "nothing"])


def test_the_opening_is_between_the_outer_ends_of_fingers_with_what_is_fixed_to_them(
    hands: Any, tmp_path: Path
) -> None:
    """The links of these jaws overlap at the palm; their tips are other bodies."""
    jaws = "".join(
        f'<body name="{name}" gravcomp="1"><joint name="{name}" type="slide" axis="{-side} 0 0" '
        f'range="0 .03"/><geom type="box" size=".03 .01 .01" pos="{side * 0.02} 0 .02"/>'
        f'<body name="{name}_tip" gravcomp="1"><geom type="box" size=".005 .01 .02" '
        f'pos="{side * 0.04} 0 .06"/></body></body>'
        for name, side in (("left", 1), ("right", -1))
    )
    servos = "".join(
        f'<position joint="{name}" kp="1e4" kv="50" ctrlrange="0 .03"/>'
        for name in ("left", "right")
    )
    file = tmp_path / "jaws.xml"
    file.write_text(
        '<mujoco><worldbody><body name="palm" gravcomp="1"><geom type="box" size=".06 .02 .005"/>'
        f"{jaws}</body></worldbody><actuator>{servos}</actuator></mujoco>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = sg.GraspScene(hand=sg.load_hand(file), object=sg.load_object("sphere"))
        measured = hands.opening_and_width(scene)
    assert measured == pytest.approx((0.07, 0.06), abs=1e-6)


def test_a_hand_that_is_refused_is_a_row(hands: Any, tmp_path: Path) -> None:
    (tmp_path / "hand.xml").write_text("<mujoco><worldbody/></mujoco>")
    row = hands.grasp_row(*pair(hands, str(tmp_path / "hand.xml")))
    assert (row["outcome"], row["held"]) == ("REFUSED", False)
    assert "expected a hand with hinge or slide joints, found a model without" in row["message"]


@pytest.mark.slow
def test_a_grasp_that_ends_its_process_is_a_failed_row(hands: Any) -> None:
    pairs = [pair(hands), pair(hands, item="cube_50")]
    rows = {row["object"]: row for row in hands.new_rows(pairs, 2, dies_with_cubes)}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "ball_60": "HELD", "cube_50": "FAILED",
    }  # fmt: skip
    assert rows["cube_50"]["message"] == "the process of this grasp has died"


@pytest.mark.slow
def test_it_writes_rows_and_rates_and_goes_on_from_finished_rows(
    hands: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["--out", str(tmp_path), "--only", "four_finger,ball_60", "--workers", "1"]
    hands.main(words)
    assert "| **all** | | | | **1/1** | **1/1** | **–** | **1/1** |" in capfd.readouterr().out
    with (tmp_path / "hands.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["outcome"], row["held"], row["fits"]) == ("HELD", "True", "True")
    assert 0.1 < float(row["opening_m"]) < 0.2
    journal = tmp_path / "rows.jsonl"
    (line,) = journal.read_text("utf-8").splitlines()
    hands.main(words)
    assert journal.read_text("utf-8").splitlines() == [line]
    monkeypatch.setattr(hands, "library_version", lambda: "another")
    monkeypatch.setattr(
        hands,
        "new_rows",
        lambda pairs, *_: [dict(json.loads(line), version=hand.version) for hand, _ in pairs],
    )
    hands.main(words)
    assert len(journal.read_text("utf-8").splitlines()) == 2
    with pytest.raises(SystemExit, match=r"no 'four_fingr'; did you mean 'four_finger'\?"):
        hands.main([*words, "--only", "four_fingr"])


@pytest.mark.slow
def test_shipped_hands_hold_primitives(hands: Any, tmp_path: Path) -> None:
    objects = [item for item in hands.find_objects([]) if item.group != "object"]
    # a cup of 30 mm seals on no ball below 80 mm
    closing = [hand for hand in hands.find_hands([]) if hand.name != "suction_cup"]
    pairs = [(hand, item) for hand in closing for item in objects]
    rows = hands.measured_rows(pairs, tmp_path, 1, images=False)
    for group, floor in (("balls", BALL_FLOOR), ("primitives", PRIMITIVE_FLOOR)):
        rate = hands.rate_of(rows, group)
        assert rate.held >= floor * rate.fitting
