"""Files of the twin: fits, measured angles, measured tips; round trips and mistakes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from softgrasp import assets
from softgrasp.errors import DescriptionError
from softgrasp.twin.files import (
    PieceAngles,
    TipPoints,
    load_piece_angles,
    load_pressure_fit,
    load_tip_points,
    save_piece_angles,
    save_pressure_fit,
    save_tip_points,
)
from softgrasp.twin.piecewise_bending import angles_at, curve_errors, fit_pressures, reversals

MAKER = assets.root() / "assets" / "pressure_fits" / "make_four_piece.py"
HEAD = "pressure_kpa,angle_1_deg,angle_2_deg"


def test_a_fit_comes_back_equal(tmp_path: Path) -> None:
    fit = load_pressure_fit("four_piece")
    path = save_pressure_fit(fit, tmp_path / "fit.yaml", comment="two\nlines")
    assert load_pressure_fit(path) == fit
    assert path.read_text("utf-8").startswith("# two\n# lines\n")


def test_a_fit_may_have_the_units_of_the_paper(tmp_path: Path) -> None:
    path = tmp_path / "fit.yaml"
    path.write_text(
        "units: {length: mm, angle: deg, pressure: kPa}\nlengths: [14]\nscale: 1\n"
        "pressures: [-90, 120]\ncoefficients: [[0, 0.2, 0, 0]]\nresiduals: [0.3]\n",
        encoding="utf-8",
    )
    fit = load_pressure_fit(path)
    assert fit.name == "fit"
    assert fit.lengths == (0.014,)
    assert fit.pressures == (-90e3, 120e3)
    assert np.degrees(angles_at(fit, 100e3)) == pytest.approx([20.0])
    assert np.degrees(fit.residuals) == pytest.approx([0.3])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("units: {pressure: psi}", "f.yaml:1: units.pressure: no unit of pressure 'psi'; known: "
         "MPa, Pa, bar, hPa, kPa, mbar"),
        ("lengths: [0.01]\npressures: [0, 1]", "f.yaml: coefficients: this field is missing; "
         "expected a list: One row a piece, from the constant one to the cubic one [rad]"),
        ("lengths: [0.01, 0.02]\npressures: [0, 1]\ncoefficients: [[0, 1, 0, 0]]",
         "f.yaml:3: coefficients: expected one for each of the 2 lengths, found 1"),
        ("lengths: [0.01]\npressures: [1, 0]\ncoefficients: [[0, 1, 0, 0]]",
         "f.yaml:2: pressures: expected the lowest before the highest, found 1 and 0 Pa"),
        ("lenghts: [0.01]", "f.yaml:1: lenghts: no such field; did you mean 'lengths'? known: "
         "coefficients, lengths, name, pressures, residuals, scale, source"),
    ],
)  # fmt: skip
def test_a_wrong_fit_is_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DescriptionError) as refused:
        load_pressure_fit("f.yaml")
    assert str(refused.value) == sentence


def test_fits_that_are_not_there() -> None:
    with pytest.raises(DescriptionError, match=r"no pressure fit 'four'; .*four_piece"):
        load_pressure_fit("four")
    with pytest.raises(DescriptionError, match=r"expected a \.yaml file, found 'fit\.txt'"):
        save_pressure_fit(load_pressure_fit("four_piece"), "fit.txt")
    with pytest.raises(DescriptionError, match="no table of angles 'for_piece'; did you mean"):
        load_piece_angles("for_piece")


def test_measured_angles_come_back(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = PieceAngles(random.uniform(-9e4, 1e5, 7), random.normal(0.0, 0.4, (7, 3)))
    path = save_piece_angles(table, tmp_path / "t.csv", remarks="a remark")
    again = load_piece_angles(path)
    assert again.pressures == pytest.approx(table.pressures, rel=1e-14)
    assert again.angles == pytest.approx(table.angles, rel=1e-14)
    assert path.read_text("utf-8").splitlines()[:2] == [
        "# a remark",
        "pressure_kpa,angle_1_deg,angle_2_deg,angle_3_deg",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("pressure,angle_1_deg\n0,0", "t.csv:1: expected the columns pressure_kpa, angle_1_deg, "
         "angle_2_deg, …, found pressure, angle_1_deg"),
        (HEAD, "t.csv: expected lines of numbers, found only names"),
        (f"{HEAD}\n0,1,x", "t.csv:2: angle_2_deg: expected a number, found 'x'"),
        (f"{HEAD}\n# gap\n0,,1", "t.csv:3: angle_1_deg: expected a number, found a gap"),
        (f"{HEAD}\n0,1", "t.csv:2: expected 3 cells, found 2"),
    ],
)  # fmt: skip
def test_a_wrong_table_of_angles_is_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DescriptionError) as refused:
        load_piece_angles("t.csv")
    assert str(refused.value) == sentence


def test_measured_tips_come_back_to_the_last_digit(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    points = TipPoints(np.cumsum(random.uniform(0.01, 0.02, 9)), random.normal(size=(9, 3)))
    again = load_tip_points(save_tip_points(points, tmp_path / "tips.csv"))
    assert (again.time == points.time).all()
    assert (again.position == points.position).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time_s,x_m,y_m\n0,0,0", "t.csv:1: expected the columns time_s, x_m, y_m, z_m, found "
         "time_s, x_m, y_m"),
        ("time_s,x_m,y_m,z_m\n1,0,0,0\n0.5,0,0,0", "t.csv:3: time_s: expected a time after 1 s, "
         "found 0.5 s"),
    ],
)  # fmt: skip
def test_wrong_tips_are_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DescriptionError) as refused:
        load_tip_points("t.csv")
    assert str(refused.value) == sentence


@pytest.mark.skipif(not MAKER.exists(), reason="the scripts of assets are not in a wheel")
def test_the_shipped_fit_is_made_by_its_script(tmp_path: Path) -> None:
    """And its curves are nearer than 0.4 σ to the finger without noise."""
    made = runpy.run_path(str(MAKER))
    made["make"](tmp_path)
    shipped = assets.directory("pressure_fits")
    table, remade = load_piece_angles("four_piece"), load_piece_angles(tmp_path / "four_piece.csv")
    assert remade.angles == pytest.approx(table.angles, abs=np.radians(0.0101))
    assert "not measured" in (shipped / "four_piece.csv").read_text("utf-8")
    fit = load_pressure_fit("four_piece")
    assert fit.lengths == (14e-3, 14e-3, 12.32e-3, 15.39e-3)
    assert fit.pressures == (-90e3, 120e3)
    report = fit_pressures(table.pressures, table.angles, fit.lengths, sigma=made["NOISE"])
    assert np.array(report.fit.coefficients) == pytest.approx(np.array(fit.coefficients))
    assert report.accepted
    some = table.pressures[::3]
    truth = np.array([made["true_angles"](pressure) for pressure in some])
    assert (curve_errors(fit, some, truth) < 0.4 * made["NOISE"]).all()
    # of the order of the paper's finger, and bent back by suction
    assert ((np.degrees(angles_at(fit, 1e5)) > 10) & (np.degrees(angles_at(fit, 1e5)) < 25)).all()
    assert (np.degrees(angles_at(fit, -9e4)) < -5).all()
    assert reversals(fit) == ()
