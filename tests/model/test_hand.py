"""Hands in MJCF in a scene: nothing of theirs is changed that is not told."""

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
from softgrasp.backends.webots.world import hand_world
from softgrasp.continuum.statics import joint_positions
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.mechanics.transforms import transform
from softgrasp.model import effective_mass, names
from softgrasp.model.arm import carried_hand
from softgrasp.model.hand import LOCKED, MARGIN_PER_RADIUS, PRESCRIBED_ARMATURE, palm_points, settle
from softgrasp.model.names import PALM
from softgrasp.model.scene import build
from tests.support.kinematics import fingertip
from tests.support.mjcf_hands import ALLEGRO, LOOP, MOTORS, TENDON, WRIST, written
from tests.support.outside import outside_file
from tests.support.scenes import ball

TEXTS = {"tendon": TENDON, "motors": MOTORS, "wrist": WRIST, "loop": LOOP}


@pytest.fixture(params=[*TEXTS, "allegro"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "allegro":
        return outside_file(ALLEGRO)
    return written(tmp_path, TEXTS[request.param])


def scene_of(hand: sg.Hand, **changes: object) -> sg.GraspScene:
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), density=700.0)
    return sg.GraspScene(hand=hand, object=ball, **changes)


def own_joints(own: mujoco.MjModel) -> list[int]:
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    return [j for j in range(own.njnt) if int(own.jnt_type[j]) in kinds]


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_bodies_stand_where_the_users_model_has_them(file: Path) -> None:
    hand = sg.load_hand(file)
    prefix = hand.model.prefix
    own, built = mujoco.MjModel.from_xml_path(str(file)), build(scene_of(hand)).model
    ours, theirs = mujoco.MjData(built), mujoco.MjData(own)
    frame = transform(hand.model.pose.position, hand.model.pose.quaternion)
    random = np.random.default_rng(1)
    for _ in range(5):
        theirs.qpos[:] = own.qpos0
        if own.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:  # the scene leaves it out
            theirs.qpos[:7] = [0, 0, 0, *own.body_quat[1]]
        for joint in own_joints(own):
            value = random.uniform(-1.0, 1.0)
            theirs.qpos[own.jnt_qposadr[joint]] = value
            ours.qpos[built.joint(prefix + own.joint(joint).name).qposadr[0]] = value
        mujoco.mj_kinematics(own, theirs)
        mujoco.mj_kinematics(built, ours)
        for body in range(1, own.nbody):
            result = built.body(prefix + own.body(body).name).id
            position = frame[:3, :3] @ theirs.xpos[body] + frame[:3, 3]
            np.testing.assert_allclose(ours.xpos[result], position, atol=1e-9)
            rotated = frame[:3, :3] @ theirs.xmat[body].reshape(3, 3)
            np.testing.assert_allclose(ours.xmat[result].reshape(3, 3), rotated, atol=1e-9)


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_masses_actuators_tendons_and_equalities_are_the_users(file: Path) -> None:
    hand = sg.load_hand(file)
    prefix = hand.model.prefix
    own, built = mujoco.MjModel.from_xml_path(str(file)), build(scene_of(hand)).model
    for body in range(1, own.nbody):
        result = built.body(prefix + own.body(body).name)
        assert result.mass[0] == own.body_mass[body]
        np.testing.assert_array_equal(result.inertia, own.body_inertia[body])
    count = own.nu
    for name in ("gainprm", "biasprm", "ctrlrange", "forcerange", "gear", "ctrllimited"):
        ours, theirs = (getattr(m, f"actuator_{name}")[:count] for m in (built, own))
        # a damping ratio is resolved with masses that are equal but for the order of sums
        np.testing.assert_allclose(ours, theirs, rtol=1e-14 if name == "biasprm" else 0.0)
    assert built.ntendon == own.ntendon
    np.testing.assert_array_equal(built.wrap_prm, own.wrap_prm)
    assert built.neq == own.neq
    np.testing.assert_allclose(built.eq_data, own.eq_data, atol=1e-16)
    for joint in own_joints(own):
        name = own.joint(joint).name
        ours, theirs = built.joint(prefix + name), own.joint(name)
        for field in ("range", "damping", "armature", "stiffness", "frictionloss"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_rows_tell_where_the_bodies_of_the_model_are(file: Path) -> None:
    hand = sg.load_hand(file)
    model = build(scene_of(hand)).model
    data = mujoco.MjData(model)
    random = np.random.default_rng(2)
    joints = {f.joint_of(row): random.uniform(-1, 1) for f in hand.fingers for row in f.phalanges}
    for name, value in joints.items():
        data.qpos[model.joint(name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)
    frames = link_frames(hand, joints)
    for finger in hand.fingers:
        for row in finger.phalanges:
            frame, joint = frames[finger.body_of(row)], model.joint(finger.joint_of(row)).id
            np.testing.assert_allclose(frame[:3, 2], data.xaxis[joint], atol=1e-9)
            way = frame[:3, 3] - data.xanchor[joint]
            if row.joint == "revolute":
                np.testing.assert_allclose(np.cross(way, frame[:3, 2]), 0.0, atol=1e-9)
    total = sum(row.inertial.mass for f in hand.fingers for row in f.phalanges if row.inertial)
    palm = hand.model.palm
    moved = model.body_weldid[model.body(palm).id] != 0
    fixed = sum(model.body_mass[b] for b in range(model.nbody) if model.body_weldid[b] == 0)
    objects = model.body("object").mass[0]
    assert total == pytest.approx(model.body_mass.sum() - objects - fixed, rel=1e-9)
    assert moved == (file.read_text() == WRIST)


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_only_explicit_converted_pairs_touch(file: Path) -> None:
    hand = sg.load_hand(file)
    built = build(scene_of(hand))
    model = built.model
    can = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    assert not can.any()
    assert model.npair > 0
    assert (model.pair_solref[:, 0] < 0).all()
    names = {model.pair(index).name for index in range(model.npair)}
    obj = {name for name in names if name.endswith("|object")}
    geoms = [g for b in hand.model.touching for g in _geoms(model, b)]
    assert len(obj) == len(geoms)


def _geoms(model: mujoco.MjModel, body: str) -> list[int]:
    first, count = model.body(body).geomadr[0], model.body(body).geomnum[0]
    return [g for g in range(first, first + count) if model.geom_group[g] in (0, 3)]


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_self_pairs_are_those_that_mujoco_would_make(tmp_path: Path) -> None:
    """All joints are swept at random; what MuJoCo finds touching in the user's file has a pair.

    A fixed body and the one that turns on it are neighbours here, as all others are in MuJoCo.
    """
    file = written(tmp_path, WRIST)
    hand = sg.load_hand(file)
    own, built = mujoco.MjModel.from_xml_path(str(file)), build(scene_of(hand)).model
    pairs = {
        frozenset(built.geom_bodyid[g] for g in pair)
        for pair in zip(built.pair_geom1, built.pair_geom2, strict=True)
    }
    data, random, seen = mujoco.MjData(own), np.random.default_rng(0), set()
    for _ in range(300):
        low, high = own.jnt_range.T
        data.qpos[:] = random.uniform(low, high)
        mujoco.mj_forward(own, data)
        for contact in data.contact:
            bodies = [own.body(int(own.geom_bodyid[g])).name for g in contact.geom]
            seen.add(frozenset(built.body(hand.model.prefix + body).id for body in bodies))
    seen.discard(frozenset(built.body(f"wristed_{name}").id for name in ("forearm", "wrist")))
    assert len(seen) > 3
    assert seen <= pairs


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_excluded_bodies_get_no_pair(tmp_path: Path) -> None:
    crossing = TENDON.replace('<exclude body1="l" body2="r"/>', "")
    for text, target in ((TENDON, False), (crossing, True)):
        model = build(scene_of(sg.load_hand(written(tmp_path, text, f"{target}.xml")))).model
        names = {model.pair(index).name for index in range(model.npair)}
        assert ("l|r" in names) is target


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_names_of_the_scene_put_a_prefix_before_all_of_a_file(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, WRIST))
    assert hand.model.prefix == "wristed_"
    assert hand.model.palm == "wristed_palm"
    lifted = scene_of(hand, lift=sg.description.Lift(), gravity=True)
    model = build(lifted).model
    assert {"wrist", "wristed_wrist"} <= {model.joint(j).name for j in range(model.njnt)}


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_the_start_obeys_the_equalities_of_a_linkage(tmp_path: Path) -> None:
    built = build(scene_of(sg.load_hand(written(tmp_path, LOOP))))
    model, data = built.model, mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.qpos[model.joint("crank").qposadr[0]] = 0.4
    data.qpos[:] = settle(model, built.scene.hand, np.array(data.qpos))
    mujoco.mj_forward(model, data)
    rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    assert rows.sum() == 3
    np.testing.assert_allclose(data.efc_pos[rows], 0.0, atol=1e-9)
    assert data.qpos[model.joint("crank").qposadr[0]] == 0.4
    # a parallelogram: the pad keeps its direction
    np.testing.assert_allclose(data.body("pad").xmat, data.body("base").xmat, atol=1e-9)


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_prescribed_joints_obey_their_targets(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, LOOP))
    result = sg.simulate(scene_of(hand, actuation="prescribed", duration=0.3))
    crank = result.joint_position[:, list(result.joint_names).index("crank")]
    target = result.joint_target[:, list(result.actuator_names).index("close")]
    np.testing.assert_allclose(crank[1:], target[:-1], atol=2e-3)


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_a_tendon_cannot_be_prescribed(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, TENDON))
    with pytest.raises(sg.DescriptionError) as refused:
        scene_of(hand, actuation="prescribed")
    assert str(refused.value) == (
        "actuation: expected 'servo': the target of actuator 'drive' of 'two' is no joint's "
        "variable that could be prescribed; found 'prescribed'"
    )


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_webots_worlds_refuse_the_model(tmp_path: Path) -> None:
    file = written(tmp_path, MOTORS)
    with pytest.raises(sg.BuildError) as refused:
        hand_world(sg.load_hand(file), 2e-3, ())
    assert str(refused.value) == (
        "hand 'motors': expected one that is described by its joints, found the MuJoCo model "
        f"{file}, whose actuators only MuJoCo runs"
    )


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_the_same_spec_serves_many_grasps_and_keeps_its_meshes(tmp_path: Path) -> None:
    vertices = "0 0 0  .02 0 0  0 .02 0  0 0 .03  .02 .02 .03"
    asset = f'<asset><mesh name="m" vertex="{vertices}"/></asset>'
    meshed = MOTORS.replace("<worldbody>", f"{asset}<worldbody>", 1)
    meshed = meshed.replace('type="box" size=".05 .02 .01"', 'type="mesh" mesh="m"', 1)
    hand = sg.load_hand(written(tmp_path, meshed))
    first, second = (sg.compile_model(scene_of(hand)) for _ in range(2))
    assert first.nmesh == second.nmesh == 1
    np.testing.assert_array_equal(first.mesh_vert, second.mesh_vert)


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_a_saved_model_reads_back(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, TENDON))
    again = mujoco.MjModel.from_xml_string(sg.to_mjcf(scene_of(hand)))
    model = sg.compile_model(scene_of(hand))
    assert (again.nu, again.ntendon, again.neq) == (model.nu, model.ntendon, model.neq)
    np.testing.assert_allclose(again.actuator_gainprm, model.actuator_gainprm, rtol=1e-5)


# --------------------
# Hands in MuJoCo: the same kinematics as ours, masses, joints and who can touch whom.


POSTURES = 5


def hand_of(*fingers: sg.description.Finger, palm: sg.description.Palm | None = None) -> sg.Hand:
    """A hand of these fingers whose object stays far away."""
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
    return sg.compile_model(sg.GraspScene(hand=hand, object=ball(), **changes))


def posed(model: mujoco.MjModel, hand: sg.Hand, joints: np.ndarray) -> mujoco.MjData:
    data = mujoco.MjData(model)
    for name, value in zip(names.joint_names(hand), joints, strict=True):
        data.qpos[model.joint(name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)
    return data


def check_kinematics(hand: sg.Hand, pose: sg.Pose) -> None:
    """Every body and fingertip of the model stands where our kinematics puts it."""
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
            behind = 1 if finger.convention == "modified" else 0
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
def test_the_model_of_a_shipped_hand_moves_as_its_table_says(name: str) -> None:
    check_kinematics(sg.load_hand(name), sg.Pose())


def test_the_model_moves_with_the_pose_of_the_hand() -> None:
    pose = sg.Pose(position=(0.1, -0.2, 0.3), quaternion=(0.5, 0.5, -0.5, 0.5))
    check_kinematics(sg.load_hand("four_finger"), pose)


def test_modified_rows_move_as_their_table_says() -> None:
    rows = (
        {"theta": 0.3, "d": 0.01},
        {"a": 0.05, "alpha": 0.7, "d": 0.02},
        {"a": 0.04, "alpha": -1.1, "theta": -0.4},
    )
    check_kinematics(
        hand_of(finger_of(*rows, convention="modified", tip=(0.03, 0.0, 0.01))), sg.Pose()
    )


def test_a_prismatic_joint_slides_in_the_model_too() -> None:
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


def test_rows_of_zero_length_carry_no_body_that_touches() -> None:
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


def test_a_phalanx_can_have_a_shape_of_its_own() -> None:
    shape, pose = sg.Cuboid(size=(0.04, 0.02, 0.01)), sg.Pose(position=(0.02, 0.005, 0))
    model = model_of(hand_of(finger_of({"a": 0.05, "shape": shape, "shape_pose": pose})))
    geom = model.geom("F1_P1")
    assert geom.type[0] == mujoco.mjtGeom.mjGEOM_BOX
    assert geom.size == pytest.approx((0.02, 0.01, 0.005))
    assert geom.pos == pytest.approx((0.02, 0.005, 0))
    assert model.body("F1_P1").mass[0] == pytest.approx(1000 * 0.04 * 0.02 * 0.01)


# A wedge with its corner at the origin, 40 × 20 × 10 mm, drawn in millimetres.
WEDGE = """\
v 0 0 0
v 40 0 0
v 0 20 0
v 0 0 10
v 40 0 10
v 0 20 10
f 1 3 2
f 4 5 6
f 1 2 5
f 1 5 4
f 2 3 6
f 2 6 5
f 3 1 4
f 3 4 6
"""
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


def test_meshes_of_phalanx_and_palm_stand_where_their_files_draw_them(tmp_path: Path) -> None:
    """The frame of the file is put at ``shape_pose``; mass and inertia come from the mesh."""
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
    result = model.geom(geom)
    mesh = model.mesh(int(result.dataid[0]))
    first, count = int(mesh.vertadr[0]), int(mesh.vertnum[0])
    vertices = model.mesh_vert[first : first + count]
    return vertices @ data.geom(geom).xmat.reshape(3, 3).T + data.geom(geom).xpos


def test_a_joint_whose_limits_coincide_is_locked() -> None:
    """The middle finger of human_24dof cannot abduct: [0, 0] deg."""
    model = model_of(hand_of(finger_of({"a": 0.05, "limits": (0.2, 0.2), "start": 0.2})))
    low, high = model.joint("F1_J1").range
    assert low == 0.2
    assert high - low == pytest.approx(LOCKED)


def test_servos_push_with_their_gain_up_to_their_limit() -> None:
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


def test_prescribed_joints_have_no_servo_and_do_not_yield() -> None:
    model = model_of(hand_of(finger_of({"a": 0.05})), actuation="prescribed")
    assert model.actuator("F1_J1").gainprm[0] == 0
    assert model.dof_armature[0] == PRESCRIBED_ARMATURE
    assert not model.joint("F1_J1").limited[0]


def test_neighbours_along_a_finger_do_not_touch_and_all_others_do() -> None:
    """Links around a row without a body are neighbours too; fingers can touch one another."""
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


# --------------------
# The palm: a solid around any number of finger bases, none, or a shape; it senses contact.


RADIUS = 0.008
BASES = st.lists(
    st.tuples(*[st.floats(-0.08, 0.08).map(lambda value: round(value, 3))] * 3),
    min_size=2,
    max_size=6,
    unique=True,
)


def hand_at(*bases: tuple[float, float, float], palm: sg.description.Palm | None = None) -> sg.Hand:
    """A hand with one straight finger along -z at each base."""
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
def test_a_palm_holds_all_bases_and_reaches_a_margin_beyond(
    bases: list[tuple[float, float, float]],
) -> None:
    points = palm_points(hand_at(*bases))
    assert points is not None
    margin = MARGIN_PER_RADIUS * RADIUS
    hull = ConvexHull(points)
    inside = hull.equations[:, :3] @ np.array(bases).T + hull.equations[:, 3:]
    assert inside.max() < -0.8 * margin  # each base lies well inside every face
    distance = np.linalg.norm(points[:, None] - np.array(bases)[None], axis=2).min(axis=1)
    assert distance.max() <= margin * (1 + 1e-9)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_any_number_of_fingers_has_a_palm_that_compiles(count: int) -> None:
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    bases = [(0.05 * math.cos(angle), 0.05 * math.sin(angle), 0.0) for angle in angles]
    hand = hand_at(*bases)
    model = palm_model_of(hand)
    assert model.geom(PALM).type[0] == mujoco.mjtGeom.mjGEOM_MESH
    height = np.ptp(palm_points(hand)[:, 2])  # type: ignore[index]
    assert height == pytest.approx(2 * MARGIN_PER_RADIUS * RADIUS, rel=1e-6)


def test_there_is_no_palm_where_the_bases_coincide() -> None:
    assert palm_points(hand_at((0, 0, 0), (0, 0, 5e-5))) is None
    assert not has_palm(hand_at((0.01, 0, 0), (0.01, 0, 0)))
    assert not has_palm(hand_at((0, 0, 0)))


def test_a_palm_can_be_left_out() -> None:
    assert not has_palm(hand_at((-0.05, 0, 0), (0.05, 0, 0), palm=sg.description.Palm(kind="none")))


def test_a_palm_can_be_a_shape() -> None:
    shape, pose = sg.Cylinder(radius=0.06, height=0.01), sg.Pose(position=(0, 0, 0.02))
    palm = sg.description.Palm(kind="shape", shape=shape, pose=pose)
    for bases in ([(-0.05, 0, 0), (0.05, 0, 0)], [(0, 0, 0), (0, 0, 0)]):
        geom = palm_model_of(hand_at(*bases, palm=palm)).geom(PALM)
        assert geom.type[0] == mujoco.mjtGeom.mjGEOM_CYLINDER
        assert geom.size[:2] == pytest.approx((0.06, 0.005))
        assert geom.pos == pytest.approx((0, 0, 0.02))


def test_the_margin_of_a_palm_can_be_given() -> None:
    bases = [(-0.05, 0, 0), (0.05, 0, 0), (0, 0.06, 0)]
    points = palm_points(hand_at(*bases, palm=sg.description.Palm(margin=0.02)))
    assert np.ptp(points[:, 2]) == pytest.approx(0.04)  # type: ignore[index]


def test_the_palm_stands_where_its_points_are() -> None:
    """MuJoCo moves a mesh into its own frame; what is drawn and touched must not move."""
    hand = hand_at((-0.05, 0.01, 0.03), (0.05, 0.02, 0.01), (0.01, 0.06, -0.02))
    model = palm_model_of(hand)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    vertices = model.mesh_vert @ data.geom(PALM).xmat.reshape(3, 3).T + data.geom(PALM).xpos
    expected = palm_points(hand)
    assert expected is not None
    for axis in range(3):
        assert np.sort(vertices[:, axis]) == pytest.approx(np.sort(expected[:, axis]), abs=1e-7)


@pytest.mark.parametrize("kind", ["auto", "shape"])
def test_the_palm_senses_contact_like_a_phalanx(kind: str) -> None:
    """A ball that presses on the palm with its weight is touching, then established."""
    palm = sg.description.Palm()
    if kind == "shape":
        palm = sg.description.Palm(
            kind="shape", shape=sg.Cuboid(size=(0.12, 0.12, 2 * 0.9 * RADIUS))
        )
    hand = hand_at((-0.05, -0.05, 0), (0.05, -0.05, 0), (0, 0.06, 0), palm=palm)
    top = 0.9 * RADIUS
    result = sg.simulate(
        sg.GraspScene(
            hand=hand,
            object=ball(),
            object_position=(0, 0, top + 0.03),
            gravity=True,
            duration=0.2,
        )
    )
    contact = result.contact_of(PALM)
    assert (contact.finger, contact.phalanx) == ("", "")
    assert contact.in_contact
    assert contact.normal == pytest.approx((0, 0, 1), abs=1e-6)
    assert contact.point_m is not None
    assert contact.point_m[2] == pytest.approx(top, abs=1e-4)
    weight = 700 * 4 / 3 * math.pi * 0.03**3 * 9.81
    assert contact.normal_force_N == pytest.approx(weight, rel=0.02)
    assert [event.kind for event in result.events if event.body == PALM][:2] == [
        "touching",
        "established",
    ]


# --------------------
# What grasps of a sweep share changes no model.


def content(scene: sg.GraspScene) -> bytes:
    """All bytes of a scene's model."""
    model = build(scene).model
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


@pytest.mark.parametrize("hand", ["four_finger", "human_24dof", "soft_gripper"])
def test_models_are_the_same_bytes_whatever_was_built_before(hand: str) -> None:
    scenes = [
        sg.GraspScene(hand=sg.load_hand(hand), object=sg.load_object(obj), gravity=gravity)
        for obj in ("sphere", "cuboid", "cylinder")
        for gravity in (True, False)
    ]
    fresh = []
    for scene in scenes:
        effective_mass._CACHE.clear()
        carried_hand.cache_clear()
        fresh.append(content(scene))
    assert [content(scene) for scene in scenes] == fresh
    assert len(set(fresh)) == len(fresh)
