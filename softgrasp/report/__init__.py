"""Figures, tables and self-contained HTML reports of finished runs."""

from __future__ import annotations

from softgrasp._lazy import lazy_names

NAMES = {
    "report.style": ("=style", "signed"),
    "report.contact_figures": ("final_poses",),
    "report.grasp_report": ("write_report",),
    "report.notebook": ("progress_bar", "video_html"),
    "report.saved": ("write_report_from",),
    "report.sweep": ("write_sweep_report",),
    "report.time_series": ("overlay_objects",),
}
"""Public names by the module that defines them; ``=name`` is the module itself."""

__all__, __getattr__, __dir__ = lazy_names(__name__, NAMES)
