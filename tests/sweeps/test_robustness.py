"""Robustness of planned grasps: trials with a displaced object, as a sweep of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.sweep import PoseNoise
from softgrasp.sweeps.parameters import start_noise
from softgrasp.sweeps.planner import PlannedGrasps, read_search, trials_of
from softgrasp.sweeps.run import read_sweep
from tests.support.scenes import pinch

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")

TEST = sg.SuccessCriterion(ramp_time=0.05, hold_time=0.1)
PLAN = sg.description.GraspPlan(
    scene=pinch(success=TEST), candidates=3, method="poses", top=1, rank_by="robustness",
    poses=sg.description.PoseSampling(cone=0.05, roll=0.05, offset=0.002), trials=3,
)  # fmt: skip


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plan")


@pytest.fixture(scope="module")
def planned(directory: Path) -> PlannedGrasps:
    return sg.plan_grasps(PLAN, directory, workers=1)


@pytest.mark.slow
def test_the_score_is_the_fraction_of_trials_that_held(
    planned: PlannedGrasps, directory: Path
) -> None:
    table = planned.table.sort_values("row")
    held = table["row"][table["held"].astype(object).eq(True)].tolist()
    assert held
    trials = read_sweep(directory / "robustness")[1]
    assert len(trials) == 3 * len(held)
    for index, row in enumerate(held):
        own = trials["held"].astype(object).iloc[3 * index : 3 * index + 3].eq(True).mean()
        assert float(table["robustness"].iloc[row]) == pytest.approx(own)
    assert (np.diff(planned.table["score"].dropna().to_numpy(dtype=float)) <= 0.0).all()


@pytest.mark.slow
def test_a_finished_search_has_the_same_table(planned: PlannedGrasps, directory: Path) -> None:
    again = read_search(directory).table
    assert again["robustness"].tolist() == planned.table["robustness"].tolist()
    assert again["rank"].tolist() == planned.table["rank"].tolist()


def test_trials_are_the_same_grasps_with_errors_of_the_stated_size(planned: PlannedGrasps) -> None:
    trials = trials_of(PLAN.replace(trials=200), planned.sweep_plan, [1])
    assert trials.size == 200
    errors = [start_noise(trials, row) for row in range(trials.size)]
    positions = np.array([error.position for error in errors if error is not None])
    assert positions.std(axis=0) == pytest.approx([0.005] * 3, rel=0.2)
    for axis, own in zip(planned.sweep_plan.axes, trials.axes, strict=True):
        assert own.values == (axis.values[1],)


def test_without_errors_every_held_grasp_holds_again(planned: PlannedGrasps) -> None:
    table = sg.plan_grasps(PLAN.replace(noise=PoseNoise(), trials=1), workers=1).table
    held = table["held"].astype(object).eq(True)
    assert table["robustness"][held].tolist() == [1.0] * int(held.sum())
    assert table["robustness"][~held].tolist() == [0.0] * int((~held).sum())


def test_a_rank_by_robustness_needs_a_test() -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        PLAN.replace(scene=pinch())
    assert "rank_by: expected a hold test or a lift to rank by 'robustness', found none" in str(
        caught.value
    )
