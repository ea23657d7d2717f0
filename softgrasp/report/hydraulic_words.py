"""What a hydraulic arm did, in words and rows that are computed from its run."""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.hydraulic.flow_watch import law_holds_to
from softgrasp.mechanics.hydraulic.tube import LAMINAR, TURBULENT
from softgrasp.report.hydraulic_figures import curvature_lines
from softgrasp.report.style import signed
from softgrasp.simulation.hydraulic_moves import ArmMove, arm_moves
from softgrasp.simulation.hydraulic_run import ArmRun

HARDLY = 0.02
"""Part of the highest pressure below which a chamber counts as one without."""


def summary(run: ArmRun) -> str:
    """The run in a sentence or two."""
    moves = arm_moves(run)
    start = f"{len(run.arm.sections)} sections, {run.times[-1]:g} s"
    if not moves:
        return f"{start}. The torques do not change, so that only its weight moves the arm."
    return f"{start}. {' '.join(_sentence(index, move) for index, move in enumerate(moves, 1))}"


def key_numbers(run: ArmRun) -> list[tuple[str, str]]:
    """Names and values of what counts most."""
    fastest = int(np.argmax(run.speeds[:, -1]))
    bends = np.degrees(np.linalg.norm(run.bends[-1], axis=1)).tolist()
    return [
        ("End of the arm at the end, x, y, z", f"{_point_text(run.ends[-1, -1])} m"),
        ("Bends at the end", ", ".join(f"{bend:.1f}°" for bend in bends)),
        ("Highest pressure", f"{1e-6 * run.pressures.max():.3f} MPa"),
        (
            "Top speed of the end",
            f"{run.speeds[fastest, -1]:.2f} m/s at {run.times[fastest]:.2f} s",
        ),
        ("Largest Reynolds number in a tube", f"{run.largest_reynolds:.0f}"),
        *((f"Settled, change {i}", settled(move)) for i, move in enumerate(arm_moves(run), 1)),
    ]


def move_rows(run: ArmRun) -> list[list[str]]:
    """One row a change of the torques."""
    return [
        [
            str(index),
            f"{move.begin:.2f} … {move.command_end:.2f}",
            f"{move.distance:.3f}",
            settled(move),
            f"{100.0 * move.overshoot:.1f} %",
            f"{move.top_speed:.2f}",
            f"{move.top_speed_time:.2f}",
        ]
        for index, move in enumerate(arm_moves(run), 1)
    ]


def settled(move: ArmMove) -> str:
    """How long it took, or that it was not seen."""
    return "not seen" if move.settling is None else f"{move.settling:.2f} s"


def pressure_clause(run: ArmRun) -> str:
    """The highest pressure of each chamber that has more than the arm's motion makes, in words."""
    highest = 1e-6 * run.pressures.max(axis=0)
    threshold = max(HARDLY * highest.max(), 1e-6)
    used = [
        f"{p:.3f} MPa in chamber {k}" for k, p in enumerate(highest.tolist(), 1) if p > threshold
    ]
    return f"Highest: {', '.join(used)}." if used else "No chamber is under pressure."


def flow_clause(run: ArmRun) -> str:
    """The fastest flow, the law that it was given, and whether that holds, in words."""
    tube, number = run.arm.drive.tube, run.largest_reynolds
    if number <= LAMINAR:
        return f"Flow in the tubes: laminar, Reynolds number at most {number:.0f}."
    law = "Poiseuille's law of laminar flow" if tube.flow == "laminar" else "Blasius's law"
    text = f"Flow in the tubes: Reynolds number up to {number:.0f}; {law}"
    if number > law_holds_to(tube):
        return f"{text} holds up to {law_holds_to(tube):g} only, and the tubes resist more."
    return f"{text} takes over from laminar flow between {LAMINAR:g} and {TURBULENT:g}."


def coupling_clause(run: ArmRun) -> str:
    """Whether arm and fluid act on each other, in words."""
    if run.coupling == "state":
        return "Arm and fluid act on each other."
    return "The drives feel the arm's compliance at rest, not its motion."


def curvature_clause(run: ArmRun) -> str:
    """Curvature, bend and length of each section at the end, in words."""
    names, curvatures = curvature_lines(run)
    bent = [
        f"{name} {signed(k, 3)} 1/m" for name, k in zip(names, curvatures[-1].tolist(), strict=True)
    ]
    bends = np.degrees(np.linalg.norm(run.bends[-1], axis=1)).tolist()
    arcs = [
        f"{section.name} by {bend:.1f}° over {1e3 * length:.1f} mm"
        for section, bend, length in zip(
            run.arm.sections, bends, run.lengths[-1].tolist(), strict=True
        )
    ]
    return f"Curvature at the end: {', '.join(bent)}. Bent: {', '.join(arcs)}."


def tip_clause(run: ArmRun) -> str:
    """Settling, overshoot and speed of every change, in words."""
    moves = [
        f"change {i} settles in {settled(move)}, overshoots by {100.0 * move.overshoot:.1f} % of "
        f"{move.distance:.3f} m and is at most {move.top_speed:.2f} m/s fast"
        if move.settling is not None
        else f"change {i} was not seen to settle and is at most {move.top_speed:.2f} m/s fast"
        for i, move in enumerate(arm_moves(run), 1)
    ]
    text = "; ".join(moves) or "the torques do not change"
    return f"{text[0].upper()}{text[1:]}."


def poses_clause(run: ArmRun) -> str:
    """How long the way of the end is, and where it ends, in words."""
    path_length = np.linalg.norm(np.diff(run.ends[:, -1], axis=0), axis=1).sum()
    return f"The end of the arm goes {path_length:.3f} m and ends at {_point_text(run.ends[-1, -1])} m."


def _sentence(index: int, move: ArmMove) -> str:
    how = (
        "was not seen to settle"
        if move.settling is None
        else f"settles {move.settling:.2f} s after it begins"
    )
    return (
        f"Change {index} of the torques, from {move.begin:g} to {move.command_end:g} s, carries "
        f"the end {move.distance:.3f} m; it {how}."
    )


def _point_text(point: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    return ", ".join(signed(value, 3) for value in point.tolist())
