"""The light in a picture: a shadow-casting key light, and what to add where a model has none."""

from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.render.camera import Camera

Array = npt.NDArray[np.float64]

KEY_DIRECTION = (0.0, 0.75, -1.0)
"""Where the key light of a model without lights shines to, in the world."""
KEY = (0.55, 0.545, 0.53)
"""Colour of the key light, a little warm."""
AMBIENT, CAMERA = 0.42, 0.20
"""Parts of white that the surroundings and the camera's own light give."""
SHOULDER_DEG = 20.0
"""The key light comes from about this far to the left of the camera."""
HORIZON_DISTANCES = 12.0
"""The floor has faded into the sky at this many camera distances."""


def key_direction(model: mujoco.MjModel, data: mujoco.MjData, camera: Camera) -> Array:
    """Unit vector along the first directional light that casts shadows, or along our own.

    It is turned to the camera's side; see ``toward_scene``.
    """
    kind = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    lights = np.flatnonzero(
        (model.light_type == kind) & model.light_castshadow.astype(bool) & (model.light_active > 0)
    )
    direction = data.light_xdir[lights[0]] if len(lights) else np.array(KEY_DIRECTION)
    return toward_scene(direction / np.linalg.norm(direction), camera)


def toward_scene(direction: Array, camera: Camera) -> Array:
    """A light's direction turned about the vertical so that it comes over the camera's shoulder.

    Bodies are then never seen against the light. Only quarter turns are made: MuJoCo's
    OpenGL shadow map speckles a floor when the light leans along neither x nor y.

    Args:
        direction: Where the light shines to, shape (3,).
        camera: The camera.
    """
    target_azimuth = np.radians(camera.azimuth_deg - SHOULDER_DEG)
    x, y, z = direction
    candidates = np.array([[x, y, z], [-y, x, z], [-x, -y, z], [y, -x, z]])
    return np.asarray(
        candidates[np.argmax(candidates[:, :2] @ [np.cos(target_azimuth), np.sin(target_azimuth)])]
    )


def complete_headlight(model: mujoco.MjModel) -> None:
    """Brighten the surroundings of a model that has no light of its own; changes only ``vis``."""
    if model.nlight:
        return
    headlight = model.vis.headlight
    headlight.active = 1
    headlight.ambient, headlight.diffuse = [AMBIENT] * 3, [CAMERA] * 3
    headlight.specular = [0.0] * 3


def aim_lights(scene: mujoco.MjvScene, camera: Camera, center: Array, reach: float) -> None:
    """Aim the key light and all shadow maps; add a key light where a model has no light.

    MuJoCo's shadow map of a directional light is a square window around the light's position:
    the closer the window, the finer the shadow's edge.

    Args:
        scene: The scene, just updated; changed in place.
        camera: The camera.
        center: Middle of the bodies [m].
        reach: Radius of a ball around them [m].
    """
    if all(scene.lights[index].headlight for index in range(scene.nlight)):
        _add_key(scene)
    kind = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    lights = [scene.lights[index] for index in range(scene.nlight)]
    far = [light for light in lights if light.type == kind and not light.headlight]
    for light in [light for light in far if light.castshadow][:1]:
        light.dir = toward_scene(np.asarray(light.dir, dtype=float), camera)
    for light in far:
        light.pos = center - 2.0 * reach * np.asarray(light.dir, dtype=float)


def _add_key(scene: mujoco.MjvScene) -> None:
    light = scene.lights[scene.nlight]
    light.headlight, light.castshadow, light.texid = 0, 1, -1
    light.type = int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL)
    light.dir = np.array(KEY_DIRECTION) / np.linalg.norm(KEY_DIRECTION)
    light.attenuation = (1.0, 0.0, 0.0)
    light.ambient, light.diffuse, light.specular = [0.0] * 3, KEY, [0.25] * 3
    scene.nlight += 1
