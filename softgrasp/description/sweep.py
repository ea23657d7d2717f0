"""Sweeps and grasp plans: a scene, what varies in it, and how the grasps are ranked.

A ``SweepPlan`` varies fields of one scene over a grid, a list or samples; each row is one grasp. A
``GraspPlan`` samples poses of the hand around the object (``PoseSampling``) and ranks the grasps.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Count, Description, FieldError, NonNegative, Number
from softgrasp.description.geometry import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import did_you_mean

# Sweeps.

Method = Literal["grid", "list", "latin", "sobol"]
SAMPLING_METHODS = ("latin", "sobol")
"""Methods that draw samples between two ends."""
MAX_ROWS = 10_000_000


class Axis(Description):
    """A field of the scene that varies: over values, or between two ends."""

    path: Annotated[str, Field(min_length=1)]
    """Such as ``object.density`` or ``hand.fingers[*].phalanges[0].radius``."""
    values: tuple[Any, ...] | None = None
    """Plain data, as in the field; of hands and objects also their names or files."""
    low: Number | None = None
    """Lowest value."""
    high: Number | None = None
    """Highest value."""
    steps: Count | None = None
    """In a grid: number of values from ``low`` to ``high``, both included."""
    log: bool = False
    """Whether values are spaced logarithmically."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        ends = (self.low, self.high)
        if (self.values is None) == (ends == (None, None)):
            present = "neither" if self.values is None else "both"
            raise FieldError(f"expected values, or low and high, found {present}", "values")
        if self.values == ():
            raise FieldError(f"expected at least one value of '{self.path}', found none", "values")
        if self.values is not None:
            return self
        if self.low is None or self.high is None:
            raise FieldError("expected low and high, found one of them", "low")
        if self.low > self.high or (self.log and self.low <= 0.0):
            condition = "above 0 and " if self.log else ""
            raise FieldError(
                f"expected low {condition}at most high ({self.high:g}), found {self.low:g}", "low"
            )
        return self


class PoseNoise(Description):
    """Random error of the object's start pose, drawn for each grasp."""

    position: NonNegative = 0.0
    """Standard deviation along each axis of the world [m]."""
    rotation: NonNegative = 0.0
    """Standard deviation of the rotation about each axis of the world [rad]."""


class SweepPlan(Description):
    """Grasps that differ in some fields of one scene, each a row of the result table."""

    scene: GraspScene
    """The scene that is varied; in files also its name or file."""
    axes: tuple[Axis, ...] = ()
    """What varies."""
    method: Method = "grid"
    """``grid``: all combinations, the last axis varies fastest. ``list``: the first values of all
    axes, then the second ones. ``latin`` and ``sobol``: ``samples`` between the ends of all
    axes."""
    samples: Count | None = None
    """Number of samples of ``latin`` and ``sobol``."""
    repeats: Count = 1
    """Repeats of each combination in succession; only noise makes them differ."""
    noise: PoseNoise = PoseNoise()
    """Random errors of the pose of the object."""
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    """Seed of samples and noise."""
    quality: bool = False
    """Whether ε of the final contacts is a column; it takes some milliseconds per grasp."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        paths = [axis.path for axis in self.axes]
        for index, path in enumerate(paths):
            if path in paths[:index]:
                raise FieldError(f"expected every path once, found '{path}' twice", "axes", index)
        drawn = self.method in SAMPLING_METHODS
        if drawn != (self.samples is not None):
            present = "none" if self.samples is None else str(self.samples)
            raise FieldError(
                f"expected samples exactly with {' and '.join(SAMPLING_METHODS)}, "
                f"found {present} with {self.method}",
                "samples",
            )
        if drawn and not self.axes:
            raise FieldError(f"expected at least one axis with {self.method}, found none", "axes")
        if self.method == "list":
            self._check_list()
        if self.method == "grid":
            self._check_grid()
        if self.size > MAX_ROWS:
            raise FieldError(f"expected at most {MAX_ROWS} rows, found {self.size}", "axes")
        return self

    def _check_list(self) -> None:
        sizes = {axis.path: len(axis.values or ()) for axis in self.axes}
        if len(set(sizes.values())) > 1 or 0 in sizes.values():
            listed = ", ".join(f"{count} of '{path}'" for path, count in sizes.items())
            raise FieldError(f"expected values for all axes, as many each, found {listed}", "axes")

    def _check_grid(self) -> None:
        for index, axis in enumerate(self.axes):
            if axis.values is None and axis.steps is None:
                raise FieldError(
                    f"expected the number of steps from low to high, found none; for example "
                    f"{axis.path}={axis.low:g}:{axis.high:g}:5",
                    *("axes", index, "steps"),
                )

    @property
    def size(self) -> int:
        """Number of grasps (rows)."""
        counts = [len(axis.values) if axis.values else axis.steps or 1 for axis in self.axes]
        if self.method == "grid":
            combinations = math.prod(counts)
        elif self.method == "list":
            combinations = counts[0] if counts else 1
        else:
            combinations = self.samples or 1
        return combinations * self.repeats


# Grasp plans.

Angle = Annotated[float, Field(strict=True, ge=0, le=math.pi)]
MAX_CANDIDATES = 1_000_000
"""Largest number of candidates of a plan."""
PERTURBATION, ROBUSTNESS = "perturbation", "robustness"
"""Ranking by the directions of the hold test: the number in which the object is held, then its
drift."""


class PoseSampling(Description):
    """Random poses of the hand around the object.

    The approach direction leads from the centre of the finger bases to the grasp's centre. A number
    of 0 disables the respective variation.
    """

    cone: Angle = math.pi
    """Approach directions are uniform over the part of the sphere within this angle of that of the
    scene [rad]; π is the whole sphere, 0 keeps that of the scene."""
    roll: Angle = math.pi
    """Rotations about the approach direction are uniform up to ± this angle [rad]."""
    offset: NonNegative = 0.02
    """The object's centre is uniform in a ball of this radius around its position in the hand
    [m]."""
    gap: NonNegative = 1e-3
    """A hand that would penetrate the object is retracted along its approach direction to this
    distance [m]."""
    moves: Literal["hand", "object"] = "hand"
    """``hand``: the object keeps its pose, and with it everything that is defined in the world
    frame: gravity, tables, directions of a hold test. ``object``: the hand keeps its pose, which
    makes models faster to build. Without such items both give the same grasp."""


class ImportedGrasp(Description):
    """A grasp posture that is simulated as it is, such as one that another program made."""

    object_pose: Pose
    """Pose of the object, at its centre of mass, in the hand's frame."""
    start: tuple[Number, ...]
    """Targets of the actuators from which the hand closes."""
    grasp: tuple[Number, ...]
    """Targets in the grasp."""
    squeeze: tuple[Number, ...]
    """Targets that press on the object; the hand closes in their direction."""


class GraspPlan(Description):
    """Hand poses around an object, and the ranking of their grasps."""

    scene: GraspScene
    """Everything except the pose of the hand."""
    candidates: Annotated[int, Field(strict=True, ge=1, le=MAX_CANDIDATES)] = 200
    """Number of grasps that are simulated."""
    method: Literal["synthesis", "poses", "imported"] = "synthesis"
    """``synthesis``: poses and postures that minimise an energy of contacts, force closure and
    penetration; where it finds fewer than ``candidates``, poses follow. ``poses``: poses at random,
    with the closing motion of the scene's grasp. ``imported``: those of ``grasps``."""
    grasps: tuple[ImportedGrasp, ...] = ()
    """Grasps of the method ``imported``."""
    seeds: Annotated[int, Field(strict=True, ge=1, le=MAX_CANDIDATES)] | None = None
    """Largest number of start postures of the synthesis; six times ``candidates`` by default."""
    trial: bool = True
    """Whether each synthesized posture has to hold the object in a short simulated trial, or comes
    after those that do. The search ends when ``candidates`` postures have held it."""
    poses: PoseSampling = PoseSampling()
    """Directions and distances of the poses."""
    preshapes: tuple[str, ...] = ()
    """Start postures of the poses, drawn with equal probabilities; that of the scene by default."""
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    """Candidate i depends on the seed and on i only, so more candidates keep the first ones."""
    rank_by: Annotated[str, Field(min_length=1)] = "quality_min_singular"
    """A numeric column of sweeps; ``perturbation``: the fraction of the hold test's directions in
    which the object is held, then the smallest drift in the hand; or ``robustness``: the fraction
    of ``trials`` with an object that is displaced by ``noise`` in which it is held."""
    trials: Count = 12
    """Trials of each held grasp, where ``robustness`` ranks."""
    noise: PoseNoise = PoseNoise(position=0.005, rotation=math.radians(5.0))
    """Random error of the object's start pose in these trials."""
    best: Literal["largest", "smallest"] | None = None
    """Which end of ``rank_by`` is best; needed only where the planner does not know it."""
    top: Annotated[int, Field(strict=True, ge=0, le=1000)] = 3
    """Number of best grasps that are returned as scenes."""
    test: SuccessCriterion | None = None
    """Hold test of the best grasps in a second simulation for their reports; that of the scene by
    default. It does not affect the ranking."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.method != "poses":
            self._check_synthesis()
        self._check_imported()
        known = [preshape.name for preshape in self.scene.hand.preshapes]
        for index, name in enumerate(self.preshapes):
            if name not in known:
                hint = did_you_mean(name, known) if known else "this hand has none"
                message = f"a preshape of hand '{self.scene.hand.name}', found '{name}'; {hint}"
                raise FieldError(f"expected {message}", "preshapes", index)
            if name in self.preshapes[:index]:
                message = f"expected every preshape once, found '{name}' twice"
                raise FieldError(message, "preshapes", index)
        success = self.scene.success
        if self.rank_by == PERTURBATION and (success is None or not success.directions):
            present = "no criterion" if success is None else f"'{success.name}' without any"
            raise FieldError(
                f"expected a scene whose success criterion has directions with '{PERTURBATION}', "
                f"found {present}; dexgraspbench has six",
                "rank_by",
            )
        if self.rank_by in (PERTURBATION, ROBUSTNESS) and self.best == "smallest":
            raise FieldError(f"expected none with '{self.rank_by}', found smallest", "best")
        if self.rank_by == ROBUSTNESS and not (success or self.scene.lift):
            raise FieldError(
                f"expected a hold test or a lift to rank by '{ROBUSTNESS}', found none", "rank_by"
            )
        return self

    def _check_imported(self) -> None:
        """Refuse a number of given grasps, or of their targets, that does not fit."""
        count = len(self.grasps)
        if (self.method == "imported") != (count > 0):
            raise FieldError(
                f"expected grasps exactly with method 'imported', found {count} with "
                f"'{self.method}'",
                "grasps",
            )
        expected = len(self.scene.hand.actuators)
        for index, grasp in enumerate(self.grasps):
            for name in ("start", "grasp", "squeeze"):
                size = len(getattr(grasp, name))
                if size != expected:
                    raise FieldError(
                        f"expected {expected} numbers, one per actuator of "
                        f"'{self.scene.hand.name}', found {size}",
                        *("grasps", index, name),
                    )

    def _check_synthesis(self) -> None:
        """Refuse what postures of the hand do not support."""
        hand = self.scene.hand
        if hand.soft_fingers:
            reason = f"a hand of rigid fingers, found '{hand.name}' with soft ones"
        elif self.scene.object.elasticity is not None:
            reason = f"a rigid object, found '{self.scene.object.name}', which is deformable"
        elif self.preshapes:
            reason = f"no preshapes, found {len(self.preshapes)}"
        elif not self.scene.closure.rates_are_of_joints:
            reason = f"a closure with rates of joints, found '{self.scene.closure.name}'"
        elif any(phase.type == "preshape" for phase in self.scene.sequence):
            reason = "a sequence without a preshape phase, found one"
        else:
            return
        raise FieldError(f"expected {reason}; poses is the other method", "method")
