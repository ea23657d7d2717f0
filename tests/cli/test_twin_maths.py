"""softgrasp twin fit and twin poses: files, words, and what is said of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from softgrasp import assets
from softgrasp.twin.files import TipPoints, load_piece_angles, load_pressure_fit, save_tip_points
from tests.cli.conftest import Run, files_in

LENGTHS = ("--lengths-mm", "14,14,12.32,15.39")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    shipped = assets.directory("pressure_fits") / "four_piece.csv"
    target = tmp_path / "angles.csv"
    target.write_bytes(shipped.read_bytes())
    return target


def test_a_fit_with_its_files_and_words(run: Run, table: Path, tmp_path: Path) -> None:
    ran = run("twin", "fit", table.name, *LENGTHS, "--sigma-deg", "0.3", "--out", "fit")
    assert ran.code == 0, ran.err
    assert files_in(tmp_path / "fit") == [
        "pressure_fit.csv",
        "pressure_fit.png",
        "pressure_fit.yaml",
        "result.json",
    ]
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "fit        angles: 43 samples of 4 pieces, valid from -90 to 120 kPa",
        "condition  8 with pressures over 100 kPa, 8.8e+05 with them in kPa",
        "monotonic  yes",
        "curves     accepted: expected 0.0915° from the truth at worst, 0.305 sigma; at most 0.4 "
        "sigma are let through",
    ]
    result, shipped = load_pressure_fit(tmp_path / "fit/pressure_fit.yaml"), "four_piece"
    assert result.source == "fitted to angles.csv"
    assert np.array(result.coefficients) == pytest.approx(
        np.array(load_pressure_fit(shipped).coefficients)
    )
    document = json.loads((tmp_path / "fit/result.json").read_text("utf-8"))
    assert document["kind"] == "pressure_fit"
    assert document["accepted"] is True
    assert [row["piece"] for row in document["pieces"]] == [1, 2, 3, 4]
    assert np.array(document["residuals_rad"]).shape == (43, 4)
    assert np.array(document["angles_rad"]) == pytest.approx(load_piece_angles(table).angles)


def test_a_shipped_table_has_its_lengths_and_no_figure_need_be(run: Run, tmp_path: Path) -> None:
    assert run("twin", "fit", "four_piece").code == 0
    ran = run("twin", "fit", "four_piece", "--no-report", "--json")
    assert ran.code == 0
    # the figure of before is gone, too
    assert files_in(tmp_path / "out/four_piece") == ["pressure_fit.yaml", "result.json"]
    assert ran.json["accepted"] is None
    assert ran.json["fit"]["lengths"] == [0.014, 0.014, 0.01232, 0.01539]


def test_curves_that_bend_back_are_told_or_refused(run: Run, tmp_path: Path) -> None:
    rows = [f"{p},{4 * (p / 100) ** 2 + p / 100}" for p in range(-100, 101, 10)]
    Path("back.csv").write_text("\n".join(["pressure_kpa,angle_1_deg", *rows]), encoding="utf-8")
    words = ("twin", "fit", "back.csv", "--lengths-mm", "10", "--no-report")
    message = "piece 1 bends back by 3.06° from -100 to -12.5 kPa"
    ran = run(*words)
    assert ran.code == 0
    assert f"monotonic  no: {message}\n" in ran.out
    assert "curves     not judged: the sigma of a measurement is not known" in ran.out
    ran = run(*words, "--monotonic", "--out", "other")
    assert ran.code == 2
    assert f"error: expected curves that are monotonic, found: {message}" in ran.err
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("fit", "angles.csv"), "--lengths-mm: expected a length for each of the 4 pieces of "
         "angles.csv, found none"),
        (("fit", "angles.csv", "--lengths-mm", "14,14"), "--lengths-mm: expected a length for each "
         "of the 4 pieces of angles.csv, found 2"),
        (("fit", "angles.csv", "--lengths-mm", "14,x,1,1"), "--lengths-mm: expected numbers "
         "separated by commas, found 'x'"),
        (("fit", "angles.csv", "--lengths-mm", "14,0,1,1"), "--lengths-mm: expected lengths above "
         "0, found 0"),
        (("fit", "five_piece"), "no table of angles 'five_piece'; did you mean 'four_piece'? "
         "known: four_piece"),
        (("fit", "angles.csv", *LENGTHS, "--sigma-deg", "-1"), "sigma: expected a number above 0, "
         "found -0.0174533"),
        (("poses", "--fit", "four_piece"), "--fit and --pressure-kpa: expected both or none, found "
         "one"),
        (("poses", "--fit", "four_piece", "--pressure-kpa", "125"), "pressure: expected pressures "
         "from -90 to 120 kPa, which is what was measured, found 125 kPa"),
        (("poses", "--fit", "four_piece", "--pressure-kpa", "9", "--theta-deg", "1,1,1,1"),
         "--theta-deg: a fit has its own; expected it or --fit, found both"),
        (("poses", "--phi-deg", "1,2"), "--phi-deg: expected one for each of 4 pieces, found 2"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_a_sentence(
    words: tuple[str, ...], sentence: str, run: Run, table: Path, tmp_path: Path
) -> None:
    ran = run("twin", *words)
    assert ran.code == 2
    assert ran.err == f"softgrasp: error: {sentence}\n"
    assert files_in(tmp_path) == ["angles.csv"]


def test_poses_of_both_models(run: Run, tmp_path: Path) -> None:
    tip = np.array([[0.0235, 0.0091, 0.0456], [0.0235, 0.0091, 0.0458]])
    save_tip_points(TipPoints(np.array([0.0, 1.0]), tip), tmp_path / "tips.csv")
    ran = run("twin", "poses", "--measured", "tips.csv", "--out", "poses", "--json")
    assert ran.code == 0, ran.err
    assert files_in(tmp_path / "poses") == ["poses.csv", "poses.png", "result.json"]
    flat = {row["model"]: row for row in ran.json["flat"]}
    assert flat["rigid_unity"]["from_arcs_m"] == pytest.approx(7.985513e-3, abs=1e-9)
    assert flat["rigid_unity"]["from_arcs_fraction"] == pytest.approx(0.14334, abs=1e-5)
    forced = {row["model"]: row for row in ran.json["forced"]}
    assert forced["arcs_webster"]["tip_m"] == pytest.approx(
        (23.467175592e-3, 9.11339472e-3, 45.594418849e-3), abs=1e-11
    )
    assert forced["arcs_bishop"]["tip_m"] == pytest.approx(
        (25.036400161e-3, 3.607157974e-3, 45.509720538e-3), abs=1e-11
    )
    apart = np.linalg.norm(np.array(forced["arcs_webster"]["tip_m"]) - tip.mean(axis=0))
    assert forced["arcs_webster"]["from_measured_fraction"] == pytest.approx(apart / 0.05571)
    assert forced["rigid_unity"]["from_measured_fraction"] > 0.14


def test_poses_of_a_fit_in_words(run: Run) -> None:
    ran = run("twin", "poses", "--fit", "four_piece", "--pressure-kpa", "-90")
    assert ran.code == 0, ran.err
    assert "0      rigid pieces, Unity's order (III-C2)  -" in ran.out  # bent outwards
    assert ran.out.splitlines()[-2].startswith("files  out/poses/result.json")


def test_what_is_shipped_is_listed(run: Run) -> None:
    ran = run("list", "pressure-fits")
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == assets.names("pressure_fits")
    assert "-90 … 120" in ran.out
    assert "own: simulated" in run("list", "pressure-fits", "--json").json[0]["source"]


def test_the_verbs_of_the_twin_are_helped(run: Run) -> None:
    ran = run("twin")
    assert ran.code == 2
    assert "fit " in ran.err
    assert "poses " in ran.err
    help_ = " ".join(run("twin", "fit", "--help").out.split())
    assert "Example: softgrasp twin fit four_piece --sigma-deg 0.3" in help_
