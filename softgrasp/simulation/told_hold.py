"""What a result tells of its parts and of the hold test: pushes, pulls, drift and creep."""

from __future__ import annotations

from softgrasp.description.base import Description, Vec3


class PhaseSpan(Description):
    """A part of a run: closure, phase of a sequence, hold test, direction of one."""

    name: str
    start_s: float
    end_s: float


class DirectionTest(Description):
    """What the object did in the hand under one direction of a hold test."""

    name: str
    """``+x``, or the unit vector."""
    acceleration: Vec3
    """In the world [m/s²]."""
    force_N: float
    """Acceleration times the object's mass."""
    start_s: float
    end_s: float
    """Earlier than asked where a limit was exceeded."""
    drop_m: float
    """Largest distance of its centre from the closed state, in the frame of the palm."""
    rotation_rad: float
    contacts: int
    """Bodies of the hand in contact at the end."""
    held: bool


class PullTest(Description):
    """What it took to pull the object out of the hand."""

    name: str
    """Of the direction: ``+x``, or the unit vector."""
    slip_force_N: float | None = None
    """Force from which on all contacts slipped; None where they did not up to the largest one."""
    largest_force_N: float
    """That was put on."""
    friction_N: float
    """Sum of µ·N over all contacts of the closed hand: Coulomb's bound where all of them resist
    along the pull and none presses more while it grows."""
    rate_N_s: float
    """At which the force grew from zero [N/s]."""
    start_s: float
    end_s: float
    drop_m: float
    """Way of the object's centre in the frame of the palm until it slipped, or until the end."""
    held: bool | None = None
    """Whether it bore the least force that was asked for; None where none was."""


class OtherHeld(Description):
    """What a further object did in the hand meanwhile; it is told, not judged."""

    name: str
    drop_m: float
    rotation_rad: float


class HoldTest(Description):
    """What the object did in the hand from the end of the closure on.

    Numbers are the largest of what followed the closure and of all directions. Of several objects
    the one to be grasped is judged.
    """

    drop_m: float
    """Largest distance of its centre from where the test began, in the frame of the palm."""
    rotation_rad: float
    """Largest turn since the test began."""
    weight_N: float
    start_s: float
    creep_m_s: float
    """Mean speed in the hand over the last quarter of the time under full load, or at the top."""
    """Where the last part is none of these, over its last quarter."""
    lifted_m: float | None = None
    """How much higher it is at the end than when the test began, where it was to be lifted."""
    failed_in: str | None = None
    """The first part of the run, or direction, in which a limit was exceeded."""
    failed_s: float | None = None
    """When."""
    directions: tuple[DirectionTest, ...] = ()
    pulls: tuple[PullTest, ...] = ()
    others: tuple[OtherHeld, ...] | None = None
    """Further objects; None where there are none."""
