"""Soft-finger contacts hold a moment up to that of their patch; hard ones turn freely."""

from __future__ import annotations

from functools import partial
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.contact_stiffness import torsional_coefficient
from softgrasp.model import names
from softgrasp.pipeline import compile_scene
from softgrasp.sim.grasp_run import ClosureRun
from tests.conftest import Golden
from tests.support.scenes import ball, press

PATCHES = (
    sg.description.Patch(radius=0.004),
    sg.description.Patch(radius=0.008, pressure="uniform"),
)
MOMENT_RATE = 1e-3
"""Growth of the moment about the line of contacts [N·m/s]."""
TURNING = 0.01
"""What has broken away turns faster [rad/s]."""


class Pinched:
    """A ball between two pads, which a moment about the line of contacts turns."""

    def __init__(self, contact: sg.Contact, dimension: int = 4) -> None:
        solver = sg.description.Solver(contact_dimension=dimension)
        built = compile_scene(press(ball(0.03, 700.0), 0.032, contact=contact, solver=solver))
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
def test_a_pinched_ball_rotates_at_the_moment_of_its_patches(patch: sg.description.Patch) -> None:
    pinched = Pinched(sg.Contact(model="soft-finger", patch=patch))
    limit = torsional_coefficient(0.5, patch.radius, patch.pressure) * pinched.force
    assert pinched.breakaway() == pytest.approx(limit, rel=0.03)


def test_below_the_limit_it_creeps_by_microradians() -> None:
    pinched = Pinched(sg.Contact(model="soft-finger", patch=PATCHES[0]))
    limit = torsional_coefficient(0.5, 0.004) * pinched.force
    for step in range(200):
        pinched.with_up(0.9 * limit * step / 200)
    assert np.mean([pinched.with_up(0.9 * limit) for _ in range(400)][100:]) < 2e-5


def test_a_hard_finger_lets_it_rotate() -> None:
    assert Pinched(sg.Contact(), dimension=3).breakaway() < 1e-4


def test_turning_takes_the_friction_along_the_surface() -> None:
    # the ellipsoid of Howe and Cutkosky: (T/µN)² + (M/µ_tN)² = 1 for a pad that slides and turns;
    # this is where the stored friction of a grasp whose pads turn goes (docs/contact.md)
    run = ClosureRun(compile_scene(sg.load_scene("four_finger_askew").replace(success=None)))
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


def test_a_soft_finger_needs_torsion(golden: Golden) -> None:
    scene = press(ball(), 0.032, contact=sg.Contact(model="soft-finger"))
    golden.refused(
        lambda: scene.replace(solver=sg.description.Solver(contact_dimension=3)), "solver"
    )
    golden.refused(
        lambda: scene.replace(contact=sg.Contact(model="soft-finger", torsional_friction=0.01)),
        "contact.torsional_friction",
    )


# Soft fingers take an object from a table, lift it and hold it: no weld, no adhesion.


GRIPPERS = ("soft_gripper", "soft_gripper_three", "hybrid_gripper")
OBJECTS = {"sphere": "precision", "strawberry": "precision", "mug": "power"}


def lifting(name: str, obj: str, **changes: Any) -> sg.GraspScene:
    base: dict[str, Any] = {"hand": sg.load_hand(name), "object": sg.load_object(obj)}
    base |= {"gravity": True, "surroundings": (sg.Table(),), "lift": sg.description.Lift()}
    return sg.GraspScene(**(base | {"grasp": OBJECTS.get(obj, "power")} | changes))


@pytest.fixture(scope="module")
def lifted() -> sg.GraspResult:
    return sg.simulate(lifting("soft_gripper", "sphere"), quality_rate=None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
@pytest.mark.parametrize("hand", GRIPPERS)
@pytest.mark.parametrize("obj", OBJECTS)
def test_three_grippers_lift_three_objects(hand: str, obj: str) -> None:
    scene = lifting(hand, obj)
    model = sg.compile_model(scene)
    assert model.neq == 0
    assert np.all(model.opt.gravity == (0, 0, -9.81))
    result = sg.simulate(scene)
    assert result.status is sg.GraspStatus.CLOSED
    assert result.held
    hold = result.hold
    assert hold.drop_m < 5e-3
    assert hold.lifted_m == pytest.approx(0.10, abs=3e-3)
    assert result.time[-1] - hold.start_s == pytest.approx(3.0)


def test_what_is_lifted_weighs_on_the_fingers_alone(lifted: sg.GraspResult) -> None:
    """Contact forces of the hand on the object balance its weight; the table has none of it."""
    run = ClosureRun(compile_scene(lifted.scene))
    run.run()
    up = np.zeros(3)
    for index, contact in enumerate(run.data.contact):
        bodies = {run.model.body(int(run.model.geom_bodyid[g])).name for g in contact.geom}
        assert names.TABLE not in bodies
        force = np.zeros(6)
        mujoco.mj_contactForce(run.model, run.data, index, force)
        sign = (
            1.0 if run.model.geom_bodyid[contact.geom[1]] == run.model.body("object").id else -1.0
        )
        up += sign * (contact.frame.reshape(3, 3).T @ force[:3])
    assert up == pytest.approx([0, 0, lifted.hold.weight_N], abs=1e-4)


def test_the_pressure_ramps_and_the_log_is_that_of_rigid_hands(lifted: sg.GraspResult) -> None:
    assert lifted.pressure is not None
    assert lifted.curvature is not None
    ramp = np.minimum(1e5 * (lifted.time + 1e-3), 1.2e5)  # each sample sends the next target
    assert lifted.pressure == pytest.approx(np.stack([ramp, ramp], axis=1), abs=1e-6)
    assert [c.body for c in lifted.contacts if c.in_contact] == ["F1_L7", "F2_L7"]
    for event in [event for event in lifted.events if event.kind == "established"]:
        column = lifted.contact_bodies.tolist().index(event.body)
        row = round(event.time_s / 1e-3)
        assert (lifted.normal_force[row - 9 : row + 1, column] > 0.1).all()
        assert lifted.normal_force[row - 10, column] <= 0.1
        assert (event.finger, event.phalanx) == (event.body[:2], "L7")


def test_both_fingers_do_the_same(lifted: sg.GraspResult) -> None:
    """The scene is its own mirror image, so the run is, too."""
    assert lifted.curvature[:, 0] == pytest.approx(lifted.curvature[:, 1], abs=1e-6)
    assert np.abs(lifted.object_position[:, :2]).max() < 1e-5


def test_every_soft_result_states_how_far_its_chains_are_from_beams(lifted: sg.GraspResult) -> None:
    free = sg.equilibrium(lifted.scene.hand.soft_fingers[0].finger, pressure=1.2e5, gravity=False)
    for end in lifted.soft_fingers:
        assert end.pressure_Pa == pytest.approx(1.2e5)
        assert end.discretisation_error_m == pytest.approx(free.discretisation_error)
        assert 1e-4 < end.discretisation_error_m < 2e-3


def test_a_soft_contact_is_as_stiff_as_requested(lifted: sg.GraspResult) -> None:
    measured = lifted.contact_model.measured_stiffness_N_m
    assert list(measured.values()) == pytest.approx([5e3] * 2, rel=0.005)


def test_a_result_with_soft_fingers_survives_its_files(
    lifted: sg.GraspResult, tmp_path: Any
) -> None:
    lifted.save(tmp_path)
    again = sg.load_result(tmp_path)
    assert again.trajectory_sha256 == lifted.trajectory_sha256
    assert again.scene == lifted.scene
    assert again.hold == lifted.hold
    assert again.soft_fingers == lifted.soft_fingers
    assert again.curvature == pytest.approx(lifted.curvature)


def test_a_rigid_hand_can_lift_from_a_table_too() -> None:
    """The wrist is not part of a hand: joints that obey their targets are carried alike."""
    result = sg.simulate(lifting("four_finger", "sphere", grasp="precision"))
    assert result.held
    assert result.joint_names[-1] == names.WRIST
    assert result.joint_position[-1, -1] == pytest.approx(0.10, abs=1e-3)


def test_too_little_pressure_does_not_hold() -> None:
    closure = sg.PositionIncrementClosure(pressure=6e4)
    result = sg.simulate(lifting("soft_gripper", "sphere", closure=closure))
    assert result.held is False
    assert result.hold.drop_m > 5e-3


def test_a_table_stands_right_under_the_object_or_carries_it() -> None:
    under = compile_scene(lifting("soft_gripper", "sphere"))
    assert under.scene.table.height == pytest.approx(-0.052 - 0.030)
    on = compile_scene(lifting("soft_gripper", "sphere", surroundings=(sg.Table(height=-0.09),)))
    assert on.scene.object_position == pytest.approx((0, 0, -0.06))
    data = mujoco.MjData(on.model)
    mujoco.mj_resetDataKeyframe(on.model, data, 0)
    mujoco.mj_forward(on.model, data)
    gap = mujoco.mj_geomDistance(
        on.model, data, on.model.geom("object").id, on.model.geom("table").id, 1.0, None
    )
    assert gap == pytest.approx(0.0, abs=1e-9)


def test_refusals(golden: Golden) -> None:
    rigid = sg.load_hand("four_finger")
    for changes, field in (
        ({"closure": sg.PositionIncrementClosure(pressure=4e5)}, "closure.pressure"),
        ({"actuation": "prescribed"}, "actuation"),
        ({"gravity": False}, "gravity"),
        ({"success": sg.SuccessCriterion()}, "lift"),
        ({"hand": rigid, "closure": sg.PositionIncrementClosure(pressure=1e5)}, "closure.pressure"),
    ):
        golden.refused(partial(lifting, "soft_gripper", "sphere", **changes), field)


def test_a_pressure_is_clamped_on_request() -> None:
    closure = sg.PositionIncrementClosure(pressure=4e5, clamp_pressure=True)
    assert lifting("soft_gripper", "sphere", closure=closure).limits == ((0.0, 2.8e5),) * 2


def test_a_hand_that_starts_in_the_table_is_refused() -> None:
    with pytest.raises(sg.BuildError, match=r"found F1_L7 .* mm inside the table"):
        compile_scene(lifting("soft_gripper", "sphere", surroundings=(sg.Table(height=-0.06),)))
