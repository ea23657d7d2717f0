"""Tables, walls, blocks and gravity of any direction: statics, friction, grasps that use them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.model.scene import build, wall_frame
from tests.scenes import ball, pinch

G = 9.81
FAR = (1.0, 0.0, 0.0)


def away(obj: sg.GraspObject, *around: Any, **changes: Any) -> sg.GraspScene:
    """An object out of the hand's reach under gravity, among what stands around."""
    base: dict[str, Any] = {"object": obj, "object_position": FAR, "object_euler": (0, 0, 0)}
    base |= {"surroundings": around, "gravity": True, "duration": 0.5}
    return pinch(**(base | changes))


def weight(scene: sg.GraspScene) -> float:
    model = sg.compile_model(scene)
    return float(model.body("object").mass[0]) * G


@pytest.mark.parametrize("normal", [(1, 0, 0), (0, -2, 0), (1, 2, 3), (-1, 0.5, -2), (0, 0, 1)])
def test_a_wall_looks_along_its_normal_and_rises_along_y(normal: tuple[float, ...]) -> None:
    wall = sg.Wall(point=(0.1, 0.2, 0.3), normal=normal)
    frame = wall_frame(wall)
    assert frame[:3, :3].T @ frame[:3, :3] == pytest.approx(np.eye(3))
    assert np.linalg.det(frame[:3, :3]) == pytest.approx(1.0)
    assert frame[:3, 2] == pytest.approx(np.array(normal) / np.linalg.norm(normal))
    assert frame[2, 0] == pytest.approx(0.0)  # x is level
    assert frame[2, 1] >= 0.0
    assert frame[:3, 3] == pytest.approx((0.1, 0.2, 0.3))


def test_a_smooth_groove_carries_its_load_along_its_normals() -> None:
    smooth = sg.Contact(static_friction=0.0)
    r = 0.03
    walls = [
        sg.Wall(point=(1.0 - sign * r / math.sqrt(2), 0, -r / math.sqrt(2)), normal=(sign, 0, 1),
                size=(0.2, 0.1), contact=smooth)
        for sign in (1, -1)
    ]  # fmt: skip
    scene = away(ball(r), *walls)
    result = sg.simulate(scene)
    assert len(result.other_contacts) == 2
    for contact in result.other_contacts:
        # two normals at 45°: 2 N cos 45° = W
        assert contact.normal_force_N == pytest.approx(weight(scene) / math.sqrt(2), rel=1e-4)
        assert -contact.separation_m == pytest.approx(contact.normal_force_N / 1e5, rel=0.03)


@pytest.mark.parametrize(("fraction", "slides"), [(0.95, False), (1.1, True)])
def test_a_box_on_a_slope_slides_where_its_tangent_exceeds_friction(
    fraction: float, slides: bool
) -> None:
    slope = math.atan(0.5 * fraction)
    up = np.array((math.sin(slope), 0, math.cos(slope)))
    face = tuple((np.array(FAR) - 0.015 * up).tolist())
    wall = sg.Wall(point=face, normal=tuple(up.tolist()), size=(0.5, 0.9))
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.06, 0.06, 0.03)), density=700)
    result = sg.simulate(away(box, wall, object_euler=(0, slope, 0), duration=0.4))
    gone = float(np.linalg.norm(result.object.displacement_m))
    pull = G * (math.sin(slope) - 0.5 * math.cos(slope))
    if slides:
        assert gone == pytest.approx(0.5 * pull * 0.4**2, rel=0.05)
    else:
        assert gone < 1e-4


def test_a_block_and_a_second_table_carry_too() -> None:
    scene = away(
        ball(),
        sg.Table(height=-0.5),
        sg.Table(name="shelf", height=-0.03, size=(0.1, 0.1)),
        sg.Block(position=(1.2, 0, -0.1), size=(0.1, 0.1, 0.14)),
        objects=(sg.PlacedObject(object=ball(), position=(1.2, 0, 0)),),
    )
    result = sg.simulate(scene)
    pairs = {(c.first, c.second): c.normal_force_N for c in result.other_contacts}
    assert pairs == pytest.approx(
        {("ball", "shelf"): weight(scene), ("ball2", "block"): weight(scene)}
    )


def test_the_second_table_needs_a_height() -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        pinch(surroundings=(sg.Table(), sg.Table()))
    assert str(refused.value) == (
        "surroundings[1].height: expected the height of its top, as only the first table can lie "
        "right under the object, found none"
    )


def test_names_around_are_numbered_and_unique() -> None:
    wall = sg.Wall(point=(-0.5, 0, 0), normal=(1, 0, 0))
    scene = pinch(surroundings=(wall, wall.replace(name="left"), wall))
    assert scene.surrounding_names == ("wall", "left", "wall2")
    model = sg.compile_model(scene)
    assert [model.body(name).name for name in ("wall", "wall2", "wall3")]
    with pytest.raises(sg.DescriptionError) as refused:
        pinch(surroundings=(wall.replace(name="a"), wall.replace(name="a")))
    assert str(refused.value) == (
        "surroundings[1].name: expected unique names, found surrounding 'a' twice"
    )


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            {"type": "wall", "point": (0, 0, 0), "normal": (0, 0, 0)},
            "surroundings[0].normal: expected a direction that is not zero, found (0.0, 0.0, 0.0)",
        ),
        (
            {"type": "walls", "point": (0, 0, 0)},
            "surroundings[0]: expected table, wall or block, found 'walls'; did you mean 'wall'?",
        ),
        (
            {"type": "wall", "point": (0, 0, 0)},
            "surroundings[0].normal: this field is missing; expected a list of 3 numbers: Out of "
            "its face, in the world; of any length",
        ),
        (
            {"hight": 0.0},
            "surroundings[0].hight: no such field; did you mean 'height'? known: center, contact, "
            "height, name, size, type",
        ),
    ],
)
def test_mistakes_in_surroundings_are_told(part: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        pinch(surroundings=(part,))
    assert str(refused.value) == sentence


def test_a_wall_in_the_object_or_in_the_hand_is_refused() -> None:
    wall = sg.Wall(name="left", point=(-0.025, 0, -0.085), normal=(1, 0, 0), thickness=0.01,
                   size=(0.02, 0.02))  # fmt: skip
    with pytest.raises(sg.BuildError) as refused:
        sg.compile_model(pinch(surroundings=(wall,)))
    assert str(refused.value) == (
        "expected a start in which nothing stands in anything else, found object 'ball' 5.00 mm "
        "inside wall 'left'; move one of them"
    )
    across = sg.Wall(point=(0.06, 0, -0.02), normal=(1, 0, 0))
    with pytest.raises(sg.BuildError, match=r"found F\d_P\d of the hand .* mm inside the wall; m"):
        sg.compile_model(pinch(surroundings=(across,), object_position=FAR))


def test_a_time_step_honours_the_stiffest_contact_of_all() -> None:
    stiff = sg.Contact(stiffness=1e6, damping=1000.0)
    wall = sg.Wall(point=(-0.5, 0, 0), normal=(1, 0, 0), contact=stiff)
    assert build(pinch()).model.opt.timestep == 1e-3
    assert build(pinch(surroundings=(wall,))).model.opt.timestep == 5e-4
    other = sg.PlacedObject(object=ball(), position=FAR, contact=stiff)
    assert build(pinch(objects=(other,))).model.opt.timestep == 5e-4


def turned_scene(scene: sg.GraspScene, rotation: Rotation) -> sg.GraspScene:
    """A whole scene turned about the origin: hand, objects, walls and gravity."""

    def vector(value: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = rotation.apply(value).tolist()
        return (x, y, z)

    about_z, about_y, about_x = rotation.as_euler("ZYX").tolist()
    euler = (about_x, about_y, about_z)
    quaternion = tuple(rotation.as_quat(scalar_first=True).tolist())
    assert scene.success is not None
    assert scene.object_position is not None
    return scene.replace(
        hand_pose=sg.Pose(quaternion=quaternion),
        object_position=vector(scene.object_position),
        object_euler=euler,
        objects=tuple(p.replace(position=vector(p.position), euler=euler) for p in scene.objects),
        surroundings=tuple(
            part.replace(position=vector(part.position), euler=euler)
            for part in scene.surroundings
            if isinstance(part, sg.Block)
        ),
        gravity=vector(scene.gravity),
        success=scene.success.replace(gravity=vector(scene.success.gravity)),
    )


@pytest.mark.parametrize("rotation", [(0.5, 0, 0), (0.3, -1.1, 2.0), (math.pi / 2, 0, 0)])
def test_turning_the_whole_scene_turns_the_result(rotation: tuple[float, float, float]) -> None:
    scene = pinch(
        object=ball(density=2300.0),
        object_position=(0.001, 0.002, -0.085),
        object_euler=(0, 0, 0),
        gravity=(0.05, 0.6, -0.05),
        surroundings=(sg.Block(position=(0, 0.042, -0.085), size=(0.02, 0.02, 0.05)),),
        success=sg.SuccessCriterion(gravity=(1.0, 5.0, -3.0), ramp_time=0.1, hold_time=0.1),
        solver=sg.Solver(iterations=200),
    )
    about = Rotation.from_rotvec(rotation)
    upright, result = sg.simulate(scene), sg.simulate(turned_scene(scene, about))
    assert upright.held
    assert result.held
    moved = upright.object_position - upright.object_position[0]
    assert np.abs(moved).max() > 1e-4
    rotated = about.apply(upright.object_position.copy())
    assert rotated == pytest.approx(result.object_position, abs=1e-6)
    assert result.joint_position == pytest.approx(upright.joint_position, abs=1e-5)
    assert result.normal_force[-1] == pytest.approx(upright.normal_force[-1], rel=1e-3, abs=1e-6)
    # without the block it would have fallen 12 mm along y until then
    assert np.ptp(upright.object_position[:200, 1]) < 1e-4


def test_gravity_pulls_while_closing_and_in_the_hold_test() -> None:
    result = sg.simulate(sg.load_scene("gravity_sideways"))
    assert result.held
    early = result.time < 0.2
    # it lies on its pad, which is at y > 0, until the fingers come
    assert np.ptp(result.object_position[early, 1]) < 1e-4
    loose = sg.simulate(sg.load_scene("gravity_sideways").replace(surroundings=(), duration=0.2))
    fallen = 0.5 * G * 0.2**2
    assert loose.object_position[200, 1] == pytest.approx(fallen, rel=0.02)


def test_fingers_and_a_wall_hold_what_fingers_alone_push_away() -> None:
    scene = sg.load_scene("against_wall")
    held, alone = sg.simulate(scene), sg.simulate(scene.replace(surroundings=(), duration=2.0))
    assert held.held
    assert not alone.held
    (wall,) = held.other_contacts
    fingers = [contact for contact in held.contacts if contact.in_contact]
    assert [contact.body for contact in fingers] == ["F1_P3", "F2_P3"]
    # the wall answers the fingers' normal forces, along x
    pressed = sum(c.normal_force_N * c.normal[0] for c in fingers if c.normal)
    assert wall.force_N[0] == pytest.approx(pressed, rel=0.05)
    assert held.hold is not None
    assert held.hold.weight_N == pytest.approx(1.112, abs=1e-3)
    assert held.hold.drop_m < 1e-5


@pytest.mark.parametrize(("friction", "comes_along"), [(0.15, True), (0.5, False)])
def test_fingers_slide_a_box_up_a_smooth_wall(friction: float, comes_along: bool) -> None:
    scene = sg.load_scene("up_the_wall")
    table, wall = scene.surroundings
    rough = wall.replace(contact=sg.Contact(static_friction=friction))
    result = sg.simulate(scene.replace(surroundings=(table, rough)))
    assert result.held is comes_along
    assert result.hold is not None
    if comes_along:
        assert result.hold.lifted_m == pytest.approx(0.1, abs=2e-3)
        assert result.other_contacts[0].second == "wall"


def test_a_corner_holds_what_two_fingers_press_into_it() -> None:
    result = sg.simulate(sg.load_scene("corner"))
    assert result.held
    forces = {c.second: np.array(c.force_N) for c in result.other_contacts}
    assert set(forces) == {"table", "left", "right"}
    # the scene is its own mirror image in the plane of the diagonal
    assert forces["left"][[1, 0, 2]] == pytest.approx(forces["right"], abs=1e-3)


def test_fingers_stop_one_another_only_with_self_contact() -> None:
    scene = sg.load_scene("fingers_meet")
    assert scene.self_contact
    meeting, passing = (
        deepest_overlap(sg.simulate(scene.replace(self_contact=on))) for on in (True, False)
    )
    assert meeting < 1e-3 < 5e-3 < passing


def deepest_overlap(result: sg.GraspResult) -> float:
    """How deep fingers stand in each other at the end of a run [m]."""
    from softgrasp.model.contact_pairs import penetration, self_pairs
    from softgrasp.rendering.keyframes import Playback

    playback = Playback(result)
    data = playback.pose(float(result.time[-1]))
    pairs = [
        pair for pair in self_pairs(playback.model, {}) if pair.first[0] == pair.second[0] == "F"
    ]
    return max(penetration(playback.model, data, pair) for pair in pairs)


def test_a_grasp_that_only_fingers_without_bodies_could_do() -> None:
    """The verdict turns: fingers that pass through each other would hold the strawberry."""
    scene = sg.GraspScene(
        hand=sg.load_hand("three_fingered"),
        object=sg.load_object("strawberry"),
        grasp="precision",
        success=sg.SuccessCriterion(),
    )
    assert sg.simulate(scene).held is False
    assert sg.simulate(scene.replace(self_contact=False)).held


@pytest.mark.parametrize("name", ["two_spheres", "beside"])
def test_shipped_scenes_with_two_objects(name: str) -> None:
    result = sg.simulate(sg.load_scene(name))
    assert result.held
    assert len(result.objects) == 2
    moved = np.linalg.norm(result.objects[1].displacement_m)
    if name == "two_spheres":
        assert result.other_contacts[0].normal_force_N == pytest.approx(18.2, rel=0.02)
        assert result.hold is not None
        assert result.hold.others is not None
        assert result.hold.others[0].drop_m < 1e-5
    else:
        assert moved > 0.1
        assert {event.object for event in result.events} == {"sphere", "small"}
