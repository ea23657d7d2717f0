"""Choice of the closure for servos that press too little where they stop at contact."""

from __future__ import annotations

from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.scene_args import scene_of
from softgrasp.errors import SoftgraspWarning
from softgrasp.model.weak_servos import closure_for_payload, force_at_contact
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


def test_weak_servos_close_until_a_force_is_reached(tmp_path: Path) -> None:
    """Position increments drop the ball, as their targets stop; the chosen closure holds it."""
    file = str(jaws(tmp_path, 100.0))
    with pytest.warns(SoftgraspWarning, match="the closure is force-limited") as caught:
        scene = scene_of(file, "sphere", SceneOptions(hold=True))
    told = next(str(one.message) for one in caught if "force-limited" in str(one.message))
    assert told.startswith("the servos of 'jaws' press with about ")
    assert told.endswith("--closure position-increment keeps the other one")
    assert scene.closure.name == "force-limited"
    assert sg.simulate(scene, quality_rate=None).held
    kept = scene_of(file, "sphere", SceneOptions(hold=True, closure="position-increment"))
    assert kept.closure.name == "position-increment"
    assert not sg.simulate(kept, quality_rate=None).held


@QUIET
def test_strong_servos_keep_their_closure(tmp_path: Path) -> None:
    scene = scene_of(str(jaws(tmp_path, 2e4)), "sphere", SceneOptions())
    assert scene.closure.name == "position-increment"


@QUIET
def test_the_payload_decides(tmp_path: Path) -> None:
    hand = sg.load_hand(jaws(tmp_path, 100.0))
    chosen = []
    for mass in (0.001, 1.0):
        ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), mass=mass)
        closure, message = closure_for_payload(sg.GraspScene(hand=hand, object=ball))
        chosen.append((closure.name, bool(message)))
    assert chosen == [("position-increment", False), ("force-limited", True)]
