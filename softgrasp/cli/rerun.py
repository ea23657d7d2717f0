"""``softgrasp rerun``: repeat a result and compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp._version import __version__
from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out
from softgrasp.cli.verb import PROBLEMS

if TYPE_CHECKING:
    from softgrasp.simulation.result import GraspResult


def rerun(
    result_dir: Annotated[
        Path, typer.Argument(metavar="RESULT_DIR", help="Folder that holds a result.json.")
    ],
    out: Out = None,
    json: Json = False,
) -> None:
    """Repeat a result from its result.json and compare the trajectories bit for bit.

    Exits with 0 where they are equal and with 1 where they differ. With --out the new result is
    written there.
    """
    from softgrasp.cli.output import require_writable
    from softgrasp.formats.results import RESULT_FILE, read_document
    from softgrasp.simulation.record import load_result
    from softgrasp.simulation.run import simulate

    directory = result_dir.parent if result_dir.name == RESULT_FILE else result_dir
    if out is not None:
        require_writable(out)
    before = load_result(directory)
    made_by = str(read_document(directory / RESULT_FILE).get("softgrasp_version"))
    with terminal.progress_bar() as update:
        after = simulate(
            before.scene,
            before.backend["name"],
            progress=lambda now: update(
                f"simulating {now:.3f} s", min(now / (before.simulated_time or 1.0), 1.0)
            ),
        )
    notes = _other_versions(before, after, made_by)
    files = after.save(out) if out is not None else []
    comparison = _comparison(before, after) | {"notes": notes, "files": [str(f) for f in files]}
    if json:
        terminal.put_json(comparison)
    else:
        _print_summary(comparison)
    if not comparison["equal"]:
        raise typer.Exit(PROBLEMS)


def _comparison(before: GraspResult, after: GraspResult) -> dict[str, Any]:
    equal = before.trajectory_sha256 == after.trajectory_sha256
    comparison = {
        "equal": equal,
        "trajectory_sha256": before.trajectory_sha256,
        "repeated_sha256": after.trajectory_sha256,
        "status": before.status.name,
        "repeated_status": after.status.name,
    }
    return comparison if equal else comparison | {"differences": _differences(before, after)}


UNITS = {
    "time": "s",
    "joint_position": "rad or m",
    "object_position": "m",
    "object_positions": "m",
    "object_nodes": "m",
    "normal_force": "N",
    "friction_force": "N",
    "object_normal_force": "N",
    "pressure": "Pa",
    "curvature": "1/m",
}
"""Of what is compared; what has none or several is left out."""


def _differences(before: GraspResult, after: GraspResult) -> list[str]:
    """Which arrays differ, and by how much at most."""
    import numpy as np

    differences = []
    repeated = after.trajectory()
    for name, array in before.trajectory().items():
        other = repeated[name]
        if array.shape != other.shape:
            differences.append(f"{name}: shape {array.shape}, repeated {other.shape}")
        elif array.dtype.kind == "f" and not np.array_equal(array, other):
            unit = f" {UNITS[name]}" if name in UNITS else ""
            differences.append(f"{name}: by {np.abs(array - other).max():.3g}{unit} at most")
        elif not np.array_equal(array, other):
            differences.append(f"{name}: other values")
    return differences


def _other_versions(before: GraspResult, after: GraspResult, made_by: str) -> list[str]:
    notes = []
    if made_by != __version__:
        notes.append(f"made by softgrasp {made_by}, repeated by {__version__}")
    old, new = before.backend["version"], after.backend["version"]
    if old != new:
        notes.append(f"made with {before.backend['name']} {old}, repeated with {new}")
    return notes


def _print_summary(comparison: dict[str, Any]) -> None:
    for sentence in comparison["notes"]:
        terminal.put(sentence)
    if comparison["equal"]:
        terminal.put(f"equal: trajectory {comparison['trajectory_sha256']}")
    else:
        terminal.put(
            f"different: trajectory {comparison['trajectory_sha256']}, "
            f"repeated {comparison['repeated_sha256']}"
        )
        for difference in comparison["differences"]:
            terminal.put(f"  {difference}")
    for file in comparison["files"]:
        terminal.put(f"wrote {file}")
