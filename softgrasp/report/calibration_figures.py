"""The figures of a calibration, after those of paper 000."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.calibration.result import CalibrationResult, StageResult
from softgrasp.mechanics.soft_kinematics import joint_positions
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MM, DEGREES = 1e3, 180.0 / np.pi
GROUP = 10
"""Iterations whose personal bests are averaged, as in Fig 9 of paper 000."""
SHOWN_AS = {"k": ("N·m/rad", 1.0), "c": ("10⁻³ N·m·s/rad", 1e3), "alpha": ("10⁻⁶ m³", 1e6)}
SYMBOLS = {"springs": "k", "dampers": "c", "torques": "alpha"}


def draw_fitness(result: CalibrationResult, path: str | Path) -> Path:
    """Fitness of all particles and the best so far, a panel a stage (Fig 8 of paper 000)."""
    count = len(result.stages)
    with style.figure(path, 3.0) as figure:
        grid = style.panels(figure, 1, count, margins=(0.65, 0.15, 0.5, 0.35), gaps=(0.6, 0.3))
        for index, stage in enumerate(result.stages):
            _fitness(figure.add_subplot(grid[0, index]), stage)
    return Path(path)


def _fitness(axes: Axes, stage: StageResult) -> None:
    swarm = [step for step in stage.history if len(step.fitness) > 1]
    for number, step in enumerate(swarm, start=1):
        axes.plot(
            np.full(len(step.fitness), number), step.fitness, ls="", marker=".", ms=2.5,
            color=style.SERIES[0], alpha=0.35, mew=0,
        )  # fmt: skip
    best = [step.best for step in stage.history]
    axes.plot(np.arange(1, len(best) + 1), best, color=style.LOST, lw=1.4)
    axes.set_yscale("log")
    steps = "iteration" if len(swarm) == len(stage.history) else "step"
    axes.set_xlabel(steps)
    axes.set_title(f"{stage.name}: fitness, {stage.evaluations} evaluations")


def draw_boxes(result: CalibrationResult, path: str | Path) -> Path | None:
    """Personal bests averaged every ten iterations, a panel a joint (Fig 9 of paper 000).

    Returns:
        None where no swarm was used.
    """
    stages = [stage for stage in result.stages if "pso" in result.method and len(_bests(stage))]
    # those with one parameter only where there are no others: they say little
    stages = [stage for stage in stages if len(stage.names) > 1] or stages
    if not stages:
        return None
    columns = max(len(stage.names) for stage in stages)
    with style.figure(path, 0.5 + 1.75 * len(stages)) as figure:
        grid = style.panels(
            figure, len(stages), columns, margins=(0.6, 0.1, 0.45, 0.3), gaps=(0.36, 0.42)
        )
        for row, stage in enumerate(stages):
            bests = _bests(stage)
            for column, name in enumerate(stage.names):
                axes = figure.add_subplot(grid[row, column])
                _boxes(axes, stage, bests[:, :, column], name)
                if row == len(stages) - 1:
                    axes.set_xlabel("iteration")
    return Path(path)


def _boxes(axes: Axes, stage: StageResult, bests: Array, name: str) -> None:
    unit, factor = _shown(stage)
    groups = [bests[i : i + GROUP].mean(axis=0) * factor for i in range(0, len(bests), GROUP)]
    axes.boxplot(
        groups, widths=0.6, patch_artist=True, showfliers=False,
        boxprops={"facecolor": style.ESTABLISHED, "edgecolor": style.EDGE, "linewidth": 0.6},
        medianprops={"color": style.LOST, "linewidth": 1.0},
        whiskerprops={"linewidth": 0.6, "color": style.MUTED},
        capprops={"linewidth": 0.6, "color": style.MUTED},
    )  # fmt: skip
    index = stage.names.index(name)
    axes.axhline(stage.values[index] * factor, color=style.TARGET, lw=0.9, ls="--")
    marks = [place for place in range(1, len(groups) + 1) if place * GROUP % 50 == 0] or [1]
    axes.set_xticks(marks, [str(place * GROUP) for place in marks])
    axes.set_title(name if index else f"{name} [{unit}]")
    axes.grid(visible=False, axis="x")


def _bests(stage: StageResult) -> Array:
    """Positions of the personal bests after each iteration, (T, particles, p)."""
    swarm = [step for step in stage.history if len(step.fitness) > 1]
    if len(swarm) < 2 or any(step.positions.shape != swarm[0].positions.shape for step in swarm):
        return np.zeros((0, 0, 0))
    best = np.full(len(swarm[0].fitness), np.inf)
    places, found = swarm[0].positions.copy(), []
    for step in swarm:
        better = step.fitness < best
        best = np.where(better, step.fitness, best)
        places = np.where(better[:, None], step.positions, places)
        found.append(places)
    return np.array(found)


def draw_parameters(result: CalibrationResult, path: str | Path) -> Path:
    """Parameters with standard errors, between their bounds, a panel a stage."""
    count = len(result.stages)
    with style.figure(path, 2.9) as figure:
        grid = style.panels(figure, 1, count, margins=(0.6, 0.15, 0.5, 0.35), gaps=(0.6, 0.3))
        for index, stage in enumerate(result.stages):
            _parameters(figure.add_subplot(grid[0, index]), stage, set(result.undetermined))
    return Path(path)


def _parameters(axes: Axes, stage: StageResult, unknown: set[str]) -> None:
    unit, factor = _shown(stage)
    width = (stage.upper - stage.lower) * factor
    # an error that is infinite reaches over all that is allowed, and so does one beyond it
    errors = np.minimum(np.nan_to_num(stage.certainty.errors * factor, posinf=np.inf), 2 * width)
    places = np.arange(len(stage.names))
    for place, name in enumerate(stage.names):
        known = name not in unknown
        color = style.EDGE if known else style.LOST
        axes.errorbar(
            place, stage.values[place] * factor, yerr=errors[place], color=color, fmt="o", ms=5,
            capsize=3, lw=1.3, mfc=color if known else "white",
        )  # fmt: skip
    for bound in (stage.lower, stage.upper):
        axes.hlines(bound * factor, places - 0.5, places + 0.5, color=style.MUTED, lw=0.8, ls=":")
    axes.set_xticks(places, stage.names)
    low, high = float((stage.lower * factor).min()), float((stage.upper * factor).max())
    axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
    axes.set_title(f"{stage.name} [{unit}]")


def draw_correlation(result: CalibrationResult, path: str | Path) -> Path | None:
    """Correlations of parameters at the optimum, a panel a stage.

    Returns:
        None where no stage has several parameters.
    """
    stages = [stage for stage in result.stages if len(stage.names) > 1]
    if not stages:
        return None
    count = len(stages)
    with style.figure(path, 3.4, 0.6 + 3.1 * count) as figure:
        grid = style.panels(figure, 1, count, margins=(0.5, 0.8, 0.4, 0.35), gaps=(0.7, 0.3))
        for index, stage in enumerate(stages):
            axes = figure.add_subplot(grid[0, index])
            unknown = ~np.isfinite(stage.certainty.relative)
            shown = np.where(unknown | unknown[:, None], np.nan, stage.certainty.correlation)
            axes.set_facecolor(style.RULE)
            picture = axes.imshow(shown, vmin=-1, vmax=1, cmap="RdBu_r")
            marks = np.arange(len(stage.names))
            axes.set_xticks(marks, stage.names)
            axes.set_yticks(marks, stage.names)
            axes.set_title(stage.name)
            axes.grid(visible=False)
            if index == count - 1:
                figure.colorbar(picture, cax=axes.inset_axes((1.06, 0.0, 0.05, 1.0)))
    return Path(path)


def draw_shapes(result: CalibrationResult, path: str | Path) -> Path | None:
    """Measured and simulated shapes under weights, held-out ones marked (Fig 6 of paper 000).

    Returns:
        None where no angles were measured.
    """
    loads = sorted(result.problem.hung, key=lambda load: load.mass)
    if not loads or "springs" not in result.residual:
        return None
    from softgrasp.calibration.benches import Benches
    from softgrasp.calibration.parameters import own_values

    stiffness = own_values(result.finger, "stiffness")[None]
    simulated = Benches(result.problem).hung(stiffness, loads)
    columns = min(len(loads), 4)
    rows = -(-len(loads) // columns)
    with style.figure(path, 0.7 + 1.7 * rows) as figure:
        grid = style.panels(figure, rows, columns, margins=(0.55, 0.1, 0.45, 0.55), gaps=(0.3, 0.4))
        for index, (load, angles) in enumerate(zip(loads, simulated, strict=True)):
            axes = figure.add_subplot(grid[index // columns, index % columns])
            measured = np.array(load.angles)
            for values, color, label, line in (
                (measured, style.LOST, "measured", "-"),
                (angles[0], style.POSITION, "simulated", "--"),
            ):
                x, z = _line(result, values)
                axes.plot(x, z, color=color, ls=line, marker="o", ms=3, label=label)
            left = DEGREES * np.sqrt(np.mean(np.square(angles[0] - measured)))
            told = ", held out" if load.held_out else ""
            axes.set_title(f"{MM * load.mass:g} g{told}: {left:.2f}° rms")
            axes.set_aspect("equal", adjustable="datalim")
            if index % columns == 0:
                axes.set_ylabel("z [mm]")
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


def draw_releases(result: CalibrationResult, path: str | Path) -> Path | None:
    """Settling times and overshoots by weight, measured and simulated (Fig 7a, b of paper 000)."""
    if "dampers" not in result.residual or result.problem.release_objective != "settling":
        return None
    stage = result.stage("dampers")
    with style.figure(path, 2.8) as figure:
        grid = style.panels(figure, 1, 2, margins=(0.6, 0.15, 0.65, 0.6), gaps=(0.6, 0.3))
        for index, (start, label) in enumerate(
            (("settling time ", "settling time [s]"), ("overshoots ", "overshoots"))
        ):
            axes = figure.add_subplot(grid[0, index])
            _bars(axes, stage, start)
            axes.set_title(label)
            axes.set_xlabel("weight released")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles, columns=2)
    return Path(path)


def draw_settling(result: CalibrationResult, path: str | Path) -> Path | None:
    """Tips on their way to rest, with the extrema that count (Fig 4 of paper 000)."""
    from softgrasp.calibration.benches import Benches
    from softgrasp.calibration.parameters import own_values
    from softgrasp.mechanics.settling import settling

    releases = sorted(result.problem.releases, key=lambda one: one.mass)
    if not releases or "dampers" not in result.residual:
        return None
    own = [own_values(result.finger, kind)[None] for kind in ("stiffness", "damping")]
    time, heights = Benches(result.problem).released(own[0], own[1], releases)
    columns = min(len(releases), 2)
    rows = -(-len(releases) // columns)
    with style.figure(path, 0.8 + 1.9 * rows) as figure:
        grid = style.panels(figure, rows, columns, margins=(0.6, 0.15, 0.5, 0.55), gaps=(0.5, 0.5))
        for index, (one, height) in enumerate(zip(releases, heights[0], strict=True)):
            axes = figure.add_subplot(grid[index // columns, index % columns])
            told = settling(time, height, result.problem.release_rule)
            middle = float(np.mean(height[len(height) // 2 :]))
            axes.plot(time, MM * (height - middle), color=style.POSITION, lw=1.1, label="simulated")
            if one.times:
                measured = np.array(one.heights)
                level = np.mean(measured[len(measured) // 2 :])
                axes.plot(
                    one.times, MM * (measured - level), color=style.LOST, lw=0.8, label="measured"
                )
            axes.plot(
                told.extremum_times, MM * (told.extremum_heights - middle), "o", ms=3.5,
                color=style.TARGET, label="counted",
            )  # fmt: skip
            if np.isfinite(told.time):
                axes.axvline(told.time, color=style.MUTED, lw=0.9, ls="--")
            title = f"{MM * one.mass:g} g{', held out' if one.held_out else ''}: "
            title += f"{told.overshoots}, {told.time:.3f} s"
            if one.overshoots is not None:
                title += f"; measured {one.overshoots}, {one.settling_time:.3f} s"
            axes.set_title(title)
            if index % columns == 0:
                axes.set_ylabel("height of the tip [mm]")
            if index // columns == rows - 1:
                axes.set_xlabel("time [s]")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles, columns=3)
    return Path(path)


def _bars(axes: Axes, stage: StageResult, start: str) -> None:
    rows = [
        (label.removeprefix(start) + mark, measured, simulated)
        for labels, values, found, mark in (
            (stage.labels, stage.measured, stage.simulated, ""),
            (stage.held_out_labels, stage.held_out_measured, stage.held_out_simulated,
             "\nheld out"),
        )
        for label, measured, simulated in zip(labels, values, found, strict=True)
        if label.startswith(start)
    ]  # fmt: skip
    from matplotlib.ticker import MaxNLocator

    rows.sort(key=lambda row: float(row[0].split()[0]))
    names, measured, simulated = zip(*rows, strict=True)
    places = np.arange(len(rows))
    axes.bar(places - 0.2, measured, 0.38, color=style.SERIES[3], label="measured")
    axes.bar(places + 0.2, simulated, 0.38, color=style.SERIES[0], label="simulated")
    axes.set_xticks(places, names)
    if start.startswith("overshoots"):
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False, axis="x")


def draw_forces(result: CalibrationResult, path: str | Path) -> Path | None:
    """Tip force over pressure, measured and simulated, with what is left (Fig 5b and 7c)."""
    from softgrasp.calibration.benches import Benches
    from softgrasp.calibration.parameters import own_values
    from softgrasp.description.calibration import TipForce

    forces = result.problem.forces
    if not forces or "torques" not in result.residual:
        return None
    ends = max(one.pressure for one in forces)
    grid = [TipForce(pressure=float(p), force=0.0) for p in np.linspace(0.0, ends, 41)]
    own = [own_values(result.finger, kind)[None] for kind in ("stiffness", "gain")]
    curve = Benches(result.problem).forces(own[0], own[1], grid)[0]
    there = Benches(result.problem).forces(own[0], own[1], forces)[0]
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
        both.set_title("simulated angle [deg]; open: held out")
        left.set_title("simulated − measured [deg]")
        for axes in (both, left):
            axes.set_xlabel("measured [deg]")
        left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Path(path)


def _shown(stage: StageResult) -> tuple[str, float]:
    """Unit and factor in which a stage's parameters are readable."""
    if not stage.names[0].startswith(SYMBOLS[stage.name]):
        return stage.units[0], 1.0
    return SHOWN_AS[SYMBOLS[stage.name]]
