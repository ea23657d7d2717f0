"""Runs of every kind that a report has to tell."""

from __future__ import annotations

import pytest

import softgrasp as sg
from tests.scenes import ball, pinch


@pytest.fixture(scope="session")
def held() -> sg.GraspResult:
    """A pinch with a short hold test: four fingertips in contact."""
    return sg.simulate(pinch(success=sg.SuccessCriterion(ramp_time=0.01, hold_time=0.02)))


@pytest.fixture(scope="session")
def no_contact() -> sg.GraspResult:
    """The hand closes far from the object."""
    far = pinch(object=ball(0.01), object_position=(0, 0, -0.3), control_period=5e-3)
    return sg.simulate(far)


@pytest.fixture(scope="session")
def diverged() -> sg.GraspResult:
    """Joints without mass or damping on stiff springs."""
    hand = sg.load_hand("four_finger")
    wild = {"armature": 1e-9, "damping": 0.0, "servo_damping_ratio": 0.0, "mass": 1e-4}
    wild |= {"servo_stiffness": 5e3, "force_limit": 1e9, "density": None}
    fingers = tuple(
        finger.replace(phalanges=tuple(row.replace(**wild) for row in finger.phalanges))
        for finger in hand.fingers
    )
    solver = sg.Solver(integrator="euler")
    scene = pinch(hand=hand.replace(fingers=fingers), solver=solver, allow_softer_contact=True)
    return sg.simulate(scene.replace(timestep=1e-3))
