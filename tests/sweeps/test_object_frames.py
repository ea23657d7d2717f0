"""A grasp file places the hand at the frame of the object's file, whatever the object is made of.

The reference reads hand and object with MuJoCo alone: link frames of the hand at the stated pose,
and vertices of the object at its own. DexGraspBench states the pose of the hand's file.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.io.grasp_files import read_grasps, write_grasps
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.model.retreat import HandRetreat
from softgrasp.sweeps.imported_grasps import (
    convert_postures,
    grasp_of,
    hand_joints_of,
    import_grasps,
)

HAND = """<mujoco model="pincer">
  <compiler angle="radian"/>
  <worldbody>
    <body name="palm" gravcomp="1" pos="0.01 -0.02 0.03" quat="0.8 0.6 0 0">
      <geom type="box" size="0.03 0.02 0.01" density="500"/>
      <body name="left" gravcomp="1" pos="-0.03 0 0.01">
        <joint name="jl" axis="0 1 0" range="-0.5 1.2"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.08" size="0.008" density="500"/>
      </body>
      <body name="right" gravcomp="1" pos="0.03 0 0.01">
        <joint name="jr" axis="0 -1 0" range="-0.5 1.2"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.08" size="0.008" density="500"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="al" joint="jl" kp="5" ctrlrange="-0.5 1.2" forcerange="-2 2"/>
    <position name="ar" joint="jr" kp="5" ctrlrange="-0.5 1.2" forcerange="-2 2"/>
  </actuator>
</mujoco>
"""
LINK = """<robot name="thing"><link name="body">
  <inertial><origin xyz="0.005 0.002 0.03"/><mass value="0.1"/>
    <inertia ixx="4e-5" iyy="4e-5" izz="4e-5" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0.02 0.01 0.03" rpy="0 0 0.4"/>
    <geometry><mesh filename="block.stl"/></geometry></collision>
  <collision><origin xyz="-0.02 0 0.01"/>
    <geometry><mesh filename="block.stl"/></geometry></collision>
</link></robot>
"""
POSE = transform(
    (0.1, 0.05, 0.2), Rotation.from_euler("xyz", (0.3, 2.0, -1.0)).as_quat()[[3, 0, 1, 2]]
)
OBJECT_POSE = transform((0.02, -0.04, 0.11), (0.5, 0.5, -0.5, 0.5))
JOINTS = np.array([0.3, 0.7])


class Kind(NamedTuple):
    """An object, and the points of its surface in the frame of its file."""

    object: sg.GraspObject
    points: Array
    scale: float


def block() -> trimesh.Trimesh:
    box = trimesh.creation.box((0.03, 0.04, 0.05))
    box.apply_translation((0.011, -0.007, 0.023))  # its frame is far from its centre of mass
    return box


def kind_of(name: str, directory: Path) -> Kind:
    mesh = block()
    mesh.export(directory / "block.stl")
    if name.startswith("mesh"):
        scale = 1.4 if "scaled" in name else 1.0
        shape = sg.Mesh(file=str(directory / "block.stl"), scale=(scale,) * 3)
        return Kind(sg.GraspObject(name="m", shape=shape, mass=0.1), scale * mesh.vertices, scale)
    scale = 0.7 if "scaled" in name else 1.0
    (directory / "thing.urdf").write_text(LINK)
    obj = sg.load_object(directory / "thing.urdf")
    obj = obj.replace(shape=obj.shape.replace(scale=scale))
    if "uniform" in name:
        obj = obj.replace(shape=obj.shape.replace(center_of_mass=None, inertia_per_mass=None))
    turned = Rotation.from_euler("z", 0.4).apply(mesh.vertices) + np.array([0.02, 0.01, 0.03])
    points = np.concatenate([turned, mesh.vertices + np.array([-0.02, 0.0, 0.01])])
    return Kind(obj, scale * points, scale)


KINDS = (
    "mesh", "mesh, scaled", "compound, stated centre",
    "compound, scaled, stated centre",
    "compound, uniform density",
)  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    return kind_of(request.param, tmp_path)


@pytest.fixture
def scene(kind: Kind, tmp_path: Path) -> sg.GraspScene:
    (tmp_path / "pincer.xml").write_text(HAND)
    return sg.GraspScene(hand=sg.load_hand(tmp_path / "pincer.xml"), object=kind.object)


def stated(path: Path, scale: float) -> Path:
    """Write a grasp of DexGraspBench with the pose of the hand's file."""
    quat = Rotation.from_matrix(POSE[:3, :3]).as_quat()[[3, 0, 1, 2]]
    frame = Rotation.from_matrix(OBJECT_POSE[:3, :3]).as_quat()[[3, 0, 1, 2]]
    rows = [np.concatenate([POSE[:3, 3], quat, factor * JOINTS]) for factor in (0.5, 1.0, 1.2)]
    content = {
        "obj_pose": np.concatenate([OBJECT_POSE[:3, 3], frame]), "obj_scale": scale,
        "obj_path": "thing",
        "pregrasp_qpos": rows[0], "grasp_qpos": rows[1], "squeeze_qpos": rows[2],
    }  # fmt: skip
    np.save(path, np.array(content, dtype=object), allow_pickle=True)
    return path


def links_by_file() -> dict[str, Array]:
    """World poses of the links with the file's frame at the stated pose."""
    model = mujoco.MjModel.from_xml_string(HAND)
    data = mujoco.MjData(model)
    data.qpos[:] = JOINTS
    mujoco.mj_kinematics(model, data)
    return {
        name: POSE @ pose_of(data.body(name).xpos, data.body(name).xmat)
        for name in ("palm", "left", "right")
    }


def pose_of(position: Array, matrix: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3], pose[:3, :3] = position, np.reshape(matrix, (3, 3))
    return pose


def object_points(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """World positions of all vertices of the object's collision shapes."""
    body, points = model.body(names.OBJECT).id, []
    for geom in np.flatnonzero((model.geom_bodyid == body) & (model.geom_dataid >= 0)).tolist():
        if model.geom_group[geom] == 2:
            continue
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        points.append(vertices @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    return np.concatenate(points)


def seen_from(frame: Array, points: Array) -> Array:
    """Points in a frame, in an order that does not depend on it."""
    unique = np.unique(np.round((points - frame[:3, 3]) @ frame[:3, :3], 7), axis=0)
    return np.asarray(unique[np.lexsort(unique.T)])


def test_links_and_object_are_where_the_file_puts_them(
    kind: Kind, scene: sg.GraspScene, tmp_path: Path
) -> None:
    (grasp,) = import_grasps(scene, stated(tmp_path / "grasp.npy", kind.scale))
    retreat = HandRetreat(scene)
    pose = transform(grasp.object_pose.position, grasp.object_pose.quaternion)
    retreat.pose_at(pose, np.array(grasp.grasp))
    model, data = retreat.model, retreat.data
    surface = kind.points @ OBJECT_POSE[:3, :3].T + OBJECT_POSE[:3, 3]
    for name, frame in links_by_file().items():
        body = next(b for b in range(model.nbody) if model.body(b).name.endswith(name))
        here = pose_of(data.xpos[body], data.xmat[body])
        ours, theirs = seen_from(here, object_points(model, data)), seen_from(frame, surface)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_an_exported_grasp_states_the_pose_in_the_frame_of_the_file(
    kind: Kind, scene: sg.GraspScene, tmp_path: Path
) -> None:
    (grasp,) = import_grasps(scene, stated(tmp_path / "grasp.npy", kind.scale))
    plan = sg.description.GraspPlan(scene=scene, method="imported", grasps=(grasp,), candidates=1)
    (posture,) = convert_postures(plan)
    exported = grasp_of(scene, hand_joints_of(scene), posture, "thing")
    write_grasps([exported], tmp_path / "out")
    (back,) = read_grasps(tmp_path / "out")
    hand = transform(back.grasp.pose.position, back.grasp.pose.quaternion)
    np.testing.assert_allclose(hand, np.linalg.inv(OBJECT_POSE) @ POSE, atol=1e-9)
    np.testing.assert_allclose([*back.grasp.joints.values()], JOINTS, atol=1e-9)
    assert back.object.scale == pytest.approx(kind.scale)
    assert back.object.mesh == "thing"
