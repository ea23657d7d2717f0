"""A grasp scene: everything that a run depends on, as one value."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from softgrasp.description.base import LARGEST, Count, Description, Positive, Vec3
from softgrasp.description.closure import PositionIncrementClosure
from softgrasp.description.contact import Contact
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.objects import GraspObject, Mount
from softgrasp.description.pose import Pose
from softgrasp.description.problems import FieldError
from softgrasp.description.success import SuccessCriterion

LONGEST_CLOSURE = 600.0
"""A closure without a given duration may take this long [s]."""
MOST_SAMPLES = 2_000_000
"""Control samples of one closure: each is a row in memory and in ``trajectory.npz``."""
StepTime = Annotated[float, Field(strict=True, ge=1e-7, le=LARGEST)]
STANDARD_GRAVITY: Vec3 = (0.0, 0.0, -9.81)
"""What ``gravity=True`` means [m/s²]."""


class Solver(Description):
    """How the engine resolves contacts; the defaults are measured (docs/contact.md)."""

    integrator: Literal["discrete", "implicitfast", "euler"] = "discrete"
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
    def _fits_hand(self) -> Self:
        joints = sum(self.hand.rows)
        if self.closure.rates is not None:
            try:
                self.closure.rates.for_fingers(self.hand.rows)
            except ValueError as error:
                raise FieldError(str(error), "closure", "rates") from None
        if self.closure.active is not None and len(self.closure.active) != joints:
            raise FieldError(
                f"expected {joints} values, one a joint, found {len(self.closure.active)}",
                "closure",
                "active",
            )
        return self

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        if self.success is None:
            return self
        if self.object_mount == "fixed":
            raise FieldError(
                "expected an object that can move for a hold test, found a fixed one", "success"
            )
        if self.object_mount == "planar" and not any(self.success.gravity[::2]):
            raise FieldError(
                "expected a part in the x–z plane, in which a planar object moves, "
                f"found {self.success.gravity}",
                "success",
                "gravity",
            )
        return self

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        if self.duration is not None and self.duration < self.control_period:
            raise FieldError(
                f"expected at least one control period of {self.control_period:g} s, "
                f"found {self.duration:g} s",
                "duration",
            )
        slowest = self.longest_closure
        if self.duration is None and slowest > LONGEST_CLOSURE:
            raise FieldError(
                f"expected one, as the slowest joint needs {slowest:g} s to its limit "
                f"(more than {LONGEST_CLOSURE:g} s), found none",
                "duration",
            )
        closing = slowest if self.duration is None else self.duration
        if closing > MOST_SAMPLES * self.control_period:
            raise FieldError(
                f"expected at least {closing / MOST_SAMPLES:g} s, so that {closing:g} s of closing "
                f"have at most {MOST_SAMPLES} control samples, found {self.control_period:g} s",
                "control_period",
            )
        tangential = self.solver.cone == "elliptic" and self.solver.contact_dimension >= 3
        if self.asked_contact.switches_friction and not tangential:
            raise FieldError(
                "expected an elliptic cone and a contact_dimension of at least 3 where "
                f"static and dynamic friction differ, found a {self.solver.cone} cone and "
                f"{self.solver.contact_dimension}",
                "solver",
            )
        return self

    @property
    def longest_closure(self) -> float:
        """Time that the slowest joint needs from its start to its limit [s]."""
        travel = [
            ((row.limits[1] if rate > 0 else row.limits[0]) - start) / rate
            for row, start, rate in zip(self.hand.joints, self.start, self.rates, strict=True)
            if rate != 0.0
        ]
        return max(travel, default=0.0)

    @property
    def preset(self) -> GraspPreset:
        """The hand's numbers for the chosen grasp."""
        return self.hand.grasps.power if self.grasp == "power" else self.hand.grasps.precision

    @property
    def rates(self) -> tuple[float, ...]:
        """Closing rate of each joint, zero where it is inactive [rad/s or m/s]."""
        rates = (self.closure.rates or self.preset.rates).for_fingers(self.hand.rows)
        active = self.closure.active or (True,) * len(rates)
        return tuple(rate if on else 0.0 for rate, on in zip(rates, active, strict=True))

    @property
    def start(self) -> tuple[float, ...]:
        """Joint variables from which the hand closes [rad or m]."""
        return self.preset.start or tuple(row.start for row in self.hand.joints)

    @property
    def asked_contact(self) -> Contact:
        """The contact that holds between object and hand, defaults filled in."""
        if self.contact is not None:
            return self.contact
        material = self.object.material
        if material is None:
            return Contact()
        return Contact(
            static_friction=material.static_friction, dynamic_friction=material.dynamic_friction
        )
