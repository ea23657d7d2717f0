"""A grasp scene: everything that a run depends on, as one value."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from softgrasp.description.arm import Arm
from softgrasp.description.base import LARGEST, Count, Description, Positive, Vec3
from softgrasp.description.closure import PositionIncrementClosure
from softgrasp.description.contact import Contact
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.objects import GraspObject, Mount
from softgrasp.description.pose import Pose
from softgrasp.description.problems import FieldError
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Lift, Table

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
        drives, word = sum(self.hand.rows), self.hand.drive_word
        if self.closure.rates is not None:
            try:
                self.closure.rates.for_fingers(self.hand.rows, word)
            except ValueError as error:
                raise FieldError(str(error), "closure", "rates") from None
        if self.closure.active is not None and len(self.closure.active) != drives:
            raise FieldError(
                f"expected {drives} values, one a {word}, found {len(self.closure.active)}",
                "closure",
                "active",
            )
        if self.hand.soft_fingers and self.actuation == "prescribed":
            raise FieldError(
                "expected 'servo': the joints of soft fingers have springs, and no targets that "
                "they could obey; found 'prescribed'",
                "actuation",
            )
        return self

    @model_validator(mode="after")
    def _pressure_fits(self) -> Self:
        closure = self.closure
        if closure.pressure is not None and not (closure.clamp_pressure and self.hand.soft_fingers):
            hint = "; clamp_pressure stops at the limit"
            self.hand.check_pressure(closure.pressure, ("closure", "pressure"), hint)
        return self

    @model_validator(mode="after")
    def _can_be_lifted(self) -> Self:
        if len(self.surroundings) > 1:
            raise FieldError(
                f"expected at most one table, found {len(self.surroundings)}", "surroundings"
            )
        if self.lift is None:
            return self
        if self.success is not None:
            raise FieldError("expected a lift or a hold test (success), found both", "lift")
        if self.object_mount != "free":
            raise FieldError(
                f"expected a free object to lift, found a {self.object_mount} one", "lift"
            )
        if self.gravity[2] >= 0.0:
            raise FieldError(
                f"expected gravity down, against which to lift, found {self.gravity}", "gravity"
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

    @property
    def rates(self) -> tuple[float, ...]:
        """Closing rate of each drive, zero where it is inactive [rad/s, m/s or Pa/s]."""
        rates = (self.closure.rates or self.preset.rates).for_fingers(self.hand.rows)
        active = self.closure.active or (True,) * len(rates)
        return tuple(rate if on else 0.0 for rate, on in zip(rates, active, strict=True))

    @property
    def start(self) -> tuple[float, ...]:
        """Where each drive closes from [rad, m or Pa]."""
        return self.preset.start or tuple(drive.start for drive in self.hand.drives)

    @property
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
