"""The light in a picture: a shadow-casting key light, and what to add where a model has none."""

from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

KEY_DIRECTION = (0.35, 0.45, -1.0)
"""Where the key light of a model without lights shines to, in the world."""
KEY = (0.55, 0.545, 0.53)
"""Colour of the key light, a little warm."""
AMBIENT, CAMERA = 0.42, 0.20
"""Parts of white that the surroundings and the camera's own light give."""
HORIZON_DISTANCES = 12.0
"""The floor has faded into the sky at this many camera distances."""


def key_direction(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Unit vector along the first directional light that casts shadows, or along our own."""
    kind = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    lights = np.flatnonzero(
        (model.light_type == kind) & model.light_castshadow.astype(bool) & (model.light_active > 0)
    )
    direction = data.light_xdir[lights[0]] if len(lights) else np.array(KEY_DIRECTION)
    return np.asarray(direction / np.linalg.norm(direction))


def complete_headlight(model: mujoco.MjModel) -> None:
    """Brighten the surroundings of a model that has no light of its own; changes only ``vis``."""
    if model.nlight:
        return
    headlight = model.vis.headlight
    headlight.active = 1
    headlight.ambient, headlight.diffuse = [AMBIENT] * 3, [CAMERA] * 3
    headlight.specular = [0.0] * 3


def aim_lights(scene: mujoco.MjvScene, center: Array, reach: float) -> None:
    """Hold the shadow maps of directional lights over the bodies; add a key light to none.

    MuJoCo's shadow map of a directional light is a square window around the light's position:
    the closer the window, the finer the shadow's edge.

    Args:
        scene: The scene, just updated; changed in place.
        center: Middle of the bodies [m].
        reach: Radius of a ball around them [m].
    """
    if all(scene.lights[index].headlight for index in range(scene.nlight)):
        _add_key(scene)
    for index in range(scene.nlight):
        light = scene.lights[index]
        if light.type == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL and not light.headlight:
            light.pos = center - 2.0 * reach * np.asarray(light.dir, dtype=float)


def _add_key(scene: mujoco.MjvScene) -> None:
    light = scene.lights[scene.nlight]
    light.headlight, light.castshadow, light.texid = 0, 1, -1
    light.type = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    light.dir = np.array(KEY_DIRECTION) / np.linalg.norm(KEY_DIRECTION)
    light.attenuation = (1.0, 0.0, 0.0)
    light.ambient, light.diffuse, light.specular = [0.0] * 3, KEY, [0.25] * 3
    scene.nlight += 1
