"""Robot arms that carry a hand: YAML tables, or URDF, xacro and MJCF files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from softgrasp.assets import ROBOT_SUFFIXES
from softgrasp.description.arm import Arm
from softgrasp.description.base import error_at
from softgrasp.description.geometry import Pose
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.hand import finger_from
from softgrasp.io.input_limits import loader
from softgrasp.io.yaml_files import Tree, YamlFile, pose_tree, scaled, take_units, yaml_path


@loader
def load_arm(
    name: str | Path,
    *,
    start: Sequence[float] | None = None,
    tool: Pose | None = None,
    tool_link: str | None = None,
) -> Arm:
    """Load a shipped arm by name, or one from a YAML, URDF, xacro or MJCF file.

    A YAML file may name a robot file as its ``model``, with ``start``, ``tool`` and ``tool_link``.

    Args:
        name: Name or file.
        start: For a URDF or xacro file: initial joint angles, one per joint [rad].
        tool: For such a file: frame of the hand in the frame of the tool link.
        tool_link: For such a file: the link that carries the hand; by default the last one.

    Raises:
        DescriptionError: There is no such arm, or its file is wrong; names file, line and field.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.
    """
    path = Path(name)
    if path.suffix.lower() == ".xml":
        from softgrasp.io.mjcf.hand import mjcf_arm

        return mjcf_arm(path)
    if path.suffix.lower() in ROBOT_SUFFIXES:
        from softgrasp.io.urdf.hand import read_urdf_arm

        return read_urdf_arm(path, start=start, tool=tool, tool_link=tool_link)
    if any(option is not None for option in (start, tool, tool_link)):
        raise DescriptionError(
            f"expected start, tool and tool_link only with a URDF or xacro file, found '{name}'"
        )
    path = yaml_path("arms", name)
    return YamlFile(path).read(lambda data: arm_from(data, directory=path.parent))


def arm_from(data: dict[str, Tree], *, directory: Path | None = None) -> Arm:
    """Make an arm from a YAML tree of its chain, or of a ``model``, a robot file in a directory.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    if "model" in rest:
        return _arm_of_model(rest, length, angle, directory or Path())
    fields: dict[str, Tree] = {key: rest[key] for key in ("name", "source") if key in rest}
    if "tool" in rest:
        fields["tool"] = pose_tree(rest["tool"], length, angle, ("tool",), "the hand")
    chain = {key: value for key, value in rest.items() if key not in ("source", "tool")}
    return Arm(chain=finger_from(chain, length, angle), **fields)


def _arm_of_model(data: dict[str, Tree], length: float, angle: float, directory: Path) -> Arm:
    from softgrasp.io.urdf.hand import read_urdf_arm

    known = ("model", "name", "source", "start", "tool", "tool_link")
    for key in data:
        if key not in known:
            raise error_at(f"no such field; {did_you_mean(key, known)}", key)
    start, tool = data.get("start"), None
    if start is not None and not (
        isinstance(start, list) and all(type(part) in (int, float) for part in start)
    ):
        raise error_at(f"expected a list of numbers, one per joint, found {start!r}", "start")
    if "tool" in data:
        tool = Pose(**pose_tree(data["tool"], length, angle, ("tool",), "the hand"))
    arm = read_urdf_arm(
        directory / str(data["model"]),
        start=None if start is None else scaled(start, angle),
        tool=tool,
        tool_link=data.get("tool_link"),
    )
    return arm.replace(**{key: data[key] for key in ("name", "source") if key in data})
