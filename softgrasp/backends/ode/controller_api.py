"""Webots' Python module ``controller`` for worlds in ODE: robots, nodes, motors and sensors.

Methods have the names and behaviour of Webots (reference manual R2025a), as far as a controller
without cameras needs them; a missing one is an ``AttributeError``. ``install`` makes
``import controller`` find this module.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType

import numpy as np

from softgrasp.backends.ode.collision import ContactForce
from softgrasp.backends.ode.joints import Joint
from softgrasp.backends.ode.joints import Motor as MotorLaw
from softgrasp.backends.ode.solids import Array, Solid
from softgrasp.backends.ode.world import OdeWorld
from softgrasp.backends.wbt import schema
from softgrasp.backends.wbt.parser import World
from softgrasp.backends.wbt.schema import Node, Value, flag, number, text, vectors
from softgrasp.errors import DivergedError, SimulationError

NO_CONTROLLER = ("<none>", "", "void")
_current: Session | None = None


class Session:
    """One ODE world and the one robot in it that a controller commands.

    Args:
        tree: Nodes of the world.
        world: The same world in ODE.

    Raises:
        SimulationError: No robot has a controller, or several have.
    """

    def __init__(self, tree: World, world: OdeWorld) -> None:
        self.tree, self.world = tree, world
        driven = [solid for solid in world.solids if controller_of(solid.node)]
        if len(driven) != 1:
            raise SimulationError(
                "expected one Robot with a controller, found "
                + (", ".join(solid.name for solid in driven) or "none")
            )
        self.robot: Solid = driven[0]
        self.status: int | None = None
        """Argument of ``simulationQuit``; None before the call."""
        self.divergence = ""
        """Message where the motion has diverged; no further step is made then."""
        self.devices: dict[str, Device] = {}
        self._find_devices()
        self.sensors = [device for device in self.devices.values() if isinstance(device, Sensor)]

    def advance(self, milliseconds: float) -> int:
        """Step the world and its sensors; return -1 once the simulation has quit or diverged.

        Raises:
            SimulationError: The time is not a multiple of the basic time step.
        """
        if self.status is not None or self.divergence:
            return -1
        basic = self.world.time_step
        number = round(milliseconds / 1000.0 / basic)
        if number < 0 or not math.isclose(number * basic, milliseconds / 1000.0, rel_tol=1e-9):
            raise SimulationError(
                f"step({milliseconds}): expected a multiple of basicTimeStep, {basic * 1e3:g} ms"
            )
        try:
            for _ in range(number):
                self.world.step()
                for sensor in self.sensors:
                    sensor.update()
        except DivergedError as error:
            # the controller sees the end of the simulation, and may still write what it has
            self.divergence = str(error)
            return -1
        return 0

    def _find_devices(self) -> None:
        world, devices = self.world, self.devices
        for joint in world.joints:
            if joint.parent.robot is not self.robot:
                continue
            for node in joint.node.nodes("device"):
                if node.type == "PositionSensor":
                    devices[text(node, "name")] = PositionSensor(world, node, joint)
                elif joint.motor is not None and joint.motor.name == text(node, "name"):
                    devices[joint.motor.name] = Motor(world, node, joint, joint.motor)
        for solid in world.solids:
            if solid.node.type == "TouchSensor" and solid.robot is self.robot:
                devices[solid.name] = TouchSensor(world, solid.node, solid)


def controller_of(node: Node) -> str:
    """Name of a robot's controller; empty for other nodes and robots without one."""
    name = text(node, "controller") if node.type == "Robot" else ""
    return "" if name in NO_CONTROLLER else name


def _session() -> Session:
    if _current is None:
        raise SimulationError("no world is being simulated: start the controller with the player")
    return _current


class Robot:
    """The controlled robot."""

    def __init__(self) -> None:
        self._session = _session()

    def step(self, duration: float) -> int:
        """Simulate for a duration [ms]; return 0, or -1 when the simulation has ended."""
        return self._session.advance(duration)

    def getBasicTimeStep(self) -> float:
        """WorldInfo.basicTimeStep [ms]."""
        return self._session.world.time_step * 1000.0

    def getTime(self) -> float:
        """Simulated time since the start [s]."""
        return self._session.world.time

    def getName(self) -> str:
        """Name of the robot."""
        return self._session.robot.name

    def getSupervisor(self) -> bool:
        """Whether the robot may call the functions of ``Supervisor``."""
        return flag(self._session.robot.node, "supervisor")

    def getCustomData(self) -> str:
        """The robot's customData."""
        return text(self._session.robot.node, "customData")

    def getNumberOfDevices(self) -> int:
        """Return the number of devices of the robot."""
        return len(self._session.devices)

    def getDevice(self, name: str) -> Device | None:
        """Return a device by its name; None, with a line on stderr, where there is none."""
        device = self._session.devices.get(name)
        if device is None:
            known = ", ".join(self._session.devices)
            sys.stderr.write(f"getDevice: no device {name!r}; known: {known}\n")
        return device


class Supervisor(Robot):
    """The controlled robot with access to all nodes of the world.

    Raises:
        SimulationError: Its field ``supervisor`` is FALSE.
    """

    def __init__(self) -> None:
        super().__init__()
        if not self.getSupervisor():
            raise SimulationError(f"Robot {self.getName()}: expected supervisor TRUE, found FALSE")

    def getFromDef(self, name: str) -> DeviceNode | None:
        """Return the first node with a DEF name; None where there is none."""
        solid = next((node for node in self._session.tree.walk() if node.name == name), None)
        return None if solid is None else DeviceNode(self._session.world, solid)

    def getSelf(self) -> DeviceNode:
        """The robot as a node."""
        return DeviceNode(self._session.world, self._session.robot.node)

    def getRoot(self) -> DeviceNode:
        """The root node; its field ``children`` holds the top-level nodes."""
        top: list[Node] = self._session.tree.nodes
        return DeviceNode(self._session.world, Node("root", {"children": [*top]}))

    def simulationQuit(self, status: int) -> None:
        """End the simulation with an exit code; the next step returns -1."""
        self._session.status = int(status)


def install(session: Session) -> ModuleType:
    """Make ``import controller`` load the classes of this module, bound to one world.

    Args:
        session: The world and its robot.

    Returns:
        The module.
    """
    global _current
    _current = session
    module = ModuleType("controller", __doc__)
    for kind in (Robot, Supervisor, DeviceNode, Field, Motor, PositionSensor, TouchSensor):
        setattr(module, kind.__name__, kind)
    sys.modules["controller"] = module
    return module


# Nodes and fields of the world


class DeviceNode:
    """A node of the world, returned by ``Supervisor.getFromDef``."""

    def __init__(self, world: OdeWorld, node: Node) -> None:
        self._world, self._node = world, node
        self._solid = next((solid for solid in world.solids if solid.node is node), None)

    def getDef(self) -> str:
        """Return the DEF name of the node; empty where it has none."""
        return self._node.name

    def getTypeName(self) -> str:
        """Type of the node, such as ``Solid``."""
        return self._node.type

    def getPosition(self) -> list[float]:
        """Origin of the Solid in the world [m]."""
        return _plain(self._world.pose(self._owner()).position)

    def getOrientation(self) -> list[float]:
        """Rotation matrix of the Solid in the world: 9 numbers, row by row."""
        return _plain(self._world.pose(self._owner()).rotation)

    def getCenterOfMass(self) -> list[float]:
        """Centre of mass of the Solid's body, in the Solid's frame as in Webots [m]."""
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
        """Apply a force at the body's centre of mass in the next basic step [N].

        Args:
            force: (3,) [N].
            relative: Whether the force is in the axes of the body.
        """
        self._world.add_force(self._owner(), self._in_world(force, relative))

    def addTorque(self, torque: Sequence[float], relative: bool) -> None:
        """Apply a torque to the body in the next basic step; arguments as ``addForce`` [N·m]."""
        self._world.add_torque(self._owner(), self._in_world(torque, relative))

    def getField(self, name: str) -> Field | None:
        """Return a field by its name; None where the type has none of that name."""
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
    """A field of a node: the pose of a Solid is the current one, all else as in the file."""

    def __init__(self, world: OdeWorld, node: Node, name: str, solid: Solid | None) -> None:
        self._world, self._node, self._name, self._solid = world, node, name, solid

    def getName(self) -> str:
        """Return the name of the field."""
        return self._name

    def getSFFloat(self) -> float:
        """Return the value of an SFFloat field."""
        return float(self._number())

    def getSFInt32(self) -> int:
        """Return the value of an SFInt32 field."""
        return int(self._number())

    def getSFBool(self) -> bool:
        """Return the value of an SFBool field."""
        return bool(self._value())

    def getSFString(self) -> str:
        """Return the value of an SFString field."""
        return str(self._value())

    def getSFVec3f(self) -> list[float]:
        """Return the value of an SFVec3f field; for a Solid its current translation [m]."""
        if self._name == "translation" and self._solid is not None:
            return _plain(self._world_pose()[1])
        return self._numbers()

    def getSFRotation(self) -> list[float]:
        """Return the value of an SFRotation field; for a Solid its current rotation [rad]."""
        if self._name == "rotation" and self._solid is not None:
            return _axis_angle(self._world_pose()[0])
        return self._numbers()

    def getCount(self) -> int:
        """Number of values of a list field."""
        return len(self._items())

    def getMFNode(self, index: int) -> DeviceNode:
        """Return one node of a list field by its index."""
        held = self._items()[index]
        if not isinstance(held, Node):
            raise SimulationError(f"field {self._name}: expected nodes, found {held!r}")
        return DeviceNode(self._world, held)

    def setSFFloat(self, value: float) -> None:
        """Set WorldInfo.gravity from the next step on [m/s²]; no other field can be set."""
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


# Motors


class Device:
    """A device of a robot."""

    def __init__(self, world: OdeWorld, node: Node) -> None:
        self._world = world
        self._node = node

    def getName(self) -> str:
        """Return the name of the device."""
        return text(self._node, "name")


class Motor(Device):
    """A RotationalMotor or LinearMotor; commands act from the next step on."""

    def __init__(self, world: OdeWorld, node: Node, joint: Joint, law: MotorLaw) -> None:
        super().__init__(world, node)
        self._joint, self._law = joint, law

    def setPosition(self, position: float) -> None:
        """Set the target position [rad or m]; infinity selects velocity control."""
        self._law.set_position(float(position))
        self._wake()

    def setVelocity(self, velocity: float) -> None:
        """Set the velocity, or the largest one on the way to a position [rad/s or m/s]."""
        self._law.set_velocity(float(velocity))
        self._wake()

    def setTorque(self, torque: float) -> None:
        """Set a torque [N·m] or force [N], at most the available one."""
        self._law.set_force(float(torque))
        if self._law.force != torque:
            kind = "force" if self._node.type == "LinearMotor" else "torque"
            sys.stderr.write(
                f"motor {self.getName()}: the requested {kind} {torque:g} exceeds the available "
                f"{self._law.available:g}\n"
            )
        self._wake()

    setForce = setTorque

    def setAvailableTorque(self, torque: float) -> None:
        """Set the largest torque or force of velocity and position control [N·m or N]."""
        self._law.set_available(float(torque))
        self._wake()

    setAvailableForce = setAvailableTorque

    def setControlPID(self, p: float, i: float, d: float) -> None:
        """Set the gains from the position error to the velocity."""
        self._law.gains = (float(p), float(i), float(d))

    def setAcceleration(self, acceleration: float) -> None:
        """Set the largest acceleration [rad/s² or m/s²]; -1 for none."""
        self._law.acceleration = float(acceleration)

    def getTargetPosition(self) -> float:
        """The target position [rad or m]."""
        return self._law.target

    def getVelocity(self) -> float:
        """The commanded velocity [rad/s or m/s]."""
        return self._law.velocity

    def getMaxVelocity(self) -> float:
        """Return the largest velocity of the motor [rad/s or m/s]."""
        return self._law.largest_velocity

    def getMaxTorque(self) -> float:
        """Return the largest torque [N·m] or force [N] of the motor."""
        return self._law.limit

    getMaxForce = getMaxTorque

    def getAvailableTorque(self) -> float:
        """Return the available torque [N·m] or force [N] of the motor."""
        return self._law.available

    getAvailableForce = getAvailableTorque

    def _wake(self) -> None:
        self._world.wake(self._joint.child)


# Sensors


class Sensor(Device, ABC):
    """A device that measures once in a sampling period; nan before the first sample."""

    def __init__(self, world: OdeWorld, node: Node) -> None:
        super().__init__(world, node)
        self._period = 0
        self._every = self._next = 0

    def enable(self, period: float) -> None:
        """Measure with a period [ms], for the first time after one period."""
        self._period = int(period)
        self._every = max(math.ceil(period / 1000.0 / self._world.time_step - 1e-9), 1)
        self._next = self._world.steps + self._every

    def disable(self) -> None:
        """Disable the sensor."""
        self._every = self._period = 0

    def getSamplingPeriod(self) -> int:
        """The sampling period [ms]; 0 while it is disabled."""
        return self._period

    def update(self) -> None:
        """Measure if a sampling period has passed; called after every basic time step."""
        if self._every and self._world.steps >= self._next:
            self._next += self._every
            self._measure()

    @abstractmethod
    def _measure(self) -> None: ...


class PositionSensor(Sensor):
    """The position of a joint."""

    def __init__(self, world: OdeWorld, node: Node, joint: Joint) -> None:
        super().__init__(world, node)
        _refuse(node, "noise", 0.0)
        _refuse(node, "resolution", -1.0)
        self._joint = joint
        self._value = math.nan

    def getValue(self) -> float:
        """Position of the joint at the last sample [rad or m]."""
        return self._value

    def _measure(self) -> None:
        self._value = self._joint.position


class TouchSensor(Sensor):
    """Contact force on the bounding object of a TouchSensor.

    In Webots it is the force in the fixed joint that carries the sensor, with the weight and
    inertia of the sensor; here it is that of the contacts alone.
    """

    def __init__(self, world: OdeWorld, node: Node, solid: Solid) -> None:
        super().__init__(world, node)
        _refuse(node, "resolution", -1.0)
        self._solid = solid
        self._kind = text(node, "type")
        self._table = vectors(node, "lookupTable")
        self._sampled = False
        self._latest: list[float] | None = [math.nan] * 3
        """Values of the last sample; None until they are read."""

    def getValue(self) -> float:
        """1 or 0 of a bumper; of a force sensor the compression along its x axis [N]."""
        return self._values()[0]

    def getValues(self) -> list[float]:
        """Force on a force-3d sensor in its frame, (3,) [N]."""
        return list(self._values())

    def getNormalForce(self, other: str = "") -> float:
        """Sum of the normal forces of its contact points [N]; only here, not in Webots.

        Args:
            other: DEF of the only Solid whose contacts count; by default all do.
        """
        return self._contact_force(other).normal

    def getFrictionForce(self, other: str = "") -> float:
        """Sum of the friction forces of its contact points [N]; as ``getNormalForce``."""
        return self._contact_force(other).friction

    def _contact_force(self, other: str) -> ContactForce:
        """Contact force of the last step; nan before the first sample."""
        if not self._sampled:
            return ContactForce(normal=math.nan, friction=math.nan)
        return self._world.contacts.force_on(self._solid, other)

    def _measure(self) -> None:
        self._sampled, self._latest = True, None
        if self._every > 1:
            self._values()  # the next steps change the forces

    def _values(self) -> list[float]:
        if self._latest is None:
            self._latest = self._measured()
        return self._latest

    def _measured(self) -> list[float]:
        contacts = self._world.contacts
        if self._kind == "bumper":
            return [float(contacts.touches(self._solid)), math.nan, math.nan]
        force = np.array(contacts.force_on(self._solid).vector)
        local_force = self._world.pose(self._solid).rotation.T @ force
        if self._kind == "force":
            return [interpolated(self._table, max(-float(local_force[0]), 0.0)), math.nan, math.nan]
        return [interpolated(self._table, value) for value in local_force.tolist()]


def interpolated(table: Sequence[Sequence[float]], value: float) -> float:
    """Interpolate a measured value in a sensor's lookup table linearly, constant outside.

    Args:
        table: Rows of value, reading and noise, which must be 0; an empty one changes nothing.
        value: Measured value.
    """
    if not table:
        return value
    if any(row[2] != 0.0 for row in table):
        raise SimulationError("lookupTable: noise is not supported in ODE")
    return float(np.interp(value, [row[0] for row in table], [row[1] for row in table]))


def _refuse(node: Node, key: str, supported: float) -> None:
    if number(node, key) != supported:
        raise SimulationError(f"{node.type} {text(node, 'name')}: {key} is not supported in ODE")
