"""Programs of simulated robots in YAML: an arm, and the postures that it goes through."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.robot_program import RobotProgram
from softgrasp.errors import DescriptionError
from softgrasp.formats.arm_file import load_arm
from softgrasp.formats.yaml_file import Tree, YamlFile, scaled, take_units

KIND = "robot_programs"
DEFAULT = "pick_and_place"


def load_robot_program(name: str | Path = DEFAULT) -> RobotProgram:
    """A shipped program by name (``pick_and_place``), or one from a YAML file.

    Its ``arm`` is the name of a shipped arm, or a file beside it. ``units: {angle: deg}`` is for
    its postures.

    Raises:
        DescriptionError: There is no such program, or its file is wrong; names file, line, field.
    """
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        path = library.find(KIND, str(name))
    return YamlFile(path).read(lambda data: robot_program_from(data, directory=path.parent))


def robot_program_from(data: dict[str, Tree], *, directory: Path | None = None) -> RobotProgram:
    """Make a program of a YAML tree.

    Args:
        data: The tree.
        directory: Where the file of its arm lies.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, _, angle = take_units(data)
    if "arm" in rest:
        rest["arm"] = _arm(rest["arm"], directory or Path())
    if "postures" in rest:
        rest["postures"] = scaled(rest["postures"], angle)
    return RobotProgram(**rest)


def _arm(name: Tree, directory: Path) -> Tree:
    if not isinstance(name, str) or not name:
        raise DescriptionError(
            f"expected the name of an arm or its file, found {name!r}",
            field="arm",
            location=("arm",),
        )
    beside = directory / name
    try:
        return load_arm(beside if Path(name).suffix and beside.is_file() else name)
    except DescriptionError as error:
        if error.file is not None:
            raise
        raise DescriptionError(error.message, field="arm", location=("arm",)) from None
