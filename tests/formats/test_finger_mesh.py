"""Soft fingers from meshes: springs, masses and boxes of the slices, and what has to be given."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import trimesh

import softgrasp as sg
from softgrasp.io.soft_finger_mesh import finger_from_mesh
from tests.support.bellows_mesh import BellowsMesh, bellows_mesh

LENGTH, WIDTH = 0.0635, 0.02
UNIFORM = {"bending_stiffness": 2e-3, "mass": 0.02, "base": "start"}


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> tuple[BellowsMesh, Path]:
    """Seven valleys, tapered, along the axes of the file, in millimetres."""
    made = bellows_mesh(7, taper=0.3, resolution=3e-3)
    path = tmp_path_factory.mktemp("meshes") / "seven.stl"
    made.surface.copy().apply_scale(1e3).export(path)
    return made, path


@pytest.fixture(scope="module")
def finger(seven: tuple[BellowsMesh, Path]) -> sg.SoftFinger:
    return finger_from_mesh(
        seven[1], units="mm", density=1100.0, bending_stiffness=2e-3, damping=3e-4,
        pressure_gain=[1e-7, 2e-7, 3e-7, 4e-7, 5e-7, 6e-7, 7e-7],
    )  # fmt: skip


def test_the_links_are_the_slices(finger: sg.SoftFinger, seven: tuple[BellowsMesh, Path]) -> None:
    made, _ = seven
    surface = made.surface
    masses = np.array([link.mass for link in finger.links])
    centers = np.array([link.center for link in finger.links])
    assert masses.sum() == pytest.approx(1100.0 * surface.volume, rel=1e-6)
    lifted = surface.center_mass - [0.0, 0.0, made.joints[0, 2]]
    # z counts from the section at the first valley that was found
    np.testing.assert_allclose(masses @ centers / masses.sum(), lifted, atol=1.5e-4)
    sizes = np.array([link.size for link in finger.links])
    assert sizes[:, 0].sum() == pytest.approx(LENGTH, rel=1e-6)
    assert sizes[:, 1] == pytest.approx([WIDTH] * 8, rel=1e-6)
    assert (np.diff(sizes[:, 2]) < 0.0).all()
    assert sizes[0, 2] == pytest.approx(0.021, rel=1e-6)


def test_joints_and_tip_are_in_the_frame_of_the_finger(
    finger: sg.SoftFinger, seven: tuple[BellowsMesh, Path]
) -> None:
    made, _ = seven
    joints = np.array([joint.position for joint in finger.joints])
    np.testing.assert_allclose(joints, made.joints - [0, 0, made.joints[0, 2]], atol=5e-4)
    assert finger.joints[0].position[2] == 0.0
    assert finger.tip[0] == pytest.approx(LENGTH, rel=1e-6)
    assert finger.planar
    assert finger.name == "seven"
    assert finger.source == "seven.stl, sliced at 7 valleys"
    assert [joint.damping for joint in finger.joints] == [3e-4] * 7
    assert [joint.pressure_gain for joint in finger.joints] == [n * 1e-7 for n in range(1, 8)]


def test_the_springs_are_those_of_the_beam(finger: sg.SoftFinger) -> None:
    assert finger.compliance == pytest.approx(LENGTH / 2e-3, rel=1e-6)
    along = np.array([joint.position[0] for joint in finger.joints])
    cells = np.diff(np.concatenate([[0.0], 0.5 * (along[:-1] + along[1:]), [finger.tip[0]]]))
    assert [joint.stiffness for joint in finger.joints] == pytest.approx(2e-3 / cells)


def test_it_hangs_like_the_beam_that_it_is(finger: sg.SoftFinger) -> None:
    # a pure moment bends every beam of one EI to M L / EI, wherever its joints are
    moment = 0.02
    rest = sg.equilibrium(finger, tip_moment=(0.0, moment, 0.0), gravity=False)
    assert rest.tip_angle == pytest.approx(moment * LENGTH / 2e-3, rel=1e-5)


def test_a_mass_is_shared_by_volume(seven: tuple[BellowsMesh, Path]) -> None:
    light = finger_from_mesh(seven[1], units="mm", mass=0.02, bending_stiffness=1.0, name="f")
    heavy = finger_from_mesh(seven[1], units="mm", density=1e3, bending_stiffness=1.0, name="f")
    masses = np.array([[link.mass for link in each.links] for each in (light, heavy)])
    assert masses[0].sum() == pytest.approx(0.02)
    np.testing.assert_allclose(masses[0] / masses[1], 0.02 / masses[1].sum())


def test_a_stiffness_may_change_along_the_finger(seven: tuple[BellowsMesh, Path]) -> None:
    numbers = {"units": "mm", "mass": 0.02}
    finger = finger_from_mesh(
        seven[1], **numbers, bending_stiffness=lambda x: 2e-3 * np.exp(-x / 0.03)
    )
    exact = 0.03 * (np.exp(LENGTH / 0.03) - 1.0) / 2e-3
    assert finger.compliance == pytest.approx(exact, rel=1e-4)
    springs = [joint.stiffness for joint in finger.joints]
    assert springs[1:] == sorted(springs[1:], reverse=True)


def test_youngs_modulus_gives_the_stiffness_of_every_section(tmp_path: Path) -> None:
    # EI = E b h³/12 with h = h0 (1 − x/(2 L)); valleys are given, so a plain wedge will do
    wedge = trimesh.creation.box((0.1, 0.02, 0.01)).subdivide_to_size(5e-3)
    wedge.apply_translation((0.05, 0.0, 0.005))
    wedge.vertices[:, 2] *= 1.0 - 5.0 * wedge.vertices[:, 0]
    wedge.export(tmp_path / "wedge.ply")
    finger = finger_from_mesh(
        tmp_path / "wedge.ply", youngs_modulus=1e6, density=1e3, up=(0, 0, 1),
        valleys=[0.03, 0.06, 0.08],
    )  # fmt: skip
    bounds = np.array([0.0, 0.045, 0.07, 0.1])
    exact = 0.1 / 1e6 / (0.02 * 0.01**3 / 12.0) * np.diff((1.0 - 5.0 * bounds) ** -2.0)
    # the end piece is as stiff as its thinnest section between the joints
    exact[2] -= (
        np.diff((1.0 - 5.0 * np.array([0.08, 0.1])) ** -2.0)[0]
        * 0.1
        / 1e6
        / (0.02 * 0.01**3 / 12.0)
    )
    exact[2] += 0.02 / 1e6 / (0.02 * 0.006**3 / 12.0)
    result = [1.0 / joint.stiffness for joint in finger.joints]
    assert result == pytest.approx(exact, rel=1e-3)


def test_a_rounded_tip_does_not_make_the_last_joint_soft(tmp_path: Path) -> None:
    made = bellows_mesh(5, resolution=2e-3)
    blunt, round_ = made.surface.copy(), made.surface.copy()
    x = made.surface.vertices[:, 0]
    into = np.clip((x - 0.058) / 0.0055, 0.0, 1.0)
    shrink = np.sqrt(np.clip(1.0 - into**2, 1e-4, 1.0))
    round_.vertices[:, 2] = 0.0105 + (round_.vertices[:, 2] - 0.0105) * shrink
    springs = []
    for name, surface in {"blunt": blunt, "round": round_}.items():
        surface.export(tmp_path / f"{name}.ply")
        finger = finger_from_mesh(
            tmp_path / f"{name}.ply", youngs_modulus=1e6, mass=0.02, base=(0, 0, 0), up=(0, 0, 1)
        )
        springs.append([joint.stiffness for joint in finger.joints])
    assert springs[1][:4] == pytest.approx(springs[0][:4], rel=2e-2)
    assert 0.7 * springs[0][4] < springs[1][4] < springs[0][4]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mass": 0.02}, "bending_stiffness: expected bending_stiffness or youngs_modulus, found "
                         "neither"),
        ({"mass": 0.02, "bending_stiffness": 1.0, "youngs_modulus": 1e6},
         "bending_stiffness: expected bending_stiffness or youngs_modulus, found both"),
        ({"bending_stiffness": 1.0}, "density: expected density or mass, found neither"),
        ({"bending_stiffness": 1.0, "mass": 1.0, "density": 1.0},
         "density: expected density or mass, found both"),
        ({"bending_stiffness": -1.0, "mass": 0.02},
         "bending_stiffness: expected a number above 0, found -1.0"),
        ({"youngs_modulus": float("nan"), "mass": 0.02},
         "youngs_modulus: expected a number above 0, found nan"),
        ({"bending_stiffness": 1.0, "mass": 0.0}, "mass: expected a number above 0, found 0.0"),
        ({"bending_stiffness": 1.0, "mass": 0.02, "damping": [1.0, 2.0]},
         "damping: expected one number or 7, one a joint, found 2"),
        ({"bending_stiffness": 1.0, "mass": 0.02, "damping": -1.0},
         "damping: expected a number at least 0, found -1.0"),
        ({"bending_stiffness": lambda x: x[:7], "mass": 0.02},
         "bending_stiffness: expected one number or 502, one a place, found shape (7,)"),
        ({"bending_stiffness": lambda x: x - 0.01, "mass": 0.02},
         "bending_stiffness: expected numbers above 0, found -0.01"),
    ],
)  # fmt: skip
def test_what_has_to_be_given(
    given: dict[str, object], sentence: str, seven: tuple[BellowsMesh, Path]
) -> None:
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        finger_from_mesh(seven[1], units="mm", **given)
