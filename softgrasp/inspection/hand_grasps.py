"""Can a hand do its named grasps: is the centre within reach, and does every drive have a way?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.scene import build
from softgrasp.description.hand import GraspPreset
from softgrasp.description.objects import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.shapes import Sphere
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.inspection.finding import Check, Finding, counted
from softgrasp.inspection.hand_model import HandModel

PROBE_RADIUS, PROBE_DENSITY = 5e-3, 700.0
"""A small ball at its grasp centre builds a hand without an object of its own."""
FAR = 0.5
"""Part of a finger's length by which a centre may be out of reach, as objects have a size [–]."""
MM = 1e3


def reach_check(hand: HandModel) -> Check:
    """Distance of each grasp's centre from the bases of the fingers, against their lengths."""
    known = reaches(hand)
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
        finger = min(gaps, key=lambda name: gaps[name])
        findings.append(_out_of_reach(grasp, finger, gaps[finger], known[finger][1]))
    return Check("reach", f"fingers that reach the centre: {', '.join(reached)}", tuple(findings))


def _out_of_reach(grasp: str, finger: str, gap: float, length: float) -> Finding:
    far = gap > FAR * length
    return Finding(
        subject=f"grasp '{grasp}'",
        severity="problem" if far else "remark",
        check="reach",
        expected="a centre that a stretched finger reaches",
        actual=(
            f"{MM * (gap + length):.4g} mm from the base of '{finger}', which is "
            f"{MM * length:.4g} mm long"
        ),
        numbers={"short_by_m": gap, "length_m": length},
        advice=(
            "move the grasp's center nearer to the palm; is it in the hand's unit?"
            if far
            else f"objects that reach less than {MM * gap:.3g} mm from their centre are not touched"
        ),
    )


def closing_check(hand: HandModel) -> Check:
    """Whether every drive with a rate has a way to go from its start."""
    findings = tuple(
        finding for grasp, preset in hand.hand.grasps for finding in _stuck(hand, grasp, preset)
    )
    return Check(
        "closing", f"{counted(len(hand.hand.actuators), 'actuator')} in both grasps", findings
    )


def build_check(hand: HandModel) -> Check:
    """Whether the hand can be built around a small ball that stays at the centre of each grasp."""
    ball = GraspObject(name="ball", shape=Sphere(radius=PROBE_RADIUS), density=PROBE_DENSITY)
    findings = []
    for grasp, _ in hand.hand.grasps:
        # parts that overlap are told of by their own check
        scene = GraspScene(hand=hand.hand, object=ball, grasp=grasp, self_contact=False)
        findings += [
            Finding(
                subject=f"grasp '{grasp}'",
                severity="problem",
                check="build",
                expected=f"a model with a ball of {2 * MM * PROBE_RADIUS:g} mm at the centre",
                actual=words,
                numbers={"ball_radius_m": PROBE_RADIUS},
            )
            for words in _complaints(scene)
        ]
    return Check("build", "around a ball of 10 mm in both grasps", tuple(findings))


def _complaints(scene: GraspScene) -> list[str]:
    """What building a scene warns of or fails with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SoftgraspWarning)
        try:
            build(scene)
        except BuildError as error:
            return [str(error)]
    return [str(one.message) for one in caught if issubclass(one.category, SoftgraspWarning)]


def reaches(hand: HandModel) -> dict[str, tuple[np.ndarray, float]]:
    """Base (3,) and stretched length of each finger in the hand's frame, from its tip backwards."""
    model, owners = hand.model, names.parts(hand.hand)
    hand.take(hand.start)
    reach_of_fingers = {}
    rigid, soft = hand.hand.fingers, hand.hand.soft_fingers
    for finger in [*(one.name for one in rigid), *(one.name for one in soft)]:
        site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, names.tip_site(finger))
        if site < 0:
            continue
        body = int(model.site_bodyid[site])
        length = float(np.linalg.norm(model.site_pos[site])) + _slide(model, body)
        while _belongs(model, int(model.body_parentid[body]), finger, owners):
            length += float(np.linalg.norm(model.body_pos[body]))
            body = int(model.body_parentid[body])
            length += _slide(model, body)
        reach_of_fingers[finger] = (np.array(hand.data.xpos[body]), length)
    return reach_of_fingers


def _belongs(
    model: mujoco.MjModel, body: int, finger: str, owners: dict[str, tuple[str, str]]
) -> bool:
    """Whether a body is one of a finger; rows without a link have no owner that is known."""
    name = model.body(body).name
    return body > 0 and name != names.PALM and owners.get(name, (finger, ""))[0] == finger


def _slide(model: mujoco.MjModel, body: int) -> float:
    """How far the sliding joints of a body reach [m]."""
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    slides = (
        float(np.abs(model.jnt_range[joint]).max())
        for joint in range(first, first + count)
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
    )
    return sum(slides)


def _stuck(hand: HandModel, grasp: str, preset: GraspPreset) -> Iterator[Finding]:
    described = hand.hand
    rates = preset.rates.for_fingers(described.rows, described.actuator_word)
    starts = preset.start or tuple(actuator.start for actuator in described.actuators)
    if not any(rates):
        yield _closing(grasp, "a drive that moves", "rates of 0 in all", {"actuators": len(rates)})
    labels = (f"{'actuator' if j is None else 'joint'} '{name}'" for name, j in hand.actuators)
    entries = zip(labels, described.actuators, rates, starts, strict=True)
    for name, actuator, rate, start in entries:
        low, high = actuator.limits
        if low == high or not rate:
            continue  # a locked joint is told of once, with the limits
        end = high if rate > 0.0 else low
        if start == end:
            yield _closing(
                grasp,
                f"{name} to start below its upper limit, to which it closes"
                if rate > 0.0
                else f"{name} to start above its lower limit, to which it closes",
                f"{actuator.format_values(start)}",
                {"start": start, "rate": rate, "lower": low, "upper": high},
                "its start is on the wrong side, or its rate has the wrong sign",
            )


def _closing(
    grasp: str, expected: str, actual: str, numbers: dict[str, float], advice: str = ""
) -> Finding:
    return Finding(
        subject=f"grasp '{grasp}'",
        severity="problem",
        check="closing",
        expected=expected,
        actual=actual,
        numbers=numbers,
        advice=advice,
    )
