"""What the experiments of paper 003 found, beside what the paper prints, and what kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

import numpy as np

from softgrasp.simulation.hydraulic_experiment_results import (
    CHAIN,
    LUMPED,
    AnyRun,
    MotionRun,
    ReachRun,
    RefinementRun,
    RestsRun,
)
from softgrasp.simulation.hydraulic_moves import ArmMove
from softgrasp.simulation.hydraulic_shapes import ArmShapes

Kind = Literal["fitted", "predicted", "ours"]
"""Parameters were chosen with it in sight; they were not; or the paper says nothing of it."""
FIGURE_ONLY = "drawn only"
IN_PLANE = 1e-6
"""An arm whose axis leaves the plane by less is in it [m]."""
PRINTED_BENDS = ((165.7, 0.401, 0.139), (168.0, 0.3988, 0.136))
"""Bend [°], arc and radius [m] of sec. 3.1; the second arc is 0.136 m · 168°, printed is 0.473."""
BENDS_WITHIN = (0.015, 0.005, 0.02)
SETTLES = {"step-one-way": 1.0, "step-two-ways": 1.5}
"""Times within which the paper's simulations are steady [s]."""
LESS_BY = 3.0
"""What "significantly reduced" is taken for; the paper gives no number."""
NO_SWING = 0.02
"""Overshoot below which "no oscillation" is taken as met: the band that counts as settled."""
SAME_ANGLE = 0.05
"""Within which the limits of both models have to be [°]."""
PRINTED_ERRORS = {"sequential-steps": "0.0305 / 0.0565", "slow-ramps": "0.0245 / 0.042"}
"""The paper's model against its experiment, which is not published."""


@dataclass(frozen=True)
class Number:
    """A number of both models beside the paper's.

    Args:
        experiment: Its name.
        what: In words.
        unit: Of the numbers.
        paper: What the paper prints, in words.
        kind: See ``Kind``.
        values: Of the chain in MuJoCo, and of the lumped model.
        within: Least and largest number that agrees with the paper; None where it prints none.
        digits: Behind the point.
    """

    experiment: str
    what: str
    unit: str
    paper: str
    kind: Kind
    values: Sequence[float]
    within: tuple[float, float] | None = None
    digits: int = 3

    @property
    def chain(self) -> float:
        """Of the chain in MuJoCo."""
        return float(self.values[0])

    @property
    def lumped(self) -> float:
        """Of the lumped model."""
        return float(self.values[1])

    @property
    def met(self) -> str:
        """Which models agree with the paper: both, one by its name, neither; "" without bounds."""
        if self.within is None:
            return ""
        low, high = self.within
        values_of_model = {CHAIN: self.chain, LUMPED: self.lumped}
        good = [name for name, value in values_of_model.items() if low <= value <= high]
        return {0: "neither", 1: f"{good[0]} only" if good else "", 2: "both"}[len(good)]


@singledispatch
def numbers(run: AnyRun) -> list[Number]:
    """Everything that an experiment found, beside the paper's numbers."""
    raise TypeError(type(run).__name__)


@numbers.register
def _of_rests(run: RestsRun) -> list[Number]:
    if run.experiment.name == "bends":
        return _bends(run)
    if run.experiment.name == "limit-posture":
        return _postures(run)
    return _steady(run)


def _bends(run: RestsRun) -> list[Number]:
    entries = []
    for case, printed in enumerate(PRINTED_BENDS):
        motors = " and ".join(map(str, run.experiment.cases[case][0]))
        values = [_arc(shapes.angles[case, 0], shapes.lengths[case, 0]) for shapes in _both(run)]
        for index, (what, unit) in enumerate((("bend", "°"), ("arc", "m"), ("radius", "m"))):
            goal, relative_tolerance = printed[index], BENDS_WITHIN[index]
            entries.append(Number(
                run.experiment.name, f"{what}, 1 MPa in {motors}", unit, f"{goal:g}", "fitted",
                [values[0][index], values[1][index]], (goal * (1 - relative_tolerance), goal * (1 + relative_tolerance)),
                digits=1 if unit == "°" else 4,
            ))  # fmt: skip
    return entries


def _arc(angle: float, length: float) -> tuple[float, float, float]:
    return float(np.degrees(angle)), float(length), float(length / angle)


def _postures(run: RestsRun) -> list[Number]:
    name, angles = run.experiment.name, [np.degrees(s.angles[1:]) for s in _both(run)]
    ends = [float(shapes.ends[0, -1, 2]) for shapes in _both(run)]
    rows = [Number(name, "z of the end, all at the limit", "m", FIGURE_ONLY, "ours", ends)]
    for section, part in enumerate(run.arm.sections):
        for what, pick in (("least", np.min), ("largest", np.max)):
            values = [float(pick(angle_array[:, section])) for angle_array in angles]
            words = f"{what} bend of {part.name} at its limit"
            rows.append(Number(name, words, "°", FIGURE_ONLY, "ours", values, digits=1))
    return rows


def _steady(run: RestsRun) -> list[Number]:
    name, rows = run.experiment.name, []
    bends = [np.degrees(shapes.bends[:, :, 0]) for shapes in _both(run)]
    for section, part in enumerate(run.arm.sections):
        for case, (_, torque) in enumerate(run.experiment.cases):
            values = [float(bend_array[case, section]) for bend_array in bends]
            words = f"bend of {part.name} towards x at {torque:g} N·m"
            rows.append(Number(name, words, "°", FIGURE_ONLY, "predicted", values, digits=1))
    return rows


@numbers.register
def _of_motion(run: MotionRun) -> list[Number]:
    name, slow = run.experiment.name, run.experiment.name == "slow-ramps"
    rows = _settling(run)
    for index, moves in enumerate(_moves(run)):
        after = _after(run, index)
        swing, fast = [m.overshoot for m in moves], [m.top_speed for m in moves]
        claim, bounds = ("no oscillation", (0.0, NO_SWING)) if slow else (FIGURE_ONLY, None)
        rows.append(Number(name, f"overshoot{after}", "–", claim, "predicted", swing, bounds))
        rows.append(Number(name, f"top speed{after}", "m/s", FIGURE_ONLY, "predicted", fast,
                           digits=2))  # fmt: skip
        if run.at_once is not None:
            rows += _against_steps(name, moves, _moves(run.at_once)[index], after)
    away = [float(np.abs(shapes.backbone[..., 1]).max()) for shapes in _both(run)]
    fields = "farthest from the x–z plane", "m", "in the plane"
    rows.append(Number(name, *fields, "predicted", away, (0.0, IN_PLANE), digits=6))
    return rows


def _settling(run: MotionRun) -> list[Number]:
    """Of every section where the paper has a time, else of the end of the arm."""
    name, limit, rows = run.experiment.name, SETTLES.get(run.experiment.name), []
    last = len(run.arm.sections) - 1
    for section in range(last + 1) if limit else [last]:
        for index, moves in enumerate(_moves(run, section)):
            where = f" of {run.arm.sections[section].name}" if limit else ""
            values = [np.nan if m.settling is None else m.settling for m in moves]
            rows.append(Number(
                name, f"settled{where}{_after(run, index)}", "s",
                f"within {limit:g}" if limit else FIGURE_ONLY,
                "fitted" if limit else "predicted", values,
                (0.0, limit) if limit else None, digits=2,
            ))  # fmt: skip
    return rows


def _against_steps(name: str, ramp: Pair, step: Pair, after: str) -> list[Number]:
    """How many times less the end swings, and how much slower it is, than after steps."""
    bounds = (LESS_BY, np.inf)
    return [
        Number(name, f"overshoot after a step over this{after}", "–", "significantly reduced",
               "predicted", _ratios([m.overshoot for m in step], [m.overshoot for m in ramp]),
               bounds, digits=1),
        Number(name, f"top speed after a step over this{after}", "–", "significantly reduced",
               "predicted", _ratios([m.top_speed for m in step], [m.top_speed for m in ramp]),
               bounds, digits=1),
    ]  # fmt: skip


def _ratios(upper: list[float], lower: list[float]) -> list[float]:
    return [a / b if b > 0.0 else np.inf for a, b in zip(upper, lower, strict=True)]


def _after(run: MotionRun, index: int) -> str:
    """Which change, where there is more than one."""
    changes = run.run.torques.changes
    return f", from {changes[index][0]:g} s" if len(changes) > 1 else ""


Pair = tuple[ArmMove, ArmMove]
"""One change of the torques, as the chain and the lumped model answer."""


def _moves(run: MotionRun, section: int = -1) -> list[Pair]:
    return list(zip(run.moves(CHAIN, section), run.moves(LUMPED, section), strict=True))


@numbers.register
def _of_reach(run: ReachRun) -> list[Number]:
    spans = np.ptp(run.chain, axis=0).tolist(), np.ptp(run.lumped, axis=0).tolist()
    return [
        Number(run.experiment.name, f"extent along {axis}", "m", "about 0.5", "predicted",
               (spans[0][k], spans[1][k]), digits=2)
        for k, axis in enumerate("xyz")
    ]  # fmt: skip


@numbers.register
def _of_refinement(run: RefinementRun) -> list[Number]:
    name = run.experiment.name
    limits = [
        np.degrees(refinement.limit(refinement.bends)) for refinement in (run.chain, run.lumped)
    ]
    rows = []
    for section, part in enumerate(run.arm.sections):
        chain, lumped = (float(limit[section]) for limit in limits)
        bounds = (lumped - SAME_ANGLE, lumped + SAME_ANGLE)
        rows.append(
            Number(
                name,
                f"bend of {part.name}, limit of many",
                "°",
                f"both within {SAME_ANGLE:g}°",
                "ours",
                (chain, lumped),
                bounds,
            )
        )
    ends = [refinement.limit(refinement.ends)[-1] for refinement in (run.chain, run.lumped)]
    for axis, key in ((0, "x"), (2, "z")):
        values = [float(end[axis]) for end in ends]
        rows.append(Number(name, f"{key} of the end, limit of many", "m", "–", "ours", values,
                           digits=4))  # fmt: skip
    return rows


@dataclass(frozen=True)
class Apart:
    """How far the ends of both models are apart in an experiment (eq 37).

    Args:
        experiment: Its name.
        sectional: Largest error of any section [m].
        cumulative: Largest sum over the sections [m].
        last: Sum over the sections in the last row [m]; NaN for rests.
        paper: The paper's two errors against its experiment, in words; "" where it has none.
    """

    experiment: str
    sectional: float
    cumulative: float
    last: float
    paper: str


def apart(run: AnyRun) -> Apart | None:
    """The errors (37) between both models; None where there are no ends of sections to compare."""
    if isinstance(run, MotionRun):
        errors, last = run.errors.errors, float(run.errors.errors[-1].sum())
    elif isinstance(run, RestsRun):
        errors, last = run.errors, np.nan
    else:
        return None
    name = run.experiment.name
    sectional, cumulative = float(errors.max()), float(errors.sum(axis=1).max())
    return Apart(name, sectional, cumulative, last, PRINTED_ERRORS.get(name, ""))


def _both(run: RestsRun | MotionRun) -> tuple[ArmShapes, ArmShapes]:
    return run.chain, run.lumped
