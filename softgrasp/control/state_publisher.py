"""The continuum robot state publisher (cRSP, paper 002): where every segment and disc is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.continuum.pcc import segment_transform
from softgrasp.control.state_broadcaster import JointStates
from softgrasp.description.bendable import Bendable
from softgrasp.description.robot import Robot
from softgrasp.mechanics.robot_frames import origin_frame
from softgrasp.mechanics.transforms import Array


class SegmentFrames(NamedTuple):
    """A segment at one instant; frames in the one of its parent link.

    They lie on an arc of the measured mean curvature: a segment that gravity or a load bends
    unevenly is elsewhere by as much.
    """

    parent: str
    child: str
    end: Array
    """Frame of the child link, (4, 4)."""
    discs: Array
    """Frames of the spacer discs at s = ℓ·d/n, (n, 4, 4)."""


def segment_frames(robot: Robot, states: JointStates) -> dict[str, SegmentFrames]:
    """Frames of all segments by their names, from what the broadcaster says."""
    states_of = zip(states.names, states.kappa, states.phi, states.length, strict=True)
    return {name: _frames(robot.bendable(name), *state) for name, *state in states_of}


def _frames(part: Bendable, kappa: float, phi: float, length: float) -> SegmentFrames:
    base, count = origin_frame(part.origin), part.backbone.discs
    arc_lengths = length * np.arange(1, count + 1) / max(count, 1)
    discs = segment_transform(kappa, phi, arc_lengths, part.frame) if count else np.zeros((0, 4, 4))
    end = segment_transform(kappa, phi, length, part.frame)
    return SegmentFrames(part.parent, part.child, base @ end, base @ discs)
