"""Units of a hand's file that cannot be meant: angles in degrees, lengths in millimetres."""

from __future__ import annotations

import math
import warnings
from typing import Literal, NamedTuple

import numpy as np

from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import Hand
from softgrasp.errors import SoftgraspWarning
from softgrasp.formats.link_surfaces import corners
from softgrasp.mechanics.hand_kinematics import chain_links

FULL_ROTATION = math.tau + 1e-3
"""Widest range that a joint usually has [rad]."""
TWO_ROTATIONS = 2.0 * math.tau + 1e-3
"""Widest range that a joint of any robot has: a turn each way [rad]."""
LONGEST_FINGER = 2.0
"""[m]"""
MILLIMETRES = 1e3
"""In a metre."""


class Doubt(NamedTuple):
    """Something that a file says and hardly means."""

    severity: Literal["problem", "remark"]
    expected: str
    actual: str
    advice: str

    @property
    def words(self) -> str:
        """Without the part that it is about."""
        message = f"expected {self.expected}, found {self.actual}"
        return f"{message}; {self.advice}" if self.advice else message


def range_doubt(low: float, high: float) -> Doubt | None:
    """A doubt about the range of a joint that turns [rad]; None where there is none."""
    if high - low <= FULL_ROTATION:
        return None
    degrees = high - low > TWO_ROTATIONS
    return Doubt(
        "problem" if degrees else "remark",
        f"at most a turn, {math.tau:.4g} rad",
        f"{low:.4g} … {high:.4g} rad",
        "are the limits in degrees?" if degrees else "",
    )


def millimetres_doubt(what: str, length: float, longest: float) -> Doubt | None:
    """A doubt about a length [m] that should be a number of millimetres; None where there is none.

    Args:
        what: What is so long, such as ``a longest finger``.
        length: What was found [m].
        longest: What is usual at most [m].
    """
    if length <= longest:
        return None
    meant = length / MILLIMETRES
    shown = f"{meant:.3g} m" if meant >= 1.0 else f"{1e3 * meant:.3g} mm"
    return Doubt(
        "problem",
        f"{what} of at most {longest:g} m",
        f"{length:.4g} m",
        f"is the file in mm? In a thousandth of its lengths it is {shown}",
    )


def hand_doubts(hand: Hand) -> list[str]:
    """What a hand's file hardly means, each in one sentence."""
    rows = [row for finger in hand.fingers for row in finger.phalanges]
    turning = [(row, range_doubt(*row.limits)) for row in rows if row.joint == "revolute"]
    odd = [(row, doubt) for row, doubt in turning if doubt and doubt.severity == "problem"]
    messages = []
    if odd:
        row, doubt = odd[0]
        others = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        messages.append(f"joint '{row.joint_name}'{others}: {doubt.words}")
    long = millimetres_doubt("a longest finger", _longest(hand), LONGEST_FINGER)
    if long is not None:
        messages.append(f"the hand: {long.words}")
    return messages


def _longest(hand: Hand) -> float:
    """Length of the longest finger, or of the longest simple shape on one [m]."""
    lengths = [0.0]
    for finger in hand.fingers:
        lengths.append(math.fsum(float(np.linalg.norm(link.end)) for link in chain_links(finger)))
        for row in finger.phalanges:
            shapes = [row.shape, *(part.shape for part in row.parts)]
            lengths += [
                float(np.ptp(corners(shape), axis=0).max())
                for shape in shapes
                if shape is not None and not isinstance(shape, Mesh)
            ]
    return max(lengths)


def warn_about_units(hand: Hand) -> None:
    """Warn of what a hand's file hardly means.

    Warns:
        SoftgraspWarning: Its angles look like degrees, or its lengths like millimetres.
    """
    for sentence in hand_doubts(hand):
        warnings.warn(sentence, SoftgraspWarning, stacklevel=3)
