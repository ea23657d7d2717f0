"""Evaluate recordings: outcome, hold test, quality, and the result with its files."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "evaluation.analysis": ("GraspAnalysis", "analysis_of"),
    "evaluation.outcome": ("GraspStatus", "Outcome"),
    "evaluation.result": (
        "GraspResult",
        "HoldTest",
        "OtherContact",
        "PhaseSpan",
        "SensorReading",
    ),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
