"""Texts and tables of a report: hold tests, phases, quality, summaries."""

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.evaluation.quality_log import QualityLog
from softgrasp.rendering.keyframes import key_frames
from softgrasp.rendering.video import pace
from softgrasp.report import grasp_tables, grasp_text, time_series
from softgrasp.report.contact_figures import draw_contacts, draw_quality
from softgrasp.report.grasp_text import (
    criterion_text,
    hold_clause,
    limits_text,
    quality_clause,
    quality_rows,
)
from softgrasp.report.style import signed
from softgrasp.report.time_series import draw_joints, draw_object
from tests.support.pads import pads
from tests.support.scenes import ball, pinch

PUSHES = ((10.0, 0.0, 0.0), (0.0, 2000.0, 0.0))
FAST = (
    {"type": "approach", "time": 0.2},
    "close",
    {"type": "lift", "height": 0.02, "time": 0.2},
    {"type": "shake", "name": "wag", "angle": 0.05, "frequency": 5.0, "cycles": 1},
)


@cache
def carried() -> sg.GraspResult:
    kept = sg.SuccessCriterion(name="kept", gravity=None, max_drop=5e-3, max_rotation=0.35)
    return sg.simulate(pinch(sequence=FAST, success=kept))


@cache
def pushed() -> sg.GraspResult:
    criterion = sg.SuccessCriterion(
        name="two", directions=PUSHES, direction_time=0.1, max_drop=0.01, max_rotation=0.5
    )
    return sg.simulate(pinch(success=criterion))


def test_a_carried_object():
    hold = carried().hold
    assert hold_clause(carried()) == (
        f"By 'kept': held the object without its weight, lifted by {1e3 * hold.lifted_m:.1f} mm, "
        f"with {1e3 * hold.drop_m:.3f} mm drift in the hand"
    )
    lost = hold.model_copy(update={"drop_m": 0.02, "failed_in": "wag", "failed_s": 0.9})
    assert hold_clause(replace(carried(), held=False, hold=lost)) == (
        "By 'kept': did not hold the object without its weight, lost in 'wag' at 0.900 s: the "
        "object rests in the hand, but not within the limits of the test: it moved by 20 mm in "
        "the palm, more than the 5 mm allowed"
    )


def test_what_has_left_a_moving_hand_was_dropped():
    open_hand = carried().in_contact.copy()
    open_hand[-1] = False
    gone = replace(carried(), status=sg.GraspStatus.EJECTED, held=False, in_contact=open_hand)
    assert grasp_text.verdict(gone) == ("Dropped", "bad")
    assert grasp_text.summary(gone).startswith("Dropped. ")
    still = sg.simulate(pinch())
    nothing = np.zeros_like(still.in_contact)
    still = replace(still, status=sg.GraspStatus.EJECTED, in_contact=nothing)
    assert grasp_text.verdict(still) == ("Ejected", "bad")


def test_directions():
    hold = pushed().hold
    first, second = hold.directions
    assert (first.held, second.held, pushed().held) == (True, False, False)
    assert hold_clause(pushed()) == (
        f"By 'two': did not hold in 1 of 2 directions with up to {second.force_N:.2g} N (+y): "
        f"{pushed().message}"
    )
    rows = grasp_tables.direction_rows(pushed())
    assert [(row["Direction"], row["Result"][0]) for row in rows] == [
        ("+x", "held"), ("+y", "not held"),
    ]  # fmt: skip
    fine = hold.model_copy(update={"directions": (first,), "drop_m": first.drop_m})
    assert hold_clause(replace(pushed(), held=True, hold=fine)) == (
        f"By 'two': held in all 1 direction with up to {first.force_N:.2g} N: at most "
        f"{1e3 * first.drop_m:.3f} mm and {np.degrees(fine.rotation_rad):.1f}°"
    )


def test_criteria_state_what_they_do_and_allow():
    criterion = sg.io.load_criterion("dexgraspbench")
    assert criterion_text(criterion) == "6 directions, 10 m/s² for 2 s each"
    assert limits_text(criterion) == "at most 50.0 mm and 15.0°"
    lift = sg.io.load_criterion("lift_10cm")
    assert criterion_text(lift) == "lift 100.0 mm within 1 s; hold for 2 s"
    assert limits_text(lift) == "at most 5.0 mm and 20.1°, lifted by at least 95.0 mm"
    assert (
        criterion_text(sg.io.load_criterion("sequence"))
        == "the motion of the sequence after the closure"
    )
    wag = sg.SuccessCriterion(motion=({"type": "shake", "name": "wag", "angle": 0.1},))
    assert criterion_text(wag) == "wag (shake) ±5.73° at 3 Hz, 4 cycles"
    message = dict(grasp_tables.scene_properties(carried()))
    assert message["Sequence"] == (
        "approach within 0.2 s; close; lift 20.0 mm within 0.2 s; wag (shake) ±2.86° at 5 Hz, "
        "1 cycle"
    )


def test_the_video_goes_through_the_phases():
    pacing = pace(carried(), 24)
    assert (np.diff(pacing.times) >= 0.0).all()
    assert pacing.times[-1] == carried().time[-1]
    labels = [pacing.label(0.5 * (span.start_s + span.end_s)) for span in carried().phases]
    names = [label.split("   ")[1] for label in labels]
    assert names == ["approach", f"close, {pacing.speed}", "lift", "wag"]
    # what is not the closing is shown as fast as it is
    lift = carried().phases[2]
    inside = pacing.times[(pacing.times > lift.start_s) & (pacing.times < lift.end_s)]
    np.testing.assert_allclose(np.diff(inside), 1.0 / 24.0, rtol=1e-6)


def test_five_key_frames_of_a_sequence():
    spans = {span.name: span for span in carried().phases}
    assert key_frames(carried()) == (
        (0.0, "start"),
        (spans["approach"].end_s, "end of approach"),
        (spans["close"].end_s, "closed"),
        (spans["lift"].end_s, "end of lift"),
        (carried().simulated_time, "end: held"),
    )
    times = [time for time, _ in key_frames(pushed())]
    assert len(times) == 5
    assert times == sorted(times)


def test_the_wrist_has_separate_rows():
    *_, slides, hinges = time_series.actuator_rows(carried())
    assert [panel.title for panel in slides] == ["wrist x", "wrist y", "wrist z"]
    assert [panel.title for panel in hinges] == ["wrist turn z", "wrist turn y", "wrist turn x"]
    assert slides[2].target[-1] == pytest.approx(20.0)
    assert slides[2].unit == " mm"


def test_the_summary_states_when_each_phase_was():
    spans = (f"{s.name} {s.start_s:.3f}–{s.end_s:.3f} s" for s in carried().phases)
    assert dict(grasp_tables.scene_properties(carried()))["Phases"] == ", ".join(spans)
    assert "Phases" not in dict(grasp_tables.scene_properties(sg.simulate(pinch())))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [draw_contacts, draw_joints, draw_object])
def test_figures_of_sequences_and_directions_are_drawn(draw, tmp_path):
    for number, run in enumerate((carried(), pushed())):
        assert draw(run, tmp_path / f"{number}.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_report_has_a_row_for_every_direction(tmp_path):
    page = sg.write_report(pushed(), tmp_path, renderer="none")[-1].read_text("utf-8")
    for label, cell in (("+x", "held"), ("+y", "not held")):
        assert re.search(rf"<tr><th>\{label}</th><td[^>]*>{cell}</td>", page)
    assert "Every direction starts from the same closed state" in page


# Grasp quality.


@cache
def pinched() -> sg.GraspResult:
    return sg.simulate(pinch())


def test_what_is_stated_is_what_was_computed():
    quality = pinched().quality
    assert quality_clause(pinched()) == (
        f"Force closure since {quality['force_closure_s']:.2f} s, with 4 contact points at the end"
        f": ε = {quality['epsilon']:.3g}"
    )
    rows = {row["Measure"]: row for row in quality_rows(pinched())}
    assert list(rows) == [
        "ε", "volume", "smallest singular value", "isotropy", "ellipsoid volume", "friction margin",
    ]  # fmt: skip
    assert rows["ε"]["At the end"] == f"{quality['epsilon']:.3g}"
    assert rows["ε"]["Convention"][0] == (
        "largest ball in the L1 wrench space of friction pyramids of 8 edges, unit normal forces, "
        "spin friction of the contacts; moments over 30.0 mm, about the centre of mass"
    )


def test_an_open_grasp_states_why():
    result = sg.simulate(pads(2, solver=sg.description.Solver(contact_dimension=3)))
    assert quality_clause(result) == (
        f"No force closure at the end with 2 contact points: {result.quality['reason']}"
    )
    nothing = sg.simulate(pinch(duration=0.05))
    assert quality_clause(nothing) == "No body touches the object at the end"
    assert quality_rows(nothing) == []


def test_the_figure_is_drawn_with_and_without_closure(tmp_path):
    for name, result in (("closed", pinched()), ("open", sg.simulate(pinch(duration=0.05)))):
        assert draw_quality(result, tmp_path / f"{name}.png").stat().st_size > 10_000


# Consistency of texts and tables with the result.


def test_the_summary_of_a_held_grasp(held):
    tips = [contact for contact in held.contacts if contact.in_contact]
    touch = min(c.first_touch_s for c in tips if c.first_touch_s is not None)
    last = max(contact.established_s[-1] for contact in tips)
    hold = held.hold
    moved = 1e3 * np.linalg.norm(held.object.displacement_m)
    assert grasp_text.summary(held) == (
        f"Held. 4 of 12 phalanges in contact, first touch at {touch:.3f} s, all by {last:.3f} s, "
        f"force closure at {held.quality_log.closed_at:.2f} s. "
        f"The object moved {moved:.3f} mm and rotated by 0.0°. "
        f"Held {hold.weight_N:.2g} N of weight with {1e3 * hold.drop_m:.3f} mm drop. "
        f"{grasp_text.load_clause(held)}."
    )
    assert grasp_text.load_clause(held).startswith("The hand carries 100 % of the load (0.77")
    assert grasp_text.verdict(held) == ("Held", "good")


def test_the_summary_of_a_run_without_contact(no_contact):
    assert grasp_text.summary(no_contact) == (
        f"Missed. Nothing touched the object in {no_contact.simulated_time:.3f} s. "
        "The hand did not move the object. No hold test was requested."
    )
    assert grasp_text.verdict(no_contact) == ("Missed", "bad")
    assert grasp_text.force_clause(no_contact) == "No contact force during the run"


def test_the_summary_of_a_diverged_run(diverged):
    assert grasp_text.summary(diverged).startswith("Unstable. ")
    assert grasp_text.verdict(diverged) == ("Unstable", "bad")


def test_a_dropped_object_is_reported_with_the_limits(held):
    hold = held.hold.replace(drop_m=0.0123, rotation_rad=0.5, weight_N=2.0)
    dropped = replace(held, held=False, hold=hold)
    assert hold_clause(dropped) == f"Did not hold 2 N of weight: {dropped.message}"
    assert grasp_text.verdict(dropped) == ("Shifted", "bad")
    assert grasp_text.verdict_sentence(dropped) == (
        "The object rests in the hand, but not within the limits of the test: it moved by 12.3 mm "
        "in the palm, more than the 0.5 mm allowed"
    )


def test_a_hold_test_that_was_not_reached(held):
    assert hold_clause(replace(held, held=False, hold=None)) == ("The hold test was not reached")


def test_a_contact_that_was_lost_again(held):
    lost = tuple(
        contact.replace(lost_s=tuple(time + 0.01 for time in contact.established_s))
        for contact in held.contacts
    )
    touch = min(event.time_s for event in held.events)
    assert grasp_text.contact_clause(replace(held, contacts=lost)) == (
        f"Nothing is in contact at the end; first touch at {touch:.3f} s by F1 P3"
    )


def test_the_palm_is_distinguished_from_the_phalanges():
    result = sg.simulate(pinch(grasp="power", object=ball(0.04)))
    assert "4 of 12 phalanges and the palm in contact" in grasp_text.contact_clause(result)


def test_a_fixed_object_does_not_move():
    result = sg.simulate(pinch(object_mount="fixed", duration=0.01))
    assert grasp_text.motion_clause(result) == "The object was fixed"


def test_the_largest_force_is_named(held):
    peak = held.peak.replace(body="F2_P1", force_N=1234.5, time_s=0.1)
    clause = grasp_text.force_clause(replace(held, peaks=(peak,)))
    at_end, _, largest = clause.partition("; ")
    assert float(at_end.partition(" N on the object")[0]) == pytest.approx(
        held.force_on_objects_N, rel=1e-2
    )
    assert largest == (
        "peak 1\N{NARROW NO-BREAK SPACE}234 N on F2 P1 at 0.100 s; no contact was lost"
    )
    long_step = peak.replace(timestep_s=1e-3, resolving_timestep_s=2e-5)
    assert "not resolved at the time step of 1 ms, too low: a first touch needs 0.02 ms" in (
        grasp_text.force_clause(replace(held, peaks=(long_step,)))
    )


def test_the_joint_farthest_from_its_target_is_named(held):
    gaps = np.degrees(np.abs(held.joint_target[-1] - held.joint_position[-1]))
    name = str(held.joint_names[int(gaps.argmax())]).replace("_", " ")
    assert f"{gaps.max():.1f}°" in grasp_text.joint_clause(held)
    shifted = held.joint_target.copy()
    shifted[-1, 4] += 1.0
    clause = grasp_text.joint_clause(replace(held, joint_target=shifted))
    assert str(held.joint_names[4]).replace("_", " ") in clause
    assert name in grasp_text.joint_clause(held) or np.isclose(gaps, gaps.max()).sum() > 1


def test_the_table_of_bodies_holds_their_numbers(held):
    rows = grasp_tables.body_rows(held)
    assert [row["Body"] for row in rows] == ["F1 P3", "F2 P3", "F3 P3", "F4 P3"]
    for row in rows:
        contact = held.contact_of(row["Body"].replace(" ", "_"))
        assert row["At the end"] == ("in contact", "on")
        assert row["First touch|[s]"] == f"{contact.first_touch_s:.3f}"
        assert row["Established|[s]"] == f"{contact.established_s[-1]:.3f}"
        assert row["Normal|[N]"] == f"{contact.normal_force_N:.2f}"
        assert contact.point_m is not None
        assert row["Point x, y, z|[mm]"] == ", ".join(
            signed(1e3 * part, 1) for part in contact.point_m
        )
    assert len(rows) + len(grasp_tables.untouched(held)) == len(held.contacts)
    assert "palm" in grasp_tables.untouched(held)


def test_the_stiffness_verdict_is_the_worst_pair(held):
    model = held.contact_model.replace(
        measured_stiffness_N_m={"F1_P3|object": 99e3, "F2_P3|object": 103e3}
    )
    changed = replace(held, contact_model=model)
    assert "2 pairs: within 3 % of the model" in grasp_tables.stiffness_verdict(changed)


def test_a_softer_contact_is_reported(held):
    requested = held.contact_model.requested.replace(stiffness=1e6)
    softer = replace(held, contact_model=held.contact_model.replace(requested=requested))
    assert (
        "did not allow the requested 1\N{NARROW NO-BREAK SPACE}000"
        in grasp_tables.stiffness_verdict(softer)
    )


def test_the_event_log_is_complete(held):
    rows = grasp_tables.event_rows(held)
    assert [row["Event"][0] for row in rows] == [event.kind for event in held.events]
    assert [row["Time|[s]"] for row in rows] == [f"{event.time_s:.4f}" for event in held.events]


def test_the_summary_of_the_scene(held):
    result = dict(grasp_tables.scene_properties(held))
    assert result["Hand"] == "four_finger, 4 fingers, 12 joints"
    assert result["Object"] == "ball, sphere, radius 30 mm, 79.17 g (700 kg/m³)"
    assert "contact after 10 samples above 0.1 N" in result["Closure"]
    assert (
        dict(grasp_tables.provenance(held, "drawn"))["Trajectory SHA-256"] == held.trajectory_sha256
    )


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(-0.04, 1, "0.0"), (-1.25, 2, "−1.25"), (3.0, 0, "3"), (-2.5e27, 1, "−2.5e+27")],
)
def test_numbers_are_written_with_a_true_minus_and_no_negative_zero(value, digits, text):
    assert signed(value, digits) == text


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_spans_cover_a_signal_and_nothing_else(signal):
    on = np.array(signal)
    times = np.arange(len(on), dtype=float)
    covered = np.zeros_like(on)
    for begin, end in time_series.spans(times, on):
        covered[(times >= begin) & (times < end)] = True
    assert (covered[:-1] == on[:-1]).all()  # the last sample has no length


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.floats(0.0, 5.0))
def test_merged_spans_are_apart_and_cover_the_same(signal, apart):
    on = np.array(signal)
    result = time_series.spans(np.arange(len(on), dtype=float), on)
    joined = time_series.merge(result, apart)
    assert all(b[0] - a[1] > apart for a, b in pairwise(joined))
    assert all(any(a <= begin and end <= b for a, b in joined) for begin, end in result)


@given(st.integers(1, 30_000))
def test_a_thinned_curve_keeps_its_peak_and_its_ends(rows):
    times, values = np.arange(rows, dtype=float), np.sin(np.arange(rows))
    assert time_series.peaks(times, values)[1].max() == values.max()
    kept, _ = time_series.thin(times, values)
    assert len(kept) <= time_series.MAX_POINTS
    assert (kept[0], kept[-1]) == (times[0], times[-1])


def test_epsilon_of_many_contacts_is_reported_as_an_interval():
    """Of 40 contacts the log has 16, a lower bound; the upper one is that of all contacts."""
    points = np.random.default_rng(0).normal(size=(40, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    log = QualityLog(
        time=np.zeros(1), margin=np.zeros(1), center=np.zeros((1, 3)), first=np.array([0, 40]),
        points=points, normals=-points, friction=np.full(40, 0.5), torsion=np.zeros(40),
        body=np.zeros(40, dtype=np.int64), torque_scale=np.array(1.0),
    )  # fmt: skip
    result = replace(carried(), quality_log=log)
    quality = result.quality
    whole = sg.quality.epsilon(points, -points, 0.5)
    assert quality["epsilon"] == pytest.approx(log.epsilon[0], rel=1e-6)
    assert log.epsilon[0] < whole
    assert quality["epsilon_upper"] == pytest.approx(whole, rel=1e-6)
    interval = f"between {quality['epsilon']:.3g} and {whole:.3g}"
    assert quality_clause(result).endswith(f"with 40 contact points at the end: ε {interval}")
    row = quality_rows(result)[0]
    assert row["At the end"] == interval
    assert row["Convention"][0].endswith("upper bound from all contacts")
