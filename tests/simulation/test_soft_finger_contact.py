"""Soft-finger contacts hold a moment up to that of their patch; hard ones turn freely."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.contact import torsional_coefficient
from softgrasp.model.scene import build
from softgrasp.sim.grasp_run import ClosureRun
from tests.scenes import ball, press

PATCHES = (sg.Patch(radius=0.004), sg.Patch(radius=0.008, pressure="uniform"))
MOMENT_RATE = 1e-3
"""Growth of the moment about the line of contacts [N·m/s]."""
TURNING = 0.01
"""What has broken away turns faster [rad/s]."""


class Pinched:
    """A ball between two pads, which a moment about the line of contacts turns."""

    def __init__(self, contact: sg.Contact, dimension: int = 4) -> None:
        solver = sg.Solver(contact_dimension=dimension)
        scene = press(ball(0.03, 700.0), 0.032, contact=contact, solver=solver)
        built = build(scene)
        run = ClosureRun(built)
        run.close()
        self.model, self.data = built.model, run.data
        self.force = sum(point.normal_force for point in run.contact_points())
        assert run.state.in_contact == [1, 1]
        assert self.force > 1.0
        self._body = self.model.body("object").id
        self._dof = int(self.model.joint("object").dofadr[0]) + 3

    def with_up(self, moment: float) -> float:
        """Speed after a step under a moment [rad/s]."""
        self.data.xfrc_applied[self._body, 3] = moment
        mujoco.mj_step(self.model, self.data)
        return abs(float(self.data.qvel[self._dof]))

    def breakaway(self) -> float:
        """The moment at which the ball begins to turn [N·m]."""
        step, moment = float(self.model.opt.timestep), 0.0
        while self.with_up(moment) < TURNING:
            moment += MOMENT_RATE * step
        return moment


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.pressure)
def test_a_pinched_ball_turns_at_the_moment_of_its_patches(patch: sg.Patch) -> None:
    pinched = Pinched(sg.Contact(model="soft-finger", patch=patch))
    limit = torsional_coefficient(0.5, patch.radius, patch.pressure) * pinched.force
    assert pinched.breakaway() == pytest.approx(limit, rel=0.03)


def test_below_the_limit_it_creeps_by_microradians() -> None:
    pinched = Pinched(sg.Contact(model="soft-finger", patch=PATCHES[0]))
    limit = torsional_coefficient(0.5, 0.004) * pinched.force
    for step in range(200):
        pinched.with_up(0.9 * limit * step / 200)
    speeds = [pinched.with_up(0.9 * limit) for _ in range(400)]
    assert np.mean(speeds[100:]) < 2e-5


def test_a_hard_finger_lets_it_turn() -> None:
    assert Pinched(sg.Contact(), dimension=3).breakaway() < 1e-4


def test_turning_takes_the_friction_along_the_surface() -> None:
    # the ellipsoid of Howe and Cutkosky: (T/µN)² + (M/µ_tN)² = 1 for a pad that slides and turns;
    # this is where the stored friction of a grasp whose pads turn goes (docs/contact_models)
    scene = sg.load_scene("four_finger_askew").replace(success=None)
    run = ClosureRun(build(scene))
    run.close()
    model, data, force = run.model, run.data, np.zeros(6)
    friction, torsion = (float(model.pair_friction[0, k]) for k in (0, 2))
    assert data.ncon == 4
    for index in range(4):
        mujoco.mj_contactForce(model, data, index, force)
        along = np.hypot(force[1], force[2]) / (friction * force[0])
        about = abs(force[3]) / (torsion * force[0])
        assert about > 0.8
        assert along < 0.5
        assert np.hypot(along, about) == pytest.approx(1.0, abs=0.06)


def test_a_soft_finger_needs_torsion() -> None:
    scene = press(ball(), 0.032, contact=sg.Contact(model="soft-finger"))
    with pytest.raises(sg.DescriptionError) as error:
        scene.replace(solver=sg.Solver(contact_dimension=3))
    assert str(error.value) == (
        "solver: expected an elliptic cone and a contact_dimension of at least 4 for a "
        "soft-finger contact, found cone 'elliptic' and 3"
    )
    with pytest.raises(sg.DescriptionError) as error:
        scene.replace(contact=sg.Contact(model="soft-finger", torsional_friction=0.01))
    assert str(error.value) == (
        "contact.torsional_friction: expected none for a soft-finger contact, whose patch "
        "(contact.patch) says it, found 0.01 m"
    )
