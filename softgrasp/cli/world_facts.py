"""What a Webots world is, in numbers, and what Webots would stumble over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp.errors import DescriptionError


def world_properties(file: str) -> tuple[dict[str, Any], list[str]]:
    """Version, time step and what stands in a world, and its problems.

    Args:
        file: The .wbt file.

    Raises:
        DescriptionError: It is not there, or cannot be read as a world.
    """
    from softgrasp.formats.wbt import problems, read_world, value

    if not Path(file).is_file():
        raise DescriptionError(f"{file}: expected a Webots world, found no such file")
    world = read_world(Path(file))
    counts: dict[str, int] = {}
    for node in world.walk():
        counts[node.type] = counts.get(node.type, 0) + 1
    info = next((node for node in world.nodes if node.type == "WorldInfo"), None)
    properties: dict[str, Any] = {
        "name": "" if info is None else value(info, "title"),
        "version": world.version,
        "timestep_ms": None if info is None else value(info, "basicTimeStep"),
        "solids": counts.get("Solid", 0),
        "joints": counts.get("HingeJoint", 0) + counts.get("SliderJoint", 0),
        "motors": counts.get("RotationalMotor", 0) + counts.get("LinearMotor", 0),
        "touch_sensors": counts.get("TouchSensor", 0),
    }
    return properties, [f"line {problem.line}: {problem.sentence}" for problem in problems(world)]
