"""Compare engines on one grasp scene or finger release; save and load the comparison.

``crosscheck.json`` holds the findings. The runs of a grasp are results (``result.json`` and
``trajectory.npz``) in ``runs/ENGINE/``, those of a release are arrays of ``crosscheck.npz``. A
report depends on these files alone.
"""

from __future__ import annotations

import json
import math
import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from softgrasp._version import __version__
from softgrasp.comparison.checks import grasp_findings, release_findings
from softgrasp.comparison.criteria import BACKENDS, Finding, Threshold, Tolerances
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
from softgrasp.errors import DescriptionError, ResultError, reason
from softgrasp.evaluation.result import ContactModel
from softgrasp.evaluation.result_files import load_result
from softgrasp.io.files import atomic_path, remove_written, write_text
from softgrasp.io.input_limits import read_arrays, read_json, result_loader
from softgrasp.sim.engines import MUJOCO, engine_named
from softgrasp.sim.run_record import EngineRecord
from softgrasp.sim.soft_dynamics import FreeMotion, LinearMode

Arrays = dict[str, NDArray[Any]]

DOCUMENT, ARRAYS, RUNS = "crosscheck.json", "crosscheck.npz", "runs"
WRITTEN = (DOCUMENT, ARRAYS, RUNS, "report.html", "crosscheck_*.png", "crosscheck_*.csv")
"""Patterns of all files and directories of a comparison."""
SCHEMA_VERSION = 3
CLOSING, REST = "closing", "rest"
"""Names of runs besides their time steps."""
PLAIN = "without_hk"
"""Name of the motion with the dampers of Webots only."""


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
    update = progress or (lambda _text, _done: None)
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
        diverged = {*self.runs.diverged, *self.runs.lost}
        return tuple(name for name in self.backends if name in diverged)

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
        if isinstance(self.subject, FingerRelease):
            return self.subject.name or self.subject.finger.name
        return self.subject.name or f"{self.subject.hand.name}_{self.subject.object.name}"

    @property
    def summary(self) -> str:
        """The verdict as a sentence."""
        names = ", ".join(self.backends)
        if not isinstance(self.runs, ReleaseRuns) and self.runs.diverged:
            return f"{names}: the simulation has diverged in {', '.join(self.diverged)}"
        if self.passed:
            return f"{names}: all {self.evaluated} differences are within their tolerances"
        beyond = ", ".join(finding.name for finding in self.failed)
        count = f"{len(self.failed)} of {self.evaluated} differences"
        verb = "is" if len(self.failed) == 1 else "are"
        return f"{names}: {count} {verb} beyond tolerance: {beyond}"

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
        engine, explicit = runs.motion(name).engine, runs.release.webots_timestep is None
        spring, damping = "beginning", "c" if explicit else "c + h·k"
        if name != MUJOCO:
            damping = f"{'c − h·k' if explicit else 'c'}, with h·k from the implicit spring"
            spring = "end"
        parameters = {
            "time step": f"{1e3 * engine.timestep:g} ms",
            "other steps": _steps([step for step in motions if step != engine.timestep]),
            "integrator": engine.integrator,
            "springs": f"at the {spring} of the step",
            "dampers": damping,
        }
        parameters |= {"runs": EMULATES[name]} if name in EMULATES else {}
        engines[name] = EngineProperties(engine.version, parameters)
    return engines


def grasp_engines(runs: GraspRuns) -> dict[str, EngineProperties]:
    """Versions and parameters of the engines of a grasp."""
    engines = {}
    for name, result in runs.closing.items():
        model = result.contact_model
        others = [step for step in runs.finer[name] if step != model.timestep_s]
        measured = sorted(model.measured_stiffness_N_m.values()) or [math.nan]
        low, high = measured[0], measured[-1]
        span = f"{low:.4g} N/m" if high - low < 1e-3 * high else f"{low:.4g} … {high:.4g} N/m"
        parameters = {
            "time step": f"{1e3 * model.timestep_s:g} ms",
            "other steps": _steps(others),
            "integrator": model.integrator,
            **_contact(name, model),
            "force over penetration": "–" if math.isnan(low) else span,
            **({"runs": EMULATES[name]} if name in EMULATES else {}),
            "wall time of a run": f"{result.wall_time:.2g} s",
        }
        engines[name] = EngineProperties(result.backend["version"], parameters)
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


# Files


def save_crosscheck(result: CrosscheckResult, directory: str | Path) -> list[Path]:
    """Write a comparison as ``crosscheck.json``, and its runs; return the paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    if isinstance(result.runs, ReleaseRuns):
        with atomic_path(directory / ARRAYS) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays(result.runs))
    else:
        runs = directory / RUNS
        for name, run in result.runs.closing.items():
            run.save(runs / name / CLOSING)
            for step, finer in result.runs.finer[name].items():
                finer.save(runs / name / f"{REST}_{step!r}")
    text = json.dumps(document(result), indent=2, ensure_ascii=False, allow_nan=False)
    written = ARRAYS if isinstance(result.runs, ReleaseRuns) else RUNS
    return [write_text(directory / DOCUMENT, text + "\n"), directory / written]


@result_loader
def load_crosscheck(directory: str | Path) -> CrosscheckResult:
    """Read a comparison from its directory.

    Raises:
        ResultError: A file is missing, damaged or of another version.
    """
    directory = Path(directory)
    path = directory / DOCUMENT
    try:
        data = read_json(path)
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise ResultError(
                f"{path}: expected schema_version {SCHEMA_VERSION}, found {version}; another "
                f"softgrasp wrote it: {data.get('rerun_command') or 'softgrasp crosscheck'}"
            )
        runs: GraspRuns | ReleaseRuns
        subject: GraspScene | FingerRelease
        if data["kind"] == "release":
            path, subject = directory / ARRAYS, FingerRelease(**data["subject"])
            runs = _release_runs(subject, data["runs"], read_arrays(path))
        else:
            subject = GraspScene(**data["subject"])
            runs = _grasp_runs(subject, data["runs"], directory / RUNS)
        engines = {name: dict(engine) for name, engine in data["engines"].items()}
        return CrosscheckResult(
            subject=subject,
            backends=tuple(data["backends"]),
            engines={name: EngineProperties(engine.pop("version"), engine)
                     for name, engine in engines.items()},
            tolerances=Tolerances(**data["tolerances"]),
            findings=tuple(map(_read_finding, data["findings"])),
            runs=runs,
            warnings=tuple(data["warnings"]),
            quick=data["quick"],
            wall_time=data["wall_time_s"],
            command=data["rerun_command"],
        )  # fmt: skip
    except OSError as error:
        message = f"{path}: expected a comparison of engines, found: {reason(error)}"
        raise ResultError(message) from error
    except (ValueError, KeyError, TypeError, BadZipFile, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def clear_earlier(directory: Path) -> None:
    """Remove the files of an earlier comparison; files that no run wrote stay."""
    remove_written(directory, WRITTEN)


def document(result: CrosscheckResult) -> dict[str, Any]:
    """Convert a comparison to the content of ``crosscheck.json``; unknown values are null."""
    runs = result.runs
    if isinstance(runs, ReleaseRuns):
        steps: Mapping[str, Mapping[float, Any]] = runs.moving
        details: dict[str, Any] = {
            "motions": {key: motion.engine._asdict() for key, motion in _motions(runs).items()},
            "linear_modes": [
                {"timestep_s": step} | mode._asdict() for step, mode in runs.linear.items()
            ],
        }
    else:
        steps = runs.finer
        details = {
            "thresholds": {name: list(threshold) for name, threshold in runs.thresholds.items()},
            "loads": list(runs.loads),
            "held": {name: list(held) for name, held in runs.held.items()},
            "lost": {name: list(lost) for name, lost in runs.lost.items()},
        }
    timesteps = {name: list(by_step) for name, by_step in steps.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "release" if isinstance(runs, ReleaseRuns) else "grasp",
        "name": result.title,
        "backends": list(result.backends),
        "passed": result.passed,
        "message": result.summary,
        "quick": result.quick,
        "rerun_command": result.command,
        "findings": [_finding(finding) for finding in result.findings],
        "engines": {
            name: {"version": engine.version, **engine.parameters}
            for name, engine in result.engines.items()
        },
        "tolerances": result.tolerances.model_dump(),
        "warnings": list(result.warnings),
        "wall_time_s": result.wall_time,
        "runs": {"timesteps_s": timesteps, **details, "notes": list(runs.notes)},
        "subject": result.subject.model_dump(mode="json"),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    values = {field.name: getattr(finding, field.name) for field in fields(finding)}
    return values | {
        "values": {name: _finite(value) for name, value in finding.values.items()},
        "difference": _finite(finding.difference),
        "passed": finding.passed,
    }


def _read_finding(data: dict[str, Any]) -> Finding:
    def number(value: Any) -> Any:
        return math.nan if value is None else value

    del data["passed"]
    values = {name: number(value) for name, value in data["values"].items()}
    return Finding(**data | {"values": values, "difference": number(data["difference"])})


def _finite(value: float | str) -> float | str | None:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None


# Runs of a grasp


def _grasp_runs(scene: GraspScene, data: dict[str, Any], directory: Path) -> GraspRuns:
    finer = {
        name: {step: load_result(directory / name / f"{REST}_{step!r}") for step in steps}
        for name, steps in data["timesteps_s"].items()
    }
    return GraspRuns(
        scene=scene.replace(self_contact=False),
        closing={name: load_result(directory / name / CLOSING) for name in finer},
        resting={name: next(iter(by_step.values())) for name, by_step in finer.items()},
        finer=finer,
        thresholds={name: Threshold(*item) for name, item in data["thresholds"].items()},
        loads=tuple(data["loads"]),
        held={name: tuple(held) for name, held in data["held"].items()},
        lost={name: tuple(lost) for name, lost in data["lost"].items()},
        notes=tuple(data["notes"]),
    )


# Motions of a release


def arrays(runs: ReleaseRuns) -> Arrays:
    """Return the arrays of all motions, as ``ENGINE.TIMESTEP.joint_angles``, and the rest shape."""
    stored: Arrays = {"rest_angles": runs.rest}
    for key, motion in _motions(runs).items():
        columns = {"time": motion.time, "joint_angles": motion.angles, "tip": motion.tip}
        stored |= {f"{key}.{name}": values for name, values in columns.items()}
    return stored


def _motions(runs: ReleaseRuns) -> dict[str, FreeMotion]:
    """All motions of a release by the names of their arrays."""
    motions = {f"{name}.{REST}": motion for name, motion in runs.resting.items()}
    for name, by_step in runs.moving.items():
        motions |= {f"{name}.{step!r}": motion for step, motion in by_step.items()}
    return motions if runs.without_hk is None else motions | {PLAIN: runs.without_hk}


def _release_runs(
    release: FingerRelease, data: dict[str, Any], stored: Mapping[str, NDArray[Any]]
) -> ReleaseRuns:
    motions = {}
    for key, engine in data["motions"].items():
        time, angles, tip = (stored[f"{key}.{name}"] for name in ("time", "joint_angles", "tip"))
        motions[key] = FreeMotion(time, angles, tip, EngineRecord(**engine))
    steps: dict[str, list[float]] = data["timesteps_s"]
    return ReleaseRuns(
        release=release,
        rest=stored["rest_angles"],
        resting={name: motions[f"{name}.{REST}"] for name in steps},
        moving={name: {step: motions[f"{name}.{step!r}"] for step in by_name}
                for name, by_name in steps.items()},
        without_hk=motions.get(PLAIN),
        linear={datum["timestep_s"]: LinearMode(datum["frequency"], datum["ratio"])
                for datum in data["linear_modes"]},
        notes=tuple(data["notes"]),
    )  # fmt: skip
