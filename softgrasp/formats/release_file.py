"""Releases of soft fingers in YAML: a finger, named or written out, and the weight that bent it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp import library
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.formats.atomic import write_text
from softgrasp.formats.finger_file import SUFFIXES, finger_from, load_finger
from softgrasp.formats.yaml_file import Tree, YamlFile, dump


def load_release(name: str | Path) -> FingerRelease:
    """A shipped release by name, or one from a YAML file; shipped ones lie among the scenes.

    Raises:
        DescriptionError: There is no such release, or its file is wrong; names file, line and
            field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("scenes", str(name))
    release = YamlFile(path).read(lambda data: _release_from(data, path.parent))
    return release if release.name else release.replace(name=path.stem)


def save_release(release: FingerRelease, path: str | Path) -> Path:
    """Write a release as YAML from which ``load_release`` makes an equal one.

    A shipped finger that was not changed is written by its name.

    Raises:
        DescriptionError: ``path`` has no suffix by which ``load_release`` knows a file.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    data: dict[str, Any] = release.model_dump(exclude_defaults=True)
    name = release.finger.name
    if name in library.names("fingers") and load_finger(name) == release.finger:
        data["finger"] = name
    return write_text(path, dump(data))


def is_release(name: str | Path) -> bool:
    """Whether a file, or a shipped one by name, holds a release and no grasp scene.

    Raises:
        DescriptionError: It cannot be read, or there is none of that name.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("scenes", str(name))
    return describes_release(YamlFile(path).data)


def describes_release(data: dict[str, Tree]) -> bool:
    """Whether the fields of a file are those of a release: a finger, and neither hand nor object.

    A problem of calibration has a finger too, but no ``tip_mass``.
    """
    return not {"hand", "object"} & set(data) and {"finger", "tip_mass"} <= set(data)


def _release_from(data: dict[str, Tree], directory: Path) -> FingerRelease:
    if {"hand", "object"} & set(data):
        raise DescriptionError(
            "expected the release of a finger (finger, tip_mass), found a scene with a hand and an "
            "object"
        )
    finger_tree = data.get("finger")
    if finger_tree is None:
        return FingerRelease(**data)
    try:
        finger = _finger(finger_tree, directory)
    except DescriptionError as error:
        if error.file is not None:
            raise
        field = f"finger.{error.field}" if error.field else "finger"
        location = ("finger", *error.location)
        raise DescriptionError(
            error.message, field=field, location=location, value=error.actual
        ) from None
    return FingerRelease(**(data | {"finger": finger}))


def _finger(tree: Tree, directory: Path) -> SoftFinger:
    if isinstance(tree, dict):
        return finger_from(tree)
    if not isinstance(tree, str):
        raise DescriptionError(
            f"expected a library name, a file, or a mapping with its fields, found {tree!r}"
        )
    beside = directory / tree
    return load_finger(beside if beside.is_file() else tree)
