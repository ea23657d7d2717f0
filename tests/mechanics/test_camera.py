"""The camera's mathematics: OpenCV's forward model, its inverse, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.camera import deproject, distort, fold_radius, project, rays, undistort
from tests.conftest import Golden

LENS = {"k1": 0.09, "k2": -0.12, "p1": 8e-4, "p2": -5e-4, "k3": 0.05}
CAMERA = PinholeCamera(fx=690.0, fy=690.0, cx=640.0, cy=360.0, width=1280, height=720, **LENS)
BARREL = CAMERA.replace(k1=-0.3, k2=0.0, k3=0.0)


def grid(camera: PinholeCamera = CAMERA) -> np.ndarray:
    """Pixels over the whole picture, its corners included."""
    columns = np.linspace(0.0, camera.width, 41)
    return np.stack(np.meshgrid(columns, np.linspace(0.0, camera.height, 31)), axis=-1)


def matrices(camera: PinholeCamera) -> tuple[np.ndarray, np.ndarray]:
    inner = np.array([[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1.0]])
    return inner, np.array([camera.k1, camera.k2, camera.p1, camera.p2, camera.k3])


def test_project_agrees_with_opencv() -> None:
    cv2 = pytest.importorskip("cv2", reason="OpenCV is an extra")
    points = np.random.default_rng(0).uniform([-0.5, -0.3, 0.2], [0.5, 0.3, 1.0], (200, 3))
    points[:, :2] *= points[:, 2:]
    seen, _ = cv2.projectPoints(points, np.zeros(3), np.zeros(3), *matrices(CAMERA))
    np.testing.assert_allclose(project(CAMERA, points), seen[:, 0], atol=1e-9)


def test_undistort_agrees_with_converged_opencv() -> None:
    cv2 = pytest.importorskip("cv2", reason="OpenCV is an extra")
    pixels = grid().reshape(-1, 2)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 60, 1e-14)
    theirs = cv2.undistortPoints(pixels[:, None], *matrices(CAMERA), criteria=criteria)[:, 0]
    np.testing.assert_allclose(CAMERA.fx * undistort(CAMERA, pixels), CAMERA.fx * theirs, atol=1e-9)


@pytest.mark.parametrize(
    "camera", [CAMERA, BARREL.replace(k1=-0.12), CAMERA.replace(fx=500.0, fy=800.0)]
)
def test_undistort_inverts_project(camera: PinholeCamera) -> None:
    pixels = grid(camera)
    depth = np.linspace(0.2, 3.0, pixels[..., 0].size).reshape(pixels.shape[:2])
    points = deproject(camera, pixels, depth)
    assert np.abs(project(camera, points) - pixels).max() < 1e-9
    np.testing.assert_array_equal(points[..., 2], depth)
    assert np.abs(deproject(camera, project(camera, points), depth) - points).max() < 1e-12


@settings(max_examples=50, deadline=None)
@given(
    k1=st.floats(-0.25, 0.25),
    k2=st.floats(-0.1, 0.1),
    p1=st.floats(-2e-3, 2e-3),
    p2=st.floats(-2e-3, 2e-3),
)
def test_round_trip_or_refusal_for_any_lens(k1: float, k2: float, p1: float, p2: float) -> None:
    camera = CAMERA.replace(k1=k1, k2=k2, p1=p1, p2=p2, k3=0.0)
    plane = np.random.default_rng(1).uniform(-0.5, 0.5, (30, 2))
    inside = plane[np.hypot(*plane.T) < 0.9 * fold_radius(camera)]
    seen = project(camera, np.column_stack([inside, np.ones(len(inside))]))
    np.testing.assert_allclose(undistort(camera, seen), inside, atol=1e-9)


def test_without_distortion_it_is_a_pinhole() -> None:
    camera = CAMERA.replace(k1=0.0, k2=0.0, p1=0.0, p2=0.0, k3=0.0)
    assert fold_radius(camera) == np.inf
    np.testing.assert_allclose(project(camera, [0.1, -0.2, 0.5]), [640 + 138.0, 360 - 276.0])
    np.testing.assert_allclose(deproject(camera, [640.0, 360.0], 0.35), [0.0, 0.0, 0.35])
    along = rays(camera, [640.0 + 690.0, 360.0])
    np.testing.assert_allclose(along, np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0))


def test_rays_are_unit_vectors_through_their_pixels() -> None:
    along = rays(CAMERA, grid())
    np.testing.assert_allclose(np.linalg.norm(along, axis=-1), 1.0)
    assert np.abs(project(CAMERA, 0.7 * along) - grid()).max() < 1e-9


def test_the_forward_polynomial_printed_in_paper_001_doubles_the_distortion() -> None:
    pixels = grid()
    focal, center = np.array([CAMERA.fx, CAMERA.fy]), np.array([CAMERA.cx, CAMERA.cy])
    true = focal * undistort(CAMERA, pixels) + center
    printed = focal * distort(CAMERA, (pixels - center) / focal) + center
    off = np.linalg.norm(printed - true, axis=-1)
    nothing = np.linalg.norm(pixels - true, axis=-1)
    # measured over the whole of a 1280 × 720 picture
    assert off.max() == pytest.approx(33.49, abs=0.05)
    assert nothing.max() == pytest.approx(16.38, abs=0.05)
    assert np.median(off) / np.median(nothing) == pytest.approx(2.0, abs=0.1)


def test_the_radial_polynomial_is_stationary_at_the_fold_radius() -> None:
    fold = fold_radius(BARREL)
    assert fold == pytest.approx(np.sqrt(1.0 / 0.9))
    radii = np.array([0.999, 1.0, 1.001])[:, None] * [fold, 0.0]
    seen = distort(BARREL.replace(p1=0.0, p2=0.0), radii)[:, 0]
    assert seen[0] < seen[1] > seen[2]


def test_pixels_without_an_inverse_are_refused(golden: Golden) -> None:
    camera = BARREL.replace(width=4000)
    with pytest.raises(DescriptionError, match=r"folds over at radius 1\.054") as caught:
        undistort(camera, [[640.0, 360.0], [1900.0, 360.0]])
    assert "found (1900.0, 360.0), one of 1" in str(caught.value)
    golden.refused(lambda: project(camera, [1.2, 0.0, 1.0]), "within 1.054 of the axis at depth 1")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: project(CAMERA, [0.0, 0.0, -1.0]), r"in front of the camera \(z > 0\), found z"),
        (lambda: undistort(CAMERA, [np.nan, 0.0]), "expected finite pixels"),
        (lambda: undistort(CAMERA, [1.0, 2.0, 3.0]), "expected finite pixels"),
        (lambda: deproject(CAMERA, [1.0, 2.0], 0.0), "expected depths above 0 m"),
    ],
)
def test_points_that_are_not_visible_are_refused(call, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        call()
