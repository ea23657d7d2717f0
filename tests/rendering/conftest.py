"""A four-finger hand bent around an object, and helpers to compare images."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from softgrasp.model import visual
from softgrasp.rendering import renderer as gl

Posed = tuple[mujoco.MjModel, mujoco.MjData]

PHALANGES = (0.050, 0.035, 0.028)
RADIUS = 0.008
BASES = {"f1": (0.05, 0.02), "f2": (-0.05, 0.02), "f3": (0.05, -0.02), "f4": (-0.05, -0.02)}
BEND_DEG = (-5.0, 22.0, 22.0)
FLOOR = -0.16


def hand_spec() -> mujoco.MjSpec:
    """The hand alone, its fingers hanging to -z and bent inwards."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    palm = spec.worldbody.add_body(name="palm")
    palm.add_geom(
        name="palm",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(0.058, 0.034, 0.006),
        pos=(0, 0, 0.006),
        rgba=visual.PALM_RGBA,
    )
    for finger, (x, y) in BASES.items():
        parent, position = palm, (x, y, 0.0)
        for index, (length, bend) in enumerate(zip(PHALANGES, BEND_DEG, strict=True)):
            half = 0.5 * np.radians(bend) * np.sign(x)
            name = f"{finger}_p{index + 1}"
            parent = parent.add_body(
                name=name, pos=position, quat=(np.cos(half), 0, np.sin(half), 0)
            )
            parent.add_geom(
                name=name,
                type=mujoco.mjtGeom.mjGEOM_CAPSULE,
                fromto=(0, 0, 0, 0, 0, -length),
                size=(RADIUS, 0, 0),
                rgba=visual.phalanx_rgba(index),
            )
            position = (0, 0, -length)
    return spec


def add_object(spec: mujoco.MjSpec, kind: str) -> None:
    """A free sphere, ellipsoid or mug between the fingers."""
    body = spec.worldbody.add_body(name="object", pos=(0.0, 0.0, -0.085))
    body.add_freejoint()
    shape = {"name": "object", "rgba": visual.OBJECT_RGBA}
    if kind == "sphere":
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.03, 0, 0), **shape)
    elif kind == "ellipsoid":
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, size=(0.03, 0.03, 0.04), **shape)
    else:
        vertices, faces = mug_mesh()
        spec.add_mesh(name="mug", uservert=vertices.ravel(), userface=faces.ravel())
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mug", **shape)


def mug_mesh(slices: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """An open cup with a handle; vertices (n, 3) [m] and triangles (m, 3)."""
    radius = np.array([0.0, 0.036, 0.037, 0.037, 0.034, 0.034, 0.0])
    height = np.array([-0.041, -0.041, -0.040, 0.041, 0.041, -0.037, -0.037])
    rotation = 2 * np.pi * np.arange(slices) / slices
    flat = np.stack([np.cos(rotation), np.sin(rotation), 0 * rotation], axis=1)
    cup = radius[:, None, None] * flat + height[:, None, None] * np.array([0.0, 0.0, 1.0])
    along = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 13)
    outward = np.stack([0 * along, np.cos(along), np.sin(along)], axis=1)
    path = np.array([0.0, 0.035, 0.0]) + outward * [1.0, 0.022, 0.024]
    rotation = 2 * np.pi * np.arange(10) / 10
    ring = (
        np.outer(np.cos(rotation), [1.0, 0.0, 0.0]) + np.sin(rotation)[:, None] * outward[:, None]
    )
    handle = path[:, None] + 0.004 * ring
    first, second = _grid_faces(*cup.shape[:2]), _grid_faces(*handle.shape[:2])
    vertices = np.vstack([cup.reshape(-1, 3), handle.reshape(-1, 3)])
    return vertices, np.vstack([first, second + cup.shape[0] * cup.shape[1]])


def _grid_faces(rings: int, slices: int) -> np.ndarray:
    i, j = np.meshgrid(np.arange(rings - 1), np.arange(slices), indexing="ij")
    a, b = i * slices + j, i * slices + (j + 1) % slices
    c, d = a + slices, b + slices
    pair = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], axis=2)
    return pair.reshape(-1, 3)


def posed(spec: mujoco.MjSpec) -> Posed:
    """The compiled model, and data at its start state."""
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.fixture(scope="session")
def make_scene() -> Callable[..., Posed]:
    """Makes a hand around an object; ``dressed=False`` leaves out sky, floor and lights."""

    def make(kind: str = "sphere", *, dressed: bool = True) -> Posed:
        spec = hand_spec()
        add_object(spec, kind)
        if dressed:
            visual.add_visuals(spec, floor_height=FLOOR)
        return posed(spec)

    return make


@pytest.fixture(scope="session")
def scene(make_scene) -> Posed:
    """A hand around a sphere, with sky, floor and lights."""
    return make_scene()


@pytest.fixture(scope="session")
def egl() -> None:
    """Skips where there is no EGL."""
    if not gl.gl_available("egl"):
        pytest.skip("no OpenGL on this host: EGL cannot draw a pixel")


@pytest.fixture(scope="session")
def mask_of() -> Callable[..., np.ndarray]:
    """Which pixels show some geoms: those that change when the geoms change colour."""

    def mask(renderer, data, camera, geoms, threshold: int = 60) -> np.ndarray:
        dark = renderer.draw(data, camera, colors={int(k): (0, 0, 0, 1) for k in geoms})
        light = renderer.draw(data, camera, colors={int(k): (1, 1, 1, 1) for k in geoms})
        return (np.abs(dark.astype(int) - light) > threshold).any(axis=-1)

    return mask
