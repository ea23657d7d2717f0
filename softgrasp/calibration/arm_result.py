"""Result of the calibration of a hydraulic arm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from softgrasp._version import __version__
from softgrasp.calibration.result import ExtensionResult
from softgrasp.description.arm_calibration import ArmCalibrationProblem
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.formats.hydraulic_arm_file import save_hydraulic_arm

ARM = "arm.yaml"


@dataclass(frozen=True, kw_only=True)
class ArmCalibrationResult(ExtensionResult):
    """What was found of a hydraulic arm; ``FoundParameters`` has the rest.

    Args:
        problem: What was recorded.
        arm: With the parameters found.
    """

    problem: ArmCalibrationProblem
    arm: HydraulicArm

    def save_calibrated(self, directory: Path) -> Path:
        """Write ``arm.yaml`` and return its path.

        Raises:
            ResultError: The directory cannot be written.
        """
        return save_hydraulic_arm(calibrated_arm(self), directory / ARM)


def calibrated_arm(result: ArmCalibrationResult) -> HydraulicArm:
    """The arm as found, with the source of its numbers."""
    parameter_names = ", ".join(result.parameters)
    source = f"softgrasp {__version__}, calibrated by {result.method} (seed {result.seed}): {parameter_names}"
    return result.arm.replace(source=source)
