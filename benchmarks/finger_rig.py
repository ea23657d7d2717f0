"""Measurements of soft fingers, computed without softgrasp's models.

Statics and dynamics of planar chains of rigid links with springs, in numpy, with noise, honest
errors of a test rig, and physical mistakes that are made with it. Tables and descriptions are those
of ``docs/calibration.md``.

Absolute link angles θ are positive downwards. Vectors in the plane are complex numbers x + i z, so
that a vector fixed to link j points along b·exp(-iθ_j).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy

GRAVITY, RATE = 9.81, 960.0
BOUNDS = {"stiffness": (0.03, 1.2), "damping": (1e-5, 5e-3), "gain": (0.0, 4e-6)}
"""Ranges that every problem file states [N·m/rad, N·m·s/rad, m³]."""
PSI, BAR = 6.894757, 100.0
"""[kPa]"""


# Finger and rig.


@dataclass
class Finger:
    """Rigid links with springs; lengths in m, joints (n,), first link fixed to the clamp."""

    joints: np.ndarray
    tip: float
    masses: np.ndarray
    centers: np.ndarray
    sizes: np.ndarray
    stiffness: np.ndarray
    gain: np.ndarray
    damping: float

    def arms(self, point: float, link: int) -> np.ndarray:
        """Vectors from joint to joint and to a point at x on a link, (n,) complex [m]."""
        ends = np.append(self.joints[1:], 0.0)
        ends[link] = point
        return np.where(np.arange(len(ends)) <= link, ends - self.joints, 0.0).astype(complex)

    def link_arms(self) -> np.ndarray:
        """Vectors to the centres of mass of the moving links, (n, n) complex [m]."""
        arms = np.array([self.arms(c.real, i) for i, c in enumerate(self.centers[1:])])
        return arms + 1j * np.diag(self.centers[1:].imag)


@dataclass
class Rig:
    """Honest errors of a test rig, and the physical mistakes that are made with it."""

    tilt: float = 0.0  # of the clamp, downwards [rad]
    roll: float = 0.0  # of the camera [rad]
    squeeze: float = 1.0  # width over height of the image
    load_shift: float = 0.0  # of the weight towards the clamp [m]
    load_link: int = -1
    extra_mass: float = 0.0  # on the tip, in the rows with a weight [g]
    weight_errors: float = 0.0  # [g]
    upward_force: float = 0.0  # at the tip in all statics [N]
    gap: float = 0.0  # [m]
    sink: float = 0.0  # of the plate [m/N]
    friction: float = 0.0
    tare: float = 0.0  # [N]
    gauge: float = 1.0  # reading over force
    pressure_offset: float = 0.0  # reading over pressure [kPa]
    pressure_limit: float = np.inf  # [kPa]
    leak: float = 0.0  # relative, to the last row
    hung_pressure: float = 0.0  # [kPa]
    softening: dict[int, float] = field(default_factory=dict)  # factor of a joint's stiffness ...
    softens_at: float = 1.0  # ... from this fraction of the rows on
    creep: float = 0.0  # relative growth of angles over the series
    hysteresis: float = 0.0  # relative moment that is missing while loading, in excess unloading
    bend_tilt: float = 0.0  # of the clamp in free bends [rad]
    swinging_mass: float = 0.0  # that stays on the tip of a released finger [kg]
    angle_scatter: float = 0.0  # of each joint, relative: the model's error
    offsets: float = 0.0  # of each joint angle [rad]


def rest(
    f: Finger, stiffness: np.ndarray, moment: np.ndarray, load: np.ndarray, tilt: float = 0.0,
    plate: tuple[float, float, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Equilibria by Newton's method.

    Args:
        f: Finger.
        stiffness: Of its joints, (rows, n) [N·m/rad].
        moment: Of the pressure at its joints, (rows, n) [N·m].
        load: Weight times arm of point loads, (rows, n) complex [N·m].
        tilt: Of the clamp, downwards [rad].
        plate: Height below the first joint, compliance, and friction of a plate [m, m/N, –].

    Returns:
        Joint angles, (rows, n) [rad], and forces of the plate, (rows,) [N].
    """
    rows, n = moment.shape
    difference = np.eye(n) - np.eye(n, k=-1)
    weight = load + GRAVITY * f.masses[1:] @ f.link_arms()
    springs = np.einsum("ji,rj,jk->rik", difference, stiffness, difference)
    theta, force = np.zeros((rows, n)), np.zeros(rows)
    active = np.zeros(rows, dtype=bool)
    for touched in (False, True) if plate else (False,):
        if touched:
            height, sink, friction = plate
            active = (f.arms(f.tip, n - 1) * np.exp(-1j * (theta + tilt))).imag.sum(1) < height
            theta = np.zeros(
                (rows, n)
            )  # not the free, curled finger, which leads to other branches
        for _ in range(60):
            spin = np.exp(-1j * (theta + tilt))
            arm, heavy = f.arms(f.tip, n - 1) * spin, weight * spin
            gradient = (springs @ theta[..., None])[..., 0] - moment @ difference - heavy.real
            hessian = springs - np.einsum("ri,ij->rij", heavy.imag, np.eye(n))
            system = np.zeros((rows, n + 1, n + 1))
            right = np.zeros((rows, n + 1))
            system[:, n, n] = 1.0
            if touched:
                mu = friction * active
                gradient += force[:, None] * (arm.real - mu[:, None] * arm.imag)
                slope = force[:, None] * (arm.imag + mu[:, None] * arm.real)
                hessian = hessian + np.einsum("ri,ij->rij", slope, np.eye(n))
                system[:, :n, n] = arm.real - mu[:, None] * arm.imag
                system[active, n, :n] = -arm.real[active]
                system[active, n, n] = sink
                gone = arm.imag.sum(1) - height + sink * force
                right[:, n] = np.where(active, gone, force)
            system[:, :n, :n], right[:, :n] = hessian, gradient
            step = np.linalg.solve(system, right[..., None])[..., 0]
            limit = np.minimum(1.0, 0.3 / np.maximum(np.abs(step[:, :n]).max(1), 1e-12))
            theta, force = theta - limit[:, None] * step[:, :n], force - limit * step[:, n]
            if np.abs(step[:, :n]).max() < 1e-10:
                break
    return theta @ difference.T, force


def released(f: Finger, mass: float, times: np.ndarray, swinging: float = 0.0) -> np.ndarray:
    """Heights of the tip after a weight is removed, by integration of the chain [kg, s → m]."""
    n = len(f.joints)
    item, tip = f.stiffness[None], f.arms(f.tip, n - 1)
    start = np.cumsum(rest(f, item, 0 * item, mass * GRAVITY * tip[None])[0][0])
    arms = np.vstack([f.link_arms(), tip])
    masses = np.append(f.masses[1:], swinging)
    coupling = np.einsum("l,lj,lk->jk", masses, arms, arms.conj())
    spin_inertia = np.diag(f.masses[1:] * (f.sizes[1:, 0] ** 2 + f.sizes[1:, 2] ** 2) / 12.0)
    difference = np.eye(n) - np.eye(n, k=-1)
    springs = difference.T @ np.diag(f.stiffness) @ difference
    dampers = f.damping * difference.T @ difference
    weight = GRAVITY * masses @ arms

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        theta, rate = state[:n], state[n:]
        spin = np.exp(-1j * theta)
        product = coupling * spin[:, None] * spin.conj()[None, :]
        moment = (weight * spin).real - springs @ theta - dampers @ rate
        moment -= product.imag.T @ rate**2
        return np.append(rate, np.linalg.solve(product.real + spin_inertia, moment))

    span = (0.0, float(times[-1]))
    motion = scipy.integrate.solve_ivp(
        slope, span, np.append(start, np.zeros(n)), "LSODA", times, rtol=1e-6, atol=1e-8
    )
    return (tip[:, None] * np.exp(-1j * motion.y[:n])).imag.sum(0)


def settled(times: np.ndarray, heights: np.ndarray, rule: str) -> tuple[int, float]:
    """Overshoots and settling time by a documented rule, ``paper000`` or ``band-5%``."""
    if rule == "paper000":
        smooth = scipy.ndimage.gaussian_filter1d(heights, 4.0)
        extrema = [scipy.signal.find_peaks(s * smooth, prominence=0.9e-3, distance=30)[0]
                   for s in (1, -1)]  # fmt: skip
        at = np.sort(np.concatenate([[0], *extrema]))
        swing = np.abs(np.diff(smooth[at])) > 1e-3
        kept = [0] + [at[i] for i in range(1, len(at) - 1) if swing[i - 1] and swing[i]]
        if len(kept) < 2:
            return 0, float(times[-1])
        return len(kept) - 1, float(times[kept[-1]] + 0.5 * (times[kept[-1]] - times[kept[-2]]))
    away = heights - heights[-len(heights) // 10 :].mean()
    band = float(rule[5:-1]) / 100.0 * abs(away[0])
    outside = np.nonzero(np.abs(away) > band)[0]
    signs = np.sign(away[outside])
    return int((signs[1:] != signs[:-1]).sum()), float(times[min(outside[-1] + 1, len(times) - 1)])


# Measurements.


@dataclass
class Case:
    """A finger, its rig, and the tables that a laboratory writes."""

    seed: int
    finger: Finger
    rig: Rig
    plan: dict[str, Any]
    described: Finger
    hung: dict[str, np.ndarray] = field(default_factory=dict)
    bends: dict[str, np.ndarray] = field(default_factory=dict)
    forces: dict[str, np.ndarray] = field(default_factory=dict)
    releases: dict[str, np.ndarray] = field(default_factory=dict)
    traces: dict[float, np.ndarray] = field(default_factory=dict)

    def measure(self) -> Case:
        """Measure everything planned, with the same noise each time."""
        plan, rng = self.plan, np.random.default_rng(self.seed + 10_000)
        masses = np.tile(plan["masses"], plan["repeats"])
        if plan.get("up_and_down"):
            masses = np.concatenate([plan["masses"], plan["masses"][::-1]])
        self.hung = {"mass": masses, "angles": self.angles_under(masses, None, rng)}
        if "bends" in plan:
            pressures = plan["bends"]
            self.bends = {"pressure": pressures, "angles": self.angles_under(None, pressures, rng)}
        if "forces" in plan:
            pressures = np.tile(plan["forces"], plan["repeats"])
            if plan.get("up_and_down"):
                pressures = np.concatenate([plan["forces"], plan["forces"][::-1]])
            self.forces = {"pressure": pressures, "force": self.forces_at(pressures, rng)}
        self._release(rng)
        return self

    def _stiffness(self, rows: int) -> np.ndarray:
        stiffness = np.tile(self.finger.stiffness, (rows, 1))
        for joint, factor in self.rig.softening.items():
            stiffness[int(self.rig.softens_at * rows) :, joint] *= factor
        return stiffness

    def _moments(self, pressures: np.ndarray) -> np.ndarray:
        """Moments of read pressures [kPa → N·m]."""
        rig, rows = self.rig, len(pressures)
        real = np.minimum(pressures - rig.pressure_offset * (pressures > 0), rig.pressure_limit)
        real = np.maximum(real, 0.0) * (1.0 - rig.leak * np.arange(rows) / max(rows - 1, 1))
        loading = np.append(1.0, np.sign(np.diff(pressures))) >= 0
        real = real * (1.0 - rig.hysteresis * np.where(loading, 1.0, -1.0))
        return 1e3 * real[:, None] * self.finger.gain

    def angles_under(
        self, masses: np.ndarray | None, pressures: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Angles that photographs show [g, kPa → degrees]."""
        f, rig = self.finger, self.rig
        rows, n = len(masses if masses is not None else pressures), len(f.joints)
        link = range(n)[rig.load_link]
        at = (f.tip if link == n - 1 else f.joints[link + 1]) - rig.load_shift
        grams = np.zeros(rows) if masses is None else masses + (masses > 0) * (
            rig.extra_mass + rig.weight_errors * rng.standard_normal(rows))  # fmt: skip
        load = (1e-3 * GRAVITY * grams)[:, None] * f.arms(at, link)
        load = load - rig.upward_force * f.arms(f.tip, n - 1)
        residual = np.full(rows, rig.hung_pressure) if masses is not None else pressures
        moment = 1e3 * residual[:, None] * f.gain if masses is not None else self._moments(residual)
        tilt = rig.tilt + (rig.bend_tilt if masses is None else 0.0)
        angles = rest(f, self._stiffness(rows), moment, load, tilt)[0]
        angles = angles * (1.0 + rig.creep * np.arange(rows)[:, None] / rows)
        joints = np.random.default_rng(self.seed + 20_000)
        angles = angles * (1.0 + rig.angle_scatter * joints.standard_normal(n))
        angles = angles + rig.offsets * joints.standard_normal(n)
        along = np.exp(-1j * (np.cumsum(angles, axis=1) + rig.roll))
        seen = np.arctan2(-along.imag, along.real * rig.squeeze)
        seen = np.degrees(np.diff(seen, axis=1, prepend=0.0))
        seen = seen + self.plan["angle_noise"] * rng.standard_normal(seen.shape)
        return seen[:, : self.plan["seen"]]

    def forces_at(self, pressures: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Forces that a scale shows at read pressures [kPa → N]."""
        f, rig, rows = self.finger, self.rig, len(pressures)
        tip = f.arms(f.tip, len(f.joints) - 1)
        load = np.tile(-rig.upward_force * tip, (rows, 1))
        stiffness = self._stiffness(rows)
        sag = rest(f, stiffness[:1], np.zeros((1, len(tip))), load[:1], rig.tilt)[0][0]
        height = (tip * np.exp(-1j * (np.cumsum(sag) + rig.tilt))).imag.sum()
        plate = (height - rig.gap - self.plan["plate_gap"], rig.sink, rig.friction)
        force = rest(f, stiffness, self._moments(pressures), load, rig.tilt, plate)[1]
        noise = self.plan["force_noise"] * (force + 0.1 * force.max()) * rng.standard_normal(rows)
        return rig.gauge * force + rig.tare + noise

    def _release(self, rng: np.random.Generator) -> None:
        times = np.arange(int(self.plan["duration"] * RATE)) / RATE
        rows = []
        for mass in self.plan.get("releases", ()):
            heights = released(self.finger, 1e-3 * mass, times, self.rig.swinging_mass)
            heights = heights + 5e-5 * rng.standard_normal(len(times))
            if self.plan["traces"]:
                self.traces[mass] = np.stack([times, heights])[:, :: self.plan["stride"]]
            count, at = settled(times, heights, self.plan["rule"])
            rows.append((mass, count, at * (1.0 + 0.01 * rng.standard_normal())))
        if rows and not self.plan["traces"]:
            self.releases = dict(
                zip(("mass", "overshoots", "settling"), np.array(rows).T, strict=True)
            )


def draw_case(seed: int, needs: str = "", *, honest: float = 1.0) -> Case:
    """Draw a finger, a rig with honest errors and what is measured, and measure it.

    Args:
        seed: Of everything.
        needs: Names of measurements that the set has: forces, bends, releases, traces, photos.
        honest: Factor of noise and honest errors, 0 for exact data.
    """
    rng = np.random.default_rng(seed)
    finger = _draw_finger(rng, honest)
    n, reach = len(finger.joints), finger.tip - finger.joints[0]
    heaviest = finger.stiffness[0] * rng.uniform(0.2, 0.4) / (GRAVITY * reach)
    count = int(rng.integers(4, 8))
    rule = str(rng.choice(["paper000", "paper000", "band-5%"]))
    plan: dict[str, Any] = {
        "masses": np.round(1e3 * heaviest * np.linspace(0, 1, count)), "seen": n,
        "repeats": int(rng.integers(1, 4)), "angle_noise": honest * rng.uniform(0.2, 0.5),
        "force_noise": honest * rng.uniform(0.01, 0.03), "plate_gap": 0.0, "traces": False,
        "duration": 1.6, "rule": rule, "stride": int(rng.choice([1, 2, 4])),
        "declares": rng.random() < 0.4, "zero": "design", "photos": "photos" in needs,
        "units": rng.random() < 0.3 and not needs, "semicolons": rng.random() < 0.15,
        "held_out": rng.random() < 0.3,
    }  # fmt: skip
    if plan["photos"]:
        plan["repeats"] = 1
    elif n > 3 and rng.random() < 0.3:
        plan["seen"] = n - 1
    highest = float(np.round(rng.uniform(50, 110), -1))
    levels = np.round(highest * np.arange(1, 6) / 5, 1)[-int(rng.integers(4, 6)) :]
    if "forces" in needs or ("bends" not in needs and rng.random() < 0.7):
        plan["forces"] = levels
        if rng.random() < 0.25:
            plan["plate_gap"] = float(rng.choice([0.001, 0.002, 0.004]))
    if "bends" in needs or (not needs and rng.random() < 0.35):
        plan["bends"] = levels
    if "releases" in needs or "traces" in needs or (not needs and rng.random() < 0.5):
        plan["releases"] = plan["masses"][-3:]
        plan["traces"] = "traces" in needs or (not needs and rng.random() < 0.3)
    if not needs and rng.random() < 0.15:
        plan["zero"], plan["seen"] = "unloaded", n
    if "bends" not in plan or "forces" in plan:
        finger.gain[:] = finger.gain.mean()
    finger.gain *= rng.uniform(0.15, 0.35) * finger.stiffness.mean() / (1e3 * highest)
    normal = honest * np.clip(rng.standard_normal(10), -2, 2)
    rig = Rig(
        tilt=np.radians(0.3) * normal[0], roll=np.radians(0.3) * normal[1],
        load_shift=0.05 * (finger.tip - finger.joints[-1]) * normal[2] * 0.7,
        weight_errors=0.1 * honest, friction=0.1 * abs(normal[4]) * 0.7,
        gap=normal[3] * (1e-4 if plan["plate_gap"] else 1e-3), angle_scatter=0.01 * honest,
        offsets=np.radians(0.2) * honest * (rng.random() < 0.5),
    )  # fmt: skip
    described = Finger(**{**vars(finger), "masses": finger.masses * (1 + 0.007 * normal[5])})
    case = Case(seed, finger, rig, plan, described).measure()
    if case.forces:
        rig.tare = 0.002 * float(case.forces["force"].max()) * normal[6]
        case.measure()
    return case


def _draw_finger(rng: np.random.Generator, honest: float) -> Finger:
    """Draw a finger of 3 to 8 joints; gains are of order 1 until pressures are drawn."""
    n = int(rng.integers(3, 9))
    cells = np.full(n + 1, rng.uniform(0.045, 0.085) / (n + 1)) * rng.uniform(0.92, 1.08, n + 1)
    ends = np.cumsum(cells)
    width, height = rng.uniform(0.014, 0.024), rng.uniform(0.012, 0.02)
    taper = np.linspace(1.0, rng.uniform(0.6, 1.0), n + 1)
    sizes = np.stack([cells, np.full(n + 1, width), height * taper], axis=1)
    masses = rng.uniform(900.0, 1200.0) * rng.uniform(0.5, 0.9) * sizes.prod(axis=1)
    centers = ends - 0.5 * cells + 1j * rng.choice([0.0, 5e-4])
    stiffness = np.exp(rng.uniform(np.log(0.1), np.log(0.35))) * taper[1:] ** 2
    stiffness = stiffness * np.exp(0.2 * rng.standard_normal(n))
    frequency = 60.0 * np.sqrt(stiffness.mean() / 0.2)
    damping = 2.0 * rng.uniform(0.04, 0.1) * float(stiffness.mean()) / frequency
    gain = np.exp(0.1 * rng.standard_normal(n) * (honest > 0)) * taper[1:]
    return Finger(ends[:-1], ends[-1], masses, centers, sizes, stiffness, gain, damping)


# Files.


def write_case(case: Case, directory: Path) -> None:
    """Write the description of the finger, the tables and the problem file."""
    directory.mkdir(parents=True, exist_ok=True)
    plan, f = case.plan, case.described
    _write_finger(f, directory / "finger.yaml")
    masses, pressure = ("mass_kg", 1e-3) if plan["units"] else ("mass_g", 1.0), ("kPa", 1.0)
    if plan["units"]:
        pressure = ("bar", 1 / BAR) if case.seed % 2 else ("psi", 1 / PSI)
    angle, scale = ("rad", np.pi / 180) if plan["units"] and case.seed % 3 else ("deg", 1.0)
    names = [f"q{i + 1}_{angle}" for i in range(plan["seen"])]
    lines = ["finger: finger.yaml"]
    if plan["photos"]:
        _write_photos(case, directory / "photos")
        lines.append("photos: {folder: photos}")
    else:
        rows = np.column_stack([case.hung["mass"] * masses[1], case.hung["angles"] * scale])
        _write_table(directory / "hung.csv", [masses[0], *names], rows, plan)
        lines.append("hung: hung.csv")
    column = f"pressure_{pressure[0]}"
    if case.bends:
        rows = np.column_stack(
            [case.bends["pressure"] * pressure[1], case.bends["angles"] * scale])  # fmt: skip
        _write_table(directory / "bends.csv", [column, *names], rows, plan)
        lines.append("bends: bends.csv")
    if case.forces:
        rows = np.column_stack([case.forces["pressure"] * pressure[1], case.forces["force"]])
        _write_table(directory / "forces.csv", [column, "force_N"], rows, plan)
        lines.append("forces: forces.csv")
        if plan["plate_gap"]:  # a stated gap is known to 0.1 mm, another to 2 mm
            lines.append(f"plate_gap: {plan['plate_gap']}")
    if case.releases:
        times = ("settling_ms", 1e3) if plan["units"] else ("settling_s", 1.0)
        rows = np.column_stack([case.releases["mass"] * masses[1], case.releases["overshoots"],
                                case.releases["settling"] * times[1]])  # fmt: skip
        _write_table(directory / "releases.csv", [masses[0], "overshoots", times[0]], rows, plan)
        lines += ["releases: releases.csv", f"release_rule: {plan['rule']}"]
    if case.traces:
        for mass, trace in case.traces.items():
            rows = np.column_stack([trace[0], 1e3 * trace[1]])
            _write_table(directory / f"track{mass:g}.csv", ["time_s", "height_mm"], rows, plan)
        lines.append(f"traces: {{{', '.join(f'{m:g}: track{m:g}.csv' for m in case.traces)}}}")
        lines.append("release_objective: trace")
    lines.append(f"bounds: {{{', '.join(f'{k}: {list(v)}' for k, v in BOUNDS.items())}}}")
    lines += ["damping_model: uniform", f"zero: {plan['zero']}"]
    lines.append(f"gain_model: {'per-joint' if case.bends and not case.forces else 'uniform'}")
    if plan["held_out"] and plan["repeats"] == 1:
        lines.append(f"held_out: {{hung: [{case.hung['mass'][2]:g}]}}")
    if plan["declares"]:
        lines.append(f"errors: {{angle: {np.radians(plan['angle_noise']):.5f}}}")
    (directory / "problem.yaml").write_text("\n".join(lines) + "\n")


def _write_finger(f: Finger, file: Path) -> None:
    lines = ["name: finger", "units: {length: mm}", "joints:"]
    lines += [f"  - {{position: [{1e3 * x:.3f}, 0, 0], stiffness: 0.2}}" for x in f.joints]
    lines.append("links:")
    for center, mass, size in zip(f.centers, f.masses, f.sizes, strict=True):
        edges = ", ".join(f"{1e3 * s:.3f}" for s in size)
        lines.append(f"  - {{center: [{1e3 * center.real:.3f}, 0, {1e3 * center.imag:.3f}], "
                     f"mass: {mass:.6g}, size: [{edges}]}}")  # fmt: skip
    file.write_text("\n".join([*lines, f"tip: [{1e3 * f.tip:.3f}, 0, 0]"]) + "\n")


def _write_table(file: Path, names: list[str], rows: np.ndarray, plan: dict[str, Any]) -> None:
    texts = [[f"{value:.6g}" for value in row] for row in rows]
    if plan["semicolons"]:
        texts = [[text.replace(".", ",") for text in row] for row in texts]
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream, delimiter=";" if plan["semicolons"] else ",")
        writer.writerows([names, *texts])


def _write_photos(case: Case, directory: Path) -> None:
    from PIL import Image

    import softgrasp as sg
    from softgrasp.vision.synthetic_photos import synthetic_photo

    directory.mkdir(exist_ok=True)
    finger = sg.io.load_finger(str(directory.parent / "finger.yaml"))
    for mass, angles in zip(case.hung["mass"], np.radians(case.hung["angles"]), strict=True):
        image = synthetic_photo(finger, angles, 1280, light=0.15, noise=0.01, seed=int(mass)).image
        Image.fromarray(image).save(directory / f"{mass:g}g.png")
