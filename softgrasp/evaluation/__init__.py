"""Evaluate recordings: outcome, hold test, quality, and the result with its files."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "evaluation.analysis": ("analysis_of", "GraspAnalysis"),
    "evaluation.hold_result": ("CREEP_FRACTION", "is_within"),
    "evaluation.outcome": ("EJECTION_SAMPLES", "GraspStatus", "OPPOSING_TOLERANCE", "Outcome"),
    "evaluation.put_down": ("PutDown",),
    "evaluation.result": (
        "GraspResult", "HoldTest", "Interrupted", "OtherContact", "PhaseSpan", "SensorReading",
    ),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
