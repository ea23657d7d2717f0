"""``softgrasp demo hydraulic``: the two-section arm under the ramps of paper 003."""

from __future__ import annotations

from pathlib import Path

from softgrasp.cli import terminal
from softgrasp.cli.terminal import require_writable

ARM, TORQUES, LINKS = "hydraulic_two_section", "paper003_ramp", 6


def run_hydraulic_demo(
    directory: Path, torques: str | None, *, renderer: str, video: bool, report: bool, json: bool
) -> None:
    """Move the arm, write its files and tell what happened.

    Raises:
        SoftgraspError: Something is wrong or missing.
    """
    from softgrasp.formats.hydraulic_arm_file import load_hydraulic_arm
    from softgrasp.formats.torque_file import load_torques
    from softgrasp.report.hydraulic_page import write_arm_report
    from softgrasp.report.hydraulic_words import (
        curvature_clause,
        flow_clause,
        pressure_clause,
        tip_clause,
    )
    from softgrasp.simulation.hydraulic_record import arm_document
    from softgrasp.simulation.hydraulic_run import run_arm

    arm, table = load_hydraulic_arm(ARM), load_torques(torques or TORQUES)
    require_writable(directory)
    with terminal.progress_bar() as update:
        update("moving the arm", None)
        run = run_arm(arm, table, links=LINKS)
        _clear_earlier(directory)
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
    terminal.put("files     " + "\n          ".join(map(str, files)))


def _clear_earlier(directory: Path) -> None:
    """Remove what an earlier run of an arm wrote; other folders stay as they are."""
    from softgrasp.errors import SoftgraspError
    from softgrasp.formats.results import RESULT_FILE, read_document
    from softgrasp.report.hydraulic_page import WRITTEN

    try:
        earlier = read_document(directory / RESULT_FILE)
    except SoftgraspError:
        return
    if earlier.get("kind") == "hydraulic_arm":
        for name in WRITTEN:
            (directory / name).unlink(missing_ok=True)
