"""Parameters of soft fingers from photographs, video and force data, with their uncertainty."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "calibration.assessment": ("assess", "remarks_on_fit"),
    "calibration.calibrate": ("optimum_of",),
    "calibration.credibility": ("Credibility",),
    "calibration.files": ("load_problem",),
    "calibration.joint_model": ("Priors",),
    "calibration.measurement_checks": (
        *("doubt", "Finding", "implausible", "PlausibleQuantity", "rounding_step", "stop_of"),
    ),
    "calibration.objectives": ("Block", "mean_squared_error", "root_mean_square"),
    "calibration.optimizers": ("least_squares_search", "Swarm"),
    "calibration.pooling": ("Pool", "pool_fingers"),
    "calibration.pressure_step": (
        "fit_pressure_lag", "PressureFit", "PressureRecord", "read_pressure_record",
    ),
    "calibration.posterior": ("joint_posterior", "next_measurements", "Posterior"),
    "calibration.refits": (
        *("Alternative", "AngleTable", "Assessment", "Hypothesis", "MisfitTest", "Nuisance"),
        "single_values", "StageFit",
    ),
    "calibration.result": (
        "CalibrationResult", "CalibrationStatus", "ExtensionResult", "load_calibration",
        "save_calibration",
    ),
    "calibration.stages": ("Search", "Stage", "VirtualExperiments"),
    "report.calibration": ("write_calibration_report",),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
