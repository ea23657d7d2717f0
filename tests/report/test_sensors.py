"""Sensors in a report: figures, sentences and tables."""

import imageio.v3 as imageio
import pytest

import softgrasp as sg
from softgrasp.report import grasp_tables, style
from softgrasp.report.contact_figures import draw_sensors, draw_tactile
from softgrasp.report.grasp_text import sensor_clause, sensor_rows
from tests.support.scenes import pinch

SENSORS = (
    sg.description.TactileSensor(name="tactile_F1_P3", body="F1_P3", noise=0.02, delay=0.002),
    sg.description.TactileSensor(name="tactile_F2_P3", body="F2_P3", rows=20, columns=16),
    sg.description.ForceTorqueSensor(
        name="wrist", tare=True, torque_errors=sg.description.SensorErrors(noise=0.001)
    ),
    sg.description.JointTorqueSensor(name="joints"),
)


@pytest.fixture(scope="module")
def felt() -> sg.GraspResult:
    return sg.simulate(pinch(sensors=SENSORS))


@pytest.mark.slow
def test_the_report_has_a_section_for_sensors(felt, tmp_path):
    written = sg.write_report(felt, tmp_path, renderer="none", video=False)
    assert [path.name for path in written] == [
        "result.json", "trajectory.npz", "contacts.png", "contacts.csv", "joints.png", "joints.csv",
        "object.png", "object.csv", "quality.png", "quality.csv", "sensors.png", "sensors.csv",
        "tactile.png", "tactile.csv", "report.html",
    ]  # fmt: skip
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<h2>Sensors</h2>" in page
    assert page.count("<img") == 6


@pytest.mark.parametrize("draw", [draw_sensors, draw_tactile])
def test_figures_are_images(felt, tmp_path, draw):
    path = draw(felt, tmp_path / "figure.png")
    image = imageio.imread(path)
    assert image.shape[1] == round(style.WIDTH * style.DPI)
    assert image[..., :3].std() > 5.0


def test_the_words_are_those_of_the_numbers(felt):
    sums = {
        name: felt.sensors[name].values[-1].sum() for name in ("tactile_F1_P3", "tactile_F2_P3")
    }
    most = max(sums, key=lambda name: sums[name])
    assert sensor_clause(felt).startswith(
        f"4 sensors with 370 channels; largest on {most} at the end, {sums[most]:.3g} N; wrist "
    )
    shown = [[cell if isinstance(cell, str) else cell[0] for cell in row.values()][1:]
             for row in sensor_rows(felt)]  # fmt: skip
    assert shown == [
        ["tactile", "F1 P3, 4 × 8", "32"],
        ["tactile", "F2 P3, 20 × 16", "320"],
        ["force and torque", "before palm, tared", "6"],
        ["joint torque", "all rigid joints", "12"],
    ]


def test_contact_models_are_reported():
    assert grasp_tables.contact_text(sg.Contact(model="native")) == (
        "native: time constant 20 ms, damping ratio 1, µ 0.5"
    )
    soft = sg.Contact(model="soft-finger", patch=sg.description.Patch(radius=0.004))
    assert grasp_tables.contact_text(soft).startswith("soft-finger: K ")
    assert grasp_tables.contact_text(soft).endswith(", µ 0.5, patch 4 mm (hertz)")
    result = sg.simulate(pinch(contact=sg.Contact(model="native")))
    assert "The contact model does not define a stiffness" in grasp_tables.stiffness_verdict(result)
