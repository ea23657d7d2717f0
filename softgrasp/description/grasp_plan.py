"""A search for grasps as a value: a scene, poses of the hand, and how grasps are ranked."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, NonNegative
from softgrasp.description.problems import FieldError
from softgrasp.description.scene import GraspScene
from softgrasp.description.success import SuccessCriterion
from softgrasp.errors import did_you_mean

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
