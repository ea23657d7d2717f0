"""Calibration of hydraulic arms: stiffness, damping and mass from recorded motions.

The problem (an arm and its recordings, in YAML with CSV tables), the simulation of the recordings
with other parameters, one least-squares stage, and the result. ``assess_arm`` assesses the
residuals by a χ² test against the errors of recording and model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from softgrasp import __version__
from softgrasp.calibration import (
    Block,
    CalibrationStatus,
    Credibility,
    ExtensionResult,
    Finding,
    PlausibleQuantity,
    Search,
    Stage,
    StageFit,
    Swarm,
    assess,
    implausible,
    optimum_of,
    remarks_on_fit,
)
from softgrasp.errors import DescriptionError, DivergedError, SimulationError, SoftgraspWarning
from softgrasp.hydraulics.arm import (
    LONGEST_STEP,
    SAFE_FRACTION,
    ArmChain,
    ChainRecording,
    arm_model,
    move_driven_chain,
)
from softgrasp.hydraulics.description import ArmSection, HydraulicArm
from softgrasp.hydraulics.files import (
    beside,
    load_hydraulic_arm,
    load_torques,
    save_hydraulic_arm,
    torque_rows,
)
from softgrasp.hydraulics.integrators import (
    SAMPLE,
    TipRecording,
    TorqueTable,
    drive_pressures,
    inputs_of,
)
from softgrasp.io import Column, column_names, read_table
from softgrasp.mechanics import Array
from softgrasp.model import spring_limit
from softgrasp.plugin_api import Description, ExtensionProblem, FieldError, Number, Positive, Tree

Row = tuple[Number, ...]
ArmParameter = Literal["EI", "c_b", "mass"]
"""Bending stiffness [N·m²], damping of bending [N·m²·s] and mass [kg] of every section."""
UNITS: dict[ArmParameter, str] = {"EI": "N·m²", "c_b": "N·m²·s", "mass": "kg"}
TIME = Column("time", {"s": 1.0, "ms": 1e-3})
LENGTHS = {"mm": 1e-3, "m": 1.0}
ANGLE_UNITS = {"deg": math.pi / 180.0, "rad": 1.0}
"""SI values of the units of columns, the preferred one first."""
DRIVE_TIMESTEP = 5e-3
"""Time step of the drives [s]."""
ARM = "arm.yaml"


def calibrate_arm(
    problem: ArmCalibrationProblem,
    method: str,
    seed: int,
    swarm: Swarm,
    progress: Callable[[str, float], None] | None,
) -> ArmCalibrationResult:
    """Calibrate the parameters in ``problem.find``; see ``calibrate`` for the arguments."""
    test_rig = ArmTestRig(problem)
    stage = arm_stage(problem, test_rig)
    assert stage is not None  # a problem has a motion that is not held out
    search = Search(stage, progress)
    position = optimum_of(search, method, swarm, seed)
    stage_result = assess(search, position, arm_stage(problem, test_rig, held_out=True))
    if progress is not None:
        progress("assessing the fit", 1.0)
    credibility = assess_arm(problem, stage, position)
    return ArmCalibrationResult(
        problem=problem,
        method=method,
        seed=seed,
        arm=test_rig.arm(position),
        stages=(stage_result,),
        warnings=tuple(remarks_on_fit(stage_result)),
        status=CalibrationStatus.of((stage_result,), credibility),
        credibility=credibility,
    )


def arm_problem_from(data: dict[str, Tree], directory: Path) -> ArmCalibrationProblem:
    """Make a calibration problem from a YAML tree.

    Args:
        data: ``arm``, a name or a file; ``motions``, each with the ``table`` of what was recorded
            and ``pressures`` or ``torques``; fields of ``ArmCalibrationProblem``.
        directory: Directory of the files that it names.

    Raises:
        DescriptionError: Something cannot be read, or does not fit.
    """
    tree: dict[str, Any] = dict(data)
    name = tree.pop("arm")
    if not isinstance(name, str):
        raise DescriptionError(f"expected an arm's name or file, found {name!r}", field="arm")
    arm = load_hydraulic_arm(beside(name, directory))
    entries = tree.pop("motions", None)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DescriptionError(
            f"expected a list of motions, each with its table, found {entries!r}", field="motions"
        )
    tree["motions"] = tuple(_motion(dict(item), index, arm, directory) for index, item in
                            enumerate(entries))  # fmt: skip
    if isinstance(tree.get("bounds"), dict):
        tree["bounds"] = ArmBounds(**tree["bounds"])
    return ArmCalibrationProblem(arm=arm, **tree)


def _motion(tree: dict[str, Any], index: int, arm: HydraulicArm, directory: Path) -> ArmMotion:
    location = ("motions", index)
    table = tree.pop("table", None)
    if not isinstance(table, str):
        raise DescriptionError(
            f"expected the name of a table, found {table!r}",
            field=f"motions[{index}].table", location=location,
        )  # fmt: skip
    tree.setdefault("name", Path(table).stem)
    if isinstance(torques := tree.get("torques"), str):
        tree["torques"] = torque_rows(load_torques(beside(torques, directory)))
    recorded = read_motion(directory / table, len(arm.sections))
    try:
        return ArmMotion(**tree, **recorded)
    except DescriptionError as error:
        if error.file is not None:
            raise
        field = f"motions[{index}]" + (f".{error.field}" if error.field else "")
        where = (*location, *error.location)
        raise DescriptionError(error.message, field=field, location=where) from None


def recorded_motion(recording: TipRecording, **fields: Any) -> ArmMotion:
    """Make a motion for a calibration from a simulated or measured recording.

    Args:
        recording: Such as ``ArmChain.move`` gives.
        fields: Other fields of ``ArmMotion``: ``pressures``, ``torques``, ``start``, ….

    Raises:
        DescriptionError: A field does not fit.
    """
    ends = np.asarray(recording.ends).reshape(len(recording.times), -1)
    rows = tuple(tuple(row) for row in ends.tolist())
    return ArmMotion(times=tuple(np.asarray(recording.times).tolist()), ends=rows, **fields)


def read_motion(path: Path, sections: int) -> dict[str, Any]:
    """Read the times and the recorded values of a motion from a CSV table.

    Args:
        path: CSV with ``time_s`` and ``x1_mm``, ``y1_mm``, ``z1_mm``, … of the ends of all
            sections, or ``x_mm``, ``y_mm``, ``z_mm`` of the last one, or ``u1_deg``, ``v1_deg``, …
            of the bends; other units are m and rad.
        sections: Number of sections of the arm.

    Raises:
        DescriptionError: The file cannot be read, or a column or a number is wrong.
    """
    numbers = range(1, sections + 1)
    stems = [name.rpartition("_")[0] for name in column_names(path)]
    if "u1" in stems:
        field, units = "bends", ANGLE_UNITS
        names = [f"{axis}{number}" for number in numbers for axis in "uv"]
    else:
        field, units = "ends", LENGTHS
        every = [f"{axis}{number}" for number in numbers for axis in "xyz"]
        names = every if "x1" in stems else ["x", "y", "z"]
    table = read_table(path, [TIME, *(Column(name, units) for name in names)])
    values = np.column_stack([table[name] for name in names])
    rows = tuple(tuple(row) for row in values.tolist())
    return {"times": tuple(table["time"].tolist()), field: rows}


class ArmMotion(Description):
    """Recorded motion of an arm: positions of section ends, or bending angles, over time."""

    name: str = ""
    """Name in results; a number by default."""
    pressures: Row = ()
    """Constant pressures of all chambers [Pa]; zeros by default."""
    torques: tuple[Row, ...] = ()
    """Or motor torques: rows with a time [s] and one torque per chamber [N·m], linearly
    interpolated; the drives convert them into pressures."""
    start: Row | None = None
    """Pressures under which the arm rests at time 0 [Pa]; straight where it is not given."""
    times: Annotated[Row, Field(min_length=2)]
    """Times of the rows below, ascending [s]."""
    ends: tuple[Row, ...] = ()
    """Ends of all sections, or of the last one only, in the frame of the base [m]: three numbers a
    section."""
    bends: tuple[Row, ...] = ()
    """Or bending angles of all sections towards x and y [rad]: two numbers a section."""
    held_out: bool = False
    """True where the motion is held out for validation."""

    @property
    def columns(self) -> list[str]:
        """Names of the recorded columns: x1, y1, z1 … or u1, v1, …; x, y, z for one end."""
        axes = "xyz" if self.ends else "uv"
        count = len(self.rows[0]) // len(axes)
        if self.ends and count == 1:
            return list(axes)
        return [f"{axis}{number}" for number in range(1, count + 1) for axis in axes]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Recorded values."""
        return self.ends or self.bends

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if bool(self.ends) == bool(self.bends):
            present_text = "both" if self.ends else "neither"
            raise FieldError(f"expected ends or bends, found {present_text}", "ends")
        if self.pressures and self.torques:
            raise FieldError("expected pressures or torques, found both", "torques")
        falls = any(later <= earlier for earlier, later in pairwise(self.times))
        if falls or self.times[0] < 0.0:
            raise FieldError("expected rising times from the beginning on, found others", "times")
        field = "ends" if self.ends else "bends"
        if len(self.rows) != len(self.times):
            raise FieldError(
                f"expected a row for each of {len(self.times)} times, found {len(self.rows)}", field
            )
        for index, row in enumerate(self.rows):
            if len(row) != len(self.rows[0]):
                raise FieldError(
                    f"expected {len(self.rows[0])} numbers, as in the first row, found {len(row)}",
                    *(field, index),
                )
        return self


class ArmBounds(Description):
    """Bounds of the calibrated parameters."""

    EI: tuple[Positive, Positive] = (0.05, 5.0)
    """Bending stiffness [N·m²]."""
    c_b: tuple[Positive, Positive] = (1e-3, 0.5)
    """Bending damping [N·m²·s]."""
    mass: tuple[Positive, Positive] = (0.02, 2.0)
    """Mass [kg]."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name in type(self).model_fields:
            low, high = getattr(self, name)
            if low >= high:
                raise FieldError(f"expected the lower bound first, found {low:g}, {high:g}", name)
        return self


class ArmCalibrationProblem(ExtensionProblem):
    """A hydraulic arm with its recordings.

    Parameters that are not calibrated (lengths, chambers, axial stiffness, drives) are those of the
    arm; its values of calibrated parameters are ignored.
    """

    kind: ClassVar[str] = "arm"

    arm: HydraulicArm
    motions: Annotated[tuple[ArmMotion, ...], Field(min_length=1)]
    """All with ends, or all with bends."""
    find: Annotated[tuple[ArmParameter, ...], Field(min_length=1)] = ("EI", "c_b")
    each_section: bool = False
    """Whether every section has its own value or all share one."""
    bounds: ArmBounds = ArmBounds()
    links: Annotated[int, Field(strict=True, ge=1, le=64)] = 4
    """Rigid cells a section of the simulated arm."""
    position_error: Positive | None = None
    """Standard error of a recorded coordinate [m]; 2 mm are assumed where none is declared."""
    bend_error: Positive | None = None
    """Standard error of a recorded bend [rad]; 1° is assumed where none is declared."""
    model_error: Annotated[float, Field(strict=True, ge=0.0, le=0.5)] = 0.05
    """Error of the model relative to the motion of a coordinate, added to that of the recording
    when the fit is assessed [–]."""

    def measurement_error(self, unit: str) -> float | None:
        """Return the declared error of values in m or rad; None where there is none."""
        return {"m": self.position_error, "rad": self.bend_error}[unit]

    @property
    def name(self) -> str:
        """Name of the arm."""
        return self.arm.name

    @property
    def properties(self) -> dict[str, str | int]:
        """Name of the arm and number of its motions."""
        return {"arm": self.arm.name, "motions": len(self.motions)}

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the motions."""
        return tuple(motion.name or f"motion {n}" for n, motion in enumerate(self.motions, start=1))

    @model_validator(mode="after")
    def _fits_arm(self) -> Self:
        chambers, sections = len(self.arm.chambers), len(self.arm.sections)
        if len(set(self.find)) != len(self.find):
            raise FieldError(f"expected each once, found {', '.join(self.find)}", "find")
        if all(motion.held_out for motion in self.motions):
            raise FieldError("expected one that is not held out, found none", "motions")
        for index, item in enumerate(self.motions):
            if bool(item.ends) != bool(self.motions[0].ends):
                raise FieldError(
                    "expected ends in all motions, or bends in all, found both", "motions", index
                )
            for field in ("pressures", "start"):
                values = getattr(item, field)
                if values and len(values) != chambers:
                    raise FieldError(
                        f"expected one per chamber ({chambers}), found {len(values)}",
                        *("motions", index, field),
                    )
            if any(len(row) != 1 + chambers for row in item.torques):
                raise FieldError(
                    f"expected rows of a time and one torque per chamber ({1 + chambers} numbers), "
                    "found others",
                    *("motions", index, "torques"),
                )
            known = {3, 3 * sections} if item.ends else {2 * sections}
            if len(item.rows[0]) not in known:
                counts = " or ".join(str(number) for number in sorted(known))
                raise FieldError(
                    f"expected rows of {counts} numbers for {sections} sections, found "
                    f"{len(item.rows[0])}",
                    *("motions", index, "ends" if item.ends else "bends"),
                )
        return self


class ArmTestRig:
    """Simulation of the recorded motions with trial parameters, one set after the other."""

    def __init__(self, problem: ArmCalibrationProblem) -> None:
        self._problem = problem

    def arm(self, parameters: Array) -> HydraulicArm:
        """Return the arm with other parameters, (p,), ordered as by ``arm_block``."""
        problem = self._problem
        values = parameters.reshape(len(problem.find), -1)
        shared = np.broadcast_to(values, (len(problem.find), len(problem.arm.sections)))
        sections = [
            _change(section, dict(zip(problem.find, section_values.tolist(), strict=True)))
            for section, section_values in zip(problem.arm.sections, shared.T, strict=True)
        ]
        return problem.arm.replace(sections=tuple(sections))

    def recorded(self, parameters: Array, motions: Sequence[ArmMotion]) -> Array:
        """Simulate the recordings of parameter sets (B, p), (B, m) [m or rad]; NaN if diverged."""
        recordings = []
        for row in parameters:
            chain = ArmChain(self.arm(row), self._problem.links)
            recordings.append(np.concatenate([self._motion(chain, motion) for motion in motions]))
        return np.stack(recordings)

    def _motion(self, chain: ArmChain, motion: ArmMotion) -> Array:
        shape = (len(motion.times), len(motion.rows[0]))
        last = motion.times[-1]
        samples = max(int(np.ceil(last / SAMPLE * (1.0 - 1e-9))), 1)
        try:
            recording = self._moved(chain, motion, samples * SAMPLE)
        except (DivergedError, SimulationError):
            return np.full(shape, np.nan).ravel()
        rows = recording.ends if motion.ends else chain.bends_of(recording.joints)
        flat = rows.reshape(len(rows), -1)[:, -shape[1] :]
        columns = [np.interp(motion.times, recording.times, column) for column in flat.T]
        return np.stack(columns, axis=1).ravel()

    def _moved(self, chain: ArmChain, motion: ArmMotion, duration: float) -> ChainRecording:
        """Simulate a motion with trial parameters; its fluid's added mass is included."""
        if not motion.torques:
            inputs = inputs_of(motion.pressures or (0.0,) * len(chain.arm.chambers))
            return chain.move(inputs, duration, timestep=self._timestep, start=motion.start)
        rows = np.array(motion.torques)
        table = TorqueTable(rows[:, 0], rows[:, 1:])
        with warnings.catch_warnings():  # trial parameters cause no warnings
            warnings.simplefilter("ignore", SoftgraspWarning)
            if motion.start is None:
                return move_driven_chain(chain, table, duration, timestep=self._timestep)[0]
            inputs = drive_pressures(chain.arm, table, duration, timestep=DRIVE_TIMESTEP)
            return chain.move(inputs, duration, timestep=self._timestep, start=motion.start)

    @cached_property
    def _timestep(self) -> float:
        """Return a time step that is stable for all parameters within the bounds [s]."""
        problem = self._problem
        ends = {"EI": 1, "c_b": 0, "mass": 0}
        worst = [getattr(problem.bounds, name)[ends[name]] for name in problem.find]
        sections = len(problem.arm.sections) if problem.each_section else 1
        arm = self.arm(np.repeat(worst, sections))
        return min(SAFE_FRACTION * spring_limit(arm_model(arm, problem.links)), LONGEST_STEP)


def _change(section: ArmSection, values: dict[ArmParameter, float]) -> ArmSection:
    damping = section.damping
    return section.replace(
        bending_stiffness=values.get("EI", section.bending_stiffness),
        mass=values.get("mass", section.mass),
        damping=damping.replace(bending=values.get("c_b", damping.bending)),
    )


def arm_block(problem: ArmCalibrationProblem) -> Block:
    """Return the parameters of an arm: one value per kind, or one per kind and section."""
    sections = len(problem.arm.sections)
    count = sections if problem.each_section else 1
    names = [
        f"{name}{number}" if problem.each_section else name
        for name in problem.find
        for number in range(1, count + 1)
    ]
    low, high = (
        np.repeat([getattr(problem.bounds, name)[end] for name in problem.find], count)
        for end in (0, 1)
    )
    return Block(
        kind="arm",
        names=tuple(names),
        unit=UNITS[problem.find[0]],
        lower=low,
        upper=high,
        relative=(True,) * len(names),
        cells=None,
        positions=np.zeros(0),
        units=tuple(UNITS[name] for name in problem.find for _ in range(count)),
    )


def arm_stage(
    problem: ArmCalibrationProblem, test_rig: ArmTestRig, *, held_out: bool = False
) -> Stage | None:
    """Make the only calibration stage of an arm, which fits all parameters to all motions.

    Args:
        problem: The problem.
        test_rig: Simulation of its recordings.
        held_out: Whether to take the motions kept for validation; None where there are none.
    """
    named = zip(problem.labels, problem.motions, strict=True)
    selected = [(label, item) for label, item in named if item.held_out == held_out]
    if not selected:
        return None
    motions = [item for _, item in selected]
    measured = np.concatenate([np.array(motion.rows).ravel() for motion in motions])
    labels = [
        f"{label} {column} at {time:g} s"
        for label, item in selected
        for time in item.times
        for column in item.columns
    ]
    return Stage(
        name="arm",
        block=arm_block(problem),
        simulate=lambda parameters: test_rig.recorded(parameters, motions),
        measured=measured,
        labels=tuple(labels),
        unit="m" if motions[0].ends else "rad",
    )


@dataclass(frozen=True, kw_only=True)
class ArmCalibrationResult(ExtensionResult):
    """Calibration result of a hydraulic arm.

    Args:
        problem: Recorded values.
        arm: With the parameters found.
    """

    problem: ArmCalibrationProblem
    arm: HydraulicArm

    def save_calibrated(self, directory: Path) -> Path:
        """Write ``arm.yaml`` and return its path.

        Raises:
            ResultError: The directory cannot be written.
        """
        names = ", ".join(self.parameters)
        source = f"softgrasp {__version__}, calibrated by {self.method} (seed {self.seed}): {names}"
        if self.status is CalibrationStatus.NOT_CREDIBLE:
            source += f"; {self.status.value}"
        return save_hydraulic_arm(self.arm.replace(source=source), directory / ARM)


def arm_result_from(problem: ArmCalibrationProblem, fields: dict[str, Any]) -> ArmCalibrationResult:
    """Make the result of a saved calibration.

    Args:
        problem: The problem.
        fields: Fields of ``EstimatedParameters``.
    """
    (stage,) = fields["stages"]
    return ArmCalibrationResult(
        problem=problem, arm=ArmTestRig(problem).arm(stage.values), **fields
    )


# Credibility


ASSUMED = {"m": 2e-3, "rad": math.radians(1.0)}
"""Error of a recorded value where none is declared, by unit."""


def assess_arm(problem: ArmCalibrationProblem, stage: Stage, position: Array) -> Credibility:
    """Assess the fit of an arm by the sizes of its recordings, and by a χ² test.

    The errors of the test are those of recording, and of the model relative to the motion, as most
    of a coordinate may be the length of the arm.

    Args:
        problem: Calibration problem.
        stage: Its stage.
        position: Fitted parameters, (p,).
    """
    declared = problem.measurement_error(stage.unit)
    spans = np.concatenate([
        np.broadcast_to(np.ptp(np.array(motion.rows), axis=0), np.shape(motion.rows)).ravel()
        for motion in problem.motions
        if not motion.held_out
    ])  # fmt: skip
    test = StageFit(problem, stage, position).chi_square(
        ASSUMED[stage.unit] if declared is None else declared,
        "assumed" if declared is None else "declared",
        problem.model_error * spans,
        len(position),
    )
    quantities = tuple(_quantities(problem))
    findings = [*_copies(problem), *implausible(quantities), *test.findings]
    findings.sort(key=lambda item: not item.refutes)
    return Credibility((test,), quantities, tuple(findings), ())


def _copies(problem: ArmCalibrationProblem) -> Iterator[Finding]:
    """Yield recordings that are equal to the last digit, which cannot be chance."""
    labelled = zip(problem.labels, problem.motions, strict=True)
    for (name, first), (other, second) in combinations(labelled, 2):
        if first.rows != second.rows or np.ptp(first.rows) == 0.0:
            continue
        loads = [(motion.pressures, motion.torques, motion.start) for motion in (first, second)]
        same = loads[0] == loads[1]
        sentence = f"arm: the recordings of {name} and {other} are equal to the last digit; " + (
            "it counts twice" if same else "one of them is a copy"
        )
        yield Finding("arm", sentence, refutes=not same)


def _quantities(problem: ArmCalibrationProblem) -> Iterator[PlausibleQuantity]:
    motions = problem.motions
    length = sum(section.length for section in problem.arm.sections)
    if motions[0].ends:
        points = np.concatenate([np.array(motion.ends).reshape(-1, 3) for motion in motions])
        reach = float(np.linalg.norm(points, axis=1).max()) / length
        yield PlausibleQuantity("distance of the recorded ends from the base over the arm's length",
                                reach, 0.1, 1.5, "", "compare mm and m")  # fmt: skip
    else:
        bend = max(abs(x) for motion in motions for row in motion.bends for x in row)
        yield PlausibleQuantity("largest recorded bend", math.degrees(bend), 0.1, 400.0, "°",
                                "compare degrees and radians")  # fmt: skip
    pressures = [p for motion in motions for p in (*motion.pressures, *(motion.start or ()))]
    highest = max(map(abs, pressures), default=0.0)
    if highest > 0.0:
        yield PlausibleQuantity("highest pressure", highest / 1e3, 1.0, 5000.0, "kPa",
                                "pressures are in Pa")  # fmt: skip
    longest = max(motion.times[-1] for motion in motions)
    yield PlausibleQuantity("longest recording", longest, 0.02, 600.0, "s",
                            "compare s and ms")  # fmt: skip
