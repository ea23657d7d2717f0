"""Choice of the closure for servos that press too little where they stop at contact."""

from __future__ import annotations

from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.scene_args import scene_of
from softgrasp.description.closure import PositionIncrementClosure
from softgrasp.description.scene import with_field
from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.description.task import SuccessCriterion
from softgrasp.resolution.resolve import (
    closure_for_payload,
    force_at_contact,
    with_sufficient_closure,
)
from softgrasp.sweeps.parameters import scene_of_row
from tests.support.mjcf_hands import written

QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
JAWS = """<mujoco model="jaws">
  <compiler angle="radian"/>
  <worldbody><body name="mount" gravcomp="1">
    <geom type="box" size=".06 .02 .01"/>
    <body name="left" pos=".05 0 .02" gravcomp="1">
      <joint name="lj" type="slide" axis="-1 0 0" range="0 .04" damping=".5"/>
      <geom type="box" size=".005 .015 .04" pos="0 0 .04" mass=".1"/></body>
    <body name="right" pos="-.05 0 .02" gravcomp="1">
      <joint name="rj" type="slide" axis="1 0 0" range="0 .04" damping=".5"/>
      <geom type="box" size=".005 .015 .04" pos="0 0 .04" mass=".1"/></body>
  </body></worldbody>
  <actuator>
    <position name="lj" joint="lj" kp="KP" kv="2" ctrlrange="0 .04"/>
    <position name="rj" joint="rj" kp="KP" kv="2" ctrlrange="0 .04"/>
  </actuator>
</mujoco>
"""
"""Two sliding jaws, whose servos have a stiffness of KP [N/m]."""


def jaws(directory: Path, stiffness: float) -> Path:
    """Write a gripper."""
    return written(directory, JAWS.replace("KP", f"{stiffness:g}"))


@QUIET
def test_the_force_at_contact_is_stiffness_and_damping_of_the_servos(tmp_path: Path) -> None:
    hand = sg.load_hand(jaws(tmp_path, 100.0))
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"))
    rates = hand.grasps.power.rates
    lead = scene.closure.samples * scene.control_period
    expected = sum(abs(rate) * (100.0 * lead + 2.5) for rate in rates)
    assert force_at_contact(scene) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True], ids=["as made", "with changed fields"])
def test_weak_servos_close_until_a_force_is_reached(tmp_path: Path, changed: bool) -> None:
    """Position increments drop the ball, as their targets stop; the chosen closure holds it."""
    hand = sg.load_hand(jaws(tmp_path, 100.0))
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"), success=SuccessCriterion())
    if changed:  # a change of another field does not specify the closure
        scene = with_field(scene.replace(name="changed"), "seed", 3)
    result = sg.simulate(scene, quality_rate=None)
    advice = next(
        warning for warning in result.warnings if "the closure is force-limited" in warning
    )
    assert advice.startswith("the servos of 'jaws' press with about ")
    assert advice.endswith("a specified closure (--closure position-increment) is kept")
    assert result.held


def concrete(scene: sg.GraspScene) -> sg.GraspScene:
    """Return the scene with the closure that it has where its servos suffice."""
    return scene.replace(closure=scene.closure.concrete)


@pytest.mark.slow
@QUIET
def test_a_specified_closure_is_kept(tmp_path: Path) -> None:
    file = str(jaws(tmp_path, 100.0))
    hand, ball = sg.load_hand(file), sg.load_object("sphere")
    specified = PositionIncrementClosure()
    scene = sg.GraspScene(hand=hand, object=ball, closure=specified, success=SuccessCriterion())
    assert with_sufficient_closure(scene, {}) == concrete(scene)
    assert not sg.simulate(scene, quality_rate=None).held
    options = SceneOptions(hold=True, closure="position-increment")
    assert scene_of(file, "sphere", options).specifies_closure
    assert not scene_of(file, "sphere", SceneOptions(hold=True)).specifies_closure


@pytest.mark.slow
@QUIET
def test_weak_servos_press_in_time(tmp_path: Path) -> None:
    """Servos of 100 N/m reach 1.2 N in about a second of contact; at the default rate in three."""
    hand = sg.load_hand(jaws(tmp_path, 100.0))
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), mass=0.06)
    result = sg.simulate(sg.GraspScene(hand=hand, object=ball), quality_rate=None)
    forces = [contact.normal_force_N for contact in result.contacts if contact.in_contact]
    assert min(forces) > 1.1
    first = min(event.time_s for event in result.events if event.kind == "touching")
    assert result.time[-1] - first < 1.5


@QUIET
def test_strong_servos_keep_their_closure(tmp_path: Path) -> None:
    scene = scene_of(str(jaws(tmp_path, 2e4)), "sphere", SceneOptions())
    assert with_sufficient_closure(scene, {}) == concrete(scene)


FIELDS = {"samples": 10, "settle_time": 0.2, "threshold": 0.05, "stays_on": True}


@QUIET
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_the_closure_leaves_its_type_open(field: str, tmp_path: Path) -> None:
    scene = scene_of(str(jaws(tmp_path, 100.0)), "sphere", SceneOptions(hold=True))
    closure = with_sufficient_closure(scene, {}).closure
    item = with_field(scene, f"closure.{field}", FIELDS[field])
    assert with_sufficient_closure(item, {}).closure == closure.replace(**{field: FIELDS[field]})
    plan = SweepPlan(scene=scene, axes=(Axis(path=f"closure.{field}", values=(FIELDS[field],)),))
    assert not scene_of_row(plan, 0).specifies_closure
    limited = with_field(scene, "closure.grip_force", 2.0)
    assert with_sufficient_closure(limited, {}) == concrete(limited)


@QUIET
def test_the_payload_decides(tmp_path: Path) -> None:
    hand = sg.load_hand(jaws(tmp_path, 100.0))
    chosen = []
    for mass in (0.001, 1.0):
        ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), mass=mass)
        closure, message = closure_for_payload(sg.GraspScene(hand=hand, object=ball))
        chosen.append((closure.name, bool(message)))
    assert chosen == [("position-increment", False), ("force-limited", True)]
