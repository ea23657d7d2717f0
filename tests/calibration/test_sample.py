"""Sample photographs: what is in them is what the finger does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.synthetic import GRAMS, write_sample
from softgrasp.cli import main
from softgrasp.errors import ResultError
from tests.calibration.problems import FINGER

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")


def test_a_folder_that_is_there_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ResultError, match="expected no folder, found one; it is not overwritten"):
        write_sample(FINGER, tmp_path)
    (tmp_path / "bench").mkdir()
    assert main(["new", "photos", "bench", "--out", str(tmp_path)]) == 2
    assert "it is not overwritten" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == [tmp_path / "bench"]


@pytest.mark.slow
def test_the_photographs_show_the_finger_under_its_weights(tmp_path: Path) -> None:
    from softgrasp.calibration.files import load_problem

    files = write_sample(FINGER, tmp_path / "bench")
    photographs = [f"{mass}g.png" for mass in GRAMS]
    assert [path.name for path in files] == [*photographs, "forces.csv", "truth.csv"]
    truths = [line.split(",") for line in files[-1].read_text("utf-8").splitlines()[1:]]
    constants = [joint.stiffness for joint in FINGER.joints]
    constants += [joint.pressure_gain for joint in FINGER.joints]
    assert [float(value) for _, value, _ in truths] == constants
    (tmp_path / "problem.yaml").write_text(
        "finger: paper000\nphotos: bench/photos\nforces: bench/forces.csv\n", "utf-8"
    )
    problem = load_problem(tmp_path / "problem.yaml").problem
    for load in problem.hung:
        truth = sg.equilibrium(FINGER, tip_mass=load.mass, error_estimate=False).joint_angles
        error = np.asarray(load.angles[:6]) - truth[:6]
        assert np.sqrt(np.mean(error**2)) < np.radians(0.5)
    assert len(problem.forces) == 5
    forces = [one.force for one in problem.forces]
    assert forces == sorted(forces)
