"""Read and write pinhole cameras with lens distortion as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp.description.sensor import PinholeCamera
from softgrasp.io.input_limits import loader
from softgrasp.io.yaml_files import YamlFile, dump, write_yaml


@loader
def load_camera(path: str | Path) -> PinholeCamera:
    """Load a pinhole camera from YAML; parameters are in pixels.

    Raises:
        DescriptionError: There is no such file, or it is invalid; names file, line and field.
    """
    file = Path(path)

    def made(data: dict[str, Any]) -> PinholeCamera:
        return PinholeCamera(**({"name": file.stem} | data))

    return YamlFile(file).read(made)


def save_camera(camera: PinholeCamera, path: str | Path) -> Path:
    """Write a camera as YAML from which ``load_camera`` makes an equal one.

    Raises:
        DescriptionError: ``path`` does not have the suffix of a YAML file.
        ResultError: The file cannot be written.
    """
    return write_yaml(path, dump(camera.model_dump(exclude_defaults=True)))
