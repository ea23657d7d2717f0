"""A finished run of any engine → its result."""

from __future__ import annotations

import math
import time
from typing import Any

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.deformable import full_size, node_track
from softgrasp.simulation.closing_warnings import closing_warnings
from softgrasp.simulation.contact_ends import (
    body_contacts,
    forces_on_objects,
    other_contacts,
    slot_warnings,
)
from softgrasp.simulation.creep import creep_warnings
from softgrasp.simulation.engine_warnings import sentences
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.hold import bodies_on_object, hold_test, is_held
from softgrasp.simulation.missed import missed_warnings
from softgrasp.simulation.outcome import GraspStatus, grasp_status
from softgrasp.simulation.quality_sampling import quality_log
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.sensing import sensed
from softgrasp.simulation.soft_series import soft_ends, soft_series, squeeze_warning
from softgrasp.simulation.stiffness import chatter_warnings, measured_stiffness, stiffness_warnings
from softgrasp.simulation.told_contacts import ContactModel
from softgrasp.simulation.told_hold import PhaseSpan
from softgrasp.simulation.told_motion import ObjectMotion
from softgrasp.simulation.track import Track, object_motion, object_tracks
from softgrasp.simulation.weightless import weightless_warnings

FLEX_WARNING = (
    "deformable object: results of MuJoCo {version} cannot be compared with those of another "
    "version, whose flexes have other stiffness; its contacts have MuJoCo's own law "
    "(elasticity.contact_time), not stiffness and damping in N/m and N·s/m"
)


def result_of(
    run: FinishedRun,
    build_warnings: list[str],
    taken: float,
    interrupted: str = "",
    quality_rate: float | None = None,
) -> GraspResult:
    """What a run has come to.

    Args:
        run: The run, at its end.
        build_warnings: Warnings while it was built.
        taken: Time that building and running took [s].
        interrupted: A sentence where the user has stopped it.
        quality_rate: How often contacts are looked at for the quality of the grasp [1/s]; 0 for its
            end only, None for not at all.
    """
    begin = time.perf_counter()
    messages = (*dict.fromkeys(build_warnings), *sentences(run.engine_warnings))
    messages += (interrupted,) if interrupted else ()
    recording, model, scene = run.recording, run.model, run.scene
    rows = slice(0, recording.rows)
    force = recording.force[rows].reshape(recording.rows, len(run.built.bodies), -1, 3)
    tracks = object_tracks(run, recording.qpos[rows])
    position, quaternion = tracks[0]
    points = [] if run.diverged else run.contact_points()
    measured = measured_stiffness(points)
    set_values = _set_stiffness(run, measured)
    normal = force[..., 0].sum(-1)
    if run.finished:
        messages += tuple(stiffness_warnings(measured, set_values))
        messages += tuple(chatter_warnings(normal, run.built.bodies))
        messages += squeeze_warning(run, quaternion)
        messages += missed_warnings(
            run, forces_on_objects(run, force)[..., 0] if scene.objects else normal
        )
        messages += closing_warnings(run, normal)
    messages += slot_warnings(run, force)
    messages += (FLEX_WARNING.format(version=run.engine.version),) if model.nflex else ()
    hold = hold_test(run, tracks)
    held = is_held(run, hold, forces_on_objects(run, force)[-1, :, 0])
    messages += creep_warnings(scene, hold, held) + weightless_warnings(scene, hold)
    pressure, curvature = soft_series(run)
    called = zip(scene.object_names, tracks, strict=True)
    motions = tuple(object_motion(name, *track) for name, track in called)
    several = _series_of_several(run, force, tracks) if scene.objects else {}
    return GraspResult(
        scene=scene,
        backend={"name": run.engine.name, "version": run.engine.version},
        status=_status(run, motions[0], force),
        held=held,
        simulated_time=float(recording.time[recording.rows - 1]),
        wall_time=taken + time.perf_counter() - begin,
        contacts=body_contacts(run, points),
        other_contacts=() if run.diverged else other_contacts(run),
        events=tuple(run.events),
        objects=motions,
        contact_model=ContactModel(
            asked=scene.requested_contact,
            used=run.built.contact,
            measured_stiffness_N_m=measured,
            set_stiffness_N_m=_others_than(set_values, run.built.contact.stiffness),
            integrator=run.engine.integrator,
            timestep_s=run.engine.timestep,
        ),
        hold=hold,
        quality_log=None if quality_rate is None else quality_log(run, quality_rate),
        phases=_phases(run),
        soft_fingers=() if run.diverged else soft_ends(run),
        warnings=messages,
        advice=_advice(run) if run.diverged else "",
        time=recording.time[rows],
        joint_names=np.array(names.scene_joints(scene)),
        joint_position=recording.qpos[rows, run.layout.qpos_of_joint],
        actuator_names=np.array([model.actuator(i).name for i in range(model.nu)]),
        joint_target=recording.control[rows],
        object_position=position,
        object_quat_wxyz=quaternion,
        contact_bodies=np.array(run.built.bodies),
        normal_force=normal,
        friction_force=np.hypot(force[..., 1], force[..., 2]).sum(-1),
        in_contact=recording.in_contact[rows].astype(bool),
        pressure=pressure,
        curvature=curvature,
        object_nodes=node_track(model, recording.qpos[rows]) if model.nflex else None,
        **several,
        **sensed(run),
    )


def _series_of_several(run: FinishedRun, force: Array, tracks: list[Track]) -> dict[str, Any]:
    """What further objects add to a trajectory."""
    return {
        "object_names": np.array(run.scene.object_names),
        "object_positions": np.stack([track.position for track in tracks], axis=1),
        "object_quats_wxyz": np.stack([track.quaternion for track in tracks], axis=1),
        "object_normal_force": forces_on_objects(run, force),
    }


def _set_stiffness(run: FinishedRun, measured: dict[str, float]) -> dict[str, float]:
    """What was set for each pair that was measured [N/m]; of some contacts none was."""
    known = run.built.stiffness
    reversed_pairs = {pair: "|".join(reversed(pair.split("|"))) for pair in measured}
    return {
        pair: known[name]
        for pair in measured
        for name in (pair, reversed_pairs[pair])
        if name in known
    }


def _others_than(set_values: dict[str, float], usual: float) -> dict[str, float]:
    return {pair: stiffness for pair, stiffness in set_values.items() if stiffness != usual}


def _phases(run: FinishedRun) -> tuple[PhaseSpan, ...]:
    times = run.recording.time
    return tuple(
        PhaseSpan(name=name, start_s=float(times[begin]), end_s=float(times[end]))
        for name, begin, end in run.phases
        if end < run.recording.rows
    )


def _status(run: FinishedRun, motion: ObjectMotion, force: Array) -> GraspStatus:
    if run.diverged:
        return GraspStatus.DIVERGED
    if run.scene.on_wrist:
        return _status_of_sequence(run)
    touched = any(event.kind == "touching" for event in run.events)
    in_contact = any(run.state.in_contact)
    if run.scene.objects:  # only the one to be grasped counts
        pressed = forces_on_objects(run, force)[..., 0]
        touched = bool((pressed > 0.0).any())
        in_contact = bodies_on_object(run, pressed[-1]) > 0
    return grasp_status(
        touched=touched,
        in_contact=in_contact,
        moving=_still_closing(run),
        displacement=float(np.linalg.norm(motion.displacement_m)),
        object_radius=_object_radius(run),
    )


def _still_closing(run: FinishedRun) -> bool:
    """Whether targets were moving at the end; joints that keep a force go on in a hold test."""
    if run.layout.grip_force is None or run.hold_from is None:
        return run.state.idle == 0
    end = max(run.hold_from, 1)
    before, last = run.recording.control[end - 1 : end + 1]
    return bool((before != last).any())


def _status_of_sequence(run: FinishedRun) -> GraspStatus:
    """As ``grasp_status`` says, where the object goes with the hand and the last targets are a wrist's."""
    fingers = run.recording.control[: run.recording.rows, : len(run.scene.actuators)]
    established = any(event.kind == "established" for event in run.events)
    return grasp_status(
        touched=established,
        in_contact=any(run.state.in_contact),
        moving=bool((fingers[-1:] != fingers[-2:-1]).any()),
        displacement=math.inf,
        object_radius=1.0,
    )


def _object_radius(run: FinishedRun) -> float:
    """Radius of a ball around the object [m]."""
    if run.model.nflex:
        return 0.5 * float(np.linalg.norm(full_size(run.scene.object.shape)))
    geoms = [g for g in range(run.model.ngeom) if _is_object(run.model, g)]
    return float(run.model.geom_rbound[geoms].max())


def _is_object(model: mujoco.MjModel, geom: int) -> bool:
    return bool(model.body(int(model.geom_bodyid[geom])).name == names.OBJECT)


def _advice(run: FinishedRun) -> str:
    worst = int(np.nanargmax(np.nan_to_num(np.abs(run.data.qvel), nan=np.inf)))
    joint = run.model.joint(int(run.model.dof_jntid[worst])).name
    step = run.engine.timestep
    return (
        f"it broke at {run.recording.time[run.recording.rows - 1]:.4f} s, first seen in joint "
        f"'{joint}'; use a smaller timestep than {step:g} s (try {step / 5:g} s), a softer "
        f"contact, or slower closing rates"
    )
