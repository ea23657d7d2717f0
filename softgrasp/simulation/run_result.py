"""A finished run of any engine → its result."""

from __future__ import annotations

import time
from collections import defaultdict

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.deformable import full_size, node_track
from softgrasp.build.sensors import MOST_SLOTS
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.contacts import ContactPoint, merged
from softgrasp.simulation.engine_warnings import sentences
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.hold import hold_test, is_held
from softgrasp.simulation.outcome import GraspStatus, judge
from softgrasp.simulation.result import BodyContact, ContactModel, GraspResult, ObjectMotion
from softgrasp.simulation.sensing import sensed
from softgrasp.simulation.soft_series import soft_ends, soft_series, squeeze_warning
from softgrasp.simulation.stiffness import chatter_warnings, measured_stiffness, stiffness_warnings
from softgrasp.simulation.track import object_motion, object_track

FLEX_WARNING = (
    "deformable object: results of MuJoCo {version} cannot be compared with those of another "
    "version, whose flexes have other stiffness; its contacts have MuJoCo's own law "
    "(elasticity.contact_time), not stiffness and damping in N/m and N·s/m"
)


def result_of(
    run: FinishedRun, told: list[str], taken: float, interrupted: str = ""
) -> GraspResult:
    """What a run has come to.

    Args:
        run: The run, at its end.
        told: Warnings while it was built.
        taken: Time that building and running took [s].
        interrupted: A sentence where the user has stopped it.
    """
    begin = time.perf_counter()
    notes = (*dict.fromkeys(told), *sentences(run.engine_warnings))
    notes += (interrupted,) if interrupted else ()
    recording, model, scene = run.recording, run.model, run.scene
    rows = slice(0, recording.rows)
    force = recording.force[rows].reshape(recording.rows, len(run.built.bodies), -1, 3)
    position, quaternion = object_track(run, recording.qpos[rows])
    points = [] if run.diverged else run.contact_points()
    measured = measured_stiffness(points)
    normal = force[..., 0].sum(-1)
    if run.finished:
        if run.built.contact.converted and scene.object.elasticity is None:
            notes += tuple(stiffness_warnings(measured, run.built.contact.stiffness))
        notes += tuple(chatter_warnings(normal, run.built.bodies))
        notes += squeeze_warning(run, quaternion)
    notes += _slot_warnings(run, force)
    notes += (FLEX_WARNING.format(version=run.engine.version),) if model.nflex else ()
    hold = hold_test(run, position, quaternion)
    pressure, curvature = soft_series(run)
    motion = object_motion(scene, position, quaternion)
    return GraspResult(
        scene=scene,
        backend={"name": run.engine.name, "version": run.engine.version},
        status=_status(run, motion),
        held=is_held(run, hold),
        simulated_time=float(recording.time[recording.rows - 1]),
        wall_time=taken + time.perf_counter() - begin,
        contacts=_contacts(run, points),
        events=tuple(run.events),
        objects=(motion,),
        contact_model=ContactModel(
            asked=scene.asked_contact,
            used=run.built.contact,
            measured_stiffness_N_m=measured,
            integrator=run.engine.integrator,
            timestep_s=run.engine.timestep,
        ),
        hold=hold,
        soft_fingers=() if run.diverged else soft_ends(run),
        warnings=notes,
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
        **sensed(run),
    )


def _slot_warnings(run: FinishedRun, force: Array) -> tuple[str, ...]:
    """Whether a body may have had more contacts than its sensor reports."""
    full = np.asarray((force[..., 0] > 0).all(axis=2).any(axis=0))
    bodies = [body for body, taken in zip(run.built.bodies, full.tolist(), strict=True) if taken]
    if not bodies or force.shape[2] < MOST_SLOTS:
        return ()
    return (
        f"contact forces of {', '.join(bodies)}: at some time all {force.shape[2]} contacts that "
        "are recorded a body were taken; the recorded sums may be too small",
    )


def _contacts(run: FinishedRun, points: list[ContactPoint]) -> tuple[BodyContact, ...]:
    places = names.parts(run.scene.hand)
    found = []
    times_of: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for event in run.events:
        times_of[event.body, event.kind].append(event.time_s)
    for body in run.built.bodies:
        touching = times_of[body, "touching"]
        state = merged([point for point in points if point.body == body])
        finger, phalanx = places.get(body, ("", ""))
        found.append(
            BodyContact(
                body=body,
                finger=finger,
                phalanx=phalanx,
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
    return tuple(found)


def _status(run: FinishedRun, motion: ObjectMotion) -> GraspStatus:
    if run.diverged:
        return GraspStatus.DIVERGED
    return judge(
        touched=any(event.kind == "touching" for event in run.events),
        in_contact=any(run.state.in_contact),
        moving=run.state.idle == 0,
        displacement=float(np.linalg.norm(motion.displacement_m)),
        object_radius=_object_radius(run),
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
