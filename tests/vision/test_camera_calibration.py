"""Intrinsics of a known camera from rendered photographs of a board."""

import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.io.scene import load_camera
from softgrasp.mechanics.camera import undistort

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")

import cv2

from softgrasp.vision.checkerboard import (
    Checkerboard,
    calibrate_camera,
    find_board,
    undistort_image,
)

BOARD = Checkerboard(rows=5, columns=7, square=0.025)
CAMERA = PinholeCamera(
    fx=620.0, fy=616.0, cx=322.0, cy=236.0, k1=-0.22, k2=0.06, p1=0.001, p2=-0.0008,
    width=640, height=480,
)  # fmt: skip
VIEWS = ((0, 0, 0), (30, 0, 5), (-30, 5, 0), (0, 35, -5), (5, -35, 0), (25, 25, 10), (-25, 20, 0),
         (20, -30, 0))  # fmt: skip
"""Rotation of the board about x, y and z [deg]."""


@cache
def camera_rays() -> np.ndarray:
    """Points of the plane at depth 1 of all pixels, (480, 640, 2)."""
    return undistort(CAMERA, np.stack(np.meshgrid(*(np.arange(n) + 0.5 for n in (640, 480))), -1))


def board_image(view: int, tilted: bool = True) -> np.ndarray:
    """Render the board pixel by pixel: each is a ray that meets the board."""
    rays = camera_rays()
    angles = np.radians(VIEWS[view] if tilted else (0.0, 0.0, VIEWS[view][2]))
    rotation = np.eye(3)
    for axis, angle in zip(np.eye(3), angles, strict=True):
        rotation = rotation @ cv2.Rodrigues(axis * angle)[0]
    middle = 0.025 * np.array([3.0, 2.0, 0.0])
    shift = np.array([0.05 * ((view % 3) - 1), 0.035 * (view % 2) - 0.015, 0.34])
    directions = np.concatenate([rays, np.ones((*rays.shape[:2], 1))], axis=-1) @ rotation
    origin = -shift @ rotation
    depth = -origin[2] / directions[..., 2]
    points = origin + depth[..., None] * directions + middle
    squares = np.floor(points[..., :2] / 0.025 + 1.0).astype(int)
    on = ((squares >= 0) & (squares < [8, 6])).all(axis=-1)
    grey = np.where(on & (squares.sum(axis=-1) % 2 == 0), 25.0, 230.0)
    soft = cv2.GaussianBlur(grey, (0, 0), 0.8)
    noise = np.random.default_rng(view).standard_normal(soft.shape)
    return np.repeat((soft + 2.0 * noise).clip(0, 255).astype(np.uint8)[..., None], 3, axis=-1)


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("boards")
    for view in range(len(VIEWS)):
        Image.fromarray(board_image(view)).save(directory / f"board_{view:02d}.png")
    return directory


@pytest.mark.slow
def test_a_known_camera_is_recovered_within_its_errors(run, boards, tmp_path):
    ran = run("calibrate", "--camera", str(boards), "--board", "5x7x25", "--json", "--out",
              str(tmp_path))  # fmt: skip
    assert ran.code == 0
    message = json.loads(ran.out)
    assert message["photographs"] == len(VIEWS)
    assert message["residual_px"] < 0.3
    camera = load_camera(tmp_path / "camera.yaml")
    assert camera.fx == pytest.approx(CAMERA.fx, rel=0.005)
    assert camera.k1 == pytest.approx(CAMERA.k1, abs=0.03)
    for name, error in message["standard_errors"].items():
        assert abs(getattr(camera, name) - getattr(CAMERA, name)) < 5.0 * error, name


def test_distortion_is_removed():
    image = board_image(0)
    straight = undistort_image(image, CAMERA)

    def bend(pixels: np.ndarray) -> float:
        row = pixels.reshape(5, 7, 2)[0]
        return float(np.linalg.svd(row - row.mean(axis=0))[1][1])

    assert bend(find_board(straight, BOARD)) < 0.5 * bend(find_board(image, BOARD))
    with pytest.raises(DescriptionError, match=r"lens: expected 640 × 480 pixels as in the camera"):
        undistort_image(image[:400], CAMERA)


@pytest.mark.slow
def test_views_from_the_front_do_not_determine_the_focal_length(tmp_path):
    files = [tmp_path / f"{view}.png" for view in range(4)]
    for view, file in enumerate(files):
        Image.fromarray(board_image(view, tilted=False)).save(file)
    with pytest.raises(DescriptionError, match=r"expected boards tilted by 12° or more, better"):
        calibrate_camera(files, BOARD)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--board", "5x7"), "--board"),
        (("--board", "6x7x25"), "expected 4 photographs or more that show a"),
    ],
)
def test_boards_that_are_not_there(run, boards, tmp_path, words, sentence, golden):
    (tmp_path / "one").mkdir()
    shutil.copy(boards / "board_00.png", tmp_path / "one")
    ran = run(
        "calibrate", "--camera", str(tmp_path / "one"), *words, "--out", str(tmp_path / "out")
    )
    assert ran.code == 2
    golden(" ".join(ran.err.split()), sentence)
    assert not (tmp_path / "out").exists()
