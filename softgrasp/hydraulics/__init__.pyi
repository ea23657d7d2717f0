from softgrasp.hydraulics.arm import ArmChain as ArmChain
from softgrasp.hydraulics.calibration import ArmCalibrationProblem as ArmCalibrationProblem
from softgrasp.hydraulics.calibration import ArmCalibrationResult as ArmCalibrationResult
from softgrasp.hydraulics.calibration import ArmMotion as ArmMotion
from softgrasp.hydraulics.calibration import recorded_motion as recorded_motion
from softgrasp.hydraulics.control import ArmBendPid as ArmBendPid
from softgrasp.hydraulics.control import Pid as Pid
from softgrasp.hydraulics.description import HydraulicArm as HydraulicArm
from softgrasp.hydraulics.description import HydraulicCarrier as HydraulicCarrier
from softgrasp.hydraulics.drive import DriveModel as DriveModel
from softgrasp.hydraulics.drive import PowerBalance as PowerBalance
from softgrasp.hydraulics.drive import drive_model as drive_model
from softgrasp.hydraulics.drive import pressure_of_torque as pressure_of_torque
from softgrasp.hydraulics.experiment_report import (
    write_hydraulic_experiments as write_hydraulic_experiments,
)
from softgrasp.hydraulics.experiments import hydraulic_experiment as hydraulic_experiment
from softgrasp.hydraulics.experiments import run_hydraulic_experiments as run_hydraulic_experiments
from softgrasp.hydraulics.files import load_hydraulic_arm as load_hydraulic_arm
from softgrasp.hydraulics.files import load_torques as load_torques
from softgrasp.hydraulics.files import save_hydraulic_arm as save_hydraulic_arm
from softgrasp.hydraulics.integrators import ArmRecording as ArmRecording
from softgrasp.hydraulics.integrators import CoupledStepper as CoupledStepper
from softgrasp.hydraulics.integrators import DriveStepper as DriveStepper
from softgrasp.hydraulics.integrators import DrivenRecording as DrivenRecording
from softgrasp.hydraulics.integrators import PressureRecording as PressureRecording
from softgrasp.hydraulics.integrators import check_explicit_step as check_explicit_step
from softgrasp.hydraulics.integrators import drive_pressures as drive_pressures
from softgrasp.hydraulics.integrators import move_arm as move_arm
from softgrasp.hydraulics.integrators import move_driven_arm as move_driven_arm
from softgrasp.hydraulics.model import arm_spec as arm_spec
from softgrasp.hydraulics.recording import TipErrors as TipErrors
from softgrasp.hydraulics.recording import TipRecording as TipRecording
from softgrasp.hydraulics.recording import TorqueTable as TorqueTable
from softgrasp.hydraulics.recording import settling_times as settling_times
from softgrasp.hydraulics.recording import tip_errors as tip_errors
from softgrasp.hydraulics.report import write_arm_report as write_arm_report
from softgrasp.hydraulics.run import ArmRun as ArmRun
from softgrasp.hydraulics.run import run_arm as run_arm
from softgrasp.hydraulics.segment_model import LumpedModel as LumpedModel
from softgrasp.hydraulics.segment_model import lumped_model as lumped_model
from softgrasp.hydraulics.statics import ArmRest as ArmRest
from softgrasp.hydraulics.statics import Workspace as Workspace
from softgrasp.hydraulics.statics import arm_rest as arm_rest
from softgrasp.hydraulics.statics import arm_workspace as arm_workspace

NAMES: dict[str, tuple[str, ...]]
