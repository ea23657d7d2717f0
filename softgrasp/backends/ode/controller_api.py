"""Worlds in ODE by the rules of Webots, and its Python module ``controller`` for them.

What the worlds of softgrasp have is simulated; ``SIMULATED`` lists the fields of others that are
refused. Methods have the names and behaviour of Webots (reference manual R2025a), as far as the
controller of our worlds needs them (``softgrasp_job.py`` in ``webots/controller/``); a missing one
is an ``AttributeError``. ``install`` makes ``import controller`` find this module.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from softgrasp.backends.ode import bindings
from softgrasp.backends.ode.collision import Contacts, Materials, Pairing
from softgrasp.backends.ode.joints import Hinge, Joint, Motor, Slider
from softgrasp.backends.ode.solids import Body, Geometries, Solid, Tree
from softgrasp.backends.wbt import schema
from softgrasp.backends.wbt.parser import World
from softgrasp.backends.wbt.schema import (
    Node,
    Pose,
    Value,
    flag,
    number,
    text,
)
from softgrasp.backends.wbt.tokens import plain_text
from softgrasp.errors import DivergedError, SimulationError
from softgrasp.mechanics import Array

FASTEST = 1e4
"""Speed beyond which a motion has diverged [m/s or rad/s]."""
SIMULATED: dict[str, dict[str, Value]] = {
    "WorldInfo": {"defaultDamping": None, "physicsDisableLinearThreshold": 0.0},
    "ContactProperties": {"forceDependentSlip": [0.0]},
    "Physics": {"damping": None},
    "Robot": {"selfCollision": False},
    "Transform": {"scale": (1.0, 1.0, 1.0)},
    "HingeJointParameters": {"staticFriction": 0.0},
    "JointParameters": {"staticFriction": 0.0},
    "RotationalMotor": {"acceleration": -1.0, "multiplier": 1.0},
    "LinearMotor": {"acceleration": -1.0, "multiplier": 1.0},
    "PositionSensor": {"noise": 0.0, "resolution": -1.0},
    "TouchSensor": {"type": "force-3d", "resolution": -1.0, "lookupTable": []},
}
"""The only values of fields, by type of node, that ODE simulates here."""


class OdeWorld:
    """An ODE world with the solver settings that Webots uses.

    The direct solver (``dWorldStep``) with the world's CFM and ERP, no damping, and bodies that
    are never disabled.

    Raises:
        BackendUnavailable: There is no ODE.
        SimulationError: The world needs what is not supported here.
    """

    def __init__(self, world: World) -> None:
        refuse_other_fields(world)
        ode = self._ode = bindings.load()
        info = next((node for node in world.nodes if node.type == "WorldInfo"), Node("WorldInfo"))
        self.time_step = number(info, "basicTimeStep") / 1000.0
        """[s]"""
        self.steps = 0
        tree = Tree(world.nodes)
        self.solids: list[Solid] = tree.solids
        self.bodies: list[Body] = tree.bodies
        self._world: Any = ode.WorldCreate()
        self._space: Any = ode.HashSpaceCreate(None)
        self.set_gravity(number(info, "gravity"))
        ode.WorldSetCFM(self._world, number(info, "CFM"))
        ode.WorldSetERP(self._world, number(info, "ERP"))
        for body in tree.bodies:
            self._create(body)
        geometries = self._geometries = Geometries(ode, self._space, tree.solids)
        kinds = {"HingeJoint": Hinge, "SliderJoint": Slider}
        self.joints: list[Joint] = [
            kinds[mounting.node.type](ode, self._world, mounting, self.time_step)
            for mounting in tree.joints
        ]
        materials = Materials(info.nodes("contactProperties"))
        pairing = Pairing(ode, geometries.owners, self.joints, materials)
        self.contacts = Contacts(ode, self._world, self._space, pairing)

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.steps * self.time_step

    def set_gravity(self, gravity: float) -> None:
        """Set gravity along −z from the next step on [m/s²]."""
        self._ode.WorldSetGravity(self._world, 0.0, 0.0, -gravity)

    def step(self) -> None:
        """Advance by one basic time step.

        Webots finds the contacts of a step after the previous step, at the same poses as here
        before the step; forces read afterwards are those of this step.

        Raises:
            DivergedError: The motion has diverged.
        """
        self.contacts.find()
        for joint in self.joints:
            joint.before_step()
        self._ode.WorldStep(self._world, self.time_step)
        for joint in self.joints:
            joint.after_step()
        self.steps += 1
        if self.steps % 8 == 0:
            self.check()

    def check(self) -> None:
        """Raise an error where the speed of a body shows that the motion has diverged.

        Raises:
            DivergedError: One is faster than 10⁴ m/s or rad/s, or its speed is not a number.
        """
        linear, angular = self._ode.BodyGetLinearVel, self._ode.BodyGetAngularVel
        for body in self.bodies:
            speed = math.hypot(*linear(body.handle)[0:3], *angular(body.handle)[0:3])
            if not speed < FASTEST:
                raise DivergedError(
                    f"the motion has diverged by {self.time:.6g} s: Solid {body.root.name} moves "
                    f"at {speed:.3g} m/s or rad/s; use a smaller basicTimeStep"
                )

    def pose(self, solid: Solid) -> Pose:
        """Pose of a Solid in the world."""
        body = solid.body
        if body is None:
            return solid.start
        rotation = np.array(self._ode.BodyGetRotation(body.handle)[0:12]).reshape(3, 4)[:, :3]
        center = np.array(self._ode.BodyGetPosition(body.handle)[0:3])
        root = Pose(rotation, center - rotation @ body.weight().center)
        return root @ solid.in_body

    def add_force(self, solid: Solid, force: Array) -> None:
        """Apply a force (3,) at the centre of mass in the next step [N], in the world."""
        if solid.body is not None:
            self._ode.BodyAddForce(solid.body.handle, *force)

    def _create(self, body: Body) -> None:
        """Create an ODE body at its centre of mass, with the axes of its outermost Solid."""
        ode, weight = self._ode, body.weight()
        if not (weight.mass > 0.0 and np.linalg.eigvalsh(weight.inertia).min() > 0.0):
            raise SimulationError(
                f"Solid {body.root.name}: expected a mass and an inertia above 0, found "
                f"{weight.mass:g} kg and {np.diag(weight.inertia)} kg·m²"
            )
        mass = bindings.Mass()
        mass.mass = weight.mass
        mass.I[:] = list(ode.matrix3(weight.inertia))
        body.handle = ode.BodyCreate(self._world)
        ode.BodySetMass(body.handle, ctypes.byref(mass))
        start = body.root.start
        ode.BodySetPosition(body.handle, *start.apply(weight.center))
        ode.BodySetRotation(body.handle, ode.matrix3(start.rotation))


def refuse_other_fields(world: World) -> None:
    """Refuse values of fields that ODE does not simulate here.

    Raises:
        SimulationError: There is one; names line and field.
    """
    for node in world.walk():
        for key, simulated in SIMULATED.get(node.type, {}).items():
            if (held := schema.value(node, key)) != simulated:
                actual = held.type if isinstance(held, Node) else plain_text(held)
                raise SimulationError(
                    f"line {node.line}: {node.type}.{key}: expected {plain_text(simulated)}, as "
                    f"nothing else is simulated in ODE, found {actual}"
                )


_current: Session | None = None
Device: TypeAlias = "Motor | PositionSensor | TouchSensor"


class Session:
    """One ODE world and the one robot in it that a controller commands.

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
        for joint in world.joints:
            for node in joint.node.nodes("device") if joint.parent.robot is self.robot else ():
                if node.type == "PositionSensor":
                    self.devices[text(node, "name")] = PositionSensor(world, joint)
                elif joint.motor is not None and joint.motor.name == text(node, "name"):
                    self.devices[joint.motor.name] = joint.motor
        for solid in world.solids:
            if solid.node.type == "TouchSensor" and solid.robot is self.robot:
                self.devices[solid.name] = TouchSensor(world, solid)

    def advance(self, milliseconds: float) -> int:
        """Step the world; return -1 once the simulation has quit or diverged.

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
        except DivergedError as error:
            # the controller sees the end of the simulation, and may still write what it has
            self.divergence = str(error)
            return -1
        return 0


def controller_of(node: Node) -> str:
    """Name of a robot's controller; empty for other nodes and robots without one."""
    name = text(node, "controller") if node.type == "Robot" else ""
    return "" if name in ("<none>", "", "void") else name


class Supervisor:
    """The controlled robot with access to all nodes of the world.

    Raises:
        SimulationError: Its field ``supervisor`` is FALSE, or no world is being simulated.
    """

    def __init__(self) -> None:
        if _current is None:
            raise SimulationError(
                "no world is being simulated: start the controller with the player"
            )
        self._session = _current
        robot = self._session.robot
        if not flag(robot.node, "supervisor"):
            raise SimulationError(f"Robot {robot.name}: expected supervisor TRUE, found FALSE")

    def step(self, duration: float) -> int:
        """Simulate for a duration [ms]; return 0, or -1 when the simulation has ended."""
        return self._session.advance(duration)

    def getTime(self) -> float:
        """Simulated time since the start [s]."""
        return self._session.world.time

    def getDevice(self, name: str) -> Device | None:
        """Return a device by its name; None, with a line on stderr, where there is none."""
        device = self._session.devices.get(name)
        if device is None:
            known = ", ".join(self._session.devices)
            sys.stderr.write(f"getDevice: no device {name!r}; known: {known}\n")
        return device

    def getFromDef(self, name: str) -> DeviceNode | None:
        """Return the first node with a DEF name; None where there is none."""
        session = self._session
        nodes = (node for node in session.tree.walk() if node.name == name)
        return next((DeviceNode(session.world, node) for node in nodes), None)

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
    for kind in (Supervisor, DeviceNode, Field, Motor, PositionSensor, TouchSensor):
        setattr(module, kind.__name__, kind)
    sys.modules["controller"] = module
    return module


# Nodes and fields of the world


class DeviceNode:
    """A node of the world, returned by ``Supervisor.getFromDef``."""

    def __init__(self, world: OdeWorld, node: Node) -> None:
        self._world, self._node = world, node
        self._solid = next((solid for solid in world.solids if solid.node is node), None)

    def getPosition(self) -> list[float]:
        """Origin of the Solid in the world [m]."""
        return [*map(float, self._world.pose(self._owner()).position)]

    def getOrientation(self) -> list[float]:
        """Rotation matrix of the Solid in the world: 9 numbers, row by row."""
        return [*map(float, self._world.pose(self._owner()).rotation.ravel())]

    def addForce(self, force: Sequence[float], relative: bool) -> None:
        """Apply a force at the body's centre of mass in the next basic step [N].

        Args:
            force: (3,) [N].
            relative: Whether the force is in the axes of the body.
        """
        solid, vector = self._owner(), np.asarray(force, dtype=float)
        rotated = self._world.pose(solid).rotation @ vector if relative else vector
        self._world.add_force(solid, rotated)

    def getField(self, name: str) -> Field:
        """Return a field by its name."""
        return Field(self._world, self._node, name)

    def _owner(self) -> Solid:
        if self._solid is None:
            raise SimulationError(
                f"node {self._node.name or self._node.type}: expected a Solid, Robot or "
                f"TouchSensor, found a {self._node.type}"
            )
        return self._solid


class Field:
    """A field of a node."""

    def __init__(self, world: OdeWorld, node: Node, name: str) -> None:
        self._world, self._node, self._name = world, node, name

    def setSFFloat(self, value: float) -> None:
        """Set WorldInfo.gravity from the next step on [m/s²]; no other field can be set."""
        if (self._node.type, self._name) != ("WorldInfo", "gravity"):
            raise SimulationError(
                f"field {self._node.type}.{self._name}: only WorldInfo.gravity can be set in ODE"
            )
        self._world.set_gravity(float(value))


# Sensors


class Sensor:
    """A device that measures after every step."""

    def __init__(self, world: OdeWorld) -> None:
        self._world = world

    def enable(self, period: float) -> None:
        """Accept a period [ms], which is the basic time step.

        Raises:
            SimulationError: It is another one.
        """
        basic = self._world.time_step * 1e3
        if not math.isclose(period, basic, rel_tol=1e-9):
            raise SimulationError(f"enable({period}): expected basicTimeStep, {basic:g} ms")


class PositionSensor(Sensor):
    """The position of a joint."""

    def __init__(self, world: OdeWorld, joint: Joint) -> None:
        super().__init__(world)
        self._joint = joint

    def getValue(self) -> float:
        """Position of the joint [rad or m]."""
        return self._joint.position


class TouchSensor(Sensor):
    """Contact force on the bounding object of a TouchSensor of type force-3d.

    In Webots it is the force in the fixed joint that carries the sensor, with the weight and
    inertia of the sensor; here it is that of the contacts alone.
    """

    def __init__(self, world: OdeWorld, solid: Solid) -> None:
        super().__init__(world)
        self._solid = solid

    def getValues(self) -> list[float]:
        """Force in the frame of the sensor, (3,) [N]."""
        force = np.array(self._world.contacts.force_on(self._solid).vector)
        return [*map(float, self._world.pose(self._solid).rotation.T @ force)]

    def getNormalForce(self, other: str = "") -> float:
        """Sum of the normal forces of its contact points [N]; only here, not in Webots.

        Args:
            other: DEF of the only Solid whose contacts count; by default all do.
        """
        return self._world.contacts.force_on(self._solid, other).normal

    def getFrictionForce(self, other: str = "") -> float:
        """Sum of the friction forces of its contact points [N]; as ``getNormalForce``."""
        return self._world.contacts.force_on(self._solid, other).friction
