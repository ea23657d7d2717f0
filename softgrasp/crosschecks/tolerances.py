"""How far engines may differ; where the numbers come from stands in docs/crosscheck.md."""

from __future__ import annotations

from softgrasp.description.base import Description, NonNegative

BACKENDS = ("mujoco", "ode")
"""Engines that are compared where none are named."""


class Tolerances(Description):
    """Largest differences that pass, in the units of their names.

    Those of statics are from closed forms; all others are from the first backend.
    """

    static_deg: NonNegative = 1e-3
    """Of joint angles of a finger at rest under its weight."""
    trajectory_deg: NonNegative = 5e-3
    """Of joint angles of a finger after its release, at any sample, at the same time step."""
    frequency_percent: NonNegative = 0.1
    """Of the first mode."""
    damping_ratio_percent: NonNegative = 1.0
    """Of the first mode."""
    settling_percent: NonNegative = 1.0
    """Of the settling time (5 %); one sample of the recording passes in any case."""
    order: NonNegative = 0.2
    """Of the order with which a release converges, from 1."""
    normal_force_percent: NonNegative = 2.0
    """Of the normal force of each body at rest."""
    angle_deg: NonNegative = 0.1
    """Of joint angles of a hand at rest, besides ``angle_percent``."""
    angle_percent: NonNegative = 1.0
    """Of joint angles of a hand at rest, added to ``angle_deg``."""
    displacement_mm: NonNegative = 0.5
    """Of the object's place at rest: what the hold test lets an object move by default."""
    touch_samples: NonNegative = 1.0
    """Of the times at which bodies first touch, and stop, in control samples."""
    threshold_percent: NonNegative = 15.0
    """Of the critical density; nearer to it engines need not agree on what is held."""
