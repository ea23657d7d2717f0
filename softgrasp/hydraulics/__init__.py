"""Water-hydraulic soft arms: segments, drives, runs and files (Chen et al. 2022)."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "hydraulics.arm": ("ArmChain",),
    "hydraulics.calibration": (
        "ArmCalibrationProblem",
        "ArmCalibrationResult",
        "ArmMotion",
        "recorded_motion",
    ),
    "hydraulics.control": ("ArmBendPid", "Pid"),
    "hydraulics.description": ("HydraulicArm", "HydraulicCarrier"),
    "hydraulics.drive": (
        "DriveModel",
        "PowerBalance",
        "drive_model",
        "pressure_of_torque",
    ),
    "hydraulics.files": ("load_hydraulic_arm", "load_torques", "save_hydraulic_arm"),
    "hydraulics.integrators": (
        "ArmRecording",
        "CoupledStepper",
        "DriveStepper",
        "DrivenRecording",
        "PressureRecording",
        "check_explicit_step",
        "drive_pressures",
        "move_arm",
        "move_driven_arm",
    ),
    "hydraulics.model": ("arm_spec",),
    "hydraulics.recording": (
        "TipErrors",
        "TipRecording",
        "TorqueTable",
        "settling_times",
        "tip_errors",
    ),
    "hydraulics.report": ("write_arm_report",),
    "hydraulics.run": ("ArmRun", "run_arm"),
    "hydraulics.segment_model": ("LumpedModel", "lumped_model"),
    "hydraulics.statics": ("ArmRest", "Workspace", "arm_rest", "arm_workspace"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
