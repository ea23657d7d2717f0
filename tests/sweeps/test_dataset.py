"""Grasps for learning: the hand and its contacts as the object sees them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.transforms import transform
from softgrasp.sweeps.dataset import ARRAYS, ExtraOutputs, arrays_of, dataset
from softgrasp.sweeps.run import sweep
from tests.support.scenes import ball, pinch

RADII = (0.028, 0.03, 0.032)


def plan(**changes: object) -> sg.description.SweepPlan:
    rotated = sg.Pose(position=(0.1, -0.2, 0.4), quaternion=(0.8, 0.0, 0.6, 0.0))
    scene = pinch(hand_pose=rotated, success=sg.SuccessCriterion(hold_time=0.05))
    axis = sg.description.Axis(path="object.radius", values=RADII)
    return sg.description.SweepPlan(scene=scene.replace(**changes), axes=(axis,))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    directory = tmp_path_factory.mktemp("dataset")
    sweep(plan(), directory, workers=1, dataset="arrays")
    parts = list(dataset(directory))
    names = parts[0].keys()
    rows = [key for key in names if not key.startswith("contact_") and key != "joint_names"]
    result = {key: np.concatenate([part[key] for part in parts]) for key in rows}
    return result | {"parts": parts, "joint_names": parts[0]["joint_names"]}


def test_every_array_is_described_and_has_its_shape(kept: dict[str, np.ndarray]) -> None:
    assert all(part.keys() == ARRAYS.keys() for part in kept["parts"])
    assert kept["row"].tolist() == [0, 1, 2]
    assert kept["status"].tolist() == ["CLOSED"] * 3
    assert set(kept["held"].tolist()) <= {0, 1}
    joints = len(kept["joint_names"])
    assert kept["grasp_joints"].shape == kept["start_joints"].shape == (3, joints)
    np.testing.assert_allclose(kept["mass_kg"], 700.0 * (4 / 3 * np.pi * np.array(RADII) ** 3))


def test_the_hand_is_where_the_object_sees_it(kept: dict[str, np.ndarray]) -> None:
    for row, radius in enumerate(RADII):
        scene = plan().scene.replace(object=ball(radius))
        result = sg.simulate(scene)
        hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
        closed = int(np.argmin(np.abs(result.time - result.hold.start_s)))
        for name, sample in (("start", 0), ("grasp", closed)):
            obj = transform(result.object_position[sample], result.object_quat_wxyz[sample])
            seen = transform(kept[f"{name}_position"][row], kept[f"{name}_quat_wxyz"][row])
            np.testing.assert_allclose(obj @ seen, hand, atol=1e-9)
            np.testing.assert_array_equal(
                kept[f"{name}_joints"][row], result.joint_position[sample]
            )


def test_contacts_lie_on_the_ball_and_point_to_its_middle(kept: dict[str, np.ndarray]) -> None:
    seen = 0
    for part in kept["parts"]:
        radius = np.array(RADII)[part["row"][part["contact_row"]]]
        points, normals = part["contact_point"], part["contact_normal"]
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), radius, atol=5e-4)
        np.testing.assert_allclose(normals, -points / radius[:, None], atol=0.05)
        assert (part["contact_normal_force"] > 0.0).all()
        assert (part["contact_friction_force"] <= part["contact_normal_force"]).all()
        seen += len(points)
    assert seen >= 12


def test_a_hand_that_touches_nothing_has_no_contacts() -> None:
    result = arrays_of({7: sg.simulate(pinch(duration=0.02))})
    assert result.keys() == ARRAYS.keys()
    assert result["row"].tolist() == [7]
    assert result["held"].tolist() == [-1]
    assert result["contact_point"].shape == result["contact_normal"].shape == (0, 3)
    assert result["contact_row"].shape == (0,)


def test_every_hand_has_separate_files(tmp_path: Path) -> None:
    scene = pinch(duration=0.02)
    axis = sg.description.Axis(path="hand", values=("four_finger", "three_fingered"))
    table = sweep(
        sg.description.SweepPlan(scene=scene, axes=(axis,), repeats=2), tmp_path, dataset="arrays"
    )
    assert table["status"].tolist() == ["TIMED_OUT"] * 4
    assert sorted(row for part in dataset(tmp_path) for row in part["row"].tolist()) == [0, 1, 2, 3]
    other = scene.replace(hand=sg.load_hand("three_fingered"))
    mixed = {row: sg.simulate(one) for row, one in enumerate((scene, other, scene, other))}
    ExtraOutputs(tmp_path / "mixed", dataset="arrays").write(mixed)
    parts = list(dataset(tmp_path / "mixed"))
    assert [part["row"].tolist() for part in parts] == [[0, 2], [1, 3]]
    assert parts[0]["grasp_joints"].shape != parts[1]["grasp_joints"].shape
    assert all(part["contact_body"].dtype.kind == "U" for part in parts)


def test_a_dataset_needs_a_directory(tmp_path: Path) -> None:
    with pytest.raises(
        sg.DescriptionError, match=r"^out: expected a directory for the dataset, found none$"
    ):
        sweep(plan(), dataset="arrays")
