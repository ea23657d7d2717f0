"""Verbs of hydraulic arms: ``softgrasp demo hydraulic`` and ``list hydraulic-arms``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp import assets
from softgrasp.plugin_api import remove_written, terminal

Row = dict[str, Any]
ARM, TORQUES, LINKS = "hydraulic_two_section", "paper003_ramp", 6


def run_hydraulic_demo(
    directory: Path, torques: str | None, *, renderer: str, video: bool, report: bool, json: bool
) -> None:
    """Move the arm under the torques, write the files and print a summary.

    Raises:
        SoftgraspError: The torques are wrong, or the directory cannot be written.
    """
    from softgrasp.hydraulics.files import load_hydraulic_arm, load_torques
    from softgrasp.hydraulics.report import (
        WRITTEN,
        cells_clause,
        curvature_clause,
        flow_clause,
        pressure_clause,
        tip_clause,
        write_arm_report,
    )
    from softgrasp.hydraulics.run import arm_document, run_arm

    arm, table = load_hydraulic_arm(ARM), load_torques(torques or TORQUES)
    terminal.require_writable(directory)
    with terminal.progress_bar() as update:
        update("moving the arm", None)
        run = run_arm(arm, table, links=LINKS)
        remove_written(directory, WRITTEN)
        files = write_arm_report(
            run,
            directory,
            renderer=renderer,
            video=video,
            report=report,
            progress=lambda file, done: update(f"writing {file}", done),
        )
    if json:
        terminal.put_json(arm_document(run) | {"files": [str(file) for file in files]})
        return
    terminal.put(f"arm       {arm.name}: {run.times[-1]:g} s, {run.links} cells a section")
    terminal.put(f"pressure  {pressure_clause(run)}")
    terminal.put(f"flow      {flow_clause(run)}")
    terminal.put(f"bends     {curvature_clause(run)}")
    terminal.put(f"tip       {tip_clause(run)}")
    terminal.put(f"cells     {cells_clause(run)}")
    terminal.put("files     " + "\n          ".join(map(str, files)))


def hydraulic_arms() -> list[Row]:
    """Return one table row for each hydraulic arm."""
    from softgrasp.hydraulics.files import load_hydraulic_arm

    return [
        {
            "name": name,
            "sections": len(arm.sections),
            "chambers": len(arm.chambers),
            "mass_kg": float(f"{sum(section.mass for section in arm.sections):.4g}"),
            "source": arm.source,
        }
        for name in assets.names("hydraulic_arms")
        for arm in [load_hydraulic_arm(name)]
    ]
