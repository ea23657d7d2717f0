"""Nodes and fields of the world with the methods of Webots' ``Supervisor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.errors import SimulationError
from softgrasp.formats.wbt import schema
from softgrasp.formats.wbt.node import Node as TreeNode
from softgrasp.formats.wbt.node import Value
from softgrasp.simulation.ode.poses import Array
from softgrasp.simulation.ode.solids import Solid

if TYPE_CHECKING:
    from softgrasp.simulation.ode.world import OdeWorld


class Node:
    """A node of the world, as ``Supervisor.getFromDef`` gives it."""

    def __init__(self, world: OdeWorld, node: TreeNode) -> None:
        self._world, self._node = world, node
        self._solid = next((solid for solid in world.solids if solid.node is node), None)

    def getDef(self) -> str:
        """Its DEF name; empty where it has none."""
        return self._node.name

    def getTypeName(self) -> str:
        """Type of the node, such as ``Solid``."""
        return self._node.type

    def getPosition(self) -> list[float]:
        """Origin of the Solid in the world [m]."""
        return _plain(self._world.pose(self._owner()).position)

    def getOrientation(self) -> list[float]:
        """Rotation matrix of the Solid in the world: 9 numbers, row after row."""
        return _plain(self._world.pose(self._owner()).rotation)

    def getCenterOfMass(self) -> list[float]:
        """Centre of mass of the Solid's body, in the Solid's frame as Webots has it [m]."""
        solid = self._owner()
        if solid.body is None:
            return [0.0, 0.0, 0.0]
        return _plain(solid.in_body.inverse().apply(solid.body.weight().center))

    def getVelocity(self) -> list[float]:
        """Velocity of the centre of mass [m/s] and angular velocity [rad/s] in the world."""
        return _plain(np.concatenate(self._world.velocity(self._owner())))

    def setVelocity(self, velocity: Sequence[float]) -> None:
        """Set velocity [m/s] and angular velocity [rad/s] (6,), in the world."""
        numbers = np.asarray(velocity, dtype=float)
        self._world.set_velocity(self._owner(), numbers[:3], numbers[3:])

    def addForce(self, force: Sequence[float], relative: bool) -> None:
        """Push on the body's centre of mass in the next basic step [N]; relative: in its axes."""
        self._world.add_force(self._owner(), self._in_world(force, relative))

    def addTorque(self, torque: Sequence[float], relative: bool) -> None:
        """Turn the body in the next basic step [N·m]; relative: in its axes."""
        self._world.add_torque(self._owner(), self._in_world(torque, relative))

    def getField(self, name: str) -> Field | None:
        """A field by its name; None where the type has none of that name."""
        if self._node.type in schema.node_types() and name not in schema.fields(self._node.type):
            return None
        return Field(self._world, self._node, name, self._solid)

    def _in_world(self, vector: Sequence[float], relative: bool) -> Array:
        vector_array = np.asarray(vector, dtype=float)
        return self._world.pose(self._owner()).rotation @ vector_array if relative else vector_array

    def _owner(self) -> Solid:
        if self._solid is None:
            raise SimulationError(
                f"node {self._node.name or self._node.type}: expected a Solid, Robot or "
                f"TouchSensor, found a {self._node.type}"
            )
        return self._solid


class Field:
    """A field of a node; places of Solids are where they are now, all else as it was written."""

    def __init__(self, world: OdeWorld, node: TreeNode, name: str, solid: Solid | None) -> None:
        self._world, self._node, self._name, self._solid = world, node, name, solid

    def getName(self) -> str:
        """Its name."""
        return self._name

    def getSFFloat(self) -> float:
        """A number."""
        return float(self._number())

    def getSFInt32(self) -> int:
        """A whole number."""
        return int(self._number())

    def getSFBool(self) -> bool:
        """A truth value."""
        return bool(self._value())

    def getSFString(self) -> str:
        """A text."""
        return str(self._value())

    def getSFVec3f(self) -> list[float]:
        """Three numbers; the translation of a Solid is that of now, in its parent Solid [m]."""
        if self._name == "translation" and self._solid is not None:
            return _plain(self._world_pose()[1])
        return self._numbers()

    def getSFRotation(self) -> list[float]:
        """Axis and angle; the rotation of a Solid is that of now, in its parent Solid [rad]."""
        if self._name == "rotation" and self._solid is not None:
            return _axis_angle(self._world_pose()[0])
        return self._numbers()

    def getCount(self) -> int:
        """How many values a field of several has."""
        return len(self._items())

    def getMFNode(self, index: int) -> Node:
        """One node of several."""
        held = self._items()[index]
        if not isinstance(held, TreeNode):
            raise SimulationError(f"field {self._name}: expected nodes, found {held!r}")
        return Node(self._world, held)

    def setSFFloat(self, value: float) -> None:
        """Change a number, from the next step on: gravity of the WorldInfo, and no other."""
        if (self._node.type, self._name) != ("WorldInfo", "gravity"):
            raise SimulationError(
                f"field {self._node.type}.{self._name}: only WorldInfo.gravity can be set in ODE"
            )
        self._node.fields["gravity"] = float(value)
        self._world.set_gravity(float(value))
        for solid in self._world.solids:
            self._world.wake(solid)

    def _world_pose(self) -> tuple[Array, Array]:
        solid = self._solid
        if solid is None:
            raise SimulationError(f"field {self._name}: expected one of a Solid")
        pose = self._world.pose(solid)
        if solid.parent is not None:
            pose = self._world.pose(solid.parent).inverse() @ pose
        return pose.rotation, pose.position

    def _value(self) -> Value:
        return schema.value(self._node, self._name)

    def _number(self) -> float:
        value = self._value()
        if not isinstance(value, (int, float)):
            raise SimulationError(f"field {self._name}: expected a number, found {value!r}")
        return value

    def _numbers(self) -> list[float]:
        value = self._value()
        if not isinstance(value, tuple):
            raise SimulationError(f"field {self._name}: expected numbers, found {value!r}")
        return list(value)

    def _items(self) -> list[Value]:
        value = self._value() if self._node.type != "root" else self._node.fields[self._name]
        if not isinstance(value, list):
            raise SimulationError(f"field {self._name}: expected several values, found {value!r}")
        return value


def _plain(array: Array) -> list[float]:
    return [float(number) for number in array.ravel()]


def _axis_angle(rotation: Array) -> list[float]:
    from scipy.spatial.transform import Rotation

    rotation_vector = Rotation.from_matrix(rotation).as_rotvec()
    angle = float(np.linalg.norm(rotation_vector))
    return [0.0, 0.0, 1.0, 0.0] if angle == 0.0 else [*_plain(rotation_vector / angle), angle]
