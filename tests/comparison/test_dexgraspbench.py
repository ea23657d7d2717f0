"""Metrics of DexGraspBench on grasps with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.comparison.dexgraspbench import (
    MARGIN,
    GraspBenchmark,
    benchmark_grasps,
    benchmark_means,
    benchmark_summary,
    diversity,
    write_rows,
)
from softgrasp.grasp_synthesis.posture_search import SynthesizedPosture
from softgrasp.sweeps.synthesis import arrange_postures


@pytest.fixture(scope="module")
def scene() -> sg.GraspScene:
    ball = sg.load_object("sphere").weighing(mass=0.1)
    return sg.GraspScene(hand=sg.load_hand("four_finger"), object=ball)


@pytest.fixture(scope="module")
def postures(scene: sg.GraspScene) -> list[SynthesizedPosture]:
    plan = sg.description.GraspPlan(scene=scene, candidates=3, seeds=12)
    return [posture.posture for posture in arrange_postures(plan)]


@pytest.fixture(scope="module")
def benchmark(scene: sg.GraspScene) -> GraspBenchmark:
    return GraspBenchmark(scene)


@pytest.mark.slow
def test_a_grasp_that_presses_succeeds_and_one_that_does_not_close_fails(
    benchmark: GraspBenchmark, postures: list[SynthesizedPosture]
) -> None:
    rows = [benchmark.evaluate(posture) for posture in postures]
    best = next(posture for posture, row in zip(postures, rows, strict=True) if row.success)
    row = benchmark.evaluate(best._replace(targets=best.start, squeeze=best.start))
    assert not row.success
    assert row.displacement > 10.0 * benchmark.evaluate(best).displacement
    assert row.contacts == 0


@pytest.mark.slow
def test_forces_are_along_the_axes_of_the_object(
    benchmark: GraspBenchmark, postures: list[SynthesizedPosture]
) -> None:
    def moved(posture: SynthesizedPosture, direction: np.ndarray) -> tuple[float, float]:
        benchmark._retreat.pose_at(posture.pose, posture.start)
        return benchmark._force(posture, benchmark._retreat.data.qpos.copy(), direction)

    plain, turned = postures[0], postures[0].pose.copy()
    turn = Rotation.from_euler("xyz", (0.0, 0.0, 0.8)).as_matrix()
    turned[:3, :3] = turned[:3, :3] @ turn
    x = np.array([1.0, 0.0, 0.0])
    # a ball is the same after a turn, and the force turns with its axes
    first, second = moved(plain, turn @ x), moved(plain._replace(pose=turned), x)
    np.testing.assert_allclose(first, second, rtol=1e-3)
    assert not np.isclose(first[0], moved(plain, x)[0], rtol=1e-2)


def test_penetration_and_contacts_are_those_of_the_exact_shapes(
    benchmark: GraspBenchmark, postures: list[SynthesizedPosture]
) -> None:
    row = benchmark.evaluate(postures[0])
    assert row.penetration == pytest.approx(postures[0].penetration, abs=1e-6)
    assert row.contacts >= postures[0].contacts
    # deeper by a known displacement towards the fingers of one side
    pose = postures[0].pose.copy()
    pose[:3, 3] += [0.004, 0.0, 0.0]
    deeper = benchmark.evaluate(postures[0]._replace(pose=pose))
    assert row.penetration < deeper.penetration <= row.penetration + 0.004 + 1e-6


def test_an_object_far_away_has_the_largest_distance_and_no_contact(
    benchmark: GraspBenchmark, postures: list[SynthesizedPosture]
) -> None:
    pose = postures[0].pose.copy()
    pose[:3, 3] += [0.0, 0.0, -1.0]
    row = benchmark.evaluate(postures[0]._replace(pose=pose))
    assert (row.success, row.contacts, row.penetration) == (False, 0, 0.0)
    assert row.contact_distance == pytest.approx(MARGIN)
    assert row.contact_consistency == pytest.approx(0.0)


def test_a_start_inside_the_object_fails(
    benchmark: GraspBenchmark, postures: list[SynthesizedPosture]
) -> None:
    pose = np.eye(4)  # the ball in the middle of the palm
    row = benchmark.evaluate(postures[0]._replace(pose=pose))
    assert not row.success
    assert row.displacement == np.inf


def test_diversity_is_the_variance_along_principal_axes(postures: list[SynthesizedPosture]) -> None:
    def moved(x: float, y: float) -> SynthesizedPosture:
        pose = postures[0].pose.copy()
        pose[:3, 3] += [x, y, 0.0]
        return postures[0]._replace(pose=pose)

    assert diversity([moved(k * 0.01, 0.0) for k in range(4)]) == pytest.approx(np.ones(5))
    square = [moved(x, y) for x in (0.0, 0.01) for y in (0.0, 0.01)]
    assert diversity(square)[:2] == pytest.approx([0.5, 1.0])


def test_rows_are_written_and_summed_up(
    scene: sg.GraspScene, postures: list[SynthesizedPosture], tmp_path: Path
) -> None:
    rows = benchmark_grasps(scene, [None, *postures[:2]])
    assert list(rows) == [1, 2]
    means = benchmark_means(rows, [None, *postures[:2]])
    successes = sum(row.success for row in rows.values())
    assert benchmark_summary(means).startswith(f"{successes} of 2 succeed under six forces")
    write_rows(rows, tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0].startswith("row,success,displacement")
    assert len(lines) == 3
    assert benchmark_summary(benchmark_means({}, [])) == "no grasp with a posture of its own"
