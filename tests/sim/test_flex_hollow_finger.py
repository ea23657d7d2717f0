"""A finger with a chamber from its mesh against a deformable solid with that chamber (MuJoCo flex).

Pressure acts on the deformed faces of the chamber. Fibres keep its walls from widening, or nothing
does, which the gains of chambers distinguish.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from softgrasp.continuum.statics import joint_positions
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.io.soft_finger.finger import finger_from_mesh
from softgrasp.sim.soft_statics import blocked_force, equilibrium
from tests.sim.test_flex_finger import distances
from tests.support.hollow_solid import HollowSolid, cell_stiffness, isotropic

SIZE = (0.1, 0.02, 0.015)
CELLS = (8, 3, 6)
YOUNG = 0.35e6
BEGIN, END = 1, 7
"""Cells along the finger between which the chamber lies."""
INNER = (SIZE[0] * (END - BEGIN) / CELLS[0], SIZE[1] / 3.0, SIZE[2] / 3.0)
"""Size of the chamber [m]."""
CENTER = SIZE[2] / 6.0
"""Height of its middle above that of the block [m]."""
JOINTS = 8
QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")


def solid(poisson: float = 0.0, *, fibres: bool) -> HollowSolid:
    chambers = np.zeros(CELLS, dtype=bool)
    chambers[BEGIN:END, 1, 3:5] = True
    return HollowSolid(SIZE, chambers, YOUNG, poisson, fibres)


def chain(tmp_path: Path, poisson_ratio: float | None = None) -> SoftFinger:
    """The finger of the mesh of the block with its chamber, with equal cells."""
    outer = trimesh.creation.box(extents=SIZE)
    inner = trimesh.creation.box(extents=INNER)
    inner.apply_translation((0.0, 0.0, CENTER))
    inner.invert()
    path = tmp_path / "hollow.stl"
    trimesh.util.concatenate([outer, inner]).export(path)
    at = (np.arange(JOINTS) + 0.5) / JOINTS * SIZE[0]
    return finger_from_mesh(
        path, youngs_modulus=YOUNG, density=1100.0, pressure_gain="chambers", valleys=at.tolist(),
        poisson_ratio=poisson_ratio, up=(0.0, 0.0, 1.0), axis=(1.0, 0.0, 0.0), base="start",
    )  # fmt: skip


def curvature_per_pressure() -> float:
    """A·e/EI of the section with the chamber [1/(m·Pa)]."""
    area, whole = INNER[1] * INNER[2], SIZE[1] * SIZE[2]
    center = -area * CENTER / (whole - area)
    lever = CENTER - center
    moment = whole * (SIZE[2] ** 2 / 12.0 + center**2) - area * (INNER[2] ** 2 / 12.0 + lever**2)
    return area * lever / (YOUNG * moment)


@pytest.mark.slow
def test_the_stiffness_of_a_cell_is_that_of_mujoco() -> None:
    made = solid(0.3, fibres=False)
    own = cell_stiffness(np.array(SIZE) / CELLS, isotropic(YOUNG, 0.3))
    np.testing.assert_allclose(made.stiffness[0], -own, atol=1e-12 * np.abs(own).max())


@QUIET
def test_walls_that_widen_have_the_fraction_of_betti(tmp_path: Path) -> None:
    """Gains are 1 − 2ν of those of walls that do not widen, and nothing else changes."""
    stiff, soft = chain(tmp_path), chain(tmp_path, poisson_ratio=0.45)
    for a, b in zip(stiff.joints, soft.joints, strict=True):
        assert b.pressure_gain == pytest.approx(0.1 * a.pressure_gain)
        assert b.stiffness == a.stiffness


@pytest.mark.slow
@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45])
def test_a_homogeneous_solid_bends_by_the_fraction_of_betti(poisson: float) -> None:
    """Half way along, at a pressure so small that the chamber keeps its shape."""
    pressure, made = 500.0, solid(poisson, fibres=False)
    made.equilibrium(pressure)
    middle = slice(CELLS[0] - 3, CELLS[0] + 4)
    along = made.rest[made.grid[:, 0, 0], 0]
    curvature = np.polyfit(along[middle], made.rotations()[middle], 1)[0]
    ratio = curvature / (pressure * curvature_per_pressure())
    print(f"ν {poisson:g}: {ratio:.4f} of the reinforced chamber, 1 − 2ν = {1 - 2 * poisson:.4f}")
    assert ratio == pytest.approx(1.0 - 2.0 * poisson, abs=0.02)


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("pressure", [20e3, 40e3, 60e3])
def test_the_shape_is_that_of_the_reinforced_solid(pressure: float, tmp_path: Path) -> None:
    finger, made = chain(tmp_path), solid(fibres=True)
    made.equilibrium(pressure)
    line = made.line()
    line -= line[0]
    shape = equilibrium(finger, pressure=pressure, gravity=False)
    joints = joint_positions(finger, shape.joint_angles)
    start = finger.joints[0].position[2]
    tip = np.linalg.norm(shape.tip_position - line[-1]) / SIZE[0]
    along = distances(joints - (0.0, 0.0, start), line).max() / SIZE[0]
    print(f"{pressure:g} Pa: {np.degrees(shape.tip_angle):.2f}°, "
          f"solid {np.degrees(made.rotations()[-1]):.2f}°, "
          f"tip {100 * tip:.2f} %, line {100 * along:.2f} % of the length")  # fmt: skip
    assert max(tip, along) < 0.03


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("pressure", [20e3, 40e3, 60e3])
def test_the_blocked_tip_presses_as_the_reinforced_solid(pressure: float, tmp_path: Path) -> None:
    force = solid(fibres=True).equilibrium(pressure, blocked=True)
    (found,) = blocked_force(chain(tmp_path), [pressure])
    print(f"{pressure:g} Pa: {found:.4f} N, solid {force:.4f} N ({found / force - 1:+.1%})")
    assert found == pytest.approx(force, rel=0.1)
