"""Water-hydraulic soft arms (paper 003): the lumped segment model and the drives of its chambers.

``arm_rest`` says where an arm comes to rest, ``move_arm`` how it moves, ``drive_pressures`` which
pressures the torques of its motors make, ``move_arm_with_drive`` how arm and drives move together,
``tip_errors`` how far two recordings are apart. What the paper prints and what is used here is in
docs/hydraulic_arm.md.
"""

from softgrasp.hydraulics.drive_model import (
    Coupling,
    DriveModel,
    PowerBalance,
    drive_model,
    pressure_of_torque,
)
from softgrasp.hydraulics.integrators import (
    ArmRecording,
    CoupledStepper,
    DrivenRecording,
    DriveStepper,
    PressureRecording,
    check_explicit_step,
    drive_pressures,
    move_arm,
    move_driven_arm,
)
from softgrasp.hydraulics.recording import (
    TipErrors,
    TipRecording,
    TorqueTable,
    settling_times,
    tip_errors,
)
from softgrasp.hydraulics.segment_model import LumpedModel, lumped_model
from softgrasp.hydraulics.statics import ArmRest, Workspace, arm_rest, arm_workspace

__all__ = [
    "ArmRecording",
    "ArmRest",
    "CoupledStepper",
    "Coupling",
    "DriveModel",
    "DriveStepper",
    "DrivenRecording",
    "LumpedModel",
    "PowerBalance",
    "PressureRecording",
    "TipErrors",
    "TipRecording",
    "TorqueTable",
    "Workspace",
    "arm_rest",
    "arm_workspace",
    "check_explicit_step",
    "drive_model",
    "drive_pressures",
    "lumped_model",
    "move_arm",
    "move_driven_arm",
    "pressure_of_torque",
    "settling_times",
    "tip_errors",
]
