"""Hands as YAML, from which ``load_hand`` makes equal ones."""

from __future__ import annotations

from pathlib import Path

from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError
from softgrasp.formats.atomic import write_text
from softgrasp.formats.description_tree import description_tree
from softgrasp.formats.yaml_file import Tree, dump

SUFFIXES = (".yaml", ".yml")
FIELDS_OF_ROW = ("name", "a", "alpha", "d", "theta", "joint", "joint_name", "limits", "start")
"""Fields that stand with their row, even where all rows have the same."""


def save_hand(hand: Hand, path: str | Path) -> Path:
    """Write a hand as YAML, in SI with all digits, from which ``load_hand`` makes an equal one.

    Raises:
        DescriptionError: ``path`` has no suffix by which ``load_hand`` knows such a file.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, hand_yaml(hand))


def hand_yaml(hand: Hand) -> str:
    """A hand as YAML; what is as by default is left out, what all rows share stands once."""
    tree: dict[str, Tree] = description_tree(hand)
    fingers: list[dict[str, Tree]] = tree.get("fingers", [])
    head: dict[str, Tree] = {"name": tree.pop("name")}
    if source := tree.pop("source", ""):
        head["source"] = source
    conventions = {finger.convention for finger in hand.fingers}
    if len(conventions) == 1:
        head["convention"] = conventions.pop()
        for finger in fingers:
            del finger["convention"]
    rows = [row for finger in fingers for row in finger["phalanges"]]
    for finger in fingers:
        for index, row in enumerate(finger["phalanges"], start=1):
            _drop_default_names(row, index)
    if defaults := _taken_out(rows):
        head["defaults"] = defaults
    return dump(head | tree)


def _drop_default_names(row: dict[str, Tree], index: int) -> None:
    """Leave out the names that a row gets by its place."""
    for key, letter in (("name", "P"), ("joint_name", "J")):
        if row.get(key) == f"{letter}{index}":
            del row[key]


def _taken_out(rows: list[dict[str, Tree]]) -> dict[str, Tree]:
    """Take fields that are the same in all rows out of them."""
    if len(rows) < 2:
        return {}
    shared = {
        key: value
        for key, value in rows[0].items()
        if key in Phalanx.model_fields
        and key not in FIELDS_OF_ROW
        and all(key in row and row[key] == value for row in rows)
    }
    for row in rows:
        for key in shared:
            del row[key]
    return shared
