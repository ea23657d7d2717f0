from softgrasp.hydraulics.arm import ArmChain as ArmChain
from softgrasp.hydraulics.arm import arm_spec as arm_spec
from softgrasp.hydraulics.calibration import ArmCalibrationProblem as ArmCalibrationProblem
from softgrasp.hydraulics.calibration import ArmCalibrationResult as ArmCalibrationResult
from softgrasp.hydraulics.calibration import ArmMotion as ArmMotion
from softgrasp.hydraulics.calibration import recorded_motion as recorded_motion
from softgrasp.hydraulics.description import HydraulicArm as HydraulicArm
from softgrasp.hydraulics.description import HydraulicCarrier as HydraulicCarrier
from softgrasp.hydraulics.drive import DriveModel as DriveModel
from softgrasp.hydraulics.drive import drive_model as drive_model
from softgrasp.hydraulics.drive import pressure_of_torque as pressure_of_torque
from softgrasp.hydraulics.files import load_hydraulic_arm as load_hydraulic_arm
from softgrasp.hydraulics.files import load_torques as load_torques
from softgrasp.hydraulics.files import save_hydraulic_arm as save_hydraulic_arm
from softgrasp.hydraulics.integrators import CoupledStepper as CoupledStepper
from softgrasp.hydraulics.integrators import DriveStepper as DriveStepper
from softgrasp.hydraulics.integrators import PressureRecording as PressureRecording
from softgrasp.hydraulics.integrators import TipRecording as TipRecording
from softgrasp.hydraulics.integrators import TorqueTable as TorqueTable
from softgrasp.hydraulics.integrators import drive_pressures as drive_pressures
from softgrasp.hydraulics.integrators import settling_times as settling_times
from softgrasp.hydraulics.report import write_arm_report as write_arm_report
from softgrasp.hydraulics.run import ArmRun as ArmRun
from softgrasp.hydraulics.run import run_arm as run_arm

NAMES: dict[str, tuple[str, ...]]
