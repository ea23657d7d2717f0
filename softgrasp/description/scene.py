"""A grasp scene: everything that a run depends on, as one value."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from softgrasp.description.arm import Arm
from softgrasp.description.base import LARGEST, Count, Description, Positive, Vec3
from softgrasp.description.closure import PositionIncrementClosure
from softgrasp.description.contact import Contact
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.objects import GraspObject, Mount
from softgrasp.description.pose import Pose
from softgrasp.description.scene_rules import SCENE_RULES
from softgrasp.description.sensors import AnySensor
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Lift, Table

StepTime = Annotated[float, Field(strict=True, ge=1e-7, le=LARGEST)]
STANDARD_GRAVITY: Vec3 = (0.0, 0.0, -9.81)
"""What ``gravity=True`` means [m/s²]."""


class Solver(Description):
    """How the engine resolves contacts; the defaults are measured (docs/contact.md)."""

    integrator: Literal["discrete", "implicitfast", "euler"] | None = None
    """Where it is not given: ``discrete``; ``implicitfast`` for a hand with soft fingers, whose
    springs make the stiffness of contacts uncertain under ``discrete`` (decision 0010)."""
    cone: Literal["elliptic", "pyramidal"] = "elliptic"
    impratio: Positive = 3e5
    """Stiffness of friction over that of the normal direction [–]; creep falls as 1/impratio."""
    friction_damping: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.1
    """Damping along the surface over that of the normal direction [–]. MuJoCo lifts what slides
    in proportion to it; much less of it lets heavy objects creep (decision 0006)."""
    contact_dimension: Literal[1, 3, 4, 6] = 4
    """1 frictionless, 3 sliding, 4 with torsion, 6 with rolling friction."""
    impedance: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.5
    """Constant constraint impedance d [–]."""
    iterations: Count = 100


class GraspScene(Description):
    """A hand, an object and all conditions of one grasp."""

    hand: Hand
    object: GraspObject
    name: str = ""
    object_position: Vec3 | None = None
    """Centre of mass of the object in the world [m]; the grasp centre where it is not given."""
    grasp: Literal["power", "precision"] = "power"
    object_euler: Vec3 | None = None
    """Turns about x, y, z of intrinsic z-y-x [rad]; where it is not given the object lies as the
    grasp says, or stands upright if it is an upright one."""
    object_mount: Mount = "free"
    """``planar`` moves in the x–z plane of the world and turns about y."""
    hand_pose: Pose = Pose()
    arm: Arm | None = None
    """What carries the hand, and lifts it; it stands where it has to for ``hand_pose``."""
    surroundings: tuple[Table, ...] = ()
    """What stands around; at most one table so far."""
    gravity: Vec3 = (0.0, 0.0, 0.0)
    """[m/s²]; ``True`` is 9.81 down, ``False`` none."""
    contact: Contact | None = None
    """Contact of the object with the hand; its material's where it is not given."""
    self_contact: bool = True
    """Whether the hand's bodies touch one another."""
    closure: PositionIncrementClosure = PositionIncrementClosure()
    actuation: Literal["servo", "prescribed"] = "servo"
    """``servo``: position servos with a force limit. ``prescribed``: joints follow their targets
    whatever the load, as the Simscape joints of paper 004 do."""
    timestep: StepTime | None = None
    """Physics step [s]; chosen for the contact where it is not given."""
    control_period: StepTime = 1e-3
    """Time between two samples of the controller [s]; a whole number of time steps."""
    duration: Positive | None = None
    """Simulated time of the closure [s]; until the hand has settled where it is not given."""
    allow_softer_contact: bool = False
    """Go on, with a warning, where the time step cannot honour the contact."""
    solver: Solver = Solver()
    success: SuccessCriterion | None = None
    """The hold test after the closure."""
    lift: Lift | None = None
    """Instead of a hold test: the wrist lifts the object off its table."""
    sensors: tuple[AnySensor, ...] = ()
    """What the hand feels with, recorded at every control sample."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    source: str = ""
    """What the scene shows or reproduces."""

    @field_validator("gravity", mode="before")
    @classmethod
    def _gravity_switch(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return STANDARD_GRAVITY if value else (0.0, 0.0, 0.0)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for rule in SCENE_RULES:
            rule(self)
        return self

    @cached_property
    def longest_closure(self) -> float:
        """Time that the slowest drive needs from its start to its limit [s]."""
        travel = [
            ((high if rate > 0 else low) - start) / rate
            for (low, high), start, rate in zip(self.limits, self.start, self.rates, strict=True)
            if rate != 0.0
        ]
        return max(travel, default=0.0)

    @property
    def preset(self) -> GraspPreset:
        """The hand's numbers for the chosen grasp."""
        return self.hand.grasps.power if self.grasp == "power" else self.hand.grasps.precision

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """Closing rate of each drive, zero where it is inactive [rad/s, m/s or Pa/s]."""
        rates = (self.closure.rates or self.preset.rates).for_fingers(self.hand.rows)
        active = self.closure.active or (True,) * len(rates)
        return tuple(rate if on else 0.0 for rate, on in zip(rates, active, strict=True))

    @cached_property
    def start(self) -> tuple[float, ...]:
        """Where each drive closes from [rad, m or Pa]."""
        return self.preset.start or tuple(drive.start for drive in self.hand.drives)

    @cached_property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest target of each drive [rad, m or Pa]."""
        wanted = self.preset.pressure if self.closure.pressure is None else self.closure.pressure
        rigid = (row.limits for row in self.hand.joints)
        soft = (
            (low, high if wanted is None else min(max(wanted, low), high))
            for low, high in (digit.limits for digit in self.hand.soft_fingers)
        )
        return (*rigid, *soft)

    @property
    def integrator(self) -> str:
        """Of the solver, its default filled in."""
        # a deformable object is stepped by 'discrete' alone
        soft = bool(self.hand.soft_fingers) and self.object.elasticity is None
        return self.solver.integrator or ("implicitfast" if soft else "discrete")

    @property
    def table(self) -> Table | None:
        """The table, where there is one."""
        return next(iter(self.surroundings), None)

    @property
    def asked_contact(self) -> Contact:
        """The contact that holds between object and hand, defaults filled in."""
        if self.contact is not None:
            return self.contact
        if self.hand.contact is not None:
            return self.hand.contact
        material = self.object.material
        if material is None:
            return Contact()
        return Contact(
            static_friction=material.static_friction, dynamic_friction=material.dynamic_friction
        )
