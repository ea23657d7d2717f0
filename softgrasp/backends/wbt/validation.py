"""Check a Webots world beyond its grammar, as far as its text shows without Webots.

The parser already refuses unknown nodes and fields, wrong types and nodes in fields that do not
take them. Here are errors that Webots refuses, or simulates differently from what the text
suggests. Most are rows of the schema table (``schema.rules``). Sources: the reference manual of
Webots R2025a and the issues of cyberbotics/webots that are named below.

No library does this: urdf2webots writes worlds but cannot read them, and Webots has no offline
check. A world that urdf2webots has written has no problem here (``tests/backends/ode``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softgrasp.backends.wbt.parser import World, read_world
from softgrasp.backends.wbt.schema import (
    DEVICES,
    JOINTS,
    SOLIDS,
    Node,
    integers,
    list_held_nodes,
    node_types,
    number,
    numbers,
    rules,
    symmetric,
    text,
    value,
    vector,
    vectors,
)
from softgrasp.errors import DescriptionError

MIN_STEP = 1.0
"""Shortest basicTimeStep of Webots [ms]."""
MOTORS = ("RotationalMotor", "LinearMotor")
FORCE_SENSORS = ("force", "force-3d")
"""Types of touch sensors that measure forces, not only contact."""
UNSET = -1.0
"""Value of density and mass where they are not specified."""
ROUNDING = 1e-6
"""Relative error of moments of inertia in files of seven digits."""
SURROUNDED = ((DEVICES, ("Robot",), "a Robot"), (JOINTS, SOLIDS, "a solid"))
"""Nodes, and the nodes of which one must be around them."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """An error of a world: line and message.

    Attributes:
        line: Line of the node in the file; 0 where the node was made in Python.
        sentence: What was expected and what was found.
        file: File of the world.
    """

    line: int
    sentence: str
    file: Path

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.sentence}"


def problems(world: World, min_step: float = MIN_STEP) -> list[Problem]:
    """Find the errors of a world beyond its grammar, sorted by line.

    Args:
        world: The world.
        min_step: Shortest time step of the engine [ms]; 0 where it takes any.
    """
    result = {Problem(line, sentence, world.file) for line, sentence in _head(world)}
    for node in world.walk():
        check = NODE_CHECKS.get(node.type)
        sentences = [*_table_errors(node), *(check(node) if check else ())]
        if node.type == "WorldInfo":
            sentences += _time_step(number(node, "basicTimeStep"), min_step)
        result |= {Problem(node.line, sentence, world.file) for sentence in sentences}
    for here in _locations(world):
        sentences = [*_surroundings(here), *_gap_of_physics(here)]
        result |= {Problem(here.node.line, sentence, world.file) for sentence in sentences}
    return sorted(result)


def _table_errors(node: Node) -> Iterator[str]:
    """Check the fields of a node against the limits of the schema table."""
    for key, (low, high, words, *hints) in rules("ranges", node.type).items():
        held = value(node, key)
        parts = vector(node, key) if isinstance(held, tuple) else (number(node, key),)
        if not all(low <= part <= high for part in parts):
            expected = words if len(parts) == 1 else words.replace("a number", "numbers")
            actual = " ".join(f"{part:g}" for part in parts)
            hint = "".join(f"; {text}" for text in hints)
            yield f"{node.type}.{key}: expected {expected}, found {actual}{hint}"
    for key, (low, high, words) in rules("counts", node.type).items():
        items = value(node, key)
        count = len(items) if isinstance(items, list) else 0
        if not low <= count <= high:
            yield f"{node.type}.{key}: expected {words}, found {count}"
    for key in rules("required", node.type):
        if node.node(key) is None:
            yield f"{node.type}.{key}: expected a node, found none"
    for key in rules("directions", node.type):
        if not any(vector(node, key)):
            yield f"{node.type}.{key}: expected a direction, found 0 0 0"
    for low_key, high_key in rules("ascending", node.type).items():
        lowest, highest = number(node, low_key), number(node, high_key)
        if lowest > highest:
            expected = f"at most {high_key} ({highest:g})"
            yield f"{node.type}.{low_key}: expected {expected}, found {lowest:g}"


# Checks of single nodes


def _contact_properties(node: Node) -> Iterator[str]:
    for friction in numbers(node, "coulombFriction"):
        if friction < 0 and friction != -1:
            yield (
                "ContactProperties.coulombFriction: expected at least 0, or -1 (infinite), found "
                f"{friction:g}"
            )


def _physics(node: Node) -> Iterator[str]:
    """Check that a Physics node has a density or a mass, and a possible inertia."""
    density, mass = number(node, "density"), number(node, "mass")
    if not ((density > 0 and mass == UNSET) or (density == UNSET and mass > 0)):
        yield (
            "Physics: expected a density above 0 or a mass above 0, and -1 for the other one, "
            f"found density {density:g} and mass {mass:g}"
        )
    inertia, centers = vectors(node, "inertiaMatrix"), len(vectors(node, "centerOfMass"))
    if len(inertia) == 1:
        yield "Physics.inertiaMatrix: expected 2 vectors or none, found 1"
    if centers > 1 or (inertia and not centers):
        expected = "1 vector beside an inertiaMatrix" if inertia else "1 vector or none"
        yield f"Physics.centerOfMass: expected {expected}, found {centers}"
    if inertia and mass <= 0:
        yield f"Physics.mass: expected it beside an inertiaMatrix, found {mass:g}"
    if len(inertia) == 2:
        low, middle, high = np.linalg.eigvalsh(symmetric(*inertia)).tolist()
        actual = f"{low:.6g}, {middle:.6g} and {high:.6g}"
        where = "Physics.inertiaMatrix: expected"
        if low <= 0:
            yield f"{where} principal moments above 0, found {actual}"
        elif high > (low + middle) * (1 + ROUNDING):
            yield f"{where} no principal moment above the sum of the others, found {actual}"


def _faces(node: Node) -> Iterator[str]:
    """Check that faces refer to existing points, have at least three, and end with -1."""
    coordinate, indices = node.node("coord"), integers(node, "coordIndex")
    count = len(vectors(coordinate, "point")) if coordinate is not None else 0
    faces = " ".join(map(str, indices)).split("-1")
    if not faces[-1].strip():
        faces.pop()
    short = any(len(face.split()) < 3 for face in faces)
    outside = any(not -1 <= index < count for index in indices)
    if coordinate is not None and (not indices or short or outside):
        yield (
            "IndexedFaceSet.coordIndex: expected faces of at least 3 of the points 0 to "
            f"{count - 1}, separated by -1"
        )


def _touch_sensor(node: Node) -> Iterator[str]:
    """Check that a force sensor has physics and an empty lookup table (default: ×10)."""
    if text(node, "type") not in FORCE_SENSORS:
        return
    if node.node("physics") is None:
        yield "TouchSensor.physics: expected a node in a force sensor, found none"
    rows = len(vectors(node, "lookupTable"))
    if rows:
        actual = f"{rows} rows" if "lookupTable" in node.fields else "the default"
        yield (
            f"TouchSensor.lookupTable: expected [] (newtons), found {actual}, which scales and "
            "clips forces"
        )


def _joint(node: Node) -> Iterator[str]:
    """Check that a motor moves a solid with physics; instances of PROTO files may have it."""
    end = node.node("endPoint")
    motors = any(device.type in MOTORS for device in node.nodes("device"))
    if motors and end is not None and end.type in SOLIDS and end.node("physics") is None:
        name = text(end, "name")
        yield f"{node.type}: expected physics of '{name}', which a motor moves, found none"


def _time_step(step: float, min_step: float) -> Iterator[str]:
    """Check that the basic time step is a whole number of milliseconds, as controllers need."""
    expected = ""
    if step < min_step:
        expected = f"at least {min_step:g} (ms)"
    elif min_step and step != round(step):
        expected = "whole milliseconds, in which controllers step"
    if expected:
        yield f"WorldInfo.basicTimeStep: expected {expected}, found {step:g}"


NODE_CHECKS: dict[str, Callable[[Node], Iterator[str]]] = {
    "ContactProperties": _contact_properties,
    **dict.fromkeys(JOINTS, _joint),
    "Physics": _physics,
    "IndexedFaceSet": _faces,
    "TouchSensor": _touch_sensor,
}
"""Checks by the type of a node."""


# Checks of nodes together


def _head(world: World) -> Iterator[tuple[int, str]]:
    """Check that a world begins with its only WorldInfo, then its only Viewpoint."""
    for index, (node_type, rank) in enumerate((("WorldInfo", "first"), ("Viewpoint", "second"))):
        node = world.nodes[index] if index < len(world.nodes) else None
        if node is None or node.type != node_type:
            line, actual = (0, "none") if node is None else (node.line, f"a {node.type}")
            yield line, f"expected a {node_type} as the {rank} node, found {actual}"
    for node_type in ("WorldInfo", "Viewpoint", "Background"):
        for node in list(world.of_type(node_type))[1:]:
            yield node.line, f"expected one {node_type}, found another"


def _hides(node: Node) -> bool:
    """Return whether a node is opaque, so that what it puts around its children is unknown."""
    return node.type not in node_types()


class _Location(NamedTuple):
    """A node with its field and its ancestors, the parent last."""

    node: Node
    key: str
    around: tuple[Node, ...]


def _locations(world: World) -> Iterator[_Location]:
    """Return the locations of all nodes; a node that is reused has several."""
    waiting = [_Location(node, "", ()) for node in reversed(world.nodes)]
    while waiting:
        here = waiting.pop()
        yield here
        around = (*here.around, here.node)
        waiting += [
            _Location(node, key, around) for key, node in reversed(list(list_held_nodes(here.node)))
        ]


def _surroundings(here: _Location) -> Iterator[str]:
    """Check that a node has the ancestor that it requires.

    A force sensor at the end of a joint reads 0 (cyberbotics/webots issue 6563).
    """
    node = here.node
    for types, outer, words in SURROUNDED:
        # an opaque node may be one of the outer ones
        if node.type in types and not any(n.type in outer or _hides(n) for n in here.around):
            name = f" '{text(node, 'name')}'" if node.type in DEVICES else ""
            yield f"expected {words} around the {node.type}{name}, found none"
    is_force_sensor = node.type == "TouchSensor" and text(node, "type") in FORCE_SENSORS
    if is_force_sensor and here.key == "endPoint":
        yield (
            f"expected a solid that has force sensor '{text(node, 'name')}' among its children, "
            "found an endPoint; it would read 0"
        )


def _gap_of_physics(here: _Location) -> Iterator[str]:
    """Check that a solid with physics is not in one without that is in one with physics."""
    if here.node.type not in SOLIDS or here.node.node("physics") is None:
        return
    known = takewhile(lambda node: not _hides(node), reversed(here.around))
    has_physics = [node.node("physics") is not None for node in known if node.type in SOLIDS]
    if any(has_physics) and not has_physics[0]:
        name = text(here.node, "name")
        yield f"expected physics of the solid around '{name}', as that around it has it, found none"


# Properties of a world


def world_properties(file: str) -> tuple[dict[str, Any], list[str]]:
    """Return version, time step, numbers of nodes and problems of a world file.

    Raises:
        DescriptionError: There is no such file, or it cannot be read as a world.
    """
    if not Path(file).is_file():
        raise DescriptionError(f"{file}: expected a Webots world, found no such file")
    world = read_world(Path(file))
    counts = Counter(node.type for node in world.walk())
    info = next((node for node in world.nodes if node.type == "WorldInfo"), None)
    properties: dict[str, Any] = {
        "name": "" if info is None else value(info, "title"),
        "version": world.version,
        "timestep_ms": None if info is None else value(info, "basicTimeStep"),
        "solids": counts["Solid"],
        "joints": counts["HingeJoint"] + counts["SliderJoint"],
        "motors": counts["RotationalMotor"] + counts["LinearMotor"],
        "touch_sensors": counts["TouchSensor"],
        "protos": len(world.externprotos),
        "opaque_nodes": dict(sorted(Counter(node.type for node in world.opaque()).items())),
        "notes": world.notes,
    }
    return properties, [f"line {problem.line}: {problem.sentence}" for problem in problems(world)]
