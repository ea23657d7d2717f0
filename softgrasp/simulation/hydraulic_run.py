"""A whole arm under torques of its motors: drives, chain of cells, and what its tip did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.drive_model import Coupling, checked_coupling
from softgrasp.mechanics.hydraulic.motion import SAMPLE, PressureRecording, drive_pressures
from softgrasp.mechanics.hydraulic.recording import TipRecording
from softgrasp.mechanics.hydraulic.torques import TorqueTable
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_arm import ArmChain
from softgrasp.simulation.hydraulic_coupling import move_driven_chain
from softgrasp.simulation.hydraulic_shapes import chain_shapes

DRIVE_TIMESTEP = 5e-3
"""Of the drives [s]; the flow of a step is its mean, and two make a row."""


@dataclass(frozen=True)
class ArmRun:
    """An arm in MuJoCo under the torques of its motors, recorded at equal intervals.

    Args:
        arm: The arm.
        links: Cells a section.
        torques: Of the motors.
        coupling: Whether the motion of the arm acted back on the drives (``state``) or not
            (``static``).
        largest_reynolds: Largest Reynolds number of the flow in a tube.
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
    coupling: Coupling
    largest_reynolds: float
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


def run_arm(
    arm: HydraulicArm,
    torques: TorqueTable,
    duration: float | None = None,
    *,
    links: int = DEFAULT_LINKS,
    coupling: Coupling = "state",
    timestep: float | None = None,
) -> ArmRun:
    """The motion of an arm from its straight state at rest, under the torques of its motors.

    With ``coupling="state"`` arm and fluid act on each other. With ``static`` the drives run first,
    against the compliance of the chambers at rest, and the arm follows their pressures.

    Args:
        arm: The arm.
        torques: One a chamber.
        duration: [s]; up to the last time of the torques where not given.
        links: Cells a section.
        coupling: ``state`` or ``static``.
        timestep: Of the arm [s]; a safe one, of 1 ms at most, where not given.

    Raises:
        DescriptionError: Not one torque a chamber, one that a motor has not, a pressure that a
            chamber does not stand, no time, or no such coupling.
        BuildError: MuJoCo refuses the arm.
        DivergedError: The motion diverges.

    Warns:
        SoftgraspWarning: The flow in the tubes is beyond the law that it follows, or water would
            boil.
    """
    count = len(arm.chambers)
    if torques.torques.shape[1] != count:
        raise DescriptionError(
            f"{arm.name}: expected one torque a chamber ({count}), found "
            f"{torques.torques.shape[1]}",
            field="torques",
        )
    duration = float(torques.times[-1]) if duration is None else duration
    chain = ArmChain(arm, links)
    if checked_coupling(coupling) == "state":
        moved, pressures = move_driven_chain(chain, torques, duration, timestep=timestep)
    else:
        pressures = drive_pressures(arm, torques, duration, timestep=DRIVE_TIMESTEP)
        moved = chain.move(pressures, duration, timestep=timestep)
    return recorded(chain, torques, coupling, pressures, moved.joints)


def recorded(
    chain: ArmChain,
    torques: TorqueTable,
    coupling: Coupling,
    pressures: PressureRecording,
    joints: Array,
) -> ArmRun:
    """A run from the joints of its cells every ``SAMPLE``, (t, nq): the rest is kinematics."""
    arm, links = chain.arm, chain.links
    times = np.arange(len(joints), dtype=np.float64) * SAMPLE
    shapes = chain_shapes(arm, links, joints)
    return ArmRun(
        arm=arm,
        links=links,
        torques=torques,
        coupling=coupling,
        largest_reynolds=pressures.largest_reynolds,
        times=times,
        pressures=np.stack([pressures(time) for time in times.tolist()]),
        joints=joints,
        backbone=shapes.backbone,
        ends=shapes.ends,
        bends=shapes.bends,
        lengths=shapes.lengths,
    )
