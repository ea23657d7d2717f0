"""The virtual bench of a hydraulic arm: what its recordings would be with other parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from softgrasp.build.hydraulic_arm import arm_model
from softgrasp.build.spring_limit import spring_limit
from softgrasp.calibration import objectives
from softgrasp.calibration.objectives import Block
from softgrasp.calibration.stages import Stage
from softgrasp.description.arm_calibration import ArmCalibrationProblem, ArmMotion, ArmParameter
from softgrasp.description.hydraulic_arm import ArmSection, HydraulicArm
from softgrasp.errors import DivergedError, SimulationError, SoftgraspWarning
from softgrasp.mechanics.hydraulic.motion import SAMPLE, drive_pressures, inputs_of
from softgrasp.mechanics.hydraulic.torques import TorqueTable
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_arm import LONGEST_STEP, SAFE_FRACTION, ArmChain, ChainRecording
from softgrasp.simulation.hydraulic_coupling import move_driven_chain

UNITS: dict[ArmParameter, str] = {"EI": "N·m²", "c_b": "N·m²·s", "mass": "kg"}
DRIVE_TIMESTEP = 5e-3
"""Of the drives [s]."""


class ArmTestRig:
    """Motions of an arm for many parameter sets, one after the other.

    Args:
        problem: The arm and its motions.
    """

    def __init__(self, problem: ArmCalibrationProblem) -> None:
        self._problem = problem

    def arm(self, parameters: Array) -> HydraulicArm:
        """The arm with other parameters, (p,), as ``arm_block`` orders them."""
        problem = self._problem
        values = parameters.reshape(len(problem.find), -1)
        shared = np.broadcast_to(values, (len(problem.find), len(problem.arm.sections)))
        sections = [
            _changed(section, dict(zip(problem.find, section_values.tolist(), strict=True)))
            for section, section_values in zip(problem.arm.sections, shared.T, strict=True)
        ]
        return problem.arm.replace(sections=tuple(sections))

    def recorded(self, parameters: Array, motions: Sequence[ArmMotion]) -> Array:
        """What parameter sets (B, p) would record, (B, m) [m or rad]; NaN where one diverges."""
        return np.stack([self._one(self.arm(row), motions) for row in parameters])

    def _one(self, arm: HydraulicArm, motions: Sequence[ArmMotion]) -> Array:
        chain = ArmChain(arm, self._problem.links)
        return np.concatenate([self._motion(chain, one) for one in motions])

    def _motion(self, chain: ArmChain, motion: ArmMotion) -> Array:
        shape = (len(motion.times), len(motion.rows[0]))
        last = motion.times[-1]
        samples = max(int(np.ceil(last / SAMPLE * (1.0 - 1e-9))), 1)
        try:
            recording = self._moved(chain, motion, samples * SAMPLE)
        except (DivergedError, SimulationError):
            return np.full(shape, np.nan).ravel()
        rows = recording.ends if motion.ends else chain.bends_of(recording.joints)
        flat = rows.reshape(len(rows), -1)[:, -shape[1] :]
        columns = [np.interp(motion.times, recording.times, column) for column in flat.T]
        return np.stack(columns, axis=1).ravel()

    def _moved(self, chain: ArmChain, motion: ArmMotion, duration: float) -> ChainRecording:
        """The motion of an arm with the parameters that are tried; its water takes part in it."""
        if not motion.torques:
            inputs = inputs_of(motion.pressures or (0.0,) * len(chain.arm.chambers))
            return chain.move(inputs, duration, timestep=self._timestep, start=motion.start)
        rows = np.array(motion.torques)
        table = TorqueTable(rows[:, 0], rows[:, 1:])
        with warnings.catch_warnings():  # parameters that are only tried are not told about
            warnings.simplefilter("ignore", SoftgraspWarning)
            if motion.start is None:
                return move_driven_chain(chain, table, duration, timestep=self._timestep)[0]
            inputs = drive_pressures(chain.arm, table, duration, timestep=DRIVE_TIMESTEP)
            return chain.move(inputs, duration, timestep=self._timestep, start=motion.start)

    @cached_property
    def _timestep(self) -> float:
        """One that all parameters within the bounds bear [s]: another would be another model."""
        problem = self._problem
        ends = {"EI": 1, "c_b": 0, "mass": 0}
        worst = [getattr(problem.bounds, name)[ends[name]] for name in problem.find]
        sections = len(problem.arm.sections) if problem.each_section else 1
        arm = self.arm(np.repeat(worst, sections))
        return min(SAFE_FRACTION * spring_limit(arm_model(arm, problem.links)), LONGEST_STEP)


def arm_block(problem: ArmCalibrationProblem) -> Block:
    """The parameters: every kind for all sections, or section by section."""
    sections = len(problem.arm.sections)
    count = sections if problem.each_section else 1
    names = [
        f"{name}{number}" if problem.each_section else name
        for name in problem.find
        for number in range(1, count + 1)
    ]
    low, high = (
        np.repeat([getattr(problem.bounds, name)[end] for name in problem.find], count)
        for end in (0, 1)
    )
    return Block(
        kind="arm",
        names=tuple(names),
        unit=UNITS[problem.find[0]],
        lower=low,
        upper=high,
        relative=(True,) * len(names),
        cells=None,
        positions=np.zeros(0),
        units=tuple(UNITS[name] for name in problem.find for _ in range(count)),
    )


def arm_stage(
    problem: ArmCalibrationProblem, test_rig: ArmTestRig, *, held_out: bool = False
) -> Stage | None:
    """The one stage of an arm: all of its parameters from all of its motions.

    Args:
        problem: The problem.
        test_rig: Of its arm.
        held_out: Whether to take the motions kept for validation; None where there are none.
    """
    named = zip(problem.labels, problem.motions, strict=True)
    selected = [(label, one) for label, one in named if one.held_out == held_out]
    if not selected:
        return None
    motions = [one for _, one in selected]
    measured = np.concatenate([np.array(one.rows).ravel() for one in motions])
    labels = [
        f"{label} {column} at {time:g} s"
        for label, one in selected
        for time in one.times
        for column in columns_of(one)
    ]
    return Stage(
        name="arm",
        block=arm_block(problem),
        simulate=lambda parameters: test_rig.recorded(parameters, motions),
        measured=measured,
        fitness=lambda values: objectives.squared_trace(values, measured),
        labels=tuple(labels),
        unit="m" if motions[0].ends else "rad",
        smooth=True,
        timed=np.ones(len(measured), dtype=bool),
    )


def columns_of(motion: ArmMotion) -> list[str]:
    """What the columns of a motion's rows are called: x1, y1, z1 … or u1, v1, …; x of one end."""
    axes, width = ("xyz", 3) if motion.ends else ("uv", 2)
    count = len(motion.rows[0]) // width
    if motion.ends and count == 1:
        return list(axes)
    return [f"{axis}{number}" for number in range(1, count + 1) for axis in axes]


def _changed(section: ArmSection, values: dict[ArmParameter, float]) -> ArmSection:
    damping = section.damping
    return section.replace(
        bending_stiffness=values.get("EI", section.bending_stiffness),
        mass=values.get("mass", section.mass),
        damping=damping.replace(bending=values.get("c_b", damping.bending)),
    )
