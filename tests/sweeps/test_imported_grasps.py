"""Grasps of other programs as candidates, and the round trip of the planner's own grasps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.grasps import Grasp, GraspedObject, HandPosture
from softgrasp.io.grasp_files import read_grasps
from softgrasp.mechanics.transforms import transform
from softgrasp.sweeps.imported_grasps import _order, hand_joints_of, import_grasps
from softgrasp.sweeps.planner import PlannedGrasps, _ends, plan_imported, scores
from tests.support.scenes import pinch

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")


@pytest.fixture(scope="module")
def planned() -> PlannedGrasps:
    plan = sg.description.GraspPlan(scene=pinch(), candidates=2, seeds=8, top=1)
    return sg.plan_grasps(plan, workers=1)


@pytest.mark.slow
def test_exported_grasps_are_imported_as_they_were(planned: PlannedGrasps, tmp_path: Path) -> None:
    assert len(planned.save_grasps(tmp_path, "objects/ball")) == planned.ranked > 0
    grasps = import_grasps(planned.plan.scene, tmp_path)
    for row, grasp in zip(planned.table["row"], grasps, strict=False):
        posture = planned.postures[int(row)]
        pose = transform(grasp.object_pose.position, grasp.object_pose.quaternion)
        assert pose == pytest.approx(posture.pose, abs=1e-9)
        assert grasp.grasp == pytest.approx(posture.targets, abs=1e-9)
        assert grasp.start == pytest.approx(posture.start, abs=1e-9)
        assert grasp.squeeze == pytest.approx(posture.squeeze, abs=1e-9)
    assert read_grasps(tmp_path)[0].object.mesh == "objects/ball"


@pytest.mark.slow
def test_imported_grasps_are_simulated_as_candidates(
    planned: PlannedGrasps, tmp_path: Path
) -> None:
    planned.save_grasps(tmp_path)
    plan = plan_imported(planned.plan, tmp_path)
    assert (plan.method, plan.candidates) == ("imported", planned.ranked)
    table = sg.plan_grasps(plan, workers=1).table
    assert table["status"].iloc[0] == "CLOSED"
    assert table["predicted"].isna().all()


def rewritten(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the content of all files of grasps in a directory."""
    for file in directory.glob("*.npy"):
        content = np.load(file, allow_pickle=True).item()
        change(content)
        np.save(file, np.array(content, dtype=object), allow_pickle=True)


def test_a_grasp_of_one_posture_opens_before_it_and_squeezes(
    planned: PlannedGrasps, tmp_path: Path
) -> None:
    planned.save_grasps(tmp_path)

    def only_grasp(content: dict[str, Any]) -> None:
        del content["pregrasp_qpos"], content["squeeze_qpos"]

    rewritten(tmp_path, only_grasp)
    with pytest.warns(sg.SoftgraspWarning, match="grasps state one posture"):
        plan = plan_imported(planned.plan, tmp_path)
    (grasp,) = plan.grasps[:1]
    closing = np.sign(planned.plan.scene.rates)
    assert ((np.array(grasp.grasp) - grasp.start) * closing >= 0.0).all()
    assert ((np.array(grasp.squeeze) - grasp.grasp) * closing >= 0.0).all()
    table = sg.plan_grasps(plan, workers=1).table
    assert (table["pulled_back_m"] == 0.0).all()  # the hand opens instead
    assert table["status"].iloc[0] == "CLOSED"


@pytest.mark.slow
def test_a_hand_that_starts_in_the_object_opens_further(
    planned: PlannedGrasps, tmp_path: Path
) -> None:
    planned.save_grasps(tmp_path)

    def nearly_closed(content: dict[str, Any]) -> None:
        opened, squeeze = content["pregrasp_qpos"], content["squeeze_qpos"]
        content["pregrasp_qpos"] = squeeze + 0.3 * (opened - squeeze)

    rewritten(tmp_path, nearly_closed)
    table = sg.plan_grasps(plan_imported(planned.plan, tmp_path), workers=1).table
    assert (table["pulled_back_m"] == 0.0).all()


def test_grasps_for_another_size_are_left_out(planned: PlannedGrasps, tmp_path: Path) -> None:
    planned.save_grasps(tmp_path)
    scene, count = planned.plan.scene, planned.ranked
    rewritten(tmp_path, lambda content: content.update(obj_scale=0.5))
    with pytest.raises(sg.DescriptionError) as caught:
        import_grasps(scene, tmp_path)
    assert f"expected grasps for the scale 1 of 'ball', found {count} for 0.5" in str(caught.value)
    assert len(import_grasps(scene, tmp_path, 0.5)) == count
    content = np.load(tmp_path / "0_grasp.npy", allow_pickle=True).item() | {"obj_scale": 1.0}
    np.save(tmp_path / "more_grasp.npy", np.array(content, dtype=object), allow_pickle=True)
    with pytest.warns(sg.SoftgraspWarning, match=f"1 of {count + 1} grasps are for the scale 1"):
        assert len(import_grasps(scene, tmp_path)) == 1


def test_a_hand_that_moves_between_postures_is_reported(
    planned: PlannedGrasps, tmp_path: Path
) -> None:
    planned.save_grasps(tmp_path)

    def away(content: dict[str, Any]) -> None:
        content["pregrasp_qpos"] = (
            content["pregrasp_qpos"] + np.eye(len(content["grasp_qpos"]))[0] * 0.01
        )

    rewritten(tmp_path, away)
    with pytest.warns(sg.SoftgraspWarning, match="by up to 10 mm; here it stands still"):
        import_grasps(planned.plan.scene, tmp_path)


def test_actuators_that_hardly_move_end_with_the_grasp(planned: PlannedGrasps) -> None:
    posture = planned.postures[0]
    rates = posture.rates.copy()
    rates[3] = 1e-3 * rates[0]
    still = rates == 0.0
    ends = _ends(posture._replace(rates=rates), np.ones(len(rates)))
    assert ends[0] is None
    assert ends[3] == posture.squeeze[3]
    assert all(end is not None for end in np.array(ends)[still])


def test_rows_that_timed_out_with_the_object_in_the_hand_are_ranked(planned: PlannedGrasps) -> None:
    table = planned.table.copy()
    table["status"] = ["TIMED_OUT", "EJECTED"][: len(table)]
    table["outcome"], table["contacts"] = "HELD", 3
    assert (~np.isnan(scores(planned.plan, table))).tolist() == [True, False][: len(table)]


def test_grasps_of_another_hand_are_refused(planned: PlannedGrasps, tmp_path: Path) -> None:
    planned.save_grasps(tmp_path)
    other = pinch(hand=sg.load_hand("dlr_hit_ii"))
    with pytest.raises(sg.DescriptionError) as caught:
        import_grasps(other, tmp_path)
    count = len(hand_joints_of(other).names)
    assert f"[0]: expected {count} joint variables, those of the hand, found 12" in str(
        caught.value
    )


def test_joints_are_matched_by_name() -> None:
    joints = hand_joints_of(pinch())._replace(names=["c", "a"])
    assert _order(read_like(("a", "b", "c")), joints, "x")[0].tolist() == [2.0, 0.0]
    with pytest.raises(sg.DescriptionError, match=r"x: expected a value for joint 'c' of the hand"):
        _order(read_like(("a", "b")), joints, "x")


def read_like(names: tuple[str, ...]) -> Grasp:
    """A grasp whose joint variables are the numbers of the names."""
    joints = {name: float(number) for number, name in enumerate(names)}
    posture = HandPosture(pose=sg.Pose(), joints=joints)
    return Grasp(name="one", object=GraspedObject(name="ball"), grasp=posture)


def test_imported_grasps_have_to_fit_the_hand(planned: PlannedGrasps) -> None:
    pose = sg.Pose(position=(0.0, 0.0, -0.1))
    short = sg.description.ImportedGrasp(
        object_pose=pose, start=(0.0,), grasp=(0.1,), squeeze=(0.2,)
    )
    with pytest.raises(sg.DescriptionError) as caught:
        planned.plan.replace(method="imported", grasps=(short,), candidates=1)
    assert "grasps[0].start: expected 12 numbers, one per actuator" in str(caught.value)
    with pytest.raises(sg.DescriptionError) as caught:
        planned.plan.replace(method="imported")
    assert "grasps: expected grasps exactly with method 'imported', found 0" in str(caught.value)
