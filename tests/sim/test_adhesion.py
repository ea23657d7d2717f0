"""Suction cups and adhesive pads: seal, breakaway by each limit, pads, and what is refused."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.evaluation.result_files import document, save_result
from softgrasp.pipeline import compile_scene
from softgrasp.sim import SuctionEvent
from softgrasp.sim.contacts import ContactReader
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.stepper import driven

CUP, PAD = sg.load_hand("suction_cup"), sg.load_hand("gecko_gripper")
RADIUS, VACUUM, FRICTION = 0.015, 6e4, 0.6
SUCTION = VACUUM * math.pi * RADIUS**2
ADHESION = 1.6e-3 * 1e4
HALF = 0.04
"""Half the height of the plate [m]."""
PLATE = sg.GraspObject(name="plate", shape=sg.Cuboid(size=(0.1, 0.1, 2 * HALF)), mass=0.05)


def hand_with(hand: sg.Hand, **changes: Any) -> sg.Hand:
    """The hand with other values of its cup or pad."""
    (finger,) = hand.fingers
    *rows, last = finger.phalanges
    last = last.replace(adhesion=last.adhesion.replace(**changes), parts=())
    return hand.replace(fingers=[finger.replace(phalanges=[*rows, last])])


def closed(hand: sg.Hand = CUP, described: sg.GraspObject = PLATE, **fields: Any) -> ClosureRun:
    """A run at the end of its closure, without gravity."""
    fields |= {"grasp": "power", "gravity": (0.0, 0.0, 0.0)}
    scene = sg.GraspScene(hand=hand, object=described, **fields)
    run = ClosureRun(compile_scene(scene))
    run.close()
    return run


def last_event(run: ClosureRun) -> SuctionEvent | None:
    assert run.suction is not None
    return run.suction.events[-1] if run.suction.events else None


def broken(run: ClosureRun, wrench: tuple[float, ...], rate: float) -> tuple[SuctionEvent, float]:
    """Load the object by a growing wrench until the cup breaks away; return event and factor."""
    body, period = run.model.body("object").id, run.scene.control_period
    for sample in range(1, 5000):
        factor = rate * sample * period
        run.data.xfrc_applied[body] = factor * np.array(wrench)
        driven(run.advancing(1), run._stepper.run_chunk)
        event = last_event(run)
        if event is not None and event.kind == "broken away":
            return event, factor
    raise AssertionError("the cup holds")


LOADS = {
    "pull": ((0.0, 0.0, -1.0, 0.0, 0.0, 0.0), SUCTION),
    # a force in the plane of the lip, without a moment
    "shear": ((1.0, 0.0, 0.0, 0.0, HALF, 0.0), FRICTION * SUCTION),
    "torsion": ((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), FRICTION * SUCTION * RADIUS),
}


@cache
def breakaway(cause: str, timestep: float | None = None) -> tuple[SuctionEvent, float]:
    wrench, limit = LOADS[cause]
    fields = {} if timestep is None else {"timestep": timestep}
    return broken(closed(**fields), wrench, 0.3 * limit)


@pytest.mark.slow
def test_a_cup_pulled_along_the_normal_breaks_away_at_pressure_times_area():
    event, force = breakaway("pull")
    assert (event.cause, event.cup, event.object) == ("pull", "cup_lip", "object")
    assert force == pytest.approx(SUCTION, rel=0.02)
    assert event.pressure_Pa == pytest.approx(VACUUM, rel=1e-3)


@pytest.mark.slow
def test_a_cup_pulled_across_breaks_away_at_the_friction_of_suction_less_pull():
    event, force = breakaway("shear")
    assert event.cause == "shear"
    assert event.shear_N == pytest.approx(FRICTION * (SUCTION - event.pull_N), rel=0.01)
    assert force == pytest.approx(FRICTION * (SUCTION - event.pull_N), rel=0.03)


@pytest.mark.slow
def test_a_pull_reduces_the_shear_that_a_cup_holds():
    """The force T along and across the axis that friction bears is T = µ (F − T)."""
    _, alone = breakaway("shear")
    event, force = broken(closed(), (1.0, 0.0, -1.0, 0.0, HALF, 0.0), SUCTION / 8)
    assert event.cause == "shear"
    assert force == pytest.approx(FRICTION / (1.0 + FRICTION) * SUCTION, rel=0.05)
    assert force < 0.7 * alone


@pytest.mark.slow
def test_a_cup_twisted_breaks_away_at_the_friction_of_its_ring():
    event, moment = breakaway("torsion")
    assert event.cause == "torsion"
    assert moment == pytest.approx(LOADS["torsion"][1], rel=0.1)


@pytest.mark.slow
def test_a_moment_opens_the_lip_from_half_of_suction_times_radius_on():
    event, moment = broken(closed(hand_with(CUP, gap=2e-5)), (0, 0, 0, 1, 0, 0), 0.1)
    assert event.cause == "moment"
    assert moment == pytest.approx(0.5 * SUCTION * RADIUS, rel=0.03)


@pytest.mark.slow
def test_a_stated_moment_limit_breaks_the_seal_before():
    event, moment = broken(closed(hand_with(CUP, moment_limit=0.1)), (0, 0, 0, 1, 0, 0), 0.1)
    assert event.cause == "moment"
    assert moment == pytest.approx(0.1, rel=0.02)
    assert event.moment_Nm == pytest.approx(0.1, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("cause", ["pull", "shear"])
def test_breakaway_does_not_depend_on_the_time_step(cause: str):
    _, force = breakaway(cause)
    _, with_half = breakaway(cause, 5e-4)
    assert with_half == pytest.approx(force, rel=0.01)


def ball(radius: float) -> sg.GraspObject:
    return sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), mass=0.05)


def test_a_plate_and_a_large_ball_seal_and_a_small_ball_does_not():
    assert last_event(closed()).kind == "sealed"
    assert last_event(closed(described=ball(0.05))).kind == "sealed"
    assert last_event(closed(described=ball(0.03))) is None
    assert last_event(closed(described=ball(0.012))) is None


@pytest.mark.slow
def test_a_ball_is_pulled_off_by_pressure_times_area_too():
    event, force = broken(closed(described=ball(0.05)), LOADS["pull"][0], 0.3 * SUCTION)
    assert event.cause == "pull"
    assert force == pytest.approx(SUCTION, rel=0.02)


def test_a_lip_over_an_edge_does_not_seal():
    narrow = PLATE.replace(shape=sg.Cuboid(size=(0.02, 0.1, 0.08)))
    assert last_event(closed(described=narrow)) is None


def test_the_pressure_approaches_its_target_with_the_time_constant():
    run = closed(hand_with(CUP, time_constant=0.05), closure={"rates": (0.03, 1e9)})
    sealed = last_event(run)
    pressures = run.suction.recorded(run.recording.rows)[:, 0]
    rows = round(sealed.time_s / run.scene.control_period) + np.arange(0, 200, 20)
    expected = VACUUM * (1.0 - np.exp(-np.arange(0, 200, 20) * 1e-3 / 0.05))
    np.testing.assert_allclose(pressures[rows], expected, atol=0.02 * VACUUM)


@cache
def lifted() -> sg.GraspResult:
    scene = sg.GraspScene(
        hand=CUP,
        object=sg.load_object("cuboid"),
        success=sg.SuccessCriterion(gravity=(0, 0, -9.81)),
    )
    return sg.simulate(scene)


@pytest.mark.slow
def test_a_cup_holds_a_box_and_bears_its_whole_weight():
    result = lifted()
    assert result.outcome is sg.Outcome.HELD
    assert result.hold.parts[-1].balance.hand_fraction == pytest.approx(1.0, abs=0.01)
    assert [event.kind for event in result.suction_events] == ["sealed"]
    assert result.vacuum[-1, 0] == pytest.approx(2e4, rel=1e-3)  # of the precision grasp
    assert not result.warnings


@pytest.mark.slow
def test_a_cup_lifts_a_box_from_a_table_puts_it_down_and_lets_go_by_venting():
    scene = sg.GraspScene(
        hand=CUP,
        object=sg.load_object("cuboid"),
        surroundings=[sg.Table()],
        gravity=True,
        sequence=[{"type": "close"}, {"type": "lift", "height": 0.05}, {"type": "place"}],
    )
    result = sg.simulate(scene)
    assert result.outcome is sg.Outcome.PLACED
    assert [(event.kind, event.cause) for event in result.suction_events] == [
        ("sealed", ""),
        ("broken away", "vented"),
    ]
    assert result.vacuum[-1, 0] == pytest.approx(0.0, abs=1.0)


def test_a_heavy_box_breaks_away_in_the_hold_test():
    heavy = PLATE.replace(mass=5.0)
    criterion = sg.SuccessCriterion(gravity=(0, 0, -9.81))
    result = sg.simulate(sg.GraspScene(hand=CUP, object=heavy, success=criterion, grasp="power"))
    assert result.outcome is sg.Outcome.DROPPED
    assert (result.suction_events[-1].kind, result.suction_events[-1].cause) == (
        "broken away",
        "pull",
    )


@pytest.mark.slow
def test_every_pull_of_a_hold_test_begins_with_the_seal():
    pulls = [{"direction": direction, "max_ratio": 3.0} for direction in ((0, 0, -1), (0, 0, -1))]
    light = PLATE.replace(mass=0.02)
    scene = sg.GraspScene(hand=CUP, object=light, success={"pulls": pulls}, grasp="power")
    result = sg.simulate(scene)
    first, second = (pull.slip_force_N for pull in result.hold.pulls)
    assert second == pytest.approx(first, rel=1e-6)
    assert first == pytest.approx(SUCTION, rel=0.03)
    kinds = [event.kind for event in result.suction_events]
    assert kinds[0] == "sealed"
    assert kinds.count("broken away") <= 2


def test_the_events_and_pressures_are_saved_and_read(tmp_path):
    result = lifted()
    save_result(result, tmp_path)
    again = sg.load_result(tmp_path)
    assert again.suction_events == result.suction_events
    np.testing.assert_array_equal(again.vacuum, result.vacuum)
    assert document(again) | {"wall_time_s": 0} == document(result) | {"wall_time_s": 0}


# Pads


def test_a_pad_is_pulled_off_by_its_adhesion_times_area():
    run = closed(PAD)
    body = run.model.body("object").id
    for sample in range(1, 2000):
        force = ADHESION * sample * 1e-3
        run.data.xfrc_applied[body, 2] = -force
        driven(run.advancing(1), run._stepper.run_chunk)
        if run.data.xpos[body, 2] < -0.115:
            break
    assert force == pytest.approx(ADHESION, rel=0.02)


def test_a_plate_slides_off_a_pad_at_the_tilt_of_the_friction_law():
    """W sin(t) = µ (σA − W cos(t)): gravity turns under a closed pad until the plate slides."""
    weight, thin = 12.0, sg.Cuboid(size=(0.2, 0.2, 0.004))  # without a moment at the pad
    run = closed(PAD, PLATE.replace(shape=thin, mass=weight / 9.81))
    body = run.model.body("object").id
    sole = run.model.body("pad_sole").id
    angles = np.radians(np.concatenate([np.zeros(500), np.arange(0.0, 30.0, 0.005)]))
    load = 9.81 * np.minimum(np.arange(len(angles)) / 400, 1.0)
    run._stepper.loads = load[:, None] * np.stack(
        [np.sin(angles), np.zeros(len(angles)), -np.cos(angles)], axis=1
    )
    slid_at = math.nan
    for angle in angles.tolist():
        driven(run.advancing(1), run._stepper.run_chunk)
        if run.data.xpos[body, 0] - run.data.xpos[sole, 0] > 1e-4:
            slid_at = math.degrees(angle)
            break
    excess = weight * np.sin(angles) - FRICTION * (ADHESION - weight * np.cos(angles))
    critical = float(angles[np.flatnonzero(excess > 0.0)[0]])
    assert slid_at == pytest.approx(math.degrees(critical), abs=1.0)


def test_contacts_and_adhesion_together_bear_what_hangs_on_a_pad():
    """What the pad pulls and presses is the weight, and its reaction acts on the pad."""
    run = closed(PAD)
    run._stepper.loads = np.tile((0.0, 0.0, -9.81), (1500, 1))
    driven(run.advancing(1500), run._stepper.run_chunk)
    reader = ContactReader(run.model)
    (pad, on_plate), *others = reader.forces_on(run.data, "object").items()
    assert not others
    assert on_plate == pytest.approx((0.0, 0.0, 9.81 * PLATE.mass), abs=0.01)
    assert reader.forces_on(run.data, pad)["object"] == pytest.approx(-on_plate, abs=1e-9)


def test_a_pad_that_is_off_holds_nothing():
    scene = sg.GraspScene(
        hand=PAD,
        object=PLATE,
        closure={"pressure": 0.0},
        success=sg.SuccessCriterion(gravity=(0, 0, -9.81)),
    )
    assert not sg.simulate(scene).outcome.is_success


# Descriptions


def test_a_pressure_beyond_the_cup_is_refused():
    with pytest.raises(sg.DescriptionError, match="inside the limits of 'cup_lip'") as caught:
        sg.GraspScene(hand=CUP, object=PLATE, closure={"pressure": 9e4})
    assert "closure" in str(caught.value)


def test_the_closure_pressure_takes_cups():
    scene = sg.GraspScene(hand=CUP, object=PLATE, closure={"type": "pressure"})
    assert scene.closure.name == "pressure"


def test_a_hand_with_a_cup_is_saved_and_read(tmp_path):
    path = sg.io.save_hand(CUP, tmp_path / "cup.yaml")
    assert sg.load_hand(path) == CUP


def test_wrong_bellows_are_refused_with_their_path(tmp_path):
    text = (sg.assets.find("hands", "suction_cup")).read_text("utf-8")
    path = tmp_path / "cup.yaml"
    path.write_text(text.replace("axial: 8000", "axial: -1"), "utf-8")
    with pytest.raises(sg.DescriptionError) as caught:
        sg.load_hand(path)
    assert caught.value.field == "fingers[0].phalanges[1].bellows.axial"
    assert caught.value.line is not None


def test_webots_refuses_cups():
    pytest.importorskip("softgrasp.backends.webots.world")
    from softgrasp.backends.webots.world import require_supported

    scene = sg.GraspScene(hand=CUP, object=PLATE)
    with pytest.raises(sg.BuildError, match="suction cups"):
        require_supported(scene)
