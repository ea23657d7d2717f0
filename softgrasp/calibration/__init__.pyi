from softgrasp.calibration.credibility import Credibility as Credibility
from softgrasp.calibration.files import load_problem as load_problem
from softgrasp.calibration.joint_model import Priors as Priors
from softgrasp.calibration.next_measurements import next_measurements as next_measurements
from softgrasp.calibration.posterior import Posterior as Posterior
from softgrasp.calibration.posterior import joint_posterior as joint_posterior
from softgrasp.calibration.result import CalibrationResult as CalibrationResult
from softgrasp.calibration.result import load_calibration as load_calibration
from softgrasp.calibration.result import save_calibration as save_calibration
from softgrasp.calibration.stages import VirtualExperiments as VirtualExperiments
from softgrasp.report.calibration import write_calibration_report as write_calibration_report

NAMES: dict[str, tuple[str, ...]]
