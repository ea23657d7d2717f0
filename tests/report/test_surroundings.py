"""Reports with several objects and with surroundings."""

import imageio.v3
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.report import grasp_tables, grasp_text
from softgrasp.report.time_series import draw_object


@pytest.fixture(scope="module")
def two() -> sg.GraspResult:
    return sg.simulate(sg.load_scene("two_spheres"))


@pytest.fixture(scope="module")
def corner() -> sg.GraspResult:
    return sg.simulate(sg.load_scene("corner"))


def test_the_summary_reports_both_objects(two):
    drop = 1e3 * two.hold.others[0].drop_m
    text = grasp_text.summary(two)
    moved = 1e3 * float(np.linalg.norm(two.objects[1].displacement_m))
    assert f"Beside it, small moved {moved:.1f} mm and rotated by " in text
    assert f"(evaluated: large; not evaluated: small moved {drop:.3f} mm in the hand)." in text
    (pressed,) = (contact for contact in two.other_contacts if contact.first == "large")
    force = f"{pressed.normal_force_N:.1f}"
    assert text.endswith(f"At the end large presses on small with {force} N.")


def test_one_object_is_reported_as_before(corner):
    text = grasp_text.summary(corner)
    assert "Beside it" not in text
    assert "judged" not in text
    force = {contact.second: contact.normal_force_N for contact in corner.other_contacts}
    assert f"cuboid presses on left with {force['left']:.1f} N" in text


def test_the_tables_name_objects_and_surroundings(two, corner):
    assert {row["Object"][0] for row in grasp_tables.body_rows(two)} == {"large", "small"}
    assert {row["Object"][0] for row in grasp_tables.event_rows(two)} == {"large", "small"}
    (row,) = grasp_tables.other_rows(two)
    assert tuple(row[:2]) == ("large", "small")
    assert [row[1] for row in grasp_tables.other_rows(corner)] == ["table", "left", "right"]


def test_the_summary_states_what_stands_around(two, corner):
    message = dict(grasp_tables.scene_properties(corner))
    assert message["Surroundings"] == "table, left, right"
    assert dict(grasp_tables.scene_properties(two))["Objects"].endswith(
        "; small, sphere, radius 15 mm, 9.896 g (700 kg/m³)"
    )


def test_the_figure_has_a_row_an_object(two, corner, tmp_path):
    heights = [
        imageio.v3.imread(draw_object(result, tmp_path / f"{index}.png")).shape[0]
        for index, result in enumerate((corner, two))
    ]
    assert heights[1] == 2 * heights[0]


@pytest.mark.slow
def test_the_report_has_all_of_it(two, tmp_path):
    sg.write_report(two, tmp_path, renderer="none", video=False)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<h2>Objects</h2>" in page
    assert "presses on" in page
    assert "small, sphere, radius 15 mm" in page


def test_a_pair_is_compared_with_its_contact():
    """One of two objects is softer; both have what was set for them."""
    soft, scene = sg.Contact(stiffness=2e4, damping=100.0), sg.load_scene("two_spheres")
    beside = tuple(obj.replace(contact=soft) for obj in scene.objects)
    result = sg.simulate(scene.replace(objects=beside))
    model = result.contact_model
    assert set(model.set_stiffness_N_m.values()) == {2e4}
    assert len(model.measured_stiffness_N_m) > len(model.set_stiffness_N_m)
    for pair, stiffness in model.measured_stiffness_N_m.items():
        assert stiffness == pytest.approx(model.set_stiffness(pair), rel=0.05)
    assert "of the model" in grasp_tables.stiffness_verdict(result)
