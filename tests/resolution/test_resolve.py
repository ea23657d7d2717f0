"""Laws of resolved scenes: concrete values, their origins, and one meaning everywhere."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import mujoco
import mujoco.rollout
import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.description.object import Material, PlacedObject
from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import with_field
from softgrasp.io.scene import is_release
from softgrasp.model.scene import build
from tests.conftest import Golden
from tests.model.test_weak_servos import jaws

FIELDS: dict[str, Any] = {
    "closure.samples": 10,
    "closure.threshold": 0.2,
    "contact.damping": 310.0,
    "contact.static_friction": 0.3,
    "control_period": 2e-3,
    "timestep": 5e-4,
    "gravity": (0.0, 0.0, -9.81),
    "seed": 3,
    "success.hold_time": 0.3,
    "solver.refinement": 1,
    "hand.grasps.power.center": (0.0, 0.0, -0.05),
    "object.density": 700.0,
}
"""A field of each part of a scene, some with the value of its default."""
TABLE_NAME = {"contact": "contact of sphere"}


def plain() -> sg.GraspScene:
    hand, ball = sg.load_hand("four_finger"), sg.load_object("sphere")
    return sg.GraspScene(hand=hand, object=ball, grasp="power", success=sg.SuccessCriterion())


def sources(resolved: ResolvedScene) -> dict[str, str]:
    return {value.field: value.source for value in resolved.values}


@pytest.mark.parametrize("field", FIELDS)
def test_only_a_stated_value_changes_its_source(field: str) -> None:
    before = sources(sg.resolve(plain()))
    after = sources(sg.resolve(with_field(plain(), field, FIELDS[field])))
    part, _, rest = field.partition(".")
    name = f"{TABLE_NAME.get(part, part)}.{rest}" if rest else field
    expected = {name: "said"}
    if name.endswith("static_friction"):  # who states µs states µd
        expected["contact of sphere.dynamic_friction"] = "said"
    assert {key: source for key, source in after.items() if before.get(key) != source} == expected


def test_a_value_has_the_source_that_states_it() -> None:
    ice = Material(name="ice", static_friction=0.05)
    ball = sg.load_object("sphere")
    scene = plain().replace(
        object=ball.replace(material=ice),
        objects=(PlacedObject(object=ball, position=(0.2, 0.0, 0.0), contact={"damping": 250.0}),),
    )
    resolved = sg.resolve(scene)
    first, second = (f"contact of {name}" for name in scene.object_names)
    assert resolved.value(f"{first}.static_friction").source == "material"
    assert resolved.value(f"{first}.damping").source == "default"
    assert resolved.value(f"{second}.damping").source == "pair"
    assert resolved.value("closure.grip_force").source == "hand file"


@pytest.mark.slow
def test_a_chosen_closure_has_a_reason(tmp_path: Path) -> None:
    hand = sg.load_hand(jaws(tmp_path, 100.0))
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"))
    with pytest.warns(sg.SoftgraspWarning, match="the closure is force-limited"):
        resolved = sg.resolve(scene)
    chosen = resolved.value("closure.type")
    assert (chosen.value, chosen.source) == ("force-limited", "computed")
    assert "press too little" in chosen.reason
    assert resolved.value("closure.force").source == "computed"
    assert resolved.value("closure.samples").source == "default"
    assert len(resolved.warnings) == 1


@pytest.mark.parametrize("name", [name for name in assets.names("scenes") if not is_release(name)])
def test_a_resolved_scene_resolves_to_itself(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resolved = sg.resolve(sg.load_scene(name))
        again = sg.resolve(resolved.scene)
    assert again.scene == resolved.scene
    assert again.timestep == resolved.timestep
    assert sg.resolve(resolved) is resolved
    assert resolved.scene.object_position is not None
    assert not resolved.scene.adapt_grasp
    assert resolved.scene.specifies_closure


@pytest.mark.slow
def test_compiling_neither_searches_nor_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = sg.GraspScene(
        hand=sg.load_hand("underactuated_1"),
        object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), density=300.0),
        adapt_grasp=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resolved = sg.resolve(scene)

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a step of physics")

    for name in ("mj_step", "mj_step1", "mj_step2"):
        monkeypatch.setattr(mujoco, name, refused)
    monkeypatch.setattr(mujoco.rollout.Rollout, "rollout", refused)
    with pytest.raises(AssertionError, match="a step of physics"):
        sg.simulate(resolved)  # the engine cannot step unseen
    assert build(resolved).model.nq > 0


def test_the_object_is_moved_out_of_the_hand_once(golden: Golden) -> None:
    scene = plain().replace(object=sg.GraspObject(
        name="large", shape=sg.Sphere(radius=0.06), density=200.0
    ))  # fmt: skip
    with pytest.warns(sg.SoftgraspWarning, match="farther from the palm"):
        resolved = sg.resolve(scene)
    assert resolved.value("object_position").source == "computed"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.compile_model(resolved)
    inside = scene.replace(object_position=scene.hand.grasps.power.center)
    golden.refused(lambda: sg.compile_model(inside), "starts clear of the hand", sg.BuildError)


def test_a_result_holds_the_values_and_is_repeated_from_them(tmp_path: Path) -> None:
    result = sg.simulate(plain(), quality_rate=None)
    result.save(tmp_path)
    loaded = sg.load_result(tmp_path)
    plain_values = [value.model_dump(mode="json") for value in result.resolved.values]
    assert [value.model_dump(mode="json") for value in loaded.resolved.values] == plain_values
    again = sg.simulate(loaded.resolved, quality_rate=None)
    assert again.trajectory_sha256 == result.trajectory_sha256
