"""Runs of MuJoCo with made-up contacts and forces in the place of other engines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.comparison.checks import (
    agreement,
    critical_load,
    farthest_force,
    grasp_findings,
    normal_force,
    touch_times,
)
from softgrasp.comparison.criteria import Threshold
from softgrasp.comparison.runs import GraspRuns, comparable, force_at
from tests.support.scenes import pinch

TIPS = ["F1_P3", "F2_P3", "F3_P3"]


@pytest.fixture(scope="module")
def ran() -> sg.GraspResult:
    return sg.simulate(pinch())


def runs_of(results: Mapping[str, sg.GraspResult]) -> GraspRuns:
    scene = next(iter(results.values())).scene
    finer = {name: {5e-4: result} for name, result in results.items()}
    return GraspRuns(scene=scene, closing=results, resting=results, finer=finer)


def without(result: sg.GraspResult, *bodies: str, touch: bool = True) -> sg.GraspResult:
    """The run without established contacts of some bodies, or of all where none is named."""
    contacts = [
        contact.replace(established_s=(), first_touch_s=contact.first_touch_s if touch else None)
        if contact.body in bodies or not bodies
        else contact
        for contact in result.contacts
    ]
    return replace(result, contacts=tuple(contacts))


def pressing(result: sg.GraspResult, factors: Mapping[str, float]) -> sg.GraspResult:
    """The run with other normal forces of some bodies."""
    force, names = np.array(result.normal_force), result.contact_bodies.tolist()
    for body, factor in factors.items():
        force[:, names.index(body)] *= factor
    return replace(result, normal_force=force)


def test_where_nothing_touches_in_any_engine_times_are_equal(ran: sg.GraspResult) -> None:
    nothing = without(ran, touch=False)
    touch, stop = touch_times(runs_of({"mujoco": nothing, "ode": nothing}), 1.0)
    assert (touch.difference, touch.passed, touch.worst) == (0.0, True, "")
    assert touch.values == {"mujoco": "none", "ode": "none"}
    assert touch.sentence == "First touch: equal; nothing touched"
    assert (stop.difference, stop.passed) == (0.0, True)
    assert stop.sentence == "Established contact: equal; nothing touched"


def test_where_all_touch_and_none_stays_no_contact_is_established(ran: sg.GraspResult) -> None:
    touch, stop = touch_times(runs_of({"mujoco": without(ran), "ode": without(ran)}), 1.0)
    assert touch.passed
    assert "F1_P3" in touch.quantity
    assert stop.sentence == "Established contact: equal; no contact was established"


def test_a_contact_that_one_engine_lacks_is_beyond_tolerance(ran: sg.GraspResult) -> None:
    results = {"mujoco": ran, "ode": without(ran, "F2_P3", touch=False), "webots": ran}
    touch, stop = touch_times(runs_of(results), 1.0)
    assert touch.passed
    assert touch.note == "F2_P3 in mujoco and webots, not in ode"
    assert not stop.passed
    assert stop.sentence == (
        "Established contact of F2_P3: could not be compared in ode; an established contact "
        "stops the joints of a body; F2_P3 in mujoco and webots, not in ode"
    )
    assert stop.values["ode"] == "none"


def test_a_contact_that_only_another_engine_has_is_beyond_tolerance(ran: sg.GraspResult) -> None:
    _, stop = touch_times(runs_of({"mujoco": without(ran, "F1_P3", "F3_P3"), "ode": ran}), 1.0)
    assert math.isnan(stop.difference)
    assert stop.worst == "ode"
    assert stop.note.endswith("; F1_P3 in ode, not in mujoco; F3_P3 in ode, not in mujoco")


def test_bodies_that_never_touch_alike_cannot_be_compared(ran: sg.GraspResult) -> None:
    results = {"mujoco": ran, "ode": without(ran, touch=False)}
    assert not touch_times(runs_of(results), 1.0)[0].passed


def test_of_forces_a_number_that_is_none_is_farthest(ran: sg.GraspResult) -> None:
    other = pressing(ran, dict(zip(TIPS, (1.18, math.nan, 1.001), strict=True)))
    worst, body, most = farthest_force({"mujoco": ran, "ode": other}, TIPS)
    assert (worst, body) == ("ode", "F2_P3")
    assert math.isnan(most)
    assert not normal_force(runs_of({"mujoco": ran, "ode": other}), TIPS, 2.0).passed
    without_it = farthest_force({"mujoco": ran, "ode": other}, ["F3_P3", "F1_P3"])
    assert without_it == ("ode", "F1_P3", pytest.approx(18.0))
    assert farthest_force({"mujoco": ran, "ode": ran}, TIPS) == ("", "F1_P3", 0.0)


def test_whole_forces_of_others_are_compared_with_those_of_webots(ran: sg.GraspResult) -> None:
    friction = 0.75 * ran.normal_force
    mujoco = replace(ran, friction_force=friction)
    webots = replace(ran, normal_force=1.25 * ran.normal_force, friction_force=0.0 * friction)
    runs = comparable(runs_of({"mujoco": mujoco, "webots": webots}))
    assert force_at(runs.resting["mujoco"], "F1_P3") == pytest.approx(
        1.25 * force_at(ran, "F1_P3"), rel=1e-12
    )
    runs = runs_of({"mujoco": mujoco, "ode": mujoco, "webots": webots})
    result = {finding.name: finding for finding in grasp_findings(runs, sg.comparison.Tolerances())}
    force = result["normal_force"]
    assert force.difference == pytest.approx(0.0, abs=1e-9)
    assert force.quantity.startswith("Total contact force of F")
    assert (
        "webots measures the total contact force only, so √(N² + T²) of the others is compared "
        "with it"
    ) in force.note
    assert mujoco.friction_force is runs_of({"mujoco": mujoco}).resting["mujoco"].friction_force


def test_without_webots_normal_forces_are_compared(ran: sg.GraspResult) -> None:
    runs = runs_of({"mujoco": ran, "ode": ran})
    assert comparable(runs) is runs
    force = normal_force(runs, TIPS, 2.0)
    assert force.quantity == "Normal force of F1_P3 at rest"
    assert "total" not in force.note


def test_hold_tests_that_diverge_alike_do_not_pass(ran: sg.GraspResult) -> None:
    same = {"mujoco": Threshold(1.0, 1.02), "ode": Threshold(1.0, 1.02)}
    held = {"mujoco": (True, False), "ode": (True, False)}
    runs = replace(runs_of({"mujoco": ran, "ode": ran}), thresholds=same, loads=(0.5, 2.0),
                   held=held)  # fmt: skip
    assert all(item.passed for item in agreement(runs, 15.0) + critical_load(runs, 15.0))
    lost = replace(runs, lost={"mujoco": (2.0,), "ode": (2.0,)})
    for item in agreement(lost, 15.0) + critical_load(lost, 15.0):
        assert not item.passed
        assert item.note.endswith(
            "; in mujoco the simulation has diverged at 1400 kg/m³; in ode the simulation has "
            "diverged at 1400 kg/m³"
        )
