"""One stage for a hydraulic arm: stiffness, damping and mass from recorded motions."""

from __future__ import annotations

from pathlib import Path

from softgrasp.calibration.arm_bench import ArmBench, arm_stage
from softgrasp.calibration.arm_result import ArmCalibrationResult
from softgrasp.calibration.assessment import assessed
from softgrasp.calibration.finding import found_by
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.remarks import remarks_on_fit
from softgrasp.calibration.result import CalibrationStatus
from softgrasp.calibration.search import Progress, Search
from softgrasp.calibration.swarm import Swarm
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
    bench = ArmBench(problem)
    stage = arm_stage(problem, bench)
    assert stage is not None  # a problem has a motion that is not held out
    whole = f"{problem.model_dump_json()} {method} {seed} {swarm}"
    search = Search(stage, Journal(out, whole), progress)
    position = found_by(search, method, swarm, seed)
    found = assessed(search, position, arm_stage(problem, bench, held_out=True))
    return ArmCalibrationResult(
        problem=problem,
        method=method,
        seed=seed,
        arm=bench.arm(position),
        stages=(found,),
        warnings=tuple(remarks_on_fit(found)),
        status=CalibrationStatus.AT_BOUNDS if found.on_bound else CalibrationStatus.DONE,
    )
