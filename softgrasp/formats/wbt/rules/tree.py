"""Rules of what stands inside what: solids, joints, devices, names."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.description.problems import either
from softgrasp.formats.wbt.access import text
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.places import (
    DEVICES,
    JOINTS,
    SOLIDS,
    NodeLocation,
    node_locations,
    solids,
)
from softgrasp.formats.wbt.rules.complaint import Complaint, of_type, since
from softgrasp.formats.wbt.schema import allowed, slot
from softgrasp.formats.wbt.world import World

_ROBOT = ("Robot",)
_NOT_APPEARANCE = (*SOLIDS, *JOINTS, "DirectionalLight", "PointLight", "SpotLight")


def nodes_stand_where_they_may(world: World) -> Iterator[Complaint]:
    """Every node is in a field that takes it: also where it is used again, or was made in code."""
    reported: set[int] = set()
    for location in node_locations(world):
        outer = location.outer
        if outer is None:
            allowed_types, where = slot("world"), ""
        else:
            allowed_types = allowed(outer.node.type, location.key, bounding=outer.bounding)
            where = f"{outer.node.type}.{location.key}: "
        if location.node.type not in allowed_types and id(location.node) not in reported:
            reported.add(id(location.node))
            inside = " of a boundingObject" if outer is not None and outer.bounding else ""
            yield (
                location.node,
                f"{where}expected {either(allowed_types)}{inside}, found {location.node.type}",
            )


def poses_of_bounds_are_flat(world: World) -> Iterator[Complaint]:
    """In a boundingObject no Pose stands in a Pose."""
    for location in node_locations(world):
        outer = location.outer
        if outer is not None and outer.bounding and location.node.type == outer.node.type == "Pose":
            yield location.node, "expected no Pose inside a Pose of a boundingObject, found one"


def transforms_hold_appearance_only(world: World) -> Iterator[Complaint]:
    """Nothing that moves, touches or shines stands below a Transform."""
    for location in node_locations(world):
        transform = location.nearest(("Transform",))
        if transform is not None and location.node.type in _NOT_APPEARANCE:
            yield (
                location.node,
                f"expected only looks below a Transform, found a {location.node.type}",
            )


def physics_has_no_gap(world: World) -> Iterator[Complaint]:
    """A solid between two solids with physics has physics too."""
    gaps: dict[int, NodeLocation] = {}
    for location in solids(world):
        if location.node.node("physics") is None:
            continue
        between: list[NodeLocation] = []
        for outer in location.around():
            if outer.node.type not in SOLIDS:
                continue
            if outer.node.node("physics") is not None:
                gaps |= {id(gap.node): gap for gap in between}
                break
            between.append(outer)
    for gap in gaps.values():
        name = text(gap.node, "name")
        yield gap.node, f"expected physics of '{name}', which is between solids with it, found none"


def siblings_have_unique_names(world: World) -> Iterator[Complaint]:
    """Solids inside the same solid, or at the top of the world, differ in name."""
    seen: dict[tuple[int, str], Node] = {}
    for location in solids(world):
        outer, name = location.nearest(SOLIDS), text(location.node, "name")
        first = seen.setdefault((0 if outer is None else id(outer.node), name), location.node)
        if first is not location.node:
            around = "the world" if outer is None else f"'{text(outer.node, 'name')}'"
            yield (
                location.node,
                f"expected another name than '{name}', which a solid of {around} has already"
                f"{since(first)}",
            )


def devices_have_unique_names(world: World) -> Iterator[Complaint]:
    """Devices of a robot differ in name: a controller finds them by it."""
    seen: dict[tuple[int, str], Node] = {}
    for location in _devices(world):
        robot, name = location.nearest(_ROBOT), text(location.node, "name")
        if robot is None:
            continue
        first = seen.setdefault((id(robot.node), name), location.node)
        if first is not location.node:
            owner = text(robot.node, "name")
            yield (
                location.node,
                f"expected another name than '{name}', which a device of robot '{owner}' has "
                f"already{since(first)}",
            )


def devices_have_a_robot(world: World) -> Iterator[Complaint]:
    """Devices belong to a robot."""
    for location in _devices(world):
        if location.nearest(_ROBOT) is None:
            name = text(location.node, "name")
            yield (
                location.node,
                f"expected a Robot around the {location.node.type} '{name}', found none",
            )


def joints_have_a_solid(world: World) -> Iterator[Complaint]:
    """Joints are inside a solid."""
    for location in node_locations(world):
        if location.node.type in JOINTS and location.nearest(SOLIDS) is None:
            yield location.node, f"expected a solid around the {location.node.type}, found none"


def robots_have_a_controller(world: World) -> Iterator[Complaint]:
    """A robot says who controls it."""
    for robot in of_type(world, *_ROBOT):
        if not text(robot, "controller"):
            yield (
                robot,
                'Robot.controller: expected a controller, "<none>" or "<extern>", found ""',
            )


def _devices(world: World) -> Iterator[NodeLocation]:
    return (location for location in node_locations(world) if location.node.type in DEVICES)
