"""Rules of what stands inside what: solids, joints, devices, names."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.description.problems import either
from softgrasp.formats.wbt.access import text
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.places import DEVICES, JOINTS, SOLIDS, Place, places, solids
from softgrasp.formats.wbt.rules.complaint import Complaint, of_type, since
from softgrasp.formats.wbt.schema import allowed, slot
from softgrasp.formats.wbt.world import World

_ROBOT = ("Robot",)
_NO_LOOKS = (*SOLIDS, *JOINTS, "DirectionalLight", "PointLight", "SpotLight")


def nodes_stand_where_they_may(world: World) -> Iterator[Complaint]:
    """Every node is in a field that takes it: also where it is used again, or was made in code."""
    told: set[int] = set()
    for place in places(world):
        outer = place.outer
        if outer is None:
            wanted, where = slot("world"), ""
        else:
            wanted = allowed(outer.node.type, place.key, bounding=outer.bounding)
            where = f"{outer.node.type}.{place.key}: "
        if place.node.type not in wanted and id(place.node) not in told:
            told.add(id(place.node))
            inside = " of a boundingObject" if outer is not None and outer.bounding else ""
            yield place.node, f"{where}expected {either(wanted)}{inside}, found {place.node.type}"


def poses_of_bounds_are_flat(world: World) -> Iterator[Complaint]:
    """In a boundingObject no Pose stands in a Pose."""
    for place in places(world):
        outer = place.outer
        if outer is not None and outer.bounding and place.node.type == outer.node.type == "Pose":
            yield place.node, "expected no Pose inside a Pose of a boundingObject, found one"


def transforms_hold_looks_only(world: World) -> Iterator[Complaint]:
    """Nothing that moves, touches or shines stands below a Transform."""
    for place in places(world):
        transform = place.nearest(("Transform",))
        if transform is not None and place.node.type in _NO_LOOKS:
            yield place.node, f"expected only looks below a Transform, found a {place.node.type}"


def physics_has_no_gap(world: World) -> Iterator[Complaint]:
    """A solid between two solids with physics has physics too."""
    gaps: dict[int, Place] = {}
    for place in solids(world):
        if place.node.node("physics") is None:
            continue
        between: list[Place] = []
        for outer in place.around():
            if outer.node.type not in SOLIDS:
                continue
            if outer.node.node("physics") is not None:
                gaps |= {id(gap.node): gap for gap in between}
                break
            between.append(outer)
    for gap in gaps.values():
        name = text(gap.node, "name")
        yield gap.node, f"expected physics of '{name}', which is between solids with it, found none"


def siblings_have_names_of_their_own(world: World) -> Iterator[Complaint]:
    """Solids inside the same solid, or at the top of the world, differ in name."""
    seen: dict[tuple[int, str], Node] = {}
    for place in solids(world):
        outer, name = place.nearest(SOLIDS), text(place.node, "name")
        first = seen.setdefault((0 if outer is None else id(outer.node), name), place.node)
        if first is not place.node:
            around = "the world" if outer is None else f"'{text(outer.node, 'name')}'"
            yield (
                place.node,
                f"expected another name than '{name}', which a solid of {around} has already"
                f"{since(first)}",
            )


def devices_have_names_of_their_own(world: World) -> Iterator[Complaint]:
    """Devices of a robot differ in name: a controller finds them by it."""
    seen: dict[tuple[int, str], Node] = {}
    for place in _devices(world):
        robot, name = place.nearest(_ROBOT), text(place.node, "name")
        if robot is None:
            continue
        first = seen.setdefault((id(robot.node), name), place.node)
        if first is not place.node:
            owner = text(robot.node, "name")
            yield (
                place.node,
                f"expected another name than '{name}', which a device of robot '{owner}' has "
                f"already{since(first)}",
            )


def devices_have_a_robot(world: World) -> Iterator[Complaint]:
    """Devices belong to a robot."""
    for place in _devices(world):
        if place.nearest(_ROBOT) is None:
            name = text(place.node, "name")
            yield place.node, f"expected a Robot around the {place.node.type} '{name}', found none"


def joints_have_a_solid(world: World) -> Iterator[Complaint]:
    """Joints are inside a solid."""
    for place in places(world):
        if place.node.type in JOINTS and place.nearest(SOLIDS) is None:
            yield place.node, f"expected a solid around the {place.node.type}, found none"


def robots_have_a_controller(world: World) -> Iterator[Complaint]:
    """A robot says who controls it."""
    for robot in of_type(world, *_ROBOT):
        if not text(robot, "controller"):
            yield (
                robot,
                'Robot.controller: expected a controller, "<none>" or "<extern>", found ""',
            )


def _devices(world: World) -> Iterator[Place]:
    return (place for place in places(world) if place.node.type in DEVICES)
