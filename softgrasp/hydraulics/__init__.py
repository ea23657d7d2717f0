"""Water-hydraulic soft arms: segments, drives, runs and files (Chen et al. 2022)."""

from __future__ import annotations

from softgrasp.plugin_api import lazy_names

NAMES = {
    "hydraulics.arm": ("ArmChain", "arm_spec"),
    "hydraulics.calibration": (
        "ArmCalibrationProblem", "ArmCalibrationResult", "ArmMotion", "recorded_motion",
    ),
    "hydraulics.description": ("HydraulicArm", "HydraulicCarrier"),
    "hydraulics.drive": ("drive_model", "DriveModel", "pressure_of_torque"),
    "hydraulics.files": ("load_hydraulic_arm", "load_torques", "save_hydraulic_arm"),
    "hydraulics.integrators": (
        "CoupledStepper", "drive_pressures", "DriveStepper", "PressureRecording", "settling_times",
        "TipRecording", "TorqueTable",
    ),
    "hydraulics.report": ("write_arm_report",),
    "hydraulics.run": ("ArmRun", "run_arm"),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
