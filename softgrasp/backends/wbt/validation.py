"""All rules together, and what they find in a world."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TypeAlias

import numpy as np

from softgrasp.backends.wbt.parser import (
    DEVICES,
    JOINTS,
    SOLIDS,
    NodeLocation,
    World,
    integers,
    node_locations,
    number,
    numbers,
    read_world,
    solids,
    text,
    texts,
    vector,
    vectors,
)
from softgrasp.backends.wbt.schema import Node, Numbers, allowed, default, slot, value
from softgrasp.description.base import either
from softgrasp.errors import did_you_mean

# --------------------
# What Webots asks of a world beyond its format, one small function a rule.


__all__ = ["RULES", "Problem", "check_world", "problems"]


# --------------------
# What a rule says: about which node, and what was expected and found.


Complaint: TypeAlias = tuple[Node | None, str]
"""The node, or None where there is none to name, and one sentence."""
Rule: TypeAlias = Callable[[World], Iterator[Complaint]]


def of_type(world: World, *types: str) -> Iterator[Node]:
    """All nodes of these types, each once."""
    return (node for node in world.walk() if node.type in types)


def above(node: Node, keys: Iterable[str], minimum: float = 0.0) -> Iterator[Complaint]:
    """Complain of numbers that are below the least."""
    for key in keys:
        if number(node, key) < minimum:
            text = f"{number(node, key):g}"
            yield node, f"{node.type}.{key}: expected at least {minimum:g}, found {text}"


def since(node: Node) -> str:
    """Where the first of two stands, in brackets; empty where it was not read from a text."""
    return f" (the first is in line {node.line})" if node.line else ""


# --------------------
# Rules of materials and of what happens where two of them touch.


MAX_FRICTIONS = 4
_MATERIALS = ("material1", "material2")
_JOINTS_SINCE = "R2023b"


def pairs_of_materials_are_unique(world: World) -> Iterator[Complaint]:
    """Two materials have at most one ContactProperties, in whichever order they are named."""
    seen: dict[frozenset[str], Node] = {}
    for node in of_type(world, "ContactProperties"):
        names = [text(node, key) for key in _MATERIALS]
        first = seen.setdefault(frozenset(names), node)
        if first is not node:
            pair = f"'{names[0]}' and '{names[1]}'"
            yield node, f"expected one ContactProperties of {pair}, found another{since(first)}"


def materials_are_worn(world: World) -> Iterator[Complaint]:
    """A material of ContactProperties is that of some solid."""
    worn = {text(solid, "contactMaterial") for solid in of_type(world, *SOLIDS)}
    worn.add(str(default("Solid", "contactMaterial")))
    for node in of_type(world, "ContactProperties"):
        for key in _MATERIALS:
            name = text(node, key)
            if name not in worn:
                hint = did_you_mean(name, worn)
                yield node, f"ContactProperties.{key}: no solid has material '{name}'; {hint}"


def contact_numbers_make_sense(world: World) -> Iterator[Complaint]:
    """Restitution and ERP are fractions, softness is above 0, friction is not negative."""
    for node in of_type(world, "ContactProperties"):
        for key in ("bounce", "softERP"):
            if not 0 <= number(node, key) <= 1:
                text = f"{number(node, key):g}"
                yield node, f"ContactProperties.{key}: expected 0 to 1, found {text}"
        if number(node, "softCFM") <= 0:
            text = f"{number(node, 'softCFM'):g}"
            yield node, f"ContactProperties.softCFM: expected a number above 0, found {text}"
        yield from above(node, ["bounceVelocity"])


def bounces_are_stated(world: World) -> Iterator[Complaint]:
    """A contact that says nothing of it bounces with half of its speed."""
    for node in of_type(world, "ContactProperties"):
        if "bounce" not in node.fields:
            yield node, "ContactProperties.bounce: expected a number, found none: Webots takes 0.5"


def frictions_make_sense(world: World) -> Iterator[Complaint]:
    """One to four coefficients of friction, each at least 0, or -1 for infinite."""
    for node in of_type(world, "ContactProperties"):
        coefficients = numbers(node, "coulombFriction")
        where = "ContactProperties.coulombFriction"
        if not 1 <= len(coefficients) <= MAX_FRICTIONS:
            yield node, f"{where}: expected 1 to {MAX_FRICTIONS} numbers, found {len(coefficients)}"
        for friction in coefficients:
            if friction < 0 and friction != -1:
                yield node, f"{where}: expected at least 0, or -1 (infinite), found {friction:g}"


def old_versions_know_no_contact_joints(world: World) -> Iterator[Complaint]:
    """ContactProperties.maxContactJoints came with R2023b."""
    if world.version >= _JOINTS_SINCE:
        return
    for node in of_type(world, "ContactProperties"):
        if "maxContactJoints" in node.fields:
            yield (
                node,
                f"ContactProperties.maxContactJoints: expected Webots {_JOINTS_SINCE} or newer, "
                f"found {world.version}",
            )


# --------------------
# Rules of what every world begins with: WorldInfo and Viewpoint.


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


# --------------------
# Rules of joints: their parts, positions, stops and motors.


PARAMETERS = ("HingeJointParameters", "JointParameters")
MOTORS = {"RotationalMotor": "maxTorque", "LinearMotor": "maxForce"}
_KINDS = {"RotationalMotor": "motor", "LinearMotor": "motor"}


def joints_are_whole(world: World) -> Iterator[Complaint]:
    """A joint has parameters and an end."""
    for joint in of_type(world, *JOINTS):
        for key in ("jointParameters", "endPoint"):
            if joint.node(key) is None:
                yield joint, f"{joint.type}.{key}: expected a node, found none"


def joints_have_one_device_a_kind(world: World) -> Iterator[Complaint]:
    """A joint has at most one motor, one sensor and one brake."""
    for joint in of_type(world, *JOINTS):
        counts = Counter(_KINDS.get(node.type, node.type) for node in joint.nodes("device"))
        for kind, count in counts.items():
            if count > 1:
                yield joint, f"{joint.type}.device: expected one {kind}, found {count}"


def driven_solids_have_physics(world: World) -> Iterator[Complaint]:
    """What a motor drives has physics; else the motor would move it without a force."""
    for joint in of_type(world, *JOINTS):
        end = joint.node("endPoint")
        is_driven = any(node.type in MOTORS for node in joint.nodes("device"))
        if is_driven and end is not None and end.node("physics") is None:
            name = text(end, "name")
            yield end, f"expected physics of '{name}', which a motor drives, found none"


def joint_numbers_make_sense(world: World) -> Iterator[Complaint]:
    """Axes point somewhere; springs, dampers and frictions are not negative."""
    for node in of_type(world, *PARAMETERS):
        if not any(vector(node, "axis")):
            yield node, f"{node.type}.axis: expected a direction, found 0 0 0"
        yield from above(node, ["springConstant", "dampingConstant", "staticFriction"])
    for node in of_type(world, *MOTORS):
        yield from above(node, [MOTORS[node.type], "maxVelocity"])


def positions_are_stated_once(world: World) -> Iterator[Complaint]:
    """The hidden position of a joint is the one of its parameters."""
    for joint in of_type(world, *JOINTS):
        parameters = joint.node("jointParameters")
        if "position" not in joint.fields or parameters is None:
            continue
        hidden, stated = number(joint, "position"), number(parameters, "position")
        if hidden != stated:
            where = f"{joint.type}.position"
            yield (
                joint,
                f"{where}: expected jointParameters.position ({stated:g}), found {hidden:g}",
            )


def positions_are_in_the_pose(world: World) -> Iterator[Complaint]:
    """The pose in the file is the one at jointParameters.position, not the one at 0.

    Only the plain case can be seen in the text: an end that is not turned at all.
    """
    for joint in of_type(world, "HingeJoint"):
        parameters, end = joint.node("jointParameters"), joint.node("endPoint")
        if parameters is None or end is None:
            continue
        position = number(parameters, "position")
        if _is_rotated(position) and not _is_rotated(vector(end, "rotation")[3]):
            yield (
                parameters,
                f"HingeJointParameters.position: expected an endPoint that is turned by it "
                f"({position:g} rad), found one that is not turned",
            )


def stops_are_around_zero(world: World) -> Iterator[Complaint]:
    """Stops of a hinge are in [-π, 0] and [0, π], others in order; 0 and 0 are no stops."""
    for node in of_type(world, *PARAMETERS):
        low, high = _range(node, "Stop")
        if node.type == "JointParameters":
            if low > high:
                text = f"{low:g}"
                yield (
                    node,
                    f"{node.type}.minStop: expected at most maxStop ({high:g}), found {text}",
                )
            continue
        if not -math.pi <= low <= 0:
            yield node, f"{node.type}.minStop: expected -pi to 0, found {low:g}"
        if not 0 <= high <= math.pi:
            yield node, f"{node.type}.maxStop: expected 0 to pi, found {high:g}"


def motors_stay_between_the_stops(world: World) -> Iterator[Complaint]:
    """The range of a motor is in order and within the stops of its joint."""
    for joint in of_type(world, *JOINTS):
        parameters = joint.node("jointParameters")
        for motor in joint.nodes("device"):
            if motor.type in MOTORS:
                yield from _motor_range(motor, parameters)


def _motor_range(motor: Node, parameters: Node | None) -> Iterator[Complaint]:
    low, high = _range(motor, "Position")
    if low == high == 0:
        return
    if low > high:
        yield (
            motor,
            f"{motor.type}.minPosition: expected at most maxPosition ({high:g}), found {low:g}",
        )
    low_stop, high_stop = (0.0, 0.0) if parameters is None else _range(parameters, "Stop")
    if low_stop == high_stop == 0:
        return
    if low < low_stop:
        yield (
            motor,
            f"{motor.type}.minPosition: expected at least minStop ({low_stop:g}), found {low:g}",
        )
    if high > high_stop:
        yield (
            motor,
            f"{motor.type}.maxPosition: expected at most maxStop ({high_stop:g}), found {high:g}",
        )


def _range(node: Node, what: str) -> tuple[float, float]:
    return number(node, f"min{what}"), number(node, f"max{what}")


def _is_rotated(angle: float) -> bool:
    return math.remainder(angle, 2 * math.pi) != 0


# --------------------
# Rules of masses and inertias.


UNSET = -1.0
"""What density and mass are where they are not given."""
SLACK = 1e-6
"""By how much, relatively, moments of inertia may fail: files often hold seven digits."""


def masses_are_stated_once(world: World) -> Iterator[Complaint]:
    """Physics has a density or a mass, and the other one is -1."""
    for node in of_type(world, "Physics"):
        density, mass = number(node, "density"), number(node, "mass")
        by_density, by_mass = density > 0 and mass == UNSET, density == UNSET and mass > 0
        if not by_density and not by_mass:
            yield (
                node,
                "Physics: expected a density above 0 or a mass above 0, and -1 for the other one, "
                f"found density {density:g} and mass {mass:g}",
            )


def inertias_are_whole(world: World) -> Iterator[Complaint]:
    """An inertia has two vectors, and comes with a mass and its centre."""
    for node in of_type(world, "Physics"):
        inertia, centers = vectors(node, "inertiaMatrix"), vectors(node, "centerOfMass")
        if len(inertia) not in (0, 2):
            yield node, f"Physics.inertiaMatrix: expected 2 vectors or none, found {len(inertia)}"
        allowed_counts = (1,) if inertia else (0, 1)
        if len(centers) not in allowed_counts:
            words = "1 vector beside an inertiaMatrix" if inertia else "1 vector or none"
            yield node, f"Physics.centerOfMass: expected {words}, found {len(centers)}"
        if inertia and number(node, "mass") <= 0:
            text = f"{number(node, 'mass'):g}"
            yield node, f"Physics.mass: expected it beside an inertiaMatrix, found {text}"


def inertias_belong_to_bodies(world: World) -> Iterator[Complaint]:
    """Principal moments are above 0, and none is larger than the other two together."""
    for node in of_type(world, "Physics"):
        inertia = vectors(node, "inertiaMatrix")
        if len(inertia) == 2:
            yield from _moments(node, *inertia)


def damping_is_a_fraction(world: World) -> Iterator[Complaint]:
    """Damping of a body is from 0 to 1."""
    for node in of_type(world, "Damping"):
        for key in ("linear", "angular"):
            if not 0 <= number(node, key) <= 1:
                yield node, f"Damping.{key}: expected 0 to 1, found {number(node, key):g}"


def _moments(node: Node, moments: Numbers, products: Numbers) -> Iterator[Complaint]:
    (xx, yy, zz), (xy, xz, yz) = moments, products
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    low, middle, high = map(float, principal)
    text = f"{low:.6g}, {middle:.6g} and {high:.6g}"
    if low <= 0:
        yield node, f"Physics.inertiaMatrix: expected principal moments above 0, found {text}"
    elif high > (low + middle) * (1 + SLACK):
        yield (
            node,
            "Physics.inertiaMatrix: expected no principal moment above the sum of the others, "
            f"found {text}",
        )


# --------------------
# Rules of geometries: sizes, mesh files, faces.


MESH_SUFFIXES = (".dae", ".obj", ".stl")
MAX_POINTS = 100_000
"""Of a mesh; Webots warns of larger ones."""
SIZES = {
    "Box": ("size",),
    "Sphere": ("radius",),
    "Cylinder": ("height", "radius"),
    "Capsule": ("height", "radius"),
    "Cone": ("height", "bottomRadius"),
    "Plane": ("size",),
}


def sizes_are_positive(world: World) -> Iterator[Complaint]:
    """All sizes of a geometry are above 0."""
    for node in of_type(world, *SIZES):
        for key in SIZES[node.type]:
            size = value(node, key)
            parts = size if isinstance(size, tuple) else (size,)
            if any(isinstance(part, float) and part <= 0 for part in parts):
                text = " ".join(f"{part:g}" for part in parts)
                words = "numbers" if isinstance(size, tuple) else "a number"
                yield node, f"{node.type}.{key}: expected {words} above 0, found {text}"


def mesh_files_travel(world: World) -> Iterator[Complaint]:
    """A mesh names one file of a kind that Webots reads, by its way from the world's file."""
    for node in of_type(world, "Mesh"):
        names = texts(node, "url")
        if len(names) != 1:
            yield node, f"Mesh.url: expected one file, found {len(names)}"
        for name in names:
            if PurePosixPath(name).suffix.lower() not in MESH_SUFFIXES:
                yield node, f"Mesh.url: expected a {either(MESH_SUFFIXES)} file, found '{name}'"
            if PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute():
                yield node, f"Mesh.url: expected a path relative to the world, found '{name}'"


def faces_have_points(world: World) -> Iterator[Complaint]:
    """Faces name points that exist, at least three each, and end with -1."""
    for node in of_type(world, "IndexedFaceSet"):
        coordinate = node.node("coord")
        if coordinate is None:
            yield node, "IndexedFaceSet.coord: expected a Coordinate, found none"
            continue
        sentence = _wrong_faces(integers(node, "coordIndex"), len(vectors(coordinate, "point")))
        if sentence:
            yield node, f"IndexedFaceSet.coordIndex: {sentence}"


def meshes_are_small(world: World) -> Iterator[Complaint]:
    """A mesh has no more points than Webots takes without a warning."""
    for node in of_type(world, "Coordinate"):
        count = len(vectors(node, "point"))
        if count > MAX_POINTS:
            yield node, f"Coordinate.point: expected at most {MAX_POINTS} points, found {count}"


def _wrong_faces(indices: list[int], count: int) -> str:
    """What is wrong with the faces; empty where nothing is."""
    if not indices:
        return "expected faces, found none"
    if indices[-1] != -1:
        return f"expected -1 at the end of the last face, found {indices[-1]}"
    corners = 0
    for index in indices:
        if index == -1:
            if corners < 3:
                return f"expected faces of at least 3 points, found one of {corners}"
            corners = 0
            continue
        if not 0 <= index < count:
            return f"expected 0 to {count - 1} or -1, found {index}"
        corners += 1
    return ""


# --------------------
# Rules of touch sensors.


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


# --------------------
# Rules of what stands inside what: solids, joints, devices, names.


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


RULES: tuple[tuple[str, Rule], ...] = (
    ("head", begins_with_info_and_view),
    ("head", has_one_info_and_view),
    ("gravity", gravity_is_no_direction),
    ("timestep", step_is_long_enough),
    ("sleep", springs_stay_awake),
    ("contact", pairs_of_materials_are_unique),
    ("contact", contact_numbers_make_sense),
    ("contact", bounces_are_stated),
    ("contact", frictions_make_sense),
    ("material", materials_are_worn),
    ("version", old_versions_know_no_contact_joints),
    ("place", nodes_stand_where_they_may),
    ("place", poses_of_bounds_are_flat),
    ("place", transforms_hold_appearance_only),
    ("place", devices_have_a_robot),
    ("place", joints_have_a_solid),
    ("name", siblings_have_unique_names),
    ("name", devices_have_unique_names),
    ("controller", robots_have_a_controller),
    ("physics", physics_has_no_gap),
    ("physics", driven_solids_have_physics),
    ("joint", joints_are_whole),
    ("joint", joints_have_one_device_a_kind),
    ("joint", joint_numbers_make_sense),
    ("position", positions_are_stated_once),
    ("position", positions_are_in_the_pose),
    ("stop", stops_are_around_zero),
    ("stop", motors_stay_between_the_stops),
    ("mass", masses_are_stated_once),
    ("mass", inertias_are_whole),
    ("mass", inertias_belong_to_bodies),
    ("mass", damping_is_a_fraction),
    ("size", sizes_are_positive),
    ("mesh", mesh_files_travel),
    ("mesh", faces_have_points),
    ("mesh", meshes_are_small),
    ("touch", sensors_can_be_touched),
    ("touch", force_sensors_are_children),
    ("touch", force_sensors_read_newtons),
)
"""Kinds of problems, by which a caller leaves some out, and the rules that find them."""


@dataclass(frozen=True, order=True, slots=True)
class Problem:
    """Something that Webots would refuse, warn of, or silently do otherwise than it looks.

    Attributes:
        line: Of the node in the file; 0 where it was made in code.
        sentence: What was expected and what was found.
        kind: One of the words in ``RULES``, such as ``timestep``.
        file: Of the world.
    """

    line: int
    sentence: str
    kind: str
    file: Path

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.sentence}"


def problems(world: World) -> list[Problem]:
    """What is wrong with a world beyond its format, by line; empty where nothing is."""
    return sorted(
        Problem(0 if node is None else node.line, sentence, kind, world.file)
        for kind, rule in RULES
        for node, sentence in rule(world)
    )


def check_world(path: str | Path) -> list[Problem]:
    """Read a world from a file and say what is wrong with it.

    Raises:
        DescriptionError: As ``read_world`` raises it.
    """
    return problems(read_world(path))
