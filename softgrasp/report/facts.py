"""What was simulated, in the words of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softgrasp._version import __version__
from softgrasp.build.objects import object_mass
from softgrasp.build.placing import object_pose
from softgrasp.description.contact import Contact
from softgrasp.description.hand import Hand
from softgrasp.description.objects import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.shapes import Mesh, Shape, Sphere
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Block, Table, Wall
from softgrasp.mechanics.transforms import euler_from_quaternions
from softgrasp.rendering.keyframes import has_phases, shown_phases
from softgrasp.report.hold_words import criterion_text, limits_text, phase_text
from softgrasp.report.letting_go import let_go_s, out_of_hand
from softgrasp.report.quantities import count, grouped, millimetres
from softgrasp.report.style import signed
from softgrasp.report.tables import point_mm
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_contacts import BodyContact


def scene_properties(result: GraspResult) -> list[tuple[str, str]]:
    """(name, value) of what was simulated."""
    scene = result.scene
    rows = [
        ("Hand", ", ".join([scene.hand.name, *_fingers(scene.hand)])),
        ("Object", _object_text(scene.object)),
        ("Mount", scene.object_mount),
        ("Starts at", _start_text(scene)),
        *_further(scene),
        ("Grasp", scene.grasp + (f", {scene.actuation} joints" if scene.hand.fingers else "")),
        ("Closure", _closure(result)),
        *_grip_force(result),
        ("Contact asked", contact_text(result.contact_model.asked)),
        ("Gravity", _gravity(result)),
        *_around(scene),
        *_phases(result),
        ("Lift" if scene.lift else "Hold test", _criterion(result)),
        ("Time step", _steps(result)),
        *_discretisation(result),
        ("Solver", _solver(result)),
    ]
    return [*rows, ("Source", scene.source)] if scene.source else rows


def _fingers(hand: Hand) -> list[str]:
    """``4 fingers, 12 joints``, and soft fingers where there are some."""
    parts = []
    if hand.fingers:
        parts += [count(len(hand.fingers), "finger"), count(len(hand.joints), "joint")]
    if hand.soft_fingers:
        parts.append(count(len(hand.soft_fingers), "soft finger"))
    return parts


def contact_text(contact: Contact) -> str:
    """A contact in one line."""
    friction = f"µ {contact.static_friction:g}"
    if contact.switches_friction:
        friction = f"µs {contact.static_friction:g}, µd {contact.kinetic_friction:g}"
    if contact.model == "native":
        native = contact.native
        law = f"time constant {1e3 * native.timeconst:g} ms, damping ratio {native.dampratio:g}"
        return f"native: {law}, {friction}"
    law = f"K {grouped(contact.stiffness)} N/m, D {contact.damping:g} N·s/m, {friction}"
    if contact.model == "soft-finger":
        patch = contact.patch
        return f"soft-finger: {law}, patch {1e3 * patch.radius:g} mm ({patch.pressure})"
    return law


def shape_text(shape: Shape) -> str:
    """A shape and its sizes: ``sphere, radius 30 mm``."""
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


def _object_text(described: GraspObject) -> str:
    return f"{described.name}, {shape_text(described.shape)}, {_weight(described)}"


def _further(scene: GraspScene) -> list[tuple[str, str]]:
    """Further objects and where they start."""
    named_objects = zip(scene.object_names[1:], scene.objects, strict=True)
    return [
        (
            f"Further object {name}",
            f"{_object_text(placed.object)}, {placed.mount}, at ({point_mm(placed.position)}) mm",
        )
        for name, placed in named_objects
    ]


def _around(scene: GraspScene) -> list[tuple[str, str]]:
    """What stands around."""
    parts = []
    for part, name in zip(scene.surroundings, scene.surrounding_names, strict=True):
        kind = part.type.capitalize()
        label = kind if name == part.type else f"{kind} {name}"
        match part:
            case Table():
                text = "right under the object"
                if part.height is not None:
                    text = f"top at z = {1e3 * part.height:.1f} mm"
            case Wall():
                normal = ", ".join(f"{value:g}" for value in part.normal)
                text = f"{_edges(part.size)} at ({point_mm(part.point)}) mm, normal ({normal})"
            case Block():
                text = f"{_edges(part.size)} at ({point_mm(part.position)}) mm"
        contact_suffix = "" if part.contact is None else f", {contact_text(part.contact)}"
        parts.append((label, text + contact_suffix))
    return parts


def _edges(size: Sequence[float]) -> str:
    return " × ".join(f"{1e3 * edge:g}" for edge in size) + " mm"


def _phases(result: GraspResult) -> list[tuple[str, str]]:
    """What was asked of the wrist, and when each part of the run began and ended."""
    if not has_phases(result):
        return []
    sequence = result.scene.sequence
    sequence_rows = [("Sequence", "; ".join(map(phase_text, sequence)))] if sequence else []
    spans = (f"{span.name} {span.start_s:.3f}–{span.end_s:.3f} s" for span in shown_phases(result))
    return [*sequence_rows, ("Phases", ", ".join(spans))]


def _discretisation(result: GraspResult) -> list[tuple[str, str]]:
    """How far chains of links are from the beams that they stand for."""
    errors = [end.discretisation_error_m for end in result.soft_fingers]
    known = [error for error in errors if error is not None]
    if not known:
        return []
    links = max(len(digit.finger.links) for digit in result.scene.hand.soft_fingers)
    text = f"{links} rigid links a soft finger; free tips within {millimetres(max(known))}"
    return [("Discretisation", f"{text} of the beams' at the end (Richardson)")]


def _weight(described: GraspObject) -> str:
    mass = f"{1e3 * object_mass(described):.4g} g"
    return mass if described.density is None else f"{mass} ({described.density:g} kg/m³)"


def _closure(result: GraspResult) -> str:
    closure = result.scene.closure
    samples = count(closure.samples, "sample")
    kind = "" if closure.name in ("position-increment", "pressure") else f"{closure.name}, "
    force_text = "" if closure.grip_force is None else f" until {closure.grip_force:g} N"
    contact = f"contact after {samples} above {closure.threshold:g} N"
    return f"{kind}{_rates(result)}{force_text}; {contact}"


def _start_text(scene: GraspScene) -> str:
    """Where the object is, and how it is turned from how its file or its axes have it."""
    pose = object_pose(scene)
    angles_deg = np.degrees(euler_from_quaternions(np.array(pose.quaternion)))
    text = f"({point_mm(pose.position)}) mm"
    if np.abs(angles_deg).max() < 0.05 or isinstance(scene.object.shape, Sphere):
        return text
    return f"{text}, turned ({', '.join(signed(angle, 1) for angle in angles_deg.tolist())})° about x, y, z"


def _grip_force(result: GraspResult) -> list[tuple[str, str]]:
    """Where the force of a grasp comes from that nobody has chosen."""
    scene = result.scene
    rates = [
        abs(rate)
        for actuator, rate in zip(scene.actuators, scene.rates, strict=True)
        if rate and actuator.unit == "rad"
    ]
    lags = scene.closure.name == "position-increment" and scene.actuation == "servo"
    if not (lags and rates and any(contact.in_contact for contact in result.contacts)):
        return []
    text = f"what the servos' lag makes at {math.degrees(max(rates)):.3g} °/s"
    return [("Grip force", f"{text}; --closure force-limited --set closure.force=N chooses it")]


def _rates(result: GraspResult) -> str:
    texts: dict[str, None] = {}
    scene = result.scene
    for actuator, rate in zip(scene.actuators, scene.rates, strict=True):
        if rate == 0.0:
            continue
        if actuator.unit == "Pa":
            high = actuator.limits[1]
            texts[f"{1e-3 * rate:.3g} kPa/s up to {1e-3 * high:.3g} kPa"] = None
        elif actuator.unit == "rad":
            texts[f"{math.degrees(rate):.3g} °/s"] = None
        elif actuator.unit == "m":
            texts[f"{1e3 * rate:.3g} mm/s"] = None
        else:
            texts[f"{rate:.3g} {actuator.unit or '1'}/s"] = None
    return ", ".join(texts) or "nothing moves"


def _steps(result: GraspResult) -> str:
    physics, controller = result.contact_model.timestep_s, result.scene.control_period
    return f"{1e3 * physics:g} ms, controller every {1e3 * controller:g} ms"


def _solver(result: GraspResult) -> str:
    solver = result.scene.solver
    return f"{result.scene.integrator}, {solver.cone} cone, impratio {solver.impratio:g}"


def _gravity(result: GraspResult) -> str:
    if result.scene.gravity == (0.0, 0.0, 0.0):
        return "none while closing"
    return f"({', '.join(f'{part:g}' for part in result.scene.gravity)}) m/s²"


def _criterion(result: GraspResult) -> str:
    criterion = result.success_criterion
    if criterion is None:
        return "not asked for"
    text = f"{criterion_text(criterion)}; {limits_text(criterion)}"
    if isinstance(criterion, SuccessCriterion) and criterion.source:
        text = f"{criterion.name}: {text}. Source: {criterion.source}"
        return f"{text}. Not as there: {criterion.deviations}" if criterion.deviations else text
    return text


def key_numbers(result: GraspResult) -> list[tuple[str, str]]:
    """(name, value) of the few numbers that stand beside the film."""
    inside = [contact for contact in result.contacts if contact.in_contact]
    touches = [event.time_s for event in result.events if event.kind == "touching"]
    numbers = [
        ("Bodies in contact at the end", f"{len(inside)} of {len(result.contacts)}"),
        ("First touch", f"{min(touches):.3f} s" if touches else "none"),
        ("Normal forces at the end", _force_range(inside)),
    ]
    if out_of_hand(result):
        gone = let_go_s(result)
        end = "never touched" if gone is None else f"left the hand at {gone:.3f} s"
        return [*numbers, ("Object", end)]
    moved = math.hypot(*result.object.displacement_m)
    numbers.append(("Object moved", millimetres(moved)))
    if result.hold is not None:
        carried = result.hold.lifted_m is not None or result.scene.on_wrist
        drop = "Drift while carried" if carried else "Drop in the hold test"
        drop = "Drift while lifted" if result.scene.lift is not None else drop
        numbers.append((drop, millimetres(result.hold.drop_m)))
        creep = 1e6 * result.hold.creep_m_s
        numbers.append(("Creep at the end of it", f"{creep:.3g} µm/s"))
    return numbers


def provenance(result: GraspResult, renderer_note: str) -> list[tuple[str, str]]:
    """(name, value) of what made these numbers and pictures."""
    ratio = result.simulated_time / result.wall_time if result.wall_time > 0 else 0.0
    rows = [
        ("Simulated", f"{result.simulated_time:.3f} s in {result.wall_time:.2f} s ({ratio:.1f}×)"),
        ("Engine", f"{result.backend['name']} {result.backend['version']}"),
        ("Report by", f"softgrasp {__version__}"),
        ("Trajectory SHA-256", result.trajectory_sha256),
    ]
    return [*rows, ("Pictures", renderer_note)] if renderer_note else rows


def _force_range(contacts: list[BodyContact]) -> str:
    forces = [contact.normal_force_N for contact in contacts]
    if not forces:
        return "none"
    low, high = f"{min(forces):.3g}", f"{max(forces):.3g}"
    return f"{high} N" if low == high else f"{low} … {high} N"
