"""Surfaces of what deforms are closed, look outwards, and hold the volume of their shapes."""

from __future__ import annotations

import math

import pytest
import trimesh

import softgrasp as sg
from softgrasp.model.shapes import surface_of

SHAPES = {
    "sphere": (sg.Sphere(radius=0.03), 4 / 3 * math.pi * 0.03**3),
    "ellipsoid": (sg.Ellipsoid(radii=(0.02, 0.03, 0.05)), 4 / 3 * math.pi * 3e-5),
    "cylinder": (sg.Cylinder(radius=0.02, height=0.07), math.pi * 0.02**2 * 0.07),
    "cuboid": (sg.Cuboid(size=(0.02, 0.04, 0.06)), 0.02 * 0.04 * 0.06),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_surface_is_closed_and_looks_outwards(name: str) -> None:
    shape, volume = SHAPES[name]
    vertices, faces = surface_of(shape)
    mesh = trimesh.Trimesh(vertices.round(9), faces)  # points in one place are one to trimesh
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(volume, rel=0.02)


def test_other_shapes_have_none_here() -> None:
    with pytest.raises(TypeError, match="found capsule"):
        surface_of(sg.Capsule(radius=0.01, length=0.02))
