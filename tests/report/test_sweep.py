"""Sweep reports: lost objects, confidence intervals, example rows, captions."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from softgrasp.description.sweep import Axis, PoseNoise, SweepPlan
from softgrasp.report import style, sweep, sweep_figures
from softgrasp.report.sweep import example_rows, extremes, values_of
from softgrasp.report.sweep_figures import draw_parallel, spaced_ticks
from softgrasp.report.sweep_measures import (
    at_random,
    averaging,
    axis_label,
    constant_text,
    drawn_measures,
    levels,
    lost,
    measures_of,
    numbers,
    unit_of,
    wilson,
)
from softgrasp.sweeps.table import COLUMNS
from tests.support.scenes import pinch

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
    kinds |= {"status": "string", "outcome": "string"}
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


def test_a_lost_object_has_no_motion_but_its_forces() -> None:
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


FIGURES = (sweep_figures.draw_lines, sweep_figures.draw_heat_maps, sweep_figures.draw_scatter)


@pytest.mark.parametrize("draw", FIGURES)
def test_what_was_lost_sets_no_scale(draw: Any, tmp_path: Path) -> None:
    rows = drawn(draw(plan(), table(), tmp_path / "a.png"))
    values = [float(text) for row in rows for name, text in row.items()
              if name.startswith("displacement") and text]  # fmt: skip
    assert max(values) == pytest.approx(38.0)
    assert len(values) >= 5
    assert "object.density [kg/m³]" in rows[0]


GONE: dict[str, Any] = {"outcome": ["EJECTED"] * 6, "held": [False] * 6, "contacts": [0] * 6}


@pytest.mark.parametrize("draw", [*FIGURES, sweep_figures.draw_success, draw_parallel])
def test_all_figures_are_drawn_where_everything_was_lost(draw: Any, tmp_path: Path) -> None:
    assert draw(plan(), table(**GONE), tmp_path / "a.png").stat().st_size > 0


def test_where_everything_was_lost_nothing_is_best() -> None:
    gone = table(**GONE)
    assert [heading for heading, _ in extremes(plan(), gone)] == ["Not in the hand at the end"]
    assert [one.reason for one in example_rows(plan(), gone, 2)] == [
        "EJECTED",
        "different from those",
    ]


def test_units_are_those_of_the_fields() -> None:
    scene = plan().scene
    assert unit_of(scene, "object.density") == "kg/m³"
    assert unit_of(scene, "object.mass") == "kg"
    assert unit_of(scene, "contact.friction") == "–"
    assert unit_of(scene, "contact.stiffness") == "N/m"
    assert unit_of(scene, "contact.damping") == "N·s/m"
    assert unit_of(scene, "object.radius") == "m"  # of its shape
    assert unit_of(scene, "hand.fingers[*].phalanges[0].density") == "kg/m³"
    # of a joint that turns or slides the text says both, so there is none
    assert unit_of(scene, "hand.fingers[0].phalanges[0].stiffness") == ""
    assert unit_of(scene, "no.such[3].field") == ""
    assert axis_label(scene, "object.density") == "object.density [kg/m³]"
    assert axis_label(scene, "grasp") == "grasp"


def test_ticks_are_the_swept_values_where_they_do_not_touch() -> None:
    assert spaced_ticks([160.0, 700.0, 7860.0], 2.8, log=True) == [160.0, 700.0, 7860.0]
    crowded = spaced_ticks([1.0, 1.01, 1.02, 50.0, 99.0, 100.0], 2.8, log=False)
    assert crowded == [1.0, 50.0, 100.0]
    assert spaced_ticks([3.0], 2.8, log=False) == [3.0]


def test_rates_have_intervals_only_where_rows_are_drawn_at_random() -> None:
    assert sweep._summary(plan(), table()).startswith(
        "6 grasps over 2 axes (grid); 5 of 6 held. 6.0 s of computation"
    )
    noisy = plan(noise=PoseNoise(position=1e-3))
    assert "5 of 6 held (83.3%, 95 % interval 43.6 … 97.0 %)" in sweep._summary(noisy, table())
    ends = tuple(Axis(path=axis.path, low=0.2, high=0.5) for axis in plan().axes)
    assert at_random(plan(method="latin", samples=6, axes=ends))
    assert not at_random(plan(repeats=3))  # the same grasp three times over


def test_bars_have_no_lines_where_nothing_is_drawn_at_random(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []

    def counted(successes: int, trials: int) -> tuple[float, float]:
        calls.append((successes, trials))
        return wilson(successes, trials)

    monkeypatch.setattr(sweep_figures, "wilson", counted)
    sweep_figures.draw_success(plan(), table(), tmp_path / "a.png")
    assert calls == []
    noisy = plan(noise=PoseNoise(position=1e-3))
    sweep_figures.draw_success(noisy, table(), tmp_path / "a.png")
    assert calls == [(2, 2), (2, 2), (1, 2), (2, 3), (3, 3)]


def test_images_are_of_the_best_the_worst_and_one_of_every_end() -> None:
    result = {one.position: one.reason for one in example_rows(plan(), table(), 3)}
    assert result == {0: "smallest drift in the hand", 4: "EJECTED", 5: "largest drift in the hand"}
    more = example_rows(plan(), table(), 5)
    assert [one.position for one in more] == sorted(one.position for one in more)
    assert len(more) == 5
    assert sum(one.reason == "different from those" for one in more) == 2
    assert len(example_rows(plan(), table(), 99)) == 6
    assert values_of(plan(), table(), 4) == "density 7860 kg/m³, friction 0.2"


def test_extremes_name_what_was_lost_apart() -> None:
    least, largest, gone = extremes(plan(), table())
    assert least[0] == "Smallest drift in the hand [mm]"
    assert [row[0] for row in least[1]] == ["0", "2"]
    assert [row[0] for row in largest[1]] == ["5", "3"]
    assert gone == ("Not in the hand at the end", [["4", "EJECTED", "7860", "0.2"]])


def test_captions_state_what_is_left_out(tmp_path: Path) -> None:
    shown = {one.title: one.caption for one in sweep._draw_table(plan(), table(), tmp_path)}
    assert "1 of 6 grasps ended without the object" in shown["Measures"]
    assert "95 %" not in shown["Success"]


THIRD = Axis(path="object.radius", values=(0.02, 0.03))


@pytest.mark.parametrize("draw", FIGURES[:2])
def test_figures_name_what_they_average(
    draw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    kept = style.footnote

    def footnote(figure: Any, text: str) -> None:
        kept(figure, text)
        notes.append(" ".join(one.get_text() for one in figure.texts))

    monkeypatch.setattr(style, "footnote", footnote)
    draw(plan(), table(), tmp_path / "a.png")
    one, two = table(**{"object.radius": [0.02] * 6}), table(**{"object.radius": [0.03] * 6})
    both = pd.concat([one, two], ignore_index=True)
    draw(plan(axes=(*plan().axes, THIRD)), both, tmp_path / "a.png")
    repeated = pd.concat([table(), table()], ignore_index=True)
    draw(plan(repeats=2), repeated, tmp_path / "a.png")
    assert notes == [
        "One grasp per combination.",
        "Means over object.radius (2 values); bars from minimum to maximum.",
        "Means over 2 repeats; bars from minimum to maximum.",
    ]


def test_values_that_have_no_line_are_named() -> None:
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


def test_a_measure_that_never_differs_is_a_sentence_and_no_panel(tmp_path: Path) -> None:
    still = table(rotation_rad=[0.5] * 4 + [FALL, 0.5])  # the lost one does not count
    assert constant_text(still) == "Equal in all grasps: rotation 28.65 °."
    assert "rotation" not in [measure.name for measure in drawn_measures(still)]
    shown = {one.title: one.caption for one in sweep._draw_table(plan(), still, tmp_path)}
    assert shown["Measures"].endswith("Equal in all grasps: rotation 28.65 °.")
    assert not any("rotation" in row for row in drawn(tmp_path / "lines.png")[0])


def test_success_is_drawn_where_outcomes_differ(tmp_path: Path) -> None:
    titles = [one.title for one in sweep._draw_table(plan(), table(), tmp_path)]
    assert titles == ["Measures", "Success", "All axes and measures"]
    all_held = table(status=["CLOSED"] * 6, held=[True] * 6)
    titles = [one.title for one in sweep._draw_table(plan(), all_held, tmp_path)]
    assert titles == ["Measures", "All axes and measures"]


def test_many_values_of_the_second_axis_are_a_map(tmp_path: Path) -> None:
    many = [round(0.1 * k, 1) for k in range(1, 10)]
    axes = (Axis(path="object.density", values=(160.0, 700.0)),
            Axis(path="contact.friction", values=tuple(many)))  # fmt: skip
    wide = pd.concat([table(), table(), table()], ignore_index=True)
    wide["object.density"] = [160.0] * 9 + [700.0] * 9
    wide["contact.friction"] = many * 2
    shown = sweep._draw_table(plan(axes=axes), wide, tmp_path)
    assert shown[0].path.name == "heat.png"


def test_levels_of_an_axis_keep_all_rows() -> None:
    parts = levels(table(), "object.density")
    assert [part.label for part in parts] == ["160", "700", "7860"]
    assert np.sum([part.rows for part in parts], axis=0).tolist() == [1] * 6
