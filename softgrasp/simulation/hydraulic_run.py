"""A whole arm under torques of its motors: drives, chain of cells, and what its tip did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.motion import SAMPLE, PressureRecording, drive_pressures
from softgrasp.mechanics.hydraulic.recording import TipRecording
from softgrasp.mechanics.hydraulic.torques import TorqueTable
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_arm import ArmChain
from softgrasp.simulation.hydraulic_shapes import chain_shapes

DRIVE_STEP = 5e-3
"""Of the drives [s]; the flow of a step is its mean, and two make a row."""


@dataclass(frozen=True)
class ArmRun:
    """An arm in MuJoCo under the torques of its motors, recorded at equal intervals.

    Args:
        arm: The arm.
        links: Cells a section.
        torques: Of the motors.
        times: [s], (t,).
        pressures: In the chambers [Pa], (t, k).
        joints: Of all cells [m or rad], (t, nq).
        backbone: Points along the axis in the base frame, base first [m], (t, points, 3).
        ends: Ends of the sections in the base frame [m], (t, sections, 3).
        bends: Bending angles of the sections towards x and y [rad], (t, sections, 2).
        lengths: Of the axes of the sections [m], (t, sections).
    """

    arm: HydraulicArm
    links: int
    torques: TorqueTable
    times: Array
    pressures: Array
    joints: Array
    backbone: Array
    ends: Array
    bends: Array
    lengths: Array

    @property
    def curvatures(self) -> Array:
        """Of the sections towards x and y, bend over length [1/m], (t, sections, 2)."""
        return np.asarray(self.bends / self.lengths[:, :, None])

    @cached_property
    def speeds(self) -> Array:
        """Of the ends, by central differences [m/s], (t, sections)."""
        return self.recording.speeds

    @property
    def commanded(self) -> Array:
        """Torques of the motors at the recorded times [N·m], (t, k)."""
        return np.stack([self.torques(time) for time in self.times.tolist()])

    @property
    def recording(self) -> TipRecording:
        """Its ends, for ``settling_times`` and ``tip_errors``."""
        return TipRecording(self.times, self.ends)


def drive_arm(
    arm: HydraulicArm,
    torques: TorqueTable,
    duration: float | None = None,
    *,
    links: int = DEFAULT_LINKS,
) -> ArmRun:
    """The motion of an arm from its straight state at rest, under the torques of its motors.

    Args:
        arm: The arm.
        torques: One a chamber.
        duration: [s]; up to the last time of the torques where not given.
        links: Cells a section.

    Raises:
        DescriptionError: Not one torque a chamber, one that a motor has not, or no time.
        BuildError: MuJoCo refuses the arm.
        DivergedError: The motion diverges.
    """
    count = len(arm.chambers)
    if torques.torques.shape[1] != count:
        raise DescriptionError(
            f"{arm.name}: expected one torque a chamber ({count}), found "
            f"{torques.torques.shape[1]}",
            field="torques",
        )
    duration = float(torques.times[-1]) if duration is None else duration
    pressures = drive_pressures(arm, torques, duration, timestep=DRIVE_STEP)
    chain = ArmChain(arm, links).move(pressures, duration)
    return recorded(arm, links, torques, pressures, chain.joints)


def recorded(
    arm: HydraulicArm,
    links: int,
    torques: TorqueTable,
    pressures: PressureRecording,
    joints: Array,
) -> ArmRun:
    """A run from the joints of its cells every ``SAMPLE``, (t, nq): the rest is kinematics."""
    times = np.arange(len(joints), dtype=np.float64) * SAMPLE
    shapes = chain_shapes(arm, links, joints)
    return ArmRun(
        arm=arm,
        links=links,
        torques=torques,
        times=times,
        pressures=np.stack([pressures(time) for time in times.tolist()]),
        joints=joints,
        backbone=shapes.backbone,
        ends=shapes.ends,
        bends=shapes.bends,
        lengths=shapes.lengths,
    )
