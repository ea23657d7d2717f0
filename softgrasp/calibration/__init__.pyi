from softgrasp.calibration.files import load_problem as load_problem
from softgrasp.calibration.result import CalibrationResult as CalibrationResult
from softgrasp.calibration.result import load_calibration as load_calibration
from softgrasp.calibration.result import save_calibration as save_calibration
from softgrasp.calibration.stages import VirtualExperiments as VirtualExperiments
from softgrasp.report.calibration import write_calibration_report as write_calibration_report

NAMES: dict[str, tuple[str, ...]]
