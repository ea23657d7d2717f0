"""Pinhole cameras in YAML: fx, fy, cx, cy, k1, k2, p1, p2, k3, width and height, all in pixels."""

from __future__ import annotations

from pathlib import Path

from softgrasp.description.pinhole_camera import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.formats.atomic import write_text
from softgrasp.formats.yaml_file import YamlFile, dump

SUFFIXES = (".yaml", ".yml")


def load_camera(path: str | Path) -> PinholeCamera:
    """A camera from a YAML file.

    Raises:
        DescriptionError: There is no such file, or it is wrong; names file, line and field.
    """
    file = Path(path)
    return YamlFile(file).read(lambda data: PinholeCamera(**({"name": file.stem} | data)))


def save_camera(camera: PinholeCamera, path: str | Path) -> Path:
    """Write a camera as YAML from which ``load_camera`` makes an equal one.

    Raises:
        DescriptionError: ``path`` has no suffix of a YAML file.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, dump(camera.model_dump(exclude_defaults=True)))
