"""Results of every kind that a report shows."""

import pytest

import softgrasp as sg
from tests.support.scenes import pinch


@pytest.fixture(scope="session")
def held() -> sg.GraspResult:
    """A pinch with a short hold test: four fingertips in contact."""
    return sg.simulate(pinch(success=sg.SuccessCriterion(ramp_time=0.01, hold_time=0.02)))


@pytest.fixture(scope="session")
def no_contact() -> sg.GraspResult:
    """A hand that closes above an object."""
    return sg.simulate(pinch(object_position=(0.0, 0.0, -0.14)))


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
    solver = sg.description.Solver(integrator="euler")
    scene = pinch(hand=hand.replace(fingers=fingers), solver=solver, allow_softer_contact=True)
    return sg.simulate(scene.replace(timestep=1e-3, duration=0.02))
