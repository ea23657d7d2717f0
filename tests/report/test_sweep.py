"""Sweep reports: lost objects, confidence intervals, example rows, captions."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.sweep import Axis, PoseNoise, SweepPlan
from softgrasp.report import style, sweep, sweep_figures
from softgrasp.report.sweep import example_rows, extremes, values_of
from softgrasp.report.sweep_figures import space_ticks
from softgrasp.report.sweep_measures import (
    at_random,
    averaging,
    axis_label,
    constant_text,
    draw_measures,
    is_log,
    levels,
    lost,
    measures_of,
    numbers,
    unit_of,
    wilson,
)
from softgrasp.sweeps.table import COLUMNS
from tests.support.gripper_urdf import gripper_urdf
from tests.support.scenes import ball, pinch

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")

DENSITIES, FRICTIONS = (160.0, 700.0, 7860.0), (0.2, 0.5)
FALL = 0.918
"""How far the lost object fell [m]."""


def plan(**changes: Any) -> SweepPlan:
    base: dict[str, Any] = {
        "scene": pinch(duration=0.02),
        "axes": (
            Axis(path="object.density", values=DENSITIES),
            Axis(path="contact.friction", values=FRICTIONS),
        ),
    }
    return SweepPlan(**(base | changes))


def table(**columns: list[Any]) -> Any:
    """Six grasps, of which the fifth lost its object."""
    own: dict[str, list[Any]] = {
        "row": list(range(6)),
        "object.density": [d for d in DENSITIES for _ in FRICTIONS],
        "contact.friction": [*FRICTIONS] * 3,
        "status": ["CLOSED"] * 4 + ["EJECTED", "CLOSED"],
        "outcome": ["HELD"] * 4 + ["EJECTED", "HELD"],
        "held": [True] * 4 + [False, True],
        "contacts": [7, 3, 7, 3, 0, 3],
        "displacement_m": [0.038, 0.002, 0.037, 0.002, FALL, 0.002],
        "hold_drop_m": [1e-8, 1e-6, 7e-8, 6e-6, FALL, 7e-5],
        "final_force_N": [47.0, 18.0, 51.0, 18.0, 0.0, 17.0],
        "wall_time_s": [1.0] * 6,
        "wall_build_s": [0.1] * 6,
    }
    own |= columns
    own |= {name: [None] * 6 for name in COLUMNS if name not in own}
    kinds = {"held": "boolean", "contacts": "Int64", "error": "string"}
    kinds |= dict.fromkeys(("status", "outcome", "warning_texts"), "string")
    result = pd.DataFrame(own)
    for name in COLUMNS:
        result[name] = result[name].astype(
            kinds.get(name, "Float64" if name[-1] != "6" else object)
        )
    return result


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "DPI", 30)
    monkeypatch.setattr(sweep_figures, "DPI", 30)


def drawn(path: Path) -> list[dict[str, str]]:
    with path.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_lost_object_has_no_motion_but_its_forces():
    motion, force = (
        next(m for m in measures_of(table()) if m.column == name)
        for name in ("hold_drop_m", "final_force_N")
    )
    assert lost(table()).tolist() == [False] * 4 + [True, False]
    assert np.isnan(numbers(table(), motion)[4])
    assert numbers(table(), force)[4] == 0.0
    dropped = table(outcome=["SLIPPING"] * 4 + ["DROPPED", "HELD"])
    assert lost(dropped).tolist() == lost(table()).tolist()
    assert not lost(table(outcome=["CLOSED", "SLIPPING", "TIMED_OUT"] * 2)).any()
    failed = table(outcome=["FAILED"] * 6, held=[None] * 6, contacts=[None] * 6)
    assert not lost(failed).any()


@pytest.mark.parametrize("method", ["grid", "latin"])
def test_what_was_lost_sets_no_scale(method, tmp_path):
    a_plan = plan()
    if method == "latin":
        ends = tuple(Axis(path=axis.path, low=0.2, high=0.5) for axis in a_plan.axes)
        a_plan = plan(method=method, samples=6, axes=ends)
    rows = drawn(sweep_figures.draw_lines(a_plan, table(), tmp_path / "a.png"))
    values = [float(text) for row in rows for name, text in row.items()
              if name.startswith("displacement") and text]  # fmt: skip
    assert max(values) == pytest.approx(38.0)
    assert len(values) >= 5
    assert "object.density [kg/m³]" in rows[0]


GONE: dict[str, Any] = {"outcome": ["EJECTED"] * 6, "held": [False] * 6, "contacts": [0] * 6}


@pytest.mark.parametrize(
    "draw",
    [sweep_figures.draw_lines, sweep_figures.draw_outcomes, sweep_figures.draw_success],
)
def test_all_figures_are_drawn_where_everything_was_lost(draw, tmp_path):
    assert draw(plan(), table(**GONE), tmp_path / "a.png").stat().st_size > 0


def test_where_everything_was_lost_nothing_is_best():
    gone = table(**GONE)
    assert [heading for heading, _ in extremes(plan(), gone)] == ["Not in the hand at the end"]
    assert [row.reason for row in example_rows(gone, 2)] == [
        "EJECTED",
        "next row",
    ]


def test_the_best_has_the_largest_margin_and_no_force_above_its_limit():
    columns: dict[str, list[Any]] = {
        "quality_friction_margin": [0.2, 0.9, 0.4, 0.4, None, 0.1],
        "force_over_limit": [1.0, 3.1, 1.04, None, None, None],
    }
    measure, order = sweep.rank(table(**columns))
    assert measure is not None
    assert order == [2, 3, 0, 5]  # rows 2 and 3 are equal, and row 2 drifts less
    first, last, over, gone = extremes(plan(), table(**columns))
    assert first[0] == "Largest friction margin [–]"
    assert [row[:2] for row in first[1]] == [["2", "0.4"], ["3", "0.4"]]
    assert [row[0] for row in last[1]] == ["5", "0"]
    assert over == ("Held, but force over its limit [–]", [["1", "3.1", "160", "0.5"]])
    assert gone[0] == "Not in the hand at the end"
    best = {item.reason: item.position for item in example_rows(table(**columns), 3)}
    assert best["largest friction margin"] == 2
    assert "by friction margin, largest first" in sweep.ranking_text(table(**columns))


def test_what_did_not_hold_is_never_best():
    outcomes = ["SLIPPING", "SHIFTED", "HELD", "TIMED_OUT", "EJECTED", "SUPPORTED"]
    margins = [0.9, 0.8, 0.1, 0.7, None, 0.6]
    assert sweep.rank(table(outcome=outcomes, quality_friction_margin=margins))[1] == [2]


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ((1.0, 10.0, 100.0), True),
        ((1.0, 2.0, 5.0, 10.0, 20.0), True),
        ((100.0, 300.0, 1000.0), True),
        ((1.0, 2.0, 4.0, 8.0), False),  # less than a decade
        ((1.0, 6.0, 11.0), False),  # equal differences
        ((0.0, 10.0, 100.0), False),
        ((-10.0, 1.0, 100.0), False),
        ((160.0, 700.0, 1000.0, 1500.0, 3000.0), False),
        (("sphere", "cube"), False),
        ((5.0,), False),
    ],
)
def test_geometric_progressions_over_a_decade_have_a_log_scale(values, log):
    axis = Axis(path="object.density", values=values)
    assert is_log(axis, values) == log
    assert is_log(axis, values[::-1]) == log


def labels_of(a_plan: SweepPlan, rows: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """All texts of the figure of outcomes."""
    texts: list[str] = []
    kept = style.footnote

    def footnote(figure: Any, text: str) -> None:
        kept(figure, text)
        for panel in figure.axes:
            texts.extend(item.get_text() for item in panel.texts)
            texts.extend((panel.get_xlabel(), panel.get_ylabel()))
        texts.append(text)

    monkeypatch.setattr(style, "footnote", footnote)
    sweep_figures.draw_outcomes(a_plan, rows, path)
    monkeypatch.setattr(style, "footnote", kept)
    return "|".join(texts)


def test_the_figure_has_the_outcome_of_every_combination(tmp_path, monkeypatch):
    margins = [0.2, 0.9, 0.4, 0.4, None, 0.1]
    rows = table(quality_friction_margin=margins)
    text = labels_of(plan(), rows, tmp_path / "a.png", monkeypatch)
    assert text.split("|") == [
        "object.density [kg/m³], log scale", "contact.friction [–]", "",
        "friction margin [–], 0: slips", "One grasp per combination.",
    ]  # fmt: skip
    cells = drawn(tmp_path / "a.png")
    assert [cell["outcome"] for cell in cells] == rows["outcome"].tolist()
    assert [cell["friction margin [–]"] for cell in cells] == [
        "0.2", "0.9", "0.4", "0.4", "", "0.1",
    ]  # fmt: skip


def test_repeats_and_further_axes_are_the_commonest_outcome(tmp_path, monkeypatch):
    outcomes = [["HELD"] * 6, ["HELD"] * 5 + ["DROPPED"], ["SLIPPING"] * 5 + ["DROPPED"]]
    rows = pd.concat([table(outcome=outcome) for outcome in outcomes], ignore_index=True)
    text = labels_of(plan(repeats=3), rows, tmp_path / "a.png", monkeypatch).split("|")
    assert text[:6] == ["2 of 3"] * 6
    cells = drawn(tmp_path / "a.png")
    assert [cell["outcome"] for cell in cells] == ["HELD"] * 5 + ["DROPPED"]
    assert text[-1] == "Commonest outcome, how often, and mean margin, over 3 repeats."
    rows["object.radius"] = [0.02] * 6 + [0.03] * 6 + [0.04] * 6
    third = plan(axes=(*plan().axes, THIRD))
    text = labels_of(third, rows, tmp_path / "b.png", monkeypatch).split("|")
    assert text[-1].endswith("over object.radius (3 values).")


@pytest.mark.parametrize("count", [1, 2])
def test_samples_and_single_axes_are_points(count, tmp_path):
    ends = tuple(Axis(path=axis.path, low=0.2, high=0.5) for axis in plan().axes)
    changes: dict[str, Any] = {"axes": plan().axes[:1]}
    if count == 2:
        changes = {"axes": ends, "method": "latin", "samples": 6}
    path = sweep_figures.draw_outcomes(plan(**changes), table(), tmp_path / "a.png")
    assert [row["grasps"] for row in drawn(path)] == (["1"] * 6 if count == 2 else ["2"] * 3)


def test_words_keep_the_order_of_the_plan(tmp_path):
    rows = table(quality_friction_margin=[0.2, 0.9, None, 0.4, None, 0.1])
    rows["object"] = ["sphere", "cube", "mug"] * 2
    axes = (Axis(path="object", values=("sphere", "cube", "mug")), plan().axes[1])
    sweep_figures.draw_outcomes(plan(axes=axes), rows, tmp_path / "a.png")
    assert [row["object"] for row in drawn(tmp_path / "a.png")][:3] == ["sphere", "cube", "mug"]


UNITS = {
    "object.density": "kg/m³", "object.mass": "kg", "contact.friction": "–",
    "contact.stiffness": "N/m", "contact.damping": "N·s/m",
    "object.radius": "m",  # of its shape
    "hand.fingers[*].phalanges[0].density": "kg/m³",
    "hand.fingers[0].phalanges[0].stiffness": "",  # of a joint that turns or slides: both
    "no.such[3].field": "",
}  # fmt: skip


def test_units_are_those_of_the_fields():
    scene = plan().scene
    assert {field: unit_of(scene, field) for field in UNITS} == UNITS
    assert axis_label(scene, "object.density") == "object.density [kg/m³]"
    assert axis_label(scene, "grasp") == "grasp"


def test_ticks_are_the_swept_values_where_they_do_not_touch():
    assert space_ticks([160.0, 700.0, 7860.0], 2.8, log=True) == [160.0, 700.0, 7860.0]
    crowded = space_ticks([1.0, 1.01, 1.02, 50.0, 99.0, 100.0], 2.8, log=False)
    assert crowded == [1.0, 50.0, 100.0]
    assert space_ticks([3.0], 2.8, log=False) == [3.0]


def test_rates_have_intervals_only_where_rows_are_drawn_at_random():
    assert sweep._summary(plan(), table()).startswith(
        "6 grasps over 2 axes (grid); 5 of 6 held. 6.0 s of computation"
    )
    noisy = plan(noise=PoseNoise(position=1e-3))
    assert "5 of 6 held (83.3%, 95 % interval 43.6 … 97.0 %)" in sweep._summary(noisy, table())
    ends = tuple(Axis(path=axis.path, low=0.2, high=0.5) for axis in plan().axes)
    assert at_random(plan(method="latin", samples=6, axes=ends))
    assert not at_random(plan(repeats=3))  # the same grasp three times over


def test_bars_have_the_intervals_of_their_rates(tmp_path, monkeypatch):
    calls: list[tuple[int, int]] = []

    def counted(successes: int, trials: int) -> tuple[float, float]:
        calls.append((successes, trials))
        return wilson(successes, trials)

    monkeypatch.setattr(sweep_figures, "wilson", counted)
    noisy = plan(noise=PoseNoise(position=1e-3))
    sweep_figures.draw_success(noisy, table(), tmp_path / "a.png")
    assert calls == [(2, 2), (2, 2), (1, 2), (2, 3), (3, 3)]


def test_images_are_of_the_best_the_worst_and_one_of_every_end():
    result = {row.position: row.reason for row in example_rows(table(), 3)}
    assert result == {0: "smallest drift in the hand", 4: "EJECTED", 5: "largest drift in the hand"}
    more = example_rows(table(), 5)
    assert [item.position for item in more] == sorted(item.position for item in more)
    assert len(more) == 5
    assert sum(item.reason == "next row" for item in more) == 2
    assert len(example_rows(table(), 99)) == 6
    assert values_of(plan(), table(), 4) == "density 7860 kg/m³, friction 0.2"


def test_extremes_name_what_was_lost_apart():
    least, largest, gone = extremes(plan(), table())
    assert least[0] == "Smallest drift in the hand [mm]"
    assert [row[0] for row in least[1]] == ["0", "2"]
    assert [row[0] for row in largest[1]] == ["5", "3"]
    assert gone == ("Not in the hand at the end", [["4", "EJECTED", "7860", "0.2"]])


def test_captions_state_what_is_left_out(tmp_path):
    shown = {item.title: item.caption for item in sweep._draw_table(plan(), table(), tmp_path)}
    assert "1 of 6 grasps ended without the object" in shown["Measures"]
    assert "Success" not in shown


THIRD = Axis(path="object.radius", values=(0.02, 0.03))


def test_lines_name_what_they_average(tmp_path, monkeypatch):
    notes: list[str] = []
    kept = style.footnote

    def footnote(figure: Any, text: str) -> None:
        kept(figure, text)
        notes.append(" ".join(item.get_text() for item in figure.texts))

    monkeypatch.setattr(style, "footnote", footnote)
    draw = sweep_figures.draw_lines
    draw(plan(), table(), tmp_path / "a.png")
    first, second = table(**{"object.radius": [0.02] * 6}), table(**{"object.radius": [0.03] * 6})
    both = pd.concat([first, second], ignore_index=True)
    draw(plan(axes=(*plan().axes, THIRD)), both, tmp_path / "a.png")
    repeated = pd.concat([table(), table()], ignore_index=True)
    draw(plan(repeats=2), repeated, tmp_path / "a.png")
    assert notes == [
        "One grasp per combination.",
        "Means over object.radius (2 values); bars from minimum to maximum.",
        "Means over 2 repeats; bars from minimum to maximum.",
    ]


def test_values_that_have_no_line_are_named():
    many = tuple(float(value) for value in range(1, 11))
    axes = (
        Axis(path="object.density", values=(700.0,)),
        Axis(path="contact.friction", values=many),
    )
    rows = {"object.density": [700.0, 800.0] * 10, "contact.friction": sorted([*many] * 2)}
    text = averaging(plan(axes=axes), pd.DataFrame(rows), 8)
    assert text == (
        "One grasp per combination. The first 8 of 10 values of contact.friction; sweep.csv has "
        "all."
    )


def test_a_measure_that_never_differs_is_a_sentence_and_no_panel(tmp_path):
    still = table(rotation_rad=[0.5] * 4 + [FALL, 0.5])  # the lost one does not count
    assert constant_text(still) == "Equal in all grasps: rotation 28.65 °."
    assert "rotation" not in [measure.name for measure in draw_measures(still)]
    shown = {item.title: item.caption for item in sweep._draw_table(plan(), still, tmp_path)}
    assert shown["Measures"].endswith("Equal in all grasps: rotation 28.65 °.")
    assert not any("rotation" in row for row in drawn(tmp_path / "lines.png")[0])


@pytest.mark.slow
def test_rates_are_drawn_where_outcomes_are_random_and_differ(tmp_path):
    def titles(a_plan: SweepPlan, **columns: list[Any]) -> list[str]:
        return [item.title for item in sweep._draw_table(a_plan, table(**columns), tmp_path)]

    noisy = plan(noise=PoseNoise(position=1e-3))
    assert titles(plan()) == ["Outcomes", "Measures"]
    assert titles(noisy) == ["Outcomes", "Measures", "Success"]
    assert titles(noisy, held=[True] * 6) == titles(plan())


def test_levels_of_an_axis_keep_all_rows():
    parts = levels(table(), "object.density")
    assert [part.label for part in parts] == ["160", "700", "7860"]
    assert np.sum([part.rows for part in parts], axis=0).tolist() == [1] * 6


def test_examples_are_the_grasps_of_their_rows(tmp_path, monkeypatch):
    """The grasp is chosen for the heaviest object, also where a row is simulated again."""
    hand = tmp_path / "gripper.urdf"
    hand.write_text(gripper_urdf(2))
    hold_test = sg.SuccessCriterion()
    scene = sg.GraspScene(hand=hand, object=ball(0.025), success=hold_test)
    made = plan(scene=scene, axes=(Axis(path="object.density", values=(100.0, 12000.0)),))
    rows = sg.sweeps.sweep(made)
    shown = []

    def simulate_row(*arguments):
        shown.append(sweep_simulate_row(*arguments))
        return shown[-1]

    sweep_simulate_row = sweep.simulate_row
    monkeypatch.setattr(sweep, "simulate_row", simulate_row)
    sweep.write_sweep_report(made, rows, tmp_path)
    assert {result.trajectory_sha256 for result in shown} == set(rows["trajectory_sha256"])
    assert sweep_simulate_row(made, 0).trajectory_sha256 not in set(rows["trajectory_sha256"])
