"""Rates of noticed laboratory mistakes and of false alarms of ``softgrasp calibrate``.

``correct`` and ``mistakes`` write sets of measurements without and with a mistake, drawn by
``finger_rig`` independently of softgrasp; ``run`` calibrates each as a user would and prints rates:

    python benchmarks/calibration_mistakes.py correct DIR
    python benchmarks/calibration_mistakes.py mistakes DIR
    python benchmarks/calibration_mistakes.py run DIR

A mistake is visible if the best fit of the true model, with the honest errors that the
documentation admits, has a significant chi-square or a parameter outside the stated bounds.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from finger_rig import (
    BAR,
    BOUNDS,
    GRAVITY,
    PSI,
    RATE,
    Case,
    Finger,
    Rig,
    draw_case,
    released,
    settled,
    write_case,
)

MODEL_ERROR = 0.01
"""Error of the model that a refit admits, relative to a value [–]."""
SIGNIFICANT = 1e-3
"""Probability of chi-square below which a mistake is visible."""
GRAM_FORCE = 1e-3 * GRAVITY
"""[N]"""


# Visibility.


class Refit(NamedTuple):
    """Best fit of the true model to a case."""

    chance: float
    """Probability of residuals at least as large: the smallest of those of the kinds of
    measurements, by chi-square and by the largest residual."""
    excess: float
    """Root mean square of residuals over their standard errors."""
    inside: bool
    """Whether all parameters are within the stated bounds."""


class Model:
    """The true model of a case, with stiffness, gains and honest errors as parameters.

    Parameters are the logarithms of stiffnesses (n) and gains, then tare, friction, gap, load
    point and mass of the finger over their documented standard deviations.
    """

    def __init__(self, case: Case) -> None:
        self.case, self.joints = case, len(case.finger.joints)
        self.gains = int(bool(case.forces)) or self.joints * bool(case.bends)
        self.largest = float(np.abs(case.forces["force"]).max()) if case.forces else 1.0
        gap = 1e-4 if case.plan["plate_gap"] else 2e-3
        self.priors = np.array([0.003 * self.largest, 0.1, gap, 0.05, 0.01])

    def start(self) -> np.ndarray:
        """Return the parameters from which a fit starts: the true ones."""
        finger = self.case.finger
        return np.concatenate(
            [np.log(finger.stiffness), np.log(finger.gain[: self.gains]), np.zeros(5)]
        )

    def at(self, x: np.ndarray) -> Case:
        """Return a case without noise that has some parameters."""
        f, n = self.case.described, self.joints
        finger = Finger(**vars(f))
        finger.stiffness = np.exp(x[:n])
        finger.gain = np.resize(np.exp(x[n : n + self.gains]) if self.gains else 0.0, n)
        tare, friction, gap, load, mass = x[n + self.gains :] * self.priors
        finger.masses = f.masses * (1.0 + mass)
        shift = load * (f.tip - f.joints[-1])
        rig = Rig(tare=tare, friction=abs(friction), gap=gap, load_shift=shift)
        plan = {**self.case.plan, "angle_noise": 0.0, "force_noise": 0.0}
        return Case(self.case.seed, finger, rig, plan, finger)

    def residuals(self, x: np.ndarray) -> list[np.ndarray]:
        """Return residuals over standard errors: of priors, angles, bends, forces."""
        case, trial, none = self.case, self.at(x), np.random.default_rng(0)
        spread = (x[: self.joints] - x[: self.joints].mean()) / 0.7
        parts, noise = [np.append(spread, x[self.joints + self.gains :])], case.plan["angle_noise"]
        if case.hung:
            model, zero = trial.angles_under(case.hung["mass"], None, none), 0.0
            if case.plan["zero"] == "unloaded":
                at_zero = case.hung["mass"] == 0.0
                zero = (case.hung["angles"] - model)[at_zero].mean(axis=0)
            parts.append(
                (case.hung["angles"] - model - zero) / np.hypot(noise, MODEL_ERROR * model)
            )
        if case.bends:
            model = trial.angles_under(None, case.bends["pressure"], none)
            parts.append((case.bends["angles"] - model) / np.hypot(noise, MODEL_ERROR * model))
        if case.forces:
            model = trial.forces_at(case.forces["pressure"], none)
            error = case.plan["force_noise"] * (np.abs(model) + 0.1 * self.largest)
            parts.append((case.forces["force"] - model) / np.hypot(error, MODEL_ERROR * model))
        return [np.nan_to_num(p.ravel(), nan=1e3, posinf=1e3, neginf=-1e3) for p in parts]


def refit(case: Case) -> Refit:
    """Fit stiffness, gains, honest errors, then damping by least squares."""
    model = Model(case)
    start = model.start()
    best = scipy.optimize.least_squares(
        lambda x: np.concatenate(model.residuals(x)), start,
        max_nfev=40, bounds=(start - 8.0, start + 8.0))  # fmt: skip
    finger = model.at(best.x).finger
    swings, damping = _refit_damping(case, finger)
    parts = [*model.residuals(best.x), swings]
    ranges = [(finger.stiffness, "stiffness"), (damping, "damping")]
    ranges += [(finger.gain, "gain")] if model.gains else []
    inside = all(np.all((BOUNDS[k][0] <= v) & (v <= BOUNDS[k][1])) for v, k in ranges)
    excess = float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))
    return Refit(min(_chance(part) for part in parts), excess, bool(inside))


def _chance(residuals: np.ndarray) -> float:
    """Probability of a chi-square, and of a largest residual, at least as large."""
    if not residuals.size:
        return 1.0
    total = scipy.stats.chi2.sf(np.sum(residuals**2), residuals.size)
    largest = residuals.size * 2.0 * scipy.stats.norm.sf(np.abs(residuals).max())
    return float(min(total, largest, 1.0))


def _refit_damping(case: Case, f: Finger) -> tuple[np.ndarray, float]:
    """Fit one damping to releases with springs known: residuals over errors, and damping."""
    times = np.arange(int(case.plan["duration"] * RATE)) / RATE

    def off(logarithm: float) -> np.ndarray:
        f.damping = float(np.exp(logarithm))
        parts: list[np.ndarray] = []
        for mass, count, at in zip(*case.releases.values(), strict=True) if case.releases else ():
            swings, model = settled(times, released(f, 1e-3 * mass, times), case.plan["rule"])
            half = 0.5 * model / max(swings, 1)
            parts.append(np.array([count - swings, (at - model) / np.hypot(half, 0.03 * at)]))
        for mass, (at, heights) in case.traces.items():
            model = released(f, 1e-3 * mass, at)
            gone = (heights - heights[-1]) - (model - model[-1])
            parts.append(gone[at < 0.4][:: 16 // case.plan["stride"]] / (0.08 * np.ptp(model)))
        return np.concatenate(parts)

    if not case.releases and not case.traces:
        return np.zeros(0), case.finger.damping
    grid = np.log(case.finger.damping) + np.linspace(-2.5, 2.5, 11)
    centre = min(grid, key=lambda x: np.sum(off(x) ** 2))
    best = scipy.optimize.minimize_scalar(
        lambda x: np.sum(off(x) ** 2), bounds=(centre - 0.4, centre + 0.4), method="bounded",
        options={"maxiter": 10})  # fmt: skip
    centre = best.x if best.fun < np.sum(off(centre) ** 2) else centre
    return off(centre), float(np.exp(centre))


# Mistakes.


class Mistake(NamedTuple):
    """A mistake of a laboratory."""

    name: str
    needs: str
    """Measurements that a set has, in which it can be made."""
    words: str
    """Regular expression of words, one of which a verdict has that names it."""
    make: Callable[[Case], object]


def on_rig(**values: object) -> Callable[[Case], object]:
    """Make a mistake with the rig: measure again with other values of its fields."""

    def make(case: Case) -> None:
        for name, value in values.items():
            setattr(case.rig, name, value(case) if callable(value) else value)
        case.measure()

    return make


def on_plan(then: Callable[[Case], object], **values: object) -> Callable[[Case], object]:
    """Measure by another plan, then make a mistake."""

    def make(case: Case) -> None:
        case.plan.update(values)
        then(case)

    return make


def in_table(table: str, column: str, change: Callable[[Any], Any]) -> Callable[[Case], object]:
    """Change a column of a table."""

    def make(case: Case) -> None:
        values = getattr(case, table)
        values[column] = change(values[column].astype(float).copy())

    return make


def _scale_finger(**factors: float) -> Callable[[Case], object]:
    """Describe a finger whose fields are wrong by factors."""

    def make(case: Case) -> None:
        for name, factor in factors.items():
            setattr(case.described, name, getattr(case.described, name) * factor)

    return make


def _joints_at_ends(case: Case) -> None:
    """Describe joints half a cell too near to the clamp."""
    half = 0.5 * np.diff(case.described.joints, append=case.described.tip)
    case.described.joints = case.described.joints - half


def _drop_frames(case: Case) -> None:
    """Number the frames of a film that lacks a third of them from 50 ms on."""
    for mass, (at, heights) in case.traces.items():
        kept = (np.arange(len(at)) % 3 > 0) | (at < 0.05)
        case.traces[mass] = np.stack([at[: kept.sum()], heights[kept]])


def _slip(angles: np.ndarray) -> np.ndarray:
    """Lose the decimal point of one angle."""
    angles[len(angles) // 2, 0] *= 10.0
    return angles


def _other_band(case: Case) -> None:
    """Settle within 2 % where the problem states 5 %."""
    case.plan["rule"] = "band-2%"
    case.measure()
    case.plan["rule"] = "band-5%"


def _highest(case: Case) -> float:
    return float(case.forces["pressure"].max())


HUNG_MASS, HUNG_ANGLES = ("hung", "mass"), ("hung", "angles")
FORCE, PRESSURE = ("forces", "force"), ("forces", "pressure")
MISTAKES = (
    # frequent ones
    Mistake("weights in kg in a column of g", "forces", r"kg\b|kilogram|in g\b|grams",
            in_table(*HUNG_MASS, lambda m: m / 1e3)),
    Mistake("angles in rad in a column of degrees", "forces", r"rad\b|radian",
            in_table(*HUNG_ANGLES, np.radians)),
    Mistake("angles positive upwards", "forces",
            r"signs?\b|upward|upside|opposite|negative|mirror|flip",
            in_table(*HUNG_ANGLES, np.negative)),
    Mistake("columns of joints from the tip to the base", "forces",
            r"revers|order of|from the tip|columns?\b|joints are (exchanged|swapped)",
            in_table(*HUNG_ANGLES, lambda q: q[:, ::-1])),
    Mistake("two columns of joints exchanged", "forces",
            r"columns?\b|exchang|swap|permut|order of|interchang",
            in_table(*HUNG_ANGLES, lambda q: q[:, [1, 0, *range(2, q.shape[1])]])),
    Mistake("two rows of weights exchanged", "", r"exchang|swap|label|interchang|permut|order of",
            in_table(*HUNG_ANGLES, lambda q: q[[0, 1, 3, 2, *range(4, len(q))]])),
    Mistake("pressures in psi in a column of kPa", "forces", r"psi\b",
            in_table(*PRESSURE, lambda p: p / PSI)),
    Mistake("pressures in bar in a column of kPa", "bends", r"bars?\b",
            in_table("bends", "pressure", lambda p: p / BAR)),
    Mistake("scale not tared", "forces", r"tare|offset|zero of the (scale|force|gauge)",
            on_rig(tare=lambda c: 0.25 * c.forces["force"].max())),
    Mistake("lengths in cm in a file of mm", "forces", r"lengths?\b|cm\b|size of the finger",
            _scale_finger(joints=0.1, tip=0.1, centers=0.1, sizes=0.1)),
    Mistake("mass of the whole finger on every link", "forces",
            r"mass of the finger|finger's mass|masses of (the )?links|heav|link mass",
            _scale_finger(masses=5.0)),
    Mistake("camera turned about the vertical by 40 deg", "forces",
            r"yaw|perspective|oblique|camera|image plane|stretch|aspect|pixel",
            on_rig(squeeze=float(np.cos(np.radians(40.0))))),
    Mistake("camera rolled by 6 deg", "forces", r"roll|camera|tilt|level|plumb|horizon",
            on_rig(roll=np.radians(6.0))),
    Mistake("clamp points 20 deg down", "forces",
            r"tilt|clamp|level|gravity|inclin|vertical|horizon", on_rig(tilt=np.radians(20.0))),
    Mistake("a joint tears midway", "forces",
            r"broke|break|damage|torn|tears?\b|changed|drift|soften|k2\b|joint 2|later rows",
            on_rig(softening={1: 0.4}, softens_at=0.5)),
    Mistake("plate 8 mm below the tip", "forces", r"gap|plate|touch", on_rig(gap=0.008)),
    Mistake("sticky plate", "forces", r"friction|stick|slid|slip", on_rig(friction=1.2)),
    Mistake("hook of 8 g not weighed", "",
            r"hook|holder|hanger|offset of the (mass|weight)|(additional|extra|more|missing|"
            r"constant) (mass|weight)|(every|all|each) (of the )?(mass|weight)|lost",
            on_rig(extra_mass=8.0)),
    Mistake("zero of the pressure sensor", "forces",
            r"zero of the pressure|pressure.{0,40}(offset|zero)|(offset|zero).{0,40}pressure|"
            r"dead ?band|threshold", on_rig(pressure_offset=lambda c: 0.2 * _highest(c))),
    Mistake("valve with hysteresis", "forces", r"hystere|(un)?loading|up and down|branch|backlash",
            on_plan(on_rig(hysteresis=0.15), up_and_down=True)),
    Mistake("frame rate twice as high as stated", "releases",
            r"frame|fps|faster|slower|frequenc|period\b|time scale|factor 2",
            in_table("releases", "settling", lambda t: 2.0 * t)),
    Mistake("band of 2 % instead of 5 %", "releases", r"rule|band|2 ?%|threshold|definition",
            _other_band),
    Mistake("a third of the frames lost", "traces",
            r"frame|dropp|missing|time scale|jump|frequenc|uneven", _drop_frames),
    Mistake("pixels wider than high", "forces",
            r"pixel|aspect|anisotrop|stretch|camera|yaw|image", on_rig(squeeze=1.4)),
    # further ones
    Mistake("weights hung one cell short of the tip", "forces",
            r"load point|hung at|point of the (load|weight)|lever|where the weight|attach",
            on_rig(load_link=-2)),
    Mistake("added weights instead of their sum", "", r"increment|cumulat|added|sum of|total|steps",
            in_table(*HUNG_MASS, lambda m: np.where(m > 0, np.unique(m[m > 0])[0], 0.0))),
    Mistake("directions of links instead of angles of joints", "forces",
            r"cumulat|absolute|segment|directions? of|slope|sum of|tangent|orientation",
            in_table(*HUNG_ANGLES, lambda q: np.cumsum(q, axis=1))),
    Mistake("angles pasted one row too low", "", r"shift|rows?\b|one line|moved|order of",
            in_table(*HUNG_ANGLES, lambda q: np.roll(q, 1, axis=0))),
    Mistake("decimal point lost", "forces",
            r"decimal|outlier|factor (of )?10\b|ten times|typing|typo|rows? \d|digit|"
            r"(single|one) (value|reading|measurement)", in_table(*HUNG_ANGLES, _slip)),
    Mistake("silicone creeps during the series", "forces",
            r"creep|drift|relax|viscoel|over time|repeats|later",
            on_plan(on_rig(creep=0.25), repeats=3)),
    Mistake("regulator saturates", "forces",
            r"satur|regulator|clip|plateau|levels? off|limit of the (pressure|supply)",
            on_rig(pressure_limit=lambda c: 0.6 * _highest(c))),
    Mistake("supply leaks during the series", "forces",
            r"leak|drift|repeats|over time|decreas|falls?\b|later|supply",
            on_plan(on_rig(leak=0.25), repeats=3)),
    Mistake("plate of the scale sinks", "forces",
            r"sinks?\b|complian|plate|elastic|deflect|yield|gap", on_rig(sink=0.004)),
    Mistake("gauge inclined by 45 deg", "forces bends",
            r"gauge|inclin|oblique|direction of the force|scale of the force|component|bend",
            on_rig(gauge=float(np.cos(np.radians(45.0))))),
    Mistake("second half of the forces in gram-force", "forces",
            r"gram|gf\b|mixed|units?\b|some rows|in g\b|part of the",
            in_table(*FORCE, lambda f: np.append(f[: len(f) // 2], f[len(f) // 2 :] / GRAM_FORCE))),
    Mistake("pressure left in the finger under weights", "forces",
            r"residual pressure|pressur.{0,40}(left|remain|while)|vent|pre-?bent|rest(ing)? "
            r"(shape|angle)|zero of the angle|curv|offsets?\b",
            on_rig(hung_pressure=lambda c: 0.2 * _highest(c))),
    Mistake("tube lifts the tip with 0.15 N", "",
            r"tube|hose|lift|upward force|pull|support|cable|constant force|offset of the "
            r"(weight|mass|load)|(less|negative) (weight|mass|load)", on_rig(upward_force=0.15)),
    Mistake("hook stays on the tip when released", "releases",
            r"hook|holder|mass.{0,30}(tip|stay|remain|attach)|swing|slower|frequenc|period\b|"
            r"inertia", on_rig(swinging_mass=lambda c: 2e-4 * float(np.max(c.hung["mass"])))),
    Mistake("joints drawn at the ends of cells", "forces",
            r"positions?\b|location|lengths?\b|geometry|half a", _joints_at_ends),
    Mistake("free bends with the finger upside down", "bends",
            r"gravity|upside|orient|vertical|hang|mounted", on_rig(bend_tilt=np.pi)),
)  # fmt: skip


def mistaken(index: int, draw: int = 0) -> tuple[Case, Case]:
    """Return a set without and with a mistake."""
    mistake = MISTAKES[index]
    seed = 5000 + 100 * draw + index
    correct, wrong = draw_case(seed, mistake.needs), draw_case(seed, mistake.needs)
    if mistake.name.startswith("band"):
        correct.plan["rule"] = wrong.plan["rule"] = "band-5%"
        correct.measure()
    mistake.make(wrong)
    return correct, wrong


# Commands.


def write_correct(directory: Path, count: int) -> None:
    """Write sets without a mistake, each with its ``truth.json``, which are not there yet."""
    for number in range(count):
        target = directory / f"correct{number:03d}"
        if not (target / "truth.json").exists():
            case = draw_case(number, "photos" if number % 25 == 24 else "")
            _write_set(target, case, {"mistake": None})


def write_mistakes(directory: Path, draws: int) -> None:
    """Write sets with a mistake, with its name, words and visibility in ``truth.json``."""
    for number, draw in ((n, d) for d in range(draws) for n in range(len(MISTAKES))):
        target = directory / f"mistake{number:02d}_{draw}"
        if not (target / "truth.json").exists():
            before, wrong = mistaken(number, draw)
            was, now = refit(before), refit(wrong)
            worse = now.chance < SIGNIFICANT * min(1.0, was.chance / SIGNIFICANT)
            visible = bool(worse or (was.inside and not now.inside))
            truth = {"mistake": MISTAKES[number].name, "words": MISTAKES[number].words,
                     "visible": visible, "refit": now._asdict(),
                     "refit_without": was._asdict()}  # fmt: skip
            _write_set(target, wrong, truth)


def _write_set(target: Path, case: Case, truth: dict[str, Any]) -> None:
    write_case(case, target)
    values = {"k": case.finger.stiffness.tolist(), "alpha": case.finger.gain.tolist(),
              "c": case.finger.damping, "seed": case.seed}  # fmt: skip
    (target / "truth.json").write_text(json.dumps({**truth, **values}, indent=1) + "\n")
    print(target.name, truth.get("mistake") or "", truth.get("visible", ""), flush=True)


def run(directory: Path, limit: float) -> None:
    """Calibrate all sets that were not yet, write ``outcomes.csv`` and print rates."""
    outcomes = [_outcome(truth.parent, limit) for truth in sorted(directory.glob("*/truth.json"))]
    with (directory / "outcomes.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(outcomes[0]))
        writer.writeheader()
        writer.writerows(outcomes)
    wrong = [o for o in outcomes if o["mistake"]]
    right = [o for o in outcomes if not o["mistake"]]
    seen = [o for o in wrong if o["visible"]]
    for title, among, key in (
        ("mistakes noticed", wrong, "noticed"), ("visible mistakes noticed", seen, "noticed"),
        ("visible mistakes named first", seen, "first"),
        ("visible mistakes named by what refutes", seen, "named"),
        ("visible mistakes named anywhere", seen, "listed"), ("false alarms", right, "noticed"),
    ):  # fmt: skip
        print(f"{title:<40} {sum(o[key] for o in among):3d} of {len(among)}")
    print(f"median time of a set {np.median([o['seconds'] for o in outcomes]):.1f} s")


def _outcome(target: Path, limit: float) -> dict[str, Any]:
    """Return what the calibration of a set concluded, after running it if necessary."""
    truth = json.loads((target / "truth.json").read_text())
    file, result = target / "ran.json", target / "out/calibration.json"
    if not file.exists():
        file.write_text(json.dumps(_calibrate(target, limit)))
    ran = json.loads(file.read_text())
    sentence, refuting, listed = ran["errors"], ran["errors"], ran["errors"]
    if ran["code"] in (0, 1) and result.exists():
        credibility = json.loads(result.read_text())["credibility"]
        findings = credibility["findings"]
        sentence = credibility["sentence"]
        refuting = "; ".join(f["sentence"] for f in findings if f["refutes"])
        readings = [a["reading"] for a in credibility["alternatives"]]
        listed = "; ".join([f["sentence"] for f in findings] + readings)
    words = re.compile(rf"\b(?:{truth.get('words', '(?!)')})", re.IGNORECASE)
    noticed = ran["code"] != 0
    outcome = {
        "name": target.name, "mistake": truth["mistake"] or "",
        "visible": truth.get("visible", False), "code": ran["code"], "noticed": noticed,
        "first": noticed and bool(words.search(sentence)),
        "named": noticed and bool(words.search(refuting)), "listed": bool(words.search(listed)),
        "seconds": ran["seconds"], "verdict": " ".join(f"{sentence} | {listed}".split()),
    }  # fmt: skip
    print(*list(outcome.values())[:8], outcome["verdict"][:120], flush=True)
    return outcome


def _calibrate(target: Path, limit: float) -> dict[str, Any]:
    """Run ``softgrasp calibrate`` on a set: exit code, -1 at the time limit, errors, time [s]."""
    command = [sys.executable, "-m", "softgrasp", "calibrate", "problem.yaml", "--no-report",
               "--out", "out", "--force"]  # fmt: skip
    begin = time.perf_counter()
    try:
        ran = subprocess.run(
            command, cwd=target, capture_output=True, text=True, timeout=limit, check=False
        )
        code, errors = ran.returncode, ran.stderr
    except subprocess.TimeoutExpired:
        code, errors = -1, "time limit"
    return {"code": code, "errors": errors, "seconds": round(time.perf_counter() - begin, 2)}


def main() -> None:
    """Write sets, or calibrate them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["correct", "mistakes", "run"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--count", type=int, default=100, help="sets without a mistake")
    parser.add_argument("--draws", type=int, default=1, help="sets of each mistake")
    parser.add_argument("--limit", type=float, default=180.0, help="time limit of a set [s]")
    options = parser.parse_args()
    if options.action == "correct":
        write_correct(options.directory, options.count)
    elif options.action == "mistakes":
        write_mistakes(options.directory, options.draws)
    else:
        run(options.directory, options.limit)


if __name__ == "__main__":
    main()
