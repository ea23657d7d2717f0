"""Arms of the tests: the shipped one, cut down or altered."""

from __future__ import annotations

import math
from functools import cache

from softgrasp.hydraulics.description import HydraulicArm, SectionDamping
from softgrasp.hydraulics.files import load_hydraulic_arm

WEIGHTLESS = (0.0, 0.0, 0.0)


@cache
def two_sections() -> HydraulicArm:
    return load_hydraulic_arm("hydraulic_two_section")


def one_section(segments: int = 1) -> HydraulicArm:
    arm = two_sections()
    return arm.replace(sections=arm.sections[:1], segments=segments)


def with_sections(arm: HydraulicArm, **changes: object) -> HydraulicArm:
    return arm.replace(sections=tuple(part.replace(**changes) for part in arm.sections))


def undamped(arm: HydraulicArm) -> HydraulicArm:
    return with_sections(arm, damping=SectionDamping())


def rotated(arm: HydraulicArm, angle: float) -> HydraulicArm:
    """The arm with all its chambers turned about the base z axis."""
    sections = []
    for section in arm.sections:
        chambers = tuple(
            chamber.replace(angle=math.remainder(chamber.angle + angle, math.tau))
            for chamber in section.chambers
        )
        sections.append(section.replace(chambers=chambers))
    return arm.replace(sections=tuple(sections))


def with_drive(arm: HydraulicArm, part: str, **changes: object) -> HydraulicArm:
    result = getattr(arm.drive, part).replace(**changes)
    return arm.replace(drive=arm.drive.replace(**{part: result}))
