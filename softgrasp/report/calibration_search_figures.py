"""What a search of parameters went through, and how sure they are (Fig 8 and 9 of paper 000)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.calibration.result import CalibrationResult, EstimatedParameters, StageResult
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP = 10
"""Iterations whose personal bests are averaged, as in Fig 9 of paper 000."""
BEYOND = 0.5
"""Bars are drawn so far beyond the bounds, over the way between them; longer ones are cut."""
SHOWN_AS = {"k": ("N·m/rad", 1.0), "c": ("10⁻³ N·m·s/rad", 1e3), "alpha": ("10⁻⁶ m³", 1e6)}
SYMBOLS = {"springs": "k", "dampers": "c", "torques": "alpha"}


def draw_fitness(result: EstimatedParameters, path: str | Path) -> Path:
    """Fitness of all particles and the best so far, a panel a stage (Fig 8 of paper 000)."""
    count = len(result.stages)
    with style.figure(path, 3.0) as figure:
        grid = style.panels(figure, 1, count, margins=(0.65, 0.15, 0.5, 0.35), gaps=(0.6, 0.3))
        for index, stage in enumerate(result.stages):
            unit = _objective_unit(result, stage)
            _fitness(figure.add_subplot(grid[0, index]), stage, unit)
    return Path(path)


def has_particles(result: EstimatedParameters) -> bool:
    """Whether the search was one of a swarm."""
    return any(len(step.fitness) > 1 for stage in result.stages for step in stage.history)


def _objective_unit(result: EstimatedParameters, stage: StageResult) -> str:
    """Of what a stage made as small as it could; empty where nobody says."""
    if not isinstance(result, CalibrationResult) or not stage.residual_unit:
        return ""
    problem, squared = result.problem, f"{stage.residual_unit}²"
    if stage.name == "dampers":
        return "s" if problem.release_objective == "settling" else squared
    if stage.name == "torques":
        return {"squares": squared, "product": ""}.get(problem.force_objective, "N")
    return squared


def _fitness(axes: Axes, stage: StageResult, unit: str) -> None:
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
    axes.set_ylabel(f"objective [{unit}]" if unit else "objective")
    axes.set_title(f"{stage.name}, {stage.evaluations} evaluations")


def draw_boxes(result: EstimatedParameters, path: str | Path) -> Path | None:
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
    marks = [
        group_index for group_index in range(1, len(groups) + 1) if group_index * GROUP % 50 == 0
    ] or [1]
    axes.set_xticks(marks, [str(group_index * GROUP) for group_index in marks])
    axes.set_title(name if index else f"{name} [{unit}]")
    axes.grid(visible=False, axis="x")


def _bests(stage: StageResult) -> Array:
    """Positions of the personal bests after each iteration, (T, particles, p)."""
    swarm = [step for step in stage.history if len(step.fitness) > 1]
    if len(swarm) < 2 or any(step.positions.shape != swarm[0].positions.shape for step in swarm):
        return np.zeros((0, 0, 0))
    best = np.full(len(swarm[0].fitness), np.inf)
    best_positions, bests = swarm[0].positions.copy(), []
    for step in swarm:
        better = step.fitness < best
        best = np.where(better, step.fitness, best)
        best_positions = np.where(better[:, None], step.positions, best_positions)
        bests.append(best_positions)
    return np.array(bests)


def draw_parameters(result: EstimatedParameters, path: str | Path) -> Path | None:
    """Parameters with standard errors, between their bounds, a panel a stage.

    Returns:
        None where no stage has several parameters: a table says all about one.
    """
    stages = [stage for stage in result.stages if len(stage.names) > 1]
    if not stages:
        return None
    with style.figure(path, 2.9) as figure:
        grid = style.panels(figure, 1, len(stages), margins=(0.6, 0.15, 0.5, 0.35), gaps=(0.6, 0.3))
        for index, stage in enumerate(stages):
            _parameters(figure.add_subplot(grid[0, index]), stage, set(result.undetermined))
    return Path(path)


def _parameters(axes: Axes, stage: StageResult, unknown: set[str]) -> None:
    unit, factor = _shown(stage)
    values, width = stage.values * factor, (stage.upper - stage.lower) * factor
    # an error that is infinite reaches over all that is allowed, and so does one beyond it
    errors = np.minimum(np.nan_to_num(stage.uncertainty.errors * factor, posinf=np.inf), 2 * width)
    indices = np.arange(len(stage.names))
    low, high = float((stage.lower * factor).min()), float((stage.upper * factor).max())
    bottom = max(float((values - errors).min()), low - BEYOND * (high - low))
    top = min(float((values + errors).max()), high + BEYOND * (high - low))
    spare = 0.08 * (high - low)
    axes.set_ylim(min(low, bottom) - spare, max(high, top) + spare)
    for index, name in enumerate(stage.names):
        known = name not in unknown
        color = style.EDGE if known else style.LOST
        axes.errorbar(
            index, values[index], yerr=errors[index], color=color, fmt="o", ms=5,
            capsize=3, lw=1.3, mfc=color if known else "white",
        )  # fmt: skip
        _point_out(axes, index, values[index] - errors[index], values[index] + errors[index], color)
    for bound in (stage.lower, stage.upper):
        axes.hlines(bound * factor, indices - 0.5, indices + 0.5, color=style.MUTED, lw=0.8, ls=":")
    axes.set_xticks(indices, stage.names)
    axes.set_title(f"{stage.name} [{unit}]")


def _point_out(axes: Axes, position: float, low: float, high: float, color: str) -> None:
    """Points at the frame where a bar goes on beyond it."""
    bottom, top = axes.get_ylim()
    for beyond, edge, marker in ((low < bottom, 0.0, "v"), (high > top, 1.0, "^")):
        if beyond:
            axes.plot([position], [edge], marker, ms=6, mew=0, color=color, clip_on=False,
                      transform=axes.get_xaxis_transform())  # fmt: skip


def draw_correlation(result: EstimatedParameters, path: str | Path) -> Path | None:
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
            unknown = ~np.isfinite(stage.uncertainty.relative)
            shown = np.where(unknown | unknown[:, None], np.nan, stage.uncertainty.correlation)
            axes.set_facecolor(style.RULE)
            heat_map = axes.imshow(shown, vmin=-1, vmax=1, cmap="RdBu_r")
            marks = np.arange(len(stage.names))
            axes.set_xticks(marks, stage.names)
            axes.set_yticks(marks, stage.names)
            axes.set_title(stage.name)
            axes.grid(visible=False)
            if index == count - 1:
                figure.colorbar(heat_map, cax=axes.inset_axes((1.06, 0.0, 0.05, 1.0)))
    return Path(path)


def _shown(stage: StageResult) -> tuple[str, float]:
    """Unit and factor in which a stage's parameters are readable."""
    if not stage.names[0].startswith(SYMBOLS[stage.name]):
        return stage.units[0], 1.0
    return SHOWN_AS[SYMBOLS[stage.name]]
