"""What a user must know of a calibration before using its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.calibration.result import StageResult
from softgrasp.description.calibration import CalibrationProblem


def remarks(
    problem: CalibrationProblem, stages: Sequence[StageResult], method: str
) -> tuple[str, ...]:
    """What a user must know of a calibration, as sentences.

    Args:
        problem: What was measured.
        stages: What was found.
        method: How.
    """
    messages = [text for stage in stages for text in _of_stage(problem, stage, method)]
    done = {stage.name for stage in stages}
    if "torques" in done and problem.bends and any(not one.held_out for one in problem.forces):
        messages.append(
            "torques: found from forces of the tip alone; free bending was not looked at"
        )
    if problem.release_objective == "trace":
        unused = sum(not one.times for one in problem.releases)
        if unused:
            messages.append(f"dampers: {unused} releases without a track were not looked at")
    kept = {
        "springs": [one.held_out for one in problem.hung],
        "dampers": [one.held_out for one in problem.releases],
        "torques": [one.held_out for one in problem.forces]
        + [one.held_out for one in problem.bends],
    }
    messages += [
        f"{name}: all measurements are held out, so the finger keeps its own values"
        for name, marks in kept.items()
        if marks and all(marks)
    ]
    return tuple(messages)


def _of_stage(problem: CalibrationProblem, stage: StageResult, method: str) -> list[str]:
    messages = []
    if (
        stage.name == "dampers"
        and method == "least-squares"
        and problem.release_objective == "settling"
        and len(stage.names) > 1
    ):
        messages.append(
            "dampers: counts have no slopes to follow, so one common damping was looked for; "
            "method pso looks for each"
        )
    other = stage.residual_unit == "N" and problem.force_objective != "squares"
    if other and method == "least-squares":
        messages.append(
            "torques: least squares make the sum of squares smallest, not the objective "
            f"'{problem.force_objective}'"
        )
    return messages + remarks_on_fit(stage)


def remarks_on_fit(stage: StageResult) -> list[str]:
    """Of any stage: what lies on a bound, what is not determined, what its sum says."""
    messages = []
    if stage.on_bound:
        names, several = ", ".join(stage.on_bound), len(stage.on_bound) > 1
        messages.append(
            f"{stage.name}: {names} {'are' if several else 'is'} on a bound; the measurements want "
            f"to go farther, or do not determine {'them' if several else 'it'}"
        )
    if np.isnan(stage.uncertainty.noise):
        messages.append(
            f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} measurements; "
            "none is left to judge how sure they are"
        )
    hidden = [one for one in stage.uncertainty.undetermined if np.isinf(one.error)]
    if hidden:
        terms = "; ".join(one.sentence.partition(":")[0] for one in hidden)
        messages.append(
            f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} measurements; "
            f"not determined at all: {terms}"
        )
    if stage.sum_sentence:
        messages.append(f"{stage.name}: {stage.sum_sentence}")
    return messages
