"""What --sequence and --criterion change in a scene, with what has to come along."""

from __future__ import annotations

from typing import Any

from softgrasp.description.scene import GraspScene
from softgrasp.description.sequence import ClosePhase, LiftPhase
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Table
from softgrasp.errors import DescriptionError
from softgrasp.formats.criterion_file import load_criterion

AFTER_SEQUENCE = "sequence"
"""The criterion where a sequence goes on after its close and none is named."""


def sequence_changes(
    scene: GraspScene,
    sequence: str | None,
    criterion: str | None,
    *,
    hold: bool | None,
    lift: bool | None,
    gravity: bool | None,
    table: bool | None,
) -> dict[str, Any]:
    """Changed fields: the sequence, the criterion, and a table and gravity for what lifts.

    Args:
        scene: The scene so far.
        sequence: Types of phases with commas between them.
        criterion: Name or file of one.
        hold: Whether a hold test was asked for.
        lift: Whether a lift was asked for.
        gravity: Whether gravity was.
        table: Whether a table was; without one nothing carries the object, and no gravity comes.

    Raises:
        DescriptionError: There is no such phase or criterion, or two options exclude each other.
    """
    if sequence is None and criterion is None:
        return {}
    if lift:
        raise DescriptionError(
            "--lift: expected one of --lift, --sequence and --criterion, found more; "
            "lift is also a phase of sequences"
        )
    if criterion is not None and hold is not None:
        raise DescriptionError("--criterion: expected it or --hold/--no-hold, found both")
    changes: dict[str, Any] = {"lift": None}
    if criterion is not None:
        changes["success"] = load_criterion(criterion)
    if sequence is not None:
        words = [word.strip() for word in sequence.split(",")]
        changes["sequence"] = tuple(word for word in words if word)
        if not changes["sequence"]:
            raise DescriptionError(
                "--sequence: expected phases such as approach,close,lift, found none"
            )
    # read by themselves, so that a table and gravity can come with what they need
    tried = scene.replace(**(changes | {"success": None}))
    success: SuccessCriterion | None = changes.get("success", scene.success)
    goes_on = bool(tried.sequence) and not isinstance(tried.sequence[-1], ClosePhase)
    if success is None and hold is None and goes_on:
        changes["success"] = success = load_criterion(AFTER_SEQUENCE)
    motion = success.motion if success is not None else ()
    lifts = any(isinstance(phase, LiftPhase) for phase in (*tried.sequence, *motion))
    if lifts and gravity is not False and table is not False and not scene.surroundings:
        changes |= {"surroundings": (Table(),), "gravity": True}
    return changes
