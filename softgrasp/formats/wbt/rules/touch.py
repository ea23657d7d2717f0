"""Rules of touch sensors."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.formats.wbt.access import text, vectors
from softgrasp.formats.wbt.places import SOLIDS, node_locations
from softgrasp.formats.wbt.rules.complaint import Complaint, of_type
from softgrasp.formats.wbt.world import World

FORCES = ("force", "force-3d")
"""Types of sensors that measure forces, not only touch."""


def sensors_can_be_touched(world: World) -> Iterator[Complaint]:
    """A touch sensor has a boundingObject; one of forces has physics too."""
    for node in of_type(world, "TouchSensor"):
        kind, name = text(node, "type"), text(node, "name")
        needed = ("boundingObject", "physics") if kind in FORCES else ("boundingObject",)
        for key in needed:
            if node.node(key) is None:
                yield node, f"TouchSensor.{key}: expected one of {kind} sensor '{name}', found none"


def force_sensors_are_children(world: World) -> Iterator[Complaint]:
    """A sensor of forces is a child of a solid; at the end of a joint it reads 0.

    Source: cyberbotics/webots issue 6563, open when this was written.
    """
    for location in node_locations(world):
        if location.node.type != "TouchSensor" or text(location.node, "type") not in FORCES:
            continue
        if location.key == "endPoint" or location.nearest(SOLIDS) is None:
            name = text(location.node, "name")
            received = "an endPoint" if location.key == "endPoint" else "none"
            yield (
                location.node,
                f"expected a solid that has force sensor '{name}' among its children, found "
                f"{received}; it would read 0",
            )


def force_sensors_read_newtons(world: World) -> Iterator[Complaint]:
    """The lookupTable of a sensor of forces is empty; the default gives ten times the force."""
    for node in of_type(world, "TouchSensor"):
        rows = len(vectors(node, "lookupTable"))
        if text(node, "type") in FORCES and rows:
            received = f"{rows} rows" if "lookupTable" in node.fields else "the default"
            yield (
                node,
                f"TouchSensor.lookupTable: expected [] (newtons), found {received}, which scales and "
                "clips forces",
            )
