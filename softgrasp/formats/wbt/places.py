"""Where nodes stand in a world: what is around them, and in which field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from softgrasp.formats.wbt.access import held_nodes
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.world import World

SOLIDS = ("Solid", "Robot", "TouchSensor")
"""Types of nodes that are solids."""
JOINTS = ("HingeJoint", "SliderJoint")
"""Types of nodes that are joints."""
DEVICES = ("RotationalMotor", "LinearMotor", "PositionSensor", "Brake", "TouchSensor")
"""Types of nodes that a controller finds by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeLocation:
    """One place of a node; a node that is used again stands in several.

    Attributes:
        node: The node.
        key: The field that holds it; empty at the top of the world.
        outer: The place of the node that has this field; None at the top.
        bounding: Whether it is part of a boundingObject.
    """

    node: Node
    key: str = ""
    outer: NodeLocation | None = None
    bounding: bool = False

    def around(self) -> Iterator[NodeLocation]:
        """The places around this one, the nearest first."""
        location = self.outer
        while location is not None:
            yield location
            location = location.outer

    def nearest(self, types: tuple[str, ...]) -> NodeLocation | None:
        """The nearest place around this one with a node of one of these types."""
        return next((location for location in self.around() if location.node.type in types), None)


def node_locations(world: World) -> Iterator[NodeLocation]:
    """The places of all nodes, outer ones before inner ones, in the order of the text."""
    waiting = [NodeLocation(node) for node in reversed(world.nodes)]
    while waiting:
        location = waiting.pop()
        yield location
        inner = [
            NodeLocation(node, key, location, location.bounding or key == "boundingObject")
            for key, node in held_nodes(location.node)
        ]
        waiting.extend(reversed(inner))


def solids(world: World) -> Iterator[NodeLocation]:
    """The places of all solids."""
    return (location for location in node_locations(world) if location.node.type in SOLIDS)
