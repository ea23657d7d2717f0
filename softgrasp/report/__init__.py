"""Figures, words and one self-contained page about a finished run."""

from softgrasp.report.contact_figures import final_poses
from softgrasp.report.grasp_page import write_report
from softgrasp.report.time_series import overlay_objects

__all__ = ["final_poses", "overlay_objects", "write_report"]
