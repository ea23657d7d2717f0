"""A model changed from the one of another scene is the model compiled from its spec."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model import scene as scenes
from softgrasp.model.scene import CompiledScene
from softgrasp.model.templates import Template, Templates
from softgrasp.pipeline import compile_scene

D = sg.description
SHAPES: dict[str, Any] = {
    "sphere": lambda a, b, c: sg.Sphere(radius=a),
    "cuboid": lambda a, b, c: sg.Cuboid(size=(2 * a, 2 * b, 2 * c)),
    "cylinder": lambda a, b, c: sg.Cylinder(radius=a, height=3 * b),
    "capsule": lambda a, b, c: D.Capsule(radius=a, length=2 * b),
    "ellipsoid": lambda a, b, c: D.Ellipsoid(radii=(a, b, c)),
    "mesh": lambda a, b, c: sg.load_object("strawberry").shape,
}
SCENES: list[dict[str, Any]] = [
    {},
    {"contact": sg.Contact(stiffness=3e4, static_friction=0.7)},
    {"contact": sg.Contact(model="soft-finger"), "object_euler": (0.1, -0.2, 0.3)},
    {"object_position": (0.001, -0.002, -0.095)},
]


@pytest.fixture(autouse=True)
def no_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "TEMPLATES", Templates())


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> list[mujoco.MjModel]:
    """Models that were changed instead of compiled."""
    made, model_of = [], Template.model_of

    def recorded(self: Template, *arguments: Any) -> mujoco.MjModel:
        made.append(model_of(self, *arguments))
        return made[-1]

    monkeypatch.setattr(Template, "model_of", recorded)
    return made


def fields_of(model: mujoco.MjModel) -> Iterator[tuple[str, Any]]:
    """Every number and array of a model, as bytes."""
    for part, values in (("", model), ("opt.", model.opt), ("stat.", model.stat)):
        for name in dir(values):
            value = None if name.startswith("_") else getattr(values, name)
            if isinstance(value, np.ndarray | int | float | bytes):
                yield part + name, np.asarray(value).tobytes()


def built_anew(scene: sg.GraspScene) -> CompiledScene:
    """Build a scene without templates."""
    resolved = sg.resolve(scene)
    assembled = scenes.Assembled(resolved.scene, resolved.timestep, fresh=True)
    return scenes._build(resolved, assembled)


def same(one: CompiledScene, other: CompiledScene) -> None:
    differing = [
        name
        for (name, value), (_, expected) in zip(
            fields_of(one.model), fields_of(other.model), strict=True
        )
        if value != expected
    ]
    assert not differing
    assert one.scene == other.scene
    for name in ("bodies", "contact", "stiffness", "switching"):
        assert getattr(one, name) == getattr(other, name), name
    for name, value in one.start._asdict().items():
        np.testing.assert_array_equal(value, getattr(other.start, name), err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("hand", ["four_finger", "soft_gripper_three"])
def test_a_changed_model_is_the_compiled_one_in_every_field(
    hand: str, shape: str, changed: list[mujoco.MjModel]
) -> None:
    random = np.random.default_rng(5)
    for index, fields in enumerate(SCENES):
        size = sorted(random.uniform(0.02, 0.03, 3).tolist(), reverse=True)
        mass = {"density": 500.0} if index % 2 else {"mass": float(random.uniform(0.05, 0.4))}
        described = sg.GraspObject(name="it", shape=SHAPES[shape](*size), **mass)
        requested = sg.GraspScene(
            hand=sg.load_hand(hand), object=described, adapt_grasp=False, **fields
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            built = compile_scene(requested)
            fresh_from = len(caught)
            fresh = built_anew(requested)
        messages = [str(one.message) for one in caught]
        assert messages[:fresh_from] == messages[fresh_from:]
        same(built, fresh)
    assert changed


@pytest.mark.slow
def test_what_is_compiled_anew(changed: list[mujoco.MjModel]) -> None:
    base: dict[str, Any] = {"hand": sg.load_hand("four_finger"), "object": sg.load_object("sphere")}
    wall = D.Block(size=(0.1, 0.1, 0.1), position=(0.0, 0.5, 0.0))
    for fields in (
        {},
        {"object": sg.load_object("cuboid")},
        {"gravity": True},
        {"solver": D.Solver(contact_dimension=3)},
        {"timestep": 5e-4},
        {"hand": sg.load_hand("three_fingered")},
        {"object_mount": "fixed"},
        {"surroundings": (wall,)},
        {"surroundings": (wall,), "seed": 1},
    ):
        compile_scene(sg.GraspScene(**(base | fields)))
    assert not changed
    compile_scene(sg.GraspScene(**(base | {"hand": sg.load_hand("three_fingered"), "seed": 1})))
    assert len(changed) == 1


def test_a_changed_model_is_independent_of_others_and_has_its_spec(
    changed: list[mujoco.MjModel],
) -> None:
    scene = sg.GraspScene(hand="four_finger", object="sphere", adapt_grasp=False)
    heavy = scene.replace(object=scene.object.weighing(mass=0.4))
    first, second = compile_scene(scene), compile_scene(heavy)
    first.model.body_mass[:] = 7.0
    second.model.pair_friction[:] = 9.0
    same(compile_scene(heavy), built_anew(heavy))
    assert second.spec is second.spec
    assert second.spec.compile().body_mass.max() == 0.4
    assert len(changed) == 2
