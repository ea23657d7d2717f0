"""A hand on a page: sliders move it, boxes show its marks, and a saved scene needs no server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.viewer.page import Page
from softgrasp.viewer.scene_markers import closed_targets
from softgrasp.viewer.views import HandView
from softgrasp.viewer.widgets import ActuatorSliders
from tests.view.hands import part_way, posed


@pytest.fixture
def page() -> Iterator[Page]:
    with Page("test", port=0) as opened:
        yield opened


def boxes(page: Page) -> dict[str, object]:
    handles = page.server.gui._gui_input_handle_from_uuid.values()
    return {handle.label: handle for handle in handles if hasattr(handle, "label")}


@pytest.mark.parametrize("name", ["four_finger", "hybrid_gripper"])
def test_a_slider_moves_its_joint_or_pressure_inside_its_limits(page: Page, name: str) -> None:
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


def test_sliders_show_degrees_millimetres_and_kilopascals(page: Page) -> None:
    hand = sg.load_hand("hybrid_gripper")
    sliders = ActuatorSliders(page.server.gui, hand, lambda targets: None)
    labels = [slider.label for slider in sliders.handles]
    assert {label.split(" / ")[1] for label in labels} == {"°", "kPa"}
    sliders.put(part_way(hand))
    np.testing.assert_allclose(sliders.targets, part_way(hand))


def test_putting_sliders_is_no_move(page: Page) -> None:
    hand, moves = sg.load_hand("two_finger_planar"), []
    sliders = ActuatorSliders(page.server.gui, hand, moves.append)
    sliders.put(part_way(hand))
    assert moves == []
    sliders.handles[1].value = sliders.handles[1].max
    (message,) = moves
    assert message[0] == pytest.approx(part_way(hand)[0])
    assert message[1] == pytest.approx(hand.actuators[1].limits[1], abs=2e-3)


def test_one_slider_closes_the_hand(page: Page) -> None:
    hand = sg.load_hand("four_finger")
    view = HandView(page, posed(hand))
    boxes(page)["close / %"].value = 100.0
    np.testing.assert_allclose(view.sliders.targets, closed_targets(hand), atol=2e-3)
    boxes(page)["close / %"].value = 0.0
    starts = [actuator.start for actuator in hand.actuators]
    np.testing.assert_allclose(view.sliders.targets, starts, atol=2e-3)


def test_boxes_show_and_hide_frames_limits_and_places(page: Page) -> None:
    hand = sg.load_hand("four_finger")
    view = HandView(page, posed(hand))
    scene = page.server.scene
    assert len(scene.get_handle_by_name("/frames").batched_positions) == 12
    label = scene.get_handle_by_name("/labels/F1_J2")
    assert (label.text, label.visible) == ("F1_J2", True)
    for word, names in {
        "joint limits": ("/limits/fans", "/limits/lines"),
        "grasp places": ("/places/power", "/places/precision"),
        "joint frames": ("/frames",),
    }.items():
        box = boxes(page)[word]
        for shown in (True, False) if word != "joint frames" else (False,):
            box.value = shown
            assert {scene.get_handle_by_name(name) is not None for name in names} == {shown}
    assert not label.visible
    boxes(page)["grasp places"].value = True
    position = scene.get_handle_by_name("/places/power").position
    np.testing.assert_allclose(position, hand.grasps.power.center)
    boxes(page)["joint limits"].value = True
    before = scene.get_handle_by_name("/limits/lines").points.copy()
    view.show(part_way(hand))
    assert not np.array_equal(scene.get_handle_by_name("/limits/lines").points, before)


def test_a_saved_hand_needs_no_server(page: Page, tmp_path: Path) -> None:
    text = HandView(page, posed(sg.load_hand("soft_gripper"))).save(tmp_path / "a.html").read_text()
    assert "<html" in text[:200]
    assert f":{page.port}" not in text
    assert len(text) < 5e6
