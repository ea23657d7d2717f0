"""Hold tests in words, and phases in films and figures."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.rendering.keyframes import key_frames
from softgrasp.rendering.video import pace
from softgrasp.report import grasp_tables, grasp_text, time_series
from softgrasp.report.contact_figures import draw_contacts
from softgrasp.report.grasp_text import criterion_text, hold_clause, limits_text
from softgrasp.report.time_series import draw_joints, draw_object
from tests.scenes import pinch

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


def test_a_carried_object() -> None:
    hold = carried().hold
    assert hold is not None
    assert hold_clause(carried()) == (
        f"By 'kept': held the object without its weight, lifted by {1e3 * hold.lifted_m:.1f} mm, "
        f"with {1e3 * hold.drop_m:.3f} mm drift in the hand"
    )
    lost = hold.model_copy(update={"drop_m": 0.02, "failed_in": "wag", "failed_s": 0.9})
    assert hold_clause(replace(carried(), held=False, hold=lost)) == (
        "By 'kept': did not hold the object without its weight: it moved in the hand by 20.0 mm "
        "(5.0 mm allowed); "
        "lost in 'wag' at 0.900 s"
    )


def test_what_has_left_a_moving_hand_was_dropped() -> None:
    gone = replace(carried(), status=sg.GraspStatus.EJECTED, held=False)
    assert grasp_text.verdict(gone) == ("Dropped", "bad")
    assert grasp_text.summary(gone).startswith("Dropped. ")
    still = replace(sg.simulate(pinch()), status=sg.GraspStatus.EJECTED)
    assert grasp_text.verdict(still) == ("Ejected", "bad")


def test_directions() -> None:
    hold = pushed().hold
    assert hold is not None
    first, second = hold.directions
    assert (first.held, second.held, pushed().held) == (True, False, False)
    lost = f"dropped {1e3 * second.drop_m:.1f} mm"
    if second.rotation_rad > 0.5:
        lost += f" and turned {np.degrees(second.rotation_rad):.1f}°"
    if second.contacts == 0:
        lost += " and 0 bodies in contact"
    assert hold_clause(pushed()) == (
        f"By 'two': did not hold in 1 of 2 directions with up to {second.force_N:.2g} N (+y): "
        f"first +y with {second.force_N:.2g} N, {lost} after "
        f"{second.end_s - second.start_s:.2f} s"
    )
    rows = grasp_tables.direction_rows(pushed())
    assert [(row.label, row.held) for row in rows] == [("+x", True), ("+y", False)]
    fine = hold.model_copy(update={"directions": (first,), "drop_m": first.drop_m})
    assert hold_clause(replace(pushed(), held=True, hold=fine)) == (
        f"By 'two': held in all 1 direction with up to {first.force_N:.2g} N: at most "
        f"{1e3 * first.drop_m:.3f} mm and {np.degrees(fine.rotation_rad):.1f}°"
    )


def test_criteria_say_what_they_do_and_allow() -> None:
    criterion = sg.load_criterion("dexgraspbench")
    assert criterion_text(criterion) == "6 directions, 10 m/s² for 2 s each"
    assert limits_text(criterion) == "at most 50.0 mm and 15.0°"
    lift = sg.load_criterion("lift_10cm")
    assert criterion_text(lift) == "lift 100.0 mm within 1 s; hold for 2 s"
    assert limits_text(lift) == "at most 5.0 mm and 20.1°, lifted by at least 95.0 mm"
    assert criterion_text(sg.load_criterion("sequence")) == "what the sequence does after its close"
    wag = sg.SuccessCriterion(motion=({"type": "shake", "name": "wag", "angle": 0.1},))
    assert criterion_text(wag) == "wag (shake) ±5.73° at 3 Hz, 4 cycles"
    message = dict(grasp_tables.scene_properties(carried()))
    assert message["Sequence"] == (
        "approach within 0.2 s; close; lift 20.0 mm within 0.2 s; wag (shake) ±2.86° at 5 Hz, "
        "1 cycle"
    )


def test_the_film_goes_through_the_phases() -> None:
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


def test_five_instants_of_a_sequence() -> None:
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


def test_the_wrist_has_rows_of_its_own() -> None:
    *_, slides, hinges = time_series.actuator_rows(carried())
    assert [panel.title for panel in slides] == ["wrist x", "wrist y", "wrist z"]
    assert [panel.title for panel in hinges] == ["wrist turn z", "wrist turn y", "wrist turn x"]
    assert slides[2].target is not None
    assert slides[2].target[-1] == pytest.approx(20.0)
    assert slides[2].unit == " mm"


def test_the_facts_tell_when_each_phase_was() -> None:
    spans = (f"{s.name} {s.start_s:.3f}–{s.end_s:.3f} s" for s in carried().phases)
    assert dict(grasp_tables.scene_properties(carried()))["Phases"] == ", ".join(spans)
    assert "Phases" not in dict(grasp_tables.scene_properties(sg.simulate(pinch())))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [draw_contacts, draw_joints, draw_object])
def test_figures_of_sequences_and_directions_are_drawn(draw: object, tmp_path: Path) -> None:
    for number, run in enumerate((carried(), pushed())):
        assert draw(run, tmp_path / f"{number}.png").stat().st_size > 10_000  # type: ignore[operator]


@pytest.mark.slow
def test_the_page_has_a_row_for_every_direction(tmp_path: Path) -> None:
    page = sg.write_report(pushed(), tmp_path, renderer="none")[-1].read_text("utf-8")
    for label, cell in (("+x", "held"), ("+y", "not held")):
        assert re.search(rf"<tr><th>\{label}</th><td[^>]*>{cell}</td>", page)
    assert "Every direction began from the same closed state" in page
