"""Evaluation of the hold test: motion of the object in the hand from the end of the closure on.

Drop and rotation are measured in the frame of the palm and compared with the criterion; pushes and
pulls are evaluated one by one, and creep over the last part under load.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene, Solver
from softgrasp.description.task import (
    HoldPhase,
    LiftPhase,
    MovePhase,
    Phase,
    ShakePhase,
    SuccessCriterion,
)
from softgrasp.evaluation.outcome import (
    RESTING_SPEED,
    SLIPPING_SPEED,
    UNKNOWN_BEARERS,
    UNLOADED,
    motion_text,
)
from softgrasp.evaluation.result import (
    DirectionTest,
    HoldPart,
    HoldTest,
    ObjectMotion,
    OtherHeld,
    PullTest,
)
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    relative_quaternions,
    rotate_about,
    rotation_angles,
    transform,
)
from softgrasp.model import names
from softgrasp.model.deformable import node_track, rigid_track
from softgrasp.model.object import PlacedItem, arrange_items
from softgrasp.sim.hold_test import direction_label, palm_body
from softgrasp.sim.load_balance import NO_LOAD, load_balance, object_mass
from softgrasp.sim.motion_plan import PhaseRows, put_down_row
from softgrasp.sim.run_record import FinishedRun, PullRecord, PushRecord

CREEP_FRACTION = 0.25
"""Last fraction of the time under full load, or at the top, over which creep is the mean speed; of
a shake it is the last cycle."""
SAG_SAMPLES = 100
"""Control samples of a hold test at which the sag of the palm is evaluated."""
MISS, MIN_MISS = 0.1, 1e-3
"""Fraction of its travel, and distance [m], from which the palm has missed the end of a motion."""
MIN_JERK = 10.0 / math.sqrt(3.0)
"""Largest acceleration of a minimum-jerk motion of unit length within unit time."""


def hold_test(run: FinishedRun, tracks: list[Track], pressed: Array) -> HoldTest | None:
    """Evaluate the hold test; None where it was not completed.

    Args:
        run: The run.
        tracks: Tracks of all objects, the one to be grasped first.
        pressed: Normal force of each body on the first object, (T, nb) [N].
    """
    scene, begin = run.scene, run.hold_from
    criterion = scene.success or scene.lift
    if criterion is None or begin is None or not run.finished:
        return None
    position = tracks[0].position
    in_hand, orientations = view_from_palm(run, *tracks[0])
    end = end_of_hold(run) - begin
    gone = _displace(in_hand[: end + 1], orientations[: end + 1])
    late = min(max(round(_creep_time(run, criterion) / scene.control_period), 1), end) or 1
    # without anything before pushes and pulls there is no time under load
    crept = float(np.linalg.norm(in_hand[end] - in_hand[end - late])) if end else 0.0
    tests = [_direction(run, trial, in_hand, orientations) for trial in run.trials]
    creeps = [_direction_creep(run, trial, in_hand) for trial in run.trials]
    pulls = [_pull(run, pulled, in_hand) for pulled in run.pulls]
    failed_in, failed_s = _first_failure(run, criterion, gone, tests, pulls)
    lifts = scene.lift is not None or any(phase.type == "lift" for phase in scene.phases)
    lifts |= isinstance(criterion, SuccessCriterion) and criterion.min_lift is not None
    parts, inertia = _parts(run, in_hand[0]), commanded_acceleration(scene)
    hold = HoldTest(
        drop_m=max(float(gone[0].max()), *(test.drop_m for test in tests), 0.0),
        rotation_rad=max(float(gone[1].max()), *(test.rotation_rad for test in tests), 0.0),
        weight_N=object_mass(run.model) * _load(run, criterion),
        start_s=float(run.recording.time[begin]),
        load_m_s2=_largest_load(run, criterion, pulls, inertia),
        inertia_m_s2=inertia,
        parts=parts,
        sag_m=_largest([part.sag_m for part in parts]),
        lag_m=_largest([part.lag_m for part in parts]),
        creep_m_s=max(crept / (late * scene.control_period), *creeps, 0.0),
        lifted_m=float(position[begin + end, 2] - position[begin, 2]) if lifts else None,
        failed_in=failed_in,
        failed_s=failed_s,
        directions=tuple(tests),
        pulls=tuple(pulls),
        others=_others(run, tracks[1:]) or None,
    )
    return hold.replace(within_limits=_within_limits(run, hold, pressed))


def _within_limits(run: FinishedRun, hold: HoldTest, pressed: Array) -> bool:
    criterion = run.scene.success or run.scene.lift
    assert criterion is not None  # there is a hold test
    resisted = all(test.held for test in hold.directions)
    resisted &= all(test.held is not False for test in hold.pulls)
    return resisted and is_within(
        criterion, drop=hold.drop_m, rotation=hold.rotation_rad, creep=hold.creep_m_s,
        lifted=hold.lifted_m or 0.0, contacts=bodies_on_object(run, pressed),
    )  # fmt: skip


def _largest(values: list[float | None]) -> float | None:
    """Return the largest value; None where one is not known, or without any."""
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _parts(run: FinishedRun, point: Array) -> tuple[HoldPart, ...]:
    """Return the parts before pushes and pulls; ``point`` (3,) [m] is the object's centre there."""
    begin, last = run.hold_from or 0, end_of_hold(run)
    spans = [rows for rows in run.phases if begin <= rows.begin and rows.end <= last]
    records = {record.row: record for record in run.loads}
    ends = [rows.end for rows in spans]
    palm = palm_deviations(run, begin, ends, point)
    parts = []
    for rows in spans:
        record, phase = records.get(rows.end), rows.phase
        moved = run.scene.lift is not None or (phase is not None and phase.moves_wrist)
        moved &= rows.stopped_by is None
        sag, lag, travel = (None,) * 3 if palm is None else palm.within(rows)
        missed = moved and sag is not None and sag > max(MIN_MISS, MISS * (travel or 0.0))
        parts.append(
            HoldPart(
                name=rows.name,
                end_s=float(run.recording.time[rows.end]),
                balance=None if record is None else load_balance(run.model, run.scene, record),
                sag_m=sag,
                lag_m=lag,
                miss_m=sag if missed else None,
                wrist_force_N=None if record is None else record.wrist_force,
            )
        )
    return tuple(parts)


def commanded_acceleration(scene: GraspScene) -> float:
    """Compute the largest commanded acceleration of the object after the closure [m/s²].

    A displacement d from rest to rest within T has 5.77 d/T² (minimum jerk), a shake A·(2πf)², a
    rotation the same for the arc of the object about its centre.
    """
    kinds = [phase.type for phase in scene.phases]
    end = kinds.index("release") if "release" in kinds else None
    later: list[Phase | Lift] = [*scene.phases[kinds.index("close") + 1 : end]]
    return max(map(partial(_acceleration, scene), [*later, scene.lift or HoldPhase()]))


def _acceleration(scene: GraspScene, phase: Phase | Lift) -> float:
    center = np.array(scene.preset.center)
    match phase:
        case Lift() | LiftPhase():
            return MIN_JERK * phase.height / phase.time**2
        case MovePhase():
            arm = float(np.linalg.norm(center - phase.about))
            arc = arm * float(np.linalg.norm(phase.rotation_vector))
            return MIN_JERK * (float(np.linalg.norm(phase.displacement)) + arc) / phase.time**2
        case ShakePhase():
            arm = float(np.linalg.norm(center - (phase.about or center)))
            return phase.peak_acceleration + phase.angle * arm * phase.peak_rate
        case _:
            return 0.0


def _largest_load(
    run: FinishedRun, criterion: SuccessCriterion | Lift, pulls: list[PullTest], inertia: float
) -> float:
    """Return the largest load per mass in the test [m/s²]."""
    gravity = np.array(run.scene.gravity)
    mass, pushed = object_mass(run.model), [0.0]
    if isinstance(criterion, SuccessCriterion):
        gravity = gravity if criterion.gravity is None else np.array(criterion.gravity)
        pushed += [float(np.linalg.norm(gravity + push)) for push in criterion.directions]
    # the direction of inertia changes: it may add to gravity
    constant = max(float(np.linalg.norm(gravity)), float(np.linalg.norm(run.scene.gravity)))
    pushed += [constant + pull.largest_force_N / mass for pull in pulls]
    return max(*pushed, constant + inertia)


def _others(run: FinishedRun, tracks: list[Track]) -> tuple[OtherHeld, ...]:
    """Return the motion of further objects in the hand."""
    held_objects = []
    for name, track in zip(run.scene.object_names[1:], tracks, strict=True):
        positions, orientations = view_from_palm(run, *track)
        # pushes and pulls act on the first object only
        rows = slice(0, end_of_hold(run) - (run.hold_from or 0) + 1)
        drop, rotation = (float(v.max()) for v in _displace(positions[rows], orientations[rows]))
        held_objects.append(OtherHeld(name=name, drop_m=drop, rotation_rad=rotation))
    return tuple(held_objects)


def is_held(run: FinishedRun, hold: HoldTest | None) -> bool | None:
    """Return whether a hold test was passed and the hand bore the load.

    None without a criterion, after an interrupt, where the test applied no load, and where it is
    not known what bore it.

    Args:
        run: The run.
        hold: The test; None where it was not reached.
    """
    criterion = run.scene.success or run.scene.lift
    if criterion is None or not (run.finished or run.diverged or run.refusal):
        return None
    if hold is None or not hold.within_limits:
        return False
    if hold.load_m_s2 is not None and hold.load_m_s2 < NO_LOAD:
        return None
    return hold.is_borne(criterion.max_support)[0]


def is_within(
    criterion: SuccessCriterion | Lift, *,
    drop: float, rotation: float, creep: float, lifted: float, contacts: int,
) -> bool:  # fmt: skip
    """Return whether the motion of an object in the hand is within a criterion.

    Args:
        criterion: The criterion.
        drop: Displacement in the palm frame [m].
        rotation: Rotation in the palm frame [rad].
        creep: Mean speed in the palm frame at the end [m/s].
        lifted: Height above the start [m].
        contacts: Number of bodies in contact at the end.
    """
    steady = drop <= criterion.max_drop and rotation <= criterion.max_rotation
    steady &= creep <= SLIPPING_SPEED
    if isinstance(criterion, Lift):
        return steady and contacts > 0
    high = criterion.min_lift is None or lifted >= criterion.min_lift
    still = criterion.max_creep is None or creep <= criterion.max_creep
    return steady and high and still and contacts >= criterion.min_contacts


def bodies_on_object(run: FinishedRun, pressed: Array) -> int:
    """Count bodies in established contact with the object at the end, or until it is put down.

    Args:
        run: The run.
        pressed: Normal force of each body on it, (T, nb) [N].
    """
    put_down = put_down_row(run.phases)
    row = run.recording.rows - 1 if put_down is None else put_down
    established = run.recording.in_contact[row].astype(bool)
    return int((established & (pressed[row] > 0.0) if run.scene.objects else established).sum())


def view_from_palm(run: FinishedRun, position: Array, quaternion: Array) -> tuple[Array, Array]:
    """Compute object poses in the palm frame since the test began, (n, 3) and (n, 4)."""
    begin = run.hold_from or 0
    palm_positions, palm_quaternions = _palm_track(run, range(begin, len(position)))
    hand = Rotation.from_quat(palm_quaternions, scalar_first=True).inv()
    obj = Rotation.from_quat(quaternion[begin:], scalar_first=True)
    track = hand.apply(position[begin:] - palm_positions)
    return track, np.asarray((hand * obj).as_quat(scalar_first=True))


def _palm_track(run: FinishedRun, rows: range) -> tuple[Array, Array]:
    """Compute palm poses in the world: one per row, or a single one if it is fixed."""
    palm = palm_body(run.model, run.scene.hand)
    if run.model.body_weldid[palm] == 0:
        return run.data.xpos[[palm]], run.data.xquat[[palm]]
    data = mujoco.MjData(run.model)
    palm_positions, palm_quaternions = np.zeros((len(rows), 3)), np.zeros((len(rows), 4))
    for index, row in enumerate(rows):
        data.qpos[:] = run.recording.qpos[row]
        mujoco.mj_kinematics(run.model, data)
        palm_positions[index], palm_quaternions[index] = data.xpos[palm], data.xquat[palm]
    return palm_positions, palm_quaternions


class PalmDeviation(NamedTuple):
    """Positions of a point of the palm at some rows, and where its targets put it."""

    rows: Array
    """Rows of the run, ascending, (n,)."""
    deviation: Array
    """Actual less intended position since the first row, (n, 3) [m]."""
    intended: Array
    """(n, 3) [m]"""

    def within(self, span: PhaseRows) -> tuple[float, float, float]:
        """Return the deviation at the end of a part, the largest one in it, and its travel [m]."""
        inside = (self.rows >= span.begin) & (self.rows <= span.end)
        sizes = np.linalg.norm(self.deviation[inside], axis=1)
        path = self.intended[inside]
        travel = np.linalg.norm(path - path[0], axis=1)
        return float(sizes[-1]), float(sizes.max()), float(travel.max())


def palm_deviations(
    run: FinishedRun, begin: int, ends: list[int], point: Array
) -> PalmDeviation | None:
    """Compute how far the palm is from where the targets of its carrier put it.

    The position of a point of the palm is compared with the one that it would have with every joint
    between world and palm at the target of its servo, and joints without one where they were at the
    first row. A palm that cannot move does not deviate.

    Args:
        run: The run.
        begin: First row.
        ends: Last rows of the parts of the test.
        point: The object's centre at the first row, (3,) [m], palm frame.

    Returns:
        None where such a joint moves without a position servo while the wrist moves.
    """
    model, palm = run.model, palm_body(run.model, run.scene.hand)
    joints, end = _carrying_joints(model, palm), max(ends, default=begin)
    servos = {int(model.actuator_trnid[i, 0]): i for i in range(model.nu) if _is_servo(model, i)}
    carried = run.scene.on_wrist or run.scene.lift is not None
    if carried and any(joint not in servos for joint in joints):
        return None
    spread = np.linspace(begin, end, min(SAG_SAMPLES, end - begin + 1)).astype(int)
    rows = np.unique([*spread, begin, *ends])
    if not joints:
        return PalmDeviation(rows, *np.zeros((2, len(rows), 3)))
    data, track = mujoco.MjData(model), []
    for row in rows.tolist():
        actual = run.recording.qpos[row]
        intended = actual.copy()
        for joint in joints:
            first, size = int(model.jnt_qposadr[joint]), _coordinates(model, joint)
            intended[first : first + size] = run.recording.qpos[begin, first : first + size]
            if joint in servos:
                intended[first] = run.recording.control[row, servos[joint]]
        track.append([_position_of(model, data, qpos, palm, point) for qpos in (actual, intended)])
    actual_track, intended_track = np.array(track).transpose(1, 0, 2)
    deviation = actual_track - intended_track
    return PalmDeviation(rows, deviation - deviation[0], intended_track)


def _carrying_joints(model: mujoco.MjModel, body: int) -> list[int]:
    """Return the joints between the world and a body."""
    joints: list[int] = []
    while body:
        first = int(model.body_jntadr[body])
        joints += range(first, first + int(model.body_jntnum[body]))
        body = int(model.body_parentid[body])
    return joints


def _is_servo(model: mujoco.MjModel, actuator: int) -> bool:
    """Whether an actuator is a position servo of a joint with a gear of one."""
    on_joint = model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT
    gain, bias = model.actuator_gainprm[actuator, 0], model.actuator_biasprm[actuator, 1]
    follows = gain > 0.0 and bool(np.isclose(bias, -gain))
    return bool(on_joint) and follows and float(model.actuator_gear[actuator, 0]) == 1.0


def _coordinates(model: mujoco.MjModel, joint: int) -> int:
    """Return the number of coordinates of a joint."""
    kind = mujoco.mjtJoint(int(model.jnt_type[joint]))
    return {mujoco.mjtJoint.mjJNT_FREE: 7, mujoco.mjtJoint.mjJNT_BALL: 4}.get(kind, 1)


def _position_of(
    model: mujoco.MjModel, data: mujoco.MjData, qpos: Array, body: int, point: Array
) -> Array:
    """Compute the position of a point of a body in the world, (3,) [m]."""
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    return np.asarray(data.xpos[body] + data.xmat[body].reshape(3, 3) @ point)


def _displace(positions: Array, rotations: Array) -> tuple[Array, Array]:
    """Compute displacement [m] and rotation [rad] since the first row, (n,) each."""
    displacements = np.linalg.norm(positions - positions[0], axis=1)
    return displacements, rotation_angles(rotations, rotations[0])


def _trial_rows(run: FinishedRun, trial: PushRecord | PullRecord) -> list[int]:
    """Return the rows of the closed state and of a push or pull, from the test's start."""
    begin = run.hold_from or 0
    return [row - begin for row in (trial.begin, *range(trial.first, trial.end + 1))]


def _direction(
    run: FinishedRun, trial: PushRecord, positions: Array, rotations: Array
) -> DirectionTest:
    criterion, rows = run.scene.success, _trial_rows(run, trial)
    assert criterion is not None  # only one has directions
    drop, rotation = (float(values.max()) for values in _displace(positions[rows], rotations[rows]))
    within = drop <= criterion.max_drop and rotation <= criterion.max_rotation
    record = next((record for record in run.loads if record.row == trial.end), None)
    return DirectionTest(
        name=direction_label(trial.acceleration),
        acceleration=trial.acceleration,
        force_N=object_mass(run.model) * float(np.linalg.norm(trial.acceleration)),
        start_s=float(run.recording.time[trial.first - 1]),
        end_s=float(run.recording.time[trial.end]),
        drop_m=drop,
        rotation_rad=rotation,
        contacts=trial.contacts,
        held=within and trial.contacts >= criterion.min_contacts,
        balance=None if record is None else load_balance(run.model, run.scene, record),
    )


def _pull(run: FinishedRun, pulled: PullRecord, positions: Array) -> PullTest:
    times, begin = run.recording.time, run.hold_from or 0
    start, end = float(times[pulled.first - 1]), float(times[pulled.end])
    last = pulled.end if pulled.slipped is None else pulled.slipped
    slip = None
    if pulled.slipped is not None:  # the row before is the last one without slip
        slip = max(pulled.rate * (float(times[pulled.slipped]) - start), 0.0)
    min_force, largest = pulled.pull.min_force, pulled.rate * (end - start)
    borne = largest if slip is None else slip
    return PullTest(
        name=direction_label(pulled.pull.direction),
        slip_force_N=slip,
        largest_force_N=largest,
        friction_N=pulled.friction,
        rate_N_s=pulled.rate,
        start_s=start,
        end_s=end,
        drop_m=float(np.linalg.norm(positions[last - begin] - positions[pulled.begin - begin])),
        held=None if min_force is None else borne >= min_force * (1.0 - 1e-9),
    )


def _direction_creep(run: FinishedRun, trial: PushRecord, positions: Array) -> float:
    """Compute the mean speed of the object over the last quarter of a push [m/s]."""
    trial_positions = positions[_trial_rows(run, trial)]
    late = max(round(CREEP_FRACTION * (len(trial_positions) - 1)), 1)
    crept = float(np.linalg.norm(trial_positions[-1] - trial_positions[-1 - late]))
    return crept / (late * run.scene.control_period)


def _first_failure(
    run: FinishedRun,
    criterion: SuccessCriterion | Lift,
    gone: tuple[Array, Array],
    tests: list[DirectionTest],
    pulls: list[PullTest],
) -> tuple[str | None, float | None]:
    """Find the part of the run in which a limit was exceeded first, and the time [s]."""
    beyond = np.flatnonzero((gone[0] > criterion.max_drop) | (gone[1] > criterion.max_rotation))
    if beyond.size:
        row = int(beyond[0]) + (run.hold_from or 0)
        name = next(phase.name for phase in run.phases if phase.begin < row <= phase.end)
        return name, float(run.recording.time[row])
    failed = next((test for test in tests if not test.held), None)
    if failed is not None:
        return f"push {failed.name}", failed.end_s
    out = next((test for test in pulls if test.held is False), None)
    return (None, None) if out is None else (f"pull {out.name}", out.end_s)


def _creep_time(run: FinishedRun, criterion: SuccessCriterion | Lift) -> float:
    """Return the time over which creep is the mean speed [s].

    It is a quarter of the time under full load, or of the last part before the pushes. Of a shake
    it is the last cycle, at whose start and end the hand has the same orientation and no
    acceleration, so that elastic displacements cancel.
    """
    if isinstance(criterion, Lift) or (criterion.gravity is not None and not criterion.motion):
        return CREEP_FRACTION * criterion.hold_time
    last = [rows for rows in run.phases if rows.end <= end_of_hold(run)][-1]
    if isinstance(last.phase, ShakePhase):
        return 1.0 / last.phase.frequency
    return CREEP_FRACTION * (last.end - last.begin) * run.scene.control_period


def end_of_hold(run: FinishedRun) -> int:
    """Return the last row before pushes and pulls, or before the object is put down."""
    begins = [trial.begin for trial in run.trials] + [pull.begin for pull in run.pulls]
    put_down = put_down_row(run.phases)
    return min([*begins, run.recording.rows - 1] if put_down is None else [put_down])


def _load(run: FinishedRun, criterion: SuccessCriterion | Lift) -> float:
    """Return the largest acceleration under which the object was held [m/s²]."""
    loads = [run.scene.gravity]
    if isinstance(criterion, SuccessCriterion):
        loads = [criterion.gravity or run.scene.gravity, *criterion.directions]
    return max(float(np.linalg.norm(load)) for load in loads)


def creep_warnings(scene: GraspScene, hold: HoldTest | None, held: bool | None) -> tuple[str, ...]:
    """Warn of an object that creeps in the hand because friction is regularised.

    Measured in the two-pad scene at 98 % of Coulomb's bound: 31 mm/s over ``impratio``, with
    ``impratio`` 1 it slides out (docs/success.md).

    Args:
        scene: The scene.
        hold: Its hold test.
        held: Whether it was passed; an object that fell does not creep.
    """
    impratio, usual = scene.solver.impratio, Solver().impratio
    if hold is None or not held or hold.creep_m_s <= RESTING_SPEED or impratio >= usual:
        return ()
    return (
        f"the object creeps at {1e3 * hold.creep_m_s:.3g} mm/s in the hand under load: friction "
        f"is soft with solver.impratio {impratio:g}, and creep falls as its inverse "
        f"(default {usual:g})",
    )


def hold_warnings(scene: GraspScene, hold: HoldTest | None, held: bool | None) -> tuple[str, ...]:
    """Warn of a test without load or weight, of unknown bearers, and of motions not carried out.

    Args:
        scene: The scene.
        hold: Its hold test.
        held: Whether it was passed.
    """
    if hold is None:
        return ()
    missed = motion_text(hold)
    messages = [missed] if missed else []
    cure = (
        "gravity=True in the scene (--gravity), or a gravity in the criterion, gives it its weight"
    )
    if hold.load_m_s2 is not None and hold.load_m_s2 < NO_LOAD:
        messages.append(f"{UNLOADED} on the object, so it shows nothing; {cure}")
    elif hold.within_limits and held is None:
        messages.append(UNKNOWN_BEARERS)
    elif hold.weight_N == 0.0 and scene.on_wrist and not (hold.directions or hold.pulls):
        messages.append(
            f"the object weighs nothing in its test: it was carried without gravity; {cure}"
        )
    return tuple(messages)


class Track(NamedTuple):
    """Poses of an object over time in the world."""

    position: Array
    """Centre of mass, (T, 3) [m]."""
    quaternion: Array
    """Orientation wxyz, (T, 4)."""


def object_tracks(run: FinishedRun, qpos: Array) -> list[Track]:
    """Compute the poses of all objects over time, the one to be grasped first."""
    return [_track(run.model, placed, qpos) for placed in arrange_items(run.scene)]


def _track(model: mujoco.MjModel, placed: PlacedItem, qpos: Array) -> Track:
    if placed.object.elasticity is not None:
        return Track(*rigid_track(model, node_track(model, qpos)))
    if placed.mount == "free":
        first = model.joint(placed.body).qposadr[0]
        return Track(qpos[:, first : first + 3].copy(), qpos[:, first + 3 : first + 7].copy())
    position = np.tile(placed.pose.position, (len(qpos), 1))
    quaternion = np.tile(placed.pose.quaternion, (len(qpos), 1))
    if placed.mount == "planar":
        joints = names.object_joints(placed.body)
        x, z, angles = (qpos[:, model.joint(name).qposadr[0]] for name in joints)
        position[:, 0] += x
        position[:, 2] += z
        upright = transform(quaternion=placed.pose.quaternion)
        quaternion = np.array([quaternion_of(rotate_about("y", a) @ upright) for a in angles])
    return Track(position, quaternion)


def object_motion(name: str, position: Array, quaternion: Array) -> ObjectMotion:
    """Compute displacement and rotation of an object from its poses over time."""
    rotation = relative_quaternions(quaternion[-1], quaternion[0])
    return ObjectMotion(
        name=name,
        initial_position_m=tuple(position[0].tolist()),
        final_position_m=tuple(position[-1].tolist()),
        initial_quat_wxyz=tuple(quaternion[0].tolist()),
        final_quat_wxyz=tuple(quaternion[-1].tolist()),
        displacement_m=tuple((position[-1] - position[0]).tolist()),
        rotation_rad=tuple(euler_from_quaternions(rotation).tolist()),
    )
