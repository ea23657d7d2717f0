"""The form: what it asks for is simulated and shown; mistakes are sentences on the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import softgrasp as sg
from softgrasp.cli.view_source import hand_choices
from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.report.words import summary
from softgrasp.view.choices import Choices
from softgrasp.view.grasp_form import NONE, OWN
from softgrasp.view.page import Page
from softgrasp.view.workbench import Workbench
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
def bench(page: Page) -> Iterator[Workbench]:
    made = Workbench(page, Choices(hand=HAND, object="sphere"), scene_of, summary)
    yield made
    made.close()


def finish(bench: Workbench) -> None:
    """Wait for the run and for what it shows."""
    done = threading.Event()
    running = bench.running
    if running is not None:
        running.add_done_callback(lambda _: done.set())
        assert done.wait(60.0)


def press(button: object) -> None:
    for called in button._impl.update_cb:
        called(None)


def test_a_grasp_is_started_and_its_result_shown_with_its_words(
    page: Page, bench: Workbench
) -> None:
    form = bench.form
    press(form.start)
    finish(bench)
    assert bench.result is not None
    assert (bench.hand, bench.form) == (None, None)
    told = [
        handle.content
        for handle in page.server.gui._container_handle_from_uuid["root"]._children.values()
        if hasattr(handle, "content")
    ]
    assert any(summary(bench.result._result) in text for text in told)
    assert any(f"`softgrasp grasp {HAND} sphere --hold`" in text for text in told)
    bench.step(0.1)
    bench.show_hand(bench.choices)
    assert bench.result is None
    assert bench.form.choices == Choices(hand=HAND, object="sphere")


def test_a_run_can_be_given_up(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, waiting = threading.Event(), threading.Event()

    def simulated(scene: sg.GraspScene, progress: object) -> None:
        progress(0.25)
        begun.set()
        waiting.wait(60.0)
        progress(0.5)

    monkeypatch.setattr("softgrasp.view.workbench.simulate", simulated)
    form = bench.form
    bench.start(bench.choices)
    assert form.start.disabled
    assert form.hand.disabled
    bench.start(bench.choices)  # a second one is not begun
    assert begun.wait(60.0)
    press(form.stop)
    waiting.set()
    finish(bench)
    assert bench.told == "⚠ stopped at 0.500 s of the run"
    assert bench.result is None
    assert not form.start.disabled
    assert not form.progress.visible


def test_mistakes_are_sentences_on_the_page(bench: Workbench) -> None:
    bench.start(bench.choices.replace(object="mug"))
    finish(bench)
    assert bench.told == "⚠ no mug today"
    bench.show_hand(Choices(hand="four_fingr"))
    assert bench.told.startswith("⚠ no hand 'four_fingr'")
    assert bench.form.choices.hand == HAND
    bench.show_hand(bench.choices.replace(object="mug"))
    assert bench.told == "⚠ no mug today"
    assert bench.hand.hand.name == HAND
    bench.form.numbers["density"].value = "heavy"
    press(bench.form.start)
    assert bench.told == "⚠ density: expected a number above 0, found 'heavy'"
    bench.form.numbers["density"].value = ""
    bench.form.numbers["friction"].value = "-1"
    press(bench.form.start)
    assert bench.told == "⚠ friction: expected a number at least 0, found '-1'"
    assert bench.running is None


def test_a_mistake_of_softgrasp_is_told_too(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(scene: sg.GraspScene, progress: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("softgrasp.view.workbench.simulate", broken)
    bench.start(bench.choices)
    finish(bench)
    assert bench.told == (
        "⚠ the run failed in a way that is a mistake of softgrasp: ZeroDivisionError: division by "
        "zero"
    )


def test_another_hand_and_object_are_chosen_in_the_form(bench: Workbench) -> None:
    assert {"four_finger", "soft_gripper"} <= set(bench.form.hand.options)
    bench.form.hand.value = "soft_gripper"
    assert bench.choices.hand == "soft_gripper"
    bench.form.object.value = NONE
    assert bench.hand.hand.name == "soft_gripper"
    assert bench.form.start.disabled
    assert bench.told == ""


def test_the_form_shows_the_numbers_in_use_and_asks_for_none_of_them(bench: Workbench) -> None:
    scene = scene_of(bench.choices)
    friction = scene.asked_contact.static_friction
    assert bench.form.numbers["friction"].value == f"{friction:g}"
    assert bench.form.numbers["density"].value == f"{scene.object.density:g}"
    assert (bench.form.choices.density, bench.form.choices.friction) == (None, None)
    bench.form.numbers["density"].value = "123"
    assert bench.form.choices.density == 123.0
    assert bench.form.choices.friction is None
    bench.form.numbers["density"].value = ""
    assert bench.form.choices.density is None


def test_a_number_that_was_asked_for_stays_one(page: Page) -> None:
    asked = Choices(hand=HAND, object="sphere", density=scene_of(Choices(hand=HAND)).object.density)
    made = Workbench(page, asked, scene_of, summary)
    assert made.form is not None
    assert made.form.choices.density == asked.density
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
    assert OWN not in choices.command
