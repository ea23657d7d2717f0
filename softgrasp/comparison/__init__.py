"""The same scene in several physics engines: differences, tolerances and verdicts."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "comparison.compare": ("crosscheck", "CrosscheckResult", "load_crosscheck", "save_crosscheck"),
    "comparison.criteria": ("Tolerances",),
    "comparison.dexgraspbench": ("BenchmarkRow", "diversity", "GraspBenchmark"),
    "report.comparison": ("write_crosscheck_report",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
