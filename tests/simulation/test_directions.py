"""Directions of a hold test: one closed state, and Coulomb's law as the truth."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.sim.hold_test import direction_label
from tests.scenes import pinch

BAR = sg.GraspObject(name="bar", shape=sg.Cuboid(size=(0.04, 0.07, 0.04)), mass=0.1)
"""Flat where it touches: four fingertips press it up against the palm."""
MU = 0.1
LIMITS = {"direction_time": 0.4, "max_drop": 2e-3, "max_rotation": 0.1}
SIX = tuple(tuple(10.0 * part for part in row) for row in (*np.eye(3), *-np.eye(3)))


def bar(**changes: object) -> sg.GraspScene:
    contact = sg.Contact(static_friction=MU)
    return pinch(object=BAR, object_euler=(0.0, 0.0, 0.0), contact=contact, **changes)


@cache
def closed() -> sg.GraspResult:
    return sg.simulate(bar())


def pushed(*directions: tuple[float, ...], **changes: object) -> sg.GraspResult:
    criterion = sg.SuccessCriterion(directions=directions, **(LIMITS | changes))
    return sg.simulate(bar(success=criterion))


@pytest.mark.parametrize(("fraction", "holds"), [(0.97, True), (1.03, False)])
def test_friction_holds_up_to_its_limit(fraction: float, holds: bool) -> None:
    # all normals are along z, so that friction along y holds up to µ times their sum
    contacts = [contact for contact in closed().contacts if contact.in_contact]
    assert all(abs(contact.normal[2]) > 0.9999 for contact in contacts)
    limit = MU * sum(contact.normal_force_N for contact in contacts)
    result = pushed((0.0, fraction * limit / 0.1, 0.0), (0.0, -fraction * limit / 0.1, 0.0))
    assert result.hold is not None
    assert [test.held for test in result.hold.directions] == [holds, holds]
    assert result.held is holds
    for test in result.hold.directions:
        assert test.force_N == pytest.approx(fraction * limit)
        assert (test.drop_m < 1e-6) is holds
        # a lost direction ends early
        assert (test.end_s - test.start_s == pytest.approx(0.4)) is holds
    assert result.hold.failed_in == (None if holds else "push +y")


def test_every_direction_begins_from_the_same_state() -> None:
    forth, back = pushed(*SIX), pushed(*SIX[::-1])
    assert forth.hold is not None
    assert back.hold is not None
    by_name = {test.name: (test.drop_m, test.rotation_rad) for test in back.hold.directions}
    assert set(by_name) == {"+x", "+y", "+z", "-x", "-y", "-z"}
    for test in forth.hold.directions:
        assert by_name[test.name] == (test.drop_m, test.rotation_rad)
    lost = pushed((0.0, 500.0, 0.0), SIX[0])
    assert lost.hold is not None
    after = lost.hold.directions[1]
    assert (after.drop_m, after.rotation_rad) == by_name["+x"]


def test_no_push_is_nothing_but_time() -> None:
    still = pushed((0.0, 0.0, 0.0), direction_time=0.05)
    closing = still.closing
    longer = sg.simulate(bar(duration=closing.end_s + 0.05))
    first = int(np.searchsorted(still.time, closing.end_s - 1e-9))
    np.testing.assert_array_equal(
        still.object_position[: first + 51], longer.object_position[: first + 51]
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


def test_contacts_count_too() -> None:
    four = pushed(SIX[0], min_contacts=5)
    six = pushed(SIX[0], min_contacts=6)
    assert (four.held, six.held) == (True, False)
    assert six.hold is not None
    assert six.hold.directions[0].contacts == 5


def test_held_by_one_criterion_and_dropped_by_another() -> None:
    lift = sg.load_criterion("lift_10cm").replace(
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
    assert hard.hold is not None
    assert hard.hold.failed_in == "shake"
    assert hard.success_criterion == shake


@pytest.mark.parametrize(
    ("vector", "label"),
    [((0, 0, -3.0), "-z"), ((2.0, 0, 0), "+x"), ((1.0, 1.0, 0), "(0.71, 0.71, 0)")],
)
def test_directions_have_names(vector: tuple[float, ...], label: str) -> None:
    assert direction_label(vector) == label
