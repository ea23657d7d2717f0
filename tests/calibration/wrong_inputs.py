"""Measurements of a known finger, and the mistakes that a laboratory can make with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import GRAVITY, HungRig, Loads, PlanarChain, rest
from softgrasp.description.calibration import (
    CalibrationProblem,
    FreeBend,
    HungAngles,
    Release,
    TipForce,
)
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.io.hand import load_finger

Array = np.ndarray
MASSES = np.array([0.0, 0.02, 0.04, 0.06])
PRESSURES = np.array([2e4, 4e4, 6e4, 8e4, 1e5])
OBSERVED = 6
ANGLE_NOISE, FORCE_NOISE, TIME_NOISE = np.radians(0.4), 0.01, 0.004
GAIN = 1.0e-6


@dataclass(frozen=True)
class Bench:
    """True finger and rig; what is measured there is named as a good laboratory would."""

    finger: SoftFinger
    tilt: float = 0.0
    hook: float = 0.0
    seed: int = 0
    repeats: int = 3

    def problem(self) -> CalibrationProblem:
        """Measure with noise."""
        rng = np.random.default_rng(self.seed)
        angles = self.angles() + ANGLE_NOISE * rng.standard_normal((len(MASSES), OBSERVED))
        forces = np.repeat(exact_forces(), self.repeats)
        forces = forces + FORCE_NOISE * rng.standard_normal(len(forces))
        times, counts = exact_releases()
        times = times + TIME_NOISE * rng.standard_normal(len(times))
        return CalibrationProblem(
            finger=self.finger,
            hung=tuple(HungAngles(mass=m, angles=tuple(row)) for m, row
                       in zip(MASSES.tolist(), angles.tolist(), strict=True)),
            forces=tuple(TipForce(pressure=p, force=f) for p, f
                         in zip(np.repeat(PRESSURES, self.repeats).tolist(), forces.tolist(),
                                strict=True)),
            releases=tuple(Release(mass=m, settling_time=t, overshoots=int(n)) for m, t, n
                           in zip(MASSES[1:].tolist(), times.tolist(), counts.tolist(),
                                  strict=True)),
            gain_bounds=(0.0, 2e-6), gain_model="uniform", damping_model="uniform",
        )  # fmt: skip

    def angles(self) -> Array:
        """Angles without noise, with a tilted base and a hook on every weight."""
        chain = PlanarChain.of(self.finger)
        masses = MASSES + self.hook * (MASSES > 0.0)
        force = np.stack([np.zeros_like(masses), -GRAVITY * masses], axis=-1)
        loads = chain.weight.plus(chain.at_tip(force))
        c, s = np.cos(self.tilt), np.sin(self.tilt)
        turned = Loads(c * loads.cosine + s * loads.sine, c * loads.sine - s * loads.cosine)
        k = finger_values(self.finger, "stiffness")
        angles = rest(k[None], turned, np.zeros(1)).angles[:, :OBSERVED]
        return angles + self.tilt * (np.arange(OBSERVED) == 0)  # read against the horizontal


@cache
def true_finger() -> SoftFinger:
    """Finger of Hadi et al. (2025) with the stiffness of their Table I, within usual bounds."""
    finger = load_finger("paper000")
    return finger.replace(
        joints=tuple(joint.replace(pressure_gain=GAIN, damping=5e-4) for joint in finger.joints)
    )


@cache
def _rig() -> tuple[VirtualExperiments, Array, Array]:
    finger = true_finger()
    k = finger_values(finger, "stiffness")[None]
    return VirtualExperiments(CalibrationProblem(finger=finger)), k, np.full_like(k, GAIN)


@cache
def exact_forces() -> Array:
    """Forces at ``PRESSURES`` [N]."""
    rig, k, gain = _rig()
    return rig.forces(k, gain, [TipForce(pressure=p, force=0.0) for p in PRESSURES.tolist()])[0]


@cache
def exact_releases() -> tuple[Array, Array]:
    """Settling times [s] and overshoots of the loaded masses."""
    rig, k, _ = _rig()
    requested = [Release(mass=m, settling_time=0.5, overshoots=8) for m in MASSES[1:].tolist()]
    times, counts = rig.settled(k, np.full_like(k, 5e-4), requested)
    return times[0], counts[0]


def good(seed: int) -> CalibrationProblem:
    """A good draw."""
    return Bench(true_finger(), seed=seed).problem()


def with_angles(problem: CalibrationProblem, angles: Array) -> CalibrationProblem:
    """The problem with other angles under its weights [rad], (n, joints)."""
    rows = zip(problem.hung, np.asarray(angles).tolist(), strict=True)
    return problem.replace(hung=tuple(item.replace(angles=tuple(row)) for item, row in rows))


def with_forces(problem: CalibrationProblem, forces: Array) -> CalibrationProblem:
    """The problem with other forces [N], (n,)."""
    pairs = zip(problem.forces, np.asarray(forces).tolist(), strict=True)
    return problem.replace(forces=tuple(item.replace(force=force) for item, force in pairs))


# Mistakes

Change = Callable[[CalibrationProblem], CalibrationProblem]


def _angles(change: Callable[[Array], Array]) -> Change:
    return lambda p: with_angles(p, [change(np.array(item.angles)) for item in p.hung])


def _hung(change: Callable[[list[HungAngles]], list[HungAngles]]) -> Change:
    return lambda p: p.replace(hung=tuple(change(list(p.hung))))


def _masses(change: Callable[[float], float]) -> Change:
    return _hung(lambda rows: [row.replace(mass=change(row.mass)) for row in rows])


def _forces(force: Callable[[float], float] = float, pressure: Callable[[float], float] = float
            ) -> Change:  # fmt: skip
    return lambda p: p.replace(
        forces=tuple(x.replace(force=force(x.force), pressure=pressure(x.pressure))
                     for x in p.forces)
    )  # fmt: skip


def _releases(time: Callable[[float], float] = float, count: Callable[[int], int] = int) -> Change:
    return lambda p: p.replace(
        releases=tuple(
            x.replace(settling_time=time(x.settling_time), overshoots=count(x.overshoots))
            for x in p.releases
        )
    )  # fmt: skip


def _finger(length: float = 1.0, mass: float = 1.0) -> Change:
    def scaled(p: CalibrationProblem) -> CalibrationProblem:
        f = p.finger
        times = lambda v: tuple(length * x for x in v)  # noqa: E731
        joints = tuple(j.replace(position=times(j.position)) for j in f.joints)
        links = tuple(
            x.replace(mass=mass * x.mass, center=times(x.center), size=times(x.size),
                      mass_center=None if x.mass_center is None else times(x.mass_center))
            for x in f.links
        )  # fmt: skip
        return p.replace(finger=f.replace(joints=joints, links=links, tip=times(f.tip)))

    return scaled


def _rig_error(**error: float) -> Callable[[int], CalibrationProblem]:
    return lambda seed: replace(Bench(true_finger(), seed=seed), **error).problem()


def _swap(i: int, j: int) -> Callable[[list[HungAngles]], list[HungAngles]]:
    def swapped(rows: list[HungAngles]) -> list[HungAngles]:
        a, b = rows[i], rows[j]
        rows[i], rows[j] = a.replace(angles=b.angles), b.replace(angles=a.angles)
        return rows

    return swapped


def _value(row: int, joint: int, change: Callable[[float], float]) -> Change:
    def changed(rows: list[HungAngles]) -> list[HungAngles]:
        angles = list(rows[row].angles)
        angles[joint] = change(angles[joint])
        rows[row] = rows[row].replace(angles=tuple(angles))
        return rows

    return _hung(changed)


def _noise(like: Array) -> Array:
    """Return the same noise for the same values, (m,) [rad]."""
    seed = int(1e6 * float(np.abs(like).sum()))
    return ANGLE_NOISE * np.random.default_rng(seed).standard_normal(like.shape)


def hung_elsewhere(seed: int, link: int) -> CalibrationProblem:
    """Angles of weights that hang at the beginning of a link."""
    return _measured(seed, HungRig(MASSES, hung_link=link))


def hung_masses(seed: int, change: Callable[[Array], Array]) -> CalibrationProblem:
    """Angles of other weights than are named."""
    return _measured(seed, HungRig(change(MASSES)))


def _measured(seed: int, rig: HungRig) -> CalibrationProblem:
    problem, rng = good(seed), np.random.default_rng(700 + seed)
    k = finger_values(true_finger(), "stiffness")
    exact = rig.angles(PlanarChain.of(true_finger()), k[None])[0, :, :OBSERVED]
    return with_angles(problem, exact + ANGLE_NOISE * rng.standard_normal(exact.shape))


def series(seed: int, factors: tuple[float, ...] = (1.0, 1.0, 1.0),
           swapped: tuple[int, int] | None = None) -> CalibrationProblem:  # fmt: skip
    """Three series of angles, each larger by a factor, with two rows exchanged."""
    rows = [
        item.replace(angles=tuple(factor * angle for angle in item.angles))
        for number, factor in enumerate(factors)
        for item in good(1000 * number + seed).hung
    ]
    return good(seed).replace(hung=tuple(rows if swapped is None else _swap(*swapped)(rows)))


def hysteresis(seed: int) -> CalibrationProblem:
    """The second and the third series have 15 % larger angles."""
    return series(seed, (1.0, 1.15, 1.15))


def straight(seed: int) -> CalibrationProblem:
    """Angles in proportion to the weight."""
    slope = np.array(good(seed).hung[-1].angles) / MASSES[-1]
    return with_angles(good(seed), MASSES[:, None] * slope)


def other_finger(seed: int) -> CalibrationProblem:
    """The last weights of the series bend the finger 30 % less."""
    rows = [
        item.replace(angles=tuple((1.0 - 0.3 * (item.mass > 0.03)) * x for x in item.angles))
        for item in sorted(series(seed).hung, key=lambda row: row.mass)
    ]
    return good(seed).replace(hung=tuple(rows))


def creeping(seed: int) -> CalibrationProblem:
    """The angles are up to 25 % too small, in proportion to the weight."""
    rows = [
        item.replace(angles=tuple((1.0 - 0.25 * item.mass / MASSES[-1]) * x for x in item.angles))
        for item in series(seed).hung
    ]
    return good(seed).replace(hung=tuple(rows))


def tracked(seed: int, change: Callable[[Array, Array], tuple[Array, Array]] = lambda t, z: (t, z),
            order: tuple[int, ...] = (0, 1, 2)) -> CalibrationProblem:  # fmt: skip
    """Tracks of three releases at 240 frames/s with 0.2 mm of noise, changed, in another order."""
    rig, k, _ = _rig()
    times = np.arange(1, 240) / 240.0
    requested = [Release(mass=m, times=tuple(times.tolist()), heights=tuple(0.0 * times))
                 for m in MASSES[1:].tolist()]  # fmt: skip
    rng = np.random.default_rng(seed)
    tracks = [
        track[0] + 2e-4 * rng.standard_normal(len(times))
        for track in rig.traces(k, np.full_like(k, 5e-4), requested)
    ]
    changed = [change(times.copy(), tracks[i].copy()) for i in order]
    releases = tuple(
        item.replace(times=tuple(t.tolist()), heights=tuple(z.tolist()))
        for item, (t, z) in zip(requested, changed, strict=True)
    )
    return good(seed).replace(releases=releases, release_objective="trace", forces=())


def bending(seed: int, change: Callable[[Array], Array] = lambda q: q) -> CalibrationProblem:
    """Angles of the free finger under four pressures instead of forces, (4, n) changed."""
    rig, k, gain = _rig()
    zeros = (0.0,) * OBSERVED
    requested = [FreeBend(pressure=p, angles=zeros) for p in PRESSURES[:4].tolist()]
    rng = np.random.default_rng(seed)
    exact = np.concatenate(rig.bends(k, gain, requested))
    angles = change(exact + ANGLE_NOISE * rng.standard_normal(exact.shape))
    bends = tuple(item.replace(angles=tuple(row)) for item, row in zip(requested, angles.tolist(),
                                                                     strict=True))  # fmt: skip
    return good(seed).replace(forces=(), bends=bends)


def weight_left(angles: Array) -> Array:
    """Return angles under pressure with those of a weight of 40 g that was left at the tip."""
    chain, k = PlanarChain.of(true_finger()), finger_values(true_finger(), "stiffness")
    loaded = HungRig(np.array([0.04, 0.0])).angles(chain, k[None])[0, :, :OBSERVED]
    return angles + loaded[0] - loaded[1]


def _row(index: int, change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Change one row of a table."""

    def changed(table: Array) -> Array:
        table = table.copy()
        table[index] = change(table[index])
        return table

    return changed


def _hung_row(index: int, change: Callable[[Array], Array]) -> Change:
    def changed(p: CalibrationProblem) -> CalibrationProblem:
        return with_angles(p, _row(index, change)(np.array([item.angles for item in p.hung])))

    return changed


def _increments(rows: list[HungAngles]) -> list[HungAngles]:
    """Return the change of the angles since the row before."""
    steps = np.diff([item.angles for item in rows], axis=0, prepend=0.0)
    return [item.replace(angles=tuple(row)) for item, row in zip(rows, steps.tolist(), strict=True)]


def _outlier(index: int, factor: float) -> Change:
    return lambda p: p.replace(
        forces=tuple(x.replace(force=factor * x.force) if i // 3 == index else x
                     for i, x in enumerate(p.forces))
    )  # fmt: skip


MISTAKES: dict[str, tuple[Change | None, Callable[[int], CalibrationProblem], str]] = {
    name: (change, source, word)
    for name, change, source, word in (
        ("angles in rad named deg", _angles(np.radians), good, "rad"),
        ("angles in deg named rad", _angles(np.degrees), good, "degrees"),
        ("mirrored photographs", _angles(np.negative), good, "flip"),
        ("directions of links", _angles(np.cumsum), good, "directions"),
        ("joints from the tip", _angles(lambda x: x[::-1]), good, "tip"),
        ("column shifted", _angles(lambda x: np.r_[0.0, x[:-1]]), good, "column"),
        ("two rows exchanged", _hung(_swap(1, 3)), good, "exchanged"),
        ("first rows exchanged", _hung(_swap(0, 2)), good, "exchanged"),
        ("one weight misread", _hung(lambda r: [*r[:3], r[3].replace(mass=0.09)]), good, "g"),
        ("weights in kg", _masses(lambda m: 1e-3 * m), good, "kg"),
        ("weights in g", _masses(lambda m: 1e3 * m), good, "g"),
        ("weights in ounces", _masses(lambda m: m / 28.35), good, "ounces"),
        ("decimal point lost", _value(2, 0, lambda x: 10.0 * x), good, "q1 at 40 g"),
        ("sign of one value", _value(3, 1, lambda x: -x), good, "q2 at 60 g"),
        ("weights in mN", _masses(lambda m: 9.80665 * m), good, "mN"),
        ("row before", _hung(lambda r: [
            a.replace(mass=b.mass) for a, b in zip(r, [*r[1:], r[-1].replace(mass=0.08)],
                                                   strict=True)]), good, "row before"),
        ("weights at joint 5", None, lambda seed: hung_elsewhere(seed, 4), "at joint 5"),
        ("additions named", _hung(lambda r: [
            item.replace(mass=0.02 * (item.mass > 0.0)) for item in r]), series, "that were added"),
        ("rows pasted too low", _hung(lambda r: [
            item.replace(angles=before.angles) for item, before in zip(r, [r[-1], *r[:-1]],
                                                                     strict=True)]), good,
         "the first one those of the last"),
        ("tube that lifts the tip", None, lambda seed: hung_masses(
            seed, lambda m: m - 0.015), "the tip is lifted by"),
        ("pressure left under weights", None, lambda seed: _measured(
            seed, HungRig(MASSES, moment=4e-3)), "a pressure that was left"),
        ("increments named", None, lambda seed: hung_masses(seed, np.cumsum), "their sum hung"),
        ("angles subtracted", _hung(lambda r: [
            item.replace(angles=tuple((np.array(item.angles) - r[0].angles).tolist())) for item in r
        ]), good, "zero: unloaded"),
        ("protractor", _angles(lambda x: np.radians(2.0 * np.round(np.degrees(x) / 2.0))), good,
         "multiples of 2°"),
        ("finger hangs down", _angles(lambda x: 0.01 * x + _noise(x)), good,
         "do not depend on the weight"),
        ("readings before creep ends", None, creeping, "creep"),
        ("second series unloading", None, hysteresis, "unloading"),
        ("rows exchanged in a series", None, lambda seed: series(seed, swapped=(5, 6)),
         "rows 6 and 7"),
        ("force scale of large steps", _forces(lambda f: 0.2 * round(f / 0.2)), good,
         "multiples of 0.2 N"),
        ("settling of releases reversed", lambda p: p.replace(releases=tuple(
            a.replace(mass=b.mass) for a, b in zip(p.releases, p.releases[::-1], strict=True))),
         good, "exchanged"),
        ("column of joint 1 slipped", _hung(lambda r: [
            item.replace(angles=(before.angles[0], *item.angles[1:]))
            for item, before in zip(r, [r[0], *r[:-1]], strict=True)]), series,
         "joint 1 are those of the row before"),
        ("angles from a straight line", None, straight,
         "straight lines"),
        ("last weights of another finger", None, other_finger,
         "as of another finger"),
        ("each force belongs to the pressure before", lambda p: p.replace(forces=tuple(
            a.replace(force=b.force) for a, b in zip(p.forces, [*p.forces[:3], *p.forces[:-3]],
                                                     strict=True))), good, "pressure before"),
        ("force sensor saturated", _forces(lambda f: min(f, 0.6 * max(
            x.force for x in good(0).forces))), good, "saturated"),
        ("scale tared in the middle of the forces", lambda p: p.replace(forces=tuple(
            x.replace(force=x.force - 0.25 * (x.pressure > 5e4)) for x in p.forces)), good,
         "whose zero changed"),
        ("finger in cm for mm", _finger(length=0.1), good, "density"),
        ("6° in one value", _value(1, 2, lambda x: x + 0.105), good, "q3 at 20 g"),
        ("3° in one joint", _angles(lambda x: x + np.radians([0, 0, 0, 0, 0, 3.0])), good,
         "joint 6"),
        ("4° in another joint", _angles(lambda x: x + np.radians([0, 0, 4.0, 0, 0, 0])), good,
         "joint 3"),
        ("picture copied", _hung(lambda r: [*r[:2], r[2].replace(angles=r[1].angles), r[3]]), good,
         "copy"),
        ("sign of one joint", _angles(lambda x: x * [1, 1, -1, 1, 1, 1]), good, "joint 3"),
        ("weights in reverse order", _hung(lambda r: [
            a.replace(mass=b.mass) for a, b in zip(r, r[::-1], strict=True)]), good, "order"),
        ("weights in pounds", _masses(lambda m: m / 453.592), good, "pounds"),
        ("forces in ounces", _forces(lambda f: f / 0.278), good, "ounces"),
        ("pressures in mmHg", _forces(pressure=lambda p: p / 0.1333224), good, "mmHg"),
        ("row copied", _hung(lambda r: [*r, r[1], r[1]]), good, "copies"),
        ("base tilted up 5°", None, _rig_error(tilt=-0.087), "tilt"),
        ("base tilted down 8°", None, _rig_error(tilt=0.14), "tilt"),
        ("hook of 8 g", None, _rig_error(hook=0.008), "heavier"),
        ("finger masses in g", _finger(mass=1e3), good, "mass"),
        ("finger masses in t", _finger(mass=1e-3), good, "mass"),
        ("finger in m for mm", _finger(length=1e3), good, "length"),
        ("finger in mm for m", _finger(length=1e-3), good, "length"),
        ("finger three times as long", _finger(length=3.0), good, "releases"),
        ("forces in g", _forces(lambda f: f / 9.80665e-3), good, "grams"),
        ("forces in mN", _forces(lambda f: 1e3 * f), good, "mN"),
        ("force sign", _forces(lambda f: -f), good, "sign"),
        ("scale without tare", _forces(lambda f: f + 0.5), good, "tare"),
        ("negative tare", _forces(lambda f: f - 0.4), good, "tare"),
        ("pressures in bar", _forces(pressure=lambda p: 1e-2 * p), good, "bar"),
        ("pressures in psi", _forces(pressure=lambda p: p / 6.894757), good, "psi"),
        ("absolute pressures", _forces(pressure=lambda p: p + 101325.0), good, "absolute"),
        ("force outlier", _outlier(3, 1.6), good, "80 kPa"),
        ("forces constant", _forces(lambda f: 1.0), good, "torques"),
        ("forces copied", lambda p: p.replace(forces=tuple(
            x.replace(force=p.forces[3 * (i // 3)].force) for i, x in enumerate(p.forces))), good,
         "copies"),
        ("settling in ms", _releases(lambda t: 1e3 * t), good, "ms"),
        ("slow motion by 8", _releases(lambda t: 8.0 * t), good, "frame rate"),
        ("slow motion by 4", _releases(lambda t: 4.0 * t), good, "frame rate"),
        ("frames skipped by 3", _releases(lambda t: t / 3.0), good, "frame rate"),
        ("one photograph mirrored", _hung_row(2, np.negative), good,
         "row 3, of 40 g: its angles have the other sign"),
        ("one row in rad", _hung_row(2, np.radians), good, "row 3, of 40 g: its angles are in rad"),
        ("one row from the tip", _hung_row(3, np.flip), good, "numbered from the tip"),
        ("one row as directions", _hung_row(1, np.cumsum), good, "its angles are directions"),
        ("one row of another weight", _hung_row(5, lambda x: 1.7 * x), series, "row 6"),
        ("missing value", _value(3, 1, lambda x: 0.0), good, "a missing value"),
        ("angles against the vertical", _angles(lambda x: 0.5 * np.pi - np.cumsum(x)), good,
         "vertical"),
        ("increments of angles", _hung(_increments), good, "change since the row before"),
        ("finger on the table", None, lambda seed: hung_masses(
            seed, lambda m: np.minimum(m, 0.025)), "touch"),
        ("weights exchanged in all series", _masses(lambda m: {0.04: 0.06, 0.06: 0.04}.get(m, m)),
         series, "exchanged"),
        ("second series reversed", _hung(lambda r: [
            *r[:4], *(a.replace(mass=b.mass) for a, b in zip(r[4:8], r[7:3:-1], strict=True)),
            *r[8:]]), series, "series 2 are in the reverse order"),
        ("clamp slips", _hung(lambda r: [
            item.replace(angles=(item.angles[0] + 0.06 * (i > 5), *item.angles[1:]))
            for i, item in enumerate(r)]), series, "the clamp slips"),
        ("joint 3 held", _angles(lambda x: x * [1, 1, 0.01, 1, 1, 1]), series, "something hold"),
        ("column of zeros", _angles(lambda x: x * [1, 1, 1, 1, 1, 0]), good, "leave out"),
        ("column copied", _angles(lambda x: x[[0, 0, 2, 3, 4, 5]]), good, "one is a copy"),
        ("bounds of the stiffness", lambda p: p.replace(stiffness_bounds=(0.3, 0.6)), good,
         "leave its bounds"),
        ("weight left on the bent finger", None, lambda seed: bending(seed, weight_left),
         "left there"),
        ("bends in the reverse order", None, lambda seed: bending(seed, lambda q: q[::-1]),
         "reverse order"),
        ("bend mirrored", None, lambda seed: bending(seed, _row(2, np.negative)),
         "of 60 kPa: its angles have the other sign"),
        ("clock of tracks", None, lambda seed: tracked(seed, lambda t, z: (t + 0.1, z)),
         "0.1 s before the release"),
        ("frame rate of tracks", None, lambda seed: tracked(seed, lambda t, z: (2.0 * t, z)),
         "the frame rate is 2 times"),
        ("scale of tracks", None, lambda seed: tracked(seed, lambda t, z: (t, 1.5 * z)),
         "compare the scale"),
        ("tracks exchanged", None, lambda seed: tracked(seed, order=(2, 1, 0)), "exchanged"),
        ("tip lost in tracks", None, lambda seed: tracked(
            seed, lambda t, z: (t, np.where(t < 0.1, z, z[24]))), "was the tip lost"),
        ("frames of tracks twice", None, lambda seed: tracked(
            seed, lambda t, z: (t, np.repeat(z[::2], 2)[: len(z)])), "copies"),
        ("camera drifts in tracks", None, lambda seed: tracked(
            seed, lambda t, z: (t, z + 0.01 * t)), "drift"),
        ("tracker jumps in tracks", None, lambda seed: tracked(
            seed, lambda t, z: (t, z + 0.02 * ((t > 0.25) & (t < 0.28)))), "jumps"),
        ("one settling time of releases", lambda p: p.replace(releases=(
            p.releases[0], p.releases[1].replace(settling_time=3.0 * (
                p.releases[1].settling_time or 0.0)), p.releases[2])), good,
         "overshoots per second"),
        ("no overshoots of releases", _releases(count=lambda n: 0), good, "no overshoots"),
        ("overshoots counted twice", _releases(count=lambda n: 2 * n), good, "overshoots"),
    )
}  # fmt: skip
"""Mistake by name: change of the measurements, their source, and a word that names it."""


def wrong(name: str, seed: int = 0) -> CalibrationProblem:
    """Measurements with a mistake."""
    change, source, _ = MISTAKES[name]
    problem = source(seed)
    return problem if change is None else change(problem)
