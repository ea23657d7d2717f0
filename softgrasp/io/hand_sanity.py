"""Plausibility of the units in a hand file.

A hand file whose joints turn by more than two full rotations probably has its angles in degrees;
one whose fingers are longer than 2 m probably has its lengths in millimetres. Nothing is changed:
the file is read as it is, with a warning.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.finger import Phalanx
from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import Hand, Palm
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.grasp_presets import corners
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_repair import hull_of, signed_volume
from softgrasp.mechanics.hand_kinematics import chain_links
from softgrasp.mechanics.transforms import Array

if TYPE_CHECKING:
    from softgrasp.grasp_synthesis import SynthesizedGrasps

FULL_ROTATION = math.tau + 1e-3
"""Largest usual range of a revolute joint [rad]."""
TWO_ROTATIONS = 2.0 * math.tau + 1e-3
"""Largest range of a revolute joint of any robot: a full rotation in both directions [rad]."""
LONGEST_FINGER = 2.0
"""Largest plausible length of a finger [m]."""
MILLIMETRES = 1e3
"""Millimetres in a metre."""


UNOPPOSED = "its fingers do not touch a ball from opposing sides anywhere"
"""Message about a hand whose synthesized grasp encloses no ball; for the power grasp, a problem."""


HOLLOW, MAX_NAMED = 0.7, 6
"""Volume of a mesh over that of its hull below which a note names it [–]; and how many it names."""


class Surface(NamedTuple):
    """A collision mesh with a name; vertices (n, 3) [m] and faces (m, 3)."""

    name: str
    vertices: Array
    faces: NDArray[np.int64]


class Doubt(NamedTuple):
    """An implausible value in a hand file, with its location."""

    severity: Literal["problem", "remark"]
    expected: str
    actual: str
    advice: str

    @property
    def message(self) -> str:
        """The message without the name of the part."""
        text = f"expected {self.expected}, found {self.actual}"
        return f"{text}; {self.advice}" if self.advice else text


def warn_about_units(hand: Hand) -> None:
    """Warn of implausible units in a hand file.

    Warns:
        SoftgraspWarning: Angles look like degrees, or lengths like millimetres.
    """
    for sentence in hand_doubts(hand):
        warnings.warn(sentence, SoftgraspWarning, stacklevel=3)


def hand_doubts(hand: Hand) -> list[str]:
    """List implausible values of a hand file, one sentence each."""
    rows = [row for finger in hand.fingers for row in finger.phalanges]
    revolute = [(row, range_doubt(*row.limits)) for row in rows if row.joint == "revolute"]
    odd = [(row, doubt) for row, doubt in revolute if doubt and doubt.severity == "problem"]
    messages = []
    if odd:
        row, doubt = odd[0]
        others = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
        messages.append(f"joint '{row.joint_name}'{others}: {doubt.message}")
    slides = ((row, stroke_doubt(*row.limits)) for row in rows if row.joint == "prismatic")
    sliding = next(
        (f"joint '{row.joint_name}': {item.message}" for row, item in slides if item), None
    )
    if sliding is not None:
        messages.append(sliding)
    long = millimetres_doubt(_longest(hand), LONGEST_FINGER)
    if long is not None:
        messages.append(f"the hand: {long.message}")
    return messages


def range_doubt(low: float, high: float) -> Doubt | None:
    """Return a message on an implausible range of a revolute joint [rad]; None if plausible."""
    if high - low <= FULL_ROTATION:
        return None
    degrees = high - low > TWO_ROTATIONS
    return Doubt(
        "problem" if degrees else "remark",
        f"a range of at most {math.tau:.4g} rad (one rotation)",
        f"{low:.4g} … {high:.4g} rad",
        "are the limits in degrees? (check FILE --fix converts those of a URDF)" if degrees else "",
    )


def stroke_doubt(low: float, high: float) -> Doubt | None:
    """Return a message on an implausible range of a prismatic joint [m]; None if plausible."""
    stroke = high - low
    if stroke <= LONGEST_FINGER:
        return None
    return Doubt(
        "problem",
        f"a range of at most {LONGEST_FINGER:g} m of a finger's prismatic joint",
        f"{low:.4g} … {high:.4g} m",
        f"are limits and velocity in mm? Divided by 1000 the range is {stroke:.4g} mm",
    )


def millimetres_doubt(length: float, longest: float) -> Doubt | None:
    """Return a message on a finger longer than the longest plausible one [m]; None if it is not."""
    if length <= longest:
        return None
    meant = length / MILLIMETRES
    shown = f"{meant:.3g} m" if meant >= 1.0 else f"{1e3 * meant:.3g} mm"
    return Doubt(
        "problem",
        f"a longest finger of at most {longest:g} m",
        f"{length:.4g} m",
        f"is the file in mm? Divided by 1000 it is {shown}",
    )


def hull_note(surfaces: Iterable[Surface]) -> list[str]:
    """Return a sentence about closed meshes that fill little of their hulls; or nothing."""
    hollow = []
    for name, vertices, faces in surfaces:
        edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        if not len(faces) or (np.unique(edges, axis=0, return_counts=True)[1] != 2).any():
            continue
        try:
            filled = abs(signed_volume(vertices, faces)) / hull_of(vertices).volume
        except DescriptionError:  # a flat one
            continue
        if filled < HOLLOW:
            hollow.append(f"{name} ({100 * filled:.0f} %)")
    if not hollow:
        return []
    named = ", ".join(list(dict.fromkeys(hollow))[:MAX_NAMED])
    return [
        f"what touches is the convex hull of a mesh, of which these fill less than {HOLLOW:.0%}: "
        f"{named}; a hook or a recess is filled: split such a mesh into convex parts, each a "
        "collision shape"
    ]


def list_described_meshes(hand: Hand) -> Iterator[Surface]:
    """Yield the collision meshes of a described hand."""
    rows = [row for finger in hand.fingers for row in finger.phalanges]
    owners: list[Phalanx | Palm] = [*rows, hand.palm]
    parts = [part.shape for owner in owners for part in owner.parts]
    for shape in (*(owner.shape for owner in owners), *parts):
        if isinstance(shape, Mesh) and shape.collision == "link":
            body = load_mesh(shape)
            yield Surface(Path(shape.file).name, body.vertices, body.faces)


def _longest(hand: Hand) -> float:
    """Return the length of the longest finger, or of the longest primitive on one [m]."""
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


def warn_of_unopposed(subject: str, grasps: SynthesizedGrasps) -> None:
    """Warn of synthesized grasps in which the fingers enclose no ball.

    Warns:
        SoftgraspWarning: One for each such grasp.
    """
    for name in ("power", "precision"):
        if not getattr(grasps, name).enclosed:
            warnings.warn(
                f"{subject}: {UNOPPOSED} ({name}); specify the grasp in a YAML file with `model:` "
                "and `grasps:`",
                SoftgraspWarning,
                stacklevel=4,
            )
