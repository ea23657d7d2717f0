"""Run scenes: motion, contact detection, recording and results."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "sim.analysis": ("GraspAnalysis", "analysis_of"),
    "sim.outcome": ("GraspStatus", "Outcome"),
    "sim.result": (
        "ContactEvent",
        "GraspResult",
        "HoldTest",
        "OtherContact",
        "PhaseSpan",
        "SensorReading",
    ),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
