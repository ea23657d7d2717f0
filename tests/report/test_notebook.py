"""What notebooks show: tables of fields, pictures, summaries, tables of time series."""

import base64
import io
import re

import imageio.v3 as imageio
import numpy as np
import pytest
import rich
import rich.console

import softgrasp as sg

PICTURE = re.compile(r'<img src="data:image/png;base64,([^"]+)"')


def pictured(html: str) -> np.ndarray:
    """Return the picture of a value."""
    return imageio.imread(io.BytesIO(base64.b64decode(PICTURE.search(html)[1])))


@pytest.fixture(scope="module")
def result() -> sg.GraspResult:
    scene = sg.load_scene("four_finger_sphere").replace(adapt_grasp=False)
    return sg.simulate(scene, quality_rate=None)


@pytest.mark.parametrize(
    "value", [sg.load_hand("four_finger"), sg.load_object("mug"), sg.load_scene("demo")]
)
def test_a_shape_is_shown_with_its_fields(value):
    html = value._repr_html_()
    assert f"<b>{type(value).__name__}</b>" in html
    assert value.name in html
    # more than sky and floor: the shape differs from the image without it by its colours
    assert len(np.unique(pictured(html).reshape(-1, 3), axis=0)) > 200


def test_other_descriptions_are_tables():
    html = sg.Contact()._repr_html_()
    assert "stiffness" in html
    assert "K [N/m]" in html
    assert not PICTURE.search(html)


def test_text_is_escaped():
    hand = sg.load_hand("four_finger").replace(source="<script>alert('x')</script>")
    assert "<script>" not in hand._repr_html_()


def test_an_image_that_cannot_be_drawn_has_its_reason():
    mesh = sg.Mesh(file="/missing/part.stl")
    html = sg.GraspObject(name="part", shape=mesh, mass=0.1)._repr_html_()
    assert "no picture: " in html
    assert "part.stl" in html


def test_a_result_shows_summary_and_motion(result):
    html = result._repr_html_()
    assert f"<b>{result.outcome.name}</b>" in html
    assert "in contact" in html
    assert pictured(html).shape[1] >= 500


def test_time_series_are_a_table(result):
    table, arrays = result.to_pandas(), result.trajectory()
    assert table.index.name == "time"
    np.testing.assert_array_equal(table.index, arrays["time"])
    for name in ("joint_position", "normal_force", "in_contact"):
        np.testing.assert_array_equal(table[name], arrays[name])
    assert table["normal_force"].columns.tolist() == arrays["contact_bodies"].tolist()


def test_time_series_are_a_dataset(result):
    dataset = result.to_xarray()
    assert dataset["normal_force"].dims == ("time", "body")
    assert dataset["object_position"].attrs["units"] == "m"
    peak = dataset["normal_force"].sel(body=result.trajectory()["contact_bodies"][1]).max()
    assert float(peak) == result.trajectory()["normal_force"][:, 1].max()
    assert dataset.attrs["outcome"] == result.outcome.name


def test_soft_fingers_have_series_in_their_units():
    scene = sg.load_scene("demo_soft").replace(adapt_grasp=False)
    result = sg.simulate(scene, quality_rate=None)
    dataset, arrays = result.to_xarray(), result.trajectory()
    first, second = (digit.name for digit in scene.hand.soft_fingers)
    assert dataset["pressure"].sel(soft_finger=second).attrs["units"] == "Pa"
    curvature = result.to_pandas()["curvature"][first]
    np.testing.assert_array_equal(curvature, arrays["curvature"][:, 0])
    assert dataset["joint_target"].attrs["units"] == "rad, m or Pa"  # wrist and pressures


def test_an_error_names_what_installs_a_missing_library(result, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(sg.BackendUnavailable, match=r"softgrasp\[xarray\]"):
        result.to_xarray()


def test_a_video_is_inline(tmp_path):
    path = tmp_path / "grasp.mp4"
    path.write_bytes(b"video")
    html = sg.report.video_html(path)
    assert base64.b64encode(b"video").decode() in html
    assert html.startswith("<video controls")
    assert sg.report.video_html(path.rename(tmp_path / "grasp.gif")).startswith("<img")


@pytest.mark.parametrize("total", [4, None])
def test_a_bar_shows_what_is_done(total, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(rich, "_console", rich.console.Console(file=shown, force_terminal=True))
    with sg.report.progress_bar("rows") as update:
        for done in range(5):
            update(done, total)
    assert "rows" in shown.getvalue()
    assert ("100%" in shown.getvalue()) == (total is not None)
