"""Hands as URDF and YAML, and results as joint states, for ``softgrasp convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softgrasp.description.finger import Convention


def is_result(source: str) -> bool:
    """Whether a word of the command line names a result: its folder, or its ``result.json``."""
    from softgrasp.formats.results import RESULT_FILE

    path = Path(source)
    return path.name == RESULT_FILE or (path / RESULT_FILE).is_file()


def result_file(source: str, path: Path) -> Path:
    """Write a result's joint states and return the path."""
    from softgrasp.simulation.joint_states import write_joint_states
    from softgrasp.simulation.record import load_result

    return write_joint_states(load_result(source), path)


def hand_files(source: str, path: Path, convention: Convention | None) -> list[Path]:
    """Write a hand as URDF or YAML and return the paths of all files.

    Args:
        source: Its name or file.
        path: The file to write; its suffix says which.
        convention: Of the rows in YAML; as they are where it is not given.
    """
    from softgrasp.build.conventions import with_convention
    from softgrasp.build.hand_robot import save_urdf
    from softgrasp.formats.hand_writer import save_hand
    from softgrasp.formats.load import load_hand

    hand = load_hand(source)
    if path.suffix == ".urdf":
        return save_urdf(hand, path)
    return [save_hand(hand if convention is None else with_convention(hand, convention), path)]
