"""One stage for a hydraulic arm: stiffness, damping and mass from recorded motions."""

from __future__ import annotations

from pathlib import Path

from softgrasp.calibration.arm_bench import ArmTestRig, arm_stage
from softgrasp.calibration.arm_result import ArmCalibrationResult
from softgrasp.calibration.assessment import assessed, remarks_on_fit
from softgrasp.calibration.calibrate import optimum_of
from softgrasp.calibration.optimizers import Swarm
from softgrasp.calibration.result import CalibrationStatus
from softgrasp.calibration.stages import Journal, Progress, Search
from softgrasp.description.arm_calibration import ArmCalibrationProblem


def calibrate_arm(
    problem: ArmCalibrationProblem,
    method: str,
    seed: int,
    swarm: Swarm,
    out: Path | None,
    progress: Progress | None,
) -> ArmCalibrationResult:
    """Find what ``problem.find`` names; see ``calibrate`` for the arguments."""
    test_rig = ArmTestRig(problem)
    stage = arm_stage(problem, test_rig)
    assert stage is not None  # a problem has a motion that is not held out
    whole = f"{problem.model_dump_json()} {method} {seed} {swarm}"
    search = Search(stage, Journal(out, whole), progress)
    position = optimum_of(search, method, swarm, seed)
    stage_result = assessed(search, position, arm_stage(problem, test_rig, held_out=True))
    return ArmCalibrationResult(
        problem=problem,
        method=method,
        seed=seed,
        arm=test_rig.arm(position),
        stages=(stage_result,),
        warnings=tuple(remarks_on_fit(stage_result)),
        status=CalibrationStatus.AT_BOUNDS if stage_result.on_bound else CalibrationStatus.DONE,
    )
