"""Webots' Python module ``controller`` for worlds in ODE: ``Robot`` and ``Supervisor``.

The methods are named and behave as in Webots as far as a controller without pictures needs them;
what is missing is an ``AttributeError`` of Python.
"""

from __future__ import annotations

import math
import sys
from types import ModuleType

from softgrasp.errors import DivergedError, SimulationError
from softgrasp.formats.wbt.access import flag, text
from softgrasp.formats.wbt.node import Node as TreeNode
from softgrasp.formats.wbt.world import World
from softgrasp.simulation.ode.devices import Device, Motor
from softgrasp.simulation.ode.scene_nodes import Field, Node
from softgrasp.simulation.ode.sensors import PositionSensor, Sensor, TouchSensor
from softgrasp.simulation.ode.solids import Solid
from softgrasp.simulation.ode.world import OdeWorld

NO_CONTROLLER = ("<none>", "", "void")


class Session:
    """One world with the one robot that a controller drives.

    Args:
        tree: The nodes of the world.
        world: The same in ODE.

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
        """What ``simulationQuit`` was called with."""
        self.divergence = ""
        """What happened where the motion has diverged; no step goes further then."""
        self.devices: dict[str, Device] = {}
        self._find_devices()
        self.sensors = [device for device in self.devices.values() if isinstance(device, Sensor)]

    def advance(self, milliseconds: float) -> int:
        """Step the world and measure; -1 once the simulation was told to quit, or has diverged.

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


def controller_of(node: TreeNode) -> str:
    """Name of a robot's controller; empty for other nodes and robots that are not driven."""
    name = text(node, "controller") if node.type == "Robot" else ""
    return "" if name in NO_CONTROLLER else name


_current: Session | None = None


def _session() -> Session:
    if _current is None:
        raise SimulationError("no world is being simulated: start the controller with the player")
    return _current


class Robot:
    """The robot that the controller drives."""

    def __init__(self) -> None:
        self._session = _session()

    def step(self, duration: float) -> int:
        """Simulate for some milliseconds; returns 0, or -1 when the simulation has ended."""
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
        """How many devices it has."""
        return len(self._session.devices)

    def getDevice(self, name: str) -> Device | None:
        """A device by its name; None, and a line on stderr, where there is none."""
        device = self._session.devices.get(name)
        if device is None:
            known = ", ".join(self._session.devices)
            sys.stderr.write(f"getDevice: no device {name!r}; known: {known}\n")
        return device


class Supervisor(Robot):
    """The robot, where it may look at and change the world.

    Raises:
        SimulationError: Its field ``supervisor`` is FALSE.
    """

    def __init__(self) -> None:
        super().__init__()
        if not self.getSupervisor():
            raise SimulationError(f"Robot {self.getName()}: expected supervisor TRUE, found FALSE")

    def getFromDef(self, name: str) -> Node | None:
        """The first node with a DEF name; None where there is none."""
        solid = next((node for node in self._session.tree.walk() if node.name == name), None)
        return None if solid is None else Node(self._session.world, solid)

    def getSelf(self) -> Node:
        """The robot as a node."""
        return Node(self._session.world, self._session.robot.node)

    def getRoot(self) -> Node:
        """The node around all others; its field ``children`` holds those at the top."""
        top: list[TreeNode] = self._session.tree.nodes
        return Node(self._session.world, TreeNode("root", {"children": [*top]}))

    def simulationQuit(self, status: int) -> None:
        """End the simulation with an exit code; the next step returns -1."""
        self._session.status = int(status)


def install(session: Session) -> ModuleType:
    """Make ``import controller`` find these classes, for one world.

    Args:
        session: What they act on.

    Returns:
        The module.
    """
    global _current
    _current = session
    module = ModuleType("controller", __doc__)
    for kind in (Robot, Supervisor, Node, Field, Motor, PositionSensor, TouchSensor):
        setattr(module, kind.__name__, kind)
    sys.modules["controller"] = module
    return module
