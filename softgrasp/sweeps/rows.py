"""A result as one row of the table; what stands in which column."""

from __future__ import annotations

from typing import Any

import numpy as np

from softgrasp.quality.grasp_matrix import smallest_singular_value
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_hold import HoldTest

FAILED = "FAILED"
"""Status of a row whose grasp could not be simulated; its ``error`` says why."""
COLUMNS: dict[str, str] = {
    "status": "name of the GraspStatus, or FAILED",
    "held": "whether the hold test or the lift was passed; empty where there was none",
    "error": "why there is no result; empty where there is one",
    "simulated_time_s": "simulated time [s]",
    "first_touch_s": "first touch of the object [s]",
    "all_established_s": "last establishing of a contact [s]",
    "contacts": "bodies of the hand in established contact at the end",
    "contacts_lost": "how often an established contact was lost",
    "contact_order": "bodies in the order of their first established contact, joined by >",
    "largest_force_N": "largest normal force of one body [N]",
    "final_force_N": "sum of the normal forces at the end [N]",
    "displacement_m": "how far the object went [m]",
    "displacement_x_m": "its displacement in the world [m]",
    "displacement_y_m": "[m]",
    "displacement_z_m": "[m]",
    "rotation_rad": "angle by which it turned [rad]",
    "final_x_m": "its final pose in the world [m]",
    "final_y_m": "[m]",
    "final_z_m": "[m]",
    "final_qw": "quaternion",
    "final_qx": "quaternion",
    "final_qy": "quaternion",
    "final_qz": "quaternion",
    "quality_friction_margin": "1 - friction over its limit in the contact at the end that is "
    "nearest to slipping; empty without contacts",
    "quality_min_singular": "smallest singular value of the grasp matrix at the end, moments over "
    "the contacts' rms distance from the centre; 0 where some motion is not resisted",
    "quality_epsilon": "radius of the largest ball in the wrench space of the contacts at the end, "
    "moments over the object's reach; empty where the plan asks for no quality",
    "hold_drop_m": "drift in the hand during the hold test or the lift [m]",
    "hold_rotation_rad": "turn in the hand [rad]",
    "hold_lifted_m": "how far it was lifted [m]",
    "hold_creep_m_s": "creep in the hand under full load [m/s]",
    "hold_slip_force_N": "least force that pulled it out of the hand [N]; empty without pulls and "
    "where none did",
    "hold_directions": "share of the criterion's directions in which it was held; empty where it "
    "has none",
    "stiffness_min_N_m": "lowest measured contact stiffness at the end [N/m]",
    "stiffness_max_N_m": "highest one [N/m]",
    "timestep_s": "time step of the physics [s]",
    "warnings": "number of warnings",
    "trajectory_sha256": "hash of the whole trajectory",
    "wall_time_s": "time that the grasp took [s]; differs from run to run",
    "wall_build_s": "of which its model, reading and cutting a mesh included [s]; differs, too",
}
"""Columns behind ``row`` and the plan's axes, in this order, with their meaning."""


def row_of(result: GraspResult) -> dict[str, Any]:
    """The columns of a finished grasp, as plain data."""
    motion, hold = result.object, result.hold
    established = {c.body: c.established_s[0] for c in result.contacts if c.established_s}
    touches = [c.first_touch_s for c in result.contacts if c.first_touch_s is not None]
    stiffness = list(result.contact_model.measured_stiffness_N_m.values())
    start, end = np.array(motion.initial_quat_wxyz), np.array(motion.final_quat_wxyz)
    return {
        "status": result.status.name,
        "held": result.held,
        "error": "",
        "simulated_time_s": result.simulated_time,
        "first_touch_s": min(touches, default=None),
        "all_established_s": max(established.values(), default=None),
        "contacts": sum(contact.in_contact for contact in result.contacts),
        "contacts_lost": sum(len(contact.lost_s) for contact in result.contacts),
        "contact_order": ">".join(sorted(established, key=lambda body: (established[body], body))),
        "largest_force_N": float(result.normal_force.max(initial=0.0)),
        "final_force_N": float(result.normal_force[-1].sum()),
        "displacement_m": float(np.linalg.norm(motion.displacement_m)),
        **_named("displacement", "xyz", motion.displacement_m, "_m"),
        "rotation_rad": float(2.0 * np.arccos(min(abs(float(start @ end)), 1.0))),
        **_named("final", "xyz", motion.final_position_m, "_m"),
        **_named("final_q", "wxyz", motion.final_quat_wxyz, "", ""),
        **_quality(result),
        "hold_drop_m": None if hold is None else hold.drop_m,
        "hold_rotation_rad": None if hold is None else hold.rotation_rad,
        "hold_lifted_m": None if hold is None else hold.lifted_m,
        "hold_creep_m_s": None if hold is None else hold.creep_m_s,
        "hold_slip_force_N": _slip_force(hold),
        "hold_directions": _borne(result),
        "stiffness_min_N_m": min(stiffness, default=None),
        "stiffness_max_N_m": max(stiffness, default=None),
        "timestep_s": result.contact_model.timestep_s,
        "warnings": len(result.warnings),
        "trajectory_sha256": result.trajectory_sha256,
        "wall_time_s": result.wall_time,
    }


def _borne(result: GraspResult) -> float | None:
    """Share of directions in which the object was held; None where none was tried."""
    tried = () if result.hold is None else result.hold.directions
    return sum(test.held for test in tried) / len(tried) if tried else None


def _quality(result: GraspResult) -> dict[str, float | None]:
    touching = [contact for contact in result.contacts if contact.point_m is not None]
    friction = result.contact_model.used.static_friction
    used = [
        contact.friction_force_N / (friction * contact.normal_force_N)
        for contact in touching
        if contact.normal_force_N > 0.0 and friction > 0.0
    ]
    points = np.array([contact.point_m for contact in touching])
    centre, log = result.objects[0].final_position_m, result.quality_log
    return {
        "quality_friction_margin": 1.0 - max(used) if used else None,
        "quality_min_singular": smallest_singular_value(points, centre),
        "quality_epsilon": None if log is None else float(log.epsilon[-1]),
    }


def _slip_force(hold: HoldTest | None) -> float | None:
    pulls = () if hold is None else hold.pulls
    return min((pull.slip_force_N for pull in pulls if pull.slip_force_N is not None), default=None)


def failed_row(error: str) -> dict[str, Any]:
    """The columns of a grasp without a result."""
    empty = dict.fromkeys(COLUMNS)
    return empty | {"status": FAILED, "error": error, "wall_time_s": 0.0, "wall_build_s": 0.0}


def _named(
    stem: str, axes: str, values: tuple[float, ...], unit: str, joint: str = "_"
) -> dict[str, float]:
    return {f"{stem}{joint}{axis}{unit}": value for axis, value in zip(axes, values, strict=True)}
