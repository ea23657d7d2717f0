"""Parts of the photo measurement: angles, tip, colour, background, synthetic images, figure."""

import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from softgrasp.continuum.statics import joint_positions
from softgrasp.errors import BackendUnavailable, DescriptionError
from softgrasp.vision.joint_angles import design_angles, find_tip, segment_angles

cv2 = pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")

from softgrasp.vision.contour import resample  # noqa: E402
from softgrasp.vision.figures import steps_image  # noqa: E402
from softgrasp.vision.image import fit_surface, in_white_light, read_photo  # noqa: E402
from softgrasp.vision.joint_angles import ReadingOptions, measure_photo  # noqa: E402
from softgrasp.vision.segmentation import (  # noqa: E402
    FingerColour,
    colour_of,
    dominant_colour,
    find_markers,
    hsv_of,
)
from softgrasp.vision.synthetic_photos import lit_and_noisy, synthetic_photo  # noqa: E402
from tests.vision.photo_cases import FINGER, photo, pose, with_faults  # noqa: E402

ANGLES = st.lists(st.floats(-0.3, 0.3), min_size=7, max_size=7)


@given(ANGLES, st.floats(1e-5, 1e-3), st.floats(-0.5, 0.5))
def test_angles_of_exact_points_are_exact(angles, metres, tilt):
    """Kinematics, and the two conventions: they differ by exactly the design slopes."""
    x, _, z = joint_positions(FINGER, angles).T
    rotated = [np.cos(tilt) * x + np.sin(tilt) * z, np.sin(tilt) * x - np.cos(tilt) * z]
    result = segment_angles(np.stack(rotated, -1) / metres, tilt)
    np.testing.assert_allclose(result - design_angles(FINGER), angles, atol=1e-9)
    np.testing.assert_allclose(result - angles, design_angles(FINGER), atol=1e-9)


def test_slopes_of_the_finger_of_paper_000():
    np.testing.assert_allclose(
        np.degrees(design_angles(FINGER)), [-1.95, 8.58, -5.32, 3.28, 0.16, 3.88, 0.56], atol=0.01
    )


def rotated(heading: float) -> np.ndarray:
    """(x, y) @ this turns points by an angle, positive downwards."""
    return np.array([[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]])


@given(st.floats(-1.2, 1.2), st.floats(-0.5, 0.5), st.floats(-0.3, 0.3))
def test_the_tip_is_the_middle_of_the_end(heading, error, taper):
    """However the sides run, and whatever direction the last link was assumed to have."""
    slant = 90.0 * np.tan(taper)
    corners = np.array([[-40.0, -60.0], [0.0, -20.0 - slant], [90.0, -20.0], [90.0, 20.0]])
    outline = resample(np.vstack([corners, [[-40.0, 20.0]]]), closed=True) @ rotated(heading)
    tip = find_tip(outline, np.zeros(2), heading + error)
    np.testing.assert_allclose(tip, np.array([90.0, 0.0]) @ rotated(heading), atol=1.0)


def test_a_round_end_has_no_tip(golden):
    rotation = np.linspace(-0.5, 0.5, 60) * np.pi
    end = np.column_stack([70.0 + 20.0 * np.cos(rotation), 20.0 * np.sin(rotation)])
    outline = resample(np.vstack([[[-40.0, -20.0]], end, [[-40.0, 20.0]]]), closed=True)
    with pytest.raises(DescriptionError) as message:
        find_tip(outline, np.zeros(2), 0.0)
    golden(message.value, "expected two corners at the end of the finger, found 1")


@pytest.mark.parametrize(
    ("hue_deg", "inside"), [((340.0, 20.0), [350.0, 10.0]), ((10.0, 60.0), [15.0, 40.0])]
)
def test_ranges_of_hue_run_through_red(hue_deg, inside):
    hues = np.array([[5.0, 15.0, 40.0, 350.0, 10.0, 200.0]], dtype=np.float32)
    hsv = np.stack([hues, np.full_like(hues, 0.8), np.full_like(hues, 0.6)], axis=-1)
    mask = FingerColour(hue_deg=hue_deg).mask(hsv)
    assert set(inside) <= set(hues[mask].tolist())
    assert 200.0 not in hues[mask]


@pytest.mark.parametrize("hue_deg", [-20.0, 0.0, 20.0, 100.0, 180.0])
def test_the_dominant_hue_is_the_fingers(hue_deg):
    image = with_faults(photo(0.1).image, hue_deg=hue_deg)
    first, last = dominant_colour(hsv_of(image.astype(np.float32) / 255.0)).hue_deg
    middle = (first + 0.5 * ((last - first) % 360.0)) % 360.0
    assert (middle - (14.5 + hue_deg) + 180.0) % 360.0 - 180.0 == pytest.approx(0.0, abs=2.0)


def test_paper_becomes_white_in_any_light():
    clean = photo(0.1).image
    dim = with_faults(clean, light=0.3, light_direction_deg=60.0, tint=(1.0, 0.9, 0.75), noise=0.02)
    even = in_white_light(dim.astype(np.float32) / 255.0)
    paper = (clean > 235).all(axis=2)
    assert np.median(even[paper]) > 0.97
    assert (even[paper] > 0.9).mean() > 0.99


@pytest.mark.parametrize("limits", [(-0.05, np.inf), (-0.05, 0.05)])
def test_a_surface_is_fitted_without_the_pixels_beyond_its_limits(limits):
    y, x = np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-1, 1, 80), indexing="ij")
    true = np.stack([0.6 + 0.1 * x - 0.05 * y * x, 0.5 - 0.1 * y**2, 0.7 + 0.0 * x], axis=-1)
    image = true.astype(np.float32)
    image[20:30, 10:60] -= 0.3  # a finger
    if np.isfinite(limits).all():
        image[40:50, 10:30] += 0.3  # a reflection
    surface = fit_surface(image, lambda pixels: pixels[:, 0] > 0.0, limits, rounds=8)
    np.testing.assert_allclose(surface, true, atol=1e-4)
    assert fit_surface(image, lambda pixels: pixels[:, 0] > 2.0, limits, rounds=8) is None


def test_markers_are_located_in_order_from_the_base():
    image = np.full((300, 480, 3), 235, dtype=np.uint8)
    centres = np.array([[60.0, 80.0], [140.0, 90.0], [210.0, 120.0], [270.0, 165.0]])
    for x, y in centres[[2, 0, 3, 1]]:
        cv2.circle(image, (round(x - 0.5), round(y - 0.5)), 8, (20, 60, 200), -1)
    seen, segmentation = find_markers(image, colour_of("225"), 3)
    np.testing.assert_allclose(seen, centres, atol=0.6)
    middle = centres[:2].mean(axis=0).astype(int)
    assert segmentation.finger[middle[1], middle[0]]
    assert not segmentation.coloured[middle[1], middle[0]]
    cv2.circle(image, (30, 280), 8, (20, 60, 200), -1)
    with pytest.raises(DescriptionError, match=r"markers: expected 3 markers .* found 5 round"):
        find_markers(image, "auto", 3)


@pytest.mark.slow
def test_one_seed_gives_one_photograph():
    def take(**options: float) -> np.ndarray:
        return synthetic_photo(FINGER, pose(0.04), 320, noise=0.02, **options).image

    np.testing.assert_array_equal(take(seed=3), take(seed=3))
    assert (take(seed=3) != take(seed=4)).any()


@pytest.mark.slow
def test_true_points_are_where_the_kinematics_puts_them():
    seen = photo(0.07)
    positions = joint_positions(FINGER, pose(0.07))[:, [0, 2]] * [1.0, -1.0] / seen.metres_per_px
    pixels = np.vstack([seen.joints_px, seen.tip_px])
    np.testing.assert_allclose(pixels - pixels[0], positions - positions[0], atol=0.02)
    assert seen.image.shape == (960, 1280, 3)


def test_light_and_noise_of_a_synthetic_photo():
    grey = np.full((50, 100, 3), 200, dtype=np.uint8)
    lit = lit_and_noisy(grey, light=0.3).astype(float)
    assert lit[:, 0].mean() / lit[:, -1].mean() == pytest.approx(0.7 / 1.3, abs=0.01)
    noisy = lit_and_noisy(grey, noise=0.02, seed=1).astype(float)
    assert noisy.std() / 255.0 == pytest.approx(0.02, rel=0.05)
    np.testing.assert_array_equal(lit_and_noisy(grey), grey)


@pytest.mark.slow
def test_a_figure_of_all_steps():
    measured = measure_photo(photo(0.1).image, FINGER, ReadingOptions(scale="joints"))
    sheet = steps_image(measured)
    assert sheet.dtype == np.uint8
    assert sheet.shape[1:] == (1280, 3)
    assert (sheet < 100).all(axis=2).mean() > 0.01
    np.testing.assert_array_equal(sheet, steps_image(measured))


def test_a_photograph_in_heic_names_what_reads_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(BackendUnavailable, match=re.escape("pip install 'softgrasp[heic]'")):
        read_photo(tmp_path / "20g.HEIC")


def test_a_photograph_in_heic_is_read(tmp_path):
    heif = pytest.importorskip("pillow_heif", reason="an extra")
    heif.register_heif_opener()
    image = np.full((200, 400, 3), 200, np.uint8)
    image[50:100] = 30
    Pillow.fromarray(image).save(tmp_path / "20g.heic", quality=95)
    read = read_photo(tmp_path / "20g.heic")
    assert read.shape == image.shape
    assert np.abs(read.astype(int) - image).mean() < 2.0
