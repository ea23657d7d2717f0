"""A sweep as a value: a scene, what varies in it, and how often."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Count, Description, NonNegative, Number
from softgrasp.description.problems import FieldError
from softgrasp.description.scene import GraspScene

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
