"""Hands in the other convention: bodies, joint axes and fingertips stay where they are."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import softgrasp as sg
from softgrasp import assets
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import quaternion_of, rotate_about
from softgrasp.model.export import hand_robot
from softgrasp.model.hand import MASSLESS, add_hand, build_hand_spec
from softgrasp.model.robot import robot_model
from tests.support.kinematics import fingertip

RIGID = [name for name in assets.names("hands") if sg.load_hand(name).fingers]
ANGLE = st.floats(-math.pi, math.pi)
LENGTH = st.floats(-0.1, 0.1).filter(lambda value: value == 0 or abs(value) > 1e-6)
FEW = settings(max_examples=15, deadline=None)


def hand_of(finger: sg.description.Finger, **fields: object) -> sg.Hand:
    preset = sg.description.GraspPreset(center=(0, 0, 0), rates=1.0)
    return sg.Hand(
        name="one",
        fingers=(finger,),
        grasps=sg.description.Grasps(power=preset, precision=preset),
        **({"palm": sg.description.Palm(kind="none")} | fields),
    )


def model_of(hand: sg.Hand) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    add_hand(spec, hand, sg.Pose(), "servo")
    return spec.compile()


def assert_same_bodies(first: sg.Hand, second: sg.Hand, seed: int = 0) -> None:
    """Masses, centres of mass, geoms, joint axes, tips and the mass matrix, at random joints."""
    models = [model_of(first), model_of(second)]
    assert_allclose(models[0].body_mass, models[1].body_mass, rtol=1e-12)
    assert models[0].ngeom == models[1].ngeom
    generator = np.random.default_rng(seed)
    for _ in range(3):
        joints, result = generator.uniform(-0.5, 0.5, models[0].nq), []
        for model in models:
            data = mujoco.MjData(model)
            data.qpos[:] = joints
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_makeM(model, data)
            dense = np.zeros((model.nv, model.nv))
            mujoco.mj_fullM(model, data, dense)
            # an axis is a line: its direction, and its point that is nearest to the origin
            along = (data.xanchor * data.xaxis).sum(axis=1, keepdims=True)
            slides = model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE
            nearest = np.where(slides[:, None], 0.0, data.xanchor - along * data.xaxis)
            result.append(
                (data.xipos, data.geom_xpos, data.site_xpos, data.xaxis, nearest, 1e3 * dense)
            )
        for here, there in zip(*result, strict=True):
            assert_allclose(here, there, atol=1e-12)


@pytest.mark.parametrize("name", RIGID)
def test_a_shipped_hand_stays_what_it_is_and_comes_back_equal(name: str) -> None:
    hand = sg.load_hand(name)
    modified = sg.model.with_convention(hand, "modified")
    assert {finger.convention for finger in modified.fingers} == {"modified"}
    assert_same_bodies(hand, modified)
    again = sg.model.with_convention(modified, "standard")
    assert_same_bodies(hand, again)
    twisted = {finger.name: finger.phalanges[-1].alpha for finger in hand.fingers}
    if not any(twisted.values()):
        assert again == hand


@st.composite
def fingers(draw: st.DrawFn, convention: str) -> sg.description.Finger:
    """A finger of one to five rows that all have bodies, with any base."""
    count = draw(st.integers(1, 5))
    rows = [
        sg.description.Phalanx(
            a=draw(LENGTH),
            alpha=draw(ANGLE),
            d=draw(LENGTH),
            theta=draw(ANGLE),
            joint=draw(st.sampled_from(["revolute", "revolute", "prismatic"])),
            limits=(-0.5, 0.5),
            density=1000.0,
            radius=0.004,
            shape=draw(st.sampled_from([None, sg.Cuboid(size=(0.01, 0.02, 0.03))])),
            shape_pose=sg.Pose(position=(draw(LENGTH), 0.0, draw(LENGTH))),
        )
        for _ in range(count)
    ]
    rows = [row if row.shape or abs(row.a) > 0 or abs(row.d) > 0 else row.replace(a=0.03)
            for row in rows]  # fmt: skip
    tip = (0.0, 0.0, 0.0)
    if convention == "modified":
        tip = (draw(st.floats(0.01, 0.1)), draw(LENGTH), draw(LENGTH))
        ball = sg.Sphere(radius=0.01)
        rows = [row.replace(shape=row.shape or draw(st.sampled_from([None, ball]))) for row in rows]
    rotation = rotate_about("x", draw(ANGLE)) @ rotate_about("z", draw(ANGLE))
    base = sg.Pose(position=(draw(LENGTH), draw(LENGTH), 0.0), quaternion=quaternion_of(rotation))
    return sg.description.Finger(
        name="F", base=base, convention=convention, phalanges=tuple(rows), tip=tip
    )


@pytest.mark.parametrize("convention", ["standard", "modified"])
@FEW
@given(st.data())
def test_any_finger_keeps_its_tip_its_axes_and_its_bodies(
    convention: str, data: st.DataObject
) -> None:
    finger = data.draw(fingers(convention))
    other = {"standard": "modified", "modified": "standard"}[convention]
    hand = hand_of(finger)
    try:
        converted = sg.model.with_convention(hand, other)
    except sg.DescriptionError as refusal:
        assert not all(finger.has_body)
        assert "has no body, and would get one of" in str(refusal)  # noqa: PT017
        return
    joints = data.draw(st.lists(ANGLE, min_size=len(finger.phalanges),
                                max_size=len(finger.phalanges)))  # fmt: skip
    tips = [fingertip(one.fingers[0], joints) for one in (hand, converted)]
    assert_allclose(tips[0], tips[1], atol=1e-12)
    assert_same_bodies(hand, converted)


def test_rows_without_an_offset_become_plain_rows() -> None:
    """a and alpha move one row outwards, the last a becomes the tip; no shape is written."""
    rows = tuple(
        sg.description.Phalanx(a=a, alpha=alpha, density=1e3)
        for a, alpha in ((0.05, 1.0), (0.03, 0))
    )
    finger = sg.description.Finger(name="F", convention="standard", phalanges=rows)
    (result,) = sg.model.with_convention(hand_of(finger), "modified").fingers
    assert [(row.a, row.alpha, row.shape) for row in result.phalanges] == [
        (0.0, 0.0, None),
        (0.05, 1.0, None),
    ]
    assert result.tip == (0.03, 0.0, 0.0)
    assert result.link_ends == finger.link_ends


def test_a_row_that_would_get_a_body_is_refused() -> None:
    rows = (sg.description.Phalanx(), sg.description.Phalanx(a=0.03, d=0.02, density=1e3))
    finger = sg.description.Finger(name="F", convention="standard", phalanges=rows)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.model.with_convention(hand_of(finger), "modified")
    assert str(refused.value) == (
        "finger 'F': row 'P1' has no body, and would get one of 20 mm in the other convention, "
        "from the d of a row: expected d = 0 beside rows without a body; give the row a shape"
    )


def test_an_automatic_palm_that_changes_is_told() -> None:
    rows = (sg.description.Phalanx(a=0.03, d=0.02, density=1e3),)
    there = sg.Pose(position=(0.1, 0.0, 0.0))
    fingers = tuple(
        sg.description.Finger(name=name, base=base, convention="standard", phalanges=rows)
        for name, base in (("A", sg.Pose()), ("B", there))
    )
    hand = hand_of(fingers[0]).replace(fingers=fingers, palm=sg.description.Palm())
    with pytest.warns(sg.SoftgraspWarning, match="its automatic palm stands around the frames"):
        sg.model.with_convention(hand, "modified")


def test_no_such_convention() -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.model.with_convention(sg.load_hand("four_finger"), "craig")
    assert str(refused.value) == "convention: expected standard or modified, found 'craig'"


# --------------------
# Hands as URDF: frames, masses and inertias in other readers are those of our own models.


HANDS = assets.names("hands")
HAND_ROBOT_RIGID = [
    name for name in HANDS if not (sg.load_hand(name).soft_fingers or sg.load_hand(name).more_palms)
]


def odd_hand() -> sg.Hand:
    """A prismatic joint, modified rows, and shapes that URDF has not."""
    mesh = sg.Mesh(file=assets.portable_name(assets.root() / "objects/meshes/strawberry.obj"))
    rows = (
        sg.description.Phalanx(
            a=0.02,
            alpha=0.4,
            d=0.03,
            theta=0.2,
            joint="prismatic",
            limits=(0.0, 0.01),
            mass=0.05,
            name="tip",
        ),
        sg.description.Phalanx(
            a=0.03,
            alpha=-1.2,
            d=0.01,
            theta=-0.7,
            shape=mesh,
            density=300.0,
            shape_pose=sg.Pose(position=(0.01, 0.0, 0.0), quaternion=(1.0, 0.5, 0.0, 0.2)),
        ),
        sg.description.Phalanx(
            a=0.03, shape=sg.description.Ellipsoid(radii=(0.02, 0.01, 0.01)), density=900.0
        ),
    )
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
    """MuJoCo's own reading of a URDF, with all links as bodies."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    return spec.compile()


def inertia_of(model: mujoco.MjModel, body: str) -> np.ndarray:
    """Inertia (3, 3) of a body about its centre of mass in the axes of the body."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.body(body).iquat)
    axes = rotation.reshape(3, 3)
    return axes @ np.diag(model.body(body).inertia) @ axes.T


@pytest.mark.parametrize("name", [*HAND_ROBOT_RIGID, "odd"])
def test_others_find_every_frame_mass_and_inertia_where_ours_are(name: str, tmp_path: Path) -> None:
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
    """The tips are the last Denavit–Hartenberg frames, moved to the fingertips."""
    first = 0
    for finger in hand.fingers:
        count = len(finger.phalanges)
        last = forward_kinematics(finger, joints[first : first + count])[-1]
        first += count
        taken = f"{finger.name}_tip" in [f"{finger.name}_{row.name}" for row in finger.phalanges]
        tip = data.body(f"{finger.name}_tip_" if taken else f"{finger.name}_tip")
        assert_allclose(tip.xpos, (last @ [*finger.tip, 1.0])[:3], atol=1e-9)
        assert_allclose(tip.xmat.reshape(3, 3), last[:3, :3], atol=1e-9)


def test_a_robot_reads_back_equal_and_says_what_joints_can_do(tmp_path: Path) -> None:
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
    result = hand_robot(hand, "odd").robot
    assert robot.joints == result.joints


def test_meshes_stand_where_ours_stand(tmp_path: Path) -> None:
    hand = odd_hand()
    sg.io.save_urdf(hand, tmp_path / "odd.urdf")
    model, ours = import_urdf(tmp_path / "odd.urdf"), build_hand_spec(hand).compile()
    boxes = []
    for one in (model, ours):
        data = mujoco.MjData(one)
        mujoco.mj_kinematics(one, data)
        geom = next(
            index
            for index in range(one.ngeom)
            if one.geom_bodyid[index] == one.body("F_P2").id
            and one.geom_type[index] == mujoco.mjtGeom.mjGEOM_MESH
        )
        mesh = int(one.geom_dataid[geom])
        first, count = one.mesh_vertadr[mesh], one.mesh_vertnum[mesh]
        points = one.mesh_vert[first : first + count] @ data.geom_xmat[geom].reshape(3, 3).T
        points = points + data.geom_xpos[geom]
        boxes.append((points.min(axis=0), points.max(axis=0)))
    assert_allclose(boxes[0], boxes[1], atol=1e-6)


def test_links_without_a_body_have_the_mass_that_simulators_need(tmp_path: Path) -> None:
    sg.io.save_urdf(sg.load_hand("paradigmatic"), tmp_path / "hand.urdf")
    bare = sg.io.load_robot(tmp_path / "hand.urdf").link("index_P1")
    assert bare.inertial.mass == MASSLESS
    assert bare.collisions == ()


def test_an_automatic_palm_becomes_a_mesh(tmp_path: Path) -> None:
    files = sg.io.save_urdf(sg.load_hand("modular"), tmp_path / "m.urdf")
    assert [file.name for file in files] == ["m.urdf", "m_palm.stl"]
    (palm,) = sg.io.load_robot(files[0]).link("palm").collisions
    assert palm.shape == sg.Mesh(file=str(tmp_path / "m_palm.stl"))


@pytest.mark.parametrize("name", [name for name in HANDS if sg.load_hand(name).soft_fingers])
def test_soft_fingers_are_refused(name: str, tmp_path: Path) -> None:
    hand = sg.load_hand(name)
    soft = ", ".join(f"'{digit.name}'" for digit in hand.soft_fingers)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.io.save_urdf(hand, tmp_path / "hand.urdf")
    assert str(refused.value) == (
        f"hand '{name}': expected rigid fingers only, as URDF has no springs and no pressures; "
        f"found soft fingers {soft}"
    )
    assert list(tmp_path.iterdir()) == []
