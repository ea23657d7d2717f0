"""Rules of what every world begins with: WorldInfo and Viewpoint."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.formats.wbt.access import number
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.rules.complaint import Complaint, above, of_type
from softgrasp.formats.wbt.world import World

MIN_STEP = 1.0
"""Shortest basicTimeStep [ms] that Webots takes."""
_ORDER = (("WorldInfo", "first"), ("Viewpoint", "second"))
_THRESHOLDS = ("physicsDisableLinearThreshold", "physicsDisableAngularThreshold")


def begins_with_info_and_view(world: World) -> Iterator[Complaint]:
    """A world begins with its one WorldInfo, then its one Viewpoint."""
    for index, (node_type, which) in enumerate(_ORDER):
        there = world.nodes[index] if index < len(world.nodes) else None
        if there is None or there.type != node_type:
            text = "none" if there is None else f"a {there.type}"
            yield there, f"expected a {node_type} as the {which} node, found {text}"


def has_one_info_and_view(world: World) -> Iterator[Complaint]:
    """There is no second WorldInfo, Viewpoint or Background."""
    for node_type in ("WorldInfo", "Viewpoint", "Background"):
        for node in list(of_type(world, node_type))[1:]:
            yield node, f"expected one {node_type}, found another"


def gravity_is_no_direction(world: World) -> Iterator[Complaint]:
    """Gravity is a strength; it points down by the world's coordinate system."""
    for info in of_type(world, "WorldInfo"):
        yield from above(info, ["gravity"])


def step_is_long_enough(world: World) -> Iterator[Complaint]:
    """A basic time step is at least a millisecond, and a whole number of them for controllers."""
    for info in of_type(world, "WorldInfo"):
        step = number(info, "basicTimeStep")
        if step < MIN_STEP:
            yield info, f"WorldInfo.basicTimeStep: expected at least 1 (ms), found {step:g}"
        elif step != round(step):
            yield (
                info,
                "WorldInfo.basicTimeStep: expected whole milliseconds, in which controllers step, "
                f"found {step:g}",
            )


def springs_stay_awake(world: World) -> Iterator[Complaint]:
    """Webots stops bodies that are slower than both thresholds, springs under load too."""
    if not any(_has_spring(node) for node in world.walk()):
        return
    for info in of_type(world, "WorldInfo"):
        for key in _THRESHOLDS:
            if number(info, key) > 0:
                yield (
                    info,
                    f"WorldInfo.{key}: expected 0 in a world with springs, found "
                    f"{number(info, key):g}; Webots puts slow springs to sleep before they "
                    "have settled",
                )


def _has_spring(node: Node) -> bool:
    is_joint = node.type in ("HingeJointParameters", "JointParameters")
    return is_joint and number(node, "springConstant") > 0
