"""The same scene, or the same release, in several engines."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from softgrasp.crosschecks.engines import ProgressCallback, checked
from softgrasp.crosschecks.grasp_checks import grasp_findings
from softgrasp.crosschecks.grasp_runs import run_grasps
from softgrasp.crosschecks.parameters import grasp_engines, release_engines
from softgrasp.crosschecks.release_checks import release_findings
from softgrasp.crosschecks.release_runs import run_releases
from softgrasp.crosschecks.result import CrosscheckResult
from softgrasp.crosschecks.tolerances import BACKENDS, Tolerances
from softgrasp.description.release import FingerRelease
from softgrasp.description.scene import GraspScene


def crosscheck(
    subject: GraspScene | FingerRelease,
    backends: Iterable[str] = BACKENDS,
    *,
    tolerances: Tolerances | None = None,
    quick: bool = False,
    progress: ProgressCallback | None = None,
) -> CrosscheckResult:
    """Compare engines on a grasp scene or on the release of a finger.

    A release: pose at rest under the weight (against the closed form), joint angles after it was
    taken away, frequency and damping ratio of the first mode, settling time, and convergence with
    the time step. A grasp: bodies in contact, when they touched, normal forces, joint angles and
    the object's place at rest, which loads are held, the critical load, and convergence.

    Args:
        subject: What to simulate.
        backends: Two or more engines; the first is the one that others are compared with.
        tolerances: How far they may differ.
        quick: Whether to leave out other time steps and critical loads.
        progress: Called with what is going on, and the part that is done where it is known.

    Raises:
        BackendUnavailable: An engine is not installed.
        BuildError: An engine cannot express the subject; names what it cannot.
        DescriptionError: There is no such backend, or there are not two different ones.
        SimulationError: An engine has failed.
    """
    begin = time.perf_counter()
    names, limits, update = checked(backends), tolerances or Tolerances(), progress or _nobody
    if isinstance(subject, FingerRelease):
        result = _of_release(subject, names, limits, quick, update)
    else:
        result = _of_grasp(subject, names, limits, quick, update)
    return replace(result, wall_time=time.perf_counter() - begin)


def _of_release(
    release: FingerRelease,
    names: tuple[str, ...],
    limits: Tolerances,
    quick: bool,
    update: ProgressCallback,
) -> CrosscheckResult:
    runs = run_releases(release, names, quick=quick, update=update)
    return CrosscheckResult(
        subject=release,
        backends=names,
        engines=release_engines(runs),
        tolerances=limits,
        findings=tuple(release_findings(runs, limits)),
        runs=runs,
        warnings=runs.notes,
        quick=quick,
    )


def _of_grasp(
    scene: GraspScene,
    names: tuple[str, ...],
    limits: Tolerances,
    quick: bool,
    update: ProgressCallback,
) -> CrosscheckResult:
    runs = run_grasps(scene, names, quick=quick, update=update)
    messages = [
        text if text.startswith(f"{name}: ") else f"{name}: {text}"
        for name, run in runs.closing.items()
        for text in run.warnings
    ]
    return CrosscheckResult(
        subject=scene,
        backends=names,
        engines=grasp_engines(runs),
        tolerances=limits,
        findings=tuple(grasp_findings(runs, limits)),
        runs=runs,
        warnings=(*runs.notes, *dict.fromkeys(messages)),
        quick=quick,
    )


def _nobody(text: str, done: float | None) -> None:
    """Tell nobody."""
