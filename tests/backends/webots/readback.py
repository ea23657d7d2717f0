"""What the text of a world says: frames, masses and joints, read with numpy alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.backends.wbt import Node, parse_world, value

SOLIDS = ("Solid", "Robot", "TouchSensor")
JOINTS = ("HingeJoint", "SliderJoint")


@dataclass
class Part:
    """A solid, in the world: its frame, its mass with all that is merged into it."""

    name: str
    node: Node
    frame: np.ndarray
    masses: list[tuple[float, np.ndarray, np.ndarray]] = field(default_factory=list)
    """(mass, centre, inertia about it), in the world."""

    def whole(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre and inertia of all that is merged."""
        mass = sum(m for m, _, _ in self.masses)
        centre = sum((m * c for m, c, _ in self.masses), np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for m, c, tensor in self.masses:
            way = c - centre
            inertia += tensor + m * (way @ way * np.eye(3) - np.outer(way, way))
        return mass, centre, inertia


@dataclass
class Connection:
    """A joint: kind, axis and anchor in the world, parameters, and the solid that it moves."""

    node: Node
    parent: Part
    end: Part
    axis: np.ndarray
    anchor: np.ndarray

    def number(self, key: str) -> float:
        parameters = self.node.node("jointParameters")
        assert parameters is not None
        return float(value(parameters, key))  # type: ignore[arg-type]

    def device(self, kind: str) -> Node | None:
        return next((d for d in self.node.nodes("device") if d.type == kind), None)


class ReadWorld:
    """A parsed world."""

    def __init__(self, text: str) -> None:
        self.nodes = parse_world(text, "world.wbt").nodes
        self.parts: dict[str, Part] = {}
        self.joints: dict[str, Connection] = {}
        for node in self.nodes:
            if node.type in SOLIDS:
                self._solid(node, np.eye(4), None)

    def _solid(self, node: Node, frame: np.ndarray, merged: Part | None) -> Part:
        own = frame @ pose(node)
        part = Part(str(value(node, "name")), node, own)
        self.parts[part.name] = part
        physics = node.node("physics")
        target = merged or part
        if physics is not None:
            target.masses.append(mass_of(physics, own))
        for child in node.nodes("children"):
            self._child(child, own, part, target if target.masses else None)
        return part

    def _child(self, node: Node, frame: np.ndarray, part: Part, merged: Part | None) -> None:
        if node.type in SOLIDS:
            self._solid(node, frame, merged)
        elif node.type in JOINTS:
            end_node, parameters = node.node("endPoint"), node.node("jointParameters")
            assert end_node is not None
            assert parameters is not None
            end = self._solid(end_node, frame, None)
            anchor = np.zeros(3)
            if node.type == "HingeJoint":
                anchor = np.array(value(parameters, "anchor"))
            connection = Connection(
                node,
                part,
                end,
                frame[:3, :3] @ np.array(value(parameters, "axis")),
                frame[:3, :3] @ anchor + frame[:3, 3],
            )
            sensor = connection.device("PositionSensor")
            # joints outside a robot have no devices, and are called as what they move
            name = end.name if sensor is None else str(value(sensor, "name"))
            self.joints[name.removesuffix("_position")] = connection

    def nodes_of(self, kind: str) -> list[Node]:
        """All nodes of a type, wherever they stand."""
        return [node for top in self.nodes for node in _walk(top) if node.type == kind]


def _walk(node: Node) -> list[Node]:
    result = [node]
    for key in node.fields:
        for inner in node.nodes(key):
            result += _walk(inner)
    return result


def pose(node: Node) -> np.ndarray:
    """The transform of a node's translation and rotation fields."""
    frame = np.eye(4)
    frame[:3, 3] = value(node, "translation")
    x, y, z, angle = value(node, "rotation")  # type: ignore[misc]
    frame[:3, :3] = Rotation.from_rotvec(angle * np.array([x, y, z])).as_matrix()
    return frame


def mass_of(physics: Node, frame: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and inertia of a Physics, in the world."""
    assert value(physics, "density") == -1
    (centre,) = value(physics, "centerOfMass")  # type: ignore[misc]
    (xx, yy, zz), (xy, xz, yz) = value(physics, "inertiaMatrix")  # type: ignore[misc]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotation = frame[:3, :3]
    position = rotation @ np.array(centre) + frame[:3, 3]
    return float(value(physics, "mass")), position, rotation @ tensor @ rotation.T  # type: ignore[arg-type]
