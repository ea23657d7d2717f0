"""The CSV table beside every figure: what was drawn, and what was recorded."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.tables import with_numbers
from softgrasp.report import style
from softgrasp.report.time_series import TIME, write_numbers


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "DPI", 30)


def test_points_of_lines_dots_bars_and_maps_are_written_with_their_names(tmp_path: Path) -> None:
    from matplotlib.lines import Line2D

    with style.figure(tmp_path / "a.png", 2.0) as figure:
        left, middle, right = (figure.add_subplot(1, 3, index + 1) for index in range(3))
        left.set_title("forces")
        left.set_ylabel("force [N]")
        left.plot([0.0, 1.0], [2.0, 4.0], label="drawn")
        left.plot([0.0, 1.0], [3.0, 5.0], color="#123456")
        left.axhline(7.0)  # a limit, no series
        middle.bar([0, 1], [10.0, 20.0], label="counts")
        middle.set_xticks([0, 1], ["mug", "pear"])
        middle.scatter([0.25], [1.5], c=[9.0])
        right.imshow([[1.0, 2.0], [3.0, np.nan]])
        style.legend(figure, [Line2D([], [], color="#123456", label="by its colour")])
        style.edge_labels(figure)
    rows = rows_of(tmp_path / "a.csv")
    message = [(row["panel"], row["series"], row["x"], row["y"], row["value"]) for row in rows]
    assert message == [
        ("forces", "drawn", "0", "2", ""),
        ("forces", "drawn", "1", "4", ""),
        ("forces", "by its colour", "0", "3", ""),
        ("forces", "by its colour", "1", "5", ""),
        ("panel 2", "dots 1", "0.25", "1.5", "9"),
        ("panel 2", "counts", "mug", "10", ""),
        ("panel 2", "counts", "pear", "20", ""),
        ("panel 3", "map 1", "0", "0", "1"),
        ("panel 3", "map 1", "1", "0", "2"),
        ("panel 3", "map 1", "0", "1", "3"),
        ("panel 3", "map 1", "1", "1", ""),
    ]
    assert {(row["x_axis"], row["y_axis"]) for row in rows[:4]} == {("time [s]", "force [N]")}


def test_bars_of_errors_keep_their_ends(tmp_path: Path) -> None:
    with style.figure(tmp_path / "a.png", 2.0) as figure:
        axes = figure.add_subplot()
        axes.errorbar([1.0], [2.0], yerr=[0.5], capsize=2, label="mean")
    message = [(row["series"], row["x"], row["y"]) for row in rows_of(tmp_path / "a.csv")]
    assert message == [
        ("mean", "1", "2"),
        ("mean, end of a bar", "1", "1.5"),
        ("mean, end of a bar", "1", "2.5"),
    ]


def test_a_picture_has_no_numbers(tmp_path: Path) -> None:
    with style.figure(tmp_path / "a.png", 1.0, 1.0) as figure:
        figure.add_axes((0, 0, 1, 1)).imshow(np.zeros((4, 4, 3)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert with_numbers([tmp_path / "a.png"]) == [tmp_path / "a.png"]


def test_columns_of_a_grasp_are_what_was_recorded(held: sg.GraspResult, tmp_path: Path) -> None:
    table = write_numbers(held, tmp_path / "contacts.png")
    assert table is not None
    rows = rows_of(table)
    times = np.array([float(row[TIME]) for row in rows])
    assert times[0] == held.time[0]
    assert times[-1] == pytest.approx(held.time[-1], rel=1e-8)
    assert np.diff(times)[:-1] == pytest.approx(1e-3, abs=1e-9)
    samples = np.searchsorted(held.time, times - 1e-6)
    body = held.contact_bodies.tolist().index("F1_P3")
    forces = [float(row["F1 P3 normal force [N]"]) for row in rows]
    assert forces == pytest.approx(held.normal_force[samples, body], rel=1e-8)
    on = [row["F1 P3 in contact"] == "1" for row in rows]
    assert on == held.in_contact[samples, body].tolist()


def test_joints_object_and_quality_have_their_units(held: sg.GraspResult, tmp_path: Path) -> None:
    heads = {}
    for name in ("joints", "object", "quality"):
        table = write_numbers(held, tmp_path / f"{name}.png")
        assert table is not None
        heads[name] = list(rows_of(table)[-1].items())
    joints = dict(heads["joints"])
    assert float(joints["F1 J1 [°]"]) == pytest.approx(
        np.degrees(held.joints["F1_J1"]), rel=1e-6, abs=1e-9
    )
    assert "F1 J1 target [°]" in joints
    motion = dict(heads["object"])
    assert float(motion["ball z [mm]"]) == pytest.approx(
        1e3 * held.object.displacement_m[2], abs=1e-6
    )
    assert held.quality_log is not None
    assert float(dict(heads["quality"])["ε"]) == pytest.approx(held.quality_log.epsilon[-1])
    assert write_numbers(held, tmp_path / "strip.png") is None
