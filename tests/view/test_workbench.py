"""The form: what it asks for is simulated and shown; mistakes are sentences on the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import softgrasp as sg
from softgrasp.cli.view import hand_choices
from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.report.grasp_text import summary
from softgrasp.viewer.page import Page
from softgrasp.viewer.scene_markers import Choices
from softgrasp.viewer.views import Workbench
from softgrasp.viewer.widgets import AS_DESCRIBED, NONE
from tests.scenes import ball

HAND = "two_finger_planar"


def scene_of(choices: Choices) -> sg.GraspScene:
    if choices.object == "mug":
        raise DescriptionError("no mug today")
    return sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=ball(), grasp="precision", duration=0.05
    )


@pytest.fixture
def page() -> Iterator[Page]:
    with Page("test", port=0) as opened:
        yield opened


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


def test_a_grasp_is_started_and_its_result_shown_with_its_words(
    page: Page, rig: Workbench
) -> None:
    form = rig.form
    press(form.start)
    finish(rig)
    assert rig.result is not None
    assert (rig.hand, rig.form) == (None, None)
    message = [
        handle.content
        for handle in page.server.gui._container_handle_from_uuid["root"]._children.values()
        if hasattr(handle, "content")
    ]
    assert any(summary(rig.result._result) in text for text in message)
    assert any(f"`softgrasp grasp {HAND} sphere --hold`" in text for text in message)
    rig.step(0.1)
    rig.show_hand(rig.choices)
    assert rig.result is None
    assert rig.form.choices == Choices(hand=HAND, object="sphere")


def test_a_run_can_be_given_up(rig: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_mistakes_are_sentences_on_the_page(rig: Workbench) -> None:
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


def test_a_mistake_of_softgrasp_is_told_too(
    rig: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(scene: sg.GraspScene, progress: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("softgrasp.viewer.views.simulate", broken)
    rig.start(rig.choices)
    finish(rig)
    assert rig.message_text == (
        "⚠ the run failed in a way that is a mistake of softgrasp: ZeroDivisionError: division by "
        "zero"
    )


def test_another_hand_and_object_are_chosen_in_the_form(rig: Workbench) -> None:
    assert {"four_finger", "soft_gripper"} <= set(rig.form.hand.options)
    rig.form.hand.value = "soft_gripper"
    assert rig.choices.hand == "soft_gripper"
    rig.form.object.value = NONE
    assert rig.hand.hand.name == "soft_gripper"
    assert rig.form.start.disabled
    assert rig.message_text == ""


def test_the_form_shows_the_numbers_in_use_and_asks_for_none_of_them(rig: Workbench) -> None:
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


def test_a_number_that_was_asked_for_stays_one(page: Page) -> None:
    requested = Choices(
        hand=HAND, object="sphere", density=scene_of(Choices(hand=HAND)).object.density
    )
    made = Workbench(page, requested, scene_of, summary)
    assert made.form is not None
    assert made.form.choices.density == requested.density
    made.close()


def test_what_cannot_be_shown_first_is_refused(page: Page) -> None:
    with pytest.raises(SoftgraspError, match="no mug today"):
        Workbench(page, Choices(hand=HAND, object="mug"), scene_of, summary)
    with pytest.raises(SoftgraspError, match="no hand 'nobody'"):
        Workbench(page, Choices(hand="nobody"), scene_of, summary)


def test_the_form_asks_for_the_scene_that_the_command_line_makes() -> None:
    choices = Choices(
        hand="four_finger", object="strawberry", grasp="precision", density=300.0, friction=0.7,
        closure="force-limited",
    )  # fmt: skip
    assert choices.command == (
        "softgrasp grasp four_finger strawberry --grasp precision --density 300 --friction 0.7 "
        "--closure force-limited --hold"
    )
    _, make_scene = hand_choices("four_finger", None, None, None)
    scene = make_scene(choices)
    assert scene.grasp == "precision"
    assert scene.object.density == 300.0
    assert scene.contact.static_friction == 0.7
    assert scene.closure.name == "force-limited"
    assert scene.success is not None
    assert make_scene(choices.replace(hold=False)).success is None
    assert any(make_scene(choices.replace(gravity=True)).gravity)
    assert AS_DESCRIBED not in choices.command
