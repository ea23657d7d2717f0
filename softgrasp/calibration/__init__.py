"""Parameters of soft fingers from photographs, video and force data, with their uncertainty."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "calibration.credibility": ("Credibility",),
    "calibration.files": ("load_problem",),
    "calibration.joint_model": ("Priors",),
    "calibration.next_measurements": ("next_measurements",),
    "calibration.posterior": ("Posterior", "joint_posterior"),
    "calibration.result": ("CalibrationResult", "load_calibration", "save_calibration"),
    "calibration.stages": ("VirtualExperiments",),
    "report.calibration": ("write_calibration_report",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
