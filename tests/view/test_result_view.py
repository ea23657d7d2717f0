"""A result in a browser: scrubbing shows what was recorded, cones open by the angle of friction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.viewer import views
from softgrasp.viewer.page import Announcement, Page, titled
from softgrasp.viewer.scene_markers import cones
from softgrasp.viewer.views import ResultView
from softgrasp.viewer.widgets import TimeChart
from tests.scenes import pinch


@pytest.fixture(scope="module")
def view() -> Iterator[ResultView]:
    with Page("test", port=0) as page:
        yield ResultView(page, sg.simulate(pinch()), "Closed.")


def test_scrubbing_moves_the_object_to_where_it_was_recorded(view: ResultView) -> None:
    result, model = view._result, view._model.model
    frame = view._model._bodies[model.body("object").id]
    for row in (0, len(result.time) // 2, -1):
        view.show(float(result.time[row]))
        np.testing.assert_allclose(frame.position, result.object_position[row], atol=1e-6)


def test_forces_are_shown_while_something_is_touched_only(view: ResultView) -> None:
    scene, time = view._page.server.scene, view._result.time
    view.show(float(time[-1]))
    arrows = scene.get_handle_by_name("/marks/forces")
    assert arrows is not None
    assert len(arrows.points) == int((view._result.normal_force[-1] > 0.0).sum())
    view.show(float(time[0]))
    assert scene.get_handle_by_name("/marks/forces") is None


def test_playing_goes_on_at_its_speed_and_starts_again(view: ResultView) -> None:
    view._playing, view._speed.value = True, "0.1 ×"
    view.show(0.0)
    view.step(0.5)
    assert view._slider.value == pytest.approx(0.05)
    view.show(view._end)
    view.step(0.5)
    assert view._slider.value == view._begin
    view._playing = False
    view._slider.value = view._end
    view.step(0.5)
    assert view._slider.value == view._end


def test_a_saved_scene_needs_no_server(view: ResultView, tmp_path: Path) -> None:
    text = view.save(tmp_path / "scene.html", frames=3).read_text()
    assert text.startswith("<!DOCTYPE html>") or "<html" in text[:200]
    assert "http://127.0.0.1" not in text


def test_cones_open_by_the_angle_of_friction() -> None:
    points = np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]])
    normals = np.array([[0.0, 0.6, 0.8], [1.0, 0.0, 0.0]])
    mu = np.array([0.5, 0.25])
    vertices, faces = cones(points, normals, mu, 0.02)
    assert faces.max() == len(vertices) - 1
    for tip, normal, friction, own in zip(points, normals, mu, np.split(vertices, 2), strict=True):
        np.testing.assert_allclose(own[0], tip)
        ways = own[1:] - tip
        along = ways @ normal
        across = np.linalg.norm(ways - along[:, None] * normal, axis=1)
        np.testing.assert_allclose(along, 0.02)
        np.testing.assert_allclose(across / along, friction)


def test_a_chart_has_its_line_at_the_instant_and_curves_as_they_are(view: ResultView) -> None:
    time = np.linspace(0.0, 1.0, 11)
    curve = np.sin(time)
    curve[3] = np.nan
    chart = TimeChart(view._page.server.gui, "test", time, {"sine": curve})
    chart.move(0.55)
    shown, values, line = chart._handle.data
    seen = line >= chart._low
    np.testing.assert_allclose(shown[seen], 0.55)
    assert {line[seen].min(), line[seen].max()} == {chart._low, chart._high}
    known = np.isin(shown, time) & (np.abs(shown - 0.3) > 1e-9)
    np.testing.assert_allclose(values[known], np.sin(shown[known]))
    assert np.isfinite(values).all()


def test_a_saved_scene_says_what_it_shows_in_seconds_of_the_run(
    view: ResultView, tmp_path: Path
) -> None:
    text = view.save(tmp_path / "scene.html", frames=3).read_text()
    scene = view._result.scene
    title = f"{scene.hand.name} grasps {scene.object.name}"
    assert f"<title>{title}</title>" in text
    assert f"<b>{title}</b>" in text
    assert f"softgrasp {sg.__version__}" in text
    assert text.count("<title>") == 1


def test_words_over_a_saved_scene_cannot_break_it() -> None:
    page = "<html><head><title>x</title></head><body>a</body></html>"
    text = titled(page, Announcement("a < b", "<script>1</script> & so on"))
    assert "<script" not in text
    assert "<title>a &lt; b</title>" in text
    assert text.endswith("</div></body></html>")


def test_the_player_goes_by_the_time_of_the_run(
    view: ResultView, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[float] = []

    def noted(page: object, frames: Iterator[None], message: Announcement, step: float) -> str:
        steps.extend(step for _ in frames)
        return ""

    monkeypatch.setattr(views, "recorded", noted)
    view.html(frames=5)
    assert len(steps) == 5
    assert steps[0] * 4 == pytest.approx(view._end - view._begin)


def test_the_box_of_the_time_has_room_for_its_digits(view: ResultView) -> None:
    assert view._slider.max >= view._end
    for number in (view._slider.min, view._slider.max, view._slider.step):
        assert len(f"{number:g}") <= 5
