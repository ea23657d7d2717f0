"""Depth pictures, the overlay, and the page on which one clicks."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image as Pillow

pytest.importorskip("cv2", reason="OpenCV is an extra")

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.twin.point_picking import Picks
from softgrasp.twin.point_picking import WINDOW
from softgrasp.twin.point_picking import depths_at
from softgrasp.twin.point_picking import read_depth
from softgrasp.twin.point_picking import averaged
from softgrasp.twin.point_picking import measure_picks
from softgrasp.twin.point_picking import CHORD
from softgrasp.twin.point_picking import LINE
from softgrasp.twin.point_picking import pick_overlay
from softgrasp.twin.point_picking import MAX_BYTES
from softgrasp.twin.point_picking import PickServer
from softgrasp.twin.point_picking import PickTarget

SHAPE = (240, 320)
PICTURE = np.full((*SHAPE, 3), 120, dtype=np.uint8)
CAMERA = PinholeCamera(fx=300.0, fy=300.0, cx=160.0, cy=120.0, width=320, height=240)
LINE_PX = np.array([[20.0, 100.0], [50.0, 100.0]])
CUTS = np.array([[60.0, 100.0], [110.0, 105.0], [155.0, 125.0]])
PICKS = Picks(CUTS, LINE_PX)


def test_depths_in_metres_and_in_millimetres(tmp_path: Path) -> None:
    metres = np.full(SHAPE, 0.35)
    metres[0, 0], metres[0, 1] = np.nan, -1.0
    np.save(tmp_path / "m.npy", metres)
    np.save(tmp_path / "mm.npy", np.full(SHAPE, 350, dtype=np.uint16))
    Pillow.fromarray(np.full(SHAPE, 350, dtype=np.uint16)).save(tmp_path / "mm.png")
    for name in ("m.npy", "mm.npy", "mm.png"):
        result = read_depth(tmp_path / name, SHAPE)
        assert result[5, 5] == pytest.approx(0.35)
    assert read_depth(tmp_path / "m.npy", SHAPE)[0, :2].tolist() == [0.0, 0.0]


def test_depth_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="found no such file"):
        read_depth(tmp_path / "none.npy", SHAPE)
    with pytest.raises(DescriptionError, match=r"expected a depth picture, \.npy or \.png"):
        read_depth(tmp_path / "depth.exr", SHAPE)
    np.save(tmp_path / "small.npy", np.ones((2, 3)))
    with pytest.raises(DescriptionError, match=r"320 × 240 pixels, as the picture has, found sha"):
        read_depth(tmp_path / "small.npy", SHAPE)
    Pillow.fromarray(PICTURE).save(tmp_path / "colour.png")
    with pytest.raises(DescriptionError, match="a picture of kind RGB"):
        read_depth(tmp_path / "colour.png", SHAPE)
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(DescriptionError, match="found a file that is none"):
        read_depth(tmp_path / "text.npy", SHAPE)


def test_the_depth_at_a_pick_is_a_median_without_holes() -> None:
    rng = np.random.default_rng(0)
    depth = 0.35 + rng.normal(0.0, 2e-3, SHAPE)
    depth[::3] = 0.0
    result = depths_at(depth, CUTS)
    assert np.abs(result - 0.35).max() < 1e-3
    with pytest.raises(DescriptionError, match=r"found them in 0 of 121 pixels: pick where"):
        depths_at(np.zeros(SHAPE), CUTS)
    with pytest.raises(DescriptionError, match="expected picks within 320 × 240 pixels"):
        depths_at(depth, np.array([[320.0, 5.0]]))
    assert (2 * WINDOW + 1) ** 2 == 121


def test_the_mean_of_pictures_is_surer() -> None:
    one = measure_picks(PICTURE, CAMERA, PICKS)
    mean = averaged([one] * 4)
    np.testing.assert_allclose(mean.angles, one.angles)
    np.testing.assert_allclose(mean.sigmas, 0.5 * one.sigmas)


def test_picks_outside_the_picture_are_refused() -> None:
    with pytest.raises(DescriptionError, match=r"within 320 × 240 pixels, found \(400, 10\)"):
        measure_picks(PICTURE, CAMERA, Picks(np.array([[400.0, 10.0], [5.0, 5.0]]), LINE_PX))


def test_the_overlay_is_blue_along_the_line_and_green_along_chords() -> None:
    drawn = pick_overlay(PICTURE, measure_picks(PICTURE, CAMERA, PICKS))
    assert drawn.shape == PICTURE.shape
    assert (PICTURE == 120).all()  # the original stays
    np.testing.assert_allclose(drawn[100, 36], LINE, atol=40)
    np.testing.assert_allclose(drawn[115, 132], CHORD, atol=60)
    letters = (drawn.astype(int).sum(axis=2) < 200).sum()
    assert letters > 50


def ask(page: PickServer, name: str, picks: object = None, secret: str | None = None):
    """Answer of the page: status and body."""
    position = urlsplit(page.url)
    connection = http.client.HTTPConnection(position.hostname, position.port, timeout=10)
    path = f"/{secret or page.secret}/{name}"
    if picks is None:
        connection.request("GET", path)
    else:
        connection.request("POST", path, body=json.dumps(picks))
    answer = connection.getresponse()
    result = answer.status, answer.read()
    connection.close()
    return result


def measured(picks: Picks):
    result = measure_picks(PICTURE, CAMERA, picks)
    return f"{np.degrees(result.angles[0]):.2f}°", pick_overlay(PICTURE, result)


@pytest.fixture
def page():
    with PickServer(PICTURE, PickTarget(pieces=2, edges=False, line=True), measured) as opened:
        yield opened


def test_the_page_measures_and_ends(page: PickServer) -> None:
    assert urlsplit(page.url).hostname == "127.0.0.1"
    status, html = ask(page, "")
    assert status == 200
    assert b'{"line": 2, "cuts": 3, "edges": 1}' in html
    plain = ask(page, "picture.png")[1]
    assert plain.startswith(b"\x89PNG")
    points = [*LINE_PX.tolist(), *CUTS.tolist()]
    status, message = ask(page, "measure", points)
    assert (status, message.decode()) == (200, measured(PICKS)[0])
    assert ask(page, "overlay.png")[1] != plain
    assert page.wait(0.0) is None
    assert ask(page, "done", points)[0] == 200
    picks = page.wait(10.0)
    assert picks is not None
    np.testing.assert_array_equal(picks.cuts, CUTS)
    np.testing.assert_array_equal(picks.line, LINE_PX)


def test_the_page_tells_mistakes_and_keeps_serving(page: PickServer) -> None:
    status, message = ask(page, "measure", LINE_PX.tolist())
    assert status == 400
    assert message.decode() == "expected 5 picks (the reference line and 3 cuts), found 2"
    for nonsense in ("text", [[1]], {"a": 1}, [[1e999, 0.0]], []):
        assert ask(page, "done", nonsense) == (
            400,
            b"expected a list of picks (column, row), found none",
        )
    assert ask(page, "measure", "x" * MAX_BYTES)[0] == 400
    assert ask(page, "", secret="guessed")[0] == 404
    assert ask(page, "done", [], secret="guessed")[0] == 404
    assert ask(page, "../secret")[0] == 404
    assert page.wait(0.0) is None
    assert ask(page, "")[0] == 200


def test_two_picks_a_cut() -> None:
    target = PickTarget(pieces=2, edges=True, line=True)
    picks = target.picks(np.arange(16.0).reshape(8, 2))
    assert picks.cuts.shape == (3, 2, 2)
    np.testing.assert_array_equal(picks.cuts[0], [[4.0, 5.0], [6.0, 7.0]])
    with pytest.raises(DescriptionError, match="reference line and 3 cuts at both edges"):
        target.picks(np.zeros((3, 2)))


def test_a_port_that_is_taken(page: PickServer) -> None:
    port = urlsplit(page.url).port
    assert port is not None
    with pytest.raises(DescriptionError, match=f"port: expected a free port, found {port}"):
        PickServer(PICTURE, PickTarget(2, edges=False, line=True), measured, port)
