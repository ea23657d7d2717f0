"""A four-finger hand bent around an object, and helpers to compare images."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
import trimesh

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
    spec, capsule = mujoco.MjSpec(), mujoco.mjtGeom.mjGEOM_CAPSULE
    spec.compiler.degree = False
    palm = spec.worldbody.add_body(name="palm")
    palm.add_geom(name="palm", type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.058, 0.034, 0.006),
                  pos=(0, 0, 0.006), rgba=visual.PALM_RGBA)  # fmt: skip
    for finger, (x, y) in BASES.items():
        parent, position = palm, (x, y, 0.0)
        for index, (length, bend) in enumerate(zip(PHALANGES, BEND_DEG, strict=True)):
            half, name = 0.5 * np.radians(bend) * np.sign(x), f"{finger}_p{index + 1}"
            turned = (np.cos(half), 0, np.sin(half), 0)
            parent = parent.add_body(name=name, pos=position, quat=turned)
            parent.add_geom(name=name, type=capsule, fromto=(0, 0, 0, 0, 0, -length),
                            size=(RADIUS, 0, 0), rgba=visual.phalanx_rgba(index))  # fmt: skip
            position = (0, 0, -length)
    return spec


def add_object(spec: mujoco.MjSpec, kind: str) -> None:
    """A free sphere, ellipsoid or pipe between the fingers."""
    body = spec.worldbody.add_body(name="object", pos=(0.0, 0.0, -0.085))
    body.add_freejoint()
    shape = {"name": "object", "rgba": visual.OBJECT_RGBA}
    if kind == "sphere":
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(0.03, 0, 0), **shape)
    elif kind == "ellipsoid":
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, size=(0.03, 0.03, 0.04), **shape)
    else:
        pipe = trimesh.creation.annulus(0.034, 0.037, 0.082)
        spec.add_mesh(name="pipe", uservert=pipe.vertices.ravel(), userface=pipe.faces.ravel())
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="pipe", **shape)


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
