"""What was simulated, in the words of a report."""

from __future__ import annotations

import math

from softgrasp._version import __version__
from softgrasp.build.objects import object_mass
from softgrasp.build.scene import object_pose
from softgrasp.description.contact import Contact
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.description.shapes import Mesh, Shape
from softgrasp.description.soft_digit import SoftDigit
from softgrasp.description.surroundings import Lift
from softgrasp.report.tables import point_mm
from softgrasp.report.words import count, grouped, millimetres
from softgrasp.simulation.result import BodyContact, GraspResult


def scene_facts(result: GraspResult) -> list[tuple[str, str]]:
    """(name, value) of what was simulated."""
    scene = result.scene
    facts = [
        ("Hand", ", ".join([scene.hand.name, *_fingers(scene.hand)])),
        ("Object", f"{scene.object.name}, {shape_text(scene.object.shape)}, {_weight(result)}"),
        ("Mount", scene.object_mount),
        ("Starts at", f"({point_mm(object_pose(scene).position)}) mm"),
        ("Grasp", scene.grasp + (f", {scene.actuation} joints" if scene.hand.fingers else "")),
        ("Closure", _closure(result)),
        ("Contact asked", contact_text(result.contact_model.asked)),
        ("Gravity", _gravity(result)),
        *_table(scene),
        ("Lift" if scene.lift else "Hold test", _criterion(result)),
        ("Time step", _steps(result)),
        *_discretisation(result),
        ("Solver", _solver(result)),
    ]
    return [*facts, ("Source", scene.source)] if scene.source else facts


def _fingers(hand: Hand) -> list[str]:
    """``4 fingers, 12 joints``, and soft fingers where there are some."""
    told = []
    if hand.fingers:
        told += [count(len(hand.fingers), "finger"), count(len(hand.joints), "joint")]
    if hand.soft_fingers:
        told.append(count(len(hand.soft_fingers), "soft finger"))
    return told


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


def _table(scene: GraspScene) -> list[tuple[str, str]]:
    if scene.table is None or scene.table.height is None:
        return []
    return [("Table", f"top at z = {1e3 * scene.table.height:.1f} mm")]


def _discretisation(result: GraspResult) -> list[tuple[str, str]]:
    """How far chains of links are from the beams that they stand for."""
    errors = [end.discretisation_error_m for end in result.soft_fingers]
    known = [error for error in errors if error is not None]
    if not known:
        return []
    links = max(len(digit.finger.links) for digit in result.scene.hand.soft_fingers)
    told = f"{links} rigid links a soft finger; free tips within {millimetres(max(known))}"
    return [("Discretisation", f"{told} of the beams' at the end (Richardson)")]


def _weight(result: GraspResult) -> str:
    described = result.scene.object
    mass = f"{1e3 * object_mass(described):.4g} g"
    return mass if described.density is None else f"{mass} ({described.density:g} kg/m³)"


def _closure(result: GraspResult) -> str:
    closure = result.scene.closure
    samples = count(closure.samples, "sample")
    return f"{_rates(result)}; contact after {samples} above {closure.threshold:g} N"


def _rates(result: GraspResult) -> str:
    texts: dict[str, None] = {}
    scene = result.scene
    for drive, rate, (_, high) in zip(scene.hand.drives, scene.rates, scene.limits, strict=True):
        if rate == 0.0:
            continue
        if isinstance(drive, SoftDigit):
            texts[f"{1e-3 * rate:.3g} kPa/s up to {1e-3 * high:.3g} kPa"] = None
        elif drive.joint == "revolute":
            texts[f"{math.degrees(rate):.3g} °/s"] = None
        else:
            texts[f"{1e3 * rate:.3g} mm/s"] = None
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
    if isinstance(criterion, Lift):
        test = f"{millimetres(criterion.height)} within {criterion.time:g} s"
    else:
        test = f"{math.hypot(*criterion.gravity):.3g} m/s² within {criterion.ramp_time:g} s"
    return (
        f"{test}, then {criterion.hold_time:g} s; "
        f"at most {millimetres(criterion.max_drop)} and {math.degrees(criterion.max_rotation):.1f}°"
    )


def key_numbers(result: GraspResult) -> list[tuple[str, str]]:
    """(name, value) of the few numbers that stand beside the film."""
    inside = [contact for contact in result.contacts if contact.in_contact]
    touches = [event.time_s for event in result.events if event.kind == "touching"]
    numbers = [
        ("Bodies in contact at the end", f"{len(inside)} of {len(result.contacts)}"),
        ("First touch", f"{min(touches):.3f} s" if touches else "none"),
        ("Normal forces at the end", _force_range(inside)),
        ("Object moved", millimetres(math.hypot(*result.object.displacement_m))),
    ]
    if result.hold is not None:
        drop = "Drop in the hold test" if result.hold.lifted_m is None else "Drift while lifted"
        numbers.append((drop, millimetres(result.hold.drop_m)))
        creep = 1e6 * result.hold.creep_m_s
        numbers.append(("Creep at the end of it", f"{creep:.3g} µm/s"))
    return numbers


def provenance(result: GraspResult, renderer_note: str) -> list[tuple[str, str]]:
    """(name, value) of what made these numbers and pictures."""
    ratio = result.simulated_time / result.wall_time if result.wall_time > 0 else 0.0
    facts = [
        ("Simulated", f"{result.simulated_time:.3f} s in {result.wall_time:.2f} s ({ratio:.1f}×)"),
        ("Engine", f"{result.backend['name']} {result.backend['version']}"),
        ("Report by", f"softgrasp {__version__}"),
        ("Trajectory SHA-256", result.trajectory_sha256),
    ]
    return [*facts, ("Pictures", renderer_note)] if renderer_note else facts


def _force_range(contacts: list[BodyContact]) -> str:
    forces = [contact.normal_force_N for contact in contacts]
    if not forces:
        return "none"
    low, high = f"{min(forces):.3g}", f"{max(forces):.3g}"
    return f"{high} N" if low == high else f"{low} … {high} N"
