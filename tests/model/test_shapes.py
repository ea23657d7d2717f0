"""Superellipsoids as objects, and closed surfaces of deformable shapes."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import trimesh

import softgrasp as sg
from softgrasp.mechanics import geometry
from softgrasp.model.deformable import _shape_functions as shape_functions
from softgrasp.model.shapes import bounds, center_in_file, convex_parts, extent, surface_of, width
from softgrasp.pipeline import compile_scene
from tests.conftest import Golden
from tests.support.scenes import pinch

RADII = (0.03, 0.03, 0.03)


def of(exponents: tuple[float, float], radii: tuple[float, float, float] = RADII) -> sg.GraspObject:
    shape = sg.description.Superellipsoid(radii=radii, exponents=exponents)
    return sg.GraspObject(name="super", shape=shape, density=700)


@pytest.mark.parametrize("exponents", [(0.2, 0.2), (1.0, 1.0), (0.3, 1.7), (2.0, 2.0)])
def test_mass_and_inertia_are_those_of_the_solid(exponents: tuple[float, float]) -> None:
    radii = (0.02, 0.03, 0.04)
    model = compile_scene(pinch(object=of(exponents, radii), object_mount="fixed")).model
    body = model.body("object")
    assert body.mass[0] == pytest.approx(700 * geometry.volume(radii, exponents))
    moments = 700 * np.array(geometry.moments(radii, exponents))
    np.testing.assert_allclose(np.sort(body.inertia), np.sort(moments), rtol=1e-6)


def test_the_frame_of_a_mesh_is_at_its_centre_of_mass(tmp_path: Path) -> None:
    """Of a cone on the plane z = 0 it is at a quarter of the height, wherever the file has it."""
    cone = trimesh.creation.cone(radius=0.02, height=0.04, sections=64)
    cone.apply_translation((0.1, 0.0, -0.3))
    cone.export(tmp_path / "cone.stl")
    shape = sg.load_object(tmp_path / "cone.stl", units="m", mass=0.1).shape
    assert center_in_file(shape) == pytest.approx((0.1, 0.0, -0.29), abs=1e-6)
    parts = (sg.description.Part(shape=sg.Sphere(radius=0.01), pose=sg.Pose(position=(0, 0, 0.03))),
             sg.description.Part(shape=sg.Sphere(radius=0.02)))  # fmt: skip
    compound = sg.description.Compound(parts=parts)
    assert center_in_file(compound) == pytest.approx((0.0, 0.0, 0.03 / 9), abs=1e-9)


def test_shape_functions_reproduce_linear_motions_of_the_nodes() -> None:
    """They sum to 1 and are not negative, and a node's weight at itself is 1."""
    levels = [(-0.02, 0.0, 0.03), (0.0, 0.05), (-0.1, -0.05, 0.0, 0.01)]
    nodes = np.array(list(product(*levels)))
    random = np.random.default_rng(0)
    points = random.uniform(nodes.min(axis=0), nodes.max(axis=0), (50, 3))
    weights = shape_functions(points, nodes)
    assert weights.min() >= 0.0
    assert weights.sum(axis=1) == pytest.approx(np.ones(50))
    linear = random.normal(size=(3, 3))
    assert weights @ (nodes @ linear) == pytest.approx(points @ linear, abs=1e-12)
    assert shape_functions(nodes, nodes) == pytest.approx(np.eye(len(nodes)), abs=1e-12)


@pytest.mark.parametrize(
    "shape",
    [
        sg.Sphere(radius=0.02),
        sg.Cylinder(radius=0.02, height=0.07),
        sg.description.Capsule(radius=0.01, length=0.05),
        sg.Cuboid(size=(0.02, 0.03, 0.05)),
        sg.description.Ellipsoid(radii=(0.01, 0.02, 0.03)),
    ],
    ids=lambda shape: shape.type,
)
@pytest.mark.parametrize("quaternion", [(1, 0, 0, 0), (0.5, 0.5, 0.5, 0.5), (0.8, 0.0, 0.36, 0.48)])
def test_bounds_are_those_of_the_vertices(shape: sg.Sphere, quaternion: tuple[float, ...]) -> None:
    pose = sg.Pose(position=(0.1, 0.0, -0.2), quaternion=quaternion)
    part = sg.description.Part(shape=shape, pose=pose)
    compound = sg.description.Compound(parts=(part,), center_of_mass=(0.1, 0.0, -0.2))
    low, high = bounds(compound)
    ((vertices, _),) = convex_parts(compound)
    assert vertices.min(axis=0) == pytest.approx(low, rel=0.03)
    assert vertices.max(axis=0) == pytest.approx(high, rel=0.03)
    assert extent(compound) == pytest.approx(high - low)


def test_sweep_of_exponents() -> None:
    pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    scene = pinch(object=of((1.0, 1.0)))
    axis = sg.description.Axis(path="object.exponents[0]", values=(0.2, 1.0, 2.0))
    table = sg.sweep(sg.description.SweepPlan(scene=scene, axes=(axis,)), workers=1)
    assert table["status"].tolist() == ["CLOSED"] * 3
    assert table["trajectory_sha256"].nunique() == 3


def test_concave_exponents_are_rejected(golden: Golden) -> None:
    golden.refused(lambda: of((2.5, 1.0)), "exponents")


def test_the_width_does_not_depend_on_the_orientation_in_the_file() -> None:
    box = sg.Cuboid(size=(0.03, 0.07, 0.12))
    pose = sg.description.Pose(position=(0.1, 0.0, 0.0), quaternion=(0.9, 0.3, 0.3, 0.1))
    rotated = sg.description.Compound(parts=(sg.description.Part(shape=box, pose=pose),))
    assert min(extent(rotated)) > 0.05
    assert width(rotated) == pytest.approx(0.03)
    assert width(box) == 0.03


# Surfaces of deformable shapes


SHAPES = {
    "sphere": (sg.Sphere(radius=0.03), 4 / 3 * math.pi * 0.03**3),
    "ellipsoid": (sg.description.Ellipsoid(radii=(0.02, 0.03, 0.05)), 4 / 3 * math.pi * 3e-5),
    "cylinder": (sg.Cylinder(radius=0.02, height=0.07), math.pi * 0.02**2 * 0.07),
    "cuboid": (sg.Cuboid(size=(0.02, 0.04, 0.06)), 0.02 * 0.04 * 0.06),
}


@pytest.mark.parametrize("name", SHAPES)
def test_surface_is_closed_and_oriented(name: str) -> None:
    shape, volume = SHAPES[name]
    vertices, faces = surface_of(shape)
    mesh = trimesh.Trimesh(vertices.round(9), faces)  # trimesh merges coincident points
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(volume, rel=0.02)


def test_other_shapes_are_rejected() -> None:
    with pytest.raises(TypeError, match="found capsule"):
        surface_of(sg.description.Capsule(radius=0.01, length=0.02))
