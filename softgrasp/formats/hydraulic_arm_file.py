"""Water-hydraulic soft arms in YAML and U(C)RDF: sections with their chambers, and the drive."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from softgrasp import library
from softgrasp.description.bendable import Backbone, CurvatureLimits
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_robot import LARGEST_BEND, arm_of_robot, arm_robot
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.formats.atomic import write_text
from softgrasp.formats.description_tree import description_tree
from softgrasp.formats.ucrdf import ROBOT_SUFFIXES, write_robot
from softgrasp.formats.ucrdf.read import MACRO_SUFFIX, made_of_robot
from softgrasp.formats.yaml_file import Tree, YamlFile, dump, scaled, take_units

SUFFIXES = (".yaml", ".yml")
WRITTEN = (*SUFFIXES, *(suffix for suffix in ROBOT_SUFFIXES if suffix != MACRO_SUFFIX))
LENGTHS = frozenset(["length", "radius", "diameter", "lead"])
AREAS, ANGLES = frozenset(["area"]), frozenset(["angle"])


def load_hydraulic_arm(name: str | Path) -> HydraulicArm:
    """A shipped hydraulic arm by name, or one from a YAML, U(C)RDF, URDF or xacro file.

    In YAML, ``units: {length: mm, angle: deg}`` is of lengths, areas and angles; all else is in SI,
    as everything in U(C)RDF. There the bendables are the sections, and ``<hydraulics>`` is the
    rest.

    Raises:
        DescriptionError: There is no such arm, or its file is wrong; names file, line and field or
            element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in a U(C)RDF file is not kept.
    """
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in ROBOT_SUFFIXES:
        return made_of_robot(path, lambda robot: _arm(robot, path))
    if suffix not in SUFFIXES:
        if suffix or len(path.parts) > 1:
            raise DescriptionError(
                f"expected a hydraulic arm as {', '.join((*SUFFIXES, *ROBOT_SUFFIXES))} or a "
                f"library name, found '{suffix or path.name}'",
                file=path,
            )
        path = library.find("hydraulic_arms", str(name))
    return YamlFile(path).read(lambda data: hydraulic_arm_from({"name": path.stem} | data))


def save_hydraulic_arm(arm: HydraulicArm, path: str | Path) -> Path:
    """Write an arm as YAML or U(C)RDF, by the suffix, in SI with all digits; returns the path.

    ``load_hydraulic_arm`` makes an equal arm of it.

    Raises:
        DescriptionError: No such suffix, or a text holds characters that XML cannot.
        ResultError: The place cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITTEN:
        raise DescriptionError(
            f"expected a file as {', '.join(WRITTEN)}, found '{path}'", field="path"
        )
    if suffix in SUFFIXES:
        return write_text(path, hydraulic_arm_yaml(arm))
    return write_robot(arm_robot(arm), path)


def hydraulic_arm_yaml(arm: HydraulicArm) -> str:
    """An arm as YAML; what is as by default is left out."""
    tree = description_tree(arm, types=False)
    head = {key: tree[key] for key in ("name", "source", "segments", "sections") if key in tree}
    return dump(head | tree)


def hydraulic_arm_from(data: dict[str, Tree]) -> HydraulicArm:
    """Make an arm of a YAML tree.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    return HydraulicArm(**_to_si(rest, length, angle))


def _arm(robot: Robot, path: Path) -> HydraulicArm:
    arm = arm_of_robot(robot)
    left = ", ".join(_left_out(robot))
    if left:
        message = f"{path}: left out, as a hydraulic arm has none of it: {left}"
        warnings.warn(message, SoftgraspWarning, stacklevel=4)
    return arm


def _left_out(robot: Robot) -> Iterator[str]:
    """What of a robot is no part of its arm, in words."""
    fields = Backbone.model_fields
    for part in robot.bendables:
        if part.limits != CurvatureLimits(theta_max=LARGEST_BEND):
            yield f"limits of bendable '{part.name}'"
        for name in ("links", "discs"):
            if getattr(part.backbone, name) != fields[name].default:
                yield f"{name} of bendable '{part.name}'"
    for link in robot.links:
        if link.visuals or link.collisions:
            yield f"shapes of link '{link.name}'"
        if link.inertial is not None:
            yield f"mass of link '{link.name}', which stands still"
    for system in robot.control:
        yield f"ros2_control '{system.name}'"


def _to_si(data: Tree, length: float, angle: float) -> Tree:
    if isinstance(data, list):
        return [_to_si(part, length, angle) for part in data]
    if not isinstance(data, dict):
        return data
    factors = dict.fromkeys(LENGTHS, length) | dict.fromkeys(AREAS, length**2)
    factors |= dict.fromkeys(ANGLES, angle)
    return {
        key: scaled(value, factors[key]) if key in factors else _to_si(value, length, angle)
        for key, value in data.items()
    }
