"""Viewer pages in a real browser, without console errors; saved scenes need no server."""

import contextlib
import io
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import softgrasp as sg
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.view import hand_choices
from softgrasp.report.grasp_text import summary
from softgrasp.viewer.page import Page
from softgrasp.viewer.views import ResultView, Workbench
from tests.support.scenes import pinch
from tests.viewer.browser import PROGRAM, Tab, browser, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no chromium on this machine"),
]
SCENE = (slice(200, 800), slice(330, 900))
"""Rows and columns of a picture where the scene is, clear of panel and notices."""
DRAWN = 0.02
"""Part of the scene that is not background where something is drawn."""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def scene(tab: Tab, directory: Path) -> np.ndarray:
    image = np.asarray(Image.open(io.BytesIO(tab.image(directory / "p.png").read_bytes())))
    return image[..., :3][SCENE].astype(int)


def is_drawn(image: np.ndarray) -> bool:
    return bool((image.min(axis=-1) < 200).mean() > DRAWN)


def test_a_hand_takes_an_object_on_the_page(tab, tmp_path):
    choices, make_scene = hand_choices("four_finger", "strawberry", SceneOptions())
    with Page("softgrasp", port=0) as page:
        rig = Workbench(page, choices, make_scene, summary)
        tab.open(page.url)
        for words in ("Start the grasp", "joint frames", "grasp centres", "J1 / °"):
            tab.wait_for(words)
        until(lambda: is_drawn(scene(tab, tmp_path)))
        tab.click("grasp centres", box=True)
        until(lambda: page.server.scene.get_handle_by_name("/centers/precision") is not None)
        tab.click("Start the grasp")
        tab.wait_for("Back to the hand")
        tab.wait_for("phalanges and the palm in contact")
        tab.wait_for("normal force / N")
        until(lambda: is_drawn(scene(tab, tmp_path)))
        tab.click("Back to the hand")
        tab.wait_for("Start the grasp")
        rig.close()
    assert tab.complaints == []


def test_a_saved_result_moves_without_a_server(tab, tmp_path):
    with Page("softgrasp", port=0) as page:
        view = ResultView(page, sg.simulate(pinch()), "Closed.")
        file = view.save(tmp_path / "saved.html", frames=50)
    tab.open(file.as_uri())
    until(lambda: is_drawn(scene(tab, tmp_path)))
    first = scene(tab, tmp_path)
    until(lambda: (np.abs(scene(tab, tmp_path) - first).max(axis=-1) > 60).mean() > DRAWN)
    assert tab.complaints == []


def test_a_run_is_played(tab):
    with Page("softgrasp", port=0) as page:
        view = ResultView(page, sg.simulate(pinch()), "Closed.")
        ended = threading.Event()

        def play() -> None:
            while not ended.wait(0.05):
                view.step(0.05)

        with contextlib.ExitStack() as stack:
            thread = threading.Thread(target=play)
            thread.start()
            stack.callback(thread.join)
            stack.callback(ended.set)
            tab.open(page.url)
            tab.click("Play")
            tab.wait_for("Pause")
            before = view._time
            until(lambda: view._time != before)
    assert tab.complaints == []
