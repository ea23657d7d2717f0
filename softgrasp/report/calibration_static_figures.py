"""Shapes, angles and forces at rest, measured and simulated (Fig 5b, 6 and 7c of paper 000)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from softgrasp.calibration.result import CalibrationResult
from softgrasp.continuum.statics import joint_positions
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

MM = 1e3
DEGREES = 180.0 / math.pi
EDGE_MM = 4.0
"""Room around the shapes of a finger [mm]."""


def draw_shapes(result: CalibrationResult, path: str | Path) -> Path | None:
    """Measured and simulated shapes under weights, held-out ones marked (Fig 6 of paper 000).

    Returns:
        None where no angles were measured.
    """
    loads = sorted(result.problem.hung, key=lambda load: load.mass)
    if not loads or "springs" not in result.residual:
        return None
    from softgrasp.calibration.objectives import finger_values
    from softgrasp.calibration.stages import VirtualExperiments

    stiffness = finger_values(result.finger, "stiffness")[None]
    simulated = VirtualExperiments(result.problem).hung(stiffness, loads)
    columns = min(len(loads), 4)
    rows = -(-len(loads) // columns)
    pairs = [
        (_line(result, np.array(load.angles)), _line(result, angles[0]))
        for load, angles in zip(loads, simulated, strict=True)
    ]
    seen = np.concatenate([np.stack(line, axis=-1) for pair in pairs for line in pair])
    low, high = seen.min(axis=0) - EDGE_MM, seen.max(axis=0) + EDGE_MM
    wide = (style.WIDTH - 0.65 - 0.3 * (columns - 1)) / columns
    tall = wide * float((high - low)[1] / (high - low)[0])
    with style.figure(path, 0.7 + (tall + 0.4) * rows) as figure:
        grid = style.panels(figure, rows, columns, margins=(0.55, 0.1, 0.5, 0.55), gaps=(0.3, 0.45))
        for index, (load, angles) in enumerate(zip(loads, simulated, strict=True)):
            axes = figure.add_subplot(grid[index // columns, index % columns])
            axes.plot(*pairs[index][1], color=style.POSITION, marker=".", ms=4, label="simulated")
            # rings around what is simulated, so that neither hides the other
            axes.plot(*pairs[index][0], "o", color=style.LOST, mfc="none", ms=7, label="measured")
            left = DEGREES * np.sqrt(np.mean(np.square(angles[0] - np.array(load.angles))))
            suffix = ", held out" if load.held_out else ""
            axes.set_title(f"{MM * load.mass:g} g{suffix}: {left:.2f}° rms")
            axes.set_aspect("equal")
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(low[1], high[1])
            axes.tick_params(labelleft=index % columns == 0)
            if index % columns == 0:
                axes.set_ylabel("z [mm]")
            if index + columns >= len(loads):
                axes.set_xlabel("x [mm]")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles, columns=2)
    return Path(path)


def _line(result: CalibrationResult, angles: Array) -> tuple[Array, Array]:
    """Joint points as far as angles were observed [mm]."""
    finger = result.finger
    whole = np.zeros(len(finger.joints))
    whole[: len(angles)] = angles
    points = MM * joint_positions(finger, whole)[: len(angles) + 1]
    return points[:, 0], points[:, 2]


def draw_angles(result: CalibrationResult, path: str | Path) -> Path | None:
    """Simulated over measured angles, and what is left of each joint."""
    if "springs" not in result.residual or result.problem.static_objective != "angles":
        return None
    stage = result.stage("springs")
    with style.figure(path, 3.2) as figure:
        grid = style.panels(figure, 1, 2, margins=(0.6, 0.8, 0.5, 0.35), gaps=(0.6, 0.3))
        both, left = (figure.add_subplot(grid[0, column]) for column in range(2))
        every = np.concatenate([stage.measured, stage.simulated]) * DEGREES
        ends = [float(every.min()), float(every.max())]
        both.plot(ends, ends, color=style.MUTED, lw=0.8)
        left.axhline(0.0, color=style.MUTED, lw=0.8)
        for labels, measured, simulated, held_out in (
            (stage.labels, stage.measured, stage.simulated, False),
            (stage.held_out_labels, stage.held_out_measured, stage.held_out_simulated, True),
        ):
            joints = [label.split()[0] for label in labels]
            for index, joint in enumerate(dict.fromkeys(joints)):
                some = [i for i, name in enumerate(joints) if name == joint]
                x, y = measured[some] * DEGREES, simulated[some] * DEGREES
                color = style.SERIES[index % len(style.SERIES)]
                face = "white" if held_out else color
                both.plot(x, y, "o", ms=4, color=color, mfc=face)
                label = None if held_out else joint
                left.plot(x, y - x, "o", ms=4, color=color, mfc=face, label=label)
        both.set_title(
            "simulated angle [°]" + ("; open: held out" if stage.held_out_labels else "")
        )
        left.set_title("simulated − measured [°]")
        for axes in (both, left):
            axes.set_xlabel("measured [°]")
        left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Path(path)


def draw_forces(result: CalibrationResult, path: str | Path) -> Path | None:
    """Tip force over pressure, measured and simulated, with what is left (Fig 5b and 7c)."""
    from softgrasp.calibration.objectives import finger_values
    from softgrasp.calibration.stages import VirtualExperiments
    from softgrasp.description.calibration import TipForce

    forces = result.problem.forces
    if not forces or "torques" not in result.residual:
        return None
    ends = max(one.pressure for one in forces)
    grid = [TipForce(pressure=float(p), force=0.0) for p in np.linspace(0.0, ends, 41)]
    parameters = [finger_values(result.finger, kind)[None] for kind in ("stiffness", "gain")]
    curve = VirtualExperiments(result.problem).forces(parameters[0], parameters[1], grid)[0]
    there = VirtualExperiments(result.problem).forces(parameters[0], parameters[1], forces)[0]
    with style.figure(path, 2.9) as figure:
        panels = style.panels(figure, 1, 2, margins=(0.6, 0.15, 0.5, 0.35), gaps=(0.6, 0.3))
        left, right = (figure.add_subplot(panels[0, column]) for column in range(2))
        left.plot([p.pressure / 1e3 for p in grid], curve, color=style.POSITION, label="simulated")
        for held_out, name in ((False, "measured"), (True, "measured, held out")):
            some = [i for i, one in enumerate(forces) if one.held_out == held_out]
            if not some:
                continue
            x = np.array([forces[i].pressure / 1e3 for i in some])
            y = np.array([forces[i].force for i in some])
            face = "white" if held_out else style.LOST
            for axes, values in ((left, y), (right, there[some] - y)):
                axes.plot(x, values, "o", color=style.LOST, mfc=face, ms=4, label=name)
        left.set_title("force at the tip [N]")
        right.set_title("simulated − measured [N]")
        right.axhline(0.0, color=style.MUTED, lw=0.8)
        left.legend()
        for axes in (left, right):
            axes.set_xlabel("pressure [kPa]")
    return Path(path)
