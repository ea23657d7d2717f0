"""Friction of the geoms of an MJCF file acts as in MuJoCo, unless somebody states another.

The reference is MuJoCo's own choice for a contact of the raw model with an object of the scene's
friction: the side with the larger ``priority``, else the larger coefficient.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import pytest

import softgrasp as sg
from softgrasp.model.family import has_family
from softgrasp.model.names import OBJECT
from softgrasp.pipeline import compile_scene, resolve
from tests.support.mjcf_hands import MOTORS, written

pytestmark = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")

STATED = (
    'friction="0.02" priority="1"', 'friction="0.02"', 'friction="0.9"', 'friction="1.4"',
    'friction="1.4" priority="2"', 'friction="0.8" condim="1" priority="1"', 'priority="1"', "",
)  # fmt: skip
USUAL = 0.45


def hand_text(first: str, second: str) -> str:
    """The hand with attributes of the geoms of both fingers, which are named."""
    finger = '<geom type="box" size=".005 .01 .035" pos="0 0 .035"/>'
    head, item, two = MOTORS.split(finger)[:3]
    assert not finger.join(MOTORS.split(finger)[3:])
    return f"{head}{finger[:-2]} name='ga' {first}/>{item}{finger[:-2]} name='gb' {second}/>{two}"


def scene_of(directory: Path, first: str, second: str, **changes: Any) -> sg.GraspScene:
    hand = sg.load_hand(written(directory, hand_text(first, second)))
    material = sg.description.Material(name="m", static_friction=USUAL)
    ball = sg.GraspObject(
        name="ball", shape=sg.Sphere(radius=0.02), density=700.0, material=material
    )
    return sg.GraspScene(hand=hand, object=ball, **changes)


def chosen_by_mujoco(stated: str) -> float:
    """Sliding friction of a contact of a geom with one of the usual friction."""
    if stated == "":  # MuJoCo's default is not a statement
        return USUAL
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom size=".1" {stated}/><body pos="0 0 .19"><freejoint/>'
        f'<geom size=".1" friction="{USUAL}"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    (contact,) = data.contact
    return 0.0 if contact.dim == 1 else float(contact.friction[0])


@pytest.mark.slow
@pytest.mark.parametrize("first", STATED)
def test_contacts_have_the_friction_that_mujoco_chooses(first: str, tmp_path: Path) -> None:
    second = 'friction="0.6"' if first else ""
    scene = scene_of(tmp_path, first, second)
    model = compile_scene(scene).model
    for geom, stated in (("ga", first), ("gb", second)):
        friction = model.pair(f"{geom}|{OBJECT}").friction
        assert friction[:2] == pytest.approx([chosen_by_mujoco(stated)] * 2)
    expected = {chosen_by_mujoco(item) for item in (first, second)} - {USUAL}
    rows = {
        row.value: row.source for row in resolve(scene).values if "static_friction of" in row.field
    }
    assert rows == dict.fromkeys(expected, "hand file")
    assert has_family(scene) == (not expected)


@pytest.mark.slow
@pytest.mark.parametrize("first", STATED[:2])
def test_a_friction_of_the_scene_replaces_that_of_the_file(first: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, first, "", contact=sg.Contact(static_friction=0.3))
    model = compile_scene(scene).model
    for geom in ("ga", "gb"):
        assert model.pair(f"{geom}|{OBJECT}").friction[0] == 0.3
    assert scene.grip_friction == 0.3
    stiff = scene_of(tmp_path, first, "", contact=sg.Contact(stiffness=1e4))
    friction = compile_scene(stiff).model.pair(f"ga|{OBJECT}").friction[0]
    assert friction == pytest.approx(chosen_by_mujoco(first))
