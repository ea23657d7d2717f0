"""A hand on a hydraulic arm: both at rest under their weights, and nothing of them floats."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.evaluation.analysis import hand_pose_at
from softgrasp.hydraulics.hand_carrier import carrier_rest
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model import names
from softgrasp.pipeline import compile_scene
from tests.hydraulics.arms import one_section, with_sections

STIFF = one_section().sections[0].bending_stiffness * 400.0
BENT = (3e5, 0.0, 0.0)
LEVEL = sg.Pose(quaternion=(0.5**0.5, 0.0, 0.5**0.5, 0.0))
"""Of a base whose axis is x of the world."""
HANGING = sg.Pose(position=(0.1, 0.2, 1.0), quaternion=(0.0, 1.0, 0.0, 0.0))


def carrier(**changes: object) -> sg.hydraulics.HydraulicCarrier:
    return sg.hydraulics.HydraulicCarrier(**({"hydraulic": one_section()} | changes))


def scene(arm: sg.hydraulics.HydraulicCarrier, **changes: object) -> sg.GraspScene:
    given = {"hand": sg.load_hand("two_finger_planar"), "object": sg.load_object("sphere_25"),
             "grasp": "precision", "gravity": True, "arm": arm}  # fmt: skip
    return sg.GraspScene(**(given | changes))


def at_start(requested: sg.GraspScene) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = compile_scene(requested).model
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


def test_the_weight_of_a_hand_bends_a_level_arm_as_a_beam_with_a_tip_load() -> None:
    """F L³/3EI of a beam; n hinges in the middles of cells leave a part of 1/4n² of it away."""
    stiff, links, mass = with_sections(one_section(), bending_stiffness=STIFF), 4, 0.3
    ends = []
    for palm_mass in (0.0, mass):
        arm = carrier(hydraulic=stiff, base=LEVEL, links=links, palm_mass=palm_mass)
        ends.append(carrier_rest(scene(arm)).hand.position)
    sag = mass * 9.81 * stiff.sections[0].length ** 3 / (3.0 * STIFF) * (1.0 - 0.25 / links**2)
    assert ends[0][2] - ends[1][2] == pytest.approx(sag, rel=2e-3)
    assert sag > 2e-4


def test_the_whole_hand_hangs_on_its_arm() -> None:
    """A hanging arm gets longer by W L/EA; fingers, which float elsewhere, weigh, too."""
    section = one_section().sections[0]
    rests = [
        carrier_rest(scene(carrier(base=HANGING, palm_mass=0.2), gravity=gravity)).hand.position
        for gravity in (False, True)
    ]
    model, _ = at_start(scene(carrier(base=HANGING, palm_mass=0.2)))
    hand = float(model.body_subtreemass[model.body(names.PALM).id])
    below = [f"arm_base_{k}" for k in range(1, 5)]
    own = sum(model.body_subtreemass[model.body(name).id] for name in below) / 4 - hand
    longer = (hand + own) * 9.81 * section.length / section.axial_stiffness
    assert hand > 0.3
    assert rests[0][2] - rests[1][2] == pytest.approx(longer, rel=1e-3)
    assert not model.body_gravcomp.any()


@pytest.mark.parametrize("links", [2, 5])
def test_what_is_mounted_there_and_what_starts_there_are_the_same(links: int) -> None:
    mounted = scene(carrier(base=HANGING, pressures=BENT, palm_mass=0.1, links=links))
    message = carrier_rest(mounted)
    free = mounted.replace(arm=mounted.arm.replace(base=None), hand_pose=message.hand)
    result = carrier_rest(free)
    assert result.base.position == pytest.approx(HANGING.position, abs=1e-7)
    assert abs(np.dot(result.base.quaternion, HANGING.quaternion)) == pytest.approx(1.0, abs=1e-12)
    _, data = at_start(free)
    assert data.body(names.PALM).xpos == pytest.approx(message.hand.position, abs=1e-7)
    _, data = at_start(mounted)
    assert data.body(names.PALM).xpos == pytest.approx(message.hand.position, abs=1e-9)


def test_it_starts_at_rest() -> None:
    """Nothing pushes the cells, and 50 ms later they are where they were; fingers sag a little."""
    requested = scene(carrier(base=HANGING, pressures=BENT, palm_mass=0.1))
    model, data = at_start(requested)
    cells = [model.joint(name) for name in names.carrier_joints(requested)]
    freedoms = [int(joint.dofadr[0]) for joint in cells]
    stiffness = np.array([joint.stiffness[0] for joint in cells])
    assert data.qfrc_smooth[freedoms] / stiffness == pytest.approx(0.0, abs=1e-8)
    result = sg.simulate(requested.replace(duration=0.05))
    assert result.joint_names[-len(cells) :].tolist() == names.carrier_joints(requested)
    moved = result.joint_position[-1, -len(cells) :] - result.joint_position[0, -len(cells) :]
    assert np.abs(moved).max() < 2e-3


def test_the_drag_of_the_cells_is_that_of_the_arm() -> None:
    """−Σ d J'J q̇ over the middles of the cells, which MuJoCo makes with dampers from afar."""
    arm = carrier(base=HANGING, pressures=BENT)
    still = arm.replace(
        hydraulic=with_sections(
            arm.hydraulic, damping=arm.hydraulic.sections[0].damping.replace(drag=0.0)
        )
    )
    (model, data), (bare, second) = at_start(scene(arm)), at_start(scene(still))
    assert model.ntendon - bare.ntendon == 15
    data.qvel[:] = second.qvel[:] = np.random.default_rng(4).normal(size=model.nv)
    second.qpos[:] = data.qpos
    for first, state in ((model, data), (bare, second)):
        mujoco.mj_forward(first, state)
    force = np.zeros(model.nv)
    section = arm.hydraulic.sections[0]
    for k in range(5):
        body, jacobian = model.body(f"arm_base_{k}").id, np.zeros((3, model.nv))
        mujoco.mj_jacBodyCom(model, data, jacobian, None, body)
        fraction = model.body_mass[body] / section.mass
        force -= section.damping.drag * fraction * jacobian.T @ (jacobian @ data.qvel)
    result = data.qfrc_passive - second.qfrc_passive
    assert result == pytest.approx(force, abs=2e-4 * np.abs(force).max())


def test_an_arm_that_would_fall_is_refused() -> None:
    upright = carrier(base=sg.Pose(), palm_mass=1.0)
    with pytest.raises(
        sg.BuildError, match="arm: expected a rest of hydraulic_two_section that la"
    ):
        compile_scene(scene(upright))


def test_the_step_is_one_that_its_springs_bear() -> None:
    requested = scene(carrier(base=HANGING))
    assert compile_scene(requested).model.opt.timestep <= 2e-4
    assert compile_scene(requested).model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    with pytest.raises(sg.BuildError, match=r"timestep: expected at most .* 4 cells a section"):
        compile_scene(requested.replace(timestep=1e-3))


def test_what_a_hydraulic_arm_cannot_do_is_reported() -> None:
    arm = carrier(base=HANGING)
    hold = sg.SuccessCriterion(motion=({"type": "lift"},))
    for changes, message in (
        (
            {"lift": sg.description.Lift()},
            "lift: expected none, as a hydraulic arm does not follow poses",
        ),
        ({"sequence": ("close",)}, "sequence: expected none, as a hydraulic arm"),
        ({"success": hold}, r"success.motion\[0\].type: expected 'hold', as .* found 'lift'"),
        ({"actuation": "prescribed"}, "actuation: expected 'servo': the joints of a hydraulic arm"),
    ):
        with pytest.raises(sg.DescriptionError, match=message):
            scene(arm, **changes)
    for changes, message in (
        ({"pressures": (1.0,)}, r"pressures: expected one per chamber \(3\), found 1"),
        ({"pressures": (0.0, 2e6, 0.0)}, r"pressures\[1\]: expected 0 to 1e\+06 Pa, found 2e\+06"),
        (
            {"torques": ((0.0, 1.0),)},
            r"torques\[0\]: expected a time and one torque per chamber \(4",
        ),
        ({"torques": ((0.0, 3.0, 0, 0),)}, r"torques\[0\]: expected torques of at most 2.5 N·m"),
        ({"torques": ((1.0, 0, 0, 0),) * 2}, r"torques\[1\]\[0\]: expected a time after 1 s"),
        (
            {"hydraulic": one_section().replace(tip_load={"force": (0.0, 0.0, 1.0)})},
            "hydraulic.tip_load: expected none besides the hand",
        ),
    ):
        with pytest.raises(sg.DescriptionError, match=message):
            carrier(**changes)


def test_other_engines_refuse_it() -> None:
    requested = scene(carrier(base=HANGING), gravity=False)
    with pytest.raises(sg.BuildError, match="arm: Webots and ODE have no hydraulic arms"):
        sg.simulate(requested, backend="ode")


def test_a_scene_with_a_hydraulic_arm_round_trips(tmp_path: Path) -> None:
    shipped = sg.load_scene("hydraulic_arm")
    named = sg.save_scene(shipped, tmp_path / "shipped.yaml")
    assert sg.load_scene(named) == shipped
    assert "hydraulic: hydraulic_two_section" in named.read_text()
    own = scene(carrier(base=HANGING, pressures=BENT), name="own")
    assert sg.load_scene(sg.save_scene(own, tmp_path / "own.yaml")) == own


def test_files_beside_a_scene_and_its_mistakes(tmp_path: Path) -> None:
    columns = ",".join(f"torque_{k}" for k in range(1, 7))
    (tmp_path / "mine.csv").write_text(f"time_s,{columns}\n0,0,0,0,0,0,0\n1,1,0,0,0,0,0\n")
    text = "hand: four_finger\nobject: sphere\narm:\n  hydraulic: hydraulic_two_section\n"
    (tmp_path / "a.yaml").write_text(text + "  torques: mine.csv\n")
    arm = sg.load_scene(tmp_path / "a.yaml").arm
    assert isinstance(arm, sg.hydraulics.HydraulicCarrier)
    assert arm.torques[1][:2] == (1.0, 1.0)
    (tmp_path / "b.yaml").write_text(text + "  base: {position: [0, 0, 1]}\nhand_pose: {}\n")
    with pytest.raises(
        sg.DescriptionError, match=r"b.yaml:\d+: hand_pose: expected no hand_pose, as the arm"
    ):
        sg.load_scene(tmp_path / "b.yaml")
    (tmp_path / "c.yaml").write_text(text + "  presure: [0]\n")
    with pytest.raises(sg.DescriptionError, match=r"c.yaml:5: .*presure: no such field; did you"):
        sg.load_scene(tmp_path / "c.yaml")


def pressures_of(result: sg.GraspResult) -> Array:
    columns = [i for i, name in enumerate(result.actuator_names) if "chamber" in name]
    return result.joint_target[:, columns]


def test_torques_in_time_press_the_water_that_the_drives_press() -> None:
    arm = carrier(base=HANGING, torques=((0.0, 0, 0, 0), (0.1, 0.3, 0, 0)))
    result = sg.simulate(scene(arm, duration=0.3))
    rows = np.array(arm.torques)
    actuators = sg.hydraulics.drive_pressures(
        arm.hydraulic, sg.hydraulics.TorqueTable(rows[:, 0], rows[:, 1:]), 0.3, timestep=5e-3
    )
    message = np.stack([actuators(time) for time in result.time.tolist()])
    assert pressures_of(result) == pytest.approx(message, abs=1.0)
    assert message[-1, 0] > 1e5
    hand = hand_pose_at(result, len(result.time) - 1)
    first = transform(carrier_rest(result.scene).hand.position)
    assert np.linalg.norm(hand[:3, 3] - first[:3, 3]) > 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lifted"), [("hydraulic_arm", 0.081), ("hydraulic_arm_rigid", 0.075)]
)
def test_a_hand_on_the_arm_lifts_a_ball_from_a_table(name: str, lifted: float) -> None:
    result = sg.simulate(sg.load_scene(name))
    assert result.held
    assert result.hold.lifted_m == pytest.approx(lifted, abs=2e-3)
    assert name != "hydraulic_arm" or result.hold.drop_m < 5e-4
    requested = result.contact_model.requested.stiffness
    for stiffness in result.contact_model.measured_stiffness_N_m.values():
        assert stiffness == pytest.approx(requested, rel=0.02)
