"""A twin on a web page: bodies, events, and commands with confirmation."""

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from softgrasp.twin.pneumatic_controller import VENT, Command, CommandQueue
from softgrasp.twin.viewer import EXPIRES, CommandPanel, TwinView, VentButton
from softgrasp.viewer.page import Page
from tests.twin.test_loop import CLOSE, At
from tests.twin.twins import Bench


@pytest.fixture(scope="module")
def rig() -> Bench:
    made = Bench()
    made.loop.keep(At(made, 3, CLOSE))
    asyncio.run(made.run(60))
    return made


@pytest.fixture
def view(rig: Bench) -> Iterator[TwinView]:
    with Page("twin", port=0) as page:
        queue = CommandQueue(rig.loop.box, lambda: rig.loop.watchdog.refusal)
        shown = TwinView(page, rig.twin, queue, lambda: rig.loop.watchdog.state)
        yield shown
        shown.close()


def test_the_page_shows_the_row(view, rig):
    row = rig.rows[59]
    for item in rig.rows[:60]:
        view(item)
    view.show(row, list(view._log))
    body = view._bodies.model.body("finger1_cell24").id
    near = np.linalg.norm(view._model._bodies[body].position - row.shape.tips[0])
    assert near < 2e-3
    assert f"{1e-3 * row.reading.pressure:.1f} kPa" in view._words.content
    assert f"bent by {np.degrees(row.shape.bend):.1f}°" in view._words.content
    assert "vented" in view._words.content
    assert "Command: positive target 80 kPa" in view._events.content
    time, measured, *_ = view._pressure._handle.data
    assert time[-1] == pytest.approx(row.time)
    assert measured[-1] == pytest.approx(80.0, abs=0.2)


def test_a_row_without_a_reading_is_shown_so(view, rig):
    view.show(rig.rows[-1], [])
    assert "no reading" in view._words.content


class Tray:
    """Takes commands."""

    def __init__(self) -> None:
        self.sent: list[Command] = []
        self.refusal = ""

    def send(self, command: Command) -> str:
        self.sent.append(command)
        return self.refusal


def test_the_vent_button_needs_no_key_and_reports_a_refusal(view):
    tray = Tray()
    button = VentButton(view._page.server.gui, tray)
    button.send()
    assert tray.sent == [VENT]
    assert not button.message.visible
    tray.refusal = "the controller is not connected"
    button.send()
    assert button.message.visible
    assert button.message.content == "**not vented: the controller is not connected**"


def test_a_command_needs_the_key_and_a_confirmation_in_the_same_browser(view, rig):
    tray, now = Tray(), [0.0]
    gui = view._page.server.gui
    first, second = (
        CommandPanel(gui, rig.twin, tray, "abc123", clock=lambda: now[0]) for _ in range(2)
    )
    first.ask("Close")
    first.send()
    assert tray.sent == []
    assert "type the key first" not in second.message.content
    first.key.value = second.key.value = " abc123 "
    first.ask("Close")
    assert "waits for a confirmation" in first.message.content
    second.send()  # its own, of which there is none
    assert tray.sent == []
    first.send()
    (sent,) = tray.sent
    assert sent == Command(sent.positive_target, None, positive_on=True, negative_on=False)
    assert sent.positive_target == pytest.approx(60e3)
    first.send()
    assert len(tray.sent) == 1
    first.ask("Open")
    now[0] += EXPIRES + 1.0
    first.send()
    assert len(tray.sent) == 1
    assert first.message.content == "not sent: it was not confirmed within 10 s"
    first.ask("Open")
    first.forget()
    first.send()
    assert len(tray.sent) == 1


def test_sliders_have_the_limits_of_the_map(view, rig):
    position = rig.twin.controller
    target = position.map.writes.positive_target.replace(limits=(70e3, 120e3))
    writes = position.map.writes.replace(positive_target=target)
    odd = position.replace(map=position.map.replace(writes=writes))
    panel = CommandPanel(view._page.server.gui, rig.twin.replace(controller=odd), Tray(), "k")
    assert panel.positive.value == 95.0


def test_the_vent_button_is_the_first_element_of_the_page(view):
    gui = view._page.server.gui
    root = list(gui._container_handle_from_uuid["root"]._children.values())
    button = view.vent.button
    assert min(root, key=lambda handle: handle.order) is button
    assert len(root) > 3
    assert not button.disabled


def test_texts_of_devices_are_shown_as_they_are(view, rig):
    view.show(rig.rows[59], ["<img src=x onerror=alert(1)> [a](javascript:1)\n\n`b` {c} 1 & 2"])
    assert view._events.content == (
        r"\<img src=x onerror=alert(1)\> \[a\](javascript:1)  \`b\` \{c\} 1 \& 2"
    )
