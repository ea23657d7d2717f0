"""Grasps of DexGraspBench: reading, writing, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.description.grasps import Grasp, GraspedObject, HandPosture
from softgrasp.io.grasp_files import read_grasps, write_grasps
from softgrasp.mechanics.transforms import transform


def saved(path: Path, content: object) -> Path:
    np.save(path, np.array(content, dtype=object), allow_pickle=True)
    return path


def posture(*joints: float) -> np.ndarray:
    return np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, *joints])


def bench(**changes: Any) -> dict[str, Any]:
    return {
        "obj_pose": np.array([0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0]),
        "obj_scale": np.float64(0.08),
        "obj_path": "assets/core_can",
        "pregrasp_qpos": posture(0.0, 0.1),
        "grasp_qpos": posture(0.2, 0.3),
        "squeeze_qpos": posture(0.3, 0.4),
    } | changes


def test_a_grasp_of_dexgraspbench_is_read(tmp_path):
    (grasp,) = read_grasps(saved(tmp_path / "0.npy", bench()))
    postures = (grasp.pregrasp, grasp.grasp, grasp.squeeze)
    assert [list(item.joints.values()) for item in postures] == [[0.0, 0.1], [0.2, 0.3], [0.3, 0.4]]
    assert [item.pose.position for item in postures] == [pytest.approx((0.1, 0.2, 0.25))] * 3
    assert grasp.grasp.pose.quaternion == pytest.approx((0.5, 0.5, 0.5, 0.5))
    assert (grasp.object.scale, grasp.object.mesh) == (0.08, "assets/core_can")


def test_rows_of_one_file_and_files_of_a_directory_are_grasps(tmp_path):
    rows = {name: np.array([posture(0.1), posture(0.2)]) for name in ("grasp_qpos",)}
    read = read_grasps(saved(tmp_path / "a.npy", rows))
    assert [grasp.grasp.joints for grasp in read] == [{"joint_0": 0.1}, {"joint_0": 0.2}]
    saved(tmp_path / "b.npy", bench())
    assert len(read_grasps(tmp_path)) == 3


def test_written_grasps_are_read_as_they_were(tmp_path):
    random = np.random.default_rng(0)
    quaternion = tuple(Rotation.random(rng=1).as_quat(scalar_first=True).tolist())
    pose = sg.Pose(position=tuple(random.normal(size=3).tolist()), quaternion=quaternion)
    postures = {
        name: HandPosture(pose=pose, joints={f"joint_{i}": random.normal() for i in range(5)})
        for name in ("pregrasp", "grasp", "squeeze")
    }
    can = GraspedObject(name="can", mesh="can", scale=0.1)
    grasp = Grasp(name="grasp_1", object=can, **postures)
    files = write_grasps([grasp, grasp], tmp_path / "out")
    assert [file.name for file in files] == ["0_grasp.npy", "1_grasp.npy"]
    again = read_grasps(tmp_path / "out")[1]
    assert (again.name, again.object) == (grasp.name, grasp.object)
    for name, item in postures.items():
        back = getattr(again, name)
        assert back.joints == item.joints
        np.testing.assert_allclose(
            transform(back.pose.position, back.pose.quaternion),
            transform(pose.position, pose.quaternion), atol=1e-12,
        )  # fmt: skip
    # plain dictionaries of arrays, as DexGraspBench loads them
    content = np.load(files[0], allow_pickle=True).item()
    assert content["grasp_qpos"].shape == (12,)


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("executed",))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"other": 1}, "found a dictionary with other"),
        ([1, 2], "expected grasps of DexGraspBench (grasp_qpos), found"),
        (bench(grasp_qpos=np.zeros(3)), "expected a hand pose of 7 numbers and joint"),
        (bench(squeeze_qpos=posture(1.0)), "squeeze_qpos"),
        (bench(grasp_qpos=np.zeros(9)), "unit quaternions (w, x, y, z) at positions 4 to"),
        (bench(grasp_qpos="text"), "grasp_qpos"),
        (bench(grasp_qpos=posture(np.nan)), "grasp_qpos"),
        (bench(obj_pose=np.full(7, np.nan)), "obj_pose"),
        ({"grasp_qpos": np.zeros((0, 8))}, "expected one or more grasps, found none"),
        (bench(obj_scale=-1.0), "obj_scale"),
        (bench(obj_scale="big"), "obj_scale"),
        (bench(obj_scale=[]), "obj_scale"),
        (bench(obj_scale=[1.0, 2.0]), "obj_scale"),
        (bench(obj_pose=np.array([0, 0, 300.0, 1, 0, 0, 0])), "a hand within 10 m of its object"),
        (bench(obj_pose=np.zeros(6)), "obj_pose"),
        (bench(joint_names=["a"]), "joint_names"),
        ({"grasp_qpos": Harmful()}, "arrays and plain data"),
    ],
)  # fmt: skip
def test_other_content_is_refused_with_the_reason(tmp_path, capsys, content, sentence, golden):
    file = saved(tmp_path / "bad.npy", content)
    with pytest.raises(sg.DescriptionError) as caught:
        read_grasps(file)
    golden(str(caught.value), sentence)
    assert str(file) in str(caught.value)
    assert "executed" not in capsys.readouterr().out


def test_files_that_are_none_are_refused(tmp_path):
    text = tmp_path / "text.npy"
    text.write_text("no array")
    for path, sentence in (
        (text, "expected a NumPy file (.npy), found"),
        (tmp_path / "none.npy", "expected a file with grasps, found: No such file"),
        (tmp_path / "empty", "expected .npy files with grasps, found none"),
    ):
        if path.name == "empty":
            path.mkdir()
        with pytest.raises(sg.DescriptionError) as caught:
            read_grasps(path)
        assert sentence in str(caught.value)
    half = saved(tmp_path / "half.npy", bench())
    half.write_bytes(half.read_bytes()[:-40])
    with pytest.raises(sg.DescriptionError):
        read_grasps(half)
