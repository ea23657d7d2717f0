"""Scenes → models: start state, contacts, refusals."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.contact_pairs import object_pairs, penetration
from softgrasp.model.names import surrounding_bodies
from softgrasp.model.object import (
    THICKNESS,
    lowest_surrounding,
    object_pose,
    with_default_grasp,
)
from softgrasp.model.shapes import COLLISION_GROUP
from softgrasp.pipeline import compile_scene
from tests.conftest import Golden
from tests.support.scenes import ball, pinch


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return sg.compile_model(pinch())


def test_keyframe_0_is_the_start_and_qpos0_stays_zero(model: mujoco.MjModel) -> None:
    assert model.key(0).name == "start"
    joints = [model.joint(f"F{f}_J{j}").qposadr[0] for f in range(1, 5) for j in range(1, 4)]
    assert model.key_qpos[0, joints] == pytest.approx(np.radians([-15, 0, 0] * 4))
    assert np.all(model.qpos0[joints] == 0)
    assert model.key_ctrl[0] == pytest.approx(np.radians([-15, 0, 0] * 4))


def test_every_contact_is_an_explicit_pair_in_direct_format(model: mujoco.MjModel) -> None:
    assert np.all(model.geom_contype == 0)
    assert np.all(model.geom_conaffinity == 0)
    assert np.all(model.pair_solref < 0)
    assert np.all(model.pair_solimp[:, 0] == model.pair_solimp[:, 1])
    names = {model.pair(index).name for index in range(model.npair)}
    assert {"palm|object", "F1_P3|object", "F1_P3|F2_P3", "palm|F1_P2"} <= names
    assert not {"palm|F1_P1", "F1_P1|F1_P2"} & names


@pytest.mark.parametrize(("pressure", "factor"), [("uniform", 2 / 3), ("hertz", 3 * np.pi / 16)])
def test_a_soft_finger_starts_to_spin_at_the_moment_of_its_static_friction(
    pressure: str, factor: float
) -> None:
    contact = sg.Contact(
        model="soft-finger",
        static_friction=0.6,
        dynamic_friction=0.2,
        rolling_friction=2e-4,
        patch=sg.description.Patch(radius=0.004, pressure=pressure),
    )
    friction = sg.compile_model(pinch(contact=contact)).pair("F1_P3|object").friction
    assert friction == pytest.approx([0.6, 0.6, factor * 0.6 * 0.004, 2e-4, 2e-4])


@pytest.mark.parametrize(
    "shape",
    [
        sg.Sphere(radius=0.02),
        sg.Cylinder(radius=0.02, height=0.05),
        sg.Cuboid(size=(0.02, 0.03, 0.05)),
        sg.description.Capsule(radius=0.02, length=0.03),
        sg.description.Ellipsoid(radii=(0.01, 0.02, 0.03)),
    ],
    ids=lambda shape: shape.type,
)
def test_primitives_have_the_inertia_that_mujoco_gives_them(shape: sg.Sphere) -> None:
    from softgrasp.model.shapes import geom_of, mass_properties

    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="b").add_geom(density=1000, **geom_of(shape))
    body = spec.compile().body("b")
    volume, inertia = mass_properties(shape)
    assert body.mass[0] == pytest.approx(1000 * volume)
    assert sorted(body.inertia) == pytest.approx(sorted(1000 * np.diag(inertia)))


def test_object_inside_the_palm_is_rejected(golden: Golden) -> None:
    golden.refused(
        lambda: sg.compile_model(pinch(object_position=(0, 0, -0.03))),
        "object_position",
        sg.BuildError,
    )


def test_object_inside_a_phalanx_is_rejected() -> None:
    with pytest.raises(sg.BuildError, match=r"found 'ball' .* mm inside F1_P"):
        sg.compile_model(pinch(object_position=(0.06, 0.02, -0.06)))


@pytest.mark.parametrize("mount", ["free", "planar", "fixed"])
def test_object_is_moved_out_of_the_palm(mount: str) -> None:
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=sg.load_object("mug"), object_mount=mount
    )
    with pytest.warns(sg.SoftgraspWarning) as message:
        built = compile_scene(scene)
    assert [str(warning.message) for warning in message] == [
        "the object starts 9 mm farther from the palm than the grasp's centre, where 'mug' would "
        "be 7.57 mm inside palm; object_position (--position) selects another position"
    ]
    assert built.scene.object_position is not None
    displacement = np.subtract(built.scene.object_position, object_pose(scene).position)
    assert displacement == pytest.approx([0, 0, -0.009], abs=1e-12)
    data = mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(built.model, data, 0)
    mujoco.mj_forward(built.model, data)
    gap = -max(penetration(built.model, data, pair) for pair in object_pairs(built.model))
    assert gap >= 1e-3 - 1e-9
    # a place that the user gave is refused instead
    with pytest.raises(sg.BuildError, match=r"expected an object that starts clear of the hand"):
        compile_scene(scene.replace(object_position=object_pose(scene).position))


def test_overlapping_bodies_of_the_hand_warn_and_do_not_touch() -> None:
    hand = sg.load_hand("four_finger")
    moved = hand.fingers[1].base.replace(position=(0.04, 0.02, 0.0))
    twins = (hand.fingers[0], hand.fingers[1].replace(base=moved), *hand.fingers[2:])
    crowded = pinch(hand=hand.replace(fingers=twins), object_position=(0, 0, -0.3))
    with pytest.warns(sg.SoftgraspWarning) as message:
        model = sg.compile_model(crowded)
    assert "hand 'four_finger': " in str(message[0].message)
    assert "overlap in the start posture, the deepest F1_P1 and F2_P1 by" in str(message[0].message)
    assert "F1_P1|F2_P1" not in {model.pair(index).name for index in range(model.npair)}


def test_orientation_of_upright_objects() -> None:
    bar = sg.GraspObject(name="bar", shape=sg.Cylinder(radius=0.02, height=0.1), mass=0.1)
    lying = object_pose(pinch(object=bar)).quaternion
    assert object_pose(pinch(object=bar.replace(upright=True))).quaternion == (1, 0, 0, 0)
    assert lying == pytest.approx((np.sqrt(0.5), np.sqrt(0.5), 0, 0))


def test_the_object_starts_at_the_grasp_centre_of_a_moved_hand() -> None:
    half = np.sqrt(0.5)
    pose = sg.Pose(position=(1, 2, 3), quaternion=(half, half, 0, 0))
    assert object_pose(pinch(hand_pose=pose)).position == pytest.approx((1, 2 + 0.085, 3))


def test_mjcf_text_compiles_to_the_same_model() -> None:
    scene = pinch()
    ours, read = sg.compile_model(scene), mujoco.MjModel.from_xml_string(sg.to_mjcf(scene))
    assert (read.nq, read.nu, read.npair, read.nsensor) == (
        ours.nq, ours.nu, ours.npair, ours.nsensor
    )  # fmt: skip
    assert read.pair_solref == pytest.approx(ours.pair_solref, rel=1e-4)
    assert read.opt.timestep == ours.opt.timestep


def test_a_control_period_must_be_a_whole_number_of_steps(golden: Golden) -> None:
    golden.refused(lambda: sg.compile_model(pinch(timestep=3e-4)), "timestep", sg.BuildError)


def test_contact_without_a_possible_step_is_rejected() -> None:
    with pytest.raises(sg.BuildError) as refused:
        sg.compile_model(pinch(contact=sg.Contact(stiffness=1e5, damping=0.1)))
    assert (
        "no time step from 1e-06 to 0.001 s is small enough for 100000 N/m with 0.1 N·s/m"
        in str(refused.value)
    )
    (least,) = re.findall(r"damping of at least (\S+) N", str(refused.value))
    sufficient = sg.Contact(stiffness=1e5, damping=float(least))
    assert sg.compile_model(pinch(contact=sufficient)).opt.timestep == 1e-6
    with pytest.raises(sg.BuildError):
        sg.compile_model(pinch(contact=sufficient.replace(damping=0.9 * float(least))))


def test_surroundings_have_a_lowest_point_and_are_drawn_but_for_a_single_table() -> None:
    table = sg.Table(height=0.0)
    block = sg.description.Block(
        size=(0.2, 0.4, 0.1), position=(0, 0, -0.5), euler=(np.pi / 2, 0, 0)
    )
    away = pinch(object_position=(1.0, 0.0, 0.1), hand_pose=sg.Pose(position=(1.0, 0.0, 1.0)))
    groups = {(): [], (table,): [COLLISION_GROUP], (table, block): [COLLISION_GROUP, 0],
              (table, table.replace(center=(1.0, 1.0), size=(0.1, 0.1))): [0, 0]}  # fmt: skip
    lowest = [np.inf, -THICKNESS, -0.7, -THICKNESS]
    for (parts, expected), bottom in zip(groups.items(), lowest, strict=True):
        scene = away.replace(surroundings=parts)
        assert lowest_surrounding(scene) == pytest.approx(bottom, abs=1e-12)
        geoms = map(sg.compile_model(scene).geom, surrounding_bodies(scene))
        assert [int(geom.group[0]) for geom in geoms] == expected


@pytest.mark.parametrize(("mass", "kind"), [(0.049, "precision"), (0.051, "power")])
def test_objects_within_the_payload_are_grasped_with_the_fingertips(mass: float, kind: str) -> None:
    """Unless the scene states its grasp."""
    hand = sg.load_hand("four_finger")
    light = hand.grasps.precision.replace(payload=0.05)
    hand = hand.replace(grasps=hand.grasps.replace(precision=light))
    scene = sg.GraspScene(hand=hand, object=ball().weighing(mass=mass), adapt_grasp=True)
    assert with_default_grasp(scene).grasp == kind
    for stated in ("power", "precision"):
        assert with_default_grasp(scene.replace(grasp=stated)).grasp == stated
