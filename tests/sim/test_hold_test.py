"""Directions of a hold test: one closed state, and Coulomb's law as the truth."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.errors import DescriptionError
from softgrasp.evaluation.result_files import load_result
from softgrasp.report.grasp_tables import pull_rows
from softgrasp.report.grasp_text import criterion_text, hold_clause, limits_text
from softgrasp.sim.contacts import ContactPoint
from softgrasp.sim.hold_test import (
    SlipDetector,
    direction_label,
    pull_forces,
    pull_rate,
    push_steps,
)
from tests.conftest import Golden
from tests.support.pads import pads
from tests.support.scenes import pinch

BAR = sg.GraspObject(name="bar", shape=sg.Cuboid(size=(0.04, 0.07, 0.04)), mass=0.1)
"""Flat where it touches: four fingertips press it up against the palm."""
MU = 0.1
LIMITS = {"direction_time": 0.4, "max_drop": 2e-3, "max_rotation": 0.1}
SIX = tuple(tuple(10.0 * part for part in row) for row in (*np.eye(3), *-np.eye(3)))


def bar(**changes: object) -> sg.GraspScene:
    contact = sg.Contact(static_friction=MU)
    # no limit: the end of closing is the last place where a grip force moves targets
    base = {"contact": contact, "closure": sg.PositionIncrementClosure(grip_force=None)}
    return pinch(object=BAR, object_euler=(0.0, 0.0, 0.0), **(base | changes))


@cache
def closed() -> sg.GraspResult:
    return sg.simulate(bar())


def pushed(*directions: tuple[float, ...], **changes: object) -> sg.GraspResult:
    criterion = sg.SuccessCriterion(directions=directions, **(LIMITS | changes))
    return sg.simulate(bar(success=criterion), quality_rate=None)


@pytest.mark.slow
@pytest.mark.parametrize(("fraction", "holds"), [(0.97, True), (1.03, False)])
def test_friction_holds_up_to_its_limit(fraction: float, holds: bool) -> None:
    # all normals are along z, so that friction along y holds up to µ times their sum
    contacts = [contact for contact in closed().contacts if contact.in_contact]
    assert all(abs(contact.normal[2]) > 0.9999 for contact in contacts)
    limit = MU * sum(contact.normal_force_N for contact in contacts)
    result = pushed((0.0, fraction * limit / 0.1, 0.0), (0.0, -fraction * limit / 0.1, 0.0))
    assert [test.held for test in result.hold.directions] == [holds, holds]
    assert result.held is holds
    for test in result.hold.directions:
        assert test.force_N == pytest.approx(fraction * limit)
        assert (test.drop_m < 1e-6) is holds
        # a lost direction ends early
        assert (test.end_s - test.start_s == pytest.approx(0.4)) is holds
    assert result.hold.failed_in == (None if holds else "push +y")


@pytest.mark.slow
def test_every_direction_begins_from_the_same_state() -> None:
    forth, back = pushed(*SIX), pushed(*SIX[::-1])
    by_name = {test.name: (test.drop_m, test.rotation_rad) for test in back.hold.directions}
    assert set(by_name) == {"+x", "+y", "+z", "-x", "-y", "-z"}
    for test in forth.hold.directions:
        assert by_name[test.name] == (test.drop_m, test.rotation_rad)
    after = pushed((0.0, 500.0, 0.0), SIX[0]).hold.directions[1]
    assert (after.drop_m, after.rotation_rad) == by_name["+x"]


@pytest.mark.slow
def test_no_push_is_nothing_but_time() -> None:
    still = pushed((0.0, 0.0, 0.0), direction_time=0.05)
    closing = still.closing
    longer = sg.simulate(bar(duration=closing.end_s + 0.05))
    first = int(np.searchsorted(still.time, closing.end_s - 1e-9))
    # the samples at which the stiffness of contacts is corrected are counted from the push
    np.testing.assert_allclose(
        still.object_position[: first + 51],
        longer.object_position[: first + 51],
        rtol=0,
        atol=1e-11,
    )


def test_the_run_ends_in_the_closed_state() -> None:
    result = pushed((0.0, 500.0, 0.0))
    assert result.held is False
    assert result.status is sg.GraspStatus.CLOSED
    assert [span.name for span in result.phases] == ["close", "push +y", "closed"]
    assert [event for event in result.events if event.time_s > result.closing.end_s] == []
    np.testing.assert_allclose(
        result.object_position[-1], closed().object_position[-1], rtol=0, atol=1e-9
    )
    for contact in closed().contacts:
        assert result.contact_of(contact.body).in_contact == contact.in_contact
    np.testing.assert_array_equal(result.time, np.arange(len(result.time)) * 1e-3)


@pytest.mark.slow
def test_contacts_count_too() -> None:
    four = pushed(SIX[0], min_contacts=5)
    six = pushed(SIX[0], min_contacts=6)
    assert (four.held, six.held) == (True, False)
    assert six.hold.directions[0].contacts == 5
    assert six.hold.directions[0].held is False
    assert six.hold.drop_m < 1e-4  # nothing but their number fails


@pytest.mark.slow
def test_held_by_one_criterion_and_dropped_by_another() -> None:
    lift = sg.io.load_criterion("lift_10cm").replace(
        motion=({"type": "lift", "time": 0.5}, {"type": "hold", "time": 0.2})
    )
    shake = lift.replace(
        name="hard_shake",
        motion=(*lift.motion, {"type": "shake", "amplitude": 0.03, "frequency": 6.0, "cycles": 4}),
    )
    table = {"gravity": True, "surroundings": (sg.Table(),), "object_position": (0, 0, -0.104)}
    slippery = pinch(
        object=sg.load_object("strawberry"),
        contact=sg.Contact(static_friction=0.045),
        closure=sg.PositionIncrementClosure(),
        **table,
    )
    easy = sg.simulate(slippery.replace(success=lift))
    hard = sg.simulate(slippery.replace(success=shake))
    assert easy.held is True
    assert hard.held is False
    assert hard.hold.failed_in == "shake"
    assert hard.success_criterion == shake


@pytest.mark.parametrize(
    ("vector", "label"),
    [((0, 0, -3.0), "-z"), ((2.0, 0, 0), "+x"), ((1.0, 1.0, 0), "(0.71, 0.71, 0)")],
)
def test_directions_have_names(vector: tuple[float, ...], label: str) -> None:
    assert direction_label(vector) == label


# Pulls of a hold test against Coulomb's law.


UP, DOWN, ALONG = (0.0, 0.0, 1.0), (0.0, 0.0, -2.0), (1.0, 0.0, 0.0)
FRICTION = 0.5


def pulled(count: int, *pulls: dict[str, object], **changes: object) -> sg.GraspResult:
    limits = {"max_drop": 0.05, "max_rotation": 3.0}
    criterion = sg.SuccessCriterion(pulls=pulls, **(limits | changes))
    return sg.simulate(pads(count, success=criterion), quality_rate=None)


@cache
def out_of_two() -> sg.GraspResult:
    return pulled(2, {"direction": UP}, {"direction": DOWN}, {"direction": ALONG, "max_ratio": 1.5})


@pytest.mark.parametrize("count", [2, 3])
def test_pads_slip_at_coulombs_bound(count: int) -> None:
    """Normals in the plane, the pull along its normal: n·µ·N, within 3 %."""
    result = pulled(count, {"direction": UP})
    (test,) = result.hold.pulls
    normal = sum(contact.normal_force_N for contact in result.contacts)
    assert test.friction_N == pytest.approx(FRICTION * normal, rel=1e-6)
    assert test.slip_force_N == pytest.approx(test.friction_N, rel=0.03)
    assert (test.slip_force_N or 0.0) > test.friction_N  # it takes a while to be seen, never less
    assert test.held is None
    assert result.held
    assert test.drop_m < 5e-5


def test_each_begins_from_the_same_state_whatever_its_length() -> None:
    up, down, along = out_of_two().hold.pulls
    assert (up.name, down.name, along.name) == ("+z", "-z", "+x")
    assert down.slip_force_N == pytest.approx(up.slip_force_N, rel=1e-6)
    assert along.slip_force_N is None  # a pad is in the way
    assert along.largest_force_N == pytest.approx(1.5 * along.friction_N, rel=1e-6)
    alone = pulled(2, {"direction": DOWN}).hold
    assert alone.pulls[0].slip_force_N == pytest.approx(down.slip_force_N, abs=1e-12)


def test_a_minimum_force_is_evaluated() -> None:
    passed = pulled(2, {"direction": UP, "min_force": 8.0})
    failed = pulled(2, {"direction": UP, "min_force": 9.0})
    assert passed.held
    assert passed.hold.pulls[0].held
    assert failed.held is False
    assert failed.hold.failed_in == "pull +z"
    assert hold_clause(failed) == f"Pulled out by 8.12 N along +z: {failed.message}"


def test_pulls_are_reported_and_saved(tmp_path: Path) -> None:
    result = out_of_two()
    assert hold_clause(result) == "Pulled out by 8.12 N along +z"
    criterion = result.scene.success
    assert criterion is not None
    assert criterion_text(criterion) == "3 pulls until it slips"
    rows = pull_rows(result)
    assert [(row["Pull"], row["Slips at|[N]"], row["Slip over|friction"]) for row in rows] == [
        ("+z", "8.12", "1.01"),
        ("-z", "8.12", "1.01"),
        ("+x", "–", "–"),
    ]
    result.save(tmp_path)
    again = load_result(tmp_path)
    assert again.hold == result.hold
    assert again.scene == result.scene


def test_creep_has_a_budget_and_falls_as_one_over_impratio() -> None:
    force = 0.98 * FRICTION * sum(c.normal_force_N for c in sg.simulate(pads(2)).contacts)
    mass = float(sg.compile_model(pads(2)).body("object").mass[0])
    budget = 1e-3
    criterion = sg.SuccessCriterion(
        directions=((0.0, 0.0, force / mass),),
        direction_time=0.6,
        max_drop=0.05,
        max_rotation=3.0,
        max_creep=budget,
    )
    assert limits_text(criterion).endswith("creep of at most 1 mm/s")
    creeps = []
    for impratio in (10.0, 100.0, 3e5):
        solver = sg.description.Solver(impratio=impratio)
        result = sg.simulate(pads(2, success=criterion, solver=solver))
        creep = result.hold.creep_m_s
        creeps.append(creep)
        assert result.held is (creep <= budget)
        message = [warning for warning in result.warnings if "creeps" in warning]
        assert bool(message) is (1e-4 < creep <= budget)
    assert creeps[0] == pytest.approx(10.0 * creeps[1], rel=0.05)
    assert creeps[2] < 1e-6
    assert message == []


def test_slip_counts_once_all_contacts_have_slipped_for_a_while() -> None:
    def points(*speeds: float) -> list[ContactPoint]:
        zero = (0.0, 0.0, 0.0)
        return [ContactPoint("F", "p", zero, zero, -1e-5, 0.02, 0.01, speed) for speed in speeds]

    watch = SlipDetector(3)
    looks = [(0.1, 0.1), (0.1, 0.0), (0.1, 0.1), (0.1, 0.1), (0.1, 0.1)]
    assert [watch.update(points(*speeds), row) for row, speeds in enumerate(looks)] == [
        False, False, False, False, True,
    ]  # fmt: skip
    assert watch.since == 2
    gone = SlipDetector(1)
    assert gone.update([], 7)
    assert gone.since == 7
    assert np.isfinite(gone.since)


@pytest.mark.parametrize("ramp", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("samples", [1, 2, 20, 101, 250])
def test_a_push_lasts_its_time_and_grows_to_the_whole_load(samples: int, ramp: float) -> None:
    criterion = sg.SuccessCriterion(direction_time=samples * 1e-3, ramp_time=ramp)
    steps = list(push_steps(criterion, 1e-3))
    assert sum(count for count, _ in steps) == samples
    assert all(count > 0 for count, _ in steps)
    fractions = [fraction for _, fraction in steps]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


@pytest.mark.parametrize("rate", [0.1, 10.0])
@pytest.mark.parametrize("required", [None, 0.0, 40.0])
def test_a_pull_grows_evenly_up_to_its_ratio_or_the_required_force(
    rate: float, required: float | None
) -> None:
    pull = sg.description.Pull(
        direction=(3.0, 0.0, 4.0), min_force=required, time=0.5, max_ratio=2.0
    )
    forces = np.array(list(pull_forces(pull, rate, 1e-3)))
    sizes = np.linalg.norm(forces, axis=1)
    assert forces == pytest.approx(sizes[:, None] * (0.6, 0.0, 0.8))
    assert np.diff(sizes, prepend=0.0) == pytest.approx(rate * 1e-3)
    within = min(required or 0.0, 20.0 * rate)  # a force that grows too slowly is not waited for
    assert sizes[-1] == pytest.approx(max(2.0 * 0.5 * rate, within), abs=rate * 1.1e-3)


@pytest.mark.parametrize("friction", [0.01, 50.0])
def test_a_pull_reaches_friction_or_weight_in_its_time(friction: float) -> None:
    pull = sg.description.Pull(direction=UP, time=0.5)
    model = sg.compile_model(pads(2))
    weight = 9.81 * model.body("object").mass[0]
    rate = pull_rate(model, pull, friction)
    assert rate * 0.5 == pytest.approx(max(friction, weight), rel=1e-3)


def test_a_minimum_force_is_applied_before_it_counts_as_borne() -> None:
    """Along a pad that is in the way nothing slips; the pull goes on until the least force."""
    result = pulled(2, {"direction": ALONG, "time": 0.2, "max_ratio": 0.5, "min_force": 12.0})
    (test,) = result.hold.pulls
    assert test.slip_force_N is None
    assert test.largest_force_N >= 12.0
    assert test.held


def test_creep_needs_a_time_under_load(golden: Golden) -> None:
    golden.refused(
        lambda: pads(2, success=sg.SuccessCriterion(pulls=({"direction": UP},), max_creep=1e-3)),
        "success.max_creep",
    )
    assert out_of_two().hold.creep_m_s == 0.0


def test_what_cannot_be_pulled_is_refused(golden: Golden) -> None:
    foam = sg.load_object("sphere").replace(elasticity=sg.description.Elasticity(young=5e4))
    pull = sg.SuccessCriterion(pulls=({"direction": UP},))
    golden.refused(lambda: pads(2, object=foam, success=pull), "success.pulls")
    for direction in ((0, 1, 0), (1, 3, 0)):
        across = sg.SuccessCriterion(pulls=({"direction": direction},))
        planar = partial(pads, 2, object_mount="planar", success=across)
        golden.refused(planar, "success.pulls[0].direction")
    for direction, sentence in (
        ((0, 0, 0), "a direction, found"),
        ((1e-200, 0, 0), "a direction longer"),
    ):
        with pytest.raises(DescriptionError, match=f"expected {sentence}"):
            sg.SuccessCriterion(pulls=({"direction": direction},))
