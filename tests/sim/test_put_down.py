"""Pick and place: a guarded way down, the release, the retreat, and where the object rests."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.task import unfold
from softgrasp.evaluation import Outcome, PutDown
from softgrasp.pipeline import compile_scene
from softgrasp.sim.contacts import ContactReader
from softgrasp.sim.grasp_run import ClosureRun
from tests.support.scenes import pinch

BOX = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.04, 0.04, 0.05)), density=500.0)
ASIDE = {"type": "move", "displacement": (0.06, 0.02, 0.0), "time": 0.4}
LIFT = {"type": "lift", "height": 0.03, "time": 0.3}
PLACE = {"type": "place", "lower_time": 0.8, "time": 0.3, "retreat_time": 0.4}
GRAVITY = 9.81


def carry(*later: Any, **changes: Any) -> sg.GraspScene:
    base: dict[str, Any] = {
        "object": BOX, "object_position": (0.0, 0.0, -0.105), "gravity": True,
        "surroundings": (sg.Table(),), "success": sg.io.load_criterion("sequence"),
        "sequence": ("close", LIFT, *later),
    }  # fmt: skip
    return pinch(**(base | changes))


@cache
def moved_aside() -> sg.GraspResult:
    return sg.simulate(carry(ASIDE, PLACE))


def span(result: sg.GraspResult, name: str) -> sg.evaluation.PhaseSpan:
    return next(phase for phase in result.phases if phase.name == name)


@pytest.mark.slow
def test_an_object_rests_where_the_wrist_has_carried_it() -> None:
    result = moved_aside()
    rest = result.put_down
    assert result.outcome is Outcome.PLACED
    assert result.held
    np.testing.assert_allclose(rest.displacement_m, (0.06, 0.02, 0.0), atol=3e-4)
    assert rest.tilt_rad < 1e-3
    assert rest.release_s is not None
    assert span(result, "release").start_s <= rest.release_s <= span(result, "release").end_s
    assert rest.release_speed_m_s is not None
    assert rest.release_speed_m_s < 0.02
    assert rest.balance.support == pytest.approx(1.0, abs=0.01)  # the table's


def test_the_hold_test_ends_before_the_object_is_put_down() -> None:
    result = moved_aside()
    assert [part.name for part in result.hold.parts] == ["lift", "move"]
    assert result.hold.parts[-1].end_s == result.put_down.start_s == span(result, "lower").start_s
    assert result.hold.lifted_m == pytest.approx(0.03, abs=3e-4)


@pytest.mark.slow
def test_a_saved_result_keeps_how_the_object_was_put_down(tmp_path: Any) -> None:
    result = moved_aside()
    result.save(tmp_path)
    loaded = sg.load_result(tmp_path)
    assert loaded.put_down == result.put_down
    assert loaded.phases == result.phases
    assert loaded.outcome is Outcome.PLACED


@pytest.mark.slow
def test_a_block_stops_the_hand_higher_up() -> None:
    top = 0.02
    block = sg.description.Block(position=(0.16, 0.0, -0.13 + top / 2), size=(0.08, 0.08, top))
    far = ASIDE | {"displacement": (0.16, 0.0, 0.0), "time": 0.8}
    result = sg.simulate(carry(far, PLACE, surroundings=(sg.Table(), block)))
    assert result.outcome is Outcome.PLACED
    assert result.put_down.displacement_m[2] == pytest.approx(top, abs=3e-4)
    table = span(moved_aside(), "lower")
    way = span(result, "lower")
    assert way.end_s - way.start_s < table.end_s - table.start_s


def test_an_object_that_is_let_go_in_the_air_falls() -> None:
    result = sg.simulate(carry({"type": "release", "time": 0.3}, {"type": "hold", "time": 0.4}))
    assert result.outcome is Outcome.MISPLACED
    assert result.held  # until then
    rest = result.put_down
    assert rest.stopped_by_N is None
    assert rest.fall_m == pytest.approx(0.03, abs=5e-4)
    assert "it fell by 29" in result.message
    # free fall after the last contact
    assert rest.release_s is not None
    assert rest.release_speed_m_s is not None
    row = int(np.searchsorted(result.time, rest.release_s - 1e-9))
    after = 30
    time = float(result.time[row + after] - result.time[row])
    fall = float(result.object_position[row, 2] - result.object_position[row + after, 2])
    law = rest.release_speed_m_s * time + 0.5 * GRAVITY * time**2
    assert fall == pytest.approx(law, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("max_force", [2.0, 5.0])
def test_a_guarded_move_stops_at_its_force_and_the_wrist_carries_it(max_force: float) -> None:
    down = {"type": "move", "displacement": (0, 0, -0.04), "time": 1.5, "max_force": max_force}
    result = sg.simulate(carry(down))
    way = span(result, "move")
    assert way.stopped_by_N is not None
    assert way.stopped_by_N > max_force
    assert way.end_s - way.start_s < 1.5 + 0.2
    # at rest the servos of the wrist balance the object's weight and what presses from outside
    outside = sum(np.array(c.force_N) for c in result.other_contacts if c.second == "table")
    weight = 0.04 * 0.04 * 0.05 * 500.0 * GRAVITY
    carried = abs(weight + float(np.asarray(outside)[2]))  # on the table, down
    assert result.hold.parts[-1].wrist_force_N == pytest.approx(carried, rel=0.02)
    free = sg.simulate(carry(down | {"displacement": (0, 0, -0.02)}))
    assert span(free, "move").stopped_by_N is None


def test_a_guarded_move_before_the_closure_feels_the_table() -> None:
    reach = {"type": "move", "displacement": (0, 0, -0.09), "time": 0.6, "max_force": 1.0}
    sequence = (reach, {"type": "move", "displacement": (0, 0, 0.01), "time": 0.2}, "close")
    scene = carry(sequence=sequence, object_position=(0.0, 0.0, -0.16), success=None)
    result = sg.simulate(scene)
    touch = span(result, "move")
    assert touch.stopped_by_N is not None
    assert 0.3 < touch.end_s - touch.start_s < 0.8
    fingers = result.joint_target[:, : len(scene.actuators)]
    still = result.time <= span(result, "close").start_s
    assert np.ptp(fingers[still], axis=0).max() == 0.0  # they wait for the closure


def test_targets_of_the_wrist_go_on_from_where_the_hand_stopped() -> None:
    result = moved_aside()
    wrist = result.joint_target[:, len(result.scene.actuators) :]
    assert np.abs(np.diff(wrist, axis=0)).max() < 5e-4  # of 60 mm within 400 samples


def test_outside_force_of_a_stack_is_the_weight_of_the_object_in_it() -> None:
    upper = sg.description.PlacedObject(object=BOX.replace(density=2000.0), position=(0, 0, -0.1))
    scene = pinch(
        object=BOX, object_position=(0, 0, -0.15), objects=(upper,), gravity=True,
        surroundings=(sg.Table(height=-0.175),),
    )  # fmt: skip
    built = compile_scene(scene)
    data = mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(built.model, data, 0)
    mujoco.mj_step(built.model, data, 4000)
    weight = 0.04 * 0.04 * 0.05 * 500.0 * GRAVITY
    force = ContactReader(built.model).outside_force(data)
    np.testing.assert_allclose(force, (0.0, 0.0, weight), atol=1e-3 * weight)


def test_what_putting_down_consists_of() -> None:
    sequence = carry(ASIDE, {"type": "place", "name": "shelf", "max_force": 3.0}).sequence
    *_, lower, release, retreat = unfold(sequence)
    assert [part.label for part in (lower, release, retreat)] == [
        "shelf: lower", "shelf: release", "shelf: retreat",
    ]  # fmt: skip
    assert isinstance(lower, sg.description.MovePhase)
    assert lower.displacement == pytest.approx((0.0, 0.0, -0.04))  # what was lifted, and 10 mm
    assert lower.max_force == 3.0
    assert release.type == "release"
    assert isinstance(retreat, sg.description.MovePhase)
    assert retreat.displacement == (0.0, 0.0, 0.1)


def test_every_part_of_a_run_knows_its_phase() -> None:
    shake = {"type": "shake", "amplitude": 0.002, "frequency": 5.0, "cycles": 1}
    success = sg.SuccessCriterion(gravity=(0, 0, -1.0), motion=(shake,), hold_time=0.1)
    run = ClosureRun(compile_scene(pinch(success=success)))
    run.run()
    kinds = [None if part.phase is None else part.phase.type for part in run.phases]
    assert kinds == ["close", None, "shake"]


REST = PutDown(
    start_s=1.0, release_s=1.1, release_speed_m_s=0.002, fall_m=1e-4, tilt_rad=0.01,
    position_m=(0.1, 0.0, 0.02), displacement_m=(0.1, 0.0, 0.0), speed_m_s=0.0,
    max_fall_m=0.005, max_tilt_rad=0.2,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({}, ""),
        ({"release_s": None}, "the hand still touches it"),
        ({"fall_m": 0.006}, "it fell by 6 mm, more than the 5 mm allowed"),
        (
            {"fall_m": 0.006, "path_m": 0.11},
            "it fell by 6 mm, more than the 5 mm allowed, as nothing was met on the 110 mm down "
            "(depth)",
        ),
        ({"tilt_rad": math.pi / 2}, "it tilted by 90°, more than the 11.5° allowed"),
        ({"speed_m_s": 0.01}, "it still moves at 10 mm/s"),
    ],
)
def test_limits_of_what_was_put_down(change: dict[str, Any], failure: str) -> None:
    assert REST.replace(**change).failure == failure
