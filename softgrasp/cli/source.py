"""What a word of the command line names: a hand, an object, a scene, a release, a robot, a mesh."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from softgrasp import library
from softgrasp.description.hand import Hand
from softgrasp.description.objects import GraspObject
from softgrasp.description.release import FingerRelease
from softgrasp.description.scene import GraspScene
from softgrasp.description.success import SuccessCriterion
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.load import MODEL_SUFFIX, YAML_SUFFIXES
from softgrasp.formats.mesh_files import MESH_SUFFIXES
from softgrasp.formats.release_file import is_release
from softgrasp.formats.ucrdf import ROBOT_SUFFIXES
from softgrasp.formats.yaml_file import YamlFile
from softgrasp.formats.ycb import YCB_PREFIX

Kind = Literal["hand", "object", "scene", "release", "criterion", "robot", "mesh", "world"]
WORLD_SUFFIX = ".wbt"

FIELDS: dict[Kind, set[str]] = {
    "scene": set(GraspScene.model_fields),
    "hand": {*Hand.model_fields, "convention", "defaults", "model", "joints", "rates"},
    "object": set(GraspObject.model_fields),
    "release": set(FingerRelease.model_fields),
    "criterion": set(SuccessCriterion.model_fields),
}
COMMON = {"name", "units", "source", "notes"}
SHIPPED: tuple[Kind, ...] = ("scene", "hand", "object", "robot")
"""Kinds that have a folder in the library; releases lie among the scenes."""


def kind_of(word: str) -> Kind:
    """What a name or a file holds.

    Raises:
        DescriptionError: Nothing that is known.
    """
    path = Path(word)
    if path.suffix.lower() in MESH_SUFFIXES:
        return "mesh"
    if path.suffix.lower() == WORLD_SUFFIX:
        return "world"
    if path.suffix.lower() in ROBOT_SUFFIXES:
        return "robot"
    if path.suffix.lower() == MODEL_SUFFIX:
        return "hand"
    if path.suffix.lower() in YAML_SUFFIXES:
        return _kind_of_yaml(path)
    if word.startswith(YCB_PREFIX):
        return "object"
    shipped = {kind: library.names(f"{kind}s") for kind in SHIPPED}
    for kind, names in shipped.items():
        if word in names:
            return "release" if kind == "scene" and is_release(word) else kind
    known = [name for names in shipped.values() for name in names]
    raise DescriptionError(f"no hand, object, scene or robot '{word}'; {did_you_mean(word, known)}")


def _kind_of_yaml(path: Path) -> Kind:
    """The kind that has most of a file's fields."""
    keys = set(YamlFile(path).data) - COMMON
    matches = {kind: len(keys & fields) for kind, fields in FIELDS.items()}
    best = max(matches, key=lambda kind: matches[kind])
    if matches[best] == 0:
        raise DescriptionError(
            "expected the fields of a hand (fingers, grasps), an object (shape, density), a scene "
            "(hand, object) or a release (finger, tip_mass), found "
            f"{', '.join(sorted(keys)) or 'none'}",
            file=path,
        )
    return best
