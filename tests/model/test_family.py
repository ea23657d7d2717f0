"""A row of a family is the model compiled from its spec; without exact masses, nearly so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.model.family import FIELDS, Family, has_family
from softgrasp.model.scene import CompiledScene
from softgrasp.pipeline import compile_scene
from softgrasp.resolution.resolve import resolve

D = sg.description
GENERATOR = np.random.default_rng(20)
SCENES: dict[str, dict[str, Any]] = {
    "sphere": {"object": sg.load_object("sphere")},
    "turned cuboid": {
        "object": sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.04, 0.05, 0.03)), mass=0.1),
        "object_euler": (0.2, 0.1, -0.4),
    },
    "soft fingers": {"hand": "soft_gripper", "object": sg.load_object("cylinder")},
    "two fingers, euler": {"hand": "two_finger_planar", "solver": {"integrator": "euler"}},
    "patch": {"contact": sg.Contact(model="soft-finger"), "grasp": "precision"},
    "refined": {"solver": {"refinement": 5}, "timestep": 1e-4},
    "own friction": {"contact": {"static_friction": 0.9, "dynamic_friction": 0.1}},
}


def described(name: str) -> sg.GraspScene:
    fields: dict[str, Any] = {"object": sg.load_object("sphere")} | SCENES[name]
    hand = sg.load_hand(fields.pop("hand", "four_finger"))
    return sg.GraspScene(hand=hand, adapt_grasp=False, **fields)


def fields_of(model: mujoco.MjModel) -> Iterator[tuple[str, Any]]:
    """Every number and array of a model, as bytes."""
    for part, values in (("", model), ("opt.", model.opt), ("stat.", model.stat)):
        for name in dir(values):
            value = None if name.startswith("_") else getattr(values, name)
            if isinstance(value, np.ndarray | int | float | bytes):
                yield part + name, np.asarray(value).tobytes()


def same(first: CompiledScene, second: CompiledScene) -> None:
    fields = zip(fields_of(first.model), fields_of(second.model), strict=True)
    assert not [name for (name, value), (_, expected) in fields if value != expected]
    assert first.scene == second.scene
    for name in ("bodies", "contact", "stiffness", "switching"):
        assert getattr(first, name) == getattr(second, name), name
    for name, value in first.start._asdict().items():
        np.testing.assert_array_equal(value, getattr(second.start, name), err_msg=name)


def values_of(count: int) -> dict[str, Any]:
    """Draw values of all fields but the mass."""
    static = GENERATOR.uniform(0.2, 1.2, count)
    return {
        "object.density": GENERATOR.uniform(100.0, 3000.0, count),
        "contact.stiffness": 10.0 ** GENERATOR.uniform(3.5, 5.5, count),
        "contact.damping": GENERATOR.uniform(100.0, 400.0, count),
        "contact.static_friction": static,
        "contact.dynamic_friction": static * GENERATOR.uniform(0.5, 1.0, count),
        "contact.torsional_friction": GENERATOR.uniform(0.0, 0.01, count),
        "contact.rolling_friction": GENERATOR.uniform(0.0, 0.001, count),
    }


def with_fields(scene: sg.GraspScene, values: dict[str, float]) -> sg.GraspScene:
    """Set the fields one by one, as the command line does."""
    weight = {name[7:]: value for name, value in values.items() if name.startswith("object.")}
    contact = {name[8:]: value for name, value in values.items() if name.startswith("contact.")}
    scene = scene.replace(contact=scene.contact.replace(**contact))
    return scene.replace(object=scene.object.weighing(**weight)) if weight else scene


@pytest.mark.parametrize("name", SCENES)
def test_row_is_the_scene_compiled_alone_bit_for_bit(name: str) -> None:
    scene, values = described(name), values_of(4)
    if name == "patch":  # it has no torsion of its own
        del values["contact.torsional_friction"]
    family = Family(resolve(scene), values)
    assert family.is_exact
    for row in range(family.size):
        item = with_fields(scene, {key: float(array[row]) for key, array in values.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name == "refined" and family.alone[row]:
                continue  # K is too large for the time step
            alone = compile_scene(item)
        compiled = family.compiled(row)
        same(compiled, alone)
        assert compiled.resolved.timestep == alone.resolved.timestep
        assert compiled.resolved.values == alone.resolved.values


def test_arrays_of_many_rows_are_those_of_their_models() -> None:
    family = Family(resolve(described("sphere")), values_of(30))
    rows = np.concatenate(family.members())
    assert sorted(rows.tolist()) == np.flatnonzero(~family.alone).tolist()
    for members in family.members():
        arrays = family.arrays(members)
        for index, row in enumerate(members.tolist()):
            model = family.compiled(row).model
            for field, values in arrays.items():
                owner = model.stat if field.startswith("mean") else model
                assert np.array_equal(getattr(owner, field), values[index]), field


@pytest.mark.parametrize("name", ["sphere", "soft fingers", "mesh"])
def test_masses_that_are_not_computed_anew_are_nearly_exact(name: str) -> None:
    scene = described("sphere").replace(object=sg.load_object("strawberry"))
    scene = scene if name == "mesh" else described(name)
    resolved, values = resolve(scene), values_of(3)
    family = Family(resolved, values, exact=False)
    assert not family.is_exact
    for row in range(family.size):
        item = with_fields(scene, {key: float(array[row]) for key, array in values.items()})
        ours, theirs = family.compiled(row).model, compile_scene(item).model
        for field in ("pair_solref", "pair_solreffriction", "body_invweight0", "dof_M0"):
            assert getattr(ours, field) == pytest.approx(getattr(theirs, field), rel=1e-12)


def test_rows_with_something_to_report_are_built_alone() -> None:
    values = [100.0, 300.0, np.nan, np.inf, -1.0, 0.0, 50_000.0]
    family = Family(resolve(described("sphere")), {"object.density": values})
    assert family.alone.tolist() == [False, False, True, True, True, True, True]
    stiff = Family(resolve(described("sphere")), {"contact.stiffness": [1e4, 0.0, 1e12, np.inf]})
    assert stiff.alone.tolist() == [False, True, True, True]
    friction: dict[str, Any] = {
        "contact.static_friction": [0.5, 0.1],
        "contact.dynamic_friction": 0.3,
    }
    assert Family(resolve(described("sphere")), friction).alone.tolist() == [False, True]
    with pytest.raises(DescriptionError):
        stiff.compiled(1)
    with pytest.warns(SoftgraspWarning, match="density"):
        dense = family.compiled(6)
    assert float(dense.model.body("object").mass[0]) == pytest.approx(family.mass[6])


def test_timestep_that_is_too_long_for_a_row_is_reported() -> None:
    scene = described("sphere").replace(timestep=1e-3)
    family = Family(resolve(scene), {"contact.stiffness": [1e5, 2e5]})
    assert family.alone.tolist() == [False, True]
    with pytest.raises(sg.BuildError):
        family.compiled(1)


def test_only_fields_of_weight_and_contact_differ() -> None:
    resolved = resolve(described("sphere"))
    with pytest.raises(DescriptionError, match=r"object\.shape\.radius"):
        Family(resolved, {"object.shape.radius": [0.01, 0.02]})
    assert set(values_of(1)) | {"object.mass"} == set(FIELDS)
    table = described("sphere").replace(surroundings=(D.Table(height=-0.2),))
    assert not has_family(table)
    with pytest.raises(DescriptionError):
        Family(resolve(table), {"object.density": [100.0]})
