"""Pressures in the chambers of an arm under a hand in time, from torques of its motors."""

from __future__ import annotations

import numpy as np

from softgrasp.description.hydraulic_carrier import HydraulicCarrier
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.hydraulic.drive_model import drive_model
from softgrasp.mechanics.hydraulic.lumped_model import checked_pressures
from softgrasp.mechanics.hydraulic.motion import pressures_under
from softgrasp.mechanics.hydraulic.torques import TorqueTable
from softgrasp.mechanics.transforms import Array

DRIVE_TIMESTEP = 5e-3
"""Of the drives [s]; the flow of a step is its mean."""
WHOLE = 1.0
"""Pressures are whole multiples of this [Pa], so that they come to rest."""


def chamber_path(scene: GraspScene, samples: int) -> Array:
    """Pressures at the control samples from the start of a run on, (samples, k) [Pa].

    No rows where no torques change them.

    Raises:
        DescriptionError: A pressure is beyond the limits of its chamber.
    """
    carrier = scene.arm
    if not isinstance(carrier, HydraulicCarrier) or not carrier.torques:
        return np.zeros((0, 0))
    rows = np.array(carrier.torques)
    table = TorqueTable(rows[:, 0], rows[:, 1:])
    times = np.arange(samples) * scene.control_period
    pressures = pressures_under(
        drive_model(carrier.hydraulic), table, float(times[-1]), DRIVE_TIMESTEP, carrier.start
    )
    path = np.stack(
        [np.interp(times, pressures.times, column) for column in pressures.chambers.T], axis=1
    )
    path[0] = carrier.start
    for extreme in (path.min(axis=0), path.max(axis=0)):
        checked_pressures(carrier.hydraulic, extreme)
    return np.asarray(np.round(path / WHOLE) * WHOLE)
