"""Laws of the grasps that imported hands compute for each object."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.geometry import Capsule
from softgrasp.description.hand import Hand
from softgrasp.mechanics.transforms import rotation_from_euler
from softgrasp.model.contact_pairs import object_pairs, penetration
from softgrasp.pipeline import compile_scene
from softgrasp.resolution import object_grasp
from softgrasp.resolution.object_grasp import (
    MAX_DROP,
    _reduce,
    displacement_in_trial,
    with_object_grasp,
)

HEAD = (
    '<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><default><geom density="400"/>'
    '<joint damping="0.02" armature="1e-4"/><position kp="3" dampratio="1" forcerange="-1 1"/>'
    "</default><worldbody>"
)
BALL = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.03), mass=0.1)
BOX = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.03, 0.04, 0.09)), mass=0.1)
UNEVEN = BALL.replace(name="uneven", shape=Capsule(radius=0.0217, length=0.0683))
LARGE = sg.GraspObject(name="large", shape=sg.Cuboid(size=(0.06, 0.17, 0.2)), mass=0.2)
MIRROR = np.diag([1.0, -1.0, 1.0])


LINK = np.array([
    [x, y, z] for z in (0.0, 0.018, 0.04) for x in (-0.008, 0.005) for y in (-0.007, 0.009)
]) + [[0.001 * (n % 3), 0.0007 * (n % 2), 0.0] for n in range(12)]  # fmt: skip
"""Vertices of a link without any symmetry, (12, 3) [m]."""


def mesh_asset(side: float) -> str:
    """Return the mesh of a link; of the mirror image with its vertices in another order."""
    vertices = LINK * [1.0, side, 1.0]
    vertices = vertices if side > 0.0 else vertices[::-1]
    text = " ".join(f"{number:.6f}" for number in vertices.ravel())
    return f'<asset><mesh name="link" vertex="{text}"/></asset>'


def finger(name: str, x: float, y: float, yaw: float, side: float, *, mesh: bool) -> str:
    """Return a finger of two links that bends about the tangent of the palm."""
    shape = '<geom type="capsule" fromto="0 0 0 0 0 {}" size="0.008"/>'
    link = '<geom type="mesh" mesh="link"/>'
    first, second = (link, link) if mesh else (shape.format(0.045), shape.format(0.035))
    return (
        f'<body name="{name}1" pos="{x} {side * y} 0.01" euler="0 0 {side * yaw}">'
        f'<joint name="{name}_a" axis="0 1 0" range="-0.3 1.5"/>{first}'
        f'<body name="{name}2" pos="0 0 0.05"><joint name="{name}_b" axis="0 1 0" range="0 1.4"/>'
        f"{second}</body></body>"
    )


def hand_text(side: float = 1.0, frame: str = "", *, mesh: bool = False) -> str:
    """Return a hand of three fingers and a thumb that stands off its middle.

    Args:
        side: 1, or -1 for its mirror image in the x–z plane, with fingers in another order.
        frame: Attributes of the body of the palm, its pose in the file.
        mesh: Whether the links are meshes.
    """
    parts = [
        finger("index", -0.045, 0.03, 0.0, side, mesh=mesh),
        finger("middle", -0.045, 0.0, 0.0, side, mesh=mesh),
        finger("ring", -0.045, -0.03, 0.0, side, mesh=mesh),
        finger("thumb", 0.045, 0.012, math.pi, side, mesh=mesh),
    ][:: int(side)]
    names = [f"{n}_{j}" for n in ("index", "middle", "ring", "thumb") for j in "ab"]
    servos = "".join(
        f'<position name="{n}" joint="{n}" ctrlrange="{"-0.3 1.5" if n[-1] == "a" else "0 1.4"}"/>'
        for n in names[:: int(side)]
    )
    head = HEAD.replace("<worldbody>", f"{mesh_asset(side)}<worldbody>" if mesh else "<worldbody>")
    return (
        f'{head}<body name="base" {frame}>'
        '<geom type="box" size="0.05 0.045 0.008" pos="0 0 -0.008"/>'
        f"{''.join(parts)}</body></worldbody><actuator>{servos}</actuator></mujoco>"
    )


def hand_of(path: Path, text: str) -> Hand:
    """Load a hand from its text."""
    path.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sg.load_hand(path)


@pytest.fixture(autouse=True)
def no_kept_choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search anew in every test, some of which replace the trial."""
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def hand(tmp_path_factory: pytest.TempPathFactory) -> Hand:
    return hand_of(tmp_path_factory.mktemp("hand") / "hand.xml", hand_text())


def scene_of(hand: Hand, described: sg.GraspObject = BALL, **fields: object) -> sg.GraspScene:
    """Return a scene with the grasp for its object."""
    return with_object_grasp(sg.GraspScene(hand=hand, object=described, **fields), {})


def in_file(scene: sg.GraspScene) -> tuple[np.ndarray, np.ndarray]:
    """Return position and rotation of the object in the frame of the hand's file."""
    quaternion = np.array(scene.hand.model.pose.quaternion)
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quaternion)
    frame = flat.reshape(3, 3)
    rotation = frame.T @ rotation_from_euler(scene.preset.object_euler)
    return frame.T @ np.array(scene.preset.center), rotation


@pytest.fixture(scope="module", params=[False, True], ids=["capsules", "meshes"])
def pair(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Hand, Hand]:
    """Return a right and a left hand."""
    directory = tmp_path_factory.mktemp("pair")
    texts = {"right": hand_text(mesh=request.param), "left": hand_text(-1.0, mesh=request.param)}
    right, left = (hand_of(directory / f"{name}.xml", text) for name, text in texts.items())
    return right, left


@pytest.mark.parametrize("grasp", ["power", "precision"])
def test_left_and_right_hands_have_mirrored_grasps(pair: tuple[Hand, Hand], grasp: str) -> None:
    centers, rates = [], []
    for hand in pair:
        preset = getattr(hand.grasps, grasp)
        centers.append(in_file(sg.GraspScene(hand=hand, object=BALL, grasp=grasp))[0])
        names = [actuator.actuator for actuator in hand.model.actuators]
        rates.append(dict(zip(names, preset.rates, strict=True)))
    assert centers[1] == pytest.approx(MIRROR @ centers[0], abs=2e-5)
    assert rates[1] == pytest.approx(rates[0], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("described", [BALL, UNEVEN], ids=lambda item: item.name)
def test_left_and_right_hands_hold_an_object_alike(
    pair: tuple[Hand, Hand], described: sg.GraspObject
) -> None:
    right, rotation = in_file(scene_of(pair[0], described))
    left, image = in_file(scene_of(pair[1], described))
    assert left == pytest.approx(MIRROR @ right, abs=5e-4)
    assert abs(image[:, 2] @ MIRROR @ rotation[:, 2]) == pytest.approx(1.0, abs=1e-2)


def test_a_grasp_by_one_finger_of_several_is_not_taken_if_another_holds() -> None:
    """One soft finger presses the ball against the palm; the computed grasp is by both."""
    ball = BALL.replace(shape=sg.Sphere(radius=0.02), mass=0.01)
    scene = sg.GraspScene(hand=sg.load_hand("soft_gripper"), object=ball)
    assert displacement_in_trial(_reduce(scene)) > MAX_DROP


@pytest.mark.slow
def test_the_object_moves_with_the_frame_of_the_hand(hand: Hand, tmp_path: Path) -> None:
    moved = hand_of(tmp_path / "moved.xml", hand_text(frame='pos="0.1 -0.2 0.3" euler="0.7 0 1.9"'))
    here, _ = in_file(scene_of(hand))
    there, _ = in_file(scene_of(moved))
    model = mujoco.MjModel.from_xml_string(hand_text(frame='pos="0.1 -0.2 0.3" euler="0.7 0 1.9"'))
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, model.body("base").quat)
    assert there == pytest.approx(flat.reshape(3, 3) @ here + model.body("base").pos, abs=4e-3)


@pytest.mark.slow
def test_a_larger_ball_is_farther_from_the_palm(hand: Hand) -> None:
    heights = []
    for radius in (0.02, 0.03, 0.04):
        ball = BALL.replace(shape=sg.Sphere(radius=radius))
        heights.append(in_file(scene_of(hand, ball))[0][2])
    assert heights == sorted(heights)
    assert heights[2] - heights[0] > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    "described",
    [BALL, BOX, pytest.param(LARGE, marks=pytest.mark.slow)],
    ids=lambda item: item.name,
)
@pytest.mark.parametrize("grasp", ["power", "precision"])
def test_no_object_starts_inside_the_hand(
    hand: Hand, described: sg.GraspObject, grasp: str
) -> None:
    scene = scene_of(hand, described, grasp=grasp)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that the object was moved out of the hand
        built = compile_scene(scene)
    data = mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(built.model, data, 0)
    mujoco.mj_kinematics(built.model, data)
    assert max(penetration(built.model, data, p) for p in object_pairs(built.model)) <= 0.0


@pytest.mark.slow
def test_a_box_is_held_by_opposing_fingers(hand: Hand) -> None:
    result = sg.simulate(sg.GraspScene(hand=hand, object=BOX, success=sg.SuccessCriterion()))
    fingers = {body.finger for body in result.contacts if body.in_contact}
    assert result.held
    assert any("thumb" in name for name in fingers)
    assert len(fingers) > 1


def test_specified_grasps_and_positions_remain(hand: Hand) -> None:
    scene = sg.GraspScene(hand=hand, object=BOX, object_position=(0.0, 0.0, 0.3))
    assert with_object_grasp(scene, {}) == scene.choose(adapt_grasp=False)
    own = hand.grasps.power.replace(per_object=False, center=(0.0, 0.0, 0.06))
    assert scene_of(hand.replace(grasps=hand.grasps.replace(power=own))).preset == own


@pytest.mark.slow
def test_a_specified_orientation_remains(hand: Hand) -> None:
    euler = (0.3, 0.2, 0.1)
    scene = scene_of(hand, BOX, object_euler=euler)
    assert scene.object_euler == euler
    assert scene.preset.object_euler == pytest.approx(euler, abs=1e-5)


def test_a_center_in_a_file_beside_the_model_is_kept(tmp_path: Path) -> None:
    (tmp_path / "hand.xml").write_text(hand_text(), encoding="utf-8")
    beside = tmp_path / "hand.yaml"
    beside.write_text(
        "model: hand.xml\ngrasps:\n  power: {center: [0, 0, 0.07]}\n", encoding="utf-8"
    )
    loaded = hand_of(beside, beside.read_text(encoding="utf-8"))
    assert not loaded.grasps.power.per_object
    assert loaded.grasps.precision.per_object
    assert scene_of(loaded, grasp="power").preset.center == (0.0, 0.0, 0.07)


# Grasps of the hand that do not hold the object


def adapted(hand: str, described: sg.GraspObject, **fields: object) -> sg.GraspScene:
    """Return a scene with a grasp of a shipped hand that may be adapted."""
    return sg.GraspScene(
        hand=sg.load_hand(hand),
        object=described,
        adapt_grasp=True,
        success=sg.SuccessCriterion(),
        **fields,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grasp"), [("underactuated_1", "power"), ("soft_gripper", "precision")]
)
def test_a_grasp_that_does_not_hold_is_replaced(name: str, grasp: str) -> None:
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), density=300.0)
    scene = adapted(name, ball, grasp=grasp)
    assert not sg.simulate(scene.replace(adapt_grasp=False)).held
    with pytest.warns(sg.SoftgraspWarning, match=f"the {grasp} grasp of '{name}' does not hold"):
        found = with_object_grasp(scene, {})
    assert sg.simulate(found).held
    assert (found.grasp, found.preset) != (scene.grasp, scene.preset)
    assert not found.adapt_grasp


def test_a_grasp_that_holds_is_kept() -> None:
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.03), density=300.0)
    scene = adapted("underactuated_1", ball)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert with_object_grasp(scene, {}) == scene.replace(adapt_grasp=False)


def test_the_other_kind_is_tried_within_its_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def trial(scene: sg.GraspScene) -> float:
        tried.append(scene.grasp)
        return math.inf

    monkeypatch.setattr(object_grasp, "displacement_in_trial", trial)
    for mass, kinds in ((0.03, {"power", "precision"}), (0.05, {"power"})):
        tried.clear()
        scene = adapted("soft_gripper", BALL.replace(mass=mass))
        assert with_object_grasp(scene, {}) == scene.replace(adapt_grasp=False)
        assert set(tried) == kinds


def test_a_grasp_that_slips_in_a_hold_test_of_full_length_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short, full = object_grasp.HOLD_TIME, sg.SuccessCriterion().hold_time
    tried = []

    def trial(scene: sg.GraspScene) -> float:
        tried.append((scene.preset, scene.success.hold_time))
        slips = len({preset for preset, _ in tried}) < 3
        return 1e-4 if scene.success.hold_time == short else 6e-4 if slips else 1e-5

    monkeypatch.setattr(object_grasp, "displacement_in_trial", trial)
    scene = adapted("underactuated_1", BALL)
    with pytest.warns(sg.SoftgraspWarning, match="another power grasp was computed"):
        chosen = with_object_grasp(scene, {}).preset
    assert [seconds for _, seconds in tried] == [full, short, full, short, full]
    assert chosen == tried[-1][0] != scene.preset
