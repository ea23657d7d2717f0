"""Figures, words and one self-contained page about a finished run."""

from softgrasp.report.object_figure import overlay_objects
from softgrasp.report.page import write_report
from softgrasp.report.strip_figure import final_poses

__all__ = ["final_poses", "overlay_objects", "write_report"]
