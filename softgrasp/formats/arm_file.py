"""Arms in YAML, one Denavit–Hartenberg table and where the hand sits on its flange; or in MJCF."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.arm import Arm
from softgrasp.formats.hand_file import finger_from
from softgrasp.formats.pose_tree import pose_tree
from softgrasp.formats.yaml_file import Tree, YamlFile, take_units


def load_arm(name: str | Path) -> Arm:
    """A shipped arm by name, or one from a YAML file or a MuJoCo model (``.xml``).

    Raises:
        DescriptionError: There is no such arm, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() == ".xml":
        from softgrasp.formats.mjcf.arm import mjcf_arm

        return mjcf_arm(path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        path = library.find("arms", str(name))
    return YamlFile(path).read(arm_from)


def arm_from(data: dict[str, Tree]) -> Arm:
    """Make an arm of a YAML tree: ``name``, ``phalanges`` and ``tool``, with ``defaults``.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    own: dict[str, Tree] = {key: rest[key] for key in ("name", "source") if key in rest}
    if "tool" in rest:
        own["tool"] = pose_tree(rest["tool"], length, angle, ("tool",), "the hand")
    chain = {key: value for key, value in rest.items() if key not in ("source", "tool")}
    return Arm(chain=finger_from(chain, length, angle), **own)
