"""Several objects in one scene: forces, momentum, contacts, hold tests, records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.scene import build
from softgrasp.sim.batch import can_be_batched, run_batch
from softgrasp.sim.compiled import NativeStepper
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.stepper import PlainStepper
from tests.scenes import ball, pinch

G = 9.81
FAR = (1.0, 0.0, 0.0)
"""Out of the hand's reach."""


def named(name: str, radius: float, density: float = 700.0) -> sg.GraspObject:
    return ball(radius, density).replace(name=name)


def mass(radius: float, density: float) -> float:
    return density * 4 / 3 * math.pi * radius**3


def stack(**changes: Any) -> sg.GraspScene:
    """A small heavy ball on a larger light one on a table, away from the hand."""
    top = sg.PlacedObject(object=named("top", 0.02, 7860.0), position=(1.0, 0.0, 0.05))
    base: dict[str, Any] = {"object_position": FAR, "objects": (top,), "duration": 0.6}
    return pinch(**(base | {"surroundings": (sg.Table(),), "gravity": True} | changes))


def side_by_side(second: float = 700.0, **changes: Any) -> sg.GraspScene:
    """Two balls, each between two of the four fingers."""
    other = sg.PlacedObject(object=named("other", 0.0195, second), position=(0, -0.02, -0.085))
    base: dict[str, Any] = {"object": named("one", 0.0195), "object_position": (0, 0.02, -0.085)}
    return pinch(**(base | {"objects": (other,), "success": sg.SuccessCriterion()} | changes))


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 100.0), (1e5, 300.0), (1e6, 1000.0)])
def test_a_stack_stands_on_its_weight_and_sinks_by_weight_over_stiffness(
    stiffness: float, damping: float
) -> None:
    contact = sg.Contact(stiffness=stiffness, damping=damping)
    result = sg.simulate(stack(contact=contact))
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
    other = sg.PlacedObject(object=named("other", 0.02, 2300.0), position=(1.06, 0.004, 0.0))
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


def test_a_finger_that_touches_the_second_object_stops_and_says_which_one_it_was() -> None:
    alone = pinch(object=named("one", 0.02), object_position=(0, 0, -0.085), gravity=False)
    post = sg.PlacedObject(object=named("post", 0.01), position=(0.055, 0.02, -0.1), mount="fixed")
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
    assert shared is not None
    assert shared.sum(axis=2) == pytest.approx(result.normal_force, abs=1e-12)
    assert shared[-1].max(axis=0).min() > 1.0
    for contact in result.contacts:
        row = result.contact_bodies.tolist().index(contact.body)
        names = ["large", "small"]
        if contact.object is not None:
            assert contact.normal_force_N == pytest.approx(shared[-1, row].max())
            assert names[int(shared[-1, row].argmax())] == contact.object


def test_the_hold_test_judges_the_first_object_and_tells_of_the_others() -> None:
    heavy = sg.simulate(side_by_side(second=100_000.0))
    assert heavy.held
    assert heavy.hold is not None
    assert heavy.hold.others is not None
    (other,) = heavy.hold.others
    assert other.name == "other"
    assert other.drop_m > 0.1 > 1e3 * heavy.hold.drop_m
    assert heavy.hold.weight_N == pytest.approx(mass(0.0195, 700.0) * G)
    rotated = side_by_side().replace(object=named("one", 0.0195, 100_000.0))
    assert sg.simulate(rotated).held is False
    assert sg.simulate(pinch(success=sg.SuccessCriterion())).hold.others is None  # type: ignore[union-attr]


def test_a_hand_that_takes_only_the_second_object_has_not_closed_on_the_first() -> None:
    other = sg.PlacedObject(object=named("other", 0.03), position=(0, 0, -0.085))
    result = sg.simulate(
        pinch(object_position=FAR, objects=(other,), success=sg.SuccessCriterion())
    )
    assert result.status is sg.GraspStatus.NO_CONTACT
    assert result.held is False
    assert {event.object for event in result.events} == {"other"}


def test_mirrored_objects_move_mirrored() -> None:
    result = sg.simulate(side_by_side())
    one, other = (np.array(motion.final_position_m) for motion in result.objects)
    assert other == pytest.approx(one * [1, -1, 1], abs=1e-9)
    swapped = side_by_side().replace(
        object_position=(0, -0.02, -0.085),
        objects=(side_by_side().objects[0].replace(position=(0, 0.02, -0.085)),),
    )
    again = sg.simulate(swapped)
    assert again.object.final_position_m == pytest.approx(tuple(one * [1, -1, 1]), abs=1e-9)


def same_rows(one: ClosureRun, other: ClosureRun) -> None:
    rows = one.recording.rows
    assert rows == other.recording.rows
    for name in ("qpos", "control", "force", "in_contact"):
        mine, yours = getattr(one.recording, name), getattr(other.recording, name)
        np.testing.assert_array_equal(mine[:rows], yours[:rows], err_msg=name)


def plain_run(scene: sg.GraspScene) -> ClosureRun:
    run = ClosureRun(build(scene), stepper=PlainStepper)
    run.run()
    return run


def test_several_objects_are_repeatable_alone_and_in_a_batch() -> None:
    scene = side_by_side()
    other = scene.replace(objects=(scene.objects[0].replace(name="o"),))
    alone = plain_run(scene)
    batch = [build(scene), build(other)]
    assert can_be_batched(batch[0])
    together = list(run_batch(batch))
    for run in (plain_run(scene), *together):
        same_rows(alone, run)
    assert alone.events == together[0].events
    assert {event.object for event in together[1].events} == {"one", "o"}


def test_the_compiled_loop_sees_all_objects() -> None:
    pytest.importorskip("numba", reason="the compiled loop needs the extra 'fast'")
    slippery = sg.Contact(static_friction=0.5, dynamic_friction=0.3)
    for scene in (side_by_side(), side_by_side(contact=slippery)):
        compiled = ClosureRun(build(scene), stepper=NativeStepper)
        compiled.run()
        same_rows(plain_run(scene), compiled)


def test_all_objects_are_recorded_and_come_back(tmp_path: Path) -> None:
    scene = stack(objects=(
        sg.PlacedObject(object=named("top", 0.02), position=(1.0, 0, 0.05)),
        sg.PlacedObject(object=named("still", 0.02), position=(1.2, 0, 0), mount="fixed"),
        sg.PlacedObject(object=named("flat", 0.02), position=(1.4, 0, 0.1), mount="planar"),
    ), duration=0.1)  # fmt: skip
    result = sg.simulate(scene)
    assert [motion.name for motion in result.objects] == ["ball", "top", "still", "flat"]
    assert result.object_positions is not None
    assert result.object_quats_wxyz is not None
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


def test_one_object_has_no_arrays_of_several() -> None:
    result = sg.simulate(pinch())
    assert result.object_positions is None
    assert not {"object_positions", "object_names"} & set(result.trajectory())
    assert result.other_contacts == ()


def test_every_object_keeps_its_own_friction_law() -> None:
    slippery = sg.Contact(static_friction=0.6, dynamic_friction=0.2, critical_velocity=2e-3)
    other = side_by_side().objects[0].replace(contact=slippery)
    built = build(side_by_side(objects=(other,)))
    assert set(built.switching) == {name for name in built.stiffness if name.endswith("|object2")}
    assert set(built.switching.values()) == {slippery}
    assert not can_be_batched(built)
    assert built.model.pair("F1_P3|object2").friction[0] == 0.6
    assert built.model.pair("F1_P3|object").friction[0] == 0.5


def test_the_pairs_of_a_stack_are_explicit() -> None:
    built = build(stack())
    pairs = {built.model.pair(index).name for index in range(built.model.npair)}
    assert {"object|object2", "object|table", "object2|table", "F1_P3|object2"} <= pairs
    assert "F1_P3|table" in pairs


def test_objects_in_one_another_are_refused_with_names_and_depth() -> None:
    other = sg.PlacedObject(object=named("other", 0.02), position=(0.0, 0.045, -0.085))
    with pytest.raises(sg.BuildError) as refused:
        sg.compile_model(pinch(objects=(other,)))
    assert str(refused.value) == (
        "expected a start in which nothing stands in anything else, found object 'ball' 5.00 mm "
        "inside object 'other'; move one of them"
    )


def test_a_further_object_in_the_hand_is_refused() -> None:
    other = sg.PlacedObject(object=named("other", 0.02), position=(0.0, 0.0, 0.0))
    scene = pinch(object_position=FAR, objects=(other,))
    with pytest.raises(sg.BuildError, match=r"palm of the hand [\d.]+ mm inside object 'other'"):
        sg.compile_model(scene)


def test_a_further_object_needs_a_place_and_says_so() -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        pinch(objects=({"object": ball()},), surroundings=(sg.Table(),))
    assert str(refused.value) == (
        "objects[0].position: expected where the middle of this object stands in the world [m], "
        "found nothing: only the object to be grasped finds its own place, at the grasp's centre "
        "or on its table"
    )


def test_names_are_numbered_where_they_are_not_given_and_refused_where_they_clash() -> None:
    one = sg.PlacedObject(object=ball(), position=(1, 0, 0))
    scene = pinch(objects=(one, one.replace(position=(2, 0, 0)), one.replace(name="mine")))
    assert scene.object_names == ("ball", "ball2", "ball3", "mine")
    with pytest.raises(sg.DescriptionError) as refused:
        pinch(objects=(one.replace(name="ball"),))
    assert str(refused.value) == (
        "objects[0].name: expected unique names, found object 'ball' twice"
    )
