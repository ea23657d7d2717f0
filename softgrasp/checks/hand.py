"""Checks of hands: size, mass, inertia, limits, self-collision, and reach of its two grasps.

All are measured on the compiled model in its start postures.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import mujoco
import numpy as np

from softgrasp.checks.bodies import (
    Body,
    Geometry,
    arrange,
    box_corners,
    density_check,
    inertia_check,
    together,
)
from softgrasp.checks.report import (
    Check,
    Finding,
    Inspection,
    Severity,
    as_remarks,
    beyond,
    finding,
    format_count,
    range_finding,
    report_lock,
)
from softgrasp.description.geometry import Cuboid, Sphere
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, DescriptionError, SoftgraspWarning
from softgrasp.io.hand_sanity import LONGEST_FINGER, millimetres_doubt
from softgrasp.io.mesh_repair import as_solid
from softgrasp.io.mjcf.closing_motion import geom_hull
from softgrasp.io.mjcf.model import primitive_of
from softgrasp.mechanics.hand_kinematics import chain_links, link_frames
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.model.clearance import START_TOLERANCE
from softgrasp.model.compile import compiled
from softgrasp.model.contact_pairs import Pair, penetration, self_pairs
from softgrasp.model.hand import build_hand_spec
from softgrasp.model.shapes import TOUCHING_GROUPS, mass_properties
from softgrasp.pipeline import compile_scene

MM = 1e3
USUAL_MASS = (0.01, 10.0)
"""Usual mass of the moving links of a hand [kg]."""
USUAL_SPAN = (2e-3, LONGEST_FINGER)
"""Usual length of the longest finger [m]."""
LOCKED = 1e-6
"""Width of a range below which a joint is locked [rad or m]."""
PROBE_RADIUS, PROBE_DENSITY = 5e-3, 700.0
"""Radius [m] and density [kg/m³] of the ball at the grasp centre with which a hand is built."""
FAR = 10.0
"""Distance of a centre beyond a finger's end over its length, from which on its unit is wrong [–];
nearer ones are frames of the hand's maker, or meant for large objects."""
JointView: TypeAlias = mujoco._structs._MjModelJointViews
DUMMY_MASS = 2e-6
"""Largest mass of bodies that only connect joints and have no geometry [kg]."""


def inspect_hand(hand: Hand) -> Inspection:
    """Run all checks of a hand on its compiled model."""
    try:
        built = hand_model(hand)
    except BuildError as error:
        subject, expected = f"hand '{hand.name}'", "a hand that MuJoCo can simulate"
        refused = finding("problem", subject, expected, str(error))
        return Inspection("hand", hand.name, (Check("build", "refused", (refused,)),))
    bodies = hand_bodies(built.model)
    checks = (
        _size_check(built, bodies),
        _mass_check(built, bodies),
        # masses only change how fast a hand closes: the scene compensates their weight
        as_remarks(density_check(bodies)),
        as_remarks(inertia_check(bodies)),
        _limit_check(built),
        overlap_check(built),
        closing_check(built),
        reach_check(built),
        build_check(built),
    )
    return Inspection("hand", hand.name, checks)


def _size_check(built: HandModel, bodies: list[Body]) -> Check:
    longest = max((length for _, length in reaches(built.hand).values()), default=0.0)
    shapes = [float(np.ptp(body.geometry.points, axis=0).max()) for body in bodies if body.geometry]
    largest, subject = max(shapes, default=longest), f"hand '{built.hand.name}'"
    doubt = millimetres_doubt(longest, USUAL_SPAN[1])
    advice = "are the units right (units: {length: mm})?"
    if doubt:
        advice = f"{doubt.advice} (in YAML: units: {{length: mm}})"
    words = (subject, "a longest finger of {} m", f"{longest:.4g} m", advice)
    odd = beyond(USUAL_SPAN, longest, *words, length_m=longest)
    if not odd and largest < USUAL_SPAN[0]:
        expected = f"a shape of a finger above {MM * USUAL_SPAN[0]:g} mm"
        advice = "were the shapes converted from millimetres twice?"
        words = (subject, expected, f"{MM * largest:.4g} mm", advice)
        odd = (finding("problem", *words, length_m=longest, shape_m=largest),)
    return Check("size", f"longest finger {MM * longest:.4g} mm", odd)


def _mass_check(built: HandModel, bodies: list[Body]) -> Check:
    mass = math.fsum(body.mass for body in bodies)
    subject, actual = f"hand '{built.hand.name}'", f"{mass:.4g} kg"
    words = (subject, "{} kg of fingers", actual, "mass is in kg, density in kg/m³")
    odd = beyond(USUAL_MASS, mass, *words, mass_kg=mass)
    return Check("mass", f"{actual} in {format_count(len(bodies), 'moving link')}", odd)


def _limit_check(built: HandModel) -> Check:
    closing = _closing_joints(built)
    findings = [
        item if joint.name in closing else replace(item, severity="remark")
        for joint in built.joints
        for item in _joint_findings(joint)
    ]
    soft = built.hand.soft_fingers
    for digit in soft:
        (low, high), subject = digit.limits, f"pressure of '{digit.name}'"
        if low == high:
            measured = f"{low:g} … {high:g} Pa"
            findings.append(report_lock(subject, (low, high), measured, "it cannot change"))
    measured = format_count(len(built.joints), "joint")
    measured += f", {format_count(len(soft), 'pressure')}" if soft else ""
    return Check("limits", measured, tuple(findings))


def _closing_joints(built: HandModel) -> set[str]:
    """Names of the joints whose actuators have a rate in a grasp; limits of others spoil none."""
    return {
        str(built.model.joint(index).name)
        for _, preset in built.hand.grasps
        for (_, index), rate in zip(built.actuators, built.rates(preset), strict=True)
        if index is not None and rate
    }


def _joint_findings(joint: JointView) -> Iterator[Finding]:
    low, high = (float(end) for end in joint.range)
    is_hinge = joint.type[0] == mujoco.mjtJoint.mjJNT_HINGE
    subject, unit = f"joint '{joint.name}'", "rad" if is_hinge else "m"
    if not joint.limited[0]:
        yield finding("remark", subject, "limits", "none", "its targets have no limit")
    elif high - low <= LOCKED:
        yield report_lock(subject, (low, high), f"{low:.4g} … {high:.4g} {unit}")
    elif is_hinge and (odd := range_finding(subject, low, high)):
        yield odd


# Self-collision
def overlap_check(hand: HandModel) -> Check:
    """Check for overlapping bodies in the start postures of both grasps."""
    # overlapping parts do not collide, which spoils no grasp
    findings: list[Finding] = []
    postures = {"the start posture": hand.start}
    presets = [grasp for grasp, preset in hand.hand.grasps if preset.start is not None]
    postures |= {f"the start of grasp '{grasp}'": hand.start_of(grasp) for grasp in presets}
    unused = len(presets) == len(list(hand.hand.grasps))
    for where, posture in postures.items():
        hand.set_posture(posture)
        depths = {pair: penetration(hand.model, hand.data, pair) for pair in hand.pairs}
        depths = {pair: depth for pair, depth in depths.items() if depth > START_TOLERANCE}
        if depths:
            mild = unused and where == "the start posture"
            findings.append(_overlap(hand, where, depths, elsewhere=mild))
    pairs, count = format_count(len(hand.pairs), "pair"), format_count(len(postures), "posture")
    return Check("overlap", f"{pairs} in {count}", tuple(findings))


def _overlap(hand: HandModel, where: str, depths: dict[Pair, float], *, elsewhere: bool) -> Finding:
    deepest = sorted(depths, key=lambda pair: -depths[pair])
    overlaps = ", ".join(f"{p.first} and {p.second} {MM * depths[p]:.2f} mm" for p in deepest[:3])
    more = f", and {len(deepest) - 3} more" if len(deepest) > 3 else ""
    advice = "they do not collide in a simulation; move the start or the shapes"
    advice = "both grasps start elsewhere" if elsewhere else advice
    expected = f"parts that are clear of one another in {where}"
    actual = f"{format_count(len(depths), 'pair')} that overlap: {overlaps}{more}"
    numbers = {"pairs": len(depths), "deepest_m": depths[deepest[0]]}
    return finding("remark", f"hand '{hand.hand.name}'", expected, actual, advice, **numbers)


# Grasps
def reach_check(hand: HandModel) -> Check:
    """Compare distances of grasp centres from finger bases with the lengths of fingers."""
    known = reaches(hand.hand)
    findings, reached = [], []
    for grasp, preset in hand.hand.grasps:
        gaps = {
            finger: float(np.linalg.norm(np.array(preset.center) - base)) - length
            for finger, (base, length) in known.items()
        }
        near = sum(gap <= 0.0 for gap in gaps.values())
        reached.append(f"{grasp} {near} of {len(gaps)}")
        if near or not gaps:
            continue
        finger, gap = min(gaps.items(), key=lambda item: item[1])
        findings.append(_out_of_reach(grasp, finger, gap, known[finger][1]))
    return Check("reach", f"fingers that reach the centre: {', '.join(reached)}", tuple(findings))


def _out_of_reach(grasp: str, finger: str, gap: float, length: float) -> Finding:
    severity: Severity = "remark"
    advice = f"objects that reach less than {MM * gap:.3g} mm from their centre are not touched"
    if gap > FAR * length:
        severity = "problem"
        advice = "move the grasp's center nearer to the palm; is it in the hand's unit?"
    away = f"{MM * (gap + length):.4g} mm from the base of '{finger}'"
    actual = f"{away}, which is {MM * length:.4g} mm long"
    words = (f"grasp '{grasp}'", "a centre that a stretched finger reaches", actual, advice)
    return finding(severity, *words, short_by_m=gap, length_m=length)


def closing_check(hand: HandModel) -> Check:
    """Check that every actuator with a closing rate can move from its start position."""
    findings = [item for grasp, preset in hand.hand.grasps for item in _stuck(hand, grasp, preset)]
    number = format_count(len(hand.hand.actuators), "actuator")
    return Check("closing", f"{number} in both grasps", tuple(findings))


def build_check(hand: HandModel) -> Check:
    """Check that a scene with the hand and a small fixed sphere at each grasp centre compiles."""
    ball = GraspObject(name="ball", shape=Sphere(radius=PROBE_RADIUS), density=PROBE_DENSITY)
    expected = f"a model with a ball of {2 * MM * PROBE_RADIUS:g} mm at the centre"
    numbers, findings = {"ball_radius_m": PROBE_RADIUS}, []
    for grasp, _ in hand.hand.grasps:
        # overlaps have another check
        fields = {"hand": hand.hand, "object": ball, "grasp": grasp, "self_contact": False}
        findings += [
            finding(severity, f"grasp '{grasp}'", expected, message, **numbers)
            for message, severity in _build_messages(fields)
        ]
    return Check("build", "around a ball of 10 mm in both grasps", tuple(findings))


def _build_messages(fields: dict[str, Any]) -> list[tuple[str, Severity]]:
    """Return the warnings of building a scene of fields, which spoil no grasp, or its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SoftgraspWarning)
        try:
            compile_scene(GraspScene(**fields))
        except (BuildError, DescriptionError) as error:
            return [(str(error), "problem")]
    remarks = [item.message for item in caught if issubclass(item.category, SoftgraspWarning)]
    return [(str(message), "remark") for message in remarks]


def reaches(hand: Hand) -> dict[str, tuple[Array, float]]:
    """Return base (3,) and stretched length of each finger in the hand's frame [m].

    Chains that carry others, such as a wrist, are left out.
    """
    frames = link_frames(hand, hand.posture([actuator.start for actuator in hand.actuators]))
    carrying = {finger.on for finger in hand.fingers}
    known = {}
    for finger in hand.fingers:
        bodies = [finger.body_of(row) for row in finger.phalanges]
        if carrying & set(bodies):
            continue
        slides = [max(map(abs, row.limits)) for row in finger.phalanges if row.joint == "prismatic"]
        length = math.fsum(float(np.linalg.norm(link.end)) for link in chain_links(finger))
        known[finger.name] = (frames[bodies[0]][:3, 3], length + math.fsum(slides))
    return known | {
        digit.name: (np.array(digit.base.position), digit.length) for digit in hand.soft_fingers
    }


def _stuck(hand: HandModel, grasp: str, preset: GraspPreset) -> Iterator[Finding]:
    described, rates = hand.hand, hand.rates(preset)
    starts = preset.start or tuple(actuator.start for actuator in described.actuators)
    stuck = partial(finding, "problem", f"grasp '{grasp}'")
    if not any(rates):
        yield stuck("an actuator that moves", "rates of 0 in all", actuators=len(rates))
    labels = (f"{'actuator' if j is None else 'joint'} '{name}'" for name, j in hand.actuators)
    entries = zip(labels, described.actuators, rates, starts, strict=True)
    for name, actuator, rate, start in entries:
        low, high = actuator.limits
        if low == high or not rate:
            continue  # a locked joint has a finding of its limits
        end, free_side = (high, "below its upper") if rate > 0.0 else (low, "above its lower")
        if start == end:
            yield stuck(
                f"{name} to start {free_side} limit, to which it closes",
                f"{actuator.format_values(start)}",
                "its start is on the wrong side, or its rate has the wrong sign",
                start=start,
                rate=rate,
                lower=low,
                upper=high,
            )


# Compiled hands
@dataclass(frozen=True, eq=False)
class HandModel:
    """A compiled hand; ``data`` begins in the start posture, and methods change it."""

    hand: Hand
    model: mujoco.MjModel
    data: mujoco.MjData
    pairs: tuple[Pair, ...]
    """Pairs of geoms of the hand that can collide."""

    def set_posture(self, posture: Array) -> None:
        """Set the joint variables, as long as ``qpos``."""
        self.data.qpos[:] = posture
        mujoco.mj_forward(self.model, self.data)

    @property
    def start(self) -> Array:
        """Joint variables at the start, as long as ``qpos``."""
        return np.array(self.model.key_qpos[0])

    def start_of(self, grasp: str) -> Array:
        """Joint variables from which a named grasp closes."""
        posture, preset = self.start, getattr(self.hand.grasps, grasp)
        if preset.start is None:
            return posture
        for name, value in self.hand.posture(preset.start).items():
            posture[self.model.joint(name).qposadr[0]] = value
        return self.with_followers(posture)

    @property
    def actuators(self) -> list[tuple[str, int | None]]:
        """Name of each actuator and the index of its joint, None where it has none."""
        is_joint = self.model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        return [
            (self.model.actuator(i).name, int(joint) if is_joint[i] else None)
            for i, joint in enumerate(self.model.actuator_trnid[:, 0])
        ]

    @property
    def joints(self) -> list[JointView]:
        """Joints that an actuator moves, in the order of the actuators."""
        return [self.model.joint(index) for _, index in self.actuators if index is not None]

    def rates(self, preset: GraspPreset) -> tuple[float, ...]:
        """Closing rates of a grasp, one an actuator."""
        return preset.rates.for_fingers(self.hand.actuator_counts, self.hand.actuator_word)

    def with_followers(self, posture: Array) -> Array:
        """Set the joints that follow others in a posture, in place; return the posture."""
        model = self.model
        for index in range(model.neq):
            first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
            if model.eq_type[index] != mujoco.mjtEq.mjEQ_JOINT or second < 0:
                continue
            address, other = int(model.jnt_qposadr[first]), int(model.jnt_qposadr[second])
            terms = np.polynomial.Polynomial(model.eq_data[index, :5])
            posture[address] = model.qpos0[address] + terms(posture[other] - model.qpos0[other])
        return posture


def hand_model(hand: Hand) -> HandModel:
    """Compile a hand in its start posture.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    model = compiled(build_hand_spec(hand), hand.name)
    soft = {digit.name for digit in hand.soft_fingers}
    chains = {body: item for body, (item, _) in names.parts(hand).items() if item in soft}
    result = HandModel(hand, model, mujoco.MjData(model), tuple(self_pairs(model, chains)))
    result.set_posture(result.start)
    return result


def hand_bodies(model: mujoco.MjModel) -> list[Body]:
    """Return the bodies of a compiled hand that have a mass; a fixed palm may have none."""
    bodies = []
    for index in range(1, model.nbody):
        geometry = _geometry(model, index)
        if model.body_mass[index] <= (DUMMY_MASS if geometry is None else 0.0):
            continue
        rotation = transform(quaternion=model.body_iquat[index])[:3, :3]
        name = model.body(index).name
        bodies.append(
            Body(
                subject=f"link '{name}'",
                name=name,
                mass=float(model.body_mass[index]),
                center=np.array(model.body_ipos[index]),
                inertia=rotation @ np.diag(model.body_inertia[index]) @ rotation.T,
                geometry=geometry,
            )
        )
    return bodies


def _geometry(model: mujoco.MjModel, body: int) -> Geometry | None:
    touching = (model.geom_bodyid == body) & np.isin(model.geom_group, TOUCHING_GROUPS)
    return together([_solid(model, geom) for geom in np.flatnonzero(touching).tolist()])


def _solid(model: mujoco.MjModel, geom: int) -> Geometry:
    frame = transform(model.geom_pos[geom], model.geom_quat[geom])
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
        solid = as_solid(geom_hull(model, geom))
        return arrange(solid.volume, solid.inertia, solid.vertices, frame, solid.center_of_mass)
    a, b, c = (2.0 * model.geom_size[geom]).tolist()
    volume, inertia = mass_properties(primitive_of(model, geom) or Cuboid(size=(a, b, c)))
    return arrange(volume, inertia, box_corners(model.geom_aabb[geom, 3:]), frame)
