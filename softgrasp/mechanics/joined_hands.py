"""Two hands as one: for objects that are taken with both.

The joined hand has the fingers and palms of its parts, all of them fixed to one base, which a wrist
or an arm can carry as it carries a hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.coupling import Coupling
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.hand import FurtherPalm, GraspPreset, Grasps, Hand, Palm
from softgrasp.description.pose import Pose
from softgrasp.description.rates import Rates
from softgrasp.description.soft_digit import MountedSoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import position_of, quaternion_of, transform


class PlacedHand(NamedTuple):
    """One of the hands that are joined."""

    name: str
    """Before the names of its fingers: ``left``."""
    hand: Hand
    pose: Pose
    """Of its frame in that of the joined hand."""


def joined_hands(name: str, parts: Sequence[PlacedHand], grasps: Grasps | None = None) -> Hand:
    """Several hands as one, such as a left and a right one that take an object together.

    Args:
        name: Of the joined hand.
        parts: The hands; fingers of ``left`` are called ``left_F1`` and so on.
        grasps: Where the object goes and how the drives close. Where it is not given, rates, starts
            and pressures are those of the parts, and the centre lies in the middle of theirs.

    Raises:
        DescriptionError: There are fewer than two parts, or the joined hand is none: two have the
            same name, or soft fingers of different pressures.
    """
    if len(parts) < 2:
        raise DescriptionError(f"expected at least two hands to join, found {len(parts)}")
    names = [part.name for part in parts]
    for one in names:
        if names.count(one) > 1:
            raise DescriptionError(f"expected hands of different names, found '{one}' twice")
    palms = [palm for part in parts for palm in _palms(part)]
    return Hand(
        name=name,
        fingers=tuple(_finger(part, finger) for part in parts for finger in part.hand.fingers),
        couplings=tuple(_coupling(part, one) for part in parts for one in part.hand.couplings),
        soft_fingers=tuple(_digit(part, one) for part in parts for one in part.hand.soft_fingers),
        grasps=grasps
        or Grasps(power=_preset("power", parts), precision=_preset("precision", parts)),
        palm=Palm(kind="none"),
        more_palms=tuple(palms),
        source="; ".join(dict.fromkeys(part.hand.source for part in parts if part.hand.source)),
        notes=tuple(f"{part.name}: {note}" for part in parts for note in _notes(part.hand)),
    )


def _notes(hand: Hand) -> list[str]:
    """The hand's own, and what is not joined."""
    left = {"tendons": hand.tendons, "synergies": hand.synergies, "preshapes": hand.preshapes}
    dropped = [name for name, value in left.items() if value]
    return [*hand.notes, *(f"its {name} are not those of the joined hand" for name in dropped)]


def _finger(part: PlacedHand, finger: Finger) -> Finger:
    rows = finger.phalanges
    if finger.verbatim_names:
        rows = tuple(_prefixed(part, row) for row in rows)
    stands = f"{part.name}_{finger.on}" if finger.on else ""
    base = finger.base if finger.on else _moved(part.pose, finger.base)
    return finger.replace(name=f"{part.name}_{finger.name}", base=base, on=stands, phalanges=rows)


def _prefixed(part: PlacedHand, row: Phalanx) -> Phalanx:
    return row.replace(name=f"{part.name}_{row.name}", joint_name=f"{part.name}_{row.joint_name}")


def _coupling(part: PlacedHand, coupling: Coupling) -> Coupling:
    joint, leader = (f"{part.name}_{one}" for one in (coupling.joint, coupling.leader))
    return coupling.replace(joint=joint, leader=leader)


def _digit(part: PlacedHand, digit: MountedSoftFinger) -> MountedSoftFinger:
    return digit.replace(name=f"{part.name}_{digit.name}", base=_moved(part.pose, digit.base))


def _palms(part: PlacedHand) -> list[FurtherPalm]:
    named: list[tuple[str, Palm]] = [("palm", part.hand.palm)]
    named += [(palm.name, palm) for palm in part.hand.more_palms]
    everyone = [finger.name for finger in part.hand.fingers]
    everyone += [digit.name for digit in part.hand.soft_fingers]
    return [
        FurtherPalm(
            name=f"{part.name}_{name}",
            kind=palm.kind,
            shape=palm.shape,
            pose=_moved(part.pose, palm.pose) if palm.shape is not None else palm.pose,
            parts=tuple(one.replace(pose=_moved(part.pose, one.pose)) for one in palm.parts),
            margin=palm.margin,
            fingers=tuple(f"{part.name}_{one}" for one in palm.fingers or everyone),
        )
        for name, palm in named
        if palm.kind != "none"
    ]


def _preset(kind: str, parts: Sequence[PlacedHand]) -> GraspPreset:
    """One grasp of the joined hand: the parts' rates and starts, the middle of their centres."""
    presets = [getattr(part.hand.grasps, kind) for part in parts]
    frames = [transform(part.pose.position, part.pose.quaternion) for part in parts]
    centres = [f @ [*preset.center, 1.0] for f, preset in zip(frames, presets, strict=True)]
    rigid: list[tuple[float, float]] = []
    soft: list[tuple[float, float]] = []
    for part, preset in zip(parts, presets, strict=True):
        actuators, rates = part.hand.actuators, preset.rates.for_fingers(part.hand.rows)
        starts = preset.start or tuple(actuator.start for actuator in actuators)
        for actuator, rate, start in zip(actuators, rates, starts, strict=True):
            (soft if actuator.unit == "Pa" else rigid).append((rate, start))
    pressures = {preset.pressure for preset in presets} - {None}
    if len(pressures) > 1:
        raise DescriptionError(f"expected one working pressure of all hands, found {pressures}")
    ordered = rigid + soft  # the order of the joined hand's drives
    return GraspPreset(
        center=tuple(np.mean(centres, axis=0)[:3].tolist()),
        rates=Rates(rate for rate, _ in ordered),
        start=tuple(start for _, start in ordered),
        pressure=next(iter(pressures), None),
    )


def _moved(carry: Pose, pose: Pose) -> Pose:
    frame = transform(carry.position, carry.quaternion) @ transform(pose.position, pose.quaternion)
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))
