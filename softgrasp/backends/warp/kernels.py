"""Warp kernels of the closed loop: contacts, targets, hold test, stiffness feedback, friction.

They repeat the laws of ``sim.laws``, ``sim.stepper``, ``sim.stiffness_feedback`` and
``sim.friction`` for many worlds: w is a world, b a body of the hand, d an actuator, p a contact
pair. Targets are in double precision, because increments are summed over a thousand samples.
"""

# Warp reads the annotations, which are no types for mypy.
# mypy: disable-error-code="untyped-decorator,valid-type,misc,no-any-return,no-untyped-call"
# mypy: disable-error-code="no-untyped-def"

import warp as wp

from softgrasp.evaluation import EJECTION_SAMPLES
from softgrasp.plugin_api import LARGEST_SPEED, laws, stiffness_feedback

CLOSING, HOLDING, ENDED, DIVERGED = 0, 1, 2, 3
"""Phases of a world."""
RETRIES, SOFTENING = 3, 10.0
"""How often a sample is stepped again in which the solver failed, and the factor each time on
``impratio_invsqrt``. Friction a million times as stiff as the normal direction leaves a Hessian
that has no Cholesky factor in single precision; with a hundredth of that, for a sample, an object
creeps by nanometres."""
vec5 = wp.types.vector(length=5, dtype=wp.float32)
WP_CLOSING, WP_HOLDING = wp.constant(CLOSING), wp.constant(HOLDING)
WP_ENDED, WP_DIVERGED = wp.constant(ENDED), wp.constant(DIVERGED)
WP_TOUCHING, WP_LOST = wp.constant(laws.TOUCHING), wp.constant(laws.LOST)
WP_ESTABLISHED = wp.constant(laws.ESTABLISHED)
WP_GRIP_INTERVAL = wp.constant(laws.GRIP_INTERVAL)
WP_RETRIES, WP_SOFTENING = wp.constant(RETRIES), wp.constant(SOFTENING)
WP_LARGEST_SPEED = wp.constant(LARGEST_SPEED)
WP_LEAVING = wp.constant(EJECTION_SAMPLES)
WP_INTERVAL = wp.constant(stiffness_feedback.INTERVAL)
WP_LONGEST = wp.constant(stiffness_feedback.LONGEST_INTERVAL)
WP_CHANGE = wp.constant(wp.float64(stiffness_feedback.LARGEST_CHANGE))
WP_TOLERANCE = wp.constant(wp.float64(stiffness_feedback.TOLERANCE))
WP_DEPTH = wp.constant(wp.float64(stiffness_feedback.SMALLEST_DEPTH))


@wp.struct
class Law:
    """Constants of the closed loop of a batch."""

    impratio_invsqrt: wp.float32
    """Inverse root of the stiffness of friction over that of the normal direction [–]."""
    threshold: wp.float32
    samples: wp.int32
    first_force: wp.int32
    slots: wp.int32
    bodies: wp.int32
    actuators: wp.int32
    object_qpos: wp.int32
    loads: wp.array(dtype=wp.vec3)
    """Gravity at the samples of the hold test, (n,) [m/s²]; none without a test."""
    stays_on: wp.int32
    """Whether targets still move in the hold test."""
    late: wp.int32
    """Samples before the end of the test over which creep is measured."""
    joint: wp.array(dtype=wp.int32)
    """Address in ``qpos`` of the joint of each actuator, −1 without one, (nd,)."""
    stops: wp.array2d(dtype=wp.int32)
    """1 where contact of a body stops an actuator, (nd, nb)."""
    increments: wp.array2d(dtype=wp.float64)
    lower: wp.array2d(dtype=wp.float64)
    upper: wp.array2d(dtype=wp.float64)
    """Increments and limits of targets, (nw, nd)."""
    leads: wp.array3d(dtype=wp.float64)
    """Largest lead of a target at contact of a body, which may be infinite, and negative without a
    grip force, (nw, nd, nb)."""
    max_samples: wp.array(dtype=wp.int32)
    idle_limit: wp.array(dtype=wp.int32)
    """Samples of the longest closure, and without motion at which it ends, (nw,)."""


@wp.struct
class Loop:
    """Variables of the closed loop of each world."""

    phase: wp.array(dtype=wp.int32)
    row: wp.array(dtype=wp.int32)
    """Control sample that is evaluated next, (nw,)."""
    idle: wp.array(dtype=wp.int32)
    closed_row: wp.array(dtype=wp.int32)
    end_row: wp.array(dtype=wp.int32)
    """Last rows of the closure and of the run, −1 before, (nw,)."""
    targets: wp.array2d(dtype=wp.float64)
    free: wp.array2d(dtype=wp.int32)
    counts: wp.array2d(dtype=wp.int32)
    touched: wp.array2d(dtype=wp.int32)
    active: wp.array2d(dtype=wp.int32)
    changes: wp.array2d(dtype=wp.int32)
    overflow: wp.array(dtype=wp.int32)
    due: wp.array(dtype=wp.int32)
    """1 where stiffness is corrected after this sample, (nw,)."""
    next_row: wp.array(dtype=wp.int32)
    interval: wp.array(dtype=wp.int32)
    """Sample of the next correction, and samples between two, (nw,)."""
    qpos: wp.array2d(dtype=wp.float32)
    qvel: wp.array2d(dtype=wp.float32)
    """State at the last evaluated sample, (nw, nq) and (nw, nv)."""
    restarted: wp.array(dtype=wp.int32)
    """How often the sample was stepped again from that state, (nw,)."""
    restarts: wp.array(dtype=wp.int32)
    """How often samples so far were stepped again, (nw,)."""
    event: wp.array(dtype=wp.int32)
    """1 in the sample in which the closure ends, 2 in the last one, 3 in both, (nw,)."""


@wp.struct
class Summary:
    """Quantities of each world from which its row of a table is made."""

    first_touch: wp.array2d(dtype=wp.int32)
    first_contact: wp.array2d(dtype=wp.int32)
    """Rows of the first touch and of the first established contact, −1 without, (nw, nb)."""
    losses: wp.array2d(dtype=wp.int32)
    force: wp.array2d(dtype=wp.float32)
    """Normal forces at the last evaluated sample, (nw, nb) [N]."""
    peak: wp.array(dtype=wp.float32)
    last_touch: wp.array(dtype=wp.int32)
    """Row of the last touch in the closure, −1 without, (nw,)."""
    touch_position: wp.array(dtype=wp.vec3)
    left_position: wp.array(dtype=wp.vec3)
    """Object at that row, and ``EJECTION_SAMPLES`` later or at the end of the closure, (nw,)."""
    left_row: wp.array(dtype=wp.int32)
    closed_active: wp.array2d(dtype=wp.int32)
    closed_moving: wp.array(dtype=wp.int32)
    """1 where targets moved in the last sample of the closure, (nw,)."""
    closed_qpos: wp.array2d(dtype=wp.float32)
    closed_targets: wp.array2d(dtype=wp.float64)
    drop: wp.array(dtype=wp.float64)
    rotation: wp.array(dtype=wp.float64)
    """Largest drift [m] and rotation [rad] of the object in the hold test, (nw,)."""
    late_position: wp.array(dtype=wp.vec3)
    final_qpos: wp.array2d(dtype=wp.float32)
    closed_normal: wp.array2d(dtype=wp.vec3)
    """Sum of force times normal into the object at the end of the closure, (nw, nb)."""
    body_force: wp.array2d(dtype=wp.float32)
    body_friction: wp.array2d(dtype=wp.float32)
    body_point: wp.array2d(dtype=wp.vec3)
    """Sums over contacts with the object in the last sample: normal force, friction force, normal
    force times position, (nw, nb)."""
    pair_force: wp.array2d(dtype=wp.float32)
    pair_depth: wp.array2d(dtype=wp.float32)
    """Sums over loaded contacts of a pair in the last sample, (nw, np)."""


@wp.struct
class Log:
    """Time series of a recorded batch, one row per sample; without rows nothing is recorded."""

    qpos: wp.array3d(dtype=wp.float32)
    qvel: wp.array3d(dtype=wp.float32)
    control: wp.array3d(dtype=wp.float64)
    force: wp.array3d(dtype=wp.float32)
    active: wp.array3d(dtype=wp.int32)
    changes: wp.array3d(dtype=wp.int32)


@wp.struct
class Stiffness:
    """Variables of the stiffness feedback and of switching friction."""

    step: wp.float64
    """Time step of the implicit contact law, 0 with other integrators [s]."""
    pair: wp.array2d(dtype=wp.int32)
    """Index of the pair of two geoms, −1 without one, (ng, ng)."""
    hand: wp.array(dtype=wp.int32)
    """Index of the hand's body of each geom, −1 for others, (ng,)."""
    is_object: wp.array(dtype=wp.int32)
    described: wp.array2d(dtype=wp.float64)
    """Described stiffness, 0 for pairs that keep theirs, (nw, np) [N/m]."""
    forces: wp.array2d(dtype=wp.float64)
    depths: wp.array2d(dtype=wp.float64)
    touching: wp.array2d(dtype=wp.int32)
    critical: wp.array2d(dtype=wp.float32)
    """Slip speed above which a pair slides, negative where friction is constant, (nw, np)."""
    coefficients: wp.array3d(dtype=wp.float32)
    """Static and kinetic coefficient, (nw, np, 2)."""
    sliding: wp.array2d(dtype=wp.int32)
    """−1 without a contact in this step, 0 where a pair sticks, 1 where it slides, (nw, np)."""


@wp.func
def body_force(law: Law, sensors: wp.array2d(dtype=wp.float32), w: int, b: int) -> wp.float32:
    """Sum the normal forces of the contacts of a body [N]."""
    total = wp.float32(0.0)
    first = law.first_force + 3 * law.slots * b
    for slot in range(law.slots):
        total += sensors[w, first + 3 * slot]
    return total


@wp.func
def limit(law: Law, loop: Loop, qpos: wp.array2d(dtype=wp.float32), w: int, d: int):
    """Limit the lead of a target over its joint; see ``laws.grip_targets``."""
    target = loop.targets[w, d]
    lead = wp.float64(-1.0)
    for b in range(law.bodies):
        if law.stops[d, b] == 1 and loop.active[w, b] == 1:
            lead = wp.max(lead, law.leads[w, d, b])
    if lead >= wp.float64(0.0):
        position = wp.float64(qpos[w, law.joint[d]])
        if wp.abs(target - position) > lead:
            target = position + wp.where(target > position, lead, -lead)
    return target


@wp.func
def debounce(law: Law, loop: Loop, summary: Summary, w: int, b: int, row: int, force: wp.float32):
    """Update contact of a body by one sample; see ``laws.debounce``."""
    change = wp.int32(0)
    if force > 0.0 and loop.touched[w, b] == 0:
        loop.touched[w, b] = 1
        change = WP_TOUCHING
        if summary.first_touch[w, b] < 0:
            summary.first_touch[w, b] = row
    count = loop.counts[w, b]
    if force > law.threshold:
        if count < law.samples:
            loop.counts[w, b] = count + 1
            if count + 1 == law.samples:
                loop.active[w, b] = 1
                change += WP_ESTABLISHED
                if summary.first_contact[w, b] < 0:
                    summary.first_contact[w, b] = row
    elif count > 0:
        loop.counts[w, b] = 0
        if loop.active[w, b] == 1:
            loop.active[w, b] = 0
            loop.touched[w, b] = 0
            summary.losses[w, b] = summary.losses[w, b] + 1
            change += WP_LOST
    loop.changes[w, b] = change


@wp.func
def object_position(law: Law, qpos: wp.array2d(dtype=wp.float32), w: int) -> wp.vec3:
    """Return the position of the object in the world [m]."""
    a = law.object_qpos
    return wp.vec3(qpos[w, a], qpos[w, a + 1], qpos[w, a + 2])


@wp.func
def angle_between(
    law: Law, first: wp.array2d(dtype=wp.float32), second: wp.array2d(dtype=wp.float32), w: int
):
    """Return the angle between two orientations of the object [rad]."""
    a = law.object_qpos + 3
    p = wp.vec4d(
        wp.float64(first[w, a]), wp.float64(first[w, a + 1]),
        wp.float64(first[w, a + 2]), wp.float64(first[w, a + 3]),
    )  # fmt: skip
    q = wp.vec4d(
        wp.float64(second[w, a]), wp.float64(second[w, a + 1]),
        wp.float64(second[w, a + 2]), wp.float64(second[w, a + 3]),
    )  # fmt: skip
    p, q = wp.normalize(p), wp.normalize(q)
    if wp.dot(p, q) < wp.float64(0.0):
        q = -q
    return wp.float64(4.0) * wp.atan2(wp.length(p - q), wp.length(p + q))


@wp.func
def has_failed(qvel: wp.array2d(dtype=wp.float32), w: int) -> bool:
    """Return whether joint velocities are too large or not numbers."""
    square = wp.float32(0.0)
    for i in range(qvel.shape[1]):
        square += qvel[w, i] * qvel[w, i]
    # written so that a speed that is not a number counts as too fast
    return not (square < WP_LARGEST_SPEED * WP_LARGEST_SPEED)


@wp.func
def put_back(
    state: wp.array2d(dtype=wp.float32), speeds: wp.array2d(dtype=wp.float32),
    qpos: wp.array2d(dtype=wp.float32), qvel: wp.array2d(dtype=wp.float32),
    warm_start: wp.array2d(dtype=wp.float32), w: int,
):  # fmt: skip
    """Restore an earlier state of a world, without a start for its solver."""
    for i in range(qpos.shape[1]):
        qpos[w, i] = state[w, i]
    for i in range(qvel.shape[1]):
        qvel[w, i] = speeds[w, i]
        warm_start[w, i] = 0.0


@wp.func
def keep(
    loop: Loop, qpos: wp.array2d(dtype=wp.float32), qvel: wp.array2d(dtype=wp.float32), w: int
):
    """Save the state of a world at a sample."""
    for i in range(qpos.shape[1]):
        loop.qpos[w, i] = qpos[w, i]
    for i in range(qvel.shape[1]):
        loop.qvel[w, i] = qvel[w, i]


@wp.func
def record(
    law: Law, loop: Loop, log: Log, w: int, row: int,
    qpos: wp.array2d(dtype=wp.float32), qvel: wp.array2d(dtype=wp.float32),
    sensors: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Copy a sample into the time series."""
    for i in range(qpos.shape[1]):
        log.qpos[row, w, i] = qpos[w, i]
    for i in range(qvel.shape[1]):
        log.qvel[row, w, i] = qvel[w, i]
    for d in range(law.actuators):
        log.control[row, w, d] = loop.targets[w, d]
    for i in range(3 * law.slots * law.bodies):
        log.force[row, w, i] = sensors[w, law.first_force + i]
    for b in range(law.bodies):
        log.active[row, w, b] = loop.active[w, b]
        log.changes[row, w, b] = loop.changes[w, b]


@wp.func
def follow_release(
    law: Law, summary: Summary, qpos: wp.array2d(dtype=wp.float32), w: int, row: int, touches: bool
):
    """Record where the object was at its last touch in the closure, and some samples later."""
    if touches:
        summary.last_touch[w] = row
        summary.touch_position[w] = object_position(law, qpos, w)
    elif row <= summary.last_touch[w] + WP_LEAVING:
        summary.left_row[w] = row
        summary.left_position[w] = object_position(law, qpos, w)


@wp.func
def drift(law: Law, summary: Summary, qpos: wp.array2d(dtype=wp.float32), w: int):
    """Update the largest drift and rotation of the object since the closure."""
    a = law.object_qpos
    square = wp.float64(0.0)
    for i in range(3):
        moved = wp.float64(qpos[w, a + i]) - wp.float64(summary.closed_qpos[w, a + i])
        square += moved * moved
    summary.drop[w] = wp.max(summary.drop[w], wp.sqrt(square))
    angle = angle_between(law, summary.closed_qpos, qpos, w)
    summary.rotation[w] = wp.max(summary.rotation[w], angle)


@wp.func
def end_closure(
    law: Law, loop: Loop, summary: Summary, qpos: wp.array2d(dtype=wp.float32), w: int, row: int
):
    """Record the state at the end of the closure and limit the targets of stopped servos."""
    loop.closed_row[w] = row
    summary.closed_moving[w] = wp.where(loop.idle[w] == 0, 1, 0)
    for b in range(law.bodies):
        summary.closed_active[w, b] = loop.active[w, b]
    for i in range(qpos.shape[1]):
        summary.closed_qpos[w, i] = qpos[w, i]
    for d in range(law.actuators):
        summary.closed_targets[w, d] = loop.targets[w, d]
        if loop.free[w, d] == 0:
            loop.targets[w, d] = limit(law, loop, qpos, w, d)
    summary.late_position[w] = object_position(law, qpos, w)


@wp.func
def move_targets(law: Law, loop: Loop, w: int, qpos: wp.array2d(dtype=wp.float32)):
    """Stop, limit and advance targets by one sample; count samples without motion."""
    moved = wp.int32(0)
    frozen = wp.where(loop.phase[w] == WP_HOLDING and law.stays_on == 0, 1, 0)
    for d in range(law.actuators):
        stopped = wp.int32(frozen)
        for b in range(law.bodies):
            if law.stops[d, b] == 1 and loop.active[w, b] == 1:
                stopped = wp.int32(1)
        if stopped == 1 and loop.free[w, d] == 1 and frozen == 0:
            loop.targets[w, d] = limit(law, loop, qpos, w, d)
        loop.free[w, d] = 1 - stopped
        increment = law.increments[w, d]
        if stopped == 0 and increment != wp.float64(0.0):
            before = loop.targets[w, d]
            after = wp.min(wp.max(before + increment, law.lower[w, d]), law.upper[w, d])
            if after != before:
                moved = wp.int32(1)
            loop.targets[w, d] = after
    if moved == 1:
        loop.idle[w] = 0
    else:
        loop.idle[w] = loop.idle[w] + 1


@wp.kernel(enable_backward=False)
def control(
    law: Law, loop: Loop, summary: Summary, log: Log,
    qpos: wp.array2d(dtype=wp.float32), qvel: wp.array2d(dtype=wp.float32),
    warm_start: wp.array2d(dtype=wp.float32), sensors: wp.array2d(dtype=wp.float32),
    overflow: wp.array(dtype=wp.int32), ctrl: wp.array2d(dtype=wp.float32),
    gravity: wp.array(dtype=wp.vec3), impratio_invsqrt: wp.array(dtype=wp.float32),
):  # fmt: skip
    """Evaluate one control sample of every world: contacts, targets, record, phase."""
    w = wp.tid()
    loop.due[w] = 0
    loop.event[w] = 0
    if loop.phase[w] >= WP_ENDED:
        return
    loop.overflow[w] = loop.overflow[w] | overflow[w]
    row = loop.row[w]
    if has_failed(qvel, w):
        # in single precision the solver fails at times
        put_back(loop.qpos, loop.qvel, qpos, qvel, warm_start, w)
        if loop.restarted[w] == WP_RETRIES:
            loop.phase[w] = WP_DIVERGED
            loop.end_row[w] = wp.max(row - 1, 0)
            for i in range(qpos.shape[1]):
                summary.final_qpos[w, i] = qpos[w, i]
        loop.restarted[w] = loop.restarted[w] + 1
        loop.restarts[w] = loop.restarts[w] + 1
        impratio_invsqrt[w] = WP_SOFTENING * impratio_invsqrt[w]
        return
    keep(loop, qpos, qvel, w)
    loop.restarted[w] = 0
    impratio_invsqrt[w] = law.impratio_invsqrt
    loop.row[w] = row + 1
    touches = wp.int32(0)
    for b in range(law.bodies):
        force = body_force(law, sensors, w, b)
        summary.force[w, b] = force
        summary.peak[w] = wp.max(summary.peak[w], force)
        if force > 0.0:
            touches = wp.int32(1)
        debounce(law, loop, summary, w, b, row, force)
    move_targets(law, loop, w, qpos)
    for d in range(law.actuators):
        ctrl[w, d] = wp.float32(loop.targets[w, d])
    if log.qpos.shape[0] > row:
        record(law, loop, log, w, row, qpos, qvel, sensors)
    if row == loop.next_row[w]:
        loop.due[w] = 1
    tested = law.loads.shape[0]
    if loop.phase[w] == WP_CLOSING:
        follow_release(law, summary, qpos, w, row, touches == 1)
        if row > 0 and row % WP_GRIP_INTERVAL == 0:
            for d in range(law.actuators):
                if loop.free[w, d] == 0:
                    loop.targets[w, d] = limit(law, loop, qpos, w, d)
        if loop.idle[w] >= law.idle_limit[w] or row + 1 >= law.max_samples[w]:
            end_closure(law, loop, summary, qpos, w, row)
            loop.event[w] = 1
            loop.phase[w] = WP_HOLDING
            if tested == 0:
                loop.event[w] = 3
                loop.phase[w] = WP_ENDED
    else:
        drift(law, summary, qpos, w)
        sample = row - loop.closed_row[w]
        if sample == tested - law.late:
            summary.late_position[w] = object_position(law, qpos, w)
        if sample == tested:
            loop.event[w] = 2
            loop.phase[w] = WP_ENDED
    if loop.phase[w] == WP_HOLDING:
        gravity[w] = law.loads[row - loop.closed_row[w]]
    if loop.phase[w] == WP_ENDED:
        loop.end_row[w] = row
        for i in range(qpos.shape[1]):
            summary.final_qpos[w, i] = qpos[w, i]


@wp.kernel(enable_backward=False)
def read_contacts(
    loop: Loop, summary: Summary, stiffness: Stiffness,
    count: wp.array(dtype=wp.int32), world: wp.array(dtype=wp.int32),
    geoms: wp.array(dtype=wp.vec2i), address: wp.array2d(dtype=wp.int32),
    distance: wp.array(dtype=wp.float32), point: wp.array(dtype=wp.vec3),
    frame: wp.array(dtype=wp.mat33), dimension: wp.array(dtype=wp.int32),
    force: wp.array2d(dtype=wp.float32), mass: wp.array2d(dtype=wp.float32),
    solref: wp.array2d(dtype=wp.vec2), solimp: wp.array2d(dtype=vec5),
):  # fmt: skip
    """Add up the contacts of each world for stiffness feedback and the summary."""
    c = wp.tid()
    if c >= wp.min(count[0], world.shape[0]):
        return
    w = world[c]
    if loop.due[w] == 0 and loop.event[w] == 0:
        return
    first = geoms[c][0]
    second = geoms[c][1]
    if first < 0 or second < 0 or address[c, 0] < 0:
        return
    p = stiffness.pair[first, second]
    row = address[c, 0]
    if p < 0:
        return
    if loop.due[w] == 1 and stiffness.described[w, p] > wp.float64(0.0):
        # stiffness as in StiffnessFeedback.acting; solimp is constant (impedance of the pair)
        impedance = wp.float64(solimp[w % solimp.shape[0], p][1])
        spring = -wp.float64(solref[w, p][0]) / impedance
        rate = -wp.float64(solref[w, p][1]) / impedance
        h = stiffness.step
        scale = (wp.float64(1.0) + h * rate + h * h * spring) / wp.float64(mass[w, row])
        depth = wp.max(-wp.float64(distance[c]), WP_DEPTH)
        wp.atomic_add(stiffness.depths, w, p, depth)
        wp.atomic_add(stiffness.forces, w, p, depth * spring / scale)
    if loop.event[w] == 0:
        return
    sign = wp.float32(1.0)
    b = int(stiffness.hand[first])
    other = int(second)
    if b < 0:
        b = int(stiffness.hand[second])
        other = int(first)
        sign = -1.0
    if b < 0 or stiffness.is_object[other] == 0:
        return
    pressing = force[w, row]
    normal = sign * wp.vec3(frame[c][0, 0], frame[c][0, 1], frame[c][0, 2])
    if (loop.event[w] & 1) == 1:
        wp.atomic_add(summary.closed_normal, w, b, pressing * normal)
    if (loop.event[w] & 2) == 2:
        wp.atomic_add(summary.body_force, w, b, pressing)
        wp.atomic_add(summary.body_point, w, b, pressing * point[c])
        if dimension[c] >= 3:
            item, two = force[w, row + 1], force[w, row + 2]
            wp.atomic_add(summary.body_friction, w, b, wp.sqrt(item * item + two * two))
        if distance[c] < 0.0 and pressing > 0.0:
            wp.atomic_add(summary.pair_force, w, p, pressing)
            wp.atomic_add(summary.pair_depth, w, p, -distance[c])


@wp.kernel(enable_backward=False)
def correct_stiffness(loop: Loop, stiffness: Stiffness, solref: wp.array2d(dtype=wp.vec2)):
    """Scale ``solref`` of the pairs in contact where a correction is due."""
    w = wp.tid()
    if loop.due[w] == 0:
        return
    settled = wp.int32(1)
    for p in range(stiffness.described.shape[1]):
        depth = stiffness.depths[w, p]
        touching = wp.where(depth > wp.float64(0.0), 1, 0)
        if touching != stiffness.touching[w, p]:
            settled = wp.int32(0)
            stiffness.touching[w, p] = touching
        if touching == 1:
            ratio = stiffness.described[w, p] * depth / stiffness.forces[w, p]
            if wp.abs(ratio - wp.float64(1.0)) > WP_TOLERANCE:
                settled = wp.int32(0)
            factor = wp.clamp(ratio, wp.float64(1.0) / WP_CHANGE, WP_CHANGE)
            solref[w, p] = wp.float32(factor) * solref[w, p]
            stiffness.depths[w, p] = wp.float64(0.0)
            stiffness.forces[w, p] = wp.float64(0.0)
    interval = WP_INTERVAL
    if settled == 1:
        interval = wp.min(2 * loop.interval[w], WP_LONGEST)
    loop.interval[w] = interval
    loop.next_row[w] = loop.next_row[w] + interval


@wp.kernel(enable_backward=False)
def detect_slip(
    stiffness: Stiffness, count: wp.array(dtype=wp.int32), world: wp.array(dtype=wp.int32),
    geoms: wp.array(dtype=wp.vec2i), address: wp.array2d(dtype=wp.int32),
    velocity: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Mark pairs with a contact in the last step, and those that slide."""
    c = wp.tid()
    if c >= wp.min(count[0], world.shape[0]) or geoms[c][0] < 0 or geoms[c][1] < 0:
        return
    w = world[c]
    row = address[c, 0]
    p = stiffness.pair[geoms[c][0], geoms[c][1]]
    if p < 0 or stiffness.critical[w, p] < 0.0:
        return
    slides = wp.int32(0)
    if row >= 0:
        first, second = velocity[w, row + 1], velocity[w, row + 2]
        if wp.sqrt(first * first + second * second) > stiffness.critical[w, p]:
            slides = wp.int32(1)
    wp.atomic_max(stiffness.sliding, w, p, slides)


@wp.kernel(enable_backward=False)
def switch_friction(stiffness: Stiffness, friction: wp.array2d(dtype=vec5)):
    """Set the friction of pairs that had a contact in the last step."""
    w, p = wp.tid()
    slides = stiffness.sliding[w, p]
    if slides >= 0:
        value = friction[w, p]
        value[0] = stiffness.coefficients[w, p, slides]
        value[1] = stiffness.coefficients[w, p, slides]
        friction[w, p] = value
        stiffness.sliding[w, p] = -1


# Decisions of learning tasks


@wp.kernel(enable_backward=False)
def ramp(
    before: wp.array2d(dtype=wp.float32), after: wp.array2d(dtype=wp.float32),
    step: wp.array(dtype=int), steps: int, ctrl: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Set the controls of the next step of every world."""
    w, u = wp.tid()
    part = wp.float32(step[w] + 1) / wp.float32(steps)
    ctrl[w, u] = before[w, u] + part * (after[w, u] - before[w, u])


@wp.kernel(enable_backward=False)
def take_back(
    step: wp.array(dtype=int), failures: wp.array(dtype=int), impratio: float,
    impratio_invsqrt: wp.array(dtype=wp.float32),
    positions: wp.array2d(dtype=wp.float32), speeds: wp.array2d(dtype=wp.float32),
    qpos: wp.array2d(dtype=wp.float32), qvel: wp.array2d(dtype=wp.float32),
    warm_start: wp.array2d(dtype=wp.float32),
):  # fmt: skip
    """Count a step of every world, or take it back where it has failed."""
    w = wp.tid()
    if has_failed(qvel, w):
        failures[w] = failures[w] + 1
        if failures[w] <= WP_RETRIES:
            put_back(positions, speeds, qpos, qvel, warm_start, w)
            impratio_invsqrt[w] = WP_SOFTENING * impratio_invsqrt[w]
        return
    failures[w] = 0
    impratio_invsqrt[w] = impratio
    step[w] = step[w] + 1
    for i in range(qpos.shape[1]):
        positions[w, i] = qpos[w, i]
    for i in range(qvel.shape[1]):
        speeds[w, i] = qvel[w, i]
