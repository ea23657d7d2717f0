"""Checks of hands with their own MuJoCo model: sizes, start postures, and what is no problem."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.checks.hand import hand_model, reaches
from tests.conftest import Run
from tests.support.mjcf_hands import TENDON, WRIST, written

QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")


@pytest.mark.slow
@QUIET
def test_the_length_of_fingers_is_that_of_the_model(tmp_path: Path) -> None:
    """Without tip sites; the wrist, which carries the fingers, is no finger."""
    hand = sg.load_hand(written(tmp_path, WRIST))
    assert set(reaches(hand)) == {"wristed_ff", "wristed_th"}
    _, thumb = reaches(hand)["wristed_th"]
    assert thumb == pytest.approx(0.045 + 0.04 + 0.007, rel=1e-3)
    result = sg.inspect(hand)
    assert result.problems == ()
    # the object fits on either side of this hand
    assert re.match(
        r"fingers that reach the centre: power [12] of 2", result.check("reach").measured
    )


@QUIET
def test_hands_of_tendons_are_checked_in_the_start_posture_of_their_grasp(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, TENDON))
    built = hand_model(hand)
    start = built.start_of("power")
    for name, value in hand.posture(hand.grasps.power.start).items():
        assert start[built.model.joint(name).qposadr[0]] == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize(("joint", "severity"), [("bend", "remark"), ("ffj1", "problem")])
def test_odd_limits_spoil_a_grasp_only_of_joints_that_close(
    joint: str, severity: str, tmp_path: Path
) -> None:
    ranges = {"bend": 'range="-.5 .3"', "ffj1": 'range="-.1 1.5"'}
    old = f'name="{joint}" axis="{"1 0 0" if joint == "bend" else "0 -1 0"}" {ranges[joint]}'
    assert old in WRIST
    file = written(tmp_path, WRIST.replace(old, old.replace(ranges[joint], 'range="-31 31"')))
    findings = sg.inspect(sg.load_hand(file)).check("limits").findings
    assert [(finding.subject, finding.severity) for finding in findings] == [
        (f"joint 'wristed_{joint}'", severity)
    ]


@pytest.mark.slow
def test_check_ends_with_0_where_nothing_spoils_a_grasp(run: Run, tmp_path: Path) -> None:
    """Two joints on one body, no gravity compensation, and a part that is left out."""
    extra = '<option apirate="9"/><worldbody>'
    ran = run("check", str(written(tmp_path, WRIST.replace("<worldbody>", extra))), "--json")
    assert ran.code == 0
    assert ran.json["problems"] == []
    assert any("apirate" in remark for remark in ran.json["remarks"])
    assert any("compensates no weight" in remark for remark in ran.json["remarks"])
    assert np.isfinite([item["mass_kg"] for item in ran.json["fingers"]]).all()


def test_fingers_of_joined_hands_are_measured_from_their_bases() -> None:
    known, alone = reaches(sg.load_hand("two_hands")), reaches(sg.load_hand("four_finger"))
    assert known["left_F1"][1] == pytest.approx(alone["F1"][1])
    np.testing.assert_allclose(known["left_F1"][0], (-0.15, 0.02, 0.05), atol=1e-9)
