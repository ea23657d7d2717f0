"""Grasps with fingers of a posterior: their draw, their bands, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.finger_ensemble import FingerEnsemble, load_finger_ensemble, save_finger_ensemble
from softgrasp.io.hand import load_finger, save_finger
from softgrasp.sweeps.ensemble import FINGERS, ensemble_plan, grasp_ensemble, load_ensemble_result
from tests.conftest import Golden

FINGER = load_finger("paper000")
STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])


def saved(directory, spread: float = 0.1, size: int = 8):
    """Write a finger and an ensemble that is ``spread`` wide; return the finger's file."""
    factors = np.exp(spread * np.random.default_rng(0).standard_normal((size, len(STIFFNESS))))
    columns = {f"stiffness_{i}": k for i, k in enumerate((STIFFNESS * factors).T, start=1)}
    path = save_finger(FINGER, directory / "finger.yaml")
    save_finger_ensemble(FINGER, columns, path)
    return path


def scene(duration: float = 0.01) -> sg.GraspScene:
    return sg.load_scene("demo_soft").replace(success=None, lift=None, duration=duration)


def test_ensemble_is_read_as_written(tmp_path) -> None:
    known = load_finger_ensemble(saved(tmp_path))
    assert (known.finger, known.size) == (FINGER, 8)
    drawn = known.drawn(3, seed=1)
    again = known.drawn(3, seed=1)
    rows = np.array(list(drawn.columns.values())).T
    np.testing.assert_array_equal(rows, np.array(list(again.columns.values())).T)
    every = np.array(list(known.columns.values())).T.tolist()
    assert all(row in every for row in rows.tolist())
    assert len({tuple(row) for row in rows.tolist()}) == 3


def test_rows_have_the_fingers_of_the_ensemble(tmp_path) -> None:
    from softgrasp.sweeps.parameters import scene_of_row

    known = load_finger_ensemble(saved(tmp_path))
    plan = ensemble_plan(scene(), known)
    assert plan.size == 9
    assert all(axis.path.startswith(FINGERS) for axis in plan.axes)
    for row in (0, 5):
        for mounted in scene_of_row(plan, row).hand.soft_fingers:
            found = [joint.stiffness for joint in mounted.finger.joints]
            expected = STIFFNESS if row == 0 else [x[row - 1] for x in known.columns.values()]
            np.testing.assert_array_equal(found, expected)


def test_equal_fingers_have_bands_without_width(tmp_path) -> None:
    result = grasp_ensemble(scene(), saved(tmp_path, spread=0.0), 2, workers=1, out=tmp_path)
    assert load_ensemble_result(tmp_path) == result
    assert sum(result.outcomes.values()) == result.size == 2
    assert all(band.low == band.median == band.high for band in result.bands)
    np.testing.assert_allclose(result.displacement.low, result.displacement.high, atol=1e-12)
    assert result.success_low <= result.succeeded / 2 <= result.success_high
    assert (tmp_path / "ensemble" / "sweep.csv").is_file()


def test_refusals(tmp_path, golden: Golden) -> None:
    path = saved(tmp_path)
    with pytest.raises(
        sg.DescriptionError, match="expected 2 to 8 fingers of the ensemble, found 9"
    ):
        grasp_ensemble(scene(), path, 9)
    with pytest.raises(sg.DescriptionError, match="expected a hand with soft fingers, found"):
        ensemble_plan(sg.load_scene("demo"), load_finger_ensemble(path))
    other = FINGER.joints[0].replace(stiffness=1.0)
    save_finger(FINGER.replace(joints=(other, *FINGER.joints[1:])), path)
    golden.refused(lambda: load_finger_ensemble(path), "found that of another finger")
    with pytest.raises(sg.DescriptionError, match="expected an ensemble of the finger 'paper000'"):
        load_finger_ensemble("assets/fingers/paper000.yaml")


@pytest.mark.parametrize(
    ("head", "row", "message"),
    [
        ("stiffness_1", "nan", ":3: stiffness_1: expected a finite number, found"),
        ("stiffness_8", "1.0", ":2: expected columns stiffness_1 … gain_7, found 'stiffness_8'"),
    ],
)
def test_damaged_table(tmp_path, head: str, row: str, message: str) -> None:
    path = saved(tmp_path)
    table = tmp_path / "finger_ensemble.csv"
    table.write_text("\n".join([table.read_text().splitlines()[0], head, row, ""]))
    with pytest.raises(sg.DescriptionError, match=message):
        load_finger_ensemble(path)


def test_source_does_not_matter(tmp_path) -> None:
    """A comment on where the numbers come from does not change the finger."""
    path = saved(tmp_path)
    save_finger(FINGER.replace(source="another laboratory"), path)
    assert isinstance(load_finger_ensemble(path), FingerEnsemble)
