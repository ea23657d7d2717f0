"""What a report says is what the result holds."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.report import grasp_tables, grasp_text, time_series
from softgrasp.report.grasp_text import hold_clause
from softgrasp.report.style import signed
from tests.scenes import ball, pinch


def test_the_summary_of_a_held_grasp(held: sg.GraspResult):
    tips = [contact for contact in held.contacts if contact.in_contact]
    touch = min(c.first_touch_s for c in tips if c.first_touch_s is not None)
    last = max(contact.established_s[-1] for contact in tips)
    hold = held.hold
    assert hold is not None
    assert held.quality_log is not None
    moved = 1e3 * np.linalg.norm(held.object.displacement_m)
    assert grasp_text.summary(held) == (
        f"Held. 4 of 12 phalanges in contact, first touch at {touch:.3f} s, all by {last:.3f} s, "
        f"force closure at {held.quality_log.closed_at:.2f} s. "
        f"The object moved {moved:.3f} mm and turned 0.0°. "
        f"Held {hold.weight_N:.2g} N of weight with {1e3 * hold.drop_m:.3f} mm drop."
    )
    assert grasp_text.verdict(held) == ("Held", "good")


def test_the_summary_of_a_run_without_contact(no_contact: sg.GraspResult):
    assert grasp_text.summary(no_contact) == (
        f"No contact. Nothing touched the object in {no_contact.simulated_time:.3f} s. "
        "The hand did not move the object. No hold test was asked for."
    )
    assert grasp_text.verdict(no_contact) == ("No contact", "bad")
    assert grasp_text.force_clause(no_contact) == "No contact force in the whole run"


def test_the_summary_of_a_diverged_run(diverged: sg.GraspResult):
    assert grasp_text.summary(diverged).startswith("Diverged. ")
    assert grasp_text.verdict(diverged) == ("Diverged", "bad")


def test_a_dropped_object_is_told_with_the_limits(held: sg.GraspResult):
    assert held.hold is not None
    hold = held.hold.replace(drop_m=0.0123, rotation_rad=0.5, weight_N=2.0)
    dropped = replace(held, held=False, hold=hold)
    assert hold_clause(dropped) == (
        "Did not hold 2 N of weight: it dropped 12.3 mm (0.500 mm allowed) "
        "and it turned 28.6° (5.7° allowed)"
    )
    assert grasp_text.verdict(dropped) == ("Not held", "bad")


def test_a_hold_test_that_was_not_reached(held: sg.GraspResult):
    assert hold_clause(replace(held, held=False, hold=None)) == ("The hold test was not reached")


def test_a_contact_that_was_lost_again(held: sg.GraspResult):
    lost = tuple(
        contact.replace(lost_s=tuple(time + 0.01 for time in contact.established_s))
        for contact in held.contacts
    )
    touch = min(event.time_s for event in held.events)
    assert grasp_text.contact_clause(replace(held, contacts=lost)) == (
        f"Nothing is in contact at the end; first touch at {touch:.3f} s by F1 P3"
    )


def test_the_palm_is_told_apart_from_the_phalanges():
    result = sg.simulate(pinch(grasp="power", object=ball(0.04)))
    assert "4 of 12 phalanges and the palm in contact" in grasp_text.contact_clause(result)


def test_a_fixed_object_does_not_move():
    result = sg.simulate(pinch(object_mount="fixed", duration=0.01))
    assert grasp_text.motion_clause(result) == "The object was fixed"


def test_the_largest_force_is_named(held: sg.GraspResult):
    forces = held.normal_force.copy()
    forces[100, held.contact_bodies.tolist().index("F2_P1")] = 1234.5
    assert grasp_text.force_clause(replace(held, normal_force=forces)) == (
        "Largest force 1\N{NARROW NO-BREAK SPACE}234 N on F2 P1 at 0.100 s; no contact was lost"
    )


def test_the_joint_farthest_from_its_target_is_named(held: sg.GraspResult):
    gaps = np.degrees(np.abs(held.joint_target[-1] - held.joint_position[-1]))
    name = str(held.joint_names[int(gaps.argmax())]).replace("_", " ")
    assert f"{gaps.max():.1f}°" in grasp_text.joint_clause(held)
    shifted = held.joint_target.copy()
    shifted[-1, 4] += 1.0
    clause = grasp_text.joint_clause(replace(held, joint_target=shifted))
    assert str(held.joint_names[4]).replace("_", " ") in clause
    assert name in grasp_text.joint_clause(held) or np.isclose(gaps, gaps.max()).sum() > 1


def test_the_table_of_bodies_holds_their_numbers(held: sg.GraspResult):
    rows = grasp_tables.body_rows(held)
    assert [row.label for row in rows] == ["F1 P3", "F2 P3", "F3 P3", "F4 P3"]
    for row in rows:
        contact = held.contact_of(row.label.replace(" ", "_"))
        assert row.in_contact
        assert row.first_touch == f"{contact.first_touch_s:.3f}"
        assert row.established == f"{contact.established_s[-1]:.3f}"
        assert row.normal_force == f"{contact.normal_force_N:.2f}"
        assert contact.point_m is not None
        assert row.point == ", ".join(signed(1e3 * part, 1) for part in contact.point_m)
    assert len(rows) + len(grasp_tables.untouched(held)) == len(held.contacts)
    assert "palm" in grasp_tables.untouched(held)


def test_the_stiffness_verdict_is_the_worst_pair(held: sg.GraspResult):
    model = held.contact_model.replace(
        measured_stiffness_N_m={"F1_P3|object": 99e3, "F2_P3|object": 103e3}
    )
    changed = replace(held, contact_model=model)
    assert "2 pairs: within 3 % of the model" in grasp_tables.stiffness_verdict(changed)
    assert [row.deviation for row in grasp_tables.pair_rows(changed)] == ["−1.00 %", "3.00 %"]


def test_parts_of_a_mesh_have_one_row_with_the_worst_of_them(held: sg.GraspResult):
    measured = {"palm|object_0": 99.5e3, "palm|object_12": 98e3, "F1_P3|object_3": 100e3}
    model = held.contact_model.replace(measured_stiffness_N_m=measured)
    rows = grasp_tables.pair_rows(replace(held, contact_model=model))
    assert rows[0].measured == f"{grasp_tables.grouped(98e3)} … {grasp_tables.grouped(99.5e3)}"
    assert rows[0].deviation == "−2.00 %"
    assert [row.label for row in rows] == ["palm, 2 parts of the mesh", "F1 P3"]


def test_a_softer_contact_is_told(held: sg.GraspResult):
    requested = held.contact_model.asked.replace(stiffness=1e6)
    softer = replace(held, contact_model=held.contact_model.replace(asked=requested))
    assert "could not honour the 1\N{NARROW NO-BREAK SPACE}000" in grasp_tables.stiffness_verdict(
        softer
    )


def test_the_event_log_is_complete(held: sg.GraspResult):
    rows = grasp_tables.event_rows(held)
    assert [row.kind for row in rows] == [event.kind for event in held.events]
    assert [row.time for row in rows] == [f"{event.time_s:.4f}" for event in held.events]


def test_the_facts_of_the_scene(held: sg.GraspResult):
    result = dict(grasp_tables.scene_properties(held))
    assert result["Hand"] == "four_finger, 4 fingers, 12 joints"
    assert result["Object"] == "ball, sphere, radius 30 mm, 79.17 g (700 kg/m³)"
    assert result["Starts at"] == "(0.0, 0.0, −85.0) mm"  # a ball has no way round
    assert "contact after 10 samples above 0.1 N" in result["Closure"]
    rate = math.degrees(max(map(abs, held.scene.closing_motion.rates)))
    assert result["Grip force"] == (
        f"what the servos' lag makes at {rate:.3g} °/s; "
        "--closure force-limited --set closure.force=N chooses it"
    )
    assert (
        dict(grasp_tables.provenance(held, "drawn"))["Trajectory SHA-256"] == held.trajectory_sha256
    )


def test_a_force_that_was_chosen_or_made_by_nothing_has_no_row_of_its_own(
    held: sg.GraspResult, no_contact: sg.GraspResult
):
    chosen = held.scene.replace(closure=sg.ForceLimitedClosure(force=5.0))
    obeying = held.scene.replace(actuation="prescribed")
    others = [no_contact, *(replace(held, scene=scene) for scene in (chosen, obeying))]
    for result in others:
        assert "Grip force" not in dict(grasp_tables.scene_properties(result))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(-0.04, 1, "0.0"), (-1.25, 2, "−1.25"), (3.0, 0, "3"), (-2.5e27, 1, "−2.5e+27")],
)
def test_numbers_are_written_with_a_true_minus_and_no_negative_zero(
    value: float, digits: int, text: str
):
    assert signed(value, digits) == text


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_spans_cover_a_signal_and_nothing_else(signal: list[bool]):
    on = np.array(signal)
    times = np.arange(len(on), dtype=float)
    covered = np.zeros_like(on)
    for begin, end in time_series.spans(times, on):
        covered[(times >= begin) & (times < end)] = True
    assert (covered[:-1] == on[:-1]).all()  # the last sample has no length


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.floats(0.0, 5.0))
def test_merged_spans_are_apart_and_cover_the_same(signal: list[bool], apart: float):
    on = np.array(signal)
    result = time_series.spans(np.arange(len(on), dtype=float), on)
    joined = time_series.merged(result, apart)
    assert all(b[0] - a[1] > apart for a, b in pairwise(joined))
    assert all(any(a <= begin and end <= b for a, b in joined) for begin, end in result)


@given(st.integers(1, 30_000))
def test_a_thinned_curve_keeps_its_peak_and_its_ends(rows: int):
    times, values = np.arange(rows, dtype=float), np.sin(np.arange(rows))
    assert time_series.peaks(times, values)[1].max() == values.max()
    kept, _ = time_series.thinned(times, values)
    assert len(kept) <= time_series.MAX_POINTS
    assert (kept[0], kept[-1]) == (times[0], times[-1])
