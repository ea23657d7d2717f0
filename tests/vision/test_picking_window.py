"""Window for picking: clicks and keys are sent to a canvas without a display."""

import numpy as np
import pytest
from matplotlib.backend_bases import KeyEvent, MouseEvent, NavigationToolbar2
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.vision import figures
from softgrasp.vision.figures import PickingWindow, pick_in_window, save_overlay
from softgrasp.vision.point_picking import Picks, angles_text, measure_picks

CAMERA = PinholeCamera(fx=300.0, fy=300.0, cx=160.0, cy=120.0, width=320, height=240)
IMAGE = np.full((240, 320, 3), 120, dtype=np.uint8)
LINE = np.array([[20.0, 100.0], [50.0, 100.0]])
CUTS = np.array([[60.0, 100.0], [110.0, 105.0], [155.0, 125.0]])
EDGES = CUTS[:, None] + [[0.0, -15.0], [0.0, 15.0]]


def measure(picks: Picks):
    return measure_picks(IMAGE, CAMERA, picks)


class Hand:
    """A user of a window on a canvas without a display."""

    def __init__(self, edges: bool = False) -> None:
        self.closed = 0
        figure = FigureCanvasAgg(Figure(figsize=(8, 6), dpi=40, layout="constrained")).figure
        self.canvas = figure.canvas
        self.window = PickingWindow(figure, IMAGE, 2, edges, measure, self._close)
        self.canvas.draw()

    def _close(self) -> None:
        self.closed += 1

    def click(self, *points: np.ndarray, button: int = 1) -> None:
        for point in points:
            x, y = self.canvas.figure.axes[0].transData.transform(point)
            event = MouseEvent("button_press_event", self.canvas, x, y, button)
            self.canvas.callbacks.process(event.name, event)
            self.canvas.draw()

    def press(self, *keys: str) -> None:
        for key in keys:
            event = KeyEvent("key_press_event", self.canvas, key)
            self.canvas.callbacks.process(event.name, event)


@pytest.mark.parametrize("edges", [False, True])
def test_clicks_become_picks_in_pixels_of_the_image(edges):
    hand, cuts = Hand(edges), EDGES if edges else CUTS
    # the outer corner of the first pixel is (0, 0)
    assert hand.canvas.figure.axes[0].images[0].get_extent() == [0.0, 320.0, 240.0, 0.0]
    hand.click(*LINE, *cuts.reshape(-1, 2))
    assert hand.window.picks is None
    hand.press("enter")
    np.testing.assert_allclose(hand.window.picks.line, LINE, atol=1e-9)
    np.testing.assert_allclose(hand.window.picks.cuts, cuts, atol=1e-9)
    assert hand.closed == 1


@pytest.mark.slow
@pytest.mark.parametrize("edges", [False, True])
def test_the_title_has_the_angles_of_the_pieces_so_far(edges):
    hand = Hand(edges)
    cuts = EDGES if edges else CUTS
    hand.click(*LINE, *cuts[:1].reshape(-1, 2))
    assert "pieces bend" not in hand.window.title
    hand.click(*cuts[1].reshape(-1, 2))
    assert angles_text(measure(Picks(cuts[:2], LINE))) in hand.window.title
    hand.click(*cuts[2].reshape(-1, 2))
    assert angles_text(measure(Picks(cuts, LINE))) in hand.window.title


@pytest.mark.slow
def test_the_right_button_and_backspace_remove_the_last_point():
    hand = Hand()
    hand.press("backspace")  # nothing is there
    hand.click(*LINE, CUTS[0], CUTS[2], CUTS[2])
    hand.click(LINE[0], button=3)
    hand.press("backspace")
    hand.click(*CUTS[1:])
    hand.press("enter")
    np.testing.assert_allclose(hand.window.picks.cuts, CUTS, atol=1e-9)


def test_further_points_and_clicks_beside_the_image_do_not_count():
    hand = Hand()
    hand.click(np.array([-60.0, 10.0]), *LINE, *CUTS, np.array([5.0, 5.0]))
    hand.press("enter")
    np.testing.assert_allclose(hand.window.picks.line, LINE, atol=1e-9)
    np.testing.assert_allclose(hand.window.picks.cuts, CUTS, atol=1e-9)


def test_a_click_that_zooms_is_no_pick():
    hand = Hand()
    hand.canvas.toolbar = NavigationToolbar2(hand.canvas)
    hand.canvas.toolbar.zoom()
    hand.click(LINE[0])
    assert "click its start" in hand.window.title


def test_a_zoomed_view_stays_when_points_are_added():
    hand = Hand()
    axes = hand.canvas.figure.axes[0]
    axes.set(xlim=(10.0, 90.0), ylim=(130.0, 70.0))
    hand.canvas.draw()
    hand.click(*LINE)
    assert axes.get_xlim() == (10.0, 90.0)
    assert axes.get_ylim() == (130.0, 70.0)


def test_enter_needs_all_points_and_escape_cancels():
    hand = Hand()
    hand.click(*LINE, *CUTS[:2])
    hand.press("enter")
    assert hand.closed == 0
    hand.press("escape")
    assert hand.closed == 1
    assert hand.window.picks is None


def test_the_title_has_the_next_point_and_the_error():
    hand = Hand()
    assert hand.window.title.startswith("Reference line: click its start, away from the tip.")
    hand.click(LINE[0])
    assert hand.window.title.startswith("Reference line: click its end, towards the tip.")
    hand.click(LINE[1], CUTS[0])
    assert hand.window.title.startswith("Click cut 1 on the middle line.")
    hand.click(CUTS[0])
    assert "expected different picks, found one twice" in hand.window.title
    assert hand.window.title.startswith("Click the tip")


def test_the_window_is_shown_until_it_is_closed(monkeypatch):
    hand = Hand()
    figure = FigureCanvasAgg(Figure()).figure

    def show() -> None:
        hand.canvas = figure.canvas
        hand.canvas.draw()
        hand.click(*LINE, *CUTS)
        hand.press("enter")

    monkeypatch.setattr(figures, "open_figure", lambda: (figure, show, hand._close))
    picks = pick_in_window(IMAGE, 2, False, measure)
    np.testing.assert_allclose(picks.cuts, CUTS, atol=1e-9)
    assert hand.closed == 1


def test_the_overlay_is_blue_along_the_line_and_green_along_chords(tmp_path):
    path = save_overlay(IMAGE, measure(Picks(CUTS, LINE)), tmp_path / "overlay.png")
    with Image.open(path) as opened:
        drawn = np.asarray(opened.convert("RGB")).astype(int)
    assert drawn.shape == IMAGE.shape
    for (row, column), color in (((100, 36), "#1e50e6"), ((115, 132), "#14963c")):
        expected = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
        # the middle of a thin line, which is smoothed at its edges
        window = drawn[row - 1 : row + 2, column - 1 : column + 2].reshape(-1, 3)
        assert np.abs(window - expected).max(axis=1).min() < 60
    assert (drawn.sum(axis=2) < 200).sum() > 50  # letters
    with pytest.raises(DescriptionError, match=r"expected a \.png file"):
        save_overlay(IMAGE, measure(Picks(CUTS, LINE)), tmp_path / "overlay.jpg")
