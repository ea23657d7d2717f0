"""What the words of ``softgrasp view`` name, and the scenes that its form asks for."""

from __future__ import annotations

from pathlib import Path

from softgrasp.cli.options import Unit
from softgrasp.cli.scene_options import SceneOptions, scene_of
from softgrasp.cli.source import kind_of
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_files import MESH_SUFFIXES
from softgrasp.formats.results import RESULT_FILE
from softgrasp.viewer.scene_markers import Choices, MakeScene

HANDS = ("hand", "robot")
"""Kinds that are shown as hands."""


def is_result(word: str) -> bool:
    """Whether a word means the folder of a result: a folder, or what could be none else."""
    path = Path(word)
    if path.name == RESULT_FILE or path.is_dir():
        return True
    return len(path.parts) > 1 and not path.suffix and not path.exists()


def hand_choices(
    hand: str, object_name: str | None, density: float | None, units: Unit | None
) -> tuple[Choices, MakeScene]:
    """What is shown of a hand first, and how its scenes are made.

    Raises:
        DescriptionError: It is no hand, or there is nothing of that name.
    """
    kind = kind_of(hand)
    if kind not in HANDS:
        article = "an" if kind == "object" else "a"
        hint = {
            "object": f"; name the hand first: softgrasp view four_finger {hand}",
            "scene": f"; simulate it, then look: softgrasp grasp {hand} --out DIR",
        }.get(kind, "")
        raise DescriptionError(
            f"{hand}: expected a hand or the folder of a result, found {article} {kind}{hint}"
        )
    if object_name is None and density is not None:
        raise DescriptionError("--density: expected an OBJECT beside it, found none")

    def make_scene(choices: Choices) -> GraspScene:
        is_mesh = Path(choices.object or "").suffix.lower() in MESH_SUFFIXES
        options = SceneOptions(
            units=units.value if units is not None and is_mesh else None,
            density=choices.density,
            grasp=choices.grasp,
            friction=choices.friction,
            closure=choices.closure,
            gravity=choices.gravity or None,
            hold=choices.hold or None,
        )
        return scene_of(choices.hand, choices.object, options)

    return Choices(hand=hand, object=object_name, density=density), make_scene
