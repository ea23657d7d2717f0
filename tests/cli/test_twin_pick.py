"""softgrasp twin pick and softgrasp twin accuracy."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

pytest.importorskip("cv2", reason="OpenCV is an extra")

from softgrasp.cli import terminal
from softgrasp.twin.accuracy import reference_finger, shape_at
from softgrasp.twin.files import load_piece_angles, load_pressure_fit, save_camera
from softgrasp.twin.report import WRITTEN
from softgrasp.twin.synthetic_rgbd import RgbdTestRig, rgbd_camera
from tests.cli.conftest import Run, files_in


def words(pixels: np.ndarray) -> str:
    return " ".join(f"{x:.3f},{y:.3f}" for x, y in pixels.reshape(-1, 2).tolist())


class Case:
    """A plain picture with exact picks of a bent finger."""

    def __init__(self, directory: Path) -> None:
        reference = reference_finger()
        self.truth = np.degrees(shape_at(reference, 100e3).piece_angles)
        rig = RgbdTestRig(reference.finger, reference.stations, rgbd_camera(640))
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


def test_picks_become_angles_a_table_and_an_overlay(run: Run, case: Case, tmp_path: Path) -> None:
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


def test_a_table_keeps_its_remarks(run: Run, case: Case, tmp_path: Path) -> None:
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


def test_clicks_on_the_page(run: Run, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def click(message: str) -> None:
        url = re.search(r"http://127\.0\.0\.1:\d+/\S+/", message)
        assert url is not None
        body = json.dumps(case.clicks).encode()
        sent = urllib.request.Request(f"{url.group()}done", data=body, method="POST")
        threading.Thread(target=lambda: urllib.request.urlopen(sent, timeout=10).close()).start()

    monkeypatch.setattr(terminal, "note", click)
    ran = run(*case.words, "--json")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(ran.json["angles_deg"], case.truth, atol=0.6)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--points", "1,2 3"), "--points: expected points as column,row, found '3'"),
        (("--points", " "), "--points: expected points as column,row, found nothing"),
        (("--points", "1,2 3,4 5,6", "--edges"), "expected two picks a cut with --edges, found 3"),
        (("--points", "1,2 30,4"), "expected a reference line, or two picks a cut"),
        (("--points", "1,2 3,nan"), "found '3,nan'"),
        (("--line", "1,2 3,4"), "--line: expected it only with --points"),
        (("--pressure-kpa", "5"), "expected --pressure-kpa and --append together, found no --app"),
        (("--depth", "none.npy"), "none.npy: expected a depth picture, found no such file"),
    ],
)
def test_mistakes_are_sentences(run: Run, case: Case, options: tuple[str, ...], sentence: str):
    ran = run(*case.words, *options)
    assert ran.code == 2
    assert sentence in ran.err
    assert len(ran.err.splitlines()) == 1


def test_accuracy_without_a_report(run: Run, tmp_path: Path) -> None:
    ran = run(
        "twin", "accuracy", "--quick", "--step-kpa", "50", "--no-report", "--out", "a", "--json"
    )
    assert ran.code == 0, ran.err
    assert files_in(tmp_path / "a") == ["accuracy.csv", "angles.csv", "fit.yaml"]
    assert ran.json["reference"] == "simulated"
    assert ran.json["largest_percent"] < 4.0
    assert len(load_pressure_fit(tmp_path / "a" / "fit.yaml").lengths) == 4
    text = (tmp_path / "a" / "accuracy.csv").read_text("utf-8")
    assert "SIMULATED" in text.splitlines()[0]


@pytest.mark.slow
def test_accuracy_with_pictures_and_page(run: Run, tmp_path: Path) -> None:
    ran = run("twin", "accuracy", "--quick", "--step-kpa", "30", "--out", "a")
    assert ran.code == 0, ran.err
    assert files_in(tmp_path / "a") == sorted(WRITTEN)
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    assert page.count('<img src="data:image/') == 2
    assert "simulated, not measured" in page
    assert "simulated, not measured" in ran.out
