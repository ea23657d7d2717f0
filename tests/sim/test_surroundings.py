"""Surroundings in other engines, and what these cannot have."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.backends.wbt import parse_world, problems, world_text
from softgrasp.backends.webots.world import scene_world
from softgrasp.errors import BuildError
from softgrasp.model.object import wall_frame
from softgrasp.pipeline import compile_scene
from tests.conftest import Golden
from tests.sim.engines import require_engine
from tests.support.scenes import ball, pinch

G = 9.81
FAR = (1.0, 0.0, 0.0)
"""Out of the hand's reach."""


def test_a_world_has_walls_and_each_has_its_contact() -> None:
    built = compile_scene(sg.load_scene("up_the_wall"))
    text = world_text(scene_world(built, 1e-3, ("job.json",)).nodes)
    assert problems(parse_world(text, "world.wbt")) == []
    assert text.count("ContactProperties {") == 5  # hand and object, and both with table and wall
    assert 'contactMaterial "wall"' in text
    assert "0.15" in text


@pytest.mark.slow
def test_ode_presses_a_box_against_a_wall_as_mujoco_does() -> None:
    require_engine("ode")
    scene = sg.load_scene("against_wall").replace(self_contact=False)
    ours, theirs = sg.simulate(scene), sg.simulate(scene, "ode")
    assert ours.held
    assert theirs.held
    assert theirs.other_contacts == ()
    for contact, other in zip(ours.contacts, theirs.contacts, strict=True):
        assert other.normal_force_N == pytest.approx(contact.normal_force_N, rel=0.1)
        assert other.object == contact.object


@pytest.mark.parametrize("backend", ["ode"])
def test_further_objects_are_refused_with_one_sentence(backend: str, golden: Golden) -> None:
    require_engine(backend)
    golden.refused(
        lambda: sg.simulate(sg.load_scene("two_spheres"), backend), "objects", BuildError
    )


def test_dm_control_takes_neither(golden: Golden) -> None:
    pytest.importorskip("dm_control", reason="dm_control is the extra 'dm'")
    golden.refused(lambda: sg.make_dm_env("corner"), "surroundings", BuildError)


# Several objects in one scene: forces, momentum, contacts, hold tests, records.


def named(name: str, radius: float, density: float = 700.0) -> sg.GraspObject:
    return ball(radius, density).replace(name=name)


def mass(radius: float, density: float) -> float:
    return density * 4 / 3 * math.pi * radius**3


def stack(**changes: Any) -> sg.GraspScene:
    """A small heavy ball on a larger light one on a table, away from the hand."""
    top = sg.description.PlacedObject(object=named("top", 0.02, 7860.0), position=(1.0, 0.0, 0.05))
    base: dict[str, Any] = {"object_position": FAR, "objects": (top,), "duration": 0.6}
    return pinch(**(base | {"surroundings": (sg.Table(),), "gravity": True} | changes))


def side_by_side(second: float = 700.0, **changes: Any) -> sg.GraspScene:
    """Two balls, each between two of the four fingers."""
    other = sg.description.PlacedObject(
        object=named("other", 0.0195, second), position=(0, -0.02, -0.085)
    )
    base: dict[str, Any] = {"object": named("one", 0.0195), "object_position": (0, 0.02, -0.085)}
    return pinch(**(base | {"objects": (other,), "success": sg.SuccessCriterion()} | changes))


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 100.0), (1e5, 300.0), (1e6, 1000.0)])
def test_a_stack_stands_on_its_weight_and_sinks_by_weight_over_stiffness(
    stiffness: float, damping: float
) -> None:
    result = sg.simulate(stack(contact=sg.Contact(stiffness=stiffness, damping=damping)))
    above = mass(0.02, 7860.0) * G
    weights = {("ball", "top"): above, ("ball", "table"): above + mass(0.03, 700.0) * G}
    assert {(c.first, c.second) for c in result.other_contacts} == set(weights)
    for computed in result.other_contacts:
        weight = weights[computed.first, computed.second]
        assert computed.normal_force_N == pytest.approx(weight, rel=1e-6)
        assert -computed.separation_m == pytest.approx(weight / stiffness, rel=0.03)
        # on the second one: up on the upper ball, down on the table
        sign = 1.0 if computed.second == "top" else -1.0
        assert computed.force_N == pytest.approx((0, 0, sign * weight), rel=1e-6, abs=1e-6)
        assert computed.normal == pytest.approx((0, 0, sign))


def test_two_objects_that_meet_keep_their_momentum() -> None:
    other = sg.description.PlacedObject(
        object=named("other", 0.02, 2300.0), position=(1.06, 0.004, 0.0)
    )
    model = sg.compile_model(pinch(object_position=FAR, objects=(other,)))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    masses = [float(model.body(body).mass[0]) for body in ("object", "object2")]
    first = [int(model.joint(body).dofadr[0]) for body in ("object", "object2")]
    data.qvel[first[0]] = 0.5
    touched = False
    for _ in range(200):
        mujoco.mj_step(model, data)
        touched |= data.ncon > 0
        moved = [data.qvel[dof : dof + 3] for dof in first]
        momentum = sum(m * v for m, v in zip(masses, moved, strict=True))
        assert momentum == pytest.approx((0.5 * masses[0], 0, 0), abs=1e-12)
    assert touched
    assert data.qvel[first[1]] > 0.05


def test_a_finger_that_touches_the_second_object_stops_and_reports_which_one_it_was() -> None:
    alone = pinch(object=named("one", 0.02), object_position=(0, 0, -0.085), gravity=False)
    post = sg.description.PlacedObject(
        object=named("post", 0.01), position=(0.055, 0.02, -0.1), mount="fixed"
    )
    free, stopped = sg.simulate(alone), sg.simulate(alone.replace(objects=(post,)))
    # F1 comes from x > 0 at y = 20 mm, where the post stands
    assert free.contact_of("F1_P3").object == "one"
    events = [event for event in stopped.events if event.body == "F1_P3"]
    assert [event.kind for event in events[:2]] == ["touching", "established"]
    assert {event.object for event in events} == {"post"}
    assert stopped.contact_of("F1_P3").object == "post"
    assert stopped.joints["F1_J1"] < free.joints["F1_J1"] - 0.1
    assert stopped.contact_of("F2_P3").object == "one"
    assert {event.object for event in free.events} == {"one"}


def test_forces_on_each_object_add_up_to_those_on_the_body() -> None:
    result = sg.simulate(sg.load_scene("two_spheres"))
    shared = result.object_normal_force
    assert shared.sum(axis=2) == pytest.approx(result.normal_force, abs=1e-12)
    assert shared[-1].max(axis=0).min() > 1.0
    for contact in result.contacts:
        row = result.contact_bodies.tolist().index(contact.body)
        names = ["large", "small"]
        if contact.object is not None:
            assert contact.normal_force_N == pytest.approx(shared[-1, row].max())
            assert names[int(shared[-1, row].argmax())] == contact.object


def test_the_hold_test_evaluates_the_first_object_and_reports_the_others() -> None:
    heavy = sg.simulate(side_by_side(second=100_000.0))
    assert heavy.held
    (other,) = heavy.hold.others
    assert other.name == "other"
    assert other.drop_m > 0.1 > 1e3 * heavy.hold.drop_m
    assert heavy.hold.weight_N == pytest.approx(mass(0.0195, 700.0) * G)
    rotated = side_by_side().replace(object=named("one", 0.0195, 100_000.0))
    assert sg.simulate(rotated).held is False
    assert sg.simulate(pinch(success=sg.SuccessCriterion())).hold.others is None  # type: ignore[union-attr]


def test_a_hand_that_takes_only_the_second_object_has_not_closed_on_the_first() -> None:
    other = sg.description.PlacedObject(object=named("other", 0.03), position=(0, 0, -0.085))
    result = sg.simulate(
        pinch(object_position=FAR, objects=(other,), success=sg.SuccessCriterion())
    )
    assert result.status is sg.GraspStatus.NO_CONTACT
    assert result.held is False
    assert {event.object for event in result.events} == {"other"}
    assert result.outcome is sg.Outcome.MISSED
    untested = sg.simulate(pinch(object_position=FAR, objects=(other,)))
    assert untested.outcome is sg.Outcome.MISSED
    # whether the first one was ejected does not depend on what presses on the other one
    forces, moved = untested.object_normal_force.copy(), untested.object_position.copy()
    forces[:101, 0, 0] = 1.0
    moved[:, 0] += 0.1 * np.maximum(untested.time - untested.time[100], 0.0)
    brushed = dataclasses.replace(untested, object_normal_force=forces, object_position=moved)
    assert brushed.outcome is sg.Outcome.EJECTED


def test_mirrored_objects_move_mirrored() -> None:
    result = sg.simulate(side_by_side())
    first, second = (np.array(motion.final_position_m) for motion in result.objects)
    assert second == pytest.approx(first * [1, -1, 1], abs=1e-9)
    swapped = side_by_side().replace(
        object_position=(0, -0.02, -0.085),
        objects=(side_by_side().objects[0].replace(position=(0, 0.02, -0.085)),),
    )
    again = sg.simulate(swapped)
    assert again.object.final_position_m == pytest.approx(tuple(first * [1, -1, 1]), abs=1e-9)


def placed(
    obj: sg.GraspObject, position: tuple[float, ...], **fields: str
) -> sg.description.PlacedObject:
    return sg.description.PlacedObject(object=obj, position=position, **fields)


def test_all_objects_are_recorded_and_come_back(tmp_path: Path) -> None:
    scene = stack(objects=(
        placed(named("top", 0.02), (1.0, 0, 0.05)),
        placed(named("still", 0.02), (1.2, 0, 0), mount="fixed"),
        placed(named("flat", 0.02), (1.4, 0, 0.1), mount="planar"),
    ), duration=0.1)  # fmt: skip
    result = sg.simulate(scene)
    assert [motion.name for motion in result.objects] == ["ball", "top", "still", "flat"]
    rows = len(result.time)
    assert result.object_positions.shape == (rows, 4, 3)
    assert result.object_quats_wxyz.shape == (rows, 4, 4)
    np.testing.assert_array_equal(result.object_positions[:, 0], result.object_position)
    np.testing.assert_array_equal(result.object_positions[:, 2], np.tile((1.2, 0, 0), (rows, 1)))
    # it falls in its plane: z = -g t²/2
    fallen = result.object_positions[-1, 3] - (1.4, 0, 0.1)
    assert fallen == pytest.approx((0, 0, -0.5 * G * 0.1**2), rel=0.02, abs=1e-9)
    for motion, (position, _) in zip(result.objects, result.tracks, strict=True):
        assert motion.final_position_m == tuple(position[-1].tolist())
    result.save(tmp_path)
    back = sg.load_result(tmp_path)
    assert back.trajectory_sha256 == result.trajectory_sha256
    assert back.objects == result.objects
    assert back.other_contacts == result.other_contacts
    assert back.scene == result.scene


def test_every_object_keeps_its_friction_law() -> None:
    slippery = sg.Contact(static_friction=0.6, dynamic_friction=0.2, critical_velocity=2e-3)
    other = side_by_side().objects[0].replace(contact=slippery)
    built = compile_scene(side_by_side(objects=(other,)))
    assert set(built.switching) == {name for name in built.stiffness if name.endswith("|object2")}
    assert set(built.switching.values()) == {slippery}
    assert built.model.pair("F1_P3|object2").friction[0] == 0.6
    assert built.model.pair("F1_P3|object").friction[0] == 0.5


def test_objects_in_one_another_are_refused_with_names_and_depth(golden: Golden) -> None:
    other = sg.description.PlacedObject(object=named("other", 0.02), position=(0.0, 0.045, -0.085))
    golden.refused(
        lambda: sg.compile_model(pinch(objects=(other,))),
        "expected a start without overlaps",
        sg.BuildError,
    )


def test_a_further_object_in_the_hand_is_refused() -> None:
    other = sg.description.PlacedObject(object=named("other", 0.02), position=(0.0, 0.0, 0.0))
    scene = pinch(object_position=FAR, objects=(other,))
    with pytest.raises(sg.BuildError, match=r"palm of the hand [\d.]+ mm inside object 'other'"):
        sg.compile_model(scene)


def test_a_further_object_needs_a_position(golden: Golden) -> None:
    golden.refused(
        lambda: pinch(objects=({"object": ball()},), surroundings=(sg.Table(),)),
        "objects[0].position",
    )


def test_names_are_numbered_where_they_are_not_specified_and_refused_where_they_clash(
    golden: Golden,
) -> None:
    item = sg.description.PlacedObject(object=ball(), position=(1, 0, 0))
    scene = pinch(objects=(item, item.replace(position=(2, 0, 0)), item.replace(name="mine")))
    assert scene.object_names == ("ball", "ball2", "ball3", "mine")
    golden.refused(lambda: pinch(objects=(item.replace(name="ball"),)), "objects[0].name")


# Tables, walls, blocks and gravity of any direction: statics, friction, grasps that use them.


def away(obj: sg.GraspObject, *around: Any, **changes: Any) -> sg.GraspScene:
    """An object out of the hand's reach under gravity, among what stands around."""
    base: dict[str, Any] = {"object": obj, "object_position": FAR, "object_euler": (0, 0, 0)}
    base |= {"surroundings": around, "gravity": True, "duration": 0.5}
    return pinch(**(base | changes))


def weight(scene: sg.GraspScene) -> float:
    return float(sg.compile_model(scene).body("object").mass[0]) * G


@pytest.mark.parametrize("normal", [(1, 0, 0), (0, -2, 0), (1, 2, 3), (-1, 0.5, -2), (0, 0, 1)])
def test_a_wall_faces_along_its_normal_and_rises_along_y(normal: tuple[float, ...]) -> None:
    frame = wall_frame(sg.description.Wall(point=(0.1, 0.2, 0.3), normal=normal))
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
        sg.description.Wall(
            point=(1.0 - sign * r / math.sqrt(2), 0, -r / math.sqrt(2)), normal=(sign, 0, 1),
            size=(0.2, 0.1), contact=smooth,
        )
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
    wall = sg.description.Wall(point=face, normal=tuple(up.tolist()), size=(0.5, 0.9))
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.06, 0.06, 0.03)), density=700)
    result = sg.simulate(away(box, wall, object_euler=(0, slope, 0), duration=0.4))
    gone = float(np.linalg.norm(result.object.displacement_m))
    pull = G * (math.sin(slope) - 0.5 * math.cos(slope))
    if slides:
        # a tenth of friction is left to pull, of which 0.6 % is an error of 6 %
        assert gone == pytest.approx(0.5 * pull * 0.4**2, rel=0.07)
    else:
        assert gone < 1e-4


def test_a_block_and_a_second_table_carry_too() -> None:
    scene = away(
        ball(),
        sg.Table(height=-0.5),
        sg.Table(name="shelf", height=-0.03, size=(0.1, 0.1)),
        sg.description.Block(position=(1.2, 0, -0.1), size=(0.1, 0.1, 0.14)),
        objects=(sg.description.PlacedObject(object=ball(), position=(1.2, 0, 0)),),
    )
    pairs = {(c.first, c.second): c.normal_force_N for c in sg.simulate(scene).other_contacts}
    assert pairs == pytest.approx(
        {("ball", "shelf"): weight(scene), ("ball2", "block"): weight(scene)}
    )


def test_the_second_table_needs_a_height(golden: Golden) -> None:
    golden.refused(lambda: pinch(surroundings=(sg.Table(), sg.Table())), "surroundings[1].height")


def test_names_around_are_numbered_and_unique(golden: Golden) -> None:
    wall = sg.description.Wall(point=(-0.5, 0, 0), normal=(1, 0, 0))
    scene = pinch(surroundings=(wall, wall.replace(name="left"), wall))
    assert scene.surrounding_names == ("wall", "left", "wall2")
    model = sg.compile_model(scene)
    assert [model.body(name).name for name in ("wall", "wall2", "wall3")]
    golden.refused(
        lambda: pinch(surroundings=(wall.replace(name="a"), wall.replace(name="a"))),
        "surroundings[1].name",
    )


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"type": "wall", "point": (0, 0, 0), "normal": (0, 0, 0)}, "surroundings[0].normal"),
        ({"type": "walls", "point": (0, 0, 0)}, "surroundings[0]"),
        ({"type": "wall", "point": (0, 0, 0)}, "surroundings[0].normal"),
        ({"hight": 0.0}, "surroundings[0].hight"),
    ],
)
def test_mistakes_in_surroundings_are_reported(
    part: dict[str, Any], sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: pinch(surroundings=(part,)), sentence)


def test_a_wall_in_the_object_or_in_the_hand_is_refused(golden: Golden) -> None:
    wall = sg.description.Wall(
        name="left", point=(-0.025, 0, -0.085), normal=(1, 0, 0), thickness=0.01, size=(0.02, 0.02)
    )
    golden.refused(
        lambda: sg.compile_model(pinch(surroundings=(wall,))),
        "expected a start without overlaps",
        sg.BuildError,
    )
    across = sg.description.Wall(point=(0.06, 0, -0.02), normal=(1, 0, 0))
    with pytest.raises(sg.BuildError, match=r"found F\d_P\d of the hand .* mm inside the wall; m"):
        sg.compile_model(pinch(surroundings=(across,), object_position=FAR))


def test_a_time_step_honours_the_stiffest_contact_of_all() -> None:
    stiff = sg.Contact(stiffness=1e6, damping=1000.0)
    wall = sg.description.Wall(point=(-0.5, 0, 0), normal=(1, 0, 0), contact=stiff)
    assert compile_scene(pinch()).model.opt.timestep == 1e-3
    heavy = ball().weighing(mass=1.0)
    assert compile_scene(pinch(object=heavy, surroundings=(wall,))).model.opt.timestep == 5e-4
    # a light object would rock on the stiff wall
    light = ball().weighing(mass=0.05)
    assert compile_scene(pinch(object=light, surroundings=(wall,))).model.opt.timestep == 1e-4
    other = sg.description.PlacedObject(object=ball(), position=FAR, contact=stiff)
    assert compile_scene(pinch(objects=(other,))).model.opt.timestep == 5e-4


def turned_scene(scene: sg.GraspScene, rotation: Rotation) -> sg.GraspScene:
    """A whole scene turned about the origin: hand, objects, walls and gravity."""

    def vector(value: tuple[float, float, float]) -> tuple[float, float, float]:
        x, y, z = rotation.apply(value).tolist()
        return (x, y, z)

    about_z, about_y, about_x = rotation.as_euler("ZYX").tolist()
    euler = (about_x, about_y, about_z)
    quaternion = tuple(rotation.as_quat(scalar_first=True).tolist())
    assert scene.object_position is not None
    return scene.replace(
        hand_pose=sg.Pose(quaternion=quaternion),
        object_position=vector(scene.object_position),
        object_euler=euler,
        objects=tuple(p.replace(position=vector(p.position), euler=euler) for p in scene.objects),
        surroundings=tuple(
            part.replace(position=vector(part.position), euler=euler)
            for part in scene.surroundings
            if isinstance(part, sg.description.Block)
        ),
        gravity=vector(scene.gravity),
        success=scene.success.replace(gravity=vector(scene.success.gravity)),
    )


@pytest.mark.parametrize("rotation", [(0.5, 0, 0), (0.3, -1.1, 2.0), (math.pi / 2, 0, 0)])
def test_rotating_the_whole_scene_rotates_the_result(rotation: tuple[float, float, float]) -> None:
    scene = pinch(
        object=ball(density=2300.0),
        object_position=(0.001, 0.002, -0.085),
        object_euler=(0, 0, 0),
        gravity=(0.05, 0.6, -0.05),
        surroundings=(sg.description.Block(position=(0, 0.042, -0.085), size=(0.02, 0.02, 0.05)),),
        success=sg.SuccessCriterion(gravity=(1.0, 5.0, -3.0), ramp_time=0.1, hold_time=0.1),
        solver=sg.description.Solver(iterations=200),
    )
    about = Rotation.from_rotvec(rotation)
    upright, result = sg.simulate(scene), sg.simulate(turned_scene(scene, about))
    assert upright.held
    assert result.held
    assert np.abs(upright.object_position - upright.object_position[0]).max() > 1e-4
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
    assert loose.object_position[200, 1] == pytest.approx(0.5 * G * 0.2**2, rel=0.02)


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
    assert held.hold.weight_N == pytest.approx(1.112, abs=1e-3)
    assert held.hold.drop_m < 1e-5


@pytest.mark.parametrize(("friction", "comes_along"), [(0.15, True), (0.5, False)])
def test_fingers_slide_a_box_up_a_smooth_wall(friction: float, comes_along: bool) -> None:
    scene = sg.load_scene("up_the_wall")
    table, wall = scene.surroundings
    rough = wall.replace(contact=sg.Contact(static_friction=friction))
    result = sg.simulate(scene.replace(surroundings=(table, rough)))
    assert result.held is comes_along
    if comes_along:
        assert result.hold.lifted_m == pytest.approx(0.1, abs=2e-3)
        assert result.other_contacts[0].second == "wall"


def test_a_corner_holds_what_two_fingers_press_into_it() -> None:
    result = sg.simulate(sg.load_scene("corner").replace(timestep=2e-4))
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two_spheres", "beside"])
def test_shipped_scenes_with_two_objects(name: str) -> None:
    result = sg.simulate(sg.load_scene(name))
    assert result.held
    assert len(result.objects) == 2
    moved = np.linalg.norm(result.objects[1].displacement_m)
    if name == "two_spheres":
        assert result.other_contacts[0].normal_force_N == pytest.approx(15.05, rel=0.02)
        assert result.hold.others[0].drop_m < 1e-5
    else:
        assert moved > 0.1
        # a finger that touches both has an event of the one that it presses harder
        assert "sphere" in {event.object for event in result.events} <= {"sphere", "small"}
