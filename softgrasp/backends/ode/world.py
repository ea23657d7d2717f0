"""A Webots world in ODE: bodies, joints and contacts by the rules of Webots, and its time steps."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from softgrasp.backends.ode import bindings
from softgrasp.backends.ode.bindings import Ode
from softgrasp.backends.ode.collision import Contacts, Materials, Pairing
from softgrasp.backends.ode.joints import Hinge, Joint, Slider
from softgrasp.backends.ode.solids import Body, Geometries, Solid, Tree
from softgrasp.backends.wbt.parser import World
from softgrasp.backends.wbt.poses import Pose
from softgrasp.backends.wbt.schema import Node, number
from softgrasp.errors import DivergedError, SimulationError
from softgrasp.mechanics import Array

FASTEST = 1e4
"""Speed beyond which a motion has diverged [m/s or rad/s]."""
CHECK_EVERY = 8
"""Steps between two checks of the speeds."""


class OdeWorld:
    """An ODE world with the solver settings that Webots uses.

    The direct solver (``dWorldStep``) with the world's CFM and ERP, no damping, and bodies that
    are disabled at rest only where the world specifies thresholds.

    Args:
        world: The nodes; paths of meshes are relative to its file.

    Raises:
        BackendUnavailable: There is no ODE.
        SimulationError: The world needs what is not supported here.
    """

    def __init__(self, world: World) -> None:
        ode = self._ode = bindings.load()
        self.nodes = world.nodes
        info = next((node for node in world.nodes if node.type == "WorldInfo"), Node("WorldInfo"))
        self.info = info
        self.time_step = number(info, "basicTimeStep") / 1000.0
        """[s]"""
        self.steps = 0
        tree = Tree(world.nodes, world.file.parent)
        self.solids: list[Solid] = tree.solids
        self.bodies: list[Body] = tree.bodies
        self._world: Any = ode.WorldCreate()
        self._space: Any = ode.HashSpaceCreate(None)
        self.set_gravity(number(info, "gravity"))
        sleep = set_up_solver(ode, self._world, info)
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
        self.contacts = Contacts(ode, self._world, self._space, pairing, sleep)

    @property
    def engine(self) -> str:
        """Version and precision of ODE, such as ``0.16.2 double``."""
        return self._ode.library.describe()

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
        if self.steps % CHECK_EVERY == 0:
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

    def velocity(self, solid: Solid) -> tuple[Array, Array]:
        """Velocity of the centre of mass of a Solid's body, and its angular velocity, in the world.

        Returns:
            Two arrays (3,) [m/s] and [rad/s]; zero for static Solids.
        """
        if solid.body is None:
            return np.zeros(3), np.zeros(3)
        handle = solid.body.handle
        linear = np.array(self._ode.BodyGetLinearVel(handle)[0:3])
        return linear, np.array(self._ode.BodyGetAngularVel(handle)[0:3])

    def set_velocity(self, solid: Solid, linear: Array, angular: Array) -> None:
        """Set the velocity of a body's centre of mass and its angular velocity, in the world."""
        if solid.body is not None:
            self.wake(solid)
            self._ode.BodySetLinearVel(solid.body.handle, *linear)
            self._ode.BodySetAngularVel(solid.body.handle, *angular)

    def add_force(self, solid: Solid, force: Array) -> None:
        """Apply a force (3,) at the centre of mass in the next step [N], in the world."""
        if solid.body is not None:
            self.wake(solid)
            self._ode.BodyAddForce(solid.body.handle, *force)

    def wake(self, solid: Solid) -> None:
        """Enable a body that ODE has disabled because it was at rest."""
        if solid.body is not None:
            self._ode.BodyEnable(solid.body.handle)

    def close(self) -> None:
        """Free ODE's memory; no other method may be called afterwards."""
        self._ode.SpaceDestroy(self._space)
        self._ode.WorldDestroy(self._world)

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


def set_up_solver(ode: Ode, world: int, info: Node) -> bool:
    """Set CFM, ERP and the thresholds at which bodies are disabled.

    Args:
        ode: Functions of ODE.
        world: ODE's world.
        info: The WorldInfo.

    Returns:
        Whether bodies can be disabled: where the time and both thresholds are above 0.

    Raises:
        SimulationError: The world has a default damping.
    """
    if info.node("defaultDamping") is not None:
        raise SimulationError("WorldInfo.defaultDamping is not supported in ODE")
    ode.WorldSetCFM(world, number(info, "CFM"))
    ode.WorldSetERP(world, number(info, "ERP"))
    rest = ("Time", "LinearThreshold", "AngularThreshold")
    limits = {name: number(info, f"physicsDisable{name}") for name in rest}
    for name, limit in limits.items():
        getattr(ode, f"WorldSetAutoDisable{name}")(world, limit)
    sleep = all(limit > 0.0 for limit in limits.values())
    ode.WorldSetAutoDisableFlag(world, int(sleep))
    ode.WorldSetAutoDisableSteps(world, 0)
    return sleep
