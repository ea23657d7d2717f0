"""A hydraulic arm under a hand as scenes in YAML have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from softgrasp import library
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_carrier import HydraulicCarrier
from softgrasp.formats.hydraulic_arm_file import hydraulic_arm_from, load_hydraulic_arm
from softgrasp.formats.pose_tree import pose_tree
from softgrasp.formats.torque_file import load_torques
from softgrasp.formats.yaml_file import Tree, take_units

POSES = ("base", "tool")


def carrier_from(data: dict[str, Tree], directory: Path) -> HydraulicCarrier:
    """Make the arm under a hand of a YAML tree.

    Args:
        data: ``hydraulic`` is an arm's name, file, or mapping, ``torques`` rows or the name of a
            CSV file; other fields are those of ``HydraulicCarrier``. Its units are its own.
        directory: Where the files lie that it names.

    Raises:
        DescriptionError: Something in the tree, or in a file, is wrong.
    """
    rest, length, angle = take_units(data)
    for key in POSES:
        if key in rest:
            rest[key] = pose_tree(rest[key], length, angle, (key,), f"the {key}")
    arm, torques = rest["hydraulic"], rest.get("torques")
    if isinstance(arm, dict):
        rest["hydraulic"] = hydraulic_arm_from(arm)
    else:
        rest["hydraulic"] = load_hydraulic_arm(_beside(str(arm), directory))
    if isinstance(torques, str):
        table = load_torques(_beside(torques, directory))
        rest["torques"] = np.column_stack([table.times, table.torques]).tolist()
    return HydraulicCarrier(**rest)


def carrier_tree(carrier: HydraulicCarrier) -> dict[str, Any]:
    """The arm under a hand as ``carrier_from`` takes it; a shipped arm by its name."""
    tree: dict[str, Any] = carrier.model_dump(mode="json", exclude_defaults=True)
    if _is_shipped(carrier.hydraulic):
        tree["hydraulic"] = carrier.hydraulic.name
    return tree


def _is_shipped(arm: HydraulicArm) -> bool:
    return arm.name in library.names("hydraulic_arms") and load_hydraulic_arm(arm.name) == arm


def _beside(name: str, directory: Path) -> str:
    """A file that lies beside the scene, or the name as it stands."""
    return str(directory / name) if (directory / name).is_file() else name
