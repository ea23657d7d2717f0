"""What has to fit together in a scene; each rule raises a FieldError where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softgrasp.description.problems import FieldError

if TYPE_CHECKING:
    from softgrasp.description.scene import GraspScene

LONGEST_CLOSURE = 600.0
"""A closure without a given duration may take this long [s]."""
MOST_SAMPLES = 2_000_000
"""Control samples of one closure: each is a row in memory and in ``trajectory.npz``."""


def _fits_hand(scene: GraspScene) -> None:
    drives, word = sum(scene.hand.rows), scene.hand.drive_word
    if scene.closure.rates is not None:
        try:
            scene.closure.rates.for_fingers(scene.hand.rows, word)
        except ValueError as error:
            raise FieldError(str(error), "closure", "rates") from None
    if scene.closure.active is not None and len(scene.closure.active) != drives:
        raise FieldError(
            f"expected {drives} values, one a {word}, found {len(scene.closure.active)}",
            "closure",
            "active",
        )
    if scene.hand.soft_fingers and scene.actuation == "prescribed":
        raise FieldError(
            "expected 'servo': the joints of soft fingers have springs, and no targets that "
            "they could obey; found 'prescribed'",
            "actuation",
        )


def _model_can_be_prescribed(scene: GraspScene) -> None:
    model = scene.hand.model
    if scene.actuation == "servo" or model is None or model.plain:
        return
    other = next(drive.actuator for drive in model.drives if drive.joint is None)
    raise FieldError(
        f"expected 'servo': the target of actuator '{other}' of '{scene.hand.name}' is no joint's "
        "variable that could be prescribed; found 'prescribed'",
        "actuation",
    )


def _pressure_fits(scene: GraspScene) -> None:
    closure = scene.closure
    if closure.pressure is not None and not (closure.clamp_pressure and scene.hand.soft_fingers):
        hint = "; clamp_pressure stops at the limit"
        scene.hand.check_pressure(closure.pressure, ("closure", "pressure"), hint)


def _can_be_lifted(scene: GraspScene) -> None:
    if len(scene.surroundings) > 1:
        raise FieldError(
            f"expected at most one table, found {len(scene.surroundings)}", "surroundings"
        )
    if scene.lift is None:
        return
    if scene.success is not None:
        raise FieldError("expected a lift or a hold test (success), found both", "lift")
    if scene.object_mount != "free":
        raise FieldError(
            f"expected a free object to lift, found a {scene.object_mount} one", "lift"
        )
    if scene.gravity[2] >= 0.0:
        raise FieldError(
            f"expected gravity down, against which to lift, found {scene.gravity}", "gravity"
        )


def _can_be_judged(scene: GraspScene) -> None:
    if scene.success is None:
        return
    if scene.object_mount == "fixed":
        raise FieldError(
            "expected an object that can move for a hold test, found a fixed one", "success"
        )
    if scene.object_mount == "planar" and not any(scene.success.gravity[::2]):
        raise FieldError(
            "expected a part in the x–z plane, in which a planar object moves, "
            f"found {scene.success.gravity}",
            "success",
            "gravity",
        )


def _can_be_run(scene: GraspScene) -> None:
    if scene.duration is not None and scene.duration < scene.control_period:
        raise FieldError(
            f"expected at least one control period of {scene.control_period:g} s, "
            f"found {scene.duration:g} s",
            "duration",
        )
    slowest = scene.longest_closure
    if scene.duration is None and slowest > LONGEST_CLOSURE:
        raise FieldError(
            f"expected one, as the slowest joint needs {slowest:g} s to its limit "
            f"(more than {LONGEST_CLOSURE:g} s), found none",
            "duration",
        )
    closing = slowest if scene.duration is None else scene.duration
    if closing > MOST_SAMPLES * scene.control_period:
        raise FieldError(
            f"expected at least {closing / MOST_SAMPLES:g} s, so that {closing:g} s of closing "
            f"have at most {MOST_SAMPLES} control samples, found {scene.control_period:g} s",
            "control_period",
        )
    tangential = scene.solver.cone == "elliptic" and scene.solver.contact_dimension >= 3
    if scene.asked_contact.switches_friction and not tangential:
        raise FieldError(
            "expected an elliptic cone and a contact_dimension of at least 3 where "
            f"static and dynamic friction differ, found a {scene.solver.cone} cone and "
            f"{scene.solver.contact_dimension}",
            "solver",
        )


SCENE_RULES = (
    _fits_hand,
    _model_can_be_prescribed,
    _pressure_fits,
    _can_be_lifted,
    _can_be_judged,
    _can_be_run,
)
"""All rules, in the order in which their sentences come."""
