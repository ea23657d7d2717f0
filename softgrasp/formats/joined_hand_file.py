"""Two hands as one in YAML: ``hands`` names each part, what it is called, and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Grasps, Hand
from softgrasp.errors import DescriptionError
from softgrasp.formats.hand_file import rates_to_si
from softgrasp.formats.pose_tree import pose_tree
from softgrasp.formats.yaml_file import Tree, take_units, to_si
from softgrasp.mechanics.hand_kinematics import PlacedHand, joined_hands

FIELDS = ("name", "hands", "grasps", "source")
PART_FIELDS = ("hand", "name", "pose")


def joined_from(data: dict[str, Tree], directory: Path, load: Callable[[str], Hand]) -> Hand:
    """Make one hand of a tree with ``hands``.

    Args:
        data: The tree: ``name``, ``units``, ``hands`` (each with ``hand``, ``name``, ``pose``), and
            ``grasps`` where those of the parts do not do.
        directory: Where files that it names lie.
        load: Loads a hand by name or file.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    data, length, angle = take_units(data)
    _refuse_others(data, FIELDS, ())
    entries = data.get("hands")
    if not isinstance(entries, list):
        raise DescriptionError(
            f"expected a list of hands, found {entries!r}", field="hands", location=("hands",)
        )
    parts = []
    for index, part in enumerate(entries):
        location = ("hands", index)
        if not isinstance(part, dict) or not {"hand", "name"} <= set(part):
            raise DescriptionError(
                f"expected a mapping with {', '.join(PART_FIELDS)}, found {part!r}",
                field=f"hands[{index}]",
                location=location,
            )
        _refuse_others(part, PART_FIELDS, location)
        pose = pose_tree(
            part.get("pose", {}), length, angle, (*location, "pose"), str(part["name"])
        )
        beside = directory / str(part["hand"])
        hand = load(str(beside if beside.is_file() else part["hand"]))
        parts.append(PlacedHand(str(part["name"]), hand, Pose(**pose)))
    grasps = None
    if "grasps" in data:
        units = [
            {"m": length, "rad": angle}.get(d.unit, 1.0) for p in parts for d in p.hand.actuators
        ]
        grasps = Grasps(**_grasps(data["grasps"], length, angle, units))
    hand = joined_hands(str(data.get("name", "hands")), parts, grasps)
    return hand.replace(source=str(data.get("source", hand.source)))


def _grasps(tree: Tree, length: float, angle: float, units: list[float]) -> Tree:
    """The named grasps in SI."""
    if not isinstance(tree, dict):
        return {"grasps": tree}
    presets = {}
    for name, preset in tree.items():
        presets[name] = to_si(preset, length, angle)
        for key in ("rates", "start"):
            if isinstance(preset, dict) and key in preset:
                presets[name][key] = rates_to_si(preset[key], units)
    return presets


def _refuse_others(
    tree: dict[str, Tree], fields: tuple[str, ...], location: tuple[object, ...]
) -> None:
    for key in tree:
        if key not in fields:
            raise DescriptionError(
                f"expected {', '.join(fields)}, found '{key}'",
                field=str(key),
                location=(*location, key),  # type: ignore[arg-type]
            )
