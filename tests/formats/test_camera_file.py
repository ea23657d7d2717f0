"""Cameras in YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.twin.files import load_camera, save_camera

CAMERA = PinholeCamera(
    name="bench", fx=690.5, fy=690.0, cx=640.0, cy=360.25, k1=0.09, p2=-5e-4, width=1280, height=720
)


def test_a_camera_comes_back_as_it_was(tmp_path: Path) -> None:
    assert load_camera(save_camera(CAMERA, tmp_path / "cam.yaml")) == CAMERA


def test_mistakes_are_told_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "cam.yaml"
    path.write_text("fx: 690\nfy: -690\ncx: 640\ncy: 360\nwidth: 1280\nheight: 720\n")
    with pytest.raises(DescriptionError, match=r"cam\.yaml:2: fy: expected .*, found -690"):
        load_camera(path)
    path.write_text("fx: 690\nfy: 690\ncx: 640\ncy: 360\nwidht: 1280\nheight: 720\n")
    with pytest.raises(DescriptionError, match="widht"):
        load_camera(path)
    with pytest.raises(DescriptionError, match=r"expected a \.yaml file, found"):
        save_camera(CAMERA, tmp_path / "cam.json")
