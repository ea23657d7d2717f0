"""MuJoCo: a scene → a finished run → a result."""

from __future__ import annotations

import time
import warnings

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.scene import build, object_pose
from softgrasp.build.sensors import MOST_SLOTS
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspError
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    relative_quaternions,
    rotate_about,
    rotation_angle,
    transform,
)
from softgrasp.simulation.closure_run import ClosureRun, Progress
from softgrasp.simulation.contacts import ContactPoint, contact_points, merged
from softgrasp.simulation.engine_warnings import sentences
from softgrasp.simulation.interrupt import Interrupted
from softgrasp.simulation.outcome import GraspStatus, judge
from softgrasp.simulation.result import (
    BodyContact,
    ContactModel,
    GraspResult,
    HoldTest,
    ObjectMotion,
)

NAME = "mujoco"
STIFFNESS_TOLERANCE = 0.05
"""A measured stiffness that is farther from the asked one is told [–]."""
CREEP_SHARE = 0.25
"""Creep is the mean speed over this last share of the time under full load."""


def run_mujoco(scene: GraspScene, progress: Progress | None = None) -> GraspResult:
    """Simulate a scene in MuJoCo.

    Args:
        scene: What to simulate.
        progress: Called with the simulated time [s] now and then.

    Raises:
        BuildError: The scene makes no model that can be simulated.
        Interrupted: The user stopped the run; it holds the finished part.
    """
    begin = time.perf_counter()
    told: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            run = ClosureRun(scene, build(scene), progress)
            stopped = _ran_until_stopped(run)
    except SoftgraspError:
        for warning in told:  # there is no result to keep them, and they may say what is wrong
            warnings.warn(warning.message, stacklevel=2)
        raise
    notes = [str(warning.message) for warning in told]
    notes += sentences(run.engine_warnings)
    if stopped:
        notes.append(f"interrupted by the user at {run.now:.3f} s")
    result = _result(run, tuple(notes), begin)
    if stopped:
        raise Interrupted(result)
    return result


def _ran_until_stopped(run: ClosureRun) -> bool:
    """Run; True where the user stopped it before its end."""
    try:
        run.run()
    except KeyboardInterrupt:
        if run.recording.rows == 0:
            raise
        return True
    return False


def _result(run: ClosureRun, notes: tuple[str, ...], begin: float) -> GraspResult:
    recording, model, scene = run.recording, run.model, run.scene
    rows = slice(0, recording.rows)
    force = recording.force[rows].reshape(recording.rows, len(run.built.bodies), -1, 3)
    position, quaternion = _object_track(run, recording.qpos[rows])
    points = [] if run.diverged else contact_points(model, run.data)
    measured = measured_stiffness(points)
    if run.finished:
        notes += tuple(stiffness_warnings(measured, run.built.contact.stiffness))
    notes += _slot_warnings(run, force)
    hold = _hold_test(run, position, quaternion)
    motion = _motion(scene, position, quaternion)
    return GraspResult(
        scene=scene,
        backend={"name": NAME, "version": mujoco.__version__},
        status=_status(run, motion),
        held=_held(scene, hold, run),
        simulated_time=float(recording.time[recording.rows - 1]),
        wall_time=time.perf_counter() - begin,
        contacts=_contacts(run, points),
        events=tuple(run.events),
        objects=(motion,),
        contact_model=ContactModel(
            asked=scene.asked_contact,
            used=run.built.contact,
            measured_stiffness_N_m=measured,
            integrator=scene.solver.integrator,
            timestep_s=float(model.opt.timestep),
        ),
        hold=hold,
        warnings=notes,
        advice=_advice(run) if run.diverged else "",
        time=recording.time[rows].copy(),
        joint_names=tuple(names.joint_names(scene.hand)),
        joint_position=recording.qpos[rows, run.layout.qpos_of_joint],
        actuator_names=tuple(model.actuator(i).name for i in range(model.nu)),
        joint_target=recording.control[rows].copy(),
        object_position=position,
        object_quat_wxyz=quaternion,
        contact_bodies=tuple(run.built.bodies),
        normal_force=force[..., 0].sum(-1),
        friction_force=np.hypot(force[..., 1], force[..., 2]).sum(-1),
        in_contact=recording.in_contact[rows].astype(bool),
    )


def _slot_warnings(run: ClosureRun, force: Array) -> tuple[str, ...]:
    """Whether a body may have had more contacts than its sensor reports."""
    full = np.asarray((force[..., 0] > 0).all(axis=2).any(axis=0))
    bodies = [body for body, taken in zip(run.built.bodies, full.tolist(), strict=True) if taken]
    if not bodies or force.shape[2] < MOST_SLOTS:
        return ()
    return (
        f"contact forces of {', '.join(bodies)}: at some time all {force.shape[2]} contacts that "
        "are recorded a body were taken; the recorded sums may be too small",
    )


def stiffness_warnings(measured: dict[str, float], asked: float) -> list[str]:
    """What to say of pairs whose stiffness at the end is not the one that was set."""
    off = {pair: k for pair, k in measured.items() if abs(k / asked - 1) > STIFFNESS_TOLERANCE}
    if not off:
        return []
    worst = max(off, key=lambda pair: abs(off[pair] / asked - 1))
    return [
        f"contact stiffness at the end: {len(off)} of {len(measured)} pairs are more than "
        f"{STIFFNESS_TOLERANCE:.0%} from the asked {asked:g} N/m, most {worst} with "
        f"{off[worst]:.3g} N/m (not at rest, a servo at its force limit, or a very light object)"
    ]


def measured_stiffness(points: list[ContactPoint]) -> dict[str, float]:
    """Normal force over penetration of each pair [N/m]; a pair's contacts count by force."""
    stiffness = {}
    for pair in sorted({point.pair for point in points}):
        own = [p for p in points if p.pair == pair and p.separation < 0 < p.normal_force]
        if own:
            depth = -sum(point.separation for point in own)
            stiffness[pair] = sum(point.normal_force for point in own) / depth
    return stiffness


def _object_track(run: ClosureRun, qpos: Array) -> tuple[Array, Array]:
    """Position (T, 3) and quaternion (T, 4) of the object in the world at every row."""
    start = object_pose(run.scene)
    if run.scene.object_mount == "free":
        first = run.model.joint(names.OBJECT).qposadr[0]
        return qpos[:, first : first + 3].copy(), qpos[:, first + 3 : first + 7].copy()
    position = np.tile(start.position, (len(qpos), 1))
    quaternion = np.tile(start.quaternion, (len(qpos), 1))
    if run.scene.object_mount == "planar":
        x, z, turn = (qpos[:, run.model.joint(name).qposadr[0]] for name in PLANAR_JOINTS)
        position[:, 0] += x
        position[:, 2] += z
        upright = transform(quaternion=start.quaternion)
        quaternion = np.array([quaternion_of(rotate_about("y", a) @ upright) for a in turn])
    return position, quaternion


def _motion(scene: GraspScene, position: Array, quaternion: Array) -> ObjectMotion:
    turned = relative_quaternions(quaternion[-1], quaternion[0])
    return ObjectMotion(
        name=scene.object.name,
        initial_position_m=tuple(position[0].tolist()),
        final_position_m=tuple(position[-1].tolist()),
        initial_quat_wxyz=tuple(quaternion[0].tolist()),
        final_quat_wxyz=tuple(quaternion[-1].tolist()),
        displacement_m=tuple((position[-1] - position[0]).tolist()),
        rotation_rad=tuple(euler_from_quaternions(turned).tolist()),
    )


def _contacts(run: ClosureRun, points: list[ContactPoint]) -> tuple[BodyContact, ...]:
    places = {body: (finger, row) for body, finger, row, _ in names.phalanges(run.scene.hand)}
    found = []
    for body in run.built.bodies:
        times = {
            kind: tuple(e.time_s for e in run.events if e.body == body and e.kind == kind)
            for kind in ("touching", "established", "lost")
        }
        state = merged([point for point in points if point.body == body])
        finger, phalanx = places.get(body, ("", ""))
        found.append(
            BodyContact(
                body=body,
                finger=finger,
                phalanx=phalanx,
                first_touch_s=times["touching"][0] if times["touching"] else None,
                established_s=times["established"],
                lost_s=times["lost"],
                normal_force_N=state.normal_force if state else 0.0,
                friction_force_N=state.friction_force if state else 0.0,
                point_m=state.point if state else None,
                normal=state.normal if state else None,
                slip_speed_m_s=state.slip_speed if state else 0.0,
            )
        )
    return tuple(found)


def _status(run: ClosureRun, motion: ObjectMotion) -> GraspStatus:
    if run.diverged:
        return GraspStatus.DIVERGED
    geoms = [g for g in range(run.model.ngeom) if _is_object(run.model, g)]
    return judge(
        touched=any(event.kind == "touching" for event in run.events),
        in_contact=any(run.state.in_contact),
        moving=run.state.idle == 0,
        displacement=float(np.linalg.norm(motion.displacement_m)),
        object_radius=float(run.model.geom_rbound[geoms].max()),
    )


def _is_object(model: mujoco.MjModel, geom: int) -> bool:
    return bool(model.body(int(model.geom_bodyid[geom])).name == names.OBJECT)


def _hold_test(run: ClosureRun, position: Array, quaternion: Array) -> HoldTest | None:
    criterion = run.scene.success
    if criterion is None or run.hold_from is None or not run.finished:
        return None
    begin = run.hold_from
    way = np.linalg.norm(position[begin:] - position[begin], axis=1)
    turns = relative_quaternions(quaternion[begin:], quaternion[begin])
    period = run.scene.control_period
    late = max(round(CREEP_SHARE * criterion.hold_time / period), 1)
    crept = float(np.linalg.norm(position[-1] - position[-1 - late]))
    mass = float(run.model.body(names.OBJECT).mass[0])
    return HoldTest(
        drop_m=float(way.max()),
        rotation_rad=max(rotation_angle(turn) for turn in turns),
        weight_N=mass * float(np.linalg.norm(criterion.gravity)),
        start_s=float(run.recording.time[begin]),
        creep_m_s=crept / (late * period),
    )


def _held(scene: GraspScene, hold: HoldTest | None, run: ClosureRun) -> bool | None:
    if scene.success is None or not (run.finished or run.diverged):
        return None
    if hold is None:
        return False
    within = hold.drop_m <= scene.success.max_drop
    steady = hold.rotation_rad <= scene.success.max_rotation
    return within and steady and any(run.state.in_contact)


def _advice(run: ClosureRun) -> str:
    worst = int(np.nanargmax(np.nan_to_num(np.abs(run.data.qvel), nan=np.inf)))
    joint = run.model.joint(int(run.model.dof_jntid[worst])).name
    step = float(run.model.opt.timestep)
    return (
        f"it broke at {run.recording.time[run.recording.rows - 1]:.4f} s, first seen in joint "
        f"'{joint}'; use a smaller timestep than {step:g} s (try {step / 5:g} s), a softer "
        f"contact, or slower closing rates"
    )
