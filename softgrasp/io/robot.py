"""Robots by library name or by file."""

from __future__ import annotations

from pathlib import Path

from softgrasp import assets
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.urdf import ROBOT_SUFFIXES, read_robot

KIND = "robots"


def load_robot(name: str | Path) -> Robot:
    """A shipped robot by name, or one from a U(C)RDF, URDF or xacro file.

    The bare file name of a shipped robot, such as ``three_segment_arm.ucrdf``, names that robot
    unless there is such a file.

    Raises:
        DescriptionError: There is no such robot, or its file is wrong; names file, line and
            element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in the file is not kept.
    """
    return read_robot(robot_path(name))


def robot_path(name: str | Path) -> Path:
    """The file that a robot's library name, or a file's name, means.

    Raises:
        DescriptionError: There is no such robot.
    """
    path = Path(name)
    if path.suffix.lower() in ROBOT_SUFFIXES:
        return _shipped(path) or path
    if path.suffix or len(path.parts) > 1:
        raise DescriptionError(
            f"expected a robot as {', '.join(ROBOT_SUFFIXES)} or a library name, found "
            f"'{path.suffix or path.name}'",
            file=path,
        )
    return assets.find(KIND, str(name))


def _shipped(path: Path) -> Path | None:
    """The shipped file of a bare name that is no file here."""
    bare = len(path.parts) == 1 and not path.exists()
    is_ours = bare and path.suffix == assets.suffix(KIND) and path.stem in assets.names(KIND)
    return assets.find(KIND, path.stem) if is_ours else None
