"""The same angles and forces fitted by mujoco.sysid: estimates, intervals and what is noticed.

The model of mujoco.sysid is simulated, not solved: a finger in MuJoCo comes to rest under a weight
at its tip, or presses on a plate. Inertia and damping, which have no effect there, are large.

    python benchmarks/compare_sysid.py    # needs pip install 'mujoco[sysid]'
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np
from measured import machine

import softgrasp as sg
from softgrasp.description.calibration import CalibrationProblem, MeasurementErrors
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.model import names
from softgrasp.model.soft_finger import TIP, finger_spec
from tests.calibration.draws import truth
from tests.calibration.wrong_inputs import ANGLE_NOISE, FORCE_NOISE, Bench, good, true_finger

STEP, DURATION = 5e-3, 3.0
"""Time step, and time after which a finger is at rest [s]."""
ARMATURE, DAMPING = 1e-3, 0.03
"""Of every joint [kg·m², N·m·s/rad]; without effect at rest."""
BALL = 1e-3
"""Radius of the ball between tip and plate [m]."""
GAIN_SCALE = 1e-6
"""Unit of the gain, so that all parameters are of the order of one [m³]."""
DIFFERENCE = 1e-5
"""Step of differences, in the unit of a parameter."""
WEIGHT, PLATE = "weight", "plate"
ERRORS = MeasurementErrors(angle=ANGLE_NOISE, force=FORCE_NOISE)
"""Standard errors of the measurements, which both programs take."""


class Estimate(NamedTuple):
    """Stiffness of each joint, then the gain."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    verdict: str
    seconds: float

    @property
    def half(self) -> np.ndarray:
        """Half of the length of each interval."""
        return 0.5 * (self.high - self.low)


def sysid_estimate(problem: CalibrationProblem) -> Estimate:
    """Fit stiffness and one gain by mujoco.sysid, with the intervals that it computes."""
    from mujoco.sysid import calculate_intervals, optimize

    begin = time.perf_counter()
    residuals, parameters = sysid_problem(problem)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints every iteration
        fitted, solution = optimize(parameters, residuals, verbose=False)
    left = residuals(solution.x, fitted)[0]
    slopes = _slopes(residuals, fitted, solution.x)  # its last one may be that of a rejected step
    seen = np.linalg.norm(slopes, axis=0) > 0.0
    half = np.full(len(solution.x), np.inf)
    half[seen] = calculate_intervals(left, slopes[:, seen])[1]
    unit = np.append(np.ones(len(half) - 1), GAIN_SCALE)
    values, half = solution.x * unit, half * unit
    rms = float(np.sqrt(np.square(np.concatenate([np.ravel(item) for item in left])).mean()))
    return Estimate(values, values - half, values + half, f"residual {rms:.2g} standard errors",
                    time.perf_counter() - begin)  # fmt: skip


def sysid_problem(problem: CalibrationProblem) -> tuple[Any, Any]:
    """Return the residuals and the parameters of a problem for mujoco.sysid."""
    from mujoco import sysid

    residuals = sysid.build_residual_fn(
        models_sequences=_sequences(sysid, problem), build_model=_built, modify_residual=_residual
    )
    return residuals, _parameters(sysid, problem)


def own_estimate(problem: CalibrationProblem, method: str = "map") -> Estimate:
    """Fit the same by softgrasp."""
    begin = time.perf_counter()
    result = sg.calibrate(problem.replace(releases=()), method)
    values = np.array(list(result.parameters.values()))
    low, high = np.array(list(result.intervals.values())).T
    credibility = result.credibility
    assert credibility is not None
    verdict = "credible" if credibility.credible else "not credible"
    return Estimate(values, low, high, verdict, time.perf_counter() - begin)


def _slopes(residuals: Any, parameters: Any, x: np.ndarray) -> np.ndarray:
    """Return the derivatives of all residuals by central differences, (m, p)."""
    steps = DIFFERENCE * np.eye(len(x))
    ends = [np.concatenate(residuals(x + step, parameters)[0]) for step in (*steps, *-steps)]
    return (np.subtract(*np.split(np.array(ends), 2)) / (2.0 * DIFFERENCE)).T


def _parameters(sysid: Any, problem: CalibrationProblem) -> Any:
    """Return stiffness and gain within the bounds of the problem, from their middle."""
    parameters = sysid.ParameterDict()
    joints = names.finger_joint_names(problem.finger)

    def stiffen(joint: str) -> Any:
        return lambda spec, p: setattr(spec.joint(joint), "stiffness", [p.value[0], 0.0, 0.0])

    def drive(spec: mujoco.MjSpec, p: Any) -> None:
        for joint in joints:
            spec.actuator(joint).gear[0] = GAIN_SCALE * p.value[0]

    low, high = problem.stiffness_bounds
    for joint in joints:
        middle = (low * high) ** 0.5
        parameters.add(sysid.Parameter(joint, middle, low, high, modifier=stiffen(joint)))
    low, high = (end / GAIN_SCALE for end in problem.gain_bounds)
    parameters.add(sysid.Parameter("gain", 0.5 * (low + high), low, high, modifier=drive))
    return parameters


def _sequences(sysid: Any, problem: CalibrationProblem) -> list[Any]:
    """Return one sequence per weight and one per pressure, with what was measured at its end."""
    joints = names.finger_joint_names(problem.finger)
    groups = []
    for plate, rows in ((False, problem.hung), (True, problem.forces)):
        spec = static_spec(problem.finger, plate=plate)
        model = spec.compile()
        start = sysid.create_initial_state(model, np.zeros(model.nq))
        times = STEP * np.arange(round(DURATION / STEP))
        controls, sensors = [], []
        for item in (row for row in rows if not row.held_out):
            control = np.zeros(model.nu)
            sensed = np.full(model.nsensordata, np.nan)
            if plate:
                control[[model.actuator(joint).id for joint in joints]] = item.pressure
                sensed[model.sensor(PLATE).adr[0] + 2] = item.force
            else:
                control[model.actuator(WEIGHT).id] = item.mass * -STANDARD_GRAVITY[2]
                sensed[: len(item.angles)] = item.angles
            controls.append(sysid.TimeSeries(times, np.tile(control, (len(times), 1))))
            sensors.append(
                sysid.TimeSeries.from_names(times[[0, -1]], np.stack([sensed] * 2), model)
            )
        if controls:
            labels = [f"{number}" for number in range(len(controls))]
            name = PLATE if plate else WEIGHT
            groups.append(sysid.ModelSequences(name, spec, labels, [start] * len(controls),
                                               controls, sensors))  # fmt: skip
    return groups


def static_spec(finger: SoftFinger, *, plate: bool) -> mujoco.MjSpec:
    """Build a finger with a weight as the force at its tip, motors, and maybe a plate below it."""
    spec = finger_spec(finger)
    spec.option.gravity = list(STANDARD_GRAVITY)
    spec.option.timestep = STEP
    up = spec.worldbody.add_site(name="up")
    for joint in names.finger_joint_names(finger):
        described = spec.joint(joint)
        described.armature, described.damping = ARMATURE, [DAMPING, 0.0, 0.0]
        spec.add_sensor(name=joint, type=mujoco.mjtSensor.mjSENS_JOINTPOS, objname=joint,
                        objtype=mujoco.mjtObj.mjOBJ_JOINT)  # fmt: skip
        spec.add_actuator(
            name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT
        ).set_to_motor()
    spec.add_actuator(name=WEIGHT, target=TIP, refsite=up.name, trntype=mujoco.mjtTrn.mjTRN_SITE,
                      gear=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]).set_to_motor()  # fmt: skip
    if plate:
        _add_plate(spec, finger)
    return spec


def _add_plate(spec: mujoco.MjSpec, finger: SoftFinger) -> None:
    """Add a smooth plate with a force sensor, whose height ``_build`` sets."""
    shut = {"mass": 0.0, "contype": 0, "conaffinity": 0}
    spec.body(f"link{len(finger.joints)}").add_geom(
        name=TIP,
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        pos=spec.site(TIP).pos,
        size=[BALL, 0, 0],
        **shut,
    )
    body = spec.worldbody.add_body(name=PLATE)
    body.add_site(name=PLATE)
    body.add_geom(name=PLATE, type=mujoco.mjtGeom.mjGEOM_BOX, pos=[finger.tip[0], 0, -3 * BALL],
                  size=[finger.tip[0], finger.tip[0], 2 * BALL], **shut)  # fmt: skip
    spec.add_pair(geomname1=TIP, geomname2=PLATE, condim=1, solimp=[0.999, 0.999, 1e-3, 0.5, 2.0])
    spec.add_sensor(name=PLATE, type=mujoco.mjtSensor.mjSENS_FORCE, objname=PLATE,
                    objtype=mujoco.mjtObj.mjOBJ_SITE)  # fmt: skip


def _built(parameters: Any, spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile with parameters; a plate lies where the tip rests without pressure."""
    from mujoco import sysid

    model = sysid.apply_param_modifiers(parameters, spec)
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, PLATE) >= 0:
        plate = model.body(PLATE).id
        model.body_pos[plate, 2] = -1.0
        data = mujoco.MjData(model)
        for _ in range(round(DURATION / STEP)):
            mujoco.mj_step(model, data)
        model.body_pos[plate, 2] = data.site(TIP).xpos[2]
    return model


def _residual(_: Any, simulated: Any, measured: Any, model: mujoco.MjModel, *_more: Any,
              **_named: Any) -> tuple[np.ndarray, Any, Any]:  # fmt: skip
    """Return the differences at rest over the standard errors."""
    known = np.isfinite(measured.data[-1])
    scale = ERRORS.force if known[model.nq :].any() else ERRORS.angle
    left = (simulated.data[-1] - measured.data[-1])[known] / scale
    return left, simulated, simulated  # the same twice, as it cannot compare other mappings


def sets() -> Iterator[tuple[str, CalibrationProblem, np.ndarray | None]]:
    """Yield what is fitted: name, problem, and the true values where they are known."""
    webots = sg.calibration.load_problem("paper000_webots").problem
    yield "simulated by Webots", webots, np.append(truth(webots)[:-1], np.nan)
    yield "real finger", sg.calibration.load_problem("paper000").problem, None
    drawn = good(3)
    yield "drawn with noise", drawn, truth(drawn)
    hooked = Bench(true_finger(), hook=0.01, seed=3).problem()
    yield "the same, a hook of 10 g is not weighed", hooked, truth(drawn)
    rows = drawn.hung
    swapped = (
        rows[0],
        rows[2].replace(mass=rows[1].mass),
        rows[1].replace(mass=rows[2].mass),
        rows[3],
    )
    yield "the same, rows of 20 and 40 g exchanged", drawn.replace(hung=swapped), truth(drawn)


def table() -> Iterator[str]:
    """Yield two lines a set, one of each program."""
    yield "| data | program | k1 ... k7 [N·m/rad] | gain [1e-6 m³] | true inside | verdict | s |"
    yield "|---|---|---|---|---|---|---|"
    for name, described, true in sets():
        problem = described.replace(errors=ERRORS)
        for program, fit in (("mujoco.sysid", sysid_estimate), ("softgrasp", own_estimate)):
            item = fit(problem)
            inside = "" if true is None else (
                f"{((item.low <= true) & (true <= item.high)).sum()} of {np.isfinite(true).sum()}"
            )  # fmt: skip
            shown = [f"{v:.3g} ± {e:.1g}" for v, e in zip(item.values, item.half, strict=True)]
            gain = f"{item.values[-1] / GAIN_SCALE:.3g} ± {item.half[-1] / GAIN_SCALE:.1g}"
            yield (f"| {name} | {program} | {', '.join(shown[:-1])} | {gain} | {inside} | "
                   f"{item.verdict} | {item.seconds:.0f} |")  # fmt: skip


if __name__ == "__main__":
    print(machine())
    for line in table():
        print(line, flush=True)
