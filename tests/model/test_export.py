"""Hands as URDF: frames, masses and inertias in other readers equal those of our models."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import softgrasp as sg
from softgrasp import assets
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.model.export import hand_robot
from softgrasp.model.hand import MASSLESS, build_hand_spec
from softgrasp.model.robot import robot_model
from tests.conftest import Golden

HANDS = assets.names("hands")
HAND_ROBOT_RIGID = [
    name for name in HANDS if not (sg.load_hand(name).soft_fingers or sg.load_hand(name).more_palms)
]


def odd_hand() -> sg.Hand:
    """A prismatic joint, modified rows, and shapes that URDF does not have."""
    mesh = sg.Mesh(file=assets.portable_name(assets.root() / "objects/meshes/strawberry.obj"))
    rows = (
        sg.description.Phalanx(a=0.02, alpha=0.4, d=0.03, theta=0.2, joint="prismatic",
                   limits=(0.0, 0.01), mass=0.05, name="tip"),
        sg.description.Phalanx(a=0.03, alpha=-1.2, d=0.01, theta=-0.7, shape=mesh, density=300.0,
                   shape_pose=sg.Pose(position=(0.01, 0.0, 0.0), quaternion=(1.0, 0.5, 0.0, 0.2))),
        sg.description.Phalanx(a=0.03, density=900.0,
                   shape=sg.description.Ellipsoid(radii=(0.02, 0.01, 0.01))),
    )  # fmt: skip
    base = sg.Pose(position=(0.0, 0.1, 0.0), quaternion=(1.0, 0.1, 0.2, 0.3))
    finger = sg.description.Finger(name="F", base=base, convention="modified", phalanges=rows,
                       tip=(0.02, 0.01, 0.0))  # fmt: skip
    preset = sg.description.GraspPreset(center=(0, 0, 0), rates=(0.002, 1.0, 0.0))
    palm = sg.description.Palm(kind="shape", shape=sg.description.Capsule(radius=0.02, length=0.05))
    return sg.Hand(
        name="odd",
        fingers=(finger,),
        grasps=sg.description.Grasps(power=preset, precision=preset),
        palm=palm,
        source="made up",
    )


def hand_named(name: str) -> sg.Hand:
    return odd_hand() if name == "odd" else sg.load_hand(name)


def import_urdf(path: Path) -> mujoco.MjModel:
    """Compile a URDF by the reader of MuJoCo, with all links as bodies."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    return spec.compile()


def inertia_of(model: mujoco.MjModel, body: str) -> np.ndarray:
    """Compute the inertia (3, 3) of a body about its centre of mass in body axes."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.body(body).iquat)
    axes = rotation.reshape(3, 3)
    return axes @ np.diag(model.body(body).inertia) @ axes.T


@pytest.mark.parametrize("name", [*HAND_ROBOT_RIGID, "odd"])
def test_frames_masses_and_inertias_in_other_readers(name: str, tmp_path: Path) -> None:
    hand = hand_named(name)
    files = sg.io.save_urdf(hand, tmp_path / "hand.urdf")
    ours = build_hand_spec(hand).compile()
    theirs = [import_urdf(files[0]), robot_model(sg.io.load_robot(files[0]))]
    generator = np.random.default_rng(0)
    for model in theirs:
        data, own = mujoco.MjData(model), mujoco.MjData(ours)
        for _ in range(3):
            joints = generator.uniform(-1.0, 1.0, ours.nq)
            for index in range(ours.njnt):
                at = model.joint(ours.joint(index).name).qposadr[0]
                data.qpos[at] = own.qpos[ours.joint(index).qposadr[0]] = joints[index]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_kinematics(ours, own)
            assert_tips(hand, joints, model, data)
            for index in range(2, ours.nbody):
                body = ours.body(index).name
                assert_allclose(data.body(body).xpos, own.body(body).xpos, atol=1e-9)
                assert_allclose(data.body(body).xmat, own.body(body).xmat, atol=1e-9)
        for index in range(2, ours.nbody):
            body = ours.body(index).name
            assert_allclose(model.body(body).mass, ours.body(body).mass, rtol=1e-12)
            assert_allclose(model.body(body).ipos, ours.body(body).ipos, atol=1e-12)
            moments = inertia_of(ours, body)
            assert_allclose(inertia_of(model, body), moments, atol=1e-9 * moments.max())


def assert_tips(
    hand: sg.Hand, joints: np.ndarray, model: mujoco.MjModel, data: mujoco.MjData
) -> None:
    """Check that tips are the last Denavit–Hartenberg frames, moved to the fingertips."""
    first = 0
    for finger in hand.fingers:
        count = len(finger.phalanges)
        last = forward_kinematics(finger, joints[first : first + count])[-1]
        first += count
        taken = f"{finger.name}_tip" in [f"{finger.name}_{row.name}" for row in finger.phalanges]
        tip = data.body(f"{finger.name}_tip_" if taken else f"{finger.name}_tip")
        assert_allclose(tip.xpos, (last @ [*finger.tip, 1.0])[:3], atol=1e-9)
        assert_allclose(tip.xmat.reshape(3, 3), last[:3, :3], atol=1e-9)


def test_robot_round_trips_with_joint_limits(tmp_path: Path) -> None:
    hand = odd_hand()
    (path, *meshes) = sg.io.save_urdf(hand, tmp_path / "odd.urdf")
    assert [mesh.name for mesh in meshes] == ["odd_F_P2.stl", "odd_F_P3.stl"]
    robot = sg.io.load_robot(path)
    slide, rotation, still = robot.joints[:3]
    assert (slide.type, slide.lower, slide.upper) == ("prismatic", 0.0, 0.01)
    assert [joint.velocity for joint in (slide, rotation, still)] == [0.002, 1.0, 1.0]
    assert rotation.effort == hand.joints[1].force_limit
    assert rotation.damping == hand.joints[1].damping
    assert robot.root == "palm"
    assert [type(part.shape).__name__ for part in robot.link("palm").collisions] == [
        "Cylinder",
        "Sphere",
        "Sphere",
    ]
    assert robot.joints == hand_robot(hand, "odd").robot.joints


def test_mesh_poses(tmp_path: Path) -> None:
    hand = odd_hand()
    sg.io.save_urdf(hand, tmp_path / "odd.urdf")
    model, ours = import_urdf(tmp_path / "odd.urdf"), build_hand_spec(hand).compile()
    boxes = []
    for item in (model, ours):
        data = mujoco.MjData(item)
        mujoco.mj_kinematics(item, data)
        geom = next(
            index
            for index in range(item.ngeom)
            if item.geom_bodyid[index] == item.body("F_P2").id
            and item.geom_type[index] == mujoco.mjtGeom.mjGEOM_MESH
        )
        mesh = int(item.geom_dataid[geom])
        first, count = item.mesh_vertadr[mesh], item.mesh_vertnum[mesh]
        points = item.mesh_vert[first : first + count] @ data.geom_xmat[geom].reshape(3, 3).T
        points = points + data.geom_xpos[geom]
        boxes.append((points.min(axis=0), points.max(axis=0)))
    assert_allclose(boxes[0], boxes[1], atol=1e-6)


def test_links_without_a_body_have_a_negligible_mass(tmp_path: Path) -> None:
    sg.io.save_urdf(sg.load_hand("paradigmatic"), tmp_path / "hand.urdf")
    bare = sg.io.load_robot(tmp_path / "hand.urdf").link("index_P1")
    assert bare.inertial.mass == MASSLESS
    assert bare.collisions == ()


def test_automatic_palm_becomes_a_mesh(tmp_path: Path) -> None:
    files = sg.io.save_urdf(sg.load_hand("modular"), tmp_path / "m.urdf")
    assert [file.name for file in files] == ["m.urdf", "m_palm.stl"]
    (palm,) = sg.io.load_robot(files[0]).link("palm").collisions
    assert palm.shape == sg.Mesh(file=str(tmp_path / "m_palm.stl"))


@pytest.mark.parametrize("name", [name for name in HANDS if sg.load_hand(name).soft_fingers])
def test_soft_fingers_are_rejected(name: str, tmp_path: Path, golden: Golden) -> None:
    hand = sg.load_hand(name)
    golden.refused(lambda: sg.io.save_urdf(hand, tmp_path / "hand.urdf"), f"hand '{name}'")
    assert list(tmp_path.iterdir()) == []
