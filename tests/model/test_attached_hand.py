"""Attached hand models from MJCF: kinematics, masses, contacts and servos as in the file."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.backends.webots.world import hand_world
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.mechanics.transforms import transform
from softgrasp.model.hand import settle
from softgrasp.pipeline import compile_scene
from tests.conftest import Golden
from tests.support.mjcf_hands import ALLEGRO, LOOP, MOTORS, TENDON, WRIST, written
from tests.support.outside import outside_file

pytestmark = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
TEXTS = {"tendon": TENDON, "motors": MOTORS, "wrist": WRIST, "loop": LOOP}


@pytest.fixture(scope="module", params=[*TEXTS, "allegro"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "allegro":
        return outside_file(ALLEGRO)
    return written(tmp_path_factory.mktemp(request.param), TEXTS[request.param])


@pytest.fixture(scope="module")
def hand(file: Path) -> sg.Hand:
    """The hand of a file, with synthesized grasps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.SoftgraspWarning)
        return sg.load_hand(file)


def scene_of(hand: sg.Hand, **changes: object) -> sg.GraspScene:
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), density=700.0)
    return sg.GraspScene(hand=hand, object=ball, **changes)


def own_joints(own: mujoco.MjModel) -> list[int]:
    kinds = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    return [j for j in range(own.njnt) if int(own.jnt_type[j]) in kinds]


@pytest.mark.slow
def test_body_poses_are_those_of_the_file(file: Path, hand: sg.Hand) -> None:
    prefix = hand.model.prefix
    own, built = mujoco.MjModel.from_xml_path(str(file)), compile_scene(scene_of(hand)).model
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


def test_masses_actuators_tendons_and_equalities_are_those_of_the_file(
    file: Path, hand: sg.Hand
) -> None:
    prefix = hand.model.prefix
    own, built = mujoco.MjModel.from_xml_path(str(file)), compile_scene(scene_of(hand)).model
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


def test_phalanges_match_the_bodies_of_the_model(file: Path, hand: sg.Hand) -> None:
    model = compile_scene(scene_of(hand)).model
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
    moved = model.body_weldid[model.body(hand.model.palm).id] != 0
    fixed = sum(model.body_mass[b] for b in range(model.nbody) if model.body_weldid[b] == 0)
    objects = model.body("object").mass[0]
    assert total == pytest.approx(model.body_mass.sum() - objects - fixed, rel=1e-9)
    assert moved == (file.read_text() == WRIST)


def test_only_explicit_converted_pairs_touch(file: Path, hand: sg.Hand) -> None:
    model = compile_scene(scene_of(hand)).model
    assert not ((model.geom_contype != 0) | (model.geom_conaffinity != 0)).any()
    assert model.npair > 0
    assert (model.pair_solref[:, 0] < 0).all()
    names = {model.pair(index).name for index in range(model.npair)}
    obj = {name for name in names if name.endswith("|object")}
    assert len(obj) == len([g for b in hand.model.touching for g in _geoms(model, b)])


def _geoms(model: mujoco.MjModel, body: str) -> list[int]:
    first, count = model.body(body).geomadr[0], model.body(body).geomnum[0]
    return [g for g in range(first, first + count) if model.geom_group[g] in (0, 3)]


@pytest.mark.slow
def test_self_pairs_are_those_of_mujoco(tmp_path: Path) -> None:
    """All joints are swept at random; what MuJoCo finds touching in the user's file has a pair.

    A fixed body and the one that turns on it are neighbours here, as all others are in MuJoCo.
    """
    file = written(tmp_path, WRIST)
    hand = sg.load_hand(file)
    own, built = mujoco.MjModel.from_xml_path(str(file)), compile_scene(scene_of(hand)).model
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


@pytest.mark.slow
def test_excluded_bodies_get_no_pair(tmp_path: Path) -> None:
    crossing = TENDON.replace('<exclude body1="l" body2="r"/>', "")
    for text, target in ((TENDON, False), (crossing, True)):
        model = compile_scene(
            scene_of(sg.load_hand(written(tmp_path, text, f"{target}.xml")))
        ).model
        assert ("l|r" in {model.pair(index).name for index in range(model.npair)}) is target


@pytest.mark.slow
def test_name_collisions_add_a_prefix(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, WRIST))
    assert hand.model.prefix == "wristed_"
    assert hand.model.palm == "wristed_palm"
    model = compile_scene(scene_of(hand, lift=sg.description.Lift(), gravity=True)).model
    assert {"wrist", "wristed_wrist"} <= {model.joint(j).name for j in range(model.njnt)}


def test_start_satisfies_the_equalities_of_a_linkage(tmp_path: Path) -> None:
    built = compile_scene(scene_of(sg.load_hand(written(tmp_path, LOOP))))
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


@pytest.mark.slow
def test_prescribed_joints_follow_their_targets(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, LOOP))
    result = sg.simulate(scene_of(hand, actuation="prescribed", duration=0.3))
    crank = result.joint_position[:, list(result.joint_names).index("crank")]
    target = result.joint_target[:, list(result.actuator_names).index("close")]
    np.testing.assert_allclose(crank[1:], target[:-1], atol=2e-3)


def test_a_tendon_cannot_be_prescribed(tmp_path: Path, golden: Golden) -> None:
    hand = sg.load_hand(written(tmp_path, TENDON))
    golden.refused(lambda: scene_of(hand, actuation="prescribed"), "actuation")


def test_webots_worlds_reject_the_model(tmp_path: Path, golden: Golden) -> None:
    file = written(tmp_path, MOTORS)
    golden.refused(lambda: hand_world(sg.load_hand(file), 2e-3, ()), "hand 'motors'", sg.BuildError)


@pytest.mark.slow
def test_cached_spec_keeps_its_meshes(tmp_path: Path) -> None:
    vertices = "0 0 0  .02 0 0  0 .02 0  0 0 .03  .02 .02 .03"
    asset = f'<asset><mesh name="m" vertex="{vertices}"/></asset>'
    meshed = MOTORS.replace("<worldbody>", f"{asset}<worldbody>", 1)
    meshed = meshed.replace('type="box" size=".05 .02 .01"', 'type="mesh" mesh="m"', 1)
    hand = sg.load_hand(written(tmp_path, meshed))
    first, second = (sg.compile_model(scene_of(hand)) for _ in range(2))
    assert first.nmesh == second.nmesh == 1
    np.testing.assert_array_equal(first.mesh_vert, second.mesh_vert)


def test_saved_model_round_trips(tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, TENDON))
    again = mujoco.MjModel.from_xml_string(sg.to_mjcf(scene_of(hand)))
    model = sg.compile_model(scene_of(hand))
    assert (again.nu, again.ntendon, again.neq) == (model.nu, model.ntendon, model.neq)
    np.testing.assert_allclose(again.actuator_gainprm, model.actuator_gainprm, rtol=1e-5)
