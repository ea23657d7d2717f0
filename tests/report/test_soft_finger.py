"""Convergence of rigid-link chains, and the figures of docs/soft_fingers.md.

``SOFTGRASP_WRITE_DOCS=1`` writes the figures and their numbers into docs/images.
"""

import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import softgrasp as sg
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.soft_finger.finger import slice_finger, soft_hand_from_mesh
from softgrasp.report import style
from softgrasp.report.finger_figure import MM, draw_finger, slice_finger_of
from softgrasp.report.grasp_report import write_report
from tests.report.soft_finger_figures import ConvergencePoint, convergence, draw_convergence
from tests.support.hollow_finger import EDGE, FLOOR, hollow_finger

IMAGES = Path(__file__).resolve().parent.parent.parent / "docs" / "images"


ORDERS = {"midpoint": 2.00, "interfaces": 0.97, "interfaces_corrected": 1.92}


@pytest.fixture(scope="module")
def points() -> list[ConvergencePoint]:
    return convergence()


@pytest.mark.slow
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("load", [1.0, 3.0, 10.0])
def test_the_order_between_16_and_64_joints(points, layout, load):
    error = {p.joints: p.error for p in points if (p.layout, p.load) == (layout, load)}
    assert np.log2(error[16] / error[64]) / 2 == pytest.approx(ORDERS[layout], abs=0.05)


@pytest.mark.slow
def test_eight_midpoint_joints_are_as_near_as_the_documentation_states(points):
    result = [p.error for p in points if (p.layout, p.joints) == ("midpoint", 8)]
    assert 100 * np.array(result) == pytest.approx([0.129, 0.326, 0.642], abs=6e-4)


@pytest.mark.slow
def test_the_estimate_of_a_midpoint_chain_is_its_error(points):
    for point in points:
        if point.layout == "midpoint" and point.joints >= 4:
            assert point.estimate == pytest.approx(point.error, rel=0.03)


@pytest.mark.slow
def test_the_image_of_the_documentation_shows_these_numbers(points, tmp_path):
    directory = IMAGES if os.environ.get("SOFTGRASP_WRITE_DOCS") else tmp_path
    image = draw_convergence(points, directory / "convergence.png")
    assert image.stat().st_size > 5_000
    if directory is IMAGES:
        with (IMAGES / "convergence.csv").open("w", newline="") as file:
            csv.writer(file).writerows([ConvergencePoint._fields, *points])
    with (IMAGES / "convergence.csv").open() as file:
        kept = list(csv.DictReader(file))
    assert [float(row["error"]) for row in kept] == pytest.approx(
        [point.error for point in points], rel=1e-6
    )


# The figure of a finger that was read from a mesh.
#
# ``SOFTGRASP_WRITE_DOCS=1`` writes it into docs/images.


def test_the_figure_of_a_finger_shows_what_was_read(tmp_path):
    """The image has the width of a page and the colours; the table has sides and chambers."""
    written = "SOFTGRASP_WRITE_DOCS" in os.environ
    hollow_finger(1e-3 if written else EDGE).export(tmp_path / "finger.stl")
    with pytest.warns(SoftgraspWarning, match="both ends look alike"):
        sliced = slice_finger(tmp_path / "finger.stl")
    image_file = draw_finger(sliced, tmp_path / "valleys.png")
    if written:
        shutil.copy(image_file, IMAGES)
    with Image.open(image_file) as image:
        assert image.width == 10 * style.DPI
        red, green, blue = np.asarray(image.convert("RGB"), dtype=int)[::2, ::2].reshape(-1, 3).T
    assert ((blue - red > 15) & (green > 100) & (green < 230)).mean() > 0.1  # links
    joints = (red > 170) & (green < 100) & (blue < 90)
    assert joints.any()
    with image_file.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(sliced.positions)
    columns = {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    lowest, highest = (columns[f"chambers, {side} z [mm]"] for side in ("lowest", "highest"))
    has_chamber = sliced.chamber_areas > 1e-9
    np.testing.assert_array_equal(np.isfinite(lowest), has_chamber)
    floor = MM * float(min(piece.vertices[:, 2].min() for piece in sliced.pieces))
    np.testing.assert_allclose(lowest[has_chamber], floor + MM * FLOOR, atol=1e-3)
    assert (highest[has_chamber] - floor <= 22.0 - 1.5 + 1e-3).all()


@pytest.mark.slow
def test_a_report_has_the_figure_while_the_mesh_is_there(tmp_path):
    hollow_finger().export(tmp_path / "finger.stl")
    with pytest.warns(SoftgraspWarning, match="both ends look alike"):
        hand = soft_hand_from_mesh(tmp_path / "finger.stl", fingers=2, opening=0.075, pressure=3e4)
    assert "both ends look alike" in hand.notes[0]
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"), duration=0.01)
    result = sg.simulate(scene)
    files = write_report(result, tmp_path / "o", renderer="none", video=False)
    assert {"finger.png", "finger.csv"} <= {file.name for file in files}
    page = (tmp_path / "o" / "report.html").read_text("utf-8")
    assert "as it was read from its mesh" in page
    assert "both ends look alike" in page
    again = sg.load_result(tmp_path / "o")
    assert slice_finger_of(again) is not None
    (tmp_path / "finger.stl").unlink()
    assert slice_finger_of(again) is None
