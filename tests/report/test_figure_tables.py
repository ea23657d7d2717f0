"""The CSV table beside every figure: what was drawn, and what was recorded."""

import csv
from pathlib import Path

import numpy as np
import pytest

from softgrasp.io.tables import with_numbers
from softgrasp.report import style
from softgrasp.report.contact_figures import draw_contacts, draw_quality
from softgrasp.report.time_series import TIME, draw_joints, draw_object


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "DPI", 30)


def test_columns_over_the_same_times_stand_beside_them(tmp_path):
    with style.figure(tmp_path / "a.png", 2.0) as (figure, table):
        axes = figure.add_subplot()
        first = table.plot(axes, [0.0, 1.0], [2.0, 4.0], "force [N]", color="#123456")
        table.plot(axes, [0.0, 1.0], [3.0, np.nan], "target [N]")
        table.plot(axes, [5.0], [6.0], "peak [N]")
        table.add({"hand": ["mug", "pear", "can"], "count": [1, 2, 3]})
        table.add_points("tip", "xz", "mm", np.array([[7.0, 8.0]]))
    assert first.get_color() == "#123456"
    assert np.asarray(first.get_xydata()).tolist() == [[0.0, 2.0], [1.0, 4.0]]
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines() == [
        "time [s],force [N],target [N],time [s] (2),peak [N],hand,count,tip x [mm],tip z [mm]",
        "0,2,3,5,6,mug,1,7,8",
        "1,4,,,,pear,2,,",
        ",,,,,can,3,,",
    ]


def test_a_name_that_is_taken_gets_a_number(tmp_path):
    with style.figure(tmp_path / "a.png", 1.0, 1.0) as (_, table):
        table.add({"x": [1.0], "y": [2.0]})
        table.add({"x": [1.0], "y": [3.0]})
    assert rows_of(tmp_path / "a.csv") == [{"x": "1", "y": "2", "y (2)": "3"}]


def test_an_image_has_no_table(tmp_path):
    with style.figure(tmp_path / "a.png", 1.0, 1.0) as (figure, _):
        figure.add_axes((0, 0, 1, 1)).imshow(np.zeros((4, 4, 3)))
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert with_numbers([tmp_path / "a.png"]) == [tmp_path / "a.png"]


def test_columns_of_a_grasp_are_what_was_recorded(held, tmp_path):
    rows = rows_of(draw_contacts(held, tmp_path / "a.png").with_suffix(".csv"))
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


@pytest.mark.slow
def test_joints_object_and_quality_have_their_units(held, tmp_path):
    heads = {}
    figures = {"joints": draw_joints, "object": draw_object, "quality": draw_quality}
    for name, draw in figures.items():
        table = draw(held, tmp_path / f"{name}.png").with_suffix(".csv")
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
    assert float(dict(heads["quality"])["ε"]) == pytest.approx(held.quality_log.epsilon[-1])
