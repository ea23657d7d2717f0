"""Runs of a hydraulic arm under motor torques: motion, step responses, and result files.

``result.json`` and ``trajectory.npz`` hold a run; ``ArmShapes`` holds the axis, ends, bends and
lengths of the sections in time, of the chain or of the lumped model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from softgrasp import __version__
from softgrasp.description import DEFAULT_LINKS, Bendable
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.hydraulics.arm import ArmChain, arm_model, discretisation_error, move_driven_chain
from softgrasp.hydraulics.description import HydraulicArm, arm_robot, end_link
from softgrasp.hydraulics.drive import Coupling, check_coupling
from softgrasp.hydraulics.integrators import (
    SAMPLE,
    PressureRecording,
    TipRecording,
    TorqueTable,
    drive_pressures,
    settling_times,
)
from softgrasp.mechanics import Array
from softgrasp.model import bend_joints, slide_joints
from softgrasp.plugin_api import write_result

SCHEMA_VERSION = 2
BAND = 0.02
"""Fraction of the displacement within which an end has settled."""
STILL = 1e-6
"""Displacements below this are ignored [m]."""
QUIET = 0.1
"""Final fraction of the time in which settling does not count."""
DRIVE_TIMESTEP = 5e-3
"""Time step of the drives [s]; the flow of a step is its mean, two steps make a row."""


def save_arm_run(run: ArmRun, directory: str | Path) -> list[Path]:
    """Write ``result.json`` and ``trajectory.npz`` into a directory and return their paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    return write_result(Path(directory), arm_document(run), arm_arrays(run))


def arm_document(run: ArmRun) -> dict[str, Any]:
    """Convert a run to the content of ``result.json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "hydraulic_arm",
        "arm": run.arm.model_dump(mode="json"),
        "cells_per_section": run.links,
        "coupling": run.coupling,
        "largest_reynolds_number": run.largest_reynolds,
        "simulated_time_s": float(run.times[-1]),
        "commands": {
            "time_s": run.torques.times.tolist(),
            "torques_Nm": run.torques.torques.tolist(),
        },
        "moves": [asdict(move) | {"distance": move.distance} for move in arm_moves(run)],
        "largest_pressures_Pa": run.pressures.max(axis=0).tolist(),
        "end_m": run.ends[-1].tolist(),
        "discretisation_error_m": run.discretisation_error,
        "end_curvatures_1_per_m": run.curvatures[-1].tolist(),
    }


def arm_arrays(run: ArmRun) -> dict[str, Array]:
    """Convert a run to the arrays of ``trajectory.npz``, all in SI and time first."""
    return {
        "time": run.times,
        "torques": run.commanded,
        "pressures": run.pressures,
        "ends": run.ends,
        "speeds": run.speeds,
        "bends": run.bends,
        "lengths": run.lengths,
        "curvatures": run.curvatures,
        "backbone": run.backbone,
        "joints": run.joints,
    }


@dataclass(frozen=True)
class ArmMove:
    """Motion of the arm's end between two changes of the motor torques.

    Args:
        begin: Time at which the torques begin to change [s].
        command_end: Time at which the torques stop changing [s].
        end: Time of the next change, or of the end of the run [s].
        start: The end of the arm at the beginning, in the base frame [m].
        place: The end of the arm at the end [m].
        settling: Time until it stays within 2 % of its displacement [s]; None where it was
            not seen to settle.
        overshoot: Largest distance beyond the last position along the displacement, over it [–].
        top_speed: Largest speed of the end of the arm [m/s].
        top_speed_time: Time of the largest speed [s].
    """

    begin: float
    command_end: float
    end: float
    start: tuple[float, float, float]
    position: tuple[float, float, float]
    settling: float | None
    overshoot: float
    top_speed: float
    top_speed_time: float

    @property
    def distance(self) -> float:
        """Distance from the first to the last position [m]."""
        return math.dist(self.start, self.position)


def arm_moves(run: ArmRun) -> list[ArmMove]:
    """Split the motion of the arm's end in a run at the changes of the torques."""
    return tip_moves(run.torques, run.recording)


def tip_moves(torques: TorqueTable, recording: TipRecording, section: int = -1) -> list[ArmMove]:
    """Split the motion of the arm's end in a recording at the changes of the torques.

    Args:
        torques: Motor torques.
        recording: Recording of either model.
        section: Whose end is looked at; that of the last section is the end of the arm.
    """
    last = float(recording.times[-1])
    changes = [change for change in torques.changes if change[0] < last]
    ends = [*(begin for begin, _ in changes), last][1:]
    tip, speeds = recording.ends[:, section], recording.speeds[:, section]
    return [
        _move(recording.times, tip, speeds, (begin, min(stop, last), end))
        for (begin, stop), end in zip(changes, ends, strict=True)
    ]


def _move(times: Array, tip: Array, speeds: Array, span: tuple[float, float, float]) -> ArmMove:
    begin, stop, end = span
    first, last = np.searchsorted(times, [begin - 1e-9, end + 1e-9])
    first, last = min(int(first), len(times) - 2), max(int(last), int(first) + 2)
    times, tip, speeds = (values[first:last] for values in (times, tip, speeds))
    fastest = int(np.argmax(speeds))
    travel = tip - tip[0]
    square = float(travel[-1] @ travel[-1])
    return ArmMove(
        begin=begin,
        command_end=stop,
        end=float(times[-1]),
        start=point_of(tip[0]),
        position=point_of(tip[-1]),
        settling=_settling(times, tip),
        overshoot=float((travel @ travel[-1]).max() / square - 1.0) if square > STILL**2 else 0.0,
        top_speed=float(speeds[fastest]),
        top_speed_time=float(times[fastest]),
    )


def point_of(position: Array) -> tuple[float, float, float]:
    """Return a position (3,) as a tuple."""
    x, y, z = position.tolist()
    return (x, y, z)


def _settling(times: Array, tip: Array) -> float | None:
    if np.linalg.norm(tip[-1] - tip[0]) < STILL:
        return None
    after = float(settling_times(TipRecording(times, tip[:, None]), BAND)[0])
    late = times[-1] - QUIET * (times[-1] - times[0])
    return None if after > late else after - float(times[0])


@dataclass(frozen=True)
class ArmShapes:
    """Shapes of an arm in several states, such as the rows of a recording.

    Args:
        backbone: Points along the axis in the base frame, base first [m], (t, points, 3).
        ends: Ends of the sections in the base frame [m], (t, sections, 3).
        bends: Bending angles of the sections towards x and y [rad], (t, sections, 2).
        lengths: Lengths of the section axes [m], (t, sections).
    """

    backbone: Array
    ends: Array
    bends: Array
    lengths: Array

    @property
    def angles(self) -> Array:
        """Magnitudes of the bending angles of the sections [rad], (t, sections)."""
        return np.asarray(np.linalg.norm(self.bends, axis=2))

    @property
    def curvatures(self) -> Array:
        """Curvatures of the sections towards x and y, bend over length [1/m], (t, sections, 2)."""
        return np.asarray(self.bends / self.lengths[:, :, None])


@dataclass(frozen=True, kw_only=True)
class ArmRun(ArmShapes):
    """Simulation of an arm under motor torques in MuJoCo, recorded at equal intervals.

    Args:
        arm: The arm.
        links: Cells a section.
        torques: Motor torques.
        coupling: Whether the motion of the arm acted back on the drives (``state``) or not
            (``static``).
        largest_reynolds: Largest Reynolds number of the flow in a tube.
        times: [s], (t,).
        pressures: In the chambers [Pa], (t, k).
        joints: Joint positions of all cells [m or rad], (t, nq).
    """

    arm: HydraulicArm
    links: int
    torques: TorqueTable
    coupling: Coupling
    largest_reynolds: float
    times: Array
    pressures: Array
    joints: Array

    @cached_property
    def speeds(self) -> Array:
        """Speeds of the ends by central differences [m/s], (t, sections)."""
        return self.recording.speeds

    @property
    def commanded(self) -> Array:
        """Torques of the motors at the recorded times [N·m], (t, k)."""
        return np.stack([self.torques(time) for time in self.times.tolist()])

    @cached_property
    def discretisation_error(self) -> float | None:
        """Distance of the end from its limit of many cells, at rest under the last pressures [m].

        None where there is no such rest; see ``arm.discretisation_error``.
        """
        low, high = ArmChain(self.arm, 1).pressure_limits
        pressures = np.clip(self.pressures[-1], low, high)
        try:
            return discretisation_error(self.arm, self.links, pressures)
        except SimulationError:
            return None

    @property
    def recording(self) -> TipRecording:
        """Recording of the ends, for ``settling_times``."""
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
    """Simulate an arm under motor torques, from its straight state at rest.

    With ``coupling="state"`` arm and fluid act on each other. With ``static`` the drives run first,
    against the compliance of the chambers at rest, and the arm follows their pressures.

    Args:
        arm: The arm.
        torques: Motor torques, one per chamber.
        duration: [s]; up to the last time of the torques where not given.
        links: Cells a section.
        coupling: ``state`` or ``static``.
        timestep: Time step of the arm [s]; by default a stable one of at most 1 ms.

    Raises:
        DescriptionError: Not one torque per chamber, one that a motor has not, a pressure that a
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
            f"{arm.name}: expected one torque per chamber ({count}), found "
            f"{torques.torques.shape[1]}",
            field="torques",
        )
    duration = float(torques.times[-1]) if duration is None else duration
    chain = ArmChain(arm, links)
    if check_coupling(coupling) == "state":
        moved, pressures = move_driven_chain(chain, torques, duration, timestep=timestep)
    else:
        pressures = drive_pressures(arm, torques, duration, timestep=DRIVE_TIMESTEP)
        moved = chain.move(pressures, duration, timestep=timestep)
    return record(chain, torques, coupling, pressures, moved.joints)


def record(
    chain: ArmChain,
    torques: TorqueTable,
    coupling: Coupling,
    pressures: PressureRecording,
    joints: Array,
) -> ArmRun:
    """Make a run from joint positions of the cells (t, nq) every ``SAMPLE``, by kinematics."""
    arm, links = chain.arm, chain.links
    times = np.arange(len(joints), dtype=np.float64) * SAMPLE
    return ArmRun(
        **vars(chain_shapes(arm, links, joints)),
        arm=arm,
        links=links,
        torques=torques,
        coupling=coupling,
        largest_reynolds=pressures.largest_reynolds,
        times=times,
        pressures=np.stack([pressures(time) for time in times.tolist()]),
        joints=joints,
    )


def chain_shapes(arm: HydraulicArm, links: int, joints: Array) -> ArmShapes:
    """Compute the shapes of the chain of cells at joint positions, (t, nq)."""
    parts = arm_robot(arm, links).bendables
    model = arm_model(arm, links)
    positions = np.stack(list(_positions(model, joints)))
    ends = [model.body(end_link(section)).id for section in arm.sections]
    cells = [model.body(f"{part.name}_{k}").id for part in parts for k in range(1, links + 1)]
    shapes = [_shape(model, part, joints) for part in parts]
    slid = np.stack([shape[1] for shape in shapes], axis=1)
    return ArmShapes(
        backbone=positions[:, [0, *sorted([*cells, *ends])]],
        ends=positions[:, ends],
        bends=np.stack([shape[0] for shape in shapes], axis=1),
        lengths=slid + np.array([section.length for section in arm.sections]),
    )


def _shape(model: mujoco.MjModel, part: Bendable, joints: Array) -> tuple[Array, Array]:
    """Return bending angles towards x and y [rad], (t, 2), and elongations [m], (t,)."""

    def columns(names: list[str]) -> list[int]:
        return [int(model.joint(name).qposadr[0]) for name in names]

    angles = joints[:, columns([name for name, _ in bend_joints(part)])]
    directions = np.array([direction for _, direction in bend_joints(part)])
    return angles @ directions, joints[:, columns(slide_joints(part))].sum(axis=1)


def _positions(model: mujoco.MjModel, joints: Array) -> Iterator[Array]:
    """Positions of all bodies [m], (nbody, 3)."""
    data = mujoco.MjData(model)
    for row in joints:
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        yield data.xpos.copy()
