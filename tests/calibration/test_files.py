"""Read calibration problems from files: tables, directories, and error messages."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.calibration.files import load_problem
from softgrasp.description.calibration import CalibrationProblem, HungAngles, Release
from tests.conftest import Golden
from tests.support.finger_measurements import synthetic_releases

HUNG = "mass_g,q1_deg,q2_deg\n0,1.5,1\n20,4,3.5\n"


def written(directory: Path, text: str, **tables: str) -> Path:
    for name, content in tables.items():
        directory.joinpath(f"{name}.csv").write_text(content, encoding="utf-8")
    path = directory / "problem.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["paper000", "paper000_webots"])
def test_shipped_problems_can_be_read(name: str) -> None:
    problem = load_problem(name).problem
    assert len(problem.releases) == 4
    assert len(problem.forces) == 11
    assert all(len(load.angles) == 6 for load in problem.hung)
    assert any(load.held_out for load in problem.hung)


def test_tables_are_read_in_the_units_of_their_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "finger: paper000\nhung: hung.csv\nreleases: releases.csv\nforces: forces.csv\n"
        "bends: bends.csv\nheld_out: {hung: [20]}\nbounds: {damping: [1.0e-4, 1.0e-3]}\n",
        hung=HUNG,
        releases="# from the bench\nmass_kg, overshoots, settling_ms\n0.04, 12, 425\n",
        forces="force_mN,pressure_bar\n480,0.4\n",
        bends="pressure_kPa,q1_rad\n50,0.1\n",
    )
    problem = load_problem(path).problem
    assert problem.hung == (
        HungAngles(mass=0.0, angles=(math.radians(1.5), math.radians(1.0))),
        HungAngles(mass=0.02, angles=(math.radians(4.0), math.radians(3.5)), held_out=True),
    )
    assert problem.releases == (Release(mass=0.04, overshoots=12, settling_time=0.425),)
    assert (problem.forces[0].pressure, problem.forces[0].force) == (4e4, 0.48)
    assert (problem.bends[0].pressure, problem.bends[0].angles) == (5e4, (0.1,))
    assert problem.damping_bounds == (1e-4, 1e-3)


@pytest.mark.parametrize(
    ("text", "table", "sentence"),
    [
        ("hung: hung.csv", HUNG.replace("mass_g", "weight_g"), "hung.csv:1"),
        ("hung: hung.csv", "mass_g\n20\n", "hung.csv:1"),
        ("hung: hung.csv", HUNG.replace("3.5", "x"), "hung.csv:3: q2_deg"),
        ("hung: hung.csv", HUNG + "40,1\n", "hung.csv:4"),
        ("hung: hung.csv", "mass_g,q1_deg\n", "hung.csv"),
        ("hung: hung.csv\nbounds: {stiffness: [0.6, 0.1]}", HUNG, "expected the lower bound first"),
        ("hung: hung.csv\nbounds: {springs: [0, 1]}", HUNG, "no bounds of 'springs'"),
        ("hung: hung.csv\nstatic_objective: eq4", HUNG, "problem.yaml:3: static_objective: "),
        ("hung: hung.csv\nheld_out: {hung: [25]}", HUNG, "held_out.hung"),
        ("photos: photos", HUNG, "photos"),
        ("hung: hung.csv\nspeed: 2", HUNG, "speed"),
        ("hung: hung.csv", HUNG.replace("q2", "q3"), "hung.csv:1"),
        ("hung: hung.csv", HUNG.replace("q2", "q1"), "hung.csv:1"),
        ("hung: hung.csv", "# a remark\n" + HUNG.replace("3.5", "x"), "hung.csv:4: "),
        ("hung: hung.csv", HUNG.replace("20,", "-20,"), "hung.csv:3: mass"),
        ("hung: 5", HUNG, "hung"),
        ("hung: hung.csv\nheld_out: {hung: 20}", HUNG, "held_out.hung"),
        ("hung: hung.csv\nheld_out: [20]", HUNG, "held_out"),
        ("hung: hung.csv\nrelease_rule: foo", HUNG, "problem.yaml:3: release_rule: "),
        (
            "releases: hung.csv",
            "mass_g,overshoots,settling_s\n40,1.5,0.4\n",
            "hung.csv:2: overshoots",
        ),
        ("hung: gone.csv", HUNG, "gone.csv"),
    ],
)
def test_invalid_tables_are_reported(
    tmp_path: Path, text: str, table: str, sentence: str, golden: Golden
) -> None:
    path = written(tmp_path, f"finger: paper000\n{text}\n", hung=table)
    golden.refused(lambda: load_problem(path), sentence)


def test_a_missing_problem_is_reported() -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        load_problem("paper00")
    assert str(caught.value).startswith("no problem 'paper00'; did you mean 'paper000'?")


def test_a_missing_finger_is_reported(tmp_path: Path) -> None:
    path = written(tmp_path, "hung: hung.csv\n", hung=HUNG)
    with pytest.raises(sg.DescriptionError) as caught:
        load_problem(path)
    assert "finger: expected a finger's name or file, found None" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"hung": (HungAngles(mass=0.0, angles=(0.1,) * 8),)}, "hung[0].angles"),
        ({"stiffness_bounds": (0.0, 0.6)}, "stiffness_bounds"),
        ({"gain_bounds": (1e-6, 1e-7)}, "gain_bounds"),
    ],
)
def test_invalid_problems_are_refused(
    changes: dict[str, Any], sentence: str, golden: Golden
) -> None:
    golden.refused(
        lambda: CalibrationProblem(finger=sg.io.load_finger("paper000"), **changes), sentence
    )


def test_a_release_has_counts_or_a_trace() -> None:
    for given, sentence in (
        ({"overshoots": 3}, "overshoots: expected overshoots and settling_time together"),
        (
            {"times": (0.0, 1.0), "heights": (0.0,)},
            "heights: expected a height for each of 2 times, found 1",
        ),
        ({}, "times: expected overshoots and settling_time, or a trace"),
        (
            {"times": (0.1, 0.0), "heights": (0.0, 0.0)},
            "times: expected ascending times from the release on, found others",
        ),
    ):
        with pytest.raises(sg.DescriptionError) as caught:
            Release(mass=0.02, **given)
        assert str(caught.value) == sentence


def test_measurements_listed_in_the_file_can_be_held_out(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "finger: paper000\nhung:\n  - {mass: 0.0, angles: [0.02]}\n"
        "  - {mass: 0.02, angles: [0.08]}\nheld_out: {hung: [20]}\n",
    )
    assert [load.held_out for load in load_problem(path).problem.hung] == [False, True]


def test_changes_replace_fields_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "finger: paper000\nhung: hung.csv\n", hung=HUNG)
    assert load_problem(path, {"gain_model": "uniform"}).problem.gain_model == "uniform"


def test_tracked_tips_come_from_tables(tmp_path: Path) -> None:
    (whole,) = synthetic_releases(sg.io.load_finger("paper000"), [0.04])
    lines = [f"{t},{1e3 * h}" for t, h in zip(whole.times, whole.heights, strict=True)]
    path = written(
        tmp_path,
        "finger: paper000\ntraces: {40: track.csv}\nheld_out: {releases: [40]}\n",
        track="time_s,height_mm\n" + "\n".join(lines) + "\n",
    )
    (release,) = load_problem(path).problem.releases
    assert (release.mass, release.overshoots, release.held_out) == (0.04, 12, True)
    assert release.settling_time == pytest.approx(whole.settling_time, rel=1e-3)
    assert len(release.times) <= 400
    path.write_text("finger: paper000\ntraces: track.csv\n", encoding="utf-8")
    with pytest.raises(sg.DescriptionError) as caught:
        load_problem(path)
    assert "traces: expected tables by mass in g, such as {40: track.csv}, found 'track.csv'" in (
        str(caught.value)
    )
