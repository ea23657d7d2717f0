"""How bright a point of a body is: surroundings, key light, a light at the camera, and gloss.

Arrays run over x, y, z or red, green, blue first: numpy is slow on short last axes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softgrasp.render import lighting

Colors = npt.NDArray[np.float32]

_FROM_ABOVE = lighting.AMBIENT * np.array([[1.16], [1.18], [1.22]], dtype=np.float32)
_FROM_BELOW = lighting.AMBIENT * np.array([[0.80], [0.78], [0.76]], dtype=np.float32)
_KEY = np.array(lighting.KEY, dtype=np.float32)[:, None]
_GLOSS, _GLOSS_EXPONENT = 0.16, 40


def shaded(
    albedo: Colors, normals: Colors, toward_eye: Colors, toward_key: Colors, visibility: Colors
) -> Colors:
    """Colours of points on bodies.

    Args:
        albedo: Colours of the bodies, shape (3, n).
        normals: Outward unit normals, shape (3, n).
        toward_eye: Unit vectors towards the camera, shape (3, n).
        toward_key: Unit vector towards the key light, shape (3,).
        visibility: Part of the key light that is not blocked, shape (n,).

    Returns:
        Colours, shape (3, n); may exceed 1.
    """
    halfway = toward_eye + toward_key[:, None]
    facing_halfway = _dots(normals, halfway) / np.sqrt(_dots(halfway, halfway))
    light = _FROM_BELOW + (0.5 + 0.5 * normals[2]) * (_FROM_ABOVE - _FROM_BELOW)
    light += (visibility * np.maximum(toward_key @ normals, 0.0)) * _KEY
    light += np.float32(lighting.CAMERA) * np.maximum(_dots(normals, toward_eye), 0.0)
    light *= albedo
    light += np.float32(_GLOSS) * visibility * np.maximum(facing_halfway, 0.0) ** _GLOSS_EXPONENT
    return np.asarray(light, dtype=np.float32)


def _dots(a: Colors, b: Colors) -> Colors:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
