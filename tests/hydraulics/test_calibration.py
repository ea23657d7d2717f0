"""Stiffness, damping and mass of a hydraulic arm from recorded motions."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.result import load_any_calibration
from softgrasp.cli import main
from softgrasp.hydraulics.calibration import ArmTestRig, _copies, arm_stage
from softgrasp.hydraulics.files import save_hydraulic_arm
from softgrasp.report.calibration import write_calibration_report
from softgrasp.report.saved import write_report_from
from tests.conftest import Golden
from tests.hydraulics.arms import one_section, two_sections

PUSHED = (0.0, 3e5, 3e5)
TRUE = {"EI": 0.5829, "c_b": 0.036, "mass": 0.1}
NARROW = {"EI": (0.2, 1.5), "c_b": (5e-3, 0.1)}
"""Bounds whose middles are 6 % and 38 % off."""


@cache
def pushed(duration: float = 0.4) -> Any:
    return sg.hydraulics.ArmChain(one_section(), 2).move(PUSHED, duration)


def noisy(seed: int, noise: float = 1e-3, **given: Any) -> sg.hydraulics.ArmMotion:
    """A step of 0.3 MPa, every 10 ms with noise [m]."""
    whole = pushed()
    rows = whole.ends + noise * np.random.default_rng(seed).standard_normal(whole.ends.shape)
    message = sg.hydraulics.TipRecording(whole.times, rows)
    return sg.hydraulics.recorded_motion(message, **({"pressures": PUSHED} | given))


def problem(
    *motions: sg.hydraulics.ArmMotion, **changes: Any
) -> sg.hydraulics.ArmCalibrationProblem:
    given = {"arm": one_section(), "motions": motions, "links": 2, "bounds": NARROW}
    return sg.hydraulics.ArmCalibrationProblem(**(given | changes))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_stiffness_and_damping_come_back_from_a_noisy_tip(seed: int) -> None:
    """EI within 1 %, damping within 5 %; both within four of the errors that are told."""
    result = sg.calibrate(problem(noisy(seed)))
    assert isinstance(result, sg.hydraulics.ArmCalibrationResult)
    calibrated, sure = result.parameters, result.standard_errors
    assert calibrated["EI"] == pytest.approx(TRUE["EI"], rel=0.01)
    assert calibrated["c_b"] == pytest.approx(TRUE["c_b"], rel=0.05)
    for name in ("EI", "c_b"):
        assert abs(calibrated[name] - TRUE[name]) < 4.0 * sure[name]
        assert 1e-4 < sure[name] / calibrated[name] < 0.02
    assert result.residual["arm"] == pytest.approx(1e-3, rel=0.2)
    assert result.undetermined == ()
    assert result.arm.sections[0].bending_stiffness == calibrated["EI"]
    assert result.arm.sections[0].damping.bending == calibrated["c_b"]


@pytest.mark.slow
def test_the_mass_comes_back_as_well() -> None:
    result = sg.calibrate(problem(noisy(5), find=("EI", "c_b", "mass")))
    assert result.parameters["mass"] == pytest.approx(TRUE["mass"], rel=0.15)
    assert result.parameters["EI"] == pytest.approx(TRUE["EI"], rel=0.01)
    assert result.stages[0].units == ("N·m²", "N·m²·s", "kg")


def test_without_noise_the_stiffness_is_that_of_the_arm() -> None:
    """What is left is the time step of the bench, which is not that of the recording."""
    result = sg.calibrate(problem(noisy(0, 0.0), find=("EI",), bounds={"EI": (0.4, 0.7)}))
    assert result.parameters["EI"] == pytest.approx(TRUE["EI"], rel=1e-3)
    assert result.stages[0].names == ("EI",)
    assert result.evaluations < 20


def changed(motion: sg.hydraulics.ArmMotion, change: Any) -> sg.hydraulics.ArmMotion:
    return motion.replace(ends=tuple(map(tuple, change(np.array(motion.ends)).tolist())))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda ends: 1e3 * ends, "compare mm and m", marks=pytest.mark.slow),
        (lambda ends: ends + np.array([0.03, 0.0, 0.0]), "larger than the assumed error"),
        pytest.param(
            lambda ends: np.array([0.0, 0.0, 2.0 * ends[0, 2]]) - ends,
            "larger than the assumed error",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_recordings_that_cannot_be_right_are_not_credible(change: Any, message: str) -> None:
    only = {"find": ("EI",), "bounds": {"EI": (0.5, 0.7)}}
    assert sg.calibrate(problem(noisy(3), **only)).credibility.findings == ()
    result = sg.calibrate(problem(changed(noisy(3), change), **only))
    assert not result.credibility.credible
    assert result.status.name == "NOT_CREDIBLE"
    assert any(message in finding.sentence for finding in result.credibility.findings)


def test_copied_recordings_are_reported() -> None:
    (finding,) = _copies(problem(noisy(3), noisy(3, pressures=(1e5, 0.0, 0.0)), find=("EI",)))
    assert finding.refutes
    assert "one of them is a copy" in finding.sentence


def test_bends_in_time_and_held_out_motions_serve_as_well() -> None:
    chain = sg.hydraulics.ArmChain(one_section(), 2)
    calibrated = chain.move((2e5, 0.0, 0.0), 0.3)
    bends = chain.bends_of(calibrated.joints).reshape(len(calibrated.times), -1)
    first = sg.hydraulics.ArmMotion(
        name="back", start=(2e5, 0.0, 0.0), held_out=True,
        times=(0.0, 0.1), bends=((-1.0, 0.0), (-0.5, 0.0)),
    )  # fmt: skip
    rows = tuple(tuple(row) for row in bends.tolist())
    second = sg.hydraulics.ArmMotion(
        pressures=(2e5, 0.0, 0.0), times=tuple(calibrated.times.tolist()), bends=rows
    )
    result = sg.calibrate(problem(first, second, find=("EI",), bounds={"EI": (0.45, 0.7)}))
    stage = result.stages[0]
    assert stage.residual_unit == "rad"
    assert result.parameters["EI"] == pytest.approx(TRUE["EI"], rel=1e-3)
    assert stage.held_out_labels[0] == "back u1 at 0 s"
    begin, later = stage.held_out_simulated[::2]
    assert begin == pytest.approx(-chain.rest((2e5, 0.0, 0.0)).bends[0], rel=1e-3)
    assert begin < later < 0.0  # on its way back to straight


def test_sections_may_have_individual_values() -> None:
    arm = two_sections()
    ends = sg.hydraulics.ArmChain(arm, 1).move((1e5,) * 6, 0.02)
    requested = sg.hydraulics.ArmCalibrationProblem(
        arm=arm, motions=(sg.hydraulics.recorded_motion(ends),), links=1, each_section=True
    )
    stage = arm_stage(requested, ArmTestRig(requested))
    assert stage.block.names == ("EI1", "EI2", "c_b1", "c_b2")
    calibrated = ArmTestRig(requested).arm(np.array([1.0, 2.0, 3.0, 4.0]))
    assert [part.bending_stiffness for part in calibrated.sections] == [1.0, 2.0]
    assert [part.damping.bending for part in calibrated.sections] == [3.0, 4.0]
    assert stage.labels[:4] == ("motion 1 x1 at 0 s", "motion 1 y1 at 0 s", "motion 1 z1 at 0 s",
                                "motion 1 x2 at 0 s")  # fmt: skip


def test_torques_press_through_the_drives() -> None:
    """The bench moves the arm as drives and chain do: nothing is left at the true values."""
    table = sg.hydraulics.TorqueTable(np.array([0.0, 0.05]), np.array([[0.0, 0, 0], [0.5, 0, 0]]))
    message = sg.hydraulics.run_arm(one_section(), table, duration=0.2, links=2).recording
    rows = np.column_stack([table.times, table.torques]).tolist()
    requested = problem(sg.hydraulics.recorded_motion(message, torques=rows))
    stage = arm_stage(requested, ArmTestRig(requested))
    values = stage.simulate(np.array([[TRUE["EI"], TRUE["c_b"]]]))[0]
    assert np.ptp(stage.measured[::3]) > 0.03
    assert values == pytest.approx(stage.measured, abs=5e-4)


def written(directory: Path, text: str) -> Path:
    save_hydraulic_arm(one_section(), directory / "arm.yaml")
    whole = pushed()
    table = np.column_stack([whole.times, 1e3 * whole.ends[:, 0]])
    head = "time_s,x_mm,y_mm,z_mm"
    np.savetxt(directory / "a.csv", table, "%.9g", ",", header=head, comments="")
    path = directory / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


GOOD = """arm: arm.yaml
motions:
  - {table: a.csv, pressures: [0, 3.0e+5, 3.0e+5]}
find: [EI]
bounds: {EI: [0.45, 0.7]}
links: 2
"""


@pytest.mark.slow
def test_a_saved_calibration_of_an_arm_is_read_back_and_gives_the_same_report(
    tmp_path: Path,
) -> None:
    motions = (noisy(1), noisy(2, held_out=True))
    bounds = {"EI": (0.5, 0.7), "c_b": (0.03, 0.04)}
    result = sg.calibrate(problem(*motions, bounds=bounds, each_section=True))
    sg.calibration.save_calibration(result, tmp_path)
    write_calibration_report(result, tmp_path)
    direct = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    for name in direct:
        if name.endswith((".png", ".html")) or name == "motions.csv":
            (tmp_path / name).unlink()
    read = load_any_calibration(tmp_path)
    assert isinstance(read, sg.hydraulics.ArmCalibrationResult)
    assert (read.problem, read.arm) == (result.problem, result.arm)
    assert read.stages[0].units == ("N·m²", "N·m²·s")
    write_report_from(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == direct
    with pytest.raises(sg.ResultError, match="expected the calibration of a finger, found another"):
        sg.calibration.load_calibration(tmp_path)


def test_a_saved_calibration_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    content = {"schema_version": 4, "method": "pso", "seed": 0, "warnings": [], "stages": [],
               "status": "DONE", "problem": {"leg": {}}}  # fmt: skip
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    np.savez(tmp_path / "calibration.npz")
    message = "expected the calibration of a finger or one with arm, found leg"
    with pytest.raises(sg.ResultError, match=message):
        write_report_from(tmp_path)


@pytest.mark.slow
def test_the_command_line_takes_a_problem_of_an_arm(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["calibrate", str(written(tmp_path, GOOD)), "--out", str(out)]) == 0
    message = json.loads((out / "calibration.json").read_text("utf-8"))
    assert message["parameters"]["EI"] == pytest.approx(TRUE["EI"], rel=1e-3)
    assert message["stages"][0]["parameters"]["EI"]["unit"] == "N·m²"
    arm = sg.hydraulics.load_hydraulic_arm(out / "arm.yaml")
    assert arm.sections[0].bending_stiffness == message["parameters"]["EI"]
    assert "softgrasp" in arm.source
    page = (out / "report.html").read_text("utf-8")
    assert "Calibration of hydraulic_two_section" in page
    assert "Motions" in page


@pytest.mark.slow
def test_the_command_line_refuses_recordings_of_an_arm_that_are_not_credible(
    tmp_path: Path,
) -> None:
    path, out = written(tmp_path, GOOD), tmp_path / "out"
    table = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)
    table[:, 1] += 30.0
    head = "time_s,x_mm,y_mm,z_mm"
    np.savetxt(tmp_path / "a.csv", table, "%.9g", ",", header=head, comments="")
    assert main(["calibrate", str(path), "--out", str(out)]) == 1
    page = (out / "report.html").read_text("utf-8")
    assert '<li class="bad"><strong>The fit is not credible' in page
    assert "larger than the assumed error" in page
    assert "the fit is not credible" in (out / "arm.yaml").read_text("utf-8")
    assert main(["calibrate", str(path), "--out", str(out), "--force", "--accept"]) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("table: a.csv", "tabel: a.csv", "mine.yaml:3: motions[0].table"),
        ("[0, 3.0e+5, 3.0e+5]", "[0]", "motions[0].pressures"),
        ("a.csv, ", "a.csv, presure: 1, ", "motions[0].presure"),
        ("EI: [0.45, 0.7]", "EI: [0.7, 0.45]", "EI: expected the lower bound first"),
        ("find: [EI]", "find: [EI, EI]", "find"),
        ("arm.yaml", "arms.yaml", "arms.yaml"),
        ("a.csv, ", "a.csv, held_out: true, ", "motions"),
    ],
)
def test_errors_in_a_problem_are_reported(
    tmp_path: Path, old: str, new: str, message: str, golden: Golden
) -> None:
    path = written(tmp_path, GOOD.replace(old, new))
    golden.refused(lambda: sg.calibration.load_problem(path), message)


def test_errors_in_a_table_are_reported(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    table = tmp_path / "a.csv"
    for text, message in (
        (
            "time_s,x_mm,y_mm\n0,0,0\n1,0,0\n",
            "a.csv:1: expected the columns time_s, x_mm, y_mm, z_mm, found time_s, x_mm, y_mm$",
        ),
        (
            "time_s,x_mm,y_mm,z_mm\n0,0,0,1\n1,0,,0\n",
            "a.csv:3: y_mm: expected a finite number, found an empty cell",
        ),
        (
            "time_s,x_mm,y_mm,z_in\n0,0,0,1\n",
            "a.csv:1: no column 'z_in'; known: time_s, x_mm, y_mm, z_mm",
        ),
        ("time_s,x_mm,y_mm,z_mm\n1,0,0,1\n0,0,0,1\n", r"motions\[0\].times: expected rising time"),
        ("time_s,u1_deg,v1_deg,u2_deg\n0,0,0,1\n1,0,0,1\n", "no column 'u2_deg'"),
    ):
        table.write_text(text, encoding="utf-8")
        with pytest.raises(sg.DescriptionError, match=message):
            sg.calibration.load_problem(path)


def test_what_does_not_fit_is_reported(golden: Golden) -> None:
    ends = noisy(0)
    bends = sg.hydraulics.ArmMotion(times=(0.0, 1.0), bends=((0.0, 0.0),) * 2)
    golden.refused(lambda: problem(ends, bends), "motions[1]: expected ends in all motions, o")
    with pytest.raises(sg.DescriptionError, match="ends: expected ends or bends, found neither"):
        sg.hydraulics.ArmMotion(times=(0.0, 1.0))
    with pytest.raises(sg.DescriptionError, match="torques: expected pressures or torques, found"):
        noisy(0, torques=((0.0, 0, 0, 0),))
    with pytest.raises(
        sg.DescriptionError, match="stages: expected no value for an arm, which has on"
    ):
        sg.calibrate(problem(ends), stages=["springs"])
    with pytest.raises(
        sg.DescriptionError, match=r"motions\[0\].bends: expected rows of 2 numbers"
    ):
        problem(bends.replace(bends=((0.0,) * 4,) * 2))
