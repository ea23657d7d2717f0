"""Paper 004, Fig 6: five precision and five power grasps, each with its contact pattern.

Protocol: the shipped scenes, prescribed joints, Table 2's contact, gravity off. The paper shows
pictures without numbers or dimensions; what is asserted here is the pattern that each scene must
end with, and for precision the order that its §4.1 describes for Fig 7. Hand, objects and places
are ours, so times are ours too. The power grasp of the sphere has a file of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg

TIPS = {"F1_P3", "F2_P3", "F3_P3", "F4_P3"}
MIDDLES = {"F1_P2", "F2_P2", "F3_P2", "F4_P2"}


def established(result: sg.GraspResult) -> dict[str, float]:
    """First established contact of each body [s]."""
    first: dict[str, float] = {}
    for event in result.events:
        if event.kind == "established":
            first.setdefault(event.body, event.time_s)
    return first


def touching_at_end(result: sg.GraspResult) -> set[str]:
    return {contact.body for contact in result.contacts if contact.in_contact}


@pytest.mark.parametrize("name", ["sphere", "cylinder", "cuboid", "screwdriver", "strawberry"])
def test_a_precision_grasp_ends_on_the_four_fingertips(name: str) -> None:
    result = sg.simulate(sg.load_scene(f"paper004_precision_{name}"))
    assert result.status is sg.GraspStatus.CLOSED
    assert touching_at_end(result) == TIPS
    assert np.ptp(result.object_position, axis=0).max() == 0


@pytest.mark.parametrize("name", ["sphere", "cylinder", "cuboid"])
def test_a_centred_precision_grasp_touches_with_all_four_in_one_control_period(name: str) -> None:
    times = established(sg.simulate(sg.load_scene(f"paper004_precision_{name}")))
    assert max(times.values()) - min(times.values()) <= 1e-4 + 1e-9


def test_a_sphere_offset_by_4_mm_in_y_is_touched_first_by_fingers_1_and_2() -> None:
    scene = sg.load_scene("paper004_precision_sphere").replace(object_position=(0, 0.004, -0.085))
    times = established(sg.simulate(scene))
    assert times["F1_P3"] == times["F2_P3"] < times["F3_P3"] == times["F4_P3"]


def test_the_strawberry_is_touched_first_by_fingers_1_and_2_as_in_fig_7() -> None:
    times = established(sg.simulate(sg.load_scene("paper004_precision_strawberry")))
    assert max(times["F1_P3"], times["F2_P3"]) < min(times["F3_P3"], times["F4_P3"]) - 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cylinder", "cuboid", "pear"])
def test_a_power_grasp_ends_on_palm_middle_and_distal_phalanges(name: str) -> None:
    result = sg.simulate(sg.load_scene(f"paper004_power_{name}"))
    assert result.status is sg.GraspStatus.CLOSED
    assert touching_at_end(result) == TIPS | MIDDLES | {"palm"}
    assert result.object.displacement_m[2] > 0.015  # dragged towards the palm


@pytest.mark.slow
def test_the_power_grasp_of_the_mug_lifts_it_to_the_palm_with_four_fingertips() -> None:
    result = sg.simulate(sg.load_scene("paper004_power_mug"))
    assert result.status is sg.GraspStatus.CLOSED
    assert touching_at_end(result) == TIPS | {"palm"}
    assert result.object.displacement_m[2] > 0.01
