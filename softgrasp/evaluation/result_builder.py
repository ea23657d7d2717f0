"""Build the result of a finished run of any engine.

``result_of`` evaluates the recording: status, contacts and their measured stiffness, hold test,
objects, soft fingers, and warnings. ``joint_states`` converts the joints of a result to positions,
velocities and efforts over time.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from softgrasp.description.soft_finger import MountedSoftFinger, SoftFinger
from softgrasp.errors import SoftgraspWarning
from softgrasp.evaluation.diagnostics import (
    closing_warnings,
    find_reached_forces,
    force_warnings,
    miss_warnings,
)
from softgrasp.evaluation.hold_result import (
    Track,
    creep_warnings,
    hold_test,
    hold_warnings,
    is_held,
    object_motion,
    object_tracks,
)
from softgrasp.evaluation.outcome import GraspStatus, grasp_status
from softgrasp.evaluation.put_down import put_down
from softgrasp.evaluation.quality_log import quality_log
from softgrasp.evaluation.result import (
    BodyContact,
    ContactModel,
    GraspResult,
    OtherContact,
    PeakForce,
    PhaseSpan,
    SaturatedActuator,
    SoftFingerEnd,
)
from softgrasp.io.result import JointStates, save_joint_states
from softgrasp.mechanics.transforms import Array, rotation_angles
from softgrasp.model import names
from softgrasp.model.contact_sensors import MAX_SLOTS
from softgrasp.model.deformable import full_size, node_track
from softgrasp.model.scene import build
from softgrasp.model.timestep import RESOLVED, as_resolved
from softgrasp.sim.contacts import ContactPoint, OtherPoint, merge, on_hardest
from softgrasp.sim.control_state import Peaks, sentences
from softgrasp.sim.run_record import FinishedRun, still_closing
from softgrasp.sim.soft_statics import equilibrium
from softgrasp.sim.step_refinement import lagging_as_described
from softgrasp.sim.stepper import FULL_TORQUE
from softgrasp.sim.stiffness_feedback import PairContact

FLEX_WARNING = (
    "deformable object: results of MuJoCo {version} cannot be compared with those of another "
    "version, whose flexes have other stiffness; its contacts have MuJoCo's own law "
    "(elasticity.contact_time), not stiffness and damping in N/m and N·s/m"
)
PULLED = 1.1
"""Normal force over adhesion up to which it is that of adhesion, not of an impact [–]."""
ROLLED = math.radians(30.0)
"""Rotation from which an object was not grasped in its initial orientation [rad]."""
JOINT = mujoco.mjtTrn.mjTRN_JOINT
CHATTER, CHATTER_SAMPLES = 0.1, 20
"""Mean change of a force between two control samples, over the force, that is reported [–], and the
number of last samples over which it is taken."""
SELF_CONTACT = 0.5
"""Normal force within the hand over that on objects from which it is reported [–]."""
STIFFNESS_TOLERANCE = 0.05
"""Relative deviation of a measured stiffness that is reported [–]."""


def result_of(
    run: FinishedRun,
    build_warnings: list[str],
    taken: float,
    build_time: float = 0.0,
    *,
    quality_rate: float | None = None,
) -> GraspResult:
    """Build the result of a run.

    Args:
        run: The run at its end.
        build_warnings: Warnings of building the scene.
        taken: Wall time of building and running [s].
        build_time: Wall time of building alone [s].
        quality_rate: Rate at which contacts are sampled for the quality of the grasp [1/s]; 0 for
            the end only, None for no quality.
    """
    begin = time.perf_counter()
    recording, model, scene = run.recording, run.model, run.scene
    notes = dict.fromkeys((*build_warnings, *run.remarks))
    messages = (*notes, *sentences(run.engine_warnings), *_interruption(run))
    rows = slice(0, recording.rows)
    force = recording.force[rows].reshape(recording.rows, len(run.built.bodies), -1, 3)
    tracks = object_tracks(run, recording.qpos[rows])
    position, quaternion = tracks[0]
    points = [] if run.diverged else run.contact_points()
    measured = measure_stiffness(points)
    set_values = _set_stiffness(run, measured)
    pairs = pair_contacts(run)
    if run.finished:
        messages += tuple(_stiffness_warnings(measured, set_values, pairs))
        messages += _closure_warnings(run, force, quaternion)
    messages += slot_warnings(run, force)
    contacts = body_contacts(run, points)
    others, within = ((), ()) if run.diverged else other_contacts(run, run.other_points())
    messages += self_contact_warnings(contacts, within)
    messages += (FLEX_WARNING.format(version=run.engine.version),) if model.nflex else ()
    pressed = forces_on_objects(run, force)[..., 0]
    hold, lowered = hold_test(run, tracks, pressed), put_down(run, *tracks[0], pressed)
    held = is_held(run, hold)
    messages += creep_warnings(scene, hold, held) + hold_warnings(scene, hold, held)
    closed = run.recording.rows if run.hold_from is None else run.hold_from + 1
    reached = find_reached_forces(run, force[:closed, ..., 0].sum(-1))
    messages += force_warnings(reached) if run.finished else ()
    peaks = peak_forces(run, force)
    messages += _peak_warnings(peaks) if run.finished else ()
    pressure, curvature = soft_series(run)
    called = zip(scene.object_names, tracks, strict=True)
    motions = tuple(object_motion(name, *track) for name, track in called)
    several = _series_of_several(run, force, tracks) if scene.objects else {}
    return GraspResult(
        scene=scene,
        resolved=run.built.resolved,
        backend={"name": run.engine.name, "version": run.engine.version},
        status=_status(run, tracks[0].position, force),
        held=held,
        simulated_time=float(recording.time[recording.rows - 1]),
        wall_time=taken + time.perf_counter() - begin,
        build_time=build_time,
        contacts=contacts,
        other_contacts=others,
        closing_contacts=other_contacts(run, run.closing_others)[0],
        hand_contacts=within,
        events=tuple(run.events),
        objects=motions,
        contact_model=ContactModel(
            requested=scene.requested_contact,
            used=run.built.contact,
            measured_stiffness_N_m=measured,
            set_stiffness_N_m={
                pair: k for pair, k in set_values.items() if k != run.built.contact.stiffness
            },
            integrator=run.engine.integrator,
            timestep_s=run.engine.timestep,
            fine_timesteps_s=()
            if run.peaks is None
            else tuple(fine.timestep for fine in run.built.fine),
            pairs=pairs,
            saturated=find_saturated_actuators(run),
        ),
        hold=hold,
        put_down=lowered,
        reached_forces=reached,
        peaks=peaks,
        quality_log=None if quality_rate is None else quality_log(run, quality_rate),
        suction_events=() if run.suction is None else tuple(run.suction.events),
        phases=_phases(run),
        soft_fingers=() if run.diverged else soft_ends(run),
        warnings=messages,
        advice=_advice(run) if run.diverged else run.refusal,
        time=recording.time[rows],
        joint_names=np.array(names.scene_joints(scene)),
        joint_position=recording.qpos[rows, run.layout.qpos_of_joint],
        actuator_names=np.array([model.actuator(i).name for i in range(model.nu)]),
        joint_target=recording.control[rows],
        object_position=position,
        object_quat_wxyz=quaternion,
        contact_bodies=np.array(run.built.bodies),
        normal_force=force[..., 0].sum(-1),
        friction_force=np.hypot(force[..., 1], force[..., 2]).sum(-1),
        in_contact=recording.in_contact[rows].astype(bool),
        pressure=pressure,
        curvature=curvature,
        vacuum=None if run.suction is None else run.suction.recorded(recording.rows),
        object_nodes=node_track(model, recording.qpos[rows]) if model.nflex else None,
        **several,
        **({} if run.sensing is None else run.sensing.recorded(recording.rows)),
    )


def _interruption(run: FinishedRun) -> tuple[str, ...]:
    """Return the sentence about a run that the user has stopped."""
    if run.finished or run.diverged or run.refusal:
        return ()
    end = float(run.recording.time[run.recording.rows - 1])
    return (f"interrupted by the user at {end:.3f} s",)


def _closure_warnings(run: FinishedRun, force: Array, quaternion: Array) -> tuple[str, ...]:
    """Return the warnings about the motion of fingers and object in a run that came to its end."""
    normal = force[..., 0].sum(-1)
    on_objects = forces_on_objects(run, force)[..., 0] if run.scene.objects else normal
    return (
        *chatter_warnings(normal, run.built.bodies),
        *rolling_warning(run, quaternion),
        *miss_warnings(run, on_objects),
        *closing_warnings(run, normal),
    )


def _series_of_several(run: FinishedRun, force: Array, tracks: list[Track]) -> dict[str, Any]:
    """Return the arrays that further objects add to a trajectory."""
    return {
        "object_names": np.array(run.scene.object_names),
        "object_positions": np.stack([track.position for track in tracks], axis=1),
        "object_quats_wxyz": np.stack([track.quaternion for track in tracks], axis=1),
        "object_normal_force": forces_on_objects(run, force),
    }


def _set_stiffness(run: FinishedRun, measured: dict[str, float]) -> dict[str, float]:
    """Return the set stiffness of each measured pair [N/m]; some contact models have none."""
    known = run.built.stiffness
    either = {pair: (pair, "|".join(reversed(pair.split("|")))) for pair in measured}
    return {pair: known[name] for pair in measured for name in either[pair] if name in known}


def pair_contacts(run: FinishedRun) -> tuple[PairContact, ...]:
    """Return the contact of every geom pair that touched; none for other engines than MuJoCo."""
    return () if run.stiffness is None or run.diverged else tuple(run.stiffness.pairs(run.data))


def peak_forces(run: FinishedRun, force: Array) -> tuple[PeakForce, ...]:
    """Return the largest normal force of each body that touched an object.

    Args:
        run: The run.
        force: Recorded contact forces, (T, nb, slots, 3) [N].
    """
    peaks, recording = run.peaks, run.recording
    if peaks is None:
        sampled = force[..., 0].sum(-1)
        steps = np.full(sampled.shape[1], run.engine.timestep)
        peaks = Peaks(sampled.max(axis=0), sampled.argmax(axis=0), steps)
    last, model = recording.rows - 1, run.model
    objects = [body for body in range(model.nbody) if names.is_object(model.body(body).name)]
    parts = run.scene.hand.adhesions
    adhesion = {body: PULLED * item.area * item.pressure for body, item in parts}
    return tuple(
        PeakForce(
            body=run.built.bodies[column],
            force_N=float(peaks.force[column]),
            time_s=float(recording.time[min(int(peaks.row[column]), last)]),
            every_step=run.peaks is not None,
            timestep_s=float(peaks.timestep[column]),
            resolving_timestep_s=float(peaks.timestep[column])
            if peaks.force[column] <= adhesion.get(run.built.bodies[column], 0.0)
            else _impact_timestep(run, run.built.bodies[column], objects),
        )
        for column in np.flatnonzero(peaks.force > 0.0).tolist()
    )


def _peak_warnings(peaks: tuple[PeakForce, ...]) -> tuple[str, ...]:
    """Warn if the largest force of a run is not resolved."""
    peak = max(peaks, key=lambda item: item.force_N, default=None)
    if peak is None or not peak.doubt or peak.resolving_timestep_s is None:
        return ()
    return (f"peak force of {peak.force_N:.3g} N on {peak.body}: {peak.doubt}",)


def _impact_timestep(run: FinishedRun, body: str, objects: list[int]) -> float | None:
    """Return the step that resolves a touch of a body and an object [s]; None if it has none."""
    model, built = run.model, run.built
    touching = model.geom_bodyid[model.pair_geom1] == model.body(body).id
    touching &= np.isin(model.geom_bodyid[model.pair_geom2], objects)
    converted = np.flatnonzero(touching & (built.start.pair_solref[:, 0] < 0.0)).tolist()
    if not converted:
        return None
    stiffness = np.array([built.stiffness[model.pair(pair).name] for pair in converted])
    impedance = model.pair_solimp[converted, 0]
    inverse_masses = -built.start.pair_solref[converted, 0] / ((1.0 - impedance) * stiffness)
    return RESOLVED / (float(inverse_masses.max()) * built.contact.damping)


def find_saturated_actuators(run: FinishedRun) -> tuple[SaturatedActuator, ...]:
    """Return the actuators that are at their force limits at the end; none for other engines."""
    if run.stiffness is None or run.diverged:
        return ()
    model, forces = run.model, run.data.actuator_force
    limited = model.actuator_forcelimited != 0
    low, high = model.actuator_forcerange.T
    at_limit = limited & ((forces >= FULL_TORQUE * high) | (forces <= FULL_TORQUE * low))
    return tuple(
        SaturatedActuator(actuator=model.actuator(index).name, force=float(forces[index]))
        for index in np.flatnonzero(at_limit).tolist()
    )


def _stiffness_warnings(
    measured: dict[str, float], set_values: dict[str, float], pairs: tuple[PairContact, ...]
) -> list[str]:
    """Warn of pairs in contact at the end that are not as stiff as set."""
    if not pairs:
        return stiffness_warnings(measured, set_values)
    touching = {f"{pair.first}|{pair.second}": pair for pair in pairs if pair.touching}
    return stiffness_warnings(
        {name: pair.stiffness_N_m for name, pair in touching.items()},
        {name: pair.set_stiffness_N_m for name, pair in touching.items()},
    )


def _phases(run: FinishedRun) -> tuple[PhaseSpan, ...]:
    times = run.recording.time
    return tuple(
        PhaseSpan(
            name=part.name,
            start_s=float(times[part.begin]),
            end_s=float(times[part.end]),
            stopped_by_N=part.stopped_by,
        )
        for part in run.phases
        if part.end < run.recording.rows
    )


def _status(run: FinishedRun, position: Array, force: Array) -> GraspStatus:
    """Return how the closure ended; ``force`` (T, nb, slots, 3) is that on all contacts [N]."""
    if run.diverged:
        return GraspStatus.DIVERGED
    if run.refusal:
        return GraspStatus.NOT_CLOSED
    row = len(position) - 1 if run.hold_from is None else run.hold_from
    in_contact = run.recording.in_contact[row].astype(bool)
    now = float(run.recording.time[row]) + 1e-9
    kind = "established" if run.scene.on_wrist else "touching"
    touched = any(event.kind == kind and event.time_s <= now for event in run.events)
    if run.peaks is not None and not run.scene.on_wrist:  # also between two samples
        touched |= bool((run.peaks.force[run.peaks.row <= row] > 0.0).any())
    if run.scene.objects:  # only the one to be grasped counts
        pressed = forces_on_objects(run, force)[: row + 1, :, 0] > 0.0
        touched, in_contact = bool(pressed.any()), in_contact & pressed[-1]
    return grasp_status(
        touched=touched,
        in_contact=bool(in_contact.any()),
        moving=still_closing(run),
        displacement=float(np.linalg.norm(position[row] - position[0])),
        object_radius=_object_radius(run),
    )


def _object_radius(run: FinishedRun) -> float:
    """Return the radius of a sphere around the object [m]."""
    if run.model.nflex:
        return 0.5 * float(np.linalg.norm(full_size(run.scene.object.shape)))
    of_object = run.model.geom_bodyid == run.model.body(names.OBJECT).id
    return float(run.model.geom_rbound[of_object].max())


def _advice(run: FinishedRun) -> str:
    worst = int(np.nanargmax(np.nan_to_num(np.abs(run.data.qvel), nan=np.inf)))
    joint = run.model.joint(int(run.model.dof_jntid[worst])).name
    step = run.engine.timestep
    return (
        f"it broke at {run.recording.time[run.recording.rows - 1]:.4f} s, first seen in joint "
        f"'{joint}'; use a smaller timestep than {step:g} s (try {step / 5:g} s), a softer "
        f"contact, or slower closing rates"
    )


def soft_series(run: FinishedRun) -> tuple[Array, Array] | tuple[None, None]:
    """Return pressure [Pa] and curvature [1/m], (T, ns) each; None without soft fingers."""
    digits = run.scene.hand.soft_fingers
    if not digits:
        return None, None
    rows = slice(0, run.recording.rows)
    pressures = [run.model.actuator(digit.as_actuator.name).id for digit in digits]
    curvature = np.stack([_curvature(run, digit)[rows] for digit in digits], axis=1)
    return run.recording.control[rows, pressures], curvature


def soft_ends(run: FinishedRun) -> tuple[SoftFingerEnd, ...]:
    """Return pressure, curvature and discretisation error of each soft finger at a run's end."""
    pressure, curvature = soft_series(run)
    if pressure is None or curvature is None:
        return ()
    ends = zip(pressure[-1].tolist(), curvature[-1].tolist(), strict=True)
    return tuple(
        SoftFingerEnd(
            finger=digit.name,
            pressure_Pa=end_pressure,
            curvature_1_m=bent,
            discretisation_error_m=_free_error(digit.finger, end_pressure),
        )
        for digit, (end_pressure, bent) in zip(run.scene.hand.soft_fingers, ends, strict=True)
    )


def rolling_warning(run: FinishedRun, quaternions: Array) -> tuple[str, ...]:
    """Warn if the object rolled in the hand and the hand has a gentler grasp.

    Args:
        run: The run.
        quaternions: Orientation of the object over time, wxyz, (T, 4).
    """
    hand = run.scene.hand
    gentle = hand.grasps.precision.pressure
    if not hand.soft_fingers or gentle is None:
        return ()
    pressure = max(high for _, high in run.scene.limits[-len(hand.soft_fingers) :])
    angle = float(rotation_angles(quaternions[-1], quaternions[0]))
    if angle < ROLLED or gentle >= pressure:
        return ()
    return (
        f"the object turned by {math.degrees(angle):.0f}° under {1e-3 * pressure:g} kPa; the "
        f"precision grasp of this hand presses with {1e-3 * gentle:g} kPa",
    )


@lru_cache(maxsize=64)
def _free_error(finger: SoftFinger, pressure: float) -> float | None:
    """Return the error of the unloaded finger [m]; None without a rest shape at its pressure."""
    error = equilibrium(finger, pressure=pressure, gravity=False).discretisation_error
    return error if math.isfinite(error) else None


def _curvature(run: FinishedRun, digit: MountedSoftFinger) -> Array:
    """Compute the bending angle over the length, (rows,) [1/m]; negative bends backwards."""
    joints = names.soft_joint_names(digit, "y")
    angles = run.recording.qpos[:, [run.model.joint(name).qposadr[0] for name in joints]]
    return np.asarray(angles.sum(axis=1) / digit.length)


def write_joint_states(result: GraspResult, path: str | Path) -> Path:
    """Write the joints of a result as CSV, ROS style; see ``docs/environments.md`` for the header.

    Args:
        result: The run.
        path: The ``.csv`` file.

    Raises:
        ResultError: The file cannot be written.
    """
    return save_joint_states(joint_states(result), path)


def joint_states(result: GraspResult) -> JointStates:
    """Return the joints of a result at every control sample.

    Velocities are not recorded: they are central differences of the recorded positions, one-sided
    at both ends; NaN where there is one row only. Efforts are computed by the law of the
    position servos from recorded targets, positions and these velocities, within the force limits;
    NaN of joints without a servo (soft fingers, prescribed joints) and of runs in other engines.
    """
    velocity = np.full_like(result.joint_position, np.nan)
    if len(result.time) > 1:
        velocity = np.asarray(np.gradient(result.joint_position, result.time, axis=0))
    return JointStates(
        names=tuple(result.joint_names.tolist()),
        time=result.time,
        position=result.joint_position,
        velocity=velocity,
        effort=_effort(result, velocity),
    )


def _effort(result: GraspResult, velocity: Array) -> Array:
    """Compute gain·target + bias·(1, position, velocity) of MuJoCo's position servos, (T, nj)."""
    effort = np.full_like(result.joint_position, np.nan)
    if result.backend.get("name") != "mujoco" or result.scene.actuation != "servo":
        return effort
    with warnings.catch_warnings():
        # issued when the scene was built for the run, and recorded in the result
        warnings.simplefilter("ignore", SoftgraspWarning)
        model = build(as_resolved(result.scene)).model
    driven: list[str] = result.actuator_names.tolist()
    model.actuator_biasprm[:] = lagging_as_described(
        model, model.actuator_biasprm, result.contact_model.timestep_s
    )
    for column, name in enumerate(result.joint_names.tolist()):
        if name not in driven or (servo := model.actuator(name)).trntype[0] != JOINT:
            continue
        target = result.joint_target[:, driven.index(name)]
        constant, of_position, of_velocity = servo.biasprm[:3].tolist()
        force = servo.gainprm[0] * target + constant
        force += of_position * result.joint_position[:, column] + of_velocity * velocity[:, column]
        low, high = servo.forcerange if servo.forcelimited else (-np.inf, np.inf)
        effort[:, column] = np.clip(force, low, high)
    return effort


def body_contacts(run: FinishedRun, points: list[ContactPoint]) -> tuple[BodyContact, ...]:
    """Return the contact history of every body of the hand.

    Args:
        run: The run.
        points: Contacts with objects at the end.
    """
    parts, called = names.parts(run.scene.hand), names.display_names(run.scene)
    contacts = []
    times_of: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    last = {}
    for event in run.events:
        times_of[event.body, event.kind].append(event.time_s)
        last[event.body] = event.object
    for body in run.built.bodies:
        touching = times_of[body, "touching"]
        body_points = on_hardest([point for point in points if point.body == body])
        state = merge(body_points)
        finger, phalanx = parts.get(body, ("", ""))
        contacts.append(
            BodyContact(
                body=body,
                finger=finger,
                phalanx=phalanx,
                object=called[body_points[0].object_name] if body_points else last.get(body),
                first_touch_s=touching[0] if touching else None,
                established_s=tuple(times_of[body, "established"]),
                lost_s=tuple(times_of[body, "lost"]),
                normal_force_N=state.normal_force if state else 0.0,
                friction_force_N=state.friction_force if state else 0.0,
                point_m=state.point if state else None,
                normal=state.normal if state else None,
                slip_speed_m_s=state.slip_speed if state else 0.0,
            )
        )
    return tuple(contacts)


def other_contacts(
    run: FinishedRun, points_read: list[OtherPoint]
) -> tuple[tuple[OtherContact, ...], tuple[OtherContact, ...]]:
    """Return contacts of objects and surroundings, and those within the hand.

    There is one per pair of bodies.

    Args:
        run: The run.
        points_read: All contacts other than of the hand on objects.
    """
    called = names.display_names(run.scene)
    pairs: defaultdict[tuple[str, str], list[OtherPoint]] = defaultdict(list)
    for point in points_read:
        pairs[point.first, point.second].append(point)
    outside: list[OtherContact] = []
    within: list[OtherContact] = []
    for (first, second), points in sorted(pairs.items()):
        contact = _as_one(called.get(first, first), called.get(second, second), points)
        if second in called:
            outside.append(contact)
        elif {first, second} <= set(run.built.bodies):
            within.append(contact)
    return tuple(outside), tuple(within)


def self_contact_warnings(
    contacts: tuple[BodyContact, ...], within_hand: tuple[OtherContact, ...]
) -> tuple[str, ...]:
    """Warn where the hand presses on itself with more than half of its force on objects.

    Args:
        contacts: Contacts of the bodies of the hand at the end.
        within_hand: Contacts between bodies of the hand at the end.
    """
    within = sum(other.normal_force_N for other in within_hand)
    on_objects = sum(contact.normal_force_N for contact in contacts)
    if on_objects <= 0.0 or within <= SELF_CONTACT * on_objects:
        return ()
    largest = max(within_hand, key=lambda other: other.normal_force_N)
    return (
        f"contact within the hand at the end: its bodies press on one another with {within:.3g} N "
        f"in all (the largest force is {largest.normal_force_N:.3g} N, of {largest.first} on "
        f"{largest.second}), and on the object with {on_objects:.3g} N; another grasp or "
        "object_position, or less closing force, may keep them apart",
    )


def _as_one(first: str, second: str, points: list[OtherPoint]) -> OtherContact:
    total = sum(point.normal_force for point in points)
    weights = [p.normal_force / total if total > 0.0 else 1.0 / len(points) for p in points]
    mean_point = np.average([point.point for point in points], axis=0, weights=weights)
    normal = np.average([point.normal for point in points], axis=0, weights=weights)
    length = float(np.linalg.norm(normal))
    return OtherContact(
        first=first,
        second=second,
        point_m=tuple(mean_point.tolist()),
        normal=tuple((normal / length).tolist()) if length > 1e-9 else points[0].normal,
        normal_force_N=total,
        friction_force_N=sum(point.friction_force for point in points),
        force_N=tuple(np.sum([point.force for point in points], axis=0).tolist()),
        separation_m=min(point.separation for point in points),
    )


def forces_on_objects(run: FinishedRun, force: Array) -> Array:
    """Sum the normal force of each body on each object at every row, (T, nb, no) [N].

    Args:
        run: The run.
        force: Recorded contact forces, (T, nb, slots, 3) [N].
    """
    ends = np.cumsum(run.layout.object_slots)[:-1].tolist()
    return np.stack([part.sum(-1) for part in np.split(force[..., 0], ends, axis=2)], axis=-1)


def slot_warnings(run: FinishedRun, force: Array) -> tuple[str, ...]:
    """Warn if a body may have had more contacts with an object than its sensor reports."""
    full, first = np.zeros(len(run.built.bodies), dtype=bool), 0
    for slots in run.layout.object_slots:
        if slots >= MAX_SLOTS:
            full |= (force[:, :, first : first + slots, 0] > 0).all(axis=2).any(axis=0)
        first += slots
    taken = [body for body, yes in zip(run.built.bodies, full.tolist(), strict=True) if yes]
    if not taken:
        return ()
    return (
        f"contact forces of {', '.join(taken)}: at some time all {MAX_SLOTS} contacts that "
        "are recorded a body were taken; the recorded sums may be too small",
    )


def measure_stiffness(points: list[ContactPoint]) -> dict[str, float]:
    """Compute normal force over penetration of each pair [N/m], contacts weighted by force."""
    stiffness = {}
    for pair in sorted({point.pair for point in points}):
        loaded_points = [p for p in points if p.pair == pair and p.separation < 0 < p.normal_force]
        if loaded_points:
            depth = -sum(point.separation for point in loaded_points)
            stiffness[pair] = sum(point.normal_force for point in loaded_points) / depth
    return stiffness


def stiffness_warnings(measured: dict[str, float], set_stiffness: dict[str, float]) -> list[str]:
    """Warn of pairs whose stiffness at the end is not the one that was set.

    Args:
        measured: Measured stiffness by pair [N/m].
        set_stiffness: Set stiffness by pair [N/m]; pairs that are not in it are not compared.
    """
    measured = {pair: stiffness for pair, stiffness in measured.items() if pair in set_stiffness}
    deviations = {
        pair: abs(stiffness / set_stiffness[pair] - 1) for pair, stiffness in measured.items()
    }
    off = {pair: k for pair, k in measured.items() if deviations[pair] > STIFFNESS_TOLERANCE}
    if not off:
        return []
    worst = max(off, key=lambda pair: deviations[pair])
    return [
        f"contact stiffness at the end: {len(off)} of {len(measured)} pairs are more than "
        f"{STIFFNESS_TOLERANCE:.0%} from the set {set_stiffness[worst]:g} N/m, most {worst} with "
        f"{off[worst]:.3g} N/m (not at rest, a servo at its force limit, or a very light object)"
    ]


def chatter_warnings(forces: Array, bodies: list[str]) -> list[str]:
    """Warn of contact forces that jump from sample to sample at the end.

    Args:
        forces: Normal force of each body at every control sample [N], shape (T, nb).
        bodies: Names of the bodies.
    """
    late = forces[-CHATTER_SAMPLES:]
    mean = late.mean(axis=0)
    jumps = np.abs(np.diff(late, axis=0)).mean(axis=0) / np.where(mean > 0.0, mean, np.inf)
    if len(late) < CHATTER_SAMPLES or jumps.max(initial=0.0) < CHATTER:
        return []
    worst = int(jumps.argmax())
    return [
        f"contact forces at the end jump from sample to sample, most on {bodies[worst]} by "
        f"{jumps[worst]:.0%} on average: contact points change places, as on the edges of a "
        "faceted mesh; try a smoother mesh, a primitive, or a smaller timestep"
    ]
