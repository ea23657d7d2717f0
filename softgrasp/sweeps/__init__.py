"""Many grasps from one sweep plan, and the grasp planner."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "sweeps.ensemble": ("EnsembleResult", "grasp_ensemble", "load_ensemble_result"),
    "sweeps.planner": ("plan_imported", "plan_grasps", "PlannedGrasps"),
    "sweeps.run": ("merge", "Shard", "sweep"),
    "sweeps.table": ("COLUMNS", "Row"),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
