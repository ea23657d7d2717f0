"""Tools of softgrasp twin: fit and pick."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from PIL import Image as Pillow

from examples.paper001.accuracy import STATIONS, reference_finger, shape_at
from examples.paper001.images import RgbdTestRig, rgbd_camera
from softgrasp import assets
from softgrasp.twin.files import load_piece_angles, load_pressure_fit, save_camera
from softgrasp.vision import figures
from softgrasp.vision.point_picking import Picks
from tests.conftest import files_in

LENGTHS = ("--lengths-mm", "14,14,12.32,15.39")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    shipped = assets.directory("pressure_fits") / "four_piece.csv"
    target = tmp_path / "angles.csv"
    target.write_bytes(shipped.read_bytes())
    return target


def test_a_fit_with_its_files_and_summary(run, table, tmp_path):
    ran = run("twin", "fit", table.name, *LENGTHS, "--sigma-deg", "0.3", "--out", "fit")
    assert ran.code == 0, ran.err
    assert files_in(tmp_path / "fit") == ["pressure_fit.yaml", "result.json"]
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "fit        angles: 43 samples of 4 pieces, valid from -90 to 120 kPa",
        "condition  8 with pressures over 100 kPa, 8.8e+05 with them in kPa",
        "monotonic  yes",
        "curves     accepted: expected 0.0915° from the truth at worst, 0.305 sigma; the limit "
        "is 0.4 sigma",
    ]
    result, shipped = load_pressure_fit(tmp_path / "fit/pressure_fit.yaml"), "four_piece"
    assert result.source == "fitted to angles.csv"
    assert np.array(result.coefficients) == pytest.approx(
        np.array(load_pressure_fit(shipped).coefficients)
    )
    document = json.loads((tmp_path / "fit/result.json").read_text("utf-8"))
    assert document["kind"] == "pressure_fit"
    assert document["accepted"] is True
    residuals = np.array(document["residuals_rad"])
    assert document["rms_rad"] == pytest.approx(np.sqrt((residuals**2).mean(axis=0)))
    assert residuals.shape == (43, 4)
    assert np.array(document["angles_rad"]) == pytest.approx(load_piece_angles(table).angles)


def test_a_shipped_table_has_lengths(run, tmp_path):
    assert run("twin", "fit", "four_piece").code == 0
    ran = run("twin", "fit", "four_piece", "--json")
    assert ran.code == 0
    assert files_in(tmp_path / "out/four_piece_2") == ["pressure_fit.yaml", "result.json"]
    assert ran.json["accepted"] is None
    assert ran.json["fit"]["lengths"] == [0.014, 0.014, 0.01232, 0.01539]


def test_curves_that_bend_back_are_reported_or_refused(run, tmp_path):
    rows = [f"{p},{4 * (p / 100) ** 2 + p / 100}" for p in range(-100, 101, 10)]
    Path("back.csv").write_text("\n".join(["pressure_kpa,angle_1_deg", *rows]), encoding="utf-8")
    words = ("twin", "fit", "back.csv", "--lengths-mm", "10")
    message = "piece 1 bends back by 3.06° from -100 to -12.5 kPa"
    ran = run(*words)
    assert ran.code == 0
    assert f"monotonic  no: {message}\n" in ran.out
    assert "curves     not assessed: the sigma of a measurement is unknown" in ran.out
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
    ],
)  # fmt: skip
def test_invalid_options_are_reported(words, sentence, run, table, tmp_path):
    ran = run("twin", *words)
    assert ran.code == 2
    assert ran.err == f"softgrasp: error: {sentence}\n"
    assert files_in(tmp_path) == ["angles.csv"]


pytest.importorskip("cv2", reason="OpenCV is an extra")


def words(pixels: np.ndarray) -> str:
    return " ".join(f"{x:.3f},{y:.3f}" for x, y in pixels.reshape(-1, 2).tolist())


class Case:
    """A plain image with exact picks of a bent finger."""

    def __init__(self, directory: Path) -> None:
        reference = reference_finger()
        self.truth = np.degrees(shape_at(reference, 100e3).piece_angles)
        rig = RgbdTestRig(reference, STATIONS, rgbd_camera(640))
        marks = rig.marks(shape_at(reference, 100e3).joint_angles)
        self.line, self.middle = words(marks.pixels["line"]), words(marks.pixels["middle"])
        pairs = np.stack([marks.pixels["upper"], marks.pixels["lower"]], axis=1)
        self.pairs = words(pairs)
        self.clicks = [*marks.pixels["line"].tolist(), *marks.pixels["middle"].tolist()]
        Pillow.fromarray(np.full((480, 640, 3), 140, np.uint8)).save(directory / "finger.png")
        np.save(directory / "depth.npy", np.full((480, 640), 0.35))
        save_camera(rig.camera, directory / "cam.yaml")
        self.words = ("twin", "pick", "finger.png", "--camera", "cam.yaml")


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_picks_become_angles_a_table_and_an_overlay(run, case, tmp_path):
    table = ("--pressure-kpa", "100", "--append", "angles.csv")
    ran = run(
        *case.words, "--points", case.middle, "--line", case.line, *table, "--overlay", "o.png"
    )
    assert ran.code == 0, ran.err
    assert ran.out.startswith("pieces bend, base first: ")
    assert ran.out.endswith("wrote angles.csv\nwrote o.png\n")
    ran = run(*case.words, "--points", case.pairs, "--line", case.line, "--edges",
              "--depth", "depth.npy", "--json", *table)  # fmt: skip
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(ran.json["angles_deg"], case.truth, atol=0.35)
    assert max(ran.json["sigmas_deg"]) < 1.2
    result = load_piece_angles(tmp_path / "angles.csv")
    assert result.pressures.tolist() == [100e3, 100e3]
    np.testing.assert_allclose(np.degrees(result.angles[1]), ran.json["angles_deg"])
    with Pillow.open(tmp_path / "o.png") as overlay:
        assert overlay.size == (640, 480)


def test_a_table_keeps_its_remarks(run, case, tmp_path):
    table = tmp_path / "angles.csv"
    head = "# measured by hand\npressure_kpa,angle_1_deg,angle_2_deg,angle_3_deg,angle_4_deg"
    table.write_text(f"{head}\n0,0,0,0,0", encoding="utf-8")
    words = (*case.words, "--points", case.middle, "--line", case.line, "--pressure-kpa", "50")
    assert run(*words, "--append", table).code == 0
    lines = table.read_text("utf-8").splitlines()
    assert lines[:3] == [*head.splitlines(), "0,0,0,0,0"]
    assert lines[3].startswith("50,")
    table.write_text("pressure_kpa,angle_1_deg\n0,0\n", encoding="utf-8")
    ran = run(*words, "--append", table)
    assert ran.code == 2
    assert "expected angles of 1 pieces, as in the table, found 4" in ran.err


def test_clicks_in_a_window(run, case, monkeypatch):
    clicked = np.array(case.clicks)
    picks = [Picks(clicked[2:], clicked[:2]), None]
    monkeypatch.setattr(figures, "pick_in_window", lambda *_: picks.pop(0))
    ran = run(*case.words, "--json")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(ran.json["angles_deg"], case.truth, atol=0.6)
    assert run(*case.words).code == 130  # cancelled


def test_without_a_display_points_are_options(run, case):
    plt.switch_backend("agg")
    ran = run(*case.words)
    assert ran.code == 3
    assert "give the points by --points" in ran.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--points", "1,2 3"), "--points: expected points as column,row, found '3'"),
        (("--points", " "), "--points: expected points as column,row, found none"),
        (
            ("--points", "1,2 3,4 5,6", "--edges"),
            "expected two picks per cut with --edges, found 3",
        ),
        (("--points", "1,2 30,4"), "expected a reference line, or two picks per cut"),
        (("--points", "1,2 3,nan"), "found '3,nan'"),
        (("--line", "1,2 3,4"), "--line: expected only with --points"),
        (("--pressure-kpa", "5"), "expected --pressure-kpa and --append together, found no --app"),
        (("--depth", "none.npy"), "none.npy: expected a depth image, found no such file"),
    ],
)
def test_invalid_input_is_reported(run, case, options, sentence):
    ran = run(*case.words, *options)
    assert ran.code == 2
    assert sentence in ran.err
    assert len(ran.err.splitlines()) == 1
