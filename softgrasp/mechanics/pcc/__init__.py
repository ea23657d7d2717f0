"""Piecewise constant curvature: continuum segments as circular arcs.

A segment of length ℓ bends with curvature κ in the plane that stands at the angle φ about its base
z axis. Everything is computed from u = θ cos φ and v = θ sin φ with θ = κℓ, which are smooth where
the segment is straight.

Frames at the end of a segment (they share position and z axis, not the turn about z):

- ``bishop``: turned about the normal of the bending plane only, so a straight segment does not
  turn (papers 002 eq 3 and 003 eq 3, corrected in docs/pcc.md); the default.
- ``webster``: Rz(φ) of the bending plane is kept (paper 001 eq 5; Webster and Jones 2010); it has
  no limit at κ = 0 that is free of φ.
"""

from softgrasp.mechanics.pcc.chain import (
    chain_frames,
    chain_jacobian,
    chain_transform,
    to_bishop,
    to_webster,
)
from softgrasp.mechanics.pcc.inverse import ChainPose, chain_inverse, segment_inverse
from softgrasp.mechanics.pcc.segment import (
    Frame,
    bend_jacobian,
    bend_transform,
    jacobian,
    segment_transform,
    strain_transform,
)

__all__ = [
    "ChainPose",
    "Frame",
    "bend_jacobian",
    "bend_transform",
    "chain_frames",
    "chain_inverse",
    "chain_jacobian",
    "chain_transform",
    "jacobian",
    "segment_inverse",
    "segment_transform",
    "strain_transform",
    "to_bishop",
    "to_webster",
]
