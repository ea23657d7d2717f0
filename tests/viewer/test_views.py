"""Hand view, result view and workbench of the browser viewer."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.view import hand_choices
from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.report.grasp_text import summary
from softgrasp.viewer import views
from softgrasp.viewer.page import Announcement, Page, add_title
from softgrasp.viewer.scene_markers import Choices, find_closed_targets
from softgrasp.viewer.views import HandView, ResultView, Workbench
from softgrasp.viewer.widgets import AS_DESCRIBED, NONE, ActuatorSliders, TimeChart
from tests.support.scenes import ball, pinch
from tests.viewer.hands import part_way, posed


@pytest.fixture
def page() -> Iterator[Page]:
    with Page("test", port=0) as opened:
        yield opened


def boxes(page: Page) -> dict[str, object]:
    handles = page.server.gui._gui_input_handle_from_uuid.values()
    return {handle.label: handle for handle in handles if hasattr(handle, "label")}


@pytest.mark.parametrize("name", ["four_finger", "hybrid_gripper"])
def test_a_slider_moves_its_joint_or_pressure_inside_its_limits(page, name):
    hand = sg.load_hand(name)
    view = HandView(page, posed(hand))
    for index, actuator in enumerate(hand.actuators):
        slider = view.sliders.handles[index]
        before = view.posed.data.qpos.copy()
        slider.value = slider.max
        assert not np.array_equal(view.posed.data.qpos, before)
        low, high = actuator.limits
        assert low <= view.sliders.targets[index] <= high
        assert view.sliders.targets[index] == pytest.approx(high, abs=2e-3 * (high - low))
        if actuator.joint is not None:
            joint = view.posed.model.joint(actuator.joint)
            assert view.posed.data.qpos[joint.qposadr[0]] == view.sliders.targets[index]


def test_sliders_show_degrees_millimetres_and_kilopascals(page):
    hand = sg.load_hand("hybrid_gripper")
    sliders = ActuatorSliders(page.server.gui, hand, lambda targets: None)
    labels = [slider.label for slider in sliders.handles]
    assert {label.split(" / ")[1] for label in labels} == {"°", "kPa"}
    sliders.put(part_way(hand))
    np.testing.assert_allclose(sliders.targets, part_way(hand))


def test_putting_sliders_is_no_move(page):
    hand, moves = sg.load_hand("two_finger_planar"), []
    sliders = ActuatorSliders(page.server.gui, hand, moves.append)
    sliders.put(part_way(hand))
    assert moves == []
    sliders.handles[1].value = sliders.handles[1].max
    (message,) = moves
    assert message[0] == pytest.approx(part_way(hand)[0])
    assert message[1] == pytest.approx(hand.actuators[1].limits[1], abs=2e-3)


def test_one_slider_closes_the_hand(page):
    hand = sg.load_hand("four_finger")
    view = HandView(page, posed(hand))
    boxes(page)["close / %"].value = 100.0
    np.testing.assert_allclose(view.sliders.targets, find_closed_targets(hand), atol=2e-3)
    boxes(page)["close / %"].value = 0.0
    starts = [actuator.start for actuator in hand.actuators]
    np.testing.assert_allclose(view.sliders.targets, starts, atol=2e-3)


def test_boxes_show_and_hide_frames_and_positions(page):
    hand = sg.load_hand("four_finger")
    HandView(page, posed(hand))
    scene = page.server.scene
    assert len(scene.get_handle_by_name("/frames").batched_positions) == 12
    label = scene.get_handle_by_name("/labels/F1_J2")
    assert (label.text, label.visible) == ("F1_J2", True)
    for word, names in {
        "grasp centres": ("/centers/power", "/centers/precision"),
        "joint frames": ("/frames",),
    }.items():
        box = boxes(page)[word]
        for shown in (True, False) if word != "joint frames" else (False,):
            box.value = shown
            assert {scene.get_handle_by_name(name) is not None for name in names} == {shown}
    assert not label.visible
    boxes(page)["grasp centres"].value = True
    position = scene.get_handle_by_name("/centers/power").position
    np.testing.assert_allclose(position, hand.grasps.power.center)


def test_a_saved_hand_needs_no_server(page, tmp_path):
    text = HandView(page, posed(sg.load_hand("soft_gripper"))).save(tmp_path / "a.html").read_text()
    assert "<html" in text[:200]
    assert f":{page.port}" not in text
    assert len(text) < 5e6


# Result view.


@pytest.fixture(scope="module")
def view() -> Iterator[ResultView]:
    with Page("test", port=0) as page:
        yield ResultView(page, sg.simulate(pinch()), "Closed.")


def test_scrubbing_moves_the_object_to_where_it_was_recorded(view):
    result, model = view._result, view._model.model
    frame = view._model._bodies[model.body("object").id]
    for row in (0, len(result.time) // 2, -1):
        view.show(float(result.time[row]))
        np.testing.assert_allclose(frame.position, result.object_position[row], atol=1e-6)


def test_forces_are_shown_while_something_is_touched_only(view):
    scene, time = view._page.server.scene, view._result.time
    view.show(float(time[-1]))
    arrows = scene.get_handle_by_name("/marks/forces")
    assert len(arrows.points) == int((view._result.normal_force[-1] > 0.0).sum())
    view.show(float(time[0]))
    assert scene.get_handle_by_name("/marks/forces") is None


def test_playing_goes_on_at_its_speed_and_starts_again(view):
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


def test_a_chart_has_its_line_at_the_instant_and_curves_as_they_are(view):
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


def test_a_saved_scene_states_what_it_shows_in_seconds_of_the_run(view, tmp_path):
    text = view.save(tmp_path / "scene.html", frames=3).read_text()
    scene = view._result.scene
    title = f"{scene.hand.name} grasps {scene.object.name}"
    assert f"<title>{title}</title>" in text
    assert f"<b>{title}</b>" in text
    assert f"softgrasp {sg.__version__}" in text
    assert text.count("<title>") == 1


def test_words_over_a_saved_scene_cannot_break_it():
    page = "<html><head><title>x</title></head><body>a</body></html>"
    text = add_title(page, Announcement("a < b", "<script>1</script> & so on"))
    assert "<script" not in text
    assert "<title>a &lt; b</title>" in text
    assert text.endswith("</div></body></html>")


def test_the_player_goes_by_the_time_of_the_run(view, monkeypatch):
    steps: list[float] = []

    def noted(page: object, frames: Iterator[None], message: Announcement, step: float) -> str:
        steps.extend(step for _ in frames)
        return ""

    monkeypatch.setattr(views, "record", noted)
    view.html(frames=5)
    assert len(steps) == 5
    assert steps[0] * 4 == pytest.approx(view._end - view._begin)


def test_the_box_of_the_time_fits_its_digits(view):
    assert view._slider.max >= view._end
    for number in (view._slider.min, view._slider.max, view._slider.step):
        assert len(f"{number:g}") <= 5


# Workbench and form.


HAND = "two_finger_planar"


def scene_of(choices: Choices) -> sg.GraspScene:
    if choices.object == "mug":
        raise DescriptionError("no mug today")
    return sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=ball(), grasp="precision", duration=0.05
    )


@pytest.fixture
def rig(page: Page) -> Iterator[Workbench]:
    made = Workbench(page, Choices(hand=HAND, object="sphere"), scene_of, summary)
    yield made
    made.close()


def finish(rig: Workbench) -> None:
    """Wait for the run and for what it shows."""
    done = threading.Event()
    running = rig.running
    if running is not None:
        running.add_done_callback(lambda _: done.set())
        assert done.wait(60.0)


def press(button: object) -> None:
    for called in button._impl.update_cb:
        called(None)


@pytest.mark.slow
def test_a_grasp_is_started_and_its_result_shown_with_its_words(page, rig):
    form = rig.form
    press(form.start)
    finish(rig)
    assert (rig.hand, rig.form) == (None, None)
    message = [
        handle.content
        for handle in page.server.gui._container_handle_from_uuid["root"]._children.values()
        if hasattr(handle, "content")
    ]
    assert any(summary(rig.result._result) in text for text in message)
    assert any(f"softgrasp grasp {HAND} sphere --hold" in text for text in message)
    rig.step(0.1)
    rig.show_hand(rig.choices)
    assert rig.result is None
    assert rig.form.choices == Choices(hand=HAND, object="sphere")


def test_a_run_can_be_cancelled(rig, monkeypatch):
    begun, waiting = threading.Event(), threading.Event()

    def simulated(scene: sg.GraspScene, progress: object) -> None:
        progress(0.25)
        begun.set()
        waiting.wait(60.0)
        progress(0.5)

    monkeypatch.setattr("softgrasp.viewer.views.simulate", simulated)
    form = rig.form
    rig.start(rig.choices)
    assert form.start.disabled
    assert form.hand.disabled
    rig.start(rig.choices)  # a second one is not begun
    assert begun.wait(60.0)
    press(form.stop)
    waiting.set()
    finish(rig)
    assert rig.message_text == "⚠ stopped at 0.500 s of the run"
    assert rig.result is None
    assert not form.start.disabled
    assert not form.progress.visible


def test_mistakes_are_sentences_on_the_page(rig):
    rig.start(rig.choices.replace(object="mug"))
    finish(rig)
    assert rig.message_text == "⚠ no mug today"
    rig.show_hand(Choices(hand="four_fingr"))
    assert rig.message_text.startswith("⚠ no hand 'four_fingr'")
    assert rig.form.choices.hand == HAND
    rig.show_hand(rig.choices.replace(object="mug"))
    assert rig.message_text == "⚠ no mug today"
    assert rig.hand.hand.name == HAND
    rig.form.numbers["density"].value = "heavy"
    press(rig.form.start)
    assert rig.message_text == "⚠ density: expected a number above 0, found 'heavy'"
    rig.form.numbers["density"].value = ""
    rig.form.numbers["friction"].value = "-1"
    press(rig.form.start)
    assert rig.message_text == "⚠ friction: expected a number at least 0, found '-1'"
    assert rig.running is None


def test_a_mistake_of_softgrasp_is_reported_too(rig, monkeypatch):
    def broken(scene: sg.GraspScene, progress: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("softgrasp.viewer.views.simulate", broken)
    rig.start(rig.choices)
    finish(rig)
    assert rig.message_text == (
        "⚠ the simulation failed with an internal error: ZeroDivisionError: division by zero"
    )


def test_another_hand_and_object_are_chosen_in_the_form(rig):
    assert {"four_finger", "soft_gripper"} <= set(rig.form.hand.options)
    rig.form.hand.value = "soft_gripper"
    assert rig.choices.hand == "soft_gripper"
    rig.form.object.value = NONE
    assert rig.hand.hand.name == "soft_gripper"
    assert rig.form.start.disabled
    assert rig.message_text == ""


def test_the_form_shows_the_numbers_in_use_and_asks_for_none_of_them(rig):
    scene = scene_of(rig.choices)
    friction = scene.requested_contact.static_friction
    assert rig.form.numbers["friction"].value == f"{friction:g}"
    assert rig.form.numbers["density"].value == f"{scene.object.density:g}"
    assert (rig.form.choices.density, rig.form.choices.friction) == (None, None)
    rig.form.numbers["density"].value = "123"
    assert rig.form.choices.density == 123.0
    assert rig.form.choices.friction is None
    rig.form.numbers["density"].value = ""
    assert rig.form.choices.density is None


def test_a_number_that_was_requested_stays_one(page):
    requested = Choices(
        hand=HAND, object="sphere", density=scene_of(Choices(hand=HAND)).object.density
    )
    made = Workbench(page, requested, scene_of, summary)
    assert made.form.choices.density == requested.density
    made.close()


def test_what_cannot_be_shown_first_is_refused(page):
    with pytest.raises(SoftgraspError, match="no mug today"):
        Workbench(page, Choices(hand=HAND, object="mug"), scene_of, summary)
    with pytest.raises(SoftgraspError, match="no hand 'nobody'"):
        Workbench(page, Choices(hand="nobody"), scene_of, summary)


def test_the_form_asks_for_the_scene_that_the_command_line_makes():
    choices = Choices(
        hand="four_finger", object="strawberry", grasp="precision", density=300.0, friction=0.7,
        closure="force-limited",
    )  # fmt: skip
    assert choices.command == (
        "softgrasp grasp four_finger strawberry --grasp precision --density 300 --friction 0.7 "
        "--closure force-limited --hold"
    )
    _, make_scene = hand_choices("four_finger", None, SceneOptions())
    scene = make_scene(choices)
    assert scene.grasp == "precision"
    assert scene.object.density == 300.0
    assert scene.contact.static_friction == 0.7
    assert scene.closure.name == "force-limited"
    assert scene.success is not None
    assert make_scene(choices.replace(hold=False)).success is None
    assert any(make_scene(choices.replace(gravity=True)).gravity)
    assert AS_DESCRIBED not in choices.command


def test_the_scene_of_a_viewed_hand_has_the_rotations_of_the_command_line():
    options = SceneOptions(euler_deg=(0.0, 0.0, 45.0), hand_euler_deg=(180.0, 0.0, 0.0))
    choices, make_scene = hand_choices("four_finger", "cuboid", options)
    scene = make_scene(choices)
    assert scene.object_euler == pytest.approx((0.0, 0.0, np.pi / 4))
    assert scene.hand_pose.quaternion == pytest.approx((0.0, 1.0, 0.0, 0.0), abs=1e-12)
    assert choices.command == (
        "softgrasp grasp four_finger cuboid --euler-deg 0 0 45 --hand-euler-deg 180 0 0 --hold"
    )
