"""A twin on a page: bodies as the row says, events, and buttons that wait for a second word."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from softgrasp.twin.desk import Desk
from softgrasp.view.page import Page
from softgrasp.view.twin_view import TwinView
from tests.twin.test_loop import CLOSE, At
from tests.twin.twins import Bench


@pytest.fixture(scope="module")
def bench() -> Bench:
    made = Bench()
    made.loop.keep(At(made, 3, CLOSE))
    asyncio.run(made.run(60))
    return made


@pytest.fixture
def view(bench: Bench) -> Iterator[TwinView]:
    with Page("twin", port=0) as page:
        shown = TwinView(page, bench.twin, Desk(bench.loop.box), lambda: bench.loop.guard.state)
        yield shown
        shown.close()


def test_the_page_shows_what_the_row_says(view: TwinView, bench: Bench) -> None:
    row = bench.rows[59]
    for one in bench.rows[:60]:
        view(one)
    view.show(row, list(view._log))
    assert row.shape is not None
    body = view._bodies.model.body("finger1_cell24").id
    near = np.linalg.norm(view._model._bodies[body].position - row.shape.tips[0])
    assert near < 2e-3
    assert row.reading is not None
    assert f"{1e-3 * row.reading.pressure:.1f} kPa" in view._words.content
    assert f"bent by {np.degrees(row.shape.bend):.1f}°" in view._words.content
    assert "connected" in view._words.content
    assert "Command: positive target 80 kPa" in view._events.content
    time, measured, *_ = view._pressure._handle.data
    assert time[-1] == pytest.approx(row.time)
    assert measured[-1] == pytest.approx(80.0, abs=0.2)


def test_a_row_without_a_reading_says_so(view: TwinView, bench: Bench) -> None:
    view.show(bench.rows[-1], [])
    assert "no reading" in view._words.content


def test_buttons_propose_and_the_second_word_sends(view: TwinView, bench: Bench) -> None:
    gui = view._page.server.gui
    buttons = {
        handle.label: handle
        for handle in gui._gui_input_handle_from_uuid.values()
        if hasattr(handle, "label") and type(handle).__name__ == "GuiButtonHandle"
    }
    assert set(buttons) == {"Close", "Open", "Vent", "Confirm", "Cancel"}
    assert bench.loop.box.proposed is None
