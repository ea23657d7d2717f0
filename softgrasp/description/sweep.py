"""A sweep as a value: a scene, what varies in it, and how often."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Count, Description, FieldError, NonNegative, Number
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import did_you_mean

Method = Literal["grid", "list", "latin", "sobol"]
DRAWN = ("latin", "sobol")
"""Methods that draw samples between two ends."""
MAX_ROWS = 10_000_000


class Axis(Description):
    """A field of the scene that varies: by values, or between two ends."""

    path: Annotated[str, Field(min_length=1)]
    """Such as ``object.density`` or ``hand.fingers[*].phalanges[0].radius``."""
    values: tuple[Any, ...] | None = None
    """Plain data, as the field takes it; of hands and objects also their names or files."""
    low: Number | None = None
    high: Number | None = None
    steps: Count | None = None
    """In a grid, how many values from ``low`` to ``high``, both included."""
    log: bool = False
    """Whether values are spaced by their logarithm."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        ends = (self.low, self.high)
        if (self.values is None) == (ends == (None, None)):
            present = "neither" if self.values is None else "both"
            raise FieldError(f"expected values, or low and high, found {present}", "values")
        if self.values is not None:
            if not self.values:
                raise FieldError(f"expected at least one value of '{self.path}', found none",
                                 "values")  # fmt: skip
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
    """How far the object's start is off at random, for each grasp anew."""

    position: NonNegative = 0.0
    """Standard deviation along each axis of the world [m]."""
    rotation: NonNegative = 0.0
    """Standard deviation of the turn about each axis of the world [rad]."""


class SweepPlan(Description):
    """Grasps that differ in some fields of one scene; each is a row of the table."""

    scene: GraspScene
    axes: tuple[Axis, ...] = ()
    method: Method = "grid"
    """``grid``: all combinations, the last axis fastest. ``list``: the first values of all axes,
    then the second ones. ``latin`` and ``sobol``: ``samples`` between the ends of all axes."""
    samples: Count | None = None
    """Of ``latin`` and ``sobol``."""
    repeats: Count = 1
    """How often each combination is taken, one after another; only noise makes them differ."""
    noise: PoseNoise = PoseNoise()
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    """Of samples and noise."""
    quality: bool = False
    """Whether ε of the final contacts is a column; it takes some milliseconds a grasp."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        paths = [axis.path for axis in self.axes]
        for index, path in enumerate(paths):
            if path in paths[:index]:
                raise FieldError(f"expected every path once, found '{path}' twice", "axes", index)
        drawn = self.method in DRAWN
        if drawn != (self.samples is not None):
            present = "none" if self.samples is None else str(self.samples)
            raise FieldError(
                f"expected samples exactly with {' and '.join(DRAWN)}, found {present} with "
                f"{self.method}",
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
            sizes_text = ", ".join(f"{count} of '{path}'" for path, count in sizes.items())
            raise FieldError(
                f"expected values for all axes, as many each, found {sizes_text}", "axes"
            )

    def _check_grid(self) -> None:
        for index, axis in enumerate(self.axes):
            if axis.values is None and axis.steps is None:
                raise FieldError(
                    f"expected how many steps from low to high, found none; as {axis.path}="
                    f"{axis.low:g}:{axis.high:g}:5 has",
                    "axes",
                    index,
                    "steps",
                )

    @property
    def size(self) -> int:
        """How many rows."""
        counts = [len(axis.values) if axis.values else axis.steps or 1 for axis in self.axes]
        if self.method == "grid":
            whole = 1
            for count in counts:
                whole *= count
        elif self.method == "list":
            whole = counts[0] if counts else 1
        else:
            whole = self.samples or 1
        return whole * self.repeats


# --------------------
# A search for grasps as a value: a scene, poses of the hand, and how grasps are ranked.


Angle = Annotated[float, Field(strict=True, ge=0, le=math.pi)]
MAX_CANDIDATES = 1_000_000
"""More are a slip of the pen."""
PERTURBATION = "perturbation"
"""Ranks by what the hold test's directions show: how many are borne, then how far it drifts."""


class PoseSampling(Description):
    """Where the hand may stand around the object, drawn at random.

    The approach is the way from the middle of the finger bases to the grasp's centre; the hand
    comes from the opposite direction. Numbers of 0 switch a part off.
    """

    cone: Angle = math.pi
    """Directions are uniform over the part of the sphere that is at most so far from where the
    hand is in the scene [rad]; π is all of it, and 0 keeps the scene's own."""
    roll: Angle = math.pi
    """Turns about the approach are uniform up to so much either way [rad]."""
    offset: NonNegative = 0.02
    """The object's centre is uniform in a ball of this radius around where the scene has it in
    the hand [m]."""
    gap: NonNegative = 1e-3
    """A hand that would stand in the object is pulled back along its approach until so much is
    between them [m]."""
    moves: Literal["hand", "object"] = "hand"
    """``hand``: the object stays where the scene has it, and so does all that has a place or a
    direction in the world: gravity, tables, directions of a hold test. ``object``: the hand
    stays, which builds models faster. Without such things both are one and the same grasp."""


class GraspPlan(Description):
    """Hand poses that are tried on an object, and how the grasps are ranked."""

    scene: GraspScene
    """Everything but the pose of the hand."""
    candidates: Annotated[int, Field(strict=True, ge=1, le=MAX_CANDIDATES)] = 200
    """How many poses are tried."""
    poses: PoseSampling = PoseSampling()
    preshapes: tuple[str, ...] = ()
    """Postures to start from, drawn with equal chances; the scene's own where none is named."""
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    """Candidate i depends on the seed and on i alone, so that more candidates keep the first."""
    rank_by: Annotated[str, Field(min_length=1)] = "quality_min_singular"
    """A numeric column of sweeps, or ``perturbation``: the share of the hold test's directions in
    which the object is held, and then the least drift in the hand."""
    best: Literal["largest", "smallest"] | None = None
    """Which end of ``rank_by`` is best; needed only where the planner does not know it."""
    top: Annotated[int, Field(strict=True, ge=0, le=1000)] = 3
    """How many of the best are handed back as scenes."""
    test: SuccessCriterion | None = None
    """What the best ones have to bear when they are simulated once more for their reports; what
    the scene has where not given. It has no part in the ranking."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        known = [preshape.name for preshape in self.scene.hand.preshapes]
        for index, name in enumerate(self.preshapes):
            if name not in known:
                exists = did_you_mean(name, known) if known else "this hand has none"
                raise FieldError(
                    f"expected a preshape of hand '{self.scene.hand.name}', found '{name}'; "
                    f"{exists}",
                    "preshapes",
                    index,
                )
            if name in self.preshapes[:index]:
                raise FieldError(
                    f"expected every preshape once, found '{name}' twice", "preshapes", index
                )
        success = self.scene.success
        if self.rank_by == PERTURBATION and (success is None or not success.directions):
            present = "no criterion" if success is None else f"'{success.name}' without any"
            raise FieldError(
                f"expected a scene whose success criterion has directions with '{PERTURBATION}', "
                f"found {present}; dexgraspbench has six",
                "rank_by",
            )
        if self.rank_by == PERTURBATION and self.best == "smallest":
            raise FieldError(f"expected none with '{PERTURBATION}', found smallest", "best")
        return self
