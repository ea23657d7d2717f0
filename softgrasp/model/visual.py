"""Visual elements of a scene without effect on the physics: colours, sky, floor and lights."""

from __future__ import annotations

import mujoco
import numpy as np

Rgba = tuple[float, float, float, float]

PALM_RGBA: Rgba = (0.30, 0.36, 0.43, 1.0)
PHALANX_RGBA: tuple[Rgba, Rgba] = ((0.62, 0.69, 0.77, 1.0), (0.42, 0.49, 0.58, 1.0))
"""Alternating colours of phalanges from the palm outwards, so that joints are visible."""
SILICONE_RGBA: Rgba = (0.90, 0.86, 0.78, 1.0)
IN_CONTACT_RGBA: Rgba = (0.20, 0.62, 0.60, 1.0)
"""Colour of a phalanx with established contact."""
OBJECT_RGBA: Rgba = (0.86, 0.36, 0.24, 1.0)
AROUND_RGBA: dict[str, Rgba] = {
    "table": (0.80, 0.76, 0.70, 1.0),
    "wall": (0.90, 0.87, 0.82, 1.0),
    "block": (0.72, 0.66, 0.58, 1.0),
}
"""Colours of surroundings by type."""
CONTACT_RGBA: Rgba = (0.98, 0.80, 0.12, 1.0)
"""Colour of contact points and contact forces."""
FLOOR_RGBA: tuple[Rgba, Rgba] = ((0.86, 0.88, 0.90, 1.0), (0.78, 0.81, 0.84, 1.0))
RgbPair = tuple[tuple[float, float, float], tuple[float, float, float]]
SKY_RGB: RgbPair = ((0.74, 0.82, 0.90), (1.00, 1.00, 1.00))
"""Zenith and nadir; the horizon is halfway between."""

SKY_PIXELS, PLAIN_PIXELS, FLOOR_PIXELS = 64, 16, 128
"""Texture sizes of a face of the sky, of a plain background, and of four floor squares; large
textures take as much memory as the rest of a model."""

FLOOR_NAME = "floor"
FLOOR_SQUARE = 0.02
"""Side of a floor square [m], which also serves as a length scale."""
FLOOR_GROUP = 1
FLOOR_GAP = 0.02
"""Distance of the floor below everything else [m]."""
LIGHT_DIRECTION = (0.0, 0.75, -1.0)
"""Direction of the key light. It has no x component because MuJoCo's OpenGL shadow map, whose sides
are along x and across, has artefacts on planes that slope along both of its sides."""


def phalanx_rgba(index: int) -> Rgba:
    """Return the colour of a phalanx by its index from the palm outwards."""
    return PHALANX_RGBA[index % len(PHALANX_RGBA)]


def add_visuals(spec: mujoco.MjSpec, floor_height: float) -> None:
    """Add sky, floor and lights without contacts and mass.

    Args:
        spec: The scene; changed in place.
        floor_height: World z of the floor [m].
    """
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = 1920, 1080
    visual.quality.shadowsize, visual.quality.offsamples = 1024, 4
    visual.rgba.haze[:] = (*np.mean(SKY_RGB, axis=0), 1.0)
    visual.map.haze = 0.6  # hides the border of the floor
    visual.headlight.ambient[:] = (0.42, 0.42, 0.43)
    visual.headlight.diffuse[:] = (0.20, 0.20, 0.20)
    visual.headlight.specular[:] = (0.0, 0.0, 0.0)
    gradient = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT
    _add_skybox(spec, "sky", gradient, SKY_RGB, SKY_PIXELS)
    _add_floor(spec, floor_height)
    spec.worldbody.add_light(
        name="key",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=(0.0, -0.75, 1.0),
        dir=LIGHT_DIRECTION,
        diffuse=(0.55, 0.54, 0.52),
        specular=(0.25, 0.25, 0.25),
        ambient=(0.0, 0.0, 0.0),
        castshadow=True,
    )


def add_plain_background(spec: mujoco.MjSpec, rgb: tuple[float, float, float]) -> None:
    """Add a background of one colour at infinity, without shadows and depth."""
    flat = mujoco.mjtBuiltin.mjBUILTIN_FLAT
    _add_skybox(spec, "background", flat, (rgb, rgb), PLAIN_PIXELS)


def _add_skybox(
    spec: mujoco.MjSpec, name: str, builtin: mujoco.mjtBuiltin, rgb: RgbPair, pixels: int
) -> None:
    """Add a background from one colour at the zenith to another at the nadir."""
    spec.add_texture(
        name=name,
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=builtin,
        rgb1=rgb[0],
        rgb2=rgb[1],
        width=pixels,
        height=6 * pixels,
    )


def _add_floor(spec: mujoco.MjSpec, height: float) -> None:
    """Add a checkered plane that touches nothing."""
    spec.add_texture(
        name=FLOOR_NAME,
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=FLOOR_RGBA[0][:3],
        rgb2=FLOOR_RGBA[1][:3],
        width=FLOOR_PIXELS,
        height=FLOOR_PIXELS,
    )
    textures = [""] * int(mujoco.mjtTextureRole.mjNTEXROLE)
    textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = FLOOR_NAME
    spec.add_material(
        name=FLOOR_NAME,
        textures=textures,
        texuniform=True,
        texrepeat=(1.0 / FLOOR_SQUARE, 1.0 / FLOOR_SQUARE),
        specular=0.0,
        shininess=0.0,
        reflectance=0.0,
    )
    spec.worldbody.add_geom(
        name=FLOOR_NAME,
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        pos=(0.0, 0.0, height),
        size=(0.0, 0.0, 0.05),
        material=FLOOR_NAME,
        contype=0,
        conaffinity=0,
        group=FLOOR_GROUP,
    )
