"""Hands in MuJoCo: kinematics, masses, joints, palms and self-contact."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial import ConvexHull

import softgrasp as sg
from softgrasp import assets
from softgrasp.continuum.statics import joint_positions
from softgrasp.mechanics.transforms import transform
from softgrasp.model import names
from softgrasp.model.arm import carry_hand
from softgrasp.model.hand import LOCKED, MARGIN_PER_RADIUS, PRESCRIBED_ARMATURE, palm_points
from softgrasp.model.names import PALM
from softgrasp.pipeline import compile_scene
from tests.support.kinematics import fingertip
from tests.support.scenes import ball

POSTURES = 5


def hand_of(*fingers: sg.description.Finger, palm: sg.description.Palm | None = None) -> sg.Hand:
    """Return a hand of fingers with its grasp centre far away."""
    away = sg.description.GraspPreset(center=(0, 0, -1), rates=1.0)
    return sg.Hand(
        name="test",
        fingers=fingers,
        palm=palm or sg.description.Palm(),
        grasps=sg.description.Grasps(power=away, precision=away),
    )


def finger_of(*rows: dict[str, Any], name: str = "F1", **changes: Any) -> sg.description.Finger:
    phalanges = tuple(
        sg.description.Phalanx(**(row if "mass" in row else {"density": 1000} | row))
        for row in rows
    )
    return sg.description.Finger(
        **({"name": name, "convention": "standard", "phalanges": phalanges} | changes)
    )


def model_of(hand: sg.Hand, **changes: Any) -> mujoco.MjModel:
    return sg.compile_model(sg.GraspScene(hand=hand, object=ball(), adapt_grasp=False, **changes))


def posed(model: mujoco.MjModel, hand: sg.Hand, joints: np.ndarray) -> mujoco.MjData:
    data = mujoco.MjData(model)
    for name, value in zip(names.joint_names(hand), joints, strict=True):
        data.qpos[model.joint(name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)
    return data


def check_kinematics(hand: sg.Hand, pose: sg.Pose) -> None:
    """Compare every body and fingertip of the model with our kinematics."""
    model = model_of(hand, hand_pose=pose)
    palm_frame = np.eye(4)
    mujoco.mju_quat2Mat(flat := np.zeros(9), np.array(pose.quaternion))
    palm_frame[:3, :3], palm_frame[:3, 3] = flat.reshape(3, 3), pose.position
    rng = np.random.default_rng(seed=4)
    for _ in range(POSTURES):
        joints = rng.uniform(-math.pi, math.pi, len(names.joint_names(hand)))
        data = posed(model, hand, joints)
        rest = joints.tolist()
        for finger in hand.fingers:
            count = len(finger.phalanges)
            values, rest = rest[:count], rest[count:]
            frames = palm_frame @ sg.mechanics.forward_kinematics(finger, values)
            behind = 0 if finger.convention == "standard" else 1
            for index, row in enumerate(finger.phalanges):
                result = data.body(finger.body_of(row)).xpos
                assert_allclose(result, frames[index + behind, :3, 3], atol=1e-9)
            tip = palm_frame[:3, :3] @ fingertip(finger, values) + palm_frame[:3, 3]
            assert_allclose(data.site(names.tip_site(finger.name)).xpos, tip, atol=1e-9)
        for digit in hand.soft_fingers:
            count = len(names.soft_joint_names(digit))
            values, rest = rest[:count], rest[count:]
            base = palm_frame @ transform(digit.base.position, digit.base.quaternion)
            points = joint_positions(digit.finger, values) @ base[:3, :3].T + base[:3, 3]
            assert_allclose(data.site(names.tip_site(digit.name)).xpos, points[-1], atol=1e-9)
            for index, point in enumerate(points[:-1], start=1):
                result = data.body(names.soft_link(digit.name, index)).xpos
                assert_allclose(result, point, atol=1e-9)


@pytest.mark.filterwarnings("ignore:hand .* overlap:softgrasp.errors.SoftgraspWarning")
@pytest.mark.parametrize("name", assets.names("hands"))
def test_kinematics_of_shipped_hands(name: str) -> None:
    check_kinematics(sg.load_hand(name), sg.Pose())


def test_kinematics_with_a_hand_pose() -> None:
    pose = sg.Pose(position=(0.1, -0.2, 0.3), quaternion=(0.5, 0.5, -0.5, 0.5))
    check_kinematics(sg.load_hand("four_finger"), pose)


def test_kinematics_of_modified_rows() -> None:
    rows = (
        {"theta": 0.3, "d": 0.01},
        {"a": 0.05, "alpha": 0.7, "d": 0.02},
        {"a": 0.04, "alpha": -1.1, "theta": -0.4},
    )
    check_kinematics(
        hand_of(finger_of(*rows, convention="modified", tip=(0.03, 0.0, 0.01))), sg.Pose()
    )


def test_kinematics_of_a_prismatic_joint() -> None:
    slide = {"joint": "prismatic", "limits": (0.0, 0.05), "a": 0.04, "alpha": 0.5}
    finger = finger_of({"a": 0.05}, slide, {"a": 0.03})
    hand = hand_of(finger)
    model = model_of(hand)
    joint = model.joint("F1_J2")
    assert joint.type[0] == mujoco.mjtJoint.mjJNT_SLIDE
    assert joint.range == pytest.approx((0, 0.05))
    values = [0.4, 0.02, -0.3]
    data = posed(model, hand, np.array(values))
    assert_allclose(data.site("F1_tip").xpos, fingertip(finger, values), atol=1e-9)


def test_rows_of_zero_length_have_no_geoms() -> None:
    finger = finger_of({"alpha": math.pi / 2}, {"a": 0.05}, {"a": 0.03})
    model = model_of(hand_of(finger))
    assert model.body("F1_P1").geomnum[0] == 0
    assert model.body("F1_P2").geomnum[0] == 1
    assert "F1_P1" not in sg.simulate(quick(hand_of(finger))).contact_bodies


def test_masses_and_inertias_are_those_of_the_solids() -> None:
    finger = finger_of({"a": 0.05, "radius": 0.008, "density": 2700}, {"a": 0.03, "mass": 0.02})
    model = model_of(hand_of(finger))
    volume = math.pi * 0.008**2 * 0.05 + 4 / 3 * math.pi * 0.008**3
    assert model.body("F1_P1").mass[0] == pytest.approx(2700 * volume)
    assert model.body("F1_P2").mass[0] == pytest.approx(0.02)
    assert model.body("F1_P1").ipos == pytest.approx((0.025, 0, 0))
    axial, across = sorted(model.body("F1_P1").inertia)[0], sorted(model.body("F1_P1").inertia)[1:]
    tube, ends = math.pi * 0.008**2 * 0.05, 4 / 3 * math.pi * 0.008**3
    assert axial == pytest.approx(2700 * (tube * 0.008**2 / 2 + 0.4 * ends * 0.008**2))
    assert across[0] == pytest.approx(across[1])


def test_phalanx_with_a_shape() -> None:
    shape, pose = sg.Cuboid(size=(0.04, 0.02, 0.01)), sg.Pose(position=(0.02, 0.005, 0))
    model = model_of(hand_of(finger_of({"a": 0.05, "shape": shape, "shape_pose": pose})))
    geom = model.geom("F1_P1")
    assert geom.type[0] == mujoco.mjtGeom.mjGEOM_BOX
    assert geom.size == pytest.approx((0.02, 0.01, 0.005))
    assert geom.pos == pytest.approx((0.02, 0.005, 0))
    assert model.body("F1_P1").mass[0] == pytest.approx(1000 * 0.04 * 0.02 * 0.01)


# A wedge with its corner at the origin, 40 × 20 × 10 mm, drawn in millimetres.
WEDGE = "\n".join((
    "v 0 0 0", "v 40 0 0", "v 0 20 0", "v 0 0 10", "v 40 0 10", "v 0 20 10",
    "f 1 3 2", "f 4 5 6", "f 1 2 5", "f 1 5 4", "f 2 3 6", "f 2 6 5", "f 3 1 4", "f 3 4 6",
))  # fmt: skip
HAND_WITH_MESHES = """\
name: wedge
units: {length: mm, angle: deg}
convention: standard
fingers:
  - name: F1
    base: {position: [60, 0, 0]}
    phalanges:
      - a: 40
        density: 1000
        shape: {type: mesh, file: wedge.obj, units: mm}
        shape_pose: {position: [5, 0, 0], euler: [0, 0, 90]}
palm: {kind: shape, shape: {type: mesh, file: wedge.obj, units: mm}, pose: {position: [0, 0, -5]}}
grasps:
  power: {center: [0, 0, -500], rates: 10}
  precision: {center: [0, 0, -500], rates: 10}
"""


def test_mesh_poses_of_phalanx_and_palm(tmp_path: Path) -> None:
    """The file frame is at ``shape_pose``; mass and inertia are those of the mesh."""
    (tmp_path / "wedge.obj").write_text(WEDGE)
    (tmp_path / "hand.yaml").write_text(HAND_WITH_MESHES)
    hand = sg.load_hand(tmp_path / "hand.yaml")
    model = model_of(hand)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert model.body("F1_P1").mass[0] == pytest.approx(1000 * 0.5 * 0.04 * 0.02 * 0.01)
    # the centroid (40/3, 20/3, 5) mm turned by 90 deg about z and shifted by 5 mm
    assert_allclose(data.body("F1_P1").xipos, [0.06 + 0.005 - 0.02 / 3, 0.04 / 3, 0.005])
    for name, low, high in (
        ("palm", (0, 0, -0.005), (0.04, 0.02, 0.005)),
        ("F1_P1", (0.045, 0, 0), (0.065, 0.04, 0.01)),
    ):
        corners = vertices_of(model, data, name)
        assert_allclose(corners.min(axis=0), low, atol=1e-7)
        assert_allclose(corners.max(axis=0), high, atol=1e-7)
    assert hand == sg.load_hand(tmp_path / "hand.yaml")
    assert Path(hand.palm.shape.file).is_absolute()  # type: ignore[union-attr]


def vertices_of(model: mujoco.MjModel, data: mujoco.MjData, geom: str) -> np.ndarray:
    mesh = model.mesh(int(model.geom(geom).dataid[0]))
    first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
    vertices = model.mesh_vert[first : first + count]
    return vertices @ data.geom(geom).xmat.reshape(3, 3).T + data.geom(geom).xpos


def test_joint_with_coincident_limits_is_locked() -> None:
    """The middle finger of human_24dof cannot abduct: [0, 0] deg."""
    model = model_of(hand_of(finger_of({"a": 0.05, "limits": (0.2, 0.2), "start": 0.2})))
    low, high = model.joint("F1_J1").range
    assert low == 0.2
    assert high - low == pytest.approx(LOCKED)


def test_servo_force_is_gain_times_error_up_to_the_limit() -> None:
    row = {"a": 0.05, "servo_stiffness": 5.0, "force_limit": 0.7, "armature": 2e-3, "damping": 0.02}
    model = model_of(hand_of(finger_of(row)))
    servo = model.actuator("F1_J1")
    assert servo.gainprm[0] == 5.0
    assert servo.biasprm[1] == -5.0
    inertia = 2e-3 + model.body("F1_P1").inertia.max() + model.body("F1_P1").mass[0] * 0.025**2
    assert servo.biasprm[2] == pytest.approx(-2 * math.sqrt(5.0 * inertia), rel=1e-6)
    assert servo.forcerange == pytest.approx((-0.7, 0.7))
    assert model.dof_armature[0] == 2e-3
    assert model.dof_damping[0] == 0.02


def test_prescribed_joints_have_no_servo_force() -> None:
    model = model_of(hand_of(finger_of({"a": 0.05})), actuation="prescribed")
    assert model.actuator("F1_J1").gainprm[0] == 0
    assert model.dof_armature[0] == PRESCRIBED_ARMATURE
    assert not model.joint("F1_J1").limited[0]


def test_self_contact_pairs() -> None:
    """Links next to a row without a body are neighbours too; fingers can touch each other."""
    rows = ({"alpha": math.pi / 2}, {"a": 0.05}, {"a": 0.03}, {"a": 0.02})
    left = finger_of(*rows, name="L", base=sg.Pose(position=(-0.05, 0.05, 0)))
    right = finger_of(*rows, name="R", base=sg.Pose(position=(0.05, 0, 0)))
    model = model_of(hand_of(left, right))
    pairs = {model.pair(index).name for index in range(model.npair)}
    own = {pair for pair in pairs if "object" not in pair}
    assert "palm|L_P2" not in own
    assert "L_P2|L_P3" not in own
    assert own >= {"palm|L_P3", "palm|R_P4", "L_P2|L_P4", "L_P2|R_P2", "L_P4|R_P4"}
    assert {f"{body}|object" for body in ("palm", "L_P2", "R_P4")} <= pairs
    assert model_of(hand_of(left, right), self_contact=False).npair == len(pairs - own)


def quick(hand: sg.Hand) -> sg.GraspScene:
    return sg.GraspScene(hand=hand, object=ball(), duration=0.01)


# Palms


RADIUS = 0.008
BASES = st.lists(
    st.tuples(*[st.floats(-0.08, 0.08).map(lambda value: round(value, 3))] * 3),
    min_size=2,
    max_size=6,
    unique=True,
)


def hand_at(*bases: tuple[float, float, float], palm: sg.description.Palm | None = None) -> sg.Hand:
    """Return a hand with one straight finger along -z at each base."""
    down = (math.sqrt(0.5), 0, math.sqrt(0.5), 0)
    row = sg.description.Phalanx(a=0.04, radius=RADIUS, density=1000, limits=(-0.5, 1.5))
    preset = sg.description.GraspPreset(center=(0, 0, -0.5), rates=0.0)
    return sg.Hand(
        name="test",
        palm=palm or sg.description.Palm(),
        grasps=sg.description.Grasps(power=preset, precision=preset),
        fingers=tuple(
            sg.description.Finger(
                name=f"F{index}",
                convention="standard",
                base=sg.Pose(position=base, quaternion=down),
                phalanges=(row,),
            )
            for index, base in enumerate(bases)
        ),
    )


def palm_model_of(hand: sg.Hand) -> mujoco.MjModel:
    return sg.compile_model(sg.GraspScene(hand=hand, object=ball(), self_contact=False))


def has_palm(hand: sg.Hand) -> bool:
    return mujoco.mj_name2id(palm_model_of(hand), mujoco.mjtObj.mjOBJ_GEOM, PALM) >= 0


@settings(max_examples=25, deadline=None)
@given(BASES)
def test_palm_contains_all_bases_with_a_margin(bases: list[tuple[float, float, float]]) -> None:
    points = palm_points(hand_at(*bases))
    margin = MARGIN_PER_RADIUS * RADIUS
    hull = ConvexHull(points)
    inside = hull.equations[:, :3] @ np.array(bases).T + hull.equations[:, 3:]
    assert inside.max() < -0.8 * margin  # each base lies well inside every face
    distance = np.linalg.norm(points[:, None] - np.array(bases)[None], axis=2).min(axis=1)
    assert distance.max() <= margin * (1 + 1e-9)


def test_no_palm_for_coincident_bases_and_where_none_is_described() -> None:
    assert palm_points(hand_at((0, 0, 0), (0, 0, 5e-5))) is None
    assert not has_palm(hand_at((0.01, 0, 0), (0.01, 0, 0)))
    assert not has_palm(hand_at((0, 0, 0)))
    assert not has_palm(hand_at((-0.05, 0, 0), (0.05, 0, 0), palm=sg.description.Palm(kind="none")))


def test_palm_with_a_shape() -> None:
    shape, pose = sg.Cylinder(radius=0.06, height=0.01), sg.Pose(position=(0, 0, 0.02))
    palm = sg.description.Palm(kind="shape", shape=shape, pose=pose)
    for bases in ([(-0.05, 0, 0), (0.05, 0, 0)], [(0, 0, 0), (0, 0, 0)]):
        geom = palm_model_of(hand_at(*bases, palm=palm)).geom(PALM)
        assert geom.type[0] == mujoco.mjtGeom.mjGEOM_CYLINDER
        assert geom.size[:2] == pytest.approx((0.06, 0.005))
        assert geom.pos == pytest.approx((0, 0, 0.02))


def test_palm_margin() -> None:
    bases = [(-0.05, 0, 0), (0.05, 0, 0), (0, 0.06, 0)]
    points = palm_points(hand_at(*bases, palm=sg.description.Palm(margin=0.02)))
    assert np.ptp(points[:, 2]) == pytest.approx(0.04)  # type: ignore[index]


def test_palm_vertices() -> None:
    """MuJoCo moves a mesh into its inertial frame; its vertices must not move."""
    hand = hand_at((-0.05, 0.01, 0.03), (0.05, 0.02, 0.01), (0.01, 0.06, -0.02))
    model = palm_model_of(hand)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    vertices = model.mesh_vert @ data.geom(PALM).xmat.reshape(3, 3).T + data.geom(PALM).xpos
    expected = palm_points(hand)
    for axis in range(3):
        assert np.sort(vertices[:, axis]) == pytest.approx(np.sort(expected[:, axis]), abs=1e-7)


@pytest.mark.parametrize("kind", ["auto", "shape"])
def test_palm_contact_is_established(kind: str) -> None:
    """A ball at rest on the palm is touching, then established."""
    palm = sg.description.Palm()
    if kind == "shape":
        palm = sg.description.Palm(
            kind="shape", shape=sg.Cuboid(size=(0.12, 0.12, 2 * 0.9 * RADIUS))
        )
    hand = hand_at((-0.05, -0.05, 0), (0.05, -0.05, 0), (0, 0.06, 0), palm=palm)
    top = 0.9 * RADIUS
    result = sg.simulate(
        sg.GraspScene(
            hand=hand, object=ball(), object_position=(0, 0, top + 0.03), gravity=True, duration=0.2
        )
    )
    contact = result.contact_of(PALM)
    assert (contact.finger, contact.phalanx) == ("", "")
    assert contact.in_contact
    assert contact.normal == pytest.approx((0, 0, 1), abs=1e-6)
    assert contact.point_m[2] == pytest.approx(top, abs=1e-4)
    weight = 700 * 4 / 3 * math.pi * 0.03**3 * 9.81
    assert contact.normal_force_N == pytest.approx(weight, rel=0.02)
    assert [event.kind for event in result.events if event.body == PALM][:2] == [
        "touching",
        "established",
    ]


# Models of a sweep


def content(scene: sg.GraspScene) -> bytes:
    """Return all bytes of the model of a scene."""
    model = compile_scene(scene).model
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


@pytest.mark.parametrize("hand", ["four_finger", "human_24dof", "soft_gripper"])
def test_cached_models_are_byte_identical(hand: str) -> None:
    scenes = [
        sg.GraspScene(
            hand=sg.load_hand(hand), object=sg.load_object(obj), gravity=gravity, adapt_grasp=False
        )
        for obj in ("sphere", "cuboid", "cylinder")
        for gravity in (True, False)
    ]
    fresh = []
    for scene in scenes:
        carry_hand.cache_clear()
        fresh.append(content(scene))
    assert [content(scene) for scene in scenes] == fresh
    assert len(set(fresh)) == len(fresh)
