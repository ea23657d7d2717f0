"""How bright a point of a body is: surroundings, key light, a light at the camera, and gloss."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softgrasp.render import lighting

Colors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.floating]

_FROM_ABOVE = lighting.AMBIENT * np.array([1.16, 1.18, 1.22], dtype=np.float32)
_FROM_BELOW = lighting.AMBIENT * np.array([0.80, 0.78, 0.76], dtype=np.float32)
_KEY = np.array(lighting.KEY, dtype=np.float32)
_GLOSS, _GLOSS_EXPONENT = 0.16, 40


def shaded(
    albedo: Colors, normals: Floats, toward_eye: Floats, toward_key: Floats, share: Floats
) -> Colors:
    """Colours of points on bodies.

    Args:
        albedo: Colours of the bodies, shape (n, 3).
        normals: Outward unit normals, shape (n, 3).
        toward_eye: Unit vectors towards the camera, shape (n, 3).
        toward_key: Unit vector towards the key light, shape (3,).
        share: Part of the key light that is not blocked, shape (n,).

    Returns:
        Colours, shape (n, 3); may exceed 1.
    """
    normals, toward_eye = normals.astype(np.float32), toward_eye.astype(np.float32)
    key = toward_key.astype(np.float32)
    halfway = toward_eye + key
    halfway /= np.linalg.norm(halfway, axis=1, keepdims=True)
    up = 0.5 + 0.5 * normals[:, 2:]
    light = _FROM_BELOW + up * (_FROM_ABOVE - _FROM_BELOW)
    light += (share * np.clip(normals @ key, 0.0, 1.0))[:, None] * _KEY
    light += (lighting.CAMERA * np.clip(_dots(normals, toward_eye), 0.0, 1.0))[:, None]
    gloss = _GLOSS * share * np.clip(_dots(normals, halfway), 0.0, 1.0) ** _GLOSS_EXPONENT
    return np.asarray(albedo * light + gloss[:, None], dtype=np.float32)


def _dots(a: Colors, b: Colors) -> Colors:
    return np.asarray(np.einsum("nx,nx->n", a, b))
