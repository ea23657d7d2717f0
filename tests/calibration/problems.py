"""Problems with known answers."""

from __future__ import annotations

import numpy as np

import softgrasp as sg
from softgrasp.calibration.benches import Benches
from softgrasp.calibration.parameters import own_values
from softgrasp.description.calibration import CalibrationProblem, HungAngles, Release, TipForce

FINGER = sg.load_finger("paper000")


def hung(
    seed: int = 0, *, noise_deg: float = 0.5, used: tuple[int, ...] = (0, 20, 40),
    held_out: tuple[int, ...] = (30, 50, 70), finger: sg.SoftFinger = FINGER,
) -> CalibrationProblem:  # fmt: skip
    """Angles under weights [g], with noise where they are used."""
    rng = np.random.default_rng(seed)
    loads = []
    for grams in (*used, *held_out):
        rest = sg.equilibrium(finger, tip_mass=1e-3 * grams, error_estimate=False)
        angles = rest.joint_angles
        if grams in used:
            angles = angles + np.radians(noise_deg) * rng.standard_normal(len(angles))
        loads.append(
            HungAngles(mass=1e-3 * grams, angles=tuple(angles.tolist()), held_out=grams in held_out)
        )
    return CalibrationProblem(finger=finger, hung=tuple(loads))


def traced(noise: float = 5e-5) -> CalibrationProblem:
    """Tracked tips of the released finger, with noise [m]."""
    rng = np.random.default_rng(1)
    releases = []
    for mass in (0.04,):
        start = sg.equilibrium(FINGER, tip_mass=mass, error_estimate=False).joint_angles
        motion = sg.move_finger(FINGER, 0.3, start_angles=start, timestep=2.5e-4)
        heights = motion.tip_position[::8, 2]
        heights = heights + noise * rng.standard_normal(len(heights))
        releases.append(
            Release(mass=mass, times=tuple(motion.time[::8].tolist()), heights=tuple(heights))
        )
    return CalibrationProblem(finger=FINGER, releases=tuple(releases), release_objective="trace")


def pressing(pressures: tuple[float, ...] = (2e4, 4e4, 8e4)) -> CalibrationProblem:
    """Forces of the tip, ten repeats with noise of 2 %."""
    rng = np.random.default_rng(2)
    problem = CalibrationProblem(finger=FINGER)
    asked = [TipForce(pressure=pressure, force=0.0) for pressure in pressures]
    own = [own_values(FINGER, kind)[None] for kind in ("stiffness", "gain")]
    told = Benches(problem).forces(own[0], own[1], asked)[0]
    forces = tuple(
        TipForce(pressure=p, force=float(f * (1.0 + 0.02 * rng.standard_normal())))
        for p, f in zip(pressures, told, strict=True)
        for _ in range(10)
    )
    return problem.replace(forces=forces)
