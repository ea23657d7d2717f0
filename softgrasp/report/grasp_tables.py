"""Tables of a grasp report: scene properties, key numbers, contacts, stiffness, events, tests.

All functions return rows of formatted strings. Forces in N, lengths in mm, world frame.
"""

from __future__ import annotations

import math

from softgrasp._version import __version__
from softgrasp.description.base import Vec3
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Compound, Mesh, ObjectShape
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.task import SuccessCriterion
from softgrasp.evaluation.result import (
    BodyContact,
    DirectionTest,
    GraspResult,
    HoldPart,
)
from softgrasp.model import names
from softgrasp.model.object import object_mass
from softgrasp.model.shapes import extent
from softgrasp.rendering.keyframes import choose_shown_phases, has_phases
from softgrasp.report.grasp_text import (
    MIN_SAG,
    Row,
    criterion_text,
    label_of,
    let_go_s,
    limits_text,
    out_of_hand,
    phase_text,
)
from softgrasp.report.style import count, group_digits, millimetres, newtons, signed
from softgrasp.sim.load_balance import percent
from softgrasp.sim.stiffness_feedback import PairContact

EMPTY = "–"
LARGE_GRIP = 20.0
"""Normal force over the least one that carries the object from which a grip is remarked [–]."""
GRAVITY = 9.81
"""[m/s²]"""


def scene_properties(result: GraspResult) -> list[tuple[str, str]]:
    """Rows (name, value) that describe the simulated scene."""
    scene = result.scene
    period = 1e3 * scene.control_period
    gravity = f"({', '.join(f'{part:g}' for part in scene.gravity)}) m/s²"
    objects = [scene.object, *(placed.object for placed in scene.objects)]
    rows = [
        ("Hand", ", ".join([scene.hand.name, *_fingers(scene.hand)])),
        ("Objects" if scene.objects else "Object", "; ".join(map(_object_text, objects))),
        ("Surroundings", ", ".join(scene.surrounding_names)),
        ("Grasp", scene.grasp + (f", {scene.actuation} joints" if scene.hand.fingers else "")),
        ("Closure", _closure(result)),
        ("Contact requested", contact_text(result.contact_model.requested)),
        ("Gravity", gravity if any(scene.gravity) else "none while closing"),
        *_phases(result),
        ("Lift" if scene.lift else "Hold test", _criterion(result)),
        ("Time step", f"{result.contact_model.steps_text}, controller every {period:g} ms"),
        ("Source", scene.source),
    ]
    return [(name, text) for name, text in rows if text]


def _fingers(hand: Hand) -> list[str]:
    """Number of fingers, joints and soft fingers: ``4 fingers``, ``12 joints``."""
    parts = []
    if hand.fingers:
        parts += [count(len(hand.fingers), "finger"), count(len(hand.joints), "joint")]
    if hand.soft_fingers:
        parts.append(count(len(hand.soft_fingers), "soft finger"))
    return parts


def _object_text(described: GraspObject) -> str:
    text = f"{described.name}, {shape_text(described.shape)}, {1e3 * object_mass(described):.4g} g"
    return text if described.density is None else f"{text} ({described.density:g} kg/m³)"


def value_rows(resolved: ResolvedScene) -> list[Row]:
    """Return the rows of the table of values: field, value, source, reason."""
    return [
        {"Field": field, "Value": (value, "text"), "Source": (source, "word"),
         "Reason": (why, "text")}
        for field, value, source, why in (item.row for item in resolved.values if item.is_set)
    ]  # fmt: skip


def _closure(result: GraspResult) -> str:
    closure = result.scene.closure
    samples = count(closure.samples, "sample")
    kind = "" if closure.name in ("position-increment", "pressure") else f"{closure.name}, "
    force_text = "" if closure.stop_force is None else f" until {closure.stop_force:g} N"
    contact = f"contact after {samples} above {closure.threshold:g} N"
    return f"{kind}{_rates(result)}{force_text}; {contact}"


def _rates(result: GraspResult) -> str:
    shown = {"rad": (math.degrees(1.0), "°"), "m": (1e3, "mm"), "Pa": (1e-3, "kPa"), "": (1.0, "1")}
    texts = []
    for actuator, rate in zip(result.scene.actuators, result.scene.rates, strict=True):
        factor, unit = shown.get(actuator.unit, (1.0, actuator.unit))
        highest = f" up to {factor * actuator.limits[1]:.3g} kPa" if actuator.unit == "Pa" else ""
        texts += [f"{factor * rate:.3g} {unit}/s{highest}"] if rate else []
    return ", ".join(dict.fromkeys(texts)) or "no motion"


def _phases(result: GraspResult) -> list[tuple[str, str]]:
    """Rows of the motion sequence and of the time spans of its phases."""
    if not has_phases(result):
        return []
    sequence = result.scene.sequence
    sequence_rows = [("Sequence", "; ".join(map(phase_text, sequence)))] if sequence else []
    spans = [
        f"{span.name} {span.start_s:.3f}–{span.end_s:.3f} s"
        + ("" if span.stopped_by_N is None else f" (stopped by {span.stopped_by_N:.3g} N)")
        for span in choose_shown_phases(result)
    ]
    return [*sequence_rows, ("Phases", ", ".join(spans))]


def _criterion(result: GraspResult) -> str:
    criterion = result.success_criterion
    if criterion is None:
        return "not requested"
    text = f"{criterion_text(criterion)}; {limits_text(criterion)}"
    if isinstance(criterion, SuccessCriterion) and criterion.source:
        text = f"{criterion.name}: {text}. Source: {criterion.source}"
        return f"{text}. Deviations: {criterion.deviations}" if criterion.deviations else text
    return text


def contact_text(contact: Contact) -> str:
    """Describe a contact model in one line."""
    friction = f"µ {contact.static_friction:g}"
    if contact.switches_friction:
        friction = f"µs {contact.static_friction:g}, µd {contact.kinetic_friction:g}"
    if contact.model == "native":
        native = contact.native
        law = f"time constant {1e3 * native.timeconst:g} ms, damping ratio {native.dampratio:g}"
        return f"native: {law}, {friction}"
    law = f"K {group_digits(contact.stiffness)} N/m, D {contact.damping:g} N·s/m, {friction}"
    if contact.model == "soft-finger":
        patch = contact.patch
        return f"soft-finger: {law}, patch {1e3 * patch.radius:g} mm ({patch.pressure})"
    return law


def shape_text(shape: ObjectShape) -> str:
    """Describe a shape and its sizes: ``sphere, radius 30 mm``."""
    if isinstance(shape, Compound):
        size = " × ".join(f"{1e3 * edge:.4g}" for edge in extent(shape))
        return f"{count(len(shape.parts), 'part')}, size {size} mm"
    if isinstance(shape, Mesh):
        return f"mesh {shape.file}"
    sizes = []
    for name, value in shape:
        if name == "exponents":
            sizes.append(f"exponents {' and '.join(f'{exponent:g}' for exponent in value)}")
        elif name != "type":
            lengths = value if isinstance(value, tuple) else (value,)
            sizes.append(f"{name} {' × '.join(f'{1e3 * length:g}' for length in lengths)} mm")
    return f"{shape.type}, {', '.join(sizes)}"


def key_numbers(result: GraspResult) -> list[tuple[str, str]]:
    """Rows (name, value) of the key numbers beside the video."""
    inside = [contact for contact in result.contacts if contact.in_contact]
    touches = [event.time_s for event in result.events if event.kind == "touching"]
    hold = result.hold
    numbers = [
        ("Bodies in contact at the end", f"{len(inside)} of {len(result.contacts)}"),
        ("First touch", f"{min(touches):.3f} s" if touches else "none"),
        ("Normal force per body at the end", _force_range(inside)),
    ]
    if out_of_hand(result):
        gone = let_go_s(result)
        end = "never touched" if gone is None else f"left the hand at {gone:.3f} s"
        return [*numbers, ("Object", end)]
    numbers.append(("Object moved", millimetres(math.hypot(*result.object.displacement_m))))
    if hold is not None:
        carried = hold.lifted_m is not None or result.scene.on_wrist
        drop = "Drift while carried" if carried else "Drop in the hold test"
        drop = "Drift while lifted" if result.scene.lift is not None else drop
        numbers.append((drop, millimetres(hold.drop_m)))
        numbers.append(("Creep at its end", f"{1e6 * hold.creep_m_s:.3g} µm/s"))
        if hold.sag_m is not None and hold.sag_m >= MIN_SAG:
            numbers.append(("Sag of the palm", millimetres(hold.sag_m)))
        if rows := [row for row in load_rows(result) if row["Borne by"] == "hand"]:
            load = f"{rows[-1]['Of it|[N]']} N, {rows[-1]['Of it|[%]']} %"
            numbers.append(("Load on the hand at the end", load))
    return numbers


def _force_range(contacts: list[BodyContact]) -> str:
    forces = [contact.normal_force_N for contact in contacts]
    if not forces:
        return "none"
    low, high = f"{min(forces):.3g}", f"{max(forces):.3g}"
    return f"{high} N" if low == high else f"{low} … {high} N"


def provenance(result: GraspResult, renderer_text: str) -> list[tuple[str, str]]:
    """Rows (name, value) of software versions, run time and trajectory hash."""
    ratio = result.simulated_time / result.wall_time if result.wall_time > 0 else 0.0
    rows = [
        ("Simulated", f"{result.simulated_time:.3f} s in {result.wall_time:.2f} s ({ratio:.1f}×)"),
        ("Engine", f"{result.backend['name']} {result.backend['version']}"),
        ("Report by", f"softgrasp {__version__}"),
        ("Trajectory SHA-256", result.trajectory_sha256),
    ]
    return [*rows, ("Images", renderer_text)] if renderer_text else rows


def body_rows(result: GraspResult) -> list[Row]:
    """Rows of the bodies that touched the object, in the order of the hand."""
    return [
        {
            "Body": label_of(result, contact.body),
            **_object_cell(result, contact.object),
            "At the end": ("in contact", "on") if contact.in_contact else ("free", "off"),
            "First touch|[s]": f"{contact.first_touch_s:.3f}",
            "Established|[s]": _last_time(contact.established_s),
            "Lost|[s]": _last_time(contact.lost_s),
            "Normal|[N]": f"{contact.normal_force_N:.2f}",
            "Friction|[N]": f"{contact.friction_force_N:.2f}",
            "Slip|[mm/s]": EMPTY
            if contact.point_m is None
            else f"{1e3 * contact.slip_speed_m_s:.3f}",
            "Point x, y, z|[mm]": point_mm(contact.point_m),
        }
        for contact in result.contacts
        if contact.first_touch_s is not None
    ]


def _last_time(times: tuple[float, ...]) -> str:
    if not times:
        return EMPTY
    return f"{times[-1]:.3f}" + (f" ({len(times)}×)" if len(times) > 1 else "")


def _object_cell(result: GraspResult, name: str | None) -> Row:
    """Return the cell of the touched object, where there are several."""
    return {"Object": (name or EMPTY, "word")} if len(result.objects) > 1 else {}


def force_rows(result: GraspResult) -> list[list[str]]:
    """Rows of the fingers of a force-limited closure: limit, force, its percentage, reason."""
    return [
        [
            label_of(result, force.body),
            f"{force.limit_N:g}",
            f"{force.force_N:.2f}",
            percent(force.force_N / force.limit_N),
            force.reason or EMPTY,
        ]
        for force in result.reached_forces
    ]


def untouched(result: GraspResult) -> list[str]:
    """Names of the bodies that never touched."""
    return [label_of(result, c.body) for c in result.contacts if c.first_touch_s is None]


def other_rows(result: GraspResult) -> list[list[str]]:
    """Rows of the contacts at the end between objects, with surroundings and within the hand.

    Columns: two bodies, normal and friction force, force vector, separation and point.
    """
    rows = [
        [
            contact.first.replace("_", " "),
            contact.second.replace("_", " "),
            f"{contact.normal_force_N:.2f}",
            f"{contact.friction_force_N:.2f}",
            ", ".join(signed(part, 2) for part in contact.force_N),
            signed(1e6 * contact.separation_m, 1),
            point_mm(contact.point_m),
        ]
        for contact in (*result.other_contacts, *result.hand_contacts)
    ]
    if not result.hand_contacts:
        return rows
    sums = {"the object": result.force_on_objects_N, "itself": result.force_within_hand_N}
    return rows + [
        ["hand, sum", on, f"{force:.2f}", EMPTY, EMPTY, EMPTY, EMPTY] for on, force in sums.items()
    ]


def acting_rows(result: GraspResult) -> list[list[str]]:
    """Rows of what acted in every pair that touched: K, D, largest depth and sliding."""
    called = names.display_names(result.scene)

    def label(geom: str) -> str:  # of its body, or of its object without the number of a mesh part
        return called.get(geom, called.get(geom.split("_")[0], geom.replace("_", " ")))

    of_label: dict[str, list[PairContact]] = {}
    for pair in result.contact_model.pairs:
        of_label.setdefault(f"{label(pair.first)} on {label(pair.second)}", []).append(pair)
    return [_acting_row(label, pairs) for label, pairs in of_label.items()]


def _acting_row(label: str, pairs: list[PairContact]) -> list[str]:
    """Row of the pairs with one label: ranges of K and D, the largest of everything else."""
    last = [pair for pair in pairs if pair.touching] or pairs
    deviations = [100.0 * (pair.stiffness_N_m / pair.set_stiffness_N_m - 1.0) for pair in last]
    stiffness = sorted(pair.stiffness_N_m for pair in last)
    damping = sorted(pair.damping_N_s_m for pair in last)
    return [
        label,
        _span([group_digits(value) for value in stiffness]),
        _span([f"{value:.4g}" for value in damping]),
        f"{signed(max(deviations, key=abs), 2)} %",
        f"{1e6 * max(pair.peak_depth_m for pair in pairs):.1f}",
        f"{100.0 * max(pair.sliding for pair in pairs):.0f} %",
        f"{1e3 * min(pair.impact_timestep_s for pair in pairs):.2g}",
    ]


def acting_notes(result: GraspResult) -> list[str]:
    """Sentences about servos at limits, first touches, moving pairs and a grip above the weight."""
    model, notes = result.contact_model, []
    if model.saturated:
        servos = ", ".join(f"{item.actuator} ({item.force:.2g})" for item in model.saturated)
        notes.append(f"At their force limits at the end: {servos.replace('_', ' ')}.")
    if result.peak is not None and result.peak.doubt:
        notes.append(
            f"The largest force of {newtons(result.peak.force_N)} is {result.peak.doubt}; the "
            "depth of that touch is too high, and forces at rest may depend on the step as well."
        )
    if model.moving:
        fastest = max(pair.speed_m_s for pair in model.moving)
        duration = math.ceil(2.0 * result.simulated_time)
        notes.append(
            f"Not at rest at the end: {count(len(model.moving), 'pair')} of bodies in contact, at "
            f"{1e3 * fastest:.2g} mm/s at most. Their stiffness is corrected as they move, and is "
            f"exact only at rest; a longer run lets them settle (--set duration={duration})."
        )
    ratio = grip_ratio(result)
    if ratio > LARGE_GRIP and result.scene.closure.grip_limit(result.scene.hand) is None:
        notes.append(
            f"The hand presses with {ratio:.0f} times the force that friction needs to carry the "
            "object: what its servos apply between their targets and the contact. A "
            "grip force limits it (--set closure.grip_force=2), or a force-limited closure."
        )
    return notes


def grip_ratio(result: GraspResult) -> float:
    """Compute the sum of normal forces over m·g/µ, the least that carries the object [–]."""
    friction = result.contact_model.used.kinetic_friction
    required = object_mass(result.scene.object) * GRAVITY / friction if friction else math.inf
    return sum(contact.normal_force_N for contact in result.contacts) / required


def _defines_stiffness(result: GraspResult) -> bool:
    """Whether the contact model defines a stiffness in N/m to compare with."""
    return result.contact_model.used.converted and result.scene.object.elasticity is None


def _span(ordered: list[str]) -> str:
    """Format a range ``99 976 … 100 504``; a single value if both ends are equal."""
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} … {ordered[-1]}"


def stiffness_verdict(result: GraspResult) -> str:
    """Sentence that compares measured and requested contact stiffness."""
    model = result.contact_model
    softer = "" if model.used == model.requested else (
        f" The time step did not allow the requested {group_digits(model.requested.stiffness)} N/m."
    )  # fmt: skip
    measured = model.measured_stiffness_N_m
    pairs = count(len(measured), "pair")
    if not _defines_stiffness(result):
        ends = " … ".join(group_digits(pick(measured.values())) for pick in (min, max) if measured)
        span = f"; force over penetration of {pairs}: {ends} N/m" if ends else ""
        return f"The contact model does not define a stiffness{span}."
    if not measured:
        return f"No contact at the end, so no stiffness was measured.{softer}"
    ratios = [stiffness / model.set_stiffness(pair) for pair, stiffness in measured.items()]
    worst = max(1e-4, *(abs(ratio - 1.0) for ratio in ratios))
    return f"Force over penetration of {pairs}: within {100.0 * worst:.2g} % of the model.{softer}"


def direction_rows(result: GraspResult) -> list[Row]:
    """Rows of the load directions of the hold test."""
    tests = () if result.hold is None else result.hold.directions
    return [
        {
            "Direction": test.name,
            "Result": ("held", "on") if test.held else ("not held", "lost"),
            "Force|[N]": f"{test.force_N:.3g}",
            "Drop|[mm]": f"{1e3 * test.drop_m:.3f}",
            "Rotation|[°]": f"{math.degrees(test.rotation_rad):.2f}",
            "Bodies in|contact": str(test.contacts),
        }
        for test in tests
    ]


def load_rows(result: GraspResult) -> list[Row]:
    """Rows of what bore the object at the ends of loaded parts and pushes."""
    if result.hold is None:
        return []
    parts: list[HoldPart | DirectionTest] = [*result.hold.parts, *result.hold.directions]
    return [
        {
            "At the end of": part.name,
            "Borne by": bearer.name,
            "Load|[N]": f"{balance.size:.4g}",
            "Of it|[N]": f"{bearer.fraction * balance.size:.4g}",
            "Of it|[%]": percent(bearer.fraction),
        }
        for part in parts
        if (balance := part.balance) is not None and balance.is_loaded
        for bearer in balance.bearers
    ]


def pull_rows(result: GraspResult) -> list[Row]:
    """Rows of the pulls of the hold test."""
    results = {True: ("held", "on"), False: ("not held", "lost")}
    return [
        {
            "Pull": test.name,
            "Result": ("did not slip" if test.slip_force_N is None else "slipped", "")
            if test.held is None
            else results[test.held],
            "Slips at|[N]": EMPTY if test.slip_force_N is None else f"{test.slip_force_N:.3g}",
            "Friction|µ·ΣN [N]": f"{test.friction_N:.3g}",
            "Slip over|friction": EMPTY
            if not (test.slip_force_N and test.friction_N)
            else f"{test.slip_force_N / test.friction_N:.2f}",
            "Largest|force [N]": f"{test.largest_force_N:.3g}",
            "Displacement|at slip [mm]": f"{1e3 * test.drop_m:.3f}",
        }
        for test in (() if result.hold is None else result.hold.pulls)
    ]


def event_rows(result: GraspResult) -> list[Row]:
    """Rows of all contact events and of the seals of suction cups, in order of time."""
    rows = _contact_rows(result) + _suction_rows(result)
    return sorted(rows, key=lambda row: float(row["Time|[s]"]))


def _suction_rows(result: GraspResult) -> list[Row]:
    empty = dict.fromkeys(("Slip|[mm/s]", "Separation|[µm]", "Point x, y, z|[mm]"), EMPTY)
    return [
        {
            "Time|[s]": f"{event.time_s:.4f}",
            "Body": (label_of(result, event.cup), "word"),
            **_object_cell(result, event.object),
            "Event": f"{event.kind} at {1e-3 * event.pressure_Pa:.3g} kPa"
            + (f" and {event.pull_N:.3g} N of pull: {event.cause}" if event.cause else ""),
            "Normal|[N]": EMPTY,
            "Friction|[N]": f"{event.shear_N:.2f}",
            **empty,
        }
        for event in result.suction_events
    ]


def _contact_rows(result: GraspResult) -> list[Row]:
    return [
        {
            "Time|[s]": f"{event.time_s:.4f}",
            "Body": (label_of(result, event.body), "word"),
            **_object_cell(result, event.object),
            "Event": (event.kind, f"word {event.kind}"),
            "Normal|[N]": f"{event.normal_force_N:.2f}",
            "Friction|[N]": f"{event.friction_force_N:.2f}",
            "Slip|[mm/s]": f"{1e3 * event.slip_speed_m_s:.2f}",
            "Separation|[µm]": EMPTY
            if event.separation_m is None
            else signed(1e6 * event.separation_m, 1),
            "Point x, y, z|[mm]": point_mm(event.point_m),
        }
        for event in result.events
    ]


def point_mm(point: Vec3 | None) -> str:
    """Format a point [m] as three numbers in millimetres."""
    return EMPTY if point is None else ", ".join(signed(1e3 * part, 1) for part in point)
