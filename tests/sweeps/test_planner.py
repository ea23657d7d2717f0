"""The grasp planner: which poses it tries, that it repeats itself, and how it ranks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2, fisher_exact, kstest

import softgrasp as sg
from softgrasp.description.sweep import PERTURBATION
from softgrasp.mechanics.transforms import transform
from softgrasp.model.object import object_pose
from softgrasp.sweeps.planner import (
    GRASPS,
    PLAN,
    POSE_COLUMNS,
    PlannedGrasps,
    candidates_of,
    largest_is_best,
    object_in_hand,
    order,
    read_search,
    scores,
)
from softgrasp.sweeps.run import sweep
from softgrasp.sweeps.storage import JOURNAL
from softgrasp.sweeps.table import COLUMNS, FAILED
from tests.conftest import Golden
from tests.support.scenes import ball, pinch
from tests.sweeps.plans import without_wall

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")

MANY = 400


def plan(**changes: Any) -> sg.description.GraspPlan:
    return sg.description.GraspPlan(
        **({"scene": pinch(), "method": "poses", "candidates": 4, "seed": 3} | changes)
    )


def short(**changes: Any) -> sg.description.GraspPlan:
    """Of a few control samples: no hand closes in them."""
    return plan(scene=pinch(duration=0.02), candidates=6, **changes)


@pytest.fixture(scope="module")
def planned() -> PlannedGrasps:
    return sg.plan_grasps(plan(top=1), workers=1)


# which poses are tried


def test_poses_are_uniform_over_all_rotations() -> None:
    drawn = candidates_of(plan(candidates=MANY))
    directions = np.array([item.direction for item in drawn])
    assert 3 * MANY * float(np.square(directions.mean(axis=0)).sum()) < chi2.ppf(0.999, 3)
    assert kstest([(item.roll / math.pi + 1) / 2 for item in drawn], "uniform").pvalue > 1e-3
    # of uniform rotations the four parts of the quaternion are alike and not correlated
    rotations = Rotation.from_matrix([item.pose[:3, :3] for item in drawn]).as_quat()
    assert rotations.T @ rotations / MANY == pytest.approx(
        np.eye(4) / 4, abs=4 / math.sqrt(24 * MANY)
    )
    # a uniform rotation turns by the angle a with density (1 - cos a)/π
    angles = 2 * np.arccos(np.clip(np.abs(rotations[:, 3]), 0.0, 1.0))
    assert kstest((angles - np.sin(angles)) / math.pi, "uniform").pvalue > 1e-3


def test_the_direction_is_where_the_hand_is_seen_from_the_object() -> None:
    scene = pinch(object_euler=(0.3, -0.5, 1.1))
    for item in candidates_of(plan(scene=scene, poses=sg.description.PoseSampling(offset=0.0))):
        # the finger bases are straight above the grasp's centre
        middle = np.linalg.inv(item.pose) @ [0.0, 0.0, 0.0, 1.0]
        assert middle[:3] / np.linalg.norm(middle[:3]) == pytest.approx(item.direction, abs=1e-9)


def test_what_is_switched_off_stays_as_in_the_scene() -> None:
    still = sg.description.PoseSampling(cone=0.0, roll=0.0, offset=0.0)
    for item in candidates_of(plan(poses=still)):
        assert item.pose == pytest.approx(object_in_hand(pinch()), abs=1e-12)
    upright = pinch(object_euler=(0.0, 0.0, 0.0))
    rolled = candidates_of(
        plan(scene=upright, poses=sg.description.PoseSampling(cone=0.0, roll=0.1, offset=0.0))
    )
    assert {tuple(np.round(item.direction, 9)) for item in rolled} == {(0.0, 0.0, 1.0)}
    assert 0.0 < max(abs(item.roll) for item in rolled) <= 0.1
    leaning = candidates_of(plan(scene=upright, poses=sg.description.PoseSampling(cone=0.4)))
    assert min(item.direction[2] for item in leaning) >= math.cos(0.4)


def test_more_candidates_keep_the_first_and_other_seeds_do_not() -> None:
    few, more = candidates_of(plan(candidates=3)), candidates_of(plan(candidates=5))
    assert all((a.pose == b.pose).all() for a, b in zip(few, more, strict=False))
    other = candidates_of(plan(candidates=3, seed=4))
    assert not any((a.pose == b.pose).all() for a, b in zip(few, other, strict=True))


def turned(scene: sg.GraspScene, shift: tuple[float, float, float]) -> sg.GraspScene:
    """The scene rotated about the origin and moved, hand and object alike."""
    obj, rotation = object_pose(scene), Rotation.from_rotvec([0.4, -1.0, 0.7])
    own = rotation * Rotation.from_quat(obj.quaternion, scalar_first=True)
    x, y, z = own.as_euler("ZYX")[::-1].tolist()
    quaternion = tuple(rotation.as_quat(scalar_first=True).tolist())
    return scene.replace(
        hand_pose=sg.Pose(position=shift, quaternion=quaternion),
        object_position=tuple(np.add(rotation.apply(obj.position), shift).tolist()),
        object_euler=(x, y, z),
    )


def test_a_rotated_world_changes_no_pose_in_the_hand() -> None:
    other = plan(scene=turned(pinch(), (0.1, 0.2, 0.3)))
    for a, b in zip(candidates_of(plan()), candidates_of(other), strict=True):
        assert a.pose == pytest.approx(b.pose, abs=1e-9)
        assert a.pulled_back == pytest.approx(b.pulled_back, abs=1e-9)


def test_hands_that_would_stand_in_the_object_are_pulled_back_until_they_do_not() -> None:
    deep = pinch(object_position=(0.0, 0.0, -0.03))
    result = candidates_of(
        plan(scene=deep, candidates=8, poses=sg.description.PoseSampling(offset=0.0))
    )
    assert all(item.pulled_back and item.pulled_back > 0.0 for item in result)
    table = sg.plan_grasps(plan(scene=deep.replace(duration=0.002), candidates=8), workers=1).table
    assert (table["status"] != FAILED).all()


def test_an_object_without_a_path_out_is_a_row_with_its_reason() -> None:
    result = sg.plan_grasps(plan(scene=pinch(object=ball(0.25)), candidates=2), workers=1)
    assert (result.ranked, result.failed, result.top) == (0, 2, ())
    assert result.table["pulled_back_m"].isna().all()
    assert "expected an object that starts clear of the hand" in result.table["error"].iloc[0]


def test_preshapes_are_drawn_and_start_the_hand() -> None:
    result = sg.plan_grasps(short(preshapes=("open", "hook")), workers=1)
    assert set(result.table["preshape"]) == {"open", "hook"}
    row = int(result.table["row"].iloc[0])
    assert result.scene(row).preshape == result.table["preshape"].iloc[0]


# the same again


@pytest.mark.slow
def test_hand_and_object_may_move_alike(planned: PlannedGrasps) -> None:
    poses = sg.description.PoseSampling(moves="object")
    other = sg.plan_grasps(plan(poses=poses, top=1), workers=1).table
    assert other["row"].tolist() == planned.table["row"].tolist()
    for name in ("score", "displacement_m", "final_force_N", "simulated_time_s"):
        assert other[name].tolist() == pytest.approx(planned.table[name].tolist(), rel=1e-3), name


@pytest.mark.slow
def test_nothing_depends_on_the_number_of_workers() -> None:
    alone, two = (sg.plan_grasps(short(), workers=count).table for count in (1, 2))
    pd.testing.assert_frame_equal(without_wall(alone), without_wall(two), check_exact=True)


def test_a_search_goes_on_from_the_rows_that_are_there(tmp_path: Path) -> None:
    whole = sg.plan_grasps(short(), tmp_path, workers=1).table
    lines = (tmp_path / JOURNAL).read_text().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_text("".join(lines[:2]) + lines[2][:40])
    calls: list[tuple[int, int]] = []
    again = sg.plan_grasps(short(), tmp_path, 1, lambda done, all_: calls.append((done, all_)))
    assert calls[0] == (2, 6)
    pd.testing.assert_frame_equal(without_wall(whole), without_wall(again.table), check_exact=True)
    with pytest.raises(sg.ResultError, match="expected the results of this plan, found those"):
        sg.plan_grasps(short(seed=9), tmp_path, workers=1)


def test_the_files_hold_the_plan_and_the_table(tmp_path: Path) -> None:
    result = sg.plan_grasps(short(), tmp_path, workers=1)
    assert (tmp_path / PLAN).exists()
    read = pd.read_csv(tmp_path / GRASPS)
    assert list(read.columns) == list(result.table.columns) == [*POSE_COLUMNS, *COLUMNS]
    assert read["direction_z"].tolist() == result.table["direction_z"].tolist()


@pytest.mark.slow
def test_the_best_are_scenes_that_run_to_the_same_trajectory(planned: PlannedGrasps) -> None:
    first = planned.table.iloc[0]
    assert planned.best_rows == [int(first["row"])]
    assert sg.simulate(planned.top[0]).trajectory_sha256 == first["trajectory_sha256"]
    scene = planned.top[0]
    hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    assert not np.allclose(hand, np.eye(4))  # the hand went round, the object stayed
    assert scene.object_position == object_pose(pinch()).position


def test_the_test_of_the_best_has_no_part_in_the_table(planned: PlannedGrasps) -> None:
    assert planned.tested(0) == planned.scene(0)
    test = sg.io.load_criterion("hold")
    other = PlannedGrasps(plan=plan(test=test), sweep_plan=planned.sweep_plan, table=planned.table)
    assert other.tested(0).success == test
    assert other.scene(0).success is None


# ranking


def rows(**columns: list[Any]) -> Any:
    """A table of a sweep with some of its columns."""
    count = len(next(iter(columns.values())))
    base: dict[str, list[Any]] = {"row": list(range(count)), "status": ["CLOSED"] * count}
    base |= {"held": [None] * count, "displacement_m": [0.0] * count, "hold_drop_m": [0.0] * count}
    base |= {"contacts": [4] * count}
    base |= {"outcome": columns.get("status", base["status"])}
    return pd.DataFrame(base | columns)


def test_the_largest_comes_first_and_what_let_go_last() -> None:
    table = rows(quality_min_singular=[0.2, 0.9, 5.0, None, 0.5],
                 status=["CLOSED", "CLOSED", "EJECTED", "CLOSED", "CLOSED"])  # fmt: skip
    assert order(plan(), table) == [1, 4, 0, 2, 3]
    assert np.isnan(scores(plan(), table)).tolist() == [False, False, True, True, False]


def test_a_grasp_is_ranked_where_it_is_put_back_after_a_lost_push_not_where_it_fell() -> None:
    table = rows(
        quality_min_singular=[0.2, 0.9, 0.5, 0.4],
        outcome=["DROPPED", "DROPPED", "SHIFTED", "SUPPORTED"],
        contacts=[4, 0, 4, 4],
    )
    assert np.isnan(scores(plan(), table)).tolist() == [False, True, False, False]


def test_equal_scores_go_by_drift_and_then_by_number() -> None:
    table = rows(quality_min_singular=[1.0] * 4, displacement_m=[3e-3, 1e-3, 3e-3, 2e-3])
    assert order(plan(), table) == [1, 3, 0, 2]


def test_of_drift_the_smallest_is_best_unless_requested_otherwise() -> None:
    table = rows(displacement_m=[3e-3, 1e-3, 2e-3])
    assert order(plan(rank_by="displacement_m"), table) == [1, 2, 0]
    assert order(plan(rank_by="displacement_m", best="largest"), table) == [0, 2, 1]


def six_forces() -> sg.GraspScene:
    return pinch(success=sg.io.load_criterion("dexgraspbench"))


def test_perturbation_ranks_by_directions_borne_and_then_by_drift() -> None:
    table = rows(hold_directions=[0.5, 1.0, 1.0], hold_drop_m=[0.0, 2e-3, 1e-3])
    assert order(plan(scene=six_forces(), rank_by=PERTURBATION), table) == [2, 1, 0]


def test_the_fraction_of_directions_borne_is_a_column() -> None:
    success = sg.SuccessCriterion(directions=((0, 0, -5.0), (0, 0, -4e3)), direction_time=0.05,
                                  ramp_time=0.0, max_drop=1e-3)  # fmt: skip
    still = sg.description.PoseSampling(cone=0.0, roll=0.0, offset=0.0)
    requested = plan(scene=pinch(success=success), candidates=1, poses=still, rank_by=PERTURBATION)
    assert sg.plan_grasps(requested, workers=1).table["score"].tolist() == [0.5]


@pytest.mark.parametrize("name", [name for name in COLUMNS if name.startswith("quality_")])
def test_of_every_quality_the_largest_is_best(name: str) -> None:
    assert largest_is_best(plan(rank_by=name))


# what is refused


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"candidates": 0}, "candidates"),
        ({"poses": {"cone": 4.0}}, "poses.cone"),
        ({"poses": {"moves": "palm"}}, "poses.moves"),
        ({"preshapes": ("opne",)}, "preshapes[0]"),
        ({"preshapes": ("open", "open")}, "expected every preshape once"),
        ({"rank_by": PERTURBATION}, "rank_by"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    changes: dict[str, Any], sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: plan(**changes), sentence)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("quality_min_singulr", "rank_by"), ("status", "found 'status'"), ("final_force_N", "best")],
)
def test_a_column_that_cannot_rank_is_refused_before_anything_runs(
    name: str, sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: sg.plan_grasps(plan(rank_by=name), workers=1), sentence)


@pytest.mark.slow
def test_grasps_are_ranked_by_epsilon_where_requested() -> None:
    plan = sg.description.GraspPlan(
        scene=pinch(), method="poses", candidates=4, rank_by="quality_epsilon", top=1, seed=3
    )
    planned = sg.plan_grasps(plan, workers=1)
    scores = planned.table["quality_epsilon"].to_numpy(dtype=float)[: planned.ranked]
    assert planned.ranked > 0
    assert (np.diff(scores) <= 0.0).all()
    best = sg.simulate(planned.top[0], quality_rate=0.0)
    assert best.quality["epsilon"] == pytest.approx(scores[0], abs=1e-9)


def test_a_column_that_the_scene_cannot_fill_ranks_nothing(golden: Golden) -> None:
    plan = sg.description.GraspPlan(
        scene=pinch(), method="poses", candidates=2, rank_by="hold_slip_force_N"
    )
    golden.refused(lambda: sg.plan_grasps(plan), "rank_by")


@pytest.mark.slow
def test_grasps_can_be_ranked_otherwise_but_not_by_what_they_lack(tmp_path: Path) -> None:
    plan = sg.description.GraspPlan(
        scene=pinch(), method="poses", candidates=3, rank_by="displacement_m", seed=3
    )
    first = sg.plan_grasps(plan, tmp_path, workers=1)
    again = sg.plan_grasps(plan.replace(rank_by="quality_min_singular"), tmp_path, workers=1)
    assert set(again.table["trajectory_sha256"]) == set(first.table["trajectory_sha256"])
    with pytest.raises(sg.ResultError, match="those of another one; choose another directory"):
        sg.plan_grasps(plan.replace(rank_by="quality_epsilon"), tmp_path, workers=1)


# Validation of the ranking: the best of many poses pass a test that it has not used.
#
# Hand, object, friction and offset were chosen with seeds 0 and 1, so that about a quarter of all
# poses survive; what is asserted comes from another seed.


POSES, BEST, OTHERS = 240, 5, 50


def steel_cylinder() -> sg.GraspScene:
    """A steel cylinder with little friction, which the hand may well drop."""
    obj = sg.load_object("cylinder").weighing(density=7860.0)
    return sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=obj, contact=sg.Contact(static_friction=0.3)
    )


def perturbation() -> sg.SuccessCriterion:
    """The six forces of DexGraspBench, each for half a second instead of two."""
    return sg.io.load_criterion("dexgraspbench").replace(direction_time=0.5)


def survived(planned: PlannedGrasps, rows: list[int]) -> Any:
    """Which candidates bear the perturbation test; those that never held cannot."""
    plan = planned.sweep_plan
    axes = tuple(axis.replace(values=tuple(axis.values[row] for row in rows)) for axis in plan.axes)
    scene = plan.scene.replace(success=perturbation())
    table = sweep(plan.replace(scene=scene, axes=axes), workers=2)
    return table["held"].fillna(False).to_numpy(dtype=bool)


@pytest.mark.slow
def test_the_best_five_survive_more_often_than_fifty_at_random() -> None:
    plan = sg.description.GraspPlan(
        scene=steel_cylinder(),
        method="poses",
        candidates=POSES,
        poses=sg.description.PoseSampling(offset=0.05),
        seed=2,
        top=BEST,
    )
    planned = sg.plan_grasps(plan, workers=2)
    others = np.random.default_rng(1).choice(POSES, OTHERS, replace=False).tolist()
    held = survived(planned, [*planned.best_rows, *others])
    best, random = int(held[:BEST].sum()), int(held[BEST:].sum())
    contrast = [[best, BEST - best], [random, OTHERS - random]]
    chance = fisher_exact(contrast, alternative="greater").pvalue
    assert chance < 0.01, (best, random, chance, held.tolist(), planned.table["status"].tolist())


# synthesized postures


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlannedGrasps, Path]:
    directory = tmp_path_factory.mktemp("synthesis")
    ready = plan(method="synthesis", candidates=3, seeds=8, top=1)
    return sg.plan_grasps(ready, directory, workers=1), directory


@pytest.mark.slow
def test_synthesized_grasps_are_closed_from_their_starts(
    synthesized: tuple[PlannedGrasps, Path],
) -> None:
    planned, _ = synthesized
    first = planned.table.sort_values("row").iloc[0]
    assert first["preshape"] == "grasp-0"
    assert first["status"] == "CLOSED"
    assert first["penetration_m"] < 1e-3
    scene = planned.scene(0)
    assert scene.closing_start == scene.hand.preshape("grasp-0").positions
    assert scene.closure.rates is not None
    assert sg.simulate(planned.top[0]).trajectory_sha256 == planned.table["trajectory_sha256"][0]


@pytest.mark.slow
def test_kept_postures_are_those_synthesized_again(
    synthesized: tuple[PlannedGrasps, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, directory = synthesized
    again = candidates_of(planned.plan)
    for a, b in zip(candidates_of(planned.plan, directory), again, strict=True):
        assert (a.pose == b.pose).all()
        assert a.roll == b.roll
    monkeypatch.setattr(
        "softgrasp.sweeps.synthesis.arrange_postures", lambda _: pytest.fail("again")
    )
    pd.testing.assert_frame_equal(read_search(directory).table, planned.table)


@pytest.mark.slow
def test_a_rotated_world_changes_no_synthesized_posture() -> None:
    still = plan(method="synthesis", candidates=2, seeds=4)
    other = still.replace(scene=turned(still.scene, (0.0, 0.0, 0.0)))
    for a, b in zip(candidates_of(still), candidates_of(other), strict=True):
        assert a.pose == pytest.approx(b.pose, abs=1e-9)


def test_held_grasps_come_before_others() -> None:
    table = pd.DataFrame({"status": ["CLOSED"] * 3, "held": [False, True, None],
                          "outcome": ["SLIPPING", "HELD", "CLOSED"], "contacts": [4] * 3,
                          "quality_min_singular": [3.0, 1.0, 2.0],
                          "displacement_m": [0.0] * 3, "row": [0, 1, 2]})  # fmt: skip
    assert order(plan(), table.astype({"held": "boolean"})) == [2, 1, 0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scene": pinch(closure={"type": "joint-torque"})}, "expected a closure with rates of"),
        ({"preshapes": ("open",)}, "expected no preshapes, found 1; poses is the other method"),
    ],
)
def test_a_plan_refuses_what_synthesis_cannot_do(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        plan(method="synthesis", **changes)
    assert sentence in str(caught.value)


# tables


def on_a_table(obj: sg.GraspObject, **changes: Any) -> sg.GraspScene:
    test = sg.SuccessCriterion()
    return pinch(object=obj, gravity=True, surroundings=(sg.Table(),), success=test, **changes)


@pytest.mark.slow
def test_hands_of_drawn_poses_start_above_the_table() -> None:
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.04, 0.04, 0.06)), density=300.0)
    drawn = plan(scene=on_a_table(box), candidates=6)
    for item in candidates_of(drawn):
        assert item.pulled_back is not None
    table = sg.plan_grasps(drawn.replace(top=0), workers=1).table
    assert not (table["status"] == FAILED).any()  # a hand in the table fails


def test_an_object_too_low_for_the_hand_is_named() -> None:
    coin = sg.GraspObject(name="coin", shape=sg.Cylinder(radius=0.012, height=0.002), density=7e3)
    with pytest.warns(sg.SoftgraspWarning, match="'coin' may lie too low for 'four_finger'"):
        candidates_of(plan(scene=on_a_table(coin, grasp="power"), candidates=2))
