"""Names and values on the command line: checked before anything slow is imported.

A mistyped name is thus answered at once: this module needs no library. Files are read only to
recognise their kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from softgrasp import assets
from softgrasp.assets import (
    MESH_SUFFIXES,
    MODEL_SUFFIXES,
    ROBOT_SUFFIXES,
    YAML_SUFFIXES,
    YCB_PREFIX,
)
from softgrasp.errors import DescriptionError, did_you_mean

OtherKind = Literal["hand", "object", "scene", "release", "criterion", "robot", "mesh", "world"]
"""Kinds that a file shows itself; whether a mesh is that of a soft finger has to be stated."""
Kind = OtherKind | Literal["finger"]
SHIPPED: tuple[Kind, ...] = ("scene", "hand", "object", "robot")
"""Kinds that have a directory in the library; releases lie among the scenes."""
SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "mesh": MESH_SUFFIXES,
    "world": (".wbt",),
    "robot": ROBOT_SUFFIXES,
    "hand": MODEL_SUFFIXES,
}
"""Suffixes that determine the kind of a file."""
COMMON = {"name", "units", "source", "notes"}
"""Fields of all kinds in YAML."""


def require_known(what: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that does not exist.

    Raises:
        DescriptionError: Names similar and known names.
    """
    names = list(known)
    if name not in names:
        raise DescriptionError(f"no {what} '{name}'; {did_you_mean(name, names)}")


def require_scene(first: str, second: str | None) -> None:
    """Refuse library names that do not exist; files are checked when they are read.

    ``first`` is a hand, and without an object a scene.

    Raises:
        DescriptionError: There is no such hand, object or scene; or a hand or an object stands
            alone.
    """
    if second is not None:
        if first in assets.names("objects") and second in assets.names("hands"):
            raise DescriptionError(
                f"expected HAND OBJECT, found the object '{first}' and the hand '{second}'; "
                f"exchange them: {second} {first}"
            )
        if first not in assets.names("robots"):
            require_shipped("hands", first)
        require_shipped("objects", second)
        return
    for kind, other in (("hands", "an object"), ("objects", "a hand")):
        if first in assets.names(kind) and first not in assets.names("scenes"):
            raise DescriptionError(
                f"expected HAND OBJECT or a SCENE, found only the {kind[:-1]} '{first}'; "
                f"name {other} too, as in: softgrasp grasp four_finger strawberry"
            )
    require_shipped("scenes", first)


def require_shipped(kind: str, name: str) -> None:
    """Refuse a name that the library does not have; files are checked when they are read.

    Raises:
        DescriptionError: There is nothing of that name and kind, such as ``problems``.
    """
    path = Path(name)
    is_file = path.is_dir() or path.suffix or len(path.parts) > 1 or name.startswith(YCB_PREFIX)
    if not is_file:
        assets.find(kind, name)


def kind_of(word: str) -> Kind:
    """Return the kind (hand, object, scene, …) of a library name or file.

    Raises:
        DescriptionError: There is nothing of that name, or the file holds no known kind.
    """
    path = Path(word)
    suffix = path.suffix.lower()
    if suffix in YAML_SUFFIXES:
        return _kind_of_yaml(path)
    for kind, suffixes in SUFFIXES.items():
        if suffix in suffixes:
            return kind
    if suffix == assets.SDF_SUFFIX:
        raise DescriptionError(f"expected another file; {assets.SDF_CURE}", file=path)
    shipped = {kind: assets.names(f"{kind}s") for kind in SHIPPED}
    known = [name for names in shipped.values() for name in names]
    if word.startswith(YCB_PREFIX) or (path.is_dir() and word not in known):
        return "object"
    for kind, names in shipped.items():
        if word in names and kind != "scene":
            return kind
        if word in names:
            from softgrasp.io.scene import is_release  # loads numpy

            return "release" if is_release(word) else kind
    raise DescriptionError(f"no hand, object, scene or robot '{word}'; {did_you_mean(word, known)}")


def with_article(kind: str) -> str:
    """Return the name of a kind with its article: ``an object``."""
    return f"{'an' if kind == 'object' else 'a'} {kind}"


def _kind_of_yaml(path: Path) -> Kind:
    """Return the kind whose fields match those of a YAML file best."""
    from softgrasp.io.yaml_files import YamlFile

    keys = set(YamlFile(path).data) - COMMON
    matches = {kind: len(keys & fields) for kind, fields in _fields().items()}
    best = max(matches, key=lambda kind: matches[kind])
    if matches[best] == 0:
        raise DescriptionError(
            "expected the fields of a hand (fingers, grasps), an object (shape, density), a scene "
            "(hand, object) or a release (finger, tip_mass), found "
            f"{', '.join(sorted(keys)) or 'none'}",
            file=path,
        )
    return best


def _fields() -> dict[Kind, set[str]]:
    """Return the fields of each kind in YAML."""
    from softgrasp.description.calibration import FingerRelease
    from softgrasp.description.hand import Hand
    from softgrasp.description.object import GraspObject
    from softgrasp.description.scene import GraspScene
    from softgrasp.description.task import SuccessCriterion

    return {
        "scene": set(GraspScene.model_fields),
        "hand": {*Hand.model_fields, "convention", "defaults", "model", "joints", "rates"},
        "object": set(GraspObject.model_fields),
        "release": set(FingerRelease.model_fields),
        "criterion": set(SuccessCriterion.model_fields),
    }


def plain_value(text: str) -> Any:
    """Read a JSON value (``500``, ``true``, ``null``, ``[1, 2]``), or return the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
