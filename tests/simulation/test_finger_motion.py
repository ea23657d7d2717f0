"""A finger on its way: where it comes to rest, how it swings, and what a wrong step says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.statics import FREQUENCIES
from softgrasp.sim import soft_dynamics
from softgrasp.sim.compiled import native_available

PAPER = sg.load_finger("paper000")


def test_under_pressure_it_comes_to_rest_at_its_equilibrium() -> None:
    joints = tuple(joint.replace(damping=20 * joint.damping) for joint in PAPER.joints)
    damped = PAPER.replace(joints=joints)
    motion = sg.move_finger(damped, 3.0, pressure=1e5, tip_mass=0.02)
    rest = sg.equilibrium(damped, pressure=1e5, tip_mass=0.02)
    assert motion.joint_angles[-1] == pytest.approx(rest.joint_angles, abs=1e-5)
    assert motion.tip_position[-1] == pytest.approx(rest.tip_position, abs=1e-6)


def test_a_beam_swings_at_its_natural_frequency() -> None:
    """Within 0.3 %: the shape under a tip load holds a few per cent of higher modes."""
    length, stiffness, mass = 0.1, 2e-3, 0.02
    beam = sg.rld.discretise(length, stiffness, mass, 16, section=(1e-4, 1e-4))
    first = FREQUENCIES[0] * np.sqrt(stiffness / (mass / length * length**4)) / (2 * np.pi)
    rest = sg.equilibrium(beam, tip_force=(0, 0, -1e-3), gravity=False)
    motion = sg.move_finger(
        beam, 6 / first, start_angles=rest.joint_angles, gravity=False, timestep=2e-5,
        integrator="rk4",
    )  # fmt: skip
    height = motion.tip_position[:, 2]
    crossings = np.flatnonzero((height[:-1] < 0) & (height[1:] >= 0))
    period = np.diff(motion.time[crossings[[0, -1]]])[0] / (len(crossings) - 1)
    assert 1 / period == pytest.approx(first, rel=3e-3)


def test_energy_is_lost_to_the_dampers_only() -> None:
    """Without damping an RK4 step keeps the energy of a swinging beam."""
    beam = sg.rld.discretise(0.1, 2e-3, 0.02, 6)
    start = np.full(6, 0.1)
    motion = sg.move_finger(
        beam, 0.3, start_angles=start, gravity=False, timestep=2e-5, integrator="rk4"
    )
    spring = 0.5 * (motion.joint_angles**2 @ [joint.stiffness for joint in beam.joints])
    assert spring.max() <= spring[0] * (1 + 1e-6)
    assert spring[5000:].max() > 0.9 * spring[0]


def test_a_step_that_is_too_long_is_an_error_with_the_joint_and_the_step() -> None:
    with pytest.raises(sg.SimulationError) as caught:
        sg.move_finger(PAPER, 1.0, start_angles=0.15, timestep=2e-3)
    assert str(caught.value) == (
        "finger 'paper000': expected a motion that stays finite, found joint 'J1' diverging at "
        "0.02 s with a timestep of 0.002 s (implicitfast); use at most 0.00096 s"
    )
    sg.move_finger(PAPER, 0.2, start_angles=0.15, timestep=0.00097)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"timestep": -1.0}, "timestep: expected a number above 0, found -1.0"),
        ({"integrator": "rk5"}, "integrator: no integrator 'rk5'; did you mean 'rk4'?"),
        ({"pressure": [1.0, 2.0]}, "pressure: expected a finite number or "),
        ({"start_angles": [1.0, 2.0]}, "start_angles: expected one angle or 7, found shape (2,)"),
        ({"pressure": np.nan}, "pressure: expected a finite number or "),
    ],
)
def test_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        sg.move_finger(PAPER, 0.1, **options)
    assert str(caught.value).startswith(sentence)


@pytest.mark.skipif(not native_available(), reason="needs numba (the extra 'fast')")
def test_the_compiled_loop_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = []
    for compiled in (False, True):
        monkeypatch.setattr(soft_dynamics, "native_pays", lambda _, use=compiled: use)
        motion = sg.move_finger(PAPER, 0.5, start_angles=0.15, pressure=3e4, timestep=1e-3)
        ends.append(motion.joint_angles)
    assert np.array_equal(ends[0], ends[1])
