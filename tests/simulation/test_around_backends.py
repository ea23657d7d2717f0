"""Surroundings in other engines, and what these cannot have."""

from __future__ import annotations

import pytest

import softgrasp as sg
from softgrasp.backends.wbt import parse_world, problems, world_text
from softgrasp.backends.webots.world import scene_world
from softgrasp.errors import BuildError
from softgrasp.model.scene import build
from tests.simulation.engines import require_engine


def test_a_world_has_walls_and_each_has_its_contact() -> None:
    built = build(sg.load_scene("up_the_wall"))
    text = world_text(scene_world(built, 1e-3, ("job.json",)).nodes)
    assert problems(parse_world(text, "world.wbt")) == []
    assert text.count("ContactProperties {") == 5  # hand and object, and both with table and wall
    assert 'contactMaterial "wall"' in text
    assert "0.15" in text


def test_ode_presses_a_box_against_a_wall_as_mujoco_does() -> None:
    require_engine("ode")
    scene = sg.load_scene("against_wall").replace(self_contact=False)
    ours, theirs = sg.simulate(scene), sg.simulate(scene, "ode")
    assert ours.held
    assert theirs.held
    assert theirs.other_contacts == ()
    for one, other in zip(ours.contacts, theirs.contacts, strict=True):
        assert other.normal_force_N == pytest.approx(one.normal_force_N, rel=0.1)
        assert other.object == one.object


@pytest.mark.parametrize("backend", ["ode"])
def test_further_objects_are_refused_with_one_sentence(backend: str) -> None:
    require_engine(backend)
    with pytest.raises(BuildError) as refused:
        sg.simulate(sg.load_scene("two_spheres"), backend)
    assert str(refused.value) == (
        "objects: expected none beside the one to be grasped, as a controller of Webots tells of "
        "one object only, found small"
    )


def test_dm_control_takes_neither() -> None:
    pytest.importorskip("dm_control", reason="dm_control is the extra 'dm'")
    from softgrasp.envs import dm_env as composer

    with pytest.raises(BuildError) as refused:
        composer.composer_scene(sg.load_scene("corner"))
    assert str(refused.value) == "surroundings: expected none for dm_control, found one"
