"""``softgrasp calibrate``: files, sentences, exit codes."""

import json
from pathlib import Path

import pytest

import softgrasp as sg

HUNG = "mass_g,q1_deg,q2_deg,q3_deg\n0,1.3,1.1,0.4\n20,4.8,4.3,1.9\n40,7.9,7.0,3.2\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    (tmp_path / "hung.csv").write_text(HUNG)
    (tmp_path / "forces.csv").write_text("pressure_kPa,force_N\n20,0.17\n60,0.5\n")
    return tmp_path


@pytest.mark.slow
def test_tables_become_a_finger_that_grasps(run, tables):
    out = tables / "out"
    ran = run(
        "calibrate", "--finger", "paper000", "--hung", str(tables / "hung.csv"), "--forces",
        str(tables / "forces.csv"), "--set", "gain_model=uniform", "--out", str(out),
    )  # fmt: skip
    assert ran.code == 0
    names = {path.name for path in out.iterdir()}
    assert names >= {"calibration.json", "finger.yaml", "report.html", "shapes.png", "forces.png"}
    finger = sg.io.load_finger(out / "finger.yaml")
    assert finger.joints[0].stiffness == pytest.approx(0.19, rel=0.1)
    page = (out / "report.html").read_text("utf-8")
    assert "Identifiable parameter combinations" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    ran = run(
        "grasp", "soft_gripper", "strawberry", "--finger", str(out / "finger.yaml"),
        "--no-video", "--no-report", "--duration", "0.1", "--out", str(tables / "grasp"),
    )  # fmt: skip
    assert ran.code == 1  # time runs out while the fingers close


@pytest.mark.slow
def test_json_is_one_document(run, tables):
    ran = run(
        "calibrate", "--finger", "paper000", "--hung", str(tables / "hung.csv"), "--method", "pso",
        "--particles", "4", "--iterations", "3", "--no-report", "--json",
        "--out", str(tables / "out"),
    )  # fmt: skip
    assert ran.code == 0
    message = json.loads(ran.out)
    assert message["method"] == "pso"
    assert set(message["parameters"]) == {f"k{i}" for i in range(1, 8)}
    assert message["evaluations"] >= 12


def test_an_empty_directory_of_photographs_is_reported(run, tmp_path):
    pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")
    photos = tmp_path / "photos"
    photos.mkdir()
    words = ("calibrate", "--finger", "paper000", "--photos", str(photos))
    ran = run(*words)
    assert ran.code == 2
    assert f"{photos}: expected images or videos, found none" in ran.err
    (photos / "20g.png").write_bytes(b"no picture")
    ran = run(*words)
    assert ran.code == 2
    assert "20g.png" in ran.err
    (photos / "20g.png").rename(photos / "first.png")
    ran = run(*words)
    assert ran.code == 2
    assert "expected a mass in the name, such as 'finger_20g.png', found none" in ran.err


def test_a_calibration_that_is_interrupted_writes_nothing(run, tables, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("softgrasp.calibration.calibrate.calibrate", interrupted)
    out = tables / "out"
    ran = run("calibrate", "--finger", "paper000", "--hung", str(tables / "hung.csv"),
              "--out", str(out))  # fmt: skip
    assert ran.code == 130
    assert not out.exists()


@pytest.mark.slow
def test_nothing_of_an_earlier_calibration_stays(run, tables):
    words = ("calibrate", "--finger", "paper000", "--out", str(tables / "out"))
    hung = ("--hung", str(tables / "hung.csv"))
    assert run(*words, *hung, "--no-report").code == 0
    (tables / "out" / "notes.txt").write_text("mine")
    results = {"calibration.json", "calibration.npz", "finger.yaml", "finger_ensemble.csv"}
    assert run(*words, *hung).code == 0
    assert "report.html" in files_of(tables / "out")
    assert run(*words, *hung, "--no-report").code == 0
    assert files_of(tables / "out") == {*results, "notes.txt"}
    (tables / "out" / "report.html").write_text("mine")
    assert run(*words, *hung, "--no-report").code == 0
    assert (tables / "out" / "report.html").read_text() == "mine"
    assert files_of(tables / "out_2") == results


def files_of(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if not path.name.startswith(".")}


@pytest.mark.slow
def test_mirrored_photographs_of_a_cast_finger_calibrate(run, tmp_path):
    from PIL import Image

    from tests.support.photo_rig import PhotoRig
    from tests.vision.photo_cases import FINGER, pose

    pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")
    rig = PhotoRig(FINGER, fillet=0.2, lean=0.05, turned="mirrored", colour=(120.0, 122.0, 125.0))
    photos = tmp_path / "photos"
    photos.mkdir()
    for load in (0.0, 0.02, 0.05, 0.1):
        Image.fromarray(rig.photo(pose(load))).save(photos / f"{1e3 * load:g}g.jpg", quality=92)
    Image.fromarray(rig.empty()).save(photos / "empty.png")
    ran = run("calibrate", "--finger", "paper000", "--photos", str(photos), "--zero", "unloaded",
              "--json", "--out", str(tmp_path / "out"))  # fmt: skip
    assert ran.code == 0
    message = json.loads(ran.out)
    assert any("they were mirrored" in text for text in message["warnings"])
    assert message["parameters"]["k1"] == pytest.approx(0.19, rel=0.15)
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "they were mirrored" in page
    assert "with angles relative to the image without a weight" in page
