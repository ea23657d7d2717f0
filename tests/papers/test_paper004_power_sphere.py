"""Paper 004, Figs 8-12: the power grasp of a sphere that starts nearer to fingers 2 and 4.

Protocol: scene ``paper004_power_sphere``; prescribed joints, K = 1e6 N/m, D = 1e3 N·s/m, µ 0.5 and
0.3 with 1e-3 m/s, time step and control period 1e-5 s, ten samples, gravity off, 0.5 s. The paper
prints no dimension of hand and sphere: the geometry is ours, found for the order of contacts.

Reproduced here: first contacts are phalanx 1 and then 2 of F2 and F4; fingertips of F1 and F3 and
the palm follow; the sphere moves towards +x, first down and then up; nothing moves in y and it
turns about y only. From 160 to 19250 kg/m³ it ends with less and less motion in x, as printed: 75.5
74.6 71.6 67.0 65.1 mm. An independent adaptive integration of the paper's contact law (F = K·δ +
D·δ̇, smooth stick-slip) has ``REFERENCE_DX``.

Different from the paper: the fingertips of F2 and F4 come behind those of F1 and F3 and the palm
(there they come before); the plateau of q4 and q10 in Fig 8 is a short loss of way; the rotation is
between 37 and 40 degrees at every density, without a trend (37.8 and 37.9 for the lightest and the
densest by the reference integrator); the depth of the first dip (-3.9 -4.1 -4.9 -4.8 -3.8 mm) is
largest for a middle density. The integration above has -3.84 mm for gold.
"""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg

DENSITIES = (160.0, 700.0, 2300.0, 7860.0, 19250.0)
REFERENCE_DX = (0.0757, 0.0741, 0.0708, 0.0671, 0.0650)
"""Motion in x by the contact law of the paper, integrated with error control [m]."""
REFERENCE_DIP = -0.00384
"""Lowest point of the densest sphere, likewise [m]."""


def of_density(density: float) -> sg.GraspResult:
    scene = sg.load_scene("paper004_power_sphere")
    return sg.simulate(scene.replace(object=scene.object.weighing(density=density)))


@pytest.fixture(scope="module")
def fir() -> sg.GraspResult:
    return of_density(700.0)


def first_established(result: sg.GraspResult) -> list[str]:
    """Bodies in the order of their first established contacts."""
    events = [event for event in result.events if event.kind == "established"]
    return list(dict.fromkeys(event.body for event in events))


@pytest.mark.slow
def test_contacts_come_in_the_printed_order(fir: sg.GraspResult) -> None:
    order = first_established(fir)
    assert order[:4] == ["F2_P1", "F4_P1", "F2_P2", "F4_P2"]
    assert set(order[4:7]) == {"F1_P3", "F3_P3", "palm"}
    times = {event.body: event.time_s for event in reversed(fir.events)
             if event.kind == "established"}  # fmt: skip
    assert times["F2_P1"] == times["F4_P1"]
    assert times["F1_P3"] == times["F3_P3"]


@pytest.mark.slow
def test_it_goes_to_plus_x_first_down_and_then_up(fir: sg.GraspResult) -> None:
    way = fir.object_position - fir.object_position[0]
    lowest = int(np.argmin(way[:, 2]))
    assert way[-1, 0] > 0.05
    assert way[lowest, 2] < -0.003
    assert way[lowest:, 2].max() > 0.02
    assert lowest < int(np.argmax(way[:, 2]))


def test_nothing_moves_in_y_and_it_rotates_about_y_only(fir: sg.GraspResult) -> None:
    assert np.abs(fir.object_position[:, 1]).max() < 1e-6
    about_x, about_y, about_z = fir.object.rotation_rad
    assert abs(about_x) < 1e-6
    assert abs(about_z) < 1e-6
    assert about_y > 0.3


def test_the_first_joints_of_fingers_2_and_4_stop_only_while_they_touch(
    fir: sg.GraspResult,
) -> None:
    """§4.1 on Fig 8: q4 and q10 stay almost constant for some milliseconds. Here the sphere is
    knocked away: in the first 3 ms from the touch the joints lose some of their way, no plateau."""
    touched = next(event.time_s for event in fir.events if event.body == "F2_P1")
    for joint in ("F2_J1", "F4_J1"):
        target = fir.joint_target[:, fir.joint_names.tolist().index(joint)]
        free, held = (
            float(np.diff(np.interp([start, start + 0.003], fir.time, target))[0])
            for start in (touched - 0.01, touched)
        )
        assert 0.5 * free < held < 0.97 * free


@pytest.fixture(scope="module")
def of_densities(fir: sg.GraspResult) -> list[sg.GraspResult]:
    return [fir if density == 700.0 else of_density(density) for density in DENSITIES]


@pytest.mark.slow
def test_denser_spheres_end_with_less_motion_in_x(of_densities: list[sg.GraspResult]) -> None:
    dx = [result.object.displacement_m[0] for result in of_densities]
    assert np.all(np.diff(dx) < 0)
    assert dx == pytest.approx(REFERENCE_DX, rel=0.015)


@pytest.mark.slow
def test_at_every_density_it_dips_rotates_about_y_and_meets_the_fingers_in_order(
    of_densities: list[sg.GraspResult],
) -> None:
    for result in of_densities:
        assert first_established(result)[:4] == ["F2_P1", "F4_P1", "F2_P2", "F4_P2"]
        height = result.object_position[:, 2] - result.object_position[0, 2]
        assert -0.0051 < height.min() < -0.0036
        assert height[int(np.argmin(height)) :].max() > 0.03
        about_x, about_y, about_z = result.object.rotation_rad
        assert np.degrees(about_y) == pytest.approx(38.5, abs=1.5)
        assert np.abs(result.object_position[:, 1]).max() < 1e-6
        assert max(abs(about_x), abs(about_z)) < 1e-5
    assert height.min() == pytest.approx(REFERENCE_DIP, rel=0.03)


@pytest.mark.slow
def test_with_half_of_the_force_reacted_at_once_the_densest_sphere_moves_further() -> None:
    """Impedance d = 0.5: in contact it moves as if it weighed twice as much (decision 0004)."""
    scene = sg.load_scene("paper004_power_sphere")
    scene = scene.replace(
        object=scene.object.weighing(density=DENSITIES[-1]),
        solver=scene.solver.replace(impedance=0.5),
    )
    assert sg.simulate(scene).object.displacement_m[0] > 1.05 * REFERENCE_DX[-1]


def test_a_repeat_is_the_same_bit_for_bit() -> None:
    scene = sg.load_scene("paper004_power_sphere").replace(duration=0.12)
    assert sg.simulate(scene).trajectory_sha256 == sg.simulate(scene).trajectory_sha256
