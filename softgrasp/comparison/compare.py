"""Compare engines on one grasp scene or finger release: findings and rerun commands."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from softgrasp.comparison.checks import grasp_findings, release_findings
from softgrasp.comparison.criteria import BACKENDS, Finding, Tolerances
from softgrasp.comparison.runs import (
    EMULATES,
    EngineProperties,
    GraspRuns,
    ProgressCallback,
    ReleaseRuns,
    check_backends,
    require_engines,
    run_grasps,
    run_releases,
)
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.scene import GraspScene
from softgrasp.evaluation.result import ContactModel
from softgrasp.sim.engines import MUJOCO, engine_named


def crosscheck(
    subject: GraspScene | FingerRelease,
    backends: Iterable[str] = BACKENDS,
    *,
    tolerances: Tolerances | None = None,
    quick: bool = False,
    progress: ProgressCallback | None = None,
) -> CrosscheckResult:
    """Compare engines on a grasp scene or on the release of a finger.

    Compared of a release: pose at rest under the weight (with the closed form), joint angles after
    the release, frequency and damping ratio of the first mode, settling time, and convergence with
    the time step. Of a grasp: bodies in contact and times of contact, normal forces, joint angles
    and position of the object at rest, held loads, critical load, and convergence.

    Args:
        subject: Scene or release to simulate.
        backends: Two or more engines; the first one is the reference.
        tolerances: Largest differences that pass.
        quick: Whether to skip other time steps and critical loads.
        progress: Called with a message and the completed fraction, None where it is unknown.

    Raises:
        BackendUnavailable: An engine is not installed.
        BuildError: An engine lacks a feature of the subject; names the feature.
        DescriptionError: A backend is unknown, or there are not two different ones.
        SimulationError: An engine has failed.
    """
    begin = time.perf_counter()
    names, limits = check_backends(backends), tolerances or Tolerances()
    update = progress or _no_progress
    require_engines(names, subject)
    runs: GraspRuns | ReleaseRuns
    if isinstance(subject, FingerRelease):
        runs = run_releases(subject, names, quick=quick, update=update)
        engines, findings, messages = release_engines(runs), release_findings(runs, limits), []
    else:
        runs = run_grasps(subject, names, quick=quick, update=update)
        engines, findings = grasp_engines(runs), grasp_findings(runs, limits)
        messages = [
            text if text.startswith(f"{name}: ") else f"{name}: {text}"
            for name, run in runs.closing.items()
            for text in run.warnings
        ]
    return CrosscheckResult(
        subject=subject,
        backends=names,
        engines=engines,
        tolerances=limits,
        findings=tuple(findings),
        runs=runs,
        warnings=(*runs.notes, *dict.fromkeys(messages)),
        quick=quick,
        wall_time=time.perf_counter() - begin,
    )


def _no_progress(text: str, done: float | None) -> None:
    """Ignore progress."""


# Result


@dataclass(frozen=True, kw_only=True)
class CrosscheckResult:
    """Results of one scene or finger release in several engines, and their differences."""

    subject: GraspScene | FingerRelease
    backends: tuple[str, ...]
    """Names of the engines; the first one is the reference."""
    engines: Mapping[str, EngineProperties]
    tolerances: Tolerances
    findings: tuple[Finding, ...]
    runs: GraspRuns | ReleaseRuns
    """All simulated runs."""
    warnings: tuple[str, ...]
    quick: bool
    wall_time: float = 0.0
    """Wall time [s]."""
    command: str = ""
    """Command line of the comparison; empty where it was called in Python."""

    @property
    def diverged(self) -> tuple[str, ...]:
        """Engines in which a simulation of a grasp diverged."""
        if isinstance(self.runs, ReleaseRuns):
            return ()
        return tuple(
            name for name in self.backends if name in {*self.runs.diverged, *self.runs.lost}
        )

    @property
    def rerun_command(self) -> str:
        """Command line or Python call that repeats the comparison."""
        return self.command or python_call(self.subject, self.backends, self.tolerances, self.quick)

    @property
    def passed(self) -> bool:
        """Whether every difference is within its tolerance."""
        return all(finding.passed for finding in self.findings)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Findings beyond their tolerances."""
        return tuple(finding for finding in self.findings if not finding.passed)

    @property
    def evaluated(self) -> int:
        """Number of findings with a tolerance."""
        return sum(finding.tolerance is not None for finding in self.findings)

    @property
    def title(self) -> str:
        """Name of the subject."""
        name = self.subject.name
        if name:
            return name
        if isinstance(self.subject, FingerRelease):
            return self.subject.finger.name
        return f"{self.subject.hand.name}_{self.subject.object.name}"

    @property
    def summary(self) -> str:
        """The verdict as a sentence."""
        names = ", ".join(self.backends)
        if not isinstance(self.runs, ReleaseRuns) and self.runs.diverged:
            return f"{names}: the simulation has diverged in {', '.join(self.diverged)}"
        if self.passed:
            return f"{names}: all {self.evaluated} differences are within their tolerances"
        beyond = ", ".join(finding.name for finding in self.failed)
        count = len(self.failed)
        verb = "is" if count == 1 else "are"
        return f"{names}: {count} of {self.evaluated} differences {verb} beyond tolerance: {beyond}"

    def finding(self, name: str) -> Finding:
        """Return a finding by its name.

        Raises:
            KeyError: There is none of that name.
        """
        return {finding.name: finding for finding in self.findings}[name]


# Properties of engines


def release_engines(runs: ReleaseRuns) -> dict[str, EngineProperties]:
    """Versions and parameters of the engines of a release."""
    engines = {}
    for name, motions in runs.moving.items():
        engine = runs.motion(name).engine
        implicit = "c, with h·k from the implicit spring" if name != MUJOCO else "c + h·k"
        spring = "at the end of the step" if name != MUJOCO else "at the beginning of the step"
        if runs.release.webots_timestep is None:
            implicit = "c − h·k, with h·k from the implicit spring" if name != MUJOCO else "c"
        engines[name] = EngineProperties(
            name=name,
            version=engine.version,
            parameters={
                "time step": f"{1e3 * engine.timestep:g} ms",
                "other steps": _steps([step for step in motions if step != engine.timestep]),
                "integrator": engine.integrator,
                "springs": spring,
                "dampers": implicit,
                **_emulate(name),
            },
        )
    return engines


def grasp_engines(runs: GraspRuns) -> dict[str, EngineProperties]:
    """Versions and parameters of the engines of a grasp."""
    engines = {}
    for name, result in runs.closing.items():
        model = result.contact_model
        others = [step for step in runs.finer[name] if step != model.timestep_s]
        engines[name] = EngineProperties(
            name=name,
            version=result.backend["version"],
            parameters={
                "time step": f"{1e3 * model.timestep_s:g} ms",
                "other steps": _steps(others),
                "integrator": model.integrator,
                **_contact(name, model),
                "force over penetration": _measure(model),
                **_emulate(name),
                "wall time of a run": f"{result.wall_time:.2g} s",
            },
        )
    return engines


def _contact(name: str, model: ContactModel) -> dict[str, str]:
    contact, step = model.used, model.timestep_s
    parameters = {
        "K": f"{contact.stiffness:.4g} N/m",
        "D": f"{contact.damping:.4g} N·s/m",
        "µ": f"{contact.static_friction:g}",
    }
    softness = engine_named(name).constraint_softness
    if softness is not None:
        strength = step * contact.stiffness + contact.damping
        parameters["ERP = h·K/(h·K + D)"] = f"{step * contact.stiffness / strength:.4g}"
        parameters["CFM = 1/(h·K + D)"] = f"{1.0 / strength:.4g}"
        parameters["CFM of the world"] = f"{softness:g}"
    return parameters


def _measure(model: ContactModel) -> str:
    values = model.measured_stiffness_N_m.values()
    if not values:
        return "–"
    low, high = min(values), max(values)
    return f"{low:.4g} N/m" if high - low < 1e-3 * high else f"{low:.4g} … {high:.4g} N/m"


def _emulate(name: str) -> dict[str, str]:
    return {"runs": EMULATES[name]} if name in EMULATES else {}


def _steps(steps: list[float]) -> str:
    return ", ".join(f"{1e3 * step:g} ms" for step in steps) or "–"


# Commands


def command_line(
    source: str,
    backends: Iterable[str],
    *,
    timestep: float | None = None,
    tolerances: Iterable[str] = (),
    quick: bool = False,
) -> str:
    """Write the command line of a comparison, also for another time step [s]."""
    words = ["softgrasp", "crosscheck", source, "--backends", ",".join(backends)]
    if timestep is not None:
        words += ["--timestep", f"{timestep!r}"]
    for setting in tolerances:
        words += ["--tolerance", setting]
    return shlex.join([*words, "--quick"] if quick else words)


def python_call(
    subject: GraspScene | FingerRelease,
    backends: tuple[str, ...],
    tolerances: Tolerances,
    quick: bool,
) -> str:
    """Write the Python call of a comparison."""
    words = ["release" if isinstance(subject, FingerRelease) else "scene", f"{backends!r}"]
    changed = tolerances.model_dump(exclude_defaults=True)
    if changed:
        fields = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        words.append(f"tolerances=sg.comparison.Tolerances({fields})")
    if quick:
        words.append("quick=True")
    return f"sg.comparison.crosscheck({', '.join(words)})"
