"""The finger that stands for the real one where the twin's accuracy is measured, in simulation.

It is not the model that is fitted: a chain of many links in MuJoCo, whose bending stiffness varies
within every piece as that of a finger with chambers does, which sags under its weight, and whose
moment does not grow in proportion to the pressure.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.soft_finger import SoftFinger, SoftJoint, SoftLink
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.equilibrium import equilibrium

LENGTHS = (0.014, 0.014, 0.01232, 0.01539)
"""Arcs of the pieces, base first (paper 001, III-C) [m]."""
JOINTS = 10
"""Joints a piece."""
STIFFNESS = 6e-3
"""EI, averaged over a piece [N·m²]."""
MASS = 0.022
"""Of the whole finger [kg]."""
SECTION = (0.020, 0.018)
"""Width and height [m]."""
GAINS = (0.62e-6, 0.95e-6, 1.15e-6, 0.90e-6)
"""Bending moment over pressure, by piece [N·m/Pa]."""
CHAMBERS, CONTRAST, DRIFT = 2, 0.35, 0.25
"""Chambers a piece; how far EI is up and down along one; how much it falls along a piece [–]."""
SATURATION = 3.0e5
"""The moment grows like the exponential of the pressure over this [Pa]."""


class ReferenceFinger(NamedTuple):
    """A chain of links, and the arcs into which its pieces are cut."""

    finger: SoftFinger
    lengths: tuple[float, ...]
    """[m]"""

    @property
    def stations(self) -> Array:
        """Where the cuts are along the straight finger, base and tip included [m], (n + 1,)."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])


class ReferenceShape(NamedTuple):
    """The reference finger at rest, in its base frame: straight along +x, z up."""

    joint_angles: Array
    """Positive towards −z [rad], (m,)."""
    piece_angles: Array
    """How far each piece turns, the truth of what is measured [rad], (n,)."""
    tip: Array
    """[m], (3,)."""


def reference_finger(joints: int = JOINTS, lengths: ArrayLike = LENGTHS) -> ReferenceFinger:
    """The reference finger, clamped level; its numbers are chosen, none is of a real finger.

    Args:
        joints: Joints a piece, in the middle of equal cells; four pieces of 8 or more are the 32
            links that the chain needs at least.
        lengths: Of the pieces, base first [m].

    Raises:
        DescriptionError: Another number of pieces than there are gains.
    """
    pieces = tuple(np.asarray(lengths, dtype=float).tolist())
    if len(pieces) != len(GAINS):
        raise DescriptionError(f"expected {len(GAINS)} pieces, found {len(pieces)}")
    bends = _joints(joints, pieces)
    finger = SoftFinger(
        name="twin_reference",
        joints=tuple(bends),
        links=_links(bends, sum(pieces)),
        tip=(sum(pieces), 0.0, 0.0),
        source="softgrasp: chosen numbers, simulated; no real finger",
    )
    return ReferenceFinger(finger, pieces)


def driving_pressure(pressure: float) -> float:
    """Pressure that would bend a linear finger as far: p_s (exp(p/p_s) − 1) [Pa]."""
    return SATURATION * float(np.expm1(pressure / SATURATION))


def shape_at(reference: ReferenceFinger, pressure: float) -> ReferenceShape:
    """The finger at rest under its weight and a pressure [Pa], by MuJoCo's own joint forces.

    Raises:
        DescriptionError: No rest shape was found.
    """
    driving = driving_pressure(pressure)
    rest = equilibrium(reference.finger, pressure=driving, error_estimate=False)
    if not rest.converged:
        raise DescriptionError(
            f"expected a rest shape of the reference finger at {pressure / 1e3:g} kPa, found none"
        )
    positions = [joint.position[0] for joint in reference.finger.joints]
    owners = np.searchsorted(reference.stations[1:-1], positions)
    angles = np.bincount(owners, weights=rest.joint_angles, minlength=len(reference.lengths))
    return ReferenceShape(rest.joint_angles, np.asarray(angles, float), rest.tip_position)


def _stiffness(fractions: Array) -> Array:
    """EI along a piece, soft in its chambers and stiff between them [N·m²]."""
    chambers = 1.0 - CONTRAST * np.cos(2.0 * np.pi * CHAMBERS * fractions)
    return np.asarray(STIFFNESS * chambers * (1.0 + DRIFT * (0.5 - fractions)))


def _joints(count: int, pieces: tuple[float, ...]) -> list[SoftJoint]:
    """Joints in the middle of equal cells of each piece."""
    fractions = (np.arange(count) + 0.5) / count
    springs, start = _stiffness(fractions).tolist(), 0.0
    bends = []
    for length, gain in zip(pieces, GAINS, strict=True):
        cell = length / count
        bends += [
            SoftJoint(
                position=(start + fraction * length, 0.0, 0.0),
                stiffness=stiffness / cell,
                pressure_gain=gain,
            )
            for fraction, stiffness in zip(fractions.tolist(), springs, strict=True)
        ]
        start += length
    return bends


def _links(bends: list[SoftJoint], whole: float) -> tuple[SoftLink, ...]:
    """Links from joint to joint, with their parts of the mass."""
    bounds = [0.0, *(joint.position[0] for joint in bends), whole]
    return tuple(
        SoftLink(
            center=(0.5 * (begin + end), 0.0, 0.0),
            mass=MASS * (end - begin) / whole,
            size=(end - begin, *SECTION),
        )
        for begin, end in pairwise(bounds)
    )
