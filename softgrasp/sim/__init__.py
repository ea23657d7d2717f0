"""Run scenes: motion, contact detection, physics and recordings."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "sim.contacts": ("contact_points", "ContactPoint", "ContactReader", "OtherPoint"),
    "sim.control_state": ("caught_warnings", "has_diverged", "Recording"),
    "sim.load_balance": ("borne_by_hand", "LoadRecord", "NO_LOAD"),
    "sim.motion_plan": ("PhaseRows",),
    "sim.run_record": (
        "ContactEvent", "EngineRecord", "EventLog", "FinishedRun", "PullRecord", "PushRecord",
    ),
    "sim.sensors": ("Sensing",),
    "sim.suction": ("Suction", "SuctionEvent"),
}  # fmt: skip
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
